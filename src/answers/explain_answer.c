/* explain_answer.c - what fragsim explain found in a trace: for people, and as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/output_path.h"
#include "documents/document_head.h"
#include "documents/documents.h"
#include "events/tape.h"
#include "policy/configure_events.h"
#include "answers/fit_answer.h"

static void put_pin(struct frag_node_ref list, const struct frag_explained *m,
		    const struct frag_blocking_block *pin)
{
	struct frag_node_ref o = frag_json_object(list, NULL), waits;

	frag_json_raw(o, "id", pin->id);
	frag_json_raw(o, "tag", pin->tag);
	frag_json_u64(o, "bytes", pin->bytes);
	frag_json_u64(o, "offset", pin->offset);
	frag_json_u64(o, "allocated_at", pin->born);
	frag_json_u64_or_null(o, "freed_at", pin->freed != UINT64_MAX, pin->freed);
	frag_json_bool(o, "pending", pin->pending);
	if (!pin->pending)
		return;
	waits = frag_json_array(o, "waits");
	for (uint32_t i = 0; i < pin->wait_count; i++)
		frag_json_raw(waits, NULL, m->awaited[m->waits[pin->waits + i]].stream);
}

static void explain_write_put_segments(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "segments");

	for (uint32_t i = 0; i < m->segment_count; i++) {
		const struct frag_pinned_segment *s = &m->segments[i];
		struct frag_node_ref o = frag_json_object(list, NULL), pins;

		frag_json_u64(o, "segment", s->ordinal);
		frag_json_u64(o, "bytes", s->bytes);
		frag_json_u64(o, "non_releasable", s->non_releasable);
		pins = frag_json_array(o, "blocking_blocks");
		for (uint32_t k = 0; k < s->pin_count; k++)
			put_pin(pins, m, &s->pins[k]);
	}
}

static void put_held(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "holders");

	for (uint32_t i = 0; i < m->held_count; i++) {
		const struct frag_held_memory *held = &m->held[i];
		const enum frag_life_class life = frag_held_class(held);
		struct frag_node_ref o = frag_json_object(list, NULL);

		frag_json_raw(o, "tag", held->tag);
		frag_json_u64(o, "bytes", held->bytes);
		frag_json_u64(o, "blocks", held->blocks);
		frag_json_u64(o, "oldest", held->oldest);
		frag_json_text(o, "class", life == FRAG_LIFE_UNKNOWN
			       ? NULL : frag_life_class_names[life]);
		frag_json_text(o, "evidence", frag_class_evidence_names[held->evidence[life]]);
	}
}

static void put_pools(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "pools");

	for (uint32_t i = 0; i < m->pool_count; i++) {
		const struct frag_pool_row *pool = &m->pools[i];
		struct frag_node_ref o = frag_json_object(list, NULL);

		frag_json_u64(o, "pool", pool->pool);
		frag_json_u64(o, "segments", pool->segments);
		frag_json_u64(o, "reserved", pool->reserved);
		frag_json_u64(o, "live", pool->live);
		frag_json_u64(o, "free", pool->free);
		frag_json_u64(o, "non_releasable", pool->non_releasable);
		frag_json_raw(o, "name", pool->name);
	}
}

/* Of those that were tried only what held is there. */
static void put_moves(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "moves");

	for (uint32_t i = 0; i < m->move_count; i++) {
		const struct frag_move *move = &m->moves[i];
		struct frag_node_ref o = frag_json_object(list, NULL), part;

		frag_json_u64(o, "bytes", move->bytes);
		frag_json_u64(o, "blocks", move->blocks);
		part = frag_json_array(o, "ids");
		for (uint32_t k = 0; k < move->blocks; k++)
			frag_json_raw(part, NULL, move->ids[k]);
		part = frag_json_array(o, "from");
		for (uint32_t k = 0; k < move->from_count; k++)
			frag_json_u64(part, NULL, move->from[k]);
		frag_json_bool(o, "verified", true);
		frag_json_u64_or_null(o, "reaches", move->reaches != UINT64_MAX, move->reaches);
	}
	frag_json_u64(in, "tried", m->tried);
}

