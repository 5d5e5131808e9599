/*
 * frame_purpose.c - the purpose of a block that one frame implies, by names of functions and files.
 *
 * Names of frameworks count only within their folders in packages, as a program's own functions
 * gather and reduce other tensors. Other names count of the innermost frame alone, as main loops are
 * named after what they use. They are compared by words, so that "schema" has no "ema".
 */
#include "snapshot/frame_purpose.h"

#include <string.h>

#include "base/parse.h"

static char purpose_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_at(struct frag_text text, uint32_t at, const char *word)
{
	uint32_t n = 0;

	while (word[n] && at + n < text.length && purpose_lower(text.text[at + n]) == word[n])
		n++;
	return !word[n];
}

/* Any of the words, in any case. whole: no letter stands before or behind it. */
static bool has_word(struct frag_text text, const char *const *words, bool whole)
{
	for (; *words; words++) {
		const uint32_t n = (uint32_t)strlen(*words);

		for (uint32_t at = 0; at + n <= text.length; at++)
			if (has_at(text, at, *words)
			    && (!whole || ((!at || !frag_is_letter(text.text[at - 1]))
					   && (at + n == text.length
					       || !frag_is_letter(text.text[at + n])))))
				return true;
	}
	return false;
}

/* Of its path only: the file's own name is none. */
static bool in_folder(struct frag_text file, const char *const *names)
{
	const char *p = file.text, *end = p + file.length, *slash;

	for (; (slash = memchr(p, '/', (size_t)(end - p))) != NULL; p = slash + 1)
		if (names[frag_text_among((struct frag_text){ p, (uint32_t)(slash - p) }, names)])
			return true;
	return false;
}

/* PyTorch's FSDP, and ZeRO of DeepSpeed and others. */
static bool is_sharding(struct frag_text file)
{
	static const char *const folders[] = { "fsdp", "_fsdp", "_fully_shard", "zero", NULL };

	return in_folder(file, folders);
}

static bool is_gathering(struct frag_text name)
{
	static const char *const names[] = { "unshard", "all_gather", "allgather", "fetch_sub_module",
					     NULL };

	return has_word(name, names, false);
}

bool frag_frame_shards(const struct frag_frame *f, enum frag_origin origin)
{
	static const char *const names[] = { "init", "flatten", "shard", "partition", NULL };

	return (origin == FRAG_ORIGIN_TORCH || origin == FRAG_ORIGIN_PACKAGE) && f->name.text
	       && is_sharding(f->file) && !is_gathering(f->name) && has_word(f->name, names, false);
}

/* Of code of frameworks, whose files are in packages. */
static uint8_t purpose_in_framework(struct frag_text file, struct frag_text name)
{
	static const char *const distributed[] = { "distributed", "parallel", "ddp", "zero", "fsdp",
						   NULL };
	static const char *const buckets[] = { "bucket", NULL };
	static const char *const gradients[] = { "grad", "reduce", "backward", NULL };
	/* these call native code, which keeps the buckets */
	static const char *const of_reducer[] = { "_ddp_init_helper", "_pre_forward", NULL };

	if (is_sharding(file) && is_gathering(name))
		return FRAG_PURPOSE_GATHERED;
	if ((in_folder(file, distributed) && has_word(name, buckets, false))
	    || (is_sharding(file) && has_word(name, gradients, false)))
		return FRAG_PURPOSE_GRADIENTS;
	if (in_folder(file, distributed) && of_reducer[frag_text_among(name, of_reducer)])
		return FRAG_PURPOSE_GRADIENTS | FRAG_PURPOSE_IF_INNERMOST;
	return FRAG_PURPOSE_NONE;
}

/* By the name of a function, or of a package's file. */
static enum frag_purpose purpose_of_name(struct frag_text name)
{
	static const char *const caches[] = { "kv_cache", "kvcache", "kv_caches", "past_key_values",
					      "cache_utils", NULL };
	static const char *const averages[] = { "ema", "shadow", NULL };
	static const char *const loops[] = { "with", "without", "train", "generate", "decode", "run",
					     "main", "test", "bench", NULL };
	static const char *const what[] = { "optimizer", "optim", NULL };
	/* "optimizer_to", "load_fsdp_optimizer", "reload_optimizer_states" */
	static const char *const moves[] = { "to", "load", "onload", "reload", "offload", "move",
					     "swap", "prefetch", NULL };

	if (has_word(name, loops, true))
		return FRAG_PURPOSE_NONE;
	if (has_word(name, caches, true))
		return FRAG_PURPOSE_KV;
	if (has_word(name, averages, true))
		return FRAG_PURPOSE_AVERAGE;
	return has_word(name, what, true) && has_word(name, moves, true) ? FRAG_PURPOSE_STATE
									 : FRAG_PURPOSE_NONE;
}

uint8_t frag_frame_purpose(const struct frag_frame *f, enum frag_origin origin)
{
	const struct frag_text name = f->name.text ? f->name : (struct frag_text){ .text = "" };
	struct frag_text base = f->file;
	uint8_t purpose = FRAG_PURPOSE_NONE;

	if (origin == FRAG_ORIGIN_NATIVE)
		return frag_text_find(name, "c10d::Reducer") ? FRAG_PURPOSE_GRADIENTS
							      : FRAG_PURPOSE_NONE;
	if (origin == FRAG_ORIGIN_TORCH || origin == FRAG_ORIGIN_PACKAGE)
		purpose = purpose_in_framework(f->file, name);
	if (purpose || origin == FRAG_ORIGIN_TORCH || origin == FRAG_ORIGIN_PYTHON)
		return purpose;
	purpose = (uint8_t)purpose_of_name(name);
	for (; base.length && memchr(base.text, '/', base.length); base.length--)
		base.text++;
	if (!purpose && origin == FRAG_ORIGIN_PACKAGE)
		purpose = (uint8_t)purpose_of_name(base);
	return purpose ? purpose | FRAG_PURPOSE_IF_INNERMOST : FRAG_PURPOSE_NONE;
}
