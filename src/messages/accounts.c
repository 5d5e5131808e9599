/*
 * accounts.c - reads holders and their bytes: rows for lines of known programs, tables with a head,
 * and pairs of a label and a size, as people print them.
 */
#include "messages/accounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/parse.h"
#include "messages/account_tables.h"

#define BACK_MOST 100           /* bytes before the words of a row that belong to it */

/* What else the words of a row name, instead of sizes. */
enum line_reader { BY_PATTERN, BY_LINE, BY_HEAD, BY_PIDS, RETRIES_BEFORE, RETRIES_BEHIND, OOMS, PERCENT };

struct account_row {
	const char *words, *pattern, *program;
	uint8_t of[8];          /* enum frag_account_kind */
	enum line_reader reader;
	const char *back;       /* where the pattern begins, before the words; it includes them */
	bool device;            /* "CUDA0" or "GPU[0]" stands before the words */
	bool adds;              /* several of a text add up */
	bool peak;              /* "peak_" or "max_" may stand before them */
	const char *free;       /* of when the free bytes are; NULL: of now */
};

#define A(kind) FRAG_ACCOUNT_##kind
#define NONE FRAG_ACCOUNT_NONE
#define ONLY(...) { __VA_ARGS__, NONE }
#define LINE(text) { .words = (text), .reader = BY_LINE }

