/* policy.c - the table of policies, what a policy's own table must have, and its keys. */
#include "fragsim/policy.h"

#include <string.h>

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

uint32_t frag_param_count(const struct frag_policy_ops *ops)
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
	if (frag_param_fits(spec, spec->fallback))
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
	if (!ops->summary || !ops->alloc || !ops->free)
		return frag_fail(err, FRAG_EPOLICY,
				 "policy %s: summary, alloc and free are required", ops->name);
	if ((unsigned)ops->order > FRAG_ORDER_KEY)
		return frag_fail(err, FRAG_EPOLICY, "policy %s: order %u is none",
				 ops->name, (unsigned)ops->order);
	if (!ops->key != (ops->order != FRAG_ORDER_KEY))
		return frag_fail(err, FRAG_EPOLICY, "policy %s: key and FRAG_ORDER_KEY go together",
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
