/* predict_answer.c - what fragsim predict found, as rows and as a document. */
#include "answers/predict_answer.h"

#include "answers/answers.h"

#define NONE UINT64_MAX

/* In CSV a row is one fit of a prediction, or one number that was tried. */
struct frag_predict_row {
	const struct frag_choice *choice;
	const struct frag_fitted *fitted;       /* NULL: a number that was tried */
	const struct frag_fitted *unlimited;    /* the same, where it fits without a limit, or NULL */
	const char *fits;               /* "true", "false"; NULL: not known */
	uint32_t at;                    /* FRAG_NO_NUMBER: changes */
	uint64_t unexplained;           /* NONE: of no number */
	const char *trace;
};

static void fit_row(const struct frag_predicted *x, const struct frag_fitted *one,
		    struct frag_predict_row *to)
{
	*to = (struct frag_predict_row){
		.choice = &x->choices[one->choice], .fitted = one,
		.unlimited = one->unlimited.fits ? one : NULL,
		.at = frag_predicted_number(x, one->source),
		.trace = x->recordings ? "predicted"
			 : frag_predicted_is_recorded(x, one->source) ? "as recorded" : "changed",
		.unexplained = x->recordings ? x->unexplained[one->source] : NONE,
		.fits = !x->total || !one->fit.runs ? NULL
			: one->fit.headroom == NONE ? "false" : "true",
	};
}

/* Number i of those that were tried under this policy. */
static bool tried_row(const struct frag_predicted *x, uint32_t choice, uint32_t *i,
		      struct frag_predict_row *to)
{
	const struct frag_reach *reach = &x->reaches[choice];

	for (uint32_t k = 0; k < reach->count; k++) {
		const struct frag_reach_part *part = &reach->map[k];
		const uint32_t count = (part->to - part->from) / x->stride + 1;

		if (*i >= count) {
			*i -= count;
			continue;
		}
		*to = (struct frag_predict_row){
			.choice = &x->choices[choice], .at = part->from + *i * x->stride,
			.trace = "predicted", .fits = part->fits ? "true" : "false",
			.unexplained = NONE,
		};
		return true;
	}
	return false;
}

static bool row_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;

	if (i < x->fits.count) {
		fit_row(x, &x->fits.fitted[i], element);
		return true;
	}
	i -= x->fits.count;
	for (uint32_t k = 0; x->reaches && k < x->choice_count; k++)
		if (tried_row(x, k, &i, element))
			return true;
	return false;
}

/* In Markdown a row is one setting of a prediction. */
struct frag_predict_setting {
	char name[FRAG_FIT_NAME_ROOM], trace[FRAG_NUMBER_ROOM + 8], shift[FRAG_SHIFT_ROOM];
	const char *fits;
	uint64_t requested, reserved, smallest, reliable;
};

static bool setting_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;
	struct frag_predict_setting *to = element;
	struct frag_predict_row row;
	const struct frag_fitted *one, *before;

	if (i >= x->fits.count)
		return false;
	one = &x->fits.fitted[i];
	before = frag_predict_recorded(x, one);
	fit_row(x, one, &row);
	frag_fit_name(&x->fits, one, to->name);
	if (x->recordings)
		snprintf(to->trace, sizeof(to->trace), "at %" PRIu32, row.at);
	else
		snprintf(to->trace, sizeof(to->trace), "%s", row.trace);
	frag_predict_shift(to->shift, before ? frag_predict_device(&before->fit) : NONE, frag_predict_device(&one->fit));
	to->fits = !row.fits ? NULL : strcmp(row.fits, "true") == 0 ? "yes" : "no";
	to->requested = one->unlimited.peak_requested;
	to->reserved = one->unlimited.fits ? one->unlimited.peak_reserved : NONE;
	to->smallest = one->fit.smallest;
	to->reliable = one->fit.reliable;
	return true;
}

/* How far each setting reaches. */
struct frag_predict_reach {
	const struct frag_predicted *found;
	const struct frag_reach *reach;
	const struct frag_choice *choice;
	uint32_t examined_to;
};

