/*
 * forms.c - how programs say what they had and what they lacked: a row for each wording, and one
 * for each line of a log whose values belong to it. Of allocators whose messages have many forms
 * the row has a function that reads around the words.
 */
#include "messages/match.h"

#include <string.h>

#include "base/parse.h"

#define POOL_NEAR 300           /* bytes around a message of RMM that have the file it is from */

/* The RMM memory resource that is named near `at`; NULL: none. */
static const char *rmm_pool(const struct frag_stripped_text *in, size_t at)
{
	static const struct {
		const char *file, *name;
	} pools[] = {
		{ "/pool_memory_resource", "pool_memory_resource" },
		{ "/arena_memory_resource", "arena_memory_resource" },
		{ "/detail/arena.hpp", "arena_memory_resource" },
		{ "/cuda_async_managed_memory_resource", "cuda_async_managed_memory_resource" },
		{ "/cuda_async_view_memory_resource", "cuda_async_view_memory_resource" },
		{ "/cuda_async_memory_resource", "cuda_async_memory_resource" },
		{ "/managed_memory_resource", "managed_memory_resource" },
		{ "/cuda_memory_resource", "cuda_memory_resource" },
		{ "/fixed_size_memory_resource", "fixed_size_memory_resource" },
		{ "/binning_memory_resource", "binning_memory_resource" },
		{ "/limiting_resource_adaptor", "limiting_resource_adaptor" },
		{ "/system_memory_resource", "system_memory_resource" },
	};
	const size_t from = at > POOL_NEAR ? at - POOL_NEAR : 0;
	const size_t to = in->used - at > POOL_NEAR ? at + POOL_NEAR : in->used;

	for (size_t i = from; i < to; i++)
		for (size_t k = 0; in->text[i] == '/' && k < sizeof(pools) / sizeof(*pools); k++) {
			const size_t length = strlen(pools[k].file);

			if (in->used - i >= length
			    && memcmp(in->text + i, pools[k].file, length) == 0)
				return pools[k].name;
		}
	return NULL;
}

#define BEFORE_MOST 300         /* squeezed bytes of a message that stand before its words */

/* A part of a message: the value that it has; or none, FRAG_SAID_ALL. */
struct piece {
	const char *pattern;
	enum frag_said said;
};

/* The pieces that follow, in any order; how many they are. */
static int read_pieces(struct frag_cursor *c, const struct piece *pieces, struct frag_message *m)
{
	const struct piece *piece;
	int count = 0;

	do {
		struct frag_cursor next = *c;
		struct frag_message_value size = { .there = false };
		uint64_t number = UINT64_MAX;

		frag_match(&next, "%~", NULL, NULL);
		for (piece = pieces; piece->pattern; piece++)
			if (frag_match(&next, piece->pattern, &size, &number))
				break;
		if (!piece->pattern)
			break;
		frag_message_note(m, piece->said, size);
		if (number < FRAG_NO_GPU && m->gpu == FRAG_NO_GPU
		    && strchr(piece->pattern, '%')[1] == 'w')
			m->gpu = (uint32_t)number;
		*c = next;
		count++;
	} while (piece->pattern);
	return count;
}

static bool ends_with(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	return at >= length && memcmp(in->text + at - length, words, length) == 0;
}

/* Where the words are in the bytes before `at`; SIZE_MAX: nowhere near. */
static size_t text_before(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = at < length ? SIZE_MAX : at - length;
	     i != SIZE_MAX && at - i <= BEFORE_MOST; i--)
		if (memcmp(in->text + i, words, length) == 0)
			return i;
	return SIZE_MAX;
}

/* What PyTorch has of its values: the words before the number, or else behind it. */
static const struct value_words {
	const char *before, *behind;
	enum frag_said said;
} torch_values[] = {
	{ NULL, "totalcapacity", FRAG_SAID_TOTAL },
	{ "totalcapacityof", NULL, FRAG_SAID_TOTAL },
	{ "totalcapactyof", NULL, FRAG_SAID_TOTAL },
	{ NULL, "isfree", FRAG_SAID_FREE },
	{ NULL, "free", FRAG_SAID_FREE },
	{ NULL, "isallocatedby", FRAG_SAID_ALLOCATED },
	{ NULL, "alreadyallocated", FRAG_SAID_ALLOCATED },
	{ NULL, "allocatedinprivatepools", FRAG_SAID_POOLS },
	{ NULL, "isreservedby", FRAG_SAID_UNALLOCATED },
	{ NULL, "reservedintotal", FRAG_SAID_RESERVED },
	{ NULL, "cached", FRAG_SAID_CACHED },
	{ NULL, "allowed", FRAG_SAID_ALLOWED },
	{ "thisprocesshas", NULL, FRAG_SAID_PROCESS },
	{ "Thisprocesshas", NULL, FRAG_SAID_PROCESS },
	{ NULL, "memoryinuse", FRAG_SAID_OTHERS },
};

#define MESSAGE_MOST 6000       /* squeezed bytes from a message's head to its last value */
#define HEAD_APART 120          /* from the end of a head to another rank's, in its line */
#define FUZZY_LEAST 7           /* shorter words must be exact */

/* Do the words begin here, except for one wrong letter? Moves the cursor behind them. */
static bool pass_like(struct frag_cursor *at, const char *words)
{
	const int allowed = strlen(words) >= FUZZY_LEAST;
	struct frag_cursor c = *at;
	int apart = 0;

	for (; *words; words++) {
		if (frag_match(&c, (char[]){ *words, '\0' }, NULL, NULL))
			continue;
		if (++apart > allowed || c.at >= c.in->used || !frag_is_letter(c.in->text[c.at]))
			return false;
		c.at++;
	}
	*at = c;
	return true;
}

