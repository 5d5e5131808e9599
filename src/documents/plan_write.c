/* plan_write.c - a plan as a file, and what fragsim plan found, as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "documents/document_head.h"
#include "documents/documents.h"
#include "documents/fit_members.h"

/* Room for a buffer's line but for its id and pool. */
#define LINE_ROOM 320

static char *put(char *p, const char *text)
{
	while (*text)
		*p++ = *text++;
	return p;
}

static char *put_number(char *p, const char *text, uint64_t value)
{
	return frag_put_u64(put(p, text), value);
}

static char *put_id(char *p, const struct frag_handle *id)
{
	return id->text ? frag_put_json(p, id->text, (size_t)id->number) : frag_put_u64(p, id->number);
}

static size_t id_room(const struct frag_handle *id)
{
	return id->text ? (size_t)id->number * 6 + 2 : FRAG_NUMBER_ROOM;
}

/* A line each, written as it comes: there may be a million, which no document is to hold. */
static void put_buffer(struct frag_outfile *out, const struct frag_plan *plan, uint32_t i)
{
	const struct frag_buffer *b = &plan->buffers[i];
	const struct frag_space_plan *s = &plan->spaces[b->space];
	char *p = frag_outfile_room(out, LINE_ROOM + id_room(&b->id) + strlen(s->pool_name));

	if (!p)
		return;
	p = put_id(put(p, i ? ",\n{\"id\":" : "\n{\"id\":"), &b->id);
	p = put_number(p, ",\"step\":", b->birth);
	p = put_number(p, ",\"end\":", b->end);
	p = put_number(p, ",\"size\":", b->size);
	p = put_number(p, ",\"offset\":", b->offset);
	p = put(put(p, ",\"pool\":"), s->pool_name);
	p = put_number(p, ",\"device\":", s->device);
	p = put(p, b->carried ? ",\"carried\":true}" : "}");
	frag_outfile_used(out, p);
}

int frag_plan_json(const struct frag_plan *plan, struct frag_outfile *out, struct frag_error *err)
{
	char *p = frag_outfile_room(out, LINE_ROOM);
	char content[17];

	if (!p)
		return frag_outfile_status(out, err);
	snprintf(content, sizeof(content), "%016" PRIx64, plan->content);
	p = put(p, "{\"format\":\"fragsim-plan\",\"version\":1,\"content\":\"");
	p = put_number(put(p, content), "\",\"align\":", plan->align);
	p = put_number(p, ",\"bound\":", plan->bound);
	p = put_number(p, ",\"height\":", plan->height);
	p = put(put(p, ",\"complete\":"), plan->complete ? "true" : "false");
	if (plan->periods)
		p = put_number(p, ",\"periods\":", plan->periods);
	frag_outfile_used(out, put(p, ",\"buffers\":["));
	for (uint32_t i = 0; i < plan->count; i++)
		put_buffer(out, plan, i);
	frag_outfile_write(out, "\n]}\n", 4);
	return frag_outfile_finish(out, err);
}

/* As google/minimalloc writes its own; a text id is quoted where it has to be. */
int frag_plan_csv(const struct frag_plan *plan, struct frag_outfile *out, struct frag_error *err)
{
	static const char head[] = "id,lower,upper,size,offset\n";

	frag_outfile_write(out, head, sizeof(head) - 1);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct frag_buffer *b = &plan->buffers[i];
		char *p = frag_outfile_room(out, LINE_ROOM + id_room(&b->id));

		if (!p)
			break;
		p = b->id.text ? frag_put_csv(p, b->id.text, (size_t)b->id.number)
			       : frag_put_u64(p, b->id.number);
		p = put_number(p, ",", b->birth);
		p = put_number(p, ",", b->end);
		p = put_number(p, ",", b->size);
		p = put_number(p, ",", b->offset);
		*p++ = '\n';
		frag_outfile_used(out, p);
	}
	return frag_outfile_finish(out, err);
}

static void put_verdict(struct frag_node_ref o, uint64_t bound, uint64_t height)
{
	frag_json_u64(o, "bound", bound);
	frag_json_u64(o, "height", height);
	frag_json_text(o, "verdict", height == bound ? "optimal" : "within");
	frag_json_fixed4(o, "gap_pct", frag_plan_gap_pct(bound, height));
}

