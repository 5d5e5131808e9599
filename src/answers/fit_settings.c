/* fit_settings.c - what fragsim fit found of settings: the recommended one, and a device with it. */
#include "answers/answers.h"
#include "answers/fit_answer.h"

#define NONE UINT64_MAX
#define NAME_MIN 8
#define FIGURES 41              /* columns after the name */
#define LIMITS_ROOM 400

/* What settings rule out or cost. */
static const struct {
	const char *setting, *words;
} limits[] = {
	{ "expandable_segments:True", "not with Windows, CUDA IPC, custom all-reduce in CUDA graphs,"
	  " vLLM sleep mode; NCCL buffer registration may fail" },
	{ "max_split_size_mb", "more cudaMalloc and cudaFree, which wait for the GPU: larger blocks"
	  " are never split" },
	{ "garbage_collection_threshold", "more cudaFree, which waits for the GPU" },
	{ "per_process_memory_fraction", "the remainder of the device is not used" },
};

void frag_put_limits(const struct frag_text_style *to, const char *settings)
{
	struct frag_words w = WORDS(LIMITS_ROOM);

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strstr(settings, limits[i].setting))
			frag_add_item(&w, "; ", "%s", limits[i].words);
	if (w.used)
		frag_put_row(to, "limits", "%s", w.text);
}

const char *frag_fit_setting(const struct frag_choice *choice, char *buf)
{
	if (!choice->ops->settings)
		return frag_choice_label(choice);
	return *frag_conf_text(choice, buf, FRAG_CONF_ROOM) ? buf : "default settings";
}
#define SETTING(choice) frag_fit_setting((choice), (char[FRAG_CONF_ROOM]){ 0 })

static const char *rank_name(const struct frag_setting_rank *c, char buf[FRAG_CONF_ROOM])
{
	if (c->status == FRAG_RANK_SKIPPED)
		return c->line;
	return *frag_conf_text(c->choices, buf, FRAG_CONF_ROOM) ? buf : "default";
}
#define RANK_NAME(c) rank_name((c), (char[FRAG_CONF_ROOM]){ 0 })

/* Does the device fit the first choice, whose settings were not ranked? */
static bool fits_unranked(const struct frag_fits *fits)
{
	bool good = fits->count > 0;

	for (uint32_t i = 0; i < fits->count; i++) {
		const struct frag_fit *fit = &fits->fitted[i].fit;

		if (fits->fitted[i].choice)
			continue;
		good = good && fit->smallest <= fits->device_total
		       && fits->device_total < fit->examined_to;
		for (uint32_t k = 0; k < fit->failing_count; k++)
			good = good && (fits->device_total < fit->failing[k].from
					|| fits->device_total >= fit->failing[k].to);
	}
	return good;
}

static bool fits_on(const struct frag_fit_answer *a)
{
	return a->ranked ? a->ranked->best != FRAG_ALL : fits_unranked(a->fits);
}

enum frag_on_device frag_fit_on_device(const struct frag_fit_answer *a)
{
	const struct frag_claim claim = frag_fit_claim(a);

	if (frag_claim_is_exact(&claim))
		return fits_on(a) ? FRAG_ON_DEVICE_FITS : FRAG_ON_DEVICE_NOT;
	return claim.at_least > a->fits->device_total ? FRAG_ON_DEVICE_NOT : FRAG_ON_DEVICE_OPEN;
}

bool frag_fit_test_fits(const struct frag_fit_test *t)
{
	return t->tried && t->ranked.count && t->ranked.candidates[t->with].reliable != NONE;
}

/* "with expandable_segments:True, 606.00 MiB left" */
static void add_left(struct frag_words *w, const struct frag_fit_answer *a,
		     const struct frag_setting_rank *c)
{
	const uint64_t left = frag_setting_left(a->ranked, c);

	frag_add(w, "with %s, ", SETTING(c->choices));
	if (left != NONE)
		frag_add(w, "%s left%s", SIZE(left), c->without_gaps ? "" : " (smaller ones may fail)");
	else
		frag_add(w, "OOM");
}

