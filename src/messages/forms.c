/*
 * forms.c - how programs say what they had and what they lacked: a row for each wording, and one
 * for each line of a log whose values belong to it. Of allocators whose messages have many forms
 * the row has a function that reads around the words.
 */
#include "messages/forms.h"

#include <string.h>

#include "base/parse.h"
#include "messages/torch_message.h"

#define CORRECTED_MOST ((size_t)32 << 10)       /* bytes of a text whose words are corrected */
#define CORRECTED_WORDS 11      /* shorter ones could be other words */
#define POOL_NEAR 300           /* bytes around a message of RMM that have the file it is from */

/* The RMM memory resource that is named near `at`; NULL: none. */
static const char *rmm_pool(const struct frag_stripped_text *in, size_t at)
{
	static const struct {
		const char *file, *name;
	} pools[] = {
		{ "/pool_memory_resource", "pool_memory_resource" },
		{ "/arena_memory_resource", "arena_memory_resource" },
		{ "/detail/arena.hpp", "arena_memory_resource" },
		{ "/cuda_async_managed_memory_resource", "cuda_async_managed_memory_resource" },
		{ "/cuda_async_view_memory_resource", "cuda_async_view_memory_resource" },
		{ "/cuda_async_memory_resource", "cuda_async_memory_resource" },
		{ "/managed_memory_resource", "managed_memory_resource" },
		{ "/cuda_memory_resource", "cuda_memory_resource" },
		{ "/fixed_size_memory_resource", "fixed_size_memory_resource" },
		{ "/binning_memory_resource", "binning_memory_resource" },
		{ "/limiting_resource_adaptor", "limiting_resource_adaptor" },
		{ "/system_memory_resource", "system_memory_resource" },
	};
	const size_t from = at > POOL_NEAR ? at - POOL_NEAR : 0;
	const size_t to = in->used - at > POOL_NEAR ? at + POOL_NEAR : in->used;

	for (size_t i = from; i < to; i++)
		for (size_t k = 0; in->text[i] == '/' && k < sizeof(pools) / sizeof(*pools); k++) {
			const size_t length = strlen(pools[k].file);

			if (in->used - i >= length
			    && memcmp(in->text + i, pools[k].file, length) == 0)
				return pools[k].name;
		}
	return NULL;
}

