/* param.c - the keys of a policy: which there are, and what values they take. */
#include "policy/param.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "policy/policies.h"
#include "fragsim/policy.h"
#include "base/atomic_file.h"

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

static void param_drop(struct owned *o)
{
	free(o->bytes);
	free(o);
}

/* Replaces the bytes of the file by those that the policy's `load` makes of them. */
static int param_digest(struct owned *o, const struct frag_param_spec *spec, struct frag_error *err)
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

/* *value: the file that the text names, for frag_param_file(); 0 where it names none. */
static int frag_file_open(const struct frag_policy_ops *ops, const struct frag_param_spec *spec,
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
		rc = param_digest(o, spec, &why);
	if (!rc) {
		*value = (uintptr_t)&o->file;
		return 0;
	}
	param_drop(o);
	if (rc == -FRAG_ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, why.code == -FRAG_ETRACE ? FRAG_ETRACE : FRAG_EUSAGE,
			 "policy %s: %s=%.*s: %.400s", ops->name, spec->name, (int)length, text,
			 why.code ? why.message : "is not what the policy can use");
}

static void frag_file_close(uint64_t value)
{
	if (value)
		param_drop((struct owned *)(uintptr_t)value);
}

static bool param_power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

static uint64_t max_of(const struct frag_param_spec *spec)
{
	return spec->max ? spec->max : FRAG_SIZE_LIMIT - 1;
}

bool frag_param_fits(const struct frag_param_spec *spec, uint64_t value)
{
	if (spec->type == FRAG_PARAM_OWN)
		return spec->expects && spec->parse && spec->print;
	if (spec->type == FRAG_PARAM_FILE || spec->type == FRAG_PARAM_NAME)
		return value == 0;
	if (value < spec->min || value > max_of(spec))
		return false;
	return !spec->power_of_two || param_power_of_two(value) || (value == 0 && spec->min == 0);
}

uint32_t frag_param_count(const struct frag_policy_ops *ops)
{
	uint32_t n = 0;

	while (ops->params && ops->params[n].name)
		n++;
	return n;
}

uint32_t frag_param_find(const struct frag_policy_ops *ops, uint32_t n, const char *name,
			 size_t length)
{
	uint32_t i = 0;

	while (i < n && !frag_is_word(name, length, ops->params[i].name))
		i++;
	return i;
}

const char *frag_param_text(const struct frag_param_spec *spec, uint64_t value,
			    char buf[FRAG_PARAM_TEXT])
{
	if (spec->type == FRAG_PARAM_OWN)
		spec->print(value, buf, FRAG_PARAM_TEXT);
	else if (spec->type == FRAG_PARAM_FILE)
		snprintf(buf, FRAG_PARAM_TEXT, "%s", value ? frag_param_file(value)->path : "");
	else if (spec->type == FRAG_PARAM_NAME)
		snprintf(buf, FRAG_PARAM_TEXT, "%s", value ? frag_param_name(value) : "");
	else if (spec->type == FRAG_PARAM_BOOL)
		snprintf(buf, FRAG_PARAM_TEXT, "%s", value ? "true" : "false");
	else
		snprintf(buf, FRAG_PARAM_TEXT, "%" PRIu64, value);
	return buf;
}

bool frag_param_is_default(const struct frag_choice *choice, uint32_t i)
{
	const struct frag_param_spec *spec = &choice->ops->params[i];

	if (!spec->same_as)
		return choice->param[i] == spec->fallback;
	return choice->param[i] == choice->param[frag_param_find(choice->ops, i, spec->same_as,
								 strlen(spec->same_as))];
}

bool frag_param_is_omitted(const struct frag_choice *choice, uint32_t i)
{
	return choice->ops->params[i].if_set && frag_param_is_default(choice, i);
}

static bool parse_bool(const char *text, size_t length, uint64_t *value)
{
	*value = frag_is_word(text, length, "true") || frag_is_word(text, length, "True")
		 || frag_is_word(text, length, "1");
	return *value || frag_is_word(text, length, "false") || frag_is_word(text, length, "False")
	       || frag_is_word(text, length, "0");
}

