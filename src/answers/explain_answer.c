/* explain_answer.c - what fragsim explain found in a trace, for people. */
#include "answers/explain_answer.h"

#include "answers/answers.h"
#include "answers/failure_text.h"
#include "answers/report.h"
#include "base/parse.h"
#include "device/usable.h"
#include "events/tape.h"
#include "snapshot/outside_memory.h"

#define SURVIVORS_ROOM 1200
#define MOVED_SHOWN 4           /* blocks of a move that are named */

/* Where a moment is printed. */
struct page {
	const struct frag_explain_answer *a;
	const struct frag_explained *m;
	const struct frag_text_style *to;
};

#define OF(json) of_tag((json), (char[OF_ROOM]){ 0 })
#define OF_ROOM (FRAG_SHORT_NAME + 8)

/* "of "model.py:7"", or "without a tag". */
static const char *of_tag(const char *json, char buf[OF_ROOM])
{
	if (!json)
		return "without a tag";
	snprintf(buf, OF_ROOM, "of %s", SHORT(json));
	return buf;
}

static int64_t usable_of(const struct page *p)
{
	const struct frag_device_figures *d = &p->a->found->devices[p->m->device];

	return d->total ? (int64_t)frag_usable(d->total, d->context, d->other) : -1;
}

#define PLAIN(json) unquoted((json), (char[FRAG_SHORT_NAME]){ 0 })

/* "model.py:7 forward": the name of code, without the quotes that separate names of a trace. */
static const char *unquoted(const char *json, char buf[FRAG_SHORT_NAME])
{
	const char *name = json ? frag_short_name(json, buf) : "code without a tag";
	const size_t n = strlen(name);

	if (!json || n < 2 || *name != '"' || name[n - 1] != '"')
		return name;
	memmove(buf, name + 1, n - 2);
	buf[n - 2] = '\0';
	return buf;
}

/*
 * Line 1 of a failure: the request, the code that made it, and the event. A request of a backward
 * pass has no frames: the last one before it that has some stands for it.
 */
static void print_failure(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const struct frag_choice *choice = p->a->found->choice;
	struct frag_words w = WORDS(3 * FRAG_SHORT_NAME + 200);

	frag_add(&w, "%s%s requested", m->id ? "" : "initial pool of ", SIZE(m->size));
	if (m->requested_by && m->frames_at == m->step)
		frag_add(&w, " by %s", PLAIN(m->requested_by));
	else if (m->requested_by)
		frag_add(&w, " after %s (without frames, as in a backward pass)",
			 PLAIN(m->requested_by));
	else if (m->mark)
		frag_add(&w, " %s", MARK_PLACE("in ", m->mark));
	else if (m->tag)
		frag_add(&w, " for %s", SHORT(m->tag));
	if (frag_tape_info(p->a->found->tape)->device_count > 1)
		frag_add(&w, ", device %" PRIu32, m->device);
	frag_add(&w, ", event %" PRIu64 " of %" PRIu64, m->step, p->a->trace->events);
	/* the evidence names PyTorch's */
	if (!choice->ops->settings)
		frag_add(&w, ", policy %s", frag_choice_label(choice));
	frag_put_first_line(p->to, INK_RED, "OOM: ", "%s", w.text);
}

