/* trace_lines.c - what was noted as the lines of a trace, and the stacks of requests, each once. */
#include "recorder/trace_lines.h"

#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "recorder/address_name.h"
#include "recorder/driver_calls.h"
#include "recorder/driver_devices.h"
#include "recorder/raw.h"

#define TAG_ROOM 4096
#define LINE_ROOM (TAG_ROOM + 512)
#define TEXT_ROOM (512u << 10)
#define REMEMBERED 4096                 /* frees that may turn out to have failed */

/* A table from numbers to numbers: open addressing, at most half full. */
struct int_map {
	struct int_entry {
		uint64_t key, value;    /* value 0: free */
	} *at;
	uint32_t room;                  /* a power of two, or 0 */
	uint32_t count;
};

static uint32_t int_map_home(const struct int_map *t, uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (t->room - 1);
}

/* Where the key is, or would be. */
static uint32_t int_map_find(const struct int_map *t, uint64_t key)
{
	uint32_t i = int_map_home(t, key);

	while (t->at[i].value && t->at[i].key != key)
		i = (i + 1) & (t->room - 1);
	return i;
}

/* 0: it has none. */
static uint64_t int_map_get(const struct int_map *t, uint64_t key)
{
	return t->room ? t->at[int_map_find(t, key)].value : 0;
}

static bool int_map_grow(struct int_map *t)
{
	struct int_map larger = { .room = t->room ? 2 * t->room : 256, .count = t->count };

	larger.at = frag_raw_pages(larger.room * sizeof(*larger.at));
	if (!larger.at)
		return false;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->at[i].value)
			larger.at[int_map_find(&larger, t->at[i].key)] = t->at[i];
	frag_raw_drop(t->at, t->room * sizeof(*t->at));
	*t = larger;
	return true;
}

/* value is not 0. False where there is out of memory. */
static bool int_map_put(struct int_map *t, uint64_t key, uint64_t value)
{
	uint32_t i;

	if (2 * (t->count + 1) > t->room && !int_map_grow(t))
		return false;
	i = int_map_find(t, key);
	t->count += t->at[i].value == 0;
	t->at[i] = (struct int_entry){ key, value };
	return true;
}

/* Those behind it that would no longer be found move up. */
static void int_map_del(struct int_map *t, uint64_t key)
{
	const uint32_t mask = t->room - 1;
	uint32_t hole, i;

	if (!int_map_get(t, key))
		return;
	hole = int_map_find(t, key);
	for (i = (hole + 1) & mask; t->at[i].value; i = (i + 1) & mask) {
		if (((i - int_map_home(t, t->at[i].key)) & mask) < ((i - hole) & mask))
			continue;
		t->at[hole] = t->at[i];
		hole = i;
	}
	t->at[hole].value = 0;
	t->count--;
}

/* A growing array. */
struct array {
	void *at;
	uint64_t count, room;
};

/* The place of a new entry, zeroed; SIZE_MAX where there is out of memory. */
static uint64_t trace_lines_append(struct array *a, size_t size)
{
	if (a->count == a->room) {
		const uint64_t larger = a->room ? 2 * a->room : 64;
		void *at = frag_raw_grow(a->at, a->room * size, larger * size);

		if (!at)
			return UINT64_MAX;
		a->at = at;
		a->room = larger;
	}
	memset((char *)a->at + a->count * size, 0, size);
	return a->count++;
}

#define OF_STACK (UINT64_C(1) << 63)    /* with the place of a stack + 1 */
#define FRAMES 32
#define INSIDE 4                /* frames of the recorder, at most */
#define STACKS (1u << 16)
#define STACK_TRIES 64

/* A stack that many threads look for at once, which take no lock; it never changes. */
struct stack {
	_Atomic uint64_t hash;          /* 0: free */
	_Atomic uint32_t count;         /* 0: not there yet */
	void *frames[FRAMES];
};

static struct stack *stacks;            /* STACKS of them; NULL: tags are callers */

