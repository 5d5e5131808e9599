/*
 * page_facts.c - the facts of a trace's runs, as the script of an HTML report reads them.
 *
 * Long lists go into packed columns, single values are plain JSON. Where the columns would be too
 * long, the smallest rectangles are merged until they are not.
 */
#include "answers/page_write.h"

#include <stdlib.h>

#include "answers/answers.h"
#include "base/array_grow.h"
#include "base/parse.h"
#include "live_blocks/live_blocks.h"

/*
 * A column is planes of bytes, the lowest byte of each value first, then the next of each: as many
 * planes as its largest value needs. Values may be differences from the previous value, folded so
 * that small ones of both signs are small (0, -1, 1, -2, ...), and may have been divided by a power
 * of 2 that divides all of them. All columns together go through gzip and base64.
 */
struct pack {
	unsigned char *bytes;
	uint32_t used, capacity;
	bool failed;            /* out of memory */
};

static unsigned char *pack_room(struct pack *pack, uint64_t n)
{
	if (pack->failed || !frag_grow(&pack->bytes, &pack->capacity, pack->used + n + 1, 1)) {
		pack->failed = true;
		return NULL;
	}
	return pack->bytes + pack->used;
}

static void put_place(struct frag_node_ref in, const char *name, const uint64_t *facts, int count)
{
	struct frag_node_ref list = frag_json_array(in, name);

	for (int i = 0; i < count; i++)
		frag_json_u64(list, NULL, facts[i]);
}

/*
 * Adds a column, and says in the node where it is: [offset, count, planes, shift, differences].
 * The values are changed.
 */
static void pack_column(struct pack *pack, struct frag_node_ref in, const char *name,
		      uint64_t *values, uint32_t count, bool differences)
{
	uint64_t all = 0, largest = 0, before = 0, planes = 0, shift = 0;
	unsigned char *p;

	for (uint32_t i = 0; i < count; i++)
		all |= values[i];
	while (all && !(all >> shift & 1))
		shift++;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t value = values[i] >> shift;

		values[i] = !differences ? value : value >= before ? 2 * (value - before)
								   : 2 * (before - value) - 1;
		before = value;
		largest |= values[i];
	}
	while (planes < 8 && largest >> (8 * planes))
		planes++;
	put_place(in, name, (const uint64_t[]){ pack->used, count, planes, shift, differences }, 5);
	p = pack_room(pack, planes * count);
	for (uint64_t k = 0; p && k < planes; k++)
		for (uint32_t i = 0; i < count; i++)
			*p++ = (unsigned char)(values[i] >> (8 * k));
	pack->used += p ? (uint32_t)(planes * count) : 0;
}

static void pack_take(void *ctx, const char *bytes, size_t n)
{
	struct pack *to = ctx;
	unsigned char *p = pack_room(to, n);

	if (!p)
		return;
	memcpy(p, bytes, n);
	to->used += (uint32_t)n;
}

/* Adds unchanged bytes: [offset, length]. */
static void pack_bytes(struct pack *pack, struct frag_node_ref in, const char *name,
		       const void *bytes, uint32_t length)
{
	put_place(in, name, (const uint64_t[]){ pack->used, length }, 2);
	pack_take(pack, bytes, length);
}

/* The bytes as base64 in the quotes of JSON. Returns NULL on out of memory. */
static char *encode(const struct pack *from)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc(((size_t)from->used + 2) / 3 * 4 + 3), *p = text;

	if (!text)
		return NULL;
	*p++ = '"';

	for (uint32_t i = 0; i < from->used; i += 3) {
		const uint32_t left = from->used - i;
		const uint32_t three = (uint32_t)from->bytes[i] << 16
				       | (left > 1 ? (uint32_t)from->bytes[i + 1] << 8 : 0)
				       | (left > 2 ? from->bytes[i + 2] : 0);

		*p++ = digits[three >> 18];
		*p++ = digits[three >> 12 & 63];
		*p++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*p++ = left > 2 ? digits[three & 63] : '=';
	}
	*p++ = '"';
	*p = '\0';
	return text;
}