/* Line 1: of a failure the request; else which moment, and what is active and reserved then. */
static void explain_print_head(const struct page *p)
{
	static const char *const heads[] = {
		[FRAG_MOMENT_OOM] = "EVENT: ", [FRAG_MOMENT_PEAK] = "PEAK: ",
		[FRAG_MOMENT_WORST] = "MOST NON-RELEASABLE: ", [FRAG_MOMENT_STEP] = "EVENT: ",
		[FRAG_MOMENT_MARK] = "MARK: ",
	};
	const struct frag_explained *m = p->m;
	const struct frag_explanation *x = p->a->found;
	struct frag_words w = WORDS(FRAG_SHORT_NAME + 200);
	const bool none = m->kind == FRAG_MOMENT_PEAK && x->at == FRAG_MOMENT_OOM;
	const int64_t usable = usable_of(p);

	if (m->verdict) {
		print_failure(p);
		return;
	}
	if (usable >= 0)
		frag_add(&w, " of %s usable", SIZE((uint64_t)usable));
	if (frag_tape_info(x->tape)->device_count > 1)
		frag_add(&w, ", device %" PRIu32, m->device);
	frag_add(&w, ", event %" PRIu64 " of %" PRIu64, m->step, p->a->trace->events);
	if (m->mark)
		frag_add(&w, " (%s)", MARK_PLACE("", m->mark));
	else if (m->step < x->tape->spot_count && x->tape->spot_count < x->tape->alloc_count)
		frag_add(&w, ", before the recording began");
	if (!x->choice->ops->settings)
		frag_add(&w, ", policy %s", frag_choice_label(x->choice));
	frag_put_first_line(p->to, INK_BOLD, !none ? heads[m->kind]
			    : usable < 0 ? "NO OOM RECORDED: " : "NO OOM: ",
			    "%s%s active, %s reserved%s", none ? "peak " : "", SIZE(m->live),
			    SIZE(m->reserved), w.text);
}

static void explain_text_print_verdict(const struct page *p)
{
	const struct frag_explained *m = p->m;

	frag_put_failure(p->to, &(struct frag_failure){
		.verdict = m->verdict, .nearly_full = m->nearly_full, .past = &m->past,
		.tag = PLAIN(m->past_tag), .initial = !m->id, .need = m->need, .demand = m->demand,
		.active = m->live, .pending = m->pending,
		.free = m->free + (m->limited ? m->device_free : 0),
		.largest = m->largest_after_flush, .lower_bound = m->lower_bound,
		.usable = usable_of(p) < 0 ? 0 : (uint64_t)usable_of(p), .limit = m->limit,
		.limit_key = m->limit_key,
	});
}

/* Who still uses what is freed, and since when; a block may be in several rows. */
static void print_pending(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const uint32_t shown = m->use_count < p->a->top ? m->use_count : p->a->top;

	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_pending_use *row = &m->uses[i];

		frag_put_row(p->to, i ? "" : "pending", "%s in %" PRIu64 " block%s, freed and in"
			     " use %s%s since event %" PRIu64 "%s", SIZE(row->bytes), row->blocks,
			     frag_s(row->blocks), row->stream ? "on stream " : "until a complete",
			     row->stream ? SHORT(row->stream) : "", row->since,
			     row->stream ? "" : ": the trace does not name the stream");
	}
	if (m->use_count > shown)
		frag_put_row(p->to, shown ? "" : "pending", "and %" PRIu32 " more streams",
			     m->use_count - shown);
	if (m->over_blocks)
		frag_put_row(p->to, shown ? "" : "pending", "%s in %" PRIu64 " block%s, freed and in"
			     " use no more: not taken back yet", SIZE(m->over), m->over_blocks,
			     frag_s(m->over_blocks));
}

static void print_free(const struct page *p)
{
	const struct frag_explained *m = p->m;
	struct frag_words w = WORDS(64);

	if (m->free && m->non_releasable == m->free)
		frag_add(&w, " (all non-releasable)");
	else if (m->non_releasable)
		frag_add(&w, " (%s non-releasable)", SIZE(m->non_releasable));
	frag_put_row(p->to, "free", "%s%s%s reserved but unallocated%s",
		     m->limited ? SIZE(m->device_free) : "", m->limited ? " on the device + " : "",
		     SIZE(m->free), w.text);
}

#define OUTSIDE_SHOWN 3         /* tags, without -v */

