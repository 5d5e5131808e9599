/*
 * hlo.c - a module as XLA compiled it, with the places of its buffers (*.hlo.pb), as a source.
 *
 * The file is an HloProto of protobuf, whose messages and field numbers are in
 * xla/service/hlo.proto of openxla/xla, OpMetadata in xla/xla_data.proto. Few of its fields are
 * needed, so a reader of the wire format is here: a message is a run of fields, each a key,
 * number << 3 | type, and a value.
 *
 * XLA's simulation of its heap says when a buffer is allocated and freed. A buffer that shares
 * with an older one is at its place, so both are one block here. If none of them is in use for a
 * while, others may be there: that is a gap of the block.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/parse.h"
#include "input/json_scan.h"

#define NONE UINT32_MAX
#define ALIGN_MAX 256           /* XLA's own alignments are 64 on a CPU and 256 on a GPU */
#define SPACES_MAX 16           /* memory spaces */
#define NAME_MAX 1024           /* bytes of a name that are kept */
#define POOL "inputs and outputs"

/* Keys of fields that are numbers, and that are texts or messages. */
#define INT(number) ((number) << 3)
#define BYTES(number) ((number) << 3 | 2)

struct wire {
	const char *p, *end;
};

struct wire_field {
	uint64_t key, value;
	struct wire bytes;
};

/* An instruction that defines a buffer. */
struct hlo_instruction {
	struct wire name, op_name, file;
	uint64_t line, frame;
	uint32_t tag, stack;
};

struct hlo_frame {
	uint64_t location, parent;      /* from 1 on, 0: none */
	uint32_t stack;
};

struct hlo_location {
	uint64_t file, name, line;      /* likewise */
};

struct hlo_buffer {
	uint64_t id, size, offset;
	uint32_t instruction;
	uint32_t allocation;            /* NONE: none */
	uint32_t group;                 /* the buffer at whose place it is; NONE: no event has it */
	uint32_t live;                  /* of a group: buffers in use */
	uint32_t closed;                /* likewise: the event that ended the last of them */
	uint32_t row;                   /* likewise: its alloc */
	bool open;
};

struct hlo_allocation {
	uint64_t size, color, base;     /* base: of its place among those of a memory space */
	uint32_t largest;               /* buffer; NONE: it has none */
	bool local, heap;               /* of a thread; simulated */
};

enum hlo_event_kind { HLO_ALLOC, HLO_FREE, HLO_SHARE, HLO_GAP, HLO_GAP_END, HLO_NOTHING };

struct hlo_event {
	uint32_t buffer;
	enum hlo_event_kind kind;
};

struct hlo {
	struct frag_whole file;
	struct frag_buffered *buffered;
	struct frag_error *err;
	int rc;                         /* the first error; nothing is read after it */
	uint64_t kept;                  /* bytes of the arrays */
	struct hlo_buffer *buffers;
	uint32_t buffer_count, buffer_capacity;
	struct frag_map buffer_map;     /* id -> buffer */
	struct hlo_instruction *instructions;
	uint32_t instruction_count, instruction_capacity;
	struct frag_map instruction_map;        /* id -> instruction */
	struct hlo_allocation *allocations;
	uint32_t allocation_count, allocation_capacity;
	struct hlo_event *events;
	uint32_t event_count, event_capacity;
	struct wire *files, *names;
	uint32_t file_count, file_capacity, name_count, name_capacity;
	struct hlo_location *locations;
	uint32_t location_count, location_capacity;
	struct hlo_frame *frames;
	uint32_t frame_count, frame_capacity;
	uint64_t colors[SPACES_MAX];    /* rising: the memory spaces, each a device */
	uint32_t color_count;
	bool traced[SPACES_MAX];
	uint64_t align;
};

/* The first error counts. Returns false; likewise: */
static bool hlo_bad(struct hlo *h, const char *at, const char *what)
{
	if (!h->rc)
		h->rc = frag_fail(h->err, FRAG_ETRACE, "%s: byte %td: %s", h->buffered->path,
				  at - h->file.bytes, what);
	return false;
}

static bool hlo_refuse(struct hlo *h, const struct hlo_buffer *b, const char *what)
{
	if (!h->rc)
		h->rc = frag_fail(h->err, FRAG_ETRACE, "%s: buffer %" PRIu64 " %s",
				  h->buffered->path, b->id, what);
	return false;
}

