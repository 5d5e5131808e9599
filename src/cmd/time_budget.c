/* time_budget.c - the option --time: a search ends when its time is up. */
#include "cmd/time_budget.h"

#include <stdint.h>
#include <string.h>

#include "base/c_locale.h"
#include "cmd/interrupt.h"
#include "cmd/progress.h"

/* Of the search that runs, by frag_seconds(); 0: none has begun. */
static double begun, until;

int frag_option_time(double *seconds, const char *value, struct frag_error *err)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 } };
	char *end = NULL;
	const double number = *value >= '0' && *value <= '9' ? frag_strtod(value, &end) : -1;

	for (uint32_t i = 0; number >= 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0) {
			*seconds = number * units[i].seconds;
			return 0;
		}
	return frag_fail(err, FRAG_EUSAGE,
			 "--time %.60s: a time such as 30s, 500ms or 5m is required", value);
}

void frag_time_begin(double seconds)
{
	begun = frag_seconds();
	until = begun + seconds;
}

bool frag_time_is_up(void *ctx)
{
	return frag_interrupted(ctx) || (begun > 0 && frag_seconds() >= until);
}

bool frag_time_is_short(void *ctx)
{
	(void)ctx;
	return begun > 0 && frag_seconds() >= begun + (until - begun) / 2;
}

bool frag_time_ended(int rc)
{
	return rc == -FRAG_EINTERRUPTED && !frag_interrupted(NULL);
}
