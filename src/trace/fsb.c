/*
 * fsb.c - reads the fsb format as a source. A block is in memory whole, checked and unpacked,
 * before its first event is given. Columns are read by cursors without looking at their ends: a
 * file that is made so that one runs past its end finds the slack after them all, and is
 * refused when the block is used up.
 */
#include "trace/beginning.h"
#include "trace/fsb.h"
#include "trace/fsb_cursor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "base/word64.h"
#include "input/json_scan.h"
#include "trace/header_scan.h"

/* After a payload: bytes that may be read, and mean nothing. */
#define SLACK (24 * FRAG_FSB_EVENTS_MAX + 16)

#define TEXTS_MAX (8 * FRAG_FSB_EVENTS_MAX)
#define PLAIN (FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_STREAM | FRAG_HAS_T \
	       | FRAG_HAS_TAG)

/* The members that all events of a shape share, as the initial record. */
struct shape {
	struct frag_record rec;
	uint64_t last_id;
	uint64_t has_size, has_tag;     /* masks, for plain ones */
	uint8_t time, texts;
	bool plain;
};

struct arena {
	struct arena *next;
	char bytes[];
};

/* A column: integers of the same number of bytes, the lowest first. */
struct column {
	const unsigned char *p, *end;
	uint64_t mask;          /* of the bytes of one */
	uint32_t width;         /* 0 to 8 bytes */
};

struct fsb {
	struct frag_input in;
	size_t at;              /* the window is used up to here */
	uint64_t block_at;      /* byte of the block that is being read */
	uint32_t block;         /* its number */
	uint32_t block_count;   /* read so far */
	unsigned char *payload;
	uint32_t payload_capacity;
	bool snapshot;          /* its blocks are unpacked too; else they are passed over */
	ZSTD_DCtx *zstd;
	bool ended;
	struct frag_header header;
	struct frag_first_state *beginning;
	struct frag_text *texts;        /* a NUL follows each */
	uint32_t text_count, text_capacity;
	struct arena *arenas;           /* where they are */
	struct shape *shapes;
	uint32_t shape_count, shape_capacity;
	struct column columns[FRAG_FSB_COLUMNS];
	struct frag_fsb_stacks stacks;
	uint32_t left, events;  /* of this block: still to give, in all */
	double unit;            /* the divisor of this block's times */
	int64_t last_time;
	uint64_t all_events;
};

/* Takes the input over, also on failure, which is a lack of memory. */
static int fsb_init(struct fsb *f, struct frag_input *in, struct frag_error *err)
{
	*f = (struct fsb){ .in = *in };
	f->in.by_byte = true;
	f->zstd = ZSTD_createDCtx();
	return f->zstd ? 0 : frag_fail_nomem(err);
}

/* -FRAG_ETRACE with the block's number and place. */
__attribute__((format(printf, 3, 4)))
static int damaged_block(const struct fsb *f, struct frag_error *err, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	frag_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return frag_fail(err, FRAG_ETRACE, "%s: block %u at byte %" PRIu64 ": %s", f->in.path,
			 f->block, f->block_at, text);
}

/* The next `n` bytes of the file, in the window: 1; 0 at the end of the file. */
static int fsb_need(struct fsb *f, size_t n, struct frag_error *err)
{
	while (f->in.end - f->at < n && !f->in.eof) {
		int rc = frag_input_fill(&f->in, f->at, err);

		f->at = 0;
		if (rc < 0)
			return rc;
	}
	return f->in.end - f->at >= n;
}

static int fsb_unpack(struct fsb *f, const unsigned char *packed, uint32_t packed_bytes,
		      uint32_t bytes, struct frag_error *err)
{
	size_t n;

	if (!f->payload || f->payload_capacity < bytes) {
		free(f->payload);
		f->payload_capacity = bytes;
		f->payload = calloc((size_t)bytes + SLACK, 1);
		if (!f->payload)
			return frag_fail_nomem(err);
	}
	n = ZSTD_decompressDCtx(f->zstd, f->payload, bytes, packed, packed_bytes);
	if (ZSTD_isError(n))
		return damaged_block(f, err, "zstd: %s", ZSTD_getErrorName(n));
	if (n != bytes)
		return damaged_block(f, err, "%zu bytes unpacked, %u announced", n, bytes);
	return 0;
}

