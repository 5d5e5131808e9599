/* diff_traces.c - fragsim diff OLD NEW: why one recording, or a folder of ranks, reserves more. */
#include "cmd/diff_options.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers/answers.h"
#include "base/output_path.h"
#include "cmd/default_policy.h"
#include "cmd/interrupt.h"
#include "cmd/loaded_trace.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"
#include "search/trace_change.h"
#include "fragsim/error.h"
#include "base/array_grow.h"
#include "ranks/compare_ranks.h"

struct rank_folder {
	char **paths;           /* by rank, then by name; owned */
	uint64_t *ranks;        /* likewise: the numbers in the names, or 0, 1, ... */
	uint32_t count;
	bool named;             /* the names have numbers that differ */
};

/* What recordings end with, compressed or not. */
static const char *const endings[] = {
	".pickle", ".pkl", ".ndjson", ".jsonl", ".json", ".fsb", NULL,
};

static bool is_folder(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_recording(const char *name)
{
	size_t length = strlen(name);

	if (*name == '.')
		return false;
	if (length > 3 && strcmp(name + length - 3, ".gz") == 0)
		length -= 3;
	else if (length > 4 && strcmp(name + length - 4, ".zst") == 0)
		length -= 4;
	for (uint32_t i = 0; endings[i]; i++) {
		const size_t end = strlen(endings[i]);

		if (length > end && memcmp(name + length - end, endings[i], end) == 0)
			return true;
	}
	return false;
}

static int rank_folder_add(struct rank_folder *f, uint32_t *capacity, const char *folder,
			   const char *name, struct frag_error *err)
{
	const size_t room = strlen(folder) + strlen(name) + 2;
	const bool slash = *folder && folder[strlen(folder) - 1] == '/';

	if (!frag_grow(&f->paths, capacity, (uint64_t)f->count + 1, sizeof(*f->paths)))
		return frag_fail_nomem(err);
	f->paths[f->count] = malloc(room);
	if (!f->paths[f->count])
		return frag_fail_nomem(err);
	snprintf(f->paths[f->count++], room, "%s%s%s", folder, slash ? "" : "/", name);
	return 0;
}

static int rank_folder_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts by number: there are few files, and they are nearly sorted by name. */
static void sort_by_rank(struct rank_folder *f)
{
	for (uint32_t i = 1; i < f->count; i++)
		for (uint32_t k = i; k && f->ranks[k] < f->ranks[k - 1]; k--) {
			const uint64_t rank = f->ranks[k];
			char *const path = f->paths[k];

			f->ranks[k] = f->ranks[k - 1];
			f->paths[k] = f->paths[k - 1];
			f->ranks[k - 1] = rank;
			f->paths[k - 1] = path;
		}
}

/* Lists the recordings of a folder, in the order of their ranks. */
static int rank_folder_read(struct rank_folder *f, const char *path, struct frag_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	uint32_t capacity = 0;
	int rc = 0;

	*f = (struct rank_folder){ .count = 0 };
	if (!dir)
		return frag_fail(err, FRAG_ETRACE, "%s: %s", path, strerror(errno));
	while (!rc && (entry = readdir(dir)))
		if (is_recording(entry->d_name))
			rc = rank_folder_add(f, &capacity, path, entry->d_name, err);
	closedir(dir);
	if (!rc && !f->count)
		return frag_fail(err, FRAG_ETRACE, "%s: no recording in this folder (*.pickle,"
				 " *.ndjson, *.json or *.fsb, or those compressed)", path);
	f->ranks = rc ? NULL : calloc(f->count, sizeof(*f->ranks));
	if (!f->ranks)
		return rc ? rc : frag_fail_nomem(err);
	qsort(f->paths, f->count, sizeof(*f->paths), rank_folder_by_name);
	f->named = frag_rank_numbers((const char *const *)f->paths, f->count, f->ranks);
	sort_by_rank(f);
	return 0;
}

static void rank_folder_fini(struct rank_folder *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->ranks);
}

const char *const frag_trace_change_paths[] = {
	"change.reserved", "change.version", "change.settings", "change.requested",
	"change.rounding", "change.fragmentation", "reserved.version", "reserved.settings",
	"reserved.requested", "reserved.rounding", "reserved.fragmentation", NULL,
};

/* What standard input or a pipe has is known by reading it only: a result, as it always was. */
static bool may_have_runs(const char *path)
{
	struct stat about;

	if (strcmp(path, "-") == 0)
		return true;
	if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
		return true;
	return frag_file_has_runs(path);
}