static bool hlo_nomem(struct hlo *h)
{
	h->rc = h->rc ? h->rc : frag_fail_nomem(h->err);
	return false;
}

/* Counts what is kept of the file: a few compressed bytes can become any number. */
static bool hlo_afford(struct hlo *h, size_t bytes)
{
	const uint64_t file = h->file.total ? h->file.total : h->file.read;

	h->kept += bytes;
	if (!h->rc && h->kept > frag_kept_max(file))
		h->rc = frag_kept_too_much(h->buffered->path, file, h->err);
	return !h->rc;
}

/* One element more, zeroed, as h->NAMEs[h->NAME_count - 1]. */
#define HLO_ADD(h, name, array)                                                                 \
	(hlo_afford(h, sizeof(*(h)->array))                                                     \
	 && (FRAG_GROW((h)->array, (h)->name##_capacity, (h)->name##_count) || hlo_nomem(h))    \
	 && memset(&(h)->array[(h)->name##_count++], 0, sizeof(*(h)->array)))

/* At most ten bytes, seven bits each, the lowest first. */
static bool wire_number(struct hlo *h, struct wire *w, uint64_t *out)
{
	*out = 0;
	for (uint32_t i = 0; i < 10 && w->p < w->end; i++) {
		const uint64_t byte = (unsigned char)*w->p++;

		*out |= (byte & 127) << 7 * i;
		if (byte < 128)
			return i < 9 || byte < 2 || hlo_bad(h, w->p - 1, "a number of more than 64 bits");
	}
	return hlo_bad(h, w->p, "a number that does not end");
}

/* The next field of a message; false: its end, or an error. */
static bool wire_next(struct hlo *h, struct wire *w, struct wire_field *f)
{
	const char *at = w->p;
	uint64_t length = 0;

	if (h->rc || w->p == w->end || !wire_number(h, w, &f->key))
		return false;
	switch (f->key & 7) {
	case 0:
		return wire_number(h, w, &f->value);
	case 1:
		length = 8;
		break;
	case 2:
		if (!wire_number(h, w, &length))
			return false;
		break;
	case 5:
		length = 4;
		break;
	default:
		return hlo_bad(h, at, "a field of an unknown type");
	}
	if (length > (uint64_t)(w->end - w->p))
		return hlo_bad(h, at, "a field that is longer than its message");
	f->bytes = (struct wire){ w->p, w->p + length };
	w->p += length;
	return true;
}

/* Printable text of a name, at most NAME_MAX bytes: what is no text is a question mark. */
static struct frag_text hlo_clean(struct wire name, char buf[NAME_MAX])
{
	uint32_t length = 0;

	while (name.p < name.end && length < NAME_MAX - 4) {
		const unsigned char *p = (const unsigned char *)name.p;
		uint32_t n = *p < 0x80 ? *p >= 0x20 && *p != 0x7f : frag_utf8_length(p);

		if (n == 0 || n > name.end - name.p) {
			buf[length++] = '?';
			name.p++;
			continue;
		}
		memcpy(buf + length, p, n);
		length += n;
		name.p += n;
	}
	return (struct frag_text){ .text = buf, .length = length };
}

/* LogicalBufferProto.Location: names of instructions are of older versions, which lack ids. */
static bool read_location(struct hlo *h, struct wire w, struct hlo_buffer *b)
{
	struct wire_field f;
	struct wire name = { NULL, NULL };
	uint64_t id = 0;

	while (wire_next(h, &w, &f)) {
		name = f.key == BYTES(2) ? f.bytes : name;
		id = f.key == INT(4) ? f.value : id;
	}
	b->instruction = name.p == name.end ? frag_map_get(&h->instruction_map, id) : NONE;
	if (h->rc || b->instruction != NONE)
		return !h->rc;
	if (!HLO_ADD(h, instruction, instructions))
		return false;
	b->instruction = h->instruction_count - 1;
	h->instructions[b->instruction].name = name;
	return name.p != name.end || frag_map_add(&h->instruction_map, id, b->instruction)
	       || hlo_nomem(h);
}

/* LogicalBufferProto */
static bool read_buffer(struct hlo *h, struct wire w)
{
	struct hlo_buffer b = { .allocation = NONE, .group = NONE, .instruction = NONE };
	const char *at = w.p;
	struct wire_field f;

	while (wire_next(h, &w, &f)) {
		b.id = f.key == INT(1) ? f.value : b.id;
		if (f.key == BYTES(3))
			read_location(h, f.bytes, &b);
	}
	if (b.id >= FRAG_SIZE_LIMIT)
		return hlo_bad(h, at, "a buffer whose id is not below 2^53");
	if (frag_map_get(&h->buffer_map, b.id) != FRAG_MAP_NONE)
		return hlo_bad(h, at, "a buffer whose id is specified more than once");
	if (h->rc || !HLO_ADD(h, buffer, buffers))
		return false;
	h->buffers[h->buffer_count - 1] = b;
	return frag_map_add(&h->buffer_map, b.id, h->buffer_count - 1) || hlo_nomem(h);
}

static struct hlo_buffer *buffer_of(struct hlo *h, const char *at, uint64_t id)
{
	const uint32_t i = frag_map_get(&h->buffer_map, id);

	if (i == FRAG_MAP_NONE)
		hlo_bad(h, at, "a buffer that is not among the logical buffers");
	return h->rc ? NULL : &h->buffers[i];
}

/* BufferAllocationProto.Assigned */
static bool read_assigned(struct hlo *h, struct wire w, struct hlo_allocation *a)
{
	const char *at = w.p;
	struct wire_field f;
	uint64_t id = 0, offset = 0, size = 0;
	struct hlo_buffer *b;

	while (wire_next(h, &w, &f)) {
		id = f.key == INT(1) ? f.value : id;
		offset = f.key == INT(2) ? f.value : offset;
		size = f.key == INT(3) ? f.value : size;
	}
	b = buffer_of(h, at, id);
	if (!b)
		return false;
	if (b->allocation != NONE)
		return hlo_refuse(h, b, "is in two allocations");
	if (offset > a->size || size > a->size - offset)
		return hlo_refuse(h, b, "is not within its allocation");
	b->allocation = (uint32_t)(a - h->allocations);
	b->offset = offset;
	b->size = size;
	if (a->largest == NONE || size >= h->buffers[a->largest].size)
		a->largest = (uint32_t)(b - h->buffers);
	return true;
}

/* Adds a memory space, in the order of their numbers. */
static bool add_color(struct hlo *h, const char *at, uint64_t color)
{
	uint32_t i = 0;

	while (i < h->color_count && h->colors[i] < color)
		i++;
	if (i < h->color_count && h->colors[i] == color)
		return true;
	if (h->color_count == SPACES_MAX)
		return hlo_bad(h, at, "more than 16 memory spaces");
	memmove(&h->colors[i + 1], &h->colors[i], (h->color_count - i) * sizeof(h->colors[0]));
	h->colors[i] = color;
	h->color_count++;
	return true;
}

/* BufferAllocationProto; its size and kind are read before its buffers. */
static bool read_allocation(struct hlo *h, struct wire w)
{
	struct hlo_allocation *a;
	struct wire again = w;
	struct wire_field f;

	if (!HLO_ADD(h, allocation, allocations))
		return false;
	a = &h->allocations[h->allocation_count - 1];
	a->largest = NONE;
	while (wire_next(h, &w, &f)) {
		a->size = f.key == INT(2) ? f.value : a->size;
		a->local = f.key == INT(3) ? f.value != 0 : a->local;
		a->color = f.key == INT(8) ? f.value : a->color;
	}
	if (a->size >= FRAG_SIZE_LIMIT)
		return hlo_bad(h, again.p, "an allocation whose size is not below 2^53");
	if (!add_color(h, again.p, a->color))
		return false;
	while (wire_next(h, &again, &f))
		if (f.key == BYTES(9))
			read_assigned(h, f.bytes, a);
	return !h->rc;
}

static uint32_t device_of(const struct hlo *h, const struct hlo_allocation *a)
{
	uint32_t i = 0;

	while (i + 1 < h->color_count && h->colors[i] != a->color)
		i++;
	return i;
}

/*
 * What an event does to the block of its buffers: nothing while another one of them is in use.
 * Without an event in between, one that replaces another leaves no gap.
 */
static bool take_event(struct hlo *h, struct hlo_event e, struct hlo_buffer *with)
{
	struct hlo_buffer *b = &h->buffers[e.buffer], *group;
	const uint32_t now = h->event_count;

	if (b->allocation == NONE)
		return hlo_refuse(h, b, "is in no allocation");
	if (e.kind == HLO_FREE ? !b->open : b->group != NONE)
		return hlo_refuse(h, b, e.kind == HLO_FREE ? "is freed but is not allocated"
							   : "is allocated more than once");
	if (with && with->group == NONE)
		return hlo_refuse(h, b, "shares the place of a buffer that was not allocated");
	if (!HLO_ADD(h, event, events))
		return false;
	h->allocations[b->allocation].heap = true;
	b->group = e.kind == HLO_ALLOC ? e.buffer : with ? with->group : b->group;
	group = &h->buffers[b->group];
	group->size = frag_max(group->size, b->size);
	b->open = e.kind != HLO_FREE;
	if (e.kind == HLO_FREE) {
		e.kind = --group->live ? HLO_NOTHING : HLO_FREE;
		group->closed = group->live ? group->closed : now;
	} else if (group->live++ || e.kind == HLO_SHARE) {
		const bool gap = group->live == 1 && group->closed + 1 != now;

		e.kind = gap ? HLO_GAP_END : HLO_NOTHING;
		if (group->live == 1)
			h->events[group->closed].kind = gap ? HLO_GAP : HLO_NOTHING;
	}
	h->events[now] = (struct hlo_event){ b->group, e.kind };
	return true;
}

/* HeapSimulatorTrace.Event. False without an error: the first one is of a buffer that is known. */
static bool read_event(struct hlo *h, struct wire w, bool first)
{
	struct hlo_buffer *b, *with = NULL;
	const char *at = w.p;
	struct wire_field f;
	uint64_t kind = 0, id = 0, with_id = 0;

	while (wire_next(h, &w, &f)) {
		kind = f.key == INT(1) ? f.value : kind;
		id = f.key == INT(2) ? f.value : id;
		with_id = f.key == INT(5) ? f.value : with_id;
	}
	if (kind > HLO_SHARE)
		return hlo_bad(h, at, "an event of the heap that is none of ALLOC, FREE and SHARE_WITH");
	b = buffer_of(h, at, id);
	if (b && first && b->group != NONE)
		return false;
	if (b && kind == HLO_SHARE)
		with = buffer_of(h, at, with_id);
	return !h->rc && take_event(h, (struct hlo_event){ (uint32_t)(b - h->buffers),
							   (enum hlo_event_kind)kind }, with);
}

/*
 * HeapSimulatorTrace: one for each memory space. It is there once for each of the allocations
 * that it fills, so one whose first buffer is known is a copy.
 */
static bool read_trace(struct hlo *h, struct wire w)
{
	const struct wire whole = w;
	const uint32_t before = h->event_count;
	struct wire_field f;
	uint32_t device;
	bool module = false;

	while (wire_next(h, &w, &f))
		module = f.key == INT(2) ? f.value != 0 : module;
	for (w = whole; wire_next(h, &w, &f);)
		if (f.key == BYTES(1) && !read_event(h, f.bytes, h->event_count == before))
			return !h->rc;
	if (h->rc || h->event_count == before)
		return !h->rc;
	device = device_of(h, &h->allocations[h->buffers[h->events[before].buffer].allocation]);
	if (!module || h->traced[device])
		return hlo_bad(h, whole.p, "a simulation of the heap for a part of the module: when"
			       " its buffers are in use among the others is not known");
	h->traced[device] = true;
	return true;
}

/* BufferAssignmentProto: buffers first, then their places, then the events. */
static bool read_assignment(struct hlo *h, struct wire w)
{
	static const uint64_t keys[] = { BYTES(1), BYTES(3), BYTES(4) };
	static bool (*const read[])(struct hlo *h, struct wire w) = { read_buffer, read_allocation,
								       read_trace };
	struct wire_field f;

	for (uint32_t i = 0; i < 3; i++)
		for (struct wire rest = w; wire_next(h, &rest, &f);)
			if (f.key == keys[i] && !read[i](h, f.bytes))
				return false;
	return !h->rc;
}

/* HloInstructionProto; those that define no buffer are passed over. */
static bool read_instruction(struct hlo *h, struct wire w)
{
	struct wire_field f;
	struct wire name = { NULL, NULL }, metadata = { NULL, NULL };
	struct hlo_instruction *of;
	uint64_t id = 0;
	uint32_t i;

	while (wire_next(h, &w, &f)) {
		name = f.key == BYTES(1) ? f.bytes : name;
		metadata = f.key == BYTES(7) ? f.bytes : metadata;
		id = f.key == INT(35) ? f.value : id;
	}
	i = h->rc ? NONE : frag_map_get(&h->instruction_map, id);
	if (i == NONE)
		return !h->rc;
	of = &h->instructions[i];
	of->name = name;
	while (wire_next(h, &metadata, &f)) {   /* OpMetadata */
		of->op_name = f.key == BYTES(2) ? f.bytes : of->op_name;
		of->file = f.key == BYTES(3) ? f.bytes : of->file;
		of->line = f.key == INT(4) ? f.value : of->line;
		of->frame = f.key == INT(15) ? f.value : of->frame;
	}
	return !h->rc;
}

/* StackFrameIndexProto.FileLocation */
static bool read_place(struct hlo *h, struct wire w)
{
	struct wire_field f;
	struct hlo_location *l;

	if (!HLO_ADD(h, location, locations))
		return false;
	l = &h->locations[h->location_count - 1];
	while (wire_next(h, &w, &f)) {
		l->file = f.key == INT(1) ? f.value : l->file;
		l->name = f.key == INT(2) ? f.value : l->name;
		l->line = f.key == INT(3) ? f.value : l->line;
	}
	return !h->rc;
}

/* StackFrameIndexProto.StackFrame; a frame's number is above that of the one that called it. */
static bool read_frame(struct hlo *h, struct wire w)
{
	struct wire_field f;
	struct hlo_frame *of;

	if (!HLO_ADD(h, frame, frames))
		return false;
	of = &h->frames[h->frame_count - 1];
	while (wire_next(h, &w, &f)) {
		of->location = f.key == INT(1) ? f.value : of->location;
		of->parent = f.key == INT(2) ? f.value : of->parent;
	}
	of->parent = of->parent < h->frame_count ? of->parent : 0;
	return !h->rc;
}

/* StackFrameIndexProto */
static bool read_frames(struct hlo *h, struct wire w)
{
	struct wire_field f;

	while (wire_next(h, &w, &f)) {
		if (f.key == BYTES(1) && HLO_ADD(h, file, files))
			h->files[h->file_count - 1] = f.bytes;
		else if (f.key == BYTES(2) && HLO_ADD(h, name, names))
			h->names[h->name_count - 1] = f.bytes;
		else if (f.key == BYTES(3))
			read_place(h, f.bytes);
		else if (f.key == BYTES(4))
			read_frame(h, f.bytes);
	}
	return !h->rc;
}

/* HloModuleProto */
static bool read_module(struct hlo *h, struct wire w)
{
	struct wire_field f, g;

	while (wire_next(h, &w, &f)) {
		if (f.key == BYTES(17))
			read_frames(h, f.bytes);
		for (struct wire c = f.bytes; f.key == BYTES(3) && wire_next(h, &c, &g);)
			if (g.key == BYTES(2))
				read_instruction(h, g.bytes);
	}
	return !h->rc;
}

/* HloProto: the places first, so that only the instructions of buffers are kept. */
static bool read_proto(struct hlo *h)
{
	struct wire w = { h->file.bytes, h->file.bytes + h->file.length };
	struct wire module = { w.p, w.p }, assignment = { NULL, NULL };
	struct wire_field f;

	while (wire_next(h, &w, &f)) {
		module = f.key == BYTES(1) ? f.bytes : module;
		assignment = f.key == BYTES(3) ? f.bytes : assignment;
	}
	if (!h->rc && assignment.p == assignment.end)
		h->rc = frag_fail(h->err, FRAG_ETRACE, "%s: the buffer assignment is missing: XLA"
				  " writes it into the file whose name ends in"
				  " after_optimizations.hlo.pb", h->buffered->path);
	return !h->rc && read_assignment(h, assignment) && read_module(h, module);
}

/* A stack more with this frame as the innermost. */
static FRAG_OR_NOMEM push(struct hlo *h, struct wire file, struct wire name, uint64_t line,
			  uint32_t below, uint32_t *stack)
{
	char file_buf[NAME_MAX], name_buf[NAME_MAX];
	const struct frag_frame frame = {
		.file = hlo_clean(file, file_buf), .name = hlo_clean(name, name_buf),
		.line = line <= INT32_MAX ? line : 0,
	};
	uint32_t number;

	return frag_stacks_frame(&h->buffered->stacks, &frame, &number)
	       && frag_stacks_push(&h->buffered->stacks, number, below, stack);
}

static bool make_stacks(struct hlo *h)
{
	static const struct wire none;

	for (uint32_t i = 0; i < h->frame_count; i++) {
		struct hlo_frame *f = &h->frames[i];
		const bool known = f->location && f->location <= h->location_count;
		const struct hlo_location *l = known ? &h->locations[f->location - 1] : NULL;

		if (!push(h, l && l->file && l->file <= h->file_count ? h->files[l->file - 1] : none,
			  l && l->name && l->name <= h->name_count ? h->names[l->name - 1] : none,
			  l ? l->line : 0, f->parent ? h->frames[f->parent - 1].stack : 0, &f->stack)
		    || !hlo_afford(h, 2 * NAME_MAX / 16))
			return hlo_nomem(h);
	}
	return true;
}

/* The tag is the instruction and the operation of the program; so is the innermost frame. */
static bool make_names(struct hlo *h)
{
	char name[NAME_MAX], op_name[NAME_MAX], both[2 * NAME_MAX + 4];

	for (uint32_t i = 0; i < h->instruction_count; i++) {
		struct hlo_instruction *of = &h->instructions[i];
		const struct frag_text text = hlo_clean(of->name, name);
		const struct frag_text op = hlo_clean(of->op_name, op_name);
		const bool framed = of->frame && of->frame <= h->frame_count;

		if (!text.length)
			continue;
		frag_snprintf(both, sizeof(both), "%.*s%s%.*s", (int)text.length, text.text,
			      op.length ? " | " : "", (int)op.length, op.text);
		of->stack = framed ? h->frames[of->frame - 1].stack : 0;
		if (!frag_buffered_text(h->buffered, (struct frag_text){
			.text = both, .length = (uint32_t)strlen(both),
		    }, &of->tag)
		    || (op.length && !push(h, framed ? (struct wire){ NULL, NULL } : of->file,
					   of->op_name, framed ? 0 : of->line, of->stack, &of->stack)))
			return hlo_nomem(h);
	}
	return true;
}

/* Adds the alloc or the free of a block; its number is the row's, too. */
static struct frag_row *hlo_add_row(struct hlo *h, enum frag_op op, const struct hlo_buffer *b,
				    uint32_t device)
{
	struct frag_row *row = frag_buffered_add(h->buffered);
	const struct hlo_instruction *of;

	if (!row || !hlo_afford(h, sizeof(*row))) {
		hlo_nomem(h);
		return NULL;
	}
	row->op = (uint8_t)op;
	row->id = b->id;
	row->device = (uint16_t)device;
	row->members = h->color_count > 1 ? FRAG_ROW_DEVICE : 0;
	of = b->instruction != NONE ? &h->instructions[b->instruction] : NULL;
	if (op != FRAG_OP_ALLOC)
		return row;
	row->size = b->size;
	if (frag_buffered_site(h->buffered, of ? of->tag : 0, of ? of->stack : 0, &row->text))
		return row;
	hlo_nomem(h);
	return NULL;
}

/* The alloc of a block of the heap, with its place in XLA's own plan. */
static bool add_placed(struct hlo *h, const struct hlo_buffer *b)
{
	const struct hlo_allocation *a = &h->allocations[b->allocation];
	struct frag_constraints *c = &h->buffered->constraints;

	if (!hlo_add_row(h, FRAG_OP_ALLOC, b, device_of(h, a)))
		return false;
	if (!hlo_afford(h, sizeof(*c->of)) || !FRAG_GROW(c->of, c->capacity, c->count))
		return hlo_nomem(h);
	c->of[c->count++] = (struct frag_constraint){
		.step = h->buffered->count - 1, .align = h->align, .hint = a->base + b->offset,
		.hinted = true,
	};
	return true;
}

static int hlo_by_place(const void *one, const void *other)
{
	const struct hlo_buffer *a = one, *b = other;

	return frag_order_two(a->allocation, b->allocation, a->offset, b->offset);
}

/* Buffers of a heap that no event has are there all the time; where they overlap, as one block. */
static bool add_silent(struct hlo *h)
{
	struct hlo_buffer *silent = malloc((h->buffer_count + (size_t)1) * sizeof(*silent));
	uint32_t count = 0;

	if (!silent)
		return hlo_nomem(h);
	for (uint32_t i = 0; i < h->buffer_count; i++)
		if (h->buffers[i].group == NONE && h->buffers[i].size
		    && h->buffers[i].allocation != NONE && h->allocations[h->buffers[i].allocation].heap)
			silent[count++] = h->buffers[i];
	FRAG_SORT(silent, count, hlo_by_place);
	for (uint32_t i = 0, next; i < count && !h->rc; i = next) {
		struct hlo_buffer b = silent[i];

		for (next = i + 1; next < count && silent[next].allocation == b.allocation
				   && silent[next].offset < b.offset + b.size; next++)
			b.size = frag_max(b.size, silent[next].offset + silent[next].size - b.offset);
		add_placed(h, &b);
	}
	free(silent);
	return !h->rc;
}

/* Parameters, constants and outputs exist before the program begins, and after it. */
static bool add_whole(struct hlo *h)
{
	const struct frag_text name = { POOL, sizeof(POOL) - 1 };
	uint32_t pool;

	if (!frag_buffered_text(h->buffered, name, &pool))
		return hlo_nomem(h);
	for (uint32_t i = 0; i < h->allocation_count; i++) {
		const struct hlo_allocation *a = &h->allocations[i];
		struct hlo_buffer b = { .id = FRAG_SIZE_LIMIT / 2 + i, .instruction = NONE };
		struct frag_row *row;

		if (a->local || a->heap || !a->size)
			continue;
		if (a->largest != NONE)
			b = h->buffers[a->largest];
		b.size = a->size;
		row = hlo_add_row(h, FRAG_OP_ALLOC, &b, device_of(h, a));
		if (!row)
			return false;
		row->pool = pool;
	}
	return true;
}

/* A change of use between two steps: the number `rank` of all these. */
static bool add_gap(struct hlo *h, struct hlo_buffer *b, bool begins, uint64_t rank)
{
	struct frag_constraints *c = &h->buffered->constraints;
	const uint64_t time = (h->buffered->count - UINT64_C(1)) * c->scale + rank;

	if (!begins) {
		c->gaps[b->closed].to = time;
		return true;
	}
	if (!hlo_afford(h, sizeof(*c->gaps)) || !FRAG_GROW(c->gaps, c->gap_capacity, c->gap_count))
		return hlo_nomem(h);
	b->closed = c->gap_count;
	c->gaps[c->gap_count++] = (struct frag_pause){ .step = b->row, .from = time };
	return true;
}

/* The events of the heaps; those that change nothing for their block are omitted. */
static bool add_events(struct hlo *h)
{
	struct frag_constraints *c = &h->buffered->constraints;
	uint64_t rank = 0;

	for (uint32_t i = 0; i < h->event_count; i++)
		c->scale += h->events[i].kind == HLO_GAP || h->events[i].kind == HLO_GAP_END;
	for (uint32_t i = 0; i < h->event_count && !h->rc; i++) {
		const struct hlo_event *e = &h->events[i];
		struct hlo_buffer *b = &h->buffers[e->buffer];

		if (e->kind == HLO_NOTHING || !b->size)
			continue;
		if (e->kind == HLO_GAP || e->kind == HLO_GAP_END)
			add_gap(h, b, e->kind == HLO_GAP, ++rank);
		else if (e->kind == HLO_FREE)
			hlo_add_row(h, FRAG_OP_FREE, b, device_of(h, &h->allocations[b->allocation]));
		else if (add_placed(h, b))
			b->row = h->buffered->count - 1;
	}
	return !h->rc;
}

/* Puts the heaps of a memory space one behind the other, and finds the alignment of all places. */
static bool place_heaps(struct hlo *h)
{
	struct frag_constraints *c = &h->buffered->constraints;
	uint64_t places = ALIGN_MAX;

	c->heights = calloc((size_t)h->color_count + 1, sizeof(*c->heights));
	if (!c->heights)
		return hlo_nomem(h);
	for (uint32_t i = 0; i < h->buffer_count; i++)
		if (h->buffers[i].allocation != NONE && h->allocations[h->buffers[i].allocation].heap)
			places |= h->buffers[i].offset;
	h->align = places & -places;
	for (uint32_t i = 0; i < h->allocation_count; i++) {
		struct hlo_allocation *a = &h->allocations[i];
		uint64_t *height = &c->heights[device_of(h, a)];

		if (!a->heap)
			continue;
		a->base = (*height + h->align - 1) / h->align * h->align;
		*height = a->base + a->size;
		if (*height >= FRAG_SIZE_LIMIT)
			return hlo_bad(h, h->file.bytes, "allocations of 2^53 bytes or more");
	}
	return true;
}

static void hlo_fini(struct hlo *h)
{
	frag_map_fini(&h->buffer_map);
	frag_map_fini(&h->instruction_map);
	frag_whole_fini(&h->file);
	free(h->buffers);
	free(h->instructions);
	free(h->allocations);
	free(h->events);
	free(h->files);
	free(h->names);
	free(h->locations);
	free(h->frames);
}

/* The whole file is in memory; the rows and names that it becomes are the source's. */
static int hlo_open(struct frag_reading *out, struct frag_input *in, const struct frag_log *log,
		    struct frag_error *err)
{
	struct hlo h = { .err = err, .buffered = frag_buffered_new(in->path, "row") };
	bool good;

	h.rc = frag_whole_read(&h.file, in, err);
	if (h.rc) {
		frag_buffered_del(h.buffered);
		return h.rc;
	}
	good = h.buffered && frag_stacks_init(&h.buffered->stacks, frag_hash_seed())
	       && frag_map_init(&h.buffer_map, frag_hash_seed())
	       && frag_map_init(&h.instruction_map, frag_hash_seed());
	if (!good)
		hlo_nomem(&h);
	good = good && read_proto(&h) && make_stacks(&h) && make_names(&h) && place_heaps(&h)
	       && add_whole(&h) && add_silent(&h) && add_events(&h);
	if (good && h.buffered->count == 0)
		h.rc = frag_fail(err, FRAG_ETRACE, "%s: the module has no buffers", h.buffered->path);
	if (h.rc) {
		frag_buffered_del(h.buffered);
	} else {
		h.buffered->bytes = h.file.total ? h.file.total : h.file.read;
		h.buffered->constraints.by = "XLA";
		for (uint32_t i = 0; i < h.color_count && h.color_count > 1; i++)
			frag_note(log, "%s: memory space %" PRIu64 " of XLA is device %" PRIu32,
				  h.buffered->path, h.colors[i], i);
		if (h.buffered->constraints.gap_count)
			frag_note(log, "%s: only fragsim plan uses the gaps of %" PRIu32 " buffers",
				  h.buffered->path, h.buffered->constraints.gap_count);
		h.rc = frag_buffered_open(out, h.buffered, h.color_count, NULL, err);
	}
	hlo_fini(&h);
	return h.rc;
}

/* At least one byte that is no space, and no byte of control; then the key of the next name. */
static enum frag_sniff sniff_name(struct wire *w, char next)
{
	uint32_t length;

	if (w->p == w->end)
		return FRAG_SNIFF_MORE;
	length = (unsigned char)*w->p++;
	if (length > 127)       /* one of two bytes; real names of modules may be long */
		length = w->p == w->end ? 0 : (length & 127) | (uint32_t)(unsigned char)*w->p++ << 7;
	for (uint32_t i = 0; i < length && w->p < w->end; i++, w->p++)
		if (*w->p <= ' ' || *w->p == 0x7f)
			return FRAG_SNIFF_NO;
	if (w->p == w->end)
		return FRAG_SNIFF_MORE;
	return length && *w->p++ == next ? FRAG_SNIFF_YES : FRAG_SNIFF_NO;
}

/*
 * hlo_module, then its name and the name of its entry computation, fields 1 and 2, and then its
 * computations. Keys are control characters, which no text has there.
 */
static enum frag_sniff hlo_sniff(const char *bytes, size_t length)
{
	struct wire w = { bytes, bytes + length };
	enum frag_sniff is = frag_sniff_prefix(bytes, length, "\n", 1);

	if (is != FRAG_SNIFF_YES)
		return is;
	for (w.p++; w.p < w.end && w.p < bytes + 10 && *w.p & 0x80;)
		w.p++;
	if (w.end - w.p < 2)
		return FRAG_SNIFF_MORE;
	w.p += 2;
	if (w.p[-1] != BYTES(1))
		return FRAG_SNIFF_NO;
	is = sniff_name(&w, BYTES(2));
	return is == FRAG_SNIFF_YES ? sniff_name(&w, BYTES(3)) : is;
}

const struct frag_reader frag_reader_hlo = {
	.name = "hlo",
	.sniff = hlo_sniff,
	.open = hlo_open,
};