static bool reach_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;

	if (!x->reaches || i >= x->choice_count)
		return false;
	*(struct frag_predict_reach *)element = (struct frag_predict_reach){
		.found = x, .reach = &x->reaches[i], .choice = &x->choices[i],
		.examined_to = x->tried ? frag_tried_last(x) : FRAG_NO_NUMBER,
	};
	return true;
}

/* The best first block of private pools, of a setting. */
struct frag_predict_primed {
	const struct frag_choice *choice;
	const struct frag_primed *primed;
	uint64_t examined_to;
};

static bool primed_at(const void *of, uint32_t i, void *element)
{
	const struct frag_prime_search *s = &((const struct frag_predict_answer *)of)->found->prime;

	if (!s->of || i >= s->choice_count)
		return false;
	*(struct frag_predict_primed *)element = (struct frag_predict_primed){
		.choice = &s->choices[i], .primed = &s->of[i], .examined_to = s->last,
	};
	return true;
}

/* A predicted trace, or the recorded one. */
struct frag_predict_source {
	const struct frag_predict_answer *answer;
	uint32_t source, at;
	uint64_t events, requested, unexplained, margin;
	double distance;
	struct frag_claim claim;
};

static bool source_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predict_answer *a = of;
	const struct frag_predicted *x = a->found;

	if (i >= x->source_count)
		return false;
	*(struct frag_predict_source *)element = (struct frag_predict_source){
		.answer = a, .source = i, .at = frag_predicted_number(x, i),
		.events = frag_predict_events(x, i), .requested = frag_fits_requested(&x->fits, i),
		.unexplained = x->unexplained[i],
		.margin = x->margins[i],
		.distance = x->recordings ? frag_predicted_distance(x, x->at[i]) : 0,
		.claim = frag_predict_claim(x, i),
	};
	return true;
}

static bool point_at(const void *of, uint32_t i, void *element)
{
	return ((const struct frag_predict_answer *)of)->found->recordings
	       && source_at(of, i, element);
}

static bool as_recorded(const void *of, uint32_t i, void *element)
{
	(void)i;
	return !((const struct frag_predict_answer *)of)->found->recordings
	       && source_at(of, 0, element);
}

static bool changed_one(const void *of, uint32_t i, void *element)
{
	(void)i;
	return !((const struct frag_predict_answer *)of)->found->recordings
	       && source_at(of, 1, element);
}

/* A fit, and whether the device has enough. */
struct frag_predict_fit {
	struct frag_fit_view fit;
	bool judged, fits;
};

static bool predicted_fit_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predict_source *v = of;
	const struct frag_predicted *x = v->answer->found;
	struct frag_predict_fit *to = element;

	for (uint32_t k = 0; k < x->fits.count; k++) {
		const struct frag_fitted *one = &x->fits.fitted[k];

		if (one->source != v->source || i-- != 0)
			continue;
		frag_fit_view_make(&to->fit, &x->fits, one, false);
		to->judged = x->total && one->fit.runs;
		to->fits = one->fit.headroom != NONE;
		return true;
	}
	return false;
}

/* A recording, and its number. */
struct frag_predict_trace {
	const struct frag_trace_info *trace;
	uint32_t at;
};

static bool trace_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predict_answer *a = of;

	if (i >= a->trace_count)
		return false;
	*(struct frag_predict_trace *)element = (struct frag_predict_trace){
		.trace = a->traces[i],
		.at = a->found->recordings ? a->found->recordings->of[i].number : FRAG_NO_NUMBER,
	};
	return true;
}

/* Allocs of a tag with sizes that the recordings do not explain. */
struct frag_predict_odd {
	const struct frag_odd *odd;
	const struct frag_predicted *found;
	uint64_t from;
};

static bool odd_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;

	if (i >= x->odd_tags || i >= FRAG_ODD_MAX)
		return false;
	*(struct frag_predict_odd *)element = (struct frag_predict_odd){
		.odd = &x->odd[i], .found = x,
		.from = x->odd[i].sizes->at[x->recordings->numbers.count - 1],
	};
	return true;
}

static bool odd_size_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predict_odd *v = of;
	const struct frag_recordings *r = v->found->recordings;

	if (i >= r->count)
		return false;
	*(uint64_t *)element = v->odd->sizes->at[r->of[i].rank];
	return true;
}

