/* own_events.c - what a program allocated by itself, under a policy. */
#include <inttypes.h>
#include <stdio.h>

#include <fragsim/engine.h>

#define MIB (UINT64_C(1) << 20)

/* A log: so many bytes for an id; 0 bytes is a free, id 0 the end. */
struct entry { uint64_t id, bytes; };

static int refill(void *state, struct frag_error *err)
{
	(void)err;
	return (*(const struct entry **)state)->id != 0;
}

static int next(void *state, struct frag_record *rec, const char **kind, struct frag_error *err)
{
	const struct entry *e = *(const struct entry **)state;

	(void)kind, (void)err;
	if (e->id == 0)
		return 0;
	rec->members = FRAG_HAS_OP | FRAG_HAS_ID | (e->bytes ? FRAG_HAS_SIZE : 0);
	rec->op = e->bytes ? FRAG_OP_ALLOC : FRAG_OP_FREE;
	rec->id = (struct frag_handle){ .number = e->id };
	rec->size = e->bytes;
	++*(const struct entry **)state;
	return 1;
}

int main(int argc, char **argv)
{
	static const struct frag_source_ops ops = { .form = "log", .refill = refill, .next = next };
	static const struct entry log[] = { { 1, 3 * MIB }, { 2, MIB }, { 1, 0 }, { 3, 2 * MIB }, { 0 } };
	const struct entry *at = log;
	struct frag_trace *trace = NULL;
	struct frag_sim *sim = NULL;
	struct frag_choice choice;
	struct frag_batch batch;
	struct frag_error err;
	uint32_t devices;
	int rc = frag_choice_parse(&choice, argc > 1 ? argv[1] : "bestfit", &err);

	rc = rc ? rc : frag_trace_from(&trace, &ops, &at, NULL, 0, NULL, &err);
	rc = rc ? rc : frag_sim_new(&sim, &choice, trace, NULL, &err);
	do {
		rc = rc ? rc : frag_trace_next(trace, &batch, &err);
		rc = rc ? rc : frag_sim_feed(sim, &batch, &err);
	} while (!rc && batch.count);
	if (rc)
		fprintf(stderr, "own_events: %s\n", err.message);
	else
		printf("%s reserved %" PRIu64 " bytes\n", choice.text,
		       frag_sim_results(sim, false, &devices)->peak.reserved);
	frag_sim_del(sim);
	frag_trace_close(trace);
	return frag_error_status(rc);
}
