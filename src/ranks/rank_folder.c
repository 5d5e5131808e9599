/* rank_folder.c - finds the recordings of a folder, as frameworks name files and folders. */
#include "ranks/rank_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "events/recording_info.h"
#include "snapshot/snapshot.h"

#define DEPTH 2                 /* folders below one: iterations, and their ranks */

/* What recordings end with, compressed or not. */
static const char *const endings[] = {
	".pickle", ".pkl", ".ndjson", ".jsonl", ".json", ".fsb", NULL,
};

/* What the name of a folder of one iteration begins with, before its number. */
static const char *const iteration_names[] = { "iteration", "global_step", "step", NULL };

#define DIGITS_MAX 15

/* The number that *text begins with, which moves behind it. False: none, or too large a one. */
static bool rank_numbers_take_number(const char **text, uint64_t *number)
{
	const size_t n = strspn(*text, "0123456789");

	*number = 0;
	for (size_t i = 0; i < n && n <= DIGITS_MAX; i++)
		*number = 10 * *number + (uint64_t)((*text)[i] - '0');
	*text += n;
	return n && n <= DIGITS_MAX;
}

bool frag_rank_number(const char *name, uint64_t *number)
{
	bool found = false;
	uint64_t n;

	for (const char *p = name; *p; p++) {
		const char *digits = p + 4;

		if (strncasecmp(p, "rank", 4) != 0)
			continue;
		digits += *digits && strchr("_-.= ", *digits);
		if (!rank_numbers_take_number(&digits, &n))
			continue;
		*number = n;
		found = true;
	}
	return found;
}

/* The place among the numbers of a name at which it differs from another one. */
struct difference {
	uint32_t at;
	uint64_t one, other;
	uint32_t count;
};

/* False: they differ in more than numbers. */
static bool find_difference(const char *one, const char *other, struct difference *d)
{
	uint32_t at = 0;
	uint64_t a, b;

	d->count = 0;
	while (*one && *other) {
		if (isdigit((unsigned char)*one) && isdigit((unsigned char)*other)) {
			if (!rank_numbers_take_number(&one, &a)
			    || !rank_numbers_take_number(&other, &b))
				return false;
			if (a != b) {
				d->count++;
				d->at = at;
				d->one = a;
				d->other = b;
			}
			at++;
		} else if (*one++ != *other++) {
			return false;
		}
	}
	return *one == *other;
}

/* Of "snap-2.pickle" and "snap-10.pickle" 2 and 10. */
static bool numbers_that_differ(const char *const *names, uint32_t count, uint64_t *numbers)
{
	struct difference d;
	uint32_t at = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (!find_difference(names[0], names[i], &d) || d.count != 1
		    || (i > 1 && d.at != at))
			return false;
		at = d.at;
		numbers[0] = d.one;
		numbers[i] = d.other;
	}
	return count > 1;
}

