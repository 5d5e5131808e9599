/* fuzz_documents.c - any bytes as a result or baseline, a profile, and as parts of a sweep. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "sweep/manifest.h"
#include "documents/documents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bad input is refused with one line; nothing else may go wrong. */
static void must_be_judged(int rc, const struct frag_error *err)
{
	if (rc == 0 || (rc == -FRAG_ETRACE && *err->message && !strpbrk(err->message, "\r\n")))
		return;
	fprintf(stderr, "neither good nor bad input: %d %s\n", rc, err->message);
	abort();
}

/* The bytes within a line of a sweep, whose hash is right whatever they are. */
static void read_as_line(const uint8_t *data, size_t size)
{
	static const char head[] = "{\"run\": 0, \"manifest\": \"0123456789abcdef\", ";
	const size_t n = sizeof(head) - 1 + size;
	struct frag_run_set set = { .count = 0 };
	struct frag_error err = { .code = 0 };
	char *text = malloc(n + 40), path[40];
	int fd = memfd_create("line", MFD_CLOEXEC), tail;

	if (fd < 0 || !text)
		abort();
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + sizeof(head) - 1, data, size);
	tail = snprintf(text + n, 40, ", \"check\": \"%016" PRIx64 "\"}\n",
			frag_hash_content(text, n, 0));
	if (pwrite(fd, text, n + (size_t)tail, 0) != (ssize_t)n + tail)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must_be_judged(frag_read_runs(&set, path, &err), &err);
	frag_run_set_fini(&set);
	free(text);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frag_run_set set = { .count = 0 };
	struct frag_profile profile;
	struct frag_manifest manifest = { .runs = 0 };
	struct frag_error err = { .code = 0 };
	char path[40];
	int fd = memfd_create("document", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must_be_judged(frag_read_runs(&set, path, &err), &err);
	frag_run_set_fini(&set);
	err = (struct frag_error){ .code = 0 };
	must_be_judged(frag_profile_read(&profile, path, &err), &err);
	free(profile.figures.name);
	err = (struct frag_error){ .code = 0 };
	must_be_judged(frag_manifest_read(&manifest, path, &err), &err);
	frag_manifest_fini(&manifest);
	close(fd);
	read_as_line(data, size);
	return 0;
}
