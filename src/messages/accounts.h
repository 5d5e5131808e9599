/*
 * accounts.h - memory values of a text without a failure: holders and their bytes.
 *
 * Tables of processes, lines of servers and trainers, PyTorch's statistics, and what people print
 * of them. Of a value that occurs again the last counts, and the largest is kept, too.
 */
#pragma once

#include "fragsim/error.h"
#include "messages/match.h"

#define FRAG_ACCOUNTS_MAX 256
#define FRAG_ACCOUNT_ROOM 80
#define FRAG_PERHAPS_MAX 8

/* What a value is of, and its name where the text has none. */
#define FRAG_ACCOUNT_KINDS(ONE)                                                                       \
	ONE(TOTAL, "total of the device") ONE(LIMIT, "limit of the server") ONE(FREE, "free")         \
	ONE(USED, "used") ONE(PEAK_USED, "peak used") ONE(ALLOCATED, "allocated")                     \
	ONE(PEAK_ALLOCATED, "peak allocated") ONE(RESERVED, "reserved")                               \
	ONE(PEAK_RESERVED, "peak reserved") ONE(ACTIVE, "active") ONE(PEAK_ACTIVE, "peak active")     \
	ONE(REQUESTED, "requested") ONE(NONRELEASABLE, "non-releasable") ONE(WEIGHTS, "weights")      \
	ONE(KV_CACHE, "KV cache") ONE(GRAPHS, "CUDA graphs") ONE(ACTIVATIONS, "activations")          \
	ONE(NON_TORCH, "non-torch") ONE(BUFFERS, "compute buffers") ONE(FREED, "freed by sleep mode") \
	ONE(STILL_USED, "in use after sleep") ONE(HOST, "host memory in use") ONE(PROCESS, "process") \
	ONE(ARGUMENTS, "arguments") ONE(OUTPUTS, "outputs") ONE(TEMPORARIES, "temporaries")           \
	ONE(CACHED, "reserved but unallocated") ONE(OUTSIDE, "not of the server")                     \
	ONE(GRADIENTS, "gradients") ONE(OPTIMIZER, "optimizer state")

enum frag_account_kind {
#define ONE(which, name) FRAG_ACCOUNT_##which,
	FRAG_ACCOUNT_KINDS(ONE)
#undef ONE
	FRAG_ACCOUNT_NONE
};

struct frag_account {
	char who[FRAG_ACCOUNT_ROOM];
	uint64_t bytes, most;           /* the last, and the largest */
	const char *program;            /* static; NULL: not known */
	enum frag_account_kind kind;
	uint32_t device;                /* or FRAG_NO_GPU */
	bool derived;                   /* follows from others */
};

struct frag_accounts {
	struct frag_account *of;        /* owned */
	uint32_t count, capacity;
	uint64_t retries;               /* most that a line names */
	uint64_t ooms;
	uint64_t percent;               /* of the device, in hundredths; 0: not named */
	uint64_t line, row_line;        /* that was read last, and last by a row */
	uint64_t table_end;             /* the last line of a table that was read */
	/* pairs of a line whose words behind them may be a row's: then they are none */
	struct frag_account perhaps[FRAG_PERHAPS_MAX];
	uint32_t perhaps_count;
	uint64_t perhaps_line;
	bool failed;                    /* out of memory */
};

/* The words that are searched for; NULL ends them. */
const char *frag_account_words(uint32_t which);

/* Word `which` is at `at`, on this line. */
void frag_accounts_read(struct frag_accounts *a, uint32_t which, const struct frag_stripped_text *in,
			size_t at, uint64_t line);

/* Notes a value; of the same holder the last counts, unless they add up. */
void frag_account_note(struct frag_accounts *a, const struct frag_account *value, bool adds);
const char *frag_account_kind_name(enum frag_account_kind kind);

/* Adds the conclusions from the others; once, when the text has ended. */
void frag_accounts_derive(struct frag_accounts *a);

/* A value of two texts. */
struct frag_account_change {
	char who[FRAG_ACCOUNT_ROOM];
	uint64_t old, new;
	int64_t change;
	bool in_old, in_new;
};

struct frag_account_changes {
	struct frag_accounts old, new;
	struct frag_account_change *changes;    /* the largest first; owned */
	uint32_t count, capacity;
};

/* Compares the values by holder. -FRAG_ENOMEM */
int frag_accounts_compare(struct frag_account_changes *c, struct frag_error *err);
void frag_account_changes_fini(struct frag_account_changes *c);

/* The first one of this kind, of this program unless it is NULL; NULL: there is none. */
const struct frag_account *frag_account_of(const struct frag_accounts *a, enum frag_account_kind kind,
					   const char *program);