/* The phrase begins before the anchor, and the text before the phrase is the log's prefix. */
static bool read_async(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	static const struct frag_piece pieces[] = {
		{ "outofmemory", FRAG_SAID_ALL },
		{ "Currentlyallocated:%s", FRAG_SAID_ALLOCATED },
		{ "Requested:%s", FRAG_SAID_ASKED },
		{ "Devicelimit:%s", FRAG_SAID_TOTAL },
		{ "Free(accordingtoCUDA):%s", FRAG_SAID_FREE },
		{ "PyTorchlimit(setbyuser-suppliedmemoryfraction):%s", FRAG_SAID_ALLOWED },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t begin = frag_text_before(in, at, "Allocationondevice");
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t gpu;

	if (begin != SIZE_MAX) {
		c = frag_cursor_at(in, begin);
		if (frag_match(&c, "Allocationondevice%n", NULL, &gpu) && gpu < FRAG_NO_GPU)
			m->gpu = (uint32_t)gpu;
		c.at = at;
	}
	m->wording = FRAG_WORDING_ASYNC;
	if (!frag_match(&c, "exceedallowedmemory", NULL, NULL))
		return false;
	frag_read_pieces(&c, pieces, m);
	*end = c.at;
	return m->said[FRAG_SAID_ASKED].there;
}

/* Not each is a failure: some say that the program has another way. */
static bool read_bfc(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const size_t gpu = frag_text_before(in, at, "Allocator(GPU_");
	struct frag_cursor c = frag_cursor_at(in, at), next;
	struct frag_message_value size;
	uint64_t number;

	if (!frag_match(&c, "outofmemorytryingtoallocate%s", &size, NULL) || !size.there)
		return false;
	next = c;
	if (frag_match(&next, "(roundedto%N)", NULL, &number) && number < (UINT64_C(1) << 53)) {
		size = (struct frag_message_value){ .bytes = number, .there = true };
		c = next;
	}
	*end = c.at;
	if (frag_match(&c, "withfreed_by_count=%n", NULL, &number)
	    || frag_match(&c, ".Thecallerindicates", NULL, NULL))
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->wording = FRAG_WORDING_BFC;
	if (gpu != SIZE_MAX) {
		c = frag_cursor_at(in, gpu);
		if (frag_match(&c, "Allocator(GPU_%n", NULL, &number) && number < FRAG_NO_GPU)
			m->gpu = (uint32_t)number;
	}
	return true;
}

/* "Killed process 4242 (python3) total-vm:9kB, anon-rss:8kB": who, and what it had of the host. */
static bool read_killed_process(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
				size_t *end)
{
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size = { .there = false };
	uint64_t id;

	if (!frag_match(&c, "Killedprocess%n", NULL, &id) && !frag_match(&c, "Killprocess%n", NULL, &id))
		return false;
	m->wording = FRAG_WORDING_KILLED;
	*end = c.at;
	if (frag_match(&c, "%?anon-rss:%s", &size, NULL) && size.there) {
		m->processes[0].id = id;
		m->processes[0].bytes = size.bytes;
		m->process_count = 1;
	}
	return true;
}

/* The shell's word for a process that SIGKILL ended: alone in its line, or behind a script's line. */
static bool read_killed(const struct frag_stripped_text *in, size_t at, struct frag_message *m, size_t *end)
{
	const size_t behind = at + sizeof("Killed") - 1;
	struct frag_cursor c = frag_cursor_at(in, at);
	const size_t line = frag_text_before(in, at, ":line");

	if (frag_match(&c, "Killedprocess", NULL, NULL))
		return read_killed_process(in, at, m, end);
	m->wording = FRAG_WORDING_SIGKILL;
	*end = behind;
	if ((in->begins[at] || strchr("|]>", in->text[at - 1])) && (behind == in->used || in->begins[behind]))
		return true;
	return line != SIZE_MAX && line >= c.head && at > 0 && frag_is_digit(in->text[at - 1]);
}

/* "Failed to allocate 172.000MB (usage: tensors) on ND 0:NC 0, current utilization: * total: 15.855GB". */
static bool read_neuron(const struct frag_stripped_text *in, size_t at, struct frag_message *m, size_t *end)
{
	struct frag_message_value size[2] = { { .there = false } };
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t number = FRAG_NO_GPU;

	if (!frag_match(&c, "Failedtoallocate%s(usage:%l)onND%n:%[%?total:%s", size, &number))
		return false;
	m->wording = FRAG_WORDING_NEURON;
	m->gpu = number < FRAG_NO_GPU ? (uint32_t)number : FRAG_NO_GPU;
	frag_message_note(m, FRAG_SAID_ASKED, size[0]);
	frag_message_note(m, FRAG_SAID_ALLOCATED, size[1]);
	*end = c.at;
	return size[0].there;
}

/* JAX and XLA print the size, and CuPy, in a phrase that begins alike, the size of its pool
 * too. */
static bool read_xla(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	static const char *const forms[] = {
		"Outofmemorywhiletryingtoallocate%s", "Outofmemoryallocating%s",
		"Failedtoallocaterequestfor%s", "outofmemorytoallocate%s",
	};
	static const struct frag_piece cupy[] = {
		{ "allocatedsofar:%s", FRAG_SAID_RESERVED },
		{ "total%s", FRAG_SAID_RESERVED },
		{ "limitsetto%s", FRAG_SAID_TOTAL },
		{ "limitsetto:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size = { .there = false };
	uint64_t number;

	/* the kernel's words begin alike */
	if (frag_match(&c, "Outofmemory:", NULL, NULL) && read_killed_process(in, c.at, m, end))
		return true;
	c = frag_cursor_at(in, at);
	if (read_neuron(in, at, m, end))
		return true;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms) && !size.there; i++)
		frag_match(&c, forms[i], &size, NULL);
	if (!size.there)
		return false;
	if (frag_match(&c, "(%NB)", NULL, &number) && number < (UINT64_C(1) << 53))
		size = (struct frag_message_value){ .bytes = number, .there = true };
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->wording = frag_read_pieces(&c, cupy, m) ? FRAG_WORDING_CUPY : FRAG_WORDING_XLA;
	*end = c.at;
	return true;
}

/* In its pool's message the pool is the device: current and largest size, and what was tried. */
static bool read_rmm(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const bool pool = frag_text_ends_with(in, at, "poolsizeexceeded(");
	struct frag_cursor c = frag_cursor_at(in, at), whole = c;
	struct frag_message_value size;

	/* TensorFlow's pool */
	m->named = frag_match(&whole, "failedtoallocate%d%l(%s)fromdevice:hipError", &size, NULL);
	if (m->named)
		m->accelerator = FRAG_HIP;
	if (m->named || frag_match(&whole, "failedtoallocate%d%l(%s)fromdevice:CUDA_ERROR_OUT_OF_MEMORY", &size, NULL)) {
		frag_message_note(m, FRAG_SAID_ASKED, size);
		m->wording = FRAG_WORDING_TF_POOL;
		*end = whole.at;
		return true;
	}
	if ((!pool && !frag_text_ends_with(in, at, "CUDAerror("))
	    || !frag_match(&c, "failedtoallocate%s)", &size, NULL) || !size.there)
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->pool = rmm_pool(in, c.at);
	m->wording = pool ? FRAG_WORDING_RMM_POOL : FRAG_WORDING_RMM;
	*end = c.at;
	frag_match(&c, "%~", NULL, NULL);
	if (frag_match(&c, "Notenoughroomtogrow,", NULL, NULL))
		frag_match(&c, "%~", NULL, NULL);
	if (pool && frag_match(&c, "current/max/trysize=%s,", &size, NULL)) {
		frag_message_note(m, FRAG_SAID_RESERVED, size);
		if (frag_match(&c, "%s", &size, NULL))
			frag_message_note(m, FRAG_SAID_TOTAL, size);
		*end = c.at;
	}
	return true;
}

#define FORM(...) .said = { __VA_ARGS__ }, .sizes = sizeof((uint8_t[]){ __VA_ARGS__ })
#define ASKED FRAG_SAID_ASKED
#define TOTAL FRAG_SAID_TOTAL
#define FREE FRAG_SAID_FREE
#define ALLOCATED FRAG_SAID_ALLOCATED
#define RESERVED FRAG_SAID_RESERVED
#define OUTSIDE FRAG_SAID_OUTSIDE
#define ALLOWED FRAG_SAID_ALLOWED
#define NONRELEASABLE FRAG_SAID_NONRELEASABLE
#define KV_FREE FRAG_SAID_KV_FREE
#define PARAMETERS FRAG_SAID_PARAMETERS
#define ACTIVATIONS FRAG_SAID_ACTIVATIONS
#define TEMPORARIES FRAG_SAID_TEMPORARIES

/* Each text that a row was made from is in tests/commands/explain_messages/servers.py, with its public thread. */
const struct frag_form frag_forms[] = {
	{ "Triedtoallocate", .read = frag_read_torch },
	{ "Allocatortriedtoallocate", .read = frag_read_torch },
	{ "outofmemory.", .read = frag_read_torch_head, .bare = true },
	{ "exceedallowedmemory", .read = read_async },
	{ "outofmemorytryingtoallocate", .read = read_bfc },
	{ "Outofmemory", .read = read_xla, .bare = true },
	{ "outofmemorytoallocate", .read = read_xla },
	{ "Failedtoallocate", .read = read_xla },
	{ "failedtoallocate", .read = read_rmm },
	{ "Killed", .read = read_killed },

	/* vLLM */
	{ "Freememoryondevice", NULL, "(%h/%s)onstartupislessthandesiredGPUmemoryutilization(%d,%s)",
	  FRAG_WORDING_VLLM_START, FRAG_FORM_FAILS, FORM(FREE, TOTAL, ASKED) },
	{ "Freememoryondevice", NULL,
	  "%l:%n(%h/%s)onstartupislessthandesiredGPUmemoryutilization(%d,%s)",
	  FRAG_WORDING_VLLM_START, FRAG_FORM_FAILS, FORM(FREE, TOTAL, ASKED) },
	{ "Noavailablememoryforthecacheblocks", NULL, "", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Toserveatleastonerequestwiththemodel", NULL,
	  "%os'smaxseqlen(%d),%o(%sKVcacheisneeded,whichislargerthantheavailableKVcachememory(%s)"
	  "%[.Basedontheavailablememory,theestimatedmaximummodellengthis%b",
	  FRAG_WORDING_VLLM_LENGTH, FRAG_FORM_FAILS, FORM(ASKED, KV_FREE, FRAG_SAID_TOKENS) },
	{ "Toserveatleastonerequestwiththemodel", NULL, "", FRAG_WORDING_VLLM_LENGTH, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "thecurrentvLLMinstancecanuse", NULL,
	  "total_gpu_memory(%s)xgpu_memory_utilization(%d)=%s", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(TOTAL, ALLOWED), .starts = true },
	{ "modelweightstake", NULL,
	  "%s;non_torch_memorytakes%s;PyTorchactivationpeakmemorytakes%s;"
	  "therestofthememoryreservedforKVCacheis%z", FRAG_WORDING_VLLM_CACHE, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS, OUTSIDE, ACTIVATIONS, KV_FREE) },
	{ "Modelloadingtook", NULL, "%s", FRAG_WORDING_VLLM_CACHE, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS), .starts = true },
	{ "Initialfreememory:", NULL, "%s;Requestedmemory:%d(util),%s", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(FREE, ALLOWED) },
	{ "torchpeakmemoryincrease:", NULL,
	  "%s;non-torchforwardincreasememory:%s;weightsmemory:%s", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(ACTIVATIONS, OUTSIDE, PARAMETERS) },
	{ "EstimatedCUDAgraphmemory:", NULL, "%stotal", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(FRAG_SAID_GRAPHS) },
	{ "AvailableKVcachememory:", NULL, "%z", FRAG_WORDING_VLLM_CACHE, FRAG_FORM_BEFORE,
	  FORM(KV_FREE) },

	/* SGLang: its GB are GiB */
	{ "Notenoughmemory.Pleasetrytoincrease--mem-fraction-static", NULL, "",
	  FRAG_WORDING_SGLANG, FRAG_FORM_FAILS, .sizes = 0 },
	{ "Loadweightbegin.", NULL, "availmem=%s", FRAG_WORDING_SGLANG, FRAG_FORM_BEFORE,
	  FORM(TOTAL), .starts = true },
	{ "Loadweightend.", NULL, "%?availmem=%s,memusage=%s", FRAG_WORDING_SGLANG,
	  FRAG_FORM_BEFORE, FORM(FREE, PARAMETERS) },

	/* llama.cpp, and Ollama, which runs it */
	{ "buffer_type_alloc_buffer:allocating", NULL,
	  "%sondevice%n:cudaMallocfailed:outofmemory", FRAG_WORDING_LLAMA, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "bufferofsize", "failedtoallocate", "%b", FRAG_WORDING_LLAMA, FRAG_FORM_FAILS,
	  FORM(ASKED), .device = true },
	{ "usingdevice", NULL, "%w%?)-%sfree", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE, FORM(TOTAL),
	  .starts = true },
	{ "memory.available=\"[", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE, FORM(TOTAL),
	  .starts = true, .list = true },
	{ "modelbuffersize=", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE, FORM(PARAMETERS),
	  .device = true, .starts = true },
	{ "KVbuffersize=", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE,
	  FORM(FRAG_SAID_KV_CACHE), .device = true, .adds = true },
	{ "computebuffersize=", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE,
	  FORM(TEMPORARIES), .device = true },
	{ "\"modelweights\"buffer=", NULL, "%wsize=\"%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS) },
	{ "\"computegraph\"backend=", NULL, "%wbuffer_type=%wsize=\"%s", FRAG_WORDING_LLAMA,
	  FRAG_FORM_BEFORE, FORM(TEMPORARIES) },
	{ "modelrequiresmoresystemmemory(", NULL, "%s)thanisavailable(%s)", FRAG_WORDING_OLLAMA,
	  FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "\"systemmemory\"total=\"", NULL, "%s", FRAG_WORDING_OLLAMA, FRAG_FORM_BEFORE,
	  FORM(TOTAL), .starts = true },

	/* ONNX Runtime */
	{ "requestedbufferofsize", "Failedtoallocatememoryfor", "%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "requestedbufferofsize", "Failedtoallocate", "%b", FRAG_WORDING_ONNX, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "Availablememoryof", NULL, "%bissmallerthanrequestedbytesof%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_FAILS, FORM(FREE, ASKED) },
	{ "CreatingBFCArenaforCuda", NULL, "%?memorylimit:%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_BEFORE, FORM(TOTAL), .starts = true },

	/* Paddle */
	{ "Cannotallocate", "OutofmemoryerroronGPU",
	  "%smemoryonGPU%n,%smemoryhasbeenallocatedandavailablememoryisonly%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FRAG_SAID_USED, FREE) },
	{ "Cannotallocate", "OutofmemoryerroronGPU", "%smemoryonGPU%n,availablememoryisonly%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Cannotallocate", "OutofmemoryerroronGPU", "%sGPUmemory,availablememoryis%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Cannotallocate", "[Errno12]", "memory", FRAG_WORDING_HOST, FRAG_FORM_FAILS, .sizes = 0 },
	{ "Cannotallocate", "fork", "memory", FRAG_WORDING_HOST, FRAG_FORM_FAILS, .sizes = 0 },
	{ "Cannotallocate", "unabletommap", "memory", FRAG_WORDING_HOST, FRAG_FORM_FAILS, .sizes = 0 },

	/* TensorFlow, and JAX behind the message */
	{ "OOMwhenallocatingtensorwithshape", NULL, "%ejob:localhost/replica:0/task:0/device%~CPU",
	  FRAG_WORDING_CPU, FRAG_FORM_FAILS, FORM(ASKED), .bare = true },
	{ "OOMwhenallocatingtensorwithshape", NULL, "%e%[%?GPU:%n", FRAG_WORDING_TENSOR,
	  FRAG_FORM_FAILS, FORM(ASKED), .bare = true },
	{ "cuMemAllocAsyncfailedtoallocate", NULL,
	  "%s%[%?Freememory/Totalmemory:%b/%b%[%?Stats:Limit:%bInUse:%b", FRAG_WORDING_TF_ASYNC,
	  FRAG_FORM_FAILS, FORM(ASKED, FREE, TOTAL, ALLOWED, ALLOCATED) },
	{ "parameterallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER, FORM(PARAMETERS) },
	{ "constantallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_CONSTANTS) },
	{ "maybe_live_outallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_OUTPUTS) },
	{ "preallocatedtempallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(TEMPORARIES) },
	{ "totalallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_PROGRAM) },

	/* CUDA.jl */
	{ "OutofGPUmemorytryingtoallocate", NULL,
	  "%sEffectiveGPUmemoryusage:%d%%(%s/%s)Memorypoolusage:%s(%sreserved)",
	  FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS,
	  FORM(ASKED, FRAG_SAID_USED, TOTAL, ALLOCATED, RESERVED) },
	{ "OutofGPUmemorytryingtoallocate", NULL,
	  "%sEffectiveGPUmemoryusage:%d%%(%s/%s)CUDAallocatorusage:%s(cappedat%s)"
	  "%?(%sallocated,%scached)", FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS,
	  FORM(ASKED, FRAG_SAID_USED, TOTAL, RESERVED, ALLOWED, ALLOCATED) },
	{ "OutofGPUmemorytryingtoallocate", NULL,
	  "%sEffectiveGPUmemoryusage:%d%%(%s/%s)CUDAallocatorusage:%s%?(%sallocated,%scached)",
	  FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS,
	  FORM(ASKED, FRAG_SAID_USED, TOTAL, RESERVED, ALLOCATED) },
	{ "OutofGPUmemorytryingtoallocate", NULL, "%s%[EffectiveGPUmemoryusage:%d%%(%s/%s)",
	  FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS, FORM(ASKED, FRAG_SAID_USED, TOTAL) },

	/* TensorRT and TensorRT-LLM */
	{ "RequestedamountofGPUmemory(", NULL, "%s)couldnotbeallocated", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Requestedamountofmemory(", NULL, "%s)couldnotbeallocated", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Executorcreationfailed", NULL,
	  "duetoinsufficientGPUmemory%[%?TotalGPUmemory(GiB):%hFreeGPUmemorybeforecomponentcreationattempt(GiB):%h",
	  FRAG_WORDING_TENSORRT, FRAG_FORM_FAILS, FORM(TOTAL, FREE) },
	{ "CUDAruntimeerrorin", NULL, "%?outof", FRAG_WORDING_TENSORRT, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "Loadedenginesize:", NULL, "%s", FRAG_WORDING_TENSORRT, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS), .starts = true },
	{ "[MemUsageChange]Allocated", NULL, "%sforexecutioncontextmemory", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_BEFORE, FORM(TEMPORARIES) },
	{ "[MemUsageChange]Allocated", NULL, "%sformaxtokensinpagedKVcache", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_BEFORE, FORM(FRAG_SAID_KV_CACHE) },
	{ "Memoryusagewhencalculatingmaxtokensinpagedkvcache:", NULL, "total:%s,available:%s",
	  FRAG_WORDING_TENSORRT, FRAG_FORM_BEFORE, FORM(TOTAL, FREE) },

	/* messages with a request at most */
	{ "Allocationondevice", NULL, "%[%n", FRAG_WORDING_COMFYUI, FRAG_FORM_FAILS, .sizes = 0 },
	{ "NVML_SUCCESS==r", NULL, "%?ASSERTFAILED", FRAG_WORDING_NVML, FRAG_FORM_FAILS, .sizes = 0 },
	{ "NVML_SUCCESS==r", NULL, "INTERNAL", FRAG_WORDING_NVML, FRAG_FORM_FAILS, .sizes = 0 },
	{ "FailedtoCUDAhost", NULL, "%l%s", FRAG_WORDING_PINNED, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "FailedtoCUDA", NULL, "%l%s", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, FORM(ASKED) },     /* calloc, callocasync, malloc */
	{ "NCCLWARN", NULL, "Cudafailure%?outof", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, .sizes = 0 },
	{ "NCCLWARN", NULL, "Cudafailure2", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAError:outofmemoryat", NULL, "%?cumem_allocator", FRAG_WORDING_VMM, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "CUDAError:outofmemoryat", "wake_up", "", FRAG_WORDING_VMM, FRAG_FORM_FAILS, .sizes = 0 },
	{ "cuMemCreate", NULL, "%~CUDA_ERROR_OUT_OF_MEMORY%!(", FRAG_WORDING_VMM, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "cudaErrorerror:2(outofmemory)", NULL, "%?func=resume", FRAG_WORDING_VMM, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "CUBLAS_STATUS_ALLOC_FAILED", NULL, "", FRAG_WORDING_CUBLAS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUSOLVER_STATUS_ALLOC_FAILED", NULL, "", FRAG_WORDING_CUBLAS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDNN_STATUS_ALLOC_FAILED", NULL, "", FRAG_WORDING_CUDNN, FRAG_FORM_FAILS, .sizes = 0 },
	{ "UnabletofindavalidcuDNNalgorithm", NULL, "", FRAG_WORDING_CUDNN, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "FINDwasunabletofindanengine", NULL, "", FRAG_WORDING_CUDNN, FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofresource:sharedmemory", NULL, "%~Required:%b%~Hardwarelimit:%b", FRAG_WORDING_SHARED,
	  FRAG_FORM_FAILS, FORM(ASKED, ALLOWED) },
	{ "outofresource:sharedmemory", NULL, "%~Required:%b%~Hardwarelimitation:%b", FRAG_WORDING_SHARED,
	  FRAG_FORM_FAILS, FORM(ASKED, ALLOWED) },
	{ "outofresource:sharedmemory", NULL, "", FRAG_WORDING_SHARED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "_host_malloc:failedtoallocate", NULL, "%sofpinnedmemory", FRAG_WORDING_PINNED,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "CUDAerror:outofmemorywhilepinning", NULL, "", FRAG_WORDING_PINNED, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "DefaultCPUAllocator:", NULL, "%?triedtoallocate%s", FRAG_WORDING_CPU, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "DefaultCPUAllocator:", NULL, "", FRAG_WORDING_CPU, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "_ArrayMemoryError:Unabletoallocate", NULL, "%s", FRAG_WORDING_CPU, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "MemoryError:Unabletoallocate", NULL, "%s", FRAG_WORDING_CPU, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Memorycgroupoutofmemory", NULL, "", FRAG_WORDING_KILLED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "oom-kill:", NULL, "", FRAG_WORDING_KILLED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "OOMKilled", NULL, "", FRAG_WORDING_KILLED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "alloc_token_slots", NULL, "%?outof", FRAG_WORDING_SLOTS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "alloc_req_slots", NULL, "%?outof", FRAG_WORDING_SLOTS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofmemory.PleasesetasmallernumberforprefillchunkPrefill", NULL, "", FRAG_WORDING_SLOTS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Attemptingtoallocate", "RESOURCE_EXHAUSTED", "%s.Thatwasnotpossible.Thereare%sfree",
	  FRAG_WORDING_TPU, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Attemptingtoallocate", NULL, "%s.Thatwasnotpossible.Thereare%sfree", FRAG_WORDING_TPU,
	  FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Attemptingtoallocate", NULL, "%s.Thatwasnotpossible", FRAG_WORDING_TPU, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "Attemptingtoreserve", "RESOURCE_EXHAUSTED", "%satthebottomofmemory%?Thereare%sfree",
	  FRAG_WORDING_TPU, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Attemptingtoreserve", NULL, "%satthebottomofmemory", FRAG_WORDING_TPU, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "Largestcontiguousregionoffreememory:", NULL, "%s", FRAG_WORDING_TPU, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_CONTIGUOUS) },
	{ "[metal::malloc]Attemptingtoallocate", NULL, "%s%?maximumallowedbuffersizeof%s",
	  FRAG_WORDING_MLX, FRAG_FORM_FAILS, FORM(ASKED, ALLOWED) },
	{ "[metal::malloc]Attemptingtoallocate", NULL, "%s", FRAG_WORDING_METAL, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "[metal::malloc]Attemptingtoallocate", NULL, "", FRAG_WORDING_METAL, FRAG_FORM_FAILS, .sizes = 0 },
	{ "]Unabletoallocate", "malloc", "%s", FRAG_WORDING_METAL, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "UR_RESULT_ERROR_OUT_OF_", NULL, "", FRAG_WORDING_LEVEL_ZERO, FRAG_FORM_FAILS, .sizes = 0 },
	{ "maxseqlen(", NULL, "%b)islargerthanthemaximumnumberoftokensthatcanbestoredinKVcache(%b)",
	  FRAG_WORDING_VLLM_TOKENS, FRAG_FORM_FAILS, FORM(FRAG_SAID_WANTED, FRAG_SAID_TOKENS) },
	{ "islargerthanthemaximumnumberoftokensthatcanbestoredinKVcache", NULL, "(%b)",
	  FRAG_WORDING_VLLM_TOKENS, FRAG_FORM_FAILS, FORM(FRAG_SAID_TOKENS) },
	{ "Memoryprofilingresults:", NULL, "total_gpu_memory=%sinitial_memory_usage=%speak_torch_memory"
	  "=%smemory_usage_post_profile=%snon_torch_memory=%skv_cache_size=%s", FRAG_WORDING_VLLM_TOKENS,
	  FRAG_FORM_BEFORE, FORM(TOTAL, FRAG_SAID_ALL, ACTIVATIONS, FRAG_SAID_ALL, OUTSIDE, KV_FREE),
	  .starts = true },
	{ "nrt_tensor_allocate", NULL, "%?fail", FRAG_WORDING_NEURON, FRAG_FORM_FAILS, .sizes = 0 },
	{ "status=4message=\"AllocationFailure", "nrt_", "", FRAG_WORDING_NEURON, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "FailedtoallocDEVICEmemory:", NULL, "%b", FRAG_WORDING_NEURON, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "HIPerror:outofmemory", NULL, "", FRAG_WORDING_HIP, FRAG_FORM_FAILS, .sizes = 0 },
	{ "hipErrorOutOfMemory", NULL, "", FRAG_WORDING_HIP, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAerror:outofmemory", NULL, "", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAerror:anerroroccurred:outofmemory", NULL, "", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "CUDA_ERROR_OUT_OF_MEMORY", NULL, "%!(", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS, .sizes = 0 },
	{ "cudaErrorMemoryAllocation", "memory_resource", "", FRAG_WORDING_RMM, FRAG_FORM_FAILS, .sizes = 0 },
	{ "cudaErrorMemoryAllocation", NULL, "", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS, .sizes = 0 },

	/* the host: processes, their heaps, and what ends them */
	{ "insufficientsharedmemory(shm)", NULL, "", FRAG_WORDING_SHM,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Errorwhilecreatingsharedmemorysegment", NULL, "", FRAG_WORDING_SHM,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "unabletoallocatesharedmemory", NULL, "", FRAG_WORDING_SHM,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "unabletowritetofile</torch", NULL, "", FRAG_WORDING_SHM,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "/dev/shm", NULL, "%?Nospaceleft", FRAG_WORDING_SHM,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "DataLoaderworker", NULL, "%?killedbysignal:Killed", FRAG_WORDING_KILLED,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "oom_kill", NULL, "event", FRAG_WORDING_KILLED,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "OOM-killed", NULL, "", FRAG_WORDING_KILLED,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "what():std::bad_alloc", NULL, "%!:", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Javaheapspace", NULL, "", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "JavaScriptheapoutof", NULL, "", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "afterusingallavailableRAM", NULL, "", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "triedtoallocatemorememorythanisavailable", NULL, "", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Toolargeswapspace.", NULL, "%soutofthe%stotalCPUmemory",
	  FRAG_WORDING_HOST, FRAG_FORM_FAILS, FORM(ASKED, TOTAL) },
	{ "Thenodewaslowonresource:", NULL, "memory", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "killedduetomemorypressure", NULL, "", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "noderunninglowonmemory", NULL, "%?runningwas%s/%s",
	  FRAG_WORDING_HOST, FRAG_FORM_FAILS, FORM(ALLOCATED, TOTAL) },
	{ "noderunninglowonmemory", NULL, "", FRAG_WORDING_HOST,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Signal9(SIGKILL)", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Signals.SIGKILL:9", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "exitcode:-9", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "code137", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "code:137", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Code:137", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Code\":137", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "status137", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "***Error137", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "signal:killed", NULL, "", FRAG_WORDING_SIGKILL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "[WinError1455]", NULL, "", FRAG_WORDING_PAGING,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Thepagingfileistoosmall", NULL, "", FRAG_WORDING_PAGING,
	  FRAG_FORM_FAILS, .sizes = 0 },

	/* drivers of graphics, and limits of one buffer */
	{ "Invalidbuffersize:", NULL, "%s",
	  FRAG_WORDING_BUFFER, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Requestedbuffersizeexceedsdevicebuffersizelimit", NULL, "%?bufferofsize%b",
	  FRAG_WORDING_BUFFER, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "canNOTallocatememoryblockwithsizelargerthan", NULL, "%s!Triedtoallocate%s",
	  FRAG_WORDING_BUFFER, FRAG_FORM_FAILS, FORM(ALLOWED, ASKED) },
	{ "Devicememoryallocationofsize", NULL, "%bfailed%?exceedsdevicememoryallocationlimit",
	  FRAG_WORDING_BUFFER, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Devicememoryallocationofsize", NULL, "%bfailed",
	  FRAG_WORDING_GRAPHICS, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "ErrorOutOfDeviceMemory", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "VK_ERROR_OUT_OF_DEVICE_MEMORY", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "CL_MEM_OBJECT_ALLOCATION_FAILURE", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "CL_OUT_OF_RESOURCES", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "8007000E", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "E_OUTOFMEMORY", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Couldnotallocatetensorwith", NULL, "%s.%?enoughGPUvideomemory",
	  FRAG_WORDING_GRAPHICS, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "CallbackErrorOutOfMemory", NULL, "", FRAG_WORDING_METAL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Insufficientdevicememory", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Notenoughallocatabledevicememory", NULL, "", FRAG_WORDING_GRAPHICS,
	  FRAG_FORM_FAILS, .sizes = 0 },

	/* other runtimes */
	{ "memoryisn'tenoughandallocfailed", NULL, "%?allocsize:%b",
	  FRAG_WORDING_DEVICE, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Memoryallocationerroronworker", NULL, "%?Freememory:%b%~Requestedmemory:%b",
	  FRAG_WORDING_DEVICE, FRAG_FORM_FAILS, FORM(FREE, ASKED) },
	{ "Allocationfailedforsize::", NULL, "%b",
	  FRAG_WORDING_DEVICE, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "rtMalloc", NULL, "%?fail", FRAG_WORDING_DEVICE,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "NRT_RESOURCE", NULL, "", FRAG_WORDING_NEURON,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "PI_ERROR_OUT_OF_", NULL, "", FRAG_WORDING_LEVEL_ZERO,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "ZE_RESULT_ERROR_OUT_OF_", NULL, "", FRAG_WORDING_LEVEL_ZERO,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUBLAS_STATUS_NOT_INITIALIZED", NULL, "", FRAG_WORDING_CUBLAS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAfailure2:", NULL, "outof", FRAG_WORDING_ONNX,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Cudafailure", "NCCL", "%?outof", FRAG_WORDING_NCCL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "ncclUnhandledCudaError", NULL, "%?outof", FRAG_WORDING_NCCL,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "OutOfMemory(Requestedsizewas", NULL, "%b",
	  FRAG_WORDING_TENSORRT, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Ranoutofmemoryinmemoryspace", NULL, "%l.Used%sof%s%l.",
	  FRAG_WORDING_HBM, FRAG_FORM_FAILS, FORM(ASKED, ALLOWED) },
	{ "InsufficientVRAM", NULL, "formodelandcache", FRAG_WORDING_EXLLAMA,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "InsufficientVRAM", NULL, "insplitformodelandcache", FRAG_WORDING_EXLLAMA,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "InsufficientVRAM", NULL, "", FRAG_WORDING_OTHER,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "insufficientVRAM", NULL, "", FRAG_WORDING_OTHER,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Somemodulesaredispatched", NULL, "%?enoughGPURAM", FRAG_WORDING_DISPATCH,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofmemoryoccurredwhenwarmingup", NULL, "", FRAG_WORDING_WARMUP,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Prefilloutof", NULL, "memory.Trytolower", FRAG_WORDING_SLOTS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Decodeoutof", NULL, "memory.Trytolower", FRAG_WORDING_SLOTS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Notenoughmemorytohandle", NULL, "", FRAG_WORDING_SLOTS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofresource:tensormemory", NULL, "", FRAG_WORDING_SHARED,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofresource:threads", NULL, "", FRAG_WORDING_SHARED,
	  FRAG_FORM_FAILS, .sizes = 0 },

	/* RMM */
	{ "[Upstream", NULL,
	  "%s][FAILUREmaximumpoolsizeexceeded%[:Notenoughroomtogrow,current/max/trysize=%s,%s",
	  FRAG_WORDING_RMM_POOL, FRAG_FORM_FAILS, FORM(ASKED, RESERVED, TOTAL) },
	{ "Maximumpoolsizeexceeded", "RMMfailureat:", "%!(", FRAG_WORDING_RMM_POOL,
	  FRAG_FORM_FAILS, .sizes = 0 },

	/* PyTorch's own tables: summaries round down */
	{ "CUDAOOMs:", NULL, "%m|", FRAG_WORDING_SUMMARY, FRAG_FORM_FAILS, .sizes = 0 },
	{ "Allocatedmemory|", NULL, "%t|", FRAG_WORDING_SUMMARY, FRAG_FORM_AFTER, FORM(ALLOCATED) },
	{ "GPUreservedmemory|", NULL, "%t|", FRAG_WORDING_SUMMARY, FRAG_FORM_AFTER, FORM(RESERVED) },
	{ "Non-releasablememory|", NULL, "%t|", FRAG_WORDING_SUMMARY, FRAG_FORM_AFTER,
	  FORM(NONRELEASABLE) },
	{ "num_ooms", NULL, "%~%m", FRAG_WORDING_STATS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "allocated_bytes.all.current", NULL, "%~%b", FRAG_WORDING_STATS, FRAG_FORM_AROUND,
	  FORM(ALLOCATED) },
	{ "reserved_bytes.all.current", NULL, "%~%b", FRAG_WORDING_STATS, FRAG_FORM_AROUND,
	  FORM(RESERVED) },
	{ "inactive_split_bytes.all.current", NULL, "%~%b", FRAG_WORDING_STATS, FRAG_FORM_AROUND,
	  FORM(NONRELEASABLE) },
	{ .words = NULL }
};

/* The number of a device such as CUDA0 that ends before `at`; FRAG_NO_GPU: there is none. */
static uint32_t device_before(const struct frag_stripped_text *in, size_t at)
{
	uint32_t device = 0, scale = 1;
	size_t i = at;

	while (i > 0 && at - i < 3 && frag_is_digit(in->text[i - 1])) {
		device += scale * (uint32_t)(in->text[--i] - '0');
		scale *= 10;
	}
	return i < at && i > 0 && frag_is_letter(in->text[i - 1]) ? device : FRAG_NO_GPU;
}

/* "ROCm0" is of HIP, "SYCL0" of an XPU, what begins "Metal" a Mac's; others say nothing. */
static void note_accelerator(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	static const struct {
		const char *name;
		enum frag_accelerator accelerator;
	} devices[] = { { "CUDA", FRAG_CUDA }, { "ROCm", FRAG_HIP }, { "SYCL", FRAG_XPU }, { "CANN", FRAG_NPU } };

	while (at > 0 && frag_is_digit(in->text[at - 1]))
		at--;
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (frag_text_ends_with(in, at, devices[i].name)) {
			m->accelerator = devices[i].accelerator;
			m->named = true;
		}
}

static bool form_match(const struct frag_stripped_text *in, size_t at, const struct frag_form *form,
		       struct frag_message *m, size_t *end)
{
	struct frag_message_value sizes[FRAG_MATCH_SIZES] = { { .there = false } };
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t number = UINT64_MAX;

	if (form->near && frag_text_before(in, at, form->near) == SIZE_MAX)
		return false;
	if (!frag_match(&c, form->words, NULL, NULL) || !frag_match(&c, form->pattern, sizes, &number))
		return false;
	if (form->device)
		number = device_before(in, at);
	if (form->device && number == FRAG_NO_GPU)
		return false;
	if (form->device)
		note_accelerator(in, at, m);
	if (number < FRAG_NO_GPU)
		m->gpu = (uint32_t)number;
	for (int i = 0; i < form->sizes; i++)
		frag_message_note(m, form->said[i], sizes[i]);
	*end = c.at;
	return true;
}

/* Do the words stand at `text` with one letter wrong? Its index; SIZE_MAX: not so. */
static size_t wrong_letter(const char *text, const char *words)
{
	size_t wrong = SIZE_MAX;

	for (size_t i = 0; words[i]; i++) {
		if (text[i] == words[i])
			continue;
		/* in another case they are other words */
		if (wrong != SIZE_MAX || !frag_is_letter(text[i]) || !frag_is_letter(words[i])
		    || ((unsigned char)text[i] ^ (unsigned char)words[i]) == ('a' ^ 'A'))
			return SIZE_MAX;
		wrong = i;
	}
	return wrong;
}

bool frag_forms_correct(struct frag_stripped_text *in)
{
	bool any = false;

	if (in->used > CORRECTED_MOST)
		return false;
	for (const struct frag_form *form = frag_forms; form->words; form++) {
		const size_t length = strlen(form->words);

		if (length < CORRECTED_WORDS || form->role != FRAG_FORM_FAILS)
			continue;
		for (size_t at = 0; at + length <= in->used; at++) {
			const size_t wrong = wrong_letter(in->text + at, form->words);

			if (wrong == SIZE_MAX)
				continue;
			in->text[at + wrong] = form->words[wrong];
			any = true;
		}
	}
	return any;
}

const struct frag_form *frag_form_read(const struct frag_stripped_text *in, size_t at,
				       const struct frag_form *form, struct frag_message *m,
				       size_t *end)
{
	const char *words = form->words;

	if (form->read)
		return form->read(in, at, m, end) ? form : NULL;
	for (; form->words && strcmp(form->words, words) == 0; form++) {
		m->wording = form->wording;
		if (!form_match(in, at, form, m, end))
			continue;
		if (m->wording == FRAG_WORDING_RMM_POOL)
			m->pool = rmm_pool(in, at);
		return form;
	}
	return NULL;
}
