/*
 * forms.c - how programs say what they had and what they lacked: a row for each wording, and one
 * for each line of a log whose values belong to it. Of allocators whose messages have many forms
 * the row has a function that reads around the words.
 */
#include "messages/match.h"

#include <string.h>

#include "base/parse.h"

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

#define BEFORE_MOST 300         /* squeezed bytes of a message that stand before its words */

/* A part of a message: the value that it has; or none, FRAG_SAID_ALL. */
struct piece {
	const char *pattern;
	enum frag_said said;
};

/* The pieces that follow, in any order; how many they are. */
static int read_pieces(struct frag_cursor *c, const struct piece *pieces, struct frag_message *m)
{
	const struct piece *piece;
	int count = 0;

	do {
		struct frag_cursor next = *c;
		struct frag_message_value size = { .there = false };
		uint64_t number = UINT64_MAX;

		frag_match(&next, "%~", NULL, NULL);
		for (piece = pieces; piece->pattern; piece++)
			if (frag_match(&next, piece->pattern, &size, &number))
				break;
		if (!piece->pattern)
			break;
		frag_message_note(m, piece->said, size);
		if (number < FRAG_NO_GPU && m->gpu == FRAG_NO_GPU
		    && strchr(piece->pattern, '%')[1] == 'w')
			m->gpu = (uint32_t)number;
		*c = next;
		count++;
	} while (piece->pattern);
	return count;
}

static bool ends_with(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	return at >= length && memcmp(in->text + at - length, words, length) == 0;
}

/* Where the words are in the bytes before `at`; SIZE_MAX: nowhere near. */
static size_t text_before(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = at < length ? SIZE_MAX : at - length;
	     i != SIZE_MAX && at - i <= BEFORE_MOST; i--)
		if (memcmp(in->text + i, words, length) == 0)
			return i;
	return SIZE_MAX;
}

static const struct piece torch_pieces[] = {
	{ "%stotalcapacity", FRAG_SAID_TOTAL },
	{ "%salreadyallocated", FRAG_SAID_ALLOCATED },
	{ "%scurrentactive", FRAG_SAID_ALL },
	{ "%sfree", FRAG_SAID_FREE },
	{ "%scached", FRAG_SAID_CACHED },
	{ "%sallowed", FRAG_SAID_ALLOWED },
	{ "%sreservedintotal", FRAG_SAID_RESERVED },
	{ "%whasatotalcapacityof%s", FRAG_SAID_TOTAL },
	{ "%whasatotalcapactyof%s", FRAG_SAID_TOTAL },
	{ "ofwhich%sisfree", FRAG_SAID_FREE },
	{ "Includingnon-PyTorchmemory,thisprocesshas%smemoryinuse", FRAG_SAID_PROCESS },
	{ "Thisprocesshas%smemoryinuse", FRAG_SAID_PROCESS },
	{ "Process%nhas%smemoryinuse", FRAG_SAID_OTHERS },
	{ "Oftheallocatedmemory%sisallocatedbyPyTorch", FRAG_SAID_ALLOCATED },
	{ "%sisallocatedbyPyTorch", FRAG_SAID_ALLOCATED },
	{ "with%sallocatedinprivatepools", FRAG_SAID_POOLS },
	{ "e.g.,%l", FRAG_SAID_ALL },
	{ "and%sisreservedbyPyTorchbutunallocated", FRAG_SAID_UNALLOCATED },
	{ "%w;", FRAG_SAID_ALL },
	{ NULL, FRAG_SAID_ALL }
};

