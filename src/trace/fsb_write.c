/* fsb_write.c - writes the fsb format, and the stacks of its allocs. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/format.h"
#include "base/array_grow.h"
#include "trace/beginning.h"
#include "trace/fsb.h"
#include "trace/scope.h"

#define ZSTD_LEVEL 1            /* higher ones pack a little more, and are read more slowly */
#define ZSTD_SNAPSHOT_LEVEL 12  /* half of level 1, at 20 MB/s */
#define LARGEST 9e15            /* below 2^53, with a margin for rounding */
/* A block ends after this many bytes of new texts. */
#define TEXT_BYTES_MAX (UINT32_C(4) << 20)

/* Bytes that grow. */
struct bytes {
	char *bytes;
	uint32_t length, capacity;
	bool failed;
};

/* A column: integers, and all their bits together. */
struct column {
	uint64_t *values;
	uint32_t count, capacity;
	uint64_t bits;
	bool failed;
};

/* What makes a shape; handles that are texts by the number of their text. */
struct shape_key {
	uint64_t stream, pool, device;
	uint32_t members;
	uint8_t op, pending, time, texts;
};

struct shape {
	struct shape_key key;
	uint64_t last_id;
};

/* A time that waits for the block's unit. */
struct pending_time {
	int64_t mantissa;
	uint8_t digits;
};

/* The stacks of the allocs: numbers in the file are those of the table. */
struct stacks {
	struct frag_stack_table table;  /* count 0: there is none yet */
	struct frag_map known;          /* the source's number -> ours */
	uint32_t *of;                   /* of each alloc of the block to come; 0: none */
	uint32_t count, capacity;
	uint32_t texts_out, frames_out, stacks_out;     /* those before are in the file */
	bool any;                       /* an alloc of this block has one */
};

struct fsb {
	struct frag_sink *sink;
	struct frag_handles texts;
	uint32_t texts_out;     /* texts before this one are in the file */
	struct shape *shapes;
	uint32_t shape_count, shape_capacity, shapes_out;
	struct frag_map shape_map;
	struct column columns[FRAG_FSB_COLUMNS];
	struct stacks stacks;
	struct pending_time *times;
	uint32_t time_count, time_capacity;
	uint32_t digits;        /* most digits after the point among this block's times */
	double largest;         /* of them, without its sign */
	uint64_t text_bytes;    /* of this block's new texts and stacks */
	uint32_t events;        /* of this block */
	uint64_t all_events;
	uint32_t block;         /* number of the next one */
	struct bytes payload, packed;
	ZSTD_CCtx *zstd;
};

const double frag_fsb_tens[FRAG_FSB_DIGITS_MAX + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
};

static char *room_of(struct bytes *b, size_t n)
{
	b->failed = b->failed || !frag_grow(&b->bytes, &b->capacity, (uint64_t)b->length + n, 1);
	return b->failed ? NULL : b->bytes + b->length;
}

static void put_varint(struct bytes *b, uint64_t value)
{
	char *p = room_of(b, 10);

	if (!p)
		return;
	for (; value >= 0x80; value >>= 7)
		*p++ = (char)(value | 0x80);
	*p++ = (char)value;
	b->length = (uint32_t)(p - b->bytes);
}

static void put_bytes(struct bytes *b, const void *bytes, size_t n)
{
	char *p = n ? room_of(b, n) : NULL;

	if (!p)
		return;
	memcpy(p, bytes, n);
	b->length += (uint32_t)n;
}

static void to_column(struct column *c, uint64_t value)
{
	c->failed = c->failed || !FRAG_GROW(c->values, c->capacity, c->count);
	if (c->failed)
		return;
	c->values[c->count++] = value;
	c->bits |= value;
}

static void add_double(struct column *c, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	to_column(c, bits);
}

