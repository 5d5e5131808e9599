/*
 * page_facts.c - the facts of a trace's runs, as the script of an HTML report reads them.
 *
 * Long lists go into packed columns, single values are plain JSON. Where the columns would be too
 * long, the smallest rectangles are merged until they are not.
 */
#include "answers/page_write.h"

#include <stdlib.h>

#include "answers/answers.h"
#include "answers/page_blocks.h"
#include "answers/page_pack.h"
#include "base/array_grow.h"
#include "base/parse.h"
#include "live_blocks/live_blocks.h"

/* Bytes of base64 of all runs, so that a report can be mailed, and at least of each: many devices take more. */
#define PACKED_MAX ((size_t)1500 << 10)
#define PACKED_LEAST ((size_t)46 << 10)
#define RUNS_FINE 2                     /* of more, rasters are half as wide and high */
#define CURED_BUCKETS 512               /* at most, of the line of a run with its fix */
#define MARKS_SHOWN 1000                /* the first and the last of more */
#define OOMS_SHOWN 20
#define LEAKS_SHOWN 20

/* The buffer of the longest column. */
struct scratch {
	struct frag_page_pack *pack;
	struct frag_node_ref in;
	uint64_t *values;
	bool coarse;            /* four cells of a raster become one */
	const struct frag_page_allocs *allocs;
	struct frag_page_stacks *stacks;
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
		frag_pack_column(s->pack, s->in, names[k / 2][k % 2], s->values, count, true);
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
		frag_pack_column(s->pack, s->in, names[k], s->values, w->count, true);
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
		frag_pack_bytes(s->pack, o, "cells", cells, rows * columns);
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
		frag_pack_column(s->pack, s->in, names[k], s->values, m->share_count, false);
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
		frag_pack_column(s->pack, s->in, names[k], s->values, count, true);
	}
}

#define OOM(m) FRAG_AT(oom, m)
static const struct frag_field oom_fields[] = {
	{ "step", FRAG_TYPE_COUNT, OOM(step) }, { "size", FRAG_TYPE_BYTES, OOM(size) },
	{ "tried", FRAG_TYPE_BYTES, OOM(tried) }, { "fragmentation", FRAG_TYPE_FLAG, OOM(fragmentation) },
	{ "free", FRAG_TYPE_BYTES, OOM(metrics.free) }, { "largest", FRAG_TYPE_BYTES, OOM(metrics.largest_free) },
	{ 0 },
}, hole_fields[] = {
	{ "hole_segment", FRAG_TYPE_COUNT, OOM(hole.segment) },
	{ "hole_offset", FRAG_TYPE_BYTES, OOM(hole.offset) },
	{ "hole_bytes", FRAG_TYPE_BYTES, OOM(hole.bytes) },
	{ "hole_live", FRAG_TYPE_COUNT, OOM(hole.live) },
	{ 0 },
};

static void put_run_ooms(struct scratch *s, struct frag_node_ref in, const struct frag_result *run)
{
	struct frag_node_ref list = frag_json_array(in, "ooms"), o;
	uint32_t stack;

	for (uint32_t i = 0; i < run->oom_count && i < OOMS_SHOWN; i++) {
		o = frag_json_object(list, NULL);
		frag_put_fields(o, oom_fields, &run->ooms[i]);
		if (run->ooms[i].hole.bytes)
			frag_put_fields(o, hole_fields, &run->ooms[i]);
		stack = frag_page_event_stack(s->allocs, s->stacks, run->ooms[i].step);
		if (stack)
			frag_json_u64(o, "stack", stack);
	}
}

static struct frag_cell_value run_outside(const void *of)
{
	const struct frag_result *run = of;

	return FRAG_NUMBER_OF(run->context + run->other);
}

#define RUN(m) FRAG_AT(result, m)
static const struct frag_field run_fields[] = {
	{ "policy", FRAG_TYPE_TEXT, RUN(choice.text) },
	{ "status", FRAG_TYPE_WORD, RUN(status), .words = frag_run_status_words },
	{ "device", FRAG_TYPE_COUNT, RUN(device) }, { "total", FRAG_TYPE_BYTES, RUN(total) },
	{ "outside", FRAG_TYPE_BYTES, FRAG_WHOLE, .get = run_outside },
	{ "granularity", FRAG_TYPE_BYTES, RUN(granularity) }, { "steps", FRAG_TYPE_COUNT, RUN(steps) },
	{ "peak_step", FRAG_TYPE_COUNT, RUN(peak_step) },
	{ "peak_reserved", FRAG_TYPE_BYTES, RUN(peak.reserved) },
	{ "peak_allocated", FRAG_TYPE_BYTES, RUN(peak.allocated) },
	{ "peak_requested", FRAG_TYPE_BYTES, RUN(peak.requested) },
	{ "wasted", FRAG_TYPE_BYTES, RUN(at_peak.wasted) }, { "all_ooms", FRAG_TYPE_COUNT, RUN(counts.ooms) },
	{ "allocs", FRAG_TYPE_COUNT, RUN(counts.allocs) },
	{ "segment_allocs", FRAG_TYPE_COUNT, RUN(counts.segment_allocs) },
	{ "segment_frees", FRAG_TYPE_COUNT, RUN(counts.segment_frees) },
	{ 0 },
}, lane_fields[] = {
	{ "base", FRAG_TYPE_BYTES, FRAG_AT(lane, base) }, { "height", FRAG_TYPE_BYTES, FRAG_AT(lane, height) },
	{ 0 },
}, areas_fields[] = {
	{ "lanes", FRAG_TYPE_LIST, FRAG_ARRAY(areas, lanes, lane_count), .fields = lane_fields }, { 0 },
};

