/* torch_message.c - reads PyTorch's message: values by their words, in any order, of several ranks. */
#include "messages/torch_message.h"

#include <string.h>

#include "base/parse.h"

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

/* Keeps the sentence that has the byte at `at`, with its white space. */
static void keep_unread(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	const size_t first = at > FRAG_UNREAD_ROOM / 2 ? at - FRAG_UNREAD_ROOM / 2 : 0;
	size_t from = at, used = 0;
	char *to;

	while (from > first && !strchr(";(", in->text[from - 1])
	       && !(in->text[from - 1] == '.' && in->line[from] & 1))
		from--;
	if (m->unread_count == FRAG_UNREAD_MAX)
		return;
	to = m->unread_text[m->unread_count];
	for (size_t i = from; i < in->used && used + 2 < FRAG_UNREAD_ROOM; i++) {
		if (i > at && (strchr(";)", in->text[i]) || (in->text[i] == '.' && (i + 1 == in->used || in->line[i + 1] & 1))))
			break;
		if (i > from && in->line[i] & 1)
			to[used++] = ' ';
		to[used++] = in->text[i];
	}
	to[used] = '\0';
	for (uint8_t i = 0; i < m->unread_count; i++)
		if (strcmp(m->unread_text[i], to) == 0)
			return;
	m->unread_count++;
}

/* Of a number that decides nothing: torch_npu's active bytes. */
static bool is_of_no_interest(const struct frag_cursor *behind)
{
	struct frag_cursor c = *behind;

	return pass_like(&c, "currentactive");
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

	if (!frag_text_ends_with(in, at, "has") || m->process_count == FRAG_PROCESSES_MAX)
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

/*
 * Notes the values that stand before `limit`, in any order. How many they are. A size whose words are not
 * known may be any value that is missing: each of these is unread.
 */
static int read_values(const struct frag_cursor *head, size_t limit, struct frag_message *m, size_t *end)
{
	const struct frag_stripped_text *in = head->in;
	struct frag_cursor c = *head;
	bool lost = false;
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
			if (said == FRAG_SAID_ALL && !is_of_no_interest(&number) && !lost) {
				keep_unread(in, c.at, m);
				lost = true;
			}
			c.at = number.at;
			*end = said == FRAG_SAID_ALL ? *end : number.at;
			count += said != FRAG_SAID_ALL;
		} else {
			c.at += byte == 0xe2 && c.at + 3 <= limit ? 3 : 1;
		}
	}
	for (int i = FRAG_SAID_TOTAL; lost && count && i <= FRAG_SAID_ALLOCATED; i++)
		if (!m->said[i].there)
			m->unread |= 1U << i;
	return count;
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

	for (size_t i = at; i > 0 && last - i < 2 * HEAD_APART && at - i < MESSAGE_MOST; i--) {
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
	size_t most = least_of(in->used, at + MESSAGE_MOST), next = frag_text_behind(in, at, most, HEAD);
	size_t heads = heads_before(in, at), begin;

	*limit = least_of(next, most);
	if (!heads && (next == SIZE_MAX || next - at > HEAD_APART
		       || frag_text_behind(in, at, *limit, BODY) != SIZE_MAX
		       || frag_text_behind(in, at, *limit, "allocated") != SIZE_MAX))
		return at;
	most = least_of(in->used, at + 2 * MESSAGE_MOST);
	for (begin = frag_text_behind(in, at, most, BODY); begin != SIZE_MAX && heads; heads--)
		begin = frag_text_behind(in, begin + 1, most, BODY);
	if (begin == SIZE_MAX)
		return at;
	*limit = least_of(frag_text_behind(in, begin + 1, most, BODY), least_of(most, begin + MESSAGE_MOST));
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
		limit = least_of(limit, frag_text_behind(in, at, limit, ends[i]));
	return limit;
}

static bool read_mps(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	static const struct frag_piece pieces[] = {
		{ "MPSallocated:%s", FRAG_SAID_ALLOCATED },
		{ "otherallocations:%s", FRAG_SAID_OUTSIDE },
		{ "maxallowed:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t head = frag_text_before(in, at, "MPSbackendoutofmemory(");
	/* a wrong letter in the head costs no value */
	const size_t begin = head != SIZE_MAX ? head : frag_text_before(in, at, "(MPSallocated:");
	struct frag_cursor c;

	if (begin == SIZE_MAX)
		return false;
	c = frag_cursor_at(in, begin);
	m->wording = FRAG_WORDING_MPS;
	return frag_match(&c, head != SIZE_MAX ? "MPSbackendoutofmemory(" : "(", NULL, NULL)
	       && frag_read_pieces(&c, pieces, m) > 0;
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

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const size_t where = m->said[words[i].said].there ? SIZE_MAX
				     : frag_text_behind(in, at, limit, words[i].words);

		if (where == SIZE_MAX)
			continue;
		m->unread |= 1U << words[i].said;
		keep_unread(in, where, m);
	}
	if (!m->unread)
		m->unread_count = 0;
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
		limit = least_of(limit, frag_text_behind(in, begin, limit, ")"));
	*c = (struct frag_cursor){ .in = in, .at = begin, .head = c->head, .body = c->body,
				   .passed = SIZE_MAX };
	count = read_values(c, limit, m, begin == *end ? end : &(size_t){ 0 });
	note_unread(in, begin, limit, m);
	m->enabled = frag_match(&(struct frag_cursor){ .in = in, .at = limit, .passed = SIZE_MAX,
						       .body = SIZE_MAX },
				"expandable_segmentsisenabled", NULL, NULL);
	m->cuda_variable = frag_text_behind(in, limit, least_of(in->used, limit + 160), "PYTORCH_CUDA_ALLOC_CONF")
			   != SIZE_MAX;
	m->wording = m->said[FRAG_SAID_CACHED].there ? FRAG_WORDING_CACHED
		     : m->said[FRAG_SAID_RESERVED].there ? FRAG_WORDING_RESERVED
		     : FRAG_WORDING_SENTENCES;
	return count > 0 || frag_text_ends_with(in, at, "outofmemory.") || frag_text_ends_with(in, at, "outofmemory");
}

bool frag_read_torch(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size;

	if (frag_match(&c, "Triedtoallocatemorethan1EB", NULL, NULL)) {
		m->wording = FRAG_WORDING_OVERFLOW;
		read_accelerator(in, at, m);
		return true;
	}
	if ((!frag_match(&c, "Triedtoallocate%s", &size, NULL)
	     && !frag_match(&c, "Allocatortriedtoallocate%s", &size, NULL)) || !size.there)
		return false;
	frag_message_note(m, FRAG_SAID_ASKED, size);
	return read_torch_values(in, at, &c, m, end);
}

bool frag_read_torch_head(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
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
