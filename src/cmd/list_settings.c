/* list_settings.c - fragsim list settings: the keys of PYTORCH_CUDA_ALLOC_CONF. */
#include <stdlib.h>
#include <string.h>

#include "answers/known_lists.h"
#include "cmd/command.h"
#include "cmd/progress.h"

struct settings {
	const char *json;
	int format;
};

/* Those of frag_settings_formats, in their order. */
static const char *const formats[] = { "text", "csv", "json", "markdown", NULL };

static const struct frag_opt opts[] = {
	{ 0, "format", "FORMAT", "text, csv, json or markdown (text)",
	  FRAG_WORD(struct settings, format, formats) },
	{ 0, "json", "FILE", "write them as JSON (- is standard output)",
	  FRAG_OUTPUT(struct settings, json) },
	{ 0 },
};

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct frag_setting *)a)->key, ((const struct frag_setting *)b)->key);
}

/* Those that are named, or all by their keys. The list is owned by the caller. */
static int settings_find(const struct frag_args *args, struct frag_settings *found,
			 struct frag_error *err)
{
	struct frag_setting one;
	uint32_t known = 0;

	while (frag_pytorch_setting(known, &one))
		known++;
	found->list = calloc(known + (size_t)args->count, sizeof(*found->list));
	if (!found->list)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; !args->count && i < known; i++)
		frag_pytorch_setting(found->count++, &found->list[i]);
	for (uint32_t i = 0; i < args->count; i++) {
		const char *key = args->words[i];

		for (uint32_t k = 0; frag_pytorch_setting(k, &one) && strcmp(one.key, key) != 0;)
			k++;
		if (strcmp(one.key, key) != 0)
			return frag_pytorch_unknown_setting(key, strlen(key), err);
		found->list[found->count++] = one;
	}
	if (!args->count)
		qsort(found->list, found->count, sizeof(*found->list), by_key);
	return 0;
}

static int write_json(void *found, struct frag_outfile *out, struct frag_error *err)
{
	struct frag_json doc = frag_document_of(&frag_settings_document, found);

	return frag_json_write(&doc, out, err);
}

/* Finds all named keys before it prints one, so that an unknown name prints no partial answer. */
static int settings_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	const struct settings *settings = own;
	const struct frag_text_style style = { .f = stdout, .top = FRAG_TOP_ALL };
	struct frag_settings found = { .count = 0 };
	int rc = settings_find(args, &found, err);

	if (!rc && settings->json)
		rc = frag_write_file(settings->json, false, write_json, &found, err);
	else if (!rc)
		rc = frag_format_print(frag_settings_formats[settings->format], &found, &style,
				       stdout, err);
	free(found.list);
	return rc;
}

const struct frag_cmd frag_cmd_list_settings = {
	.name = "list settings",
	.group = FRAG_GROUP_LIST,
	.args = "[options] [KEY ...]",
	.summary = "list the keys of PYTORCH_CUDA_ALLOC_CONF with their values and versions",
	.opts = opts,
	.size = sizeof(struct settings),
	.exec = settings_exec,
};
