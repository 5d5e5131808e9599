/* model.c - calls the Python that records a model. */
#include "cmd/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

const char *const frag_model_optimizers[] = { "adamw", "adam", "sgd", "momentum", NULL };
const char *const frag_model_dtypes[] = { "bf16", "fp16", "fp32", "amp", NULL };

static const struct frag_support_file script = {
	.file = "python/models.py",
	.installed = "../share/fragsim/",
	.variable = "FRAGSIM_MODELS",
};

#define MODEL_WORDS_MAX 40
#define MODEL_INTERRUPTED 130

/* The words of a command, with the text of its numbers. */
struct model_words {
	char *argv[MODEL_WORDS_MAX];
	char numbers[MODEL_WORDS_MAX][24];
	uint32_t count;
};

static void model_add(struct model_words *w, const char *option, const char *value)
{
	w->argv[w->count++] = (char *)(uintptr_t)option;
	if (value)
		w->argv[w->count++] = (char *)(uintptr_t)value;
}

static void model_add_number(struct model_words *w, const char *option, uint64_t n)
{
	char *text = w->numbers[w->count];

	snprintf(text, sizeof(w->numbers[0]), "%" PRIu64, n);
	if (n)
		model_add(w, option, text);
}

/* The command that records m into output. */
static void model_command(struct model_words *w, const struct frag_model *m, const char *path,
			  const char *output)
{
	const char *python = getenv("FRAGSIM_TORCH_PYTHON");

	w->count = 0;
	model_add(w, python && *python ? python : "python3", path);
	model_add(w, "--model", m->config);
	model_add_number(w, "--batch", m->batch);
	model_add_number(w, "--length", m->length);
	model_add_number(w, "--steps", m->steps);
	model_add(w, "--optimizer", frag_model_optimizers[m->optimizer]);
	model_add(w, "--dtype", frag_model_dtypes[m->dtype]);
	if (m->checkpoint)
		model_add(w, "--checkpoint", NULL);
	model_add_number(w, "--lora", m->lora);
	model_add_number(w, "--shard", m->shard);
	model_add_number(w, "--stage", m->shard && !m->stage ? 3 : m->stage);
	model_add_number(w, "--generate", m->generate);
	model_add(w, "--output", output);
	w->argv[w->count] = NULL;
}

int frag_model_exec(const struct frag_model *m, const char *output, int *status,
		    struct frag_error *err)
{
	struct model_words words;
	char path[PATH_MAX], here[PATH_MAX];
	int rc = frag_has_programs ? frag_find_support_file(&script, path, err)
				   : frag_fail(err, FRAG_EUSAGE, "--model: %s", FRAG_NO_PROGRAMS);

	if (rc)
		return rc;
	model_command(&words, m, path, output);
	/* this program writes the trace */
	if (frag_executable_path(here))
		setenv("FRAGSIM", here, 1);
	frag_program_exec(words.argv);
	*status = FRAG_STATUS_NOT_FOUND;
	frag_print_message("%s: %s; --model requires a Python with PyTorch and transformers;"
			   " FRAGSIM_TORCH_PYTHON may name one", words.argv[0], strerror(errno));
	return 0;
}

struct recording {
	struct frag_model model;
	const char *path;
};

static int model_run(void *ctx)
{
	const struct recording *r = ctx;
	struct frag_error err = { .code = 0 };
	int status = 0;
	const int rc = frag_model_exec(&r->model, r->path, &status, &err);

	if (rc)
		frag_print_message("%s", err.message);
	return rc ? frag_error_status(rc) : status;
}

int frag_model_record(const struct frag_model *model, uint64_t batch, char path[FRAG_MODEL_PATH],
		      int *status, struct frag_error *err)
{
	struct recording r = { .model = *model, .path = path };
	const int fd = frag_nameless_file();
	int ended, number;

	r.model.batch = batch;
	if (!frag_has_programs)
		return frag_fail(err, FRAG_EUSAGE, "--model: %s", FRAG_NO_PROGRAMS);
	if (fd < 0)
		return frag_fail(err, FRAG_EOUTPUT, "a temporary file: %s", strerror(errno));
	snprintf(path, FRAG_MODEL_PATH, "/dev/fd/%d", fd);
	number = frag_child_run(model_run, &r, &ended);
	if (number)
		return frag_fail(err, FRAG_ENOMEM, "fork: %s", strerror(number));
	if (ended < 0 || ended == MODEL_INTERRUPTED)
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	*status = ended;
	return 0;
}

/* A row each, with the source of the bytes. */
static const struct frag_extra_memory extra_memory[FRAG_EXTRA_MEMORY] = {
	/* two of 32 MiB, where the trace has two of 8 MiB and more */
	{ "larger workspaces of cuBLAS on Hopper", 2 * UINT64_C(24) << 20, true, false,
	  "https://docs.nvidia.com/cuda/cublas/index.html#cublassetworkspace" },
	{ "workspaces of cuDNN, where the model has convolutions", 0, false, false,
	  "https://docs.pytorch.org/docs/2.15/cuda_environment_variables.html" },
	{ "buffers of NCCL", 0, false, true,
	  "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-buffsize" },
	{ "if the loop keeps the outputs", 0, false, false,
	  "https://docs.pytorch.org/docs/2.15/notes/faq.html" },
	{ NULL, 0, false, false, NULL },
};

void frag_model_extras(struct frag_extra_memory out[FRAG_EXTRA_MEMORY], uint64_t kept_outputs)
{
	const uint32_t outputs = FRAG_EXTRA_MEMORY - 2;

	memcpy(out, extra_memory, sizeof(extra_memory));
	out[outputs].bytes = kept_outputs;
	if (!kept_outputs)
		out[outputs].name = NULL;
}