static void put_survivors(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref list = frag_json_array(in, "survivors");

	for (uint32_t i = 0; i < m->survivor_count; i++)
		frag_document_choice(frag_json_object(list, NULL), &m->survivors[i]);
}

static void put_culprit(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref o;

	if (!m->culprit) {
		frag_json_null(in, "culprit");
		return;
	}
	o = frag_json_object(in, "culprit");
	frag_json_text(o, "kind", frag_culprit_names[m->culprit]);
	frag_json_raw(o, "tag", m->culprit_tag);
	frag_json_u64(o, "bytes", m->culprit_bytes);
	frag_json_u64(o, "non_releasable", m->culprit_non_releasable);
}

static void put_pending(struct frag_node_ref in, const struct frag_explained *m)
{
	struct frag_node_ref o = frag_json_object(in, "pending"), list, row;

	frag_json_u64(o, "bytes", m->pending);
	frag_json_u64(o, "blocks", m->pending_blocks);
	list = frag_json_array(o, "waits");
	for (uint32_t i = 0; i < m->awaited_count; i++) {
		row = frag_json_object(list, NULL);
		frag_json_raw(row, "stream", m->awaited[i].stream);
		frag_json_u64(row, "bytes", m->awaited[i].bytes);
		frag_json_u64(row, "blocks", m->awaited[i].blocks);
		frag_json_u64(row, "since", m->awaited[i].since);
	}
}

static void put_fits(struct frag_node_ref in, const struct frag_explained *m)
{
	if (m->fits_known)
		frag_json_bool(in, "trace_fits", m->fits);
	else
		frag_json_null(in, "trace_fits");
}

/* One moment as an object: the request, the sums, and the lists behind them. */
static void explain_write_put_moment(struct frag_node_ref list, const struct frag_explained *m)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "step", m->step);
	frag_json_u64(o, "device", m->device);
	frag_json_text(o, "kind", frag_moment_kind_names[m->kind]);
	frag_json_text(o, "verdict", frag_oom_cause_name(m->cause));
	frag_json_bool(o, "nearly_full", m->nearly_full);
	frag_json_u64(o, "size", m->size);
	frag_json_u64(o, "need", m->need);
	frag_json_u64(o, "missing", m->missing);
	frag_json_u64(o, "live", m->live);
	frag_json_u64(o, "free", m->free);
	frag_json_u64(o, "releasable", m->releasable);
	frag_json_u64(o, "non_releasable", m->non_releasable);
	frag_json_u64_or_null(o, "device_free", m->limited, m->device_free);
	frag_json_u64_or_null(o, "outside", m->limited, m->outside);
	frag_json_u64(o, "largest_now", m->largest_now);
	frag_json_u64(o, "largest_after_flush", m->largest_after_flush);
	frag_json_u64(o, "largest_after_compaction", m->largest_after_compaction);
	put_fits(o, m);
	explain_write_put_segments(o, m);
	put_held(o, m);
	put_pools(o, m);
	put_moves(o, m);
	put_survivors(o, m);
	put_culprit(o, m);
	put_pending(o, m);
}

void frag_explain_document(struct frag_node_ref root, const void *what)
{
	const struct frag_explain_answer *answer = what;
	const struct frag_explanation *x = answer->found;
	const uint32_t device = x->count ? x->moments[0].device : 0;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !answer->time_up);
	frag_document_trace(root, "trace", answer->trace);
	frag_document_policy(root, x->choice);
	frag_document_evidence(root, x->choice);
	frag_document_device(root, &x->devices[device], device, x->devices[device].total);
	list = frag_json_array(root, "moments");
	for (uint32_t i = 0; i < x->count; i++)
		explain_write_put_moment(list, &x->moments[i]);
}

#define SURVIVORS_ROOM 1200
#define MOVED_SHOWN 4           /* blocks of a move that are named */

/* Where a moment is printed. */
struct page {
	const struct frag_explain_answer *a;
	const struct frag_explained *m;
	const struct frag_text_style *paper;
	FILE *f;
};

