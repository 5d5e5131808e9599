/* settings_grid.h - settings of PyTorch's allocator that are worth a try. */
#ifndef SEARCH_SETTINGS_GRID_H
#define SEARCH_SETTINGS_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/engine.h"

#define FRAG_GRID_TEXT 192

/* Lines as PYTORCH_ALLOC_CONF takes them; "" are the defaults. */
struct frag_grid {
	char (*lines)[FRAG_GRID_TEXT];
	uint32_t count, capacity;
};

extern const char *const frag_grid_names[];     /* "default", "short", ended by NULL */

/* The few settings that are tried in addition to a run, the most successful one first. */
#define FRAG_REMEDIES 6
extern const char *const frag_remedies[FRAG_REMEDIES];

/*
 * The grid of that name: `default` has all sensible combinations, `short` those nine that came
 * out best on recorded traces. False: out of memory.
 */
bool frag_grid_init(struct frag_grid *grid, const char *name);
/* One line more, copied; false also where it is longer than a grid takes. */
bool frag_grid_add(struct frag_grid *grid, const char *line);
void frag_grid_fini(struct frag_grid *grid);

/* Results of policies on a tape: each is simulated once, on all devices. */
/* On one device. Bytes: peaks, and what is wasted at that of reserved. */
struct frag_trial_figures {
	enum frag_run_status status;
	uint64_t requested, allocated, reserved, wasted;
};

struct frag_trial {
	struct frag_choice choice;      /* borrows what it names */
	bool unlimited;                 /* no device has a capacity */
	struct frag_trial_figures *figures;  /* by device */
};

struct frag_trials {
	const struct frag_tape *tape;
	const struct frag_sim_options *options; /* of the runs, with their devices */
	bool (*stop)(void *ctx);        /* optional: asked before each simulation */
	void *ctx;
	struct frag_trial *trial;       /* those that were made */
	uint32_t count, capacity;
};

/* A run that is over, on all devices, is a trial too. -FRAG_ENOMEM */
int frag_trials_add(struct frag_trials *trials, const struct frag_result *runs,
		    struct frag_error *err);

/*
 * Finds the metrics on one device of the trace, on the runs' devices or on unlimited ones.
 * -FRAG_ENOMEM, -FRAG_EINTERRUPTED, or why the policy cannot be simulated.
 */
int frag_trials_find(struct frag_trials *trials, const struct frag_choice *choice, bool unlimited,
		     uint32_t device, struct frag_trial_figures *out, struct frag_error *err);

/*
 * Creates a simulation over the tape, fed nothing yet; total: replaces the capacity of one
 * device, or of FRAG_ALL. Released with frag_sim_del(), also where this fails.
 */
int frag_trials_sim(const struct frag_trials *trials, const struct frag_choice *choice,
		    uint32_t device, uint64_t total, enum frag_level level, struct frag_sim **out,
		    struct frag_error *err);

/* Feeds it the tape from the reader's place up to event `until`. */
int frag_trials_play(const struct frag_trials *trials, struct frag_sim *sim,
		     struct frag_tape_reader *reader, uint64_t until, struct frag_error *err);

/* What it holds; the struct is not freed. One that is zeroed is fine. */
void frag_trials_fini(struct frag_trials *trials);

#endif
