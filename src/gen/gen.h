/*
 * gen.h - scenarios: traces made from a few options, one event after the other.
 *
 * A scenario is one const table: its options are data, and its function emits
 * events to a struct frag_gen. It keeps the live blocks, never the trace.
 * Its events depend on its options alone; randomness comes from the
 * option `seed`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "fragsim/error.h"
#include "fragsim/trace.h"
#include "trace/trace_formats.h"

enum frag_gen_type { FRAG_GEN_COUNT, FRAG_GEN_SIZE, FRAG_GEN_FLAG, FRAG_GEN_WORD };

struct frag_gen_option {
	const char *name;       /* without the dashes; NULL ends the table */
	enum frag_gen_type type;
	uint64_t fallback;      /* WORD: the index of one of words */
	uint64_t min, max;      /* inclusive; COUNT and SIZE only */
	const char *help;       /* one line, no full stop */
	const char *const *words;       /* WORD: ended by NULL */
};

#define FRAG_GEN_OPTIONS_MAX 16
#define FRAG_GEN_MAX ((UINT64_C(1) << 53) - 1)

struct frag_gen;

struct frag_scenario {
	const char *name;       /* as on the command line */
	const char *summary;    /* one line, no full stop */
	const struct frag_gen_option *options;
	const struct frag_device_figures *device;       /* NULL: unlimited */
	const char *per_device; /* the option with the number of devices; NULL: one device */
	/* optional: options that do not fit together are refused here. -FRAG_EUSAGE */
	int (*check)(const uint64_t *option, struct frag_error *err);
	void (*emit)(struct frag_gen *g);
};

struct frag_gen {
	const uint64_t *option; /* one value for each of the scenario's, in its order */
	struct frag_sink sink;
	uint64_t next_id;
	uint64_t stream, pool;  /* of what is allocated from here on */
	uint32_t device;
	bool no_memory;         /* of the host; sticks */
	bool (*stop)(void *none);
};

/* All scenarios, sorted by name, ended by NULL. */
const struct frag_scenario *const *frag_scenarios(void);

/* NULL where there is none. */
const struct frag_scenario *frag_scenario_find(const char *name);

/*
 * Writes the whole trace. -FRAG_EUSAGE before the first byte; -FRAG_EPIPE,
 * -FRAG_EOUTPUT, -FRAG_ENOMEM or -FRAG_EINTERRUPTED.
 */
int frag_scenario_write(const struct frag_scenario *s, const uint64_t *option, bool object,
			struct frag_outfile *out, bool (*stop)(void *none), struct frag_error *err);

/*
 * For scenarios. A failure makes all of these do nothing; whoever loops long
 * asks frag_gen_going() now and then.
 */
bool frag_gen_going(const struct frag_gen *g);

/* Gives the new block's id; tag may be NULL. */
uint64_t frag_gen_alloc(struct frag_gen *g, uint64_t bytes, const char *tag);
void frag_gen_free(struct frag_gen *g, uint64_t id);
/* Any other event. */
void frag_gen_write(struct frag_gen *g, const struct frag_record *rec);

/* Blocks to be freed later. */
struct frag_gen_ids {
	uint64_t *ids;
	uint32_t count, capacity;
};

void frag_gen_push(struct frag_gen *g, struct frag_gen_ids *ids, uint64_t id);
/* The last; 0 where there is none. */
static inline uint64_t frag_gen_pop(struct frag_gen_ids *ids)
{
	return ids->count ? ids->ids[--ids->count] : 0;
}
/* The last first. */
static inline void frag_gen_free_all(struct frag_gen *g, struct frag_gen_ids *ids)
{
	while (ids->count)
		frag_gen_free(g, frag_gen_pop(ids));
	free(ids->ids);
	*ids = (struct frag_gen_ids){ .ids = NULL };
}

/* The tables of all scenarios, by name. */
#define FRAG_SCENARIOS(X) \
	X(alternating) X(append_leak) X(checkpointing) X(grow) X(inference) X(mib_plus_one) \
	X(min_block) X(multitask) X(one_float) X(one_tensor) X(pipeline) X(qkv) X(random) \
	X(rebind) X(six_tensors) X(small_after_large) X(tiny) X(training) X(two_mib) \
	X(uneven_pipeline)

#define FRAG_SCENARIO(name) extern const struct frag_scenario frag_scenario_##name;
FRAG_SCENARIOS(FRAG_SCENARIO)
#undef FRAG_SCENARIO
