/* diagnosis_text.c - what a report says first: fits or not, why it failed, and what to try. */
#include "answers/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "base/format.h"
#include "documents/pytorch_oom_message.h"
#include "policy/configure_events.h"
#include "answers/text_style.h"

#define HOLDERS_SHOWN 2         /* of those that are known, unless all is */
#define HOLDER_ROOM 256
#define HOLE_ROOM 256

/* The cause in a few words. missing: bytes that the largest contiguous block lacked. */
static void put_obstacle(char *buf, size_t size, const struct frag_oom *oom, uint64_t missing)
{
	char limit[FRAG_NUMBER_ROOM];

	if (frag_oom_is_limit(oom))
		snprintf(buf, size, "The limit of %s, %s, would be exceeded",
			 oom->limit_key ? oom->limit_key : "set_fraction",
			 frag_size_text(limit, oom->limit));
	else if (!oom->fragmentation)
		snprintf(buf, size, "Too little memory was free in total");
	else if (missing)
		snprintf(buf, size, "Enough bytes were free, but not in one piece");
	else
		snprintf(buf, size, "Enough bytes were free, but the policy did not release them");
}

/*
 * What is missing is measured against the largest piece there could be: what the device has
 * left, with all that could be released, or the largest free block.
 */
const char *frag_oom_advice(const struct frag_oom *oom, char buf[FRAG_OOM_ADVICE_ROOM])
{
	const struct frag_metrics *m = &oom->metrics;
	const uint64_t piece = frag_oom_piece(oom);
	uint64_t missing;
	char unused[FRAG_NUMBER_ROOM], non_releasable[FRAG_NUMBER_ROOM], largest[FRAG_NUMBER_ROOM];
	char obstacle[128], end[64] = "";

	if (m->opaque) {
		snprintf(buf, FRAG_OOM_ADVICE_ROOM, "%s reserved but unused in the driver's own "
			 "pool; its layout there is unknown.",
			 frag_size_text(unused, m->reserved - m->allocated));
		return buf;
	}
	missing = oom->demand > piece ? oom->demand - piece : 0;
	put_obstacle(obstacle, sizeof(obstacle), oom, missing);
	if (missing)
		snprintf(end, sizeof(end), "; %s missing in one piece",
			 SIZE(missing));
	frag_snprintf(buf, FRAG_OOM_ADVICE_ROOM,
		      "%s: %s reserved but unallocated, %s of that non-releasable between live blocks; "
		      "largest free block %s; fi %.2f %%, fi_device %.2f %%%s.", obstacle,
		      frag_size_text(unused, m->reserved - m->allocated),
		      frag_size_text(non_releasable, m->non_releasable),
		      frag_size_text(largest, m->largest_free), m->fi, m->fi_device, end);
	return buf;
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
			fprintf(f, "%14s%s in %" PRIu64 " block%s, the oldest from step %" PRIu64
				":\n", "", SIZE(stack->bytes), stack->blocks,
				stack->blocks == 1 ? "" : "s", stack->oldest);
		print_frames(stack->frames, f);
		bytes -= stack->bytes;
		blocks -= stack->blocks;
	}
	if (holder->stack_count && blocks)
		fprintf(f, "%14s%s in %" PRIu64 " block%s of other stacks, %u in all\n", "",
			SIZE(bytes), blocks, blocks == 1 ? "" : "s",
			holder->all_stacks);
}

/* "2.27 GiB in 25 blocks of TAG"; the long form adds the step of the oldest block. */
static const char *holder_text(const struct frag_tag_usage *holder, bool long_form,
			     char buf[HOLDER_ROOM])
{
	char age[64], tag[FRAG_SHORT_NAME];

	snprintf(age, sizeof(age), holder->tag ? " of" : "");
	if (long_form)
		snprintf(age, sizeof(age), ", the oldest from step %" PRIu64 ",", holder->oldest);
	snprintf(buf, HOLDER_ROOM, "%s in %" PRIu64 " block%s%s %s",
		 SIZE(holder->bytes), holder->blocks, frag_s(holder->blocks), age,
		 holder->tag ? frag_short_name(holder->tag, tag) : "without a tag");
	return buf;
}

static void print_holder(const struct frag_report *r, const struct frag_tag_usage *holder,
			 const char *head, bool long_form, FILE *f)
{
	char text[512];

	holder_text(holder, long_form, text);
	frag_print_wrapped(r, head, text, f);
	if (r->stacks)
		print_stacks(holder, f);
}

