/* params.c - the parameters of a policy as text. */
#include "compare/params.h"

#include <stdio.h>
#include <string.h>

#include "base/string_stream.h"
#include "policy/param.h"

char *frag_params_text(const struct frag_choice *choice)
{
	const struct frag_param_spec *spec = choice->ops->params;
	char value[FRAG_PARAM_TEXT];
	const char *before = "";
	struct frag_memory m;

	if (!frag_memory_open(&m))
		return NULL;
	for (uint32_t i = 0; spec && spec[i].name; i++) {
		if (frag_param_is_omitted(choice, i))
			continue;
		fprintf(m.f, "%s%s=%s", before, spec[i].name,
			frag_param_text(&spec[i], choice->param[i], value));
		before = ",";
	}
	return frag_memory_close(&m) ? m.text : NULL;
}

/* A key begins the text or follows a comma, and '=' follows it: no value holds ",key=". */
const char *frag_params_find(const char *params, const char *key, size_t key_length,
			     size_t *length)
{
	for (const char *p = params; *p;) {
		size_t n = strcspn(p, "=");
		const char *value = p + n + (p[n] == '=');
		const char *end = value;

		/* a comma in a value, as in a list, is not followed by a key */
		for (;;) {
			end += strcspn(end, ",");
			if (!*end || end[1 + strcspn(end + 1, ",=")] == '=')
				break;
			end++;
		}
		if (n == key_length && strncmp(p, key, n) == 0) {
			*length = (size_t)(end - value);
			return value;
		}
		p = *end ? end + 1 : end;
	}
	return NULL;
}
