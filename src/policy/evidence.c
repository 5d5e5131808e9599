/* evidence.c - what the rules of a policy were compared with, and what they assume. */
#include "policy/evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/policies.h"
#include "policy/pytorch_settings.h"

#define BY_ADDRESS 11           /* the last version in which addresses decide */

/* By scripts/oracles; all others by tests/property/naive_policies.py. */
static const struct {
	const char *policy, *text;
} compared[] = {
	{ "bfc", "TensorFlow 2.21: exact on the released binary" },
	{ "compact", "PyTorch's rules, and moves of blocks that no released allocator makes" },
	{ "cupy", "CuPy 14.2: exact on the released pool" },
	{ "plan", "a plan of this trace, checked for overlaps; no released allocator follows one" },
	{ "rmm", "RMM 26.10: exact on the released library; the order of other streams is assumed" },
	{ "tlsf", "exact on a naive model of its rules, and that on TLSF 3.1" },
};

const char *frag_unknown_order(const struct frag_choice *choice)
{
	if (choice->ops == &frag_policy_cupy)
		return "order of equal blocks";
	return choice->ops == &frag_policy_pytorch && choice->param[VERSION] <= BY_ADDRESS
		       ? "order of new segments" : NULL;
}

/* "2.8", or a range, whose newest release has the rules; a label begins with either. */
static void put_pytorch(const struct frag_choice *choice, char buf[FRAG_EVIDENCE_ROOM])
{
	static const char name[] = "pytorch ";
	const uint64_t minor = choice->param[VERSION];
	const char *label = choice->label;
	uint64_t least;

	if (strncmp(label, name, strlen(name)) == 0
	    && sscanf(label, "pytorch 2.%" SCNu64 " to", &least) == 1 && least < minor)
		snprintf(buf, FRAG_EVIDENCE_ROOM, "PyTorch 2.%" PRIu64 " to 2.%" PRIu64 ", rules of"
			 " 2.%" PRIu64 ": exact on the released binary", least, minor, minor);
	else
		snprintf(buf, FRAG_EVIDENCE_ROOM, "PyTorch 2.%" PRIu64 "%s: exact on the released"
			 " binary", minor,
			 strncmp(label, name, strlen(name)) && !strstr(choice->text, "version=")
				 ? ", as none is given" : "");
}

const char *frag_evidence_text(const struct frag_choice *choice, const char *order,
			       char buf[FRAG_EVIDENCE_ROOM])
{
	const struct frag_policy_ops *const *all = frag_policies();
	const char *unknown = frag_unknown_order(choice);

	while (*all && *all != choice->ops)
		all++;
	snprintf(buf, FRAG_EVIDENCE_ROOM, "%s", *all ? "exact on a naive model of its rules"
						     : "a plug-in, compared with nothing");
	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		if (*all && strcmp(choice->ops->name, compared[i].policy) == 0)
			snprintf(buf, FRAG_EVIDENCE_ROOM, "%s", compared[i].text);
	if (choice->ops == &frag_policy_pytorch)
		put_pytorch(choice, buf);
	if (unknown)
		snprintf(buf + strlen(buf), FRAG_EVIDENCE_ROOM - strlen(buf), "; %s %s", unknown,
			 order ? order : choice->ops == &frag_policy_cupy
			 ? "assumed" : "from the log, else assumed (2.11 and older)");
	return buf;
}