/* Of --beside: what the process had outside PyTorch, by tag, and what is in no event. */
static void print_outside(const struct page *p, const struct frag_outside *o)
{
	const uint32_t shown = p->a->verbose || p->a->top < OUTSIDE_SHOWN ? p->a->top : OUTSIDE_SHOWN;
	char of[80];

	snprintf(of, sizeof(of), "%" PRIu32 " of PyTorch's %" PRIu32 " segment%s", o->matched,
		 o->segments, frag_s(o->segments));
	if (!o->matched) {
		frag_put_row(p->to, "outside", "not known: %.200s has %s at this event",
			     SHOWN(p->a->beside), of);
		return;
	}
	frag_put_row(p->to, "outside", "%s in %" PRIu64 " allocation%s outside PyTorch, by %.200s, which"
		     " has %s%s", SIZE(o->bytes), o->allocations, frag_s(o->allocations),
		     SHOWN(p->a->beside), of, o->timed ? "" : "; without a time: right before"
		     " PyTorch's next cudaMalloc or cudaFree");
	for (uint32_t i = 0; i < o->tag_count && i < shown; i++) {
		const struct frag_outside_tag *tag = &o->tags[i];
		char text[400];

		snprintf(text, sizeof(text), "%.*s", (int)tag->tag.length,
			 tag->tag.text ? tag->tag.text : "");
		frag_put_row(p->to, "", "%s in %" PRIu64 "%s%s%s", SIZE(tag->bytes), tag->allocations,
			     *text ? " of " : "", SHOWN(text),
			     tag->stack ? "" : ": no call stack was recorded");
	}
	if (o->tag_count > shown)
		frag_put_row(p->to, "", "and %" PRIu32 " more", o->tag_count - shown);
	if (o->unknown_set)
		frag_put_row(p->to, "", "%s in use on the device beyond that: the CUDA context, other"
			     " processes, or memory that Nsight Systems does not record",
			     SIZE(o->unknown));
}

/* Rows of -v: memory outside, limits, the peak of the whole trace. */
static void print_bounds(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (m->limited && m->outside)
		frag_put_row(p->to, "outside", "%s (context, other processes)", SIZE(m->outside));
	if (m->limit != UINT64_MAX)
		frag_put_row(p->to, "limit", "%s, set by the program", SIZE(m->limit));
	if (m->fits_known && m->limited)
		frag_put_row(p->to, "peak", "%s allocated in the whole trace, %s requested: %s",
			     SIZE(m->peak), SIZE(m->lower_bound), m->fits ? "less than the device"
			     : "more than the device, however it is placed");
}

#define LIFE_ROOM 128

/* What it is, since when, and until when: "weights, allocated at step 7, never freed in this trace". */
static const char *life_text(const struct frag_blocking_block *blocking, char buf[LIFE_ROOM])
{
	char end[64] = "never freed in this trace", born[64] = "allocated before the first event";

	/* freed and unused, and its allocation is unknown */
	if (blocking->pending && blocking->freed_at == UINT64_MAX)
		return "freed, and not taken back yet";
	if (blocking->freed_at != UINT64_MAX)
		snprintf(end, sizeof(end), "%s at event %" PRIu64,
			 blocking->pending ? "pending since its free" : "freed", blocking->freed_at);
	if (!blocking->initial)
		snprintf(born, sizeof(born), "allocated at event %" PRIu64, blocking->allocated_at);
	snprintf(buf, LIFE_ROOM, "%s, %s, %s", frag_life_class_names[blocking->life], born, end);
	return buf;
}

/* The largest blocking block speaks for all. */
static void print_blocking(const struct page *p, const struct frag_blocked_segment *s)
{
	const struct frag_blocking_block *largest = &s->blocking[0];
	char head[80], text[512], life[LIFE_ROOM];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->blocking_count; i++) {
		bytes += s->blocking[i].bytes;
		if (s->blocking[i].bytes > largest->bytes)
			largest = &s->blocking[i];
	}
	snprintf(head, sizeof(head), "  %7" PRIu32 "  %12s  %12s  ", s->ordinal, SIZE(s->bytes),
		 SIZE(s->non_releasable));
	snprintf(text, sizeof(text), "%s in %" PRIu32 " block%s%s %s, %s", SIZE(bytes),
		 s->blocking_count, frag_s(s->blocking_count),
		 s->blocking_count > 1 ? ", the largest" : "", OF(largest->tag),
		 life_text(largest, life));
	frag_put_wrapped(p->to, head, text);
}

