/* name_list.h - the names of a table in one sentence: "a, b or c". */
#ifndef BASE_NAME_LIST_H
#define BASE_NAME_LIST_H

#include <stddef.h>

struct frag_name_list {
	char text[256];         /* longer text is cut */
	size_t used;
	const char *last;       /* borrowed; added with its joint by the next call */
};

void frag_listed_add(struct frag_name_list *l, const char *name);

/* All that was added; before the last one of several is `joint`, as " or ". */
const char *frag_listed_text(struct frag_name_list *l, const char *joint);

#endif