bool frag_trace_change_is_wanted(const char *old, const char *now)
{
	return !may_have_runs(old) && !may_have_runs(now);
}

/* A `usual`: PyTorch's allocator as it was recorded. */
static int as_recorded(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		       const struct frag_trace *trace, const struct frag_log *log,
		       struct frag_error *err)
{
	*count = 1;
	return frag_choose_pytorch(&choices[0], trace, NULL, log, err);
}

/* The settings of a choice that another version knows; the others are named in a warning. */
static int keep_known_settings(struct frag_choice *out, const struct frag_choice *from,
			       uint64_t version, bool quiet, struct frag_error *err)
{
	char text[FRAG_CONF_ROOM], *rest = text;
	int rc = frag_choose_version(out, (uint32_t)version, err);

	frag_conf_text(from, text, sizeof(text));
	while (!rc && *rest) {
		int depth = 0;
		char *end = rest, warning[300];
		struct frag_choice more = *out;
		struct frag_error unknown;
		bool last;

		for (; *end && (*end != ',' || depth); end++)
			depth += (*end == '[') - (*end == ']');
		last = !*end;
		*end = '\0';
		if (frag_choice_settings(&more, rest, &unknown) == 0) {
			*out = more;
		} else if (!quiet) {
			snprintf(warning, sizeof(warning), "OLD's setting %.100s is omitted: PyTorch"
				 " 2.%u does not know it", rest, (unsigned)version);
			frag_warn(&quiet, warning);
		}
		rest = last ? end : end + 1;
	}
	return rc;
}

static bool same_params(const struct frag_choice *a, const struct frag_choice *b)
{
	return memcmp(a->param, b->param, sizeof(a->param)) == 0;
}

/* OLD under NEW's version, and under its settings too; only where that is another run. */
static int cross(struct frag_change_found *c, struct frag_choice crossed[2], bool quiet,
		 struct frag_error *err)
{
	const struct frag_choice *old = c->old.choice, *now = c->now.choice;
	int rc = 0;

	if (old->ops != &frag_policy_pytorch || now->ops != &frag_policy_pytorch
	    || same_params(old, now))
		return 0;
	crossed[0] = *old;
	if (old->param[VERSION] != now->param[VERSION]) {
		rc = keep_known_settings(&crossed[0], old, now->param[VERSION], quiet, err);
		c->as_version = &crossed[0];
	}
	crossed[1] = *now;
	if (!same_params(&crossed[0], now))
		c->as_both = &crossed[1];
	return rc;
}

static double change_value_at(const void *ctx, const char *path)
{
	const struct frag_change_found *c = ctx;

	path = strchr(path, '.') + 1;
	for (uint32_t i = 0; i < FRAG_PARTS; i++)
		if (strcmp(path, frag_change_part_names[i]) == 0)
			return (double)c->parts[i];
	return (double)c->reserved;
}

/* Two recordings, and what was found of them. */
struct compared {
	struct frag_loaded_trace taped[2];
	struct frag_choice crossed[2];
	struct frag_change_found change;
};

static void compared_fini(struct compared *p)
{
	frag_change_fini(&p->change);
	frag_taped_close(p->taped, 2);
	*p = (struct compared){ .change = { .stop = NULL } };
}

/* Reads both and compares them. Release it also where this fails. */
static int compare_two(struct compared *p, const char *const paths[2],
		       const struct frag_run_options *options, struct frag_error *err)
{
	struct frag_change_side *sides[2] = { &p->change.old, &p->change.now };
	struct frag_run_options run = *options;
	int rc;

	p->change.stop = frag_interrupted;
	/* tags are what is compared */
	run.html = run.html ? run.html : "";
	rc = frag_taped_read(p->taped, paths, 2, &run, as_recorded, err);
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		sides[i]->trace = frag_trace_info(p->taped[i].trace);
		sides[i]->tape = p->taped[i].tape;
		sides[i]->choice = &p->taped[i].choices[0];
		sides[i]->devices = p->taped[i].devices.figures;
	}
	if (!rc && sides[0]->trace->device_count != sides[1]->trace->device_count)
		frag_warn(&run.quiet, "OLD and NEW have different numbers of devices: those of one"
			  " side only are not compared");
	rc = rc ? rc : cross(&p->change, p->crossed, run.quiet, err);
	return rc ? rc : frag_change_find(&p->change, err);
}

/* The answer in all its forms, and what conditions say of it. */
static int print_change(struct frag_trace_change *t, struct compared *p, int *status,
			struct frag_error *err)
{
	int rc = t->page->path ? frag_redraw_room(t->page, 2, err) : 0;

