/* finder.c - finds out-of-memory messages among any bytes. */
#include "messages/finder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parse.h"
#include "messages/bfc_dump.h"
#include "messages/forms.h"
#include "messages/line_values.h"
#include "messages/match.h"

#define CAPACITY ((size_t)256 << 10)
#define BEHIND ((size_t)1 << 10)        /* kept of what has been read: lines' beginnings */
/* They say that memory ran out, and nothing else. */
static const char *const bare_words[] = {
	"outofmemory", "poolsizeexceeded", "OOMwhenallocatingtensorof",
};
#define BARE (sizeof(bare_words) / sizeof(*bare_words))

/* Words that are searched for. */
struct hook {
	const char *words;
	size_t length;
	uint16_t same;          /* the next hook that begins with the same two bytes, plus 1 */
};

#define SURROUNDING_WORDS_MAX 128
#define ACCOUNT_WORDS_MAX 192
enum { HOOKS = FRAG_FORM_WORDS_MAX + FRAG_BFC_DUMP_WORDS + BARE + SURROUNDING_WORDS_MAX + ACCOUNT_WORDS_MAX + 16 };

#define TOLD_MAX 64

/* What the lines of a log have said so far of one program's device, or of none in particular. */
struct told {
	enum frag_wording family;
	uint32_t gpu;           /* or FRAG_NO_GPU */
	struct frag_message said;
};

/*
 * Words with one letter that may be wrong, behind words that show it: a program's phrase is known by
 * the others then. What is found is corrected in the text.
 */
static const struct correction {
	const char *lead, *word;
} corrections[] = {
	{ "outof", "memory" }, { "Outof", "memory" }, { "Toserveat", "leastonerequest" },
	{ "MPSbackendout", "ofmemory" }, { "Memoryusage", "whencalculatingmaxtokens" },
	{ "exceed", "allowedmemory" }, { "Noavailable", "memoryforthecacheblocks" },
};
#define CORRECTIONS (sizeof(corrections) / sizeof(*corrections))

struct frag_finder {
	struct frag_stripped_text in;
	struct hook hooks[HOOKS];
	/* ends of the hooks of forms with a function, all forms, dumps, bare words, corrections, of what
	 * is around; all */
	uint32_t read, forms, words, bare, corrections, around_end, count;
	const struct frag_form *form_of[FRAG_FORM_WORDS_MAX];   /* the first row with the words */
	struct {
		size_t next, begin; /* the line that goes on with words; where these begin */
		uint32_t form;
		bool found;
	} broken;
	uint16_t begins[1 << 16];        /* two bytes: the first hook that begins so, plus 1 */
	uint32_t inside[256];   /* a bit for each hook of the first ones that has the byte, except at its end */
	size_t next;            /* where that hook is; NULL: none is before this */
	const struct hook *hook;
	size_t at;              /* read up to here */
	struct frag_surroundings *around;       /* NULL: not collected */
	struct frag_accounts *accounts; /* NULL: not read */
	struct frag_bfc_dump dump;
	struct frag_message pending;    /* the last message, which later lines can complete */
	bool any, shifted;      /* a message was found; the first bytes are gone */
	bool is_pending, dumps; /* a dump behind it is its own */
	struct frag_message_value total, free;  /* that the user gave */
	struct told told[TOLD_MAX];
	uint32_t told_count;
	int (*found)(void *ctx, const struct frag_message *m);
	void *ctx;
	int rc;                 /* what that returned */
};

static unsigned first_two(const char *words)
{
	return (unsigned)(unsigned char)words[0] << 8 | (unsigned char)words[1];
}

static void add_hook(struct frag_finder *f, const char *words)
{
	uint16_t *last = &f->begins[first_two(words)];

	FRAG_ASSERT(f->count < HOOKS);
	while (*last)
		last = &f->hooks[*last - 1].same;
	f->hooks[f->count++] = (struct hook){ .words = words, .length = strlen(words) };
	*last = (uint16_t)f->count;
}

