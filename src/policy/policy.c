/* policy.c - the table of policies, and how a user names one with its parameters. */
#include "fragsim/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "base/parse.h"
#include "policy/policies.h"

static const struct frag_policy_ops *const policies[] = {
	&frag_policy_bestfit,
	&frag_policy_buddy,
	&frag_policy_direct,
	&frag_policy_firstfit,
	&frag_policy_nextfit,
	&frag_policy_pytorch,
	&frag_policy_sizeclass,
	&frag_policy_worstfit,
	NULL,
};

const struct frag_policy_ops *const *frag_policies(void)
{
	return policies;
}

static bool power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

static uint64_t most_of(const struct frag_param_spec *spec)
{
	return spec->most ? spec->most : FRAG_SIZE_LIMIT - 1;
}

static bool fits(const struct frag_param_spec *spec, uint64_t value)
{
	if (spec->type == FRAG_PARAM_OWN)
		return spec->expects && spec->parse && spec->print;
	if (value < spec->least || value > most_of(spec))
		return false;
	return !spec->power_of_two || power_of_two(value) || (value == 0 && spec->least == 0);
}

static uint32_t param_count(const struct frag_policy_ops *ops)
{
	uint32_t n = 0;

	while (ops->params && ops->params[n].name)
		n++;
	return n;
}

static bool good_name(const char *name)
{
	if (!name || *name < 'a' || *name > 'z')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* Where this name stands among the first n parameters; n where it does not. */
static uint32_t find_param(const struct frag_policy_ops *ops, uint32_t n, const char *name)
{
	uint32_t i = 0;

	while (i < n && strcmp(ops->params[i].name, name) != 0)
		i++;
	return i;
}

/* What is wrong with a key of a table; NULL: nothing. */
static const char *fault_of(const struct frag_policy_ops *ops, uint32_t i)
{
	const struct frag_param_spec *spec = &ops->params[i];

	if (!good_name(spec->name))
		return "its name is not made of a-z, 0-9, _ and -, or begins with no letter";
	if (find_param(ops, i, spec->name) < i)
		return "an earlier one has the same name";
	if (!spec->help)
		return "it has no help";
	if (spec->same_as)
		return find_param(ops, i, spec->same_as) < i ? NULL
							      : "same_as is no earlier key";
	if (fits(spec, spec->fallback))
		return NULL;
	return spec->type == FRAG_PARAM_OWN ? "a type of its own wants expects, parse and print"
					    : "its default is not a value that it takes";
}

int frag_policy_check(const struct frag_policy_ops *ops, struct frag_error *err)
{
	if (!good_name(ops->name))
		return frag_fail(err, FRAG_EPOLICY, "a policy's name is made of a-z, 0-9, _ and -,"
				 " and begins with a letter");
	if (!ops->plant != !ops->place)
		return frag_fail(err, FRAG_EPOLICY, "policy %s: plant and place go together",
				 ops->name);
	if (!ops->summary || !ops->index || !ops->alloc || !ops->free)
		return frag_fail(err, FRAG_EPOLICY,
				 "policy %s: summary, index, alloc and free are required", ops->name);
	if (param_count(ops) > FRAG_PARAMS_MAX)
		return frag_fail(err, FRAG_EPOLICY, "policy %s: more than %d parameters",
				 ops->name, FRAG_PARAMS_MAX);
	for (uint32_t i = 0; i < param_count(ops); i++)
		if (fault_of(ops, i))
			return frag_fail(err, FRAG_EPOLICY, "policy %s: key %u, \"%.40s\": %s",
					 ops->name, i, ops->params[i].name, fault_of(ops, i));
	return 0;
}

/* "align, segment, ...": the names of a table, for a message. */
static const char *list_keys(const struct frag_policy_ops *ops, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < param_count(ops) && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 ops->params[i].name);
	return buf[0] ? buf : "none";
}

static int no_key(const struct frag_policy_ops *ops, const char *text, size_t name,
		  struct frag_error *err)
{
	struct frag_near near = frag_near_to(text, name);
	char keys[512], hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; i < param_count(ops); i++)
		frag_near_offer(&near, ops->params[i].name);
	return frag_fail(err, FRAG_EUSAGE, "policy %s has no key \"%.*s\";%s its keys are: %s",
			 ops->name, (int)(name < 64 ? name : 64), text,
			 frag_near_hint(&near, "", hint), list_keys(ops, keys, sizeof(keys)));
}

static const char *list_policies(char *buf, size_t size)
{
	size_t used = 0;

	for (uint32_t i = 0; policies[i] && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 policies[i]->name);
	return buf;
}

