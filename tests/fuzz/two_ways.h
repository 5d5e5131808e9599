/*
 * two_ways.h - a trace in the lines form, read record by record, which is always the strict
 * scanner, and many records at a time, which recognises the usual ones: both must give
 * the same records, places and messages.
 */
#pragma once

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/reader.h"

#define TWO_WAYS_MANY 32

static void two_ways_must(bool good, const char *what, uint64_t record)
{
	if (good)
		return;
	fprintf(stderr, "read in two ways, record %llu: %s\n", (unsigned long long)record, what);
	abort();
}

/* False where the reader refuses the file as a whole. */
static bool two_ways_open(struct frag_reading *r, const char *path, struct frag_error *err)
{
	const struct frag_log log = { .warn = NULL };
	struct frag_input in;
	int rc = frag_input_open(&in, path, err);

	two_ways_must(rc == 0, "cannot open the input", 0);
	rc = frag_input_fill(&in, 0, err);
	if (rc < 0)
		frag_input_close(&in);
	*r = (struct frag_reading){ .form = "lines" };
	return rc >= 0 && frag_reader_lines.open(r, &in, &log, err) == 0;
}

static bool same_bytes(const char *a, uint64_t a_length, const char *b, uint64_t b_length)
{
	return a_length == b_length && (a_length == 0 || memcmp(a, b, (size_t)a_length) == 0);
}

static bool two_ways_text(struct frag_text a, struct frag_text b)
{
	return same_bytes(a.text, a.length, b.text, b.length);
}

static bool two_ways_handle(struct frag_handle a, struct frag_handle b)
{
	if (!a.text || !b.text)
		return !a.text && !b.text && a.number == b.number;
	return same_bytes(a.text, a.number, b.text, b.number);
}

/* What is wrong with two records of the same place; NULL where they are equal. */
static const char *two_ways_differ(const struct frag_record *a, const struct frag_record *b)
{
	const uint32_t has = a->members;

	if (a->members != b->members || a->op != b->op)
		return "members or op";
	if (has & FRAG_HAS_ID && !two_ways_handle(a->id, b->id))
		return "id";
	if (has & FRAG_HAS_SIZE && a->size != b->size)
		return "size";
	if (has & FRAG_HAS_STREAM && !two_ways_handle(a->stream, b->stream))
		return "stream";
	if (has & FRAG_HAS_POOL && !two_ways_handle(a->pool, b->pool))
		return "pool";
	if (has & FRAG_HAS_DEVICE && a->device != b->device)
		return "device";
	if (has & FRAG_HAS_PENDING && a->pending != b->pending)
		return "pending";
	if (has & FRAG_HAS_T && (memcmp(&a->t, &b->t, sizeof(a->t)) != 0
				 || !two_ways_text(a->t_text, b->t_text)))
		return "t";
	if (has & FRAG_HAS_TAG && !two_ways_text(a->tag, b->tag))
		return "tag";
	if (has & FRAG_HAS_NAME && !two_ways_text(a->text, b->text))
		return "name";
	return NULL;
}

/* Places are asked for at the record itself, and as late as a message would. */
static void two_ways_same(struct frag_reading *one, const struct frag_record *a,
			  struct frag_reading *many, const struct frag_record *b, uint64_t record)
{
	const char *differs = two_ways_differ(a, b);
	char here[512], there[512];

	two_ways_must(!differs, differs, record);
	one->ops->where(one->state, a->at, here, sizeof(here));
	many->ops->where(many->state, b->at, there, sizeof(there));
	two_ways_must(strcmp(here, there) == 0, there, record);
}

/* One stretch of each: 0 where it is used up, or what ended the trace. */
static int two_ways_stretch(struct frag_reading *one, struct frag_reading *many, uint64_t *records)
{
	struct frag_record recs[TWO_WAYS_MANY], rec;
	struct frag_error err = { .code = 0 }, other = { .code = 0 };
	const char *kind, *other_kind;
	uint32_t count;
	int rc, other_rc;

	do {
		kind = other_kind = NULL;
		rc = many->ops->many(many->state, recs, TWO_WAYS_MANY, &count, &kind, &err);
		two_ways_must(rc != 1 || count == TWO_WAYS_MANY, "fewer than were asked for", *records);
		for (uint32_t i = 0; i < count; i++, ++*records) {
			other_rc = one->ops->next(one->state, &rec, &other_kind, &other);
			two_ways_must(other_rc == 1, "a record that is none", *records);
			two_ways_same(one, &rec, many, &recs[i], *records);
		}
		if (rc == 1)
			continue;
		other_rc = one->ops->next(one->state, &rec, &other_kind, &other);
		two_ways_must(rc == other_rc && !kind == !other_kind, "another end", *records);
		two_ways_must(rc == 0 || strcmp(err.message, other.message) == 0, err.message,
			      *records);
		two_ways_must(!kind || strcmp(kind, other_kind) == 0, "another kind", *records);
	} while (rc == 1 || kind);
	return rc;
}

/* How many records there are before the end, or before what is wrong. */
static uint64_t two_ways(const void *data, size_t size)
{
	struct frag_error err = { .code = 0 }, other = { .code = 0 };
	struct frag_reading one, many;
	uint64_t records = 0;
	int fd = memfd_create("trace", MFD_CLOEXEC), rc, other_rc;
	char path[40];
	bool good;

	two_ways_must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "cannot write", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	good = two_ways_open(&one, path, &err);
	two_ways_must(two_ways_open(&many, path, &other) == good, "another header", 0);
	while (good) {
		rc = many.ops->refill(many.state, &err);
		other_rc = one.ops->refill(one.state, &other);
		two_ways_must(rc == other_rc, "another stretch", records);
		two_ways_must(rc >= 0 || strcmp(err.message, other.message) == 0, err.message,
			      records);
		if (rc != 1 || two_ways_stretch(&one, &many, &records))
			break;
	}
	if (good) {
		one.ops->close(one.state);
		many.ops->close(many.state);
	}
	close(fd);
	return records;
}
