/*
 * test_trace.c - one door for all events: records of a program and the same as
 * text, in both forms and however packed, give the same events in batches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/pack.h"
#include "support/random.h"
#include "support/records.h"
#include "support/unit.h"
#include "input/input.h"

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)
#define COUNT 8000              /* as text some windows long */
#define BATCH_MAX 1000000

static const struct frag_device_figures two_devices[] = {
	{ .name = (char *)(uintptr_t)"first", .total = 1 << 20, .context = 5, .granularity = 512 },
	{ .total = 0, .other = 7, .granularity = 2 << 20 },
};

static const char header[] =
	"\"format\":\"fragsim-trace\",\"version\":1,\"devices\":[{\"name\":\"first\",\"total_bytes\":"
	"\"1M\",\"context_bytes\":5,\"granularity_bytes\":512},{\"other_bytes\":7}]";

/* Warnings of a trace, one after the other. */
struct heard {
	char text[2000];
	uint32_t lines;
};

static void hear(void *ctx, const char *message)
{
	struct heard *h = ctx;
	size_t n = strlen(h->text);

	snprintf(h->text + n, sizeof(h->text) - n, "%s\n", message);
	h->lines++;
}

static struct frag_trace_options options_of(bool lenient, struct heard *heard)
{
	return (struct frag_trace_options){
		.lenient = lenient, .log = { .warn = heard ? hear : NULL, .ctx = heard },
	};
}

static struct frag_handle random_handle(uint64_t *random, uint64_t max)
{
	static const char *const names[] = { "0", "1", "0x7f00", "a", "b", "main", "", "c10" };
	uint64_t which = random_below(random, max);

	return which % 3 ? records_number(which) : records_name(names[which % LENGTH(names)]);
}

static struct frag_record random_record(uint64_t *random)
{
	static const char *const times[] = { "0", "1.5", "2e1", "-3.25", "12345.678" };
	static const char *const tags[] = { "conv1.weight", "x", "", "a longer tag of a block" };
	struct frag_record rec = { .members = FRAG_HAS_OP };
	uint64_t what = random_below(random, 40);

	rec.op = what < 16 ? FRAG_OP_ALLOC : what < 30 ? FRAG_OP_FREE
	       : what < 32 ? FRAG_OP_COMPLETE : what < 35 ? FRAG_OP_RECORD_STREAM
	       : (enum frag_op)(FRAG_OP_SYNC + what - 35);
	rec.id = random_handle(random, 90);
	rec.size = random_size(random, 50);
	rec.stream = random_handle(random, 6);
	rec.pool = random_handle(random, 4);
	rec.device = random_below(random, 2);
	rec.pending = random_below(random, 2);
	rec.fraction = 0.25 * (double)random_below(random, 5);
	rec.tag = records_text(tags[random_below(random, LENGTH(tags))]);
	rec.text = records_text(random_below(random, 2) ? "step" : "max_split_size_mb:20");
	rec.t_text = records_text(times[random_below(random, LENGTH(times))]);
	rec.t = strtod(rec.t_text.text, NULL);
	if (rec.op <= FRAG_OP_RECORD_STREAM)
		rec.members |= FRAG_HAS_ID;
	if (rec.op == FRAG_OP_ALLOC)
		rec.members |= FRAG_HAS_SIZE | (random_u64(random) & (FRAG_HAS_STREAM | FRAG_HAS_POOL));
	if (rec.op == FRAG_OP_FREE)
		rec.members |= random_u64(random) & random_u64(random) & FRAG_HAS_PENDING;
	if (rec.op == FRAG_OP_RECORD_STREAM || (rec.op == FRAG_OP_SYNC && what % 2))
		rec.members |= FRAG_HAS_STREAM;
	if (rec.op == FRAG_OP_SET_FRACTION || rec.op == FRAG_OP_CONFIGURE)
		rec.members |= FRAG_HAS_VALUE;
	if (rec.op == FRAG_OP_MARK)
		rec.members |= FRAG_HAS_NAME;
	rec.members |= random_u64(random) & (FRAG_HAS_T | FRAG_HAS_TAG);
	if (rec.op == FRAG_OP_ALLOC || rec.op == FRAG_OP_SYNC)
		rec.members |= random_u64(random) & FRAG_HAS_DEVICE;
	return rec;
}