static void add_hooks(struct frag_finder *f)
{
	for (const struct frag_form *form = frag_forms; form->words; form++) {
		if (form > frag_forms && strcmp(form[-1].words, form->words) == 0)
			continue;
		f->form_of[f->count] = form;
		add_hook(f, form->words);
		for (size_t i = 0; form->read && form->words[i + 1]; i++)
			f->inside[(unsigned char)form->words[i]] |= 1U << f->read;
		f->read += form->read != NULL;
	}
	FRAG_ASSERT(f->read <= 32);
	f->forms = f->count;
	for (size_t i = 0; i < FRAG_BFC_DUMP_WORDS; i++)
		add_hook(f, frag_bfc_dump_word(i));
	f->words = f->count;
	for (size_t i = 0; i < BARE; i++)
		add_hook(f, bare_words[i]);
	f->bare = f->count;
	for (size_t i = 0; i < CORRECTIONS; i++)
		add_hook(f, corrections[i].lead);
	f->corrections = f->around_end = f->count;
}

void frag_finder_look_around(struct frag_finder *f, struct frag_surroundings *around)
{
	f->around = around;
	for (uint32_t i = 0; frag_surrounding_words(i); i++)
		add_hook(f, frag_surrounding_words(i));
	f->around_end = f->count;
}

void frag_finder_given(struct frag_finder *f, struct frag_message_value total, struct frag_message_value free)
{
	f->total = total;
	f->free = free;
}

void frag_finder_account(struct frag_finder *f, struct frag_accounts *accounts)
{
	f->accounts = accounts;
	for (uint32_t i = 0; frag_account_words(i); i++)
		add_hook(f, frag_account_words(i));
}

struct frag_finder *frag_finder_new(int (*found)(void *ctx, const struct frag_message *m),
				    void *ctx)
{
	struct frag_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->found = found;
	f->ctx = ctx;
	f->in = (struct frag_stripped_text){
		.text = malloc(CAPACITY), .line = malloc(CAPACITY * sizeof(uint32_t)),
		.begins = malloc(CAPACITY * sizeof(bool)), .capacity = CAPACITY, .fresh = true,
	};
	add_hooks(f);
	frag_bfc_dump_begin(&f->dump);
	if (f->in.text && f->in.line && f->in.begins)
		return f;
	frag_finder_del(f);
	return NULL;
}

void frag_finder_del(struct frag_finder *f)
{
	if (!f)
		return;
	free(f->in.text);
	free(f->in.line);
	free(f->in.begins);
	free(f);
}

/* The line that a byte is from, from 1 on. */
static uint64_t line_of(const struct frag_finder *f, size_t at)
{
	return f->in.lines - (uint32_t)((uint32_t)f->in.lines * 2 - (f->in.line[at] & ~1U)) / 2 + 1;
}

static void tell_pending(struct frag_finder *f)
{
	if (!f->is_pending)
		return;
	f->is_pending = false;
	if (f->dumps)
		frag_bfc_dump_values(&f->dump, &f->pending);
	frag_message_note(&f->pending, FRAG_SAID_TOTAL, f->total);
	frag_message_note(&f->pending, FRAG_SAID_FREE, f->free);
	if (f->total.there)
		f->pending.unread &= ~(1U << FRAG_SAID_TOTAL);
	if (f->free.there)
		f->pending.unread &= ~(1U << FRAG_SAID_FREE);
	if (!f->pending.unread)
		f->pending.unread_count = 0;
	frag_message_judge(&f->pending);
	if (!f->rc)
		f->rc = f->found(f->ctx, &f->pending);
}

static uint64_t apart(const struct frag_message_value *a, const struct frag_message_value *b)
{
	return a->bytes > b->bytes ? a->bytes - b->bytes : b->bytes - a->bytes;
}

static bool is_torch(enum frag_wording wording)
{
	return wording <= FRAG_WORDING_SENTENCES;
}

static bool is_table(enum frag_wording wording)
{
	return wording == FRAG_WORDING_SUMMARY || wording == FRAG_WORDING_STATS;
}

/* Lines of one failure are near each other; the driver's has the fewest words. */
#define SAME_FAILURE 12

static bool is_generic(const struct frag_message *m)
{
	return m->wording == FRAG_WORDING_OTHER
	       || ((m->wording >= FRAG_WORDING_HIP || m->wording == FRAG_WORDING_GRAPHICS
		    || m->wording == FRAG_WORDING_METAL) && !m->said[FRAG_SAID_ASKED].there);
}

