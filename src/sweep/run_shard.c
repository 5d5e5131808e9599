/* run_shard.c - the runs of a shard, on all processors, and their lines in the shards' files. */
#include "sweep/run_shard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "base/parallel.h"
#include "base/parse.h"
#include "compare/runs.h"
#include "documents/documents.h"
#include "engine/engine.h"
#include "engine/tape_run.h"
#include "fragsim/engine.h"

#define SHARD_BEGIN "shard-"
#define SHARD_END ".ndjson"

/* By errno: what cannot be read, or what there is out of memory for. */
static int fail_read(const char *path, struct frag_error *err)
{
	if (errno == ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, FRAG_ETRACE, "%s: %s", path, strerror(errno));
}

static int bad_line(const struct frag_collection *c, uint32_t file, uint64_t line,
		    const char *words, struct frag_error *err)
{
	return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ": %s", c->file[file], line, words);
}

/* A second line of a run must be equal to the first one. */
static int add_line(struct frag_collection *c, const char *text, const struct frag_collected *at,
		    uint64_t number, struct frag_error *err)
{
	struct frag_run_line line;
	struct frag_collected *run;

	if (!frag_run_line_parse(&line, text, at->length - 1))
		return bad_line(c, at->file, number, "this line is damaged: remove it, and the run"
				" is done again under --resume", err);
	if (line.manifest != c->manifest->id)
		return bad_line(c, at->file, number, "this line is of another sweep than the"
				" manifest in its folder", err);
	if (line.run >= c->manifest->runs)
		return bad_line(c, at->file, number, "the manifest has no run of this number", err);
	run = &c->run[line.run];
	if (run->length && (run->check != line.check || run->length != at->length))
		return frag_fail(err, FRAG_ETRACE, "run %" PRIu32 " is in %s and in %s:%" PRIu64
				 ", and not the same in both", line.run, c->file[run->file],
				 c->file[at->file], number);
	if (!run->length) {
		*run = *at;
		run->check = line.check;
		c->count++;
	}
	return 0;
}

static int shard_results_read_lines(struct frag_collection *c, FILE *f, struct frag_error *err)
{
	struct frag_collected at = { .file = c->file_count - 1 };
	uint64_t number = 1;
	char *text = NULL;
	size_t room = 0;
	ssize_t n = 0;
	int rc = 0;

	while (!rc && (n = getline(&text, &room, f)) > 0 && text[n - 1] == '\n') {
		at.length = (uint32_t)n;
		rc = n > UINT32_MAX ? bad_line(c, at.file, number, "this line is damaged", err)
				    : add_line(c, text, &at, number, err);
		number++;
		at.at += (uint64_t)n;
	}
	/* there is out of memory for a line where it is neither */
	if (!rc && n < 0 && !feof(f))
		rc = fail_read(c->file[at.file], err);
	free(text);
	return rc;
}

static int shard_results_read_file(struct frag_collection *c, char *path, struct frag_error *err)
{
	FILE *f;
	int rc;

	if (!path || !FRAG_GROW(c->file, c->file_capacity, c->file_count)) {
		rc = frag_fail_nomem(err);
	} else {
		c->file[c->file_count++] = path;
		rc = frag_require_regular_file(path, err);
		f = rc ? NULL : fopen(path, "re");
		if (!rc)
			rc = f ? shard_results_read_lines(c, f, err) : fail_read(path, err);
		if (f)
			fclose(f);
		path = NULL;
	}
	free(path);
	return rc;
}

static int is_shard(const struct dirent *e)
{
	const size_t length = strlen(e->d_name), end = sizeof(SHARD_END) - 1;

	return strncmp(e->d_name, SHARD_BEGIN, sizeof(SHARD_BEGIN) - 1) == 0
	       && length > end && strcmp(e->d_name + length - end, SHARD_END) == 0;
}

