/* diagnosis_text.c - what a report says first: fits or not, why it failed, and what to try. */
#include "answers/report.h"

#include <inttypes.h>
#include <string.h>

#include "answers/failure_text.h"
#include "base/array_grow.h"
#include "base/parse.h"
#include "documents/documents.h"
#include "policy/choice.h"

#define HOLDERS_SHOWN 2         /* of those that are known, unless all is */
#define HOLE_ROOM 256

/*
 * What is missing is measured against the largest piece there could be: what the device has
 * left, with all that could be released, or the largest free block.
 */
const char *frag_oom_advice(const struct frag_oom *oom, char buf[FRAG_OOM_ADVICE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	const uint64_t piece = frag_oom_piece(oom);
	const uint64_t missing = oom->demand > piece ? oom->demand - piece : 0;
	struct frag_words w = { .text = buf, .size = FRAG_OOM_ADVICE_ROOM };

	if (m->opaque)
		frag_add(&w, "%s reserved but unused in the driver's own pool; its layout there is"
			 " unknown.", SIZE(m->reserved - m->allocated));
	else if (frag_oom_is_limit(oom))
		frag_add(&w, "The limit of %s, %s, would be exceeded",
			 oom->limit_key ? oom->limit_key : "set_fraction", SIZE(oom->limit));
	else
		frag_add(&w, "%s", !oom->fragmentation ? "Too little memory was free in total"
			 : missing ? "Enough bytes were free, but not in one piece"
			 : "Enough bytes were free, but the policy did not release them");
	if (!m->opaque)
		frag_add(&w, ": %s reserved but unallocated, %s of that non-releasable between live"
			 " blocks; largest free block %s; fi %.2f %%, fi_device %.2f %%",
			 SIZE(m->reserved - m->allocated), SIZE(m->non_releasable),
			 SIZE(m->largest_free), m->fi, m->fi_device);
	if (!m->opaque && missing)
		frag_add(&w, "; %s missing in one piece", SIZE(missing));
	frag_add(&w, "%s", m->opaque ? "" : ".");
	return buf;
}

void frag_put_failures(const struct frag_text_style *to, const struct frag_recorded_failures *f,
		       const char *more)
{
	struct frag_words w = WORDS(FRAG_FAILURES_SHOWN * FRAG_NUMBER_ROOM + 40);

	if (f->count < 2)
		return;
	for (uint32_t i = 0; i < f->count && i < FRAG_FAILURES_SHOWN; i++)
		frag_add_item(&w, i + 1 == FRAG_FAILURES_SHOWN && f->count > FRAG_FAILURES_SHOWN
			      ? " ... " : ", ", "%" PRIu64, f->at[i]);
	frag_put_row(to, "OOMs", "%" PRIu32 " recorded, at events %s%s", f->count, w.text, more);
}

/* Frames are not wrapped: who looks for one needs its line in one piece. */
static void print_frames(const char *frames, FILE *f)
{
	while (*frames) {
		const size_t n = strcspn(frames, "\n"), blanks = strspn(frames, " ");
		const bool colons = strncmp(frames + blanks, "::", 2) == 0;
		const size_t first = colons ? blanks + 1 : 0;

		/* JSON has the other escapes of frag_printable() already */
		fprintf(f, "%16s%s%.*s\n", "", colons ? "\\u003a" : "", (int)(n - first),
			frames + first);
		frames += n + 1;
	}
}

static void print_stacks(const struct frag_tag_usage *holder, FILE *f)
{
	uint64_t bytes = holder->bytes, blocks = holder->blocks;

	for (uint32_t i = 0; i < holder->stack_count; i++) {
		const struct frag_holder_stack *stack = &holder->stacks[i];

		/* a stack that all blocks share needs no numbers */
		if (stack->blocks != holder->blocks)
			fprintf(f, "%14s%s in %" PRIu64 " block%s, the oldest from event %" PRIu64
				":\n", "", SIZE(stack->bytes), stack->blocks,
				frag_s(stack->blocks), stack->oldest);
		print_frames(stack->frames, f);
		bytes -= stack->bytes;
		blocks -= stack->blocks;
	}
	if (holder->stack_count && blocks)
		fprintf(f, "%14s%s in %" PRIu64 " block%s of other stacks, %u in all\n", "",
			SIZE(bytes), blocks, frag_s(blocks), holder->all_stacks);
}

/* "2.27 GiB in 25 blocks of TAG"; the long form adds the step of the oldest block. */
static void print_holder(const struct frag_report *r, const struct frag_tag_usage *holder,
			 const char *head, bool long_form)
{
	struct frag_words w = WORDS(512);

	frag_add(&w, "%s in %" PRIu64 " block%s", SIZE(holder->bytes), holder->blocks,
		 frag_s(holder->blocks));
	if (long_form)
		frag_add(&w, ", the oldest from event %" PRIu64 ",", holder->oldest);
	frag_add(&w, "%s %s", !long_form && holder->tag ? " of" : "",
		 holder->tag ? SHORT(holder->tag) : "without a tag");
	frag_put_wrapped(&r->to, head, w.text);
	if (r->stacks)
		print_stacks(holder, r->to.f);
}

/* Rows of the tags with the most live bytes, with their stacks if there are some. */
static void print_holders(const struct frag_report *r, const struct frag_tag_usage *holders,
			  uint32_t count)
{
	const uint32_t max = r->verbose ? FRAG_HOLDERS_MAX : HOLDERS_SHOWN;

	for (uint32_t i = 0; i < count && i < max; i++)
		print_holder(r, &holders[i], i ? "            " : "  top tags  ", r->verbose);
}

/* What the blocks of a hole do: "in segment 137 (32.00 MiB from byte 512 on)" */
static const char *hole_text(const struct frag_hole *hole, char buf[HOLE_ROOM])
{
	struct frag_words w = { .text = buf, .size = HOLE_ROOM };

	frag_add(&w, "in segment %u (%s", hole->segment, SIZE(hole->bytes));
	if (!hole->whole)
		frag_add(&w, " from byte %" PRIu64 " on", hole->offset);
	frag_add(&w, ")");
	return buf;
}

/* The minimum that must be freed for the request to succeed, with its tags. */
static void print_hole(const struct frag_report *r, const struct frag_hole *hole)
{
	char what[HOLE_ROOM];

	if (!hole->bytes)
		return;
	frag_put_row(&r->to, "blocked", "by %s %s", SIZE(hole->live), hole_text(hole, what));
	for (uint32_t i = 0; i < hole->holder_count; i++)
		print_holder(r, &hole->holders[i], "            ", true);
}

/* One out-of-memory of a run: PyTorch's words, and who held memory. */
static void oom_print(const struct frag_report *r, const struct frag_result *run,
		      const struct frag_oom *oom)
{
	char message[FRAG_OOM_MESSAGE_ROOM], advice[FRAG_OOM_ADVICE_ROOM];

	if (r->verbose) {
		fprintf(r->to.f, "%sOOM at event %" PRIu64 "%s", frag_ink(&r->to, INK_RED),
			oom->step, frag_ink(&r->to, INK_PLAIN));
		if (oom->id)
			fprintf(r->to.f, ", id %.60s, %" PRIu64 " byte%s", oom->id, oom->size,
				frag_s(oom->size));
		putc('\n', r->to.f);
		frag_put_wrapped(&r->to, "  ", frag_oom_message(run, oom, true, message));
		frag_put_wrapped(&r->to, "  ", frag_oom_advice(oom, advice));
	}
	if (r->run_count > 1 || r->verbose)
		print_holders(r, oom->holders, oom->holder_count);
	if (r->verbose)
		print_hole(r, &oom->hole);
}

#define OOMS_SHOWN 5
#define FIGURES 57              /* columns of the table after the name, with the status */
#define WORTH_A_ROW 0.05        /* of what is reserved */

bool frag_report_has_fix(const struct frag_report_run *runs, uint32_t count, uint32_t i)
{
	if (count == 1)
		return true;
	for (uint32_t k = 0; k < count; k++)
		if (runs[k].result->device == runs[i].result->device
		    && runs[k].result->status == FRAG_RUN_OK)
			return false;
	return true;
}

static const struct frag_diagnosis *answer_of(const struct frag_report *r, uint32_t i)
{
	return r->answers ? &r->answers[i] : NULL;
}

/* " (NAME)": the last mark at or before the step; "" where there is none. */
static const char *mark_text(const struct frag_result *run, uint64_t step, char buf[128])
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, run->mark_count, run->marks[low].step <= step);
	*buf = '\0';
	if (low)
		snprintf(buf, 128, " (%s)", MARK_PLACE("", run->marks[low - 1].name));
	return buf;
}

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static const char *status_word(const struct frag_result *run)
{
	if (run->status == FRAG_RUN_INTERRUPTED)
		return "interrupted";
	return run->status == FRAG_RUN_OOM ? "OOM" : frag_run_status_name(run->status);
}