static uint64_t call_stacks_hash(void *const *frames, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h ? h : 1;
}

/*
 * The place of a stack, a new one if need be, + 1; 0: the table is full. A stack that another
 * thread, or the code that a signal interrupted, is about to write gets a second place.
 */
static uint64_t call_stacks_number(void *const *frames, uint32_t n)
{
	const uint64_t key = call_stacks_hash(frames, n);

	for (uint32_t i = 0; i < STACK_TRIES; i++) {
		const uint64_t place = (key + i) % STACKS;
		struct stack *s = &stacks[place];
		uint64_t hash = 0;

		if (atomic_compare_exchange_strong(&s->hash, &hash, key)) {
			memcpy(s->frames, frames, n * sizeof(frames[0]));
			atomic_store_explicit(&s->count, n, memory_order_release);
			return place + 1;
		}
		if (hash == key && atomic_load_explicit(&s->count, memory_order_acquire) == n
		    && memcmp(s->frames, frames, n * sizeof(frames[0])) == 0)
			return place + 1;
	}
	return 0;
}

uint64_t frag_caller_here(uint64_t caller)
{
	void *frames[FRAMES + INSIDE];
	int first = 0, n;
	uint64_t found;

	if (!stacks)
		return caller;
	n = backtrace(frames, FRAMES + INSIDE);
	while (first < n && (uint64_t)(uintptr_t)frames[first] != caller)
		first++;
	if (first == n || first > INSIDE) {
		frames[0] = (void *)(uintptr_t)caller;
		first = 0;
		n = 1;
	}
	found = call_stacks_number(frames + first, (uint32_t)(n - first < FRAMES ? n - first : FRAMES));
	return found ? OF_STACK | found : caller;
}

struct block {
	uint64_t id, size;              /* id 0: unused; size links the next unused one */
	uint64_t key;
	uint32_t stream, pool, tag;
	uint32_t handles, maps; /* of physical memory: the last one frees it */
	uint16_t device;
	bool     physical;
};

struct mapping {
	uint64_t handle, size;
};

struct stream {
	uint64_t waits;                 /* the last free that waits for it; an order, from 1 */
	uint16_t device;
};

struct event {
	uint64_t at;                    /* in the order of frees */
	uint32_t stream;
};

static struct {
	struct int_map addresses, handles; /* to a block's place + 1 */
	struct int_map mapped;     /* an address, to a mapping's place + 1 */
	struct int_map streams, pools;     /* to their numbers */
	struct int_map events;     /* to an event's place + 1 */
	struct int_map tags, names; /* a caller, an address: to where its text begins + 1 */
	struct array block, mapping, stream, event;
	struct frag_raw_text tag; /* the texts, each with a 0 behind it */
	uint64_t free_block, free_mapping;      /* place + 1 */
	uint32_t stream_count, pool_count;
	uint64_t ids, waits;
	struct block freed[REMEMBERED];
	uint64_t freed_count;
} known;

static uint64_t start, last;            /* nanoseconds */
static uint64_t lost;                   /* lines that failed for out of memory */
static struct frag_raw_text text;

void frag_lines_start(uint64_t start_ns)
{
	start = start_ns;
}

void frag_lines_prepare_stacks(void)
{
	void *frame;

	if (!stacks)
		stacks = frag_raw_pages(STACKS * sizeof(*stacks));
	/* the first call loads a library */
	backtrace(&frame, 1);
}

static struct block *block_at(uint64_t place)
{
	return (struct block *)known.block.at + place;
}

static struct mapping *mapping_at(uint64_t place)
{
	return (struct mapping *)known.mapping.at + place;
}

/* One for each stream that has a number but 0. */
static struct stream *stream_at(uint32_t number)
{
	return (struct stream *)known.stream.at + number - 1;
}

static void trace_lines_put(const char *s)
{
	frag_raw_put(&text, s);
}

static void put_number(uint64_t n)
{
	frag_raw_put_number(&text, n);
}

static void trace_lines_put_member(const char *name, uint64_t value)
{
	trace_lines_put(name);
	put_number(value);
}

