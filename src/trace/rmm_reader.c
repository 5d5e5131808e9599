/*
 * rmm_reader.c - the log of RMM's logging_resource_adaptor, read as a trace.
 *
 * The quirks of the log over the years: times with a colon before the microseconds, null as (nil),
 * 0x0 or 0, streams with 0x or without. Times have no date, so they begin again at midnight.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "input/json_scan.h"
#include "trace/csv_lines.h"

#define DAY_US INT64_C(86400000000)

enum { RMM_THREAD, RMM_TIME, RMM_ACTION, RMM_POINTER, RMM_SIZE, RMM_STREAM, RMM_FIELDS };

struct rmm {
	struct frag_csv_file file;
	struct frag_buffered *buffered;
	struct frag_address_map addresses;
	int64_t first, last;    /* microseconds; of the first row, and of the last */
	int64_t days;
	bool any;
};

static bool two_digits(const char *p, int64_t max, int64_t *out)
{
	if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
		return false;
	*out = (p[0] - '0') * 10 + (p[1] - '0');
	return *out <= max;
}

/* HH:MM:SS.ffffff, or with a colon in the point's place: microseconds of the day. */
static bool parse_time(struct frag_text t, int64_t *out)
{
	int64_t hours, minutes, seconds;
	uint64_t micros;

	if (t.length != 15 || t.text[2] != ':' || t.text[5] != ':'
	    || (t.text[8] != '.' && t.text[8] != ':') || !two_digits(t.text, 23, &hours)
	    || !two_digits(t.text + 3, 59, &minutes) || !two_digits(t.text + 6, 60, &seconds)
	    || !frag_parse_count(t.text + 9, 6, &micros))
		return false;
	*out = ((hours * 60 + minutes) * 60 + seconds) * 1000000 + (int64_t)micros;
	return true;
}

/* Hexadecimal, with 0x or without, or a null pointer as printf writes it. */
static bool parse_pointer(struct frag_text t, uint64_t *out)
{
	uint32_t i = t.length > 2 && t.text[0] == '0' && t.text[1] == 'x' ? 2 : 0;

	*out = 0;
	if (frag_text_equals(t, "(nil)"))
		return true;
	if (t.length == 0 || t.length - i > 16)
		return false;
	for (; i < t.length; i++) {
		char c = t.text[i];
		int digit = c >= '0' && c <= '9' ? c - '0'
			  : c >= 'a' && c <= 'f' ? c - 'a' + 10
			  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint64_t)digit;
	}
	return true;
}

/* From the log's first row on; a step back of more than half a day is midnight. */
static double rmm_time_of(struct rmm *r, int64_t micros)
{
	micros += r->days * DAY_US;
	if (!r->any)
		r->first = r->last = micros;
	r->any = true;
	if (micros < r->last - DAY_US / 2) {
		r->days++;
		micros += DAY_US;
	}
	r->last = micros;
	return (double)(micros - r->first);
}

/*
 * Fields are checked in the order of the line, so that the message is about the
 * first that is wrong.
 */
