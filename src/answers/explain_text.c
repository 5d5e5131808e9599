/* explain_text.c - what fragsim explain found in a trace, for people. */
#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "base/wrap.h"
#include "policy/configure_events.h"
#include "answers/explain_formats.h"
#include "answers/color.h"
#include "answers/wrap_lines.h"

#define SURVIVORS_ROOM 1200
#define MOVED_SHOWN 4           /* blocks of a move that are named */

/* Where a moment is printed. */
struct page {
	const struct frag_explain_answer *a;
	const struct frag_explained *m;
	const struct frag_text_style *paper;
	FILE *f;
};

/* Sizes in a sentence: each has a room of its own. */
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

/* "out of memory at step 7": what the moment is. */
static void explain_text_put_moment(const struct frag_explained *m, bool colour, char *buf,
				    size_t size)
{
	if (m->failure)
		snprintf(buf, size, "%sout of memory%s at step %" PRIu64,
			 frag_color_code(colour, INK_RED), frag_color_code(colour, INK_PLAIN),
			 m->step);
	else if (m->kind == FRAG_MOMENT_PEAK)
		snprintf(buf, size, "the peak, at step %" PRIu64, m->step);
	else
		snprintf(buf, size, "after step %" PRIu64 "%s", m->step,
			 m->kind == FRAG_MOMENT_WORST ? ", when most is non-releasable" : "");
}

/* "trace under pytorch on 994.00 MiB (device 1): the peak, ...", the device where there are two. */
static void explain_text_print_head(const struct page *p)
{
	const struct frag_explanation *x = p->a->found;
	const struct frag_device_figures *d = &x->devices[p->m->device];
	char room[FRAG_PRINTABLE_ROOM], moment[128], device[32] = "";
	const char *path = frag_printable(room, frag_input_name(p->a->trace->path));
	const char *label = frag_choice_label(x->choice);
	const char *on = d->total ? SIZE(d->total) : "an unlimited device";
	size_t columns = strlen(path) + strlen(" under ") + strlen(label) + strlen(" on : ")
			 + strlen(on);

	if (frag_tape_info(x->tape)->device_count > 1)
		snprintf(device, sizeof(device), " (device %" PRIu32 ")", p->m->device);
	explain_text_put_moment(p->m, false, moment, sizeof(moment));
	columns += strlen(device) + strlen(moment);
	explain_text_put_moment(p->m, p->paper->colour, moment, sizeof(moment));
	fprintf(p->f, "%s%s%s under %s on %s%s:%s%s\n", frag_color_code(p->paper->colour, INK_BOLD),
		path, frag_color_code(p->paper->colour, INK_PLAIN), label, on, device,
		p->paper->columns && columns > (size_t)p->paper->columns ? "\n  " : " ", moment);
}

static void print_request(const struct page *p)
{
	char tag[OF_ROOM], id[FRAG_SHORT_NAME];
	struct sizes s;

	if (p->m->id)
		frag_put_row(p->paper->columns, "request", p->f, "%s %s, id %s; a block of %s"
			     " serves it", frag_size_text(s.a, p->m->size), of_tag(p->m->tag, tag),
			     frag_short_name(p->m->id, id), frag_size_text(s.b, p->m->need));
	else
		frag_put_row(p->paper->columns, "request", p->f, "the %s that the policy obtains"
			     " before the first step", frag_size_text(s.a, p->m->size));
}

/* All that the device has beside context and other processes. */
static uint64_t explain_text_room_of(const struct page *p)
{
	const uint64_t total = p->a->found->devices[p->m->device].total;

	return total > p->m->outside ? total - p->m->outside : 0;
}

