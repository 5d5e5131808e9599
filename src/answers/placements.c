/* placements.c - where every block went, and what was requested from the device. */
#include <stdlib.h>

#include "base/array_grow.h"
#include "answers/append.h"
#include "answers/row_writer.h"

#define LINE_ROOM 512
#define CALL_ROOM 128

/* One call as an element of its list. */
static char *placements_put_call(char *p, const struct frag_call *c)
{
	if (c->kind == FRAG_CALL_RELEASE || c->kind == FRAG_CALL_RELEASE_RANGE)
		return frag_put_u64(p, c->ordinal);
	*p++ = '{';
	p = put_member(p, "segment", c->ordinal);
	if (c->kind == FRAG_CALL_MAP || c->kind == FRAG_CALL_UNMAP) {
		*p++ = ',';
		p = put_member(p, "offset", c->offset);
	}
	*p++ = ',';
	p = put_member(p, "bytes", c->bytes);
	if (c->kind == FRAG_CALL_NEW_RANGE)
		p = PUT(p, ",\"expandable\":true");
	*p++ = '}';
	return p;
}

/* The calls of these two kinds as a member of this name; nothing where there is none. */
static char *put_calls(char *p, const struct frag_step *step, const char *name,
		       enum frag_call_kind a, enum frag_call_kind b)
{
	bool any = false;

	for (uint32_t i = 0; i < step->call_count; i++) {
		const struct frag_call *c = &step->calls[i];

		if (c->kind != a && c->kind != b)
			continue;
		*p++ = ',';
		if (!any) {
			*p++ = '"';
			p = put_word(p, name);
			p = PUT(p, "\":[");
		}
		any = true;
		p = placements_put_call(p, c);
	}
	if (any)
		*p++ = ']';
	return p;
}

static char *placements_put_place(char *p, const struct frag_step *step)
{
	if (step->status == FRAG_STEP_OOM)
		return PUT(p, ",\"oom\":true");
	if (!step->placed)
		return p;
	*p++ = ',';
	if (step->event->bytes) {
		p = put_member(p, "segment", step->segment);
		*p++ = ',';
		p = put_member(p, "offset", step->offset);
		*p++ = ',';
	}
	return put_member(p, "bytes", step->bytes);
}

/* Where blocks are that the policy has moved for this request. */
static char *put_moves(char *p, const struct frag_rows *rows, const struct frag_step *step)
{
	for (uint32_t i = 0; i < step->move_count && rows->follows; i++) {
		const struct frag_step_move *m = &step->moves[i];

		p = i ? PUT(p, ",{\"id\":") : PUT(p, ",\"moved\":[{\"id\":");
		p = put_word(p, rows->ids[m->slot]);
		*p++ = ',';
		p = put_member(p, "segment", m->segment);
		*p++ = ',';
		p = put_member(p, "offset", m->offset);
		*p++ = ',';
		p = put_member(p, "bytes", m->bytes);
		*p++ = '}';
	}
	if (step->move_count && rows->follows)
		*p++ = ']';
	return p;
}

/* The id of the block that is in a slot from here on. False: out of memory. */
static bool keep_id(struct frag_rows *rows, const struct frag_event *ev)
{
	char *text;

	if (!frag_grow(&rows->ids, &rows->id_capacity, (uint64_t)ev->slot + 1,
		       sizeof(*rows->ids)))
		return false;
	while (rows->id_count <= ev->slot)
		rows->ids[rows->id_count++] = NULL;
	text = malloc(ev->id.text ? (size_t)ev->id.number * 6 + 3 : FRAG_NUMBER_ROOM);
	free(rows->ids[ev->slot]);
	rows->ids[ev->slot] = text;
	if (text)
		*put_handle_json(text, &ev->id) = '\0';
	return text != NULL;
}

/*
 * Members that do not apply are left out, so that two runs differ in a line only
 * where they decided differently.
 */
static char *placements_put_line(char *p, const struct frag_rows *rows,
				 const struct frag_step *step)
{
	const struct frag_event *ev = step->event;

	*p++ = '{';
	p = put_bytes(p, rows->prefix, rows->prefix_length);
	p = put_member(p, "step", ev->step);
	if (rows->many_devices) {
		*p++ = ',';
		p = put_member(p, "device", step->device);
	}
	p = PUT(p, ",\"op\":\"");
	p = put_word(p, frag_op_name((enum frag_op)ev->op));
	*p++ = '"';
	if (shows_id(ev)) {
		p = PUT(p, ",\"id\":");
		p = put_handle_json(p, &ev->id);
	}
	p = placements_put_place(p, step);
	p = put_moves(p, rows, step);
	p = put_calls(p, step, "new", FRAG_CALL_NEW, FRAG_CALL_NEW_RANGE);
	p = put_calls(p, step, "mapped", FRAG_CALL_MAP, FRAG_CALL_MAP);
	p = put_calls(p, step, "unmapped", FRAG_CALL_UNMAP, FRAG_CALL_UNMAP);
	p = put_calls(p, step, "released", FRAG_CALL_RELEASE, FRAG_CALL_RELEASE_RANGE);
	*p++ = '}';
	*p++ = '\n';
	return p;
}

int frag_placements_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_rows *rows = ctx;
	const struct frag_event *ev = step->event;
	size_t need = LINE_ROOM + rows->prefix_length + (size_t)step->call_count * CALL_ROOM;
	char *p;

	if (step->status == FRAG_STEP_SKIPPED
	    || (ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE && step->call_count == 0))
		return 0;
	if (rows->follows && ev->op == FRAG_OP_ALLOC && !keep_id(rows, ev))
		return frag_fail_nomem(err);
	if (ev->id.text)
		need += (size_t)ev->id.number * 6;
	for (uint32_t i = 0; i < step->move_count && rows->follows; i++)
		need += CALL_ROOM + strlen(rows->ids[step->moves[i].slot]);
	p = frag_outfile_room(rows->out, need);
	if (p)
		frag_outfile_used(rows->out, placements_put_line(p, rows, step));
	return rows->out->failed ? frag_outfile_status(rows->out, err) : 0;
}