/* All of it, packed, as a text of JSON in base64; the caller's. NULL: out of memory. */
static char *pack_base64(const struct pack *pack, size_t *length)
{
	struct pack packed = { .used = 0 };
	char *text = NULL;

	if (!pack->failed && frag_gzip(pack->bytes, pack->used, pack_take, &packed) && !packed.failed)
		text = encode(&packed);
	*length = ((size_t)packed.used + 2) / 3 * 4;
	free(packed.bytes);
	return text;
}

/* Bytes of base64, so that a report has 400 KB: less for each other run, which has a picture; */
#define PACKED_MAX ((size_t)330 << 10)
#define PACKED_LESS ((size_t)9 << 10)
#define PACKED_LEAST ((size_t)46 << 10) /* but this much for each run: many devices take more */
#define RUNS_FINE 2                     /* of more, rasters are half as wide and high */
#define CURED_BUCKETS 512               /* at most, of the line of a run with its fix */
#define MARKS_SHOWN 1000                /* the first and the last of more */
#define OOMS_SHOWN 20
#define LEAKS_SHOWN 20

/* The buffer of the longest column. */
struct scratch {
	struct pack *pack;
	struct frag_node_ref in;
	uint64_t *values;
	bool coarse;            /* four cells of a raster become one */
};

/* The minimum or the maximum of a metric in `count` buckets. */
static uint64_t extreme(const struct frag_line *line, uint32_t first, uint32_t count, int metric,
			bool most)
{
	uint64_t value = most ? 0 : UINT64_MAX;

	for (uint32_t i = first; i < first + count && i < line->count; i++) {
		const struct frag_series_bucket *b = &line->bucket[i];

		if (most ? b->most[metric] > value : b->least[metric] < value)
			value = most ? b->most[metric] : b->least[metric];
	}
	return value;
}

/* Adjacent buckets are merged until there are at most `max`. */
static void put_timeline(struct scratch *s, const struct frag_line *line, uint32_t max)
{
	static const char *const names[][2] = {
		[FRAG_LINE_RESERVED] = { "reserved_least", "reserved_most" },
		[FRAG_LINE_ALLOCATED] = { "allocated_least", "allocated_most" },
		[FRAG_LINE_REQUESTED] = { "requested_least", "requested_most" },
		[FRAG_LINE_NON_RELEASABLE] = { "non_releasable_least", "non_releasable_most" },
	};
	uint32_t coarser = 0, count = line->count;

	for (; count > max; coarser++)
		count = (count + 1) / 2;
	frag_json_u64(s->in, "shift", line->shift + coarser);
	for (int k = 0; k < 2 * FRAG_LINE_FIGURES; k++) {
		for (uint32_t i = 0; i < count; i++)
			s->values[i] = extreme(line, i << coarser, 1U << coarser, k / 2, k % 2);
		pack_column(s->pack, s->in, names[k / 2][k % 2], s->values, count, true);
	}
}

static void put_window(struct scratch *s, const struct frag_window_line *w)
{
	static const char *const names[FRAG_LINE_FIGURES + 1] = {
		"step", "reserved", "allocated", "requested", "non_releasable",
	};

	for (int k = 0; k <= FRAG_LINE_FIGURES; k++) {
		for (uint32_t i = 0; i < w->count; i++)
			s->values[i] = k ? w->step[i].at[k - 1] : w->step[i].step;
		pack_column(s->pack, s->in, names[k], s->values, w->count, true);
	}
}

static uint64_t area_value(const struct frag_areas *areas, const struct frag_area *a, int column)
{
	switch (column) {
	case 0:
		return a->birth;
	case 1:
		return a->end - a->birth;
	case 2:
		return a->end - a->freed;
	case 3:
		return areas->lanes[a->lane].base + a->y;
	case 4:
		return a->bytes;
	default:
		return a->who;
	}
}