/* The table's first column. */
static int status_width(const struct frag_report *r)
{
	size_t width = strlen("result");

	for (uint32_t i = 0; i < r->run_count; i++)
		frag_note_longest(&width, status_word(r->runs[i].result));
	return (int)width;
}

#define TAG_ROOM 200

/* The tag of code as a person reads it; in buf, which is returned. */
static const char *tag_text(const struct frag_text *tag, char buf[TAG_ROOM])
{
	snprintf(buf, TAG_ROOM, "%.*s", tag->text ? (int)frag_text_cut(tag->text, tag->length, TAG_ROOM - 1)
		 : TAG_ROOM, tag->text ? tag->text : "code without a tag");
	return buf;
}

/* The verdict on the first OOM. */
static void print_cause(const struct frag_report *r, const struct frag_result *run,
			const struct frag_diagnosis *a)
{
	const struct frag_oom *oom = &run->ooms[0];
	const struct frag_metrics *m = &oom->metrics;
	const struct frag_oom_diagnosis d = frag_diagnosis_oom(a, run);
	const uint64_t left = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	char tag[TAG_ROOM];

	tag_text(&d.past_tag, tag);
	frag_put_failure(&r->to, &(struct frag_failure){
		.verdict = d.verdict, .nearly_full = d.nearly_full, .past = &d.past, .tag = SHOWN(tag),
		.initial = !oom->id, .need = oom->need, .demand = oom->demand, .active = m->active,
		.pending = m->active - m->allocated, .free = m->free + left,
		.largest = frag_oom_piece(oom), .usable = frag_usable_bytes(run),
		.lower_bound = a ? a->requested : 0, .limit = oom->limit, .limit_key = oom->limit_key,
	});
}

