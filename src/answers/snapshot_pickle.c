/* snapshot_pickle.c - the words, stacks, lists and settings of a snapshot that is being written. */
#include "answers/as_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "fragsim/version.h"
#include "policy/choice.h"
#include "policy/param.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"

#define FIRST_STACK 64          /* memo number; the words are below */
#define STACKS_MAX 4096         /* that have a number at the same time */
#define STACK_MAX 8192          /* bytes: a longer one is written each time */
#define FRAME_ROOM (4 * FRAG_SNAP_WORD_ROOM + 2 * FRAG_PICKLE_ROOM + 16)
#define BETWEEN " < "

static const struct {
	const char *text;
	uint32_t length;
} words[] = {
#define X(name, text) { text, sizeof(text) - 1 },
	FRAG_SNAP_WORDS(X)
#undef X
};

_Static_assert(FRAG_SNAP_WORD_COUNT <= FIRST_STACK, "a bit and a number for each word");

int frag_snap_part_open(struct frag_snap_part *part, const struct frag_symbols *symbols,
			struct frag_outfile *out, const struct frag_outfile *beside,
			struct frag_error *err)
{
	part->symbols = symbols;
	if (!frag_map_init(&part->map, frag_hash_seed()))
		return frag_fail_nomem(err);
	if (!out) {
		int rc = frag_outfile_spool(&part->spool, beside, err);

		if (rc)
			return rc;
	}
	part->out = out ? out : &part->spool;
	frag_snap_op(part->out, FRAG_PICKLE_LIST);
	return frag_outfile_status(part->out, err);
}

int frag_snap_part_end(struct frag_snap_part *part, struct frag_outfile *out,
		       struct frag_error *err)
{
	char *p = frag_outfile_room(part->out, 2);

	if (p)
		frag_outfile_used(part->out, frag_snap_list_end(&part->open, p));
	return part->out == out ? frag_outfile_status(out, err)
				: frag_outfile_append(out, &part->spool, err);
}

void frag_snap_part_fini(struct frag_snap_part *part)
{
	for (uint32_t i = 0; i < part->stack_count; i++)
		free(part->stacks[i].text);
	free(part->stacks);
	frag_map_fini(&part->map);
	frag_outfile_abandon(&part->spool);
}

char *frag_snap_word(struct frag_snap_part *part, char *p, enum frag_snap_word word)
{
	const uint64_t bit = UINT64_C(1) << word;

	if (part->known & bit)
		return frag_pickle_get(p, word);
	part->known |= bit;
	p = frag_pickle_text(p, words[word].text, words[word].length);
	return frag_pickle_put(p, word);
}

/* Where the frame ends, and where the next one begins; NULL: it was the last. */
static const char *find_frame_end(const char *text, const char *end, const char **frame_end)
{
	const char *p = frag_text_find((struct frag_text){ text, (uint32_t)(end - text) }, BETWEEN);

	*frame_end = p ? p : end;
	return p ? p + strlen(BETWEEN) : NULL;
}

/* The length of FILE where the frame is "FILE:LINE NAME", and its line; else 0. */
static size_t find_file(const char *text, size_t length, uint64_t *line)
{
	const char *space = memchr(text, ' ', length);
	size_t at = space ? (size_t)(space - text) : 0, digits = 0;
	uint64_t scale = 1;

	*line = 0;
	while (digits < at && digits < 9 && text[at - 1 - digits] >= '0'
	       && text[at - 1 - digits] <= '9') {
		*line += (uint64_t)(text[at - 1 - digits++] - '0') * scale;
		scale *= 10;
	}
	if (!digits || !*line || at < digits + 2 || text[at - digits - 1] != ':')
		return 0;
	return at - digits - 1;
}

/* file NULL: the word for what is no file. */
static char *put_snap_frame(struct frag_snap_part *part, char *p,
				       const struct frag_frame *f)
{
	p = frag_pickle_op(frag_pickle_op(p, FRAG_PICKLE_DICT), FRAG_PICKLE_MARK);
	p = frag_snap_word(part, p, FRAG_SNAP_FILE);
	if (f->file.text)
		p = frag_pickle_text(p, f->file.text, f->file.length);
	else
		p = frag_snap_word(part, p, FRAG_SNAP_TAG);
	p = frag_snap_number(part, p, FRAG_SNAP_LINE, f->line);
	p = frag_snap_word(part, p, FRAG_SNAP_NAME);
	p = frag_pickle_text(p, f->name.text, f->name.length);
	return frag_pickle_op(p, FRAG_PICKLE_SETITEMS);
}

static struct frag_frame frame_of(const char *text, size_t length)
{
	struct frag_frame f = { .name = { .text = text, .length = (uint32_t)length } };
	const size_t file = find_file(text, length, &f.line);