static struct frag_record *random_records(uint64_t seed)
{
	struct frag_record *records = calloc(COUNT, sizeof(*records));

	assert_non_null(records);
	for (uint32_t i = 0; i < COUNT; i++)
		records[i] = random_record(&seed);
	return records;
}

static void dump_event(FILE *out, const struct frag_trace *t, const struct frag_event *e)
{
	struct frag_text tag = frag_symbols_tag(frag_trace_symbols(t), e->tag);

	fprintf(out, "%" PRIu64 " %s %x slot %u bytes %" PRIu64 " device %u stream %u pool %u",
		e->step, frag_op_name((enum frag_op)e->op), e->members, e->slot, e->bytes,
		e->device, e->stream, e->pool);
	fprintf(out, " tag %.*s waits %d fraction %a", (int)tag.length, tag.text ? tag.text : "",
		e->waits, e->fraction);
	if (e->members & FRAG_HAS_ID)
		fprintf(out, " id %.*s/%" PRIu64, e->id.text ? (int)e->id.number : 0,
			e->id.text ? e->id.text : "", e->id.number);
	if (e->members & FRAG_HAS_T)
		fprintf(out, " t %a %.*s", e->t, (int)e->t_text.length, e->t_text.text);
	if (e->members & (FRAG_HAS_NAME | FRAG_HAS_VALUE) && e->op != FRAG_OP_SET_FRACTION)
		fprintf(out, " text %.*s", (int)e->text.length, e->text.text);
	for (uint32_t i = 0; i < e->ended_count; i++)
		fprintf(out, " ended %u/%" PRIu64, e->ended[i].slot, e->ended[i].synced);
	fprintf(out, "\n");
}

/* All events in words, for free(); closes the trace. *info: as it was at the end. */
static char *read_all(struct frag_trace *t, uint32_t batch_max, struct frag_trace_info *info)
{
	struct frag_batch batch;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	do {
		assert_int_equal(frag_trace_next(t, &batch, NULL), 0);
		assert_true(batch.count <= batch_max);
		for (uint32_t i = 0; i < batch.count; i++)
			dump_event(out, t, &batch.events[i]);
	} while (batch.count);
	assert_int_equal(frag_trace_next(t, &batch, NULL), 0);
	assert_int_equal(batch.count, 0);       /* the end stays the end */
	*info = *frag_trace_info(t);
	assert_true(info->whole);
	fclose(out);
	frag_trace_close(t);
	return text;
}

static char *read_records(const struct frag_record *records, uint32_t count, uint32_t stretch,
			  bool lenient, struct frag_trace_info *info)
{
	struct records source = { .records = records, .count = count, .stretch = stretch };
	const struct frag_trace_options options = options_of(lenient, NULL);
	struct frag_trace *t;
	char *text;

	assert_int_equal(frag_trace_from(&t, &records_source, &source, two_devices, 2, &options,
					 NULL), 0);
	assert_true(frag_trace_is_stream(t));
	text = read_all(t, stretch ? stretch : BATCH_MAX, info);
	assert_string_equal(info->form, "records");
	assert_int_equal(source.closed, 1);
	return text;
}

static char *read_file(const char *path, bool lenient, struct frag_trace_info *info)
{
	const struct frag_trace_options options = options_of(lenient, NULL);
	struct frag_trace *t;

	assert_int_equal(frag_trace_open(&t, path, &options, NULL), 0);
	assert_false(frag_trace_is_stream(t));
	assert_string_equal(frag_trace_info(t)->path, path);
	assert_int_equal(frag_trace_info(t)->device_count, 2);
	for (uint32_t d = 0; d < 2; d++) {
		const struct frag_device_figures *f = &frag_trace_info(t)->devices[d];

		assert_true(f->total == two_devices[d].total
			    && f->context == two_devices[d].context
			    && f->other == two_devices[d].other
			    && f->granularity == two_devices[d].granularity);
		assert_int_equal(!f->name, !two_devices[d].name);
	}
	return read_all(t, BATCH_MAX, info);
}