#define EXACTLY(bytes) device_text((char[2 * FRAG_NUMBER_ROOM]){ 0 }, (bytes))

/* "16416 MiB (16.03 GiB)": a capacity, exact. */
static const char *device_text(char buf[2 * FRAG_NUMBER_ROOM], uint64_t bytes)
{
	if (bytes % (UINT64_C(1) << 30) == 0)
		snprintf(buf, 2 * FRAG_NUMBER_ROOM, "%" PRIu64 " GiB", bytes >> 30);
	else if (bytes < 1U << 30 && bytes % (1U << 20) == 0)
		snprintf(buf, 2 * FRAG_NUMBER_ROOM, "%s", CAPACITY(bytes));
	else
		snprintf(buf, 2 * FRAG_NUMBER_ROOM, "%s (%s)", CAPACITY(bytes), SIZE(bytes));
	return buf;
}

/* A fraction of the program's own is too small: its size, and the device on which it suffices. */
static void print_over_limit(const struct frag_report *r, const struct frag_result *run,
			     const struct frag_diagnosis *a, uint64_t least)
{
	const struct frag_oom *oom = &run->ooms[0];
	const uint64_t now = oom->metrics.requested + oom->size;
	const uint64_t bytes = a->limit_stays && a->requested > now ? a->requested : now;
	const bool other = least && !oom->limit_key;

	frag_put_row(&r->to, "smallest", "lower bound %s; %s allows %s (%s short)%s%s%s",
		     SIZE(bytes), oom->limit_key ? oom->limit_key : "a fraction set by the program",
		     SIZE(oom->limit), SIZE(bytes - oom->limit), other ? "; on a device of " : "",
		     other ? EXACTLY(least) : "", other ? " that fraction suffices" : "");
}

/* Is the recording a part of its program? */
static bool is_part(const struct frag_report *r)
{
	return frag_scope_part(&r->trace->scope) != FRAG_PART_WHOLE;
}

