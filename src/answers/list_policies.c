/* list_policies.c - policies with their keys, for people. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "policy/param.h"
#include "answers/report.h"

/* 2097152 as 2MiB, where that is exact: as one would write it. */
static const char *short_size(uint64_t bytes, char buf[32])
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
	uint32_t unit = 0;

	while (unit < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, 32, "%" PRIu64 "%s", bytes, units[unit]);
	return buf;
}

static void print_param(const struct frag_param_spec *spec, FILE *f)
{
	char value[FRAG_PARAM_TEXT], help[FRAG_PRINTABLE_ROOM];

	if (spec->same_as)
		snprintf(value, sizeof(value), "%s", spec->same_as);
	else if (spec->type == FRAG_PARAM_SIZE)
		short_size(spec->fallback, value);
	else
		frag_param_text(spec, spec->fallback, value);
	fprintf(f, "    %s=%-*s  %s%s\n", spec->name, (int)(20 - strlen(spec->name)), value,
		frag_printable(help, spec->help),
		!spec->power_of_two ? ""
		: spec->min	    ? " (a power of two)"
				    : " (a power of two, or 0)");
}

void frag_report_policies(const struct frag_policy_ops *const *policies, FILE *f)
{
	char summary[FRAG_PRINTABLE_ROOM];

	for (uint32_t i = 0; policies[i]; i++) {
		const struct frag_param_spec *spec = policies[i]->params;

		fprintf(f, "%s%s: %s\n", i ? "\n" : "", policies[i]->name,
			frag_printable(summary, policies[i]->summary));
		for (uint32_t k = 0; spec && spec[k].name; k++)
			print_param(&spec[k], f);
	}
	fputs("\nWritten NAME or NAME:key=value,key=value. The values shown are the defaults.\n",
	      f);
}
