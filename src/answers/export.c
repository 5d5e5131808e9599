/* export.c - the table of forms for other people's viewers, and what they share. */
#include "answers/export.h"

#include <string.h>

#include "base/parse.h"
#include "policy/param.h"

const struct frag_export_ops *const frag_exports[] = {
	&frag_export_snapshot, &frag_export_perfetto, &frag_export_sqlite, NULL,
};

const struct frag_export_ops *frag_export_named(const char *name)
{
	for (uint32_t i = 0; frag_exports[i]; i++)
		if (strcmp(frag_exports[i]->name, name) == 0)
			return frag_exports[i];
	return NULL;
}

const struct frag_export_ops *frag_export_ending(const char *path, size_t length)
{
	for (uint32_t i = 0; frag_exports[i]; i++) {
		size_t n = frag_exports[i]->ending ? strlen(frag_exports[i]->ending) : 0;

		if (n && length > n && memcmp(path + length - n, frag_exports[i]->ending, n) == 0)
			return frag_exports[i];
	}
	return NULL;
}

int frag_export_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_export *x = ctx;
	const struct frag_event *ev = step->event;

	if (!x->begun)
		x->by_time = (ev->members & FRAG_HAS_T) != 0;
	x->begun = true;
	if (ev->members & FRAG_HAS_T)
		x->t = ev->t;
	if (step->status == FRAG_STEP_OOM && x->ooms++ == 0) {
		x->first_oom = ev->step;
		x->first_oom_device = step->device;
	}
	return x->ops->step(x, step, err);
}

bool frag_export_param(const struct frag_choice *choice, uint32_t i, char buf[FRAG_PARAM_TEXT])
{
	const struct frag_param_spec *spec = choice->ops->params ? &choice->ops->params[i] : NULL;

	if (!spec || !spec->name)
		return false;
	frag_param_text(spec, choice->param[i], buf);
	return true;
}
