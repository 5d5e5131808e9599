/* release.c - the release of PyTorch, and the settings, that a trace was recorded under. */
#include "verify/release.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "events/recording_info.h"
#include "policy/choice.h"
#include "policy/pytorch_settings.h"
#include "trace/reader.h"
#include "verify/verifier.h"

#define OLDER "2.0 or older"
#define BY_ADDRESS 11           /* the last release that takes the lower of equal blocks */
#define BY_CREATION 12          /* the only release that takes the oldest of equal blocks */

/* Those of a header, which were understood when it was written; or not, where a person did. */
static int header_settings(struct frag_choice *choice, const struct frag_trace *trace,
			   char text[FRAG_SETTINGS_MAX], const struct frag_log *log,
			   struct frag_error *err)
{
	const char *conf = frag_trace_recording(trace).alloc_conf;
	const struct frag_choice plain = *choice;

	if (!conf || !*conf || strlen(conf) >= FRAG_SETTINGS_MAX)
		return 0;
	if (frag_choice_settings(choice, conf, err)) {
		*choice = plain;
		frag_note(log, "the settings in the trace's \"meta\" are not understood (%.900s);"
			  " those of PyTorch's defaults are taken", err->message);
		return 0;
	}
	memcpy(text, conf, strlen(conf) + 1);
	return 0;
}

/*
 * The settings that a trace was recorded under, given to a choice of pytorch: a snapshot's
 * string, or, after a note, its separate values if the string cannot be parsed; or the settings
 * of the header. Stores the settings in text, "" for none.
 */
static int recorded_settings(struct frag_choice *choice, const struct frag_trace *trace,
			     char text[FRAG_SETTINGS_MAX], const struct frag_log *log, struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);

	*text = '\0';
	if (!s)
		return header_settings(choice, trace, text, log, err);
	if (frag_snapshot_settings(s, text, FRAG_SETTINGS_MAX)) {
		if (frag_choice_settings(choice, text, err) == 0)
			return 0;
		frag_note(log, "the snapshot's own settings are not understood (%.900s); the values"
			  " recorded with them are used", err->message);
	}
	frag_snapshot_settings_values(s, text, FRAG_SETTINGS_MAX);
	return *text ? frag_choice_settings(choice, text, err) : 0;
}

int frag_choose_release(struct frag_choice *choice, const struct frag_trace *trace, uint32_t minor,
			char text[FRAG_SETTINGS_MAX], const struct frag_log *log,
			struct frag_error *err)
{
	int rc = frag_choose_version(choice, minor, err);

	return rc ? rc : recorded_settings(choice, trace, text, log, err);
}

static const char newer[] = " or newer";

const char *frag_release_text(const struct frag_release *release, char buf[FRAG_RELEASE_ROOM])
{
	*buf = '\0';
	if (release->older)
		snprintf(buf, FRAG_RELEASE_ROOM, OLDER);
	else if (release->minor && release->newer)
		snprintf(buf, FRAG_RELEASE_ROOM, "2.%" PRIu32 "%s", release->least, newer);
	else if (release->minor && release->least == release->most)
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

/* "2.16.0": newer than all rules. */
static bool is_newer(const char *text)
{
	unsigned major, minor;

	return sscanf(text, "%3u.%3u", &major, &minor) == 2
	       && (major > 2 || (major == 2 && minor > NEWEST_VERSION));
}

/* "2.8.0+cu128" in one of the members that say a version. */
static bool said(struct frag_release *out, const struct frag_snapshot *s)
{
	char text[64], shown[FRAG_PRINTABLE_ROOM];
	uint64_t minor;

	for (uint32_t i = 0; frag_snapshot_version_names[i]; i++) {
		if (!strstr(frag_snapshot_version_names[i], "torch")
		    || !frag_snapshot_version(s, i, text, sizeof(text)))
			continue;
		out->newer = is_newer(text);
		if (out->newer)
			minor = NEWEST_VERSION;
		else if (!frag_pytorch_parse_version(text, strlen(text), &minor))
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
	const char *text = frag_trace_recording(trace).pytorch;
	const char *range = text ? strstr(text, to) : NULL, *open = text ? strstr(text, newer) : NULL;
	const size_t length = range ? (size_t)(range - text) : open ? (size_t)(open - text)
			      : text ? strlen(text) : 0;
	uint64_t least, most;

	if (text && strcmp(text, OLDER) == 0) {
		set_release(out, OLDEST_VERSION, OLDEST_VERSION);
		out->older = true;
		return;
	}
	if (!text || !frag_pytorch_parse_version(text, length, &least))
		return;
	most = open ? NEWEST_VERSION : least;
	if (range && !frag_pytorch_parse_version(range + strlen(to), strlen(range + strlen(to)),
						 &most))
		return;
	if (most < least)
		return;
	set_release(out, (uint32_t)least, (uint32_t)most);
	out->newer = open;
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

/* Does the history contain an address for at least one allocation? */
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
	struct frag_verification verdict;
	struct frag_choice choice;
	int rc = frag_choose_release(&choice, trace, minor, text, &silent, err);

	rc = rc ? rc : frag_verify(&verdict, trace, &choice, minor > BY_ADDRESS, false, 0, err);
	*count = rc ? UINT64_MAX : verdict.difference_count;
	return rc == -FRAG_ENOMEM ? rc : 0;
}

/*
 * Only a log that contradicts the newest rules is evidence: then an older order must explain
 * nearly all of it.
 */
static int look_at_log(struct frag_release *out, const struct frag_trace *trace, uint32_t least,
		       uint32_t most, struct frag_error *err)
{
	static const char *const orders[] = {
		"its log shows that of equal blocks the one at the lower address came first",
		"its log shows that of equal blocks the one created first came first",
	};
	uint64_t newest, older;
	int rc = differences(&newest, trace, most, err);

	for (uint32_t minor = BY_ADDRESS; !rc && newest && minor <= BY_CREATION; minor++) {
		if (minor < least || minor > most)
			continue;
		rc = differences(&older, trace, minor, err);
		if (rc || older > newest / 8)
			continue;
		set_release(out, minor == BY_ADDRESS ? least : minor, minor);
		snprintf(out->why, sizeof(out->why), "%s", orders[minor - BY_ADDRESS]);
		return 0;
	}
	return rc;
}

void frag_allowed_releases(struct frag_release *out, const struct frag_trace *trace)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);
	const struct frag_log silent = { .warn = NULL };
	uint32_t least, most;
	const char *why;

	*out = (struct frag_release){ .minor = 0 };
	if (!s)
		kept(out, trace);
	if (!s || said(out, s) || is_ours(s))
		return;
	if (frag_snapshot_releases(s, &least, &most, &why)) {
		out->older = !most;
		set_release(out, most ? least : OLDEST_VERSION, most ? most : OLDEST_VERSION);
		out->newer = most == NEWEST_VERSION && frag_snapshot_note_unknown(s, &silent);
		snprintf(out->why, sizeof(out->why), "%s", why);
	}
}

