/* read_ahead.c - batches of a trace that others still work on while the next ones are read. */
#include "events/read_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "events/resolve.h"
#include "input/input.h"

void frag_kept_del(struct frag_owned_batch *ring, uint32_t count)
{
	for (struct frag_owned_batch *k = ring; k && k < ring + count; k++) {
		free(k->events);
		free(k->stacks);
		free(k->whole);
		free(k->ended);
		free(k->left);
		free(k->texts);
		free(k->warnings);
	}
	free(ring);
}

static bool kept_init(struct frag_owned_batch *k, const struct frag_trace *t)
{
	k->events = malloc(FRAG_BATCH * sizeof(*k->events));
	if (t->stacks)
		k->stacks = malloc(FRAG_BATCH * sizeof(*k->stacks));
	if (t->whole)
		k->whole = malloc(FRAG_BATCH * sizeof(*k->whole));
	return k->events && (!t->stacks || k->stacks) && (!t->whole || k->whole);
}

struct frag_owned_batch *frag_trace_read_ahead(struct frag_trace *t, uint32_t count)
{
	struct frag_owned_batch *ring;
	bool good;

	if (!t->ours || t->records || (t->input && !frag_input_hurry(t->input)))
		return NULL;
	/* from now on its own arrays are not used */
	frag_trace_end_batch(t);
	ring = calloc(count, sizeof(*ring));
	good = ring != NULL;
	for (uint32_t i = 0; i < count && good; i++)
		good = kept_init(&ring[i], t);
	if (good)
		return ring;
	frag_kept_del(ring, count);
	return NULL;
}

void frag_trace_abandon(struct frag_trace *t)
{
	if (t->input)
		frag_unpacker_abandon(t->input->unpacker);
}

#define SWAP(type, a, b)                \
	do {                            \
		type other_ = (a);      \
		(a) = (b);              \
		(b) = other_;           \
	} while (0)

/*
 * Swaps the arrays of the trace and of the batch while the trace reads this batch. The tags that
 * the batch's last content freed are swapped too, and released now, when no thread reads that
 * content any more.
 */
static void swap_arrays(struct frag_trace *t, struct frag_owned_batch *k)
{
	SWAP(struct frag_event *, t->events, k->events);
	SWAP(uint32_t *, t->stacks, k->stacks);
	SWAP(uint32_t *, t->whole, k->whole);
	SWAP(struct frag_ended *, t->lives.ended, k->ended);
	SWAP(uint32_t, t->lives.ended_capacity, k->ended_capacity);
	SWAP(uint32_t *, t->left, k->left);
	SWAP(uint32_t, t->left_count, k->left_count);
	SWAP(uint32_t, t->left_capacity, k->left_capacity);
}

static void keep_warning(void *kept, const char *message)
{
	struct frag_owned_batch *k = kept;
	const size_t length = strlen(message) + 1;
	char *more = realloc(k->warnings, k->warning_bytes + length);

	if (!more) {
		k->warning_lost = true;
		return;
	}
	memcpy(more + k->warning_bytes, message, length);
	k->warnings = more;
	k->warning_bytes += length;
}

static char *move_text(const char **text, size_t length, char *to)
{
	if (!*text)
		return to;
	memcpy(to, *text, length);
	*text = to;
	return to + length;
}

/* What the events borrow of the source, which may overwrite it when it reads on. */
static bool keep_texts(struct frag_owned_batch *k)
{
	struct frag_event *events = k->events;
	size_t bytes = 0;
	char *to;

	for (uint32_t i = 0; i < k->batch.count; i++)
		bytes += (events[i].id.text ? (size_t)events[i].id.number : 0)
			 + events[i].text.length + events[i].t_text.length;
	if (bytes > k->text_room) {
		free(k->texts);
		k->texts = malloc(bytes);
		k->text_room = k->texts ? bytes : 0;
		if (!k->texts)
			return false;
	}
	to = k->texts;
	for (uint32_t i = 0; i < k->batch.count && bytes; i++) {
		struct frag_event *ev = &events[i];

		if (ev->id.text)
			to = move_text(&ev->id.text, (size_t)ev->id.number, to);
		to = move_text(&ev->text.text, ev->text.length, to);
		to = move_text(&ev->t_text.text, ev->t_text.length, to);
	}
	return true;
}

void frag_trace_keep(struct frag_trace *t, struct frag_owned_batch *k)
{
	const struct frag_log log = t->options.log;

	FRAG_ASSERT(t->ours && !k->warnings);
	k->err.code = 0;
	k->batch.count = 0;
	k->warning_lost = false;
	swap_arrays(t, k);
	if (log.warn)
		t->options.log = (struct frag_log){ .warn = keep_warning, .ctx = k };
	k->rc = frag_trace_read_batch(t, &k->batch, &k->err);
	t->options.log = log;
	swap_arrays(t, k);
	if (!k->rc && (k->warning_lost || !keep_texts(k)))
		k->rc = frag_fail_nomem(&k->err);
	k->info = t->info;
}

void frag_trace_warn(struct frag_trace *t, struct frag_owned_batch *k)
{
	FRAG_ASSERT(t->options.log.warn || !k->warning_bytes);
	for (size_t at = 0; at < k->warning_bytes; at += strlen(k->warnings + at) + 1)
		t->options.log.warn(t->options.log.ctx, k->warnings + at);
	free(k->warnings);
	k->warnings = NULL;
	k->warning_bytes = 0;
}

void frag_trace_show(struct frag_trace *t, const struct frag_owned_batch *k)
{
	t->shown = k->info;
}
