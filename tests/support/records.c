/* records.c - records of a test as a source of a trace, and as text of either form. */
#include "support/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct frag_handle records_name(const char *s)
{
	return (struct frag_handle){ .text = s, .number = strlen(s) };
}

struct frag_text records_text(const char *s)
{
	return (struct frag_text){ .text = s, .length = (uint32_t)strlen(s) };
}

static int records_refill(void *state, struct frag_error *err)
{
	struct records *r = state;

	(void)err;
	r->left = r->stretch && r->stretch < r->count - r->at ? r->stretch : r->count - r->at;
	return r->left > 0;
}

static int records_next(void *state, struct frag_record *rec, const char **kind,
			struct frag_error *err)
{
	struct records *r = state;

	(void)kind;
	(void)err;
	if (!r->left)
		return 0;
	r->left--;
	*rec = r->records[r->at++];
	return 1;
}

static bool records_rewind(void *state)
{
	struct records *r = state;

	r->at = r->left = 0;
	return true;
}

static void records_close(void *state)
{
	struct records *r = state;

	r->closed++;
}

/* Names of tests need no escapes. */
static char *put_text(char *p, const char *text, uint64_t length)
{
	return p + sprintf(p, "\"%.*s\"", (int)length, text);
}

static char *put_handle(char *p, const char *name, const struct frag_handle *h)
{
	p += sprintf(p, ",\"%s\":", name);
	return h->text ? put_text(p, h->text, h->number) : p + sprintf(p, "%" PRIu64, h->number);
}

char *records_put_json(char *p, const struct frag_record *rec)
{
	p += sprintf(p, "{\"op\":\"%s\"", frag_op_name(rec->op));
	if (rec->members & FRAG_HAS_ID)
		p = put_handle(p, "id", &rec->id);
	if (rec->members & FRAG_HAS_SIZE)
		p += sprintf(p, ",\"size\":%" PRIu64, rec->size);
	if (rec->members & FRAG_HAS_STREAM)
		p = put_handle(p, "stream", &rec->stream);
	if (rec->members & FRAG_HAS_T)
		p += sprintf(p, ",\"t\":%.*s", (int)rec->t_text.length, rec->t_text.text);
	if (rec->members & FRAG_HAS_TAG) {
		p += sprintf(p, ",\"tag\":");
		p = put_text(p, rec->tag.text, rec->tag.length);
	}
	if (rec->members & FRAG_HAS_DEVICE)
		p += sprintf(p, ",\"device\":%" PRIu64, rec->device);
	if (rec->members & FRAG_HAS_POOL)
		p = put_handle(p, "pool", &rec->pool);
	if (rec->members & FRAG_HAS_PENDING)
		p += sprintf(p, ",\"pending\":%s", rec->pending ? "true" : "false");
	if (rec->members & FRAG_HAS_VALUE && rec->op == FRAG_OP_SET_FRACTION)
		p += sprintf(p, ",\"value\":%.17g", rec->fraction);
	if (rec->members & FRAG_HAS_VALUE && rec->op == FRAG_OP_CONFIGURE) {
		p += sprintf(p, ",\"value\":");
		p = put_text(p, rec->text.text, rec->text.length);
	}
	if (rec->members & FRAG_HAS_NAME) {
		p += sprintf(p, ",\"name\":");
		p = put_text(p, rec->text.text, rec->text.length);
	}
	return p + sprintf(p, "}");
}

const struct frag_source_ops records_source = {
	.form = "records",
	.refill = records_refill,
	.next = records_next,
	.rewind = records_rewind,
	.close = records_close,
};

const struct frag_source_ops records_stream_source = {
	.form = "stream",
	.refill = records_refill,
	.next = records_next,
	.close = records_close,
};