/*
 * The next block of a known kind; its payload, as a cursor, stays until the next call. Checks
 * number and checksum before the kind: only a complete block of an unknown kind may be skipped.
 * Each need() may move the window, so the head is computed again.
 */
static int next_block(struct fsb *f, uint32_t *kind, struct frag_fsb_cursor *payload,
		      struct frag_error *err)
{
	FRAG_ASSERT(f->zstd && f->at <= f->in.end);
	for (;;) {
		const unsigned char *head;
		uint32_t bytes, packed;
		int rc = fsb_need(f, FRAG_FSB_HEAD_LENGTH, err);

		f->block_at = f->in.before + f->at;
		f->block = f->block_count++;
		if (rc <= 0)
			return rc < 0 ? rc : damaged_block(f, err, "truncated: the file ends here");
		head = (const unsigned char *)f->in.buf + f->at;
		*kind = frag_load32(head);
		bytes = frag_load32(head + 8);
		packed = frag_load32(head + 12);
		if (frag_load32(head + 4) != f->block)
			return damaged_block(f, err, "it is numbered %u", frag_load32(head + 4));
		if (bytes > FRAG_FSB_BLOCK_MAX || packed > FRAG_FSB_BLOCK_MAX)
			return damaged_block(f, err, "%u bytes, packed %u: more than a block may"
					     " have", bytes, packed);
		rc = fsb_need(f, FRAG_FSB_HEAD_LENGTH + (size_t)packed, err);
		if (rc <= 0)
			return rc ? rc : damaged_block(f, err, "truncated: the file ends inside it");
		head = (const unsigned char *)f->in.buf + f->at;
		f->at += FRAG_FSB_HEAD_LENGTH + (size_t)packed;
		if (frag_load32(head + 16)
		    != frag_fsb_checksum(head, head + FRAG_FSB_HEAD_LENGTH, packed))
			return damaged_block(f, err, "its checksum does not agree");
		if (*kind != FRAG_FSB_HEADER && *kind != FRAG_FSB_EVENTS && *kind != FRAG_FSB_END
		    && *kind != FRAG_FSB_STACKS && !(f->snapshot && *kind == FRAG_FSB_SNAPSHOT)) {
			if (*kind & FRAG_FSB_OPTIONAL)
				continue;
			return damaged_block(f, err, "of a kind, %#x, that this version does not"
					     " know", *kind);
		}
		rc = fsb_unpack(f, head + FRAG_FSB_HEAD_LENGTH, packed, bytes, err);
		*payload = (struct frag_fsb_cursor){ .p = f->payload, .end = f->payload + bytes };
		return rc;
	}
}

/* The first bytes of the file. -FRAG_ETRACE where they are not what they should be. */
static int fsb_magic(struct fsb *f, struct frag_error *err)
{
	int rc = fsb_need(f, FRAG_FSB_MAGIC_LENGTH, err);

	if (rc < 0)
		return rc;
	if (rc == 0 || memcmp(f->in.buf, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH) != 0)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: byte 0: not the first bytes of a binary trace", f->in.path);
	f->at = FRAG_FSB_MAGIC_LENGTH;
	return 0;
}

/* Appends the payloads of the snapshot's blocks, up to the header. */
static int fsb_join_snapshot(struct fsb *f, char **text, uint64_t *length, uint64_t *capacity,
			     struct frag_error *err)
{
	struct frag_fsb_cursor payload;
	uint32_t kind;
	int rc = fsb_magic(f, err);

	rc = rc ? rc : next_block(f, &kind, &payload, err);
	while (!rc && kind == FRAG_FSB_SNAPSHOT) {
		const size_t bytes = (size_t)(payload.end - payload.p);
		char *more = *text;

		rc = frag_input_afford(&f->in, *length + bytes, err);
		if (!rc && (!more || *length + bytes > *capacity)) {
			*capacity = 2 * (*length + bytes);
			more = realloc(*text, (size_t)*capacity + FRAG_WINDOW_SLACK);
			rc = more ? 0 : frag_fail_nomem(err);
		}
		if (rc)
			return rc;
		*text = more;
		memcpy(more + *length, payload.p, bytes);
		*length += bytes;
		rc = next_block(f, &kind, &payload, err);
	}
	return rc || *length ? rc : damaged_block(f, err, "a snapshot of no bytes");
}