static bool trace_lines_grow(struct frag_raw_text *t, size_t room)
{
	const size_t larger = t->room ? 2 * t->room : TEXT_ROOM;
	char *grown;

	if (t->room - t->used >= room)
		return true;
	grown = frag_raw_grow(t->at, t->room, larger);
	if (!grown)
		return false;
	t->at = grown;
	t->room = larger;
	return true;
}

/* A line fits from here on, with its tag. */
static bool begin_line(const char *op)
{
	if (!trace_lines_grow(&text, LINE_ROOM)) {
		lost++;
		return false;
	}
	trace_lines_put(op);
	return true;
}

static void put_device(uint16_t device)
{
	if (frag_devices_count() > 1)
		trace_lines_put_member(",\"device\":", device);
}

/* Microseconds, which never decrease: one of two threads may read the clock earlier. */
static void put_time(uint64_t t_ns)
{
	uint64_t t = t_ns > start ? t_ns - start : 0;

	if (t < last)
		t = last;
	last = t;
	trace_lines_put_member(",\"t\":", t / 1000);
	if (t % 1000)
		trace_lines_put((char[]){ '.', (char)('0' + t % 1000 / 100),
					  (char)('0' + t % 100 / 10), (char)('0' + t % 10), 0 });
}

static void end_line(uint64_t t_ns)
{
	put_time(t_ns);
	trace_lines_put("}\n");
}

const char *frag_lines_take(size_t *length)
{
	*length = text.used;
	text.used = 0;
	return text.at;
}

uint64_t frag_lines_lost(void)
{
	return lost;
}

/* The number of a key, a new one if need be; 0 for 0, or where there is out of memory. */
static uint32_t number_in(struct int_map *t, uint32_t *count, uint64_t key)
{
	const uint64_t number = int_map_get(t, key);

	if (number || !key)
		return (uint32_t)number;
	return int_map_put(t, key, *count + 1) ? ++*count : 0;
}

/* The number of a stream: of the default one 0, of others the order in which they came. */
static uint32_t stream_number(uint64_t key, uint16_t device)
{
	const uint32_t before = known.stream_count;
	const uint32_t number = number_in(&known.streams, &known.stream_count, key);
	uint64_t place;

	if (number <= before)
		return number;
	place = trace_lines_append(&known.stream, sizeof(struct stream));
	if (place == UINT64_MAX) {
		int_map_del(&known.streams, key);
		known.stream_count--;
		return 0;
	}
	stream_at(number)->device = device;
	return number;
}

/* JSON contains printable characters unchanged, except two. */
static void put_escaped(struct frag_raw_text *t, const char *name)
{
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			frag_raw_put(t, "\\");
		frag_raw_put(t, (char[]){ *name, 0 });
	}
}

/* Where the name of an address begins among the texts, + 1; each is searched for once. */
static uint64_t name_of(uint64_t address)
{
	uint64_t at = int_map_get(&known.names, address);
	char name[256];

	if (at || !trace_lines_grow(&known.tag, 2 * sizeof(name) + 1))
		return at;
	at = known.tag.used + 1;
	frag_name_address(address, name, sizeof(name));
	put_escaped(&known.tag, name);
	known.tag.at[known.tag.used++] = '\0';
	return int_map_put(&known.names, address, at) ? at : 0;
}

/* The functions of a stack, the innermost first, with " < " between them. */
static uint64_t name_of_stack(const struct stack *s)
{
	const uint32_t count = atomic_load_explicit(&s->count, memory_order_acquire);
	uint64_t names[FRAMES];
	uint64_t at;

	/* a return address may be the first byte of the next function */
	for (uint32_t i = 0; i < count; i++)
		names[i] = name_of((uint64_t)(uintptr_t)s->frames[i] - 1);
	if (!count || !trace_lines_grow(&known.tag, TAG_ROOM + 1))
		return 0;
	at = known.tag.used;
	for (uint32_t i = 0; i < count && known.tag.used - at + 600 < TAG_ROOM; i++) {
		frag_raw_put(&known.tag, i ? " < " : "");
		frag_raw_put(&known.tag, names[i] ? known.tag.at + names[i] - 1 : "?");
	}
	known.tag.at[known.tag.used++] = '\0';
	return at + 1;
}

