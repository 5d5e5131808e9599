/* leaks_formats.h - what fragsim leaks found, in every form. */
#ifndef REPORT_LEAKS_FORMATS_H
#define REPORT_LEAKS_FORMATS_H

#include "documents/documents.h"
#include "report/formats.h"

/* For struct frag_leaks_answer: text, csv, json, markdown. */
extern const struct frag_format *const frag_leaks_formats[];

/* The one for people. */
extern const struct frag_format frag_leaks_text;

#define FRAG_LEAK_NAME_ROOM 200
/* Whose it is: its tag, the innermost frame of its stack, or the size of its blocks. */
const char *frag_leak_name(const struct frag_leak *leak, char buf[FRAG_LEAK_NAME_ROOM]);

#endif
