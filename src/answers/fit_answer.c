/* fit_answer.c - what fragsim fit found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "device/known_cards.h"
#include "documents/document_head.h"
#include "answers/fit_members.h"
#include "policy/configure_events.h"
#include "answers/fit_words.h"
#include "answers/color.h"
#include "answers/table.h"
#include "answers/wrap_lines.h"

static void frag_fit_print_cards(const struct frag_fit_answer *answer,
				 const struct frag_text_style *paper, FILE *f);

#define NAME_MIN 8
#define FIGURES 56              /* columns beside the name */
#define HOLES_MAX 4             /* that are named; of more the last is */
#define HOLES_ROOM 600

static int name_width(const struct frag_fit_answer *a, const struct frag_text_style *paper)
{
	size_t width = NAME_MIN;
	char name[FRAG_FIT_NAME_ROOM];

	for (uint32_t i = 0; i < a->fits->count; i++) {
		const size_t n = strlen(frag_fit_name(a->fits, &a->fits->fitted[i], name));

		width = n > width ? n : width;
	}
	if (paper->columns && width + FIGURES > (size_t)paper->columns)
		width = paper->columns > FIGURES + NAME_MIN ? (size_t)paper->columns - FIGURES
							    : NAME_MIN;
	return (int)width;
}

static void print_name(const char *name, int width, FILE *f)
{
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width, "");
	else
		fprintf(f, "%-*s", width, name);
}

static void fit_print_capacity(uint64_t bytes, FILE *f)
{
	fprintf(f, "  %11s", bytes == UINT64_MAX ? "-" : CAPACITY(bytes));
}

static void fit_print_row(const struct frag_fit_answer *a, const struct frag_fitted *one,
			  const struct frag_text_style *paper, int width, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	const bool good = fit->smallest != UINT64_MAX;
	char name[FRAG_FIT_NAME_ROOM];

	print_name(frag_fit_name(a->fits, one, name), width, f);
	if (!good)
		fputs(frag_color_code(paper->colour, INK_RED), f);
	fit_print_capacity(fit->smallest, f);
	if (!good)
		fputs(frag_color_code(paper->colour, INK_PLAIN), f);
	fit_print_capacity(fit->safe, f);
	if (!good) {
		fprintf(f, "  %10s  %7s  %7s\n", "-", "-", "-");
		return;
	}
	frag_fprintf(f, "  %+9.1f%%  %7" PRIu64 "  %7" PRIu64 "\n",
		     frag_fit_above_floor(fit), fit->at_smallest.calls, fit->at_smallest.retries);
}

static void fit_print_table(const struct frag_fit_answer *a, uint32_t source,
			    const struct frag_text_style *paper, FILE *f)
{
	const int width = name_width(a, paper);

	fprintf(f, "\n%-*s  %11s  %11s  %10s  %7s  %7s\n", width, "setting", "smallest", "safe",
		"over floor", "calls", "retries");
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			fit_print_row(a, &a->fits->fitted[i], paper, width, f);
}

/* ", from 2966MiB to below 2972MiB and from 2974MiB on" */
static void list_holes(const struct frag_fit *fit, char out[HOLES_ROOM])
{
	const uint32_t shown = fit->hole_count > HOLES_MAX ? HOLES_MAX : fit->hole_count;
	char from[FRAG_NUMBER_ROOM], to[FRAG_NUMBER_ROOM];
	size_t used = 0;

	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_failing_range *hole = &fit->holes[i];

		used += (size_t)snprintf(out + used, HOLES_ROOM - used, "%sfrom %s %s%s",
					 !i ? "" : i + 1 < fit->hole_count ? ", " : " and ",
					 frag_capacity_text(from, hole->from),
					 hole->to == UINT64_MAX ? "on" : "to below ",
					 hole->to == UINT64_MAX ? ""
								: frag_capacity_text(to, hole->to));
	}
	if (fit->hole_count > shown)
		snprintf(out + used, HOLES_ROOM - used,
			 " and in %" PRIu32 " more stretches, the last"
			 " from %s on",
			 fit->hole_count - shown,
			 frag_capacity_text(from, fit->holes[fit->hole_count - 1].from));
}

static void print_nowhere(const struct frag_fit *fit, const char *name,
			  const struct frag_text_style *paper, FILE *f)
{
	char bound[FRAG_NUMBER_ROOM];

	if (fit->at_most != UINT64_MAX)
		frag_put_row(
			paper->columns, "bound", f,
			"%s needs at most %s and at least %s; devices between the two were"
			" not simulated",
			name, frag_capacity_text(bound, fit->at_most),
			CAPACITY(fit->examined_to > fit->floor ? fit->examined_to : fit->floor));
	else if (!fit->runs && !fit->examined_to)
		frag_put_row(paper->columns, "none", f, "%s was not tried", name);
	else if (fit->examined_to == UINT64_MAX)
		frag_put_row(paper->columns, "none", f, "%s survives on no device, however large",
			      name);
	else
		frag_put_row(paper->columns, "none", f, "%s survives on no device below %s", name,
			      CAPACITY(fit->examined_to));
}