/* Buffers for the sizes of one sentence. */
struct sizes {
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], c[FRAG_NUMBER_ROOM], d[FRAG_NUMBER_ROOM];
};

#define OF_ROOM (FRAG_SHORT_NAME + 8)

/* "of "model.py:7"", or "without a tag". */
static const char *of_tag(const char *json, char buf[OF_ROOM])
{
	char name[FRAG_SHORT_NAME];

	if (!json)
		return "without a tag";
	snprintf(buf, OF_ROOM, "of %s", frag_short_name(json, name));
	return buf;
}

static int64_t usable_of(const struct page *p)
{
	const uint64_t total = p->a->found->devices[p->m->device].total;

	if (!total)
		return -1;
	return total > p->m->outside ? (int64_t)(total - p->m->outside) : 0;
}

/* Line 1 of a failure: the policy, the request and the place. */
static void explain_text_print_oom(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char text[512], name[FRAG_SHORT_NAME], device[32] = "";
	size_t used;

	if (frag_tape_info(p->a->found->tape)->device_count > 1)
		snprintf(device, sizeof(device), " on device %" PRIu32, m->device);
	used = (size_t)snprintf(text, sizeof(text), "%s failed to %s %s%s at step %" PRIu64
				" of %" PRIu64, frag_choice_label(p->a->found->choice),
				m->id ? "allocate" : "reserve its initial pool of",
				SIZE(m->size), device, m->step, p->a->trace->events);
	if (m->mark && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, " (%s)",
			 frag_short_name(m->mark, name));
	frag_put_first_line(p->paper, INK_RED, "OOM: ", text, p->f);
}

/* Line 1 elsewhere: which moment, and how much of the device is live. */
static void explain_text_print_moment(const struct page *p)
{
	static const char *const heads[] = {
		[FRAG_MOMENT_OOM] = "STEP: ", [FRAG_MOMENT_PEAK] = "PEAK: ",
		[FRAG_MOMENT_WORST] = "MOST NON-RELEASABLE: ", [FRAG_MOMENT_STEP] = "STEP: ",
		[FRAG_MOMENT_MARK] = "MARK: ",
	};
	const struct frag_explained *m = p->m;
	const struct frag_tape *tape = p->a->found->tape;
	char text[512], device[32] = "", live[FRAG_NUMBER_ROOM], name[FRAG_SHORT_NAME];
	const int64_t usable = usable_of(p);
	size_t used;

	if (frag_tape_info(p->a->found->tape)->device_count > 1)
		snprintf(device, sizeof(device), " on device %" PRIu32, m->device);
	used = (size_t)snprintf(text, sizeof(text), "%s, %s active of %s%s at step %" PRIu64
				" of %" PRIu64, frag_choice_label(p->a->found->choice),
				frag_size_text(live, m->live),
				usable < 0 ? "an unlimited device" : SIZE((uint64_t)usable),
				device, m->step, p->a->trace->events);
	if (m->mark && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, " (%s)",
			 frag_short_name(m->mark, name));
	else if (m->step < tape->spot_count && tape->spot_count < tape->alloc_count
		 && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ", before the recording began");
	frag_put_first_line(p->paper, INK_BOLD, heads[m->kind], text, p->f);
}

