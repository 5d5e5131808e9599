/* which_shard.c - which shard a task of an array is, as an option or its scheduler says. */
#include "sweep/which_shard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

const char *const frag_shard_words[] = { "auto", NULL };

/* The variables of a scheduler; NULL: it has none for that. */
struct scheduler {
	const char *index;
	const char *least, *most;       /* of the indexes */
	const char *count;
	const char *step;
	uint64_t usual_least;           /* where none says it */
};

static const struct scheduler schedulers[] = {
	{ .index = "SLURM_ARRAY_TASK_ID", .least = "SLURM_ARRAY_TASK_MIN",
	  .most = "SLURM_ARRAY_TASK_MAX", .count = "SLURM_ARRAY_TASK_COUNT" },
	{ .index = "PBS_ARRAY_INDEX", .count = "PBS_ARRAY_COUNT" },
	{ .index = "LSB_JOBINDEX", .most = "LSB_JOBINDEX_END", .step = "LSB_JOBINDEX_STEP",
	  .usual_least = 1 },
	{ .index = "SGE_TASK_ID", .least = "SGE_TASK_FIRST", .most = "SGE_TASK_LAST",
	  .step = "SGE_TASK_STEPSIZE", .usual_least = 1 },
	{ .index = "AWS_BATCH_JOB_ARRAY_INDEX", .count = "AWS_BATCH_JOB_ARRAY_SIZE" },
	{ .index = "BATCH_TASK_INDEX", .count = "BATCH_TASK_COUNT" },   /* Google Batch */
	{ .index = "JOB_COMPLETION_INDEX" },    /* Kubernetes, which has no count */
	{ .index = NULL },
};

/* SGE sets "undefined" outside of an array. */
static const char *scheduler_get(const char *name)
{
	const char *text = name ? getenv(name) : NULL;

	return text && *text && strcmp(text, "undefined") != 0 ? text : NULL;
}

/* *value stays where the variable is not set; *set may be NULL. */
static int get_number(const char *name, uint64_t *value, bool *set, struct frag_error *err)
{
	const char *text = scheduler_get(name);

	if (set)
		*set = text != NULL;
	if (!text || frag_parse_count(text, strlen(text), value))
		return 0;
	return frag_fail(err, FRAG_EUSAGE, "--shard auto: %s=%.60s: an integer from 0 to 2^53-1 is"
			 " required", name, text);
}

static const struct scheduler *scheduler_find(void)
{
	for (const struct scheduler *s = schedulers; s->index; s++)
		if (scheduler_get(s->index))
			return s;
	return NULL;
}

/* The indexes must have no gaps from minimum to maximum: else some shards would not run. */
static int count_tasks(struct frag_shard *shard, const struct scheduler *s, uint64_t index,
		       struct frag_error *err)
{
	uint64_t least = s->usual_least, most = 0, count = 0, step = 1;
	bool has_most, has_count;
	int rc = get_number(s->least, &least, NULL, err);

	rc = rc ? rc : get_number(s->step, &step, NULL, err);
	rc = rc ? rc : get_number(s->most, &most, &has_most, err);
	rc = rc ? rc : get_number(s->count, &count, &has_count, err);
	if (rc)
		return rc;
	if (!has_most && !has_count)
		return frag_fail(err, FRAG_EUSAGE,
				 "--shard auto: %s is %" PRIu64 ", and nothing says"
				 " how many tasks there are: --shard auto/N does",
				 s->index, index);
	if (!has_count)
		count = most - least + 1;
	if (step != 1 || (has_most && most - least + 1 != count) || index < least
	    || index - least >= count || count > FRAG_SHARDS_MAX)
		return frag_fail(err, FRAG_EUSAGE,
				 "--shard auto: the array of %s has gaps, so that its"
				 " number of tasks is not that of the shards: --shard auto/N says"
				 " that",
				 s->index);
	shard->index = (uint32_t)(index - least);
	shard->count = (uint32_t)count;
	return 0;
}

static int from_scheduler(struct frag_shard *shard, uint64_t count, struct frag_error *err)
{
	const struct scheduler *s = scheduler_find();
	uint64_t index = 0;
	int rc;

	if (!s)
		return frag_fail(err, FRAG_EUSAGE, "--shard auto: none of SLURM_ARRAY_TASK_ID,"
				 " PBS_ARRAY_INDEX, LSB_JOBINDEX, SGE_TASK_ID,"
				 " AWS_BATCH_JOB_ARRAY_INDEX, BATCH_TASK_INDEX and"
				 " JOB_COMPLETION_INDEX is set: this is no task of an array");
	rc = get_number(s->index, &index, NULL, err);
	if (rc)
		return rc;
	shard->from = s->index;
	if (!count)
		return count_tasks(shard, s, index, err);
	shard->index = (uint32_t)(index % count);
	shard->count = (uint32_t)count;
	return 0;
}

int frag_shard_parse(struct frag_shard *shard, const char *text, struct frag_error *err)
{
	const char *slash = strchr(text, '/');
	const size_t length = slash ? (size_t)(slash - text) : strlen(text);
	const bool automatic = length == 4 && memcmp(text, "auto", 4) == 0;
	uint64_t index = 0, count = 0;

	*shard = (struct frag_shard){ .count = 1 };
	if ((slash && (!frag_parse_count(slash + 1, strlen(slash + 1), &count) || !count
		       || count > FRAG_SHARDS_MAX))
	    || (!automatic && (!slash || !frag_parse_count(text, length, &index)
			       || index >= count)))
		return frag_fail(err, FRAG_EUSAGE,
				 "--shard %.60s: I/N is required, with I from 0 to"
				 " N-1 and N up to %d, or auto, or auto/N",
				 text, FRAG_SHARDS_MAX);
	if (automatic)
		return from_scheduler(shard, count, err);
	shard->index = (uint32_t)index;
	shard->count = (uint32_t)count;
	return 0;
}
