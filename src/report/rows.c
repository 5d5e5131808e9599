/* rows.c - what the lines of steps and placements share. */
#include "report/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"

/*
 * What all rows of a run begin with is formatted once: only the policy's name
 * needs escaping, and it never changes.
 */
bool frag_rows_init(struct frag_rows *rows, struct frag_outfile *out, enum frag_rows_form form,
		    const char *policy, bool many_devices)
{
	char *p;

	*rows = (struct frag_rows){ .out = out, .form = form, .many_devices = many_devices };
	p = rows->prefix = malloc((policy ? strlen(policy) * 6 : 0) + 32);
	if (!p)
		return false;
	if (policy && form == FRAG_ROWS_CSV) {
		p = frag_put_csv(p, policy, strlen(policy));
		*p++ = ',';
	} else if (policy) {
		memcpy(p, "\"policy\":", 9);
		p = frag_put_json(p + 9, policy, strlen(policy));
		*p++ = ',';
	}
	rows->prefix_length = (size_t)(p - rows->prefix);
	return true;
}

void frag_rows_fini(struct frag_rows *rows)
{
	free(rows->prefix);
	rows->prefix = NULL;
}
