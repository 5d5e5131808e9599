/* rank_folder.c - a folder with a recording of each rank of a job. */
#include "cmd/rank_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array_grow.h"
#include "ranks/compare_ranks.h"

/* What recordings end with, compressed or not. */
static const char *const endings[] = { ".pickle", ".pkl", ".ndjson", ".jsonl", ".json", ".fsb", NULL };

bool frag_is_folder(const char *path)
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

static int rank_folder_add(struct frag_rank_folder *f, uint32_t *capacity, const char *folder,
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

int frag_rank_folder_read(struct frag_rank_folder *f, const char *path, struct frag_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	uint32_t capacity = 0;
	int rc = 0;

	*f = (struct frag_rank_folder){ .count = 0 };
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

void frag_rank_folder_fini(struct frag_rank_folder *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->ranks);
}
