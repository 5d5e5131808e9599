/* policy.c - the table of policies, what a policy's own table must have, and its keys. */
#include "fragsim/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/parse.h"
#include "policy/param.h"
#include "policy/policies.h"

static const struct frag_policy_ops *const policies[] = {
	&frag_policy_bestfit,
	&frag_policy_bfc,
	&frag_policy_buddy,
	&frag_policy_compact,
	&frag_policy_cupy,
	&frag_policy_direct,
	&frag_policy_firstfit,
	&frag_policy_nextfit,
	&frag_policy_plan,
	&frag_policy_pytorch,
	&frag_policy_rmm,
	&frag_policy_sizeclass,
	&frag_policy_tlsf,
	&frag_policy_worstfit,
	NULL,
};

const struct frag_policy_ops *const *frag_policies(void)
{
	return policies;
}

struct owned {
	struct frag_file file;  /* what the policy sees; first, so that each is the other */
	void *bytes;
	char path[];
};

static void owned_del(struct owned *o)
{
	free(o->bytes);
	free(o);
}

/* Replaces the bytes of the file by those that the policy's `load` makes of them. */
static int load_owned(struct owned *o, const struct frag_param_spec *spec, struct frag_error *err)
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
static int parse_file(const struct frag_policy_ops *ops, const struct frag_param_spec *spec,
		      const char *text, size_t length, uint64_t *value, struct frag_error *err)
{
	struct frag_error why = { .code = 0 };
	struct owned *o;
	int rc;

	*value = 0;
	if (!length)
		return 0;
	o = calloc(1, sizeof(*o) + length + 1);
	if (!o)
		return frag_fail_nomem(err);
	o->file.path = memcpy(o->path, text, length);
	rc = frag_read_whole_file(o->path, FRAG_FILE_MAX, &o->bytes, &o->file.length, &why);
	o->file.bytes = o->bytes;
	if (!rc && spec->load)
		rc = load_owned(o, spec, &why);
	if (!rc) {
		*value = (uintptr_t)&o->file;
		return 0;
	}
	owned_del(o);
	if (rc == -FRAG_ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, why.code == -FRAG_ETRACE ? FRAG_ETRACE : FRAG_EUSAGE,
			 "policy %s: %s=%.*s: %.400s", ops->name, spec->name, (int)length, text,
			 why.code ? why.message : "is not what the policy can use");
}

/*
 * Does the key take this value? A key of type FRAG_PARAM_OWN: does it have functions that read
 * values? A key for a file: is the value none?
 */
static bool fits(const struct frag_param_spec *spec, uint64_t value)
{
	if (spec->type == FRAG_PARAM_OWN)
		return spec->expects && spec->parse && spec->print;
	if (spec->type == FRAG_PARAM_FILE || spec->type == FRAG_PARAM_NAME)
		return value == 0;
	if (value < spec->min || value > (spec->max ? spec->max : FRAG_SIZE_LIMIT - 1))
		return false;
	/* 0 has passed where the minimum is 0 */
	return !spec->power_of_two || (value & (value - 1)) == 0;
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
		return frag_parse_count(text, length, value) && fits(spec, *value);
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
	return frag_parse_size(text, length, true, value) && fits(spec, *value);
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
static int parse_name(const char *text, size_t length, uint64_t *value, struct frag_error *err)
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
	if (spec->type == FRAG_PARAM_FILE && *value)
		owned_del((struct owned *)(uintptr_t)*value);
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
		return parse_file(ops, spec, text, length, &param[i], err);
	if (spec->type == FRAG_PARAM_NAME)
		return parse_name(text, length, &param[i], err);
	return parse_value(ops, param, i, text, length) ? 0 : bad_value(ops, spec, text, length,
									err);
}

static bool good_name(const char *name)
{
	if (!name || *name < 'a' || *name > 'z')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

static const char *same_as_fault(const struct frag_policy_ops *ops, uint32_t i)
{
	const char *as = ops->params[i].same_as;
	const uint32_t at = frag_param_find(ops, i, as, strlen(as));

	if (at == i)
		return "same_as is no earlier key";
	if (ops->params[at].type == FRAG_PARAM_NAME)
		return "a name is never that of another key";
	return ops->params[at].type == FRAG_PARAM_FILE ? "a file is never that of another key"
						       : NULL;
}

/* What is wrong with a key of a table; NULL: nothing. */
static const char *policy_fault_of(const struct frag_policy_ops *ops, uint32_t i)
{
	const struct frag_param_spec *spec = &ops->params[i];

	if (!good_name(spec->name))
		return "its name is not made of a-z, 0-9, _ and -, or begins with no letter";
	if (frag_param_find(ops, i, spec->name, strlen(spec->name)) < i)
		return "an earlier one has the same name";
	if (!spec->help)
		return "it has no help";
	if (spec->same_as && spec->type == FRAG_PARAM_FILE)
		return "a file is never that of another key";
	if (spec->same_as && spec->type == FRAG_PARAM_NAME)
		return "a name is never that of another key";
	if (spec->same_as)
		return same_as_fault(ops, i);
	if (fits(spec, spec->fallback))
		return NULL;
	if (spec->type == FRAG_PARAM_FILE)
		return "a file has no default";
	if (spec->type == FRAG_PARAM_NAME)
		return "a name has no default";
	return spec->type == FRAG_PARAM_OWN ? "a separate type requires expects, parse and print"
					    : "its default is not a value that it takes";
}

/* Checks the rules that every table of a policy must follow, and each of its keys. */
int frag_policy_check(const struct frag_policy_ops *ops, struct frag_error *err)
{
	if (!good_name(ops->name))
		return frag_fail(err, FRAG_EPOLICY, "a policy's name is made of a-z, 0-9, _ and -,"
				 " and begins with a letter");
	if (!ops->restore_segment != !ops->restore_block)
		return frag_fail(err, FRAG_EPOLICY,
				 "policy %s: restore_segment and restore_block go together",
				 ops->name);
	if (!ops->summary || !ops->index || !ops->alloc || !ops->free)
		return frag_fail(err, FRAG_EPOLICY,
				 "policy %s: summary, index, alloc and free are required",
				 ops->name);
	if (!ops->key != (ops->index != &frag_index_key))
		return frag_fail(err, FRAG_EPOLICY, "policy %s: key and frag_index_key go together",
				 ops->name);
	if (frag_param_count(ops) > FRAG_PARAMS_MAX)
		return frag_fail(err, FRAG_EPOLICY, "policy %s: more than %d parameters",
				 ops->name, FRAG_PARAMS_MAX);
	for (uint32_t i = 0; i < frag_param_count(ops); i++)
		if (policy_fault_of(ops, i))
			return frag_fail(err, FRAG_EPOLICY, "policy %s: key %u, \"%.40s\": %s",
					 ops->name, i, ops->params[i].name,
					 policy_fault_of(ops, i));
	return 0;
}
