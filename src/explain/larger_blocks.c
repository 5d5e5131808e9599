/* larger_blocks.c - the blocks of the last round before a failure that are larger than ever. */
#include "explain/larger_blocks.h"

#include <stdlib.h>

#include "base/format.h"
#include "events/tape.h"
#include "iterations/call_loops.h"
#include "iterations/rounds.h"

#define ROUNDS_OF_SIZES 4       /* of fewer no size is usual */

static int larger_by_ratio(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* By stack: the largest block before the last round; from it on, what is larger. */
static bool compare_sizes(struct frag_larger *out, const struct frag_history *h, uint64_t begin,
			  uint64_t at)
{
	uint64_t *most = calloc((size_t)h->stacks.stack_count + 1, sizeof(*most)), all = 0;
	double *ratios = malloc(sizeof(*ratios) * ((size_t)h->request_count + 1));
	uint32_t n = 0;

	for (uint32_t i = 0; most && ratios && i < h->request_count; i++) {
		const struct frag_past_request *r = &h->requests[i];

		if (r->born >= at)
			break;
		if (!r->stack || r->failed || r->before)
			continue;
		if (r->born < begin) {
			most[r->stack] = frag_max(most[r->stack], r->bytes);
		} else if (most[r->stack] && frag_was_alive(r, at)) {
			all += r->bytes;
			if (r->bytes > most[r->stack]) {
				out->bytes += r->bytes;
				ratios[n++] = (double)r->bytes / (double)most[r->stack];
			}
		}
	}
	FRAG_SORT(ratios, ratios ? n : 0, larger_by_ratio);
	out->ratio = n ? ratios[n / 2] : 0;
	if (2 * out->bytes <= all)
		out->bytes = 0;
	free(ratios);
	free(most);
	return most && ratios;
}

/* Over rounds of marks, else of a loop: the last one is compared with those before it. */
int frag_find_larger(struct frag_larger *out, const struct frag_history *h, uint64_t at,
		     struct frag_error *err)
{
	const struct frag_loop_search in = {
		.until = frag_tape_event(h->tape, at), .least = ROUNDS_OF_SIZES,
	};
	struct frag_iterations r;
	struct frag_rounds_base base = { .enough = true };
	bool any;
	int rc = frag_iterations_by_marks(&r, h->tape, NULL, in.until, err);

	*out = (struct frag_larger){ .bytes = 0 };
	if (!rc && r.count < ROUNDS_OF_SIZES) {
		frag_iterations_fini(&r);
		rc = frag_loops_find(&r, h->tape, &in, &any, err);
		if (!rc && r.count)
			rc = frag_rounds_find_base(&base, &r, h->tape, err);
	}
	if (!rc && base.enough && r.count >= ROUNDS_OF_SIZES
	    && !compare_sizes(out, h, frag_tape_step(h->tape, (uint32_t)r.start[r.count - 1]), at))
		rc = frag_fail_nomem(err);
	frag_iterations_fini(&r);
	return rc;
}