/* Rows of the tags with the most live bytes, with their stacks if there are some. */
static void print_holders(const struct frag_report *r, const struct frag_tag_usage *holders,
			uint32_t count, FILE *f)
{
	const uint32_t max = r->verbose ? FRAG_HOLDERS_MAX : HOLDERS_SHOWN;

	for (uint32_t i = 0; i < count && i < max; i++)
		print_holder(r, &holders[i], i ? "            " : "  top tags  ", r->verbose, f);
}

/* What the blocks of a hole do: "keep segment 137, 32.00 MiB, ..." */
static const char *hole_text(const struct frag_hole *hole, char buf[HOLE_ROOM])
{
	char size[FRAG_NUMBER_ROOM], live[FRAG_NUMBER_ROOM];

	frag_size_text(size, hole->bytes);
	frag_size_text(live, hole->live);
	if (hole->whole)
		snprintf(buf, HOLE_ROOM, "in segment %u (%s)", hole->segment, size);
	else
		snprintf(buf, HOLE_ROOM,
			 "in segment %u (%s from byte %" PRIu64 " on)", hole->segment, size,
			 hole->offset);
	return buf;
}

/* The minimum that must be freed for the request to succeed, with its tags. */
static void print_hole(const struct frag_report *r, const struct frag_hole *hole, FILE *f)
{
	char live[FRAG_NUMBER_ROOM], what[HOLE_ROOM], text[HOLE_ROOM + 64];

	if (!hole->bytes)
		return;
	snprintf(text, sizeof(text), "by %s %s", frag_size_text(live, hole->live),
		 hole_text(hole, what));
	frag_print_wrapped(r, "  blocked   ", text, f);
	for (uint32_t i = 0; i < hole->holder_count; i++)
		print_holder(r, &hole->holders[i], "            ", true, f);
}

/* One out-of-memory of a run: PyTorch's words, and who held memory. */
static void oom_print(const struct frag_report *r, const struct frag_result *run,
		    const struct frag_oom *oom, FILE *f)
{
	char message[FRAG_OOM_MESSAGE_ROOM], advice[FRAG_OOM_ADVICE_ROOM];

	if (r->verbose) {
		fprintf(f, "%sOOM at step %" PRIu64 "%s", frag_color_code(r->colour, INK_RED),
			oom->step, frag_color_code(r->colour, INK_PLAIN));
		if (oom->id)
			fprintf(f, ", id %.60s, %" PRIu64 " byte%s", oom->id, oom->size,
				frag_s(oom->size));
		putc('\n', f);
	}
	if (r->verbose)
		frag_print_wrapped(r, "  ", frag_oom_message_now(run, oom, message), f);
	if (r->verbose)
		frag_print_wrapped(r, "  ", frag_oom_advice(oom, advice), f);
	if (r->run_count > 1 || r->verbose)
		print_holders(r, oom->holders, oom->holder_count, f);
	if (r->verbose)
		print_hole(r, &oom->hole, f);
}

#define OOMS_SHOWN 5
#define FIGURES 57              /* columns of the table after the name, with the status */
#define WORTH_A_ROW 0.05        /* of what is reserved */

bool frag_report_has_remedy(const struct frag_report_run *runs, uint32_t count, uint32_t i)
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
	uint32_t low = 0, high = run->mark_count;
	char name[FRAG_SHORT_NAME];

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (run->marks[middle].step <= step)
			low = middle + 1;
		else
			high = middle;
	}
	*buf = '\0';
	if (low)
		snprintf(buf, 128, " (%s)", frag_short_name(run->marks[low - 1].name, name));
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
	return run->status == FRAG_RUN_OOM ? "OOM" : "fits";
}

static size_t longer(size_t width, const char *word)
{
	return strlen(word) > width ? strlen(word) : width;
}

/* The table's first column. */
static int status_width(const struct frag_report *r)
{
	size_t width = strlen("result");

	for (uint32_t i = 0; i < r->run_count; i++)
		width = longer(width, status_word(r->runs[i].result));
	return (int)width;
}

/* Was it no request of the program's, but the pool that the policy has from the start? */
static bool is_initial_pool(const struct frag_oom *oom)
{
	return !oom->id;
}

static bool run_is_too_big(const struct frag_result *run, const struct frag_diagnosis *a,
			   const struct frag_oom *oom)
{
	return a && run->total && a->requested > frag_answer_room(run)
	       && oom->metrics.active + oom->need <= frag_answer_room(run);
}