/* The caller owns the input again, with another window, and all else is freed. */
int frag_fsb_take_snapshot(struct frag_input *in, struct frag_error *err)
{
	const size_t head = FRAG_FSB_MAGIC_LENGTH + sizeof(uint32_t);
	uint64_t length = 0, capacity = 0;
	char *text = NULL;
	struct fsb f;
	int rc = 1;

	while (in->end < head && rc == 1)
		rc = frag_input_fill(in, 0, err);
	if (rc < 0 || in->end < head || memcmp(in->buf, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH) != 0
	    || frag_load32(in->buf + FRAG_FSB_MAGIC_LENGTH) != FRAG_FSB_SNAPSHOT)
		return rc < 0 ? rc : 0;
	rc = fsb_init(&f, in, err);
	f.snapshot = true;
	rc = rc ? rc : fsb_join_snapshot(&f, &text, &length, &capacity, err);
	*in = f.in;
	in->by_byte = false;
	if (rc) {
		free(text);
	} else {
		memset(text + length, 0, FRAG_WINDOW_SLACK);
		free(in->buf);
		*in = (struct frag_input){
			.path = in->path, .buf = text, .end = (size_t)length,
			.capacity = (size_t)capacity, .eof = true, .unpacker = in->unpacker,
		};
	}
	ZSTD_freeDCtx(f.zstd);
	free(f.payload);
	return rc ? rc : 1;
}

static bool take_device(struct frag_header *h, struct frag_fsb_cursor *c, bool *nomem)
{
	struct frag_device_figures *d;
	uint64_t length;
	bool good;

	*nomem = !FRAG_GROW(h->devices, h->device_capacity, h->device_count);
	if (*nomem)
		return false;
	d = &h->devices[h->device_count++];
	*d = (struct frag_device_figures){ .name = NULL };
	good = frag_fsb_take_optional(c, &d->name, &length, nomem)
	       && (!d->name || strlen(d->name) == length);
	for (uint32_t i = 0; i < 4 && good; i++) {
		uint64_t *const sizes[] = { &d->total, &d->context, &d->other, &d->granularity };

		*sizes[i] = frag_fsb_take(c);
		good = c->p <= c->end && *sizes[i] < FRAG_SIZE_LIMIT;
	}
	return good && d->granularity != 0;
}

/*
 * The first bytes and the header, which is read to its end or to the first error, and judged once.
 * Its members are freed with f.
 */
static int fsb_begin(struct fsb *f, struct frag_error *err)
{
	struct frag_header *h = &f->header;
	uint64_t version, devices;
	struct frag_fsb_cursor c;
	uint32_t kind;
	bool good = true, nomem = false;
	int rc;

	f->at = f->block_count = 0;
	rc = fsb_magic(f, err);
	rc = rc ? rc : next_block(f, &kind, &c, err);
	if (rc)
		return rc;
	if (kind != FRAG_FSB_HEADER)
		return damaged_block(f, err, "the header is expected here");
	version = frag_fsb_take(&c);
	if (version < FRAG_FSB_OLDEST || version > FRAG_FSB_VERSION)
		return damaged_block(f, err, "version %" PRIu64 ", but this fragsim reads %d and %d",
				     version, FRAG_FSB_OLDEST, FRAG_FSB_VERSION);
	devices = frag_fsb_take(&c);
	if (devices == 0 || devices > FRAG_DEVICES_MAX)
		return damaged_block(f, err, "%" PRIu64 " devices, not 1 to %d", devices,
				     FRAG_DEVICES_MAX);
	for (uint64_t i = 0; i < devices && good; i++)
		good = take_device(h, &c, &nomem);
	good = good && frag_fsb_take_object(&c, &h->meta, &h->meta_length, &nomem);
	if (version >= FRAG_FSB_VERSION)
		good = good
		       && frag_fsb_take_object(&c, &h->beginning, &h->beginning_length, &nomem);
	if (nomem)
		return frag_fail_nomem(err);
	if (!good || c.p != c.end)
		return damaged_block(f, err, "a header that is not well-formed");
	return 0;
}

