/* fit_fields.c - the members of a fit of one setting, for the documents that have some. */
#include "answers/answers.h"

/* The simulation on one capacity. */
struct frag_outcome_view {
	const struct frag_attempt *attempt;
	bool modelled;
};

static const struct frag_field outcome_fields[] = {
#define ATTEMPT(m) FRAG_VIA(outcome_view, attempt, attempt, m)
	{ "calls", FRAG_TYPE_COUNT, ATTEMPT(calls),
	  "of the driver: segments obtained and released, pages mapped and unmapped" },
	{ "refused", FRAG_TYPE_COUNT, ATTEMPT(refused) },
	{ "retries", FRAG_TYPE_COUNT, ATTEMPT(retries) },
	{ "peak_reserved", FRAG_TYPE_BYTES, ATTEMPT(peak_reserved) },
	{ "driver_ns", FRAG_TYPE_COUNT, ATTEMPT(driver_ns), "modelled; null without a profile",
	  FRAG_THERE_IF(outcome_view, modelled) },
	{ 0 },
#undef ATTEMPT
};

/* An interruption may have come before its peaks were measured: then there is none. */
static bool outcome_view(const struct frag_fit_view *v, uint64_t capacity,
			 const struct frag_attempt *attempt, struct frag_outcome_view *to)
{
	to->attempt = attempt;
	to->modelled = v->fits->model != NULL;
	return v->fitted->fit.peaks && capacity != UINT64_MAX;
}

static bool at_smallest(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_view *v = of;

	(void)i;
	return outcome_view(v, v->fitted->fit.smallest, &v->fitted->fit.at_smallest, element);
}

static bool at_reliable(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_view *v = of;

	(void)i;
	return outcome_view(v, v->fitted->fit.reliable, &v->fitted->fit.at_reliable, element);
}

#define FIT(m) FRAG_VIA(fit_view, fitted, fitted, fit.m)
#define FIT_CLAIM(m) FRAG_VIA(fit_view, fitted, fitted, claim.m)
const struct frag_field frag_capacity_fields[] = {
	FRAG_CHOICE_FIELDS(fit_view, choice),
	{ "device", FRAG_TYPE_OBJECT, FRAG_AT(fit_view, device), "total_bytes: of the"
	  " device that was given; 0: none", .fields = frag_device_fields },
	{ "smallest", FRAG_TYPE_CAPACITY, FIT(smallest), "the minimum that it fits; null: none was"
	  " found", .absence = FRAG_UNLESS_MAX },
	{ "at_most", FRAG_TYPE_CAPACITY, FIT(at_most), "an upper bound of smallest, where the search"
	  " ended before that was found", .absence = FRAG_UNLESS_MAX },
	{ "reliable", FRAG_TYPE_CAPACITY, FIT(reliable), "the minimum from which all that were"
	  " examined fit; null: none, or interrupted", .absence = FRAG_UNLESS_MAX },
	{ "examined_to", FRAG_TYPE_CAPACITY, FIT(examined_to), "all below were examined; null: all"
	  " there are", .absence = FRAG_UNLESS_MAX },
	{ "no_refusal", FRAG_TYPE_CAPACITY, FIT(no_refusal), "the minimum from which no request was"
	  " refused", .absence = FRAG_UNLESS_MAX },
	{ "failing_ranges", FRAG_TYPE_LIST,
	  FRAG_ARRAY_VIA(fit_view, fitted, fitted, fit.failing, fit.failing_count), "above smallest:"
	  " from the first it fails, at the second it fits again, or nothing further was examined;"
	  " null: no end", .items = FRAG_TYPE_RANGE },
	FRAG_CLAIM_FIELDS(FIT_CLAIM),
	{ 0 },
};

const struct frag_field frag_unlimited_fields[] = {
	{ "requested", FRAG_TYPE_BYTES, FRAG_VIA(fit_view, fitted, fitted, unlimited.peak_requested),
	  "peak" },
	{ "reserved", FRAG_TYPE_BYTES, FRAG_VIA(fit_view, unlimited, fitted, unlimited.peak_reserved),
	  "peak without a limit; null: it fails", .nullable = true },
	{ 0 },
};

const struct frag_field frag_fit_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE, frag_capacity_fields),
	{ "at_smallest", FRAG_TYPE_OBJECT, FRAG_WHOLE, "its run there; null: there is no such capacity",
	  .each = at_smallest, .fields = outcome_fields, .nullable = true },
	{ "at_reliable", FRAG_TYPE_OBJECT, FRAG_WHOLE, .each = at_reliable, .fields = outcome_fields,
	  .nullable = true },
	{ "runs", FRAG_TYPE_COUNT, FIT(runs), "capacities that were simulated" },
	{ "static_room", FRAG_TYPE_CAPACITY, FIT(headroom), "that others can hold of total_bytes; null:"
	  " not requested, or it does not fit there", .absence = FRAG_UNLESS_MAX },
	FRAG_EVIDENCE_FIELD(FRAG_WHOLE_VIA(fit_view, choice)),
	{ "why", FRAG_TYPE_TEXT, FRAG_VIA(fit_view, fitted, fitted, intervals.why), "the failure of the"
	  " policy on the first capacity that has one; null: none has", .nullable = true },
	{ 0 },
};

void frag_fit_view_make(struct frag_fit_view *view, const struct frag_fits *fits,
			const struct frag_fitted *one, bool map)
{
	const struct frag_fit_source *source = &fits->sources[one->source];

	*view = (struct frag_fit_view){
		.fits = fits, .fitted = one, .choice = &source->choices[one->choice], .map = map,
		.device = { one->device, source->devices[one->device] },
		.unlimited = one->unlimited.fits ? one : NULL,
	};
	view->device.figures.total = fits->device_total;
}
