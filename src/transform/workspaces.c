/* workspaces.c - blocks that kernels of PyTorch take from some size on. */
#include "transform/workspaces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"

/*
 * A kernel that sums over rows (batch x length) writes a result with one element a column. Its threads stand
 * in thread blocks, in rows of up to 32, and each loads 4 elements at once, or 2 or 1, as divide the columns.
 * Where a thread has many rows, they are split among thread blocks. Each writes partial results, of 4 bytes
 * an element, for each of its columns and threads.
 * Source: setReduceConfig() and global_memory_size() in aten/src/ATen/native/cuda/Reduce.cuh of PyTorch
 * 1.8 to 2.15; measured with 2.9 and 2.15.
 */
#define REDUCE_THREADS 512              /* of a thread block, divided by the elements that are loaded at once */
#define REDUCE_WIDTH 32
#define REDUCE_SPLIT 256                /* rows of a thread, from which on they are split */
#define REDUCE_LEAST 16                 /* and how many it has then, at least */
#define REDUCE_ELEMENT 4
#define MULTIPROCESSOR_THREADS 2048

/*
 * The gradient of an embedding over more rows than these is summed in sorted order.
 * Source: embedding_dense_backward_cuda() in aten/src/ATen/native/cuda/Embedding.cu and
 * embedding_backward_cuda_kernel() in EmbeddingBackwardKernel.cu of PyTorch 1.13 to 2.15; indices of 8 bytes.
 */
#define UNSORTED_ROWS 3072
#define ROWS_A_PART 10                  /* rows that one thread sums */
#define INDEX 8                         /* bytes */
#define SCAN 1023                       /* bytes of storage of a scan */
#define SORT_A_ROW 17                   /* likewise of the sort: keys and values again, and counters */
#define SORT 20480

#define WINDOW 8                        /* events after a result in which its input is freed */
#define ROWS_MAX 32                     /* different counts of rows that are kept */

/* A result that a kernel writes, and the input that is freed then. */
struct summed {
	uint64_t result, input;         /* bytes at the number */
	uint64_t recorded;              /* of the input, in the largest recording */
	uint32_t workspace;             /* an alloc in between whose size grows; UINT32_MAX: none */
	uint32_t input_sizes;           /* in r->sizes */
	bool at_once, outlives;         /* nothing is between; the result is not freed in between */
	bool pair;                      /* two results of equal size, as of a norm: its kernel takes none */
};

/* An output of an embedding, and what may be the gradient of its weights. */
struct embedding {
	uint32_t sizes;                 /* of the output, in r->sizes */
	uint32_t event;                 /* UINT32_MAX: none so far */
	struct summed gradient;
};

struct found {
	struct frag_tape_block block;
	uint32_t nth;
};

