/* old_names.c - the names of version 1 of fragsim's documents and conditions. */
#include "base/old_names.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *old;
} renamed[] = {
	{ "non_releasable", "stranded" },
	{ "wasted", "lost" },
	{ "reliable", "safe" },
	{ "fits", "ok" },
};

#define COUNT (sizeof(renamed) / sizeof(renamed[0]))

const char *frag_old_name(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(renamed[i].name, name) == 0)
			return renamed[i].old;
	return NULL;
}

/* The new name of a part of a path, or the part itself. */
static const char *new_name(const char *part, size_t *length)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strlen(renamed[i].old) == *length
		    && memcmp(renamed[i].old, part, *length) == 0) {
			*length = strlen(renamed[i].name);
			return renamed[i].name;
		}
	return part;
}

void frag_new_path(const char *path, char *out, size_t room)
{
	size_t used = 0;

	*out = '\0';
	for (const char *dot = ""; *path && used < room; path += *path == '.') {
		const size_t length = strcspn(path, ".");
		size_t n = length;
		const char *name = new_name(path, &n);

		used += (size_t)snprintf(out + used, room - used, "%s%.*s", dot, (int)n, name);
		path += length;
		dot = ".";
	}
}