/* The cause in one word, with the pair of numbers behind it. */
static void print_cause(const struct frag_report *r, const struct frag_result *run,
			const struct frag_diagnosis *a, FILE *f)
{
	const struct frag_oom *oom = &run->ooms[0];
	const struct frag_metrics *m = &oom->metrics;
	const struct frag_oom_diagnosis d = frag_diagnosis_cause(a, run);
	const uint64_t device_free = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	const uint64_t piece = frag_oom_piece(oom);
	const char *word = frag_oom_cause_name(d.cause);
	char tried[FRAG_NUMBER_ROOM], room[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM];

	frag_size_text(tried, oom->tried);
	frag_size_text(room, m->free + device_free);
	if (is_initial_pool(oom))
		frag_print_row(r, "verdict", f, "%s: initial pool of %s requested, %s free", word,
			       tried, room);
	else if (d.cause == FRAG_CAUSE_LIMIT && oom->limit != UINT64_MAX)
		frag_print_row(r, "verdict", f, "%s: %s requested, %s allows %s in total", word,
			       tried, oom->limit_key ? oom->limit_key
						     : "a fraction set by the program",
			       frag_size_text(other, oom->limit));
	else if (d.cause == FRAG_CAUSE_PENDING)
		frag_print_row(r, "verdict", f, "%s: %s requested; freed blocks that a stream still"
			       " uses would suffice", word, tried);
	else if (d.cause == FRAG_CAUSE_TRANSIENT)
		frag_print_row(r, "verdict", f, "%s: %s requested; a second attempt succeeds", word,
			       tried);
	else if (d.cause == FRAG_CAUSE_FRAGMENTATION && piece >= oom->demand)
		frag_print_row(r, "verdict", f, "%s%s: %s free, contiguous, but the policy does not"
			       " release it", word, d.nearly_full ? ", nearly full" : "",
			       frag_size_text(other, piece));
	else if (d.cause == FRAG_CAUSE_FRAGMENTATION)
		frag_print_row(r, "verdict", f, "%s%s: %s free, largest contiguous block %s", word,
			       d.nearly_full ? ", nearly full" : "", room,
			       frag_size_text(other, piece));
	else if (d.cause == FRAG_CAUSE_TOO_LARGE)
		frag_print_row(r, "verdict", f, "%s: %s requested, %s usable", word, tried,
			       frag_size_text(other, frag_answer_room(run)));
	else if (d.cause == FRAG_CAUSE_CAPACITY && run_is_too_big(run, a, oom))
		frag_print_row(r, "verdict", f, "%s: lower bound %s, %s usable", word,
			       SIZE(a->requested), frag_size_text(other, frag_answer_room(run)));
	else
		frag_print_row(r, "verdict", f, "%s: %s requested, %s free in total", word, tried,
			       room);
}

/* "16416 MiB (16.03 GiB)": a capacity, exact. */
static const char *device_text(char buf[2 * FRAG_NUMBER_ROOM], uint64_t bytes)
{
	char exact[FRAG_NUMBER_ROOM];

	frag_capacity_text(exact, bytes);
	if (bytes % (UINT64_C(1) << 30) == 0)
		snprintf(buf, 2 * FRAG_NUMBER_ROOM, "%" PRIu64 " GiB", bytes >> 30);
	else if (bytes < 1U << 30 && bytes % (1U << 20) == 0)
		snprintf(buf, 2 * FRAG_NUMBER_ROOM, "%s", exact);
	else
		snprintf(buf, 2 * FRAG_NUMBER_ROOM, "%s (%s)", exact, SIZE(bytes));
	return buf;
}

/* A fraction of the program's own is too small: its size, and the device on which it suffices. */
static void print_over_limit(const struct frag_report *r, const struct frag_result *run,
			     const struct frag_diagnosis *a, uint64_t least, FILE *f)
{
	const struct frag_oom *oom = &run->ooms[0];
	const uint64_t now = oom->metrics.requested + oom->size;
	const uint64_t bytes = a->limit_stays && a->requested > now ? a->requested : now;
	char needs[FRAG_NUMBER_ROOM], limit[FRAG_NUMBER_ROOM];
	char device[2 * FRAG_NUMBER_ROOM], also[2 * FRAG_NUMBER_ROOM + 64] = "";

	if (least && !oom->limit_key)
		snprintf(also, sizeof(also), "; on a device of %s that fraction suffices",
			 device_text(device, least));
	frag_print_row(r, "smallest", f, "lower bound %s; %s allows %s (%s short)%s",
		       frag_size_text(needs, bytes),
		       oom->limit_key ? oom->limit_key : "a fraction set by the program",
		       frag_size_text(limit, oom->limit), SIZE(bytes - oom->limit), also);
}