/* JAX and TensorFlow say again what their allocator could not do; others name a size twice. */
static bool repeats_pending(const struct frag_finder *f, const struct frag_message *m)
{
	const struct frag_message_value *a = &f->pending.said[FRAG_SAID_ASKED];
	const struct frag_message_value *b = &m->said[FRAG_SAID_ASKED];
	const enum frag_wording last = f->pending.wording;

	if (!f->is_pending)
		return false;
	if (is_table(m->wording))
		return is_torch(last);
	if (m->wording == last && (last == FRAG_WORDING_LLAMA || last == FRAG_WORDING_RMM_POOL))
		return !b->there || (a->error != b->error && apart(a, b) <= a->error + b->error);
	if (m->wording == FRAG_WORDING_NEURON && last == FRAG_WORDING_NEURON)
		return m->line - f->pending.line <= SAME_FAILURE && apart(a, b) <= a->error + b->error;
	if (m->wording == FRAG_WORDING_XLA && last == FRAG_WORDING_XLA)
		return m->line - f->pending.line <= SAME_FAILURE && apart(a, b) <= a->error + b->error;
	/* an allocator rounds a request up, to 256 bytes at most */
	return (m->wording == FRAG_WORDING_XLA || m->wording == FRAG_WORDING_TENSOR)
	       && (last == FRAG_WORDING_BFC || last == FRAG_WORDING_TF_ASYNC)
	       && apart(a, b) <= a->error + b->error + 256;
}

/* What the last message lacks, from one that repeats it; of a table only what no message has. */
static void merge_pending(struct frag_finder *f, const struct frag_message *m)
{
	struct frag_message *last = &f->pending;
	struct frag_message_value *asked = &last->said[FRAG_SAID_ASKED];

	if (m->wording == last->wording && m->said[FRAG_SAID_ASKED].there
	    && m->said[FRAG_SAID_ASKED].error < asked->error)
		*asked = m->said[FRAG_SAID_ASKED];
	if (!last->pool)
		last->pool = m->pool;
	if (m->named && !last->named) {
		last->named = true;
		last->accelerator = m->accelerator;
	}
	for (int i = is_torch(last->wording) ? FRAG_SAID_NONRELEASABLE : 0; i < FRAG_SAID_ALL; i++)
		if (!last->said[i].there)
			last->said[i] = m->said[i];
}

static bool has_values(const struct frag_message *m)
{
	bool any = m->pool != NULL;

	for (int i = 0; i < FRAG_SAID_ALL; i++)
		any |= m->said[i].there;
	return any;
}

/* The message is the last one from now on. */
static void found_message(struct frag_finder *f, const struct frag_message *m)
{
	f->any = true;
	if (repeats_pending(f, m)) {
		merge_pending(f, m);
		return;
	}
	/* "out of memory" before it was of this one */
	if (f->is_pending && (is_generic(&f->pending)
			      || (f->pending.wording == m->wording && !has_values(&f->pending)
				  && !is_table(m->wording)) || (f->pending.wording == FRAG_WORDING_COMFYUI
							   && m->wording == FRAG_WORDING_ASYNC))
	    && m->line - f->pending.line <= SAME_FAILURE)
		f->is_pending = false;
	tell_pending(f);
	f->pending = *m;
	if (f->around)
		f->pending.phase = (uint8_t)frag_phase_at(f->around, m->line);
	f->is_pending = true;
	f->dumps = false;
}

/* Older ones dump first, and speak afterwards. */
static void found_bfc(struct frag_finder *f, struct frag_message *m, size_t end)
{
	struct frag_cursor c = frag_cursor_at(&f->in, end);
	const bool dumped = frag_match(&c, ".Seelogsformemorystate", NULL, NULL);

	if (dumped)
		frag_bfc_dump_values(&f->dump, m);
	found_message(f, m);
	f->dumps = !dumped;
	frag_bfc_dump_begin(&f->dump);
}

/* Wordings of one family share the lines of a log. */
static enum frag_wording family_of(enum frag_wording wording)
{
	if (wording == FRAG_WORDING_VLLM_LENGTH)
		return FRAG_WORDING_VLLM_CACHE;
	return wording == FRAG_WORDING_BFC ? FRAG_WORDING_XLA : wording;        /* JAX's */
}

