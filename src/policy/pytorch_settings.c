/* pytorch_settings.c - the settings of PyTorch's allocator, with PyTorch's own checks. */
#include "policy/pytorch_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "policy/policies.h"

#define UNIT UINT64_C(512)      /* every block is a multiple of it */
#define INTERVALS 16            /* sizes from 1 MiB and from each doubling of it */
#define MAX_DIVISIONS_LOG2 15
#define ONE 15                  /* in a list: one division, in versions where that matters */
#define SETTINGS_ROOM 4096
#define PINNED "page-locked host memory"
#define SMALLEST_LIMIT 20       /* of max_split_size_mb; in older versions just too small */

double frag_pytorch_real(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static bool parse_real(const char *text, size_t length, double *out)
{
	char buf[64], *end;

	if (length == 0 || length >= sizeof(buf) || strspn(text, "0123456789.eE+-") < length)
		return false;
	memcpy(buf, text, length);
	buf[length] = '\0';
	errno = 0;
	*out = frag_strtod(buf, &end);
	return *end == '\0' && errno != ERANGE;
}

bool frag_pytorch_parse_threshold(const char *text, size_t length, uint64_t *value)
{
	double x;

	if (!parse_real(text, length, &x) || !(x > 0 && x < 1))
		return false;
	*value = bits_of(x);
	return true;
}

bool frag_pytorch_parse_fraction(const char *text, size_t length, uint64_t *value)
{
	double x;

	if (!parse_real(text, length, &x) || !(x >= 0 && x <= 1))
		return false;
	*value = bits_of(x);
	return true;
}

bool frag_pytorch_parse_reserve(const char *text, size_t length, uint64_t *value)
{
	bool bytes = length && (text[length - 1] == 'G' || text[length - 1] == 'g');
	double x;

	if (!parse_real(text, length - bytes, &x) || !(x > 0 && x <= 1 << 20))
		return false;
	*value = bits_of(bytes ? x * 1024 * (double)MIB : x);
	return !bytes || frag_pytorch_real(*value) > 1 << 20;
}

/* Parses "2.8", and accepts longer texts as in torch.__version__: "2.8.0+cu128". */
bool frag_pytorch_parse_version(const char *text, size_t length, uint64_t *value)
{
	size_t end = 2;

	if (length < 3 || memcmp(text, "2.", 2) != 0)
		return false;
	while (end < length && text[end] >= '0' && text[end] <= '9')
		end++;
	return frag_parse_count(text + 2, end - 2, value) && *value >= OLDEST_VERSION
	       && *value <= NEWEST_VERSION
	       && (end == length || text[end] == '.' || text[end] == '+' || text[end] == 'a');
}

void frag_pytorch_print_version(uint64_t version, char *buf, size_t size)
{
	snprintf(buf, size, "2.%" PRIu64, version);
}

/* The fewest digits that give the number again. */
void frag_pytorch_print_real(uint64_t value, char *buf, size_t size)
{
	double x = frag_pytorch_real(value);

	for (int digits = 1; digits <= 17; digits++) {
		frag_snprintf(buf, size, "%.*g", digits, x);
		if (bits_of(frag_strtod(buf, NULL)) == value)
			break;
	}
}

void frag_pytorch_print_reserve(uint64_t value, char *buf, size_t size)
{
	double x = frag_pytorch_real(value);
	bool bytes = x > 1 << 20;

	frag_pytorch_print_real(bits_of(bytes ? x / 1024 / (double)MIB : x), buf, size);
	if (bytes)
		snprintf(buf + strlen(buf), size - strlen(buf), "G");
}

static bool is_power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

static uint32_t log2_of(uint64_t x)
{
	return 63 - (uint32_t)__builtin_clzll(x);
}

/* Up to 2.3, sizes are not rounded where there is one division; later as where there is none. */
static bool one_is_unrounded(uint64_t version)
{
	return version <= 3;
}

/* Divisions as their log2; 0 (in a list only) and 1 are off. */
static bool parse_divisions(const char *text, size_t length, bool may_be_0, uint64_t *code)
{
	uint64_t n;

	if (!frag_parse_count(text, length, &n)
	    || (n == 0 ? !may_be_0 : !is_power_of_two(n)))
		return false;
	*code = n ? log2_of(n) : 0;
	return *code <= MAX_DIVISIONS_LOG2;
}

/*
 * One "MB:DIVISIONS" of a list; *next is the interval after the last one named. Up to 2.9, ">"
 * begins at that one itself, and where none was named, at the first.
 */
static bool parse_interval(uint64_t version, const char *text, size_t length, uint64_t *table,
			   uint32_t *next)
{
	const char *colon = memchr(text, ':', length);
	size_t key = colon ? (size_t)(colon - text) : 0;
	uint32_t from, to;
	uint64_t mb, code;

	if (!colon
	    || !parse_divisions(colon + 1, length - key - 1, !one_is_unrounded(version), &code))
		return false;
	if (code == ONE)
		return false;
	if (code == 0 && one_is_unrounded(version))
		code = ONE;
	if (key == 1 && *text == '>') {
		from = *next ? *next : 1;
		if (version <= 9)
			from--;
		to = INTERVALS;
	} else {
		if (!frag_parse_count(text, key, &mb) || !is_power_of_two(mb))
			return false;
		from = log2_of(mb) < INTERVALS ? log2_of(mb)
								: INTERVALS - 1;
		to = from + 1;
		if (*next == 0)
			from = 0;
	}
	for (uint32_t i = from; i < to; i++)
		*table = (*table & ~(UINT64_C(15) << 4 * i)) | code << 4 * i;
	*next = to;
	return true;
}

/* Parses one number for all sizes, or a list [SIZE:NUMBER,...], into 4 bits per power of 2. */
bool frag_pytorch_parse_roundup_of(uint64_t version, const char *text, size_t length,
				   uint64_t *value)
{
	uint64_t table = 0, code;
	uint32_t next = 0;
	size_t at = 1;

	if (length < 2 || text[0] != '[') {
		if (!parse_divisions(text, length, false, &code))
			return false;
		*value = !code && one_is_unrounded(version) ? UNROUNDED
							: code * UINT64_C(0x1111111111111111);
		return true;
	}
	if (text[length - 1] != ']')
		return false;
	while (at < length - 1) {
		const char *comma = memchr(text + at, ',', length - 1 - at);
		size_t n = comma ? (size_t)(comma - text) - at : length - 1 - at;

		if (!parse_interval(version, text + at, n, &table, &next))
			return false;
		at += n + 1;
	}
	*value = one_is_unrounded(version) && table == UINT64_MAX ? UNROUNDED : table;
	return true;
}

bool frag_pytorch_parse_roundup(const char *text, size_t length, uint64_t *value)
{
	return frag_pytorch_parse_roundup_of(NEWEST_VERSION, text, length, value);
}

/* Prints the table in the shortest way that the parser accepts. */
void frag_pytorch_print_roundup(uint64_t table, char *buf, size_t size)
{
	size_t used;

	if (table == UNROUNDED) {
		snprintf(buf, size, "1");
		return;
	}
	if (table == (table & 15) * UINT64_C(0x1111111111111111)) {
		snprintf(buf, size, "%u", table ? 1U << (table & 15) : 0);
		return;
	}
	used = (size_t)snprintf(buf, size, "[");
	for (uint32_t i = 0; i < INTERVALS; i++) {
		uint32_t code = table >> 4 * i & 15;

		/* the first key speaks for all below it, so it is always there */
		if ((code || i == 0) && used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%u:%u", i ? "," : "",
						 1U << i, code == ONE ? 1U
							  : code ? 1U << code : 0);
	}
	if (used < size)
		snprintf(buf + used, size - used, "]");
}

const struct frag_param_spec frag_pytorch_params[] = {
	FRAG_PYTORCH_KEYS(0, ""),
	{ 0 },
};

/* The versions that have a key first, where that is not the oldest. */
static const uint8_t since[PYTORCH_KEYS] = {
	[RESERVE] = 15, [LARGE_SEGMENT_MB] = 11, [MAX_NON_SPLIT_MB] = 6, [FRACTION] = 10,
	[THROW] = 12,
};

/* In the words of that version. */
static int unknown_to(uint64_t version, const char *before, const char *key, size_t length,
		      uint64_t first, struct frag_error *err)
{
	const int shown = (int)length;

	if (version <= 9)
		return frag_fail(err, FRAG_EUSAGE, "%sPyTorch 2.%" PRIu64 ": Unrecognized "
				 "CachingAllocator option: %.*s; 2.%" PRIu64 " is the first that"
				 " has it", before, version, shown, key, first);
	return frag_fail(err, FRAG_EUSAGE, "%sPyTorch 2.%" PRIu64 ": Unrecognized key '%.*s' in "
			 "CUDA allocator config; 2.%" PRIu64 " is the first that has it",
			 before, version, shown, key, first);
}

/*
 * Checks a limit in MB for older versions: 20 is too small there, though 20 is also the default
 * of splitting.
 */
static int check_older(const uint64_t *param, uint32_t key, const char *before,
		       struct frag_error *err)
{
	if (param[VERSION] > 9 || param[key] != SMALLEST_LIMIT)
		return 0;
	return frag_fail(err, FRAG_EUSAGE,
			 "%s%s=%d is too small: up to PyTorch 2.9 it must be > %d", before,
			 frag_pytorch_params[key].name, SMALLEST_LIMIT, SMALLEST_LIMIT);
}

static int check_limits(const uint64_t *param, const char *before, struct frag_error *err)
{
	static const int limited[] = { MAX_SPLIT_MB, MAX_NON_SPLIT_MB };

	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++) {
		uint64_t mb = param[limited[i]];

		if (mb < param[LARGE_SEGMENT_MB] && (mb || limited[i] != MAX_SPLIT_MB))
			return frag_fail(err, FRAG_EUSAGE, "%s%s=%" PRIu64
					 " is too small: large_segment_size_mb is %" PRIu64,
					 before, frag_pytorch_params[limited[i]].name, mb,
					 param[LARGE_SEGMENT_MB]);
	}
	return check_older(param, MAX_SPLIT_MB, before, err);
}