static const struct account_row rows[] = {
	/* vLLM: three generations of its lines */
	{ "thecurrentvLLMinstancecanuse", "total_gpu_memory(%s)xgpu_memory_utilization(%d)=%s", "vLLM",
	  .of = ONLY(A(TOTAL), A(LIMIT)) },
	{ "thecurrentvLLMinstancecanuse", "%s", "vLLM", .of = ONLY(A(LIMIT)) },
	{ "modelweightstake", "%s;non_torch_memorytakes%s;PyTorchactivationpeakmemorytakes%s;"
	  "therestofthememoryreservedforKVCacheis%z", "vLLM",
	  .of = { A(WEIGHTS), A(NON_TORCH), A(ACTIVATIONS), A(KV_CACHE), NONE } },
	{ "modelweightstake", "%s", "vLLM", .of = ONLY(A(WEIGHTS)) },
	{ "PyTorchactivationpeakmemory", "%s", "vLLM", .of = ONLY(A(ACTIVATIONS)) },
	{ "available_kv_cache_memory", "%s", "vLLM", .of = ONLY(A(KV_CACHE)) },
	{ "Memoryprofilingresults:", "total_gpu_memory=%sinitial_memory_usage=%speak_torch_memory=%s"
	  "memory_usage_post_profile=%snon_torch_memory=%s", "vLLM",
	  .of = { A(TOTAL), NONE, A(ACTIVATIONS), NONE, A(NON_TORCH) } },
	{ "kv_cache_size=", "%s", "vLLM", .of = ONLY(A(KV_CACHE)) },
	{ "Loadingmodelweightstook", "%s", "vLLM", .of = ONLY(A(WEIGHTS)) },
	{ "Modelloadingtook", "%s", "vLLM", .of = ONLY(A(WEIGHTS)) },
	{ "AvailableKVcachememory:", "%s", "vLLM", .of = ONLY(A(KV_CACHE)) },
	{ "Graphcapturingfinishedin", "%dsecs,took%s", "vLLM", .of = ONLY(A(GRAPHS)) },
	{ "EstimatedCUDAgraphmemory:", "%stotal", "vLLM", .of = ONLY(A(GRAPHS)) },
	{ "Initialfreememory", "%o:%s%~Requestedmemory:%d(util),%s", "vLLM", .of = ONLY(A(FREE), A(LIMIT)) },
	{ "Initialfreememory", "%s,reserved%smemoryforKVCache", "vLLM", .of = ONLY(A(FREE), A(KV_CACHE)) },
	{ "torchpeakmemoryincrease:", "%s;non-torchforwardincreasememory:%s;weightsmemory:%s", "vLLM",
	  .of = ONLY(A(ACTIVATIONS), A(NON_TORCH), A(WEIGHTS)) },
	{ "Actualusageis", "%sforweight,%sforpeakactivation,%sfornon-torchmemory%[,and%sforCUDAGraphmemory",
	  "vLLM", .of = { A(WEIGHTS), A(ACTIVATIONS), A(NON_TORCH), A(GRAPHS), NONE } },
	{ "Freememoryondevice", "%?(%h/%s)onstartup.", "vLLM", .of = ONLY(A(FREE), A(TOTAL)) },
	{ "DesiredGPUmemoryutilizationis", "(%d,%s)", "vLLM", .of = ONLY(A(LIMIT)) },
	{ "Sleepmodefreed", "%smemory,%smemoryisstillinuse", "vLLM", .of = ONLY(A(FREED), A(STILL_USED)) },
	{ "sleepfreed", "%smemoryintotal", "vLLM", .of = ONLY(A(FREED)) },
	{ "free_memory_pre_profile:", "%s,total_gpu_memory:%s", "vLLM", .of = ONLY(A(FREE), A(TOTAL)) },

	/* SGLang: its GB are GiB */
	{ "Loadweightbegin.", "availmem=%s", "SGLang", .of = ONLY(A(FREE)), .free = "free before the weights" },
	{ "Loadweightend.", "%?availmem=%s,memusage=%s", "SGLang", .of = ONLY(A(FREE), A(WEIGHTS)), .free = "free behind the weights" },
	{ "KVCacheisallocated.", "%?KVsize:%s", "SGLang", .of = ONLY(A(KV_CACHE)) },
	{ "KVCacheisallocated.", "%?Ksize:%s,Vsize:%s", "SGLang", .of = ONLY(A(KV_CACHE), A(KV_CACHE)), .adds = true },
	{ "Memorypoolend.", "availmem=%s", "SGLang", .of = ONLY(A(FREE)), .free = "free behind the KV cache" },
	{ "Capturecudagraphbegin.", "%?availmem=%s", "SGLang", .of = ONLY(A(FREE)), .free = "free before the graphs" },
	{ "Capturecudagraphend.", "%?memusage=%s%[%~availmem=%s", "SGLang", .of = ONLY(A(GRAPHS), A(FREE)), .free = "free behind the graphs" },
	{ "available_gpu_mem=", "%s", "SGLang", .of = ONLY(A(FREE)), .free = "free at the end" },

	/* trainers */
	{ "Max_MA", "%sMax_MA%sCA%sMax_CA%s", "DeepSpeed",
	  .of = { A(ALLOCATED), A(PEAK_ALLOCATED), A(RESERVED), A(PEAK_RESERVED), NONE }, .back = "MA" },
	{ "CPUVirtualMemory:", "used=%s", "DeepSpeed", .of = ONLY(A(HOST)) },
	{ "memory:", "%s(%p)", "torchtitan", .of = ONLY(A(PEAK_RESERVED)), .reader = PERCENT },
	{ "memoryusageformodel:", "%s(%p)", "torchtitan", .of = ONLY(A(ALLOCATED)) },
	{ "capacity:", "%?with%smemory", "torchtitan", .of = ONLY(A(TOTAL)) },
	{ "memoryallocationretries", "", "torchtitan", .of = { NONE }, .reader = RETRIES_BEFORE },
	{ "memory(MB)", "%~allocated:%M%~maxallocated:%M%~reserved:%M%[%~maxreserved:%M", "Megatron",
	  .of = { A(ALLOCATED), A(PEAK_ALLOCATED), A(RESERVED), A(PEAK_RESERVED), NONE } },
	{ "mem-allocated-bytes", "%~%b", "Megatron", .of = ONLY(A(ALLOCATED)) },
	{ "mem-reserved-bytes", "%~%b", "Megatron", .of = ONLY(A(RESERVED)) },
	{ "mem-reserved-gigabytes", "%~%h", "Megatron", .of = ONLY(A(RESERVED)) },
	{ "mem-allocated-gigabytes", "%~%h", "Megatron", .of = ONLY(A(ALLOCATED)) },
	{ "mem-max-allocated-gigabytes", "%~%h", "Megatron", .of = ONLY(A(PEAK_ALLOCATED)) },
	{ "mem-max-reserved-gigabytes", "%~%h", "Megatron", .of = ONLY(A(PEAK_RESERVED)) },
	{ "mem-alloc-retires", "%~%n", "Megatron", .of = { NONE }, .reader = RETRIES_BEHIND },
	{ "weightandoptimizer=", "%s,activation=%s,total=%s", "Megatron",
	  .of = ONLY(A(WEIGHTS), A(ACTIVATIONS), NONE) },
	{ "memusage/free/total/usage_ratio:", "%s/%s/%s/%p", "Primus", .of = ONLY(A(USED), A(FREE), A(TOTAL)), .reader = PERCENT },

	/* llama.cpp, TensorRT-LLM */
	{ "modelbuffersize=", "%s", "llama.cpp", .of = ONLY(A(WEIGHTS)), .device = true },
	{ "KVbuffersize=", "%s", "llama.cpp", .of = ONLY(A(KV_CACHE)), .device = true },
	{ "computebuffersize=", "%s", "llama.cpp", .of = ONLY(A(BUFFERS)), .device = true },
	{ "[MemUsageChange]Allocated", "%sformaxtokensinpagedKVcache", "TensorRT-LLM", .of = ONLY(A(KV_CACHE)) },
	{ "[MemUsageChange]Allocated", "%sforexecutioncontextmemory", "TensorRT-LLM", .of = ONLY(A(ACTIVATIONS)) },
	{ "Memoryusagewhencalculatingmaxtokensinpagedkvcache:", "total:%s,available:%s", "TensorRT-LLM",
	  .of = ONLY(A(TOTAL), A(FREE)) },
	{ "Loadedenginesize:", "%s", "TensorRT-LLM", .of = ONLY(A(WEIGHTS)) },
	{ "TacticDevicerequest:", "%sAvailable:%s", "TensorRT", .of = ONLY(NONE, A(FREE)) },

	/* PyTorch's statistics: as it prints them, flat, nested, as a table, and as a list of segments */
	{ "allocated_bytes.all.current", "%~%b", "PyTorch", .of = ONLY(A(ALLOCATED)) },
	{ "allocated_bytes.all.peak", "%~%b", "PyTorch", .of = ONLY(A(PEAK_ALLOCATED)) },
	{ "reserved_bytes.all.current", "%~%b", "PyTorch", .of = ONLY(A(RESERVED)) },
	{ "reserved_bytes.all.peak", "%~%b", "PyTorch", .of = ONLY(A(PEAK_RESERVED)) },
	{ "active_bytes.all.current", "%~%b", "PyTorch", .of = ONLY(A(ACTIVE)) },
	{ "active_bytes.all.peak", "%~%b", "PyTorch", .of = ONLY(A(PEAK_ACTIVE)) },
	{ "requested_bytes.all.current", "%~%b", "PyTorch", .of = ONLY(A(REQUESTED)) },
	{ "inactive_split_bytes.all.current", "%~%b", "PyTorch", .of = ONLY(A(NONRELEASABLE)) },
	{ "inactive_split_bytes", "%~{%~all%~{%?current%~%b", "PyTorch", .of = ONLY(A(NONRELEASABLE)) },
	{ "allocated_bytes", "%~{%~all%~{%?current%~%b", "PyTorch", .of = ONLY(A(ALLOCATED)) },
	{ "allocated_bytes", "%~{%~all%~{%?peak%~%b", "PyTorch", .of = ONLY(A(PEAK_ALLOCATED)) },
	{ "reserved_bytes", "%~{%~all%~{%?current%~%b", "PyTorch", .of = ONLY(A(RESERVED)) },
	{ "reserved_bytes", "%~{%~all%~{%?peak%~%b", "PyTorch", .of = ONLY(A(PEAK_RESERVED)) },
	{ "active_bytes", "%~{%~all%~{%?current%~%b", "PyTorch", .of = ONLY(A(ACTIVE)) },
	{ "requested_bytes", "%~{%~all%~{%?current%~%b", "PyTorch", .of = ONLY(A(REQUESTED)) },
	{ "num_alloc_retries", "%~%n", "PyTorch", .of = { NONE }, .reader = RETRIES_BEHIND },
	{ "num_ooms", "%~%n", "PyTorch", .of = { NONE }, .reader = OOMS },
	{ "Allocatedmemory|", "%t|%t|", "PyTorch", .of = ONLY(A(ALLOCATED), A(PEAK_ALLOCATED)) },
	{ "Activememory|", "%t|%t|", "PyTorch", .of = ONLY(A(ACTIVE), A(PEAK_ACTIVE)) },
	{ "Requestedmemory|", "%t|", "PyTorch", .of = ONLY(A(REQUESTED)) },
	{ "GPUreservedmemory|", "%t|%t|", "PyTorch", .of = ONLY(A(RESERVED), A(PEAK_RESERVED)) },
	{ "reservedmemory|", "%t|%t|", "PyTorch", .of = ONLY(A(RESERVED), A(PEAK_RESERVED)) },
	{ "Non-releasablememory|", "%t|", "PyTorch", .of = ONLY(A(NONRELEASABLE)) },
	{ "Mallocretries:", "%n", "PyTorch", .of = { NONE }, .reader = RETRIES_BEHIND },
	{ "allocated_size", "%~%b%~allocated_size%~%b%~active_size%~%b", "PyTorch",
	  .of = ONLY(A(RESERVED), A(ALLOCATED), A(ACTIVE)), .back = "total_size", .adds = true },
	{ "mem_get_info", "%~%b,%b", "PyTorch", .of = ONLY(A(FREE), A(TOTAL)) },

	/* JAX and XLA */
	{ "bytes_in_use", "%~%b", "JAX", .of = ONLY(A(ALLOCATED)), .peak = true },
	{ "bytes_limit", "%~%b", "JAX", .of = ONLY(A(LIMIT)) },
	{ "argument_size_in_bytes", "%~%b", "XLA", .of = ONLY(A(ARGUMENTS)) },
	{ "output_size_in_bytes", "%~%b", "XLA", .of = ONLY(A(OUTPUTS)) },
	{ "temp_size_in_bytes", "%~%b", "XLA", .of = ONLY(A(TEMPORARIES)) },

	/* CUDA.jl */
	{ "EffectiveGPUmemoryusage:", "%d%%(%s/%s)", "CUDA.jl", .of = ONLY(A(USED), A(TOTAL)) },
	{ "Memorypoolusage:", "%s(%sreserved)", "CUDA.jl", .of = ONLY(A(ALLOCATED), A(RESERVED)) },

	/* programs that list devices and processes */
	{ "VRAMTotalMemory(B):", "%b", "rocm-smi", .of = ONLY(A(TOTAL)), .device = true },
	{ "VRAMTotalUsedMemory(B):", "%b", "rocm-smi", .of = ONLY(A(USED)), .device = true },
	{ "TOTAL_VRAM:", "%s", "amd-smi", .of = ONLY(A(TOTAL)) },
	{ "USED_VRAM:", "%s", "amd-smi", .of = ONLY(A(USED)) },
	{ "FREE_VRAM:", "%s", "amd-smi", .of = ONLY(A(FREE)) },
	{ "FBMemoryUsage", "Total:%s%[Reserved:%s", "nvidia-smi", .of = ONLY(A(TOTAL), NONE) },
	{ "FBMemoryUsage", "Total:%s%?Used:%sFree:%s", "nvidia-smi", .of = ONLY(NONE, A(USED), A(FREE)) },
	{ "GPUMemoryUsed(MiB)", "%~%M", "xpu-smi", .of = ONLY(A(USED)) },
	{ "VRAMUSED", NULL, NULL, .of = { NONE }, .reader = BY_PIDS },
	{ "emory(M", NULL, NULL, .of = { NONE }, .reader = BY_HEAD },
	{ "Usage(MB)", NULL, NULL, .of = { NONE }, .reader = BY_HEAD },
	{ "[MiB]", NULL, NULL, .of = { NONE }, .reader = BY_HEAD },
	LINE("MiB|"), LINE("MiB/"), LINE("]NVIDIA"), LINE("]Tesla"), LINE("]GeForce"), LINE("]Quadro"),

	/* what people print */
	LINE("llocated"), LINE("eserved"), LINE("ached:"), LINE("ached="), LINE("emory:"), LINE("emory="),
	LINE("emoryused"), LINE("emory_used"), LINE("emoryusage"), LINE("emory_usage"), LINE("emoryUsage"),
	LINE("VRAM:"), LINE("VRAMused"), LINE("VRAMusage"), LINE("vram"), LINE("reememory"), LINE("sedmemory"),
	LINE("_memory_"), LINE("GPUmem"), LINE("GPUMem"), LINE("gpu_mem"), LINE("GPU_mem"), LINE("eakmem"),
	LINE("emory(G"), LINE("ofmemory"), LINE("PUmemory"), LINE("emoryin"),
};