static bool has_words(const struct frag_fit_answer *a, const struct frag_fitted *one)
{
	return one->fit.smallest == UINT64_MAX || one->fit.hole_count || a->fits->room_total;
}

/* What the table cannot say of one, in words. */
static void print_words(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	char name[FRAG_FIT_NAME_ROOM], holes[HOLES_ROOM];
	char room[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM];

	frag_fit_name(a->fits, one, name);
	if (fit->smallest == UINT64_MAX)
		print_nowhere(fit, name, paper, f);
	if (fit->hole_count) {
		list_holes(fit, holes);
		frag_put_row(paper->columns, "holes", f, "%s survives on %s, and fails on larger"
			      " devices %s", name, frag_capacity_text(room, fit->smallest), holes);
	}
	if (!a->fits->room_total)
		return;
	frag_size_text(total, a->fits->room_total);
	if (fit->static_room == UINT64_MAX)
		frag_put_row(paper->columns, "room", f,
			     "%s does not survive on %s, with nobody else"
			     " on it",
			     name, total);
	else
		frag_put_row(paper->columns, "room", f,
			     "%s survives while others hold %s of %s from"
			     " the first step on, a fraction of %.4f, or less",
			     name, frag_capacity_text(room, fit->static_room), total,
			     (double)fit->static_room / (double)a->fits->room_total);
}

/* " (a context of 450.00 MiB and 1.00 GiB of others among it)" */
static void describe_taken(const struct frag_device_figures *d, char *out, size_t room)
{
	char context[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM];

	*out = '\0';
	if (d->context || d->other)
		snprintf(out, room, " (%s%s%s%s%s among it)", d->context ? "a context of " : "",
			 d->context ? frag_size_text(context, d->context) : "",
			 d->context && d->other ? " and " : "",
			 d->other ? frag_size_text(other, d->other) : "",
			 d->other ? " of others" : "");
}

static void print_floor(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *paper, FILE *f)
{
	char taken[200];

	describe_taken(&a->fits->sources[one->source].devices[one->device], taken, sizeof(taken));
	frag_put_row(paper->columns, "floor", f, "%s: so much is in use at once%s, so nothing less"
		      " will do", CAPACITY(one->fit.floor), taken);
}

static void print_source(const struct frag_fit_answer *a, uint32_t source,
			 const struct frag_text_style *paper, FILE *f)
{
	char path[FRAG_PRINTABLE_ROOM];
	uint32_t last = UINT32_MAX;

	fprintf(f, "%s%s%s%s: the smallest device\n", source ? "\n" : "",
		frag_color_code(paper->colour, INK_BOLD),
		frag_printable(path, frag_input_name(a->traces[source]->path)),
		frag_color_code(paper->colour, INK_PLAIN));
	for (uint32_t i = 0; i < a->fits->count; i++) {
		const struct frag_fitted *one = &a->fits->fitted[i];

		if (one->source != source || one->choice || one->device == last)
			continue;
		print_floor(a, one, paper, f);
		last = one->device;
	}
	fit_print_table(a, source, paper, f);
	for (uint32_t i = 0, said = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source && has_words(a, &a->fits->fitted[i])) {
			fputs(said++ ? "" : "\n", f);
			print_words(a, &a->fits->fitted[i], paper, f);
		}
}

static void print_joint(const struct frag_fit_answer *a, const struct frag_text_style *paper,
			FILE *f)
{
	const int width = name_width(a, paper);
	char name[FRAG_FIT_NAME_ROOM];

	if (!a->fits->joint_count)
		return;
	fprintf(f, "\n%sall traces%s: the smallest device for each of them\n\n%-*s  %11s  %11s\n",
		frag_color_code(paper->colour, INK_BOLD), frag_color_code(paper->colour, INK_PLAIN),
		width, "setting", "smallest", "safe");
	for (uint32_t i = 0; i < a->fits->joint_count; i++) {
		const struct frag_fitted *one = &a->fits->joint[i];

		print_name(frag_fit_name(a->fits, one, name), width, f);
		fit_print_capacity(one->fit.smallest, f);
		fit_print_capacity(one->fit.safe, f);
		putc('\n', f);
	}
}

static int fit_print(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_fit_answer *a = what;

	(void)err;
	if (a->interrupted)
		fputs(a->time_up ? FRAG_TIME_UP_TEXT : FRAG_INTERRUPTED_TEXT, f);
	for (uint32_t i = 0; i < a->fits->source_count; i++)
		print_source(a, i, paper, f);
	print_joint(a, paper, f);
	frag_fit_print_cards(a, paper, f);
	if (a->fits->source_count != 1)
		return 0;
	putc('\n', f);
	frag_put_wrapped(paper->columns, "", "another run of the program may need more: fit several"
		  " traces of it, or leave 5 % of room", f);
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = fit_print };