static void put_areas(struct scratch *s, const struct frag_areas *areas)
{
	static const char *const names[] = { "birth", "life", "pending", "y", "bytes", "who" };

	for (int k = 0; k < 6; k++) {
		for (uint32_t i = 0; i < areas->count; i++)
			s->values[i] = area_value(areas, &areas->area[i], k);
		pack_column(s->pack, s->in, names[k], s->values, areas->count, k == 0);
	}
}

/* How much of a cell is covered, of 255; what is covered at all is 1 at least. */
static unsigned char shade(uint64_t covered, double whole)
{
	const double share = 255 * ((double)covered / whole);

	return (unsigned char)(!covered ? 0 : share < 1 ? 1 : share > 255 ? 255 : share + 0.5);
}

/* Of a cell, or of the four that become it. */
static uint64_t covered(const struct frag_lane *lane, uint32_t row, uint32_t column, bool coarse)
{
	const uint64_t *at = &lane->cells[(size_t)(row << coarse) * FRAG_RASTER_COLUMNS
					  + (column << coarse)];
	uint64_t sum = *at;

	if (!coarse)
		return sum;
	sum += at[1];
	if (2 * row + 1 < lane->rows)
		sum += at[FRAG_RASTER_COLUMNS] + at[FRAG_RASTER_COLUMNS + 1];
	return sum;
}

/* The raster of small rectangles: for each lane a byte per cell, its shade. */
static void put_raster(struct scratch *s, const struct frag_areas *areas)
{
	const uint32_t columns = FRAG_RASTER_COLUMNS >> s->coarse;
	const double whole = (double)(UINT64_C(1) << (areas->column_shift + s->coarse))
			     * (double)(UINT64_C(1) << (areas->row_shift + s->coarse));
	struct frag_node_ref list, o;
	unsigned char *cells = malloc((size_t)FRAG_RASTER_COLUMNS * 2 * FRAG_RASTER_ROWS);

	frag_json_u64(s->in, "dropped", areas->dropped);
	if (!cells) {
		s->pack->failed = true;
		return;
	}
	frag_json_u64(s->in, "columns", columns);
	frag_json_u64(s->in, "column_shift", areas->column_shift + s->coarse);
	frag_json_u64(s->in, "row_shift", areas->row_shift + s->coarse);
	list = frag_json_array(s->in, "raster");
	for (uint32_t l = 0; l < areas->lane_count; l++) {
		const struct frag_lane *lane = &areas->lanes[l];
		const uint32_t rows = (lane->rows + s->coarse) >> s->coarse;

		if (!lane->rows || lane->rows > 2 * FRAG_RASTER_ROWS)
			continue;
		for (uint32_t i = 0; i < rows * columns; i++)
			cells[i] = shade(covered(lane, i / columns, i % columns, s->coarse), whole);
		o = frag_json_object(list, NULL);
		frag_json_u64(o, "base", lane->base);
		frag_json_u64(o, "rows", rows);
		pack_bytes(s->pack, o, "cells", cells, rows * columns);
	}
	free(cells);
}

static void put_moment(struct scratch *s, struct frag_node_ref list, const char *what,
		       const struct frag_page_moment *m)
{
	static const char *const names[] = { "share", "held", "blocks" };
	const struct frag_node_ref outer = s->in;

	s->in = frag_json_object(list, NULL);
	frag_json_text(s->in, "what", what);
	frag_json_u64(s->in, "at", m->step);
	frag_json_u64(s->in, "rest_bytes", m->rest_bytes);
	frag_json_u64(s->in, "rest_blocks", m->rest_blocks);
	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < m->share_count; i++)
			s->values[i] = k == 0 ? m->shares[i].share : k == 1 ? m->shares[i].bytes
									    : m->shares[i].blocks;
		pack_column(s->pack, s->in, names[k], s->values, m->share_count, false);
	}
	put_window(s, &m->window);
	s->in = outer;
}