/* What the device leaves, with the recommended setting and with the own ones. */
static void add_fitting(struct frag_words *w, const struct frag_fit_answer *a)
{
	const struct frag_setting_rank *best = a->ranked ? frag_recommended(a->ranked) : NULL;

	if (!a->ranked)
		return;
	frag_add(w, " ");
	if (best)
		add_left(w, a, best);
	frag_add(w, "%s", best ? "; " : "");
	add_left(w, a, a->ranked->candidates);
}

/* The smallest device of the choices that are shown. */
static uint64_t smallest_reliable(const struct frag_fits *fits)
{
	uint64_t least = NONE;

	for (uint32_t k = 0; k < fits->choice_count; k++) {
		uint64_t need = 0;

		for (uint32_t i = 0; i < fits->count; i++)
			if (fits->fitted[i].choice == k)
				need = frag_max(need, fits->fitted[i].fit.reliable);
		if (fits->sources[0].choices[k].ops == fits->sources[0].choices[0].ops)
			least = frag_min(least, need);
	}
	return least;
}

void frag_fit_put_device(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	const struct frag_setting_rank *best = a->ranked ? frag_recommended(a->ranked) : NULL;
	const struct frag_claim claim = frag_fit_claim(a);
	const enum frag_on_device on = frag_fit_on_device(a);
	const uint64_t total = a->fits->device_total, least = smallest_reliable(a->fits);
	struct frag_words w = WORDS(1200);

	frag_add(&w, "%s", SIZE(total));
	if (on == FRAG_ON_DEVICE_FITS) {
		add_fitting(&w, a);
	} else if (on == FRAG_ON_DEVICE_OPEN) {
		frag_add(&w, "; at least %s", CAPACITY(claim.at_least));
		frag_add_claim(&w, frag_fit_scope(a), NULL);
		frag_add(&w, fits_on(a) ? "; the recorded part fits" : "; the recorded part fails");
		if (fits_on(a))
			add_fitting(&w, a);
	} else if (!frag_claim_is_exact(&claim)) {
		frag_add(&w, "; at least %s", CAPACITY(claim.at_least));
		frag_add_claim(&w, frag_fit_scope(a), NULL);
	} else {
		if (a->ranked)
			frag_add(&w, ", with none of %" PRIu32 " settings",
				 frag_recommend_tried(a->ranked) + 1);
		if (least != NONE)
			frag_add(&w, "; the smallest device is %s", CAPACITY(least));
	}
	frag_put_first_line(to, on == FRAG_ON_DEVICE_FITS ? INK_GREEN
			    : on == FRAG_ON_DEVICE_OPEN ? INK_YELLOW : INK_RED,
			    on == FRAG_ON_DEVICE_FITS ? "FITS: " : on == FRAG_ON_DEVICE_OPEN
			    ? "CANNOT BE JUDGED: " : "NO SETTING FITS: ", "%s", w.text);
	if (best) {
		frag_put_setting(to, best->choices, CONF(best->choices), "");
		frag_put_limits(to, CONF(best->choices));
	}
	if (a->ranked && a->ranked->no_spare && a->ranked->spare > 0)
		frag_put_row(to, "spare", "no setting leaves %.3g %% of the device",
			     100 * a->ranked->spare);
}

/* Is it shown: the recommended one, the own, or one that needs less than the headline? */
static bool has_row(const struct frag_fit_answer *a, uint32_t i)
{
	const struct frag_recommendation *r = a->ranked;
	const struct frag_setting_rank *c = &r->candidates[i];
	const uint32_t named = r->best == FRAG_ALL ? 0 : r->best;

	return a->verbose || i == named || !i || c->reliable < r->candidates[named].reliable;
}

static const char *const status_words[] = {
	[FRAG_RANK_OPEN] = "open", [FRAG_RANK_FITS] = "fits", [FRAG_RANK_OOM] = "oom",
	[FRAG_RANK_SKIPPED] = "skipped", [FRAG_RANK_ERROR] = "error", NULL,
};

