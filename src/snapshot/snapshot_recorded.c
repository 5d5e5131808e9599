/*
 * snapshot_recorded.c - what a recording had of memory: at its highest, and at its end.
 *
 * The end is in the file. The way there is the log's: segments as they came and went,
 * and blocks as they were requested, rounded up as PyTorch does by default, because how large
 * a block was that has been freed is nowhere.
 */
#include <string.h>

#include "base/bug.h"
#include "snapshot/snapshot.h"

#define BLOCK_UNIT 512

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
}

/* A log with contradictions may take away more than there was. */
static void change(uint64_t *now, uint64_t bytes, bool more, uint64_t *peak)
{
	if (more)
		*now += bytes;
	else
		*now -= bytes < *now ? bytes : *now;
	*peak = *now > *peak ? *now : *peak;
}

void frag_snapshot_recorded(const struct frag_snapshot *s, uint32_t device,
			    struct frag_recorded *out)
{
	const struct frag_snap_device *d = &s->devices[device];
	uint64_t reserved = d->start_bytes, allocated = 0;

	FRAG_ASSERT(device < s->device_count);
	for (uint32_t i = 0; i < d->first_live_count; i++)
		allocated += d->first_live[i].pending ? 0 : rounded(d->first_live[i].requested);
	*out = (struct frag_recorded){
		.peak_reserved = reserved, .end_reserved = d->end_reserved,
		.peak_allocated = allocated, .end_allocated = d->end_allocated,
	};
	for (uint32_t i = 0; i < d->log_count; i++) {
		const struct frag_logged *e = &d->log[i];

		if (e->role == FRAG_ROLE_CALL)
			change(&reserved, e->size, e->action == FRAG_ACT_SEGMENT_ALLOC
			       || e->action == FRAG_ACT_SEGMENT_MAP, &out->peak_reserved);
		else if (e->role == FRAG_ROLE_ALLOC || e->role == FRAG_ROLE_FREE
			 || e->role == FRAG_ROLE_DEFER)
			change(&allocated, rounded(e->size), e->role == FRAG_ROLE_ALLOC,
			       &out->peak_allocated);
	}
	if (out->peak_reserved < d->end_reserved)
		out->peak_reserved = d->end_reserved;
	if (out->peak_allocated < d->end_allocated)
		out->peak_allocated = d->end_allocated;
}

const char *const frag_snapshot_version_names[] = {
	"torch_version", "pytorch_version", "version", "fragsim", NULL,
};

bool frag_snapshot_version(const struct frag_snapshot *s, uint32_t which, char *buf, size_t size)
{
	const char *name = frag_snapshot_version_names[which];
	const struct frag_value *settings = frag_dict_get(&s->values, &s->root,
							  "allocator_settings");
	const struct frag_value *value = frag_dict_get(&s->values, &s->root, name);

	/* fragsim's own snapshots have a dict among the settings */
	if (!frag_is(value, FRAG_STRING))
		value = frag_dict_get(&s->values, frag_dict_get(&s->values, settings, name),
				      "version");
	if (!frag_is(value, FRAG_STRING) || !value->length || value->length >= size)
		return false;
	memcpy(buf, value->as.text, value->length);
	buf[value->length] = '\0';
	return true;
}