static void print_request(const struct page *p)
{
	char tag[OF_ROOM], id[FRAG_SHORT_NAME];
	struct sizes s;

	if (p->m->id)
		frag_put_row(p->paper->columns, "request", p->f, "%s %s, id %s, in a block of %s",
			     frag_size_text(s.a, p->m->size), of_tag(p->m->tag, tag),
			     frag_short_name(p->m->id, id), frag_size_text(s.b, p->m->need));
}

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The word of the verdict, with the sum behind it: one pair of numbers. */
static void explain_text_print_verdict(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const int columns = p->paper->columns;
	const uint64_t usable = usable_of(p) < 0 ? 0 : (uint64_t)usable_of(p);
	const char *word = frag_oom_cause_name(m->cause);
	struct sizes s;

	frag_size_text(s.a, m->need);
	frag_size_text(s.b, usable);
	frag_size_text(s.c, m->live);
	switch (m->cause) {
	case FRAG_CAUSE_TOO_LARGE:
		frag_put_row(columns, "verdict", p->f, "%s: %s requested, %s usable", word, s.a,
			     s.b);
		break;
	case FRAG_CAUSE_CAPACITY:
		if (m->live + m->need > usable)
			frag_put_row(columns, "verdict", p->f, "%s: %s active + %s requested = %s"
				     " more than the %s usable", word, s.c, s.a,
				     frag_size_text(s.d, m->live + m->need - usable), s.b);
		else
			frag_put_row(columns, "verdict", p->f, "%s: lower bound %s, %s usable",
				     word, frag_size_text(s.d, m->lower_bound), s.b);
		break;
	case FRAG_CAUSE_TRANSIENT:
		frag_put_row(columns, "verdict", p->f, "%s: the same request succeeds at a second"
			     " attempt", word);
		break;
	case FRAG_CAUSE_PENDING:
		frag_put_row(columns, "verdict", p->f, "%s: %s in %" PRIu64 " freed block%s still"
			     " used by a stream, %s requested", word,
			     frag_size_text(s.d, m->pending), m->pending_blocks,
			     frag_s(m->pending_blocks), s.a);
		break;
	case FRAG_CAUSE_LIMIT:
		frag_put_row(columns, "verdict", p->f, "%s: %s refused by a fraction or a setting"
			     " of the program, %s free on the device", word,
			     frag_size_text(s.d, m->demand),
			     m->limited ? SIZE(m->device_free) : "enough");
		break;
	case FRAG_CAUSE_FRAGMENTATION:
		frag_put_row(columns, "verdict", p->f, "%s%s: %s active + %s requested = %.1f %%"
			     " of %s usable", word, m->nearly_full ? ", nearly full" : "", s.c,
			     s.a, percent_of(m->live + m->need, usable), s.b);
		break;
	case FRAG_CAUSE_OUTSIDE:
	case FRAG_CAUSE_UNKNOWN:
	case FRAG_CAUSE_NONE:
		break;
	}
}

/* Who still uses what is freed, and since when; a block may be in several rows. */
static void print_pending(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char size[FRAG_NUMBER_ROOM], stream[FRAG_SHORT_NAME];
	const char *label = "pending";

	for (uint32_t i = 0; i < m->awaited_count && i < p->a->top; i++) {
		const struct frag_awaited *row = &m->awaited[i];

		frag_size_text(size, row->bytes);
		if (row->stream)
			frag_put_row(p->paper->columns, label, p->f, "%s in %" PRIu64 " block%s,"
				     " freed and in use on stream %s since step %" PRIu64, size,
				     row->blocks, frag_s(row->blocks),
				     frag_short_name(row->stream, stream), row->since);
		else
			frag_put_row(p->paper->columns, label, p->f, "%s in %" PRIu64 " block%s,"
				     " freed and in use until a complete since step %" PRIu64
				     ": the trace does not name the stream", size, row->blocks,
				     frag_s(row->blocks), row->since);
		label = "";
	}
	if (m->awaited_count > p->a->top)
		frag_put_row(p->paper->columns, label, p->f, "and %" PRIu32 " more streams",
			     m->awaited_count - p->a->top);
	if (m->over_blocks)
		frag_put_row(p->paper->columns, label, p->f,
			     "%s in %" PRIu64 " block%s, freed and in"
			     " use no more: not taken back yet",
			     frag_size_text(size, m->over), m->over_blocks, frag_s(m->over_blocks));
}

/* "(all non-releasable)", "(512.00 MiB non-releasable)", or nothing. */
static const char *held_back_text(const struct frag_explained *m, char buf[64])
{
	*buf = '\0';
	if (m->free && m->non_releasable == m->free)
		snprintf(buf, 64, " (all non-releasable)");
	else if (m->non_releasable)
		snprintf(buf, 64, " (%s non-releasable)", SIZE(m->non_releasable));
	return buf;
}

