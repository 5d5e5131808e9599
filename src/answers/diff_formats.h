/* diff_formats.h - the table of the formats, one file each. */
#ifndef ANSWERS_DIFF_FORMATS_H
#define ANSWERS_DIFF_FORMATS_H

#include "answers/diff.h"

extern const struct frag_diff_format frag_diff_csv;
extern const struct frag_diff_format frag_diff_github;
extern const struct frag_diff_format frag_diff_json;
extern const struct frag_diff_format frag_diff_junit;
extern const struct frag_diff_format frag_diff_markdown;
extern const struct frag_diff_format frag_diff_text;

#endif