static int shard_results_by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* By name, so that a message is the same wherever the folder is. */
int frag_collection_read(struct frag_collection *c, const struct frag_manifest *m,
			 const char *folder, struct frag_error *err)
{
	struct dirent **entries = NULL;
	int count, rc = 0;

	*c = (struct frag_collection){ .manifest = m };
	c->run = calloc((size_t)m->runs + 1, sizeof(*c->run));
	if (!c->run)
		return frag_fail_nomem(err);
	count = scandir(folder, &entries, is_shard, shard_results_by_bytes);
	if (count < 0)
		return fail_read(folder, err);
	for (int i = 0; i < count; i++) {
		if (!rc)
			rc = shard_results_read_file(c, frag_sweep_path(folder, entries[i]->d_name),
						     err);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

void frag_collection_fini(struct frag_collection *c)
{
	for (uint32_t i = 0; i < c->file_count; i++)
		free(c->file[i]);
	free(c->file);
	free(c->run);
	*c = (struct frag_collection){ .count = 0 };
}

static int copy_line(const struct frag_collection *c, const struct frag_collected *line, int fd,
		     struct frag_outfile *out, struct frag_error *err)
{
	char *to = frag_outfile_room(out, line->length);
	uint32_t done = 0;

	while (to && done < line->length) {
		const ssize_t n = pread(fd, to + done, line->length - done,
					(off_t)(line->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return frag_fail(err, FRAG_ETRACE, "%s: %s", c->file[line->file],
					 n ? strerror(errno) : "it has become shorter");
		done += (uint32_t)n;
	}
	if (to)
		frag_outfile_used(out, to + done);
	return frag_outfile_status(out, err);
}

int frag_collection_write(void *collection, struct frag_outfile *out, struct frag_error *err)
{
	const struct frag_collection *c = collection;
	int *fd = malloc(((size_t)c->file_count + 1) * sizeof(*fd)), rc = 0;

	if (!fd)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < c->file_count; i++)
		fd[i] = -1;
	for (uint32_t k = 0; k < c->manifest->runs && !rc; k++) {
		const uint32_t file = c->run[k].file;

		if (fd[file] < 0)
			fd[file] = open(c->file[file], O_RDONLY | O_CLOEXEC);
		rc = copy_line(c, &c->run[k], fd[file], out, err);
	}
	for (uint32_t i = 0; i < c->file_count; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	free(fd);
	return rc;
}

/* "5,13-15" of those that are true. */
static char *ranges(const bool *wanted, uint32_t count)
{
	const char *before = "";
	struct frag_memory m;

	if (!frag_memory_open(&m))
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t last = i;

		if (!wanted[i])
			continue;
		while (last + 1 < count && wanted[last + 1])
			last++;
		fprintf(m.f, "%s%" PRIu32, before, i);
		if (last > i)
			fprintf(m.f, "-%" PRIu32, last);
		before = ",";
		i = last;
	}
	return frag_memory_close(&m) ? m.text : NULL;
}

char *frag_collection_missing(const struct frag_collection *c, uint32_t tasks)
{
	const uint32_t count = tasks ? tasks : c->manifest->runs;
	bool *wanted = calloc((size_t)count + 1, sizeof(*wanted));
	char *text = NULL;

	if (!wanted)
		return NULL;
	for (uint32_t k = 0; k < c->manifest->runs; k++)
		wanted[k % count] |= !c->run[k].length;
	text = ranges(wanted, count);
	free(wanted);
	return text;
}

#define SYNC_SECONDS 4          /* a sync takes its time, too: five are promised */

/* The writer holds a lock on the file. */
struct shard_file {
	const char *path;       /* borrowed */
	int fd;
	pthread_t syncing;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool has_thread, ends, fresh;   /* fresh: something is not on the disk */
	int failed;             /* errno of a sync */
};

static int shard_file_fail(const struct shard_file *f, int number, struct frag_error *err)
{
	return frag_fail(err, FRAG_EOUTPUT, "%s: %s", f->path, strerror(number));
}

/* A separate thread syncs the lines, as a run can take longer than a line may stay unsynced. */
static void *sync_now_and_then(void *arg)
{
	struct shard_file *f = arg;
	struct timespec until;
	int number;

	pthread_mutex_lock(&f->lock);
	while (!f->ends) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += SYNC_SECONDS;
		pthread_cond_timedwait(&f->ending, &f->lock, &until);
		if (!f->fresh)
			continue;
		f->fresh = false;
		pthread_mutex_unlock(&f->lock);
		number = fsync(f->fd) == 0 || errno == EINVAL ? 0 : errno;
		pthread_mutex_lock(&f->lock);
		f->failed = f->failed ? f->failed : number;
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* *end: behind the last line end before `size`. Returns 0 or errno. */
static int shard_file_find_end(const struct shard_file *f, off_t size, off_t *end)
{
	char block[4096];

	for (*end = size; *end > 0;) {
		const size_t n = *end < (off_t)sizeof(block) ? (size_t)*end : sizeof(block);
		const ssize_t got = pread(f->fd, block, n, *end - (off_t)n);
		size_t last = n;

		if (got != (ssize_t)n)
			return got < 0 ? errno : EIO;
		while (last > 0 && block[last - 1] != '\n')
			last--;
		*end -= (off_t)(n - last);
		if (last)
			break;
	}
	return 0;
}

/*
 * Removes a torn last line, after all lines before it were read as runs. -FRAG_ETRACE where the
 * last line does not begin as one of a run.
 */
static int shard_cut_torn(struct shard_file *f, struct frag_error *err)
{
	char begin[sizeof(FRAG_RUN_LINE_BEGIN) - 1];
	struct stat now;
	off_t end;
	ssize_t n;
	int number;

	if (fstat(f->fd, &now) != 0)
		return shard_file_fail(f, errno, err);
	number = shard_file_find_end(f, now.st_size, &end);
	if (number)
		return shard_file_fail(f, number, err);
	n = pread(f->fd, begin, sizeof(begin), end);
	if (n > 0 && memcmp(begin, FRAG_RUN_LINE_BEGIN, (size_t)n) != 0)
		return frag_fail(err, FRAG_ETRACE, "%s: the last line is not one of a run: remove"
				 " the line, or the file", f->path);
	return n >= 0 && ftruncate(f->fd, end) == 0 ? 0 : shard_file_fail(f, errno, err);
}

static int shard_file_begin(struct shard_file *f, bool resume, struct frag_error *err)
{
	struct stat now;

	/*
	 * On a file system without locks this succeeds. A lock of fcntl() would be lost when the
	 * reader of the completed runs closes the file.
	 */
	if (flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return frag_fail(err, FRAG_EUSAGE, "%s: another fragsim writes this shard now",
				 f->path);
	if (fstat(f->fd, &now) != 0)
		return shard_file_fail(f, errno, err);
	if (!S_ISREG(now.st_mode))
		return frag_fail(err, FRAG_EUSAGE, "%s: it is no file", f->path);
	if (now.st_size && !resume)
		return frag_fail(err, FRAG_EUSAGE, "%s: runs are there already: --resume goes on"
				 " with them", f->path);
	return 0;
}

/* Not resume: the file must be empty, or not exist. */
static int shard_open(struct shard_file *f, const char *path, bool resume, struct frag_error *err)
{
	int rc;

	*f = (struct shard_file){ .path = path };
	f->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (f->fd < 0)
		return frag_fail(err, FRAG_EOUTPUT, "%s: cannot be written: %s", path,
				 strerror(errno));
	rc = shard_file_begin(f, resume, err);
	if (rc) {
		close(f->fd);
		return rc;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ending, NULL);
	f->has_thread = pthread_create(&f->syncing, NULL, sync_now_and_then, f) == 0;
	return 0;
}

static int shard_file_append(struct shard_file *f, const char *line, size_t length)
{
	const off_t before = lseek(f->fd, 0, SEEK_END);
	size_t done = 0;

	while (done < length) {
		const ssize_t n = write(f->fd, line + done, length - done);
		const int number = errno;

		if (n < 0 && number == EINTR)
			continue;
		if (n < 0) {
			/* a torn line within the file would be a damaged one */
			if (before < 0 || ftruncate(f->fd, before) != 0)
				return number;
			return number;
		}
		done += (size_t)n;
	}
	return 0;
}

/* From any thread. Of a failure nothing is left. -FRAG_EOUTPUT */
static int shard_append(struct shard_file *f, const char *line, size_t length,
			struct frag_error *err)
{
	int number;

	pthread_mutex_lock(&f->lock);
	number = f->failed ? f->failed : shard_file_append(f, line, length);
	/* once a line could not be written, none comes behind it */
	f->failed = number;
	f->fresh = true;
	if (!number && !f->has_thread && fsync(f->fd) != 0 && errno != EINVAL)
		number = errno;
	pthread_mutex_unlock(&f->lock);
	return number ? shard_file_fail(f, number, err) : 0;
}

/* All is on the disk, or -FRAG_EOUTPUT. */
static int shard_close(struct shard_file *f, struct frag_error *err)
{
	int number;

	pthread_mutex_lock(&f->lock);
	f->ends = true;
	pthread_cond_signal(&f->ending);
	pthread_mutex_unlock(&f->lock);
	if (f->has_thread)
		pthread_join(f->syncing, NULL);
	number = f->failed;
	if (!number && fsync(f->fd) != 0 && errno != EINVAL)
		number = errno;
	if (close(f->fd) != 0 && !number)
		number = errno;
	pthread_cond_destroy(&f->ending);
	pthread_mutex_destroy(&f->lock);
	return number ? shard_file_fail(f, number, err) : 0;
}

/* The runs ------------------------------------------------------------------- */

/* What run k is made of: indexes. */
struct manifest_run {
	uint32_t trace, policy, total;
};

/* Of a trace: how many of its runs are still to be done, and how many were. */
struct state {
	pthread_mutex_t lock;
	uint32_t left, done;
};

struct batch {
	struct frag_sweep_plan *p;
	struct frag_shard_run *o;
	struct shard_file out;
	struct state *states;           /* one a trace */
	uint32_t *queue;                /* runs, in the order in which they are begun */
	uint32_t count;
	struct frag_error failure;      /* of the first run whose policy failed; code 0: none */
	uint32_t failed;                /* this run */
};

static int check_source(const struct frag_manifest_trace *is, const struct frag_trace_info *info,
			struct frag_error *err)
{
	if (info->content == is->content && info->events == is->events)
		return 0;
	return frag_fail(err, FRAG_ETRACE, "%s: it is not the trace of the manifest: its content is"
			 " %016" PRIx64 ", and was %016" PRIx64, is->path, info->content,
			 is->content);
}

/* The first thread reads the trace; the others wait for it. */
static int need_source(struct batch *b, uint32_t trace, struct frag_error *err)
{
	struct frag_source *source = &b->p->sources[trace];
	int rc = 0;

	pthread_mutex_lock(&b->states[trace].lock);
	if (!source->tape) {
		rc = frag_source_open(b->p, trace, err);
		if (rc)
			frag_source_close(source);
	}
	if (!rc)
		rc = check_source(&b->p->manifest.trace[trace], frag_tape_info(source->tape), err);
	pthread_mutex_unlock(&b->states[trace].lock);
	return rc;
}

static void leave_source(struct batch *b, uint32_t trace, bool done)
{
	pthread_mutex_lock(&b->states[trace].lock);
	b->states[trace].done += done;
	if (--b->states[trace].left == 0)
		frag_source_close(&b->p->sources[trace]);
	pthread_mutex_unlock(&b->states[trace].lock);
}

/* Simulates one run of the manifest on the tape of its trace. */
static int run_shard_simulate(const struct batch *b, const struct manifest_run *run,
			      struct frag_sim **sim, struct frag_error *err)
{
	const struct frag_tape *tape = b->p->sources[run->trace].tape;
	const struct frag_trace_info *info = frag_tape_info(tape);
	const uint64_t total = b->p->manifest.total[run->total];
	struct frag_devices devices;
	struct frag_sim_options options = { .level = FRAG_LEVEL_ALL };
	int rc = frag_devices_copy(&devices, info->devices, info->device_count, err);

	if (!rc && total != UINT64_MAX) {
		frag_devices_override(&devices, total, UINT64_MAX, UINT64_MAX, UINT64_MAX);
		rc = frag_devices_have_room(&devices, err);
	}
	options.devices = devices.figures;
	/* a run that has begun completes */
	rc = rc ? rc : frag_tape_run(sim, &b->p->choices[run->policy], tape, &options,
				     &(struct frag_job){ .stop = NULL }, err);
	frag_devices_fini(&devices);
	return rc;
}

/* Copies the results of one run, a row for each device. */
static int run_shard_keep_runs(struct frag_run_set *set, const struct frag_manifest_trace *trace,
			       struct frag_sim *sim, struct frag_error *err)
{
	struct frag_runs *runs = frag_run_set_add(set);
	uint32_t devices;
	const struct frag_result *results = frag_sim_results(sim, false, &devices);
	char content[17];

	if (!runs)
		return frag_fail_nomem(err);
	snprintf(content, sizeof(content), "%016" PRIx64, trace->content);
	runs->path = strdup(trace->path);
	runs->content = strdup(content);
	runs->events = trace->events;
	runs->allocs = trace->allocs;
	runs->frees = trace->frees;
	runs->complete = true;
	if (!runs->path || !runs->content)
		return frag_fail_nomem(err);
	for (uint32_t d = 0; d < devices; d++) {
		struct frag_run *run = frag_runs_add(runs);

		if (!run || !frag_run_keep(run, &results[d]))
			return frag_fail_nomem(err);
	}
	return 0;
}

static int write_run(struct batch *b, uint32_t k, const struct manifest_run *run,
		     struct frag_sim *sim, struct frag_error *err)
{
	const struct frag_manifest *m = &b->p->manifest;
	struct frag_run_set set = { .count = 0 };
	char *line = NULL;
	size_t length = 0;
	int rc = run_shard_keep_runs(&set, &m->trace[run->trace], sim, err);

	if (!rc)
		set.trace[0].scope = frag_trace_info(b->p->sources[run->trace].trace)->scope;
	rc = rc ? rc : frag_run_line_write(&set.trace[0], k, m->id, m->policy[run->policy],
					   m->total[run->total], &line, &length, err);
	rc = rc ? rc : shard_append(&b->out, line, length, err);
	free(line);
	frag_run_set_fini(&set);
	return rc;
}

/* The run is written as one that failed, and the others go on; the error is returned at the end. */
static void note_failure(struct batch *b, uint32_t k, struct frag_sim *sim,
			 const struct frag_error *why)
{
	sim->failure = *why;
	pthread_mutex_lock(&b->out.lock);
	if (!b->failure.code || k < b->failed) {
		b->failure = *why;
		b->failed = k;
	}
	pthread_mutex_unlock(&b->out.lock);
}

/* Messages about a trace or a file contain its path; messages about a policy do not. */
static int do_run(struct batch *b, uint32_t k, struct frag_error *err)
{
	const struct frag_manifest *m = &b->p->manifest;
	const struct manifest_run run = {
		.trace = k / m->total_count / m->policy_count,
		.policy = k / m->total_count % m->policy_count, .total = k % m->total_count,
	};
	struct frag_sim *sim = NULL;
	struct frag_error why = { .code = 0 };
	int rc = need_source(b, run.trace, err);

	if (rc)
		return rc;
	rc = run_shard_simulate(b, &run, &sim, &why);
	if (rc)
		rc = frag_fail(err, (enum frag_error_code) - rc, "run %" PRIu32 " (%.300s under"
			       " %.300s): %.400s", k, m->trace[run.trace].path,
			       m->policy[run.policy], why.message);
	if (rc == -FRAG_EPOLICY && sim) {
		note_failure(b, k, sim, err);
		rc = 0;
	}
	rc = rc ? rc : write_run(b, k, &run, sim, err);
	frag_sim_del(sim);
	leave_source(b, run.trace, rc == 0);
	return rc;
}

static int run_shard_work(void *ctx, uint32_t index, struct frag_error *err)
{
	struct batch *b = ctx;

	const int rc = frag_job_check(&b->o->job, err);

	return rc ? rc : do_run(b, b->queue[index], err);
}

/* The traces, the longest first; of equals the one that was named first. */
static uint32_t *order_traces(const struct frag_manifest *m)
{
	uint32_t *order = calloc((size_t)m->trace_count + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < m->trace_count; i++) {
		uint32_t at = i;

		while (at > 0 && m->trace[order[at - 1]].events < m->trace[i].events) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
	return order;
}

/*
 * The runs of the shard that are not there yet, trace by trace. Traces that are in memory and have
 * no such run are released now.
 */
static void fill_queue(struct batch *b, const uint32_t *order, const struct frag_collection *there)
{
	const struct frag_manifest *m = &b->p->manifest;
	const uint32_t each = m->policy_count * m->total_count;

	for (uint32_t i = 0; i < m->trace_count; i++) {
		const uint32_t first = order[i] * each;

		for (uint32_t k = first; k < first + each; k++) {
			if (k % b->o->shard.count != b->o->shard.index)
				continue;
			b->o->mine++;
			if (there->run && there->run[k].length) {
				b->o->before++;
				continue;
			}
			b->queue[b->count++] = k;
			b->states[order[i]].left++;
		}
		if (!b->states[order[i]].left)
			frag_source_close(&b->p->sources[order[i]]);
	}
}

/* Queues the runs, and simulates them on all threads. */
static int run_queue(struct batch *b, const struct frag_collection *there, struct frag_error *err)
{
	const struct frag_manifest *m = &b->p->manifest;
	struct frag_tasks tasks = {
		.job = &b->o->job, .what = "runs", .task = run_shard_work, .ctx = b,
	};
	uint32_t *order = order_traces(m);
	int rc = 0;

	b->states = calloc((size_t)m->trace_count + 1, sizeof(*b->states));
	b->queue = calloc((size_t)m->runs + 1, sizeof(*b->queue));
	if (!order || !b->states || !b->queue)
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < m->trace_count && !rc; i++)
		pthread_mutex_init(&b->states[i].lock, NULL);
	if (!rc) {
		fill_queue(b, order, there);
		tasks.count = b->count;
		rc = frag_tasks_run(&tasks, err);
		for (uint32_t i = 0; i < m->trace_count; i++) {
			b->o->finished += b->states[i].done;
			pthread_mutex_destroy(&b->states[i].lock);
		}
	}
	free(order);
	free(b->states);
	free(b->queue);
	return rc;
}

/* A run that another shard has completed is not simulated again. */
int frag_shard_run(struct frag_shard_run *o, struct frag_sweep_plan *p, struct frag_error *err)
{
	struct frag_collection there = { .count = 0 };
	struct batch b = { .o = o, .p = p };
	struct frag_error closing;
	char name[80];
	int rc, closed;

	snprintf(name, sizeof(name), SHARD_BEGIN "%" PRIu32 "-of-%" PRIu32 SHARD_END,
		 o->shard.index, o->shard.count);
	o->path = frag_sweep_path(p->folder, name);
	rc = o->path ? shard_open(&b.out, o->path, o->resume, err) : frag_fail_nomem(err);
	if (rc)
		return rc;
	if (o->resume) {
		rc = frag_collection_read(&there, &p->manifest, p->folder, err);
		rc = rc ? rc : shard_cut_torn(&b.out, err);
	}
	/* one line shows how far it is, and it counts runs */
	p->progress = NULL;
	rc = rc ? rc : run_queue(&b, &there, err);
	o->ended = !rc || rc == -FRAG_EINTERRUPTED;
	frag_collection_fini(&there);
	closed = shard_close(&b.out, &closing);
	if (!rc && !closed && b.failure.code)
		rc = frag_fail(err, FRAG_EPOLICY, "%s", b.failure.message);
	if (!closed || !o->ended)
		return rc;
	*err = closing;
	return closed;
}

/* Which shard a task of an array is, as its scheduler says ---------------------- */

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