/* Of recordings at numbers; as an object of it, null where there are none. */
static struct frag_cell_value numbers_of(const void *of)
{
	const struct frag_predict_answer *a = of;

	return FRAG_OF(a->found->recordings ? a : NULL);
}

struct frag_predict_sizes {
	uint64_t of[FRAG_UNEXPLAINED + 1];
};

static bool sizes_of(const void *of, uint32_t i, void *element)
{
	const struct frag_recordings *r = ((const struct frag_predict_answer *)of)->found->recordings;

	for (i = 0; r && i <= FRAG_UNEXPLAINED; i++)
		((struct frag_predict_sizes *)element)->of[i] = frag_predict_allocs(r, (enum frag_growth)i);
	return r;
}

static struct frag_cell_value is_complete(const void *of)
{
	return FRAG_FLAG_OF(!((const struct frag_predict_answer *)of)->interrupted);
}

static struct frag_cell_value is_hypothetical(const void *of)
{
	return FRAG_FLAG_OF(of != NULL);
}

static struct frag_cell_value bound_of(const void *of)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;

	return FRAG_TEXT_OF(frag_bound_words[frag_scope_part(x->scope)]);
}

/* The farthest of the numbers. */
static struct frag_cell_value farthest_of(const void *of)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;
	struct frag_cell_value v = { .there = x->recordings && x->at_count };

	for (uint32_t i = 0; v.there && i < x->at_count; i++)
		v.d = frag_predicted_distance(x, x->at[i]) > v.d
		      ? frag_predicted_distance(x, x->at[i]) : v.d;
	return v;
}

static struct frag_cell_value margin_of(const void *of)
{
	return FRAG_NUMBER_OF(frag_predict_margin(((const struct frag_predict_answer *)of)->found));
}

static struct frag_cell_value only_trace(const void *of)
{
	const struct frag_predict_answer *a = of;

	return FRAG_OF(a->trace_count == 1 ? a->traces[0] : NULL);
}

static struct frag_cell_value status_of(const void *of)
{
	const struct frag_reach_part *part = of;

	return FRAG_TEXT_OF(frag_run_status_name(part->fits ? FRAG_RUN_OK : FRAG_RUN_OOM));
}

#define ROW_AT(m) FRAG_AT(predict_row, m)
#define ROW_FIT(m) FRAG_VIA(predict_row, fitted, fitted, m)
#define SETTING(m) FRAG_AT(predict_setting, m)
static const struct frag_field row_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, ROW_AT(trace), NULL, "trace" },
	{ NULL, FRAG_TYPE_COUNT, ROW_AT(at), NULL, "at", .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_TEXT, FRAG_VIA(predict_row, choice, choice, text), NULL, "policy" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE_VIA(predict_row, choice), NULL, "alloc_conf",
	  .text = frag_conf_of },
	{ NULL, FRAG_TYPE_COUNT, ROW_FIT(device), NULL, "device" },
	{ NULL, FRAG_TYPE_COUNT, ROW_AT(unexplained), NULL, "unexplained",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_BYTES, ROW_FIT(unlimited.peak_requested), NULL, "requested" },
	{ NULL, FRAG_TYPE_CAPACITY,
	  FRAG_VIA(predict_row, unlimited, fitted, unlimited.peak_reserved), NULL, "reserved" },
	{ NULL, FRAG_TYPE_CAPACITY, ROW_FIT(fit.lower_bound), NULL, "lower_bound" },
	{ NULL, FRAG_TYPE_CAPACITY, ROW_FIT(fit.smallest), NULL, "smallest",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, ROW_FIT(fit.reliable), NULL, "reliable",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_COUNT, ROW_FIT(fit.failing_count), NULL, "failing_ranges" },
	{ NULL, FRAG_TYPE_CAPACITY, ROW_FIT(fit.headroom), NULL, "static_room",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_FIGURE, ROW_AT(fits), NULL, "fits" },
	{ 0 },
}, rows[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = row_fields, .each = row_at }, { 0 },
}, setting_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, SETTING(trace), NULL, NULL, "trace" },
	{ NULL, FRAG_TYPE_TEXT, SETTING(name), NULL, NULL, "setting" },
	{ NULL, FRAG_TYPE_BYTES, SETTING(requested), NULL, NULL, "requested" },
	{ NULL, FRAG_TYPE_CAPACITY, SETTING(reserved), NULL, NULL, "reserved",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, SETTING(smallest), NULL, NULL, "smallest",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, SETTING(reliable), NULL, NULL, "reliable",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_FIGURE, SETTING(shift), NULL, NULL, "change" },
	{ NULL, FRAG_TYPE_FIGURE, SETTING(fits), NULL, NULL, "fits" },
	{ 0 },
}, settings[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = setting_fields, .each = setting_at }, { 0 },
};

