/* trace_anonymize.c - fragsim trace anonymize: a trace without the names that the program chose. */
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "cmd/transform_trace.h"
#include "trace/name_tables.h"

#define WORD_ROOM 40

enum { TAGS, IDS, STREAMS, POOLS, MARKS, WORDS };

struct anonymize {
	struct frag_rewrite rewrite;
	struct frag_handles words[WORDS];       /* each word's number is what replaces it */
	struct frag_device_figures *devices;
	struct frag_first_state beginning;      /* that is written, with own segments and names */
	char (*names)[2][WORD_ROOM];
};

static const struct frag_opt opts[] = {
	FRAG_REWRITE_OPTS(offsetof(struct anonymize, rewrite)), { 0 },
};

/* "tag 7" in the place of the seventh tag. False: out of memory. */
static bool replace(struct anonymize *a, int kind, const char **text, uint64_t *length,
		    char room[WORD_ROOM])
{
	static const char *const names[WORDS] = { "tag ", "id ", "stream ", "pool ", "mark " };
	const struct frag_handle word = { .text = *text, .number = *length };
	uint32_t number = frag_handles_intern(&a->words[kind], &word);
	size_t n = strlen(names[kind]);

	if (number == UINT32_MAX)
		return false;
	memcpy(room, names[kind], n);
	*length = (uint64_t)(frag_put_u64(room + n, number) - room);
	*text = room;
	return true;
}

static bool replace_handle(struct anonymize *a, int kind, struct frag_handle *h,
			   char room[WORD_ROOM])
{
	return !h->text || replace(a, kind, &h->text, &h->number, room);
}

static bool replace_text(struct anonymize *a, int kind, struct frag_text *t, char room[WORD_ROOM])
{
	uint64_t length = t->length;
	bool good = replace(a, kind, &t->text, &length, room);

	t->length = (uint32_t)length;
	return good;
}

/* Streams and pools of the beginning are those of the events. */
static int replace_beginning(struct anonymize *a, struct frag_trace_info *info,
			     struct frag_error *err)
{
	const uint32_t count = info->beginning->segment_count;
	bool good;

	a->beginning = *info->beginning;
	a->beginning.segments = malloc(((size_t)count + 1) * sizeof(*a->beginning.segments));
	a->names = malloc(((size_t)count + 1) * sizeof(*a->names));
	good = a->beginning.segments && a->names;
	for (uint32_t i = 0; i < count && good; i++) {
		struct frag_initial *seg = &a->beginning.segments[i];

		*seg = info->beginning->segments[i];
		good = replace_handle(a, STREAMS, &seg->stream_name, a->names[i][0])
		       && replace_handle(a, POOLS, &seg->pool_name, a->names[i][1]);
	}
	info->beginning = &a->beginning;
	return good ? 0 : frag_fail_nomem(err);
}

/* Keeps the sizes of the devices; drops their names and the origin of the trace. */
static int head(void *ctx, struct frag_trace_info *info, struct frag_error *err)
{
	struct anonymize *a = ctx;

	a->devices = malloc(info->device_count * sizeof(*a->devices));
	if (!a->devices)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < info->device_count; i++) {
		a->devices[i] = info->devices[i];
		a->devices[i].name = NULL;
	}
	info->devices = a->devices;
	info->meta = (struct frag_text){ .text = NULL };
	return info->beginning ? replace_beginning(a, info, err) : 0;
}

static int event(void *ctx, struct frag_sink *sink, const struct frag_record *rec,
		 const struct frag_event *ev, struct frag_error *err)
{
	struct anonymize *a = ctx;
	struct frag_record r = *rec;
	char room[WORDS][WORD_ROOM];

	if ((r.members & FRAG_HAS_TAG && !replace_text(a, TAGS, &r.tag, room[TAGS]))
	    || (r.members & FRAG_HAS_ID && !replace_handle(a, IDS, &r.id, room[IDS]))
	    || (r.members & FRAG_HAS_STREAM
		&& !replace_handle(a, STREAMS, &r.stream, room[STREAMS]))
	    || (r.members & FRAG_HAS_POOL && !replace_handle(a, POOLS, &r.pool, room[POOLS]))
	    || (r.op == FRAG_OP_MARK && !replace_text(a, MARKS, &r.text, room[MARKS])))
		return frag_fail_nomem(err);
	return sink->ops->event(sink, &r, ev, err);
}

/*
 * Creates all tables before it checks for a failure, so that the end can release all of them.
 */
static int anonymize_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct anonymize *a = own;
	bool made = true;
	int rc;

	a->rewrite.head = head;
	a->rewrite.event = event;
	a->rewrite.ctx = a;
	for (uint32_t i = 0; i < WORDS; i++)
		made = frag_handles_init(&a->words[i], frag_hash_seed()) && made;
	rc = made ? frag_rewrite(&a->rewrite, args->words[0], args->words[1], err)
		  : frag_fail_nomem(err);
	for (uint32_t i = 0; i < WORDS; i++)
		frag_handles_fini(&a->words[i]);
	free(a->devices);
	free(a->beginning.segments);
	free(a->names);
	return rc;
}

const struct frag_cmd frag_cmd_trace_anonymize = {
	.name = "trace anonymize",
	.group = FRAG_GROUP_TRACE,
	.args = "[options] IN OUT",
	.summary = "write a trace without the program's own words",
	.opts = opts,
	.needs = FRAG_NEEDS_IN_OUT,
	.size = sizeof(struct anonymize),
	.exec = anonymize_exec,
};
