/* surroundings.c - reads settings, system, framework and phase from the lines of a text. */
#include "messages/surroundings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define PHASE_LINES 60          /* from a sign of a phase to its message */

enum sign { SYSTEM, FRAMEWORK, PHASE, UNIFIED, WENT_ON, VERSION, SETTING, FLAG };

/* A setting's value follows its words; FLAG: the words alone are it. `what` of settings and versions: a framework, or 0. */
static const struct surrounding {
	const char *words;
	enum sign sign;
	int what;
	const char *key, *value;
} rows[] = {
	{ "\\site-packages\\", .sign = SYSTEM, FRAG_SYSTEM_WINDOWS },
	{ "\\Lib\\", .sign = SYSTEM, FRAG_SYSTEM_WINDOWS },
	{ ":\\Users\\", .sign = SYSTEM, FRAG_SYSTEM_WINDOWS },
	{ "MicrosoftWindows", .sign = SYSTEM, FRAG_SYSTEM_WINDOWS },
	{ "Windows11", .sign = SYSTEM, FRAG_SYSTEM_WINDOWS },
	{ "Windows10", .sign = SYSTEM, FRAG_SYSTEM_WINDOWS },
	{ "WSL2", .sign = SYSTEM, FRAG_SYSTEM_WSL },
	{ "microsoft-standard", .sign = SYSTEM, FRAG_SYSTEM_WSL },
	{ "NvMap", .sign = SYSTEM, FRAG_SYSTEM_JETSON },
	{ "tegra", .sign = SYSTEM, FRAG_SYSTEM_JETSON },
	{ "Jetson", .sign = SYSTEM, FRAG_SYSTEM_JETSON },
	{ "MPSbackend", .sign = SYSTEM, FRAG_SYSTEM_MAC },
	{ "MPSallocated", .sign = SYSTEM, FRAG_SYSTEM_MAC },
	{ "macOS", .sign = SYSTEM, FRAG_SYSTEM_MAC },
	{ "[metal::malloc]", .sign = SYSTEM, FRAG_SYSTEM_MAC },
	{ "/lib/python", .sign = SYSTEM, FRAG_SYSTEM_LINUX },
	{ "dist-packages", .sign = SYSTEM, FRAG_SYSTEM_LINUX },
	{ "File\"/", .sign = SYSTEM, FRAG_SYSTEM_LINUX },
	{ "PyTorchversion:", .sign = VERSION },
	{ "torch==", .sign = VERSION },
	{ "vllm==", .sign = VERSION, FRAG_FRAMEWORK_VLLM },
	{ "vLLMversion", .sign = VERSION, FRAG_FRAMEWORK_VLLM },
	{ "sglang==", .sign = VERSION, FRAG_FRAMEWORK_SGLANG },
	{ "sglang", .sign = FRAMEWORK, FRAG_FRAMEWORK_SGLANG },
	{ "Loadweightend", .sign = FRAMEWORK, FRAG_FRAMEWORK_SGLANG },
	{ "torch_memory_saver", .sign = FRAMEWORK, FRAG_FRAMEWORK_SGLANG },
	{ "vllm", .sign = FRAMEWORK, FRAG_FRAMEWORK_VLLM },
	{ "VllmWorker", .sign = FRAMEWORK, FRAG_FRAMEWORK_VLLM },
	{ "EngineCore", .sign = FRAMEWORK, FRAG_FRAMEWORK_VLLM },
	{ "[engine.py:", .sign = FRAMEWORK, FRAG_FRAMEWORK_VLLM },
	{ "gpu_worker.py", .sign = FRAMEWORK, FRAG_FRAMEWORK_VLLM },
	{ "TensorRT-LLM", .sign = FRAMEWORK, FRAG_FRAMEWORK_TENSORRT_LLM },
	{ "onnxruntime", .sign = FRAMEWORK, FRAG_FRAMEWORK_ONNXRUNTIME },
	{ "ollama", .sign = FRAMEWORK, FRAG_FRAMEWORK_LLAMA },
	{ "ggml_", .sign = FRAMEWORK, FRAG_FRAMEWORK_LLAMA },
	{ "ComfyUI", .sign = FRAMEWORK, FRAG_FRAMEWORK_COMFYUI },
	{ "CheckpointLoader", .sign = FRAMEWORK, FRAG_FRAMEWORK_COMFYUI },
	{ "unloadingallloadedmodels", .sign = FRAMEWORK, FRAG_FRAMEWORK_COMFYUI },
	{ "InvokeAI", .sign = FRAMEWORK, FRAG_FRAMEWORK_INVOKEAI },
	{ "invokeai", .sign = FRAMEWORK, FRAG_FRAMEWORK_INVOKEAI },
	{ "sdxl_model_loader", .sign = FRAMEWORK, FRAG_FRAMEWORK_INVOKEAI },
	{ "deepspeed", .sign = FRAMEWORK, FRAG_FRAMEWORK_DEEPSPEED },
	{ "see_memory_usage", .sign = FRAMEWORK, FRAG_FRAMEWORK_DEEPSPEED },
	{ "megatron", .sign = FRAMEWORK, FRAG_FRAMEWORK_MEGATRON },
	{ "[titan]", .sign = FRAMEWORK, FRAG_FRAMEWORK_TORCHTITAN },
	{ "torchtitan", .sign = FRAMEWORK, FRAG_FRAMEWORK_TORCHTITAN },
	{ "diffusers", .sign = FRAMEWORK, FRAG_FRAMEWORK_DIFFUSERS },
	{ "tensorflow", .sign = FRAMEWORK, FRAG_FRAMEWORK_TENSORFLOW },
	{ "jaxlib", .sign = FRAMEWORK, FRAG_FRAMEWORK_JAX },
	{ "jax.errors", .sign = FRAMEWORK, FRAG_FRAMEWORK_JAX },
	{ "wake_up", .sign = PHASE, FRAG_PHASE_WAKE },
	{ "func=resume", .sign = PHASE, FRAG_PHASE_WAKE },
	{ "capture_model", .sign = PHASE, FRAG_PHASE_CAPTURE },
	{ "cuda_graph_runner", .sign = PHASE, FRAG_PHASE_CAPTURE },
	{ "Capturecudagraphbegin", .sign = PHASE, FRAG_PHASE_CAPTURE },
	{ "torch.cuda.graph(", .sign = PHASE, FRAG_PHASE_CAPTURE },
	{ "optimizer.step", .sign = PHASE, FRAG_PHASE_OPTIMIZER },
	{ "_optimizer_step", .sign = PHASE, FRAG_PHASE_OPTIMIZER },
	{ "torch/optim/", .sign = PHASE, FRAG_PHASE_OPTIMIZER },
	{ ".backward(", .sign = PHASE, FRAG_PHASE_BACKWARD },
	{ "_engine_run_backward", .sign = PHASE, FRAG_PHASE_BACKWARD },
	{ "pipe.to(", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "pipeline.to(", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "model.to(", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "model.cuda(", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "load_model:initializing", .sign = WENT_ON },
	{ "load_model", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "load_state_dict", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "from_pretrained", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "load_weights", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "self._apply(", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "model_loader.", .sign = PHASE, FRAG_PHASE_LOAD },
	{ "execute_model", .sign = PHASE, FRAG_PHASE_SERVE },
	{ "process_batch", .sign = PHASE, FRAG_PHASE_SERVE },
	{ "_call_impl", .sign = PHASE, FRAG_PHASE_FORWARD },
	{ "_conv_forward", .sign = PHASE, FRAG_PHASE_FORWARD },
	{ "inforward", .sign = PHASE, FRAG_PHASE_FORWARD },
	{ "GB10", .sign = UNIFIED },
	{ "DGXSpark", .sign = UNIFIED },
	{ "StrixHalo", .sign = UNIFIED },
	{ "gfx1151", .sign = UNIFIED },
	{ "gfx1150", .sign = UNIFIED },
	{ "8060S", .sign = UNIFIED },
	{ "Finishedtraining", .sign = WENT_ON },
	{ "Trainingcomplete", .sign = WENT_ON },
	{ "Trainingfinished", .sign = WENT_ON },
	{ "Trainingcompleted", .sign = WENT_ON },
	{ "serverislistening", .sign = WENT_ON },
	{ "retryandsucceeded", .sign = WENT_ON },
	{ "expandable_segments:True", .sign = SETTING, 0, "expandable_segments", "True" },
	{ "expandable_segments:False", .sign = SETTING, 0, "expandable_segments", "False" },
	{ "expandable_segmentsisenabled", .sign = FLAG, 0, "expandable_segments", "True" },
	{ "max_split_size_mb:", .sign = SETTING, 0, "max_split_size_mb" },
	{ "garbage_collection_threshold:", .sign = SETTING, 0, "garbage_collection_threshold" },
	{ "backend:cudaMallocAsync", .sign = SETTING, 0, "backend", "cudaMallocAsync" },
	{ "gpu_memory_utilization", .sign = SETTING, FRAG_FRAMEWORK_VLLM, "gpu_memory_utilization" },
	{ "gpu-memory-utilization", .sign = SETTING, FRAG_FRAMEWORK_VLLM, "gpu_memory_utilization" },
	{ "enable_sleep_mode=True", .sign = FLAG, 0, "enable_sleep_mode", "True" },
	{ "--enable-sleep-mode", .sign = FLAG, 0, "enable_sleep_mode", "True" },
	{ "specifiedbykv_cache_memory_bytes", .sign = FLAG, 0, "kv_cache_memory_bytes", "True" },
	{ "kv-cache-memory-bytes", .sign = SETTING, 0, "kv_cache_memory_bytes" },
	{ "kv_cache_memory_bytes=", .sign = SETTING, 0, "kv_cache_memory_bytes" },
	{ "mem_fraction_static=", .sign = SETTING, 0, "mem_fraction_static" },
	{ "mem-fraction-static", .sign = SETTING, FRAG_FRAMEWORK_SGLANG, "mem_fraction_static" },
	{ "enforce_eager=True", .sign = FLAG, 0, "enforce_eager", "True" },
	{ "TF_FORCE_GPU_ALLOW_GROWTH=true", .sign = FLAG, 0, "TF_FORCE_GPU_ALLOW_GROWTH", "true" },
	{ "XLA_PYTHON_CLIENT_PREALLOCATE=false", .sign = FLAG, 0, "XLA_PYTHON_CLIENT_PREALLOCATE", "false" },
	{ "XLA_PYTHON_CLIENT_MEM_FRACTION=", .sign = SETTING, 0, "XLA_PYTHON_CLIENT_MEM_FRACTION" },
	{ "PYTORCH_MPS_HIGH_WATERMARK_RATIO=", .sign = SETTING, 0, "PYTORCH_MPS_HIGH_WATERMARK_RATIO" },
};

