/* top_tags.h - the tags and stacks that have most live bytes on a device in the middle of a run. */
#pragma once

#include "explain/block_window.h"
#include "fragsim/engine.h"

/*
 * The tags that have most live bytes on a device as the simulation is now, at most
 * FRAG_HOLDERS_MAX, of all blocks or of those that begin in the window. The owner of the array
 * releases the tags, also where this fails. -FRAG_ENOMEM
 */
int frag_top_tags_find(const struct frag_sim *sim, uint32_t device,
		       const struct frag_block_window *within, struct frag_tag_usage *tags,
		       uint32_t *count);
