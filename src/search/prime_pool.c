/* prime_pool.c - how large the first block of each private pool should be. */
#include "search/prime_pool.h"

#include <stdlib.h>

#include "base/parallel.h"
#include "engine/tape_run.h"

#define NOT_TRIED UINT64_MAX
#define FAILED (UINT64_MAX - 1)         /* as with a fraction that the program set */

/* One task simulates one size under all policies. */
struct priming {
	struct frag_prime_search *s;
	uint32_t *which;                /* of each alloc the index of its size */
	uint64_t *sizes;                /* 0: of the blocks; then of each alloc */
	uint64_t *peaks;                /* by size, then policy */
	bool *is_private;               /* of each alloc */
};

/* Notes the sizes, which allocs are in private pools, and which of those are the first ones. */
static int prime_read(struct priming *p, struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(p->s->tape) };
	const struct frag_event *ev;
	struct frag_map seen;
	bool good = frag_map_init(&seen, frag_hash_seed()) && w.reader;
	uint32_t alloc = 0;

	while (good && (ev = frag_tape_walk_next(&w))) {
		const uint64_t key = (uint64_t)ev->pool << 32 | ev->device;

		if (ev->op != FRAG_OP_ALLOC)
			continue;
		p->is_private[alloc] = ev->pool != 0;
		p->sizes[alloc + 1] = ev->bytes;
		p->which[alloc] = alloc + 1;
		if (ev->pool && frag_map_get(&seen, key) == FRAG_MAP_NONE) {
			p->which[alloc] = 0;
			good = frag_map_add(&seen, key, 0);
		}
		alloc++;
	}
	frag_map_fini(&seen);
	frag_tape_reader_del(w.reader);
	return good ? 0 : frag_fail_nomem(err);
}

/* Simulates the tape with these sizes on devices without a limit: the sum of peaks, and the highest. */
static int prime_simulate(const struct priming *p, const uint64_t *sizes, uint32_t choice,
			  uint64_t *sum, uint64_t *highest, struct frag_error *err)
{
	const struct frag_prime_search *s = p->s;
	struct frag_tape *tape = frag_tape_resized(s->tape, p->which, sizes);
	struct frag_devices devices = { .count = 0 };
	struct frag_sim_options options = { .level = FRAG_LEVEL_PEAKS };
	const struct frag_job job = frag_job_part(&s->job);
	const struct frag_result *results;
	struct frag_sim *sim = NULL;
	uint32_t count = 0;
	int rc = tape ? 0 : frag_fail_nomem(err);

	rc = rc ? rc : frag_devices_copy(&devices, s->devices, frag_tape_info(s->tape)->device_count,
					 err);
	for (uint32_t d = 0; d < devices.count; d++)
		devices.figures[d].total = 0;
	options.devices = devices.figures;
	rc = rc ? rc : frag_tape_run(&sim, &s->choices[choice], tape, &options, &job, err);
	results = rc ? NULL : frag_sim_results(sim, false, &count);
	*sum = *highest = 0;
	for (uint32_t d = 0; d < count; d++) {
		const uint64_t peak = results[d].peak.reserved;

		*highest = peak > *highest ? peak : *highest;
		*sum = *sum == FAILED || results[d].status != FRAG_RUN_OK ? FAILED : *sum + peak;
	}
	frag_sim_del(sim);
	frag_devices_fini(&devices);
	frag_tape_del(tape);
	return rc;
}

/* A copy of the sizes, with one for the blocks. NULL: out of memory */
static uint64_t *prime_sizes(const struct priming *p, uint64_t bytes)
{
	const size_t room = ((size_t)p->s->tape->alloc_count + 1) * sizeof(*p->sizes);
	uint64_t *sizes = malloc(room);

	if (sizes) {
		memcpy(sizes, p->sizes, room);
		sizes[0] = bytes;
	}
	return sizes;
}