const char *frag_surrounding_words(uint32_t which)
{
	return which < sizeof(rows) / sizeof(*rows) ? rows[which].words : NULL;
}

#define BEFORE_MOST 160

/* Is one of the words in the bytes right before `at`? */
static bool near_before(const struct frag_stripped_text *in, size_t at, size_t most,
			const char *const *words)
{
	const size_t from = at > most ? at - most : 0;

	for (; *words; words++) {
		const size_t length = strlen(*words);

		for (size_t i = from; i + length <= at; i++)
			if (memcmp(in->text + i, *words, length) == 0)
				return true;
	}
	return false;
}

/* The beginning of the word that has the byte before `at`: a variable with its keys. */
static size_t variable_begin(const struct frag_stripped_text *in, size_t at)
{
	static const char end[] = "ALLOC_CONF=";
	size_t i = at;

	for (; i > sizeof(end) && at - i < BEFORE_MOST; i--)
		if (memcmp(in->text + i - (sizeof(end) - 1), end, sizeof(end) - 1) == 0)
			return i - (sizeof(end) - 1);
	return at;
}

/* Advice of the message itself, or of a person, sets nothing. */
static bool is_suggested(const struct frag_stripped_text *in, size_t at)
{
	static const char *const words[] = {
		"try", "setting", "via", "shouldset", "Use", "increase", "increasing", "raise", "lower",
		"decrease", "reduce", "e.g.", "suggest", "recommend", "might", "couldset", "can", NULL,
	};

	return near_before(in, at, 36, words);
}

