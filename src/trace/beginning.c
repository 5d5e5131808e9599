/*
 * beginning.c - reads and writes the member `beginning` of a header.
 *
 * A run begins with these segments without a further check, so all that they rely on is judged
 * here: parts of a range rise with gaps between them, blocks are inside their segment, in rising
 * order. Whether its event allocates a block as described is checked when that is read.
 */
#include "trace/beginning.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/json.h"
#include "base/parse.h"

struct beginning_read {
	struct frag_first_state *b;
	const char *path;
	struct frag_error *err;
	uint32_t device_count;
	int rc;
	uint32_t segment_capacity, block_capacity;
	uint64_t *ends;         /* by segment: behind the first byte of its last block */
};

static void beginning_bad(struct beginning_read *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void beginning_bad(struct beginning_read *r, const char *format, ...)
{
	char what[160];
	va_list args;

	if (r->rc)
		return;
	va_start(args, format);
	frag_vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	r->rc = frag_fail(r->err, FRAG_ETRACE, "%s: \"beginning\": %s", r->path, what);
}

static void beginning_nomem(struct beginning_read *r)
{
	r->rc = r->rc ? r->rc : frag_fail_nomem(r->err);
}

/* An integer from `least` to `most`; of an array's element where key is NULL. */
static uint64_t beginning_number(struct beginning_read *r, struct frag_node_ref in, const char *key,
				 uint64_t least, uint64_t most, const char *what, uint32_t i)
{
	struct frag_node_ref m = in;
	int64_t number;

	if (key && !frag_json_member(in, key, &m))
		beginning_bad(r, "%s %u: member \"%s\" is missing", what, i, key);
	else if (frag_json_kind(m) != FRAG_JSON_NUMBER || !frag_json_integer(m, &number)
		 || number < 0 || (uint64_t)number < least || (uint64_t)number > most)
		beginning_bad(r, "%s %u: %s%s%s must be an integer from %" PRIu64 " to %" PRIu64,
			      what, i, key ? "\"" : "", key ? key : "its element", key ? "\"" : "",
			      least, most);
	return r->rc ? 0 : (uint64_t)number;
}

/* A name of a stream or pool: an integer, the default 0, or a text. */
static void beginning_handle(struct beginning_read *r, struct frag_node_ref in, const char *key,
			     struct frag_handle *out, uint32_t i)
{
	struct frag_node_ref m;

	if (!frag_json_member(in, key, &m))
		return;
	if (frag_json_kind(m) != FRAG_JSON_STRING) {
		out->number = beginning_number(r, in, key, 0, FRAG_SIZE_LIMIT - 1, "segment", i);
		return;
	}
	out->text = strdup(frag_json_string(m));
	if (out->text)
		out->number = strlen(out->text);
	else
		beginning_nomem(r);
}

static bool beginning_true(struct beginning_read *r, struct frag_node_ref in, const char *key,
			   uint32_t i)
{
	struct frag_node_ref m;

	if (!frag_json_member(in, key, &m) || frag_json_kind(m) != FRAG_JSON_BOOL)
		beginning_bad(r, "segment %u: member \"%s\" must be true or false", i, key);
	return !r->rc && frag_json_is_true(m);
}

/* [[OFFSET,BYTES],...]: what is mapped of a range. */
static void beginning_mapped(struct beginning_read *r, struct frag_node_ref list,
			     struct frag_initial *seg, uint32_t i)
{
	struct frag_extent *runs = NULL;
	uint32_t capacity = 0;
	uint64_t end = 0;

	seg->range = true;
	if (frag_json_kind(list) != FRAG_JSON_ARRAY)
		beginning_bad(r, "segment %u: member \"mapped\" must be an array", i);
	for (struct frag_node_ref e = frag_json_first(list); !r->rc && e.node; e = frag_json_next(e)) {
		const struct frag_node_ref first = frag_json_kind(e) == FRAG_JSON_ARRAY
						   ? frag_json_first(e)
						   : (struct frag_node_ref){ .node = NULL };
		const struct frag_node_ref second = first.node ? frag_json_next(first) : first;
		struct frag_extent run;

		if (!second.node || frag_json_next(second).node) {
			beginning_bad(r, "segment %u: a mapped part must be [OFFSET,BYTES]", i);
			break;
		}
		run.offset = beginning_number(r, first, NULL, seg->run_count ? end + 1 : 0,
					      seg->bytes - 1, "segment", i);
		if (!r->rc)
			run.bytes = beginning_number(r, second, NULL, 1, seg->bytes - run.offset,
						     "segment", i);
		if (r->rc)
			break;
		if (!FRAG_GROW(runs, capacity, seg->run_count)) {
			beginning_nomem(r);
			break;
		}
		end = run.offset + run.bytes;
		runs[seg->run_count++] = run;
	}
	seg->runs = runs;
}

static void beginning_segment(struct beginning_read *r, struct frag_node_ref o)
{
	struct frag_first_state *b = r->b;
	const uint32_t i = b->segment_count;
	struct frag_initial *seg;
	struct frag_node_ref mapped;

	if (frag_json_kind(o) != FRAG_JSON_OBJECT) {
		beginning_bad(r, "segment %u is no object", i);
		return;
	}
	if (!FRAG_GROW(b->segments, r->segment_capacity, i)) {
		beginning_nomem(r);
		return;
	}
	seg = &b->segments[b->segment_count++];
	*seg = (struct frag_initial){ .run_count = 0 };
	seg->device = (uint32_t)beginning_number(r, o, "device", 0, r->device_count - 1, "segment", i);
	seg->bytes = beginning_number(r, o, "bytes", 1, FRAG_SIZE_LIMIT - 1, "segment", i);
	seg->address = beginning_number(r, o, "address", 0, INT64_MAX, "segment", i);
	seg->large = beginning_true(r, o, "large", i);
	beginning_handle(r, o, "stream", &seg->stream_name, i);
	beginning_handle(r, o, "pool", &seg->pool_name, i);
	if (!r->rc && frag_json_member(o, "mapped", &mapped))
		beginning_mapped(r, mapped, seg, i);
}

static void beginning_block(struct beginning_read *r, struct frag_node_ref o)
{
	struct frag_first_state *b = r->b;
	const uint32_t i = b->block_count;
	struct frag_first_block k = { .event = 0 };
	struct frag_node_ref least;
	struct frag_initial *seg;

	if (frag_json_kind(o) != FRAG_JSON_OBJECT || !b->segment_count) {
		beginning_bad(r, "block %u is %s", i, b->segment_count ? "no object" : "in no segment");
		return;
	}
	k.event = beginning_number(r, o, "event", i ? b->blocks[i - 1].event + 1 : 0,
				   FRAG_SIZE_LIMIT - 1, "block", i);
	k.spot.initial = (uint32_t)beginning_number(r, o, "segment", 0, b->segment_count - 1, "block", i);
	if (r->rc)
		return;
	seg = &b->segments[k.spot.initial];
	k.spot.offset = beginning_number(r, o, "offset", r->ends[k.spot.initial], seg->bytes - 1,
					 "block", i);
	if (!r->rc)
		k.spot.room = beginning_number(r, o, "space", 1, seg->bytes - k.spot.offset, "block", i);
	if (!r->rc)
		k.spot.bytes = beginning_number(r, o, "bytes", 0, FRAG_SIZE_LIMIT - 1, "block", i);
	if (!r->rc)
		k.requested = beginning_number(r, o, "requested", 0, k.spot.room, "block", i);
	if (!r->rc && frag_json_member(o, "least", &least))
		k.spot.least = beginning_number(r, least, NULL, 0, k.requested, "block", i);
	if (r->rc)
		return;
	if (!FRAG_GROW(b->blocks, r->block_capacity, i)) {
		beginning_nomem(r);
		return;
	}
	r->ends[k.spot.initial] = k.spot.offset + 1;
	seg->live += k.requested;
	b->blocks[b->block_count++] = k;
}

/* The ranks of a device's segments, each from 0 on once. */
static void beginning_ranks(struct beginning_read *r, struct frag_node_ref list)
{
	struct frag_first_state *b = r->b;
	struct frag_ranks_by_address *o = &b->orders[b->order_count];
	uint32_t capacity = 0, count = 0;
	bool *seen;

	b->order_count++;
	if (frag_json_kind(list) != FRAG_JSON_ARRAY) {
		beginning_bad(r, "order %u is no array", b->order_count - 1);
		return;
	}
	for (struct frag_node_ref e = frag_json_first(list); e.node; e = frag_json_next(e))
		count++;
	seen = calloc((size_t)count + 1, sizeof(*seen));
	if (!seen)
		beginning_nomem(r);
	for (struct frag_node_ref e = frag_json_first(list); !r->rc && e.node; e = frag_json_next(e)) {
		const uint32_t rank = (uint32_t)beginning_number(r, e, NULL, 0, count - 1, "order",
								 b->order_count - 1);

		if (!r->rc && seen[rank])
			beginning_bad(r, "order %u has rank %u twice", b->order_count - 1, rank);
		else if (!r->rc && !FRAG_GROW(o->ranks, capacity, o->count))
			beginning_nomem(r);
		if (r->rc)
			break;
		seen[rank] = true;
		o->ranks[o->count++] = rank;
	}
	free(seen);
}

/* Each element of the member, if it is there. */
static void beginning_each(struct beginning_read *r, struct frag_node_ref root, const char *key,
			   void (*element)(struct beginning_read *r, struct frag_node_ref o))
{
	struct frag_node_ref list;

	if (r->rc || !frag_json_member(root, key, &list))
		return;
	if (frag_json_kind(list) != FRAG_JSON_ARRAY) {
		beginning_bad(r, "member \"%s\" must be an array", key);
		return;
	}
	for (struct frag_node_ref e = frag_json_first(list); !r->rc && e.node; e = frag_json_next(e))
		element(r, e);
}

static void beginning_order(struct beginning_read *r, struct frag_node_ref list)
{
	if (r->b->order_count < r->device_count)
		beginning_ranks(r, list);
	else
		beginning_bad(r, "member \"order\" has more devices than the trace");
}

int frag_first_state_read(struct frag_first_state **out, const struct frag_header *header,
			  const char *path, struct frag_error *err)
{
	struct beginning_read r = {
		.path = path, .err = err, .device_count = header->device_count,
	};
	struct frag_node_ref root = { .node = NULL };
	struct frag_json doc = { .root = NULL };

	*out = NULL;
	if (!header->beginning)
		return 0;
	r.b = calloc(1, sizeof(*r.b));
	if (r.b) {
		r.b->orders = calloc(header->device_count, sizeof(*r.b->orders));
		root = frag_json_parse(&doc, header->beginning, header->beginning_length);
	}
	if (!root.node || !r.b->orders)
		beginning_nomem(&r);
	if (!r.rc)
		beginning_each(&r, root, "segments", beginning_segment);
	if (!r.rc) {
		r.ends = calloc((size_t)r.b->segment_count + 1, sizeof(*r.ends));
		if (!r.ends)
			beginning_nomem(&r);
	}
	beginning_each(&r, root, "blocks", beginning_block);
	beginning_each(&r, root, "order", beginning_order);
	frag_json_end(&doc);
	free(r.ends);
	if (r.rc)
		frag_first_state_del(r.b);
	else
		*out = r.b;
	return r.rc;
}

void frag_first_state_del(struct frag_first_state *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->segment_count; i++) {
		free((void *)(uintptr_t)b->segments[i].runs);
		free((void *)(uintptr_t)b->segments[i].stream_name.text);
		free((void *)(uintptr_t)b->segments[i].pool_name.text);
	}
	for (uint32_t i = 0; i < b->order_count; i++)
		free(b->orders[i].ranks);
	free(b->segments);
	free(b->blocks);
	free(b->orders);
	free(b);
}