enum style { LINES, CRLF, OBJECT, OBJECT_HEADER_LAST, STYLES };

/* The records as text in a file; its length. */
static size_t write_trace(char *text, enum style style, const struct frag_record *records,
			  uint32_t count)
{
	const char *end = style == CRLF ? "\r\n \t\r\n" : "\n";
	char *p = text;

	if (style == OBJECT)
		p += sprintf(p, "{%s,\"events\":[", header);
	else if (style == OBJECT_HEADER_LAST)
		p += sprintf(p, "{\"events\" : [");
	else
		p += sprintf(p, "{%s}%s", header, end);
	for (uint32_t i = 0; i < count; i++) {
		if (i && style >= OBJECT)
			p += sprintf(p, i % 5 ? "," : " ,\n ");
		p = records_put_json(p, &records[i]);
		/* the last line needs no end */
		if (style < OBJECT && i + 1 < count)
			p += sprintf(p, "%s", end);
	}
	if (style == OBJECT)
		p += sprintf(p, "]}");
	else if (style == OBJECT_HEADER_LAST)
		p += sprintf(p, "],%s}\n", header);
	return (size_t)(p - text);
}

static void test_same_events(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = malloc(RECORDS_ROOM * (COUNT + 2));
	char *packed = malloc(PACK_ROOM(RECORDS_ROOM * (COUNT + 2)));

	assert_true(text && packed);
	for (uint64_t seed = 0; seed < 2; seed++) {
		static const uint32_t stretches[] = { 1, 7, 1024, 5000 };
		struct frag_record *records = random_records(seed);
		struct frag_trace_info want, got;
		char *events = read_records(records, COUNT, 0, true, &want), *others;

		assert_true(want.events > COUNT / 4 && want.skipped > 0);
		assert_true(want.events + want.skipped == COUNT);
		for (uint32_t i = 0; i < LENGTH(stretches); i++) {
			others = read_records(records, COUNT, stretches[i], true, &got);
			assert_string_equal(others, events);
			assert_true(got.content == want.content);
			free(others);
		}
		for (int style = 0; style < STYLES; style++) {
			enum pack kind = (enum pack)((style + (int)seed) % PACKS);
			size_t n = write_trace(text, (enum style)style, records, COUNT);

			files_write(path, packed, pack(kind, packed, text, n));
			others = read_file(path, true, &got);
			assert_string_equal(others, events);
			assert_string_equal(got.form, style < OBJECT ? "lines" : "object");
			assert_true(got.content == want.content && got.events == want.events
				    && got.allocs == want.allocs && got.frees == want.frees
				    && got.skipped == want.skipped);
			assert_true(got.bytes == got.total_bytes && got.bytes > 0);
			free(others);
		}
		free(events);
		free(records);
	}
	free(packed);
	free(text);
}

enum slot_state { UNUSED, LIVE, WAITING };

static void check_event(enum slot_state *slots, const struct frag_event *e, uint64_t *step)
{
	assert_true(e->step >= *step);
	*step = e->step + 1;
	if (e->op == FRAG_OP_ALLOC) {
		assert_int_equal(slots[e->slot], UNUSED);
		slots[e->slot] = LIVE;
	} else if (e->op == FRAG_OP_FREE) {
		assert_int_equal(slots[e->slot], LIVE);
		slots[e->slot] = e->waits ? WAITING : UNUSED;
	} else if (e->op == FRAG_OP_RECORD_STREAM) {
		assert_int_equal(slots[e->slot], LIVE);
	} else if (e->op != FRAG_OP_COMPLETE && e->op != FRAG_OP_SYNC) {
		assert_int_equal(e->ended_count, 0);
	}
	for (uint32_t i = 0; i < e->ended_count; i++) {
		assert_int_equal(slots[e->ended[i].slot], WAITING);
		assert_true(e->ended[i].synced <= e->step || e->ended[i].synced == FRAG_NEVER);
		slots[e->ended[i].slot] = UNUSED;
	}
}