const char *frag_account_words(uint32_t which)
{
	return which < sizeof(rows) / sizeof(*rows) ? rows[which].words : NULL;
}

#define ONE(which, name) [FRAG_ACCOUNT_##which] = (name),
static const char *const kind_names[] = { FRAG_ACCOUNT_KINDS(ONE) };
#undef ONE

const char *frag_account_kind_name(enum frag_account_kind kind)
{
	return kind_names[kind];
}

const struct frag_account *frag_account_of(const struct frag_accounts *a, enum frag_account_kind kind,
					   const char *program)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->of[i].kind == kind && (!program || (a->of[i].program
							     && strcmp(a->of[i].program, program) == 0)))
			return &a->of[i];
	return NULL;
}

/* Notes a value; of the same one the last counts, unless they add up. */
void frag_account_note(struct frag_accounts *a, const struct frag_account *value, bool adds)
{
	struct frag_account *old = NULL;

	if (value->bytes > FRAG_ACCOUNT_BYTES_MAX || value->kind == NONE)
		return;
	for (uint32_t i = 0; i < a->count && !old; i++)
		if (strcmp(a->of[i].who, value->who) == 0)
			old = &a->of[i];
	if (!old) {
		if (a->count == FRAG_ACCOUNTS_MAX || !FRAG_GROW(a->of, a->capacity, a->count)) {
			a->failed |= a->count < FRAG_ACCOUNTS_MAX;
			return;
		}
		a->of[a->count] = *value;
		a->of[a->count++].most = value->bytes;
		return;
	}
	old->bytes = adds && old->bytes + value->bytes <= FRAG_ACCOUNT_BYTES_MAX ? old->bytes + value->bytes : value->bytes;
	if (old->bytes > old->most)
		old->most = old->bytes;
}

