/*
 * policy.h - a policy chooses; the heap acts; the engine counts.
 *
 * A policy is one const table. It answers each request with a block of the heap, sees neither
 * device nor trace nor metrics, prints nothing, and uses neither a clock nor random numbers: the
 * same events give the same choices.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fragsim/error.h"
#include "fragsim/heap.h"

enum frag_param_type {
	FRAG_PARAM_SIZE, FRAG_PARAM_COUNT, FRAG_PARAM_BOOL, FRAG_PARAM_OWN, FRAG_PARAM_FILE,
	FRAG_PARAM_NAME,        /* any text without a comma; no default but none */
};

/*
 * The file that a key names. It was read when the choice was made, and stays as it was then:
 * all runs of the choice, in whatever threads, see the same bytes.
 */
struct frag_file {
	const char *path;       /* as the user wrote it */
	const void *bytes;      /* aligned as by malloc */
	uint64_t length;
};
#define FRAG_FILE_MAX (UINT64_C(256) << 20)     /* bytes; a larger file is refused */

struct frag_param_spec {
	const char *name;
	enum frag_param_type type;
	uint64_t fallback;      /* the default ... */
	const char *same_as;    /* ... or the value of this earlier key */
	uint64_t min, max;      /* inclusive; max 0: just below 2^53 */
	bool power_of_two;      /* 0 is let through where min is 0 */
	const char *help;       /* one line, no full stop */
	/* FRAG_PARAM_OWN: what a value looks like, and its text to and from 64 bits */
	const char *expects;
	bool (*parse)(const char *text, size_t length, uint64_t *value);
	void (*print)(uint64_t value, char *buf, size_t size);
	bool if_set;            /* said of a run only where it is not the default: came later */
	bool no_setting;        /* no part of the settings string that ops->settings reads */
	/*
	 * optional: the name of another key of type FRAG_PARAM_OWN, on whose value the parsing
	 * of this key depends
	 */
	const char *beside;
	bool (*parse_beside)(uint64_t other, const char *text, size_t length, uint64_t *value);
	/*
	 * FRAG_PARAM_FILE, which has no default but none, optional: checks the file, and makes
	 * of it what the policy will see in its place (*bytes, by malloc, and *length): an array
	 * of structs, say, for a policy's state can hold no such thing. What it refuses it says
	 * with frag_fail(), without key and path: FRAG_EUSAGE, or FRAG_ETRACE for bad content.
	 */
	int (*load)(const struct frag_file *file, void **bytes, uint64_t *length,
		    struct frag_error *err);
};
#define FRAG_PARAM_TEXT 512     /* maximum size of the output of print, and of a path */

struct frag_request {
	uint64_t bytes;                 /* > 0, as the program requested it */
	uint32_t stream, pool;          /* dense indexes, not handles */
	uint64_t tick;                  /* step number: the only clock */
	uint64_t stream_order;          /* of streams among themselves: by handle */
};

enum frag_notice_kind {
	FRAG_NOTICE_EMPTY_CACHE,        /* the program requests the release of cached segments */
	FRAG_NOTICE_SET_FRACTION,       /* at most that part of the device */
	FRAG_NOTICE_CONFIGURE,          /* a settings string */
	FRAG_NOTICE_SYNC,               /* a stream, or all, is done */
	FRAG_NOTICE_RELEASE_POOL,       /* the program is done with one of its pools */
	FRAG_NOTICE_MARK,               /* a named point of the program */
	FRAG_NOTICE_BEGIN_POOL,         /* requests go to the pool until END_POOL */
	FRAG_NOTICE_END_POOL,
};

struct frag_notice {
	enum frag_notice_kind kind;
	uint32_t stream;                /* SYNC, BEGIN_POOL: dense index; UINT32_MAX: all */
	double fraction;                /* SET_FRACTION */
	const char *text;               /* CONFIGURE, MARK: its name; not ended by a NUL */
	uint32_t length;
	uint64_t tick;
	uint32_t pool;                  /* dense index; after RELEASE_POOL no request has it */
};

