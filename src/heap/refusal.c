/* refusal.c - why a verb was refused, for the one line that a user sees. */
#include "heap/refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/format.h"
#include "heap/heap_tables.h"

/* The rule, after what has been written; all of that fits, as names of verbs are short. */
__attribute__((format(printf, 3, 0)))
static void add_rule(struct frag_heap *h, int used, const char *rule, va_list args)
{
	FRAG_ASSERT(used > 0 && (size_t)used < sizeof(h->refusal));
	frag_vsnprintf(h->refusal + used, sizeof(h->refusal) - (size_t)used, rule, args);
}

int frag_refuse(struct frag_heap *h, const char *verb, const char *rule, ...)
{
	int used = snprintf(h->refusal, sizeof(h->refusal), "%s: ", verb);
	va_list args;

	va_start(args, rule);
	add_rule(h, used, rule, args);
	va_end(args);
	return -FRAG_EPOLICY;
}

/* What the handle is where it is no block; NULL: it is one. */
static const char *refusal_fault_of(const struct frag_heap *h, frag_block b)
{
	if (b == FRAG_NO_BLOCK)
		return "FRAG_NO_BLOCK is no block";
	if (!frag_is_block(h, b))
		return "there never was such a block";
	/* the record of a block that has ended */
	return h->blocks[b].bytes ? NULL : "it was merged into another one, or released";
}

static int refusal_describe(struct frag_heap *h, const char *verb, frag_block b)
{
	static const char *const states[] = {
		[FRAG_FREE] = "free", [FRAG_ALLOCATED] = "allocated", [FRAG_PENDING] = "pending",
		[FRAG_UNMAPPED] = "unmapped", [FRAG_DETACHED] = "detached",
	};
	const struct frag_heap_block *k;

	FRAG_ASSERT(frag_is_block(h, b));
	k = &h->blocks[b];
	return snprintf(h->refusal, sizeof(h->refusal), "%s: block %" PRIu32 " (segment %" PRIu32
			", offset %" PRIu64 ", %" PRIu64 " bytes, %s) ", verb, b,
			h->segments[k->segment].ordinal, k->offset, k->bytes, states[k->state]);
}

int frag_refuse_block(struct frag_heap *h, const char *verb, frag_block b, const char *rule, ...)
{
	const char *fault = refusal_fault_of(h, b);
	va_list args;

	if (b == FRAG_NO_BLOCK)
		return frag_refuse(h, verb, "%s", fault);
	if (fault)
		return frag_refuse(h, verb, "block %" PRIu32 ": %s", b, fault);
	va_start(args, rule);
	add_rule(h, refusal_describe(h, verb, b), rule, args);
	va_end(args);
	return -FRAG_EPOLICY;
}

const char *frag_refusal(const struct frag_heap *h)
{
	return h->refusal;
}