static void print_segments(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (!m->segment_count)
		return;
	fprintf(p->to->f, "\n  segment         bytes          free  blocked by\n");
	for (uint32_t i = 0; i < m->segment_count && i < p->a->top; i++)
		print_blocking(p, &m->segments[i]);
	if (m->segment_count > p->a->top)
		fprintf(p->to->f, "  and %" PRIu32 " more\n", m->segment_count - p->a->top);
}

/* What the classes are based on, by the weakest that decided some class: " (by lifetime)". */
static const char *evidence_text(const struct frag_explained *m)
{
	static const char *const texts[] = {
		[FRAG_EVIDENCE_NONE] = "", [FRAG_EVIDENCE_CATEGORIES] = " (by categories)",
		[FRAG_EVIDENCE_POOL] = " (by pools)",
		[FRAG_EVIDENCE_STACK] = " (by stacks)",
		[FRAG_EVIDENCE_MARKS] = " (by marks)", [FRAG_EVIDENCE_SIZES] = " (by stacks and sizes)",
		[FRAG_EVIDENCE_LIFETIME] = " (by lifetime alone)",
	};
	uint8_t weakest = FRAG_EVIDENCE_NONE;

	for (uint32_t i = 0; i < m->holder_count; i++)
		for (int k = 0; k < FRAG_LIFE_CLASSES; k++)
			weakest = m->holders[i].evidence[k] > weakest ? m->holders[i].evidence[k] : weakest;
	return texts[weakest];
}

#define WORTH_LESS 10           /* of what is active: a smaller class is not worth a remedy */

static uint64_t class_bytes(const struct frag_explained *m, enum frag_life_class life)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->holder_count; i++)
		bytes += m->holders[i].of_class[life];
	return bytes;
}

#define WORKSPACES_PART 20      /* of what is active: from there on the remedy is shown, */
#define WORKSPACES_PART_ALL 50  /* with -v from here on */

/* The sums of all classes: in the answer itself, and above the table of tags. */
static void print_classes(const struct page *p, const char *label)
{
	const struct frag_explained *m = p->m;
	uint64_t sums[FRAG_LIFE_CLASSES], all = 0;
	struct frag_words w = WORDS(400);

	for (int k = 0; k < FRAG_LIFE_CLASSES; k++) {
		sums[k] = class_bytes(m, (enum frag_life_class)k);
		all += sums[k];
	}
	/* a class of less than a thousandth tells a person nothing */
	for (int k = 0; k < FRAG_LIFE_CLASSES; k++)
		if (sums[k] && sums[k] >= all / 1000)
			frag_add_item(&w, ", ", "%s %s", frag_life_class_names[k], SIZE(sums[k]));
	if (w.used && m->pending >= all / 1000 && m->pending)
		frag_add_item(&w, ", ", "pending frees %s", SIZE(m->pending));
	if (w.used)
		frag_put_row(p->to, label, "%s%s", w.text, evidence_text(m));
}