/* Each caller is named once: its module and function, or its stack. 0: there is out of memory. */
static uint32_t tag_number(uint64_t caller)
{
	uint64_t at = int_map_get(&known.tags, caller);

	if (at)
		return (uint32_t)at;
	at = caller & OF_STACK ? name_of_stack(&stacks[(caller & ~OF_STACK) - 1])
			       : name_of(caller - 1);
	if (at)
		int_map_put(&known.tags, caller, at);
	return (uint32_t)at;
}

static void write_alloc(const struct block *b, uint64_t t_ns)
{
	const char *tag = b->tag ? known.tag.at + b->tag - 1 : NULL;

	if (!begin_line("{\"op\":\"alloc\",\"id\":"))
		return;
	put_number(b->id);
	trace_lines_put_member(",\"size\":", b->size);
	put_device(b->device);
	if (b->stream)
		trace_lines_put_member(",\"stream\":", b->stream);
	if (b->pool)
		trace_lines_put_member(",\"pool\":", b->pool);
	put_time(t_ns);
	if (tag) {
		trace_lines_put(",\"tag\":\"");
		trace_lines_put(tag);
		trace_lines_put("\"");
	}
	trace_lines_put("}\n");
}

static uint64_t new_block(void)
{
	const uint64_t place = known.free_block
				       ? known.free_block - 1
				       : trace_lines_append(&known.block, sizeof(struct block));

	if (known.free_block)
		known.free_block = block_at(place)->size;
	return place;
}

/* It is freed, in the trace too. */
static void trace_lines_end_block(struct int_map *table, uint64_t key, uint64_t t_ns)
{
	const uint64_t place = int_map_get(table, key) - 1;
	struct block *b = block_at(place);

	if (begin_line("{\"op\":\"free\",\"id\":")) {
		put_number(b->id);
		end_line(t_ns);
	}
	known.freed[known.freed_count++ % REMEMBERED] = *b;
	int_map_del(table, key);
	*b = (struct block){ .id = 0, .size = known.free_block };
	known.free_block = place + 1;
}

/* The previous block at this address or handle was freed by a call that the recorder missed. */
static void trace_lines_begin_block(struct int_map *table, struct block block, uint64_t t_ns)
{
	uint64_t place;

	if (int_map_get(table, block.key))
		trace_lines_end_block(table, block.key, t_ns);
	place = new_block();
	if (place == UINT64_MAX || !int_map_put(table, block.key, place + 1))
		return;
	block.id = ++known.ids;
	*block_at(place) = block;
	write_alloc(&block, t_ns);
}

static void add_alloc(const struct frag_note *n)
{
	trace_lines_begin_block(n->op == FRAG_NOTE_CREATE ? &known.handles : &known.addresses,
				(struct block){
					.key = n->key,
					.size = n->size,
					.device = n->device,
					.stream = stream_number(n->stream, n->device),
					.pool = number_in(&known.pools, &known.pool_count, n->pool),
					.tag = tag_number(n->caller),
					.handles = 1,
					.physical = n->op == FRAG_NOTE_CREATE,
				},
				n->t_ns);
}

/*
 * A free that is queued on another stream than the block's: it is in use there until that stream
 * has come so far.
 */
