/*
 * reader.c - what readers of forms share: sniffs, and notes for users; events of a file in memory,
 * compactly, and ids for allocations that a log names by address.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"

#define DEFAULT_GRANULARITY (UINT64_C(2) << 20)

void frag_note(const struct frag_log *log, const char *format, ...)
{
	char message[640];
	va_list args;

	if (!log->warn)
		return;
	va_start(args, format);
	frag_vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	log->warn(log->ctx, message);
}

static const char *reader_skip_space(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
		p++;
	return p;
}

/* After the closing quote of the string that begins after p, or the end. */
static const char *reader_skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

/* Not JSON's grammar, only its nesting: the reader itself is strict. */
enum frag_sniff frag_sniff_json(const char *bytes, size_t length, bool in_array,
				const char *const *ours, const char *const *theirs)
{
	const char *end = bytes + length, *p = reader_skip_space(bytes);
	uint32_t depth = 0;
	bool key = true;

	if (in_array && *p == '[')
		p = reader_skip_space(p + 1);
	else if (in_array)
		return p < end ? FRAG_SNIFF_NO : FRAG_SNIFF_MORE;
	if (p < end && *p != '{')
		return FRAG_SNIFF_NO;
	while (p < end) {
		const char *begin = p + 1;
		struct frag_text name;

		if (*p == '"') {
			p = reader_skip_string(p, end);
			if (!key || depth != 1 || p == end)
				continue;
			key = false;
			name = (struct frag_text){ begin, (uint32_t)(p - 1 - begin) };
			if (ours[frag_text_among(name, ours)])
				return FRAG_SNIFF_YES;
			if (theirs[frag_text_among(name, theirs)])
				return FRAG_SNIFF_NO;
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		if (depth == 0)
			return FRAG_SNIFF_NO;
		key = key || *p == ',';
		p++;
	}
	return FRAG_SNIFF_MORE;
}

enum frag_sniff frag_sniff_prefix(const char *bytes, size_t length, const char *prefix,
				  size_t prefix_length)
{
	size_t n = length < prefix_length ? length : prefix_length;

	if (memcmp(bytes, prefix, n) != 0)
		return FRAG_SNIFF_NO;
	return length < prefix_length ? FRAG_SNIFF_MORE : FRAG_SNIFF_YES;
}

struct frag_buffered *frag_buffered_new(const char *path, const char *unit)
{
	struct frag_buffered *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->unit = unit;
	h->path = strdup(path);
	h->constraints.scale = 1;
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
	frag_map_fini(&h->site_map);
	frag_stacks_fini(&h->stacks);
	free(h->sites);
	free(h->constraints.of);
	free(h->constraints.gaps);
	free(h->constraints.heights);
	for (uint32_t i = 0; i < h->device_count; i++)
		free(h->devices[i].name);
	free(h->devices);
	free(h->rows);
	free(h->path);
	free(h);
}

struct frag_row *frag_buffered_add(struct frag_buffered *h)
{
	struct frag_row *row;

	if (!FRAG_GROW(h->rows, h->capacity, h->count))
		return NULL;
	row = &h->rows[h->count++];
	*row = (struct frag_row){ .op = 0 };
	return row;
}

/* The text comes before the row, so that a lack of memory leaves no row without it. */
bool frag_buffered_add_oom(struct frag_buffered *h, const struct frag_row *like)
{
	char name[64] = "out of memory, ";
	struct frag_row *row, copy = *like;

	memcpy(frag_put_u64(name + strlen(name), like->size), " bytes", 7);
	copy.op = FRAG_OP_MARK;
	if (!frag_buffered_text(h, (struct frag_text){
		.text = name, .length = (uint32_t)strlen(name),
	    }, &copy.text))
		return false;
	row = frag_buffered_add(h);
	if (!row)
		return false;
	*row = copy;
	h->failed = h->count;
	return true;
}

bool frag_buffered_text(struct frag_buffered *h, struct frag_text text, uint32_t *number)
{
	const uint32_t before = h->texts.count;

	*number = frag_handles_intern_text(&h->texts, text);
	h->text_bytes += h->texts.count > before ? text.length : 0;
	return *number != UINT32_MAX;
}

bool frag_buffered_site(struct frag_buffered *h, uint32_t text, uint32_t stack, uint32_t *site)
{
	const uint64_t key = (uint64_t)text << 32 | stack;

	if (!h->sites && !frag_map_init(&h->site_map, frag_hash_seed()))
		return false;
	*site = frag_map_get(&h->site_map, key);
	if (*site != FRAG_MAP_NONE)
		return true;
	if (!FRAG_GROW(h->sites, h->site_capacity, h->site_count)
	    || !frag_map_add(&h->site_map, key, h->site_count))
		return false;
	*site = h->site_count;
	h->sites[h->site_count++] = (struct frag_site){ .text = text, .stack = stack };
	return true;
}

int frag_buffered_afford(const struct frag_buffered *h, const struct frag_input *in, uint64_t more,
			 struct frag_error *err)
{
	return frag_input_afford(in, h->count * sizeof(*h->rows) + h->text_bytes + more, err);
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
	struct frag_site site = { .stack = 0 };
	struct frag_text text;

	FRAG_ASSERT(h->at <= h->count);
	(void)kind;
	(void)err;
	if (h->at == h->count)
		return 0;
	h->at++;
	site.text = row->text;
	if (h->sites && row->op == FRAG_OP_ALLOC)
		site = h->sites[row->text];
	text = frag_handle_text(&h->texts, site.text);
	*rec = (struct frag_record){
		.members = FRAG_HAS_OP, .op = (enum frag_op)row->op, .size = row->size,
		.id.number = row->id, .stream.number = row->stream, .t = row->t,
		.device = row->device, .at = row->place,
	};
	if (row->members & FRAG_ROW_TEXT_ID)
		rec->id = *frag_handle_at(&h->texts, (uint32_t)row->id);
	if (row->op == FRAG_OP_ALLOC || row->op == FRAG_OP_FREE)
		rec->members |= FRAG_HAS_ID | (uint32_t)row->maker << FRAG_MAKER_SHIFT;
	if (row->op == FRAG_OP_ALLOC)
		rec->members |= FRAG_HAS_SIZE;
	if (row->members & FRAG_ROW_T)
		rec->members |= FRAG_HAS_T;
	if (row->members & FRAG_ROW_STREAM)
		rec->members |= FRAG_HAS_STREAM;
	if (row->members & FRAG_ROW_DEVICE)
		rec->members |= FRAG_HAS_DEVICE;
	if (site.stack && h->whole_stacks) {
		rec->members |= FRAG_HAS_STACK;
		rec->stack = site.stack;
	}
	if (row->pool) {
		rec->members |= FRAG_HAS_POOL;
		rec->pool = *frag_handle_at(&h->texts, row->pool);
	}
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

static void buffered_select_stacks(void *state, enum frag_stacks stacks)
{
	((struct frag_buffered *)state)->whole_stacks = stacks == FRAG_STACKS_ALL;
}

static void buffered_frame(void *state, uint64_t *at, struct frag_frame *frame)
{
	frag_stacks_at(&((struct frag_buffered *)state)->stacks, at, frame);
}

static const struct frag_source_ops buffered_source = {
	.form = "buffered",
	.refill = buffered_refill,
	.next = buffered_next,
	.where = buffered_where,
	.rewind = buffered_rewind,
	.select_stacks = buffered_select_stacks,
	.frame = buffered_frame,
	.amount = buffered_amount,
	.close = buffered_close,
};

int frag_buffered_open(struct frag_reading *out, struct frag_buffered *h, uint32_t device_count,
		       const struct frag_input *in, struct frag_error *err)
{
	uint64_t total;

	FRAG_ASSERT(device_count > 0);
	if (in)
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
		.scope = h->scope,
		.oom_step = h->failed ? h->failed - 1 : 0,
		.oom_bytes = h->failed ? h->rows[h->failed - 1].size : 0,
		.constraints = h->constraints.count || h->constraints.gap_count || h->constraints.by
			       ? &h->constraints : NULL,
	};
	return 0;
}

#define NONE UINT32_MAX

bool frag_address_map_init(struct frag_address_map *l, struct frag_buffered *buffered)
{
	*l = (struct frag_address_map){ .buffered = buffered, .nowhere = NONE };
	return frag_map_init(&l->live, frag_hash_seed());
}

void frag_address_map_fini(struct frag_address_map *l)
{
	frag_map_fini(&l->live);
	free(l->entries);
}

/* The live entry of an address of a device, or NONE. */
static uint32_t address_map_find(const struct frag_address_map *l, uint64_t address,
				 uint32_t device)
{
	uint32_t at = frag_map_home(&l->live, address), i;

	while ((i = frag_map_next(&l->live, address, &at)) != FRAG_MAP_NONE)
		if (l->entries[i].device == device)
			return i;
	return NONE;
}

static bool address_map_add_row(struct frag_address_map *l, const struct frag_row *like,
				enum frag_op op, uint64_t id)
{
	struct frag_row copy = *like, *row = frag_buffered_add(l->buffered);

	if (!row)
		return false;
	*row = copy;
	row->op = (uint8_t)op;
	row->id = id;
	if (op == FRAG_OP_FREE)
		row->size = row->text = 0;
	return true;
}

/* A free that the log has, or lacks: the id is that of the entry. */
static bool end_entry(struct frag_address_map *l, uint32_t i, const struct frag_row *row)
{
	FRAG_ASSERT(i < l->count);
	frag_map_remove(&l->live, l->entries[i].address, i);
	return address_map_add_row(l, row, FRAG_OP_FREE, i);
}

/*
 * An address that is used again must have been freed: a free that is missing
 * is made up right before. Ids count the allocs, as addresses return.
 */
bool frag_address_map_alloc(struct frag_address_map *l, uint64_t address,
			    const struct frag_row *row)
{
	uint32_t i = address ? address_map_find(l, address, row->device) : NONE;

	l->missing += i != NONE;
	if (i != NONE && !end_entry(l, i, row))
		return false;
	if (!FRAG_GROW(l->entries, l->capacity, l->count)
	    || (address && !frag_map_add(&l->live, address, l->count)))
		return false;
	l->entries[l->count] = (struct frag_address_map_entry){
		.address = address, .device = row->device, .next = l->nowhere,
	};
	if (!address)
		l->nowhere = l->count;
	return address_map_add_row(l, row, FRAG_OP_ALLOC, l->count++);
}

/*
 * A free without an alloc is of a block from before the log, which
 * frag_address_map_end() allocates at the beginning: frag_address_map_before() gives it the
 * id that the row has just used. Null addresses are not distinguished, so the latest
 * one goes.
 */
bool frag_address_map_free(struct frag_address_map *l, uint64_t address, const struct frag_row *row)
{
	uint32_t *link = &l->nowhere, i;

	if (!address) {
		while (*link != NONE && l->entries[*link].device != row->device)
			link = &l->entries[*link].next;
		i = *link;
		if (i == NONE) {
			l->ignored++;
			return true;
		}
		*link = l->entries[i].next;
		return address_map_add_row(l, row, FRAG_OP_FREE, i);
	}
	i = address_map_find(l, address, row->device);
	if (i != NONE)
		return end_entry(l, i, row);
	l->early++;
	l->early_bytes += row->size;
	return address_map_add_row(l, row, FRAG_OP_FREE, l->count)
	       && frag_address_map_before(l, row->device, row->size);
}

/*
 * A request that failed, and that no other follows, is the log's end: it is an alloc like any
 * other, as what the program needs includes it.
 */
static bool end_at_failure(struct frag_address_map *l)
{
	struct frag_buffered *h = l->buffered;
	struct frag_row *row;

	for (uint32_t i = h->failed; i < h->count && h->failed; i++)
		if (h->rows[i].op == FRAG_OP_ALLOC)
			h->failed = 0;
	if (!h->failed)
		return true;
	row = &h->rows[h->failed - 1];
	row->op = FRAG_OP_ALLOC;
	row->id = l->count;
	row->text = 0;
	h->scope.ends = FRAG_ENDS_OOM;
	return !h->sites || frag_buffered_site(h, 0, 0, &row->text);
}

/* What the rows show: blocks from before the log, an address that was given twice, a failure. */
static bool find_scope(struct frag_address_map *l)
{
	struct frag_scope *scope = &l->buffered->scope;

	scope->stated = true;
	scope->begins = l->before ? FRAG_BEGINS_LATE : FRAG_BEGINS_START;
	for (uint32_t i = 0; i < l->count; i++)
		if (l->entries[i].before)
			scope->before_active += l->entries[i].address;
	scope->before_reserved = scope->before_active;  /* at least */
	scope->lost = l->missing;
	scope->ends = l->missing ? FRAG_ENDS_CUT : FRAG_ENDS_END;
	return end_at_failure(l);
}

/*
 * Allocations before the log are known only now; their rows are inserted before the first one
 * at once, with its time and place.
 */
bool frag_address_map_end(struct frag_address_map *l, uint8_t members, const struct frag_log *log)
{
	struct frag_buffered *h = l->buffered;
	const struct frag_row first = h->count ? h->rows[0] : (struct frag_row){ .members = 0 };
	struct frag_row *row;

	if (!frag_grow(&h->rows, &h->capacity, (uint64_t)h->count + l->before, sizeof(*h->rows)))
		return false;
	if (l->before)
		memmove(h->rows + l->before, h->rows, h->count * sizeof(*h->rows));
	h->count += l->before;
	h->failed += h->failed ? l->before : 0;
	row = h->rows;
	for (uint32_t i = 0; i < l->count; i++)
		if (l->entries[i].before)
			*row++ = (struct frag_row){
				.op = FRAG_OP_ALLOC, .id = i, .size = l->entries[i].address,
				.device = (uint16_t)l->entries[i].device, .t = first.t,
				.text = l->entries[i].text,
				.place = first.place,
				.members = (uint8_t)(members | (first.members & FRAG_ROW_T)),
			};
	if (!find_scope(l))
		return false;
	if (l->early)
		frag_note(log,
			  "%s: %" PRIu64 " free%s, %" PRIu64 " byte%s in all, of what was allocated"
			  " before the log: allocated at its beginning here",
			  h->path, l->early, frag_s(l->early), l->early_bytes,
			  frag_s(l->early_bytes));
	if (l->missing)
		frag_note(log, "%s: %" PRIu64 " free%s missing: the older block is freed here just"
			  " before its address is used again", h->path, l->missing,
			  frag_s(l->missing));
	if (l->ignored)
		frag_note(log, "%s: %" PRIu64 " free%s of the null address left out", h->path,
			  l->ignored, frag_s(l->ignored));
	return true;
}