int frag_pytorch_check(const uint64_t *param, struct frag_error *err)
{
	for (uint32_t i = 0; i < PYTORCH_KEYS; i++) {
		const struct frag_param_spec *spec = &frag_pytorch_params[i];

		if (param[VERSION] < since[i]
		    && param[i] != (i == MAX_NON_SPLIT_MB ? param[LARGE_SEGMENT_MB]
							  : spec->fallback))
			return unknown_to(param[VERSION], "policy pytorch: ", spec->name,
					  strlen(spec->name), since[i], err);
	}
	return check_limits(param, "policy pytorch: ", err);
}

static bool is_bool(const char *value, size_t length)
{
	return frag_is_word(value, length, "True") || frag_is_word(value, length, "False");
}

static bool is_thread_count(const char *value, size_t length)
{
	uint64_t count;

	return frag_parse_count(value, length, &count) && count <= 128 && is_power_of_two(count);
}

static bool is_count(const char *value, size_t length)
{
	uint64_t count;

	return frag_parse_count(value, length, &count);
}

static bool is_anything(const char *value, size_t length)
{
	return value && length;
}

/* Settings of PyTorch that choose no block: read as PyTorch does, without effect here. */
static const struct {
	const char *name, *expects;
	bool (*fits)(const char *value, size_t length);
	uint64_t since;         /* version */
	const char *usual;      /* NULL: it is not set */
	const char *help;
} no_effect[] = {
	{ "expandable_segments_reserve_by_class", "a list", is_anything, 15, NULL,
	  "expandable_segments_reserve of the streams of a class" },
	{ "graph_capture_record_stream_reuse", "True or False", is_bool, 9, "False",
	  "blocks with record_stream are used again during the capture of a graph" },
	{ "pinned_free_catch_all", "True or False", is_bool, 12, "False",
	  "concerns " PINNED },
	{ "pinned_max_cached_size_mb", "a whole number", is_count, 13, NULL,
	  PINNED ": the largest block that is cached" },
	{ "pinned_max_round_threshold_mb", "a whole number", is_count, 13, NULL,
	  PINNED ": the largest size that is rounded to a power of two" },
	{ "pinned_num_register_threads", "a power of two up to 128", is_thread_count, 2, "1",
	  PINNED ": threads that register it" },
	{ "pinned_reserve_segment_size_mb", "a whole number", is_count, 10, "0",
	  PINNED ": the segment that is reserved at the beginning" },
	{ "pinned_use_background_threads", "True or False", is_bool, 6, "False",
	  PINNED ": a thread returns freed blocks" },
	{ "pinned_use_cuda_host_register", "True or False", is_bool, 2, "False",
	  PINNED " is obtained by cudaHostRegister" },
	{ "release_lock_on_cudamalloc", "True or False", is_bool, 2, "False",
	  "the lock of the allocator is released during cudaMalloc" },
};