static void put_window(struct frag_node_ref o, const struct frag_plan_window *w)
{
	struct frag_node_ref in;

	if (!w->tried) {
		frag_json_null(o, "window");
		return;
	}
	in = frag_json_object(o, "window");
	frag_json_u64(in, "from", w->from);
	frag_json_u64(in, "to", w->to);
	frag_json_u64(in, "buffers", w->buffers);
	frag_json_u64(in, "states", w->nodes);
	frag_json_bool(in, "found", w->found);
}

static void put_space(struct frag_node_ref list, const struct frag_space_plan *s)
{
	struct frag_node_ref o = frag_json_object(list, NULL), tries, t;

	frag_json_u64(o, "device", s->device);
	frag_json_raw(o, "pool", s->pool_name);
	frag_json_u64(o, "buffers", s->count);
	put_verdict(o, s->bound, s->height);
	frag_json_u64(o, "peak_step", s->peak_step);
	frag_json_text(o, "found_by", s->found_by);
	tries = frag_json_array(o, "orders");
	for (uint32_t i = 0; i < s->try_count; i++) {
		t = frag_json_object(tries, NULL);
		frag_json_text(t, "order", s->tries[i].order);
		frag_json_text(t, "fit", s->tries[i].best ? "best" : "first");
		frag_json_u64_or_null(t, "height", s->tries[i].height != UINT64_MAX,
				      s->tries[i].height);
	}
	put_window(o, &s->window);
	frag_json_u64(o, "orders_climbed", s->climb.tries);
}

static void put_beside(struct frag_node_ref list, const struct frag_fits *fits,
		       const struct frag_fitted *one)
{
	struct frag_node_ref o = frag_json_object(list, NULL);
	const bool good = one->fit.smallest != UINT64_MAX;

	frag_document_choice(o, &fits->sources[0].choices[one->choice]);
	frag_json_u64(o, "device", one->device);
	frag_json_u64_or_null(o, "peak_reserved", one->unlimited.survives,
			      one->unlimited.peak_reserved);
	frag_json_u64_or_null(o, "smallest", good, one->fit.smallest);
}

static void put_capacity(struct frag_node_ref root, const struct frag_plan_answer *a)
{
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);
	struct frag_node_ref o;

	if (a->capacity == UINT64_MAX) {
		frag_json_null(root, "capacity");
		return;
	}
	o = frag_json_object(root, "capacity");
	frag_json_u64(o, "bytes", a->capacity);
	frag_json_bool(o, "fits", needs.height <= a->capacity);
	/* nothing is known where it was just not found */
	if (needs.height > a->capacity && needs.bound <= a->capacity)
		frag_json_null(o, "proven");
	else
		frag_json_bool(o, "proven", true);
}

int frag_plan_answer_json(const struct frag_plan_answer *a, FILE *f, struct frag_error *err)
{
	const struct frag_plan *plan = a->plan;
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, "fragsim-placement"), list, o;
	int rc;

	frag_document_tool(root);
	frag_document_trace(root, "trace", a->trace);
	frag_json_u64(root, "align", plan->align);
	frag_json_u64(root, "from", plan->from);
	frag_json_u64(root, "to", plan->to);
	if (plan->periods)
		frag_json_u64(root, "periods", plan->periods);
	frag_json_u64(root, "buffers", plan->count);
	put_verdict(root, plan->bound, plan->height);
	frag_json_bool(root, "complete", plan->complete);
	frag_json_text(root, "checked", a->checked);
	put_capacity(root, a);
	list = frag_json_array(root, "spaces");
	for (uint32_t i = 0; i < plan->space_count; i++)
		put_space(list, &plan->spaces[i]);
	list = frag_json_array(root, "devices");
	for (uint32_t d = 0; d < a->trace->device_count; d++) {
		o = frag_json_object(list, NULL);
		frag_json_u64(o, "ordinal", d);
		frag_json_u64(o, "smallest", a->devices[d].context + a->devices[d].other
			      + frag_plan_segments(plan, d, a->devices[d].granularity));
	}
	list = frag_json_array(root, "policies");
	for (uint32_t i = 0; a->fits && i < a->fits->count; i++)
		put_beside(list, a->fits, &a->fits->fitted[i]);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
