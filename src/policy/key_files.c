/* key_files.c - the files that keys of a policy name: read when the choice is made, and its own. */
#include "policy/key_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/read_file.h"

struct owned {
	struct frag_file file;  /* what the policy sees; first, so that each is the other */
	void *bytes;
	char path[];
};

static struct owned *named(const char *text, size_t length)
{
	struct owned *o = calloc(1, sizeof(*o) + length + 1);

	if (!o)
		return NULL;
	memcpy(o->path, text, length);
	o->file.path = o->path;
	return o;
}

static void drop(struct owned *o)
{
	free(o->bytes);
	free(o);
}

/* What the policy makes of the bytes takes their place. */
static int digest(struct owned *o, const struct frag_param_spec *spec, struct frag_error *err)
{
	struct frag_file made = { .path = o->path };
	void *bytes = NULL;
	int rc = spec->load(&o->file, &bytes, &made.length, err);

	if (rc) {
		free(bytes);
		return rc;
	}
	free(o->bytes);
	made.bytes = o->bytes = bytes;
	o->file = made;
	return 0;
}

int frag_file_open(const struct frag_policy_ops *ops, const struct frag_param_spec *spec,
		   const char *text, size_t length, uint64_t *value, struct frag_error *err)
{
	struct frag_error why = { .code = 0 };
	struct owned *o;
	int rc;

	*value = 0;
	if (!length)
		return 0;
	o = named(text, length);
	if (!o)
		return frag_fail_nomem(err);
	rc = frag_read_whole_file(o->path, FRAG_FILE_MAX, &o->bytes, &o->file.length, &why);
	o->file.bytes = o->bytes;
	if (!rc && spec->load)
		rc = digest(o, spec, &why);
	if (!rc) {
		*value = (uintptr_t)&o->file;
		return 0;
	}
	drop(o);
	if (rc == -FRAG_ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, why.code == -FRAG_ETRACE ? FRAG_ETRACE : FRAG_EUSAGE,
			 "policy %s: %s=%.*s: %.400s", ops->name, spec->name, (int)length, text,
			 why.code ? why.message : "is not what the policy can use");
}

void frag_file_close(uint64_t value)
{
	if (value)
		drop((struct owned *)(uintptr_t)value);
}
