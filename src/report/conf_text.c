/* conf_text.c - settings as one pastes them. */
#include "report/conf_text.h"

#include <stdio.h>
#include <string.h>

#include "report/export.h"

/* Does the parameter have the value that it would have anyway? */
static bool is_default(const struct frag_choice *choice, uint32_t i)
{
	const struct frag_param_spec *spec = choice->ops->params;
	uint32_t as = 0;

	if (!spec[i].same_as)
		return choice->param[i] == spec[i].fallback;
	while (strcmp(spec[as].name, spec[i].same_as) != 0)
		as++;
	return choice->param[i] == choice->param[as];
}

void frag_conf_text(const struct frag_choice *choice, char *buf, size_t size)
{
	char value[FRAG_PARAM_TEXT];
	size_t used = 0;

	*buf = '\0';
	for (uint32_t i = 0; choice->ops->settings
	     && frag_export_param(choice, i, value); i++) {
		const struct frag_param_spec *spec = &choice->ops->params[i];

		if (is_default(choice, i) || used >= size)
			continue;
		if (spec->type == FRAG_PARAM_BOOL)
			snprintf(value, sizeof(value), "%s", choice->param[i] ? "True" : "False");
		used += (size_t)snprintf(buf + used, size - used, "%s%s:%s", used ? "," : "",
					 spec->name, value);
	}
}
