/* play.c - a trace written down as a table of records, played under one policy. */
#include "support/play.h"

#include <stdlib.h>

#include "support/faulty_device.h"
#include "support/unit.h"

static int table_refill(void *state, struct frag_error *err)
{
	const struct play *p = state;

	(void)err;
	return p->next < p->record_count;
}

static int table_next(void *state, struct frag_record *rec, const char **kind,
		      struct frag_error *err)
{
	struct play *p = state;

	(void)kind;
	(void)err;
	if (p->next == p->record_count)
		return 0;
	*rec = p->records[p->next++];
	return 1;
}

static const struct frag_source_ops table_source = {
	.form = "table", .refill = table_refill, .next = table_next,
};

static int see(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct play *p = ctx;

	(void)err;
	if (p->row_count == p->row_capacity) {
		p->row_capacity = p->row_capacity ? 2 * p->row_capacity : 64;
		p->rows = realloc(p->rows, p->row_capacity * sizeof(*p->rows));
		assert_non_null(p->rows);
	}
	p->rows[p->row_count++] = (struct play_row){
		.step = step->event->step, .device = step->device, .status = step->status,
		.placed = step->placed, .segment = step->segment, .offset = step->offset,
		.bytes = step->bytes, .call_count = step->call_count, .metrics = *step->metrics,
	};
	return 0;
}

int play_open(struct play *p, const struct frag_choice *choice, const struct frag_record *records,
	      uint32_t record_count, const struct frag_device_figures *devices,
	      uint32_t device_count, const struct frag_sim_options *options)
{
	static const struct frag_sim_options usual = { .check = true, .device = &faulty_device };
	static const struct frag_trace_options plain = { .lenient = false };
	const struct frag_observer observer = { .step = see, .ctx = p };
	int rc;

	*p = (struct play){ .records = records, .record_count = record_count };
	assert_int_equal(frag_trace_from(&p->trace, &table_source, p, devices, device_count,
					 &plain, &p->error), 0);
	rc = frag_sim_new(&p->sim, choice, p->trace, options ? options : &usual, &p->error);
	if (!rc)
		assert_int_equal(frag_sim_observe(p->sim, &observer), 0);
	else
		p->sim = NULL;
	return rc;
}

int play_run(struct play *p)
{
	struct frag_batch batch = { .count = 1 };
	int rc = 0;

	while (!rc && batch.count) {
		if (frag_trace_next(p->trace, &batch, &p->error))
			fail_msg("%s", p->error.message);
		rc = frag_sim_feed(p->sim, &batch, &p->error);
	}
	assert_int_equal(rc, p->error.code);
	return rc;
}

void play_close(struct play *p)
{
	frag_sim_del(p->sim);
	frag_trace_close(p->trace);
	free(p->rows);
	assert_int_equal(faulty.held, 0);
	assert_int_equal(faulty.mapped, 0);
	assert_int_equal(faulty.mistakes, 0);
	assert_int_equal(faulty.opened, faulty.closed);
}

void play_tape(struct frag_sim *sim, const struct frag_tape *tape, uint64_t from, uint64_t until)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	struct frag_error err = { .code = 0 };

	assert_non_null(reader);
	frag_tape_seek(reader, from);
	if (frag_sim_play(sim, reader, until, &err))
		fail_msg("%s", err.message);
	frag_tape_reader_del(reader);
}

struct frag_choice play_choose(const char *text)
{
	struct frag_error err = { .code = 0 };
	struct frag_choice choice;

	if (frag_choice_parse(&choice, text, &err))
		fail_msg("%s", err.message);
	return choice;
}

struct frag_choice play_policy(const struct frag_policy_ops *ops)
{
	struct frag_choice choice = { .ops = ops };

	for (uint32_t i = 0; ops->params && ops->params[i].name; i++)
		choice.param[i] = ops->params[i].fallback;
	return choice;
}