/* Returns the values of a program's device, or NULL if there are none or too many devices. */
static struct told *told_of(struct frag_finder *f, enum frag_wording wording, uint32_t gpu, bool add)
{
	const enum frag_wording family = family_of(wording);

	for (uint32_t i = 0; i < f->told_count; i++)
		if (f->told[i].family == family && f->told[i].gpu == gpu)
			return &f->told[i];
	if (!add || f->told_count == TOLD_MAX)
		return NULL;
	f->told[f->told_count] = (struct told){ .family = family, .gpu = gpu };
	return &f->told[f->told_count++];
}

/* Later lines replace earlier ones, unless they add up. */
static void keep_line(struct frag_finder *f, const struct frag_form *form,
		      const struct frag_message *m)
{
	struct told *told = told_of(f, m->wording, m->gpu, true);

	if (!told)
		return;
	for (int i = 0; form->starts && i < FRAG_SAID_ALL; i++)
		if (i != FRAG_SAID_TOTAL)
			told->said.said[i].there = false;
	for (int i = 0; i < FRAG_SAID_ALL; i++) {
		const struct frag_message_value *new = &m->said[i];
		struct frag_message_value *old = &told->said.said[i];

		if (new->there && old->there && form->adds && old->bytes + new->bytes < FRAG_SIZE_LIMIT)
			*old = (struct frag_message_value){
				.bytes = old->bytes + new->bytes,
				.error = old->error + new->error, .there = true,
			};
		else if (new->there)
			*old = *new;
	}
}

/* The sizes of a list belong to devices 0, 1 and so on. */
static void keep_list(struct frag_finder *f, const struct frag_form *form,
		      const struct frag_message *m, size_t at)
{
	struct frag_cursor c = frag_cursor_at(&f->in, at + strlen(form->words));
	struct frag_message one = *m;

	for (one.gpu = 0; one.gpu < FRAG_MESSAGE_GPUS; one.gpu++) {
		struct frag_message_value *size = &one.said[form->said[0]];

		if (!frag_match(&c, "%s", size, NULL) || !size->there)
			break;
		keep_line(f, form, &one);
	}
}

static void fill_from(struct frag_message *m, const struct told *told)
{
	for (int i = 0; told && i < FRAG_SAID_ALL; i++)
		frag_message_note(m, (enum frag_said)i, told->said.said[i]);
}

/* The rank that "[rank3]:" before `at` names; FRAG_NO_GPU: none does. */
static uint32_t rank_before(const struct frag_finder *f, size_t at)
{
	const struct frag_cursor line = frag_cursor_at(&f->in, at);

	for (size_t i = at; i >= line.head + 5; i--) {
		struct frag_cursor c = { .in = &f->in, .at = i - 5, .passed = SIZE_MAX, .body = SIZE_MAX };
		uint64_t rank;

		if (f->in.text[i - 5] == '[' && frag_match(&c, "[rank%n]:", NULL, &rank) && rank < FRAG_NO_GPU)
			return (uint32_t)rank;
	}
	return FRAG_NO_GPU;
}

/* Does the line name a failure, rather than being code or prose about one? A constant of an error does. */
static bool is_error_line(const struct frag_finder *f, size_t at, bool constant)
{
	static const char *const words[] = {
		"Error", "ERROR", "rror:", "WARN", "FATAL", "Fatal", "Failed", "failed", "FAILURE", "failure",
		"Exception", "bad_alloc", "RESOURCE_EXHAUSTED", "terminat", "panic", "abort", "Check",
		"code=2(",
	};
	static const char *const code[] = {
		"raise", "except", "assert", "if", "elif", "print", "log.", "logger.", "//", "return",
		"OOMs", "CudaOOMs", "CUDAOOMs",
	};
	const struct frag_cursor line = frag_cursor_at(&f->in, at);
	const char *head = f->in.text + line.head;

	if (at > 0 && strchr("\"'`", f->in.text[at - 1]) && (at < 2 || f->in.text[at - 2] != ':'))
		return false;
	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++)
		if (at - line.head >= strlen(code[i]) && strncmp(head, code[i], strlen(code[i])) == 0)
			return false;
	if (at == line.head || constant)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (frag_text_behind(&f->in, line.head, at, words[i]) != SIZE_MAX)
			return true;
	return false;
}

