/* message_answer.c - the verdict on pasted out-of-memory messages, for people. */
#include "answers/message_answer.h"

#include "answers/account_answer.h"
#include "answers/answers.h"
#include "device/known_cards.h"
#include "messages/advice.h"
#include "messages/message.h"
#include "messages/speakers.h"

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
	"export TF_GPU_ALLOCATOR=cuda_malloc_async JAX_PJRT_CLIENT_CREATE_OPTIONS=allocator:platform\n"
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
static const char record_torch_driver[] = RECORD "python train.py, for PyTorch and vLLM with --torch";
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
	[FRAG_WORDING_COMFYUI] = { ASYNC, record_torch, NULL },
	[FRAG_WORDING_NCCL] = { OTHER, record_torch_driver, NULL },
	[FRAG_WORDING_VMM] = { OTHER, record_torch_driver, NULL },
	[FRAG_WORDING_CUBLAS] = { OTHER, record_torch_driver, NULL },
	[FRAG_WORDING_CUDNN] = { OTHER, record_torch_driver, NULL },
	[FRAG_WORDING_DRIVER] = { OTHER, record_torch_driver, NULL },
	[FRAG_WORDING_TF_POOL] = { OTHER, record_bfc, NULL },
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
	if (speaker_of(m) == VLLM && (m->shortage == FRAG_SHORT_UNKNOWN || (m->wording == FRAG_WORDING_VLLM_CACHE
								       && !m->need.there)))
		return record_vllm_log;
	if (m->shortage == FRAG_SHORT_UNKNOWN && speaker_of(m) == LLAMA)
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

#define GPUS_ROOM 256
#define SENTENCE_ROOM 1024