/* Packs the payload and writes it out as one block. */
static int write_block(struct fsb *f, uint32_t kind, int level, struct frag_error *err)
{
	uint32_t head[FRAG_FSB_HEAD_LENGTH / sizeof(uint32_t)];
	size_t n;

	if (f->payload.length > FRAG_FSB_BLOCK_MAX)
		return frag_fail(err, FRAG_ETRACE,
				 "an event of %u bytes is too large for the form fsb",
				 f->payload.length);
	f->packed.length = 0;
	if (f->payload.failed || !room_of(&f->packed, ZSTD_compressBound(f->payload.length)))
		return frag_fail_nomem(err);
	n = ZSTD_compressCCtx(f->zstd, f->packed.bytes, f->packed.capacity, f->payload.bytes,
			      f->payload.length, level);
	if (ZSTD_isError(n))
		return frag_fail_nomem(err);
	head[0] = kind;
	head[1] = f->block++;
	head[2] = f->payload.length;
	head[3] = (uint32_t)n;
	head[4] = frag_fsb_checksum((unsigned char *)head, (unsigned char *)f->packed.bytes, n);
	frag_outfile_write(f->sink->out, head, sizeof(head));
	frag_outfile_write(f->sink->out, f->packed.bytes, n);
	f->payload.length = 0;
	return frag_outfile_status(f->sink->out, err);
}

static void fsb_fini(struct frag_sink *s)
{
	struct fsb *f = s->state;

	if (!f)
		return;
	frag_handles_fini(&f->texts);
	frag_map_fini(&f->shape_map);
	frag_stacks_fini(&f->stacks.table);
	frag_map_fini(&f->stacks.known);
	free(f->stacks.of);
	for (uint32_t i = 0; i < FRAG_FSB_COLUMNS; i++)
		free(f->columns[i].values);
	free(f->shapes);
	free(f->times);
	free(f->payload.bytes);
	free(f->packed.bytes);
	ZSTD_freeCCtx(f->zstd);
	free(f);
}

/* The bytes of the file, unpacked, in blocks; of a complete file the snapshot that it has. */
static int fsb_put_snapshot(struct fsb *f, const char *path, struct frag_error *err)
{
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	if (rc)
		return rc;
	rc = frag_input_fill(&in, 0, err);
	rc = rc < 0 ? rc : frag_fsb_take_snapshot(&in, err);
	while (rc >= 0 && in.end) {
		const size_t room = FRAG_FSB_SNAPSHOT_MAX - f->payload.length;
		const size_t n = in.end < room ? in.end : room;

		put_bytes(&f->payload, in.buf, n);
		rc = frag_input_fill(&in, n, err);
		if (rc >= 0 && (n == room || !in.end || f->payload.failed))
			rc = write_block(f, FRAG_FSB_SNAPSHOT, ZSTD_SNAPSHOT_LEVEL, err);
	}
	frag_input_close(&in);
	return rc < 0 ? rc : 0;
}

/* Written as a text, as meta is; false: out of memory. */
static bool fsb_put_beginning(struct bytes *b, const struct frag_first_state *beginning)
{
	size_t length = 0;
	char *text = beginning ? frag_first_state_text(beginning, &length) : NULL;

	if (beginning && !text)
		return false;
	put_varint(b, text ? (uint64_t)length + 1 : 0);
	put_bytes(b, text, length);
	free(text);
	return true;
}

/*
 * The table of texts begins with the null handle, which is no text: numbers in the
 * file count from after it.
 */
static int fsb_begin_file(struct frag_sink *s, const struct frag_trace_info *info,
			  struct frag_error *err)
{
	struct fsb *f = calloc(1, sizeof(*f));
	struct frag_text meta;
	struct bytes *b;
	bool failed;
	char *own;
	int rc;

	s->state = f;
	if (!f)
		return frag_fail_nomem(err);
	f->sink = s;
	f->zstd = ZSTD_createCCtx();
	if (!frag_handles_init(&f->texts, frag_hash_seed()))
		return frag_fail_nomem(err);
	f->texts_out = f->texts.count;
	if (!frag_map_init(&f->shape_map, frag_hash_seed()) || !f->zstd)
		return frag_fail_nomem(err);
	frag_outfile_write(s->out, FRAG_FSB_MAGIC, FRAG_FSB_MAGIC_LENGTH);
	rc = s->snapshot ? fsb_put_snapshot(f, s->snapshot, err) : 0;
	if (rc)
		return rc;
	b = &f->payload;
	put_varint(b, FRAG_FSB_VERSION);
	put_varint(b, info->device_count);
	for (uint32_t i = 0; i < info->device_count; i++) {
		const struct frag_device_figures *d = &info->devices[i];
		size_t name = d->name ? strlen(d->name) : 0;

		put_varint(b, d->name ? name + 1 : 0);
		put_bytes(b, d->name, name);
		put_varint(b, d->total);
		put_varint(b, d->context);
		put_varint(b, d->other);
		put_varint(b, d->granularity);
	}
	own = frag_scope_meta(info, &meta, &failed);
	if (failed)
		return frag_fail_nomem(err);
	put_varint(b, meta.text ? (uint64_t)meta.length + 1 : 0);
	put_bytes(b, meta.text, meta.length);
	free(own);
	if (!fsb_put_beginning(b, info->beginning))
		return frag_fail_nomem(err);
	return write_block(f, FRAG_FSB_HEADER, ZSTD_LEVEL, err);
}