#define LAST_EFFECT (sizeof(no_effect) / sizeof(no_effect[0]))

/* The values of a key of the policy, as PyTorch takes them. */
static void setting_values(uint32_t key, struct frag_setting *out)
{
	const struct frag_param_spec *spec = &frag_pytorch_params[key];

	if (spec->type == FRAG_PARAM_OWN)
		snprintf(out->values, sizeof(out->values), "%s", spec->expects);
	else if (spec->type == FRAG_PARAM_BOOL)
		snprintf(out->values, sizeof(out->values), "True or False");
	else if (key == MAX_SPLIT_MB || key == MAX_NON_SPLIT_MB)
		snprintf(out->values, sizeof(out->values), "%s to %" PRIu64 ", up to 2.9 more than"
			 " %d", frag_pytorch_params[LARGE_SEGMENT_MB].name, spec->max,
			 SMALLEST_LIMIT);
	else
		snprintf(out->values, sizeof(out->values), "%" PRIu64 " to %" PRIu64, spec->min,
			 spec->max);
}

/* The default; none where PyTorch accepts no such value. */
static void setting_usual(uint32_t key, struct frag_setting *out)
{
	const struct frag_param_spec *spec = &frag_pytorch_params[key];
	uint64_t value = 0;

	if (spec->same_as)
		snprintf(out->usual, sizeof(out->usual), "%s", spec->same_as);
	else if (spec->type == FRAG_PARAM_BOOL)
		snprintf(out->usual, sizeof(out->usual), "%s", spec->fallback ? "True" : "False");
	else if (spec->type == FRAG_PARAM_COUNT && spec->fallback)
		snprintf(out->usual, sizeof(out->usual), "%" PRIu64, spec->fallback);
	else if (spec->type == FRAG_PARAM_OWN)
		spec->print(spec->fallback, out->usual, sizeof(out->usual));
	if (spec->type == FRAG_PARAM_OWN
	    && !spec->parse(out->usual, strlen(out->usual), &value))
		*out->usual = '\0';
}

