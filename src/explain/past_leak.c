/* past_leak.c - the tags that kept blocks of round after round before a failure. */
#include "explain/past_leak.h"

#include "base/format.h"
#include "events/tape.h"
#include "explain/accumulation.h"
#include "iterations/leak_detect.h"
#include "iterations/rounds.h"

/*
 * The proven leaks of the device before the failure, where they hold enough of what is alive. A loop,
 * or sizes that repeat, can be the layers of one pass, as in frag_find_accumulation().
 */
int frag_find_leak(struct frag_past_leak *out, const struct frag_history *h, uint64_t at,
		   struct frag_error *err)
{
	struct frag_leaks leaks;
	struct frag_rounds_base base = { .blocks = 0 };
	uint64_t blocks = 0;
	int rc = frag_leaks_find(&leaks, h->tape, NULL, frag_tape_event(h->tape, at), NULL, err);

	*out = (struct frag_past_leak){ .since = UINT64_MAX, .rounds = leaks.rounds };
	if (!rc && leaks.iterations.by < FRAG_BY_MARK && leaks.iterations.count > 1)
		rc = frag_rounds_find_base(&base, &leaks.iterations, h->tape, err);
	for (uint32_t i = 0; !rc && i < leaks.leak_count; i++) {
		const struct frag_leak *k = &leaks.leaks[i];

		if (!k->proven || k->device != h->device)
			continue;
		/* the first ones keep most in an iteration */
		out->tag = out->bytes ? out->tag : k->number;
		out->bytes += k->bytes;
		blocks += k->blocks;
		out->an_iteration += k->an_iteration;
		out->since = frag_min(out->since, k->first_step);
	}
	if (out->bytes < frag_history_live(h, at) / FRAG_PILED_SHARE
	    || blocks < (uint64_t)FRAG_BLOCKS_OF_WEIGHT * base.blocks)
		out->bytes = 0;
	frag_leaks_fini(&leaks);
	return rc;
}
