/* trace_provenance.c - what a written trace says of the recording that it comes from. */
#include "cmd/trace_provenance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "cmd/default_policy.h"
#include "cmd/pytorch_version.h"
#include "events/recording_info.h"
#include "trace/reader.h"

/* {"recorder":"...","pytorch":"2.8","alloc_conf":"...","ends_at_oom":{...}} */
static char *trace_provenance_put_mark(const struct frag_trace *trace,
				       const struct frag_release *release, const char *conf,
				       bool end)
{
	const char *recorder = frag_trace_recorder(trace);
	const size_t room = 6 * strlen(conf) + strlen(recorder) + 200;
	char *meta = malloc(room), *p;
	char version[FRAG_RELEASE_ROOM];
	uint64_t step, size;

	if (!meta)
		return NULL;
	p = meta + snprintf(meta, room, "{\"recorder\":\"%s\"", recorder);
	if (release->minor)
		p += snprintf(p, 60, ",\"pytorch\":\"%s\"", frag_release_text(release, version));
	if (*conf) {
		p = memcpy(p, ",\"alloc_conf\":", 14);
		p = frag_put_json(p + 14, conf, strlen(conf));
	}
	if (end && frag_trace_recorded_end(trace, &step, &size))
		p += snprintf(p, 100,
			      ",\"ends_at_oom\":{\"step\":%" PRIu64 ",\"size\":%" PRIu64 "}", step,
			      size);
	memcpy(p, "}", 2);
	return meta;
}

/* A snapshot whose records were read already is not read again: its release is unknown. */
static int find_release(struct frag_release *release, const struct frag_trace *trace,
			struct frag_error *err)
{
	*release = (struct frag_release){ .minor = 0 };
	if (frag_trace_snapshot(trace) && !frag_trace_is_unread(trace))
		return 0;
	return frag_find_release(release, trace, err);
}

/* Finds the releases that all traces allow; where none is left, a note says that. */
static int find_common_release(struct frag_release *common, const struct frag_trace *const *traces,
			       uint32_t count, const struct frag_log *log, struct frag_error *err)
{
	struct frag_release one;
	int rc = find_release(common, traces[0], err);

	for (uint32_t i = 1; i < count && !rc && common->minor; i++) {
		rc = find_release(&one, traces[i], err);
		if (rc || !one.minor) {
			common->minor = 0;
			break;
		}
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

static int find_settings(const struct frag_trace *trace, uint32_t minor,
			 char conf[FRAG_SETTINGS_MAX], const struct frag_log *log,
			 struct frag_error *err)
{
	struct frag_choice choice;

	*conf = '\0';
	return frag_choose_release(&choice, trace, minor, conf, log, err);
}

int frag_recorded_mark(char **meta, const struct frag_trace *const *traces, uint32_t count,
		       bool end, const struct frag_log *log, struct frag_error *err)
{
	char conf[FRAG_SETTINGS_MAX], other[FRAG_SETTINGS_MAX];
	struct frag_release release;
	int rc;

	*meta = NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!frag_trace_recorder(traces[i]))
			return 0;
	rc = find_common_release(&release, traces, count, log, err);
	rc = rc ? rc : find_settings(traces[0], release.minor, conf, log, err);
	for (uint32_t i = 1; i < count && !rc; i++) {
		rc = find_settings(traces[i], release.minor, other, log, err);
		if (rc || strcmp(conf, other) == 0)
			continue;
		frag_note(log, "the traces were recorded under different settings: by default the"
			  " written one runs under those of PyTorch");
		*conf = '\0';
		break;
	}
	if (rc)
		return rc;
	*meta = trace_provenance_put_mark(traces[0], &release, conf, end);
	return *meta ? 0 : frag_fail_nomem(err);
}
