/* diff_formats.c - the table of the formats of a comparison. */
#include "answers/diff_formats.h"

const struct frag_diff_format *const frag_diff_formats[] = {
	&frag_diff_csv,
	&frag_diff_github,
	&frag_diff_json,
	&frag_diff_junit,
	&frag_diff_markdown,
	&frag_diff_text,
	NULL,
};