/* The number of a text; texts are numbered from 0 in the order of their first use. */
static bool text_number(struct fsb *f, const char *text, uint64_t length, uint64_t *out)
{
	const struct frag_handle handle = { .text = text, .number = length };
	uint32_t before = f->texts.count, i = frag_handles_intern(&f->texts, &handle);

	f->text_bytes += f->texts.count > before ? length : 0;
	*out = i - 1;
	return i != UINT32_MAX;
}

static bool handle_number(struct fsb *f, const struct frag_handle *h, uint8_t bit,
			  uint8_t *bits, uint64_t *out)
{
	*out = h->number;
	if (!h->text)
		return true;
	*bits |= bit;
	return text_number(f, h->text, h->number, out);
}

/* Is the time's text the one that it would be given without it? */
static bool usual_text(const struct frag_record *rec, char text[FRAG_NUMBER_ROOM], size_t *length)
{
	*length = (size_t)(frag_put_double(text, rec->t) - text);
	return !rec->t_text.text || (rec->t_text.length == *length
				     && memcmp(rec->t_text.text, text, *length) == 0);
}

/*
 * Converts a time to an integer with `decimals` digits after the point. The conversion must be
 * exact, and the result must not be too large in the unit that the block would then have.
 */
static bool decimal(const struct fsb *f, double t, const char *text, size_t length,
		    struct pending_time *out)
{
	double size = t < 0 ? -t : t, largest = size > f->largest ? size : f->largest;
	bool negative = *text == '-', point = false;
	uint64_t mantissa = 0;
	uint32_t digits = 0;

	for (size_t i = negative; i < length; i++) {
		if (text[i] == '.') {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || mantissa > UINT64_C(900719925474098))
			return false;
		mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
		digits += point;
	}
	if (digits > FRAG_FSB_DIGITS_MAX || (mantissa == 0 && negative))
		return false;
	*out = (struct pending_time){
		.mantissa = negative ? -(int64_t)mantissa : (int64_t)mantissa,
		.digits = (uint8_t)digits,
	};
	return (double)mantissa / frag_fsb_tens[digits] == size
	       && largest * frag_fsb_tens[digits > f->digits ? digits : f->digits] < LARGEST;
}

/* Puts the time off, or writes it in full. */
static bool write_time(struct fsb *f, const struct frag_record *rec, uint8_t *kind)
{
	char usual[FRAG_NUMBER_ROOM];
	struct pending_time time;
	size_t length;
	uint64_t text;

	*kind = FRAG_FSB_NO_TIME;
	if (!(rec->members & FRAG_HAS_T))
		return true;
	*kind = usual_text(rec, usual, &length) ? FRAG_FSB_DOUBLE : FRAG_FSB_TEXT;
	if (*kind == FRAG_FSB_DOUBLE && decimal(f, rec->t, usual, length, &time)) {
		double size = rec->t < 0 ? -rec->t : rec->t;

		*kind = FRAG_FSB_DECIMAL;
		if (!FRAG_GROW(f->times, f->time_capacity, f->time_count))
			return false;
		f->times[f->time_count++] = time;
		f->digits = time.digits > f->digits ? time.digits : f->digits;
		f->largest = size > f->largest ? size : f->largest;
		return true;
	}
	add_double(&f->columns[FRAG_FSB_DOUBLES], rec->t);
	if (*kind == FRAG_FSB_DOUBLE)
		return true;
	if (!text_number(f, rec->t_text.text, rec->t_text.length, &text))
		return false;
	to_column(&f->columns[FRAG_FSB_TEXTS], text);
	return true;
}

