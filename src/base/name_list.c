/* name_list.c - the names of a table in one sentence: "a, b or c". */
#include "base/name_list.h"

#include <stdio.h>

static void name_list_append(struct frag_name_list *l, const char *joint)
{
	int n;

	if (!l->last || l->used >= sizeof(l->text))
		return;
	n = snprintf(l->text + l->used, sizeof(l->text) - l->used, "%s%s", l->used ? joint : "",
		     l->last);
	l->used += n > 0 ? (size_t)n : 0;
	l->last = NULL;
}

void frag_listed_add(struct frag_name_list *l, const char *name)
{
	name_list_append(l, ", ");
	l->last = name;
}

const char *frag_listed_text(struct frag_name_list *l, const char *joint)
{
	name_list_append(l, joint);
	return l->text;
}
