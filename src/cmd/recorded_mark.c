/* recorded_mark.c - what a written trace says of the recording that it comes from. */
#include "cmd/recorded_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "cmd/recorded_policy.h"
#include "events/recorded.h"
#include "trace/reader.h"

/* {"recorder":"...","alloc_conf":"...","ends_at_oom":{...}} */
static char *put_mark(const struct frag_trace *trace, const char *conf, bool end)
{
	const char *recorder = frag_trace_recorder(trace);
	const size_t room = 6 * strlen(conf) + strlen(recorder) + 200;
	char *meta = malloc(room), *p;
	uint64_t step, size;

	if (!meta)
		return NULL;
	p = meta + snprintf(meta, room, "{\"recorder\":\"%s\"", recorder);
	if (*conf) {
		p = memcpy(p, ",\"alloc_conf\":", 14);
		p = frag_put_json(p + 14, conf, strlen(conf));
	}
	if (end && frag_trace_recorded_end(trace, &step, &size))
		p += snprintf(p, 100, ",\"ends_at_oom\":{\"step\":%" PRIu64 ",\"size\":%" PRIu64 "}",
			      step, size);
	memcpy(p, "}", 2);
	return meta;
}

static int find_settings(const struct frag_trace *trace, char conf[FRAG_SETTINGS_MAX],
			 const struct frag_log *log, struct frag_error *err)
{
	struct frag_choice choice;
	int rc = frag_choice_parse(&choice, "pytorch", err);

	*conf = '\0';
	return rc ? rc : frag_recorded_settings(&choice, trace, conf, log, err);
}

int frag_recorded_mark(char **meta, const struct frag_trace *const *traces, uint32_t count,
		       bool end, const struct frag_log *log, struct frag_error *err)
{
	char conf[FRAG_SETTINGS_MAX], other[FRAG_SETTINGS_MAX];
	int rc;

	*meta = NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!frag_trace_recorder(traces[i]))
			return 0;
	rc = find_settings(traces[0], conf, log, err);
	for (uint32_t i = 1; i < count && !rc; i++) {
		rc = find_settings(traces[i], other, log, err);
		if (rc || strcmp(conf, other) == 0)
			continue;
		frag_note(log, "the traces were recorded under different settings: by default the"
			  " written one runs under those of PyTorch");
		*conf = '\0';
		break;
	}
	if (rc)
		return rc;
	*meta = put_mark(traces[0], conf, end);
	return *meta ? 0 : frag_fail_nomem(err);
}
