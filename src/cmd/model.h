/*
 * model.h - a model that Python records from its configuration: the options, and the call of
 * python/fragsim/models.py.
 */
#pragma once

#include "cmd/command.h"
#include "answers/fit_answer.h"

struct frag_model {
	const char *config;     /* NULL: no model is recorded */
	uint64_t batch, length, steps, lora, shard, stage, generate;    /* 0: not given */
	int optimizer, dtype;   /* indexes of the words */
	bool checkpoint;
};
extern const char *const frag_model_optimizers[], *const frag_model_dtypes[];

/* The rows of a command whose options have the member `model`. */
#define FRAG_MODEL_ROWS(type, steps_help)                                                      \
	{ 0, "model", "CONFIG", "record a model of transformers: its config.json, or its name",\
	  FRAG_TEXT(type, model.config) },                                                     \
	{ 0, "batch", "N", "of --model: sequences or images of a step (1)",                    \
	  FRAG_COUNT(type, model.batch, 1, FRAG_MODEL_MAX) },                                  \
	{ 0, "length", "N", "of --model: tokens of a sequence (1024)",                         \
	  FRAG_COUNT(type, model.length, 1, FRAG_MODEL_MAX) },                                 \
	{ 0, "iterations", "N", steps_help, FRAG_COUNT(type, model.steps, 1, FRAG_COUNT_MAX) },     \
	{ 0, "optimizer", "NAME", "of --model: adamw, adam, sgd or momentum (adamw)",          \
	  FRAG_WORD(type, model.optimizer, frag_model_optimizers) },                           \
	{ 0, "dtype", "NAME", "of --model: bf16, fp16, fp32, or amp: fp32 with autocast (bf16)",\
	  FRAG_WORD(type, model.dtype, frag_model_dtypes) },                                   \
	{ 0, "checkpoint", NULL, "of --model: activation checkpointing",                       \
	  FRAG_FLAG(type, model.checkpoint) },                                                 \
	{ 0, "lora", "RANK", "of --model: train adapters of this rank only",                   \
	  FRAG_COUNT(type, model.lora, 1, FRAG_MODEL_MAX) },                                   \
	{ 0, "shard", "N", "of --model: one rank of N that share parameters (FSDP, ZeRO)",     \
	  FRAG_COUNT(type, model.shard, 2, FRAG_MODEL_MAX) },                                  \
	{ 0, "stage", "S", "of --shard: 1 optimizer state, 2 gradients too, 3 parameters too (3)",\
	  FRAG_COUNT(type, model.stage, 1, 3) },                                               \
	{ 0, "generate", "N", "of --model: generate N tokens instead of training",             \
	  FRAG_COUNT(type, model.generate, 1, FRAG_MODEL_MAX) }
#define FRAG_MODEL_MAX 100000000

/* Of these rows. --iterations is not among those that require --model: other recordings have it too. */
#define FRAG_MODEL_REFUSALS                                                                    \
	{ "batch|length|optimizer|dtype|checkpoint|lora|shard|stage|generate !model",          \
	  "=--%s is for --model CONFIG" },                                                     \
	{ "stage !shard", "=--stage requires --shard N" },                                     \
	{ "generate shard|checkpoint|lora|iterations",                                              \
	  "=--generate is without --%s, which is for training" }

/* Status where Python, PyTorch or transformers is missing: as of a shell's unknown command. */
#define FRAG_STATUS_NOT_FOUND 127

/* Becomes the Python that writes the trace to `output`. Returns only on an error. */
int frag_model_exec(const struct frag_model *m, const char *output, int *status,
		    struct frag_error *err);

/*
 * Records the model, at this batch size, into a file without a name, which ends with this process,
 * and stores a path that reads the file. *status: that of the Python where it failed, which has
 * printed the reason.
 */
#define FRAG_MODEL_PATH 32
int frag_model_record(const struct frag_model *model, uint64_t batch, char path[FRAG_MODEL_PATH],
		      int *status, struct frag_error *err);

/* Memory that a recording of a model lacks, ended by a row without a name. kept_outputs: of the trace. */
#define FRAG_EXTRA_MEMORY 5
void frag_model_extras(struct frag_extra_memory out[FRAG_EXTRA_MEMORY], uint64_t kept_outputs);
