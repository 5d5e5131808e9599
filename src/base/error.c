/* error.c - codes, messages, exit statuses. */
#include "fragsim/error.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/format.h"

int frag_vfail(struct frag_error *err, enum frag_error_code code, const char *format, va_list args)
{
	if (err) {
		/* names of files and values that were read are in it */
		frag_vformat_printable(err->message, sizeof(err->message), format, args);
		err->code = -(int)code;
	}
	return -(int)code;
}

int frag_fail(struct frag_error *err, enum frag_error_code code, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = frag_vfail(err, code, format, args);
	va_end(args);
	return rc;
}

int frag_fail_nomem(struct frag_error *err)
{
	return frag_fail(err, FRAG_ENOMEM, "out of host memory");
}

int frag_error_status(int code)
{
	static const int status[] = {
		0,
#define X(name, status, text) status,
		FRAG_ERRORS(X)
#undef X
	};

	if (code > 0 || -code >= (int)(sizeof(status) / sizeof(status[0])))
		FRAG_BUG("a code that does not exist");
	return status[-code];
}

void frag_bug(const char *file, int line, const char *what)
{
	fprintf(stderr, "fragsim: bug at %s:%d: %s\n", file, line, what);
	abort();
}
