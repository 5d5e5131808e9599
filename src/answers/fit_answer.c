/* fit_answer.c - what fragsim fit found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "base/format.h"
#include "base/output_path.h"
#include "device/known_cards.h"
#include "documents/document_head.h"
#include "policy/configure_events.h"
#include "answers/table.h"
#include "answers/fit_answer.h"

static bool many_devices(const struct frag_fits *fits)
{
	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].device != fits->fitted[0].device)
			return true;
	return false;
}

const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM])
{
	const struct frag_choice *choice = &fits->sources[one->source].choices[one->choice];

	if (many_devices(fits))
		frag_format_printable(buf, FRAG_FIT_NAME_ROOM, "%s @%u", frag_choice_label(choice),
				      one->device);
	else
		frag_format_printable(buf, FRAG_FIT_NAME_ROOM, "%s", frag_choice_label(choice));
	return buf;
}

/* By how many percent the smallest device exceeds the lower bound. */
static double above_lower_bound(const struct frag_fit *fit)
{
	if (!fit->floor)
		return 0;
	return 100 * ((double)fit->smallest / (double)fit->floor - 1);
}

#define NAME_MIN 8
#define FIGURES 69              /* columns after the name */
#define RANGES_SHOWN 4          /* failing ranges that are listed; of more the last is */
#define RANGES_ROOM 600
#define NONE UINT64_MAX
#define CARDS_SHOWN 3           /* cards that fit, and half as many that do not */
#define LIST_ROOM 400
#define PHRASE_ROOM (FRAG_FIT_NAME_ROOM + 80)

/* The requirement of a setting, where one card of a kind stands for each device of the trace. */
struct need {
	uint64_t smallest, safe;        /* NONE: no device fits */
	uint64_t at_most;               /* NONE: no device is known to fit */
	uint64_t examined_to;           /* NONE: all there are */
	bool known;
};

static bool is_shown(const struct frag_fit_answer *a, const struct frag_fitted *one)
{
	const struct frag_choice *choices = a->fits->sources[one->source].choices;

	return !a->usual || choices[one->choice].ops == choices[0].ops;
}

static int name_width(const struct frag_fit_answer *a, const struct frag_text_style *paper)
{
	size_t width = NAME_MIN;
	char name[FRAG_FIT_NAME_ROOM];

	for (uint32_t i = 0; i < a->fits->count; i++) {
		const size_t n = strlen(frag_fit_name(a->fits, &a->fits->fitted[i], name));

		width = n > width && is_shown(a, &a->fits->fitted[i]) ? n : width;
	}
	return frag_name_column(width, NAME_MIN, FIGURES, paper->columns);
}

static void fit_print_row(const struct frag_fit_answer *a, const struct frag_fitted *one,
			  const struct frag_text_style *paper, int width, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	const bool good = fit->smallest != NONE;
	char name[FRAG_FIT_NAME_ROOM];

	frag_put_name(frag_fit_name(a->fits, one, name), width, 0, f);
	if (!good)
		fputs(frag_color_code(paper->colour, INK_RED), f);
	frag_put_capacity(fit->smallest, f);
	if (!good)
		fputs(frag_color_code(paper->colour, INK_PLAIN), f);
	frag_put_capacity(fit->safe, f);
	if (!good) {
		fprintf(f, "  %11s  %12s  %7s\n", "-", "-", "-");
		return;
	}
	frag_fprintf(f, "  %+9.1f %%  %12" PRIu64 "  %7" PRIu64 "\n",
		     above_lower_bound(fit), fit->at_smallest.calls, fit->at_smallest.retries);
}

static void fit_print_table(const struct frag_fit_answer *a, uint32_t source,
			    const struct frag_text_style *paper, FILE *f)
{
	const int width = name_width(a, paper);

	fprintf(f, "%-*s  %11s  %11s  %11s  %12s  %7s\n", width, "setting", "smallest", "reliable",
		"above bound", "driver calls", "retries");
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source && is_shown(a, &a->fits->fitted[i]))
			fit_print_row(a, &a->fits->fitted[i], paper, width, f);
}