/* The record's shape, a new one where there is none; UINT32_MAX: out of memory. */
static uint32_t find_shape_of(struct fsb *f, const struct shape_key *key)
{
	uint64_t hash = frag_hash_text((const char *)key, sizeof(*key), f->shape_map.seed);
	uint32_t at = frag_map_home(&f->shape_map, hash), i;

	while ((i = frag_map_next(&f->shape_map, hash, &at)) != FRAG_MAP_NONE)
		if (memcmp(&f->shapes[i].key, key, sizeof(*key)) == 0)
			return i;
	if (!FRAG_GROW(f->shapes, f->shape_capacity, f->shape_count)
	    || !frag_map_add(&f->shape_map, hash, f->shape_count))
		return UINT32_MAX;
	f->shapes[f->shape_count] = (struct shape){ .key = *key };
	return f->shape_count++;
}

static bool write_text(struct fsb *f, struct frag_text text)
{
	uint64_t number;

	if (!text_number(f, text.text, text.length, &number))
		return false;
	to_column(&f->columns[FRAG_FSB_TEXTS], number);
	return true;
}

/*
 * Columns are filled in the order in which take_event() of the reader takes from
 * them: of doubles the fraction, then the time; of texts the value, the time, then
 * the tag.
 */
static bool put_event(struct fsb *f, const struct frag_record *rec)
{
	struct shape_key key;
	uint64_t id = 0;
	uint32_t index;
	struct shape *shape;

	memset(&key, 0, sizeof(key));
	key.members = rec->members & FRAG_HAS_WRITTEN;
	key.op = (uint8_t)rec->op;
	key.pending = rec->members & FRAG_HAS_PENDING && rec->pending;
	key.device = rec->members & FRAG_HAS_DEVICE ? rec->device : 0;
	if (rec->op == FRAG_OP_SET_FRACTION)
		add_double(&f->columns[FRAG_FSB_DOUBLES], rec->fraction);
	if (rec->members & (FRAG_HAS_VALUE | FRAG_HAS_NAME) && rec->text.text)  /* configure, mark */
		key.texts = FRAG_FSB_TEXT_VALUE;
	if (key.texts && !write_text(f, rec->text))
		return false;
	if (!write_time(f, rec, &key.time))
		return false;
	if ((rec->members & FRAG_HAS_STREAM
	     && !handle_number(f, &rec->stream, FRAG_FSB_TEXT_STREAM, &key.texts, &key.stream))
	    || (rec->members & FRAG_HAS_POOL
		&& !handle_number(f, &rec->pool, FRAG_FSB_TEXT_POOL, &key.texts, &key.pool))
	    || (rec->members & FRAG_HAS_ID
		&& !handle_number(f, &rec->id, FRAG_FSB_TEXT_ID, &key.texts, &id)))
		return false;
	index = find_shape_of(f, &key);
	if (index == UINT32_MAX)
		return false;
	shape = &f->shapes[index];
	to_column(&f->columns[FRAG_FSB_SHAPES], index);
	if (rec->members & FRAG_HAS_ID) {
		to_column(&f->columns[FRAG_FSB_IDS],
			  frag_zigzag((int64_t)(id - shape->last_id)));
		shape->last_id = id;
	}
	if (rec->members & FRAG_HAS_SIZE)
		to_column(&f->columns[FRAG_FSB_SIZES], rec->size);
	return !(rec->members & FRAG_HAS_TAG) || write_text(f, rec->tag);
}

/* Converts times to differences, now that the unit is known, and returns the first time. */
static int64_t put_times(struct fsb *f)
{
	int64_t last = 0, first = 0;

	for (uint32_t i = 0; i < f->time_count; i++) {
		int64_t value = f->times[i].mantissa;

		for (uint32_t d = f->times[i].digits; d < f->digits; d++)
			value *= 10;
		if (i == 0)
			first = last = value;
		to_column(&f->columns[FRAG_FSB_TIMES], frag_zigzag(value - last));
		last = value;
	}
	return first;
}

static void put_shapes(struct fsb *f)
{
	struct bytes *b = &f->payload;

	put_varint(b, f->shape_count - f->shapes_out);
	for (; f->shapes_out < f->shape_count; f->shapes_out++) {
		const struct shape_key *k = &f->shapes[f->shapes_out].key;

		const uint64_t fields[] = { k->op, k->members, k->time, k->texts, k->pending,
					    k->stream, k->pool, k->device };

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			put_varint(b, fields[i]);
	}
}

static uint32_t width_of(const struct column *c)
{
	return c->bits ? (71 - (uint32_t)__builtin_clzll(c->bits)) / 8 : 0;
}