static void note_kind(struct frag_accounts *a, const char *program, const char *device,
		      enum frag_account_kind kind, const char *name, uint64_t bytes, bool adds)
{
	struct frag_account value = { .bytes = bytes, .program = program, .kind = kind,
				       .device = FRAG_NO_GPU };

	if (kind >= NONE)
		return;
	frag_snprintf(value.who, sizeof(value.who), "%s%s%s%s%s", program ? program : "",
		      program ? ": " : "", device, *device ? " " : "", name ? name : kind_names[kind]);
	frag_account_note(a, &value, adds);
}

/* "CUDA0" or "GPU[0]" in the bytes before `at`. */
static void device_name(const struct frag_stripped_text *in, size_t at, char *to, size_t room)
{
	size_t end = at, from;

	while (end > 0 && at - end < 4 && strchr(":]", in->text[end - 1]))
		end--;
	for (from = end; from > 0 && end - from < 12
	     && (frag_is_letter(in->text[from - 1]) || frag_is_digit(in->text[from - 1])
		 || in->text[from - 1] == '[' || in->text[from - 1] == '_'); from--)
		if (in->begins[from] || in->line[from] & 1)
			break;
	if (end == from)
		return;
	frag_snprintf(to, room, "%.*s%s", (int)(end - from), in->text + from,
		      memchr(in->text + from, '[', end - from) ? "]" : "");
}