/* "2966 MiB to 2970 MiB and 2974 MiB and larger" */
static void list_failing_ranges(const struct frag_fit *fit, char out[RANGES_ROOM])
{
	const uint32_t shown = fit->hole_count > RANGES_SHOWN ? RANGES_SHOWN : fit->hole_count;
	char from[FRAG_NUMBER_ROOM], to[FRAG_NUMBER_ROOM];
	size_t used = 0;

	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_failing_range *range = &fit->holes[i];

		used += (size_t)snprintf(out + used, RANGES_ROOM - used, "%s%s %s%s",
					 !i ? "" : i + 1 < fit->hole_count ? ", " : " and ",
					 frag_capacity_text(from, range->from),
					 range->to == NONE ? "and larger" : "to below ",
					 range->to == NONE ? ""
							   : frag_capacity_text(to, range->to));
	}
	if (fit->hole_count > shown)
		snprintf(out + used, RANGES_ROOM - used,
			 " and %" PRIu32 " more ranges, the last from %s",
			 fit->hole_count - shown,
			 frag_capacity_text(from, fit->holes[fit->hole_count - 1].from));
}

static void print_nowhere(const struct frag_fit *fit, const char *name,
			  const struct frag_text_style *paper, FILE *f)
{
	char bound[FRAG_NUMBER_ROOM];

	if (fit->at_most != NONE)
		frag_put_row(paper->columns, "at most", f,
			     "%s requires at most %s and at least %s; devices between the two"
			     " were not simulated",
			     name, frag_capacity_text(bound, fit->at_most),
			     CAPACITY(fit->examined_to > fit->floor ? fit->examined_to
								    : fit->floor));
	else if (!fit->runs && !fit->examined_to)
		frag_put_row(paper->columns, "none", f, "%s was not simulated", name);
	else if (fit->examined_to == NONE)
		frag_put_row(paper->columns, "none", f, "%s fits on no device, however large",
			     name);
	else
		frag_put_row(paper->columns, "none", f, "%s fits on no device below %s", name,
			     CAPACITY(fit->examined_to));
}

/* Memory that other processes can hold, also as the option of an inference server. */
static void print_headroom(const struct frag_fit *fit, const char *name, uint64_t total,
			   const struct frag_text_style *paper, FILE *f)
{
	char room[FRAG_NUMBER_ROOM];

	if (fit->headroom == NONE)
		frag_put_row(paper->columns, "headroom", f, "%s does not fit on %s, even with no"
			     " other process on it", name, SIZE(total));
	else
		frag_put_row(paper->columns, "headroom", f,
			     "%s leaves %s of %s to others from the first step on; for a server:"
			     " --gpu-memory-utilization %.4f", name,
			     frag_capacity_text(room, fit->headroom), SIZE(total),
			     /* never rounded up */
			     floor((double)fit->headroom / (double)total * 1e4) / 1e4);
}

/* Rows about one setting that the table has no column for. */
static void print_words(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	char name[FRAG_FIT_NAME_ROOM], ranges[RANGES_ROOM];

	if (!is_shown(a, one))
		return;
	frag_fit_name(a->fits, one, name);
	if (fit->smallest == NONE)
		print_nowhere(fit, name, paper, f);
	if (fit->hole_count) {
		list_failing_ranges(fit, ranges);
		frag_put_row(paper->columns, "failing", f, "%s fits on %s, but fails on the larger"
			     " %s", name, CAPACITY(fit->smallest), ranges);
	}
	if (a->fits->headroom_total)
		print_headroom(fit, name, a->fits->headroom_total, paper, f);
}