static void print_hopeless(const struct frag_report *r, const struct frag_result *run,
			   uint64_t floor, FILE *f)
{
	char least[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM];

	frag_print_row(r, "smallest", f, "lower bound %s, the device has %s (%s short): no"
		       " allocator setting fits", frag_size_text(least, floor),
		       frag_size_text(total, run->total), SIZE(floor - run->total));
}

/* The smallest device for the whole trace, including context and other processes. */
static void print_needs(const struct frag_report *r, const struct frag_result *run,
			const struct frag_diagnosis *a, FILE *f)
{
	const uint64_t floor = frag_answer_floor(a, run);
	const uint64_t least = a->safe ? a->safe : a->smallest;
	const char *end = r->trace->ends_at_oom ? " up to the recorded OOM" : "";
	char smallest[2 * FRAG_NUMBER_ROOM], ideal[FRAG_NUMBER_ROOM];
	char lucky[2 * FRAG_NUMBER_ROOM], also[128] = "";

	if (!a->requested || !run->total)
		return;
	frag_size_text(ideal, floor);
	device_text(smallest, least);
	if (a->smallest && least > a->smallest)
		snprintf(also, sizeof(also), "; %s also fits, but a larger one may not",
			 device_text(lucky, a->smallest));
	if (frag_answer_is_over_limit(a, run))
		print_over_limit(r, run, a, least, f);
	else if (frag_diagnosis_exceeds_capacity(a, run))
		print_hopeless(r, run, floor, f);
	else if (least && frag_oom_is_limit(&run->ooms[0]) && !run->ooms[0].limit_key)
		frag_print_row(r, "smallest", f, "%s device%s, on which that fraction suffices",
			       smallest, end);
	else if (least)
		frag_print_row(r, "smallest", f,
			       "%s device%s; lower bound %s; fragmentation and rounding cost %s"
			       " (%.1f %%)%s", smallest, end, ideal, SIZE(least - floor),
			       percent(least - floor, a->requested), also);
	else
		frag_print_row(r, "smallest", f, "more than %s%s; lower bound %s",
			       SIZE(a->failing - 1), end, ideal);
}

/* "15.56 GiB usable (16.00 GiB - 450.00 MiB context); peak allocated 14.88 GiB" */
static void print_device(const struct frag_report *r, const struct frag_result *run,
			 const struct frag_diagnosis *a, FILE *f)
{
	char less[128] = "", peak[64] = "", usable[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM];
	char context[FRAG_NUMBER_ROOM];

	if (!run->total)
		return;
	frag_size_text(total, run->total);
	frag_size_text(context, run->context);
	if (run->context && run->other)
		snprintf(less, sizeof(less), " (%s - %s context - %s other processes)", total,
			 context, SIZE(run->other));
	else if (run->context || run->other)
		snprintf(less, sizeof(less), " (%s - %s %s)", total,
			 SIZE(run->context + run->other),
			 run->context ? "context" : "other processes");
	if (a && a->allocated)
		snprintf(peak, sizeof(peak), "; peak allocated %s", SIZE(frag_answer_live(a)));
	frag_print_row(r, "device", f, "%s usable%s%s",
		       frag_size_text(usable, frag_answer_room(run)), less, peak);
}

/* The blocks of the window with the fewest live bytes. */
static void print_pinned(const struct frag_report *r, const struct frag_hole *hole, FILE *f)
{
	char live[FRAG_NUMBER_ROOM], what[HOLE_ROOM], tag[FRAG_SHORT_NAME];
	const struct frag_tag_usage *first = &hole->holders[0];

	/* of what is all live nothing is pinned */
	if (hole->live >= hole->bytes || !hole->holder_count)
		return;
	frag_print_row(r, "blocked", f, "by %s of %s%s %s", frag_size_text(live, hole->live),
		       first->tag ? frag_short_name(first->tag, tag) : "blocks without a tag",
		       hole->holder_count > 1 ? " and others" : "", hole_text(hole, what));
}

