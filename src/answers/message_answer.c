/* message_answer.c - the verdict on pasted out-of-memory messages, for people. */
#include "answers/answers.h"

#include "device/known_cards.h"
#include "messages/message.h"

#define ABSURD 16               /* times what a device has: no model asks for that */

/* Whose settings there are. */
enum speaker { TORCH, OLD_TORCH, ASYNC, MPS, BFC, RMM, OTHER, VLLM, SGLANG, LLAMA, OLLAMA };

#define ON_CARD " --device CARD mine.ndjson"
#define RECORD "fragsim record -o mine.ndjson -- "
#define RECORD_TORCH "fragsim record --torch -o mine -- "

/* How to learn more than a message tells: the commands, one a line. */
static const char record_torch[] = RECORD_TORCH "python train.py; fragsim explain mine.pickle";
static const char record_snapshot[] =
	"torch.cuda.memory._record_memory_history() before the first allocation, "
	"torch.cuda.memory._dump_snapshot(\"mine.pickle\") at the error; fragsim explain mine.pickle";
static const char record_old_torch[] = "with PyTorch 2.1 or later: " RECORD_TORCH "python train.py";
static const char record_bfc[] =
	/* the first variable is TensorFlow's, the second JAX's: each request calls the driver */
	"export TF_GPU_ALLOCATOR=cuda_malloc_async XLA_PYTHON_CLIENT_ALLOCATOR=platform\n"
	RECORD "python train.py\nfragsim explain -p bfc" ON_CARD;
static const char record_rmm[] =
	"rmm.enable_logging(log_file_name=\"rmm.csv\")\nfragsim explain -p rmm rmm.csv";
static const char record_vllm[] = RECORD_TORCH "vllm serve MODEL; fragsim explain mine.pickle";
static const char record_vllm_log[] =
	"VLLM_LOGGING_LEVEL=DEBUG vllm serve MODEL 2>&1 | tee log; fragsim explain log";
static const char record_sglang[] =
	RECORD_TORCH "python -m sglang.launch_server --model-path MODEL\nfragsim explain mine.pickle";
static const char record_llama[] =
	RECORD "llama-server -m MODEL\nfragsim explain -p direct" ON_CARD;
static const char record_llama_log[] =
	"llama-server -v -m MODEL 2>&1 | tee log (ollama: OLLAMA_DEBUG=1 ollama serve)\n"
	"fragsim explain log";
static const char record_julia[] =
	"JULIA_CUDA_MEMORY_POOL=none " RECORD "julia train.jl\nfragsim explain -p direct" ON_CARD;
static const char record_driver[] =
	RECORD "python infer.py\nfragsim explain -p direct" ON_CARD;
static const char record_cupy[] =
	"cupy.cuda.set_allocator(None)\n" RECORD "python train.py\nfragsim explain -p cupy" ON_CARD;

static const struct wording {
	enum speaker speaker;
	const char *record;             /* NULL: nothing to record */
	const char *total;              /* what the total is; NULL: that of the device */
} wordings[FRAG_WORDINGS] = {
	[FRAG_WORDING_CACHED] = { OLD_TORCH, record_old_torch, NULL },
	[FRAG_WORDING_RESERVED] = { OLD_TORCH, record_old_torch, NULL },
	[FRAG_WORDING_SENTENCES] = { TORCH, record_torch, NULL },
	[FRAG_WORDING_ASYNC] = { ASYNC, record_torch, NULL },
	[FRAG_WORDING_MPS] = { MPS, NULL, "that PyTorch lets itself have" },
	[FRAG_WORDING_BFC] = { BFC, record_bfc, "that the allocator may have of the device" },
	[FRAG_WORDING_XLA] = { BFC, record_bfc, NULL },
	[FRAG_WORDING_RMM] = { RMM, record_rmm, NULL },
	[FRAG_WORDING_RMM_POOL] = { RMM, record_rmm, "that the pool may have" },
	[FRAG_WORDING_CUPY] = { OTHER, record_cupy, "that the pool may have" },
	[FRAG_WORDING_VLLM_START] = { VLLM, NULL, NULL },
	[FRAG_WORDING_VLLM_CACHE] = { VLLM, record_vllm, NULL },
	[FRAG_WORDING_VLLM_LENGTH] = { VLLM, record_vllm, NULL },
	[FRAG_WORDING_SGLANG] = { SGLANG, record_sglang, "free when the parameters were loaded" },
	[FRAG_WORDING_LLAMA] = { LLAMA, record_llama, "free when the parameters were loaded" },
	[FRAG_WORDING_OLLAMA] = { OLLAMA, NULL, "of the host" },
	[FRAG_WORDING_ONNX] = { OTHER, record_driver, "that the arena may have" },
	[FRAG_WORDING_PADDLE] = { OTHER, record_driver, NULL },
	[FRAG_WORDING_TENSOR] = { BFC, record_bfc, NULL },
	[FRAG_WORDING_TF_ASYNC] = { OTHER, record_bfc, NULL },
	[FRAG_WORDING_CUDA_JL] = { OTHER, record_julia, NULL },
	[FRAG_WORDING_TENSORRT] = { OTHER, record_driver, NULL },
	[FRAG_WORDING_SUMMARY] = { TORCH, record_torch, NULL },
	[FRAG_WORDING_STATS] = { TORCH, record_torch, NULL },
};

