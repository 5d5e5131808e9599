/* parallel.c - Runs independent tasks on all processors. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/platform.h"

struct pool {
	const struct frag_tasks *tasks;
	struct frag_error *errors;      /* one a task; code 0 where it went well */
	uint32_t next, done;
	bool failed;
	pthread_mutex_t lock;
};

/* Takes task after task. */
static void *parallel_work(void *arg)
{
	struct pool *pool = arg;
	const struct frag_tasks *t = pool->tasks;

	pthread_mutex_lock(&pool->lock);
	while (pool->next < t->count && !pool->failed) {
		const uint32_t i = pool->next++;
		int rc;

		pthread_mutex_unlock(&pool->lock);
		rc = t->task(t->ctx, i, &pool->errors[i]);
		/* a task that succeeded may have left a message */
		pool->errors[i].code = rc;
		pthread_mutex_lock(&pool->lock);
		pool->failed |= rc != 0;
		pool->done++;
		if (t->job && t->what)
			frag_job_show(t->job, t->what, pool->done, t->count);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static int first_failure(const struct pool *pool, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < pool->tasks->count; i++) {
		if (!pool->errors[i].code || (rc && rc != -FRAG_EINTERRUPTED))
			continue;
		if (rc && pool->errors[i].code == -FRAG_EINTERRUPTED)
			continue;
		*err = pool->errors[i];
		rc = err->code;
	}
	return rc;
}

int frag_tasks_run(const struct frag_tasks *t, struct frag_error *err)
{
	const uint32_t threads = t->job && t->job->threads ? t->job->threads : frag_processors();
	const uint32_t used = threads < t->count ? threads : t->count;
	struct pool pool = { .tasks = t };
	pthread_t *others = calloc((size_t)used + 1, sizeof(*others));
	uint32_t started = 0;
	int rc;

	pool.errors = calloc((size_t)t->count + 1, sizeof(*pool.errors));
	if (!others || !pool.errors) {
		rc = frag_fail_nomem(err);
		goto out;
	}
	pthread_mutex_init(&pool.lock, NULL);
	while (started + 1 < used
	       && pthread_create(&others[started], NULL, parallel_work, &pool) == 0)
		started++;
	parallel_work(&pool);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(others[i], NULL);
	pthread_mutex_destroy(&pool.lock);
	rc = first_failure(&pool, err);
out:
	free(pool.errors);
	free(others);
	return rc;
}