/* The smallest device for the whole trace, including context and other processes. */
static void print_needs(const struct frag_report *r, const struct frag_result *run,
			const struct frag_diagnosis *a)
{
	const uint64_t floor = frag_diagnosis_lower_bound(a, run);
	const uint64_t least = a->reliable ? a->reliable : a->smallest;
	const char *end = r->trace->scope.ends == FRAG_ENDS_OOM ? " up to the recorded OOM"
			  : is_part(r) ? " for the recorded part" : "";
	const bool lucky = r->verbose && a->smallest && least > a->smallest;

	if (!a->requested || !run->total)
		return;
	if (frag_diagnosis_is_over_limit(a, run))
		print_over_limit(r, run, a, least);
	else if (frag_diagnosis_exceeds_capacity(a, run))
		frag_put_row(&r->to, "smallest", "lower bound %s, the device has %s (%s short): no"
			     " allocator setting fits", SIZE(floor), SIZE(run->total),
			     SIZE(floor - run->total));
	else if (least && frag_oom_is_limit(&run->ooms[0]) && !run->ooms[0].limit_key)
		frag_put_row(&r->to, "smallest", "%s device%s, on which that fraction suffices",
			     EXACTLY(least), end);
	else if (least)
		frag_put_row(&r->to, "smallest", "%s device%s; lower bound %s; fragmentation and"
			     " rounding cost %s (%.1f %%)%s%s%s", EXACTLY(least), end, SIZE(floor),
			     SIZE(least - floor), percent(least - floor, a->requested),
			     lucky ? "; " : "", lucky ? EXACTLY(a->smallest) : "",
			     lucky ? " also fits, but a larger one may not" : "");
	else if (a->failing)
		frag_put_row(&r->to, "smallest", "more than %s%s; lower bound %s",
			     SIZE(a->failing - 1), end, SIZE(floor));
}

/* "15.56 GiB usable (16.00 GiB - 450.00 MiB context); peak allocated 14.88 GiB" */
static void print_device(const struct frag_report *r, const struct frag_result *run,
			 const struct frag_diagnosis *a)
{
	struct frag_words w = WORDS(300);

	if (!run->total)
		return;
	frag_add(&w, "%s usable", SIZE(frag_usable_bytes(run)));
	if (run->context || run->other)
		frag_add(&w, " (%s", SIZE(run->total));
	if (run->context)
		frag_add(&w, " - %s context", SIZE(run->context));
	if (run->other)
		frag_add(&w, " - %s other processes", SIZE(run->other));
	if (run->context || run->other)
		frag_add(&w, ")");
	if (a && a->allocated)
		frag_add(&w, "; peak allocated %s",
			 SIZE(a->allocated > a->requested ? a->allocated : a->requested));
	frag_put_row(&r->to, "device", "%s", w.text);
}

/* The blocks of the window with the fewest live bytes. */
static void print_pinned(const struct frag_report *r, const struct frag_hole *hole)
{
	char what[HOLE_ROOM];

	/* of what is all live nothing is pinned */
	if (hole->live < hole->bytes && hole->holder_count)
		frag_put_row(&r->to, "blocked", "by %s of %s%s %s", SIZE(hole->live),
			     hole->holders[0].tag ? SHORT(hole->holders[0].tag)
						  : "blocks without a tag",
			     hole->holder_count > 1 ? " and others" : "", hole_text(hole, what));
}

/* Line 2: a setting to copy; or what else to do. */
static void print_fix(const struct frag_report *r, const struct frag_result *run,
		      const struct frag_diagnosis *a)
{
	char note[96];

	if (!a)
		return;
	if (a->fix.found && run->total && r->trace->scope.ends == FRAG_ENDS_OOM
	    && frag_verdict_grows(a->oom.verdict)) {
		frag_put_gain(&r->to, CONF(&a->fix.choice), a->fix.left, a->oom.verdict,
			      &a->oom.past);
	} else if (a->fix.found) {
		if (run->status != FRAG_RUN_OOM)
			snprintf(note, sizeof(note), " (simulated: reserves %s)",
				 SIZE(a->fix.reserved));
		else
			snprintf(note, sizeof(note), " (simulated: %s, %s left)",
				 frag_fits_words(&r->trace->scope), SIZE(a->fix.left));
		frag_put_setting(&r->to, &a->fix.choice, CONF(&a->fix.choice), note);
	} else if (frag_diagnosis_is_over_limit(a, run)) {
		frag_put_row(&r->to, "next", "a larger %s, or a lower peak of the program",
			     run->ooms[0].limit_key ? run->ooms[0].limit_key : "fraction");
	} else if (a->fixes && run->status == FRAG_RUN_OOM) {
		frag_put_no_setting(&r->to, a->fixes, frag_diagnosis_oom(a, run).verdict);
	} else if (frag_diagnosis_exceeds_capacity(a, run)) {
		frag_put_row(&r->to, "next", "a larger device, or a lower peak of the program");
	}
}

