/* string_stream.c - a stream into memory, for a few lines of text. */
#include "base/string_stream.h"

#include <stdlib.h>

#include "base/bug.h"

bool frag_memory_open(struct frag_memory *m)
{
	*m = (struct frag_memory){ .text = NULL };
	m->f = open_memstream(&m->text, &m->size);
	return m->f != NULL;
}

bool frag_memory_close(struct frag_memory *m)
{
	bool good = ferror(m->f) == 0;

	FRAG_ASSERT(m->f);
	good &= fclose(m->f) == 0;
	/* the C library may lose the text in the end, and not say so */
	if (good && m->text)
		return true;
	free(m->text);
	m->text = NULL;
	return false;
}
