/* configure_events.c - what the configure events of a trace make of the settings of policies. */
#include "policy/configure_events.h"

#include <stdlib.h>
#include <string.h>

bool frag_configured_init(struct frag_configured *c, const struct frag_choice *choices,
			  uint32_t count)
{
	*c = (struct frag_configured){ .choice = calloc((size_t)count + 1, sizeof(*c->choice)) };
	for (uint32_t i = 0; i < count && c->choice; i++)
		if (choices[i].ops->settings)
			c->choice[c->count++] = choices[i];
	return c->choice != NULL;
}

void frag_configured_fini(struct frag_configured *c)
{
	free(c->choice);
	*c = (struct frag_configured){ .count = 0 };
}

int frag_configured_next(void *configured, const char *text, size_t length,
			 struct frag_error *err)
{
	struct frag_configured *c = configured;
	struct frag_error why = { .code = 0 };

	for (uint32_t i = 0; i < c->count; i++) {
		uint64_t tried[FRAG_PARAMS_MAX];

		memcpy(tried, c->choice[i].param, sizeof(tried));
		if (c->choice[i].ops->settings(tried, text, length, &why))
			return frag_fail(err, FRAG_EUSAGE, "policy %s: %s", c->choice[i].ops->name,
					 why.message);
	}
	for (uint32_t i = 0; i < c->count; i++)
		c->choice[i].ops->settings(c->choice[i].param, text, length, NULL);
	return 0;
}
