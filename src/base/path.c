/* path.c - paths, as messages speak of them. */
#include "base/path.h"

#include <string.h>

const char *frag_input_name(const char *path)
{
	if (!*path)
		return "\"\"";
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

const char *frag_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