static bool is_own_word(const struct frag_stripped_text *in, size_t at)
{
	static const char *const words[] = {
		"alreadytried", "alreadyset", "alreadyuse", "Itried", "Iset", "Iuse", "havetried",
		"haveset", "with", "tried`", NULL,
	};

	return near_before(in, at, 40, words);
}

static bool is_number_byte(char c)
{
	return frag_is_digit(c) || c == '.';
}

static void add_setting(struct frag_surroundings *s, const char *key, const char *value, size_t length)
{
	struct frag_set *set = NULL;

	for (uint32_t i = 0; i < s->setting_count; i++)
		if (strcmp(s->settings[i].key, key) == 0)
			set = &s->settings[i];
	if (!set && s->setting_count == FRAG_SETS_MAX)
		return;
	set = set ? set : &s->settings[s->setting_count++];
	set->key = key;
	snprintf(set->value, sizeof(set->value), "%.*s", (int)length, value);
}

static void read_setting(struct frag_surroundings *s, const struct surrounding *row,
			 const struct frag_stripped_text *in, size_t at)
{
	const size_t variable = variable_begin(in, at);
	size_t from = at + strlen(row->words), to;

	if (row->value && variable == at && !is_own_word(in, at))
		return;
	if (variable != at || !is_own_word(in, at))
		if (is_suggested(in, variable))
			return;
	if (row->value) {
		add_setting(s, row->key, row->value, strlen(row->value));
		return;
	}
	while (from < in->used && strchr("=('\":", in->text[from]) && in->text[from])
		from++;
	for (to = from; to < in->used && is_number_byte(in->text[to]) && to - from < FRAG_SET_ROOM - 1;)
		to++;
	if (to > from && frag_is_digit(in->text[to - 1]))
		add_setting(s, row->key, in->text + from, to - from);
}

