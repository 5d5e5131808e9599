/* pytorch_version.c - the release of PyTorch that a snapshot was recorded with. */
#include "cmd/pytorch_version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "events/recording_info.h"
#include "policy/pytorch_settings.h"
#include "verify/verifier.h"

#define BY_ADDRESS 11           /* the last release that takes the lower of equal blocks */
#define BY_CREATION 12          /* the only one that takes the one that came to be first */

int frag_choose_version(struct frag_choice *choice, uint32_t minor, struct frag_error *err)
{
	char name[32] = "pytorch";

	if (minor && minor != NEWEST_VERSION)
		snprintf(name, sizeof(name), "pytorch:version=2.%" PRIu32, minor);
	return frag_choice_parse(choice, name, err);
}

int frag_choose_release(struct frag_choice *choice, const struct frag_trace *trace, uint32_t minor,
			char text[FRAG_SETTINGS_MAX], const struct frag_log *log,
			struct frag_error *err)
{
	int rc = frag_choose_version(choice, minor, err);

	return rc ? rc : frag_recorded_settings(choice, trace, text, log, err);
}

const char *frag_release_text(const struct frag_release *release, char buf[FRAG_RELEASE_ROOM])
{
	*buf = '\0';
	if (release->minor && release->least == release->most)
		snprintf(buf, FRAG_RELEASE_ROOM, "2.%" PRIu32, release->minor);
	else if (release->minor)
		snprintf(buf, FRAG_RELEASE_ROOM, "2.%" PRIu32 " to 2.%" PRIu32, release->least,
			 release->most);
	return buf;
}

static void set_release(struct frag_release *out, uint32_t least, uint32_t most)
{
	out->minor = out->most = most;
	out->least = least;
}

/* "2.8.0+cu128" in one of the members that say a version. */
static bool said(struct frag_release *out, const struct frag_snapshot *s)
{
	char text[64], shown[FRAG_PRINTABLE_ROOM];
	uint64_t minor;

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++) {
		if (!strstr(frag_snapshot_version_names[i], "torch")
		    || !frag_snapshot_version(s, i, text, sizeof(text))
		    || !frag_pytorch_parse_version(text, strlen(text), &minor))
			continue;
		set_release(out, (uint32_t)minor, (uint32_t)minor);
		snprintf(out->why, sizeof(out->why), "its %s is %.60s",
			 frag_snapshot_version_names[i], frag_printable(shown, text));
		return true;
	}
	return false;
}

/* The "meta" of a trace that fragsim wrote names the release, or a range. */
static void kept(struct frag_release *out, const struct frag_trace *trace)
{
	static const char to[] = " to ";
	const char *text = frag_trace_pytorch(trace), *range = text ? strstr(text, to) : NULL;
	uint64_t least, most;

	if (!text || !frag_pytorch_parse_version(text, range ? (size_t)(range - text)
							     : strlen(text), &least))
		return;
	most = least;
	if (range && !frag_pytorch_parse_version(range + strlen(to), strlen(range + strlen(to)),
						 &most))
		return;
	if (most < least)
		return;
	set_release(out, (uint32_t)least, (uint32_t)most);
	snprintf(out->why, sizeof(out->why), "its \"meta\" says");
}

/* What fragsim wrote itself: its settings have the names of no release. */
static bool is_ours(const struct frag_snapshot *s)
{
	char text[64];

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++)
		if (strcmp(frag_snapshot_version_names[i], "fragsim") == 0)
			return frag_snapshot_version(s, i, text, sizeof(text));
	return false;
}

/* Is there a history in which equal blocks could be told apart? */
static bool has_places(const struct frag_snapshot *s)
{
	uint64_t allocs = 0, homeless = 0;

	for (uint32_t i = 0; i < s->device_count; i++) {
		allocs += s->devices[i].alloc_count;
		homeless += s->devices[i].homeless;
	}
	return allocs > homeless;
}

/* How many decisions differ under the rules of a release. */
static int differences(uint64_t *count, const struct frag_trace *trace, uint32_t minor,
		       struct frag_error *err)
{
	const struct frag_log silent = { .warn = NULL };
	char text[FRAG_SETTINGS_MAX];
	struct frag_verdict verdict;
	struct frag_choice choice;
	int rc = frag_choose_release(&choice, trace, minor, text, &silent, err);

	rc = rc ? rc : frag_verify(&verdict, trace, &choice, minor > BY_ADDRESS, 0, err);
	*count = rc ? UINT64_MAX : verdict.difference_count;
	return rc == -FRAG_ENOMEM ? rc : 0;
}

/*
 * Only a log on which the newest rules fail says anything: then an older order has to explain
 * nearly all of it.
 */
static int look_at_log(struct frag_release *out, const struct frag_trace *trace, uint32_t least,
		       uint32_t most, struct frag_error *err)
{
	static const char *const orders[] = {
		"its log shows that of equal blocks the one at the lower address came first",
		"its log shows that of equal blocks the one created first came first",
	};
	const enum frag_stacks stacks = frag_trace_snapshot(trace)->stacks;
	uint64_t newest, older;
	int rc = differences(&newest, trace, most, err);

	frag_trace_reread(trace, stacks);
	for (uint32_t minor = BY_ADDRESS; !rc && newest && minor <= BY_CREATION; minor++) {
		if (minor < least || minor > most)
			continue;
		rc = differences(&older, trace, minor, err);
		frag_trace_reread(trace, stacks);
		if (rc || older > newest / 8)
			continue;
		set_release(out, minor == BY_ADDRESS ? least : minor, minor);
		snprintf(out->why, sizeof(out->why), "%s", orders[minor - BY_ADDRESS]);
		return 0;
	}
	return rc;
}

int frag_find_release(struct frag_release *out, const struct frag_trace *trace,
		      struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);
	uint32_t least = OLDEST_VERSION, most = NEWEST_VERSION;
	const char *why;

	*out = (struct frag_release){ .minor = 0 };
	if (!s)
		kept(out, trace);
	if (!s || said(out, s) || is_ours(s))
		return 0;
	if (frag_snapshot_releases(s, &least, &most, &why)) {
		set_release(out, least, most);
		snprintf(out->why, sizeof(out->why), "%s", why);
	}
	if (most <= BY_ADDRESS || least > BY_CREATION || !has_places(s))
		return 0;
	return look_at_log(out, trace, least, most, err);
}