/* A message without values: of the last one, if it says the same of the same failure. */
static void found_bare(struct frag_finder *f, const struct frag_message *m)
{
	struct frag_message *last = &f->pending;
	const bool near = f->is_pending && m->line - last->line <= SAME_FAILURE;

	if (near && (m->wording == last->wording || is_generic(m)
		     || (m->wording == FRAG_WORDING_COMFYUI && last->wording == FRAG_WORDING_ASYNC))) {
		if (last->wording == FRAG_WORDING_OTHER)
			last->wording = m->wording;
		if (!last->process_count && m->process_count) {
			memcpy(last->processes, m->processes, sizeof(last->processes));
			last->process_count = m->process_count;
		}
		return;
	}
	if (near && is_generic(last)) {
		const uint64_t line = last->line;

		*last = *m;
		last->line = line;
		return;
	}
	found_message(f, m);
}

static void note_bare(struct frag_finder *f, size_t at, enum frag_wording wording)
{
	struct frag_message m = { .gpu = FRAG_NO_GPU, .rank = FRAG_NO_GPU, .wording = wording,
				  .line = line_of(f, at) };

	if (!is_error_line(f, at, false))
		return;
	/* of a failure that another message tells, the values are that one's */
	if (!f->is_pending || m.line - f->pending.line > SAME_FAILURE)
		frag_line_values(&f->in, at, &m);
	if (has_values(&m))
		found_message(f, &m);
	else
		found_bare(f, &m);
}

/* The wordings that only one framework has. */
static void note_framework(struct frag_surroundings *around, enum frag_wording wording)
{
	if ((wording >= FRAG_WORDING_VLLM_START && wording <= FRAG_WORDING_VLLM_LENGTH)
	    || wording == FRAG_WORDING_VLLM_TOKENS)
		frag_surroundings_of(around, FRAG_FRAMEWORK_VLLM);
	else if (wording == FRAG_WORDING_SGLANG || wording == FRAG_WORDING_SLOTS)
		frag_surroundings_of(around, FRAG_FRAMEWORK_SGLANG);
	else if (wording == FRAG_WORDING_LLAMA || wording == FRAG_WORDING_OLLAMA)
		frag_surroundings_of(around, FRAG_FRAMEWORK_LLAMA);
}

/*
 * A form's words begin at `at`, which is f->at or, where a line end cuts them, before it: a
 * message, or a line that belongs to one.
 */
static void read_form(struct frag_finder *f, const struct frag_form *form, size_t at)
{
	struct frag_message m = { .gpu = FRAG_NO_GPU, .rank = rank_before(f, at) };
	const bool bare = form->bare, constant = strstr(form->words, "ERROR_OUT_OF_") != NULL;
	size_t end = at + 1;

	form = frag_form_read(&f->in, at, form, &m, &end);
	f->at = end > f->at ? end : f->at + 1;
	m.line = line_of(f, at);
	if (!form) {
		if (bare)
			note_bare(f, at, FRAG_WORDING_OTHER);
		return;
	}
	if (f->around)
		note_framework(f->around, m.wording);
	if (form->role == FRAG_FORM_FAILS) {
		fill_from(&m, told_of(f, m.wording, m.gpu, false));
		if (m.gpu != FRAG_NO_GPU)
			fill_from(&m, told_of(f, m.wording, FRAG_NO_GPU, false));
		if (m.wording == FRAG_WORDING_BFC)
			found_bfc(f, &m, end);
		else if (m.wording >= FRAG_WORDING_OVERFLOW && !has_values(&m)) {
			if (m.wording < FRAG_WORDING_LEVEL_ZERO || is_error_line(f, at, constant))
				found_bare(f, &m);
		} else if (m.wording == FRAG_WORDING_NCCL && f->is_pending
			   && f->pending.wording == m.wording)
			merge_pending(f, &m);
		else if (has_values(&m) || is_table(m.wording))
			found_message(f, &m);
		else if (is_error_line(f, at, constant))
			found_bare(f, &m);
		return;
	}
	if (form->list)
		keep_list(f, form, &m, at);
	else if (form->role != FRAG_FORM_AFTER)
		keep_line(f, form, &m);
	if (form->role != FRAG_FORM_BEFORE && f->is_pending
	    && (family_of(f->pending.wording) == family_of(m.wording)
		|| (is_table(m.wording) && is_torch(f->pending.wording))))
		merge_pending(f, &m);
}