static void put_moments(struct scratch *s, const struct frag_page_device *d)
{
	struct frag_node_ref list = frag_json_array(s->in, "moments");

	put_moment(s, list, "peak", &d->peak);
	for (uint32_t i = 0; i < d->oom_count; i++)
		put_moment(s, list, "oom", &d->ooms[i]);
	if (d->has_look)
		put_moment(s, list, "look", &d->look);
	if (d->non_releasable)
		put_moment(s, list, "worst", &d->worst);
}

/* Of many marks the first and the last: the one that is shown at place i. */
static const struct frag_mark *mark_at(const struct frag_result *run, uint32_t i)
{
	const bool first = run->mark_count <= MARKS_SHOWN || i < MARKS_SHOWN / 2;

	return &run->marks[first ? i : run->mark_count - MARKS_SHOWN + i];
}

/* The JSON text of a name, cut short where it is long: at an escape's beginning, never in it. */
static void put_mark_name(struct frag_node_ref list, const char *name)
{
	char text[FRAG_TAG_TEXT + 8];
	size_t used = 0;

	for (const char *p = name + 1; *p && p[1]; ) {
		size_t n = *p != '\\' ? 1 : p[1] == 'u' ? 6 : 2;

		if (used + n > FRAG_TAG_TEXT)
			break;
		memcpy(text + 1 + used, p, n);
		used += n;
		p += n;
	}
	text[0] = text[used + 1] = '"';
	text[used + 2] = '\0';
	frag_json_raw(list, NULL, text);
}

/* The marks as columns, at most MARKS_SHOWN of them. */
static void put_marks(struct scratch *s, const struct frag_result *run)
{
	static const char *const names[] = { "mark_step", "mark_reserved", "mark_allocated",
					     "mark_requested", "mark_fi_device" };
	const uint32_t count = run->mark_count < MARKS_SHOWN ? run->mark_count : MARKS_SHOWN;
	struct frag_node_ref list = frag_json_array(s->in, "mark_names");

	frag_json_u64(s->in, "marks", run->mark_count);
	for (uint32_t i = 0; i < count; i++)
		put_mark_name(list, mark_at(run, i)->name);
	for (int k = 0; k < 5; k++) {
		for (uint32_t i = 0; i < count; i++) {
			const struct frag_mark *m = mark_at(run, i);
			const uint64_t values[] = {
				m->step, m->metrics.reserved, m->metrics.allocated,
				m->metrics.requested, frag_hundredths(m->metrics.fi_device),
			};

			s->values[i] = values[k];
		}
		pack_column(s->pack, s->in, names[k], s->values, count, true);
	}
}

static void put_run_ooms(struct frag_node_ref in, const struct frag_result *run)
{
	static const struct frag_json_row rows[] = {
		ROW(oom, step), ROW(oom, size), ROW(oom, tried), ROW(oom, fragmentation),
		ROW_AS("free", oom, metrics.free), ROW(oom, largest), ROW_END,
	}, hole_rows[] = {
		ROW_AS("hole_segment", oom, hole.segment), ROW_AS("hole_offset", oom, hole.offset),
		ROW_AS("hole_bytes", oom, hole.bytes), ROW_AS("hole_live", oom, hole.live), ROW_END,
	};
	struct frag_node_ref list = frag_json_array(in, "ooms"), o;

	for (uint32_t i = 0; i < run->oom_count && i < OOMS_SHOWN; i++) {
		o = frag_json_of(list, NULL, rows, &run->ooms[i]);
		if (run->ooms[i].hole.bytes)
			frag_json_rows(o, hole_rows, &run->ooms[i]);
	}
}

