/* shrink.c - fragsim shrink: the least of a trace that still runs out of memory. */
#include <inttypes.h>
#include <stdio.h>

#include "base/path.h"
#include "cmd/rewrite.h"
#include "engine/reduce.h"

enum { OPT_KEEP = FRAG_REWRITE_OWN, OPT_POLICY, OPT_DEVICE_BYTES, OPT_TRIES };

static const struct frag_opt opts[] = {
	{ 0, "keep", "WHAT", "oom: what has to stay (oom)", OPT_KEEP },
	{ 'p', "policy", "NAME", "the policy, NAME[:key=value,...] (bestfit)", OPT_POLICY },
	{ 0, "device-bytes", "SIZE", "capacity of each device (0: unlimited)", OPT_DEVICE_BYTES },
	{ 0, "tries", "N", "simulations at most (10000)", OPT_TRIES },
	FRAG_REWRITE_OPTS,
	{ 0 },
};

struct shrink {
	struct frag_rewrite rewrite;
	struct frag_choice choice;
	const char *policy;
	uint64_t total;
	struct frag_reduce reduce;
	const struct frag_trace_info *info;
};

const char *const frag_keep_words[] = { "oom", NULL };

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct shrink *s = ctx;
	int what;

	switch (id) {
	case OPT_KEEP:
		return frag_option_word(&what, "keep", value, frag_keep_words, err);
	case OPT_POLICY:
		s->policy = value;
		return 0;
	case OPT_DEVICE_BYTES:
		return frag_option_size(&s->total, "device-bytes", value, 0, err);
	case OPT_TRIES:
		return frag_option_count(&s->reduce.tries_most, "tries", value, 0, FRAG_COUNT_MOST,
					 err);
	default:
		return frag_rewrite_set(&s->rewrite, id, value, err);
	}
}

static int read_trace(struct shrink *s, struct frag_trace *trace, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; i < batch.count && !rc; i++)
			if (!frag_reduce_add(&s->reduce, &batch.records[i], &batch.events[i]))
				rc = frag_fail_nomem(err);
	} while (!rc && batch.count && !frag_interrupted(NULL));
	return rc;
}

static int write_rest(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	const struct shrink *s = ctx;
	const struct frag_event ev = { .op = 0 };
	int rc = sink->ops->begin(sink, s->info, err);

	for (uint32_t i = 0; i < s->reduce.count && !rc; i++)
		rc = sink->ops->event(sink, &s->reduce.events[i].copy->rec, &ev, err);
	return rc ? rc : sink->ops->end(sink, err);
}

static int reduce(struct shrink *s, struct frag_trace *trace, const char *to,
		  struct frag_error *err)
{
	bool failed, least;
	char note[120];
	int rc;

	frag_trace_override(trace, s->total, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	rc = read_trace(s, trace, err);
	s->info = frag_trace_info(trace);
	s->reduce.choice = &s->choice;
	s->reduce.devices = s->info->devices;
	s->reduce.device_count = s->info->device_count;
	s->reduce.stop = frag_interrupted;
	rc = rc ? rc : frag_reduce(&s->reduce, &failed, &least, err);
	if (!rc && !failed)
		return frag_fail(err, FRAG_EUSAGE, "%s: no out-of-memory under %s; --device-bytes"
				 " makes the device smaller", frag_input_name(s->info->path),
				 s->choice.text);
	rc = rc ? rc : frag_rewrite_into(&s->rewrite, s->info->path, to, write_rest, s, err);
	if (!rc && !least) {
		snprintf(note, sizeof(note),
			 "ended after %" PRIu64 " simulation%s; --tries N lets it"
			 " go on", s->reduce.tries, s->reduce.tries == 1 ? "" : "s");
		frag_warn(&s->rewrite.quiet, note);
	}
	return rc;
}

static int shrink(struct shrink *s, const char *from, const char *to, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = s->rewrite.lenient, .records = true, .meta = true,
		.log = { .warn = frag_warn, .ctx = &s->rewrite.quiet },
	};
	struct frag_trace *trace;
	int rc = frag_trace_open(&trace, from, &options, err);

	if (!rc) {
		rc = reduce(s, trace, to, err);
		frag_trace_close(trace);
	}
	return frag_or_interrupted(rc, err);
}

static int shrink_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		       struct frag_error *err)
{
	struct shrink s = { .policy = "bestfit", .total = UINT64_MAX };
	int rest, rc;

	(void)status;
	frag_reduce_init(&s.reduce);
	s.reduce.tries_most = 10000;
	rc = frag_options(cmd, argc, argv, &s, set_option, &rest, err);
	rc = rc || !rest ? rc : frag_rewrite_files(cmd, argc - rest, err);
	if (rc || !rest)
		return rc;
	rc = frag_choice_parse(&s.choice, s.policy, err);
	rc = rc ? rc : frag_rewrite_find_form(&s.rewrite, argv[rest + 1], err);
	if (!rc && !s.rewrite.form->lossless)
		rc = frag_fail(err, FRAG_EUSAGE, "--to %s: lines, object or fsb is wanted",
			       s.rewrite.form->name);
	rc = rc ? rc : shrink(&s, argv[rest], argv[rest + 1], err);
	frag_reduce_fini(&s.reduce);
	return rc;
}

const struct frag_cmd frag_cmd_shrink = {
	.name = "shrink",
	.args = "[options] IN OUT",
	.summary = "write the least of a trace that still runs out of memory",
	.opts = opts,
	.exec = shrink_exec,
};
