/*
 * tape.c - a workload on a tape, to be fed again and again.
 *
 * It goes through frag_trace_from(), so there is no JSON. What is measured is a run from the
 * tape, reading the tape included, as every command pays that has one.
 */
#include <stdlib.h>

#include "base/atomic_file.h"
#include "crossing/bench/bench.h"
#include "answers/row_writer.h"

#define BATCH 1024

struct bench_tape {
	struct bench_workload workload;
	struct bench_op ops[BATCH];     /* the stretch that the trace reads now */
	uint32_t op_count, op_next;
	char tags[BATCH][BENCH_TAG_ROOM];
	struct frag_trace *trace;
	struct frag_tape *tape;         /* simulations borrow both */
};

static int tape_refill(void *state, struct frag_error *err)
{
	struct bench_tape *tape = state;

	(void)err;
	tape->op_next = tape->op_count = 0;
	while (tape->op_count < BATCH
	       && bench_workload_next(&tape->workload, &tape->ops[tape->op_count]))
		tape->op_count++;
	return tape->op_count != 0;
}

static int tape_next(void *state, struct frag_record *rec, const char **kind,
		     struct frag_error *err)
{
	struct bench_tape *tape = state;
	uint32_t i = tape->op_next;
	const struct bench_op *op = &tape->ops[i];

	(void)kind;
	(void)err;
	if (i == tape->op_count)
		return 0;
	tape->op_next++;
	*rec = (struct frag_record){
		.members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE,
		.id.number = op->id, .t = op->t,
	};
	if (op->tag)
		rec->members |= FRAG_HAS_T;
	if (op->bytes) {
		rec->members |= FRAG_HAS_SIZE;
		rec->op = FRAG_OP_ALLOC;
		rec->size = op->bytes;
	}
	if (op->bytes && op->tag) {
		rec->members |= FRAG_HAS_TAG;
		rec->tag.text = tape->tags[i];
		rec->tag.length = (uint32_t)(bench_tag(tape->tags[i], op->tag) - tape->tags[i]);
	}
	return 1;
}

static const struct frag_source_ops tape_source = {
	.form = "bench",
	.refill = tape_refill,
	.next = tape_next,
};

int bench_tape_new(struct bench_tape **out, const struct bench_spec *spec, struct frag_error *err)
{
	static const struct frag_device_figures device = { .granularity = 2 << 20 };
	const struct frag_trace_options options = { .lenient = false };
	struct bench_tape *tape = calloc(1, sizeof(*tape));
	int rc;

	*out = tape;
	if (!tape)
		return frag_fail_nomem(err);
	if (!bench_workload_init(&tape->workload, spec))
		return frag_fail_nomem(err);
	rc = frag_trace_from(&tape->trace, &tape_source, tape, &device, 1, &options, err);
	rc = rc ? rc : frag_tape_new(&tape->tape, tape->trace, NULL, err);
	return rc ? rc : bench_agree(frag_tape_info(tape->tape)->events, spec->events,
				     "taped events", err);
}

const struct frag_tape *bench_tape_events(const struct bench_tape *tape)
{
	return tape->tape;
}

void bench_tape_del(struct bench_tape *tape)
{
	if (!tape)
		return;
	frag_tape_del(tape->tape);
	frag_trace_close(tape->trace);
	bench_workload_fini(&tape->workload);
	free(tape);
}

/* Feeds the whole tape; what the prelude takes is not counted. */
static int feed_all(struct bench_tape *tape, struct frag_sim *sim, struct bench_sample *out,
		    struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape->tape);
	const uint64_t prelude = bench_prelude(&tape->workload.spec);
	uint64_t begin;
	int rc = reader ? frag_sim_play(sim, reader, prelude, err) : frag_fail_nomem(err);

	begin = bench_now();
	rc = rc ? rc : frag_sim_play(sim, reader, UINT64_MAX, err);
	out->ns += bench_now() - begin;
	out->events += tape->workload.spec.events - prelude;
	frag_tape_reader_del(reader);
	return rc;
}

static int check(struct frag_sim *sim, const struct bench_subject *s, struct frag_error *err)
{
	uint32_t devices;
	const struct frag_result *r = frag_sim_results(sim, false, &devices);
	int rc = bench_agree(r->steps, s->spec.events, "steps", err);

	rc = rc ? rc : bench_agree(r->counts.allocs, s->allocs, "allocs", err);
	rc = rc ? rc : bench_agree(r->counts.allocs + r->counts.frees, s->spec.events,
				   "allocs and frees", err);
	rc = rc ? rc : bench_agree(r->counts.ooms, 0, "OOMs", err);
	if (r->level == FRAG_LEVEL_SURVIVE)
		return rc;
	return rc ? rc : bench_agree(r->lower_bound, s->peak, "peak of requested bytes", err);
}

static int feed(const struct bench_measure *m, struct bench_subject *s,
		const struct frag_observer *observer, struct bench_sample *out,
		struct frag_error *err)
{
	const struct frag_sim_options options = { .on_oom_continue = true, .level = m->level };
	struct frag_choice choice;
	struct frag_sim *sim = NULL;
	int rc = frag_choice_parse(&choice, m->policies[0], err);

	rc = rc ? rc : frag_sim_on_tape(&sim, &choice, s->tape->tape, &options, err);
	if (!rc && observer)
		rc = frag_sim_observe(sim, observer);
	rc = rc ? rc : feed_all(s->tape, sim, out, err);
	rc = rc ? rc : check(sim, s, err);
	frag_sim_del(sim);
	return rc;
}

int bench_feed(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
	       struct frag_error *err)
{
	return feed(m, s, NULL, out, err);
}

int bench_feed_rows(const struct bench_measure *m, struct bench_subject *s,
		    struct bench_sample *out, struct frag_error *err)
{
	struct frag_columns columns;
	struct frag_outfile f;
	struct frag_rows rows;
	const struct frag_observer observer = { .step = frag_rows_observe, .ctx = &rows };
	int rc = frag_outfile_open(&f, "/dev/null", err);

	if (rc)
		return rc;
	frag_columns_parse(&columns, NULL, err);
	rc = frag_rows_init(&rows, &f, FRAG_ROWS_CSV, &columns, NULL, false, true)
	     ? 0 : frag_fail_nomem(err);
	rc = rc ? rc : feed(m, s, &observer, out, err);
	frag_rows_fini(&rows);
	frag_outfile_abandon(&f);
	return rc;
}