static void add_free(const struct frag_note *n)
{
	const uint64_t place = int_map_get(&known.addresses, n->key);
	const bool queued = n->call == CALL_cuMemFreeAsync || n->call == CALL_cuMemFreeAsync_ptsz;
	uint32_t stream;

	if (!place) {
		/* should it fail, it is not an earlier block of this address that lives */
		known.freed[known.freed_count++ % REMEMBERED] = (struct block){ .key = n->key };
		return;
	}
	stream = queued ? stream_number(n->stream, block_at(place - 1)->device) : 0;
	if (queued && stream != block_at(place - 1)->stream
	    && begin_line("{\"op\":\"record_stream\",\"id\":")) {
		put_number(block_at(place - 1)->id);
		trace_lines_put_member(",\"stream\":", stream);
		end_line(n->t_ns);
		known.waits++;
		if (stream)
			stream_at(stream)->waits = known.waits;
	}
	trace_lines_end_block(&known.addresses, n->key, n->t_ns);
}

/* The block stays allocated: it is written as another block, of the same size and tag. */
static void add_failed_free(const struct frag_note *n)
{
	const bool is_physical = n->op == FRAG_NOTE_RELEASE_FAILED;
	struct int_map *table = is_physical ? &known.handles : &known.addresses;

	if (int_map_get(table, n->key)) {
		block_at(int_map_get(table, n->key) - 1)->handles += is_physical;
		return;
	}
	for (uint64_t i = 0; i < REMEMBERED && i < known.freed_count; i++) {
		struct block b = known.freed[(known.freed_count - 1 - i) % REMEMBERED];

		if (b.key != n->key || b.physical != is_physical)
			continue;
		b.handles = 1;
		if (b.id)
			trace_lines_begin_block(table, b, n->t_ns);
		return;
	}
}

/* A request that the driver refused. */
static void add_failed(const struct frag_note *n)
{
	if (!begin_line("{\"op\":\"mark\",\"name\":\""))
		return;
	trace_lines_put(frag_driver_call_names[n->call]);
	trace_lines_put_member(" failed: ", n->size);
	trace_lines_put_member(" bytes on device ", n->device);
	trace_lines_put_member(", error ", (uint64_t)(uint32_t)n->error);
	trace_lines_put(n->error == CUDA_OUT_OF_MEMORY ? " (out of memory)\"" : "\"");
	put_device(n->device);
	end_line(n->t_ns);
}

static struct block *physical(uint64_t handle)
{
	const uint64_t place = int_map_get(&known.handles, handle);

	return place ? block_at(place - 1) : NULL;
}

static void drop_physical(uint64_t handle, uint64_t t_ns)
{
	const struct block *b = physical(handle);

	if (b && !b->handles && !b->maps)
		trace_lines_end_block(&known.handles, handle, t_ns);
}

static void trace_lines_add_handle(const struct frag_note *n)
{
	struct block *b = physical(n->key);

	if (b && n->op == FRAG_NOTE_RETAIN)
		b->handles++;
	else if (b && b->handles)
		b->handles--;
	else if (!b && n->op == FRAG_NOTE_RELEASE)
		known.freed[known.freed_count++ % REMEMBERED] =
			(struct block){ .key = n->key, .physical = true };
	drop_physical(n->key, n->t_ns);
}

static void add_map(const struct frag_note *n)
{
	struct block *b = physical(n->stream);
	uint64_t place = known.free_mapping;

	if (!b)
		return;
	if (place)
		known.free_mapping = mapping_at(place - 1)->size;
	else
		place = trace_lines_append(&known.mapping, sizeof(struct mapping)) + 1;
	if (!place || !int_map_put(&known.mapped, n->key, place))
		return;
	*mapping_at(place - 1) = (struct mapping){ n->stream, n->size };
	b->maps++;
}

/* All that is mapped there, from the first address on. */
static void add_unmap(const struct frag_note *n)
{
	uint64_t at = n->key;

	while (at - n->key < n->size) {
		const uint64_t place = int_map_get(&known.mapped, at);
		struct mapping m;
		struct block *b;

		if (!place)
			return;
		m = *mapping_at(place - 1);
		int_map_del(&known.mapped, at);
		mapping_at(place - 1)->size = known.free_mapping;
		known.free_mapping = place;
		b = physical(m.handle);
		if (b)
			b->maps--;
		drop_physical(m.handle, n->t_ns);
		at += m.size ? m.size : n->size;
	}
}