static enum speaker speaker_of(const struct frag_message *m)
{
	return wordings[m->wording].speaker;
}

/* Of its advice for CUDA, what other devices have instead of the variable and the module. */
static const struct {
	const char *cuda, *others[FRAG_NPU + 1];
} device_tools[] = {
	{ "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
	  { [FRAG_HIP] = "rocm-smi --showpids", [FRAG_XPU] = "xpu-smi ps",
	    [FRAG_NPU] = "npu-smi info" } },
	{ "nvidia-smi -l 1", { [FRAG_HIP] = "rocm-smi --showpids", [FRAG_XPU] = "xpu-smi ps",
			       [FRAG_NPU] = "npu-smi info" } },
	{ "a CUDA context of about 0.3 to 0.6 GiB; NCCL, cuDNN, cuBLAS and CUDA graphs use",
	  { [FRAG_HIP] = "its own context; libraries and graphs use",
	    [FRAG_XPU] = "its own context; libraries and graphs use",
	    [FRAG_NPU] = "its own context; libraries and graphs use" } },
};

/* Adds `other` where the text begins with `cuda`, and moves it on. */
static bool replace_word(struct frag_words *w, const char **text, const char *cuda, const char *other)
{
	const size_t length = strlen(cuda);

	if (strncmp(*text, cuda, length) != 0)
		return false;
	*text += length;
	frag_add(w, "%s", other);
	return true;
}

static const char *in_device_words(const struct frag_message *m, const char *text,
				   struct frag_words *w)
{
	const struct frag_device_words *cuda = frag_device_words(FRAG_CUDA);
	const struct frag_device_words *own = frag_device_words(m->accelerator);

	if (m->accelerator == FRAG_CUDA)
		return text;
	while (*text) {
		bool replaced = replace_word(w, &text, cuda->variable, own->variable)
				|| replace_word(w, &text, cuda->module, own->module);

		for (size_t i = 0; i < sizeof(device_tools) / sizeof(device_tools[0]) && !replaced; i++)
			replaced = replace_word(w, &text, device_tools[i].cuda,
						device_tools[i].others[m->accelerator]);
		if (!replaced)
			frag_add(w, "%c", *text++);
	}
	return w->text;
}

#define ADVICE_ROOM 600

/* The advice for the message's device, valid until the end of the enclosing block. */
#define FOR_DEVICE(m, text) in_device_words(m, text, &(struct frag_words)WORDS(ADVICE_ROOM))

/* NULL: none. */
static const char *recording_of(const struct frag_message *m)
{
	/* the log has more of them than this part of it */
	if (m->verdict == FRAG_SHORT_UNKNOWN && speaker_of(m) == VLLM)
		return record_vllm_log;
	if (m->verdict == FRAG_SHORT_UNKNOWN && speaker_of(m) == LLAMA)
		return record_llama_log;
	/* fragsim record is for CUDA's interface, which HIP has, too */
	if (m->accelerator == FRAG_XPU || m->accelerator == FRAG_NPU)
		return record_snapshot;
	return wordings[m->wording].record;
}

/* The label precedes the first command. */
static void put_commands(const struct frag_message *m, const char *label, int width, FILE *f)
{
	const char *all = recording_of(m);

	for (const char *line = all ? FOR_DEVICE(m, all) : "", *end; *line; label = "") {
		end = line + strcspn(line, "\n");
		fprintf(f, "  %-*s%.*s\n", width, label, (int)(end - line), line);
		line = end + (*end == '\n');
	}
}

struct advice {
	const struct frag_message *m;
	const struct frag_text_style *to;
};

static void say(const struct advice *a, const char *text)
{
	frag_put_wrapped(a->to, "  - ", FOR_DEVICE(a->m, text));
}

/* Sentences; a line to paste, which is never wrapped, begins with a tab. NULL ends them. */
static void say_all(const struct advice *a, const char *const *lines)
{
	for (; *lines; lines++)
		if (**lines == '\t')
			fprintf(a->to->f, "      %s\n", FOR_DEVICE(a->m, *lines + 1));
		else
			say(a, *lines);
}

