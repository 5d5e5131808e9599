/*
 * timeline.c - the raw memory timeline of torch.profiler (export_memory_timeline), as a source.
 *
 * An array of [time in ns, action, bytes, category]. It names no blocks: blocks of the same size and
 * category are not distinguished, and the latest one goes. The two other files of the timeline are
 * sums by category and a picture, without blocks; they are recognised, and refused.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/hash.h"
#include "input/json_scan.h"

/* PyTorch's enum Action; a change of version writes two rows, of the old and of the new one. */
enum { TIMELINE_PREEXISTING = 1, TIMELINE_CREATE, TIMELINE_CHANGE, TIMELINE_DESTROY };

/* In the order of _CATEGORY_TO_INDEX; the last one has no name. */
static const char *const categories[] = {
	"PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT",
	"AUTOGRAD_DETAIL", NULL,
};
#define CATEGORY_BITS 3
#define UNKNOWN_CATEGORY ((uint32_t)(sizeof(categories) / sizeof(categories[0])) - 1)

_Static_assert(UNKNOWN_CATEGORY == (1 << CATEGORY_BITS) - 1, "the categories fill their bits");

#define NO_BLOCK UINT32_MAX

struct timeline_row {
	uint64_t place, bytes;
	int64_t t;              /* ns; -1: before the profile */
	uint8_t action, category;
	bool negative;          /* the bytes */
};

/* A block, by its id. */
struct timeline_block {
	uint32_t row;           /* its alloc; NO_BLOCK: it is from before the profile */
	uint32_t below;         /* the next live one of its size and category */
};

struct timeline {
	struct frag_document doc;
	struct frag_buffered *buffered;
	struct frag_address_map addresses;      /* of the blocks from before the profile */
	struct timeline_block *blocks;
	uint32_t block_capacity;
	struct frag_map live;                   /* size and category -> latest block */
	uint32_t texts[sizeof(categories) / sizeof(categories[0])];
	struct timeline_row row;
	uint32_t changed;       /* the block whose new version the next row has */
	uint64_t unseen;        /* blocks that no row creates */
	bool begun, ended;
};

/* One of the four integers. */
static const char *scan_field(struct timeline *tl, struct frag_scan *s, const char *p, bool *negative,
			      uint64_t *value)
{
	const char *q = frag_scan_wide(p, negative, value);

	if (p == s->end || q == s->end)         /* more digits may follow */
		return frag_scan_bad(s, s->end, "");
	return q ? q : frag_document_wrong(&tl->doc, p, "an integer is expected here: an event of a"
					   " memory timeline is [time, action, bytes, category]");
}

/* [time, action, bytes, category], whose signs are checked later. */
static const char *scan_row(struct timeline *tl, struct frag_scan *s, const char *p)
{
	uint64_t value[4];
	bool negative[4];

	tl->row.place = tl->doc.in.before + (size_t)(p - tl->doc.in.buf);
	for (uint32_t i = 0; i < 4; i++) {
		const char bracket = i ? ',' : '[';
		const char *at;

		if (p == s->end)
			return frag_scan_bad(s, p, "");
		if (*p != bracket)
			return frag_document_wrong(&tl->doc, p, "an event of a memory timeline is"
						   " [time, action, bytes, category]");
		at = p = frag_scan_space(s, p + 1);
		p = scan_field(tl, s, p, &negative[i], &value[i]);
		if (!p)
			return NULL;
		if (i == 1 && (negative[i] || value[i] < TIMELINE_PREEXISTING
			       || value[i] > TIMELINE_DESTROY))
			return value[i] > UINT32_MAX
				? frag_document_wrong(&tl->doc, at, "sums of a memory timeline by"
						      " category, without blocks: export it as"
						      " FILE.raw.json.gz")
				: frag_document_wrong(&tl->doc, at, "an action is 1 (PREEXISTING) to"
						      " 4 (DESTROY)");
		if (i == 2 && value[i] >> 53)
			return frag_document_wrong(&tl->doc, at, "a size below 2^53 is expected here");
		if (i == 3 && (negative[i] || value[i] > UNKNOWN_CATEGORY))
			return frag_document_wrong(&tl->doc, at, "a category is 0 (PARAMETER) to %u"
						   " (unknown)", UNKNOWN_CATEGORY);
		p = frag_scan_space(s, p);
	}
	if (p == s->end)
		return frag_scan_bad(s, p, "");
	if (*p != ']')
		return frag_document_wrong(&tl->doc, p, "an event of a memory timeline is"
					   " [time, action, bytes, category]");
	if (value[0] >> 63)
		return frag_document_wrong(&tl->doc, p, "a time of 63 bits is expected here");
	tl->row.t = negative[0] ? -1 : (int64_t)value[0];
	tl->row.action = (uint8_t)value[1];
	tl->row.bytes = value[2];
	tl->row.negative = negative[2];
	tl->row.category = (uint8_t)value[3];
	return p + 1;
}

