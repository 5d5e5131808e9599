/* scenarios.h - the tables of all scenarios, by name. */
#ifndef GEN_SCENARIOS_H
#define GEN_SCENARIOS_H

#include "gen/gen.h"

extern const struct frag_scenario frag_scenario_alternating;
extern const struct frag_scenario frag_scenario_append_leak;
extern const struct frag_scenario frag_scenario_checkpointing;
extern const struct frag_scenario frag_scenario_grow;
extern const struct frag_scenario frag_scenario_inference;
extern const struct frag_scenario frag_scenario_mib_plus_one;
extern const struct frag_scenario frag_scenario_min_block;
extern const struct frag_scenario frag_scenario_multitask;
extern const struct frag_scenario frag_scenario_one_float;
extern const struct frag_scenario frag_scenario_one_tensor;
extern const struct frag_scenario frag_scenario_pipeline;
extern const struct frag_scenario frag_scenario_qkv;
extern const struct frag_scenario frag_scenario_random;
extern const struct frag_scenario frag_scenario_rebind;
extern const struct frag_scenario frag_scenario_six_tensors;
extern const struct frag_scenario frag_scenario_small_after_large;
extern const struct frag_scenario frag_scenario_tiny;
extern const struct frag_scenario frag_scenario_training;
extern const struct frag_scenario frag_scenario_two_mib;
extern const struct frag_scenario frag_scenario_uneven_pipeline;

#endif