/* What private pools reserve alone, where the other blocks have no bytes: the maximum of all policies. */
static int prime_bound(struct priming *p, struct frag_error *err)
{
	uint64_t *sizes = prime_sizes(p, 0), sum, highest;
	int rc = sizes ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < p->s->tape->alloc_count && !rc; i++)
		if (!p->is_private[i])
			sizes[i + 1] = 0;
	for (uint32_t k = 0; k < p->s->choice_count && !rc; k++) {
		rc = prime_simulate(p, sizes, k, &sum, &highest, err);
		p->s->bound = highest > p->s->bound ? highest : p->s->bound;
	}
	free(sizes);
	return rc;
}

static int prime_try(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct priming *p = ctx;
	const uint32_t count = p->s->choice_count;
	uint64_t *sizes = prime_sizes(p, index * FRAG_PRIME_STEP), highest, sum;
	int rc = sizes ? 0 : frag_fail_nomem(err);

	for (uint32_t k = 0; k < count && !rc; k++) {
		rc = prime_simulate(p, sizes, k, &sum, &highest, err);
		if (!rc)
			p->peaks[(size_t)index * count + k] = sum;
	}
	free(sizes);
	return rc;
}

/* Of the sizes up to the first that was not tried under all policies. */
static int prime_judge(struct priming *p, uint32_t count, struct frag_error *err)
{
	struct frag_prime_search *s = p->s;
	uint32_t tried = 0;

	while (tried < count * s->choice_count && p->peaks[tried] != NOT_TRIED)
		tried++;
	tried /= s->choice_count;
	if (!tried)
		return 0;
	s->of = calloc(s->choice_count, sizeof(*s->of));
	if (!s->of)
		return frag_fail_nomem(err);
	s->last = (tried - 1) * FRAG_PRIME_STEP;
	for (uint32_t k = 0; k < s->choice_count; k++) {
		struct frag_primed *one = &s->of[k];

		one->without = one->reserved = p->peaks[k];
		for (uint32_t i = 1; i < tried; i++) {
			const uint64_t peak = p->peaks[(size_t)i * s->choice_count + k];

			if (peak < one->reserved) {
				one->reserved = peak;
				one->bytes = i * FRAG_PRIME_STEP;
			}
		}
		one->without = one->without == FAILED ? UINT64_MAX : one->without;
		one->reserved = one->reserved == FAILED ? UINT64_MAX : one->reserved;
	}
	return 0;
}

/* Size 0, which is as without blocks, and all from FRAG_PRIME_STEP to the bound. */
static int prime_try_all(struct priming *p, struct frag_error *err)
{
	struct frag_prime_search *s = p->s;
	const uint64_t all = (s->bound + FRAG_PRIME_STEP - 1) / FRAG_PRIME_STEP + 1;
	const struct frag_tasks tasks = {
		.count = (uint32_t)(all < s->runs ? all : s->runs),
		.job = &s->job, .what = "sizes", .task = prime_try, .ctx = p,
	};
	const size_t count = (size_t)tasks.count * s->choice_count;
	int rc, judged = 0;

	p->peaks = malloc((count + 1) * sizeof(*p->peaks));
	if (!p->peaks)
		return frag_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		p->peaks[i] = NOT_TRIED;
	rc = frag_tasks_run(&tasks, err);
	if (!rc || rc == -FRAG_EINTERRUPTED)
		judged = prime_judge(p, tasks.count, err);
	return judged ? judged : rc;
}

int frag_prime_search_run(struct frag_prime_search *s, struct frag_error *err)
{
	const size_t room = (size_t)s->tape->alloc_count + 1;
	struct priming p = {
		.s = s, .which = calloc(room, sizeof(*p.which)),
		.sizes = calloc(room, sizeof(*p.sizes)),
		.is_private = calloc(room, sizeof(*p.is_private)),
	};
	int rc = p.which && p.sizes && p.is_private ? prime_read(&p, err) : frag_fail_nomem(err);

	rc = rc ? rc : prime_bound(&p, err);
	rc = rc ? rc : prime_try_all(&p, err);
	free(p.which);
	free(p.sizes);
	free(p.is_private);
	free(p.peaks);
	return rc;
}

void frag_prime_search_fini(struct frag_prime_search *s)
{
	free(s->of);
}
