/* string_stream.c - a stream into memory. */
#include "base/string_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/array_grow.h"
#include "base/bug.h"

/* Returns 0 on out of memory, as fopencookie() requires it; one byte is left for the NUL. */
static ssize_t string_stream_write(void *cookie, const char *bytes, size_t n)
{
	struct frag_memory *m = cookie;

	m->failed |= !frag_grow(&m->text, &m->capacity, (uint64_t)m->size + n + 1, 1);
	if (m->failed)
		return 0;
	memcpy(m->text + m->size, bytes, n);
	m->size += n;
	return (ssize_t)n;
}

bool frag_memory_open(struct frag_memory *m)
{
	*m = (struct frag_memory){ .f = NULL };
	m->f = fopencookie(m, "w", (cookie_io_functions_t){ .write = string_stream_write });
	return m->f != NULL;
}

bool frag_memory_close(struct frag_memory *m)
{
	bool good;

	FRAG_ASSERT(m->f);
	good = !ferror(m->f);
	good &= fclose(m->f) == 0;
	m->f = NULL;
	if (good && !m->failed && frag_grow(&m->text, &m->capacity, (uint64_t)m->size + 1, 1)) {
		m->text[m->size] = '\0';
		return true;
	}
	free(m->text);
	m->text = NULL;
	return false;
}
