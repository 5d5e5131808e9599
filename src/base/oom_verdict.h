/* oom_verdict.h - the verdict on an out-of-memory error: one list of words for all commands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * In the order in which they are tried: the first that holds. JSON has it as `verdict`, a result as
 * `cause`.
 */
enum frag_oom_verdict {
	FRAG_VERDICT_NONE,              /* no request has failed */
	FRAG_VERDICT_TOO_LARGE,         /* the request alone exceeds the usable bytes */
	FRAG_VERDICT_FAILED_ATTEMPT,    /* blocks that an attempt that failed left behind would suffice */
	FRAG_VERDICT_ACCUMULATION,      /* blocks of one line pile up */
	FRAG_VERDICT_LEAK,              /* a tag keeps blocks of round after round */
	FRAG_VERDICT_CAPACITY,          /* the live blocks and the request exceed them */
	FRAG_VERDICT_TRANSIENT,         /* the same request succeeds at the second attempt */
	FRAG_VERDICT_LIMIT,             /* a limit of the program refused it, not the device */
	FRAG_VERDICT_PENDING,           /* freed blocks that a stream still uses would suffice */
	FRAG_VERDICT_FRAGMENTATION,
	FRAG_VERDICT_OUTSIDE,           /* of a message: memory outside the allocator */
	/* of a message: */
	FRAG_VERDICT_REFUSED,           /* the device refused it, although more was free */
	FRAG_VERDICT_CONTRADICTION,     /* its values cannot hold together */
	FRAG_VERDICT_NOT_DEVICE_MEMORY,
	FRAG_VERDICT_UNKNOWN,           /* of a message: too few values */
};

/* Is it by how much is allocated, or nothing? Then no other place of the blocks could help. */
static inline bool frag_oom_is_size(enum frag_oom_verdict verdict)
{
	return verdict <= FRAG_VERDICT_CAPACITY;
}

/* "request_too_large", ...; NULL for FRAG_VERDICT_NONE. */
const char *frag_oom_verdict_name(enum frag_oom_verdict verdict);
/* All of them, by verdict, ended by NULL; and the bit of one in a set of those from the second on. */
extern const char *const frag_oom_verdict_names[];
#define FRAG_VERDICT_BIT(verdict) (UINT64_C(1) << (FRAG_VERDICT_##verdict - 1))
/* Those that a message alone has. */
#define FRAG_VERDICTS_OF_MESSAGES (FRAG_VERDICT_BIT(REFUSED) | FRAG_VERDICT_BIT(CONTRADICTION) \
				   | FRAG_VERDICT_BIT(NOT_DEVICE_MEMORY))

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

/* The first verdict that holds, in the order of the enum. */
enum frag_oom_verdict frag_oom_verdict_of(const struct frag_oom_facts *facts);

/* With the request more than 95 % of the usable bytes are live: the qualifier of fragmentation. */
bool frag_oom_is_nearly_full(const struct frag_oom_facts *facts);