static void put_run_figures(struct frag_node_ref in, const struct frag_result *run)
{
	static const struct frag_json_row rows[] = {
		ROW(result, granularity), ROW(result, steps), ROW(result, peak_step),
		ROW_AS("peak_reserved", result, peak.reserved),
		ROW_AS("peak_allocated", result, peak.allocated),
		ROW_AS("peak_requested", result, peak.requested),
		ROW_AS("wasted", result, at_peak.wasted), ROW_AS("all_ooms", result, counts.ooms),
		ROW_AS("allocs", result, counts.allocs),
		ROW_AS("segment_allocs", result, counts.segment_allocs),
		ROW_AS("segment_frees", result, counts.segment_frees), ROW_END,
	};

	frag_json_text(in, "policy", run->choice.text);
	frag_json_text(in, "status", frag_run_status_name(run->status));
	frag_json_u64(in, "device", run->device);
	frag_json_u64(in, "total", run->total);
	frag_json_u64(in, "outside", run->context + run->other);
	frag_json_rows(in, rows, run);
}

static const struct frag_json_row lane_rows[] = {
	ROW(lane, base), ROW(lane, height), ROW_END,
};

/* What a timeline shows. */
static struct frag_node_ref begin_run(struct scratch *s, struct frag_node_ref list,
				      const struct frag_result *run,
				      const struct frag_page_device *d, uint32_t buckets)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	put_run_figures(o, run);
	frag_json_u64(o, "end", d->end);
	s->in = frag_json_object(o, "line");
	put_timeline(s, &d->line, buckets);
	return o;
}

static void put_whole_run(struct scratch *s, struct frag_node_ref list,
			  const struct frag_result *run, const struct frag_page_device *d)
{
	struct frag_node_ref o = begin_run(s, list, run, d, FRAG_LINE_MAX);

	frag_json_u64(o, "live_step", d->live_step);
	frag_json_u64(o, "height", d->height);
	FRAG_JSON_LIST(o, "lanes", lane_rows, d->segments.lanes, d->segments.lane_count);
	s->in = frag_json_object(o, "segments");
	put_areas(s, &d->segments);
	put_raster(s, &d->segments);
	s->in = frag_json_object(o, "blocks");
	put_areas(s, &d->blocks);
	put_raster(s, &d->blocks);
	s->in = o;
	put_moments(s, d);
	put_marks(s, run);
	put_run_ooms(o, run);
}

/* The run with the fix: its timeline, for a comparison with the run that fails. */
static void put_cured(struct scratch *s, struct frag_node_ref root,
		      const struct frag_page_trace *t)
{
	struct frag_node_ref list = frag_json_array(root, "cured");

	for (uint32_t i = 0; t->cured && i < t->cured->device_count; i++)
		frag_json_text(begin_run(s, list, &t->cured_runs[i], &t->cured->devices[i],
					 CURED_BUCKETS),
			       "setting", CONF(&t->cured_runs[i].choice));
}

/* The displayed text of a tag; NULL: FRAG_TAG_NONE and FRAG_TAG_OTHERS. */
static struct frag_text shown_tag(const struct frag_page_tags *t, uint32_t tag)
{
	const struct frag_tag *of;

	if (tag <= FRAG_TAG_OTHERS)
		return (struct frag_text){ .text = NULL };
	of = frag_tag_at(&t->texts, tag - 1);
	return (struct frag_text){
		.text = of->text,
		.length = (uint32_t)frag_text_cut(of->text, of->length, FRAG_TAG_TEXT),
	};
}

/* All texts as JSON, a line each; bytes that are none of UTF-8 are replaced. */
static void put_tags(struct scratch *s, const struct frag_page_tags *who)
{
	char *text = malloc((size_t)who->count * (6 * FRAG_TAG_TEXT + 8) + 1), *p = text;

	if (!text) {
		s->pack->failed = true;
		return;
	}
	for (uint32_t i = 0; i < who->count; i++) {
		const struct frag_text tag = shown_tag(who, i);

		p = frag_put_json(p, tag.text ? tag.text : "", tag.length);
		*p++ = '\n';
	}
	pack_bytes(s->pack, s->in, "tags", text, (uint32_t)(p - text));
	free(text);
}