/* "fragmentation, nearly full" */
static const char *verdict_text(enum frag_shortage shortage)
{
	return shortage == FRAG_SHORT_TIGHT ? "fragmentation, nearly full"
					   : frag_oom_verdict_name(frag_shortage_verdicts[shortage]);
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
				frag_add(w, "%s%s", !i ? "; not read: "
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

/* Of programs whose words decide. */
static void means_sentence(const struct frag_message *m, struct frag_words *w)
{
	const struct frag_message_value *asked = &m->said[FRAG_SAID_ASKED];
	const struct frag_message_value *allowed = &m->said[FRAG_SAID_ALLOWED];

	if (asked->there)
		frag_add(w, "%s (%" PRIu64 " bytes) requested", SIZE(asked->bytes), asked->bytes);
	if (asked->there && allowed->there)
		frag_add(w, ", %s (%" PRIu64 " bytes) at most", SIZE(allowed->bytes), allowed->bytes);
	if (asked->there && allowed->there && asked->bytes > allowed->bytes)
		frag_add(w, " (%s short)", SIZE(asked->bytes - allowed->bytes));
	if (m->said[FRAG_SAID_FREE].there)
		frag_add(w, ", %s free", SIZE(m->said[FRAG_SAID_FREE].bytes));
	if (!asked->there && m->said[FRAG_SAID_ALLOCATED].there && m->total.there)
		frag_add(w, "%s of %s in use: ", SIZE(m->said[FRAG_SAID_ALLOCATED].bytes), SIZE(m->total.bytes));
	frag_add(w, "%s%s", asked->there ? ": " : "", frag_speakers[m->huge ? FRAG_WORDING_OVERFLOW : m->wording].means);
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
	if (frag_speakers[m->wording].means || m->huge) {
		means_sentence(m, w);
		return;
	}
	if (m->wording == FRAG_WORDING_VLLM_TOKENS) {
		frag_add(w, "%" PRIu64 " tokens of the longest sequence, and the KV cache holds %" PRIu64,
			 m->said[FRAG_SAID_WANTED].bytes, m->said[FRAG_SAID_TOKENS].bytes);
		if (m->said[FRAG_SAID_KV_FREE].there)
			frag_add(w, " in %s", SIZE(m->said[FRAG_SAID_KV_FREE].bytes));
		return;
	}
	if (m->said[FRAG_SAID_ASKED].there)
		frag_add(w, "%s requested", SIZE(asked));
	else
		frag_add(w, "an OOM");
	switch (m->shortage) {
	case FRAG_SHORT_OVER_DEVICE:
		frag_add(w, ", %s in total", SIZE(m->total.bytes));
		break;
	case FRAG_SHORT_REFUSED:
		frag_add(w, ", refused with %s free on the device (%s more)", free,
			 SIZE(m->free.bytes - asked));
		if (m->unallocated.there && m->wording <= FRAG_WORDING_SENTENCES)
			frag_add(w, "; this is not fragmentation: %s %s unallocated",
				 SIZE(m->unallocated.bytes), m->unallocated.bytes ? "are" : "is");
		else
			frag_add(w, "; this is not fragmentation");
		break;
	case FRAG_SHORT_OUTSIDE:
		frag_add(w, ", %s free in total", all);
		if (asked > room)
			frag_add(w, " (%s short)", SIZE(apart));
		frag_add(w, ", %s outside the allocator", SIZE(m->outside.bytes));
		break;
	case FRAG_SHORT_CAPACITY:
		if (m->wording == FRAG_WORDING_TENSORRT && !m->said[FRAG_SAID_ASKED].there)
			frag_add(w, ", %s of %s were left for the KV cache",
				 SIZE(m->said[FRAG_SAID_FREE].bytes), SIZE(m->total.bytes));
		else if (m->free.there && !m->unallocated.there)
			frag_add(w, ", %s free", free);
		else if (!m->free.there)
			frag_add(w, ", more than the allocated bytes leave");
		else
			frag_add(w, ", %s free in total (%s short)", all, SIZE(apart));
		break;
	case FRAG_SHORT_TIGHT:
	case FRAG_SHORT_FRAGMENTATION:
		if (m->said[FRAG_SAID_CONTIGUOUS].there) {
			frag_add(w, ", %s free, largest contiguous part %s", free,
				 SIZE(m->said[FRAG_SAID_CONTIGUOUS].bytes));
			break;
		}
		frag_add(w, ", %s free in total, %s (%.1f%%) would remain", all, SIZE(apart),
			 100 * (double)apart / (double)m->total.bytes);
		if (m->shortage == FRAG_SHORT_TIGHT)
			frag_add(w, "; perhaps capacity, which only a snapshot decides");
		break;
	case FRAG_SHORT_UNKNOWN:
		if (m->free.there)
			frag_add(w, ", %s free on the %s", free,
				 m->wording == FRAG_WORDING_OLLAMA ? "host" : "device");
		add_missing(m, w);
		break;
	case FRAG_SHORT_CONTRADICTION:
		frag_add(w, "; the values contradict each other: %s in total, %s free, %s allocated",
			 SIZE(m->total.bytes), SIZE(m->said[FRAG_SAID_FREE].there ? m->free.bytes : 0),
			 SIZE(m->allocated.bytes));
		if (m->said[FRAG_SAID_OUTSIDE].there)
			frag_add(w, ", %s by others", SIZE(m->outside.bytes));
		break;
	case FRAG_SHORT_LIMIT:
		if (m->said[FRAG_SAID_ALLOWED].there)
			frag_add(w, ", this process may use %s", SIZE(m->said[FRAG_SAID_ALLOWED].bytes));
		if (m->reserved.there)
			frag_add(w, " and has reserved %s", SIZE(m->reserved.bytes));
		if (m->free.there)
			frag_add(w, "; %s free on the device", free);
		break;
	case FRAG_SHORT_NOT_DEVICE_MEMORY:
	case FRAG_SHORT_VERDICTS:
		break;
	}
}

/* Other possible verdicts, where the sizes allow several. */
static void print_possible(const struct frag_message *m, const struct frag_text_style *to)
{
	struct frag_words w = WORDS(SENTENCE_ROOM);

	for (int i = 0; i < FRAG_SHORTAGES; i++)
		if (m->possible >> i & 1 && (int)m->shortage != i)
			frag_add_item(&w, "; or: ", "%s", verdict_text((enum frag_shortage)i));
	if (m->precision)
		fprintf(to->f, "  %-12s each value is off by %s at most%s\n", "rounding",
			SIZE(m->precision), w.used ? ", so this is possible, too:"
						   : ": the verdict stays");
	frag_put_wrapped(to, m->precision ? "               " : "  possible     ", w.text);
}

/* Prints the uses of memory in the log, and the memory resource of RMM. */
static void print_parts(const struct frag_message *m, const struct frag_text_style *to)
{
#define PART(which, name) [FRAG_SAID_##which] = (name),
	static const char *const names[] = { FRAG_MESSAGE_PARTS(PART) };
#undef PART
	struct frag_words w = WORDS(512);

	for (int i = FRAG_SAID_PARAMETERS; i < FRAG_SAID_ALL; i++)
		if (m->said[i].there)
			frag_add_item(&w, ", ", "%s %s",
				      i == FRAG_SAID_KV_CACHE ? "KV cache" : names[i],
				      SIZE(m->said[i].bytes));
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

#define SHOWN_ADVICE 3          /* rows of it without -v */

/* Line 2 is the setting, never wrapped. */
static void print_advice_rows(const struct frag_message_group *group, const struct frag_text_style *to)
{
	struct frag_advice a;
	uint32_t set = 0, shown = 0;

	while (frag_advice_at(group, set, &a) && !*a.set)
		set++;
	if (frag_advice_at(group, set, &a)) {
		fprintf(to->f, "  %-10s%s%s%s (not simulated)\n", "set", frag_ink(to, INK_BOLD), a.set,
			frag_ink(to, INK_PLAIN));
		shown++;
	}
	for (uint32_t i = 0; shown < SHOWN_ADVICE && frag_advice_at(group, i, &a); i++)
		if (i != set || strstr(a.set, "set_per_process")) {
			frag_put_row(to, shown ? "or" : "next", "%s", a.text);
			shown++;
		}
}

/* The number of them, their ranks, and the extremes. */
static void print_count_row(const struct frag_message_group *group, const struct frag_text_style *to)
{
	const uint64_t ranks = group->ranks ? group->ranks : group->gpus;
	struct frag_words w = WORDS(GPUS_ROOM + 256);
	char buf[GPUS_ROOM];

	if (group->count < 2)
		return;
	frag_add(&w, "%" PRIu64 " messages", group->count);
	if (ranks)
		frag_add(&w, ", %s %s", group->ranks ? "ranks" : "GPU", gpus_text(ranks, buf));
	if (group->most)
		frag_add(&w, ", %s to %s requested", SIZE(group->least), SIZE(group->most));
	frag_add(&w, "; the first is line %" PRIu64, group->first.line);
	if (group->first.rank != FRAG_NO_GPU)
		frag_add(&w, " (rank %" PRIu32 ")", group->first.rank);
	if (group->worst.line != group->first.line)
		frag_add(&w, ", the worst line %" PRIu64, group->worst.line);
	frag_put_row(to, "count", "%s", w.text);
}

static void print_process_row(const struct frag_message *m, const struct frag_text_style *to)
{
	if (m->said[FRAG_SAID_OTHERS].there)
		frag_put_row(to, "processes", "%s in use by processes that the message names",
			     SIZE(m->said[FRAG_SAID_OTHERS].bytes));
	for (uint32_t i = 0; i < m->process_count; i++)
		frag_put_row(to, "", "process %" PRIu64 " has %s", m->processes[i].id,
			     SIZE(m->processes[i].bytes));
	if (m->said[FRAG_SAID_POOLS].there)
		frag_put_row(to, "pools", "%s of the allocated bytes in private pools (CUDA graphs)",
			     SIZE(m->said[FRAG_SAID_POOLS].bytes));
}

/* What the text around the message says. */
static void print_around_row(const struct frag_message_group *group, const struct frag_text_style *to)
{
	const struct frag_surroundings *s = group->around;
	const struct frag_message *m = &group->first;
	struct frag_words w = WORDS(512);

	if (s->framework != FRAG_FRAMEWORK_UNKNOWN)
		frag_add_item(&w, ", ", "%s", frag_framework_names[s->framework - 1]);
	if (*s->version)
		frag_add_item(&w, ", ", "version %s", s->version);
	if (s->system != FRAG_SYSTEM_UNKNOWN)
		frag_add_item(&w, ", ", "%s", frag_system_names[s->system - 1]);
	if (m->phase)
		frag_add_item(&w, ", ", "phase %s", frag_phase_names[m->phase - 1]);
	for (uint32_t i = 0; i < s->setting_count; i++)
		frag_add_item(&w, ", ", "%s %s", s->settings[i].key, s->settings[i].value);
	if (w.used)
		frag_put_row(to, "around", "%s", w.text);
	if (s->went_on > m->line)
		frag_put_row(to, "survived", "the program caught it and went on (line %" PRIu64 ")",
			     s->went_on);
}

static void print_block(const struct frag_message_group *group, const struct frag_text_style *to)
{
	const struct frag_message *m = &group->first;
	char gpus[GPUS_ROOM];
	struct frag_words w = WORDS(GPUS_ROOM + 128);

	print_advice_rows(group, to);
	print_count_row(group, to);
	print_device_row(m, to);
	print_parts(m, to);
	if (m->allocated.there && m->wording != FRAG_WORDING_VLLM_START)
		frag_put_row(to, "allocator", "%s allocated%s%s%s", SIZE(m->allocated.bytes),
			     m->unallocated.there ? ", " : "",
			     m->unallocated.there ? SIZE(m->unallocated.bytes) : "",
			     m->unallocated.there ? " reserved but unallocated" : "");
	else if (m->reserved.there && !frag_message_is_budget(m))
		frag_put_row(to, "allocator", "%s reserved", SIZE(m->reserved.bytes));
	else if (m->said[FRAG_SAID_USED].there && !m->outside.there)
		frag_put_row(to, "used", "%s of the device, by all processes", SIZE(m->said[FRAG_SAID_USED].bytes));
	print_process_row(m, to);
	if (m->said[FRAG_SAID_NONRELEASABLE].there)
		frag_put_row(to, "", "%s of it non-releasable: in segments with live blocks",
			     SIZE(m->said[FRAG_SAID_NONRELEASABLE].bytes));
	if (m->total.there && m->allocated.bytes > m->total.bytes && m->wording <= FRAG_WORDING_SENTENCES)
		frag_put_row(to, "paging", "more is allocated than the device has: its driver pages"
			     " to the host (Windows, \"sysmem fallback\"), slowly");
	for (uint8_t i = 0; i < m->unread_count; i++)
		frag_put_row(to, i ? "" : "unread", "%s", m->unread_text[i]);
	print_around_row(group, to);
	put_commands(m, "record", 10, to->f);
	if (group->gpus)
		frag_add(&w, ", GPU %s", gpus_text(group->gpus, gpus));
	frag_put_row(to, "message", "line %" PRIu64 ", %s%s", m->line,
		     m->accelerator == FRAG_NPU ? "torch_npu" : frag_speakers[m->wording].text, w.text);
}

/* All advice, with the lines to paste. */
static void print_advice(const struct frag_message_group *group, const struct frag_text_style *to)
{
	struct frag_advice a;
	bool variable;

	for (uint32_t i = 0; frag_advice_at(group, i, &a); i++) {
		frag_put_wrapped(to, "  - ", a.text);
		/* calls and flags are no variables */
		variable = a.set[strcspn(a.set, "(")] == '\0' && *a.set != '-';
		if (*a.set)
			fprintf(to->f, "      %s%s\n", variable ? "export " : "", a.set);
	}
}

static void print_group(const struct frag_message_group *group, const struct frag_text_style *to,
			bool verbose)
{
	const struct frag_message *m = &group->first;
	const bool mild = m->shortage == FRAG_SHORT_FRAGMENTATION
			  || m->shortage == FRAG_SHORT_REFUSED;
	struct frag_words w = WORDS(SENTENCE_ROOM + 128);

	frag_add(&w, "%s%s%s: ", frag_ink(to, mild ? INK_YELLOW : INK_RED), verdict_text(m->shortage),
		 frag_ink(to, INK_PLAIN));
	sentence(m, &w);
	frag_put_wrapped(to, "", w.text);
	print_block(group, to);
	if (!verbose)
		return;
	putc('\n', to->f);
	print_figures(m, to->f);
	print_possible(m, to);
	print_advice(group, to);
}

/* One block for each program and verdict. */
void frag_report_messages(const struct frag_message_groups *groups,
			  const struct frag_text_style *style, bool verbose, FILE *f)
{
	const struct frag_text_style to = {
		.f = f, .colour = style->colour, .columns = style->columns,
	};

	if (groups->count > 1)
		fprintf(f, "%" PRIu64 " messages, %" PRIu32 " different verdicts or programs\n",
			groups->messages, groups->count);
	for (uint32_t i = 0; i < groups->count; i++) {
		if (groups->count > 1)
			putc('\n', f);
		print_group(&groups->groups[i], &to, verbose);
	}
	if (!groups->count)
		frag_report_accounts(&groups->accounts, &to);
}