static void put_setting_row(const struct frag_fit_answer *a, const struct frag_setting_rank *c,
			    int width, const struct frag_text_style *to)
{
	const struct frag_recommendation *r = a->ranked;
	const bool known = c->reliable != NONE;

	frag_put_name(RANK_NAME(c), width, 0, to->f);
	frag_put_capacity(c->reliable, to->f);
	if (!known)
		fprintf(to->f, "  %11s", c->status == FRAG_RANK_OOM ? "OOM"
			: c->status == FRAG_RANK_OPEN ? "-" : status_words[c->status]);
	else if (r->device)
		fprintf(to->f, "  %11s", SIZE(frag_setting_left(r, c)));
	else
		frag_fprintf(to->f, "  %+9.1f %%", r->lower_bound ? 100 * ((double)c->reliable
			     / (double)r->lower_bound - 1) : 0);
	if (known)
		fprintf(to->f, "  %12" PRIu64 "\n", c->at.calls);
	else
		fprintf(to->f, "  %12s\n", "-");
}

void frag_fit_put_settings(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	const struct frag_recommendation *r = a->ranked;
	size_t longest = 0;
	int width;

	if (!r || !r->count || (!a->usual && !a->verbose) || (a->fits->source_count > 1 && !a->verbose))
		return;
	for (uint32_t i = 0; i < r->count; i++)
		if (has_row(a, i))
			frag_note_longest(&longest, RANK_NAME(&r->candidates[i]));
	width = frag_name_column(longest, NAME_MIN, FIGURES, to->columns);
	fprintf(to->f, "%-*s  %11s  %11s  %12s\n", width, "setting", "reliable",
		r->device ? "left" : "above bound", "driver calls");
	if (r->best && r->best < r->count)
		put_setting_row(a, &r->candidates[r->best], width, to);
	for (uint32_t i = 0; i < r->count; i++)
		if (has_row(a, i) && (!i || i != r->best))
			put_setting_row(a, &r->candidates[i], width, to);
}

void frag_fit_put_tests(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	for (uint32_t i = 0; i < a->test_count && a->tests; i++) {
		const struct frag_fit_test *t = &a->tests[i];
		const struct frag_recommendation *r = &t->ranked;
		const struct frag_setting_rank *best;
		struct frag_words w = WORDS(1000);

		if (!t->tried || !r->count)
			continue;
		best = &r->candidates[r->best == FRAG_ALL ? 0 : r->best];
		frag_add(&w, "%s ", SHOWN(frag_input_name(
			a->traces[a->fits->source_count + i]->path)));
		if (!frag_fit_test_fits(t))
			frag_add(&w, "OOM");
		else
			frag_add(&w, "fits, smallest device %s",
				 CAPACITY(r->candidates[t->with].reliable));
		if (best->reliable != NONE)
			frag_add(&w, "; its own best: %s with %s", CAPACITY(best->reliable),
				 SETTING(best->choices));
		frag_put_row(to, "test", "%s", w.text);
	}
}

/* Documents ------------------------------------------------------------------- */

struct frag_rank_view {
	const struct frag_setting_rank *rank;
	const char *alloc_conf, *policy, *status, *why;
	uint64_t left, calls;
};

static void rank_view(const struct frag_recommendation *r, const struct frag_setting_rank *c,
		      struct frag_rank_view *to)
{
	*to = (struct frag_rank_view){
		.rank = c, .alloc_conf = c->line, .policy = c->choices->ops->name,
		.status = status_words[c->status == FRAG_RANK_OPEN ? FRAG_RANK_OOM : c->status],
		.why = *c->why ? c->why : NULL, .left = frag_setting_left(r, c),
		.calls = c->reliable == NONE ? NONE : c->at.calls,
	};
}

static const char *alloc_conf_of(const void *of, char *buf)
{
	const struct frag_setting_rank *c = ((const struct frag_rank_view *)of)->rank;

	return c->status == FRAG_RANK_SKIPPED ? c->line : frag_conf_text(c->choices, buf, FRAG_CONF_ROOM);
}

/* Of the recommended one: null where the own settings are as good. */
static const char *other_conf_of(const void *of, char *buf)
{
	const struct frag_rank_view *v = of;

	return v->alloc_conf ? alloc_conf_of(of, buf) : NULL;
}