static const char *timeline_scan_begin(void *ctx, struct frag_scan *s, const char *p)
{
	(void)ctx;
	p = frag_scan_space(s, p);
	return *p == '[' ? p + 1 : frag_scan_bad(s, p, "a memory timeline begins with [");
}

/* The next event, or the end of them. */
static const char *timeline_scan_event(void *ctx, struct frag_scan *s, const char *p)
{
	struct timeline *tl = ctx;

	p = frag_scan_space(s, p);
	if (*p == ']') {
		tl->ended = true;
		return p + 1;
	}
	if (tl->begun)
		p = *p == ',' ? frag_scan_space(s, p + 1)
			      : frag_scan_bad(s, p, "a comma or ] is expected here");
	p = p ? scan_row(tl, s, p) : NULL;
	tl->begun = tl->begun || p;
	return p;
}

static uint64_t live_key(uint64_t bytes, uint32_t category)
{
	return bytes << CATEGORY_BITS | category;
}

static FRAG_OR_NOMEM push_live(struct timeline *tl, uint32_t id, uint64_t key)
{
	const uint32_t top = frag_map_get(&tl->live, key);

	if (top != FRAG_MAP_NONE)
		frag_map_remove(&tl->live, key, top);
	tl->blocks[id].below = top;
	return frag_map_add(&tl->live, key, id);
}

static FRAG_OR_NOMEM pop_live(struct timeline *tl, uint64_t key, uint32_t *id)
{
	*id = frag_map_get(&tl->live, key);
	if (*id == FRAG_MAP_NONE)
		return true;
	frag_map_remove(&tl->live, key, *id);
	return tl->blocks[*id].below == FRAG_MAP_NONE
	       || frag_map_add(&tl->live, key, tl->blocks[*id].below);
}

/* Microseconds, rounded once. */
static double timeline_time(const struct timeline *tl)
{
	return (double)(tl->row.t / 1000) + (double)(tl->row.t % 1000) / 1000;
}

/* A block has its last category, from its beginning on; what is unknown later changes nothing. */
static void categorise(struct timeline *tl, uint32_t id, uint32_t category)
{
	const uint32_t row = tl->blocks[id].row;

	if (category == UNKNOWN_CATEGORY)
		return;
	if (row == NO_BLOCK)
		tl->addresses.entries[id].text = tl->texts[category];
	else
		tl->buffered->rows[row].text = tl->texts[category];
}

static FRAG_OR_NOMEM add_block(struct timeline *tl, bool before, uint32_t *id)
{
	struct frag_row row = {
		.t = timeline_time(tl), .size = tl->row.bytes, .place = tl->row.place,
		.members = tl->row.t < 0 ? 0 : FRAG_ROW_T,
	};

	*id = tl->addresses.count;
	if (!FRAG_GROW(tl->blocks, tl->block_capacity, *id))
		return false;
	tl->blocks[*id].row = before ? NO_BLOCK : tl->buffered->count;
	return before ? frag_address_map_before(&tl->addresses, 0, tl->row.bytes)
		      : frag_address_map_alloc(&tl->addresses, 0, &row);
}

static FRAG_OR_NOMEM add_free(struct timeline *tl, uint32_t id)
{
	struct frag_row *row = frag_buffered_add(tl->buffered);

	if (row)
		*row = (struct frag_row){
			.op = FRAG_OP_FREE, .id = id, .t = timeline_time(tl),
			.place = tl->row.place, .members = tl->row.t < 0 ? 0 : FRAG_ROW_T,
		};
	return row != NULL;
}

/* Of a row that ends or changes a block: one that no row creates is from before the profile. */
static FRAG_OR_NOMEM find_block(struct timeline *tl, uint32_t *id)
{
	if (!pop_live(tl, live_key(tl->row.bytes, tl->row.category), id))
		return false;
	if (*id != FRAG_MAP_NONE)
		return true;
	tl->unseen++;
	if (!add_block(tl, true, id))
		return false;
	categorise(tl, *id, tl->row.category);
	return true;
}

/* Zero bytes are neither a block nor the end of one. False: out of memory. */
static bool timeline_keep(struct timeline *tl)
{
	const struct timeline_row *row = &tl->row;
	uint32_t id = tl->changed;

	if (!row->bytes)
		return true;
	switch (row->action) {
	case TIMELINE_PREEXISTING:
	case TIMELINE_CREATE:
		if (!add_block(tl, row->action == TIMELINE_PREEXISTING, &id))
			return false;
		break;
	case TIMELINE_CHANGE:
		if (row->negative)
			return find_block(tl, &tl->changed);
		tl->changed = NO_BLOCK;
		break;
	default:
		return find_block(tl, &id) && add_free(tl, id);
	}
	categorise(tl, id, row->category);
	return push_live(tl, id, live_key(row->bytes, row->category));
}

static const char two_events[] = "action 3 (INCREMENT_VERSION) has two events, the first with negative"
				 " bytes";