/* The next integer of a column. */
static inline uint64_t fsb_look(const struct column *c)
{
	return frag_word_at((const char *)c->p) & c->mask;
}

static inline uint64_t take_value(struct column *c)
{
	uint64_t value = fsb_look(c);

	c->p += c->width;
	return value;
}

/* A column of doubles has their bits. */
static bool take_double(struct column *c, double *out)
{
	uint64_t bits = take_value(c);

	memcpy(out, &bits, sizeof(bits));
	return *out - *out == 0;
}

/* This block's new texts: their lengths, then their bytes. */
static int fsb_read_texts(struct fsb *f, struct frag_fsb_cursor *c, struct frag_error *err)
{
	uint64_t count = frag_fsb_take(c), sum = 0;
	struct frag_text *texts;
	struct arena *a;
	char *to;

	if (c->p > c->end || count > TEXTS_MAX)
		return damaged_block(f, err, "%" PRIu64 " texts, more than a block may have", count);
	/* one more: number 0 is read, if not used, where there are no texts */
	if (!frag_grow(&f->texts, &f->text_capacity, f->text_count + count + 1, sizeof(*f->texts)))
		return frag_fail_nomem(err);
	texts = f->texts + f->text_count;
	texts[count] = (struct frag_text){ .text = NULL };
	for (uint64_t i = 0; i < count; i++) {
		uint64_t n = frag_fsb_take(c);

		sum += n;
		if (c->p > c->end || n > FRAG_FSB_BLOCK_MAX || sum > (uint64_t)(c->end - c->p))
			return damaged_block(f, err, "texts longer than the block");
		texts[i] = (struct frag_text){ .length = (uint32_t)n };
	}
	if (!count)
		return 0;
	a = malloc(sizeof(*a) + (size_t)(sum + count) + FRAG_WINDOW_SLACK);     /* scans look ahead */
	if (!a)
		return frag_fail_nomem(err);
	a->next = f->arenas;
	f->arenas = a;
	to = a->bytes;
	for (uint64_t i = 0; i < count; i++) {
		if (!frag_fsb_has_text(c, texts[i].length))
			return damaged_block(f, err, "text %u is no UTF-8", f->text_count);
		texts[i].text = memcpy(to, c->p, texts[i].length);
		to[texts[i].length] = '\0';
		to += texts[i].length + 1;
		c->p += texts[i].length;
		f->text_count++;
	}
	return 0;
}

static bool set_handle(const struct fsb *f, bool is_text, uint64_t value, struct frag_handle *out)
{
	if (is_text) {
		if (value >= f->text_count)
			return false;
		*out = (struct frag_handle){ .text = f->texts[value].text,
					     .number = f->texts[value].length };
		return true;
	}
	out->number = value;
	return value < FRAG_SIZE_LIMIT;
}

/*
 * All fields are taken before any is judged: one that is cut off leaves the cursor
 * after its end. A shape that passes needs no checks when events use it.
 */
static bool take_shape(struct fsb *f, struct frag_fsb_cursor *c, struct shape *shape)
{
	uint64_t op = frag_fsb_take(c), members = frag_fsb_take(c), time = frag_fsb_take(c),
		 texts = frag_fsb_take(c);
	uint64_t pending = frag_fsb_take(c), stream = frag_fsb_take(c), pool = frag_fsb_take(c);
	uint64_t device = frag_fsb_take(c);

	*shape = (struct shape){
		.time = (uint8_t)time, .texts = (uint8_t)texts,
		.has_size = members & FRAG_HAS_SIZE ? UINT64_MAX : 0,
		.has_tag = members & FRAG_HAS_TAG ? UINT64_MAX : 0,
		.plain = members & FRAG_HAS_ID && !(members & ~(uint64_t)PLAIN)
			 && !(texts & FRAG_FSB_TEXT_ID) && time <= FRAG_FSB_DECIMAL,
	};
	shape->rec = (struct frag_record){
		.members = (uint32_t)members, .op = (enum frag_op)op, .pending = pending != 0,
		.device = device,
	};
	return c->p <= c->end && op < FRAG_OPS && members & FRAG_HAS_OP
	       && !(members & ~(uint64_t)FRAG_HAS_WRITTEN) && time <= FRAG_FSB_TEXT
	       && (time != FRAG_FSB_NO_TIME) == ((members & FRAG_HAS_T) != 0) && texts < 16
	       && (members & (FRAG_HAS_VALUE | FRAG_HAS_NAME) || !(texts & FRAG_FSB_TEXT_VALUE))
	       && pending < 2 && device < FRAG_SIZE_LIMIT
	       && (op != FRAG_OP_CONFIGURE || !(members & FRAG_HAS_VALUE)
		   || texts & FRAG_FSB_TEXT_VALUE)
	       && (op != FRAG_OP_MARK || !(members & FRAG_HAS_NAME) || texts & FRAG_FSB_TEXT_VALUE)
	       && set_handle(f, texts & FRAG_FSB_TEXT_STREAM, stream, &shape->rec.stream)
	       && set_handle(f, texts & FRAG_FSB_TEXT_POOL, pool, &shape->rec.pool);
}