bool frag_fit_recommended_at(const void *of, uint32_t i, void *element)
{
	const struct frag_recommendation *r = ((const struct frag_fit_answer *)of)->ranked;
	struct frag_rank_view *to = element;

	if (i || !r || r->best >= r->count)
		return false;
	rank_view(r, &r->candidates[r->best], to);
	if (!r->best)
		to->alloc_conf = NULL;
	return true;
}

bool frag_fit_ranked_at(const void *of, uint32_t i, void *element)
{
	const struct frag_recommendation *r = ((const struct frag_fit_answer *)of)->ranked;

	if (!r || i >= r->count)
		return false;
	rank_view(r, &r->candidates[i], element);
	return true;
}

#define RANK(m) FRAG_VIA(rank_view, rank, setting_rank, m)
#define CAPACITIES                                                                             \
	{ "reliable", FRAG_TYPE_CAPACITY, RANK(reliable), "the minimum from which all fit; null:"  \
	  " not searched, or it does not fit", .absence = FRAG_UNLESS_MAX },                     \
	{ "smallest", FRAG_TYPE_CAPACITY, RANK(smallest), "the minimum that fits",               \
	  .absence = FRAG_UNLESS_MAX },                                                        \
	{ "left", FRAG_TYPE_CAPACITY, FRAG_AT(rank_view, left), "bytes of the device minus reliable;" \
	  " null: no device was given", .absence = FRAG_UNLESS_MAX },                            \
	{ "driver_calls", FRAG_TYPE_COUNT, FRAG_AT(rank_view, calls), "on the device, or on"   \
	  " reliable", .absence = FRAG_UNLESS_MAX }
const struct frag_field frag_recommended_fields[] = {
	{ "alloc_conf", FRAG_TYPE_TEXT, FRAG_WHOLE, "null: the program's own settings are as good",
	  .text = other_conf_of, .nullable = true },
	CAPACITIES,
	{ 0 },
}, frag_ranked_fields[] = {
	{ "alloc_conf", FRAG_TYPE_TEXT, FRAG_WHOLE, .text = alloc_conf_of },
	{ "policy", FRAG_TYPE_TEXT, FRAG_AT(rank_view, policy) },
	{ "status", FRAG_TYPE_WORD, FRAG_AT(rank_view, status), "on the device, or on the smallest one"
	  " of the answer", .words = status_words },
	CAPACITIES,
	{ "why", FRAG_TYPE_TEXT, FRAG_AT(rank_view, why), "it was skipped, or its simulation fails",
	  .nullable = true },
	{ 0 },
};

struct frag_test_view {
	const char *path;
	bool fits;
	uint64_t reliable, own_reliable;
	const struct frag_setting_rank *own;
};

bool frag_fit_test_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;
	struct frag_test_view *to = element;
	const struct frag_fit_test *t;

	if (i >= a->test_count)
		return false;
	t = &a->tests[i];
	if (!t->tried || !t->ranked.count)
		return false;
	*to = (struct frag_test_view){
		.path = a->traces[a->fits->source_count + i]->path, .fits = frag_fit_test_fits(t),
		.reliable = t->ranked.candidates[t->with].reliable,
		.own = &t->ranked.candidates[t->ranked.best == FRAG_ALL ? 0 : t->ranked.best],
	};
	to->own_reliable = to->own->reliable;
	return true;
}

static const char *test_conf_of(const void *of, char *buf)
{
	return frag_conf_text(((const struct frag_test_view *)of)->own->choices, buf, FRAG_CONF_ROOM);
}

const struct frag_field frag_test_fields[] = {
	{ "path", FRAG_TYPE_TEXT, FRAG_AT(test_view, path) },
	{ "fits", FRAG_TYPE_FLAG, FRAG_AT(test_view, fits) },
	{ "reliable", FRAG_TYPE_CAPACITY, FRAG_AT(test_view, reliable), "with the recommended setting",
	  .absence = FRAG_UNLESS_MAX },
	{ "own_best", FRAG_TYPE_TEXT, FRAG_WHOLE, "its own recommended setting", .text = test_conf_of },
	{ "own_reliable", FRAG_TYPE_CAPACITY, FRAG_AT(test_view, own_reliable),
	  .absence = FRAG_UNLESS_MAX },
	{ 0 },
};
