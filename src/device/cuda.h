/*
 * cuda.h - the calls of CUDA that are used, with no type of CUDA in sight.
 *
 * cuda.c fills the table and is the one file that includes CUDA; no_cuda.c
 * is in its place in a build without: there nothing is set. Each call
 * answers CUDA's own error number, 0 where all is well; addresses are numbers.
 */
#pragma once

#include <stdint.h>

/* The errors with a meaning here; cuda.c compares them with CUDA's own. */
#define FRAG_CUDA_NO_MEMORY 2
#define FRAG_CUDA_OLD_DRIVER 35         /* none counts as old */
#define FRAG_CUDA_NO_GPU 100
#define FRAG_CUDA_NOT_SUPPORTED 801

/* What a pool can be set to, and reports: numbers of bytes, or 0 and 1. */
enum frag_cuda_pool_value {
	FRAG_CUDA_POOL_THRESHOLD,       /* of what is released at a wait */
	FRAG_CUDA_POOL_EVENTS, FRAG_CUDA_POOL_OPPORTUNISTIC, FRAG_CUDA_POOL_INTERNAL,
	FRAG_CUDA_POOL_RESERVED, FRAG_CUDA_POOL_USED,
};

struct frag_cuda_calls {
	const char *(*words)(int error);
	void (*clear)(void);            /* an error that was dealt with */
	int (*versions)(int *driver, int *runtime);     /* 13000: 13.0; driver 0: none */
	int (*count)(int *gpus);
	int (*use)(int gpu);            /* for all calls below */
	int (*reset)(void);             /* the context goes, with all that is in it */
	int (*wait)(void);              /* for everything queued */
	int (*memory)(uint64_t *free, uint64_t *total);
	int (*name)(int gpu, char *buf, int size);

	int (*alloc)(uint64_t bytes, uint64_t *at);
	int (*free)(uint64_t at);

	/* Virtual memory. A driver without it answers FRAG_CUDA_NOT_SUPPORTED. */
	int (*page)(int gpu, uint64_t *bytes);          /* the minimum */
	int (*reserve)(uint64_t bytes, uint64_t *at);
	int (*unreserve)(uint64_t at, uint64_t bytes);
	int (*map)(int gpu, uint64_t at, uint64_t bytes);       /* one page, new */
	int (*unmap)(uint64_t at, uint64_t bytes);              /* one page */
	int (*open_up)(int gpu, uint64_t at, uint64_t bytes);   /* for reading and writing */

	/* The driver's own pools. NULL, all of them: this toolkit cannot bound one. */
	int (*pool_new)(int gpu, uint64_t max, void **pool);    /* async_alloc takes it now */
	int (*pool_del)(void *pool);
	int (*pool_set)(void *pool, enum frag_cuda_pool_value what, uint64_t value);
	int (*pool_get)(void *pool, enum frag_cuda_pool_value what, uint64_t *value);
	int (*pool_trim)(void *pool);
	int (*async_alloc)(uint64_t bytes, void *stream, uint64_t *at);
	int (*async_free)(uint64_t at, void *stream);

	int (*stream_new)(void **stream);       /* NULL is the default stream */
	int (*stream_del)(void *stream);
	int (*stream_wait)(void *stream);
	int (*event_new)(void **event);
	int (*event_record)(void *event, void *stream);
	int (*event_wait)(void *event);
	int (*event_del)(void *event);
	int (*fill)(void *stream, uint64_t at, uint32_t word, uint64_t words);
	int (*fetch)(void *stream, uint64_t at, void *to, uint64_t bytes);      /* waits */
};

extern const struct frag_cuda_calls frag_cuda;