/* What a timeline shows. */
static struct frag_node_ref begin_run(struct scratch *s, struct frag_node_ref list,
				      const struct frag_result *run,
				      const struct frag_page_device *d, uint32_t buckets)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_put_fields(o, run_fields, run);
	frag_json_u64(o, "end", d->end);
	s->in = frag_json_object(o, "line");
	put_timeline(s, &d->line, buckets);
	return o;
}

/*
 * Of the runs of a device the one with most blocks: what does not depend on the policy is said there of each block, and the
 * others have the same blocks.
 */
static bool run_carries(const struct frag_page_trace *t, uint32_t policy, uint32_t device)
{
	const uint32_t count = t->pages[policy].devices[device].blocks.count;

	for (uint32_t i = 0; i < t->page_count; i++) {
		const uint32_t other = t->pages[i].devices[device].blocks.count;

		if (other > count || (other == count && i < policy))
			return false;
	}
	return true;
}

static void put_whole_run(struct scratch *s, struct frag_node_ref list,
			  const struct frag_result *run, const struct frag_page_device *d, bool carries)
{
	struct frag_node_ref o = begin_run(s, list, run, d, FRAG_LINE_MAX);

	frag_json_u64(o, "live_step", d->live_step);
	frag_json_u64(o, "height", d->height);
	frag_put_fields(o, areas_fields, &d->segments);
	s->in = frag_json_object(o, "segments");
	frag_pack_areas(s->pack, s->in, &d->segments, s->values);
	put_raster(s, &d->segments);
	s->in = frag_json_object(o, "blocks");
	frag_pack_areas(s->pack, s->in, &d->blocks, s->values);
	if (carries)
		frag_page_allocs_pack(s->allocs, s->stacks, s->pack, s->in, &d->blocks, s->values);
	put_raster(s, &d->blocks);
	s->in = o;
	put_moments(s, d);
	put_marks(s, run);
	put_run_ooms(s, o, run);
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
	frag_pack_bytes(s->pack, s->in, "tags", text, (uint32_t)(p - text));
	free(text);
}

/* A line of JSON for each stack that a share has: its frames, the innermost first. */
static void put_who_stacks(struct scratch *s, const struct frag_page_tags *who,
			   const struct frag_symbols *symbols)
{
	struct frag_page_pack lines = { .used = 0 };

	for (uint32_t i = 0; i < who->shares.count; i++)
		frag_page_put_stack(&lines, symbols, who->shares.of[i].stack);
	s->pack->failed |= lines.failed;
	frag_pack_bytes(s->pack, s->in, "stacks", lines.bytes ? (const void *)lines.bytes : "",
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
	frag_pack_column(s->pack, s->in, "share_tag", s->values, page->who.shares.count, false);
	put_who_stacks(s, &page->who, symbols);
}

static const struct frag_field leak_fields[] = {
	{ "device", FRAG_TYPE_COUNT, FRAG_AT(leak, device) }, { "tag", FRAG_TYPE_TEXT_JSON, FRAG_AT(leak, tag) },
	{ "size", FRAG_TYPE_BYTES, FRAG_AT(leak, size) },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(leak, an_iteration) },
	{ 0 },
};