static void setting_of_policy(uint32_t key, struct frag_setting *out)
{
	const struct frag_param_spec *spec = &frag_pytorch_params[key];
	const char *off = strstr(spec->help, "; 0: ");

	out->key = spec->name;
	out->simulated = true;
	setting_values(key, out);
	setting_usual(key, out);
	frag_pytorch_print_version(since[key] ? since[key] : OLDEST_VERSION, out->since,
				   sizeof(out->since));
	/* what 0 means to the policy is no value of PyTorch */
	snprintf(out->help, sizeof(out->help), "%.*s",
		 off ? (int)(off - spec->help) : (int)strlen(spec->help), spec->help);
}

bool frag_pytorch_setting(uint32_t i, struct frag_setting *out)
{
	*out = (struct frag_setting){ .key = "backend" };
	if (i < VERSION) {
		setting_of_policy(i, out);
	} else if (i - VERSION < LAST_EFFECT) {
		const uint32_t k = i - VERSION;

		out->key = no_effect[k].name;
		snprintf(out->values, sizeof(out->values), "%s", no_effect[k].expects);
		snprintf(out->usual, sizeof(out->usual), "%s",
			 no_effect[k].usual ? no_effect[k].usual : "");
		frag_pytorch_print_version(no_effect[k].since, out->since, sizeof(out->since));
		snprintf(out->help, sizeof(out->help), "%s", no_effect[k].help);
	} else if (i - VERSION == LAST_EFFECT) {
		snprintf(out->values, sizeof(out->values), "native or cudaMallocAsync");
		snprintf(out->usual, sizeof(out->usual), "native");
		frag_pytorch_print_version(OLDEST_VERSION, out->since, sizeof(out->since));
		snprintf(out->help, sizeof(out->help), "PyTorch's own allocator, or that of the"
			 " driver");
	} else {
		return false;
	}
	if (strlen(out->key) > 3 && strcmp(out->key + strlen(out->key) - 3, "_mb") == 0)
		out->unit = "MiB";
	return true;
}