static void print_free(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char note[64];
	struct sizes s;

	frag_size_text(s.a, m->free);
	held_back_text(m, note);
	if (m->limited)
		frag_put_row(p->paper->columns, "free", p->f, "%s on the device + %s reserved but"
			     " unallocated%s", frag_size_text(s.b, m->device_free), s.a, note);
	else
		frag_put_row(p->paper->columns, "free", p->f, "%s reserved but unallocated%s",
			     s.a, note);
}

static void print_largest(const struct page *p)
{
	const struct frag_explained *m = p->m;
	struct sizes s;

	frag_put_row(p->paper->columns, "largest", p->f, "%s contiguous now, %s after a flush; %s"
		     " if all live blocks were compacted", frag_size_text(s.a, m->largest_now),
		     frag_size_text(s.b, m->largest_after_flush),
		     frag_size_text(s.c, m->largest_after_compaction));
}

/* Rows of -v: memory outside, limits, the peak of the whole trace. */
static void print_bounds(const struct page *p)
{
	const struct frag_explained *m = p->m;
	struct sizes s;

	if (m->limited && m->outside)
		frag_put_row(p->paper->columns, "outside", p->f, "%s (context, other processes)",
			     frag_size_text(s.a, m->outside));
	if (m->limit != UINT64_MAX)
		frag_put_row(p->paper->columns, "limit", p->f, "%s, set by the program",
			     frag_size_text(s.a, m->limit));
	if (m->fits_known && m->limited)
		frag_put_row(p->paper->columns, "peak", p->f, "%s allocated in the whole trace,"
			     " lower bound %s: %s", frag_size_text(s.a, m->peak),
			     frag_size_text(s.b, m->lower_bound),
			     m->fits ? "less than the device"
			     : "more than the device, however it is placed");
}

#define LIFE_ROOM 128

/* What it is, since when, and until when: "weights, allocated at step 7, never freed in this trace". */
static const char *life_text(const struct frag_blocking_block *pin, char buf[LIFE_ROOM])
{
	char end[64] = "never freed in this trace", born[64] = "allocated before the first step";

	/* freed and unused, and its allocation is unknown */
	if (pin->pending && pin->freed == UINT64_MAX)
		return "freed, and not taken back yet";
	if (pin->freed != UINT64_MAX)
		snprintf(end, sizeof(end), "%s at step %" PRIu64,
			 pin->pending ? "pending since its free" : "freed", pin->freed);
	if (!pin->initial)
		snprintf(born, sizeof(born), "allocated at step %" PRIu64, pin->born);
	snprintf(buf, LIFE_ROOM, "%s, %s, %s", frag_life_class_names[pin->life], born, end);
	return buf;
}

/* The largest pin speaks for all. */
static void print_pins(const struct page *p, const struct frag_pinned_segment *s)
{
	const struct frag_blocking_block *largest = &s->pins[0];
	char head[80], text[512], tag[OF_ROOM], life[LIFE_ROOM];
	struct sizes z;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->pin_count; i++) {
		bytes += s->pins[i].bytes;
		if (s->pins[i].bytes > largest->bytes)
			largest = &s->pins[i];
	}
	snprintf(head, sizeof(head), "  %7" PRIu32 "  %12s  %12s  ", s->ordinal,
		 frag_size_text(z.a, s->bytes), frag_size_text(z.b, s->non_releasable));
	snprintf(text, sizeof(text), "%s in %" PRIu32 " block%s%s %s, %s",
		 frag_size_text(z.c, bytes), s->pin_count, frag_s(s->pin_count),
		 s->pin_count > 1 ? ", the largest" : "", of_tag(largest->tag, tag),
		 life_text(largest, life));
	frag_put_wrapped(p->paper->columns, head, text, p->f);
}

static void print_segments(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (!m->segment_count)
		return;
	fprintf(p->f, "\n  segment         bytes          free  blocked by\n");
	for (uint32_t i = 0; i < m->segment_count && i < p->a->top; i++)
		print_pins(p, &m->segments[i]);
	if (m->segment_count > p->a->top)
		fprintf(p->f, "  and %" PRIu32 " more\n", m->segment_count - p->a->top);
}