static void print_blocking(const struct frag_report *r, const struct frag_device_state *m)
{
	for (uint32_t i = 0; i < m->blocking_count && (r->verbose || i < 2); i++) {
		const struct frag_blocking_tag *blocking = &m->blocking[i];

		frag_put_row(&r->to, i ? "" : "blocked", "%s in %u %s%s, by %s in %" PRIu64
			     " block%s%s%s%s", SIZE(blocking->non_releasable), blocking->places,
			     m->ranges ? "place" : "segment", frag_s(blocking->places),
			     SIZE(blocking->bytes), blocking->blocks, frag_s(blocking->blocks),
			     blocking->tag ? " of " : "",
			     blocking->tag ? SHORT(blocking->tag) : " without a tag",
			     blocking->alone ? "" : ", and others");
	}
}

/* Of a snapshot that began late: what reserved the most is in no event of it. */
static void print_before(const struct frag_report *r, const struct frag_result *run)
{
	const struct frag_beginning *b = &run->beginning;

	if (b->segments && !b->as_requests && run->choice.ops->restore_segment
	    && run->peak.reserved == b->segments)
		frag_put_row(&r->to, "peak", "before the recording, of at least %s: the requests"
			     " that reserved it are not in the file", SIZE(b->segments));
}

/* What fragmentation and rounding cost at the peak, and at most; then unused memory that the
 * policy releases only when the device is full. */
static void print_lost(const struct frag_report *r, const struct frag_result *run)
{
	const struct frag_metrics *m = &run->at_peak;

	if (!run->last.opaque)
		frag_put_row(&r->to, "wasted", "%s (%.1f %%) in fragmentation and rounding; maximum"
			     " over the run %s; peak requested %s", SIZE(m->wasted),
			     percent(m->wasted, m->reserved), SIZE(run->peak.wasted),
			     SIZE(run->peak.requested));
	if ((double)m->releasable > WORTH_A_ROW * (double)m->reserved)
		frag_put_row(&r->to, "cached", "%s in free segments, released when the device is"
			     " full", SIZE(m->releasable));
}

/* Line 1 of a run: the request that failed, or whether it fits and what it reserves. */
static void print_head_of_one(const struct frag_report *r, const struct frag_result *run,
			      const struct frag_diagnosis *a)
{
	const char *name = REPORT_NAME(r, run);
	const bool known = a && a->oom.requested_by.text;
	char mark[128], spare[96] = "", by[TAG_ROOM + 64] = "", tag[TAG_ROOM];
	const struct frag_oom *oom = run->oom_count ? &run->ooms[0] : NULL;
	const uint64_t room = frag_usable_bytes(run), peak = run->peak.reserved;
	char head[40];

	mark_text(run, oom ? oom->step : run->peak_step, mark);
	if (known)
		snprintf(by, sizeof(by), a->oom.requested_before
			 ? " after %s (without frames, as in a backward pass)" : " requested by %s",
			 SHOWN(tag_text(&a->oom.requested_by, tag)));
	if (oom) {
		frag_put_first_line(&r->to, INK_RED, "OOM: ", "%s failed to %s %s%s at event %"
				    PRIu64 " of %" PRIu64 "%s", name,
				    oom->id ? "allocate" : "reserve its initial pool of",
				    SIZE(oom->size), by, oom->step, r->trace->events,
				    known ? "" : mark);
	} else if (run->status == FRAG_RUN_INTERRUPTED) {
		frag_put_first_line(&r->to, INK_YELLOW, "INTERRUPTED: ", "%s after %" PRIu64
				    " event%s, with at least %s reserved at its peak", name,
				    run->steps, frag_s(run->steps), SIZE(peak));
	} else {
		if (run->total)
			frag_snprintf(spare, sizeof(spare), " of %s usable (%.1f %% spare)",
				      SIZE(room), percent(room > peak ? room - peak : 0, room));
		snprintf(head, sizeof(head), "%s: ", run->total ? frag_fits_head(&r->trace->scope)
							       : "NO LIMIT");
		frag_put_first_line(&r->to, run->total && is_part(r) ? INK_YELLOW : INK_GREEN, head,
				    "%s reserves %s%s at event %" PRIu64 " of %" PRIu64 "%s", name,
				    SIZE(peak), spare, run->peak_step, r->trace->events, mark);
	}
}