/* What makes workspaces smaller, by the library that allocates them. */
static void print_workspaces(const struct page *p)
{
	static const struct {
		const char *part, *label, *remedy;      /* part: of a tag; NULL: known by size alone */
	} ways[] = {
		{ "LtWorkspace", "cuBLASLt", "CUBLASLT_WORKSPACE_SIZE=KIB limits each of its workspaces" },
		{ "cudnn", "cuDNN", "torch.backends.cudnn.benchmark = False avoids kernels with large"
		  " workspaces" },
		{ "Workspace::Workspace", "cuDNN", "torch.backends.cudnn.benchmark = False avoids kernels"
		  " with large workspaces" },
		{ "reduce", "reduction", "of many values into few: reduce fewer at once, such as the"
		  " batch in parts" },
		{ NULL, "cuBLAS", "CUBLAS_WORKSPACE_CONFIG=:16:8 makes its workspaces small, and some"
		  " kernels slower; torch._C._cuda_clearCublasWorkspaces() frees them" },
	};
	const struct frag_explained *m = p->m;
	const uint64_t part = p->a->verbose ? WORKSPACES_PART_ALL : WORKSPACES_PART;
	const struct frag_tag_memory *most = NULL;
	uint32_t i = 0;

	for (uint32_t k = 0; k < m->holder_count; k++)
		if (m->holders[k].of_class[FRAG_LIFE_WORKSPACES]
		    > (most ? most->of_class[FRAG_LIFE_WORKSPACES] : 0))
			most = &m->holders[k];
	if (!most || class_bytes(m, FRAG_LIFE_WORKSPACES) < m->live / part)
		return;
	while (ways[i].part && !(most->tag && strstr(most->tag, ways[i].part)))
		i++;
	frag_put_row(p->to, ways[i].label, "%s", ways[i].remedy);
}

static void print_tags(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (m->holder_count)
		putc('\n', p->to->f);
	print_classes(p, "held");
	for (uint32_t i = 0; i < m->holder_count && i < p->a->top; i++)
		frag_put_row(p->to, i ? "" : "top tags", "%s in %" PRIu64 " block%s %s, %s",
			     SIZE(m->holders[i].bytes), m->holders[i].blocks, frag_s(m->holders[i].blocks),
			     OF(m->holders[i].tag), frag_life_class_names[frag_holder_class(&m->holders[i])]);
}

#define HOLDERS_SHOWN 3         /* without -v */
#define NAME(json) explain_name_of((json), (char[FRAG_SHORT_NAME]){ 0 })

/* A line of code stands without quotes; they separate other names of a trace. */
static const char *explain_name_of(const char *json, char buf[FRAG_SHORT_NAME])
{
	const char *colon = json ? strrchr(json, ':') : NULL;

	return colon && frag_is_digit(colon[1]) ? unquoted(json, buf) : frag_short_name(json, buf);
}

/* The lines that hold the most; -v has a table of them. */
static void print_holders(const struct page *p)
{
	const struct frag_explained *m = p->m;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < m->holder_count && shown < HOLDERS_SHOWN && !p->a->verbose; i++)
		if (m->holders[i].tag)
			frag_put_row(p->to, shown++ ? "" : "holds", "%-11s %-19s %s",
				     SIZE(m->holders[i].bytes),
				     frag_life_class_names[frag_holder_class(&m->holders[i])],
				     NAME(m->holders[i].tag));
}

static void print_pools(const struct page *p)
{
	for (uint32_t i = 0; i < p->m->pool_count; i++) {
		const struct frag_pool_row *pool = &p->m->pools[i];

		frag_put_row(p->to, i ? "" : "pools", "pool %s: %s in %" PRIu32 " segment%s: %s"
			     " live, %s free (%s non-releasable)", SHORT(pool->name),
			     SIZE(pool->reserved), pool->segments, frag_s(pool->segments),
			     SIZE(pool->live), SIZE(pool->free), SIZE(pool->non_releasable));
	}
}

static void print_main_cause(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (m->main_cause)
		frag_put_row(p->to, "cause", "%s of %s, the largest %s, make %s non-releasable",
			     SIZE(m->main_bytes), m->main_cause == FRAG_MAIN_LATE
			     ? "long-lived blocks allocated late"
			     : "blocks left behind in large segments", OF(m->main_tag),
			     SIZE(m->main_non_releasable));
}