static int read_shapes(struct fsb *f, struct frag_fsb_cursor *c, struct frag_error *err)
{
	uint64_t count = frag_fsb_take(c);

	if (c->p > c->end || count > FRAG_FSB_EVENTS_MAX)
		return damaged_block(f, err, "%" PRIu64 " shapes, more than a block may have", count);
	if (!frag_grow(&f->shapes, &f->shape_capacity, f->shape_count + count, sizeof(*f->shapes)))
		return frag_fail_nomem(err);
	for (; count; count--, f->shape_count++)
		if (!take_shape(f, c, &f->shapes[f->shape_count]))
			return damaged_block(f, err, "shape %u is not well-formed",
					     f->shape_count);
	return 0;
}

/*
 * The lengths of all columns add up to what is left of the payload, so they cannot
 * overlap. That a column ends where its events do is seen in end_events().
 */
static int read_columns(struct fsb *f, struct frag_fsb_cursor *c, struct frag_error *err)
{
	uint64_t digits = frag_fsb_take(c), first = frag_fsb_take(c), lengths[FRAG_FSB_COLUMNS],
		 sum = 0;

	for (uint32_t i = 0; i < FRAG_FSB_COLUMNS; i++) {
		uint64_t width = frag_fsb_take(c);

		lengths[i] = frag_fsb_take(c);
		if (c->p > c->end || width > 8 || lengths[i] > (uint64_t)(c->end - c->p))
			return damaged_block(f, err, "a column that is not well-formed");
		f->columns[i].width = (uint32_t)width;
		f->columns[i].mask = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
		sum += lengths[i];
	}
	if (digits > FRAG_FSB_DIGITS_MAX || sum != (uint64_t)(c->end - c->p))
		return damaged_block(f, err, "columns that are not as long as the block");
	f->unit = frag_fsb_tens[digits];
	f->last_time = frag_unzigzag(first);
	for (uint32_t i = 0; i < FRAG_FSB_COLUMNS; i++) {
		f->columns[i].p = c->p;
		c->p += lengths[i];
		f->columns[i].end = c->p;
	}
	return 0;
}

/* After the last event of a block each column has been used up. */
static int end_events(struct fsb *f, struct frag_error *err)
{
	for (uint32_t i = 0; i < FRAG_FSB_COLUMNS; i++)
		if (f->columns[i].p != f->columns[i].end)
			return damaged_block(f, err, "column %u is longer than its events", i);
	if (f->stacks.at != f->stacks.count)
		return damaged_block(f, err, "stacks of more allocs than it has");
	f->stacks.at = f->stacks.count = 0;
	return 0;
}

/* The number of all events; nothing may follow. */
static int end_file(struct fsb *f, struct frag_fsb_cursor *c, struct frag_error *err)
{
	uint64_t events = frag_fsb_take(c);
	int rc;

	if (events != f->all_events || c->p != c->end)
		return damaged_block(f, err, "%" PRIu64 " event%s in all, but there were %"
				     PRIu64, events, frag_s(events), f->all_events);
	f->ended = true;
	rc = fsb_need(f, 1, err);
	if (rc <= 0)
		return rc;
	return frag_fail(err, FRAG_ETRACE, "%s: byte %" PRIu64 ": bytes after the last block",
			 f->in.path, f->in.before + f->at);
}

/*
 * The last block must be used up before the next one replaces its payload. Stacks are in a
 * separate block before their events.
 */