static void put_leaks(struct scratch *s, struct frag_node_ref in, const struct frag_leaks *leaks, uint32_t devices)
{
	struct frag_node_ref o = frag_json_object(in, "growth"), list;
	const uint32_t rounds = (uint32_t)frag_min(leaks->iterations.count, FRAG_SHARES_MAX);

	for (uint32_t i = 0; i < rounds; i++)
		s->values[i] = leaks->iterations.start[i];
	frag_pack_column(s->pack, o, "rounds", s->values, rounds, true);

	frag_json_u64(o, "iterations", leaks->iterations.count);
	frag_json_text(o, "mark", leaks->iterations.mark);
	list = frag_json_array(o, "devices");
	for (uint32_t i = 0; i < devices; i++)
		frag_json_fixed4(list, NULL, leaks->devices[i].growth);
	list = frag_json_array(o, "verdicts");
	for (uint32_t i = 0; i < devices; i++)
		frag_json_text(list, NULL, frag_leak_verdicts[leaks->devices[i].verdict]);
	list = frag_json_array(o, "leaks");
	for (uint32_t i = 0; i < leaks->proven_count && i < LEAKS_SHOWN; i++)
		frag_put_object(list, NULL, leak_fields, &leaks->leaks[i]);
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

/* Of all columns but those of rectangles the longest has the shares or the buckets. */
static size_t longest_column(const struct frag_page_trace *t)
{
	size_t most = FRAG_SHARES_MAX + 1;

	for (uint32_t i = 0; i < t->page_count; i++)
		for (uint32_t k = 0; k < t->pages[i].device_count; k++) {
			const struct frag_page_device *d = &t->pages[i].devices[k];
			const struct frag_areas *const both[] = { &d->blocks, &d->segments };

			for (int b = 0; b < 2; b++) {
				most = frag_max(most, both[b]->count);
				most = frag_max(most, both[b]->sum_count);
			}
		}
	return most;
}

/* One try: all runs, and the length of what they are packed to. */
static int put_runs(struct frag_page_trace *t, const struct frag_page_allocs *allocs, struct frag_json *doc, size_t *length)
{
	struct frag_page_pack pack = { .used = 0 };
	struct scratch s = { .pack = &pack, .coarse = t->report->run_count > RUNS_FINE, .allocs = allocs };
	struct frag_node_ref root = frag_json_begin(doc), runs, who;
	struct frag_page_stacks stacks;
	const uint32_t devices = t->report->trace->device_count;
	char *text = NULL;

	s.values = malloc(longest_column(t) * sizeof(*s.values));
	s.stacks = &stacks;
	pack.failed = !frag_page_stacks_init(&stacks, allocs->tape ? frag_tape_symbols(allocs->tape) : NULL, allocs->snapshot)
		      || !s.values;
	frag_json_text(root, "path", frag_file_name(t->report->trace->path));
	frag_json_text(root, "form", t->report->trace->form);
	frag_json_u64(root, "events", t->report->trace->events);
	frag_document_content(root, "content", t->report->trace->content);
	frag_json_text(root, "claim", frag_fits_words(&t->report->trace->scope));
	frag_page_allocs_put_names(allocs, root);
	runs = frag_json_array(root, "runs");
	who = frag_json_array(root, "who");
	for (uint32_t i = 0; i < t->report->run_count && !pack.failed; i++)
		put_whole_run(&s, runs, t->report->runs[i].result,
			      &t->pages[i / devices].devices[i % devices], run_carries(t, i / devices, i % devices));
	for (uint32_t i = 0; i < t->page_count && !pack.failed; i++)
		put_who(&s, who, &t->pages[i], t->symbols);
	frag_page_stacks_pack(&stacks, &pack, root);
	frag_page_put_origins(allocs, &pack, root);
	put_cured(&s, root, t);
	if (t->look != UINT64_MAX)
		frag_json_u64(root, "look", t->look);
	if (t->fits)
		put_fits(root, t);
	if (t->leaks)
		put_leaks(&s, root, t->leaks, devices);
	if (!pack.failed)
		text = frag_pack_base64(&pack, length);
	frag_json_raw(root, "data", text);
	free(s.values);
	free(pack.bytes);
	frag_page_stacks_fini(&stacks);
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
static int put_fitting(struct frag_page_trace *t, const struct frag_page_allocs *allocs, FILE *f, struct frag_error *err)
{
	const size_t least = PACKED_LEAST * (t->report->run_count + (t->cured ? 1 : 0));
	const size_t allowed = PACKED_MAX > least ? PACKED_MAX : least;
	uint32_t max = 0;
	size_t length = 0;
	struct frag_json doc;
	int rc;

	for (uint32_t i = 0; i < t->page_count; i++)
		for (uint32_t d = 0; d < t->pages[i].device_count; d++)
			if (t->pages[i].devices[d].blocks.count > max)
				max = t->pages[i].devices[d].blocks.count;
	rc = put_runs(t, allocs, &doc, &length);
	while (!rc && length > allowed && max > 1000) {
		frag_json_end(&doc);
		max = fewer(max, length, allowed);
		for (uint32_t i = 0; i < t->page_count && !rc; i++)
			rc = frag_page_keep(&t->pages[i], max, err);
		if (rc)
			return rc;
		rc = put_runs(t, allocs, &doc, &length);
	}
	rc = rc ? frag_fail_nomem(err) : frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}

int frag_page_facts(struct frag_page_trace *t, FILE *f, struct frag_error *err)
{
	struct frag_page_allocs allocs;
	int rc = frag_page_allocs_init(&allocs, t->tape, err);

	rc = rc ? rc : put_fitting(t, &allocs, f, err);
	frag_page_allocs_fini(&allocs);
	return rc;
}