static int rmm_read_row(struct rmm *r, struct frag_text line, struct frag_error *err)
{
	struct frag_text f[RMM_FIELDS];
	uint32_t count = frag_csv_split(line, f, RMM_FIELDS);
	struct frag_row row = { .place = r->file.line, .members = FRAG_ROW_T | FRAG_ROW_STREAM };
	uint64_t thread, pointer;
	int64_t micros;
	bool good;
	int rc;

	if (count != RMM_FIELDS)
		return frag_csv_bad(&r->file, line.text, err, "%u fields where 6 are required ("
			       FRAG_RMM_HEADER ")", count);
	if (!frag_parse_count(f[RMM_THREAD].text, f[RMM_THREAD].length, &thread))
		return frag_csv_wanted(&r->file, f[RMM_THREAD], "a thread's number", err);
	if (!parse_time(f[RMM_TIME], &micros))
		return frag_csv_wanted(&r->file, f[RMM_TIME], "a time (HH:MM:SS.ffffff)", err);
	if (!parse_pointer(f[RMM_POINTER], &pointer))
		return frag_csv_wanted(&r->file, f[RMM_POINTER], "a pointer in hexadecimal digits",
				       err);
	if (!frag_parse_count(f[RMM_SIZE].text, f[RMM_SIZE].length, &row.size))
		return frag_csv_wanted(&r->file, f[RMM_SIZE], "a size from 0 to 2^53-1", err);
	if (!parse_pointer(f[RMM_STREAM], &row.stream) || row.stream >= FRAG_SIZE_LIMIT)
		return frag_csv_wanted(&r->file, f[RMM_STREAM],
				       "a stream in hexadecimal digits, below 2^53", err);
	if (row.stream == 1)    /* cudaStreamLegacy is the null stream's other name */
		row.stream = 0;
	rc = frag_buffered_afford(r->buffered, &r->file.in,
				  r->addresses.count * sizeof(*r->addresses.entries), err);
	if (rc)
		return rc;
	row.t = rmm_time_of(r, micros);
	if (frag_text_equals(f[RMM_ACTION], "allocate")) {
		good = frag_address_map_alloc(&r->addresses, pointer, &row);
	} else if (frag_text_equals(f[RMM_ACTION], "free")) {
		good = frag_address_map_free(&r->addresses, pointer, &row);
	} else if (frag_text_equals(f[RMM_ACTION], "allocate failure")) {
		row.members = FRAG_ROW_T;
		good = frag_buffered_add_oom(r->buffered, &row);
	} else {
		return frag_csv_wanted(&r->file, f[RMM_ACTION],
				  "\"allocate\", \"free\" or \"allocate failure\"", err);
	}
	return good ? 0 : frag_fail_nomem(err);
}

/*
 * The address map ends after the last row: only then is it known what was allocated
 * before the log.
 */
static int read_rows(struct rmm *r, const struct frag_log *log, struct frag_error *err)
{
	struct frag_text line;
	int rc = frag_csv_next_line(&r->file, &line, err);

	if (rc == 1 && !frag_text_equals(line, FRAG_RMM_HEADER))
		return frag_csv_bad(&r->file, line.text, err, "the header " FRAG_RMM_HEADER
			       " is expected here");
	while (rc == 1) {
		rc = frag_csv_next_line(&r->file, &line, err);
		if (rc == 1 && line.length) {
			int bad = rmm_read_row(r, line, err);

			rc = bad ? bad : 1;
		}
	}
	if (rc < 0)
		return rc;
	if (r->buffered->count == 0)
		return frag_fail(err, FRAG_ETRACE, "%s: a header and no rows", r->buffered->path);
	return frag_address_map_end(&r->addresses, 0, log) ? 0 : frag_fail_nomem(err);
}

static int rmm_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		    struct frag_error *err)
{
	struct rmm r = { .file = { .in = *in } };
	int rc;

	r.buffered = frag_buffered_new(in->path, "line");
	if (r.buffered && frag_address_map_init(&r.addresses, r.buffered))
		rc = read_rows(&r, log, err);
	else
		rc = frag_fail_nomem(err);
	frag_address_map_fini(&r.addresses);
	if (!rc)
		rc = frag_buffered_open(out, r.buffered, 1, &r.file.in, err);
	else
		frag_buffered_del(r.buffered);
	frag_input_close(&r.file.in);
	return rc;
}

static enum frag_sniff rmm_sniff(const char *bytes, size_t length)
{
	return frag_sniff_prefix(bytes, length, FRAG_RMM_HEADER, strlen(FRAG_RMM_HEADER));
}

const struct frag_reader frag_reader_rmm = {
	.name = "rmm",
	.sniff = rmm_sniff,
	.open = rmm_open,
};