/* What the classes are based on, by the weakest that decided some class: " (by lifetime)". */
static const char *evidence_text(const struct frag_explained *m)
{
	static const char *const texts[] = {
		[FRAG_EVIDENCE_NONE] = "", [FRAG_EVIDENCE_STACK] = " (by stacks)",
		[FRAG_EVIDENCE_MARKS] = " (by marks)", [FRAG_EVIDENCE_SIZES] = " (by stacks and sizes)",
		[FRAG_EVIDENCE_LIFETIME] = " (by lifetime alone)",
	};
	uint8_t weakest = FRAG_EVIDENCE_NONE;

	for (uint32_t i = 0; i < m->held_count; i++)
		for (int k = 0; k < FRAG_LIFE_CLASSES; k++)
			weakest = m->held[i].evidence[k] > weakest ? m->held[i].evidence[k] : weakest;
	return texts[weakest];
}

/* The sums of all classes: in the answer itself, and above the table of tags. */
static void print_classes(const struct page *p, const char *label)
{
	const struct frag_explained *m = p->m;
	uint64_t sums[FRAG_LIFE_CLASSES] = { 0 }, all = 0;
	char line[400] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < m->held_count; i++)
		for (int k = 0; k < FRAG_LIFE_CLASSES; k++)
			sums[k] += m->held[i].of_class[k];
	for (int k = 0; k < FRAG_LIFE_CLASSES; k++)
		all += sums[k];
	/* a class of less than a thousandth tells a person nothing */
	for (int k = 0; k < FRAG_LIFE_CLASSES; k++)
		if (sums[k] && sums[k] >= all / 1000)
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %s",
						 used ? ", " : "", frag_life_class_names[k],
						 SIZE(sums[k]));
	if (used)
		frag_put_row(p->paper->columns, label, p->f, "%s%s", line, evidence_text(m));
}

static void print_tags(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char tag[OF_ROOM];

	if (m->held_count)
		putc('\n', p->f);
	print_classes(p, "held");
	for (uint32_t i = 0; i < m->held_count && i < p->a->top; i++)
		frag_put_row(p->paper->columns, i ? "" : "top tags", p->f, "%s in %" PRIu64
			     " block%s %s, %s", SIZE(m->held[i].bytes), m->held[i].blocks,
			     frag_s(m->held[i].blocks), of_tag(m->held[i].tag, tag),
			     frag_life_class_names[frag_held_class(&m->held[i])]);
}

static void print_pools(const struct page *p)
{
	char name[FRAG_SHORT_NAME];
	struct sizes s;

	for (uint32_t i = 0; i < p->m->pool_count; i++) {
		const struct frag_pool_row *pool = &p->m->pools[i];

		frag_put_row(p->paper->columns, i ? "" : "pools", p->f,
			     "pool %s: %s in %" PRIu32
			     " segment%s: %s live, %s free (%s non-releasable)",
			     frag_short_name(pool->name, name), frag_size_text(s.a, pool->reserved),
			     pool->segments, frag_s(pool->segments),
			     frag_size_text(s.b, pool->live), frag_size_text(s.c, pool->free),
			     frag_size_text(s.d, pool->non_releasable));
	}
}

static void print_culprit(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char tag[OF_ROOM];
	struct sizes s;

	if (!m->culprit)
		return;
	frag_put_row(p->paper->columns, "cause", p->f, "%s of %s, the largest %s, make %s"
		     " non-releasable", frag_size_text(s.a, m->culprit_bytes),
		     m->culprit == FRAG_CULPRIT_LATE
			     ? "long-lived blocks allocated late"
			     : "blocks left behind in large segments",
		     of_tag(m->culprit_tag, tag),
		     frag_size_text(s.b, m->culprit_non_releasable));
}

static const struct frag_blocking_block *find_pin(const struct frag_explained *m, const char *id)
{
	for (uint32_t i = 0; i < m->segment_count; i++)
		for (uint32_t k = 0; k < m->segments[i].pin_count; k++)
			if (m->segments[i].pins[k].id
			    && strcmp(m->segments[i].pins[k].id, id) == 0)
				return &m->segments[i].pins[k];
	return NULL;
}

