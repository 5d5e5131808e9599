/*
 * pytorch_settings.h - the settings of PyTorch's allocator: as keys of the
 * policy, and as the string that PYTORCH_CUDA_ALLOC_CONF holds.
 */
#pragma once

#include "fragsim/policy.h"

#define MIB (UINT64_C(1) << 20)

/* Places in the array of parameters. */
enum {
	EXPANDABLE_SEGMENTS,
	RESERVE,                /* a double's bits: 0 none, to 2^20 a fraction, else bytes */
	GC_THRESHOLD,           /* a double's bits; 0: off */
	LARGE_SEGMENT_MB,
	MAX_NON_SPLIT_MB,
	MAX_SPLIT_MB,           /* 0: no limit */
	FRACTION,               /* a double's bits */
	ROUNDUP,                /* 16 times 4 bits: log2 of the divisions, the lowest first */
				/* (15 of a list, and UNROUNDED: sizes are not rounded at all) */
	THROW,
	VERSION,                /* the N of 2.N; no setting, nor are those behind it */
	REUSE_OVERSIZE,         /* changes of PyTorch that no release has */
	SEARCH_AFTER_FLUSH,
	PYTORCH_KEYS,
};

#define UNROUNDED UINT64_C(0xfffffffffffffffe)

#define OLDEST_VERSION 1
#define NEWEST_VERSION 15

extern const struct frag_param_spec frag_pytorch_params[];

/* Parse and print values of this policy's own types. */
bool frag_pytorch_parse_reserve(const char *text, size_t length, uint64_t *value);
bool frag_pytorch_parse_threshold(const char *text, size_t length, uint64_t *value);
bool frag_pytorch_parse_fraction(const char *text, size_t length, uint64_t *value);
bool frag_pytorch_parse_roundup(const char *text, size_t length, uint64_t *value);
bool frag_pytorch_parse_roundup_of(uint64_t version, const char *text, size_t length,
				   uint64_t *value);
bool frag_pytorch_parse_version(const char *text, size_t length, uint64_t *value);
void frag_pytorch_print_reserve(uint64_t bits, char *buf, size_t size);
void frag_pytorch_print_real(uint64_t bits, char *buf, size_t size);
void frag_pytorch_print_roundup(uint64_t table, char *buf, size_t size);
void frag_pytorch_print_version(uint64_t version, char *buf, size_t size);

/* The keys from place `at` on; whose: what precedes the help. */
#define FRAG_PYTORCH_KEYS(at, whose)								\
	[(at) + EXPANDABLE_SEGMENTS] = {							\
		.name = "expandable_segments", .type = FRAG_PARAM_BOOL,				\
		.help = whose "segments are ranges of addresses whose pages come and go" },	\
	[(at) + RESERVE] = {									\
		.name = "expandable_segments_reserve", .type = FRAG_PARAM_OWN,			\
		.expects = "a fraction of the device such as 0.5, or a size such as 40G",	\
		.parse = frag_pytorch_parse_reserve, .print = frag_pytorch_print_reserve,	\
		.help = whose "addresses of an expandable segment; 0: nine eighths of the device" },	\
	[(at) + GC_THRESHOLD] = {								\
		.name = "garbage_collection_threshold", .type = FRAG_PARAM_OWN,			\
		.expects = "a number between 0 and 1",						\
		.parse = frag_pytorch_parse_threshold, .print = frag_pytorch_print_real,	\
		.help = whose "part of the allowed memory above which old blocks are released;"	\
			" 0: never" },								\
	[(at) + LARGE_SEGMENT_MB] = {								\
		.name = "large_segment_size_mb", .type = FRAG_PARAM_COUNT,			\
		.fallback = 20, .min = 11, .max = 1 << 20,					\
		.help = whose "segments for requests between 1 and 10 MiB" },			\
	[(at) + MAX_NON_SPLIT_MB] = {								\
		.name = "max_non_split_rounding_mb", .type = FRAG_PARAM_COUNT,			\
		.same_as = "large_segment_size_mb", .min = 11, .max = UINT32_MAX,		\
		.help = whose "how much larger a block may be that is not split" },		\
	[(at) + MAX_SPLIT_MB] = {								\
		.name = "max_split_size_mb", .type = FRAG_PARAM_COUNT, .max = UINT32_MAX,	\
		.help = whose "blocks this large are not split; 0: all are" },			\
	[(at) + FRACTION] = {									\
		.name = "per_process_memory_fraction", .type = FRAG_PARAM_OWN,			\
		.fallback = UINT64_C(0x3ff0000000000000), .expects = "a number from 0 to 1",	\
		.parse = frag_pytorch_parse_fraction, .print = frag_pytorch_print_real,		\
		.help = whose "part of the device that may be reserved" },			\
	[(at) + ROUNDUP] = {									\
		.name = "roundup_power2_divisions", .type = FRAG_PARAM_OWN,			\
		.expects = "a power of two up to 32768, or a list of them: [256:1,512:2,>:4]",	\
		.parse = frag_pytorch_parse_roundup, .print = frag_pytorch_print_roundup,	\
		.beside = "version", .parse_beside = frag_pytorch_parse_roundup_of,		\
		.help = whose "sizes are rounded to N steps between powers of two; 0: not" },\
	[(at) + THROW] = {									\
		.name = "throw_on_cudamalloc_oom", .type = FRAG_PARAM_BOOL,			\
		.help = whose "fail at once where the device's total would be exceeded" },	\
	[(at) + VERSION] = {									\
		.name = "version", .type = FRAG_PARAM_OWN, .fallback = NEWEST_VERSION,		\
		.expects = "a version of PyTorch from 2.1 to 2.15",				\
		.parse = frag_pytorch_parse_version, .print = frag_pytorch_print_version,	\
		.no_setting = true, .if_set = true,						\
		.help = whose "the PyTorch whose rules these are: 2.1 to 2.15" },		\
	[(at) + REUSE_OVERSIZE] = {								\
		.name = "reuse_oversize", .type = FRAG_PARAM_BOOL,				\
		.no_setting = true, .if_set = true,						\
		.help = whose "max_split_size_mb limits no search in expandable segments, as in"	\
			" PyTorch's open pull request 193400" },				\
	[(at) + SEARCH_AFTER_FLUSH] = {								\
		.name = "search_after_flush", .type = FRAG_PARAM_BOOL,				\
		.no_setting = true, .if_set = true,						\
		.help = whose "a flush is followed by a second search for a free block, as in"	\
			" PyTorch's open pull request 191302" }

double frag_pytorch_real(uint64_t bits);

/* Do the values go together, as PyTorch checks them? -FRAG_EUSAGE */
int frag_pytorch_check(const uint64_t *param, struct frag_error *err);

/*
 * A settings string, KEY:VALUE,KEY:VALUE. Some keys that it does not name fall
 * back to their defaults, as in PyTorch: those of splitting, rounding and garbage
 * collection. -FRAG_EUSAGE, and then nothing has changed.
 */
int frag_pytorch_settings(uint64_t *param, const char *text, size_t length,
			  struct frag_error *err);

/* A request's size in whole units of 512 bytes, or as ROUNDUP says. */
uint64_t frag_pytorch_round(uint64_t bytes, uint64_t roundup);