static const struct frag_blocking_block *find_blocking(const struct frag_explained *m,
						       const char *id)
{
	for (uint32_t i = 0; i < m->segment_count; i++)
		for (uint32_t k = 0; k < m->segments[i].blocking_count; k++)
			if (m->segments[i].blocking[k].id
			    && strcmp(m->segments[i].blocking[k].id, id) == 0)
				return &m->segments[i].blocking[k];
	return NULL;
}

/* What is moved, at the moment that the other rows are of. */
static void print_moved(const struct page *p, const struct frag_move *move)
{
	char life[LIFE_ROOM];

	for (uint32_t i = 0; i < move->blocks && i < MOVED_SHOWN; i++) {
		const struct frag_blocking_block *blocking = find_blocking(p->m, move->ids[i]);

		frag_put_row(p->to, "", "id %s, %s %s%s%s", SHORT(move->ids[i]),
			     SIZE(move->sizes[i]), OF(move->tags[i]), blocking ? ", " : "",
			     blocking ? life_text(blocking, life) : "");
	}
	if (move->blocks > MOVED_SHOWN)
		frag_put_row(p->to, "", "and %" PRIu32 " more", move->blocks - MOVED_SHOWN);
}

static void print_move(const struct page *p, uint32_t i)
{
	const struct frag_move *move = &p->m->moves[i];
	char at[64] = "", to[80] = "the trace completes";

	if (i)
		snprintf(at, sizeof(at), " at event %" PRIu64, move->step);
	if (move->reaches != UINT64_MAX)
		snprintf(to, sizeof(to), "the run continues to event %" PRIu64, move->reaches);
	frag_put_row(p->to, i ? "" : "fix", "move %s in %" PRIu32 " block%s of segment%s %" PRIu32
		     "%s elsewhere%s: %s (simulated)", SIZE(move->bytes), move->blocks,
		     frag_s(move->blocks), frag_s(move->from_count), move->from[0],
		     move->from_count > 1 ? " and others" : "", at, to);
	if (!i && p->a->verbose)
		print_moved(p, move);
}

static void print_moves(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (frag_oom_is_size(m->verdict))
		return;
	for (uint32_t i = 0; i < m->move_count && (!i || p->a->verbose || m->move_count <= 2); i++)
		print_move(p, i);
	if (!m->move_count && m->tried)
		frag_put_row(p->to, "fix", "none: %" PRIu32 " cheapest moves of blocks were"
			     " simulated, and the request fails after each", m->tried);
	else if (!m->move_count && p->a->found->moves && p->a->verbose)
		frag_put_row(p->to, "fix", "none: no block can be moved");
}

/* The simulated alternatives that fit, except the setting of line 2. */
static void print_others(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const struct frag_choice *first = m->setting;
	struct frag_words w = WORDS(SURVIVORS_ROOM);

	for (uint32_t i = 0; i < m->survivor_count; i++) {
		const struct frag_policy_ops *ops = m->survivors[i].ops;
		const char *conf = CONF(&m->survivors[i]);
		const bool is_setting = ops->settings && ops == p->a->found->choice->ops;

		if (&m->survivors[i] != first)
			frag_add_item(&w, ", ", "%.180s", is_setting && *conf ? conf : ops->name);
	}
	if (!m->verdict)
		return;
	if (m->others && w.used)
		frag_put_row(p->to, "also fits", "%s (%" PRIu32 " simulated)", w.text, m->others);
	else if (m->others && !m->survivor_count)
		frag_put_row(p->to, "also fits", "none of %" PRIu32 " other settings and policies"
			     " that were simulated", m->others);
}

/* What a setting gains where memory grows on: it only moves the failure. */
static void print_gain(const struct page *p, const struct frag_choice *setting)
{
	const struct frag_explained *m = p->m;

	if (setting && m->setting_left != UINT64_MAX)
		frag_put_gain(p->to, CONF(setting), m->setting_left, m->verdict, &m->past);
	else if (m->settings && m->recorded.count < 2)
		frag_put_no_setting(p->to, m->settings, m->verdict);
}