/* What is moved, at the moment that the other rows are of. */
static void print_moved(const struct page *p, const struct frag_move *move)
{
	char tag[OF_ROOM], life[LIFE_ROOM], id[FRAG_SHORT_NAME];

	for (uint32_t i = 0; i < move->blocks && i < MOVED_SHOWN; i++) {
		const struct frag_blocking_block *pin = find_pin(p->m, move->ids[i]);

		frag_put_row(p->paper->columns, "", p->f, "id %s, %s %s%s%s",
			     frag_short_name(move->ids[i], id),
			     SIZE(move->sizes[i]), of_tag(move->tags[i], tag),
			     pin ? ", " : "", pin ? life_text(pin, life) : "");
	}
	if (move->blocks > MOVED_SHOWN)
		frag_put_row(p->paper->columns, "", p->f, "and %" PRIu32 " more",
			     move->blocks - MOVED_SHOWN);
}

static void print_move(const struct page *p, uint32_t i)
{
	const struct frag_move *move = &p->m->moves[i];
	char at[64] = "", to[80] = "the trace completes";

	if (i)
		snprintf(at, sizeof(at), " at step %" PRIu64, move->step);
	if (move->reaches != UINT64_MAX)
		snprintf(to, sizeof(to), "the run continues to step %" PRIu64, move->reaches);
	frag_put_row(p->paper->columns, i ? "" : "fix", p->f, "move %s in %" PRIu32 " block%s of"
		     " segment%s %" PRIu32 "%s elsewhere%s: %s (simulated)", SIZE(move->bytes),
		     move->blocks, frag_s(move->blocks), frag_s(move->from_count), move->from[0],
		     move->from_count > 1 ? " and others" : "", at, to);
	if (!i && p->a->verbose)
		print_moved(p, move);
}

static void print_moves(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (m->cause <= FRAG_CAUSE_CAPACITY)
		return;
	for (uint32_t i = 0; i < m->move_count && (!i || p->a->verbose || m->move_count <= 2); i++)
		print_move(p, i);
	if (!m->move_count && m->tried)
		frag_put_row(p->paper->columns, "fix", p->f, "none: %" PRIu32 " cheapest moves of"
			     " blocks were simulated, and the request fails after each",
			     m->tried);
	else if (!m->move_count && p->a->found->moves && p->a->verbose)
		frag_put_row(p->paper->columns, "fix", p->f, "none: no block can be moved");
}

static bool is_setting(const struct page *p, const struct frag_choice *choice)
{
	return choice->ops->settings && choice->ops == p->a->found->choice->ops;
}

/* The first setting that fits: line 2 has it. */
static uint32_t first_setting(const struct page *p)
{
	uint32_t i = 0;

	while (i < p->m->survivor_count && !is_setting(p, &p->m->survivors[i]))
		i++;
	return i;
}

/* The simulated alternatives that fit, except the setting of line 2. */
static void print_others(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const uint32_t first = first_setting(p);
	char line[SURVIVORS_ROOM] = "", conf[FRAG_CONF_ROOM];
	size_t used = 0;

	if (!m->others)
		return;
	for (uint32_t i = 0; i < m->survivor_count; i++) {
		if (i == first)
			continue;
		frag_conf_text(&m->survivors[i], conf, sizeof(conf));
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.180s",
					 used ? ", " : "",
					 is_setting(p, &m->survivors[i]) && *conf
						? conf : m->survivors[i].ops->name);
	}
	if (used)
		frag_put_row(p->paper->columns, "also fits", p->f, "%s (%" PRIu32 " simulated)",
			     line, m->others);
	else if (!m->survivor_count)
		frag_put_row(p->paper->columns, "also fits", p->f, "none of %" PRIu32 " other"
			     " settings and policies that were simulated", m->others);
}