/* Line 2: a setting, never wrapped, so that it can be copied; or what else to do. */
static void print_remedy(const struct frag_report *r, const struct frag_result *run,
			 const struct frag_diagnosis *a, FILE *f)
{
	char conf[FRAG_CONF_ROOM], note[96] = "simulated: fits";

	if (!a)
		return;
	if (a->remedy.found) {
		frag_conf_text(&a->remedy.choice, conf, sizeof(conf));
		if (run->status != FRAG_RUN_OOM)
			snprintf(note, sizeof(note), "simulated: reserves %s",
				 SIZE(a->remedy.reserved));
		else if (r->trace->ends_at_oom)
			snprintf(note, sizeof(note), "simulated: fits up to the recorded OOM");
		fprintf(f, "  %-10s%sPYTORCH_CUDA_ALLOC_CONF=%s%s (%s)\n", "set",
			frag_color_code(r->colour, INK_BOLD), conf,
			frag_color_code(r->colour, INK_PLAIN), note);
	} else if (frag_answer_is_over_limit(a, run)) {
		frag_print_row(r, "next", f, "a larger %s, or a lower peak of the program",
			       run->ooms[0].limit_key ? run->ooms[0].limit_key : "fraction");
	} else if (a->remedies && run->status == FRAG_RUN_OOM) {
		frag_print_row(r, "next", f, "a larger %s, or a lower peak of the program: none of %u"
			       " other settings fits",
			       frag_oom_is_limit(&run->ooms[0]) ? "fraction or device" : "device",
			       a->remedies);
	} else if (frag_diagnosis_exceeds_capacity(a, run)) {
		frag_print_row(r, "next", f, "a larger device, or a lower peak of the program");
	}
}

static void print_pins(const struct frag_report *r, const struct frag_device_state *m, FILE *f)
{
	char non_releasable[FRAG_NUMBER_ROOM], bytes[FRAG_NUMBER_ROOM], tag[FRAG_SHORT_NAME];

	for (uint32_t i = 0; i < m->pin_count && (r->verbose || i < 2); i++) {
		const struct frag_blocking_tag *pin = &m->pins[i];

		frag_print_row(r, i ? "" : "blocked", f, "%s in %u %s%s, by %s in %" PRIu64
			       " block%s%s%s%s", frag_size_text(non_releasable, pin->non_releasable),
			       pin->places, m->ranges ? "place" : "segment", frag_s(pin->places),
			       frag_size_text(bytes, pin->bytes), pin->blocks, frag_s(pin->blocks),
			       pin->tag ? " of " : "",
			       pin->tag ? frag_short_name(pin->tag, tag) : " without a tag",
			       pin->alone ? "" : ", and others");
	}
}

/* What fragmentation and rounding cost at the peak, and at most. */
static void print_lost(const struct frag_report *r, const struct frag_result *run, FILE *f)
{
	const uint64_t lost = run->at_peak.wasted;

	if (run->last.opaque)
		return;
	frag_print_row(r, "wasted", f, "%s (%.1f %%) in fragmentation and rounding; maximum over the run"
		       " %s; peak requested %s", SIZE(lost),
		       percent(lost, run->at_peak.reserved), SIZE(run->peak.wasted),
		       SIZE(run->peak.requested));
}

/* Of a snapshot that began late: what reserved the most is in no event of it. */
static void print_before(const struct frag_report *r, const struct frag_result *run, FILE *f)
{
	if (frag_peak_is_before(run))
		frag_print_row(r, "peak", f, "before the recording, of at least %s: the requests that"
			       " reserved it are not in the file", SIZE(run->beginning.segments));
}

/* Unused memory that the policy releases only when the device is full. */
static void print_cached(const struct frag_report *r, const struct frag_result *run, FILE *f)
{
	const struct frag_metrics *m = &run->at_peak;

	if ((double)m->releasable > WORTH_A_ROW * (double)m->reserved)
		frag_print_row(r, "cached", f, "%s in free segments, released when the device is full", SIZE(m->releasable));
}

/* " of 7.56 GiB usable (0.1 % spare)"; "" of an unlimited device. */
static const char *spare_text(const struct frag_result *run, char buf[96])
{
	const uint64_t room = frag_answer_room(run), peak = run->peak.reserved;

	*buf = '\0';
	if (run->total)
		frag_snprintf(buf, 96, " of %s usable (%.1f %% spare)", SIZE(room),
			      percent(room > peak ? room - peak : 0, room));
	return buf;
}