static void put_column(struct bytes *b, struct column *c)
{
	uint32_t width = width_of(c);
	char *p = room_of(b, (size_t)c->count * width);

	b->failed = b->failed || c->failed;
	for (uint32_t i = 0; i < c->count && p; i++)
		p = (char *)memcpy(p, &c->values[i], width) + width;
	if (p)
		b->length = (uint32_t)(p - b->bytes);
	c->count = 0;
	c->bits = 0;
}

/* Stores the source's stack, from the outermost frame, in this table. */
static FRAG_OR_NOMEM copy_stack(struct stacks *s, const struct frag_symbols *symbols, uint64_t at,
				uint32_t *stack)
{
	uint32_t frames[FRAG_FRAMES_MAX], count = 0;
	struct frag_frame frame;

	*stack = 0;
	while (count < FRAG_FRAMES_MAX && frag_symbols_frame(symbols, &at, &frame)) {
		/* larger than the last line of any file */
		frame.line = frame.line > UINT32_MAX ? UINT32_MAX : frame.line;
		if (!frag_stacks_frame(&s->table, &frame, &frames[count++]))
			return false;
	}
	while (count)
		if (!frag_stacks_push(&s->table, frames[--count], *stack, stack))
			return false;
	return true;
}

/* What these numbers and all after them take in a file. */
static size_t bytes_from(const struct frag_stack_table *t, uint32_t text, uint32_t frame,
			 uint32_t stack)
{
	size_t bytes = (size_t)(t->frame_count - frame) * 3 * FRAG_FSB_CELL
		       + (size_t)(t->count - stack) * 2 * FRAG_FSB_CELL;

	for (; text < t->texts.count; text++)
		bytes += FRAG_FSB_CELL + (size_t)frag_handle_at(&t->texts, text)->number;
	return bytes;
}

static char *store_cell(char *p, uint32_t value)
{
	return (char *)memcpy(p, &value, FRAG_FSB_CELL) + FRAG_FSB_CELL;
}

/*
 * The columns in the order of frag_fsb_stacks_read(), each with what is new since
 * the last block; allocs alone begin at 0 in every block.
 */
static void put_stacks_at(struct stacks *s, char *p)
{
	const struct frag_stack_table *t = &s->table;
	const uint32_t texts = t->texts.count;

	p = store_cell(p, texts - s->texts_out);
	p = store_cell(p, t->frame_count - s->frames_out);
	p = store_cell(p, t->count - s->stacks_out);
	p = store_cell(p, s->count);
	for (uint32_t i = s->texts_out; i < texts; i++)
		p = store_cell(p, (uint32_t)frag_handle_at(&t->texts, i)->number);
	for (uint32_t i = s->frames_out; i < t->frame_count; i++)
		p = store_cell(p, frag_stacks_frame_at(t, i)->file);
	for (uint32_t i = s->frames_out; i < t->frame_count; i++)
		p = store_cell(p, (uint32_t)frag_stacks_frame_at(t, i)->line);
	for (uint32_t i = s->frames_out; i < t->frame_count; i++)
		p = store_cell(p, frag_stacks_frame_at(t, i)->name);
	for (uint32_t i = s->stacks_out; i < t->count; i++)
		p = store_cell(p, frag_stacks_stack_at(t, i)->frame);
	for (uint32_t i = s->stacks_out; i < t->count; i++) {
		const uint32_t below = frag_stacks_stack_at(t, i)->below;

		p = store_cell(p, below ? i - below : 0);
	}
	for (uint32_t i = 0; i < s->count; i++)
		p = store_cell(p, s->of[i]);
	for (uint32_t i = s->texts_out; i < texts; i++) {
		const struct frag_handle *text = frag_handle_at(&t->texts, i);

		memcpy(p, text->text, (size_t)text->number);
		p += text->number;
	}
	s->texts_out = texts;
	s->frames_out = t->frame_count;
	s->stacks_out = t->count;
	s->count = 0;
	s->any = false;
}

/* The stacks of the events to come. */
static int put_stacks(struct fsb *f, struct frag_error *err)
{
	const struct stacks *s = &f->stacks;
	const size_t size = bytes_from(&s->table, s->texts_out, s->frames_out, s->stacks_out)
			    + (4 + (size_t)s->count) * FRAG_FSB_CELL;   /* the counts before all */
	char *p = room_of(&f->payload, size);

	if (!p)
		return frag_fail_nomem(err);
	put_stacks_at(&f->stacks, p);
	f->payload.length += (uint32_t)size;
	return write_block(f, FRAG_FSB_STACKS, ZSTD_LEVEL, err);
}