/*
 * What the program itself could have read from PyTorch's allocator, under
 * PyTorch's own names. Bytes and counts; `allocated` and `freed` are the sums of
 * all increases and decreases.
 */
struct frag_stat {
	int64_t current;        /* oversize_* fall below 0 as PyTorch's do */
	uint64_t peak, allocated, freed;
};
struct frag_pool_stat {
	struct frag_stat all, large, small;
};
#define FRAG_POOL_STATS(X)                                                     \
	X(allocation) X(segment) X(active) X(inactive_split) X(allocated_bytes) \
	X(reserved_bytes) X(active_bytes) X(inactive_split_bytes) X(requested_bytes)
#define FRAG_PLAIN_STATS(X) X(oversize_allocations) X(oversize_segments)
#define FRAG_STAT_COUNTS(X)                                                    \
	X(num_alloc_retries) X(num_ooms) X(num_device_alloc) X(num_device_free) \
	X(num_sync_all_streams)
struct frag_memory_stats {
#define X(name) struct frag_pool_stat name;
	FRAG_POOL_STATS(X)
#undef X
#define X(name) struct frag_stat name;
	FRAG_PLAIN_STATS(X)
#undef X
#define X(name) uint64_t name;
	FRAG_STAT_COUNTS(X)
#undef X
};

/* How a policy that follows a plan came along with it. */
struct frag_planned {
	bool there;                     /* else there was no plan, and nothing is set */
	uint64_t hits;                  /* requests that were placed as planned */
	uint64_t misses;                /* all others; each counts for one of: */
	uint64_t too_large;             /* larger than its buffer */
	uint64_t other_pool;            /* its buffer is for another pool */
	uint64_t not_free;              /* its place was not, or its segment was refused */
	uint64_t beyond;                /* the plan has no more buffers */
	uint64_t before;                /* the first mark that begins a period */
};

/* Where a request is searched for. */
struct frag_sought {
	frag_list list;         /* of free blocks; FRAG_NO_LIST: none alone, or none so far */
	uint64_t  bytes;        /* that a block must have for the request */
};

/* A segment that exists at the first event (frag_initial in trace.h). */
struct frag_restored_segment {
	uint64_t bytes;
	uint32_t stream, pool;          /* dense indexes */
	uint64_t stream_order;
	bool     large, range;
	const struct frag_restored_run {
		uint64_t offset, bytes;
	} *runs;                        /* of a range: what has memory */
	uint32_t run_count;
};

/* Whether cached segments are released to the device. */
enum frag_releases {
	FRAG_RELEASES_ALWAYS,   /* on refusal and when the program asks, EMPTY_CACHE */
	FRAG_RELEASES_GC,       /* only where a rule of the policy's own says */
	FRAG_RELEASES_NEVER,    /* what was obtained is kept: nothing is releasable */
};

struct frag_policy {
	const struct frag_policy_ops *ops;
	struct frag_heap *heap;         /* borrowed; queries and verbs only */
	/* ops->state_size zeroed bytes: hints. Plain: whoever copies a run copies them byte by
	 * byte, so they hold no pointer, to themselves or to anything that the policy owns */
	void *state;
	/* one value for each of ops->params, in its order; see frag_param_file() for a file's,
	 * frag_param_name() for a name's */
	const uint64_t *param;
	struct frag_error *err;         /* for a hook that fails and knows why: frag_fail() */
	uint32_t device;                /* ordinal of the device whose memory it is */
};

/* The value of a FRAG_PARAM_FILE key. NULL: none was named. */
static inline const struct frag_file *frag_param_file(uint64_t value)
{
	return (const struct frag_file *)(uintptr_t)value;
}

/* The value of a FRAG_PARAM_NAME key. NULL: none was given. */
static inline const char *frag_param_name(uint64_t value)
{
	return (const char *)(uintptr_t)value;
}