	if (!file) {
		f.line = 0;
		return f;
	}
	f.file = (struct frag_text){ .text = text, .length = (uint32_t)file };
	f.name.text = (const char *)memchr(text, ' ', length) + 1;
	f.name.length = (uint32_t)(text + length - f.name.text);
	return f;
}

static char *put_tag(struct frag_snap_part *part, char *p, struct frag_text tag)
{
	const char *next = tag.text, *end = next ? next + tag.length : NULL;
	uint32_t open = 0;

	p = frag_pickle_op(p, FRAG_PICKLE_LIST);
	while (next) {
		const char *frame = next, *frame_end;
		struct frag_frame f;

		next = find_frame_end(frame, end, &frame_end);
		f = frame_of(frame, (size_t)(frame_end - frame));
		p = put_snap_frame(part, frag_snap_item(&open, p), &f);
	}
	return frag_snap_list_end(&open, p);
}

static char *put_stack(struct frag_snap_part *part, char *p, uint64_t at)
{
	uint32_t open = 0;
	struct frag_frame f;

	p = frag_pickle_op(p, FRAG_PICKLE_LIST);
	for (uint32_t i = 0; i < FRAG_FRAMES_MAX && frag_symbols_frame(part->symbols, &at, &f);
	     i++) {
		f.file.text = f.file.text ? f.file.text : "";
		f.name.text = f.name.text ? f.name.text : "";
		p = put_snap_frame(part, frag_snap_item(&open, p), &f);
	}
	return frag_snap_list_end(&open, p);
}

static uint32_t find_stack(const struct frag_snap_part *part,
			   const struct frag_snap_requester *requester, uint64_t hash)
{
	uint32_t at = frag_map_home(&part->map, hash), i;

	while ((i = frag_map_next(&part->map, hash, &at)) != FRAG_MAP_NONE) {
		const struct frag_snap_stack *s = &part->stacks[i];

		if (s->number != requester->stack)
			continue;
		if (s->number || (s->length == requester->tag.length
				  && memcmp(s->text, requester->tag.text, s->length) == 0))
			return i;
	}
	return FRAG_MAP_NONE;
}

/* A number for the frames, from the oldest where all are given; none where a tag is long. */
static uint32_t number_stack(struct frag_snap_part *part,
			     const struct frag_snap_requester *requester, uint64_t hash)
{
	const bool full = part->stack_count == STACKS_MAX;
	const uint32_t length = requester->stack ? 0 : requester->tag.length;
	uint32_t i = full ? part->oldest : part->stack_count;
	struct frag_snap_stack *s;
	char *copy;

	if (length > STACK_MAX)
		return FRAG_MAP_NONE;
	copy = malloc((size_t)length + 1);
	if (!copy || !FRAG_GROW(part->stacks, part->stack_capacity, i)
	    || !frag_map_add(&part->map, hash, i)) {
		free(copy);
		part->out->failed = ENOMEM;
		return FRAG_MAP_NONE;
	}
	s = &part->stacks[i];
	if (full) {
		frag_map_remove(&part->map, s->hash, i);
		free(s->text);
		part->oldest = (i + 1) % STACKS_MAX;
	} else {
		part->stack_count++;
	}
	if (length)
		memcpy(copy, requester->tag.text, length);
	*s = (struct frag_snap_stack){ .text = copy, .hash = hash, .length = length,
				       .number = requester->stack };
	return i;
}

char *frag_snap_frames(struct frag_snap_part *part, char *p,
		       const struct frag_snap_requester *requester)
{
	const struct frag_text tag = requester->tag;
	uint64_t hash;
	uint32_t i;

	p = frag_snap_word(part, p, FRAG_SNAP_FRAMES);
	if (!requester->stack && (!tag.text || !tag.length))
		return frag_pickle_op(p, FRAG_PICKLE_LIST);
	hash = requester->stack ? frag_hash_mix(requester->stack)
	       : frag_hash_text(tag.text, tag.length, part->map.seed);
	i = find_stack(part, requester, hash);
	if (i != FRAG_MAP_NONE)
		return frag_pickle_get(p, FIRST_STACK + i);
	p = requester->stack ? put_stack(part, p, requester->stack) : put_tag(part, p, tag);
	i = number_stack(part, requester, hash);
	return i == FRAG_MAP_NONE ? p : frag_pickle_put(p, FIRST_STACK + i);
}