/* The runs of one policy, on all devices of the trace: the first OOM ends the program. */
struct outcome {
	const struct frag_result *failed;       /* the first that ran out of memory */
	uint64_t reserved;                      /* on all devices */
	bool cut, error;                        /* error: its policy failed */
};

static struct outcome outcome_of(const struct frag_report *r, uint32_t first, uint32_t devices)
{
	struct outcome o = { .failed = NULL };

	for (uint32_t i = first; i < first + devices; i++) {
		const struct frag_result *run = r->runs[i].result;

		o.cut = o.cut || run->status == FRAG_RUN_INTERRUPTED;
		o.error = o.error || run->status == FRAG_RUN_ERROR;
		o.reserved += run->peak.reserved;
		if (!o.failed && run->status == FRAG_RUN_OOM)
			o.failed = run;
	}
	return o;
}

/* One policy on several devices: the first out-of-memory, or the sum. */
static void add_devices(const struct frag_report *r, const struct outcome *o, struct frag_words *w)
{
	frag_add(w, "%s ", SHOWN(frag_choice_label(&r->runs[0].result->choice)));
	if (o->failed)
		frag_add(w, "fails with an OOM on device %u of %u, at event %" PRIu64,
			 o->failed->device, r->run_count,
			 o->failed->ooms ? o->failed->ooms[0].step : o->failed->steps);
	else
		frag_add(w, "reserves %s on all %u devices together", SIZE(o->reserved),
			 r->run_count);
}

/* Of many policies: how many fit, and which of those needs least. */
static void print_head_of_all(const struct frag_report *r)
{
	const uint32_t devices = r->trace->device_count, policies = r->run_count / devices;
	struct frag_words w = WORDS(FRAG_RUN_NAME_ROOM + 256);
	struct outcome best = { .reserved = UINT64_MAX }, o = best;
	uint32_t failed = 0, cut = 0, first = 0;
	bool limited = false;
	char head[40];

	for (uint32_t i = 0; i < r->run_count; i += devices) {
		o = outcome_of(r, i, devices);
		failed += o.failed || o.error;
		cut += o.cut;
		limited = limited || r->runs[i].result->total;
		if (o.failed || o.error || o.cut || o.reserved >= best.reserved)
			continue;
		best = o;
		first = i;
	}
	if (cut)
		frag_add(&w, "%u of %u run%s", cut, policies, frag_s(policies));
	else if (policies == 1)
		add_devices(r, &o, &w);
	else if (failed == policies)
		frag_add(&w, "none of %u runs fits", policies);
	else if (!failed)
		frag_add(&w, "all %u runs", policies);
	else
		frag_add(&w, "%u of %u runs", policies - failed, policies);
	if (!cut && policies > 1 && failed < policies)
		frag_add(&w, "; %s reserves least, %s",
			 SHOWN(frag_choice_label(&r->runs[first].result->choice)),
			 SIZE(best.reserved));
	/* "SOME FIT UP TO THE RECORDED OOM: " */
	snprintf(head, sizeof(head), "%s%s: ", failed ? "SOME FIT" : "",
		 frag_fits_head(&r->trace->scope) + (failed ? strlen("FITS") : 0));
	frag_put_first_line(&r->to, failed || cut ? INK_RED
			    : limited && is_part(r) ? INK_YELLOW : INK_GREEN,
			    cut ? "INTERRUPTED: " : failed == policies ? "OOM: "
			    : failed || limited ? head : "NO LIMIT: ", "%s", w.text);
}