/* Most of those that begin alike differ in the next two bytes. */
static bool is_hook_at(const struct frag_finder *f, const struct hook *hook, size_t at)
{
	return f->in.used - at >= hook->length && f->in.text[at + 2] == hook->words[2]
	       && f->in.text[at + 3] == hook->words[3] && memcmp(f->in.text + at, hook->words, hook->length) == 0;
}

/* The hook whose words are at `at`; NULL: none. */
static const struct hook *hook_at(const struct frag_finder *f, size_t at)
{
	for (uint16_t i = f->begins[first_two(f->in.text + at)]; i; i = f->hooks[i - 1].same)
		if (is_hook_at(f, &f->hooks[i - 1], at))
			return &f->hooks[i - 1];
	return NULL;
}

/* The first one from f->at on; NULL: none before `limit`. Each byte is inspected once. */
static const struct hook *first_hook(struct frag_finder *f, size_t limit)
{
	const size_t last = f->in.used ? f->in.used - 1 : 0;    /* it begins no two bytes */
	const size_t end = limit < last ? limit : last;
	const char *text = f->in.text;
	size_t at;

	if (f->hook && f->next >= f->at)
		return f->next < limit ? f->hook : NULL;
	f->hook = NULL;
	if (f->next < f->at)
		f->next = f->at;
	for (at = f->next; at < end && !f->hook; at++)
		if (f->begins[first_two(text + at)])
			f->hook = hook_at(f, at);
	f->next = f->hook ? at - 1 : at;
	return f->hook;
}

/* Does a line end with the beginning of a form's words? How much of them. */
static size_t cut_words(const struct frag_finder *f, size_t line, uint32_t which)
{
	const struct hook *hook = &f->hooks[which];
	const char *end = f->in.text + line;

	for (size_t n = hook->length - 1; n > 0; n--)
		if (end[-1] == hook->words[n - 1] && n <= line
		    && memcmp(end - n, hook->words, n) == 0)
			return n;
	return 0;
}

/*
 * Phrases that a log's line end splits have its prefix in them, so the search misses them:
 * finds the next line, from f->at on, before which some begin. Reading the phrase then decides
 * whether it continues.
 */
static void advance_broken(struct frag_finder *f)
{
	size_t at = f->broken.next > f->at ? f->broken.next : f->at;

	if (f->broken.found && f->broken.next >= f->at)
		return;
	f->broken.found = false;
	for (at += at == 0; at < f->in.used && !f->broken.found; at++) {
		const bool *p = memchr(f->in.begins + at, 1, f->in.used - at);

		at = p ? (size_t)(p - f->in.begins) : f->in.used - 1;
		for (uint32_t left = p ? f->inside[(unsigned char)f->in.text[at - 1]] : 0, i = 0; left && !f->broken.found;
		     left >>= 1, i++) {
			const size_t n = left & 1 ? cut_words(f, at, i) : 0;

			f->broken.found = n > 0;
			f->broken.begin = at - n;
			f->broken.form = i;
		}
		f->broken.next = at;
	}
	if (!f->broken.found)
		f->broken.next = f->in.used;
}

#define PHASE_BEHIND 25         /* lines of a traceback that follow its message */

/* A traceback that follows its message names the phase. */
static void look_around(struct frag_finder *f, uint32_t which)
{
	const uint64_t line = line_of(f, f->at);

	frag_surroundings_read(f->around, which, &f->in, f->at, line);
	if (f->is_pending && !f->pending.phase && line <= f->pending.line + PHASE_BEHIND)
		f->pending.phase = (uint8_t)frag_phase_at(f->around, line);
}

/* The rows of accounts whose words are here, too: they share them with messages. */
static void read_accounts(struct frag_finder *f)
{
	for (uint16_t i = f->begins[first_two(f->in.text + f->at)]; i; i = f->hooks[i - 1].same)
		if (i > f->around_end && is_hook_at(f, &f->hooks[i - 1], f->at))
			frag_accounts_read(f->accounts, i - 1U - f->around_end, &f->in, f->at, line_of(f, f->at));
}