/* Parses the value of key i by its type; false: it has another form, or is out of bounds. */
static bool parse_value(const struct frag_policy_ops *ops, uint64_t *param, uint32_t i,
			const char *text, size_t length)
{
	const struct frag_param_spec *spec = &ops->params[i];
	uint64_t *value = &param[i];
	uint32_t beside;

	switch (spec->type) {
	case FRAG_PARAM_BOOL:
		return parse_bool(text, length, value);
	case FRAG_PARAM_COUNT:
		return frag_parse_count(text, length, value) && frag_param_fits(spec, *value);
	case FRAG_PARAM_OWN:
		if (!spec->beside)
			return spec->parse(text, length, value);
		beside = frag_param_find(ops, frag_param_count(ops), spec->beside,
					 strlen(spec->beside));
		return spec->parse_beside(param[beside], text, length, value);
	case FRAG_PARAM_SIZE:
	case FRAG_PARAM_FILE:
	case FRAG_PARAM_NAME:
		break;
	}
	return frag_parse_size(text, length, true, value) && frag_param_fits(spec, *value);
}

static int bad_value(const struct frag_policy_ops *ops, const struct frag_param_spec *spec,
		     const char *text, size_t length, struct frag_error *err)
{
	char range[64], advice[FRAG_ADVICE_ROOM] = "";

	if (spec->type == FRAG_PARAM_SIZE && !frag_parse_size(text, length, true, &(uint64_t){ 0 }))
		frag_size_advice(advice, text, length);
	if (spec->type == FRAG_PARAM_BOOL)
		return frag_fail(err, FRAG_EUSAGE, "policy %s: %s=%.*s is neither true nor false",
				 ops->name, spec->name, (int)length, text);
	if (spec->type == FRAG_PARAM_OWN)
		return frag_fail(err, FRAG_EUSAGE, "policy %s: %s=%.*s is not %s",
				 ops->name, spec->name, (int)length, text, spec->expects);
	if (spec->max)
		snprintf(range, sizeof(range), "to %" PRIu64, spec->max);
	else
		snprintf(range, sizeof(range), "and below 2^53");
	return frag_fail(err, FRAG_EUSAGE, "policy %s: %s=%.*s is not %s, from %" PRIu64 " %s%s%s",
			 ops->name, spec->name, (int)length, text,
			 spec->power_of_two ? spec->min ? "a power of two" : "0 or a power of two"
			 : spec->type == FRAG_PARAM_SIZE ? "a size such as 2MiB" : "a number",
			 spec->min, range, *advice ? "; " : "", advice);
}

/* Copies the name, because its text may be freed before the choice. */
static int copy_name(const char *text, size_t length, uint64_t *value, struct frag_error *err)
{
	char *name = length ? calloc(1, length + 1) : NULL;

	*value = (uintptr_t)name;
	if (length && !name)
		return frag_fail_nomem(err);
	if (name)
		memcpy(name, text, length);
	return 0;
}

void frag_param_drop(const struct frag_param_spec *spec, uint64_t *value)
{
	if (spec->type == FRAG_PARAM_FILE)
		frag_file_close(*value);
	else if (spec->type == FRAG_PARAM_NAME)
		free((char *)(uintptr_t)*value);
	else
		return;
	*value = 0;
}

int frag_param_parse(const struct frag_policy_ops *ops, uint64_t *param, uint32_t i,
		     const char *text, size_t length, struct frag_error *err)
{
	const struct frag_param_spec *spec = &ops->params[i];

	if (spec->type == FRAG_PARAM_FILE)
		return frag_file_open(ops, spec, text, length, &param[i], err);
	if (spec->type == FRAG_PARAM_NAME)
		return copy_name(text, length, &param[i], err);
	return parse_value(ops, param, i, text, length) ? 0 : bad_value(ops, spec, text, length,
									err);
}
