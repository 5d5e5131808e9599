/* full_input.h - whole inputs in memory: a decompressed input, or a file unchanged. */
#ifndef INPUT_FULL_INPUT_H
#define INPUT_FULL_INPUT_H

#include <stddef.h>

#include "fragsim/error.h"
#include "input/input.h"

#define FRAG_WHOLE_MAX ((uint64_t)4 << 30)      /* bytes, decompressed */

struct frag_whole {
	char  *path;
	char  *bytes;           /* FRAG_WINDOW_SLACK bytes of 0 follow */
	size_t length;
	uint64_t read, total;   /* of the file, as frag_input_amount() says */
};

/* Takes the input over, also where it fails. -FRAG_ETRACE, -FRAG_ENOMEM */
int  frag_whole_read(struct frag_whole *w, struct frag_input *in, struct frag_error *err);
void frag_whole_fini(struct frag_whole *w);

/*
 * Replaces the bytes, a page that PyTorch's viewer was written into, by the
 * pickle that is in it as base64.
 */
int frag_whole_unwrap(struct frag_whole *w, struct frag_error *err);

/*
 * "-" is standard input. The text, the caller's to free, is followed by zeros enough
 * for the scanner. -FRAG_ETRACE or -FRAG_ENOMEM; *text is NULL then.
 */
int frag_text_file(char **text, size_t *length, const char *path, struct frag_error *err);

#endif
