/* plan.c - fragsim plan: the lowest placement of all requests, and the peaks of policies. */
#include <string.h>

#include "answers/answers.h"
#include "answers/plan_answer.h"
#include "cmd/frame.h"
#include "events/recording_info.h"
#include "plan/plan.h"
#include "trace/reader.h"

struct planning {
	struct frag_question q;
	const char *check_path;
	struct frag_stretch_marks marks;
	uint64_t align, capacity;       /* capacity UINT64_MAX: not given */
	bool slots;
	bool alone, timed;              /* timed: the clock ended the policies */
	struct frag_fits fits;
	struct frag_plan plan;
};

static const char *const paths[] = { "height", "bound", NULL };

static const char *const slots_words[] = { "max", NULL };

/* Both values come here, one after the other. */
static int set_between(void *at, const struct frag_opt *o, const char *value,
		       struct frag_error *err)
{
	struct planning *p = at;

	(void)o;
	if (p->marks.to)
		return frag_fail(err, FRAG_EUSAGE, "--between is specified more than once");
	*(p->marks.from ? &p->marks.to : &p->marks.from) = value;
	/* a window is planned without policies */
	p->alone = true;
	return 0;
}

static const struct frag_opt opts[] = {
	{ 0, "between", "MARK MARK",
	  "the window from the first mark of a name to the next of the other",
	  FRAG_CALL(set_between) },
	{ 0, "slots", "WHAT", "max: plan for all such windows, the k-th request at its largest",
	  FRAG_TRUTH(struct planning, slots, slots_words, 0) },
	{ 0, "align", "SIZE", "what sizes are rounded up to (512; for an XLA module 1)",
	  FRAG_SIZE(struct planning, align, 1) },
	{ 0, "capacity", "SIZE", "exit with 1 if the plan is higher",
	  FRAG_CAPACITY(struct planning, capacity), .usual = UINT64_MAX },
	{ 0, "time", "TIME", "budget of all searches: 30s, 500ms, 5m (10s)",
	  FRAG_SECONDS(struct planning, q.run.seconds), .usual = 10 },
	{ 0, "plan", "FILE", "write the plan: JSON, or CSV where the name ends in .csv",
	  FRAG_OUTPUT(struct planning, q.extra_path) },
	{ 0, "check", "FILE", "check this plan, JSON or CSV, and search for none",
	  FRAG_INPUT(struct planning, check_path, "an input") },
	FRAG_POLICY_ROWS("a policy to compare with the plan, NAME[:key=value,...]; repeatable"
			   " (pytorch twice, bestfit)"),
	{ 0, "alone", NULL, "the plan only, without policies", FRAG_FLAG(struct planning, alone) },
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'height > 24GiB'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_FORMAT_ROW(FRAG_FORMAT_HELP),
	FRAG_OUTPUT_ROW("write it to a file too, .txt, .md, .json, .csv or .html; repeatable"),
	FRAG_JSON_ROW("write the answer as JSON (- is standard output)"),
	FRAG_TOP_ROW(FRAG_TOP_HELP),
	FRAG_COLOR_ROW,
	FRAG_QUIET_ROW("no text, warnings or progress"),
	FRAG_LENIENT_ROW,
	FRAG_OTHERS_ROWS,
	FRAG_THREADS_ROW("concurrent searches and simulations (0: one per processor)"),
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "slots !between", "--slots requires --between: the marks where periods begin and end" },
	{ "slots check", "--slots makes a plan, and --check takes one of a trace's own buffers" },
	{ "alone policy|alloc-conf", "--alone compares no policies, but -p or --alloc-conf names some" },
	{ "between policy|alloc-conf", "-p and --alloc-conf are for whole traces: fragsim trace slice writes a"
				       " window as a trace" },
	{ 0 },
};

/* The policies have the other half of the time, and what is left of this one. */
static bool half_enough(void *ctx)
{
	return frag_time_is_short(ctx) || frag_interrupted(ctx);
}