static void print_bound(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_device_figures *d = &a->fits->sources[one->source].devices[one->device];
	char context[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM];

	frag_put_row(paper->columns, "bound", f,
		     "%s: peak requested%s%s%s%s, rounded up to a granularity of %s; no allocator"
		     " fits below", CAPACITY(one->fit.floor),
		     d->context ? " + context " : "",
		     d->context ? frag_size_text(context, d->context) : "",
		     d->other ? " + other processes " : "",
		     d->other ? frag_size_text(other, d->other) : "", SIZE(d->granularity));
}

static void print_source(const struct frag_fit_answer *a, uint32_t source,
			 const struct frag_text_style *paper, FILE *f)
{
	char path[FRAG_PRINTABLE_ROOM];
	uint32_t last = UINT32_MAX;

	if (a->fits->source_count > 1)
		fprintf(f, "\n%s%s%s\n", frag_color_code(paper->colour, INK_BOLD),
			frag_printable(path, frag_input_name(a->traces[source]->path)),
			frag_color_code(paper->colour, INK_PLAIN));
	for (uint32_t i = 0; i < a->fits->count; i++) {
		const struct frag_fitted *one = &a->fits->fitted[i];

		if (one->source != source || one->choice || one->device == last)
			continue;
		print_bound(a, one, paper, f);
		last = one->device;
	}
	fit_print_table(a, source, paper, f);
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			print_words(a, &a->fits->fitted[i], paper, f);
}

static void print_joint(const struct frag_fit_answer *a, const struct frag_text_style *paper,
			FILE *f)
{
	const int width = name_width(a, paper);
	char name[FRAG_FIT_NAME_ROOM];

	if (!a->fits->joint_count)
		return;
	fprintf(f, "%-*s  %11s  %11s\n", width, "setting", "smallest", "reliable");
	for (uint32_t i = 0; i < a->fits->joint_count; i++) {
		const struct frag_fitted *one = &a->fits->joint[i];

		if (!is_shown(a, one))
			continue;
		frag_put_name(frag_fit_name(a->fits, one, name), width, 0, f);
		frag_put_capacity(one->fit.smallest, f);
		frag_put_capacity(one->fit.safe, f);
		putc('\n', f);
	}
}

