/* groups.c - equal messages, counted. */
#include "messages/groups.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "input/input.h"

#define SLOTS (4 * FRAG_MESSAGE_GROUPS_MAX)     /* a power of two, at most a quarter full */

static bool is_same(const struct frag_message *a, const struct frag_message *b)
{
	if (a->wording != b->wording || a->chunks.count != b->chunks.count
	    || a->chunks.bytes != b->chunks.bytes || a->chunks.largest != b->chunks.largest)
		return false;
	for (int i = 0; i < FRAG_SAID_ALL; i++)
		if (a->said[i].there != b->said[i].there || a->said[i].bytes != b->said[i].bytes
		    || a->said[i].error != b->said[i].error)
			return false;
	return true;
}

static uint32_t hash(const struct frag_message *m)
{
	uint64_t h = (uint64_t)m->wording;

	for (int i = 0; i < FRAG_SAID_ALL; i++)
		h = (h ^ m->said[i].bytes) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
	return (uint32_t)(h >> 40) & (SLOTS - 1);
}

static struct frag_message_group *groups_find(struct frag_message_groups *groups,
					      const struct frag_message *m, uint32_t *slot)
{
	for (*slot = hash(m); groups->slots[*slot]; *slot = (*slot + 1) & (SLOTS - 1)) {
		struct frag_message_group *group = &groups->groups[groups->slots[*slot] - 1];

		if (is_same(&group->first, m))
			return group;
	}
	return NULL;
}

/* Messages beyond the limit are only counted, so a log of different messages cannot fill the
 * memory. */
bool frag_message_groups_add(struct frag_message_groups *groups, const struct frag_message *m)
{
	struct frag_message_group *group;
	uint32_t slot;

	if (!groups->slots)
		groups->slots = calloc(SLOTS, sizeof(*groups->slots));
	if (!groups->slots)
		return false;
	groups->messages++;
	group = groups_find(groups, m, &slot);
	if (!group && groups->count == FRAG_MESSAGE_GROUPS_MAX) {
		groups->others++;
		return true;
	}
	if (!group) {
		if (!frag_grow(&groups->groups, &groups->capacity, (uint64_t)groups->count + 1,
			       sizeof(*groups->groups)))
			return false;
		group = &groups->groups[groups->count++];
		*group = (struct frag_message_group){ .first = *m };
		groups->slots[slot] = groups->count;
	}
	group->count++;
	if (m->gpu < FRAG_MESSAGE_GPUS)
		group->gpus |= UINT64_C(1) << m->gpu;
	return true;
}

void frag_message_groups_fini(struct frag_message_groups *groups)
{
	free(groups->groups);
	free(groups->slots);
}

static int log_read_all(struct frag_message_log *log, struct frag_input *in, struct frag_finder *f,
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
		rc = frag_finder_feed(f, in->buf, used);
		if (rc)
			return rc;
		if (log->stop && log->stop(log->ctx))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	} while (more);
	return frag_finder_end(f);
}

int frag_message_log_read(struct frag_message_log *log, struct frag_error *err)
{
	struct frag_finder *f = frag_finder_new(log->found, log->ctx);
	struct frag_input in;
	int rc;

	if (!f)
		return frag_fail_nomem(err);
	rc = frag_input_open(&in, log->path, err);
	if (!rc) {
		rc = log_read_all(log, &in, f, err);
		frag_input_close(&in);
	}
	log->bare = frag_finder_bare(f, &log->bare_line);
	frag_finder_del(f);
	return rc;
}