/* The rows that an interrupted search would have filled. */
static void print_cut_short(const struct frag_report *r, const struct frag_result *run)
{
	static const char words[] = "(interrupted: not searched)";

	if (!r->cut_short || run->status == FRAG_RUN_INTERRUPTED || run->last.opaque)
		return;
	if (run->oom_count && run->total)
		frag_put_row(&r->to, "smallest", words);
	if (!run->oom_count)
		frag_put_row(&r->to, "top tags", words);
	if (run->choice.ops->settings)
		frag_put_row(&r->to, "set", words);
}

/* Several policies on one device that no layout fits: that is said of all of them at once. */
static bool shares_needs(const struct frag_report *r, const struct frag_result *run,
			 const struct frag_diagnosis *a)
{
	return r->run_count > 1 && r->trace->device_count == 1
	       && frag_diagnosis_exceeds_capacity(a, run);
}

/* What the rules were compared with; the driver's own pool is no policy of ours. */
static void print_evidence(const struct frag_report *r, const struct frag_result *run,
			   const struct frag_diagnosis *a)
{
	char evidence[FRAG_EVIDENCE_ROOM];

	if (!run->last.opaque)
		frag_put_row(&r->to, "evidence", "%s", frag_diagnosis_evidence(a, run, evidence));
}

/* The rows below the verdict on a run: what to do, then the reasons. */
static void print_reasons(const struct frag_report *r, uint32_t i)
{
	const struct frag_result *run = r->runs[i].result;
	const struct frag_diagnosis *a = answer_of(r, i);

	if (frag_report_has_fix(r->runs, r->run_count, i) && !shares_needs(r, run, a))
		print_fix(r, run, a);
	if (run->oom_count) {
		print_cause(r, run, a);
		if (a)
			frag_put_failures(&r->to, &a->oom.recorded, "; the run ends at its first"
					  " one: fragsim explain");
		print_pinned(r, &run->ooms[0].hole);
		print_device(r, run, a);
		if (a && !shares_needs(r, run, a))
			print_needs(r, run, a);
		print_evidence(r, run, a);
		if (r->run_count == 1 && !r->verbose)
			print_holders(r, run->ooms[0].holders,
				      a && a->fix.found && run->ooms[0].holder_count
					      ? 1 : run->ooms[0].holder_count);
	} else if (run->status == FRAG_RUN_OK) {
		print_before(r, run);
		print_lost(r, run);
		if (a && a->has_peak)
			print_blocking(r, &a->peak);
		print_evidence(r, run, a);
		if (a && a->has_peak)
			print_holders(r, a->peak.holders, a->peak.holder_count);
	}
	print_cut_short(r, run);
	if (!run->total && run->status == FRAG_RUN_OK)
		frag_put_row(&r->to, "next", "--device-bytes SIZE --context-bytes SIZE: does it fit"
			     " that GPU?");
}

/* What several policies have in common that all failed: nothing helps, or a setting would. */
static void print_reasons_of_all(const struct frag_report *r)
{
	for (uint32_t i = 0; i < r->run_count && r->trace->device_count == 1; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_diagnosis *a = answer_of(r, i);

		if (!frag_report_has_fix(r->runs, r->run_count, i))
			return;
		if (shares_needs(r, run, a) || (a && a->fix.found)) {
			print_fix(r, run, a);
			if (shares_needs(r, run, a))
				print_needs(r, run, a);
			return;
		}
	}
}

void frag_print_verdict(const struct frag_report *r)
{
	const struct frag_result *run = r->run_count ? r->runs[0].result : NULL;
	bool fits = false;

	if (r->run_count == 1) {
		print_head_of_one(r, run, answer_of(r, 0));
		print_reasons(r, 0);
	} else if (run) {
		print_head_of_all(r);
		print_reasons_of_all(r);
	}
	for (uint32_t i = 0; i < r->run_count; i++)
		fits = fits || r->runs[i].result->status == FRAG_RUN_OK;
	if (fits && run->total)
		frag_put_growth(&r->to, &r->trace, 1);
	if (run)
		frag_put_context(&r->to, run->total, run->context, fits);
}

