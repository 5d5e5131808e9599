/* standin_state.h - what the two halves of the stand-in share: see standin.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

enum kind { NOTHING, SEGMENT, SMALL, SHARED, RANGE, HANDLE, PAGES, STREAM, EVENT, POOL,
	    POOLED };

struct piece {
	enum kind kind;
	int gpu;
	uint64_t at, bytes;
	uint64_t held;          /* device memory that it takes */
	uint64_t handle;        /* PAGES: index of what is mapped; SMALL: of its SHARED page */
	uint64_t used, live;    /* SHARED: bytes from its start, small ones in it */
	bool mapped, released;  /* HANDLE */
	uint64_t stream, position;      /* EVENT: recorded behind that much of the stream */
	uint64_t threshold, max;        /* POOL; `used` is what is in use, `held` what it holds.
					 * POOLED: `handle` is its pool */
};

/* A fill that nobody has waited for yet. */
struct work {
	uint64_t stream, position, at, words;
	unsigned int word;
	bool done;
};

extern struct piece *standin_pieces;    /* index 0 is never used */
extern uint64_t standin_piece_count;
extern int standin_current;             /* GPU */

/* Notes a call that no honest user makes. */
void standin_mistake(const char *what);

/* Every call begins here: what it answers without doing anything, or success. */
cudaError_t standin_enter(void);

/* The figures; take is for memory of the current GPU: false where it has not that much. */
struct piece *standin_new(enum kind kind);
struct piece *standin_find(enum kind kind, uint64_t at);
void standin_drop(struct piece *p);
bool standin_take(uint64_t bytes);
void standin_untake(int gpu, uint64_t bytes);
void standin_unmap(const struct piece *p);

/* Small requests, which share pages; NULL where there is no room. Then one goes again. */
struct piece *standin_new_small(uint64_t bytes);
void standin_drop_small(struct piece *p);

/* Somebody waited: pools let go of what is above their threshold. */
void standin_finish_pools(void);
void standin_forget_pools(void);

/* All that is queued on the stream is done. */
void standin_finish_stream(uint64_t stream);
cudaError_t standin_fail(cudaError_t e);
cudaError_t standin_need_context(void);

/* Memory goes away: was everybody done with it? */
void standin_unused(uint64_t at, uint64_t bytes);