int frag_pytorch_unknown_setting(const char *key, size_t length, struct frag_error *err)
{
	struct frag_suggestion near = frag_near_to(key, length);
	int shown = (int)(length < 64 ? length : 64);
	char hint[FRAG_HINT_ROOM];

	if (frag_is_word(key, length, "block_size"))
		return frag_fail(err, FRAG_EUSAGE, "PyTorch never had a setting \"block_size\", "
				 "whatever articles say; max_split_size_mb may be meant");
	for (uint32_t i = 0; i < VERSION; i++)
		frag_near_offer(&near, frag_pytorch_params[i].name);
	frag_near_offer(&near, "backend");
	for (size_t i = 0; i < sizeof(no_effect) / sizeof(no_effect[0]); i++)
		frag_near_offer(&near, no_effect[i].name);
	if (frag_is_word(key, length, "version"))
		return frag_fail(err, FRAG_EUSAGE, "PyTorch has no setting \"version\"; the version"
				 " is a key of the policy: pytorch:version=2.8");
	return frag_fail(err, FRAG_EUSAGE, "PyTorch has no setting \"%.*s\";%s", shown, key,
			 near.best ? frag_near_hint(&near, "", hint)
			 : " fragsim list settings lists them");
}

static int set_backend(const char *value, size_t length, struct frag_error *err)
{
	if (frag_is_word(value, length, "native"))
		return 0;
	if (frag_is_word(value, length, "cudaMallocAsync"))
		return frag_fail(err, FRAG_EUSAGE, "backend:cudaMallocAsync is the driver's own "
				 "allocator, which no policy simulates");
	return frag_fail(err, FRAG_EUSAGE, "backend:%.*s is neither native nor cudaMallocAsync",
			 (int)(length < 64 ? length : 64), value);
}

static bool set_value(uint64_t *param, uint32_t i, const char *value, size_t length)
{
	const struct frag_param_spec *spec = &frag_pytorch_params[i];

	if (i == ROUNDUP)
		return frag_pytorch_parse_roundup_of(param[VERSION], value, length, &param[i]);
	if (spec->type == FRAG_PARAM_OWN)
		return spec->parse(value, length, &param[i]);
	if (spec->type == FRAG_PARAM_COUNT)
		return frag_parse_count(value, length, &param[i]) && param[i] >= spec->min
		       && param[i] > 0 && param[i] <= spec->max;
	param[i] = length == 4;
	return is_bool(value, length);
}

/* One KEY:VALUE; *given collects a bit a key. */
static int set_setting(uint64_t *param, uint32_t *given, const char *text, size_t length,
		       struct frag_error *err)
{
	const char *colon = memchr(text, ':', length);
	size_t key = colon ? (size_t)(colon - text) : length;
	const char *value = text + key + 1;
	size_t n = colon ? length - key - 1 : 0;