/* The flags that lower the need of a server; NULL for other programs. */
static const char *server_step(const struct frag_message *m)
{
	static const char *const steps[OLLAMA + 1] = {
		[VLLM] = "shorter sequences (--max-model-len), fewer at once (--max-num-seqs), no CUDA"
			 " graphs (--enforce-eager), quantization, or more GPUs"
			 " (--tensor-parallel-size)",
		[SGLANG] = "quantization, smaller batches (--max-running-requests,"
			   " --chunked-prefill-size), or more GPUs (--tp-size)",
		[LLAMA] = "fewer layers on the GPU (-ngl, num_gpu), a smaller context (-c, num_ctx),"
			  " smaller batches (-ub), or a quantized KV cache (--cache-type-k q8_0)",
		[OLLAMA] = "a smaller model, or a smaller context (num_ctx)",
	};

	return steps[speaker_of(m)];
}

/* The flag that sets the part of the device that a server divides. */
static const char *limit_step(const struct frag_message *m)
{
	return speaker_of(m) == SGLANG ? "raise --mem-fraction-static, or need less: "
				       : "raise --gpu-memory-utilization, or need less: ";
}

static void less_memory(const struct advice *a)
{
	if (server_step(a->m))
		say(a, server_step(a->m));
	else if (speaker_of(a->m) == RMM)
		say(a, "partition the data into smaller pieces, spill to the host, or take a larger"
		    " device.");
	else
		say(a, "need less at once: a smaller batch or shorter sequences (and more steps"
		    " between updates), activation checkpointing, lower precision; or a larger"
		    " device.");
}

/* PyTorch 2.1 has this setting, at first by the older name alone; 1.10 has another. */
static const char *const old_expandable[] = {
	"1.10 to 2.0 have one setting; set this before the program starts:",
	"\texport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512", NULL,
}, *const expandable[] = {
	"let segments grow in place; set this before the program starts:",
	"\texport PYTORCH_ALLOC_CONF=expandable_segments:True",
	"where PyTorch is not of the latest, by the older name:",
	"\texport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", NULL,
}, *const xpu_expandable[] = {
	"let segments grow in place; set this before the program starts:",
	"\texport PYTORCH_ALLOC_CONF=expandable_segments:True", NULL,
}, *const npu_split[] = {
	"keep large blocks whole; set this before the program starts:",
	"\texport PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:512", NULL,
}, *const snapshot[] = {
	"only a snapshot shows the tags of live memory and the blocking blocks. PyTorch 2.1"
	" or later, before the first allocation:",
	"\ttorch.cuda.memory._record_memory_history()",
	"where the error is caught (except torch.OutOfMemoryError):",
	"\ttorch.cuda.memory._dump_snapshot(\"snapshot.pickle\")", "and then:",
	"\tfragsim explain snapshot.pickle", NULL,
}, *const tensorflow_dump[] = {
	"the allocator writes a list of its chunks to the log, right before or after this"
	" line; give all of the log to fragsim explain --message. It is not left out with:",
	"\texport TF_CPP_MIN_LOG_LEVEL=0", NULL,
}, *const processes[] = {
	"list the processes, and end those that are not required (a notebook, a process"
	" of an earlier run):",
	"\tnvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
	"each process has a CUDA context of about 0.3 to 0.6 GiB; NCCL, cuDNN, cuBLAS and"
	" CUDA graphs use memory outside the allocator.", NULL,
}, *const bfc_pieces[] = {
	"TensorFlow: let the driver place blocks; set this before it starts:",
	"\texport TF_GPU_ALLOCATOR=cuda_malloc_async",
	"JAX: let it have more of the device than the usual three quarters:",
	"\texport XLA_PYTHON_CLIENT_MEM_FRACTION=.95", NULL,
}, *const mps_limit[] = {
	"without its limit PyTorch takes more, at the system's risk:",
	"\texport PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0", NULL,
}, *const bfc_limit[] = {
	"the limit is the allocator's; JAX takes three quarters of the device by default:",
	"\texport XLA_PYTHON_CLIENT_MEM_FRACTION=.95", NULL,
};

/* Where only more than a message can tell. */
static void look_closer(const struct advice *a)
{
	if (speaker_of(a->m) == TORCH) {
		say_all(a, snapshot);
		return;
	}
	if (speaker_of(a->m) == BFC && !a->m->total.there)
		say_all(a, tensorflow_dump);
	if (recording_of(a->m))
		say(a, "record what the program allocates:");
	put_commands(a->m, "", 4, a->to->f);
}

