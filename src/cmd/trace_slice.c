/* trace_slice.c - fragsim trace slice: writes a window of a trace as a separate trace. */
#include <inttypes.h>

#include "base/atomic_file.h"
#include "base/format.h"
#include "cmd/transform_trace.h"
#include "transform/kept_beginning.h"
#include "transform/slice_trace.h"

struct slice {
	struct frag_rewrite rewrite;
	struct frag_cut cut;
	struct frag_first_state beginning;      /* of the one device that is written */
};

/*
 * A place is one of three kinds, so a second option for the same end contradicts
 * the first. The row's name specifies which end and which kind.
 */
static int set_place(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct frag_slice_place *place = at;
	const bool from = *o->name == 'f';
	const char *word = from ? "from" : "to";
	char *end;

	if (place->kind != FRAG_PLACE_NONE)
		return frag_fail(err, FRAG_EUSAGE,
				 "two %s: one of --%s-step, --%s-mark and --%s-time is"
				 " required", from ? "beginnings" : "ends", word, word, word);
	place->kind = (unsigned)o->min;
	if (place->kind == FRAG_PLACE_STEP)
		return frag_option_count(&place->step, o->name, value, 0, FRAG_COUNT_MAX, err);
	if (place->kind == FRAG_PLACE_MARK) {
		place->mark = value;
		return 0;
	}
	place->t = frag_strtod(value, &end);
	if (*value && !*end && place->t - place->t == 0)
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: a time in microseconds is required",
			 o->name, value);
}

#define PLACE(side, what)                                                                      \
	.min = FRAG_PLACE_##what, FRAG_CALL_AT(struct slice, cut.side, set_place)

static const struct frag_opt opts[] = {
	{ 0, "from-step", "N", "begin at this event", PLACE(from, STEP) },
	{ 0, "from-mark", "NAME", "begin at the first mark of this name", PLACE(from, MARK) },
	{ 0, "from-time", "T", "begin at the first event of this time or later",
	  PLACE(from, TIME) },
	{ 0, "to-step", "N", "end before this event", PLACE(to, STEP) },
	{ 0, "to-mark", "NAME", "end before the next mark of this name", PLACE(to, MARK) },
	{ 0, "to-time", "T", "end before the next event of this time or later", PLACE(to, TIME) },
	{ 0, "only-device", "N", "only this device, as device 0", .kind = FRAG_OPT_COUNT32,
	  .at = FRAG_MEMBER(struct slice, cut.device, uint32_t), .max = FRAG_ALL - 1 },
	FRAG_REWRITE_OPTS(offsetof(struct slice, rewrite)),
	{ 0 },
};

/* It stays true where the window begins with the trace and has all of its blocks. */
static int slice_beginning(struct slice *s, struct frag_trace_info *info, struct frag_error *err)
{
	const struct frag_first_state *b = info->beginning;

	if (!b || (s->cut.from.kind == FRAG_PLACE_NONE && s->cut.to.kind == FRAG_PLACE_NONE
		   && s->cut.device == FRAG_ALL))
		return 0;
	if (s->cut.from.kind != FRAG_PLACE_NONE) {
		frag_drop_beginning(info, "the window begins later", &s->rewrite.quiet);
	} else if (!frag_beginning_leads(b)) {
		frag_drop_beginning(info, "other events precede its blocks", &s->rewrite.quiet);
	} else if (s->cut.to.kind == FRAG_PLACE_STEP && s->cut.to.step < b->block_count) {
		frag_drop_beginning(info, "the window ends within its blocks", &s->rewrite.quiet);
	} else if (s->cut.device != FRAG_ALL) {
		if (!frag_beginning_add(&s->beginning, b, s->cut.device, 1))
			return frag_fail_nomem(err);
		info->beginning = &s->beginning;
	}
	return 0;
}

