/* fuzz_documents.c - any bytes as a result or baseline, and as a profile. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "documents/profile.h"
#include "documents/result_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bad input is refused with one line; nothing else may go wrong. */
static void must_be_judged(int rc, const struct frag_error *err)
{
	if (rc == 0 || (rc == -FRAG_ETRACE && *err->message && !strpbrk(err->message, "\r\n")))
		return;
	fprintf(stderr, "neither good nor bad input: %d %s\n", rc, err->message);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frag_run_set set = { .count = 0 };
	struct frag_profile profile;
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
	frag_profile_fini(&profile);
	close(fd);
	return 0;
}