static void over_device(const struct advice *a)
{
	const uint64_t asked = a->m->said[FRAG_SAID_ASKED].bytes;

	if (asked / ABSURD > a->m->total.bytes)
		say(a, "a request of this size is usually a mistake: check the shapes of the operation"
		    " that failed, for example an index or a broadcast.");
	else
		say(a, "no setting helps: split the operation that failed (a smaller batch,"
		    " attention in pieces, a chunked loss), or take a larger device.");
}

/* A limit that the program has set itself, and that the request may exceed, as far as digits go. */
static bool own_limit(const struct advice *a)
{
	char text[256];

	if (!a->m->over_limit)
		return false;
	snprintf(text, sizeof(text), "the program limits itself to %s, whatever the device has:"
		 " raise that where it calls", SIZE(a->m->said[FRAG_SAID_ALLOWED].bytes));
	say_all(a, (const char *const[]){
		text, "\ttorch.cuda.set_per_process_memory_fraction(1.0)", NULL });
	return true;
}

static void refused(const struct advice *a)
{
	say(a, "free memory was read after the request failed: another process or stream may have"
	    " released memory since. nvidia-smi -l 1 shows processes that start and end.");
	say(a, "the program may have its own limit (set_per_process_memory_fraction, MIG, a"
	    " container, Windows' limit for a process).");
	look_closer(a);
}

static void outside(const struct advice *a)
{
	if (speaker_of(a->m) == MPS) {
		say(a, "other users of the GPU in this program hold it: Metal, another framework.");
		less_memory(a);
	} else {
		say_all(a, processes);
	}
}

/* The setting that lets pieces join, where the allocator has one. */
static void fragmentation(const struct advice *a)
{
	switch (speaker_of(a->m)) {
	case TORCH:
		say_all(a, a->m->accelerator == FRAG_XPU ? xpu_expandable : expandable);
		break;
	case OLD_TORCH:
		say_all(a, a->m->accelerator == FRAG_NPU ? npu_split : old_expandable);
		break;
	case BFC:
		say_all(a, bfc_pieces);
		break;
	case RMM:
		say(a, "give the pool its largest size from the start: segments that were reserved"
		    " separately never merge.");
		break;
	case ASYNC:
	case MPS:
	case OTHER:
	case VLLM:
	case SGLANG:
	case LLAMA:
	case OLLAMA:
		say(a, "release cached memory before the request that fails.");
		break;
	}
	look_closer(a);
}

static void capacity(const struct advice *a)
{
	less_memory(a);
	if (speaker_of(a->m) == MPS)
		say_all(a, mps_limit);
	else if (speaker_of(a->m) == BFC && a->m->total.there)
		say_all(a, bfc_limit);
	look_closer(a);
}

/* Least is said where nothing helps. */
static void print_advice(const struct frag_message *m, const struct frag_text_style *to)
{
	const struct advice a = { .m = m, .to = to };

	if (frag_message_is_budget(m)) {
		char text[512];

		snprintf(text, sizeof(text), "%s%s.", limit_step(m), server_step(m));
		if (m->verdict == FRAG_SHORT_OUTSIDE)
			outside(&a);
		say(&a, m->verdict == FRAG_SHORT_CAPACITY ? server_step(m) : text);
		look_closer(&a);
		return;
	}
	if (m->verdict != FRAG_SHORT_OVER_DEVICE && own_limit(&a)
	    && m->verdict == FRAG_SHORT_REFUSED)
		return;
	switch (m->verdict) {
	case FRAG_SHORT_OVER_DEVICE:
		over_device(&a);
		break;
	case FRAG_SHORT_REFUSED:
		refused(&a);
		break;
	case FRAG_SHORT_OUTSIDE:
		outside(&a);
		break;
	case FRAG_SHORT_TIGHT:
		less_memory(&a);
		fragmentation(&a);
		break;
	case FRAG_SHORT_FRAGMENTATION:
		fragmentation(&a);
		break;
	case FRAG_SHORT_CAPACITY:
		capacity(&a);
		break;
	case FRAG_SHORT_UNKNOWN:
		look_closer(&a);
		break;
	}
}

#define WHOLE_MAX 3             /* groups that are all shown whole */
#define ROWS_MAX 20             /* of the table of more of them */
#define GPUS_ROOM 256
#define SENTENCE_ROOM 1024

/* "fragmentation, nearly full" */
static const char *verdict_text(enum frag_oom_verdict verdict)
{
	return verdict == FRAG_SHORT_TIGHT ? "fragmentation, nearly full"
					   : frag_oom_cause_name(frag_shortage_causes[verdict]);
}