static void explain_text_print_verdict(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const int columns = p->paper->columns;
	struct sizes s;

	frag_size_text(s.a, m->need);
	frag_size_text(s.b, explain_text_room_of(p));
	frag_size_text(s.c, m->live);
	frag_size_text(s.d, m->largest_sought);
	switch (m->failure) {
	case FRAG_FAILURE_OVER_DEVICE:
		frag_put_row(columns, "verdict", p->f,
			     "over_device: %s is more than the device has,"
			     " %s",
			     s.a, s.b);
		break;
	case FRAG_FAILURE_CAPACITY:
		frag_put_row(columns, "verdict", p->f,
			     "capacity: %s beside the %s that is live is"
			     " more than the device has, %s, however it is laid out",
			     s.a, s.c, s.b);
		break;
	case FRAG_FAILURE_SPURIOUS:
		frag_put_row(columns, "verdict", p->f,
			     "spurious: asked again at once, the request is"
			     " served; the allocator freed a block while it looked, and did not"
			     " look again");
		break;
	case FRAG_FAILURE_PENDING:
		frag_put_row(columns, "verdict", p->f,
			     "pending: enough is freed, but %s of it in %" PRIu64
			     " block%s still in use, since step %" PRIu64,
			     frag_size_text(s.a, m->pending), m->pending_blocks,
			     m->pending_blocks == 1 ? " is" : "s are", m->pending_since);
		break;
	case FRAG_FAILURE_LIMIT:
		frag_put_row(columns, "verdict", p->f, "limit: the device had it; a fraction or a"
			     " setting of the program's own refused %s",
			     frag_size_text(s.a, m->demand));
		break;
	case FRAG_FAILURE_TIGHT:
		frag_put_row(columns, "verdict", p->f, "tight: %s more beside the %s that is live"
			     " leaves less than 5 %% of %s", s.a, s.c, s.b);
		break;
	case FRAG_FAILURE_FRAGMENTATION:
		frag_put_row(columns, "verdict", p->f,
			     "fragmentation: %s beside the %s that is live"
			     " is well below %s, but no free block for it is larger than %s, and of"
			     " the %s asked of the device %s are missing",
			     s.a, s.c, s.b, s.d, SIZE(m->demand), SIZE(m->missing));
		break;
	case FRAG_FAILURE_NONE:
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
				     ": of which stream the trace does not say", size, row->blocks,
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

static void print_sums(const struct page *p)
{
	const struct frag_explained *m = p->m;
	struct sizes s;

	frag_put_row(p->paper->columns, "memory", p->f, "%s live, %s free in segments, of which %s"
		     " cannot go back%s%s", frag_size_text(s.a, m->live),
		     frag_size_text(s.b, m->free), frag_size_text(s.c, m->non_releasable),
		     m->limited ? "; left on the device " : "",
		     m->limited ? frag_size_text(s.d, m->device_free) : "");
	if (m->limited && m->outside)
		frag_put_row(p->paper->columns, "", p->f, "outside the allocator (context, other"
			     " processes) %s", frag_size_text(s.a, m->outside));
	if (m->limit != UINT64_MAX)
		frag_put_row(p->paper->columns, "", p->f, "the program allows itself %s in all",
			     frag_size_text(s.a, m->limit));
	print_pending(p);
	frag_put_row(p->paper->columns, "largest", p->f, "%s %s now, %s after a flush, %s were all"
		     " live blocks side by side", frag_size_text(s.a, m->largest_now),
		     m->limited ? "fits" : "is free in one piece",
		     frag_size_text(s.b, m->largest_after_flush),
		     frag_size_text(s.c, m->largest_after_compaction));
	if (m->fits_known && m->limited)
		frag_put_row(p->paper->columns, "trace", p->f,
			     "its blocks come to %s at their peak,"
			     " which %s",
			     frag_size_text(s.a, m->peak),
			     m->fits ? "fits" : "does not fit, however it is laid out");
}

#define LIFE_ROOM 128

/* What it is, since when, and until when: "weights, born at step 7, never freed in this trace". */
static const char *life_text(const struct frag_blocking_block *pin, char buf[LIFE_ROOM])
{
	char end[64] = "never freed in this trace", born[64] = "there before the first step";

	/* nothing uses it any more, and nobody knows whose it was */
	if (pin->pending && pin->freed == UINT64_MAX)
		return "freed, and not taken back yet";
	if (pin->freed != UINT64_MAX)
		snprintf(end, sizeof(end), "%s at step %" PRIu64,
			 pin->pending ? "pending since its free" : "freed", pin->freed);
	if (!pin->initial)
		snprintf(born, sizeof(born), "born at step %" PRIu64, pin->born);
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
	fprintf(p->f, "\n  segment         bytes          free  kept from going back by\n");
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

static void print_held(const struct page *p)
{
	const struct frag_explained *m = p->m;
	uint64_t sums[FRAG_LIFE_CLASSES] = { 0 }, all = 0;
	char line[400] = "", tag[OF_ROOM];
	size_t used = 0;

	if (!m->held_count)
		return;
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
	putc('\n', p->f);
	frag_put_row(p->paper->columns, "held", p->f, "%s%s", line, evidence_text(m));
	for (uint32_t i = 0; i < m->held_count && i < p->a->top; i++)
		frag_put_row(p->paper->columns, "", p->f, "%s in %" PRIu64 " block%s %s, %s",
			     SIZE(m->held[i].bytes), m->held[i].blocks,
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
			     " segment%s, %s live, %s free, of which %s cannot go back",
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
	frag_put_row(p->paper->columns, "culprit", p->f,
		     "%s: %s, the largest %s, keeps %s beside it from"
		     " going back",
		     m->culprit == FRAG_CULPRIT_LATE
			     ? "long-lived and born late, into segments that were there for others"
			     : "left behind in large segments",
		     frag_size_text(s.a, m->culprit_bytes), of_tag(m->culprit_tag, tag),
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
	char at[64] = "", to[80] = "the run reaches its end";

	if (i)
		snprintf(at, sizeof(at), ", at step %" PRIu64, move->step);
	if (move->reaches != UINT64_MAX)
		snprintf(to, sizeof(to), "the run gets to step %" PRIu64, move->reaches);
	frag_put_row(p->paper->columns, i ? "" : "move", p->f, "%s in %" PRIu32 " block%s out of"
		     " segment%s %" PRIu32 "%s to elsewhere%s: then the request is served, and %s"
		     " (simulated)", SIZE(move->bytes), move->blocks,
		     frag_s(move->blocks), frag_s(move->from_count), move->from[0],
		     move->from_count > 1 ? " and others" : "", at, to);
	if (!i)
		print_moved(p, move);
}

static void print_moves(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (m->failure <= FRAG_FAILURE_CAPACITY)
		return;
	for (uint32_t i = 0; i < m->move_count; i++)
		print_move(p, i);
	if (!m->move_count && m->tried)
		frag_put_row(p->paper->columns, "move", p->f,
			     "no candidate makes room for it, of %" PRIu32
			     " that were tried, the cheapest first",
			     m->tried);
	else if (!m->move_count && p->a->found->moves)
		frag_put_row(p->paper->columns, "move", p->f, "there is nothing to move");
}

static bool is_setting(const struct page *p, const struct frag_choice *choice)
{
	return choice->ops->settings && choice->ops == p->a->found->choice->ops;
}

static void print_others(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char line[SURVIVORS_ROOM] = "", conf[FRAG_CONF_ROOM];
	size_t used = 0;

	if (!m->others)
		return;
	for (uint32_t i = 0; i < m->survivor_count; i++) {
		frag_conf_text(&m->survivors[i], conf, sizeof(conf));
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.180s",
					 !i ? "" : i + 1 < m->survivor_count ? ", " : " and ",
					 is_setting(p, &m->survivors[i]) && *conf
						? conf : m->survivors[i].ops->name);
	}
	if (m->survivor_count)
		frag_put_row(p->paper->columns, "others", p->f, "on this device the trace survives"
			     " under %s, of %" PRIu32 " that were simulated", line, m->others);
	else
		frag_put_row(p->paper->columns, "others", p->f, "the trace survives under no other"
			     " setting or policy that was simulated, %" PRIu32 " in all",
			     m->others);
}

static void print_next_pending(const struct page *p)
{
	const char *only = p->m->awaited_count == 1 ? p->m->awaited[0].stream : NULL;
	char stream[FRAG_SHORT_NAME];

	frag_put_row(p->paper->columns, "next", p->f, "synchronise %s%s before such a request, or"
		     " free earlier: it is served once nothing waits (simulated)",
		     only ? "stream " : "the streams", only ? frag_short_name(only, stream) : "");
}

/* What to do next: the line to paste, or the command that goes on from here. */
static void print_next(const struct page *p)
{
	const struct frag_explained *m = p->m;
	char conf[FRAG_CONF_ROOM];

	for (uint32_t i = 0; i < m->survivor_count; i++) {
		if (!is_setting(p, &m->survivors[i]))
			continue;
		frag_conf_text(&m->survivors[i], conf, sizeof(conf));
		fprintf(p->f, "%s  paste%s   PYTORCH_CUDA_ALLOC_CONF=%s\n",
			frag_color_code(p->paper->colour, INK_GREEN),
			frag_color_code(p->paper->colour, INK_PLAIN), conf);
		return;
	}
	if (m->failure == FRAG_FAILURE_NONE)
		return;
	if (m->waiting_serves)
		print_next_pending(p);
	else if (m->failure == FRAG_FAILURE_SPURIOUS)
		frag_put_row(p->paper->columns, "next", p->f, "catch the error, and ask once more");
	else if (m->failure == FRAG_FAILURE_LIMIT)
		frag_put_row(p->paper->columns, "next", p->f, "raise the fraction that the program"
			     " sets, or its setting");
	else
		frag_put_row(p->paper->columns, "next", p->f, "fragsim fit says which device would"
			     " do, fragsim tune which setting needs the smallest");
}

static void print_moment(const struct page *p)
{
	explain_text_print_head(p);
	if (p->m->failure) {
		print_request(p);
		explain_text_print_verdict(p);
	}
	print_sums(p);
	print_segments(p);
	print_held(p);
	print_pools(p);
	if (p->m->failure)
		putc('\n', p->f);
	print_culprit(p);
	if (!p->m->failure)
		return;
	print_moves(p);
	print_others(p);
	print_next(p);
}

static int explain_text_print(const void *what, const struct frag_text_style *paper, FILE *f,
			      struct frag_error *err)
{
	const struct frag_explain_answer *a = what;

	(void)err;
	if (a->time_up)
		fputs(FRAG_TIME_UP_TEXT, f);
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