/* A line of JSON for each stack that a share has: its frames, the innermost first. */
static void put_who_stacks(struct scratch *s, const struct frag_page_tags *who,
			   const struct frag_symbols *symbols)
{
	struct pack lines = { .used = 0 };
	char *frames;

	for (uint32_t i = 0; i < who->shares.count; i++) {
		frames = NULL;
		if (who->shares.of[i].stack
		    && !frag_frames_json(symbols, who->shares.of[i].stack, &frames))
			s->pack->failed = true;
		for (char *p = frames; p && (p = strchr(p, '\n')) != NULL; )
			*p++ = '\t';
		if (frames)
			pack_take(&lines, frames, strlen(frames));
		pack_take(&lines, "\n", 1);
		free(frames);
	}
	s->pack->failed |= lines.failed;
	pack_bytes(s->pack, s->in, "stacks", lines.bytes ? (const void *)lines.bytes : "",
		   lines.used);
	free(lines.bytes);
}

static void put_who(struct scratch *s, struct frag_node_ref in, const struct frag_page *page,
		    const struct frag_symbols *symbols)
{
	s->in = frag_json_object(in, NULL);
	put_tags(s, &page->who);
	for (uint32_t i = 0; i < page->who.shares.count; i++)
		s->values[i] = page->who.shares.of[i].tag;
	pack_column(s->pack, s->in, "share_tag", s->values, page->who.shares.count, false);
	put_who_stacks(s, &page->who, symbols);
}

static void put_leaks(struct frag_node_ref in, const struct frag_leaks *leaks, uint32_t devices)
{
	static const struct frag_json_row rows[] = {
		ROW(leak, device), ROW_JSON("tag", leak, tag), ROW(leak, size),
		ROW_AS("bytes", leak, an_iteration), ROW_END,
	};
	struct frag_node_ref o = frag_json_object(in, "growth"), list;

	frag_json_u64(o, "iterations", leaks->iterations.count);
	frag_json_text(o, "mark", leaks->iterations.mark);
	list = frag_json_array(o, "devices");
	for (uint32_t i = 0; i < devices; i++)
		frag_json_fixed4(list, NULL, leaks->devices[i].growth);
	list = frag_json_array(o, "verdicts");
	for (uint32_t i = 0; i < devices; i++)
		frag_json_text(list, NULL, frag_leak_verdicts[leaks->devices[i].verdict]);
	FRAG_JSON_LIST(o, "leaks", rows, leaks->leaks,
		       leaks->proven_count < LEAKS_SHOWN ? leaks->proven_count : LEAKS_SHOWN);
}

/* Ranges of capacities of one policy, [least, beyond, fits]; equal adjacent ones are merged. */
static void put_survival(struct frag_node_ref list, const struct frag_fit_intervals *intervals)
{
	const struct frag_interval *all = intervals->intervals;

	for (uint32_t i = 0, end; i < intervals->count; i = end) {
		struct frag_node_ref one = frag_json_array(list, NULL);

		for (end = i + 1; end < intervals->count
		     && all[end].min_capacity == all[end - 1].end_capacity
		     && all[end].outcome.fits == all[i].outcome.fits; )
			end++;
		frag_json_u64(one, NULL, all[i].min_capacity);
		if (all[end - 1].end_capacity == UINT64_MAX)
			frag_json_raw(one, NULL, NULL);
		else
			frag_json_u64(one, NULL, all[end - 1].end_capacity);
		frag_json_bool(one, NULL, all[i].outcome.fits);
	}
}

static void put_fits(struct frag_node_ref in, const struct frag_page_trace *t)
{
	struct frag_node_ref list = frag_json_array(in, "fits");

	for (uint32_t i = 0; i < t->fits->count; i++) {
		const struct frag_fitted *one = &t->fits->fitted[i];
		char name[FRAG_FIT_NAME_ROOM];
		struct frag_node_ref o;

		if (one->source != t->source)
			continue;
		o = frag_json_object(list, NULL);
		frag_json_text(o, "name", frag_fit_name(t->fits, one, name));
		frag_json_u64(o, "floor", one->fit.lower_bound);
		if (one->fit.smallest != UINT64_MAX)
			frag_json_u64(o, "smallest", one->fit.smallest);
		if (!frag_claim_is_exact(&one->claim) && one->claim.at_least != UINT64_MAX)
			frag_json_u64(o, "at_least", one->claim.at_least);
		put_survival(frag_json_array(o, "capacities"), &one->intervals);
	}
}