#define REACH(m) FRAG_VIA(predict_reach, reach, reach, m)
static const char *reach_label(const void *choice, char *buf)
{
	(void)buf;
	return frag_choice_label(choice);
}

/* Two tables: the predictions, and how far each setting reaches on the device. */
static void print_markdown(const void *what, const struct frag_text_style *to)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)what)->found;
	char largest[FRAG_NUMBER_ROOM + 20];
	const struct frag_field columns[] = {
		{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE_VIA(predict_reach, choice), NULL, NULL, "setting",
		  .text = reach_label },
		{ NULL, FRAG_TYPE_COUNT, REACH(largest), NULL, NULL, largest, .absence = FRAG_UNLESS_MAX },
		{ NULL, FRAG_TYPE_COUNT, REACH(reliable), NULL, NULL, "all fit up to",
		  .absence = FRAG_UNLESS_MAX },
		{ 0 },
	}, reaches = { NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = columns, .each = reach_at };

	if (x->fits.count)
		frag_table_print(settings, FRAG_TABLE_MARKDOWN, what, to->f);
	if (!x->reaches)
		return;
	fputs(x->fits.count ? "\n" : "", to->f);
	snprintf(largest, sizeof(largest), "largest on %s", DEVICE(x->total));
	frag_table_print(&reaches, FRAG_TABLE_MARKDOWN, what, to->f);
}