	t->page->what = &p->change;
	t->page->beside = true;
	for (uint32_t i = 0; i < 2 && t->page->path && !rc; i++)
		rc = frag_answer_page_draw(t->page, &p->taped[i], err);
	rc = rc ? rc : frag_printed_write(&t->printed, &p->change, err);
	if (!rc)
		frag_conditions_judge(&t->conditions, change_value_at, &p->change,
				      p->change.now.trace->path, status);
	return rc;
}

/* The files of both folders that belong together: by rank where all names have one, or by name. */
static int pair_files(struct frag_change_pair **out, uint32_t *count,
		      const struct rank_folder *old, const struct rank_folder *now,
		      bool quiet, struct frag_error *err)
{
	const bool by_rank = old->named && now->named;
	char warning[300];

	*count = 0;
	*out = calloc(old->count, sizeof(**out));
	if (!*out)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < old->count; i++) {
		const char *name = frag_file_name(old->paths[i]);
		uint32_t k = 0;

		while (k < now->count
		       && (by_rank ? now->ranks[k] != old->ranks[i]
				   : strcmp(frag_file_name(now->paths[k]), name) != 0))
			k++;
		if (k < now->count)
			(*out)[(*count)++] = (struct frag_change_pair){
				.rank = old->ranks[i], .old = old->paths[i], .now = now->paths[k],
			};
	}
	if (!*count)
		return frag_fail(err, FRAG_ETRACE, "%s: no rank or file name of it is in the other"
				 " folder", old->paths[0]);
	if (*count < old->count || *count < now->count) {
		snprintf(warning, sizeof(warning), "%u of %u files in OLD and %u of %u in NEW have no"
			 " counterpart and are omitted", old->count - *count, old->count,
			 now->count - *count, now->count);
		frag_warn(&quiet, warning);
	}
	return 0;
}

/* Compares all pairs, one after the other, and answers for the one that became worst. */
static int compare_folders(struct frag_trace_change *t, struct compared *p, int *status,
			   struct frag_error *err)
{
	struct rank_folder old, now = { .count = 0 };
	struct frag_change_pair *pairs = NULL;
	uint32_t count = 0, worst = 0;
	int rc = rank_folder_read(&old, t->paths[0], err);

	rc = rc ? rc : rank_folder_read(&now, t->paths[1], err);
	rc = rc ? rc : pair_files(&pairs, &count, &old, &now, t->run->quiet, err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		rc = compare_two(p, (const char *[]){ pairs[i].old, pairs[i].now }, t->run, err);
		pairs[i].reserved = p->change.reserved;
		compared_fini(p);
		if (pairs[i].reserved > pairs[worst].reserved)
			worst = i;
	}
	rc = rc ? rc : compare_two(p, (const char *[]){ pairs[worst].old, pairs[worst].now }, t->run,
				   err);
	p->change.pairs = pairs;
	p->change.pair_count = count;
	rc = rc ? rc : print_change(t, p, status, err);
	free(pairs);
	rank_folder_fini(&old);
	rank_folder_fini(&now);
	return rc;
}

int frag_trace_change_run(struct frag_trace_change *t, const struct frag_cmd *cmd, int *status,
			  struct frag_error *err)
{
	struct compared p = { .change = { .stop = NULL } };
	struct frag_files files = { .input_count = 0 };
	int rc = frag_answer_page_set_path(t->page, t->run->html, &t->printed, err);

	frag_files_read(&files, t->paths, 2, "the trace");
	frag_printed_files(&t->printed, &files);
	rc = rc ? rc : frag_files_check(&files, cmd, err);
	if (!rc && is_folder(t->paths[0]) != is_folder(t->paths[1])
	    && access(t->paths[0], F_OK) == 0 && access(t->paths[1], F_OK) == 0)
		rc = frag_usage(cmd, "OLD and NEW must be two traces, or two folders", err);
	rc = rc ? rc : frag_printed_open(&t->printed, err);
	if (!rc && (is_folder(t->paths[0]) || is_folder(t->paths[1])))
		rc = compare_folders(t, &p, status, err);
	else if (!rc)
		rc = compare_two(&p, t->paths, t->run, err);
	if (!rc && !p.change.pairs)
		rc = print_change(t, &p, status, err);
	compared_fini(&p);
	return rc;
}

void frag_trace_change_fini(struct frag_trace_change *t)
{
	frag_printed_fini(&t->printed);
	frag_conditions_fini(&t->conditions);
}