static const struct frag_fitted *rows_of(const struct frag_fits *fits, uint32_t *count)
{
	*count = fits->joint_count ? fits->joint_count : fits->source_count == 1 ? fits->count : 0;
	return fits->joint_count ? fits->joint : fits->fitted;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct need need_of(const struct frag_fits *fits, uint32_t choice)
{
	struct need need = { .examined_to = NONE };
	uint32_t count;
	const struct frag_fitted *rows = rows_of(fits, &count);

	for (const struct frag_fitted *one = rows; one < rows + count; one++) {
		const struct frag_fit *fit = &one->fit;

		if (one->choice != choice)
			continue;
		need.known = true;
		need.smallest = higher(need.smallest, fit->smallest);
		need.safe = higher(need.safe, fit->safe);
		need.at_most = higher(need.at_most, fit->smallest == NONE ? fit->at_most
									  : fit->smallest);
		if (fit->examined_to < need.examined_to)
			need.examined_to = fit->examined_to;
	}
	return need;
}

/* Of the settings of the first policy: another policy cannot be pasted. */
static uint32_t find_best(const struct frag_fit_answer *a)
{
	const struct frag_choice *choices = a->fits->sources[0].choices;
	uint32_t best = UINT32_MAX;
	uint64_t safe = NONE;

	for (uint32_t i = 0; i < a->fits->choice_count; i++) {
		const struct need need = need_of(a->fits, i);

		if (need.known && need.safe < safe && choices[i].ops == choices[0].ops) {
			safe = need.safe;
			best = i;
		}
	}
	return best;
}

/* "3328 MiB with expandable_segments:True (3342 MiB reliably)" */
static char *phrase(const struct frag_fits *fits, uint32_t choice, char out[PHRASE_ROOM])
{
	const struct need need = need_of(fits, choice);
	const char *label = frag_choice_label(&fits->sources[0].choices[choice]);
	const char *before = "";
	char bytes[FRAG_NUMBER_ROOM] = "none", reliable[FRAG_NUMBER_ROOM + 16] = "";

	if (need.known && need.smallest != NONE) {
		frag_capacity_text(bytes, need.smallest);
		if (need.safe != NONE && need.safe != need.smallest)
			snprintf(reliable, sizeof(reliable), " (%s reliably)", CAPACITY(need.safe));
	} else if (need.known && need.at_most != NONE) {
		before = "at most ";
		frag_capacity_text(bytes, need.at_most);
	} else if (!need.known || need.examined_to != NONE) {
		before = "none found";
		*bytes = '\0';
	}
	frag_format_printable(out, PHRASE_ROOM, "%s%s with %s%s", before, bytes,
			      strcmp(label, "default") == 0 ? "the default settings" : label,
			      reliable);
	return out;
}

/* The verdict, and the setting to copy where it is not what the program has. */
static void print_answer(const struct frag_fit_answer *a, uint32_t best,
			 const struct frag_text_style *paper, FILE *f)
{
	const struct frag_fits *fits = a->fits;
	const bool several = fits->source_count > 1, found = best != UINT32_MAX;
	const struct frag_choice *choice = &fits->sources[0].choices[found ? best : 0];
	char one[PHRASE_ROOM], usual[PHRASE_ROOM], conf[FRAG_CONF_ROOM], text[2 * PHRASE_ROOM + 40];

	snprintf(text, sizeof(text), "SMALLEST DEVICE%s: %s%s%s", several ? " for all traces" : "",
		 phrase(fits, found ? best : 0, one), found && best ? ", " : "",
		 found && best ? phrase(fits, 0, usual) : "");
	frag_put_first_line(paper, found ? INK_BOLD : INK_RED, "", text, f);
	frag_conf_text(choice, conf, sizeof(conf));
	if (found && best && choice->ops->settings && *conf)
		fprintf(f, "  %-10s%sPYTORCH_CUDA_ALLOC_CONF=%s%s\n", "set",
			frag_color_code(paper->colour, INK_BOLD), conf,
			frag_color_code(paper->colour, INK_PLAIN));
	if (a->interrupted)
		frag_put_stopped(paper->columns, a->time_up, f);
}

/* The smallest cards from which on all that were examined fit. Capacities that are no whole
 * number of pages are as good as the next below that is one. */
static uint32_t list_holding(const struct need *need, char out[LIST_ROOM])
{
	uint32_t count = 0;
	size_t used = 0;

	for (const struct frag_card *c = frag_cards; c->key && count < CARDS_SHOWN; c++)
		if (c->bytes >= need->safe && c->bytes < need->examined_to)
			used += (size_t)snprintf(out + used, LIST_ROOM - used, "%s%s (%s)",
						 count++ ? ", " : "", c->key,
						 SIZE(c->bytes));
	return count;
}

/* The largest that are known to be too small. */
static uint32_t list_failing(const struct need *need, char out[LIST_ROOM])
{
	const struct frag_card *end = frag_cards, *c;
	uint32_t count = 0;
	size_t used = 0;

	while (end->key && end->bytes < need->smallest && end->bytes < need->examined_to)
		end++;
	for (c = end; c > frag_cards && count < CARDS_SHOWN / 2 + 1; count++) {
		c--;
		used += (size_t)snprintf(out + used, LIST_ROOM - used, "%s%s (%s)",
					 count ? ", " : "", c->key, SIZE(c->bytes));
	}
	return count;
}

static bool counts_contexts(const struct frag_fits *fits)
{
	const struct frag_fit_source *source = fits->sources;

	for (uint32_t i = 0; i < fits->count; i++)
		if (!source[fits->fitted[i].source].devices[fits->fitted[i].device].context)
			return false;
	return true;
}

/* Cards that fit with the best setting, and those too small for what the program has. */
static void print_cards(const struct frag_fits *fits, uint32_t best,
			const struct frag_text_style *paper, FILE *f)
{
	const struct need need = need_of(fits, best), usual = need_of(fits, 0);
	char fitting[LIST_ROOM], failing[LIST_ROOM];
	const bool any = list_holding(&need, fitting) > 0, none = list_failing(&usual, failing) > 0;
	const bool counted = counts_contexts(fits);

	if (any || none)
		frag_put_row(paper->columns, "cards", f, "%s%s%s%s%s%s%s%s%s", any ? "fits: " : "",
			     any ? fitting : "", any && need.examined_to == NONE ? " and larger" : "",
			     any && none ? "; " : "", none ? "too small for " : "",
			     none ? frag_choice_label(&fits->sources[0].choices[0]) : "",
			     none ? ": " : "", none ? failing : "",
			     counted ? "" : "; --context-bytes SIZE adds a CUDA context");
	else if (!counted)
		frag_put_row(paper->columns, "context", f, "not counted; --context-bytes SIZE adds"
			     " that of CUDA");
}

/* Of each policy that is shown, once. */
static void print_evidence(const struct frag_fit_answer *a, const struct frag_text_style *paper,
			   FILE *f)
{
	const struct frag_choice *choices = a->fits->sources[0].choices;

	for (uint32_t i = 0; i < a->fits->choice_count; i++)
		if (!i || (!a->usual && choices[i].ops != choices[i - 1].ops))
			frag_put_evidence(paper->columns, &choices[i], "", f);
}

static int fit_print(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_fit_answer *a = what;
	const uint32_t best = find_best(a);

	(void)err;
	print_answer(a, best, paper, f);
	print_joint(a, paper, f);
	for (uint32_t i = 0; i < a->fits->source_count; i++)
		print_source(a, i, paper, f);
	if (a->fits->source_count > 1 && best != UINT32_MAX)
		putc('\n', f);
	if (best != UINT32_MAX)
		print_cards(a->fits, best, paper, f);
	print_evidence(a, paper, f);
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = fit_print };

static const struct frag_column columns[] = {
	{ "trace", "trace", FRAG_CELL_TEXT },
	{ NULL, "setting", FRAG_CELL_TEXT },
	{ "policy", NULL, FRAG_CELL_TEXT },
	{ "alloc_conf", NULL, FRAG_CELL_TEXT },
	{ "device", NULL, FRAG_CELL_COUNT },
	{ "lower_bound", NULL, FRAG_CELL_CAPACITY },
	{ "smallest", "smallest", FRAG_CELL_CAPACITY },
	{ "reliable", "reliable", FRAG_CELL_CAPACITY },
	{ NULL, "lower bound", FRAG_CELL_CAPACITY },
	{ "examined_to", NULL, FRAG_CELL_CAPACITY },
	{ "no_refusal", NULL, FRAG_CELL_CAPACITY },
	{ "failing_ranges", NULL, FRAG_CELL_COUNT },
	{ "calls", "calls", FRAG_CELL_COUNT },
	{ "refused", NULL, FRAG_CELL_COUNT },
	{ "retries", "retries", FRAG_CELL_COUNT },
	{ "peak_reserved", NULL, FRAG_CELL_CAPACITY },
	{ NULL, "failing ranges", FRAG_CELL_COUNT },
	{ "runs", NULL, FRAG_CELL_COUNT },
	{ "static_room", NULL, FRAG_CELL_CAPACITY },
	{ 0 },
};

static void put_attempt(struct frag_table *t, uint64_t value, bool there)
{
	if (there)
		frag_cell(t, true, value);
	else
		frag_cell_none(t);
}

/* The cells of one setting on one device, in the order of the columns. */
static void fit_put_row(struct frag_table *t, const struct frag_fit_answer *a,
			const struct frag_fitted *one, bool joint)
{
	const struct frag_choice *choice = &a->fits->sources[one->source].choices[one->choice];
	const struct frag_fit *fit = &one->fit;
	const bool there = (fit->peaks || !t->csv) && !joint && fit->smallest != UINT64_MAX;
	char name[FRAG_FIT_NAME_ROOM], conf[FRAG_CONF_ROOM];

	frag_conf_text(choice, conf, sizeof(conf));
	frag_cell_text(t, joint ? "all" : a->traces[one->source]->path);
	frag_cell_text(t, frag_fit_name(a->fits, one, name));
	frag_cell_text(t, choice->text);
	frag_cell_text(t, conf);
	frag_cell(t, true, one->device);
	frag_cell_bytes(t, fit->floor);
	frag_cell_bytes(t, fit->smallest);
	frag_cell_bytes(t, fit->safe);
	frag_cell_bytes(t, fit->floor);
	frag_cell_bytes(t, fit->examined_to);
	frag_cell_bytes(t, fit->no_refusal);
	frag_cell(t, true, fit->hole_count);
	put_attempt(t, fit->at_smallest.calls, there);
	put_attempt(t, fit->at_smallest.refused, there);
	put_attempt(t, fit->at_smallest.retries, there);
	put_attempt(t, fit->at_smallest.peak_reserved, there);
	frag_cell(t, true, fit->hole_count);
	frag_cell(t, true, fit->runs);
	frag_cell_bytes(t, fit->headroom);
}

static void fit_fill(struct frag_table *t, const void *what)
{
	const struct frag_fit_answer *a = what;

	for (uint32_t i = 0; i < a->fits->count; i++)
		fit_put_row(t, a, &a->fits->fitted[i], false);
	for (uint32_t i = 0; i < a->fits->joint_count && !t->csv; i++)
		fit_put_row(t, a, &a->fits->joint[i], true);
}

static const struct frag_table_rows rows = { columns, fit_fill };

const struct frag_format *const frag_fit_formats[] = {
	&text_format, FRAG_ANSWER_FORMS("fit", frag_fit_document, &rows),
};


static void put_capacity(struct frag_node_ref in, const char *key, uint64_t bytes)
{
	frag_json_u64_or_null(in, key, bytes != NONE, bytes);
}

static void put_conf(struct frag_node_ref in, const struct frag_choice *choice)
{
	char conf[FRAG_CONF_ROOM];

	frag_conf_text(choice, conf, sizeof(conf));
	frag_json_text(in, "alloc_conf", choice->ops->settings ? conf : NULL);
}

/* The simulation on one capacity, as an object; null where it was not simulated. */
static void put_outcome(struct frag_node_ref in, const char *key, bool there,
			const struct frag_attempt *outcome, bool modelled)
{
	struct frag_node_ref o;

	if (!there) {
		frag_json_null(in, key);
		return;
	}
	o = frag_json_object(in, key);
	frag_json_u64(o, "calls", outcome->calls);
	frag_json_u64(o, "refused", outcome->refused);
	frag_json_u64(o, "retries", outcome->retries);
	frag_json_u64(o, "peak_reserved", outcome->peak_reserved);
	frag_json_u64_or_null(o, "driver_ns", modelled, outcome->driver_ns);
}

static void put_holes(struct frag_node_ref in, const struct frag_fit *fit)
{
	struct frag_node_ref list = frag_json_array(in, "failing_ranges"), hole;

	for (uint32_t i = 0; i < fit->hole_count; i++) {
		hole = frag_json_array(list, NULL);
		frag_json_u64(hole, NULL, fit->holes[i].from);
		put_capacity(hole, NULL, fit->holes[i].to);
	}
}

static void put_interval(struct frag_node_ref list, const struct frag_interval *k)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "least", k->least);
	put_capacity(o, "beyond", k->beyond);
	frag_json_text(o, "status", frag_run_status_name(k->outcome.survives ? FRAG_RUN_OK
								  : FRAG_RUN_OOM));
	frag_json_u64_or_null(o, "oom_step", !k->outcome.survives, k->outcome.oom_step);
	frag_json_u64(o, "calls", k->outcome.calls);
	frag_json_u64(o, "retries", k->outcome.retries);
}