static bool read_mps(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	static const struct piece pieces[] = {
		{ "MPSallocated:%s", FRAG_SAID_ALLOCATED },
		{ "otherallocations:%s", FRAG_SAID_OUTSIDE },
		{ "maxallowed:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t begin = text_before(in, at, "MPSbackendoutofmemory(");
	struct frag_cursor c;

	if (begin == SIZE_MAX)
		return false;
	c = frag_cursor_at(in, begin);
	m->wording = FRAG_WORDING_MPS;
	return frag_match(&c, "MPSbackendoutofmemory(", NULL, NULL)
	       && read_pieces(&c, pieces, m) > 0;
}

/*
 * "Tried to allocate 20.00 MiB": the following text decides the version. Alone the phrase is no
 * message, unless an error precedes it.
 */
static bool read_torch(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	static const char *const devices[] = {
		[FRAG_HIP] = "HIPoutofmemory.", [FRAG_XPU] = "XPUoutofmemory.",
		[FRAG_NPU] = "NPUoutofmemory.",
	};
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size;
	int pieces;

	if (!frag_match(&c, "Triedtoallocate%s", &size, NULL) || !size.there)
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	*end = c.at;
	for (int i = FRAG_HIP; i <= FRAG_NPU; i++)
		if (ends_with(in, at, devices[i]))
			m->accelerator = (enum frag_accelerator)i;
	if (read_mps(in, at, m))
		return true;
	pieces = read_pieces(&c, torch_pieces, m);
	*end = c.at;
	m->wording = m->said[FRAG_SAID_CACHED].there ? FRAG_WORDING_CACHED
		     : m->said[FRAG_SAID_RESERVED].there ? FRAG_WORDING_RESERVED
		     : FRAG_WORDING_SENTENCES;
	return pieces > 0 || ends_with(in, at, "outofmemory.") || ends_with(in, at, "outofmemory");
}

/* The phrase begins before the anchor, and the text before the phrase is the log's prefix. */
static bool read_async(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	static const struct piece pieces[] = {
		{ "outofmemory", FRAG_SAID_ALL },
		{ "Currentlyallocated:%s", FRAG_SAID_ALLOCATED },
		{ "Requested:%s", FRAG_SAID_ASKED },
		{ "Devicelimit:%s", FRAG_SAID_TOTAL },
		{ "Free(accordingtoCUDA):%s", FRAG_SAID_FREE },
		{ "PyTorchlimit(setbyuser-suppliedmemoryfraction):%s", FRAG_SAID_ALLOWED },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t begin = text_before(in, at, "Allocationondevice");
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
	read_pieces(&c, pieces, m);
	*end = c.at;
	return m->said[FRAG_SAID_ASKED].there;
}

/* Not each is a failure: some say that the program has another way. */
static bool read_bfc(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const size_t gpu = text_before(in, at, "Allocator(GPU_");
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

/* JAX and XLA print the size, and CuPy, in a phrase that begins alike, the size of its pool
 * too. */
static bool read_xla(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	static const char *const forms[] = {
		"Outofmemorywhiletryingtoallocate%s", "Outofmemoryallocating%s",
		"Failedtoallocaterequestfor%s", "outofmemorytoallocate%s",
	};
	static const struct piece cupy[] = {
		{ "allocatedsofar:%s", FRAG_SAID_RESERVED },
		{ "total%s", FRAG_SAID_RESERVED },
		{ "limitsetto%s", FRAG_SAID_TOTAL },
		{ "limitsetto:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size = { .there = false };
	uint64_t number;

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms) && !size.there; i++)
		frag_match(&c, forms[i], &size, NULL);
	if (!size.there)
		return false;
	if (frag_match(&c, "(%NB)", NULL, &number) && number < (UINT64_C(1) << 53))
		size = (struct frag_message_value){ .bytes = number, .there = true };
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->wording = read_pieces(&c, cupy, m) ? FRAG_WORDING_CUPY : FRAG_WORDING_XLA;
	*end = c.at;
	return true;
}

/* In its pool's message the pool is the device: current and largest size, and what was tried. */
static bool read_rmm(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const bool pool = ends_with(in, at, "poolsizeexceeded(");
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size;

	if ((!pool && !ends_with(in, at, "CUDAerror("))
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
	{ "Triedtoallocate", .read = read_torch },
	{ "exceedallowedmemory", .read = read_async },
	{ "outofmemorytryingtoallocate", .read = read_bfc },
	{ "Outofmemory", .read = read_xla },
	{ "outofmemorytoallocate", .read = read_xla },
	{ "Failedtoallocate", .read = read_xla },
	{ "failedtoallocate", .read = read_rmm },

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
	{ "Availablememoryof", NULL, "%bissmallerthanrequestedbytesof%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_FAILS, FORM(FREE, ASKED) },
	{ "CreatingBFCArenaforCuda", NULL, "%?memorylimit:%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_BEFORE, FORM(TOTAL), .starts = true },

	/* Paddle */
	{ "Cannotallocate", "OutofmemoryerroronGPU",
	  "%smemoryonGPU%n,%smemoryhasbeenallocatedandavailablememoryisonly%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, RESERVED, FREE) },
	{ "Cannotallocate", "OutofmemoryerroronGPU", "%smemoryonGPU%n,availablememoryisonly%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Cannotallocate", "OutofmemoryerroronGPU", "%sGPUmemory,availablememoryis%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FREE) },

	/* TensorFlow, and JAX behind the message */
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
	{ "CUDAruntimeerrorin", NULL, "%?outofmemory", FRAG_WORDING_TENSORRT, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "Loadedenginesize:", NULL, "%s", FRAG_WORDING_TENSORRT, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS), .starts = true },
	{ "[MemUsageChange]Allocated", NULL, "%sforexecutioncontextmemory", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_BEFORE, FORM(TEMPORARIES) },
	{ "[MemUsageChange]Allocated", NULL, "%sformaxtokensinpagedKVcache", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_BEFORE, FORM(FRAG_SAID_KV_CACHE) },
	{ "Memoryusagewhencalculatingmaxtokensinpagedkvcache:", NULL, "total:%s,available:%s",
	  FRAG_WORDING_TENSORRT, FRAG_FORM_BEFORE, FORM(TOTAL, FREE) },

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

static bool form_match(const struct frag_stripped_text *in, size_t at, const struct frag_form *form,
		       struct frag_message *m, size_t *end)
{
	struct frag_message_value sizes[FRAG_MATCH_SIZES] = { { .there = false } };
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t number = UINT64_MAX;

	if (form->near && text_before(in, at, form->near) == SIZE_MAX)
		return false;
	if (!frag_match(&c, form->words, NULL, NULL) || !frag_match(&c, form->pattern, sizes, &number))
		return false;
	if (form->device)
		number = device_before(in, at);
	if (form->device && number == FRAG_NO_GPU)
		return false;
	if (number < FRAG_NO_GPU)
		m->gpu = (uint32_t)number;
	for (int i = 0; i < form->sizes; i++)
		frag_message_note(m, form->said[i], sizes[i]);
	*end = c.at;
	return true;
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

const struct frag_wording_name frag_wordings[] = {
	[FRAG_WORDING_CACHED] = { "pytorch-cached", "PyTorch 0.4 to 1.3" },
	[FRAG_WORDING_RESERVED] = { "pytorch-reserved", "PyTorch 1.4 to 2.0" },
	[FRAG_WORDING_SENTENCES] = { "pytorch-sentences", "PyTorch 2.1 and later" },
	[FRAG_WORDING_ASYNC] = { "pytorch-async", "PyTorch with backend:cudaMallocAsync" },
	[FRAG_WORDING_MPS] = { "pytorch-mps", "PyTorch on MPS" },
	[FRAG_WORDING_BFC] = { "bfc", "TensorFlow's or JAX's BFC allocator" },
	[FRAG_WORDING_XLA] = { "xla", "JAX or XLA" },
	[FRAG_WORDING_RMM] = { "rmm", "RMM" },
	[FRAG_WORDING_RMM_POOL] = { "rmm-pool", "RMM's pool" },
	[FRAG_WORDING_CUPY] = { "cupy", "CuPy" },
	[FRAG_WORDING_VLLM_START] = { "vllm-start", "vLLM at its start" },
	[FRAG_WORDING_VLLM_CACHE] = { "vllm-cache", "vLLM's KV cache" },
	[FRAG_WORDING_VLLM_LENGTH] = { "vllm-length", "vLLM's KV cache" },
	[FRAG_WORDING_SGLANG] = { "sglang", "SGLang" },
	[FRAG_WORDING_LLAMA] = { "llama.cpp", "llama.cpp or Ollama" },
	[FRAG_WORDING_OLLAMA] = { "ollama", "Ollama" },
	[FRAG_WORDING_ONNX] = { "onnxruntime", "ONNX Runtime's arena" },
	[FRAG_WORDING_PADDLE] = { "paddle", "Paddle" },
	[FRAG_WORDING_TENSOR] = { "tensorflow", "TensorFlow" },
	[FRAG_WORDING_TF_ASYNC] = { "tensorflow-async", "TensorFlow with cuda_malloc_async" },
	[FRAG_WORDING_CUDA_JL] = { "cuda.jl", "CUDA.jl" },
	[FRAG_WORDING_TENSORRT] = { "tensorrt", "TensorRT or TensorRT-LLM" },
	[FRAG_WORDING_SUMMARY] = { "pytorch-summary", "torch.cuda.memory_summary()" },
	[FRAG_WORDING_STATS] = { "pytorch-stats", "torch.cuda.memory_stats()" },
};
