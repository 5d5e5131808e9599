/*
 * surroundings.h - what a text says around its messages: settings, system, framework, phase, and
 * whether the program went on.
 *
 * They decide which advice is valid, and never a verdict.
 */
#pragma once

#include "messages/match.h"

/* Those that decide more come later. */
#define FRAG_SYSTEMS(ONE) \
	ONE(LINUX, "linux") ONE(MAC, "mac") ONE(JETSON, "jetson") ONE(WSL, "wsl") ONE(WINDOWS, "windows")
#define FRAG_PHASES(ONE) \
	ONE(FORWARD, "forward") ONE(SERVE, "serve") ONE(LOAD, "load") ONE(BACKWARD, "backward") \
	ONE(OPTIMIZER, "optimizer") ONE(CAPTURE, "capture") ONE(WAKE, "wake")
/* As JSON has them; the first are servers. */
#define FRAG_FRAMEWORKS(ONE) \
	ONE(SGLANG, "sglang") ONE(VLLM, "vllm") ONE(TENSORRT_LLM, "tensorrt-llm") \
	ONE(ONNXRUNTIME, "onnxruntime") ONE(LLAMA, "llama.cpp") ONE(COMFYUI, "comfyui") \
	ONE(INVOKEAI, "invokeai") ONE(DEEPSPEED, "deepspeed") ONE(MEGATRON, "megatron") \
	ONE(TORCHTITAN, "torchtitan") ONE(DIFFUSERS, "diffusers") ONE(TENSORFLOW, "tensorflow") \
	ONE(JAX, "jax")

#define ONE(which, name) FRAG_SYSTEM_##which,
enum frag_system { FRAG_SYSTEM_UNKNOWN, FRAG_SYSTEMS(ONE) };
#undef ONE
#define ONE(which, name) FRAG_PHASE_##which,
enum frag_phase { FRAG_PHASE_UNKNOWN, FRAG_PHASES(ONE) FRAG_PHASE_COUNT };
#undef ONE
#define ONE(which, name) FRAG_FRAMEWORK_##which,
enum frag_framework { FRAG_FRAMEWORK_UNKNOWN, FRAG_FRAMEWORKS(ONE) };
#undef ONE

/* As JSON has them, from the one after UNKNOWN on, ended by NULL. */
extern const char *const frag_system_names[], *const frag_phase_names[], *const frag_framework_names[];

#define FRAG_SETS_MAX 16
#define FRAG_SET_ROOM 40

struct frag_set {
	const char *key;                /* static */
	char value[FRAG_SET_ROOM];
};

struct frag_surroundings {
	enum frag_system system;
	enum frag_framework framework;
	char version[FRAG_SET_ROOM];        /* of PyTorch or the framework; "": none is named */
	struct frag_set settings[FRAG_SETS_MAX];
	uint32_t setting_count;
	bool unified;                   /* device and host share their memory */
	uint64_t went_on;               /* the last line with such a sign; 0: none */
	uint64_t phases[FRAG_PHASE_COUNT];      /* the last line with a sign of each; 0: none */
};

/* The words that are searched for; NULL ends them. */
const char *frag_surrounding_words(uint32_t which);

/* Word `which` is at `at`, on this line. */
void frag_surroundings_read(struct frag_surroundings *s, uint32_t which,
			    const struct frag_stripped_text *in, size_t at, uint64_t line);

/* The text is of this framework, unless it is of one before it in the list. */
void frag_surroundings_of(struct frag_surroundings *s, enum frag_framework framework);

/* The phase of a message on this line, by the lines so far. */
enum frag_phase frag_phase_at(const struct frag_surroundings *s, uint64_t line);

/* The value of a setting; NULL: the text does not set it. */
const char *frag_setting_in(const struct frag_surroundings *s, const char *key);