	if (n == 0)
		return frag_fail(err, FRAG_EUSAGE, "\"%.*s\" requires a value: KEY:VALUE",
				 (int)(key < 64 ? key : 64), text);
	for (uint32_t i = 0; frag_pytorch_params[i].name; i++) {
		const struct frag_param_spec *spec = &frag_pytorch_params[i];

		if (spec->no_setting || !frag_is_word(text, key, spec->name))
			continue;
		if (param[VERSION] < since[i])
			return unknown_to(param[VERSION], "", spec->name, key, since[i], err);
		*given |= 1U << i;
		if (set_value(param, i, value, n))
			return 0;
		if (spec->type == FRAG_PARAM_COUNT)
			return frag_fail(err, FRAG_EUSAGE, "%s:%.*s is not a whole number from %"
					 PRIu64 " to %" PRIu64, spec->name,
					 (int)(n < 64 ? n : 64), value,
					 spec->min ? spec->min : 1, spec->max);
		return frag_fail(err, FRAG_EUSAGE, "%s:%.*s is not %s", spec->name,
				 (int)(n < 64 ? n : 64), value,
				 spec->type == FRAG_PARAM_BOOL ? "True or False" : spec->expects);
	}
	if (frag_is_word(text, key, "backend"))
		return set_backend(value, n, err);
	for (size_t i = 0; i < sizeof(no_effect) / sizeof(no_effect[0]); i++) {
		if (!frag_is_word(text, key, no_effect[i].name))
			continue;
		if (param[VERSION] < no_effect[i].since)
			return unknown_to(param[VERSION], "", text, key, no_effect[i].since, err);
		return no_effect[i].fits(value, n) ? 0
			: frag_fail(err, FRAG_EUSAGE, "%s:%.*s is not %s", no_effect[i].name,
				    (int)(n < 64 ? n : 64), value, no_effect[i].expects);
	}
	return frag_pytorch_unknown_setting(text, key, err);
}

/* Parses all settings into a copy, and changes `param` only where all of them are valid. */
int frag_pytorch_settings(uint64_t *param, const char *text, size_t length,
			  struct frag_error *err)
{
	static const int forgotten[] = { GC_THRESHOLD, MAX_SPLIT_MB, ROUNDUP };
	uint64_t now[FRAG_PARAMS_MAX] = { 0 };
	char buf[SETTINGS_ROOM];
	uint32_t given = 0;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < length && n < sizeof(buf); i++)
		if (!memchr(" \t\n\r\f\v", text[i], 6))
			buf[n++] = text[i];
	if (n == sizeof(buf) || memchr(buf, '\0', n))
		return frag_fail(err, FRAG_EUSAGE, "settings of %zu characters: %d at most, and no "
				 "NUL among them, can be read", length, SETTINGS_ROOM - 1);
	buf[n] = '\0';
	for (uint32_t i = 0; frag_pytorch_params[i].name; i++)
		now[i] = param[i];
	for (size_t i = 0; i < sizeof(forgotten) / sizeof(forgotten[0]); i++)
		now[forgotten[i]] = 0;
	for (size_t at = 0; buf[at] && !rc;) {
		size_t item = frag_setting_length(buf + at);

		rc = item ? set_setting(now, &given, buf + at, item, err)
			  : frag_fail(err, FRAG_EUSAGE, "a setting is missing before a comma");
		at += item + (buf[at + item] == ',');
	}
	if (!(given & 1U << MAX_NON_SPLIT_MB))
		now[MAX_NON_SPLIT_MB] = param[VERSION] > 10 ? now[LARGE_SEGMENT_MB]
							    : param[MAX_NON_SPLIT_MB];
	else if (!rc)
		rc = check_older(now, MAX_NON_SPLIT_MB, "", err);
	rc = rc ? rc : check_limits(now, "", err);
	if (rc)
		return rc;
	for (uint32_t i = 0; frag_pytorch_params[i].name; i++)
		param[i] = now[i];
	return 0;
}

uint64_t frag_pytorch_round(uint64_t bytes, uint64_t roundup)
{
	uint32_t log2, interval, code;

	if (bytes < UNIT)
		return UNIT;
	if (roundup == UNROUNDED)
		return bytes;
	log2 = log2_of(bytes);
	interval = log2 < 20 ? 0 : log2 - 20 < INTERVALS ? log2 - 20 : INTERVALS - 1;
	code = roundup >> 4 * interval & 15;
	if (code == ONE && roundup != UINT64_MAX)
		return bytes;
	if (code && bytes > UNIT << code)
		return frag_round_up_pow2(bytes, UINT64_C(1) << (log2 - code));
	return frag_round_up_pow2(bytes, UNIT);
}