/* The intervals of this search: a joint search adds capacities of other granularities. */
static void put_map(struct frag_node_ref in, const struct frag_fit_intervals *s, uint64_t runs)
{
	struct frag_node_ref list = frag_json_array(in, "map");

	for (const struct frag_interval *k = s->intervals; runs && k < s->intervals + s->count; k++)
		if (frag_subject_lattice(&s->subject, k->least) < k->beyond) {
			put_interval(list, k);
			runs--;
		}
}

/* What a fit of one trace and a joint one have alike. */
static void put_capacities(struct frag_node_ref in, const struct frag_fit *fit)
{
	put_capacity(in, "smallest", fit->smallest);
	put_capacity(in, "at_most", fit->at_most);
	put_capacity(in, "reliable", fit->safe);
	put_capacity(in, "examined_to", fit->examined_to);
	put_capacity(in, "no_refusal", fit->no_refusal);
	put_holes(in, fit);
}

void frag_document_choice(struct frag_node_ref in, const struct frag_choice *choice)
{
	frag_document_policy(in, choice);
	put_conf(in, choice);
}

void frag_fit_members(struct frag_node_ref o, const struct frag_fits *fits,
		      const struct frag_fitted *one, bool map)
{
	const struct frag_fit_source *source = &fits->sources[one->source];
	const struct frag_fit *fit = &one->fit;

	frag_document_choice(o, &source->choices[one->choice]);
	frag_document_device(o, &source->devices[one->device], one->device, fits->headroom_total);
	put_capacities(o, fit);
	/* an interruption may have come before their peaks were measured */
	put_outcome(o, "at_smallest", fit->peaks && fit->smallest != NONE, &fit->at_smallest,
		    fits->model != NULL);
	put_outcome(o, "at_reliable", fit->peaks && fit->safe != NONE, &fit->at_safe,
		    fits->model != NULL);
	frag_json_u64(o, "runs", fit->runs);
	put_capacity(o, "static_room", fit->headroom);
	frag_document_evidence(o, &source->choices[one->choice]);
	if (map)
		put_map(o, &one->survival, fit->runs);
}