static int fsb_refill(void *state, struct frag_error *err)
{
	struct fsb *f = state;
	struct frag_fsb_cursor payload = { .p = NULL };
	uint32_t kind = 0;
	uint64_t events;
	const char *why;
	int rc;

	if (f->ended)
		return 0;
	rc = f->events ? end_events(f, err) : 0;
	f->events = 0;
	rc = rc ? rc : next_block(f, &kind, &payload, err);
	if (!rc && kind == FRAG_FSB_STACKS) {
		rc = frag_fsb_stacks_read(&f->stacks, payload.p,
					  (uint32_t)(payload.end - payload.p), &why);
		if (rc)
			return rc == -FRAG_ENOMEM ? frag_fail_nomem(err)
						  : damaged_block(f, err, "%s", why);
		rc = next_block(f, &kind, &payload, err);
		if (!rc && kind != FRAG_FSB_EVENTS)
			rc = damaged_block(f, err, "events are expected after their stacks");
	}
	if (rc)
		return rc;
	if (kind == FRAG_FSB_END)
		return end_file(f, &payload, err);
	if (kind != FRAG_FSB_EVENTS)
		return damaged_block(f, err, "a second header");
	events = frag_fsb_take(&payload);
	if (payload.p > payload.end || events > FRAG_FSB_EVENTS_MAX)
		return damaged_block(f, err, "%" PRIu64 " events, more than a block may have", events);
	rc = fsb_read_texts(f, &payload, err);
	rc = rc ? rc : read_shapes(f, &payload, err);
	rc = rc ? rc : read_columns(f, &payload, err);
	if (rc)
		return rc;
	f->left = f->events = (uint32_t)events;
	f->all_events += events;
	return 1;
}

static bool take_number_text(struct fsb *f, uint64_t number, struct frag_record *rec)
{
	struct frag_scan scan = { .scratch = NULL };
	const struct frag_text *text;
	double value;
	const char *end;

	if (number >= f->text_count || f->texts[number].length == 0)
		return false;
	text = &f->texts[number];
	/* the NUL after it ends the scan, but it is no reason to ask for more */
	scan.end = text->text + text->length + 1;
	end = frag_scan_number(&scan, text->text, &value);
	rec->t_text = *text;
	return end == text->text + text->length && value == rec->t;
}

static inline int64_t fsb_add_change(int64_t time, uint64_t change)
{
	return (int64_t)((uint64_t)time + (uint64_t)frag_unzigzag(change));
}

static bool take_time(struct fsb *f, uint8_t kind, struct frag_record *rec)
{
	rec->t_text = (struct frag_text){ .text = NULL };
	if (kind == FRAG_FSB_DECIMAL) {
		f->last_time =
			fsb_add_change(f->last_time, take_value(&f->columns[FRAG_FSB_TIMES]));
		rec->t = (double)f->last_time / f->unit;
		return true;
	}
	if (!take_double(&f->columns[FRAG_FSB_DOUBLES], &rec->t))
		return false;
	return kind == FRAG_FSB_DOUBLE
	       || take_number_text(f, take_value(&f->columns[FRAG_FSB_TEXTS]), rec);
}

static bool fsb_take_text(struct fsb *f, struct frag_text *out)
{
	uint64_t number = take_value(&f->columns[FRAG_FSB_TEXTS]);

	if (number >= f->text_count)
		return false;
	*out = f->texts[number];
	return true;
}

/* Any event. Members that a record lacks are not set: clearing all of them is slow. */
static bool take_any(struct fsb *f, struct frag_record *rec)
{
	uint64_t number = take_value(&f->columns[FRAG_FSB_SHAPES]);
	struct shape *shape;
	uint32_t has;

	if (number >= f->shape_count)
		return false;
	shape = &f->shapes[number];
	has = shape->rec.members;
	*rec = shape->rec;
	if (rec->op == FRAG_OP_SET_FRACTION
	    && !take_double(&f->columns[FRAG_FSB_DOUBLES], &rec->fraction))
		return false;
	if (shape->texts & FRAG_FSB_TEXT_VALUE && !fsb_take_text(f, &rec->text))
		return false;
	if (has & FRAG_HAS_ID) {
		shape->last_id +=
			(uint64_t)frag_unzigzag(take_value(&f->columns[FRAG_FSB_IDS]));
		if (!set_handle(f, shape->texts & FRAG_FSB_TEXT_ID, shape->last_id, &rec->id))
			return false;
	}
	if (has & FRAG_HAS_SIZE) {
		rec->size = take_value(&f->columns[FRAG_FSB_SIZES]);
		if (rec->size >= FRAG_SIZE_LIMIT)
			return false;
	}
	if (has & FRAG_HAS_T && !take_time(f, shape->time, rec))
		return false;
	return !(has & FRAG_HAS_TAG) || fsb_take_text(f, &rec->tag);
}