static void read_hook(struct frag_finder *f, uint32_t which)
{
	if (f->accounts)
		read_accounts(f);
	if (which < f->forms) {
		read_form(f, f->form_of[which], f->at);
		return;
	}
	if (which >= f->corrections && which < f->around_end)
		look_around(f, which - f->corrections);
	else if (which < f->words)
		frag_bfc_dump_line(&f->dump, &f->in, f->at, which - f->forms);
	else if (which < f->bare)
		note_bare(f, f->at, which == f->words + 1 ? FRAG_WORDING_RMM_POOL : FRAG_WORDING_OTHER);
	f->at++;
}

/* Corrects one wrong letter behind the hook that was found. True: the text is another one now. */
static bool correct(struct frag_finder *f, uint32_t which)
{
	const struct correction *c;
	const size_t length = which >= f->bare && which < f->corrections
			      ? strlen(corrections[which - f->bare].word) : 0;
	size_t at, wrong = SIZE_MAX;

	if (!length)
		return false;
	c = &corrections[which - f->bare];
	at = f->next + strlen(c->lead);
	if (f->in.used - at < length)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (f->in.text[at + i] == c->word[i])
			continue;
		if (wrong != SIZE_MAX || !frag_is_letter(f->in.text[at + i]))
			return false;
		wrong = i;
	}
	if (wrong == SIZE_MAX)
		return false;
	f->in.text[at + wrong] = c->word[wrong];
	f->next = f->at;
	f->hook = NULL;
	return true;
}

/* Reads what begins before `limit`. */
static void scan(struct frag_finder *f, size_t limit)
{
	const struct hook *hook;

	for (;;) {
		hook = first_hook(f, limit);
		if (hook && correct(f, (uint32_t)(hook - f->hooks)))
			continue;
		advance_broken(f);
		if (f->broken.found && f->broken.next < limit
		    && (!hook || f->broken.next <= f->next)) {
			f->at = f->broken.next;
			read_form(f, f->form_of[f->broken.form], f->broken.begin);
		} else if (hook) {
			f->at = f->next;
			read_hook(f, (uint32_t)(hook - f->hooks));
		} else {
			break;
		}
		if (f->rc)
			return;
	}
	if (f->at < limit)
		f->at = limit;
}

/* Forgets what was read, except the bytes right before it. */
static void shift(struct frag_finder *f)
{
	const size_t drop = f->at > BEHIND ? f->at - BEHIND : 0;
	const size_t kept = f->in.used - drop;

	f->shifted |= drop > 0;
	memmove(f->in.text, f->in.text + drop, kept);
	memmove(f->in.line, f->in.line + drop, kept * sizeof(*f->in.line));
	memmove(f->in.begins, f->in.begins + drop, kept * sizeof(*f->in.begins));
	f->in.used = kept;
	f->at -= drop;
	f->next -= f->next > drop ? drop : f->next;
	f->broken.next -= f->broken.next > drop ? drop : f->broken.next;
	f->broken.begin -= f->broken.begin > drop ? drop : f->broken.begin;
}

int frag_finder_feed(struct frag_finder *f, const char *bytes, size_t n)
{
	while (n && !f->rc) {
		const size_t taken = frag_stripped_text(&f->in, bytes, n);

		bytes += taken;
		n -= taken;
		if (!n)
			break;
		scan(f, f->in.used - FRAG_MESSAGE_MOST);
		shift(f);
	}
	return f->rc;
}

int frag_finder_end(struct frag_finder *f)
{
	frag_stripped_end(&f->in);
	scan(f, f->in.used);
	/* a wrong letter may have hidden the only failure; the other lines were read already */
	if (!f->any && !f->shifted && !f->rc && frag_forms_correct(&f->in)) {
		f->at = f->next = 0;
		f->hook = NULL;
		f->broken.found = false;
		f->broken.next = 0;
		f->told_count = 0;
		f->accounts = NULL;
		frag_bfc_dump_begin(&f->dump);
		scan(f, f->in.used);
	}
	tell_pending(f);
	return f->rc;
}

uint64_t frag_finder_lines(const struct frag_finder *f)
{
	return f->in.lines + !f->in.fresh;
}