/* One try: all runs, and the length of what they are packed to. */
static int put_runs(struct frag_page_trace *t, struct frag_json *doc, size_t *length)
{
	struct pack pack = { .used = 0 };
	struct scratch s = { .pack = &pack, .coarse = t->report->run_count > RUNS_FINE };
	struct frag_node_ref root = frag_json_begin(doc), runs, who;
	const uint32_t devices = t->report->trace->device_count;
	char *text = NULL;

	s.values = malloc((2 * (size_t)FRAG_AREAS_MAX + FRAG_SHARES_MAX) * sizeof(*s.values));
	pack.failed = !s.values;
	frag_json_text(root, "path", frag_file_name(t->report->trace->path));
	frag_json_text(root, "form", t->report->trace->form);
	frag_json_u64(root, "events", t->report->trace->events);
	frag_document_content(root, "content", t->report->trace->content);
	frag_json_text(root, "claim", frag_fits_words(&t->report->trace->scope));
	runs = frag_json_array(root, "runs");
	who = frag_json_array(root, "who");
	for (uint32_t i = 0; i < t->report->run_count && !pack.failed; i++)
		put_whole_run(&s, runs, t->report->runs[i].result,
			      &t->pages[i / devices].devices[i % devices]);
	for (uint32_t i = 0; i < t->page_count && !pack.failed; i++)
		put_who(&s, who, &t->pages[i], t->symbols);
	put_cured(&s, root, t);
	if (t->look != UINT64_MAX)
		frag_json_u64(root, "look", t->look);
	if (t->fits)
		put_fits(root, t);
	if (t->leaks)
		put_leaks(root, t->leaks, devices);
	if (!pack.failed)
		text = pack_base64(&pack, length);
	frag_json_raw(root, "data", text);
	free(s.values);
	free(pack.bytes);
	doc->failed |= !text;
	free(text);
	return doc->failed ? -FRAG_ENOMEM : 0;
}

/* Finds the number of rectangles that fit in the allowed length, in a few attempts. */
static uint32_t fewer(uint32_t max, size_t length, size_t allowed)
{
	const double share = 0.95 * (double)allowed / (double)length;

	return (uint32_t)(max * (share < 0.5 ? 0.5 : share));
}

/* Repeated with fewer rectangles until the facts have the allowed length. */
int frag_page_facts(struct frag_page_trace *t, FILE *f, struct frag_error *err)
{
	const size_t runs = t->report->run_count + (t->cured ? 1 : 0), least = PACKED_LEAST * runs;
	const size_t all = PACKED_MAX + PACKED_LESS, less = PACKED_LESS * runs;
	const size_t allowed = all > less + least ? all - less : least;
	uint32_t max = 0;
	size_t length = 0;
	struct frag_json doc;
	int rc;

	for (uint32_t i = 0; i < t->page_count; i++)
		for (uint32_t d = 0; d < t->pages[i].device_count; d++)
			if (t->pages[i].devices[d].blocks.count > max)
				max = t->pages[i].devices[d].blocks.count;
	rc = put_runs(t, &doc, &length);
	while (!rc && length > allowed && max > 1000) {
		frag_json_end(&doc);
		max = fewer(max, length, allowed);
		for (uint32_t i = 0; i < t->page_count && !rc; i++)
			rc = frag_page_keep(&t->pages[i], max, err);
		if (rc)
			return rc;
		rc = put_runs(t, &doc, &length);
	}
	rc = rc ? frag_fail_nomem(err) : frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