/* A slot lives, waits, and is used again only when it has ended: over all batches. */
static void test_lives_of_slots(void **state)
{
	(void)state;
	for (uint64_t seed = 10; seed < 15; seed++) {
		struct frag_record *records = random_records(seed);
		struct records source = { .records = records, .count = COUNT, .stretch = 3000 };
		const struct frag_trace_options options = options_of(true, NULL);
		enum slot_state *slots = calloc(COUNT, sizeof(*slots));
		struct frag_batch batch;
		struct frag_trace *t;
		uint64_t step = 0;

		assert_non_null(slots);
		assert_int_equal(frag_trace_from(&t, &records_source, &source, two_devices, 2,
						 &options, NULL), 0);
		do {
			assert_int_equal(frag_trace_next(t, &batch, NULL), 0);
			for (uint32_t i = 0; i < batch.count; i++)
				check_event(slots, &batch.events[i], &step);
		} while (batch.count);
		frag_trace_close(t);
		free(slots);
		free(records);
	}
}

static const struct frag_record few[] = {
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE, .op = FRAG_OP_ALLOC,
	  .id = { .number = 1 }, .size = 10 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE, .op = FRAG_OP_ALLOC,
	  .id = { .number = 1 }, .size = 20 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE, .id = { .number = 5 } },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE, .id = { .number = 1 } },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE, .id = { .number = 1 } },
};

/* Strict: the first bad event is an error, told with file, place and step. */
static void test_strict(void **state)
{
	const char *path = files_path(state, "trace");
	const struct frag_trace_options options = options_of(false, NULL);
	char text[4096], want[4600];
	struct frag_trace *t;
	struct frag_batch batch;
	struct frag_error err;

	files_write(path, text, write_trace(text, LINES, few, LENGTH(few)));
	assert_int_equal(frag_trace_open(&t, path, &options, &err), 0);
	assert_int_equal(frag_trace_next(t, &batch, &err), -FRAG_ETRACE);
	snprintf(want, sizeof(want), "%s:3:1: event 1: alloc of id 1, which is live since event 0",
		 path);
	assert_string_equal(err.message, want);
	frag_trace_close(t);
	frag_trace_close(NULL);
}

/* Lenient: left out and counted, each kind told once; steps count them too. */
static void test_lenient(void **state)
{
	const char *path = files_path(state, "trace");
	struct heard heard = { .lines = 0 };
	const struct frag_trace_options options = options_of(true, &heard);
	struct frag_trace_info info;
	struct frag_trace *t;
	char text[4096];
	char *events;
	size_t n = write_trace(text, LINES, few, LENGTH(few));

	n += (size_t)sprintf(text + n, "\n{\"op\":\"jump\"}\n{\"op\":\"sync\",\"device\":2}\n"
			     "{\"op\":\"jump\"}\n{\"op\":\"sync\"}\n");
	files_write(path, text, n);
	assert_int_equal(frag_trace_open(&t, path, &options, NULL), 0);
	events = read_all(t, BATCH_MAX, &info);
	assert_non_null(strstr(events, "3 free "));
	assert_non_null(strstr(events, "8 sync "));
	assert_true(info.events == 3 && info.skipped == 6 && info.allocs == 1 && info.frees == 1);
	assert_int_equal(heard.lines, 4);
	assert_non_null(strstr(heard.text, "left out 1 event: an alloc of a live id; the first: "));
	assert_non_null(strstr(heard.text, "left out 2 events: an id that is not live; "));
	assert_non_null(strstr(heard.text, "left out 2 events: an unknown op; "));
	assert_non_null(strstr(heard.text, "left out 1 event: a device that does not exist; "));
	free(events);
}