static void fit_put_fit(struct frag_node_ref list, const struct frag_fits *fits,
			const struct frag_fitted *one, bool map)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_json_u64(o, "trace", one->source);
	frag_fit_members(o, fits, one, map);
}

static void put_joint(struct frag_node_ref list, const struct frag_fits *fits,
		      const struct frag_fitted *one)
{
	const struct frag_fit_source *source = &fits->sources[0];
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_document_choice(o, &source->choices[one->choice]);
	frag_document_device(o, &source->devices[one->device], one->device, fits->headroom_total);
	put_capacities(o, &one->fit);
	frag_json_u64(o, "runs", one->fit.runs);
}

/* The largest lower bound: below it, some trace or device fails under every policy. */
static uint64_t highest_floor(const struct frag_fits *fits)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].fit.floor > highest)
			highest = fits->fitted[i].fit.floor;
	return highest;
}

void frag_fit_document(struct frag_node_ref root, const void *what)
{
	const struct frag_fit_answer *answer = what;
	const struct frag_fits *fits = answer->fits;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !answer->interrupted);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < fits->source_count; i++)
		frag_document_trace(list, NULL, answer->traces[i]);
	frag_json_u64(root, "granularity", fits->sources[0].devices[0].granularity);
	frag_json_u64(root, "lower_bound", highest_floor(fits));
	list = frag_json_array(root, "fits");
	for (uint32_t i = 0; i < fits->count; i++)
		fit_put_fit(list, fits, &fits->fitted[i], answer->map);
	list = frag_json_array(root, "joint");
	for (uint32_t i = 0; i < fits->joint_count; i++)
		put_joint(list, fits, &fits->joint[i]);
}