struct frag_policy_ops {
	const char *name;               /* as on the command line */
	const char *summary;            /* one line, no full stop */
	const struct frag_param_spec *params;   /* ends in {0}; NULL: none */
	enum frag_order order;                  /* order of the free lists */
	/*
	 * optional: where free blocks go, see frag_sorter in heap.h. which: the number of the
	 * list, among those of the segment's pool; default: the list that its segment was
	 * obtained for. key, with FRAG_ORDER_KEY and only there: the order within a list, the
	 * smallest first, equals by address.
	 */
	frag_which_fn *which;
	frag_key_fn *key;
	size_t state_size;              /* the core allocates and frees it */

	/* optional: parameters that do not fit together are refused here */
	int (*check)(const uint64_t *param, struct frag_error *err);
	/* optional: parameters from a settings string in the program's own syntax; no files */
	int (*settings)(uint64_t *param, const char *text, size_t length, struct frag_error *err);
	/* optional: under these parameters; default: always. Of NEVER the heap releases nothing,
	 * and of the others it counts as releasable what is in no block of the program's */
	enum frag_releases (*releases)(const uint64_t *param);
	/* optional: before the first event; may obtain what the policy begins with */
	int (*init)(struct frag_policy *p);
	/*
	 * optional: reserves a segment that exists at the first event. *out is a block of it, or
	 * FRAG_NO_BLOCK where these parameters exclude such a segment: its blocks are then
	 * ordinary requests.
	 */
	int (*restore_segment)(struct frag_policy *p, const struct frag_restored_segment *seg,
			       frag_block *out);
	/*
	 * with restore_segment: allocates at `offset` of `hole`, a free block of such a segment.
	 * bytes is the block's own size or 0; the parameter after it is the maximum size. *out
	 * as of alloc, or FRAG_NO_BLOCK where the block cannot be at that place.
	 */
	int (*restore_block)(struct frag_policy *p, const struct frag_request *rq, frag_block hole,
			     uint64_t offset, uint64_t bytes, uint64_t room, frag_block *out);
	/* required: *out is an allocated block of at least rq->bytes, or -FRAG_EDEVMEM */
	int (*alloc)(struct frag_policy *p, const struct frag_request *rq, frag_block *out);
	/* required: b is allocated or pending, and nothing uses it any more */
	int (*free)(struct frag_policy *p, frag_block b);
	/* optional: b was freed, and is pending now, because something still uses it */
	void (*deferred)(struct frag_policy *p, frag_block b);
	/* optional: b, pending, has been waited for; default: free. synced as in frag_ended */
	int (*ended)(struct frag_policy *p, frag_block b, uint64_t synced);
	/* optional: *handled = false leaves the default, which releases what is idle
	 * (EMPTY_CACHE, under RELEASES_ALWAYS), caps the device (SET_FRACTION), and does nothing
	 * (the others) */
	int (*notice)(struct frag_policy *p, const struct frag_notice *n, bool *handled);
	/* optional: the allocator's own statistics; false: under these parameters it has none */
	bool (*stats)(const struct frag_policy *p, struct frag_memory_stats *out);
	/* optional: how a policy that follows a plan came along with it */
	struct frag_planned (*planned)(const struct frag_policy *p);
	/* it moves live blocks: results say how often. Never a plug-in, which has no such verb */
	bool moves;
	/* optional: how many bytes the policy may reserve by a fraction of the total that it keeps
	 * itself, or by its own key limit_key; UINT64_MAX: no limit. For reports; it decides
	 * nothing */
	uint64_t (*limit)(const struct frag_policy *p);
	const char *limit_key;          /* NULL: it is a fraction */
	/*
	 * optional, a verb: the device's total was `was`, under which the run so far is the same.
	 * Returns the new length of an expandable segment with pages of `page`, that has `bytes`
	 * and is mapped up to `end`; at least `end`. Default: lengths are unchanged. Not called
	 * for plug-ins.
	 */
	uint64_t (*range_bytes)(struct frag_policy *p, uint64_t page, uint64_t bytes,
				uint64_t end, uint64_t was);
	/* optional: the list that is searched for a request, as frag_heap_find_list() knows it;
	 * default: all of its pool, with its own size. For reports; it decides nothing, and
	 * changes nothing */
	struct frag_sought (*seek)(const struct frag_policy *p, const struct frag_request *rq);
	/*
	 * optional: bytes of the smallest block that a request of `bytes` can get under these
	 * parameters, on a device of this granularity; default: `bytes`. For lower bounds of what a
	 * program needs; it decides nothing
	 */
	uint64_t (*round)(const uint64_t *param, uint64_t granularity, uint64_t bytes);
};