/* Line 1 of a run: the request that failed, or whether it fits and what it reserves. */
static void print_head_of_one(const struct frag_report *r, const struct frag_result *run, FILE *f)
{
	char name[FRAG_RUN_NAME_ROOM], mark[128], spare[96];
	char text[FRAG_RUN_NAME_ROOM + 256];
	const struct frag_oom *oom = run->oom_count ? &run->ooms[0] : NULL;
	const char *head, *colour = frag_color_code(r->colour, INK_GREEN);

	frag_report_name(r, run, name);
	if (oom) {
		head = "OOM: ";
		colour = frag_color_code(r->colour, INK_RED);
		snprintf(text, sizeof(text), "%s failed to %s %s at step %" PRIu64 " of %" PRIu64
			 "%s", name, oom->id ? "allocate" : "reserve its initial pool of",
			 SIZE(oom->size), oom->step, r->trace->events,
			 mark_text(run, oom->step, mark));
	} else if (run->status == FRAG_RUN_INTERRUPTED) {
		head = "INTERRUPTED: ";
		colour = frag_color_code(r->colour, INK_YELLOW);
		snprintf(text, sizeof(text),
			 "%s after %" PRIu64 " step%s, with at least %s reserved"
			 " at its peak",
			 name, run->steps, frag_s(run->steps), SIZE(run->peak.reserved));
	} else {
		const bool ends = run->total && r->trace->ends_at_oom;

		head = ends ? "FITS UP TO THE RECORDED OOM: " : run->total ? "FITS: "
									   : "NO LIMIT: ";
		colour = ends ? frag_color_code(r->colour, INK_YELLOW) : colour;
		snprintf(text, sizeof(text), "%s reserves %s%s at step %" PRIu64 " of %" PRIu64
			 "%s", name, SIZE(run->peak.reserved), spare_text(run, spare),
			 run->peak_step, r->trace->events,
			 mark_text(run, run->peak_step, mark));
	}
	fputs(colour, f);
	frag_print_wrapped(r, head, text, f);
	fputs(frag_color_code(r->colour, INK_PLAIN), f);
}

/* The runs of one policy, on all devices of the trace: the first OOM ends the program. */
struct outcome {
	const struct frag_result *failed;       /* the first that ran out of memory */
	uint64_t reserved;                      /* on all devices */
	bool cut;
};

static struct outcome outcome_of(const struct frag_report *r, uint32_t first, uint32_t devices)
{
	struct outcome o = { .failed = NULL };

	for (uint32_t i = first; i < first + devices; i++) {
		const struct frag_result *run = r->runs[i].result;

		o.cut = o.cut || run->status == FRAG_RUN_INTERRUPTED;
		o.reserved += run->peak.reserved;
		if (!o.failed && run->status == FRAG_RUN_OOM)
			o.failed = run;
	}
	return o;
}

static const char *policy_name(const struct frag_report *r, uint32_t i,
			       char buf[FRAG_RUN_NAME_ROOM])
{
	frag_format_printable(buf, FRAG_RUN_NAME_ROOM, "%s",
			      frag_choice_label(&r->runs[i].result->choice));
	return buf;
}

/* One policy on several devices. */
static const char *text_of_devices(const struct frag_report *r, const struct outcome *o,
				   char *buf, size_t size)
{
	char name[FRAG_RUN_NAME_ROOM];

	if (o->failed)
		snprintf(buf, size, "%s fails with an OOM on device %u of %u, at step %" PRIu64,
			 policy_name(r, 0, name), o->failed->device, r->run_count,
			 o->failed->ooms ? o->failed->ooms[0].step : o->failed->steps);
	else
		snprintf(buf, size, "%s reserves %s on all %u devices together",
			 policy_name(r, 0, name), SIZE(o->reserved), r->run_count);
	return buf;
}

/* Of many policies: how many fit, and which of those needs least. */
static void print_head_of_all(const struct frag_report *r, FILE *f)
{
	const uint32_t devices = frag_device_count(r), policies = r->run_count / devices;
	char name[FRAG_RUN_NAME_ROOM], text[FRAG_RUN_NAME_ROOM + 256];
	struct outcome best = { .reserved = UINT64_MAX }, o = best;
	uint32_t failed = 0, cut = 0;
	bool limited = false, ends;
	const char *head;

	for (uint32_t i = 0; i < r->run_count; i += devices) {
		o = outcome_of(r, i, devices);
		failed += o.failed != NULL;
		cut += o.cut;
		limited = limited || r->runs[i].result->total;
		if (o.failed || o.cut || o.reserved >= best.reserved)
			continue;
		best = o;
		policy_name(r, i, name);
	}
	if (cut)
		snprintf(text, sizeof(text), "%u of %u run%s", cut, policies, frag_s(policies));
	else if (policies == 1)
		text_of_devices(r, &o, text, sizeof(text));
	else if (failed == policies)
		snprintf(text, sizeof(text), "none of %u runs fits", policies);
	else if (!failed)
		snprintf(text, sizeof(text), "all %u runs; %s reserves least, %s", policies, name,
			 SIZE(best.reserved));
	else
		snprintf(text, sizeof(text), "%u of %u runs; %s reserves least, %s",
			 policies - failed, policies, name, SIZE(best.reserved));
	ends = limited && r->trace->ends_at_oom && failed < policies && !cut;
	head = cut ? "INTERRUPTED: " : failed == policies ? "OOM: "
	       : ends ? failed ? "SOME FIT UP TO THE RECORDED OOM: " : "FITS UP TO THE RECORDED OOM: "
	       : failed ? "SOME FIT: " : limited ? "FITS: " : "NO LIMIT: ";
	fputs(frag_color_code(r->colour, failed || cut ? INK_RED
					 : ends	       ? INK_YELLOW
						       : INK_GREEN),
	      f);
	frag_print_wrapped(r, head, text, f);
	fputs(frag_color_code(r->colour, INK_PLAIN), f);
}

