/* live_by_tag_write.h - who holds memory, in the result object. */
#ifndef DOCUMENTS_LIVE_BY_TAG_WRITE_H
#define DOCUMENTS_LIVE_BY_TAG_WRITE_H

#include "base/json.h"
#include "fragsim/metrics.h"

/* An array under that key, with the stacks of each where there are some. */
void frag_json_holders(struct frag_node_ref in, const char *key,
		       const struct frag_tag_usage *holders, uint32_t count);

/* A string for each line of frag_frames_json(): an array `frames`. */
void frag_json_frames(struct frag_node_ref in, const char *frames);

#endif
