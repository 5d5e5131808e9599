/* shard_results.c - the lines of completed runs in the files of all shards: read, merged, missing. */
#include "sweep/shard_results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "documents/documents.h"

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
	const size_t length = strlen(e->d_name), end = sizeof(FRAG_SHARD_END) - 1;

	return strncmp(e->d_name, FRAG_SHARD_BEGIN, sizeof(FRAG_SHARD_BEGIN) - 1) == 0
	       && length > end && strcmp(e->d_name + length - end, FRAG_SHARD_END) == 0;
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
