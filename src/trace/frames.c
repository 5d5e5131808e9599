/* frames.c - whose code a frame of a stack is in. */
#include "trace/frames.h"

#include <string.h>

#define RECORDER "record_torch.py"

static bool frames_begins(struct frag_text text, const char *with)
{
	const size_t n = strlen(with);

	return text.length >= n && memcmp(text.text, with, n) == 0;
}

static bool is_python(struct frag_text file, uint64_t line)
{
	if (!file.text || line == 0)
		return false;
	return (file.length > 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0)
	       || (frames_begins(file, "<") && !frames_begins(file, "<frozen")
		   && !frames_begins(file, "<eval_with_key"));
}

static bool is_one_of(struct frag_text folder, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == folder.length
		    && memcmp(*names, folder.text, folder.length) == 0)
			return true;
	return false;
}

/*
 * By the folders of its path: one of PyTorch decides, wherever it is. Python's own modules
 * are in lib/python3.12, or where its path was cut in python3.12; packages in a folder below.
 */
enum frag_origin frag_frame_origin(struct frag_text file, uint64_t line)
{
	static const char *const torch[] = { "torch", "functorch", "torchgen", "triton", NULL };
	static const char *const packages[] = { "site-packages", "dist-packages", NULL };
	static const char *const libraries[] = { "lib", "lib64", NULL };
	enum frag_origin origin = FRAG_ORIGIN_PROGRAM;
	struct frag_text folder = { .text = NULL };
	const char *p = file.text, *slash;

	if (!is_python(file, line))
		return FRAG_ORIGIN_NATIVE;
	while ((slash = memchr(p, '/', (size_t)(file.text + file.length - p))) != NULL) {
		const struct frag_text above = folder;

		folder = (struct frag_text){ .text = p, .length = (uint32_t)(slash - p) };
		if (is_one_of(folder, torch))
			return FRAG_ORIGIN_TORCH;
		if (is_one_of(folder, packages))
			origin = FRAG_ORIGIN_PACKAGE;
		else if (origin == FRAG_ORIGIN_PROGRAM && frames_begins(folder, "python3")
			 && (!above.text || is_one_of(above, libraries)))
			origin = FRAG_ORIGIN_PYTHON;
		p = slash + 1;
	}
	if ((size_t)(file.text + file.length - p) == strlen(RECORDER)
	    && frames_begins((struct frag_text){ .text = p, .length = strlen(RECORDER) }, RECORDER))
		origin = FRAG_ORIGIN_PYTHON;
	return origin;
}