/* A value whose words stand before its number. */
static bool pass_value(struct frag_cursor *c, struct frag_message *m)
{
	for (size_t i = 0; i < sizeof(torch_values) / sizeof(*torch_values); i++) {
		const struct value_words *v = &torch_values[i];
		struct frag_cursor number = *c;
		struct frag_message_value size;

		if (!v->before || *v->before != c->in->text[c->at] || !pass_like(&number, v->before)
		    || !frag_match(&number, "%s", &size, NULL))
			continue;
		frag_message_note(m, v->said, size);
		*c = number;
		return true;
	}
	return false;
}

/* Which value the number before the cursor is; FRAG_SAID_ALL: none. */
static enum frag_said value_before(const struct frag_cursor *behind)
{
	for (size_t i = 0; i < sizeof(torch_values) / sizeof(*torch_values); i++) {
		struct frag_cursor c = *behind;

		if (!torch_values[i].before && pass_like(&c, torch_values[i].behind))
			return torch_values[i].said;
	}
	return FRAG_SAID_ALL;
}

/* "Process 31337 has 60.50 GiB": the number of the process ends right before `at`. */
static void note_process(const struct frag_stripped_text *in, size_t at,
			 const struct frag_message_value *size, struct frag_message *m)
{
	size_t i = at > 3 ? at - 3 : 0;
	uint64_t id = 0, scale = 1;

	if (!ends_with(in, at, "has") || m->process_count == FRAG_PROCESSES_MAX)
		return;
	for (; i > 0 && frag_is_digit(in->text[i - 1]) && scale < UINT64_C(10000000000); scale *= 10)
		id += scale * (uint64_t)(in->text[--i] - '0');
	m->processes[m->process_count].id = id;
	m->processes[m->process_count++].bytes = size->bytes;
}

static void note_gpu(const struct frag_cursor *at, struct frag_message *m)
{
	struct frag_cursor gpu = *at, npu = *at;
	uint64_t number = UINT64_MAX;

	if (m->gpu == FRAG_NO_GPU && at->in->text[at->at + 1] == 'P'
	    && (frag_match(&gpu, "GPU%n", NULL, &number) || frag_match(&npu, "NPU%n", NULL, &number))
	    && number < FRAG_NO_GPU)
		m->gpu = (uint32_t)number;
}

/* Notes the values that stand before `limit`, in any order. How many they are. */
static int read_values(const struct frag_cursor *head, size_t limit, struct frag_message *m, size_t *end)
{
	const struct frag_stripped_text *in = head->in;
	struct frag_cursor c = *head;
	int count = 0;

	while (c.at < limit && !m->said[FRAG_SAID_UNALLOCATED].there) {
		struct frag_cursor number = c;
		struct frag_message_value size;
		enum frag_said said = FRAG_SAID_ALL;
		const unsigned char byte = (unsigned char)in->text[c.at];

		/* boxes are drawn around a message; prose in another script is none of it */
		if (byte >= 0x80 && byte != 0xe2)
			break;
		if (c.at + 4 < in->used)
			note_gpu(&c, m);
		if (pass_value(&c, m)) {
			count++;
			*end = c.at;
			continue;
		}
		if (frag_is_digit(in->text[c.at]) && frag_match(&number, "%s", &size, NULL)) {
			said = value_before(&number);
			if (said == FRAG_SAID_OTHERS)
				note_process(in, c.at, &size, m);
			frag_message_note(m, said, size);
			c.at = number.at;
			*end = said == FRAG_SAID_ALL ? *end : number.at;
			count += said != FRAG_SAID_ALL;
		} else {
			c.at += byte == 0xe2 && c.at + 3 <= limit ? 3 : 1;
		}
	}
	return count;
}