/* "0-3, 5" */
static const char *gpus_text(uint64_t gpus, char buf[GPUS_ROOM])
{
	struct frag_words w = { .text = buf, .size = GPUS_ROOM };

	buf[0] = '\0';
	for (int i = 0; i < FRAG_MESSAGE_GPUS; i++) {
		const int first = i;

		if (!(gpus >> i & 1))
			continue;
		while (i + 1 < FRAG_MESSAGE_GPUS && gpus >> (i + 1) & 1)
			i++;
		frag_add_item(&w, ", ", i > first ? "%d-%d" : "%d", first, i);
	}
	return buf;
}

/* Those that are printed and those that follow from them, in one order whatever the wording. */
static void print_figures(const struct frag_message *m, FILE *f)
{
	const bool split = m->wording != FRAG_WORDING_ASYNC && m->wording != FRAG_WORDING_MPS;
	const char *total = wordings[m->wording].total;
	char pools[FRAG_NUMBER_ROOM + 64] = "in live blocks";
	const struct {
		const char *label;
		const struct frag_message_value *value;
		const char *note;
	} rows[] = {
		{ "requested", &m->said[FRAG_SAID_ASKED], "" },
		{ "total", &m->total, total ? total : "of the device" },
		{ "free", &m->free, m->said[FRAG_SAID_FREE].there ? "on the device"
		  : "follows from the others" },
		{ "allocated", &m->allocated, pools },
		{ "unallocated", split ? &m->unallocated : NULL,
		  "reserved by the allocator, in no live block" },
		{ "outside", &m->outside, m->accelerator == FRAG_CUDA
		  ? "CUDA context, libraries, other processes"
		  : "context, libraries, other processes" },
		{ "limit", &m->said[FRAG_SAID_ALLOWED], frag_message_is_budget(m)
		  ? "that the server divides"
		  : "that the program set itself (set_per_process_memory_fraction)" },
		{ "needed", &m->need, "within that limit" },
		{ "KV cache", m->said[FRAG_SAID_KV_FREE].negative ? NULL
		  : &m->said[FRAG_SAID_KV_FREE], "left for it" },
		{ "kept", &m->said[FRAG_SAID_NONRELEASABLE],
		  "non-releasable: unallocated, in segments with live blocks" },
		{ "processes", &m->said[FRAG_SAID_OTHERS],
		  "in use by processes that the message names" },
	};

	if (m->said[FRAG_SAID_POOLS].there)
		snprintf(pools, sizeof(pools), "in live blocks, %s of it in private pools",
			 SIZE(m->said[FRAG_SAID_POOLS].bytes));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].value && rows[i].value->there)
			fprintf(f, "  %-12s %11s%s%s\n", rows[i].label, SIZE(rows[i].value->bytes),
				*rows[i].note ? "  " : "", rows[i].note);
	if (m->chunks.count)
		frag_fprintf(f, "  %-12s %11s  of %" PRIu64 " free chunks; fragmentation index"
			     " %.1f%%\n", "largest", SIZE(m->chunks.largest), m->chunks.count,
			     100 * (1 - (double)m->chunks.largest / (double)m->chunks.bytes));
}

