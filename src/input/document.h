/*
 * document.h - a large JSON document, part by part through the window.
 *
 * A function of the caller scans one part (a member, an element). Where the window ends inside
 * a part, the window moves on and the part is scanned again from its start. So each part must
 * fit the window, but the document need not.
 */
#ifndef INPUT_DOCUMENT_H
#define INPUT_DOCUMENT_H

#include "input/input.h"
#include "input/json_scan.h"

struct frag_document {
	struct frag_input in;
	struct frag_scan scan;
	char *scratch;
	size_t scratch_size;
	size_t at;              /* the window is used up to here */
	bool nomem;             /* set by a part that ran out of memory */
	const char *wrong_at;   /* set by a part that is good JSON and yet no good: where */
	char wrong[200];        /* and why */
};

/* Takes the input over, also on failure. */
int  frag_document_init(struct frag_document *d, struct frag_input *in, struct frag_error *err);
void frag_document_fini(struct frag_document *d);

/*
 * Scans one part: from d->at on, to after it. scan returns the place after the
 * part, or NULL as the scanner does, or with nomem or wrong_at set. What it notes
 * must bear being noted again.
 */
int frag_document_part(struct frag_document *d,
		       const char *(*scan)(void *ctx, struct frag_scan *s, const char *p),
		       void *ctx, struct frag_error *err);

/* Nothing but white space may follow. */
int frag_document_end(struct frag_document *d, struct frag_error *err);

/* Notes why a part is no good; NULL, for the part to return. */
const char *frag_document_wrong(struct frag_document *d, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "name": up to the value. NULL as the scanner. */
const char *frag_scan_name(struct frag_scan *s, const char *p, struct frag_text *name);

/*
 * After a value: past the comma to the next one, or with *end to after the
 * bracket. NULL as the scanner.
 */
const char *frag_scan_next(struct frag_scan *s, const char *p, char bracket, bool *end);

#endif
