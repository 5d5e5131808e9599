/* oom_verdict.h - names the cause of an out-of-memory error: one list of words for all commands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In the order in which the causes are examined. */
enum frag_oom_cause {
	FRAG_CAUSE_NONE,                /* no request has failed */
	FRAG_CAUSE_TOO_LARGE,           /* the request alone exceeds the usable bytes */
	FRAG_CAUSE_FAILED_ATTEMPT,      /* blocks that an attempt that failed left behind would suffice */
	FRAG_CAUSE_ACCUMULATION,        /* blocks of one line pile up */
	FRAG_CAUSE_LEAK,                /* a tag keeps blocks of round after round */
	FRAG_CAUSE_CAPACITY,            /* the live blocks and the request exceed them */
	FRAG_CAUSE_TRANSIENT,           /* the same request succeeds at the second attempt */
	FRAG_CAUSE_LIMIT,               /* a limit of the program refused it, not the device */
	FRAG_CAUSE_PENDING,             /* freed blocks that a stream still uses would suffice */
	FRAG_CAUSE_FRAGMENTATION,
	FRAG_CAUSE_OUTSIDE,             /* of a message: memory outside the allocator */
	/* of a message: */
	FRAG_CAUSE_REFUSED,             /* the device refused it, although more was free */
	FRAG_CAUSE_CONTRADICTION,       /* its values cannot hold together */
	FRAG_CAUSE_NOT_DEVICE_MEMORY,
	FRAG_CAUSE_UNKNOWN,             /* of a message: too few values */
};

/* Is it by how much is allocated, or nothing? Then no other place of the blocks could help. */
static inline bool frag_oom_is_size(enum frag_oom_cause cause)
{
	return cause <= FRAG_CAUSE_CAPACITY;
}

/* "request_too_large", ...; NULL for FRAG_CAUSE_NONE. */
const char *frag_oom_cause_name(enum frag_oom_cause cause);
/* All of them, by cause, ended by NULL; and the bit of one in a set of those from the second on. */
extern const char *const frag_oom_cause_names[];
#define FRAG_CAUSE_BIT(cause) (UINT64_C(1) << (FRAG_CAUSE_##cause - 1))
/* Those that a message alone has. */
#define FRAG_CAUSES_OF_MESSAGES (FRAG_CAUSE_BIT(REFUSED) | FRAG_CAUSE_BIT(CONTRADICTION)          \
				 | FRAG_CAUSE_BIT(NOT_DEVICE_MEMORY))

/* Bytes at the failure; signed, because a rounded message can contradict itself. */
struct frag_oom_facts {
	int64_t need;           /* a block for the request */
	int64_t live;           /* blocks that exist, pending ones included */
	int64_t pending;        /* those that a stream still uses */
	int64_t usable;         /* device minus context and other processes; -1: unlimited */
	int64_t lower_bound;    /* peak of requested bytes of the whole trace; 0: unknown */
	bool retry_succeeds;
	bool waiting_succeeds;  /* after all pending frees */
	bool failed_attempt;
	bool accumulation, leak;
	bool limited;           /* a fraction or a setting of the program refused it */
};

/* The first cause that holds, in the order of the enum. */
enum frag_oom_cause frag_oom_cause_of(const struct frag_oom_facts *facts);

/* With the request more than 95 % of the usable bytes are live: the qualifier of fragmentation. */
bool frag_oom_is_nearly_full(const struct frag_oom_facts *facts);