/*
 * Events of id, and perhaps size, stream, time and tag, as long as they come and are
 * good: nearly all are such. Which of these one has takes no branches, except the
 * time: a trace has it everywhere, or nowhere. Where the columns are is kept in
 * registers. Returns how many there were.
 */
static uint32_t take_plain(struct fsb *f, struct frag_record *recs, uint32_t max)
{
	struct column shapes = f->columns[FRAG_FSB_SHAPES], ids = f->columns[FRAG_FSB_IDS];
	struct column sizes = f->columns[FRAG_FSB_SIZES], times = f->columns[FRAG_FSB_TIMES];
	struct column texts = f->columns[FRAG_FSB_TEXTS];
	const uint64_t shape_count = f->shape_count, text_count = f->text_count;
	const double unit = f->unit;
	int64_t time = f->last_time;
	uint32_t n;

	FRAG_ASSERT(max <= f->left);
	for (n = 0; n < max; n++) {
		struct frag_record *rec = &recs[n];
		uint64_t number = fsb_look(&shapes), id, size, tag;
		struct shape *shape;

		if (number >= shape_count || !f->shapes[number].plain)
			break;
		shape = &f->shapes[number];
		id = shape->last_id + (uint64_t)frag_unzigzag(fsb_look(&ids));
		size = fsb_look(&sizes) & shape->has_size;
		tag = fsb_look(&texts) & shape->has_tag;
		if ((id >= FRAG_SIZE_LIMIT) | (size >= FRAG_SIZE_LIMIT)
		    | ((tag >= text_count) & (shape->has_tag != 0)))
			break;
		shape->last_id = id;
		shapes.p += shapes.width;
		ids.p += ids.width;
		sizes.p += sizes.width & shape->has_size;
		texts.p += texts.width & shape->has_tag;
		rec->members = shape->rec.members;
		rec->op = shape->rec.op;
		rec->stream = shape->rec.stream;
		rec->id = (struct frag_handle){ .number = id };
		rec->size = size;
		rec->t_text = (struct frag_text){ .text = NULL };
		rec->tag = f->texts[tag];
		rec->at = f->events - f->left + n + 1;
		if (shape->rec.members & FRAG_HAS_T) {
			time = fsb_add_change(time, take_value(&times));
			rec->t = unit == 1 ? (double)time : (double)time / unit;
		}
	}
	f->columns[FRAG_FSB_SHAPES] = shapes;
	f->columns[FRAG_FSB_IDS] = ids;
	f->columns[FRAG_FSB_SIZES] = sizes;
	f->columns[FRAG_FSB_TIMES] = times;
	f->columns[FRAG_FSB_TEXTS] = texts;
	f->last_time = time;
	return n;
}

/* Allocs have the numbers of their stacks, in their order. */
static void fsb_put_stacks(struct fsb *f, struct frag_record *recs, uint32_t count)
{
	for (uint32_t i = 0; i < count && f->stacks.at < f->stacks.count; i++) {
		if (recs[i].op != FRAG_OP_ALLOC)
			continue;
		recs[i].stack = f->stacks.of[f->stacks.at++];
		recs[i].members |= recs[i].stack ? FRAG_HAS_STACK : 0;
	}
}

/*
 * Plain events in runs. What stops a run, a rare event or a bad one, goes through
 * take_any(), the reference, which can distinguish the two.
 */