/*
 * Only a full block knows the unit of its times, the widths of its columns and
 * what is new in it. The heads of all columns precede the first, so that a reader
 * can set all cursors at once.
 */
static int put_events(struct fsb *f, struct frag_error *err)
{
	struct bytes *b = &f->payload;
	uint32_t texts = f->texts.count;
	int64_t first_time;
	int rc = f->stacks.any ? put_stacks(f, err) : 0;

	if (rc)
		return rc;
	f->stacks.count = 0;
	first_time = put_times(f);
	put_varint(b, f->events);
	put_varint(b, texts - f->texts_out);
	for (uint32_t i = f->texts_out; i < texts; i++)
		put_varint(b, frag_handle_at(&f->texts, i)->number);
	for (; f->texts_out < texts; f->texts_out++)
		put_bytes(b, frag_handle_at(&f->texts, f->texts_out)->text,
			  (size_t)frag_handle_at(&f->texts, f->texts_out)->number);
	put_shapes(f);
	put_varint(b, f->digits);
	put_varint(b, frag_zigzag(first_time));
	for (uint32_t i = 0; i < FRAG_FSB_COLUMNS; i++) {
		put_varint(b, width_of(&f->columns[i]));
		put_varint(b, (uint64_t)f->columns[i].count * width_of(&f->columns[i]));
	}
	for (uint32_t i = 0; i < FRAG_FSB_COLUMNS; i++)
		put_column(b, &f->columns[i]);
	f->all_events += f->events;
	f->events = f->time_count = f->digits = 0;
	f->text_bytes = 0;
	f->largest = 0;
	return write_block(f, FRAG_FSB_EVENTS, ZSTD_LEVEL, err);
}

static bool stacks_begin(struct stacks *s)
{
	s->texts_out = s->frames_out = s->stacks_out = 1;
	return frag_stacks_init(&s->table, frag_hash_seed())
	       && frag_map_init(&s->known, frag_hash_seed());
}

/*
 * A stack is copied at its first alloc and known by its number from then on. What
 * it will take in the file counts towards the size of the block.
 */
static bool note_stack(struct fsb *f, const struct frag_record *rec)
{
	const uint32_t stack = rec->members & FRAG_HAS_STACK ? rec->stack : 0;
	struct stacks *s = &f->stacks;
	uint32_t number = 0;

	if (rec->op != FRAG_OP_ALLOC || !f->sink->symbols)
		return true;
	if ((!s->table.count && !stacks_begin(s)) || !FRAG_GROW(s->of, s->capacity, s->count))
		return false;
	if (stack)
		number = frag_map_get(&s->known, stack);
	if (number == FRAG_MAP_NONE) {
		const struct frag_stack_table *t = &s->table;
		const uint32_t texts = t->texts.count, frames = t->frame_count, stacks = t->count;

		if (!copy_stack(s, f->sink->symbols, stack, &number)
		    || !frag_map_add(&s->known, stack, number))
			return false;
		f->text_bytes += bytes_from(t, texts, frames, stacks);
	}
	s->any = s->any || number;
	s->of[s->count++] = number;
	return true;
}

static int fsb_event(struct frag_sink *s, const struct frag_record *rec,
		     const struct frag_event *ev, struct frag_error *err)
{
	struct fsb *f = s->state;

	(void)ev;
	if (!put_event(f, rec) || !note_stack(f, rec))
		return frag_fail_nomem(err);
	f->events++;
	if (f->events < FRAG_FSB_EVENTS_MAX && f->text_bytes < TEXT_BYTES_MAX)
		return 0;
	return put_events(f, err);
}

static int fsb_end(struct frag_sink *s, struct frag_error *err)
{
	struct fsb *f = s->state;
	int rc = f->events ? put_events(f, err) : 0;

	put_varint(&f->payload, f->all_events);
	return rc ? rc : write_block(f, FRAG_FSB_END, ZSTD_LEVEL, err);
}

const struct frag_sink_ops frag_sink_fsb = {
	.name = "fsb",
	.ending = ".fsb",
	.lossless = true,
	.begin = fsb_begin_file,
	.event = fsb_event,
	.end = fsb_end,
	.fini = fsb_fini,
};