static int by_value(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Are the numbers all different? Returns false on out of memory. */
static bool are_different(const uint64_t *numbers, uint32_t count)
{
	uint64_t *sorted = malloc((size_t)count * sizeof(*sorted));
	bool different = sorted != NULL;

	if (!sorted)
		return false;
	memcpy(sorted, numbers, (size_t)count * sizeof(*sorted));
	FRAG_SORT(sorted, count, by_value);
	for (uint32_t i = 1; i < count && different; i++)
		different = sorted[i] != sorted[i - 1];
	free(sorted);
	return different;
}

bool frag_rank_numbers(const char *const *names, uint32_t count, uint64_t *numbers)
{
	uint32_t named = 0;

	while (named < count && frag_rank_number(names[named], &numbers[named]))
		named++;
	if (named == count && are_different(numbers, count))
		return true;
	if (numbers_that_differ(names, count, numbers) && are_different(numbers, count))
		return true;
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = i;
	return false;
}

struct file_list {
	char **at;
	uint32_t count, capacity;
};

/* What is of interest in a folder. */
enum { SNAPSHOTS, OTHERS /* recordings by their endings */, RANKS, ITERATIONS /* folders */, KINDS };

struct folder_content {
	struct file_list of[KINDS];
};

bool frag_is_folder(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static void file_list_fini(struct file_list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		free(l->at[i]);
	free(l->at);
}

static void folder_content_fini(struct folder_content *c)
{
	for (int i = 0; i < KINDS; i++)
		file_list_fini(&c->of[i]);
}

/* Takes the path over, also where it fails. */
static int file_list_add(struct file_list *l, char *path, struct frag_error *err)
{
	if (!path || !frag_grow(&l->at, &l->capacity, (uint64_t)l->count + 1, sizeof(*l->at))) {
		free(path);
		return frag_fail_nomem(err);
	}
	l->at[l->count++] = path;
	return 0;
}

static char *path_inside(const char *folder, const char *name)
{
	const size_t room = strlen(folder) + strlen(name) + 2;
	const bool slash = *folder && folder[strlen(folder) - 1] == '/';
	char *path = malloc(room);

	if (path)
		snprintf(path, room, "%s%s%s", folder, slash ? "" : "/", name);
	return path;
}

static bool is_recording(const char *name)
{
	size_t length;

	frag_packing_of(name, &length);
	for (uint32_t i = 0; endings[i]; i++) {
		const size_t end = strlen(endings[i]);

		if (length > end && memcmp(name + length - end, endings[i], end) == 0)
			return true;
	}
	return false;
}

static bool is_iteration(const char *name)
{
	for (int i = 0; iteration_names[i]; i++) {
		const size_t length = strlen(iteration_names[i]);

		if (strncmp(name, iteration_names[i], length) == 0)
			return isdigit((unsigned char)name[length + (name[length] == '_')]);
	}
	return false;
}

/* Adds what this path is to the list that it belongs to; other files are omitted. */
static int folder_content_add(struct folder_content *c, char *path, struct frag_error *err)
{
	const char *name = frag_file_name(path);
	int kind = KINDS, rc = 0;
	bool snapshot = false;
	struct stat about;
	uint64_t rank;

	if (stat(path, &about))
		about.st_mode = 0;      /* a link that leads nowhere */
	if (S_ISDIR(about.st_mode))
		kind = is_iteration(name) ? ITERATIONS : frag_rank_number(name, &rank) ? RANKS : KINDS;
	else if (S_ISREG(about.st_mode))
		rc = frag_snapshot_is_file(path, &snapshot, err);
	if (snapshot)
		kind = SNAPSHOTS;
	else if (S_ISREG(about.st_mode) && is_recording(name))
		kind = OTHERS;
	if (!rc && kind < KINDS)
		return file_list_add(&c->of[kind], path, err);
	free(path);
	return rc;
}

/* Numbers by their value, however many digits they have: step9 before step10. */
static int by_version(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	while (*x && *x == *y && !isdigit((unsigned char)*x))
		x++, y++;
	if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
		const size_t zeros = strspn(x, "0"), others = strspn(y, "0");
		const size_t n = strspn(x + zeros, "0123456789");
		const size_t m = strspn(y + others, "0123456789");
		const int order = n != m ? (n > m) - (n < m) : strncmp(x + zeros, y + others, n);

		x += zeros + n;
		y += others + m;
		return order ? order : by_version(&x, &y);
	}
	return (unsigned char)*x - (unsigned char)*y;
}

/* Reads one folder, without those in it; its lists are sorted. */
static int folder_content_read(struct folder_content *c, const char *path, struct frag_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char *inside;
	int rc = 0;

	if (!dir)
		return errno == ENOMEM ? frag_fail_nomem(err)
				       : frag_fail(err, FRAG_ETRACE, "%s: %s", path, strerror(errno));
	while (!rc && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		inside = path_inside(path, entry->d_name);
		rc = inside ? folder_content_add(c, inside, err) : frag_fail_nomem(err);
	}
	closedir(dir);
	for (int i = 0; i < KINDS; i++)
		FRAG_SORT(c->of[i].at, c->of[i].count, by_version);
	return rc;
}

/* Moves all paths to the end of another list. */
static int file_list_move(struct file_list *to, struct file_list *from, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < from->count && !rc; i++) {
		rc = file_list_add(to, from->at[i], err);
		from->at[i] = NULL;
	}
	return rc;
}

/*
 * The snapshots of a folder, else of its ranks, else of its last iteration that has some. others:
 * the recordings by their endings of this folder alone; NULL: they are not wanted.
 */
static int find_snapshots(struct file_list *out, struct file_list *others, const char *path,
			  unsigned depth, char note[FRAG_FOLDER_NOTE], struct frag_error *err)
{
	struct folder_content c = { .of[0].count = 0 };
	const struct file_list *ranks = &c.of[RANKS], *iterations = &c.of[ITERATIONS];
	int rc = folder_content_read(&c, path, err);

	rc = rc ? rc : file_list_move(out, &c.of[SNAPSHOTS], err);
	if (!rc && others)
		rc = file_list_move(others, &c.of[OTHERS], err);
	for (uint32_t i = 0; i < ranks->count && !rc && !c.of[SNAPSHOTS].count && depth; i++)
		rc = find_snapshots(out, NULL, ranks->at[i], 0, note, err);
	for (uint32_t i = iterations->count; i && !rc && !out->count && depth; i--) {
		rc = find_snapshots(out, NULL, iterations->at[i - 1], depth - 1, note, err);
		if (!rc && out->count)
			snprintf(note, FRAG_FOLDER_NOTE, "%.200s, the last of %u iterations",
				 iterations->at[i - 1], iterations->count);
	}
	folder_content_fini(&c);
	return rc;
}

/* Sorts by number: there are few files, and they are nearly sorted by name. */
static void sort_by_rank(struct frag_rank_folder *f)
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

static bool is_of_oom(const char *path)
{
	return strstr(frag_file_name(path), "oom") != NULL;
}

