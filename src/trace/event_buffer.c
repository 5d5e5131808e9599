/* event_buffer.c - events of a file in memory, compactly. */
#include "trace/event_buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"

#define DEFAULT_GRANULARITY (UINT64_C(2) << 20)

struct frag_buffered *frag_buffered_new(const char *path, const char *unit)
{
	struct frag_buffered *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->unit = unit;
	h->path = strdup(path);
	if (h->path && frag_handles_init(&h->texts, frag_hash_seed()))
		return h;
	frag_buffered_del(h);
	return NULL;
}

void frag_buffered_del(struct frag_buffered *h)
{
	if (!h)
		return;
	frag_handles_fini(&h->texts);
	free(h->devices);
	free(h->rows);
	free(h->path);
	free(h);
}

struct frag_row *frag_buffered_add(struct frag_buffered *h)
{
	struct frag_row *row;

	if (!frag_grow(&h->rows, &h->capacity, (uint64_t)h->count + 1, sizeof(*h->rows)))
		return NULL;
	row = &h->rows[h->count++];
	*row = (struct frag_row){ .op = 0 };
	return row;
}

uint32_t frag_buffered_text(struct frag_buffered *h, struct frag_text text)
{
	const struct frag_handle handle = { .text = text.text, .number = text.length };
	uint32_t before = h->texts.count, i = frag_handles_intern(&h->texts, &handle);

	h->text_bytes += h->texts.count > before ? text.length : 0;
	return i == UINT32_MAX ? 0 : i;
}

int frag_buffered_afford(const struct frag_buffered *h, const struct frag_input *in, uint64_t more,
			 struct frag_error *err)
{
	return frag_input_afford(in, h->count * sizeof(*h->rows) + h->text_bytes + more, err);
}

bool frag_buffered_before(struct frag_buffered *h, uint32_t more)
{
	if (!frag_grow(&h->rows, &h->capacity, (uint64_t)h->count + more, sizeof(*h->rows)))
		return false;
	if (more) {
		memmove(h->rows + more, h->rows, h->count * sizeof(*h->rows));
		memset(h->rows, 0, more * sizeof(*h->rows));
	}
	h->count += more;
	return true;
}

/* All that there is, once. */
static int buffered_refill(void *state, struct frag_error *err)
{
	struct frag_buffered *h = state;
	bool first = !h->reading;

	(void)err;
	h->reading = true;
	return first;
}

/*
 * A row is kept small: that an alloc has an id and a size follows from its
 * operation, and one text serves as tag or as name.
 */
static int buffered_next(void *state, struct frag_record *rec, const char **kind,
			 struct frag_error *err)
{
	struct frag_buffered *h = state;
	const struct frag_row *row = &h->rows[h->at];
	struct frag_text text = { .text = NULL };

	FRAG_ASSERT(h->at <= h->count);
	(void)kind;
	(void)err;
	if (h->at == h->count)
		return 0;
	h->at++;
	if (row->text) {
		const struct frag_handle *known = frag_handle_at(&h->texts, row->text);

		text = (struct frag_text){ .text = known->text, .length = (uint32_t)known->number };
	}
	*rec = (struct frag_record){
		.members = FRAG_HAS_OP, .op = (enum frag_op)row->op, .size = row->size,
		.id.number = row->id, .stream.number = row->stream, .t = row->t,
		.device = row->device, .at = row->place,
	};
	if (row->members & FRAG_ROW_TEXT_ID)
		rec->id = *frag_handle_at(&h->texts, (uint32_t)row->id);
	if (row->op == FRAG_OP_ALLOC || row->op == FRAG_OP_FREE)
		rec->members |= FRAG_HAS_ID;
	if (row->op == FRAG_OP_ALLOC)
		rec->members |= FRAG_HAS_SIZE;
	if (row->members & FRAG_ROW_T)
		rec->members |= FRAG_HAS_T;
	if (row->members & FRAG_ROW_STREAM)
		rec->members |= FRAG_HAS_STREAM;
	if (row->members & FRAG_ROW_DEVICE)
		rec->members |= FRAG_HAS_DEVICE;
	if (row->op == FRAG_OP_MARK) {
		rec->members |= FRAG_HAS_NAME;
		rec->text = text;
	} else if (text.text) {
		rec->members |= FRAG_HAS_TAG;
		rec->tag = text;
	}
	return 1;
}

static void buffered_where(void *state, uint64_t at, char *buf, uint32_t size)
{
	const struct frag_buffered *h = state;

	snprintf(buf, size, "%s: %s %" PRIu64, h->path, h->unit, at);
}

static bool buffered_rewind(void *state)
{
	struct frag_buffered *h = state;

	h->at = 0;
	h->reading = false;
	return true;
}

static void buffered_amount(void *state, uint64_t *read, uint64_t *total)
{
	const struct frag_buffered *h = state;

	/* it was read before the first event; progress reports how far the events are */
	*total = h->bytes;
	*read = h->count ? (uint64_t)((double)h->bytes * h->at / h->count) : h->bytes;
}

static void buffered_close(void *state)
{
	frag_buffered_del(state);
}

static const struct frag_source_ops buffered_source = {
	.form = "buffered",
	.refill = buffered_refill,
	.next = buffered_next,
	.where = buffered_where,
	.rewind = buffered_rewind,
	.amount = buffered_amount,
	.close = buffered_close,
};

/* The formats kept in memory contain no device data, so each device gets the defaults. */
int frag_buffered_open(struct frag_reading *out, struct frag_buffered *h, uint32_t device_count,
		       const struct frag_input *in, struct frag_error *err)
{
	uint64_t total;

	FRAG_ASSERT(device_count > 0);
	frag_input_amount(in, &h->bytes, &total);
	h->devices = calloc(device_count, sizeof(*h->devices));
	if (!h->devices) {
		frag_buffered_del(h);
		return frag_fail_nomem(err);
	}
	h->device_count = device_count;
	for (uint32_t i = 0; i < device_count; i++)
		h->devices[i].granularity = DEFAULT_GRANULARITY;
	*out = (struct frag_reading){
		.ops = &buffered_source, .state = h, .form = out->form,
		.devices = h->devices, .device_count = device_count,
	};
	return 0;
}
