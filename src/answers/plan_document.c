/* plan_document.c - a plan as a file: what fragsim plan writes by --plan, and reads by --check. */
#include "answers/plan_answer.h"

#include <stdlib.h>
#include <string.h>

#include "answers/answers.h"
#include "answers/append.h"

/* One buffer; its id as JSON is in the memory of the plan's view. */
struct frag_buffer_view {
	const struct frag_buffer *buffer;
	const struct frag_space_plan *space;
	const char *id;
};

struct frag_plan_view {
	const struct frag_plan *plan;
	char *id;
};

static bool buffer_at(const void *of, uint32_t i, void *element)
{
	const struct frag_plan_view *v = of;
	const struct frag_buffer *b;

	if (i == v->plan->count)
		return false;
	b = &v->plan->buffers[i];
	*put_handle_json(v->id, &b->id) = '\0';
	*(struct frag_buffer_view *)element = (struct frag_buffer_view){
		b, &v->plan->spaces[b->space], v->id,
	};
	return true;
}

static struct frag_cell_value carried_of(const void *buffer)
{
	const bool carried = ((const struct frag_buffer *)buffer)->carried;

	return (struct frag_cell_value){ .there = carried, .b = true };
}

#define BUFFER(m) FRAG_VIA(buffer_view, buffer, buffer, m)
#define HEAD(m) FRAG_VIA(plan_view, plan, plan, m)
static const struct frag_field buffer_fields[] = {
	{ "id", FRAG_TYPE_ID, FRAG_AT(buffer_view, id), "that of the trace; with --slots the number of the"
	  " request in its period" },
	{ "step", FRAG_TYPE_COUNT, BUFFER(birth), "the event that allocates it; with --slots as id" },
	{ "end", FRAG_TYPE_COUNT, BUFFER(end), "the event that frees it, or the end; with --slots the number"
	  " of requests before that", .least = 1 },
	{ "size", FRAG_TYPE_BYTES, BUFFER(size), "rounded up to align", .least = 1 },
	{ "offset", FRAG_TYPE_BYTES, BUFFER(offset) },
	{ "pool", FRAG_TYPE_ID, FRAG_VIA(buffer_view, space, space_plan, pool_name), "that of the trace" },
	{ "device", FRAG_TYPE_COUNT, FRAG_VIA(buffer_view, space, space_plan, device) },
	{ "carried", FRAG_TYPE_FLAG, FRAG_WHOLE_VIA(buffer_view, buffer), "true: it existed when the"
	  " interval began", .get = carried_of, .optional = true },
	{ 0 },
}, plan_fields[] = {
	{ "content", FRAG_TYPE_CONTENT, HEAD(content), "identifies the trace, as in a result" },
	{ "align", FRAG_TYPE_BYTES, HEAD(align), .least = 1 },
	{ "bound", FRAG_TYPE_BYTES, HEAD(bound), "no placement is lower" },
	{ "height", FRAG_TYPE_BYTES, HEAD(height) },
	{ "complete", FRAG_TYPE_FLAG, HEAD(complete), "no more effort makes it lower" },
	{ "periods", FRAG_TYPE_COUNT, HEAD(periods), "with --slots: how many there were",
	  .absence = FRAG_UNLESS_ZERO, .optional = true, .least = 1 },
	{ "buffers", FRAG_TYPE_LIST, FRAG_WHOLE, "by step, one a line", .each = buffer_at,
	  .fields = buffer_fields },
	{ 0 },
};

const struct frag_document_type frag_plan_document = {
	.format = "fragsim-plan", .version = 1, .fields = plan_fields, .no_tool = true,
	.what = "Where each buffer of a trace is to be: what fragsim plan --plan writes and --check reads, see"
		" fragsim-plan(1).",
};

static size_t id_room(const struct frag_handle *id)
{
	return id->text ? (size_t)id->number * 6 + 2 : FRAG_NUMBER_ROOM;
}

#define LINE_ROOM 120           /* four numbers */

static void write_csv(const struct frag_plan *plan, struct frag_outfile *out)
{
	static const char head[] = "id,lower,upper,size,offset\n";

	frag_outfile_write(out, head, sizeof(head) - 1);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct frag_buffer *b = &plan->buffers[i];
		const uint64_t cells[] = { b->birth, b->end, b->size, b->offset };
		char *p = frag_outfile_room(out, LINE_ROOM + id_room(&b->id));

		if (!p)
			return;
		p = b->id.text ? frag_put_csv(p, b->id.text, (size_t)b->id.number)
			       : frag_put_u64(p, b->id.number);
		for (size_t k = 0; k < sizeof(cells) / sizeof(*cells); k++)
			p = frag_put_u64(put_word(p, ","), cells[k]);
		frag_outfile_used(out, put_word(p, "\n"));
	}
}

/* The CSV is as google/minimalloc writes its own; a text id is quoted where it must be. */
int frag_plan_write(const struct frag_plan *plan, bool csv, struct frag_outfile *out,
		    struct frag_error *err)
{
	struct frag_plan_view view = { .plan = plan };
	size_t room = FRAG_NUMBER_ROOM;

	if (csv) {
		write_csv(plan, out);
		return frag_outfile_finish(out, err);
	}
	for (uint32_t i = 0; i < plan->count; i++)
		room = id_room(&plan->buffers[i].id) > room ? id_room(&plan->buffers[i].id) : room;
	view.id = malloc(room + 1);
	if (!view.id)
		return frag_fail_nomem(err);
	frag_document_write_lines(&frag_plan_document, &view, out);
	free(view.id);
	return frag_outfile_finish(out, err);
}