/*
 * Keeps one file of each rank: of those of an OOM, else of all, the last one in the order of the
 * numbers in their names.
 */
static void keep_last(struct frag_rank_folder *f)
{
	const uint32_t all = f->count;
	const size_t used = strlen(f->note);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < all; i++)
		if (f->named || !frag_rank_number(f->paths[i], &f->ranks[i]))
			return;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t k = 0;

		while (k < kept && f->ranks[k] != f->ranks[i])
			k++;
		if (k < kept && is_of_oom(f->paths[k]) && !is_of_oom(f->paths[i])) {
			free(f->paths[i]);
			continue;
		}
		if (k < kept)
			free(f->paths[k]);
		f->paths[k] = f->paths[i];
		f->ranks[k] = f->ranks[i];
		kept += k == kept;
	}
	f->count = kept;
	f->named = true;
	sort_by_rank(f);
	snprintf(f->note + used, FRAG_FOLDER_NOTE - used, "%s%u other file%s of the same ranks omitted",
		 used ? "; " : "", all - kept, frag_s(all - kept));
}

int frag_rank_folder_read(struct frag_rank_folder *f, const char *path,
			  enum frag_folder_files which, struct frag_error *err)
{
	const bool snapshots_only = which == FRAG_FOLDER_SNAPSHOTS;
	struct file_list found = { .count = 0 }, others = { .count = 0 };
	int rc;

	*f = (struct frag_rank_folder){ .count = 0 };
	rc = find_snapshots(&found, &others, path, DEPTH, f->note, err);
	if (!rc && !found.count && !snapshots_only)
		rc = file_list_move(&found, &others, err);
	file_list_fini(&others);
	f->paths = found.at;
	f->count = found.count;
	if (!rc && !f->count)
		return frag_fail(err, FRAG_ETRACE, "%s: no %s in this folder (%s)", path,
				 snapshots_only ? "snapshot" : "recording", snapshots_only
				 ? "a pickle, as torch.cuda.memory._dump_snapshot() writes it"
				 : "*.pickle, *.ndjson, *.json or *.fsb, or those compressed");
	f->ranks = rc ? NULL : calloc(f->count, sizeof(*f->ranks));
	if (!f->ranks)
		return rc ? rc : frag_fail_nomem(err);
	f->named = frag_rank_numbers((const char *const *)f->paths, f->count, f->ranks);
	sort_by_rank(f);
	if (which == FRAG_FOLDER_LAST)
		keep_last(f);
	return 0;
}

void frag_rank_folder_fini(struct frag_rank_folder *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->ranks);
	*f = (struct frag_rank_folder){ .count = 0 };
}

/* What a snapshot has recorded: an OOM, and the highest peak of its devices. */
struct recorded {
	bool readable, oom;
	uint64_t peak;          /* reserved bytes */
};

static void no_warning(void *ctx, const char *message)
{
	(void)ctx;
	(void)message;
}

/* Reads it; one that cannot be read is skipped with a warning. */
static int look_at_snapshot(struct recorded *out, const char *path, const struct frag_log *log,
			    struct frag_error *err)
{
	const struct frag_trace_options options = {
		.stacks = FRAG_STACKS_NONE, .sized = true, .log = { .warn = no_warning },
	};
	const struct frag_snapshot *s;
	struct frag_recorded figures;
	struct frag_trace *trace;
	const int rc = frag_trace_open(&trace, path, &options, err);

	*out = (struct recorded){ .readable = !rc };
	if (rc == -FRAG_ETRACE)
		frag_note(log, "%s: skipped", err->message);
	if (rc)
		return rc == -FRAG_ETRACE ? 0 : rc;
	s = frag_trace_snapshot(trace);
	for (uint32_t i = 0; s && i < s->device_count; i++) {
		frag_snapshot_recorded(s, i, &figures);
		out->oom |= s->devices[i].oom_count > 0;
		if (figures.peak_reserved > out->peak)
			out->peak = figures.peak_reserved;
	}
	frag_trace_close(trace);
	return 0;
}

int frag_rank_folder_pick(struct frag_picked *p, const struct frag_rank_folder *f,
			  const struct frag_log *log, bool (*stop)(void *ctx),
			  struct frag_error *err)
{
	struct recorded best = { .readable = false }, now = best;
	int rc = 0;

	*p = (struct frag_picked){ .readable = 0 };
	for (uint32_t i = 0; i < f->count && !rc; i++) {
		rc = stop(NULL) ? frag_fail(err, FRAG_EINTERRUPTED, "interrupted")
				: look_at_snapshot(&now, f->paths[i], log, err);
		if (rc || !now.readable)
			continue;
		p->readable++;
		p->ooms += now.oom;
		if (!best.readable || now.oom > best.oom
		    || (now.oom == best.oom && now.peak > best.peak)) {
			best = now;
			p->at = i;
		}
	}
	p->peak = best.peak;
	return rc;
}