static int fsb_many(void *state, struct frag_record *recs, uint32_t max, uint32_t *count,
		    const char **kind, struct frag_error *err)
{
	struct fsb *f = state;

	(void)kind;
	*count = 0;
	while (*count < max && f->left) {
		uint32_t room = max - *count;
		uint32_t given = take_plain(f, recs + *count, room < f->left ? room : f->left);

		if (given == 0) {
			if (!take_any(f, &recs[*count]))
				return damaged_block(f, err, "event %u of it is not well-formed",
						     f->events - f->left + 1);
			recs[*count].at = f->events - f->left + 1;
			given = 1;
		}
		fsb_put_stacks(f, recs + *count, given);
		*count += given;
		f->left -= given;
	}
	return *count == max;
}

static int fsb_next(void *state, struct frag_record *rec, const char **kind,
		    struct frag_error *err)
{
	uint32_t count;

	return fsb_many(state, rec, 1, &count, kind, err);
}

static void fsb_where(void *state, uint64_t at, char *buf, uint32_t size)
{
	const struct fsb *f = state;

	snprintf(buf, size, "%s: block %u, event %" PRIu64 " of it", f->in.path, f->block, at);
}

static void fsb_forget(struct fsb *f)
{
	while (f->arenas) {
		struct arena *a = f->arenas;

		f->arenas = a->next;
		free(a);
	}
	f->text_count = f->shape_count = 0;
}

static bool fsb_rewind(void *state)
{
	struct fsb *f = state;
	struct frag_error ignored;

	if (!f->in.rewindable || !frag_input_rewind(&f->in))
		return false;
	fsb_forget(f);
	/* callers may still read the stacks of earlier events, so the table stays */
	f->stacks.texts_in = f->stacks.frames_in = f->stacks.stacks_in = 0;
	f->stacks.at = f->stacks.count = 0;
	f->stacks.wanted = false;
	frag_header_fini(&f->header);
	f->left = f->events = 0;
	f->all_events = 0;
	f->ended = false;
	return fsb_begin(f, &ignored) == 0;
}

static void fsb_select_stacks(void *state, enum frag_stacks stacks)
{
	((struct fsb *)state)->stacks.wanted = stacks == FRAG_STACKS_ALL;
}

static void fsb_frame(void *state, uint64_t *at, struct frag_frame *frame)
{
	frag_stacks_at(&((const struct fsb *)state)->stacks.table, at, frame);
}

static void fsb_close(void *state)
{
	struct fsb *f = state;

	fsb_forget(f);
	frag_stacks_fini(&f->stacks.table);
	free(f->stacks.of);
	frag_header_fini(&f->header);
	frag_first_state_del(f->beginning);
	frag_input_close(&f->in);
	ZSTD_freeDCtx(f->zstd);
	free(f->payload);
	free(f->texts);
	free(f->shapes);
	free(f);
}

static struct frag_first_state *fsb_beginning(void *state)
{
	return ((struct fsb *)state)->beginning;
}

static const struct frag_source_ops fsb_source = {
	.form = "fsb",
	.refill = fsb_refill,
	.next = fsb_next,
	.many = fsb_many,
	.where = fsb_where,
	.rewind = fsb_rewind,
	.beginning = fsb_beginning,
	.select_stacks = fsb_select_stacks,
	.frame = fsb_frame,
	.close = fsb_close,
};

/* What fails from here on is closed with the state, which has taken the input over. */
static int fsb_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		    struct frag_error *err)
{
	struct fsb *f = calloc(1, sizeof(*f));
	int rc;

	(void)log;
	if (!f) {
		frag_input_close(in);
		return frag_fail_nomem(err);
	}
	rc = fsb_init(f, in, err);
	rc = rc ? rc : fsb_begin(f, err);
	rc = rc ? rc : frag_first_state_read(&f->beginning, &f->header, f->in.path, err);
	if (rc) {
		fsb_close(f);
		return rc;
	}
	*out = (struct frag_reading){
		.ops = &fsb_source, .state = f, .input = &f->in, .form = out->form,
		.devices = f->header.devices, .device_count = f->header.device_count,
		.meta = { .text = f->header.meta, .length = f->header.meta_length },
	};
	return 0;
}

static enum frag_sniff fsb_sniff(const char *bytes, size_t length)
{
	return frag_sniff_prefix(bytes, length, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH);
}

const struct frag_reader frag_reader_fsb = {
	.name = "fsb",
	.sniff = fsb_sniff,
	.open = fsb_open,
};
