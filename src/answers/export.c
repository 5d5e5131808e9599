/* export.c - the table of forms for other people's viewers, and what they share. */
#include "answers/export.h"

#include "policy/param.h"

const struct frag_export_ops *const frag_exports[] = {
	&frag_export_snapshot, &frag_export_perfetto, &frag_export_sqlite, NULL,
};

static int export_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
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

int frag_export_run(struct frag_export *x, struct frag_sim *sim, struct frag_trace *trace,
		    bool (*stop)(void *ctx), struct frag_error *err)
{
	const struct frag_observer watch = { .step = export_observe, .ctx = x };
	const struct frag_worker_options workers = { .threads = 1, .read.stop = stop };
	int rc = frag_sim_begin(sim, err);

	x->sim = sim;
	rc = rc ? rc : x->ops->begin(x, err);
	rc = rc ? rc : frag_sim_observe(sim, &watch);
	rc = rc ? rc : frag_workers_run(&sim, 1, trace, &workers, err);
	return rc ? rc : x->ops->end(x, err);
}

bool frag_export_param(const struct frag_choice *choice, uint32_t i, char buf[FRAG_PARAM_TEXT])
{
	const struct frag_param_spec *spec = choice->ops->params ? &choice->ops->params[i] : NULL;

	if (!spec || !spec->name)
		return false;
	frag_param_text(spec, choice->param[i], buf);
	return true;
}