/* The rows that an interrupted search would have filled. */
static void print_cut_short(const struct frag_report *r, const struct frag_result *run, FILE *f)
{
	static const char words[] = "(interrupted: not searched)";

	if (!r->cut_short || run->status == FRAG_RUN_INTERRUPTED || run->last.opaque)
		return;
	if (run->oom_count && run->total)
		frag_print_row(r, "smallest", f, words);
	if (!run->oom_count)
		frag_print_row(r, "top tags", f, words);
	if (run->choice.ops->settings)
		frag_print_row(r, "set", f, words);
}

/* Several policies on one device that no layout fits: that is said of all of them at once. */
static bool shares_needs(const struct frag_report *r, const struct frag_result *run,
			 const struct frag_diagnosis *a)
{
	return r->run_count > 1 && !frag_many_devices(r) && frag_diagnosis_exceeds_capacity(a, run);
}

static void print_failure(const struct frag_report *r, const struct frag_result *run,
			  const struct frag_diagnosis *a, FILE *f)
{
	print_cause(r, run, a, f);
	print_pinned(r, &run->ooms[0].hole, f);
	print_device(r, run, a, f);
	if (a && !shares_needs(r, run, a))
		print_needs(r, run, a, f);
}

/* The rows below the verdict on a run: what to do, then the reasons. */
static void print_reasons(const struct frag_report *r, uint32_t i, FILE *f)
{
	const struct frag_result *run = r->runs[i].result;
	const struct frag_diagnosis *a = answer_of(r, i);
	char evidence[FRAG_EVIDENCE_ROOM];

	if (frag_report_has_remedy(r->runs, r->run_count, i) && !shares_needs(r, run, a))
		print_remedy(r, run, a, f);
	if (run->oom_count) {
		print_failure(r, run, a, f);
		if (r->run_count == 1 && !r->verbose)
			print_holders(r, run->ooms[0].holders, run->ooms[0].holder_count > 0, f);
	} else if (run->status == FRAG_RUN_OK) {
		print_before(r, run, f);
		print_lost(r, run, f);
		print_cached(r, run, f);
		if (a && a->has_peak) {
			print_pins(r, &a->peak, f);
			print_holders(r, a->peak.holders, a->peak.holder_count, f);
		}
	}
	print_cut_short(r, run, f);
	if (!run->last.opaque)
		frag_print_row(r, "evidence", f, "%s", frag_diagnosis_evidence(a, run, evidence));
	if (!run->total && run->status == FRAG_RUN_OK)
		frag_print_row(r, "next", f, "--device-bytes SIZE --context-bytes SIZE: does it fit"
			       " that GPU?");
}

/* What several policies have in common that all failed: nothing helps, or a setting would. */
static void print_reasons_of_all(const struct frag_report *r, FILE *f)
{
	for (uint32_t i = 0; i < r->run_count && !frag_many_devices(r); i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_diagnosis *a = answer_of(r, i);

		if (!frag_report_has_remedy(r->runs, r->run_count, i))
			return;
		if (shares_needs(r, run, a) || (a && a->remedy.found)) {
			print_remedy(r, run, a, f);
			if (shares_needs(r, run, a))
				print_needs(r, run, a, f);
			return;
		}
	}
}

void frag_print_verdict(const struct frag_report *r, FILE *f)
{
	if (r->run_count != 1) {
		print_head_of_all(r, f);
		print_reasons_of_all(r, f);
		return;
	}
	print_head_of_one(r, r->runs[0].result, f);
	print_reasons(r, 0, f);
}

/* requested and reserved: peaks; UINT64_MAX: not known. */
static void print_setting(const struct frag_report *r, const char *status, const char *name,
			  int width, uint64_t requested, uint64_t reserved, FILE *f)
{
	const uint64_t figures[] = { requested, reserved };
	const bool bad = strcmp(status, "OOM") == 0;

	fprintf(f, "%s%-*s%s  ", bad ? frag_color_code(r->colour, INK_RED) : "", status_width(r),
		status, bad ? frag_color_code(r->colour, INK_PLAIN) : "");
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width + status_width(r) + 2, "");
	else
		fprintf(f, "%-*s", width, name);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		fprintf(f, "%*s", i ? 14 : 16, figures[i] == UINT64_MAX ? "-" : SIZE(figures[i]));
	if (requested == UINT64_MAX || reserved == UINT64_MAX || reserved < requested)
		fprintf(f, "  %16s\n", "-");
	else
		frag_fprintf(f, "  %10s %4.1f%%\n", SIZE(reserved - requested),
			     percent(reserved - requested, requested));
}