/* What to change in the program, by what piles up. */
static const char *remedy_of(const struct frag_accumulation *a)
{
	if (a->larger)
		return "bound what grows by each pass, as a cache, or free it sooner";
	if (!a->forward)
		return "free what each pass keeps of this line, or move it to the host";
	return a->backward ? "keep loss.item() or loss.detach() instead of losses, and no outputs"
			     " with their graphs"
			   : "torch.no_grad() around these passes, if their outputs need no"
			     " gradient; else a backward pass after fewer of them";
}

/* Of a capacity that is too small: the classes that could give what is missing. */
static void print_less(const struct page *p)
{
	static const struct {
		enum frag_life_class life;
		const char *how;
	} ways[] = {
		{ FRAG_LIFE_ACTIVATIONS, "a smaller batch, checkpointing" },
		{ FRAG_LIFE_OPTIMIZER, "a smaller state, sharding" },
		{ FRAG_LIFE_GRADIENTS, "sharding" },
		{ FRAG_LIFE_WEIGHTS, "sharding, quantization" },
	};
	const struct frag_explained *m = p->m;
	struct frag_words w = WORDS(400);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const uint64_t bytes = class_bytes(m, ways[i].life);

		if (bytes && bytes >= m->missing && bytes >= (m->live + m->need) / WORTH_LESS)
			frag_add_item(&w, ", ", "%s %s (%s)", frag_life_class_names[ways[i].life],
				      SIZE(bytes), ways[i].how);
	}
	if (w.used)
		frag_put_row(p->to, "try", "a larger device, or less: %s", w.text);
	else
		frag_put_row(p->to, "try", "a larger device, or less memory at the same time");
}

/* What the program can change, by the verdict. */
static void print_try(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const struct frag_larger *larger = &m->past.larger;

	if (m->verdict == FRAG_VERDICT_ACCUMULATION)
		frag_put_row(p->to, "try", "%s", remedy_of(&m->past.accumulation));
	else if (m->verdict == FRAG_VERDICT_LEAK)
		frag_put_row(p->to, "try", "free what each iteration keeps of this line, or move it"
			     " to the host: fragsim leaks");
	else if (m->verdict == FRAG_VERDICT_FAILED_ATTEMPT)
		frag_put_row(p->to, "try", "retry outside the except block, and drop what the attempt"
			     " made: the exception, a local or a suspended generator holds it");
	else if (larger->bytes)
		frag_put_row(p->to, "larger", "%s in blocks larger than any before of their lines"
			     " (%.2f times, in the median): a larger batch or longer input than"
			     " before", SIZE(larger->bytes), larger->ratio);
	if (m->verdict == FRAG_VERDICT_CAPACITY || m->verdict == FRAG_VERDICT_TOO_LARGE)
		print_less(p);
}

/* "(simulated: fits, 596.12 MiB left)" */
static void explain_print_setting(const struct page *p, const struct frag_choice *setting)
{
	const struct frag_explained *m = p->m;
	struct frag_words w = WORDS(120);

	frag_add(&w, " (simulated: %s", frag_fits_words(&p->a->trace->scope));
	if (m->setting_left != UINT64_MAX && m->limited)
		frag_add(&w, ", %s left", SIZE(m->setting_left));
	frag_add(&w, ")");
	frag_put_setting(p->to, setting, CONF(setting), w.text);
}

/* Line 3: a setting to copy, or what to do instead. */
static void print_set(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const struct frag_choice *setting = m->setting;
	const char *only = m->use_count == 1 ? m->uses[0].stream : NULL;

	if (frag_verdict_grows(m->verdict) && (!setting || p->a->trace->scope.ends == FRAG_ENDS_OOM))
		print_gain(p, setting);
	else if (setting)
		explain_print_setting(p, setting);
	else if (m->waiting_succeeds)
		frag_put_row(p->to, "try", "synchronise %s%s before the request, or free earlier"
			     " (simulated: the request succeeds)",
			     only ? "stream " : "the streams", only ? SHORT(only) : "");
	else if (m->verdict == FRAG_VERDICT_TRANSIENT)
		frag_put_row(p->to, "try", "catch the error, and make the request again");
	else if (m->verdict == FRAG_VERDICT_LIMIT)
		frag_put_row(p->to, "try", "a larger fraction or limit in the program");
	else if (m->settings && m->recorded.count < 2)    /* those failed at earlier requests, too */
		frag_put_no_setting(p->to, m->settings, m->verdict);
}

