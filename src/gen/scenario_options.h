/* scenario_options.h - options that several scenarios have, with their bounds. */
#pragma once

#include "gen/gen.h"

/* Bounds that keep every size below 2^53. */
#define LENGTH_MAX 32768
#define BATCH_MAX 1024
#define HEADS_MAX 128
#define HIDDEN_MAX 65536
#define VOCAB_MAX 1048576

/* Options that several scenarios have, with the value of each. */
#define COUNT(name, ...) { name, FRAG_GEN_COUNT, __VA_ARGS__, NULL }
#define LAYERS(value) COUNT("layers", value, 1, 10000, "layers of the model")
#define ITERATIONS(value) COUNT("iterations", value, 1, FRAG_GEN_MAX, "training steps")
#define JITTER(value, of) \
	COUNT("jitter", value, 0, 99, "percent by which a " of " is shorter or longer")
#define BATCH(value, of) COUNT("batch", value, 1, BATCH_MAX, "sequences a " of)
#define WORDS_OF(value) COUNT("length", value, 1, LENGTH_MAX, "words a sequence")
#define HIDDEN(value) COUNT("hidden", value, 1, HIDDEN_MAX, "hidden size")
#define HEADS(value) COUNT("heads", value, 0, HEADS_MAX, "attention heads; 0: fused attention")
#define VOCAB COUNT("vocab", 32000, 1, VOCAB_MAX, "words that there are")
#define CONCURRENT COUNT("concurrent", 8, 1, 65536, "concurrent sequences")
#define SERVING(prompt, words, grow)                                                        \
	COUNT("prompt", prompt, 1, 1048576, "words of the longest prompt"),                 \
	COUNT("words", words, 1, 1048576, "words of the longest answer"),                   \
	COUNT("grow", grow, 1, 1048576, "words by which a full cache grows")
#define SEED COUNT("seed", 1, 0, FRAG_GEN_MAX, "where the random numbers begin")

/* MiB of a device, of its context, and of other processes. */
#define DEVICE(mib, context_mib, other_mib)                                                 \
	&(const struct frag_device_figures){                                                \
	  .total = UINT64_C(mib) << 20, .context = UINT64_C(context_mib) << 20,             \
	  .other = UINT64_C(other_mib) << 20, .granularity = 2 << 20 }