/* The remedy of a run, in conf; false where there is none, or a run before it has the same. */
static bool new_remedy(const struct frag_report *r, uint32_t i, char conf[FRAG_CONF_ROOM])
{
	const struct frag_diagnosis *a = answer_of(r, i);
	char other[FRAG_CONF_ROOM];

	if (!a || !a->remedy.found || !frag_report_has_remedy(r->runs, r->run_count, i))
		return false;
	frag_conf_text(&a->remedy.choice, conf, FRAG_CONF_ROOM);
	for (uint32_t k = 0; k < i; k++) {
		if (!r->answers[k].remedy.found
		    || r->runs[k].result->device != r->runs[i].result->device)
			continue;
		frag_conf_text(&r->answers[k].remedy.choice, other, sizeof(other));
		if (strcmp(conf, other) == 0)
			return false;
	}
	return true;
}

static void print_remedy_row(const struct frag_report *r, uint32_t i, int width, FILE *f)
{
	char conf[FRAG_CONF_ROOM], name[FRAG_CONF_ROOM + 16];
	const struct frag_setting_fix *remedy;

	if (!new_remedy(r, i, conf))
		return;
	remedy = &r->answers[i].remedy;
	if (frag_many_devices(r))
		snprintf(name, sizeof(name), "%s @%u", conf, r->runs[i].result->device);
	else
		snprintf(name, sizeof(name), "%s", conf);
	print_setting(r, "fits", name, width, remedy->requested,
		      remedy->reserved, f);
}

static size_t longest_remedy(const struct frag_report *r)
{
	const size_t device = frag_many_devices(r) ? strlen(" @0") : 0;
	size_t most = strlen("setting");
	char conf[FRAG_CONF_ROOM];

	for (uint32_t i = 0; i < r->run_count; i++)
		if (new_remedy(r, i, conf) && strlen(conf) + device > most)
			most = strlen(conf) + device;
	return most;
}

void frag_print_settings(const struct frag_report *r, FILE *f)
{
	const int width = frag_name_width(r, longest_remedy(r), FIGURES);

	fprintf(f, "\n%-*s  %-*s  %14s %13s  %16s\n", status_width(r), "result", width,
		"setting", "peak requested", "peak reserved", "overhead");
	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;
		const struct frag_diagnosis *a = answer_of(r, i);
		const bool whole = run->status == FRAG_RUN_OK;
		const uint64_t requested = whole ? run->peak.requested
						 : a && a->requested ? a->requested : UINT64_MAX;
		char name[FRAG_RUN_NAME_ROOM];

		frag_report_name(r, run, name);
		print_setting(r, status_word(run), name, width, requested,
			      whole ? run->peak.reserved : UINT64_MAX, f);
		print_remedy_row(r, i, width, f);
	}
}

static void print_ooms(const struct frag_report *r, const struct frag_result *run, FILE *f)
{
	const uint32_t max = r->verbose ? OOMS_SHOWN : 1;

	for (uint32_t i = 0; i < run->oom_count && i < max; i++)
		oom_print(r, run, &run->ooms[i], f);
	if (run->counts.ooms > max)
		fprintf(f, "... %" PRIu64 " OOMs in total\n", run->counts.ooms);
}

/* Of several runs, each failed one repeats its first line and its reasons here. */
void frag_print_details(const struct frag_report *r, FILE *f)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < r->run_count; i++) {
		const struct frag_result *run = r->runs[i].result;

		if (!run->oom_count && r->verbose && r->run_count > 1) {
			putc('\n', f);
			print_head_of_one(r, run, f);
			print_reasons(r, i, f);
		}
		if (!run->oom_count)
			continue;
		if (shown++ == FRAG_REPORT_FAILED_MAX && !r->verbose) {
			fputs("\n... and further runs that failed (--verbose)\n", f);
			return;
		}
		if (r->run_count > 1 || r->verbose)
			putc('\n', f);
		if (r->run_count > 1) {
			print_head_of_one(r, run, f);
			print_reasons(r, i, f);
		}
		print_ooms(r, run, f);
	}
}