#define TRIED(m) FRAG_VIA(predict_reach, found, predicted, m)
#define SOURCE(m) FRAG_AT(predict_source, m)
#define SOURCE_CLAIM(m) SOURCE(claim.m)
#define FOUND(m) FRAG_VIA(predict_answer, found, predicted, m)
#define ODD(m) FRAG_VIA(predict_odd, odd, odd, m)
#define PRIMED(m) FRAG_VIA(predict_primed, primed, primed, m)
#define SIZES(which) FRAG_AT(predict_sizes, of[which])
#define DISTANCE "the number, as a multiple of the nearest recorded one; null: of changes"
static const struct frag_field fit_fields[] = {
	FRAG_MEMBERS(FRAG_AT(predict_fit, fit), frag_fit_fields),
	FRAG_MEMBERS(FRAG_AT(predict_fit, fit), frag_unlimited_fields),
	{ "fits", FRAG_TYPE_FLAG, FRAG_AT(predict_fit, fits), "it fits device_bytes; null: not tried",
	  FRAG_THERE_IF(predict_fit, judged) },
	{ 0 },
}, source_fields[] = {
	{ "events", FRAG_TYPE_COUNT, SOURCE(events) },
	{ "requested", FRAG_TYPE_BYTES, SOURCE(requested), "the peak" },
	FRAG_CLAIM_FIELDS(SOURCE_CLAIM),
	{ "fits", FRAG_TYPE_LIST, FRAG_WHOLE, "by policy and device", .each = predicted_fit_at,
	  .fields = fit_fields },
	{ 0 },
}, point_fields[] = {
	{ "at", FRAG_TYPE_COUNT, SOURCE(at) },
	{ "distance", FRAG_TYPE_NUMBER, SOURCE(distance), DISTANCE },
	{ "margin", FRAG_TYPE_BYTES, SOURCE(margin), "of the devices, for what may begin there" },
	{ "unexplained", FRAG_TYPE_COUNT, SOURCE(unexplained), "sizes that the recordings do not"
	  " explain there" },
	FRAG_MEMBERS(FRAG_WHOLE, source_fields),
	{ 0 },
}, trace_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE_VIA(predict_trace, trace), frag_trace_fields),
	{ "at", FRAG_TYPE_COUNT, FRAG_AT(predict_trace, at), "its number; null: of changes",
	  .absence = FRAG_UNLESS_MAX },
	{ 0 },
}, sizes_fields[] = {
	{ "constant", FRAG_TYPE_COUNT, SIZES(FRAG_CONSTANT) },
	{ "linear", FRAG_TYPE_COUNT, SIZES(FRAG_LINEAR) },
	{ "quadratic", FRAG_TYPE_COUNT, SIZES(FRAG_QUADRATIC) },
	{ "other", FRAG_TYPE_COUNT, SIZES(FRAG_UNEXPLAINED) },
	{ 0 },
}, odd_fields[] = {
	{ "tag", FRAG_TYPE_TEXT_JSON, ODD(name), "null: none", .nullable = true },
	{ "count", FRAG_TYPE_COUNT, ODD(allocs) },
	{ "step", FRAG_TYPE_COUNT, ODD(step), "of the first; likewise its sizes" },
	{ "sizes", FRAG_TYPE_LIST, FRAG_WHOLE, "by recording; null: it lacks the block", .items = FRAG_TYPE_BYTES, .absence = FRAG_UNLESS_MAX,
	  .each = odd_size_at },
	{ 0 },
}, unexplained_fields[] = {
	{ "count", FRAG_TYPE_COUNT, FOUND(odd_allocs) },
	{ "tag_count", FRAG_TYPE_COUNT, FOUND(odd_tags) },
	{ "tags", FRAG_TYPE_LIST, FRAG_WHOLE, "those with most allocations", .each = odd_at,
	  .fields = odd_fields },
	{ 0 },
}, estimated_fields[] = {
	{ "tag", FRAG_TYPE_TEXT_JSON, ODD(name), "null: none", .nullable = true },
	{ "bytes", FRAG_TYPE_BYTES, ODD(bytes), "of the first such block, as"
	  " predicted at the number where it is largest" },
	{ "from", FRAG_TYPE_BYTES, FRAG_AT(predict_odd, from), "as recorded at the largest number" },
	{ 0 },
}, part_fields[] = {
	{ "from", FRAG_TYPE_COUNT, FRAG_AT(reach_part, from) },
	{ "to", FRAG_TYPE_COUNT, FRAG_AT(reach_part, to) },
	{ "status", FRAG_TYPE_TEXT, FRAG_WHOLE, "fits or oom", .get = status_of },
	{ 0 },
}, reach_fields[] = {
	FRAG_CHOICE_FIELDS(predict_reach, choice),
	{ "largest", FRAG_TYPE_COUNT, REACH(largest), "number that fits; null: none does",
	  .absence = FRAG_UNLESS_MAX },
	{ "reliable", FRAG_TYPE_COUNT, REACH(reliable), "up to it all that were tried fit; likewise",
	  .absence = FRAG_UNLESS_MAX },
	{ "from", FRAG_TYPE_COUNT, TRIED(first), "the first that was tried" },
	{ "examined_to", FRAG_TYPE_COUNT, FRAG_AT(predict_reach, examined_to), "the last; null: none"
	  " was", .absence = FRAG_UNLESS_MAX },
	{ "bound", FRAG_TYPE_COUNT, TRIED(bound), "above it the peak requested exceeds the device;"
	  " null: not known", .absence = FRAG_UNLESS_MAX },
	{ "stride", FRAG_TYPE_COUNT, TRIED(stride), "multiples of it were tried" },
	{ "map", FRAG_TYPE_LIST, FRAG_ARRAY_VIA(predict_reach, reach, reach, map, count),
	  "all that were tried", .fields = part_fields },
	{ 0 },
}, primed_fields[] = {
	FRAG_CHOICE_FIELDS(predict_primed, choice),
	{ "bytes", FRAG_TYPE_BYTES, PRIMED(bytes), "the smallest with the lowest peak; null: none lowers"
	  " it", .absence = FRAG_UNLESS_ZERO },
	{ "reserved", FRAG_TYPE_CAPACITY, PRIMED(reserved), "the peak then, without a limit, of all"
	  " devices", .absence = FRAG_UNLESS_MAX },
	{ "without", FRAG_TYPE_CAPACITY, PRIMED(without), "likewise without such blocks",
	  .absence = FRAG_UNLESS_MAX },
	{ "examined_to", FRAG_TYPE_BYTES, FRAG_AT(predict_primed, examined_to), "the largest that was"
	  " tried, in steps of 2 MiB" },
	{ 0 },
}, predict_fields[] = {
	{ "complete", FRAG_TYPE_FLAG, FRAG_WHOLE, "false: --time or a signal ended the search",
	  .get = is_complete },
	{ "trace", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of changes; null: of numbers", .get = only_trace,
	  .fields = frag_trace_fields, .nullable = true },
	{ "traces", FRAG_TYPE_LIST, FRAG_WHOLE, "all that was read", .each = trace_at,
	  .fields = trace_fields },
	{ "scope", FRAG_TYPE_LIST, FRAG_ARRAY(predict_answer, traces, trace_count),
	  "which part of its program's run each recording contains", .pointers = true,
	  .one_alone = true, .fields = frag_trace_scope_fields },
	{ "hypothetical", FRAG_TYPE_FLAG, FRAG_WHOLE, "no program ran like this",
	  .get = is_hypothetical },
	{ "bound", FRAG_TYPE_WORD, FRAG_WHOLE, "of all", .get = bound_of, .words = frag_bound_words },
	{ "distance", FRAG_TYPE_NUMBER, FRAG_WHOLE, DISTANCE, .get = farthest_of, .nullable = true },
	{ "margin", FRAG_TYPE_BYTES, FRAG_WHOLE, "the largest of any number", .get = margin_of },
	{ "doubt", FRAG_TYPE_LIST, FRAG_WHOLE, "what the recordings do not show",
	  .items = FRAG_TYPE_TEXT, .each = frag_predict_doubt_at },
	{ "estimated", FRAG_TYPE_LIST, FRAG_WHOLE, "sizes that follow from no rule, by tag",
	  .each = odd_at, .fields = estimated_fields },
	{ "device_bytes", FRAG_TYPE_CAPACITY, FOUND(total), "of --device; null: none",
	  .absence = FRAG_UNLESS_ZERO },
	{ "changes", FRAG_TYPE_LIST, FRAG_ARRAY(predict_answer, changes, change_count),
	  "as they were given", .items = FRAG_TYPE_TEXT },
	{ "as_it_is", FRAG_TYPE_OBJECT, FRAG_WHOLE, "null: of numbers; likewise changed",
	  .each = as_recorded, .fields = source_fields, .nullable = true },
	{ "changed", FRAG_TYPE_OBJECT, FRAG_WHOLE, .each = changed_one, .fields = source_fields,
	  .nullable = true },
	{ "sizes", FRAG_TYPE_OBJECT, FRAG_WHOLE, "allocations by the growth of their sizes; null: of"
	  " changes", .each = sizes_of, .fields = sizes_fields, .nullable = true },
	{ "unexplained", FRAG_TYPE_OBJECT, FRAG_WHOLE, "at the numbers of --at and the largest that"
	  " fit; null: of changes", .get = numbers_of, .fields = unexplained_fields, .nullable = true },
	{ "points", FRAG_TYPE_LIST, FRAG_WHOLE, "one a number", .each = point_at,
	  .fields = point_fields },
	{ "largest", FRAG_TYPE_LIST, FRAG_WHOLE, "of --largest, one a policy", .each = reach_at,
	  .fields = reach_fields },
	{ "primed", FRAG_TYPE_LIST, FRAG_WHOLE, "of --prime-pool: the best block, one a policy",
	  .each = primed_at, .fields = primed_fields },
	{ 0 },
};

const struct frag_document_type frag_predict_document = {
	.format = "fragsim-predict", .version = 1, .fields = predict_fields,
	.what = "The answer of fragsim predict, see fragsim-predict(1).",
};

const struct frag_format *const frag_predict_formats[] = {
	FRAG_TEXT_FORM(frag_predict_print), FRAG_CSV_FORM(rows),
	FRAG_DOCUMENT_FORM(frag_predict_document), FRAG_MARKDOWN_TEXT_FORM(print_markdown), NULL,
};