static bool is(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool parse_bool(const char *text, size_t length, uint64_t *value)
{
	*value = is(text, length, "true") || is(text, length, "True") || is(text, length, "1");
	return *value || is(text, length, "false") || is(text, length, "False")
	       || is(text, length, "0");
}

static bool parse_value(const struct frag_param_spec *spec, const char *text, size_t length,
			uint64_t *value)
{
	switch (spec->type) {
	case FRAG_PARAM_BOOL:
		return parse_bool(text, length, value);
	case FRAG_PARAM_COUNT:
		return frag_parse_count(text, length, value) && fits(spec, *value);
	case FRAG_PARAM_OWN:
		return spec->parse(text, length, value);
	case FRAG_PARAM_SIZE:
		break;
	}
	return frag_parse_size(text, length, true, value) && fits(spec, *value);
}

static int bad_value(const struct frag_choice *choice, const struct frag_param_spec *spec,
		     const char *text, size_t length, struct frag_error *err)
{
	char range[64];

	if (spec->type == FRAG_PARAM_BOOL)
		return frag_fail(err, FRAG_EUSAGE, "policy %s: %s=%.*s is neither true nor false",
				 choice->ops->name, spec->name, (int)length, text);
	if (spec->type == FRAG_PARAM_OWN)
		return frag_fail(err, FRAG_EUSAGE, "policy %s: %s=%.*s is not %s",
				 choice->ops->name, spec->name, (int)length, text, spec->expects);
	if (spec->most)
		snprintf(range, sizeof(range), "to %" PRIu64, spec->most);
	else
		snprintf(range, sizeof(range), "and below 2^53");
	return frag_fail(err, FRAG_EUSAGE, "policy %s: %s=%.*s is not %s, from %" PRIu64 " %s",
			 choice->ops->name, spec->name, (int)length, text,
			 spec->power_of_two ? spec->least ? "a power of two" : "0 or a power of two"
			 : spec->type == FRAG_PARAM_SIZE ? "a size such as 2MiB" : "a number",
			 spec->least, range);
}

/* One key=value; *given collects a bit a key. */
static int parse_param(struct frag_choice *choice, const char *text, size_t length,
		       uint32_t *given, struct frag_error *err)
{
	const struct frag_policy_ops *ops = choice->ops;
	const char *equals = memchr(text, '=', length);
	size_t name = equals ? (size_t)(equals - text) : length;
	const char *value = text + name + 1;

	for (uint32_t i = 0; i < param_count(ops); i++) {
		const struct frag_param_spec *spec = &ops->params[i];

		if (!is(text, name, spec->name))
			continue;
		if (!equals)
			return frag_fail(err, FRAG_EUSAGE, "policy %s: %s wants a value: %s=...",
					 ops->name, spec->name, spec->name);
		if (*given & 1U << i)
			return frag_fail(err, FRAG_EUSAGE, "policy %s: %s is given twice",
					 ops->name, spec->name);
		*given |= 1U << i;
		if (!parse_value(spec, value, length - name - 1, &choice->param[i]))
			return bad_value(choice, spec, value, length - name - 1, err);
		return 0;
	}
	return no_key(ops, text, name, err);
}

static void set_defaults(struct frag_choice *choice, uint32_t given)
{
	const struct frag_param_spec *specs = choice->ops->params;

	for (uint32_t i = 0; i < param_count(choice->ops); i++) {
		if (given & 1U << i)
			continue;
		choice->param[i] = specs[i].fallback;
		if (specs[i].same_as)
			choice->param[i] = choice->param[find_param(choice->ops, i,
								    specs[i].same_as)];
	}
}

int frag_choice_settings(struct frag_choice *choice, const char *text, struct frag_error *err)
{
	char reason[401];

	if (!choice->ops->settings)
		return frag_fail(err, FRAG_EUSAGE, "policy %s reads no settings string",
				 choice->ops->name);
	if (!choice->ops->settings(choice->param, text, strlen(text), err))
		return 0;
	snprintf(reason, sizeof(reason), "%.400s", err ? err->message : "");
	return frag_fail(err, FRAG_EUSAGE, "policy %s: %s", choice->ops->name, reason);
}

static int no_policy(const char *text, size_t name, struct frag_error *err)
{
	struct frag_near near = frag_near_to(text, name);
	char names[512], hint[FRAG_HINT_ROOM];

	for (uint32_t i = 0; policies[i]; i++)
		frag_near_offer(&near, policies[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "no policy \"%.*s\";%s there are: %s%s",
			 (int)(name < 64 ? name : 64), text, frag_near_hint(&near, "", hint),
			 list_policies(names, sizeof(names)),
			 memchr(text, '.', name) ? "; a plug-in needs a path: ./NAME.so" : "");
}

/* The policy that the text begins with, `name` characters: one of ours, or a plug-in's path. */
static int find_policy(const struct frag_policy_ops **out, const char *text, size_t name,
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
	for (uint32_t i = 0; policies[i]; i++) {
		if (is(text, name, policies[i]->name)) {
			*out = policies[i];
			return 0;
		}
	}
	return no_policy(text, name, err);
}

int frag_choice_of(struct frag_choice *choice, const struct frag_policy_ops *ops, const char *text,
		   struct frag_error *err)
{
	const char *p = text + strcspn(text, ":");
	uint32_t given = 0;
	int rc;

	*choice = (struct frag_choice){ .ops = ops };
	if (strlen(text) >= sizeof(choice->text))
		return frag_fail(err, FRAG_EUSAGE, "policy %s: more than %zu characters",
				 choice->ops->name, sizeof(choice->text) - 1);
	memcpy(choice->text, text, strlen(text) + 1);
	while (*p) {
		size_t length = frag_setting_length(++p);

		rc = parse_param(choice, p, length, &given, err);
		if (rc)
			return rc;
		p += length;
	}
	set_defaults(choice, given);
	return choice->ops->check ? choice->ops->check(choice->param, err) : 0;
}

int frag_choice_parse(struct frag_choice *choice, const char *text, struct frag_error *err)
{
	const struct frag_policy_ops *ops;
	int rc = find_policy(&ops, text, strcspn(text, ":"), err);

	return rc ? rc : frag_choice_of(choice, ops, text, err);
}

int frag_policy_obtain(struct frag_policy *p, frag_list list, uint64_t bytes, bool again,
		       frag_block *out)
{
	int rc = frag_heap_grow(p->heap, list, bytes, out);

	if (rc != -FRAG_EDEVMEM || !again)
		return rc;
	frag_heap_retried(p->heap);
	rc = frag_heap_release_idle(p->heap);
	return rc ? rc : frag_heap_grow(p->heap, list, bytes, out);
}
