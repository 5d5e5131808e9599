/* wrapped.c - words in lines that fit the terminal. */
#include "report/wrapped.h"

#include <stdint.h>
#include <string.h>

#include "base/wrap.h"

#define WRAPPED_MIN 30          /* columns; in fewer it is not worth it */

void frag_put_wrapped(int columns, const char *head, const char *text, FILE *f)
{
	const int indent = (int)strlen(head);
	const size_t room = columns > WRAPPED_MIN ? (size_t)(columns - indent) : SIZE_MAX;

	while (*text) {
		const size_t n = frag_wrap(text, room);

		fprintf(f, "%*s%.*s\n", indent, head, (int)n, text);
		text += n;
		text += strspn(text, " ");
		head = "";
	}
}
