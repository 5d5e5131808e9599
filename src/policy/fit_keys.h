/*
 * fit_keys.h - the keys of bestfit and its kin, for every policy that includes them in its
 * table.
 */
#pragma once

/* Places in the array of parameters. */
enum { ALIGN, SEGMENT, POOL, MIN_SPLIT, RELEASE, FIT_KEYS };

/* From place `at` on; whose: what precedes the help. */
#define FRAG_FIT_KEYS(at, whose)								\
	[(at) + ALIGN] = { .name = "align", .type = FRAG_PARAM_SIZE, .fallback = 512, .min = 1,	\
	  .power_of_two = true, .help = whose "blocks are multiples of this" },			\
	[(at) + SEGMENT] = { .name = "segment", .type = FRAG_PARAM_SIZE, .fallback = 2 << 20,	\
	  .min = 1, .help = whose "segments are multiples of this" },				\
	[(at) + POOL] = { .name = "pool", .type = FRAG_PARAM_SIZE, .fallback = 0,		\
	  .help = whose "bytes obtained before the first event and never released" },	\
	[(at) + MIN_SPLIT] = { .name = "min_split", .type = FRAG_PARAM_SIZE, .same_as = "align",\
	  .min = 1, .help = whose "a smaller remainder stays with the block" },		\
	[(at) + RELEASE] = { .name = "release", .type = FRAG_PARAM_BOOL, .fallback = 1,		\
	  .help = whose "when the device refuses, release unused segments and retry" }