/* "2.14.0+xpu" */
static void read_version(struct frag_surroundings *s, const struct frag_stripped_text *in, size_t at)
{
	size_t to = at;

	while (to < in->used && (is_number_byte(in->text[to]) || (to > at && in->text[to] == '+'))
	       && to - at < FRAG_SET_ROOM - 1)
		to++;
	if (to > at && frag_is_digit(in->text[at]))
		snprintf(s->version, sizeof(s->version), "%.*s", (int)(to - at), in->text + at);
}

void frag_surroundings_of(struct frag_surroundings *s, enum frag_framework framework)
{
	if (!s->framework || s->framework > framework)
		s->framework = framework;
}

void frag_surroundings_read(struct frag_surroundings *s, uint32_t which,
			    const struct frag_stripped_text *in, size_t at, uint64_t line)
{
	const struct surrounding *row = &rows[which];

	if ((row->sign == SETTING || row->sign == VERSION) && row->what)
		frag_surroundings_of(s, (enum frag_framework)row->what);
	switch (row->sign) {
	case SYSTEM:
		if ((int)s->system < row->what)
			s->system = (enum frag_system)row->what;
		s->unified |= row->what == FRAG_SYSTEM_JETSON;
		break;
	case FRAMEWORK:
		frag_surroundings_of(s, (enum frag_framework)row->what);
		break;
	case PHASE:
		s->phases[row->what] = line;
		break;
	case UNIFIED:
		s->unified = true;
		break;
	case WENT_ON:
		s->went_on = line;
		break;
	case VERSION:
		read_version(s, in, at + strlen(row->words));
		break;
	case SETTING:
		read_setting(s, row, in, at);
		break;
	case FLAG:
		add_setting(s, row->key, row->value, strlen(row->value));
		break;
	}
}

enum frag_phase frag_phase_at(const struct frag_surroundings *s, uint64_t line)
{
	for (int i = FRAG_PHASE_COUNT - 1; i > FRAG_PHASE_UNKNOWN; i--)
		if (s->phases[i] && s->phases[i] <= line && s->phases[i] + PHASE_LINES >= line)
			return (enum frag_phase)i;
	return FRAG_PHASE_UNKNOWN;
}

const char *frag_setting_in(const struct frag_surroundings *s, const char *key)
{
	for (uint32_t i = 0; i < s->setting_count; i++)
		if (strcmp(s->settings[i].key, key) == 0)
			return s->settings[i].value;
	return NULL;
}

#define ONE(which, name) [FRAG_SYSTEM_##which - 1] = (name),
const char *const frag_system_names[] = { FRAG_SYSTEMS(ONE) NULL };
#undef ONE
#define ONE(which, name) [FRAG_PHASE_##which - 1] = (name),
const char *const frag_phase_names[] = { FRAG_PHASES(ONE) NULL };
#undef ONE
#define ONE(which, name) [FRAG_FRAMEWORK_##which - 1] = (name),
const char *const frag_framework_names[] = { FRAG_FRAMEWORKS(ONE) NULL };
#undef ONE
