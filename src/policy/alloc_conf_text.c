/* alloc_conf_text.c - settings as one pastes them, or as keys. */
#include "policy/alloc_conf_text.h"

#include <stdio.h>
#include <string.h>

#include "policy/param.h"

void frag_conf_text(const struct frag_choice *choice, char *buf, size_t size)
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
