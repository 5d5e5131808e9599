/* configure_events.c - what the configure events of a trace make of the settings of policies. */
#include "policy/configure_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/param.h"
#include "policy/pytorch_settings.h"

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

char *frag_conf_text(const struct frag_choice *choice, char *buf, size_t size)
{
	const uint32_t count = choice->ops->settings ? frag_param_count(choice->ops) : 0;
	char value[FRAG_PARAM_TEXT];
	size_t used = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < count && used < size; i++) {
		const struct frag_param_spec *spec = &choice->ops->params[i];

		if (spec->no_setting || frag_param_is_default(choice, i))
			continue;
		if (spec->type == FRAG_PARAM_BOOL)
			snprintf(value, sizeof(value), "%s", choice->param[i] ? "True" : "False");
		else
			frag_param_text(spec, choice->param[i], value);
		used += (size_t)snprintf(buf + used, size - used, "%s%s:%s", used ? "," : "",
					 spec->name, value);
	}
	return buf;
}

bool frag_choice_keys(const struct frag_choice *choice, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "%s", choice->ops->name);
	const char *before = ":";
	char value[FRAG_PARAM_TEXT];

	for (uint32_t i = 0; i < frag_param_count(choice->ops) && used < size; i++) {
		const struct frag_param_spec *spec = &choice->ops->params[i];

		if (frag_param_is_default(choice, i))
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s%s=%s", before, spec->name,
					 frag_param_text(spec, choice->param[i], value));
		before = ",";
	}
	return used < size;
}

int frag_choose_version(struct frag_choice *choice, uint32_t minor, struct frag_error *err)
{
	char name[32] = "pytorch";

	if (minor && minor != NEWEST_VERSION)
		snprintf(name, sizeof(name), "pytorch:version=2.%" PRIu32, minor);
	return frag_choice_parse(choice, name, err);
}

int frag_choice_expand_settings(struct frag_choice *choice, struct frag_error *err)
{
	char text[sizeof(choice->text)];

	if (!frag_choice_keys(choice, text, sizeof(text)))
		return frag_fail(err, FRAG_EUSAGE,
				 "--alloc-conf: spelt out as keys, the settings are more"
				 " than %zu characters", sizeof(text) - 1);
	return frag_choice_parse(choice, text, err);
}
