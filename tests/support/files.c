/* files.c - files of a test, in a folder of its own that it removes again. */
#include "support/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/unit.h"

int files_begin(void **state)
{
	const char *parent = getenv("TMPDIR");
	char *folder = malloc(4096);

	if (!folder)
		return -1;
	snprintf(folder, 4096, "%s/fragsim-test.XXXXXX", parent && *parent ? parent : "/tmp");
	*state = folder;
	return mkdtemp(folder) ? 0 : -1;
}

static bool hidden(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
}

int files_end(void **state)
{
	DIR *folder = opendir(*state);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (!hidden(entry))
			unlink(files_path(state, entry->d_name));
	if (folder)
		closedir(folder);
	rmdir(*state);
	free(*state);
	return 0;
}

const char *files_path(void *const *state, const char *name)
{
	static char paths[4][4400];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", (const char *)*state, name);
	return path;
}

void files_write(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

char *files_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	size_t room = 1 << 16, got;
	char *text;

	if (!f)
		return NULL;
	text = malloc(room + 1);
	*n = 0;
	while (text && (got = fread(text + *n, 1, room - *n, f)) > 0) {
		*n += got;
		if (*n == room)
			text = realloc(text, (room *= 2) + 1);
	}
	fclose(f);
	if (text)
		text[*n] = '\0';
	return text;
}

bool files_holds(const char *path, const char *text)
{
	size_t n = 0;
	char *found = files_read(path, &n);
	bool same = found && n == strlen(text) && memcmp(found, text, n) == 0;

	free(found);
	return same;
}

unsigned files_count(void *const *state)
{
	DIR *folder = opendir(*state);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += !hidden(entry);
	closedir(folder);
	return count;
}
