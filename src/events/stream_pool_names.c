/* stream_pool_names.c - what a trace calls its streams and pools. */
#include "events/stream_pool_names.h"

#include "events/id_map.h"
#include "events/resolve.h"
#include "events/tape.h"

char *frag_stream_json(const struct frag_tape *tape, uint32_t stream)
{
	FRAG_ASSERT(stream < tape->trace->streams.count);
	return frag_id_json(frag_handle_at(&tape->trace->streams, stream));
}

char *frag_pool_json(const struct frag_tape *tape, uint32_t pool)
{
	FRAG_ASSERT(pool < tape->trace->pools.count);
	return frag_id_json(frag_handle_at(&tape->trace->pools, pool));
}
