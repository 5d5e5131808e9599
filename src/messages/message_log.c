/* message_log.c - the messages of a whole text, counted by wording and verdict. */
#include "messages/message_log.h"

#include <string.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "input/input.h"
#include "messages/unwrap.h"

/* By how much a request exceeds what is free; of messages without values 0. */
static int64_t excess_of(const struct frag_message *m)
{
	return (int64_t)m->said[FRAG_SAID_ASKED].bytes - (int64_t)m->free.bytes
	       - (int64_t)m->unallocated.bytes;
}

static void group_add(struct frag_message_group *group, const struct frag_message *m)
{
	const struct frag_message_value *asked = &m->said[FRAG_SAID_ASKED];

	if (excess_of(m) > excess_of(&group->worst))
		group->worst = *m;
	group->count++;
	if (m->gpu < FRAG_MESSAGE_GPUS)
		group->gpus |= UINT64_C(1) << m->gpu;
	if (m->rank < FRAG_MESSAGE_GPUS)
		group->ranks |= UINT64_C(1) << m->rank;
	if (asked->there && asked->bytes < group->least)
		group->least = asked->bytes;
	if (asked->there && asked->bytes > group->most)
		group->most = asked->bytes;
}

/* One group for each wording and verdict, so that no log fills the memory. */
static bool groups_add(struct frag_message_groups *groups, const struct frag_message *m)
{
	struct frag_message_group *group = NULL;

	for (uint32_t i = 0; i < groups->count && !group; i++)
		if (groups->groups[i].first.wording == m->wording && groups->groups[i].first.shortage == m->shortage
		    && groups->groups[i].first.accelerator == m->accelerator)
			group = &groups->groups[i];
	groups->messages++;
	if (!group) {
		if (!FRAG_GROW(groups->groups, groups->capacity, groups->count))
			return false;
		group = &groups->groups[groups->count++];
		*group = (struct frag_message_group){
			.first = *m, .worst = *m, .least = UINT64_MAX, .around = &groups->around,
		};
	}
	group_add(group, m);
	return true;
}

static int log_found(void *ctx, const struct frag_message *m)
{
	struct frag_message_log *log = ctx;

	return groups_add(log->groups, m) ? 0 : frag_fail_nomem(log->err);
}

static int feed_text(void *ctx, const char *bytes, size_t n)
{
	return frag_finder_feed(ctx, bytes, n);
}

static int log_feed_all(struct frag_message_log *log, struct frag_input *in, struct frag_unwrap *u,
			struct frag_error *err)
{
	size_t used = 0;
	int more, rc;

	in->by_byte = true;     /* the finder counts lines */
	do {
		more = frag_input_fill(in, used, err);
		if (more < 0)
			return more;
		used = in->end;
		rc = frag_unwrap_feed(u, in->buf, used);
		if (rc)
			return rc;
		if (log->stop && log->stop(log->ctx))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	} while (more);
	return frag_unwrap_end(u);
}

static int log_read_all(struct frag_message_log *log, struct frag_input *in, struct frag_finder *f,
			struct frag_error *err)
{
	struct frag_unwrap *u = frag_unwrap_new(feed_text, f);
	int rc = u ? log_feed_all(log, in, u, err) : frag_fail_nomem(err);

	frag_unwrap_del(u);
	return rc ? rc : frag_finder_end(f);
}

bool frag_is_pasted(const char *path)
{
	return strpbrk(path, " \n") && access(path, F_OK) != 0;
}

int frag_message_log_read(struct frag_message_log *log, struct frag_error *err)
{
	struct frag_finder *f = frag_finder_new(log_found, log);
	const bool text = frag_is_pasted(log->path);
	struct frag_input in;
	int rc;

	if (!f)
		return frag_fail_nomem(err);
	frag_finder_look_around(f, &log->groups->around);
	frag_finder_account(f, &log->groups->accounts);
	frag_finder_given(f, log->total, log->free);
	log->err = err;
	rc = text ? frag_finder_feed(f, log->path, strlen(log->path))
		  : frag_input_open(&in, log->path, err);
	if (text)
		log->path = "the text";
	if (!rc && text) {
		rc = frag_finder_end(f);
	} else if (!rc) {
		rc = log_read_all(log, &in, f, err);
		frag_input_close(&in);
	}
	log->lines = frag_finder_lines(f);
	if (!rc && log->groups->accounts.failed)
		rc = frag_fail_nomem(err);
	frag_finder_del(f);
	return rc;
}