static size_t frames_room(const struct frag_snap_part *part,
			  const struct frag_snap_requester *requester)
{
	const char *next = requester->tag.text, *frame_end;
	size_t frames = 0, bytes = requester->tag.length;
	uint64_t at = requester->stack;
	struct frag_frame f;

	while (next) {
		next = find_frame_end(next, requester->tag.text + requester->tag.length, &frame_end);
		frames++;
	}
	while (frames < FRAG_FRAMES_MAX && frag_symbols_frame(part->symbols, &at, &f)) {
		bytes += (size_t)f.file.length + f.name.length;
		frames++;
	}
	return frames * FRAME_ROOM + bytes * 3 + 64;
}

char *frag_snap_dict(struct frag_snap_part *part, uint32_t *open, size_t room,
		     const struct frag_snap_requester *requester)
{
	char *p = frag_outfile_room(part->out,
				    room + (requester ? frames_room(part, requester) : 0));

	if (!p)
		return NULL;
	p = frag_pickle_op(frag_snap_item(open, p), FRAG_PICKLE_DICT);
	return frag_pickle_op(p, FRAG_PICKLE_MARK);
}

static void put_number(struct frag_outfile *out, const char *key, int64_t value)
{
	char p[FRAG_PICKLE_ROOM];

	frag_snap_text(out, key);
	frag_outfile_write(out, p, (size_t)(frag_pickle_i64(p, value) - p));
}

static void put_text(struct frag_outfile *out, const char *key, const char *text)
{
	frag_snap_text(out, key);
	frag_snap_text(out, text);
}

/* A dict or a list; key NULL: none. */
static void begin(struct frag_outfile *out, const char *key, enum frag_pickle_opcode kind)
{
	if (key)
		frag_snap_text(out, key);
	frag_snap_op(out, kind);
	frag_snap_op(out, FRAG_PICKLE_MARK);
}

/* The parsed values, which PyTorch writes in addition to the string. */
static void put_values(struct frag_outfile *out, const uint64_t *param)
{
	const uint64_t max_split = param[MAX_SPLIT_MB];
	const double gc_threshold = frag_pytorch_real(param[GC_THRESHOLD]);
	char p[FRAG_PICKLE_ROOM], key[16];

	put_number(out, "max_split_size", max_split ? (int64_t)(max_split * MIB) : -1);
	frag_snap_text(out, "garbage_collection_threshold");
	frag_outfile_write(out, p, (size_t)(frag_pickle_real(p, gc_threshold) - p));
	frag_snap_text(out, "expandable_segments");
	frag_outfile_write(out, p,
			   (size_t)(frag_pickle_bool(p, param[EXPANDABLE_SEGMENTS] != 0) - p));
	begin(out, "roundup_power2_divisions", FRAG_PICKLE_DICT);
	for (uint32_t i = 0; i < 16; i++) {
		const uint32_t code = param[ROUNDUP] >> 4 * i & 15;

		snprintf(key, sizeof(key), "%u", 1U << i);
		put_number(out, key, code ? 1 << code : 0);
	}
	frag_snap_op(out, FRAG_PICKLE_SETITEMS);
}

/* Entries of fragsim itself, which a viewer shows too. */
static void put_origin(const struct frag_export *x)
{
	const struct frag_devices *devices = frag_sim_devices(x->sim);
	char value[FRAG_PARAM_TEXT];

	begin(x->out, "fragsim", FRAG_PICKLE_DICT);
	put_text(x->out, "version", FRAG_VERSION);
	put_text(x->out, "policy", x->choice->ops->name);
	begin(x->out, "params", FRAG_PICKLE_DICT);
	for (uint32_t i = 0; frag_export_param(x->choice, i, value); i++)
		if (!frag_param_is_omitted(x->choice, i))
			put_text(x->out, x->choice->ops->params[i].name, value);
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
	put_text(x->out, "time", x->by_time ? "t" : "step");
	begin(x->out, "devices", FRAG_PICKLE_LIST);
	for (uint32_t i = 0; i < devices->count; i++) {
		const struct frag_device_figures *d = &devices->figures[i];

		begin(x->out, NULL, FRAG_PICKLE_DICT);
		if (d->name)
			put_text(x->out, "name", d->name);
		put_number(x->out, "total_bytes", (int64_t)d->total);
		put_number(x->out, "context_bytes", (int64_t)d->context);
		put_number(x->out, "other_bytes", (int64_t)d->other);
		put_number(x->out, "granularity_bytes", (int64_t)d->granularity);
		frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
	}
	frag_snap_op(x->out, FRAG_PICKLE_APPENDS);
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
}

void frag_snap_settings(const struct frag_export *x)
{
	begin(x->out, NULL, FRAG_PICKLE_DICT);
	put_text(x->out, "PYTORCH_CUDA_ALLOC_CONF", CONF(x->choice));
	if (x->choice->ops == &frag_policy_pytorch)
		put_values(x->out, x->choice->param);
	put_origin(x);
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
}