/* Do the signs, and the pairs of changes, hold? NULL: yes. */
static const char *fault_of(const struct timeline *tl)
{
	const struct timeline_row *row = &tl->row;

	if (!row->bytes)
		return NULL;
	if (row->action != TIMELINE_CHANGE && row->negative != (row->action == TIMELINE_DESTROY))
		return row->negative ? "its bytes are negative, which only those of action 4 (DESTROY) are"
				     : "action 4 (DESTROY) has negative bytes";
	if (row->action == TIMELINE_CHANGE ? row->negative == (tl->changed != NO_BLOCK)
					   : tl->changed != NO_BLOCK)
		return two_events;
	return NULL;
}

/* The whole document, as rows. */
static int timeline_read(struct timeline *tl, struct frag_error *err)
{
	int rc = frag_document_part(&tl->doc, timeline_scan_begin, tl, err);

	while (!rc && !tl->ended) {
		const char *fault;

		rc = frag_document_part(&tl->doc, timeline_scan_event, tl, err);
		if (rc || tl->ended)
			break;
		fault = fault_of(tl);
		if (fault)
			rc = frag_fail(err, FRAG_ETRACE, "%s: byte %" PRIu64 ": %s", tl->doc.in.path,
				       tl->row.place, fault);
		else if (!timeline_keep(tl))
			rc = frag_fail_nomem(err);
		rc = rc ? rc : frag_buffered_afford(tl->buffered, &tl->doc.in, tl->addresses.count
						    * (uint64_t)(sizeof(*tl->blocks)
								 + sizeof(*tl->addresses.entries)),
						    err);
	}
	if (!rc && tl->changed != NO_BLOCK)
		rc = frag_fail(err, FRAG_ETRACE, "%s: byte %" PRIu64 ": the timeline ends within a change:"
			       " %s", tl->doc.in.path, tl->row.place, two_events);
	return rc ? rc : frag_document_end(&tl->doc, "document", err);
}

static FRAG_OR_NOMEM timeline_init(struct timeline *tl)
{
	tl->buffered = frag_buffered_new(tl->doc.in.path, "byte");
	if (!tl->buffered || !frag_map_init(&tl->live, frag_hash_seed())
	    || !frag_address_map_init(&tl->addresses, tl->buffered))
		return false;
	for (uint32_t i = 0; i < UNKNOWN_CATEGORY; i++) {
		const struct frag_text name = { categories[i], (uint32_t)strlen(categories[i]) };

		if (!frag_buffered_text(tl->buffered, name, &tl->texts[i]))
			return false;
	}
	return true;
}

/* The source owns the rows once it is opened, also where that fails. */
static int timeline_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
			 struct frag_error *err)
{
	struct timeline tl = { .changed = NO_BLOCK };
	int rc = frag_document_init(&tl.doc, in, err);

	if (rc)
		return rc;
	if (!timeline_init(&tl))
		rc = frag_fail_nomem(err);
	else if (tl.doc.in.buf[0] == '<')
		rc = frag_fail(err, FRAG_ETRACE, "%s: a picture of a memory timeline, without blocks:"
			       " export it as FILE.raw.json.gz", tl.doc.in.path);
	rc = rc ? rc : timeline_read(&tl, err);
	if (!rc && tl.unseen)
		frag_note(log, "%s: %" PRIu64 " block%s that no event creates: allocated at the"
			  " beginning here", tl.doc.in.path, tl.unseen, frag_s(tl.unseen));
	if (!rc && !frag_address_map_end(&tl.addresses, 0, log))
		rc = frag_fail_nomem(err);
	if (!rc && tl.buffered->count == 0)
		rc = frag_fail(err, FRAG_ETRACE, "%s: a memory timeline without events",
			       tl.doc.in.path);
	if (rc)
		frag_buffered_del(tl.buffered);
	else
		rc = frag_buffered_open(out, tl.buffered, 1, &tl.doc.in, err);
	out->pytorch = true;
	frag_address_map_fini(&tl.addresses);
	frag_map_fini(&tl.live);
	frag_document_fini(&tl.doc);
	free(tl.blocks);
	return rc;
}

/* After white space. */
static size_t timeline_space(const char *bytes, size_t length, size_t i)
{
	while (i < length && strchr(" \t\r\n", bytes[i]) && bytes[i])
		i++;
	return i;
}

/* An array of arrays; or the page that PyTorch writes around the picture. */
static enum frag_sniff timeline_sniff(const char *bytes, size_t length)
{
	static const char page[] = "<html>\n<head><meta charset=\"utf-8\" />"
				   "<title>GPU Memory Timeline HTML</title>";
	size_t i = timeline_space(bytes, length, 0);

	if (i < length && bytes[i] == '<')
		return frag_sniff_prefix(bytes, length, page, sizeof(page) - 1);
	if (i < length && bytes[i] != '[')
		return FRAG_SNIFF_NO;
	i = timeline_space(bytes, length, i + 1);
	return i >= length ? FRAG_SNIFF_MORE : bytes[i] == '[' ? FRAG_SNIFF_YES : FRAG_SNIFF_NO;
}

const struct frag_reader frag_reader_timeline = {
	.name = "timeline",
	.sniff = timeline_sniff,
	.open = timeline_open,
};