static void test_time_backwards(void **state)
{
	static const double times[] = { 1, 2, 2, 1.5, 3, 0 };
	struct frag_record records[LENGTH(times)];
	struct records source = { .records = records, .count = LENGTH(times) };
	struct heard heard = { .lines = 0 };
	const struct frag_trace_options options = options_of(false, &heard);
	struct frag_trace_info info;
	struct frag_trace *t;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(times); i++)
		records[i] = (struct frag_record){
			.members = FRAG_HAS_OP | FRAG_HAS_T, .op = FRAG_OP_SYNC, .t = times[i],
			.t_text = { "0", 1 },
		};
	assert_int_equal(frag_trace_from(&t, &records_source, &source, two_devices, 2, &options,
					 NULL), 0);
	free(read_all(t, BATCH_MAX, &info));
	assert_true(info.events == LENGTH(times));
	assert_int_equal(heard.lines, 1);
	assert_non_null(strstr(heard.text, "event 3 "));
}

/* A source that fails: with a kind it can go on, without one it cannot. */
struct failing {
	uint32_t at;
	const char *kind;
};

static int failing_refill(void *state, struct frag_error *err)
{
	struct failing *f = state;

	(void)err;
	return f->at < 3;
}

static int failing_next(void *state, struct frag_record *rec, const char **kind,
			struct frag_error *err)
{
	struct failing *f = state;

	if (f->at == 3)
		return 0;
	if (++f->at == 2) {
		*kind = f->kind;
		return frag_fail(err, FRAG_ETRACE, "bad here");
	}
	*rec = (struct frag_record){ .members = FRAG_HAS_OP, .op = FRAG_OP_SYNC };
	return 1;
}

static void test_failing_source(void **state)
{
	static const struct frag_source_ops ops = {
		.form = "failing", .refill = failing_refill, .next = failing_next,
	};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct failing source = { .kind = i & 1 ? "a bad one" : NULL };
		const struct frag_trace_options options = options_of(i & 2, NULL);
		struct frag_error err;
		struct frag_batch batch;
		struct frag_trace *t;

		assert_int_equal(frag_trace_from(&t, &ops, &source, two_devices, 1, &options,
						 NULL), 0);
		if (i == 3) {
			assert_int_equal(frag_trace_next(t, &batch, &err), 0);
			assert_int_equal(batch.count, 2);
			assert_true(batch.events[1].step == 2);
		} else {
			assert_int_equal(frag_trace_next(t, &batch, &err), -FRAG_ETRACE);
			assert_string_equal(err.message, "bad here");
		}
		frag_trace_close(t);
	}
}

/* Members behind the events, wherever the window ends among them. */
static void test_tail_at_the_border(void **state)
{
	const char *path = files_path(state, "trace");
	char *text = malloc(FRAG_WINDOW_FIRST + 1000), *want = NULL;
	char tail[1000];
	size_t length = (size_t)sprintf(tail, "],\"meta\":{\"a\":[1,\"\\u00e9\"]},%s}", header);
	struct frag_trace_info info;

	assert_non_null(text);
	for (size_t before = 0; before <= length; before++) {
		size_t n = (size_t)sprintf(text, "{\"events\":[{\"op\":\"sync\"}");
		char *events;

		memset(text + n, ' ', FRAG_WINDOW_FIRST);
		memcpy(text + FRAG_WINDOW_FIRST - before, tail, length);
		files_write(path, text, FRAG_WINDOW_FIRST - before + length);
		events = read_file(path, false, &info);
		assert_true(info.events == 1);
		if (want) {
			assert_string_equal(events, want);
			free(events);
		} else {
			want = events;
		}
	}
	free(want);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_same_events),
		cmocka_unit_test(test_lives_of_slots),
		FILES(test_strict),
		FILES(test_lenient),
		cmocka_unit_test(test_time_backwards),
		cmocka_unit_test(test_failing_source),
		FILES(test_tail_at_the_border),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