/* The first of the words from `at` on, before `limit`; SIZE_MAX: nowhere. */
static size_t text_behind(const struct frag_stripped_text *in, size_t at, size_t limit, const char *words)
{
	const size_t length = strlen(words);
	const char *p;

	for (; at + length <= limit; at++) {
		p = memchr(in->text + at, *words, limit - length + 1 - at);
		if (!p)
			break;
		at = (size_t)(p - in->text);
		if (memcmp(p, words, length) == 0)
			return at;
	}
	return SIZE_MAX;
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

#define HEAD "Triedtoallocate"
#define BODY "hasatotalcapac"

/* How many heads without values are right before the one that ends at `at`. */
static size_t heads_before(const struct frag_stripped_text *in, size_t at)
{
	size_t heads = 0, last = at;

	for (size_t i = at; i > 0 && last - i < 2 * HEAD_APART; i--) {
		const char *p = in->text + i - 1;

		if (in->used - i + 1 < sizeof(HEAD) || memcmp(p, BODY, sizeof(BODY) - 1) == 0
		    || memcmp(p, "allocated", sizeof("allocated") - 1) == 0)
			break;
		if (memcmp(p, HEAD, sizeof(HEAD) - 1) == 0) {
			heads++;
			last = i;
		}
	}
	return heads ? heads - 1 : 0;   /* the last one is its own */
}

/*
 * Where the values of the message whose head ends at `at` begin and end. Ranks write into each
 * other's lines: heads without values come first, and then the values of each, in their order.
 */
static size_t torch_values_begin(const struct frag_stripped_text *in, size_t at, size_t *limit)
{
	size_t most = least_of(in->used, at + MESSAGE_MOST), next = text_behind(in, at, most, HEAD);
	size_t heads = heads_before(in, at), begin;

	*limit = least_of(next, most);
	if (!heads && (next == SIZE_MAX || next - at > HEAD_APART
		       || text_behind(in, at, *limit, BODY) != SIZE_MAX
		       || text_behind(in, at, *limit, "allocated") != SIZE_MAX))
		return at;
	most = least_of(in->used, at + 2 * MESSAGE_MOST);
	for (begin = text_behind(in, at, most, BODY); begin != SIZE_MAX && heads; heads--)
		begin = text_behind(in, begin + 1, most, BODY);
	if (begin == SIZE_MAX)
		return at;
	*limit = least_of(text_behind(in, begin + 1, most, BODY), least_of(most, begin + MESSAGE_MOST));
	return begin > 16 ? begin - 4 : begin;
}

/* The sentence that ends the values, and what else may follow them. */
static size_t torch_limit(const struct frag_stripped_text *in, size_t at, size_t limit)
{
	static const char *const ends[] = {
		"Ifreservedbutunallocated", "Ifreservedmemoryis", "Pleaseuse`empty_cache`",
		"Seedocumentation", "expandable_segmentsisenabled", "Outofmemory", "Allocator(",
		"Exceptionraisedfrom", "Traceback(mostrecent",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		limit = least_of(limit, text_behind(in, at, limit, ends[i]));
	return limit;
}

static bool read_mps(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	static const struct piece pieces[] = {
		{ "MPSallocated:%s", FRAG_SAID_ALLOCATED },
		{ "otherallocations:%s", FRAG_SAID_OUTSIDE },
		{ "maxallowed:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t begin = text_before(in, at, "MPSbackendoutofmemory(");
	struct frag_cursor c;

	if (begin == SIZE_MAX)
		return false;
	c = frag_cursor_at(in, begin);
	m->wording = FRAG_WORDING_MPS;
	return frag_match(&c, "MPSbackendoutofmemory(", NULL, NULL)
	       && read_pieces(&c, pieces, m) > 0;
}

/* The accelerator that the head names, right before `at`. */
static void read_accelerator(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	static const char *const names[] = {
		[FRAG_CUDA] = "CUDA", [FRAG_HIP] = "HIP", [FRAG_XPU] = "XPU", [FRAG_NPU] = "NPU",
	};

	for (size_t i = at; i > 2 && at - i < 24; i--)
		for (int k = FRAG_CUDA; k <= FRAG_NPU; k++) {
			const size_t length = strlen(names[k]);

			if (i >= length && memcmp(in->text + i - length, names[k], length) == 0) {
				m->accelerator = (enum frag_accelerator)k;
				m->named = true;
				return;
			}
		}
}

/* A word of a value without a number, as far as the verdict may depend on it. */
static void note_unread(const struct frag_stripped_text *in, size_t at, size_t limit,
			struct frag_message *m)
{
	static const struct {
		const char *words;
		enum frag_said said;
	} words[] = {
		{ "allowed;", FRAG_SAID_ALLOWED }, { "isfree", FRAG_SAID_FREE },
		{ "hasatotalcapacity", FRAG_SAID_TOTAL }, { "isallocatedby", FRAG_SAID_ALLOCATED },
		{ "butunallocated", FRAG_SAID_UNALLOCATED },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!m->said[words[i].said].there
		    && text_behind(in, at, limit, words[i].words) != SIZE_MAX)
			m->unread |= 1U << words[i].said;
}

/*
 * "Tried to allocate 20.00 MiB": the following text decides the version. Alone the phrase is no
 * message, unless an error precedes it.
 */
static bool read_torch_values(const struct frag_stripped_text *in, size_t at, struct frag_cursor *c,
			      struct frag_message *m, size_t *end)
{
	const bool brackets = c->at < in->used && in->text[c->at] == '(';
	size_t limit, begin;
	int count;

	*end = c->at;
	read_accelerator(in, at, m);
	if (read_mps(in, at, m))
		return true;
	begin = torch_values_begin(in, c->at, &limit);
	limit = torch_limit(in, begin, limit);
	if (brackets)
		limit = least_of(limit, text_behind(in, begin, limit, ")"));
	*c = (struct frag_cursor){ .in = in, .at = begin, .head = c->head, .body = c->body,
				   .passed = SIZE_MAX };
	count = read_values(c, limit, m, begin == *end ? end : &(size_t){ 0 });
	note_unread(in, begin, limit, m);
	m->enabled = frag_match(&(struct frag_cursor){ .in = in, .at = limit, .passed = SIZE_MAX,
						       .body = SIZE_MAX },
				"expandable_segmentsisenabled", NULL, NULL);
	m->cuda_variable = text_behind(in, limit, least_of(in->used, limit + 160), "PYTORCH_CUDA_ALLOC_CONF")
			   != SIZE_MAX;
	m->wording = m->said[FRAG_SAID_CACHED].there ? FRAG_WORDING_CACHED
		     : m->said[FRAG_SAID_RESERVED].there ? FRAG_WORDING_RESERVED
		     : FRAG_WORDING_SENTENCES;
	return count > 0 || ends_with(in, at, "outofmemory.") || ends_with(in, at, "outofmemory");
}

static bool read_torch(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size;

	if (frag_match(&c, "Triedtoallocatemorethan1EB", NULL, NULL)) {
		m->wording = FRAG_WORDING_OVERFLOW;
		read_accelerator(in, at, m);
		return true;
	}
	if (!frag_match(&c, "Triedtoallocate%s", &size, NULL) || !size.there)
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	return read_torch_values(in, at, &c, m, end);
}

/* The same where the words of the request have a wrong letter. */
static bool read_torch_head(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
			    size_t *end)
{
	struct frag_cursor c = frag_cursor_at(in, at), exact;
	struct frag_message_value size;
	size_t head;

	if (!frag_match(&c, "outofmemory.", NULL, NULL))
		return false;
	head = c.at;
	exact = c;
	if (frag_match(&exact, "Tried", NULL, NULL) && frag_match(&exact, "toallocate", NULL, NULL))
		return false;
	if (!pass_like(&c, "Triedtoallocate") || !frag_match(&c, "%s", &size, NULL) || !size.there)
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	return read_torch_values(in, head, &c, m, end);
}

/* The phrase begins before the anchor, and the text before the phrase is the log's prefix. */
static bool read_async(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	static const struct piece pieces[] = {
		{ "outofmemory", FRAG_SAID_ALL },
		{ "Currentlyallocated:%s", FRAG_SAID_ALLOCATED },
		{ "Requested:%s", FRAG_SAID_ASKED },
		{ "Devicelimit:%s", FRAG_SAID_TOTAL },
		{ "Free(accordingtoCUDA):%s", FRAG_SAID_FREE },
		{ "PyTorchlimit(setbyuser-suppliedmemoryfraction):%s", FRAG_SAID_ALLOWED },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t begin = text_before(in, at, "Allocationondevice");
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t gpu;

	if (begin != SIZE_MAX) {
		c = frag_cursor_at(in, begin);
		if (frag_match(&c, "Allocationondevice%n", NULL, &gpu) && gpu < FRAG_NO_GPU)
			m->gpu = (uint32_t)gpu;
		c.at = at;
	}
	m->wording = FRAG_WORDING_ASYNC;
	if (!frag_match(&c, "exceedallowedmemory", NULL, NULL))
		return false;
	read_pieces(&c, pieces, m);
	*end = c.at;
	return m->said[FRAG_SAID_ASKED].there;
}

/* Not each is a failure: some say that the program has another way. */
static bool read_bfc(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const size_t gpu = text_before(in, at, "Allocator(GPU_");
	struct frag_cursor c = frag_cursor_at(in, at), next;
	struct frag_message_value size;
	uint64_t number;

	if (!frag_match(&c, "outofmemorytryingtoallocate%s", &size, NULL) || !size.there)
		return false;
	next = c;
	if (frag_match(&next, "(roundedto%N)", NULL, &number) && number < (UINT64_C(1) << 53)) {
		size = (struct frag_message_value){ .bytes = number, .there = true };
		c = next;
	}
	*end = c.at;
	if (frag_match(&c, "withfreed_by_count=%n", NULL, &number)
	    || frag_match(&c, ".Thecallerindicates", NULL, NULL))
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->wording = FRAG_WORDING_BFC;
	if (gpu != SIZE_MAX) {
		c = frag_cursor_at(in, gpu);
		if (frag_match(&c, "Allocator(GPU_%n", NULL, &number) && number < FRAG_NO_GPU)
			m->gpu = (uint32_t)number;
	}
	return true;
}

/* JAX and XLA print the size, and CuPy, in a phrase that begins alike, the size of its pool
 * too. */
static bool read_xla(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	static const char *const forms[] = {
		"Outofmemorywhiletryingtoallocate%s", "Outofmemoryallocating%s",
		"Failedtoallocaterequestfor%s", "outofmemorytoallocate%s",
	};
	static const struct piece cupy[] = {
		{ "allocatedsofar:%s", FRAG_SAID_RESERVED },
		{ "total%s", FRAG_SAID_RESERVED },
		{ "limitsetto%s", FRAG_SAID_TOTAL },
		{ "limitsetto:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size = { .there = false };
	uint64_t number;

	/* the kernel's words begin alike */
	if (frag_match(&c, "Outofmemory:Killedprocess", NULL, NULL)) {
		m->wording = FRAG_WORDING_KILLED;
		*end = c.at;
		return true;
	}
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms) && !size.there; i++)
		frag_match(&c, forms[i], &size, NULL);
	if (!size.there)
		return false;
	if (frag_match(&c, "(%NB)", NULL, &number) && number < (UINT64_C(1) << 53))
		size = (struct frag_message_value){ .bytes = number, .there = true };
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->wording = read_pieces(&c, cupy, m) ? FRAG_WORDING_CUPY : FRAG_WORDING_XLA;
	*end = c.at;
	return true;
}

/* In its pool's message the pool is the device: current and largest size, and what was tried. */
static bool read_rmm(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const bool pool = ends_with(in, at, "poolsizeexceeded(");
	struct frag_cursor c = frag_cursor_at(in, at), whole = c;
	struct frag_message_value size;

	/* TensorFlow's pool */
	if (frag_match(&whole, "failedtoallocate%d%l(%s)fromdevice:CUDA_ERROR_OUT_OF_MEMORY", &size, NULL)) {
		frag_message_note(m, FRAG_SAID_ASKED, size);
		m->wording = FRAG_WORDING_TF_POOL;
		*end = whole.at;
		return true;
	}
	if ((!pool && !ends_with(in, at, "CUDAerror("))
	    || !frag_match(&c, "failedtoallocate%s)", &size, NULL) || !size.there)
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	m->pool = rmm_pool(in, c.at);
	m->wording = pool ? FRAG_WORDING_RMM_POOL : FRAG_WORDING_RMM;
	*end = c.at;
	frag_match(&c, "%~", NULL, NULL);
	if (frag_match(&c, "Notenoughroomtogrow,", NULL, NULL))
		frag_match(&c, "%~", NULL, NULL);
	if (pool && frag_match(&c, "current/max/trysize=%s,", &size, NULL)) {
		frag_message_note(m, FRAG_SAID_RESERVED, size);
		if (frag_match(&c, "%s", &size, NULL))
			frag_message_note(m, FRAG_SAID_TOTAL, size);
		*end = c.at;
	}
	return true;
}

#define FORM(...) .said = { __VA_ARGS__ }, .sizes = sizeof((uint8_t[]){ __VA_ARGS__ })
#define ASKED FRAG_SAID_ASKED
#define TOTAL FRAG_SAID_TOTAL
#define FREE FRAG_SAID_FREE
#define ALLOCATED FRAG_SAID_ALLOCATED
#define RESERVED FRAG_SAID_RESERVED
#define OUTSIDE FRAG_SAID_OUTSIDE
#define ALLOWED FRAG_SAID_ALLOWED
#define NONRELEASABLE FRAG_SAID_NONRELEASABLE
#define KV_FREE FRAG_SAID_KV_FREE
#define PARAMETERS FRAG_SAID_PARAMETERS
#define ACTIVATIONS FRAG_SAID_ACTIVATIONS
#define TEMPORARIES FRAG_SAID_TEMPORARIES

/* Each text that a row was made from is in tests/commands/explain_messages/servers.py, with its public thread. */
const struct frag_form frag_forms[] = {
	{ "Triedtoallocate", .read = read_torch },
	{ "outofmemory.", .read = read_torch_head, .bare = true },
	{ "exceedallowedmemory", .read = read_async },
	{ "outofmemorytryingtoallocate", .read = read_bfc },
	{ "Outofmemory", .read = read_xla, .bare = true },
	{ "outofmemorytoallocate", .read = read_xla },
	{ "Failedtoallocate", .read = read_xla },
	{ "failedtoallocate", .read = read_rmm },

	/* vLLM */
	{ "Freememoryondevice", NULL, "(%h/%s)onstartupislessthandesiredGPUmemoryutilization(%d,%s)",
	  FRAG_WORDING_VLLM_START, FRAG_FORM_FAILS, FORM(FREE, TOTAL, ASKED) },
	{ "Freememoryondevice", NULL,
	  "%l:%n(%h/%s)onstartupislessthandesiredGPUmemoryutilization(%d,%s)",
	  FRAG_WORDING_VLLM_START, FRAG_FORM_FAILS, FORM(FREE, TOTAL, ASKED) },
	{ "Noavailablememoryforthecacheblocks", NULL, "", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Toserveatleastonerequestwiththemodel", NULL,
	  "%os'smaxseqlen(%d),%o(%sKVcacheisneeded,whichislargerthantheavailableKVcachememory(%s)"
	  "%[.Basedontheavailablememory,theestimatedmaximummodellengthis%b",
	  FRAG_WORDING_VLLM_LENGTH, FRAG_FORM_FAILS, FORM(ASKED, KV_FREE, FRAG_SAID_TOKENS) },
	{ "thecurrentvLLMinstancecanuse", NULL,
	  "total_gpu_memory(%s)xgpu_memory_utilization(%d)=%s", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(TOTAL, ALLOWED), .starts = true },
	{ "modelweightstake", NULL,
	  "%s;non_torch_memorytakes%s;PyTorchactivationpeakmemorytakes%s;"
	  "therestofthememoryreservedforKVCacheis%z", FRAG_WORDING_VLLM_CACHE, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS, OUTSIDE, ACTIVATIONS, KV_FREE) },
	{ "Modelloadingtook", NULL, "%s", FRAG_WORDING_VLLM_CACHE, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS), .starts = true },
	{ "Initialfreememory:", NULL, "%s;Requestedmemory:%d(util),%s", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(FREE, ALLOWED) },
	{ "torchpeakmemoryincrease:", NULL,
	  "%s;non-torchforwardincreasememory:%s;weightsmemory:%s", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(ACTIVATIONS, OUTSIDE, PARAMETERS) },
	{ "EstimatedCUDAgraphmemory:", NULL, "%stotal", FRAG_WORDING_VLLM_CACHE,
	  FRAG_FORM_BEFORE, FORM(FRAG_SAID_GRAPHS) },
	{ "AvailableKVcachememory:", NULL, "%z", FRAG_WORDING_VLLM_CACHE, FRAG_FORM_BEFORE,
	  FORM(KV_FREE) },

	/* SGLang: its GB are GiB */
	{ "Notenoughmemory.Pleasetrytoincrease--mem-fraction-static", NULL, "",
	  FRAG_WORDING_SGLANG, FRAG_FORM_FAILS, .sizes = 0 },
	{ "Loadweightbegin.", NULL, "availmem=%s", FRAG_WORDING_SGLANG, FRAG_FORM_BEFORE,
	  FORM(TOTAL), .starts = true },
	{ "Loadweightend.", NULL, "%?availmem=%s,memusage=%s", FRAG_WORDING_SGLANG,
	  FRAG_FORM_BEFORE, FORM(FREE, PARAMETERS) },

	/* llama.cpp, and Ollama, which runs it */
	{ "buffer_type_alloc_buffer:allocating", NULL,
	  "%sondevice%n:cudaMallocfailed:outofmemory", FRAG_WORDING_LLAMA, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "bufferofsize", "failedtoallocate", "%b", FRAG_WORDING_LLAMA, FRAG_FORM_FAILS,
	  FORM(ASKED), .device = true },
	{ "usingdevice", NULL, "%w%?)-%sfree", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE, FORM(TOTAL),
	  .starts = true },
	{ "memory.available=\"[", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE, FORM(TOTAL),
	  .starts = true, .list = true },
	{ "modelbuffersize=", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE, FORM(PARAMETERS),
	  .device = true, .starts = true },
	{ "KVbuffersize=", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE,
	  FORM(FRAG_SAID_KV_CACHE), .device = true, .adds = true },
	{ "computebuffersize=", NULL, "%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE,
	  FORM(TEMPORARIES), .device = true },
	{ "\"modelweights\"buffer=", NULL, "%wsize=\"%s", FRAG_WORDING_LLAMA, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS) },
	{ "\"computegraph\"backend=", NULL, "%wbuffer_type=%wsize=\"%s", FRAG_WORDING_LLAMA,
	  FRAG_FORM_BEFORE, FORM(TEMPORARIES) },
	{ "modelrequiresmoresystemmemory(", NULL, "%s)thanisavailable(%s)", FRAG_WORDING_OLLAMA,
	  FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "\"systemmemory\"total=\"", NULL, "%s", FRAG_WORDING_OLLAMA, FRAG_FORM_BEFORE,
	  FORM(TOTAL), .starts = true },

	/* ONNX Runtime */
	{ "requestedbufferofsize", "Failedtoallocatememoryfor", "%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Availablememoryof", NULL, "%bissmallerthanrequestedbytesof%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_FAILS, FORM(FREE, ASKED) },
	{ "CreatingBFCArenaforCuda", NULL, "%?memorylimit:%b", FRAG_WORDING_ONNX,
	  FRAG_FORM_BEFORE, FORM(TOTAL), .starts = true },

	/* Paddle */
	{ "Cannotallocate", "OutofmemoryerroronGPU",
	  "%smemoryonGPU%n,%smemoryhasbeenallocatedandavailablememoryisonly%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, RESERVED, FREE) },
	{ "Cannotallocate", "OutofmemoryerroronGPU", "%smemoryonGPU%n,availablememoryisonly%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Cannotallocate", "OutofmemoryerroronGPU", "%sGPUmemory,availablememoryis%s",
	  FRAG_WORDING_PADDLE, FRAG_FORM_FAILS, FORM(ASKED, FREE) },

	/* TensorFlow, and JAX behind the message */
	{ "OOMwhenallocatingtensorwithshape", NULL, "%e%[%?GPU:%n", FRAG_WORDING_TENSOR,
	  FRAG_FORM_FAILS, FORM(ASKED), .bare = true },
	{ "cuMemAllocAsyncfailedtoallocate", NULL,
	  "%s%[%?Freememory/Totalmemory:%b/%b%[%?Stats:Limit:%bInUse:%b", FRAG_WORDING_TF_ASYNC,
	  FRAG_FORM_FAILS, FORM(ASKED, FREE, TOTAL, ALLOWED, ALLOCATED) },
	{ "parameterallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER, FORM(PARAMETERS) },
	{ "constantallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_CONSTANTS) },
	{ "maybe_live_outallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_OUTPUTS) },
	{ "preallocatedtempallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(TEMPORARIES) },
	{ "totalallocation:", NULL, "%s", FRAG_WORDING_XLA, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_PROGRAM) },

	/* CUDA.jl */
	{ "OutofGPUmemorytryingtoallocate", NULL,
	  "%sEffectiveGPUmemoryusage:%d%%(%s/%s)Memorypoolusage:%s(%sreserved)",
	  FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS,
	  FORM(ASKED, FRAG_SAID_USED, TOTAL, ALLOCATED, RESERVED) },
	{ "OutofGPUmemorytryingtoallocate", NULL,
	  "%sEffectiveGPUmemoryusage:%d%%(%s/%s)CUDAallocatorusage:%s(cappedat%s)"
	  "%?(%sallocated,%scached)", FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS,
	  FORM(ASKED, FRAG_SAID_USED, TOTAL, RESERVED, ALLOWED, ALLOCATED) },
	{ "OutofGPUmemorytryingtoallocate", NULL,
	  "%sEffectiveGPUmemoryusage:%d%%(%s/%s)CUDAallocatorusage:%s%?(%sallocated,%scached)",
	  FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS,
	  FORM(ASKED, FRAG_SAID_USED, TOTAL, RESERVED, ALLOCATED) },
	{ "OutofGPUmemorytryingtoallocate", NULL, "%s%[EffectiveGPUmemoryusage:%d%%(%s/%s)",
	  FRAG_WORDING_CUDA_JL, FRAG_FORM_FAILS, FORM(ASKED, FRAG_SAID_USED, TOTAL) },

	/* TensorRT and TensorRT-LLM */
	{ "RequestedamountofGPUmemory(", NULL, "%s)couldnotbeallocated", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Requestedamountofmemory(", NULL, "%s)couldnotbeallocated", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "CUDAruntimeerrorin", NULL, "%?outofmemory", FRAG_WORDING_TENSORRT, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "Loadedenginesize:", NULL, "%s", FRAG_WORDING_TENSORRT, FRAG_FORM_BEFORE,
	  FORM(PARAMETERS), .starts = true },
	{ "[MemUsageChange]Allocated", NULL, "%sforexecutioncontextmemory", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_BEFORE, FORM(TEMPORARIES) },
	{ "[MemUsageChange]Allocated", NULL, "%sformaxtokensinpagedKVcache", FRAG_WORDING_TENSORRT,
	  FRAG_FORM_BEFORE, FORM(FRAG_SAID_KV_CACHE) },
	{ "Memoryusagewhencalculatingmaxtokensinpagedkvcache:", NULL, "total:%s,available:%s",
	  FRAG_WORDING_TENSORRT, FRAG_FORM_BEFORE, FORM(TOTAL, FREE) },

	/* messages with a request at most */
	{ "Allocationondevice", NULL, "%[%n", FRAG_WORDING_COMFYUI, FRAG_FORM_FAILS, .sizes = 0 },
	{ "NVML_SUCCESS==r", NULL, "%?ASSERTFAILED", FRAG_WORDING_NVML, FRAG_FORM_FAILS, .sizes = 0 },
	{ "FailedtoCUDAcalloc", NULL, "%s", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "FailedtoCUDAmalloc", NULL, "%s", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "NCCLWARN", NULL, "Cudafailure%?outofmemory", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, .sizes = 0 },
	{ "NCCLWARN", NULL, "Cudafailure2", FRAG_WORDING_NCCL, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAError:outofmemoryat", NULL, "%?cumem_allocator", FRAG_WORDING_VMM, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "cuMemCreate", NULL, "%~CUDA_ERROR_OUT_OF_MEMORY%!(", FRAG_WORDING_VMM, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "cudaErrorerror:2(outofmemory)", NULL, "%?func=resume", FRAG_WORDING_VMM, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "CUBLAS_STATUS_ALLOC_FAILED", NULL, "", FRAG_WORDING_CUBLAS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUSOLVER_STATUS_ALLOC_FAILED", NULL, "", FRAG_WORDING_CUBLAS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDNN_STATUS_ALLOC_FAILED", NULL, "", FRAG_WORDING_CUDNN, FRAG_FORM_FAILS, .sizes = 0 },
	{ "UnabletofindavalidcuDNNalgorithm", NULL, "", FRAG_WORDING_CUDNN, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "FINDwasunabletofindanengine", NULL, "", FRAG_WORDING_CUDNN, FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofresource:sharedmemory", NULL, "%~Required:%b%~Hardwarelimit:%b", FRAG_WORDING_SHARED,
	  FRAG_FORM_FAILS, FORM(ASKED, ALLOWED) },
	{ "outofresource:sharedmemory", NULL, "", FRAG_WORDING_SHARED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "_host_malloc:failedtoallocate", NULL, "%sofpinnedmemory", FRAG_WORDING_PINNED,
	  FRAG_FORM_FAILS, FORM(ASKED) },
	{ "CUDAerror:outofmemorywhilepinning", NULL, "", FRAG_WORDING_PINNED, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "DefaultCPUAllocator:", NULL, "%?triedtoallocate%s", FRAG_WORDING_CPU, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "DefaultCPUAllocator:", NULL, "notenoughmemory", FRAG_WORDING_CPU, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "_ArrayMemoryError:Unabletoallocate", NULL, "%s", FRAG_WORDING_CPU, FRAG_FORM_FAILS,
	  FORM(ASKED) },
	{ "MemoryError:Unabletoallocate", NULL, "%s", FRAG_WORDING_CPU, FRAG_FORM_FAILS, FORM(ASKED) },
	{ "Memorycgroupoutofmemory", NULL, "", FRAG_WORDING_KILLED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "oom-kill:", NULL, "", FRAG_WORDING_KILLED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "OOMKilled", NULL, "", FRAG_WORDING_KILLED, FRAG_FORM_FAILS, .sizes = 0 },
	{ "alloc_token_slots", NULL, "%?outofmemory", FRAG_WORDING_SLOTS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "alloc_req_slots", NULL, "%?outofmemory", FRAG_WORDING_SLOTS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "outofmemory.PleasesetasmallernumberforprefillchunkPrefill", NULL, "", FRAG_WORDING_SLOTS,
	  FRAG_FORM_FAILS, .sizes = 0 },
	{ "Attemptingtoallocate", "RESOURCE_EXHAUSTED", "%s.Thatwasnotpossible.Thereare%sfree",
	  FRAG_WORDING_TPU, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Attemptingtoreserve", "RESOURCE_EXHAUSTED", "%satthebottomofmemory%?Thereare%sfree",
	  FRAG_WORDING_TPU, FRAG_FORM_FAILS, FORM(ASKED, FREE) },
	{ "Largestcontiguousregionoffreememory:", NULL, "%s", FRAG_WORDING_TPU, FRAG_FORM_AFTER,
	  FORM(FRAG_SAID_CONTIGUOUS) },
	{ "[metal::malloc]Attemptingtoallocate", NULL, "%s%?maximumallowedbuffersizeof%s",
	  FRAG_WORDING_MLX, FRAG_FORM_FAILS, FORM(ASKED, ALLOWED) },
	{ "UR_RESULT_ERROR_OUT_OF_", NULL, "", FRAG_WORDING_LEVEL_ZERO, FRAG_FORM_FAILS, .sizes = 0 },
	{ "maxseqlen(", NULL, "%b)islargerthanthemaximumnumberoftokensthatcanbestoredinKVcache(%b)",
	  FRAG_WORDING_VLLM_TOKENS, FRAG_FORM_FAILS, FORM(FRAG_SAID_WANTED, FRAG_SAID_TOKENS) },
	{ "Memoryprofilingresults:", NULL, "total_gpu_memory=%sinitial_memory_usage=%speak_torch_memory"
	  "=%smemory_usage_post_profile=%snon_torch_memory=%skv_cache_size=%s", FRAG_WORDING_VLLM_TOKENS,
	  FRAG_FORM_BEFORE, FORM(TOTAL, FRAG_SAID_ALL, ACTIVATIONS, FRAG_SAID_ALL, OUTSIDE, KV_FREE),
	  .starts = true },
	{ "nrt_tensor_allocate", NULL, "%?fail", FRAG_WORDING_NEURON, FRAG_FORM_FAILS, .sizes = 0 },
	{ "HIPerror:outofmemory", NULL, "", FRAG_WORDING_HIP, FRAG_FORM_FAILS, .sizes = 0 },
	{ "hipErrorOutOfMemory", NULL, "", FRAG_WORDING_HIP, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAerror:outofmemory", NULL, "", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS, .sizes = 0 },
	{ "CUDAerror:anerroroccurred:outofmemory", NULL, "", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS,
	  .sizes = 0 },
	{ "CUDA_ERROR_OUT_OF_MEMORY", NULL, "%!(", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS, .sizes = 0 },
	{ "cudaErrorMemoryAllocation", NULL, "", FRAG_WORDING_DRIVER, FRAG_FORM_FAILS, .sizes = 0 },

	/* RMM */
	{ "[Upstream", NULL,
	  "%s][FAILUREmaximumpoolsizeexceeded%[:Notenoughroomtogrow,current/max/trysize=%s,%s",
	  FRAG_WORDING_RMM_POOL, FRAG_FORM_FAILS, FORM(ASKED, RESERVED, TOTAL) },
	{ "Maximumpoolsizeexceeded", "RMMfailureat:", "%!(", FRAG_WORDING_RMM_POOL,
	  FRAG_FORM_FAILS, .sizes = 0 },

	/* PyTorch's own tables: summaries round down */
	{ "CUDAOOMs:", NULL, "%m|", FRAG_WORDING_SUMMARY, FRAG_FORM_FAILS, .sizes = 0 },
	{ "Allocatedmemory|", NULL, "%t|", FRAG_WORDING_SUMMARY, FRAG_FORM_AFTER, FORM(ALLOCATED) },
	{ "GPUreservedmemory|", NULL, "%t|", FRAG_WORDING_SUMMARY, FRAG_FORM_AFTER, FORM(RESERVED) },
	{ "Non-releasablememory|", NULL, "%t|", FRAG_WORDING_SUMMARY, FRAG_FORM_AFTER,
	  FORM(NONRELEASABLE) },
	{ "num_ooms", NULL, "%~%m", FRAG_WORDING_STATS, FRAG_FORM_FAILS, .sizes = 0 },
	{ "allocated_bytes.all.current", NULL, "%~%b", FRAG_WORDING_STATS, FRAG_FORM_AROUND,
	  FORM(ALLOCATED) },
	{ "reserved_bytes.all.current", NULL, "%~%b", FRAG_WORDING_STATS, FRAG_FORM_AROUND,
	  FORM(RESERVED) },
	{ "inactive_split_bytes.all.current", NULL, "%~%b", FRAG_WORDING_STATS, FRAG_FORM_AROUND,
	  FORM(NONRELEASABLE) },
	{ .words = NULL }
};

/* The number of a device such as CUDA0 that ends before `at`; FRAG_NO_GPU: there is none. */
static uint32_t device_before(const struct frag_stripped_text *in, size_t at)
{
	uint32_t device = 0, scale = 1;
	size_t i = at;

	while (i > 0 && at - i < 3 && frag_is_digit(in->text[i - 1])) {
		device += scale * (uint32_t)(in->text[--i] - '0');
		scale *= 10;
	}
	return i < at && i > 0 && frag_is_letter(in->text[i - 1]) ? device : FRAG_NO_GPU;
}

static bool form_match(const struct frag_stripped_text *in, size_t at, const struct frag_form *form,
		       struct frag_message *m, size_t *end)
{
	struct frag_message_value sizes[FRAG_MATCH_SIZES] = { { .there = false } };
	struct frag_cursor c = frag_cursor_at(in, at);
	uint64_t number = UINT64_MAX;

	if (form->near && text_before(in, at, form->near) == SIZE_MAX)
		return false;
	if (!frag_match(&c, form->words, NULL, NULL) || !frag_match(&c, form->pattern, sizes, &number))
		return false;
	if (form->device)
		number = device_before(in, at);
	if (form->device && number == FRAG_NO_GPU)
		return false;
	if (number < FRAG_NO_GPU)
		m->gpu = (uint32_t)number;
	for (int i = 0; i < form->sizes; i++)
		frag_message_note(m, form->said[i], sizes[i]);
	*end = c.at;
	return true;
}

const struct frag_form *frag_form_read(const struct frag_stripped_text *in, size_t at,
				       const struct frag_form *form, struct frag_message *m,
				       size_t *end)
{
	const char *words = form->words;

	if (form->read)
		return form->read(in, at, m, end) ? form : NULL;
	for (; form->words && strcmp(form->words, words) == 0; form++) {
		m->wording = form->wording;
		if (!form_match(in, at, form, m, end))
			continue;
		if (m->wording == FRAG_WORDING_RMM_POOL)
			m->pool = rmm_pool(in, at);
		return form;
	}
	return NULL;
}