/* Could another place of blocks help? */
static bool has_moves(const struct frag_explained *m)
{
	return !frag_verdict_grows(m->verdict) && m->verdict != FRAG_VERDICT_FAILED_ATTEMPT;
}

/* Rows of -v alone. */
static void print_evidence_rows(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (m->id && m->verdict)
		frag_put_row(p->to, "request", "%s %s, id %s, in a block of %s", SIZE(m->size),
			     OF(m->tag), SHORT(m->id), SIZE(m->need));
	print_free(p);
	frag_put_row(p->to, "largest", "%s contiguous now, %s after a flush; %s if all live blocks"
		     " were compacted", SIZE(m->largest_now), SIZE(m->largest_after_flush),
		     SIZE(m->largest_after_compaction));
	print_bounds(p);
	print_classes(p, "active");
	if (has_moves(m)) {
		print_main_cause(p);
		print_moves(p);
		print_others(p);
	}
}

/* The last row: what else can be asked. */
static void print_next(const struct page *p)
{
	const struct frag_explained *m = p->m;

	if (!m->verdict && p->a->found->at == FRAG_MOMENT_OOM && !m->limited)
		frag_put_row(p->to, "next", "your card: fragsim explain --device CARD; -v: segments,"
			     " tags and pools");
	else
		frag_put_row(p->to, "next", "%s-v: blocking blocks, moves, other settings, evidence",
			     m->verdict ? "fragsim fit: which device; " : "");
}

/* The rows of an answer, the verdict first; tables only with -v or --top. */
static void print_moment(const struct page *p)
{
	const struct frag_explained *m = p->m;
	const struct frag_device_figures *d = &p->a->found->devices[m->device];

	explain_print_head(p);
	if (*p->a->picked)
		frag_put_row(p->to, "file", "%s", SHOWN(p->a->picked));
	if (m->verdict) {
		explain_text_print_verdict(p);
		print_set(p);
		print_try(p);
		if (!p->a->verbose && m->move_count && has_moves(m)
		    && !m->setting)
			print_moves(p);
		frag_put_failures(p->to, &m->recorded, "");
	}
	if (m->verdict == FRAG_VERDICT_PENDING || p->a->verbose)
		print_pending(p);
	frag_put_context(p->to, d->total, d->context, false);
	if (p->a->outside)
		print_outside(p, &p->a->outside[m - p->a->found->moments]);
	print_holders(p);
	print_workspaces(p);
	if (p->a->verbose)
		print_evidence_rows(p);
	if (p->a->verbose || frag_evidence_differs(p->a->found->choice))
		frag_put_evidence(p->to, p->a->found->choice, "");
	if (p->a->time_up)
		frag_put_stopped(p->to, true);
	if (!p->a->verbose) {
		print_next(p);
		return;
	}
	print_pools(p);
	print_segments(p);
	print_tags(p);
}

static void explain_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_explain_answer *a = what;

	if (a->time_up && a->found->count == 0) {
		fputs("NOT FOUND: no device was explained\n", to->f);
		frag_put_stopped(to, true);
	}
	for (uint32_t i = 0; i < a->found->count; i++) {
		if (i)
			putc('\n', to->f);
		print_moment(&(struct page){ .a = a, .m = &a->found->moments[i], .to = to });
	}
}

const struct frag_format *const frag_explain_formats[] = {
	FRAG_TEXT_FORM(explain_print), FRAG_DOCUMENT_FORM(frag_explain_document), NULL,
};