/* Found, or taken from the file that is to be checked. */
static int plan_place(struct planning *p, struct frag_error *err)
{
	const double seconds = p->alone ? p->q.run.seconds : p->q.run.seconds / 2;
	const double looks = seconds * (double)FRAG_PLAN_LOOKS_PER_SECOND;
	const struct frag_job job = {
		.stop = p->alone ? frag_time_is_up : half_enough, .threads = p->q.run.threads,
	};
	const struct frag_plan_effort effort = {
		.looks = looks < 1e18 ? (uint64_t)looks : UINT64_C(1000000000000000000),
		.goal = p->capacity == UINT64_MAX ? 0 : p->capacity, .job = &job,
	};
	const struct frag_constraints *given = frag_trace_recording(p->q.taped->trace).constraints;
	int rc;

	if (!p->align)
		p->align = given && given->by ? 1 : 512;
	rc = frag_plan_buffers(&p->plan, p->q.taped->tape, p->align, &p->marks, p->slots,
			       p->marks.from ? NULL : given, err);
	if (rc)
		return rc;
	return p->check_path ? frag_plan_take(&p->plan, p->check_path, err)
			     : frag_plan_place(&p->plan, &effort, err);
}

/* What the policies need of the same trace: without a limit, and of the smallest device. */
static int look_beside(struct planning *p, struct frag_error *err)
{
	int rc;

	p->fits = (struct frag_fits){
		.sources = p->q.sources, .source_count = 1,
		.choice_count = p->q.taped->choice_count, .unlimited = true,
		.job = frag_question_job(&p->q, frag_time_is_up),
	};
	rc = frag_fits_run(&p->fits, err);
	p->timed = frag_time_ended(rc);
	return p->timed ? 0 : rc;
}

static int write_plan(struct planning *p, struct frag_error *err)
{
	const char *path = p->q.extra_path;
	const size_t length = path ? strlen(path) : 0;
	const bool csv = length >= 4 && strcmp(path + length - 4, ".csv") == 0;

	if (!path)
		return 0;
	if (csv && p->plan.space_count > 1)
		return frag_fail(err, FRAG_EUSAGE, "%s: a CSV describes one device and one pool, and"
				 " this trace has %u; write JSON, to a name without .csv", path,
				 p->plan.space_count);
	return frag_plan_write(&p->plan, csv, &p->q.extra, err);
}

/* The policies have what the plan leaves of the time. */
static int plan_search(struct frag_question *q, struct frag_error *err)
{
	struct planning *p = (struct planning *)q;
	const int rc = plan_place(p, err);

	if (rc || p->alone)
		return rc;
	return frag_interrupted(NULL) ? -FRAG_EINTERRUPTED : look_beside(p, err);
}

/* What is there after an interruption is written all the same. */
static int plan_print(struct frag_question *q, struct frag_error *err)
{
	struct planning *p = (struct planning *)q;
	struct frag_plan_answer what = {
		.trace = q->traces[0], .plan = &p->plan, .devices = q->taped->devices.figures,
		.capacity = p->capacity, .checked = p->check_path, .marks = p->marks,
		.fits = p->alone || q->interrupted ? NULL : &p->fits, .timed = p->timed,
	};
	struct frag_plan_needs needs;
	int rc = write_plan(p, err);

	if (!p->plan.complete)
		what.ended_by = !p->plan.stopped ? "budget"
				: frag_interrupted(NULL) ? "interrupt" : "time";
	/* the policies on a device without a limit */
	if (!rc && q->redraw.path && what.fits)
		rc = frag_answer_page_draw(&q->redraw, q->taped, 0, NULL, NULL, err);
	rc = rc ? rc : frag_question_answer(q, &what, err);
	if (rc)
		return rc;
	needs = frag_plan_needs(&p->plan);
	if (p->capacity != UINT64_MAX && needs.height > p->capacity)
		*q->status = 1;
	frag_question_judge(q, (double[]){ (double)needs.height, (double)needs.bound },
			    frag_scope_part(&q->traces[0]->scope) == FRAG_PART_WHOLE ? NULL
			    : (double[]){ (double)needs.bound, (double)needs.bound }, "%s",
			    q->paths[0]);
	return 0;
}

static const struct frag_question_ops question = {
	.unit = "policies",
	.input = "an input",
	.usual = frag_usual_three,
	.search = plan_search,
	.print = plan_print,
};

static void plan_fini(void *own)
{
	struct planning *p = own;

	frag_plan_fini(&p->plan);
	frag_fits_fini(&p->fits);
}

const struct frag_cmd frag_cmd_plan = {
	.name = "plan",
	.group = FRAG_GROUP_OTHER,
	.args = "[options] TRACE",
	.summary = "find the lowest placement, and how far policies are from it",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_ANSWER,
	.formats = frag_plan_formats,
	.size = sizeof(struct planning),
	.question = &question,
	.fini = plan_fini,
};
