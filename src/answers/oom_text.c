/* oom_text.c - an out-of-memory, for a person. */
#include "answers/oom_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "base/wrap.h"
#include "documents/pytorch_oom_message.h"
#include "answers/color.h"
#include "answers/layout.h"

#define HOLDERS_SHOWN 2         /* of those that are known, unless all is */

/* What was in the way, in short. missing: of the largest piece that could be had. */
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

		/* the rest of what frag_printable() does has been done: it is JSON */
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

		/* one that all of them have needs no figures of its own */
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

/* long_form: with the age of the oldest block. */
static void print_holder(const struct frag_report *r, const struct frag_tag_usage *holder,
			 const char *head, bool long_form, FILE *f)
{
	char text[512];

	frag_holder_text(holder, long_form, text);
	frag_print_wrapped(r, head, text, f);
	if (r->stacks)
		print_stacks(holder, f);
}

const char *frag_holder_text(const struct frag_tag_usage *holder, bool long_form,
			     char buf[FRAG_HOLDER_ROOM])
{
	char age[64], tag[FRAG_SHORT_NAME];

	snprintf(age, sizeof(age), holder->tag ? " of" : "");
	if (long_form)
		snprintf(age, sizeof(age), ", the oldest from step %" PRIu64 ",", holder->oldest);
	snprintf(buf, FRAG_HOLDER_ROOM, "%s in %" PRIu64 " block%s%s %s",
		 SIZE(holder->bytes), holder->blocks, frag_s(holder->blocks), age,
		 holder->tag ? frag_short_name(holder->tag, tag) : "without a tag");
	return buf;
}

void frag_print_holders(const struct frag_report *r, const struct frag_tag_usage *holders,
			uint32_t count, FILE *f)
{
	const uint32_t max = r->verbose ? FRAG_HOLDERS_MAX : HOLDERS_SHOWN;

	for (uint32_t i = 0; i < count && i < max; i++)
		print_holder(r, &holders[i], i ? "            " : "  top tags  ", r->verbose, f);
}

const char *frag_hole_text(const struct frag_hole *hole, char buf[FRAG_HOLE_ROOM])
{
	char size[FRAG_NUMBER_ROOM], live[FRAG_NUMBER_ROOM];

	frag_size_text(size, hole->bytes);
	frag_size_text(live, hole->live);
	if (hole->whole)
		snprintf(buf, FRAG_HOLE_ROOM, "in segment %u (%s)", hole->segment, size);
	else
		snprintf(buf, FRAG_HOLE_ROOM,
			 "in segment %u (%s from byte %" PRIu64 " on)", hole->segment, size,
			 hole->offset);
	return buf;
}

/* The least that would have to be freed, and who holds that. */
static void print_hole(const struct frag_report *r, const struct frag_hole *hole, FILE *f)
{
	char live[FRAG_NUMBER_ROOM], what[FRAG_HOLE_ROOM], text[FRAG_HOLE_ROOM + 64];

	if (!hole->bytes)
		return;
	snprintf(text, sizeof(text), "by %s %s", frag_size_text(live, hole->live),
		 frag_hole_text(hole, what));
	frag_print_wrapped(r, "  blocked   ", text, f);
	for (uint32_t i = 0; i < hole->holder_count; i++)
		print_holder(r, &hole->holders[i], "            ", true, f);
}

void frag_print_oom(const struct frag_report *r, const struct frag_result *run,
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
		frag_print_holders(r, oom->holders, oom->holder_count, f);
	if (r->verbose)
		print_hole(r, &oom->hole, f);
}