/* "; the message does not contain the request and the free bytes" */
static void add_missing(const struct frag_message *m, struct frag_words *w)
{
	static const struct {
		const char *name, *text;
	} texts[] = {
		{ "asked", "the request" }, { "total", "the device's size" },
		{ "free", "the free bytes" }, { "allocated", "the allocated bytes" },
		{ "reserved", "the bytes that are reserved but unallocated" },
	};
	const char *missing[FRAG_MISSING_MAX + 1];

	frag_message_missing(m, missing);
	for (int i = 0; missing[i]; i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
			if (strcmp(missing[i], texts[k].name) == 0)
				frag_add(w, "%s%s", !i ? "; the log does not contain "
					 : missing[i + 1] ? ", " : " and ", texts[k].text);
}

/* For a server that divides a part of the device. */
static void budget_sentence(const struct frag_message *m, struct frag_words *w)
{
	const struct frag_message_value *asked = &m->said[FRAG_SAID_ASKED];
	const struct frag_message_value *allowed = &m->said[FRAG_SAID_ALLOWED];
	const struct frag_message_value *left = &m->said[FRAG_SAID_KV_FREE];

	if (asked->there)
		frag_add(w, "%s of KV cache requested, %s left for it (%s short)",
			 SIZE(asked->bytes), SIZE(left->bytes),
			 SIZE(asked->bytes - (left->bytes < asked->bytes ? left->bytes : 0)));
	else
		frag_add(w, "nothing left for the KV cache");
	if (m->need.there)
		frag_add(w, ", %s needed%s", SIZE(m->need.bytes), asked->there ? "" : " without it");
	if (allowed->there)
		frag_add(w, ", %s allowed", SIZE(allowed->bytes));
	if (left->there && left->negative)
		frag_add(w, " (%s short)", SIZE(left->bytes));
	if (m->total.there)
		frag_add(w, ", %s in total", SIZE(m->total.bytes));
	add_missing(m, w);
}

/* The numbers behind the verdict. */
static void sentence(const struct frag_message *m, struct frag_words *w)
{
	const uint64_t asked = m->said[FRAG_SAID_ASKED].bytes;
	const uint64_t room = m->free.bytes + m->unallocated.bytes;
	const uint64_t apart = asked > room ? asked - room : room - asked;
	const char *free = SIZE(m->free.bytes), *all = SIZE(room);

	if (frag_message_is_budget(m)) {
		budget_sentence(m, w);
		return;
	}
	if (m->said[FRAG_SAID_ASKED].there)
		frag_add(w, "%s requested", SIZE(asked));
	else
		frag_add(w, "an OOM");
	switch (m->verdict) {
	case FRAG_SHORT_OVER_DEVICE:
		frag_add(w, ", %s in total", SIZE(m->total.bytes));
		break;
	case FRAG_SHORT_REFUSED:
		frag_add(w, ", %s free on the device (%s more)", free, SIZE(m->free.bytes - asked));
		break;
	case FRAG_SHORT_OUTSIDE:
		frag_add(w, ", %s free in total", all);
		if (asked > room)
			frag_add(w, " (%s short)", SIZE(apart));
		frag_add(w, ", %s outside the allocator", SIZE(m->outside.bytes));
		break;
	case FRAG_SHORT_CAPACITY:
		if (!m->free.there || !m->unallocated.there)
			frag_add(w, ", more than the allocated bytes leave");
		else
			frag_add(w, ", %s free in total (%s short)", all, SIZE(apart));
		break;
	case FRAG_SHORT_TIGHT:
	case FRAG_SHORT_FRAGMENTATION:
		frag_add(w, ", %s free in total, %s (%.1f%%) would remain", all, SIZE(apart),
			 100 * (double)apart / (double)m->total.bytes);
		break;
	case FRAG_SHORT_UNKNOWN:
		if (m->free.there)
			frag_add(w, ", %s free on the %s", free,
				 m->wording == FRAG_WORDING_OLLAMA ? "host" : "device");
		add_missing(m, w);
		break;
	}
}

/* Other possible verdicts, where the sizes allow several. */
static void print_possible(const struct frag_message *m, const struct frag_text_style *to)
{
	struct frag_words w = WORDS(SENTENCE_ROOM);

	for (int i = 0; i < FRAG_SHORTAGES; i++)
		if (m->possible >> i & 1 && (int)m->verdict != i)
			frag_add_item(&w, "; or: ", "%s", frag_message_is_budget(m)
				      ? frag_oom_cause_name(frag_message_cause_of(
						m, (enum frag_oom_verdict)i))
				      : verdict_text((enum frag_oom_verdict)i));
	if (m->precision)
		fprintf(to->f, "  %-12s each value is off by %s at most%s\n", "rounding",
			SIZE(m->precision), w.used ? ", so this is possible, too:"
						   : ": the verdict stays");
	frag_put_wrapped(to, m->precision ? "               " : "  possible     ", w.text);
}

static const char *setting_of(const struct frag_message *m)
{
	static const char *const settings[OTHER + 1] = {
		[TORCH] = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		[OLD_TORCH] = "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512",
		[BFC] = "TF_GPU_ALLOCATOR=cuda_malloc_async",
	};

	/* PyTorch 1.10 to 2.0 have one; before that there is no setting */
	if ((m->verdict != FRAG_SHORT_FRAGMENTATION && m->verdict != FRAG_SHORT_TIGHT)
	    || m->wording == FRAG_WORDING_CACHED)
		return NULL;
	return settings[speaker_of(m)];
}

/* What to do where no setting is known to help. */
static const char *step_of(const struct frag_message *m)
{
	static const char *const steps[FRAG_CAUSE_UNKNOWN + 1] = {
		[FRAG_CAUSE_TOO_LARGE] = "split the operation that failed, or use a larger device;"
					 " no setting helps",
		[FRAG_CAUSE_OUTSIDE] = "list other processes: nvidia-smi --query-compute-apps=pid,"
				       "process_name,used_memory --format=csv",
		[FRAG_CAUSE_LIMIT] = "raise the program's own limit:"
				     " torch.cuda.set_per_process_memory_fraction(1.0)",
		[FRAG_CAUSE_TRANSIENT] = "look for other processes that come and go, and for a"
					 " limit of the program",
	};
	const char *step = steps[frag_message_cause(m)];

	if (frag_message_cause(m) != FRAG_CAUSE_OUTSIDE
	    && frag_message_cause(m) != FRAG_CAUSE_TOO_LARGE && server_step(m))
		step = server_step(m);
	return step ? step : "reduce the peak: smaller batch, shorter sequences, activation"
			     " checkpointing, lower precision";
}

/*
 * Prints the setting that a server estimates, or the largest hundredth of the device that is free.
 * Returns false if there is none.
 */
static bool print_server_setting(const struct frag_message *m, const struct frag_text_style *to)
{
	const struct frag_message_value *tokens = &m->said[FRAG_SAID_TOKENS];
	char text[64] = "";

	if (tokens->there)
		frag_snprintf(text, sizeof(text), "--max-model-len %" PRIu64, tokens->bytes);
	else if (m->wording == FRAG_WORDING_VLLM_START && m->free.bytes > m->free.error)
		frag_snprintf(text, sizeof(text), "--gpu-memory-utilization 0.%02" PRIu64,
			      100 * (m->free.bytes - m->free.error)
			      / (m->total.bytes + m->total.error + 1));
	if (!*text || strcmp(text, "--gpu-memory-utilization 0.00") == 0)
		return false;
	fprintf(to->f, "  %-10s%s%s%s (%s)\n", "set", frag_ink(to, INK_BOLD), text,
		frag_ink(to, INK_PLAIN), tokens->there ? "vLLM's estimate"
		: "what is free; less is left for the KV cache");
	return true;
}

/* Prints the uses of memory in the log, and the memory resource of RMM. */
static void print_parts(const struct frag_message *m, const struct frag_text_style *to)
{
	struct frag_words w = WORDS(512);

	for (int i = 0; i < FRAG_MESSAGE_PARTS; i++) {
		const struct frag_message_value *part = &m->said[FRAG_SAID_PARAMETERS + i];
		const bool cache = i == FRAG_SAID_KV_CACHE - FRAG_SAID_PARAMETERS;

		if (part->there)
			frag_add_item(&w, ", ", "%s %s", cache ? "KV cache" : frag_part_name(i),
				      SIZE(part->bytes));
	}
	if (w.used && frag_message_is_budget(m) && m->outside.there)
		frag_add_item(&w, ", ", "outside PyTorch %s", SIZE(m->outside.bytes));
	if (w.used)
		frag_put_row(to, "parts", "%s", w.text);
	if (m->pool)
		frag_put_row(to, "pool", "%s: %s", m->pool,
			     strcmp(m->pool, "pool_memory_resource") == 0
			     ? "-p rmm follows its rules" : "no policy follows its rules");
}

static void print_device_row(const struct frag_message *m, const struct frag_text_style *to)
{
	/* both totals are rounded */
	const struct frag_context *context = frag_context_near(m->total.bytes, 2 * m->total.error);
	struct frag_words w = WORDS(200);

	if (!m->total.there)
		return;
	frag_add(&w, "%s total", SIZE(m->total.bytes));
	if (m->free.there)
		frag_add(&w, ", %s free", SIZE(m->free.bytes));
	if (m->outside.there)
		frag_add(&w, ", %s outside the allocator (context, other processes)",
			 SIZE(m->outside.bytes));
	if (m->outside.there && context)
		frag_add(&w, "; a context of %" PRIu32 " MiB is typical of %s", context->mib,
			 context->key);
	frag_put_row(to, "device", "%s", w.text);
}

/* Line 2 is the setting, never wrapped; each other line has one pair of numbers. */
static void print_block(const struct frag_message_group *group, const struct frag_text_style *to)
{
	const struct frag_message *m = &group->first;
	const char *setting = setting_of(m);
	const bool served = print_server_setting(m, to);
	char gpus[GPUS_ROOM];
	struct frag_words w = WORDS(GPUS_ROOM + 128);

	if (setting)
		fprintf(to->f, "  %-10s%s%s%s (not simulated)\n", "set", frag_ink(to, INK_BOLD),
			FOR_DEVICE(m, setting), frag_ink(to, INK_PLAIN));
	else
		frag_put_row(to, served ? "or" : "next", "%s%s",
			     frag_message_is_budget(m) && m->verdict != FRAG_SHORT_CAPACITY
			     && m->verdict != FRAG_SHORT_OUTSIDE ? limit_step(m) : "",
			     FOR_DEVICE(m, step_of(m)));
	print_device_row(m, to);
	print_parts(m, to);
	if (m->allocated.there && m->wording != FRAG_WORDING_VLLM_START)
		frag_put_row(to, "allocator", "%s allocated%s%s%s", SIZE(m->allocated.bytes),
			     m->unallocated.there ? ", " : "",
			     m->unallocated.there ? SIZE(m->unallocated.bytes) : "",
			     m->unallocated.there ? " reserved but unallocated" : "");
	if (m->said[FRAG_SAID_NONRELEASABLE].there)
		frag_put_row(to, "", "%s of it non-releasable: in segments with live blocks",
			     SIZE(m->said[FRAG_SAID_NONRELEASABLE].bytes));
	if (setting)
		frag_put_row(to, "or", "%s", step_of(m));
	if (m->total.there && m->allocated.bytes > m->total.bytes)
		frag_put_row(to, "paging", "more is allocated than the device has: its driver pages"
			     " to the host (Windows, \"sysmem fallback\"), slowly");
	put_commands(m, "record", 10, to->f);
	if (group->gpus)
		frag_add(&w, ", GPU %s", gpus_text(group->gpus, gpus));
	if (group->count > 1)
		frag_add(&w, ", %" PRIu64 " times", group->count);
	frag_put_row(to, "message", "line %" PRIu64 ", %s%s", m->line,
		     m->accelerator == FRAG_NPU ? "torch_npu" : frag_wordings[m->wording].text,
		     w.text);
}

/* above: the line of the message whose advice is this one's, too; 0: there is none. */
static void print_group(const struct frag_message_group *group, const struct frag_text_style *to,
			uint64_t above, bool verbose)
{
	const struct frag_message *m = &group->first;
	const bool mild = m->verdict == FRAG_SHORT_FRAGMENTATION
			  || m->verdict == FRAG_SHORT_REFUSED;
	struct frag_words w = WORDS(SENTENCE_ROOM + 128);

	frag_add(&w, "%s%s%s: ", frag_ink(to, mild ? INK_YELLOW : INK_RED),
		 frag_message_cause(m) == FRAG_CAUSE_LIMIT ? "limit" : verdict_text(m->verdict),
		 frag_ink(to, INK_PLAIN));
	sentence(m, &w);
	frag_put_wrapped(to, "", w.text);
	print_block(group, to);
	if (!verbose)
		return;
	putc('\n', to->f);
	print_figures(m, to->f);
	print_possible(m, to);
	if (above)
		fprintf(to->f, "  - what to do: as of line %" PRIu64 "\n", above);
	else
		print_advice(m, to);
}

static void message_text_print_table(const struct frag_message_groups *groups, FILE *f)
{
	const uint32_t rows = groups->count < ROWS_MAX ? groups->count : ROWS_MAX;
	char gpus[GPUS_ROOM];

	fprintf(f, "%7s %9s %11s %11s  %-14s %s\n", "times", "line", "requested", "free", "verdict",
		"GPU");
	for (uint32_t i = 0; i < rows; i++) {
		const struct frag_message_group *group = &groups->groups[i];
		const struct frag_message *m = &group->first;

		fprintf(f, "%7" PRIu64 " %9" PRIu64 " %11s %11s  %-14s %s\n", group->count, m->line,
			m->said[FRAG_SAID_ASKED].there ? SIZE(m->said[FRAG_SAID_ASKED].bytes) : "-",
			m->free.there ? SIZE(m->free.bytes) : "-",
			frag_oom_cause_name(frag_message_cause(m)),
			group->gpus ? gpus_text(group->gpus, gpus) : "-");
	}
	if (groups->count > rows)
		fprintf(f, "  and %" PRIu32 " others\n", groups->count - rows);
	if (groups->others)
		fprintf(f, "  and %" PRIu64 " messages more, each with other values\n",
			groups->others);
}

/* All of a few; of more a table, and the first of each verdict. */
void frag_report_messages(const struct frag_message_groups *groups,
			  const struct frag_text_style *style, bool verbose, FILE *f)
{
	const struct frag_text_style to = {
		.f = f, .colour = style->colour, .columns = style->columns,
	};
	uint64_t shown[FRAG_CAUSE_UNKNOWN + 1][2] = { { 0 } };     /* lines; 0: none yet */

	if (groups->messages > 1)
		fprintf(f, "%" PRIu64 " messages, %s%" PRIu32 " different\n", groups->messages,
			groups->others ? "more than " : "", groups->count);
	if (groups->count > 1)
		message_text_print_table(groups, f);
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct frag_message *m = &groups->groups[i].first;
		uint64_t *above = &shown[frag_message_cause(m)][m->verdict == FRAG_SHORT_TIGHT];

		if (groups->count > WHOLE_MAX && *above)
			continue;
		if (groups->messages > 1)
			putc('\n', f);
		print_group(&groups->groups[i], &to, *above, verbose);
		if (!*above)
			*above = m->line;
	}
}