struct search {
	struct frag_workspaces *out;
	struct found *found;
	uint32_t found_count, found_capacity;
	const struct frag_recordings *r;
	const struct frag_tape *tape;
	uint32_t number, multiprocessors;
	uint64_t *sizes;                /* of r->sizes at the number: those of workspaces are set; or NULL */
	uint64_t rows[ROWS_MAX];        /* that sums go over */
	uint32_t row_count;
	struct embedding *embeddings;
	uint32_t embedding_count, embedding_capacity;
	uint32_t last_sizes;            /* of the alloc before; UINT32_MAX: it was another event */
	bool halves;                    /* elements have 2 bytes */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint64_t last_power(uint64_t of)
{
	uint64_t power = 1;

	while (power <= of / 2)
		power *= 2;
	return power;
}

/* Of a sum; 0: it takes none. multiprocessors 0: there are enough. */
static uint64_t workspace_of(uint64_t columns, uint64_t rows, uint32_t multiprocessors)
{
	const uint64_t vector = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1, wide = columns / vector;
	const uint64_t threads = REDUCE_THREADS / vector;
	uint64_t width = least(last_power(wide), REDUCE_WIDTH), height, blocks, each, split;

	if (!columns || !rows)
		return 0;
	height = least(last_power(rows), threads / width);
	width = least(last_power(wide), threads / height);
	each = divide_up(rows, height);
	blocks = divide_up(wide, width);
	split = divide_up(each, REDUCE_LEAST);
	if (multiprocessors) {
		const uint64_t room = MULTIPROCESSOR_THREADS / (width * height) * multiprocessors;
		const uint64_t fill = divide_up(room, blocks), needed = divide_up(each, REDUCE_SPLIT);

		if (blocks > room)
			return 0;
		split = least(split, fill > needed ? fill : needed);
	}
	return each < REDUCE_SPLIT || split < 2
		       ? 0 : REDUCE_ELEMENT * columns * split * width * vector;
}

static const struct frag_sizes *sizes_of(const struct search *s, uint32_t alloc)
{
	return &s->r->sizes[s->r->which[alloc]];
}

static bool grows(const struct frag_sizes *sizes)
{
	return sizes->growth == FRAG_LINEAR || sizes->growth == FRAG_QUADRATIC;
}

static uint64_t value_of(const struct frag_tape_event *e)
{
	return e->word >> FRAG_TAPE_VALUE_SHIFT;
}

/* Event i is an alloc of a constant size. Is a growing block, made before, the next one that is freed? */
static bool find_input(const struct search *s, uint32_t i, uint32_t alloc, struct summed *sum)
{
	const struct frag_tape_event *e = s->tape->events;
	const uint32_t last = s->r->numbers.count - 1;
	uint32_t made = alloc;

	*sum = (struct summed){ .result = value_of(&e[i]), .outlives = true,
				.workspace = UINT32_MAX };
	for (uint32_t k = i + 1; k < s->tape->count && k <= i + WINDOW; k++) {
		const struct frag_tape_event *next = &e[k];
		const uint32_t of = (uint32_t)value_of(next);

		if (frag_tape_is_alloc(next)) {
			const struct frag_sizes *sizes = sizes_of(s, ++made);

			sum->pair |= sizes == sizes_of(s, alloc);
			if (sum->workspace == UINT32_MAX && sizes->growth != FRAG_CONSTANT)
				sum->workspace = made;
			continue;
		}
		if (frag_tape_op(next) != FRAG_OP_FREE)
			return false;
		if (of > alloc)
			continue;
		if (of == alloc) {
			sum->outlives = false;
			continue;
		}
		if (!grows(sizes_of(s, of)))
			return false;
		sum->at_once = k == i + 1;
		sum->input_sizes = s->r->which[of];
		sum->recorded = sizes_of(s, of)->at[last];
		frag_size_at(&s->r->numbers, sizes_of(s, of)->at, s->number, &sum->input);
		return sum->result != 0 && sum->recorded != FRAG_NO_SIZE;
	}
	return false;
}

/* A block after event i; inside: N of those that are added next, which are freed before it is. */
static bool workspaces_add(struct search *s, uint32_t i, uint64_t bytes, uint32_t inside)
{
	if (bytes >= FRAG_SIZE_LIMIT)
		bytes = FRAG_SIZE_LIMIT - 1;
	if (!FRAG_GROW(s->found, s->found_capacity, s->found_count))
		return false;
	s->found[s->found_count] = (struct found){
		.block = { .after = i, .bytes = bytes, .inside = inside }, .nth = s->found_count,
	};
	s->found_count++;
	return true;
}

/* A workspace that the largest recording has: what it is at the number, and how large elements are. */
static void note_workspace(struct search *s, const struct summed *sum)
{
	const uint32_t last = s->r->numbers.count - 1;

	if (sum->workspace == UINT32_MAX || sum->input % sum->result)
		return;
	for (uint32_t element = 4; element >= 2; element /= 2) {
		const uint64_t columns = sum->result / element;
		const uint64_t recorded = workspace_of(columns, sum->recorded / sum->result, 0);

		if (sum->result % element || !recorded || recorded != sizes_of(s, sum->workspace)->at[last])
			continue;
		s->halves = element == 2;
		if (s->sizes)
			s->sizes[s->r->which[sum->workspace]] =
				workspace_of(columns, sum->input / sum->result, s->multiprocessors);
		return;
	}
}

static void note_rows(struct search *s, const struct summed *sum)
{
	const uint64_t rows = sum->input / sum->result;

	if (sum->input % sum->result || s->row_count == ROWS_MAX)
		return;
	for (uint32_t k = 0; k < s->row_count; k++)
		if (s->rows[k] == rows)
			return;
	s->rows[s->row_count++] = rows;
}

/* The workspace of a sum that passes a threshold between the largest recording and the number. */
static bool add_sum(struct search *s, uint32_t i, const struct summed *sum)
{
	const uint64_t rows = sum->input / sum->result, before = sum->recorded / sum->result;

	if (!sum->at_once || sum->input % sum->result)
		return true;
	for (uint32_t element = s->halves ? 2 : 4; element >= 2; element /= 2) {
		const uint64_t columns = sum->result / element;
		const uint64_t bytes = workspace_of(columns, rows, s->multiprocessors);

		if (sum->result % element || !bytes || workspace_of(columns, before, s->multiprocessors))
			continue;
		s->out->sums++;
		return workspaces_add(s, i, bytes, 0);
	}
	return true;
}

static bool has_frame(const struct frag_tape *tape, const struct frag_tape_event *e, const char *name)
{
	uint64_t at = tape->sites[e->site].whole;
	struct frag_frame frame;

	while (frag_symbols_whole(&tape->symbols, &at, &frame))
		if (frame.name.length == strlen(name) && memcmp(frame.name.text, name, frame.name.length) == 0)
			return true;
	return false;
}

static bool is_of_backward(const struct frag_tape *tape, const struct frag_tape_event *e)
{
	static const char tag[] = "autograd";
	const uint32_t number = tape->sites[e->site].tag;
	const struct frag_text text = number ? frag_symbols_tag(&tape->symbols, number)
				      : (struct frag_text){ .text = NULL };

	return text.text && text.length >= sizeof(tag) - 1 && memcmp(text.text, tag, sizeof(tag) - 1) == 0;
}

/* The most rows that a sum goes over whose columns are those of the gradient; 0: nothing shows them. */
static uint64_t rows_of(const struct search *s, const struct summed *gradient)
{
	uint64_t most = 0;

	for (uint32_t k = 0; k < s->row_count; k++) {
		const uint64_t rows = s->rows[k];
		const uint64_t row = rows && gradient->input % rows == 0 ? gradient->input / rows : 0;

		if (row >= 2 * INDEX && gradient->result % row == 0 && rows > most)
			most = rows;
	}
	return most;
}

/* What the sort takes, as it takes it, after the gradient of the weights. */
static bool add_sort(struct search *s, uint32_t i, const struct summed *gradient, uint64_t rows)
{
	const uint64_t indices = rows * INDEX, row = gradient->input / rows;
	const uint64_t segments = least(rows, gradient->result / row), parts = rows / ROWS_A_PART + segments;
	const struct { uint64_t bytes; uint32_t inside; } blocks[] = {
		{ indices, 12 }, { indices, 11 },               /* sorted, and where they were */
		{ indices, 1 }, { SORT + SORT_A_ROW * rows, 0 },
		{ indices, 8 }, { INDEX, 7 }, { SCAN, 0 },      /* the first of each word, and how many */
		{ segments * INDEX, 5 }, { segments * INDEX, 4 }, { SCAN, 0 },
		{ INDEX, 2 }, { parts * INDEX, 1 },
		{ parts * row * (s->halves ? 2 : 1), 0 },       /* partial sums of 4 bytes an element */
	};

	for (size_t k = 0; k < sizeof(blocks) / sizeof(*blocks); k++)
		if (!workspaces_add(s, i, blocks[k].bytes, blocks[k].inside))
			return false;
	return true;
}

/* The last block of an iteration that may be the gradient of an embedding's weights is it. */
static bool end_embedding(struct search *s, struct embedding *e)
{
	const struct summed *g = &e->gradient;
	uint64_t rows;

	if (e->event == UINT32_MAX)
		return true;
	rows = rows_of(s, g);
	if (!rows && g->input > g->recorded) {
		/* rows of at least 16 bytes, so that none is too few */
		s->out->rows_unknown = true;
		rows = g->input / (2 * INDEX);
	}
	/* a recording with more rows has the sort already */
	return rows <= UNSORTED_ROWS || add_sort(s, e->event, g, rows);
}

static struct embedding *embedding_of(struct search *s, uint32_t sizes)
{
	for (uint32_t k = 0; k < s->embedding_count; k++)
		if (s->embeddings[k].sizes == sizes)
			return &s->embeddings[k];
	return NULL;
}

/* Event i is an alloc whose size grows: perhaps an output of an embedding. */
static bool note_output(struct search *s, uint32_t i, uint32_t alloc)
{
	const uint32_t sizes = s->r->which[alloc];
	struct embedding *e;

	if (!has_frame(s->tape, &s->tape->events[i], "embedding"))
		return true;
	e = embedding_of(s, sizes);
	if (e) {
		const bool good = end_embedding(s, e);

		e->event = UINT32_MAX;
		return good;
	}
	if (!FRAG_GROW(s->embeddings, s->embedding_capacity, s->embedding_count))
		return false;
	s->embeddings[s->embedding_count++] = (struct embedding){ .sizes = sizes, .event = UINT32_MAX };
	return true;
}

/* Event i is an alloc of a constant size: perhaps the result of a sum, or a gradient of weights. */
static bool note_result(struct search *s, uint32_t i, uint32_t alloc)
{
	struct embedding *e;
	struct summed sum;

	if (!find_input(s, i, alloc, &sum))
		return true;
	note_workspace(s, &sum);
	note_rows(s, &sum);
	sum.pair |= s->last_sizes == s->r->which[alloc];
	e = embedding_of(s, sum.input_sizes);
	if (e && sum.outlives && is_of_backward(s->tape, &s->tape->events[i])) {
		e->event = i;
		e->gradient = sum;
	}
	return sum.pair || add_sum(s, i, &sum);
}

static int by_event(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return frag_order_two(x->block.after, y->block.after, x->nth, y->nth);
}

/* Sums are found in the order of events, sorts where an iteration ends. */
static bool take_found(struct search *s)
{
	struct frag_workspaces *out = s->out;

	out->blocks = malloc(((size_t)s->found_count + 1) * sizeof(*out->blocks));
	if (!out->blocks)
		return false;
	FRAG_SORT(s->found, s->found_count, by_event);
	for (; out->count < s->found_count; out->count++)
		out->blocks[out->count] = s->found[out->count].block;
	return true;
}

/* Walks through the events. False: out of memory. */
static bool search_events(struct search *s)
{
	const struct frag_tape *tape = s->tape;
	uint32_t alloc = 0;
	bool good = true;

	s->last_sizes = UINT32_MAX;
	for (uint32_t i = 0; i < tape->count && good; i++) {
		if (!frag_tape_is_alloc(&tape->events[i])) {
			s->last_sizes = UINT32_MAX;
			continue;
		}
		if (sizes_of(s, alloc)->growth == FRAG_CONSTANT)
			good = note_result(s, i, alloc);
		else if (grows(sizes_of(s, alloc)))
			good = note_output(s, i, alloc);
		s->last_sizes = s->r->which[alloc++];
	}
	for (uint32_t k = 0; k < s->embedding_count && good; k++)
		good = end_embedding(s, &s->embeddings[k]);
	return good;
}

bool frag_workspaces_find(struct frag_workspaces *out, const struct frag_recordings *r,
			  const struct frag_tape *tape, uint32_t number, uint32_t multiprocessors,
			  uint64_t *sizes)
{
	struct search s = { .out = out, .r = r, .tape = tape, .number = number,
			    .multiprocessors = multiprocessors, .sizes = sizes };
	bool good;

	*out = (struct frag_workspaces){ .count = 0 };
	good = search_events(&s) && take_found(&s);
	free(s.embeddings);
	free(s.found);
	return good;
}

void frag_workspaces_fini(struct frag_workspaces *w)
{
	free(w->blocks);
	*w = (struct frag_workspaces){ .count = 0 };
}
