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

/*
 * Each device's words and settings. The manual of torch_npu 6.0 to 7.3 lists the settings there;
 * its expandable segments exclude the others. The snapshots of XPU list its settings. HIP compiles
 * the allocator of CUDA.
 */
static const struct {
	struct frag_device_words words;
	const char *name;               /* NULL: it is CUDA's */
	const char *settings[5];        /* NULL first: all */
	bool alone;                     /* expandable segments exclude other settings */
} devices[] = {
	[FRAG_CUDA] = { { "PYTORCH_CUDA_ALLOC_CONF", "torch.cuda" }, NULL, { NULL }, false },
	[FRAG_HIP] = { { "PYTORCH_HIP_ALLOC_CONF", "torch.cuda" }, "HIP", { NULL }, false },
	[FRAG_XPU] = { { "PYTORCH_ALLOC_CONF", "torch.xpu" }, "XPU",
		       { "expandable_segments", "max_split_size_mb", "garbage_collection_threshold",
			 "roundup_power2_divisions", NULL }, false },
	[FRAG_NPU] = { { "PYTORCH_NPU_ALLOC_CONF", "torch.npu" }, "torch_npu",
		       { "expandable_segments", "max_split_size_mb", "garbage_collection_threshold",
			 NULL }, true },
};

const struct frag_device_words *frag_device_words(enum frag_accelerator device)
{
	return &devices[device].words;
}

/* A list of values in brackets has commas too, but no letters. */
bool frag_device_has_settings(const struct frag_choice *choice, const char *conf)
{
	const char *const *known = devices[choice->accelerator].settings;
	bool expandable = false;
	uint32_t count = 0;

	while (*known && *conf) {
		const size_t length = strcspn(conf, ":");
		uint32_t i = 0;

		while (known[i] && (strncmp(conf, known[i], length) != 0 || known[i][length]))
			i++;
		if (!known[i])
			return false;
		count++;
		expandable |= strncmp(conf, "expandable_segments:True", 24) == 0;
		do
			conf += strcspn(conf, ",") + 1;
		while (conf[-1] && (*conf < 'a' || *conf > 'z'));
		conf -= !conf[-1];
	}
	return !(devices[choice->accelerator].alone && expandable && count > 1);
}

const char *frag_unknown_order(const struct frag_choice *choice)
{
	if (choice->ops == &frag_policy_cupy)
		return "order of equal blocks";
	return choice->ops == &frag_policy_pytorch && choice->param[VERSION] <= BY_ADDRESS
		       ? "order of new segments" : NULL;
}

#define USUAL_RELEASE 8         /* an unknown one is taken to accept the settings of 2.8 */

uint32_t frag_oldest_release(const struct frag_choice *choice)
{
	const uint32_t minor = (uint32_t)choice->param[VERSION];

	if (choice->ops != &frag_policy_pytorch)
		return NEWEST_VERSION;
	if (choice->oldest)
		return choice->oldest;
	return strstr(choice->text, "version=") || minor < USUAL_RELEASE ? minor : USUAL_RELEASE;
}

/* Of the switches for changes of PyTorch that no release has; "": all are off. */
static const char *open_changes(const struct frag_choice *choice)
{
	const bool oversize = choice->param[REUSE_OVERSIZE];

	if (choice->param[SEARCH_AFTER_FLUSH])
		return oversize ? " and of its open pull requests 191302 and 193400"
				: " and of its open pull request 191302";
	return oversize ? " and of its open pull request 193400" : "";
}

/*
 * "2.8", or a range, whose newest release has the rules; a label begins with either. Only the rules
 * of a release that is known are exact, and only where the log does not contradict them.
 */
static void put_pytorch(const struct frag_choice *choice, char buf[FRAG_EVIDENCE_ROOM])
{
	static const char name[] = "pytorch ";
	const uint64_t minor = choice->param[VERSION];
	const char *label = choice->label;
	uint64_t least;

	if (*open_changes(choice))
		snprintf(buf, FRAG_EVIDENCE_ROOM, "rules of PyTorch 2.%" PRIu64 "%s, which no"
			 " release has", minor, open_changes(choice));
	else if (strncmp(label, name, strlen(name)) == 0 && strstr(label, " or older"))
		snprintf(buf, FRAG_EVIDENCE_ROOM, "PyTorch 2.0 or older by its form; rules of 2.%"
			 PRIu64 " assumed", minor);
	else if (strncmp(label, name, strlen(name)) == 0 && strstr(label, " or newer")
		 && sscanf(label, "pytorch 2.%" SCNu64, &least) == 1)
		snprintf(buf, FRAG_EVIDENCE_ROOM, "PyTorch 2.%" PRIu64 " or newer, rules of 2.%"
			 PRIu64 " assumed", least, minor);
	else if (strncmp(label, name, strlen(name)) == 0
	    && sscanf(label, "pytorch 2.%" SCNu64 " to", &least) == 1 && least < minor)
		snprintf(buf, FRAG_EVIDENCE_ROOM, "PyTorch 2.%" PRIu64 " to 2.%" PRIu64 ", rules of"
			 " 2.%" PRIu64 " assumed", least, minor, minor);
	else if (strncmp(label, name, strlen(name)) && !strstr(choice->text, "version="))
		snprintf(buf, FRAG_EVIDENCE_ROOM, "no version is given: rules of PyTorch 2.%"
			 PRIu64 " assumed", minor);
	else
		snprintf(buf, FRAG_EVIDENCE_ROOM, "PyTorch 2.%" PRIu64 "%s", minor,
			 choice->log_differences ? "" : ": exact on the released binary");
}

/* How the recorded rules and settings compare with the recorded log. */
static void put_log(const struct frag_choice *choice, char buf[FRAG_EVIDENCE_ROOM])
{
	const size_t used = strlen(buf);

	if (choice->log_differences)
		snprintf(buf + used, FRAG_EVIDENCE_ROOM - used, "; differs from the recorded log from"
			 " event %" PRIu64 " on: settings changed in mid-run?", choice->log_first);
	else if (choice->log_changed_at)
		snprintf(buf + used, FRAG_EVIDENCE_ROOM - used, "; agrees with the recorded log, in"
			 " which the settings change at event %" PRIu64, choice->log_changed_at);
	else if (choice->logged)
		snprintf(buf + used, FRAG_EVIDENCE_ROOM - used, "; agrees with the recorded log");
}

bool frag_evidence_differs(const struct frag_choice *choice)
{
	return choice->ops == &frag_policy_pytorch && choice->log_differences;
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
	if (devices[choice->accelerator].name)
		snprintf(buf + strlen(buf), FRAG_EVIDENCE_ROOM - strlen(buf), " for CUDA; not compared"
			 " with the allocator of %s", devices[choice->accelerator].name);
	if (unknown)
		snprintf(buf + strlen(buf), FRAG_EVIDENCE_ROOM - strlen(buf), "; %s %s", unknown,
			 order ? order : choice->ops == &frag_policy_cupy
			 ? "assumed" : "from the log, else assumed (2.11 and older)");
	if (choice->ops == &frag_policy_pytorch)
		put_log(choice, buf);
	return buf;
}