static void write_sync(uint16_t device, const uint32_t *stream, uint64_t t_ns)
{
	if (!begin_line("{\"op\":\"sync\""))
		return;
	if (stream)
		trace_lines_put_member(",\"stream\":", *stream);
	put_device(device);
	end_line(t_ns);
}

static void sync_stream(uint32_t stream, uint16_t device, uint64_t t_ns)
{
	write_sync(stream ? stream_at(stream)->device : device, &stream, t_ns);
}

static void trace_lines_add_event(const struct frag_note *n)
{
	uint64_t place = int_map_get(&known.events, n->key);
	const uint32_t stream = stream_number(n->stream, n->device);

	if (!place) {
		place = trace_lines_append(&known.event, sizeof(struct event)) + 1;
		if (!place || !int_map_put(&known.events, n->key, place))
			return;
	}
	((struct event *)known.event.at)[place - 1] = (struct event){ known.waits, stream };
}

/*
 * All that was queued before the event is done. The trace can say it where nothing has been freed
 * on the stream since: "sync" is about all that was queued until now.
 */
static void add_sync_event(const struct frag_note *n)
{
	const uint64_t place = int_map_get(&known.events, n->key);
	struct event e;

	if (!place)
		return;
	e = ((struct event *)known.event.at)[place - 1];
	if (e.stream ? stream_at(e.stream)->waits <= e.at : known.waits <= e.at)
		sync_stream(e.stream, n->device, n->t_ns);
}

/* Another pool of the same handle, later, is another pool. */
static void add_pool_gone(const struct frag_note *n)
{
	const uint64_t number = int_map_get(&known.pools, n->key);

	if (!number || !begin_line("{\"op\":\"release_pool\",\"pool\":"))
		return;
	put_number(number);
	put_device(n->device);
	end_line(n->t_ns);
	int_map_del(&known.pools, n->key);
}

/* The device's context has gone, with all that was in it. */
static void add_reset(const struct frag_note *n)
{
	for (uint64_t i = 0; i < known.block.count; i++) {
		const struct block *b = block_at(i);

		if (b->id && b->device == n->device)
			trace_lines_end_block(b->physical ? &known.handles : &known.addresses,
					      b->key, n->t_ns);
	}
}

/* Each operation of the driver has a function that updates the live blocks and writes lines. */
size_t frag_lines_add(const struct frag_note *n)
{
	switch ((enum frag_note_op)n->op) {
	case FRAG_NOTE_ALLOC:
	case FRAG_NOTE_CREATE:
		add_alloc(n);
		break;
	case FRAG_NOTE_FREE:
		add_free(n);
		break;
	case FRAG_NOTE_FREE_FAILED:
	case FRAG_NOTE_RELEASE_FAILED:
		add_failed_free(n);
		break;
	case FRAG_NOTE_FAILED:
		add_failed(n);
		break;
	case FRAG_NOTE_RETAIN:
	case FRAG_NOTE_RELEASE:
		trace_lines_add_handle(n);
		break;
	case FRAG_NOTE_MAP:
		add_map(n);
		break;
	case FRAG_NOTE_UNMAP:
		add_unmap(n);
		break;
	case FRAG_NOTE_SYNC_STREAM:
		sync_stream(stream_number(n->stream, n->device), n->device, n->t_ns);
		break;
	case FRAG_NOTE_SYNC_DEVICE:
		write_sync(n->device, NULL, n->t_ns);
		break;
	case FRAG_NOTE_EVENT:
		trace_lines_add_event(n);
		break;
	case FRAG_NOTE_SYNC_EVENT:
		add_sync_event(n);
		break;
	case FRAG_NOTE_POOL_GONE:
		add_pool_gone(n);
		break;
	case FRAG_NOTE_DEVICE_RESET:
		add_reset(n);
		break;
	}
	return text.used;
}

void frag_lines_forget(void)
{
	memset(&known, 0, sizeof(known));
	text = (struct frag_raw_text){ .at = NULL };
	lost = 0;
	last = 0;
}