int frag_find_release(struct frag_release *out, const struct frag_trace *trace,
		      struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);
	uint32_t least, most;

	frag_allowed_releases(out, trace);
	least = out->minor ? out->least : OLDEST_VERSION;
	most = out->minor ? out->most : NEWEST_VERSION;
	if (!s || (out->minor && least == most) || is_ours(s))
		return 0;
	if (most <= BY_ADDRESS || least > BY_CREATION || !has_places(s))
		return 0;
	return look_at_log(out, trace, least, most, err);
}

/* {"recorder":"...","pytorch":"2.8","alloc_conf":"...","ends_at_oom":{...}} */
static char *put_mark(const struct frag_trace *trace, const struct frag_release *release,
		      const char *conf, bool end)
{
	const struct frag_recording_info recording = frag_trace_recording(trace);
	const size_t room = 6 * strlen(conf) + strlen(recording.recorder) + 200;
	char *meta = malloc(room), *p;
	char version[FRAG_RELEASE_ROOM];

	if (!meta)
		return NULL;
	p = meta + snprintf(meta, room, "{\"recorder\":\"%s\"", recording.recorder);
	if (release->minor)
		p += snprintf(p, 60, ",\"pytorch\":\"%s\"", frag_release_text(release, version));
	if (*conf) {
		p = memcpy(p, ",\"alloc_conf\":", 14);
		p = frag_put_json(p + 14, conf, strlen(conf));
	}
	if (end && recording.ended)
		p += snprintf(p, 100,
			      ",\"ends_at_oom\":{\"step\":%" PRIu64 ",\"size\":%" PRIu64 "}",
			      recording.end_step, recording.end_bytes);
	memcpy(p, "}", 2);
	return meta;
}

/* A snapshot whose records were read already is not read again: its release is unknown. */
static int find_unread_release(struct frag_release *release, const struct frag_trace *trace,
			struct frag_error *err)
{
	*release = (struct frag_release){ .minor = 0 };
	if (frag_trace_snapshot(trace) && !frag_trace_recording(trace).unread)
		return 0;
	return frag_find_release(release, trace, err);
}

/* Finds the releases that all traces allow; prints a note if there is none. */
static int find_common_release(struct frag_release *common, const struct frag_trace *const *traces,
			       uint32_t count, const struct frag_log *log, struct frag_error *err)
{
	struct frag_release one;
	int rc = find_unread_release(common, traces[0], err);

	for (uint32_t i = 1; i < count && !rc && common->minor; i++) {
		rc = find_unread_release(&one, traces[i], err);
		if (rc || !one.minor) {
			common->minor = 0;
			break;
		}
		common->newer = common->newer && one.newer;
		common->least = one.least > common->least ? one.least : common->least;
		common->minor = common->most = one.most < common->most ? one.most : common->most;
		if (common->least <= common->most)
			continue;
		frag_note(log, "the traces were recorded with different releases of PyTorch: by"
			  " default the written one runs under the newest rules");
		common->minor = 0;
	}
	return rc;
}

/* Traces that differ in their release or settings have neither in common; notes say so. */
int frag_mark_head(struct frag_trace_info *head, char **mark,
		   const struct frag_trace *const *traces, uint32_t count, bool end,
		   const struct frag_log *log, struct frag_error *err)
{
	char conf[FRAG_SETTINGS_MAX], other[FRAG_SETTINGS_MAX];
	struct frag_release release;
	struct frag_choice choice;
	bool recorded = !head->meta.text;
	int rc;

	*mark = NULL;
	for (uint32_t i = 0; i < count; i++)
		recorded = recorded && frag_trace_recording(traces[i]).recorder;
	if (!recorded)
		return 0;
	rc = find_common_release(&release, traces, count, log, err);
	rc = rc ? rc : frag_choose_release(&choice, traces[0], release.minor, conf, log, err);
	for (uint32_t i = 1; i < count && !rc; i++) {
		rc = frag_choose_release(&choice, traces[i], release.minor, other, log, err);
		if (rc || strcmp(conf, other) == 0)
			continue;
		frag_note(log, "the traces were recorded under different settings: by default the"
			  " written one runs under those of PyTorch");
		*conf = '\0';
		break;
	}
	if (rc)
		return rc;
	*mark = put_mark(traces[0], &release, conf, end);
	if (!*mark)
		return frag_fail_nomem(err);
	head->meta = (struct frag_text){ .text = *mark, .length = (uint32_t)strlen(*mark) };
	return 0;
}