/* False: out of memory. */
static bool beginning_put_handle(FILE *f, const char *key, const struct frag_handle *h)
{
	char *text;

	if (!h->text) {
		if (h->number)
			fprintf(f, ",\"%s\":%" PRIu64, key, h->number);
		return true;
	}
	text = malloc(6 * (size_t)h->number + 2);
	if (!text)
		return false;
	fprintf(f, ",\"%s\":%.*s", key, (int)(frag_put_json(text, h->text, h->number) - text),
		text);
	free(text);
	return true;
}

static bool beginning_put_segment(FILE *f, const struct frag_initial *seg)
{
	fprintf(f, "{\"device\":%u", seg->device);
	if (!beginning_put_handle(f, "stream", &seg->stream_name)
	    || !beginning_put_handle(f, "pool", &seg->pool_name))
		return false;
	fprintf(f, ",\"address\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"large\":%s", seg->address,
		seg->bytes, seg->large ? "true" : "false");
	if (seg->range)
		fputs(",\"mapped\":[", f);
	for (uint32_t i = 0; i < seg->run_count; i++)
		fprintf(f, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", seg->runs[i].offset,
			seg->runs[i].bytes);
	fputs(seg->range ? "]}" : "}", f);
	return true;
}

char *frag_first_state_text(const struct frag_first_state *b, size_t *length)
{
	struct frag_memory m;
	bool good = true;

	if (!frag_memory_open(&m))
		return NULL;
	fputs("{\"segments\":[", m.f);
	for (uint32_t i = 0; i < b->segment_count && good; i++) {
		fputs(i ? "," : "", m.f);
		good = beginning_put_segment(m.f, &b->segments[i]);
	}
	fputs("],\"blocks\":[", m.f);
	for (uint32_t i = 0; i < b->block_count; i++) {
		const struct frag_first_block *k = &b->blocks[i];

		fprintf(m.f, "%s{\"event\":%" PRIu64 ",\"segment\":%u,\"offset\":%" PRIu64
			",\"requested\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"space\":%" PRIu64,
			i ? "," : "", k->event, k->spot.initial, k->spot.offset, k->requested,
			k->spot.bytes, k->spot.room);
		if (k->spot.least)
			fprintf(m.f, ",\"least\":%" PRIu64, k->spot.least);
		fputs("}", m.f);
	}
	fputs("],\"order\":[", m.f);
	for (uint32_t i = 0; i < b->order_count; i++) {
		fputs(i ? ",[" : "[", m.f);
		for (uint32_t k = 0; k < b->orders[i].count; k++)
			fprintf(m.f, "%s%u", k ? "," : "", b->orders[i].ranks[k]);
		fputs("]", m.f);
	}
	fputs("]}", m.f);
	good = frag_memory_close(&m) && good;
	*length = m.size;
	if (good)
		return m.text;
	free(m.text);
	return NULL;
}
