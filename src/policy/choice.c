/*
 * choice.c - a policy with its keys, as a user names it, and what configure events of a trace make
 * of its settings.
 */
#include "policy/choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/parse.h"
#include "policy/evidence.h"
#include "policy/param.h"
#include "policy/plugin_watch.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"

/* Values of keys ----------------------------------------------------------- */

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

static void drop_value(const struct frag_param_spec *spec, uint64_t *value)
{
	if (spec->type == FRAG_PARAM_FILE && *value)
		owned_del((struct owned *)(uintptr_t)*value);
	else if (spec->type == FRAG_PARAM_NAME)
		free((char *)(uintptr_t)*value);
	else
		return;
	*value = 0;
}

/*
 * Parses the value of key i; a file or a name is owned by the choice, and freed with drop_value().
 * The value of the key that the spec names for this must be set.
 */
static int parse_key(const struct frag_policy_ops *ops, uint64_t *param, uint32_t i,
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

/* Choices ------------------------------------------------------------------ */

/* "align, segment, ...": the names of a table, for a message. */
static const char *list_keys(const struct frag_policy_ops *ops, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < frag_param_count(ops) && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 ops->params[i].name);
	return buf[0] ? buf : "none";
}

static int no_key(const struct frag_policy_ops *ops, const char *text, size_t name,
		  struct frag_error *err)
{
	struct frag_suggestion near = frag_near_to(text, name);
	char keys[512], hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; i < frag_param_count(ops); i++)
		frag_near_offer(&near, ops->params[i].name);
	return frag_fail(err, FRAG_EUSAGE, "policy %s has no key \"%.*s\";%s its keys are: %s",
			 ops->name, (int)(name < 64 ? name : 64), text,
			 frag_near_hint(&near, "", hint), list_keys(ops, keys, sizeof(keys)));
}

static const char *choice_list_policies(char *buf, size_t size)
{
	size_t used = 0;

	for (uint32_t i = 0; frag_policies()[i] && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 frag_policies()[i]->name);
	return buf;
}

/* One key=value; *given collects a bit a key. What another key decides waits for that one. */
static int parse_param(struct frag_choice *choice, const char *text, size_t length,
		       bool beside, uint32_t *given, struct frag_error *err)
{
	const struct frag_policy_ops *ops = choice->ops;
	const char *equals = memchr(text, '=', length);
	size_t name = equals ? (size_t)(equals - text) : length;
	const char *value = text + name + 1;
	const uint32_t i = frag_param_find(ops, frag_param_count(ops), text, name);

	if (i == frag_param_count(ops))
		return no_key(ops, text, name, err);
	if (!equals)
		return frag_fail(err, FRAG_EUSAGE, "policy %s: %s requires a value: %s=...",
				 ops->name, ops->params[i].name, ops->params[i].name);
	if (*given & 1U << i)
		return frag_fail(err, FRAG_EUSAGE, "policy %s: %s is specified more than once",
				 ops->name, ops->params[i].name);
	*given |= 1U << i;
	if ((ops->params[i].beside != NULL) != beside)
		return 0;
	return parse_key(ops, choice->param, i, value, length - name - 1, err);
}

static void set_defaults(struct frag_choice *choice, uint32_t given)
{
	const struct frag_param_spec *specs = choice->ops->params;

	for (uint32_t i = 0; i < frag_param_count(choice->ops); i++) {
		if (given & 1U << i)
			continue;
		choice->param[i] = specs[i].fallback;
		if (specs[i].same_as)
			choice->param[i] = choice->param[frag_param_find(choice->ops, i,
									 specs[i].same_as,
									 strlen(specs[i].same_as))];
	}
}

int frag_choice_settings(struct frag_choice *choice, const char *text, struct frag_error *err)
{
	char reason[401];

	if (!choice->ops->settings)
		return frag_fail(err, FRAG_EUSAGE, "policy %s reads no settings string",
				 choice->ops->name);
	if (!frag_device_has_settings(choice, text))
		return frag_fail(err, FRAG_EUSAGE, "policy %s: the allocator of the device does not"
				 " have %.300s", choice->ops->name, text);
	if (!choice->ops->settings(choice->param, text, strlen(text), err))
		return 0;
	snprintf(reason, sizeof(reason), "%.400s", err ? err->message : "");
	return frag_fail(err, FRAG_EUSAGE, "policy %s: %s", choice->ops->name, reason);
}

static int no_policy(const char *text, size_t name, struct frag_error *err)
{
	struct frag_suggestion near = frag_near_to(text, name);
	char names[512], hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; frag_policies()[i]; i++)
		frag_near_offer(&near, frag_policies()[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "no policy \"%.*s\";%s valid values: %s%s",
			 (int)(name < 64 ? name : 64), text, frag_near_hint(&near, "", hint),
			 choice_list_policies(names, sizeof(names)),
			 memchr(text, '.', name) ? "; a plug-in needs a path: ./NAME.so" : "");
}

int frag_policy_named(const struct frag_policy_ops **out, const char *text, size_t name,
		      struct frag_error *err)
{
	char path[sizeof(((struct frag_choice *)0)->text)];

	if (memchr(text, '/', name)) {
		if (name >= sizeof(path))
			return frag_fail(err, FRAG_EUSAGE, "a plug-in's path has more than %zu"
					 " characters", sizeof(path) - 1);
		memcpy(path, text, name);
		path[name] = '\0';
		return frag_plugin_load(out, path, err);
	}
	for (uint32_t i = 0; frag_policies()[i]; i++) {
		if (frag_is_word(text, name, frag_policies()[i]->name)) {
			*out = frag_policies()[i];
			return 0;
		}
	}
	return no_policy(text, name, err);
}