static int head(void *ctx, struct frag_trace_info *info, struct frag_error *err)
{
	struct slice *s = ctx;

	if (s->cut.from.kind != FRAG_PLACE_NONE) {
		/* what is allocated there is known only once it is read */
		info->scope.begins = FRAG_BEGINS_LATE;
		info->scope.before_active = info->scope.before_reserved = 0;
	}
	if (s->cut.to.kind != FRAG_PLACE_NONE)
		info->scope.ends = FRAG_ENDS_CUT;
	info->scope.stated = true;
	if (s->cut.device == FRAG_ALL)
		return slice_beginning(s, info, err);
	if (s->cut.device >= info->device_count)
		return frag_fail(err, FRAG_EUSAGE, "--only-device %u: %s has %u device%s, numbered"
				 " from 0", s->cut.device, frag_input_name(info->path),
				 info->device_count, frag_s(info->device_count));
	info->devices += s->cut.device;
	info->device_count = 1;
	return slice_beginning(s, info, err);
}

static int event(void *ctx, struct frag_sink *sink, const struct frag_record *rec,
		 const struct frag_event *ev, struct frag_error *err)
{
	struct slice *s = ctx;

	return frag_cut_event(&s->cut, sink, rec, ev, err);
}

static int no_such(const struct frag_slice_place *place, const char *which, struct frag_error *err)
{
	if (place->kind == FRAG_PLACE_MARK)
		return frag_fail(err, FRAG_EUSAGE, "--%s-mark: no mark \"%.100s\"%s; fragsim trace info"
				 " lists them", which, place->mark,
				 *which == 't' ? " after the beginning" : "");
	if (place->kind == FRAG_PLACE_STEP)
		return frag_fail(err, FRAG_EUSAGE,
				 "--%s-step %" PRIu64 ": the trace has ended before",
				 which, place->step);
	return frag_fail(err, FRAG_EUSAGE, "--%s-time %g: no event has that time or a later one",
			 which, place->t);
}

static int end(void *ctx, struct frag_error *err)
{
	const struct slice *s = ctx;

	if (!s->cut.begun && s->cut.from.kind != FRAG_PLACE_NONE)
		return no_such(&s->cut.from, "from", err);
	/* a window may well end with the trace, but a name that is not there is a mistake */
	if (!s->cut.ended && s->cut.to.kind == FRAG_PLACE_MARK)
		return no_such(&s->cut.to, "to", err);
	return 0;
}

/* A window that ends before it begins is a slip. */
static int check_order(const struct frag_cut *c, struct frag_error *err)
{
	if (c->from.kind != c->to.kind)
		return 0;
	if (c->from.kind == FRAG_PLACE_STEP && c->to.step <= c->from.step)
		return frag_fail(err, FRAG_EUSAGE, "--to-step %" PRIu64 " is not after --from-step"
				 " %" PRIu64, c->to.step, c->from.step);
	if (c->from.kind == FRAG_PLACE_TIME && c->to.t <= c->from.t)
		return frag_fail(err, FRAG_EUSAGE, "--to-time %g is not after --from-time %g",
				 c->to.t, c->from.t);
	return 0;
}

static void slice_init(void *own)
{
	struct slice *s = own;

	s->rewrite = (struct frag_rewrite){
		.part = true, .head = head, .event = event, .end = end, .ctx = s,
	};
	s->cut.device = FRAG_ALL;
}

static int slice_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct slice *s = own;
	const int rc = check_order(&s->cut, err);

	return rc ? rc : frag_rewrite(&s->rewrite, args->words[0], args->words[1], err);
}

static void slice_fini(void *own)
{
	struct slice *s = own;

	frag_cut_fini(&s->cut);
	frag_beginning_fini(&s->beginning);
}

const struct frag_cmd frag_cmd_trace_slice = {
	.name = "trace slice",
	.group = FRAG_GROUP_TRACE,
	.args = "[options] IN OUT",
	.summary = "write a window of a trace",
	.opts = opts,
	.needs = FRAG_NEEDS_IN_OUT,
	.size = sizeof(struct slice),
	.init = slice_init,
	.exec = slice_exec,
	.fini = slice_fini,
};