static bool account_is_before(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	return at >= length && memcmp(in->text + at - length, words, length) == 0;
}

/* The words that the pattern begins with, in the bytes before `at`; SIZE_MAX: nowhere. */
static size_t behind_words(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = at; i > 0 && at - i < BACK_MOST; i--)
		if (i >= length + 1 && memcmp(in->text + i - length, words, length) == 0
		    && in->text[i - length - 1] != '_')
			return i;
	return SIZE_MAX;
}

static uint64_t number_before(const struct frag_stripped_text *in, size_t at)
{
	uint64_t number = 0, scale = 1;
	size_t i = at;

	while (i > 0 && at - i < 8 && frag_is_letter(in->text[i - 1]))
		i--;                            /* CUDA, XPU */
	for (; i > 0 && frag_is_digit(in->text[i - 1]) && scale < 1000000000; scale *= 10)
		number += scale * (uint64_t)(in->text[--i] - '0');
	return number;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A row of a program; false: its pattern does not match. */
static bool read_row(struct frag_accounts *a, const struct account_row *row,
		     const struct frag_stripped_text *in, size_t at)
{
	struct frag_message_value sizes[FRAG_MATCH_SIZES] = { { .there = false } };
	struct frag_cursor c = frag_cursor_at(in, at);
	const size_t behind = row->back ? behind_words(in, at, row->back) : 0;
	const bool peak = row->peak && (account_is_before(in, at, "peak_") || account_is_before(in, at, "max_"));
	uint64_t number = UINT64_MAX;
	char device[24] = "";

	if (row->reader == RETRIES_BEFORE) {
		a->retries = larger(a->retries, number_before(in, at));
		return true;
	}
	if (row->back && behind == SIZE_MAX)
		return false;
	c.at = row->back ? behind : at + strlen(row->words);
	if (!frag_match(&c, row->pattern, sizes, &number))
		return false;
	if (row->reader == RETRIES_BEHIND)
		a->retries = larger(a->retries, number == UINT64_MAX ? 0 : number);
	else if (row->reader == OOMS)
		a->ooms = larger(a->ooms, number == UINT64_MAX ? 0 : number);
	else if (row->reader == PERCENT)
		a->percent = larger(a->percent, number == UINT64_MAX ? 0 : number);
	if (row->device)
		device_name(in, at, device, sizeof(device));
	for (size_t i = 0; i < sizeof(row->of); i++)
		if (sizes[i].there && !sizes[i].negative)
			note_kind(a, row->program, device, peak ? A(PEAK_ALLOCATED)
				  : (enum frag_account_kind)row->of[i],
				  row->of[i] == A(FREE) ? row->free : NULL, sizes[i].bytes, row->adds);
	return true;
}

/* Of a text without capital letters. */
static bool has(const char *text, const char *word)
{
	return strstr(text, word) != NULL;
}

static void account_lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

/* What a label says; the first row that it has the words of. */
static enum frag_account_kind account_kind_of(const char *label)
{
	static const struct {
		const char *words[2];
		enum frag_account_kind kind;
	} labels[] = {
		{ { "max", "alloc" }, A(PEAK_ALLOCATED) }, { { "peak", "alloc" }, A(PEAK_ALLOCATED) },
		{ { "max", "reserved" }, A(PEAK_RESERVED) }, { { "peak", "reserved" }, A(PEAK_RESERVED) },
		{ { "max", "cached" }, A(PEAK_RESERVED) }, { { "non-releasable" }, A(NONRELEASABLE) },
		{ { "unallocated" }, A(CACHED) }, { { "active" }, A(ACTIVE) }, { { "kv", "cache" }, A(KV_CACHE) },
		{ { "weights" }, A(WEIGHTS) }, { { "parameters" }, A(WEIGHTS) }, { { "gradients" }, A(GRADIENTS) },
		{ { "optimizer" }, A(OPTIMIZER) }, { { "activations" }, A(ACTIVATIONS) },
		{ { "graph" }, A(GRAPHS) }, { { "reserved" }, A(RESERVED) }, { { "cached" }, A(RESERVED) },
		{ { "alloc" }, A(ALLOCATED) }, { { "occupied" }, A(ALLOCATED) },
		{ { "free" }, A(FREE) }, { { "available" }, A(FREE) }, { { "remaining" }, A(FREE) },
		{ { "peak" }, A(PEAK_USED) }, { { "max" }, A(PEAK_USED) }, { { "total" }, A(TOTAL) },
		{ { "capacity" }, A(TOTAL) }, { { "used" }, A(USED) }, { { "usage" }, A(USED) },
		{ { "in use" }, A(USED) }, { { "memory" }, A(USED) }, { { "vram" }, A(USED) }, { { "mem" }, A(USED) },
	};

	uint32_t letters = 0;

	/* of PyTorch's statistics all except those of the rows */
	if (has(label, ".all.") || has(label, "_pool"))
		return NONE;
	if (has(label, "cpu") || has(label, "host") || has(label, "ram ") || has(label, "disk")
	    || has(label, "rss"))
		return has(label, "disk") || has(label, "avail") || has(label, "total") ? NONE : A(HOST);
	for (const char *p = label; *p; p++)
		letters |= *p >= 'a' && *p <= 'z' ? 1U << (*p - 'a') : 0;
	/* most labels lack one of the first two letters of a word */
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (letters >> (labels[i].words[0][0] - 'a') & letters >> (labels[i].words[0][1] - 'a') & 1
		    && has(label, labels[i].words[0])
		    && (!labels[i].words[1] || has(label, labels[i].words[1])))
			return labels[i].kind;
	return NONE;
}

#define LABEL_MOST 48

/* The unit that a label names: "(GB)", "_gb", "[MiB]"; 0: none. */
static uint64_t account_unit_of(const char *label)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = {
		{ "(gb", 30 }, { "(gib", 30 }, { "(mb", 20 }, { "(mib", 20 }, { "_gb", 30 }, { "_gib", 30 },
		{ "_mb", 20 }, { "_mib", 20 }, { "[gb", 30 }, { "[gib", 30 }, { "[mb", 20 }, { "[mib", 20 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (has(label, units[i].name))
			return UINT64_C(1) << units[i].shift;
	return has(label, "byte") || has(label, "_allocated") || has(label, "_reserved") ? 1 : 0;
}

/* A value of a pair: it counts where no row has the line. */
static void note_pair(struct frag_accounts *a, enum frag_account_kind kind, uint64_t bytes, uint64_t line)
{
	struct frag_account *value = &a->perhaps[a->perhaps_count];

	if (kind == NONE || a->perhaps_count == FRAG_PERHAPS_MAX)
		return;
	*value = (struct frag_account){ .bytes = bytes, .kind = kind, .device = FRAG_NO_GPU };
	frag_snprintf(value->who, sizeof(value->who), "%s", kind_names[kind]);
	a->perhaps_count++;
	a->perhaps_line = line;
}

static void keep_pairs(struct frag_accounts *a)
{
	for (uint32_t i = 0; i < a->perhaps_count; i++)
		frag_account_note(a, &a->perhaps[i], false);
	a->perhaps_count = 0;
}

/* Labels and sizes of a line, the label before the size or else behind it. */
static void read_pairs(struct frag_accounts *a, char *text, uint64_t line)
{
	const char *from = text;
	bool near;

	account_lower(text);
	near = has(text, "mem") || has(text, "vram") || has(text, "gpu")
		    || has(text, "cuda") || has(text, "hbm") || (has(text, "alloc") && has(text, "reserved"));

	for (const char *p = text; near && *p;) {
		char label[LABEL_MOST + 1], behind[LABEL_MOST + 1];
		enum frag_account_kind kind;
		const char *s = p, *start = p, *limit;
		uint64_t bytes, other, unit;
		size_t length;

		if (!frag_is_digit(*p) || (p > text && (frag_is_letter(p[-1]) || p[-1] == '_' || p[-1] == '.'
							 || p[-1] == '-'))) {
			/* digits of a name */
			while (frag_is_digit(*p))
				p++;
			p += *p != '\0' && (p == start);
			continue;
		}
		length = (size_t)(p - from);
		frag_snprintf(label, sizeof(label), "%.*s", (int)(length > LABEL_MOST ? LABEL_MOST : length),
			      length > LABEL_MOST ? p - LABEL_MOST : from);
		unit = account_unit_of(label);
		if (!frag_plain_size(&s, unit, &bytes)) {
			/* "12.3/24.0 GB" has its unit at the end */
			const char *slash = p + strspn(p, "0123456789.");

			slash += strspn(slash, " ");
			s = slash + strspn(slash, "/ ");
			if (*slash == '/' && frag_plain_size(&s, 0, &other)) {
				const char *unit_at = s;

				while (unit_at > slash && frag_is_letter(unit_at[-1]))
					unit_at--;
				s = p;
				if (frag_plain_size(&s, has(unit_at, "g") ? UINT64_C(1) << 30 : UINT64_C(1) << 20, &bytes)
				    && account_kind_of(label) != NONE) {
					note_pair(a, A(USED), bytes, line);
					note_pair(a, A(TOTAL), other, line);
				}
				p = from = unit_at;
				continue;
			}
			p += strspn(p, "0123456789.");
			continue;
		}
		if (unit == 1 && bytes < 1 << 20) {
			p = s;
			continue;
		}
		p = s;
		/* separators that a label does not cross */
		limit = strrchr(label, ';');
		limit = limit ? limit : strrchr(label, '|');
		limit = limit ? limit + 1 : label;
		kind = account_kind_of(limit);
		if (kind == NONE) {
			length = strcspn(s, ",;|)0123456789");
			frag_snprintf(behind, sizeof(behind), "%.*s", (int)(length > LABEL_MOST ? LABEL_MOST : length), s);
			kind = account_kind_of(behind);
			p = s + length;
		}
		note_pair(a, kind, bytes, line);
		from = p;
	}
}

/* A row, a table behind its head, or the pairs of a line where no row has it. */
void frag_accounts_read(struct frag_accounts *a, uint32_t which, const struct frag_stripped_text *in,
			size_t at, uint64_t line)
{
	const struct account_row *row = &rows[which];
	char text[FRAG_ACCOUNT_LINE];

	if (a->perhaps_line != line)
		keep_pairs(a);
	switch (row->reader) {
	case BY_HEAD:
		frag_account_table(a, in, at, line);
		break;
	case BY_PIDS:
		frag_account_pids(a, in, at);
		break;
	case BY_LINE:
		if (line == a->line || line <= a->table_end)
			break;
		a->line = line;
		frag_line_text(in, at, text, sizeof(text));
		frag_plain_edges(text);
		if (!frag_account_process(a, text) && !frag_account_used_of(a, in, at, text))
			read_pairs(a, text, line);
		break;
	case BY_PATTERN:
	case RETRIES_BEFORE:
	case RETRIES_BEHIND:
	case OOMS:
	case PERCENT:
		if (!read_row(a, row, in, at))
			break;
		a->line = a->row_line = line;
		a->perhaps_count = 0;
	}
}

static void account_derive(struct frag_accounts *a, const char *program, enum frag_account_kind kind, uint64_t bytes)
{
	struct frag_account value = { .bytes = bytes, .program = program, .kind = kind, .device = FRAG_NO_GPU,
				       .derived = true };

	frag_snprintf(value.who, sizeof(value.who), "%s%s%s", program ? program : "", program ? ": " : "",
		      kind_names[kind]);
	frag_account_note(a, &value, false);
}

/* What a sleeping server has not, and what each program has reserved without using it. */
void frag_accounts_derive(struct frag_accounts *a)
{
	const struct frag_account *limit, *freed, *used;
	uint32_t count;

	keep_pairs(a);
	count = a->count;
	limit = frag_account_of(a, A(LIMIT), "vLLM");
	freed = frag_account_of(a, A(FREED), "vLLM");
	used = frag_account_of(a, A(STILL_USED), "vLLM");

	/* at most limit - freed of what is still in use is the server's */
	if (limit && freed && used && limit->bytes >= freed->bytes && used->bytes > limit->bytes - freed->bytes)
		account_derive(a, "vLLM", A(OUTSIDE), used->bytes - (limit->bytes - freed->bytes));     /* the last use of the three */
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_account reserved = a->of[i];

		if (reserved.kind != A(RESERVED))
			continue;
		for (uint32_t k = 0; k < count; k++)
			if (a->of[k].kind == A(ALLOCATED) && a->of[k].program == reserved.program
			    && a->of[k].bytes < reserved.bytes) {
				account_derive(a, reserved.program, A(CACHED), reserved.bytes - a->of[k].bytes);
				break;
			}
	}
}
