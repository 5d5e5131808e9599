/* frame_purpose.h - the purpose of a block that one frame implies, by names of functions and files. */
#pragma once

#include "snapshot/snapshot.h"

/* Of a purpose: only the innermost frame of its block counts. */
#define FRAG_PURPOSE_IF_INNERMOST 8

/* An enum frag_purpose, and that. */
uint8_t frag_frame_purpose(const struct frag_frame *f, enum frag_origin origin);

/* Does a sharding framework make or convert its parameters here? */
bool frag_frame_shards(const struct frag_frame *f, enum frag_origin origin);