/* requested and reserved: peaks; UINT64_MAX: not known. */
static void print_setting(const struct frag_report *r, const char *status, const char *name,
			  int width, uint64_t requested, uint64_t reserved)
{
	const bool bad = strcmp(status, "OOM") == 0;
	const bool known = requested != UINT64_MAX && reserved != UINT64_MAX;
	FILE *f = r->to.f;

	fprintf(f, "%s%-*s%s  ", bad ? frag_ink(&r->to, INK_RED) : "", status_width(r), status,
		bad ? frag_ink(&r->to, INK_PLAIN) : "");
	frag_put_name(name, width, status_width(r) + 2, f);
	fprintf(f, "%16s%14s", requested == UINT64_MAX ? "-" : SIZE(requested),
		reserved == UINT64_MAX ? "-" : SIZE(reserved));
	if (!known || reserved < requested)
		fprintf(f, "  %16s\n", "-");
	else
		frag_fprintf(f, "  %10s %4.1f%%\n", SIZE(reserved - requested),
			     percent(reserved - requested, requested));
}

/* The fix of a run, in conf; false where there is none, or a run before it has the same. */
static bool new_fix(const struct frag_report *r, uint32_t i, char conf[FRAG_CONF_ROOM])
{
	const struct frag_diagnosis *a = answer_of(r, i);

	if (!a || !a->fix.found || !frag_report_has_fix(r->runs, r->run_count, i))
		return false;
	frag_conf_text(&a->fix.choice, conf, FRAG_CONF_ROOM);
	for (uint32_t k = 0; k < i; k++) {
		if (!r->answers[k].fix.found
		    || r->runs[k].result->device != r->runs[i].result->device)
			continue;
		if (strcmp(conf, CONF(&r->answers[k].fix.choice)) == 0)
			return false;
	}
	return true;
}

static void print_fix_row(const struct frag_report *r, uint32_t i, int width)
{
	const struct frag_setting_fix *fix = r->answers ? &r->answers[i].fix : NULL;
	char conf[FRAG_CONF_ROOM], name[FRAG_CONF_ROOM + 16];

	if (!new_fix(r, i, conf))
		return;
	snprintf(name, sizeof(name), r->trace->device_count > 1 ? "%s @%u" : "%s", conf,
		 r->runs[i].result->device);
	print_setting(r, "fits", name, width, fix->requested, fix->reserved);
}

static size_t longest_fix(const struct frag_report *r)
{
	const size_t device = r->trace->device_count > 1 ? strlen(" @0") : 0;
	size_t most = strlen("setting");
	char conf[FRAG_CONF_ROOM];

	for (uint32_t i = 0; i < r->run_count; i++)
		if (new_fix(r, i, conf) && strlen(conf) + device > most)
			most = strlen(conf) + device;
	return most;
}

void frag_print_settings(const struct frag_report *r)
{
	const int width = frag_name_width(r, longest_fix(r), FIGURES);

	fprintf(r->to.f, "\n%-*s  %-*s  %14s %13s  %16s\n", status_width(r), "result", width,
		"setting", "peak requested", "peak reserved", "overhead");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_diagnosis *a = answer_of(r, i);
		const bool whole = run->status == FRAG_RUN_OK;

		print_setting(r, status_word(run), REPORT_NAME(r, run), width, whole ? run->peak.requested
			      : a && a->requested ? a->requested : UINT64_MAX,
			      whole ? run->peak.reserved : UINT64_MAX);
		print_fix_row(r, i, width);
	}
}

/* Of several runs, each failed one repeats its first line and its reasons here. */
void frag_print_details(const struct frag_report *r)
{
	const uint32_t max = r->verbose ? OOMS_SHOWN : 1;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const bool failed = run->oom_count != 0, many = r->run_count > 1;

		if (!failed && !(r->verbose && many))
			continue;
		if (failed && shown++ == FRAG_REPORT_FAILED_MAX && !r->verbose) {
			fputs("\n... and further runs that failed (--verbose)\n", r->to.f);
			return;
		}
		if (many || r->verbose)
			putc('\n', r->to.f);
		if (many) {
			print_head_of_one(r, run, answer_of(r, i));
			print_reasons(r, i);
		}
		for (uint32_t k = 0; k < run->oom_count && k < max; k++)
			oom_print(r, run, &run->ooms[k]);
		if (run->counts.ooms > max && failed)
			fprintf(r->to.f, "... %" PRIu64 " OOMs in total\n", run->counts.ooms);
	}
}
