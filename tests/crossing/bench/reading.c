/* reading.c - what reading a trace costs, from finding line ends to resolved events. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "crossing/bench/bench.h"
#include "events/resolve.h"

#define AHEAD 32                /* records */

struct pass {
	uint64_t bytes, lines;
	uint64_t read_ns, search_ns;
};

static uint64_t line_ends(const char *p, const char *end)
{
	uint64_t lines = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		lines++;
		p++;
	}
	return lines;
}

/* Through the file by `step` bytes, with both parts timed apart. */
static int walk(struct bench_subject *s, size_t step, struct pass *pass, struct frag_error *err)
{
	int fd = open(s->lines, O_RDONLY);
	ssize_t got = 1;

	*pass = (struct pass){ .bytes = 0 };
	while (fd >= 0 && got > 0) {
		uint64_t begin = bench_now(), middle;

		got = read(fd, s->window, step);
		middle = bench_now();
		if (got > 0) {
			pass->lines += line_ends(s->window, s->window + got);
			pass->bytes += (uint64_t)got;
		}
		pass->read_ns += middle - begin;
		pass->search_ns += bench_now() - middle;
	}
	if (fd < 0 || got < 0)
		frag_fail(err, FRAG_EOUTPUT, "%s: %s", s->lines, strerror(errno));
	if (fd >= 0)
		close(fd);
	return fd < 0 || got < 0 ? -FRAG_EOUTPUT : 0;
}

/* The header's line counts as none. */
static int take_walk(struct bench_subject *s, size_t step, struct pass *pass,
		     struct bench_sample *out, struct frag_error *err)
{
	int rc = walk(s, step, pass, err);

	out->events = s->spec.events;
	s->lines_bytes = pass->bytes;
	return rc ? rc : bench_agree(pass->lines, s->spec.events + 1, "line ends", err);
}

/* The least that any reader of lines must do. The bytes come from memory, not from the cache. */
int bench_bound(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
		struct frag_error *err)
{
	struct pass pass;
	int rc = take_walk(s, BENCH_WINDOW, &pass, out, err);

	(void)m;
	out->ns = pass.search_ns;
	return rc;
}

/* Just the system calls, by as much at a time as the reader asks for. */
int bench_read(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
	       struct frag_error *err)
{
	struct pass pass;
	int rc = take_walk(s, (size_t)256 << 10, &pass, out, err);

	(void)m;
	out->ns = pass.read_ns;
	return rc;
}

/* By as many at a time as a trace takes them. */
static int take_records(struct frag_reading *r, struct frag_record *recs, uint32_t *count,
			struct frag_error *err)
{
	const char *kind;
	int rc = 1;

	if (r->ops->many)
		return r->ops->many(r->state, recs, AHEAD, count, &kind, err);
	for (*count = 0; *count < AHEAD && rc == 1; *count += rc == 1)
		rc = r->ops->next(r->state, &recs[*count], &kind, err);
	return rc;
}

/* Sizes are added up, so that decoding cannot be left out. */
static int drain(struct frag_reading *r, uint64_t *records, uint64_t *bytes,
		 struct frag_error *err)
{
	struct frag_record recs[AHEAD];
	uint32_t count;
	int rc;

	while ((rc = r->ops->refill(r->state, err)) == 1) {
		do {
			rc = take_records(r, recs, &count, err);
			*records += count;
			for (uint32_t i = 0; i < count; i++)
				if (recs[i].members & FRAG_HAS_SIZE)
					*bytes += recs[i].size;
		} while (rc == 1);
		if (rc)
			break;
	}
	return rc;
}

static int decode(const char *path, struct bench_subject *s, struct bench_sample *out,
		  struct frag_error *err)
{
	uint64_t begin = bench_now(), bytes = 0;
	const struct frag_trace_options options = { .lenient = false };
	struct frag_reading r;
	int rc = frag_reading_open(&r, path, &options, err);

	if (rc)
		return rc;
	rc = drain(&r, &out->events, &bytes, err);
	r.ops->close(r.state);
	out->ns = bench_now() - begin;
	rc = rc ? rc : bench_agree(out->events, s->spec.events, "decoded records", err);
	if (!rc && bytes < s->peak)
		rc = frag_fail(err, FRAG_ECHECK, "sizes add up to less than their peak");
	return rc;
}

int bench_decode(const struct bench_measure *m, struct bench_subject *s,
		 struct bench_sample *out, struct frag_error *err)
{
	(void)m;
	return decode(s->lines, s, out, err);
}

int bench_binary(const struct bench_measure *m, struct bench_subject *s,
		 struct bench_sample *out, struct frag_error *err)
{
	(void)m;
	return decode(s->binary, s, out, err);
}

int bench_ids(const struct bench_measure *m, struct bench_subject *s, struct bench_sample *out,
	      struct frag_error *err)
{
	const struct frag_trace_options options = { .lenient = false };
	uint64_t begin = bench_now();
	struct frag_batch batch = { .count = 1 };
	struct frag_trace *trace;
	uint64_t allocs;
	int rc = frag_trace_open(&trace, s->lines, &options, err);

	(void)m;
	if (rc)
		return rc;
	while (!rc && batch.count)
		rc = frag_trace_next(trace, &batch, err);
	out->events = frag_trace_info(trace)->events;
	allocs = frag_trace_info(trace)->allocs;
	frag_trace_close(trace);
	out->ns = bench_now() - begin;
	rc = rc ? rc : bench_agree(out->events, s->spec.events, "resolved events", err);
	return rc ? rc : bench_agree(allocs, s->allocs, "resolved allocs", err);
}