/*
 * A policy with its parameters, as a user writes it: NAME:key=value,key=value. The files that it
 * names are its own; a copy of it, a simulation and a result borrow them.
 */
#define FRAG_PARAMS_MAX 24
struct frag_choice {
	const struct frag_policy_ops *ops;
	uint64_t param[FRAG_PARAMS_MAX];
	char text[512];         /* as it was written */
	char label[255];        /* the settings string that it was given; "": none */
	uint8_t accelerator;    /* enum frag_accelerator: whose words advice has */
	uint8_t oldest;         /* of PyTorch: 2.N is the oldest that may have recorded it; 0: unknown */
	/* of the recording that it simulates: decisions of its log, those that differ from the
	 * recorded rules and settings, and the first one's step; 0: not compared */
	uint64_t logged, log_differences, log_first;
	uint64_t log_changed_at;        /* the step at which the log shows other settings; or 0 */
};

/* The label in reports: its allocator settings, else its text. */
static inline const char *frag_choice_label(const struct frag_choice *choice)
{
	return *choice->label ? choice->label : choice->text;
}

/* All policies, sorted by name, ended by NULL. */
const struct frag_policy_ops *const *frag_policies(void);

/*
 * -FRAG_EUSAGE with the valid names where name, key or value is unknown or out of range, or a
 * file cannot be read; then there is nothing to release.
 */
int frag_choice_parse(struct frag_choice *choice, const char *text, struct frag_error *err);

/* The same where the table is known, and may be in no list: text begins with its name. */
int frag_choice_of(struct frag_choice *choice, const struct frag_policy_ops *ops,
		   const char *text, struct frag_error *err);

/*
 * Releases its files; call this once, after everything made from the choice is released. Without
 * files it does nothing.
 */
void frag_choice_fini(struct frag_choice *choice);

/* Parameters from a settings string, for a policy that reads such. -FRAG_EUSAGE */
int frag_choice_settings(struct frag_choice *choice, const char *text, struct frag_error *err);

/* Refuses a table that could not work: name, required slots, parameters. -FRAG_EPOLICY */
int frag_policy_check(const struct frag_policy_ops *ops, struct frag_error *err);

/*
 * frag_heap_grow, and where the device refuses and `again` is set: release idle segments, in
 * order of ordinal, and retry. For policies.
 */
int frag_policy_obtain(struct frag_policy *p, frag_list list, uint64_t bytes, bool again,
		       frag_block *out);

/*
 * For init: a segment in the list 0 of trace pool 0 that is never released; nothing where
 * bytes is 0.
 */
int frag_policy_begin_with(struct frag_policy *p, uint64_t bytes);

/* Rounding, for policies: the smallest multiple of m that is at least x. m is not 0. */
static inline uint64_t frag_round_up(uint64_t x, uint64_t m)
{
	uint64_t rest = x % m;

	return rest ? x + (m - rest) : x;
}

/* The same where m is known to be a power of two, without a division. */
static inline uint64_t frag_round_up_pow2(uint64_t x, uint64_t m)
{
	return (x + m - 1) & ~(m - 1);
}