static void print_next_pending(const struct page *p)
{
	const char *only = p->m->awaited_count == 1 ? p->m->awaited[0].stream : NULL;
	char stream[FRAG_SHORT_NAME];

	frag_put_row(p->paper->columns, "next", p->f, "synchronise %s%s before the request, or free"
		     " earlier (simulated: the request succeeds)", only ? "stream " : "the streams",
		     only ? frag_short_name(only, stream) : "");
}

/* Line 2: what to do. A setting is never wrapped, so that it can be copied. */
static void print_set(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const uint32_t i = first_setting(p);
	char conf[FRAG_CONF_ROOM];

	if (i < m->survivor_count) {
		frag_conf_text(&m->survivors[i], conf, sizeof(conf));
		fprintf(p->f, "  %-10s%sPYTORCH_CUDA_ALLOC_CONF=%s%s (simulated: fits)\n", "set",
			frag_color_code(p->paper->colour, INK_BOLD), conf,
			frag_color_code(p->paper->colour, INK_PLAIN));
	} else if (m->waiting_serves) {
		print_next_pending(p);
	} else if (m->cause == FRAG_CAUSE_TRANSIENT) {
		frag_put_row(p->paper->columns, "next", p->f,
			     "catch the error, and make the request again");
	} else if (m->cause == FRAG_CAUSE_LIMIT) {
		frag_put_row(p->paper->columns, "next", p->f, "a larger fraction or limit in the"
			     " program");
	} else if (m->cause <= FRAG_CAUSE_CAPACITY) {
		frag_put_row(p->paper->columns, "next", p->f, "a larger device, or less memory at a"
			     " time: see fragsim fit");
	} else {
		frag_put_row(p->paper->columns, "next", p->f, "no setting known to fit: see fragsim"
			     " tune, and fragsim fit for the smallest device");
	}
}

/* Where the answer would have more than ten lines, -v is not named. */
static bool has_more(const struct frag_explained *m)
{
	const bool full = m->cause && (m->culprit || m->cause == FRAG_CAUSE_PENDING);

	return !full && (m->segment_count || m->held_count || m->pool_count);
}

/* The rows of an answer, the verdict first; the tables only with -v or --top. */
static void print_moment(const struct page *p)
{
	if (p->m->cause) {
		explain_text_print_oom(p);
		print_set(p);
		explain_text_print_verdict(p);
		if (p->a->verbose)
			print_request(p);
	} else {
		explain_text_print_moment(p);
	}
	print_free(p);
	if (p->m->cause == FRAG_CAUSE_PENDING || p->a->verbose)
		print_pending(p);
	print_largest(p);
	if (p->a->verbose)
		print_bounds(p);
	print_classes(p, "active");
	print_culprit(p);
	if (p->m->cause) {
		print_moves(p);
		print_others(p);
	}
	frag_put_evidence(p->paper->columns, p->a->found->choice, "", p->f);
	if (p->a->time_up)
		frag_put_stopped(p->paper->columns, true, p->f);
	if (!p->a->verbose && has_more(p->m))
		frag_put_row(p->paper->columns, "more", p->f, "-v: segments, tags and pools; --top"
			     " N: more rows of each; --html FILE: HTML report");
	if (!p->a->verbose)
		return;
	print_pools(p);
	print_segments(p);
	print_tags(p);
}

static int explain_text_print(const void *what, const struct frag_text_style *paper, FILE *f,
			      struct frag_error *err)
{
	const struct frag_explain_answer *a = what;

	(void)err;
	if (a->time_up && a->found->count == 0) {
		fputs("NOT FOUND: no device was explained\n", f);
		frag_put_stopped(paper->columns, true, f);
	}
	for (uint32_t i = 0; i < a->found->count; i++) {
		const struct page p = {
			.a = a, .m = &a->found->moments[i], .paper = paper, .f = f,
		};

		if (i)
			putc('\n', f);
		print_moment(&p);
	}
	return 0;
}

static const struct frag_format text = { .name = "text", .print = explain_text_print };
static const struct frag_format json = {
	.name = "json", .format = "fragsim-explain", .document = frag_explain_document,
};

const struct frag_format *const frag_explain_formats[] = { &text, &json, NULL };