static int parse_keys(struct frag_choice *choice, bool beside, struct frag_error *err)
{
	const char *p = choice->text + strcspn(choice->text, ":");
	uint32_t given = 0;
	int rc = 0;

	while (*p && !rc) {
		size_t length = frag_setting_length(++p);

		rc = parse_param(choice, p, length, beside, &given, err);
		p += length;
	}
	if (!rc && !beside)
		set_defaults(choice, given);
	return rc;
}

void frag_choice_fini(struct frag_choice *choice)
{
	for (uint32_t i = 0; choice->ops && i < frag_param_count(choice->ops); i++)
		drop_value(&choice->ops->params[i], &choice->param[i]);
}

int frag_choice_of(struct frag_choice *choice, const struct frag_policy_ops *ops, const char *text,
		   struct frag_error *err)
{
	bool plugin;
	int rc;

	*choice = (struct frag_choice){ .ops = ops };
	if (strlen(text) >= sizeof(choice->text))
		return frag_fail(err, FRAG_EUSAGE, "policy %s: more than %zu characters",
				 choice->ops->name, sizeof(choice->text) - 1);
	memcpy(choice->text, text, strlen(text) + 1);
	plugin = frag_is_plugin(ops);
	if (plugin)
		frag_plugin_begin(choice->text, NULL);
	rc = parse_keys(choice, false, err);
	rc = rc ? rc : parse_keys(choice, true, err);
	if (!rc && choice->ops->check)
		rc = choice->ops->check(choice->param, err);
	if (plugin)
		frag_plugin_end();
	if (rc)
		frag_choice_fini(choice);
	return rc;
}

int frag_choice_parse(struct frag_choice *choice, const char *text, struct frag_error *err)
{
	const struct frag_policy_ops *ops;
	int rc = frag_policy_named(&ops, text, strcspn(text, ":"), err);

	*choice = (struct frag_choice){ .ops = NULL };
	return rc ? rc : frag_choice_of(choice, ops, text, err);
}

bool frag_configured_init(struct frag_configured *c, const struct frag_choice *choices,
			  uint32_t count)
{
	*c = (struct frag_configured){ .choice = calloc((size_t)count + 1, sizeof(*c->choice)) };
	for (uint32_t i = 0; i < count && c->choice; i++)
		if (choices[i].ops->settings)
			c->choice[c->count++] = choices[i];
	return c->choice != NULL;
}

void frag_configured_fini(struct frag_configured *c)
{
	free(c->choice);
	*c = (struct frag_configured){ .count = 0 };
}

int frag_configured_next(void *configured, const char *text, size_t length,
			 struct frag_error *err)
{
	struct frag_configured *c = configured;
	struct frag_error why = { .code = 0 };

	for (uint32_t i = 0; i < c->count; i++) {
		uint64_t tried[FRAG_PARAMS_MAX];

		memcpy(tried, c->choice[i].param, sizeof(tried));
		if (c->choice[i].ops->settings(tried, text, length, &why))
			return frag_fail(err, FRAG_EUSAGE, "policy %s: %s", c->choice[i].ops->name,
					 why.message);
	}
	for (uint32_t i = 0; i < c->count; i++)
		c->choice[i].ops->settings(c->choice[i].param, text, length, NULL);
	return 0;
}

char *frag_conf_text(const struct frag_choice *choice, char *buf, size_t size)
{
	const uint32_t count = choice->ops->settings ? frag_param_count(choice->ops) : 0;
	char value[FRAG_PARAM_TEXT];
	size_t used = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < count && used < size; i++) {
		const struct frag_param_spec *spec = &choice->ops->params[i];

		if (spec->no_setting || frag_param_is_default(choice, i))
			continue;
		if (spec->type == FRAG_PARAM_BOOL)
			snprintf(value, sizeof(value), "%s", choice->param[i] ? "True" : "False");
		else
			frag_param_text(spec, choice->param[i], value);
		used += (size_t)snprintf(buf + used, size - used, "%s%s:%s", used ? "," : "",
					 spec->name, value);
	}
	return buf;
}

bool frag_choice_keys(const struct frag_choice *choice, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "%s", choice->ops->name);
	const char *before = ":";
	char value[FRAG_PARAM_TEXT];

	for (uint32_t i = 0; i < frag_param_count(choice->ops) && used < size; i++) {
		const struct frag_param_spec *spec = &choice->ops->params[i];

		if (frag_param_is_default(choice, i))
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s%s=%s", before, spec->name,
					 frag_param_text(spec, choice->param[i], value));
		before = ",";
	}
	return used < size;
}

int frag_choose_version(struct frag_choice *choice, uint32_t minor, struct frag_error *err)
{
	char name[32] = "pytorch";

	if (minor && minor != NEWEST_VERSION)
		snprintf(name, sizeof(name), "pytorch:version=2.%" PRIu32, minor);
	return frag_choice_parse(choice, name, err);
}

int frag_choice_expand_settings(struct frag_choice *choice, struct frag_error *err)
{
	char text[sizeof(choice->text)];

	if (!frag_choice_keys(choice, text, sizeof(text)))
		return frag_fail(err, FRAG_EUSAGE,
				 "--alloc-conf: spelt out as keys, the settings are more"
				 " than %zu characters", sizeof(text) - 1);
	return frag_choice_parse(choice, text, err);
}