#define NONE UINT64_MAX
#define SHOWN 3                 /* cards that do, and half as many that do not */
#define LIST_ROOM 400

/* What a setting needs of a card, where one of the kind stands for each device of the trace. */
struct need {
	uint64_t smallest, safe;        /* NONE: it survives on none */
	uint64_t examined_to;           /* NONE: on all there are */
	bool known;
};

static const struct frag_fitted *rows_of(const struct frag_fits *fits, uint32_t *count)
{
	*count = fits->joint_count ? fits->joint_count : fits->source_count == 1 ? fits->count : 0;
	return fits->joint_count ? fits->joint : fits->fitted;
}

static struct need need_of(const struct frag_fits *fits, uint32_t choice)
{
	struct need need = { .examined_to = NONE };
	uint32_t count;
	const struct frag_fitted *rows = rows_of(fits, &count);

	for (const struct frag_fitted *one = rows; one < rows + count; one++) {
		if (one->choice != choice)
			continue;
		need.known = true;
		need.smallest =
			one->fit.smallest > need.smallest ? one->fit.smallest : need.smallest;
		need.safe = one->fit.safe > need.safe ? one->fit.safe : need.safe;
		if (one->fit.examined_to < need.examined_to)
			need.examined_to = one->fit.examined_to;
	}
	return need;
}

/* The smallest from which on all that were examined survive. Capacities that are no whole number
 * of pages are as good as the next below that is one. */
static uint32_t list_holding(const struct need *need, char out[LIST_ROOM])
{
	uint32_t count = 0;
	size_t used = 0;

	for (const struct frag_card *c = frag_cards; c->key && count < SHOWN; c++)
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
	for (c = end; c > frag_cards && count < SHOWN / 2 + 1; count++) {
		c--;
		used += (size_t)snprintf(out + used, LIST_ROOM - used, "%s%s (%s)",
					 count ? ", " : "", c->key, SIZE(c->bytes));
	}
	return count;
}

static uint32_t find_best(const struct frag_fits *fits)
{
	uint32_t best = UINT32_MAX;
	uint64_t safe = NONE;

	for (uint32_t i = 0; i < fits->choice_count; i++) {
		const struct need need = need_of(fits, i);

		if (need.known && need.safe < safe) {
			safe = need.safe;
			best = i;
		}
	}
	return best;
}

static bool counts_contexts(const struct frag_fits *fits)
{
	const struct frag_fit_source *source = fits->sources;

	for (uint32_t i = 0; i < fits->count; i++)
		if (!source[fits->fitted[i].source].devices[fits->fitted[i].device].context)
			return false;
	return true;
}

/* Those that hold it with the best setting, and those that do not with what one has. */
static void print_cards(const struct frag_fits *fits, uint32_t best,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_choice *choices = fits->sources[0].choices;
	const struct need need = need_of(fits, best), usual = need_of(fits, 0);
	char cards[LIST_ROOM];
	const bool any = list_holding(&need, cards) > 0;

	putc('\n', f);
	if (any)
		frag_put_row(paper->columns, "cards", f, "large enough for %s: %s%s",
			      frag_choice_label(&choices[best]), cards,
			      need.examined_to == NONE ? " and all larger ones" : "");
	if (list_failing(&usual, cards))
		frag_put_row(paper->columns, any ? "" : "cards", f, "too small for %s: %s",
			      frag_choice_label(&choices[0]), cards);
	if (!counts_contexts(fits))
		frag_put_row(paper->columns, "context", f, "a CUDA context takes memory of the card"
			      " too, and none is counted here: --context-bytes SIZE counts it");
}

static void frag_fit_print_cards(const struct frag_fit_answer *a,
				 const struct frag_text_style *paper, FILE *f)
{
	const uint32_t best = find_best(a->fits);

	if (best != UINT32_MAX)
		print_cards(a->fits, best, paper, f);
}

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
	frag_cell_bytes(t, fit->static_room);
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

/* Of the capacity it has what others are promised to leave, where that is asked for. */
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

/* The walk's own: a joint one asked for capacities above, and for others of its own lattice. */
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
	frag_document_device(o, &source->devices[one->device], one->device, fits->room_total);
	put_capacities(o, fit);
	/* an interruption may have come before their peaks were looked for */
	put_outcome(o, "at_smallest", fit->peaks && fit->smallest != NONE, &fit->at_smallest,
		    fits->model != NULL);
	put_outcome(o, "at_reliable", fit->peaks && fit->safe != NONE, &fit->at_safe,
		    fits->model != NULL);
	frag_json_u64(o, "runs", fit->runs);
	put_capacity(o, "static_room", fit->static_room);
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
	frag_document_device(o, &source->devices[one->device], one->device, fits->room_total);
	put_capacities(o, &one->fit);
	frag_json_u64(o, "runs", one->fit.runs);
}

/* Below it nothing survives on all that was fitted. */
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
