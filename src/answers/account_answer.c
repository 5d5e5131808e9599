/*
 * account_answer.c - memory values of a text without a failure, for people: the holders, and what
 * they mean; and how the values of two texts differ.
 */
#include "answers/account_answer.h"

#include "answers/answers.h"
#include "answers/table.h"

#include "messages/message_log.h"

#define A(kind) FRAG_ACCOUNT_##kind
#define NOTE_ROOM 700
#define EDGE 90                 /* per cent of a device from which it is nearly full */

struct notes {
	const struct frag_accounts *a;
	const struct frag_text_style *to;
};

#define NOTE(n, ...) frag_put_row((n)->to, "note", __VA_ARGS__)

static uint64_t tenths_of(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)(1000 * (double)part / (double)whole + 0.5) : 0;
}

static const char *program_of(const struct frag_account *account)
{
	return account->program ? account->program : "the program";
}

/* The value with this kind of the same program; NULL: none. */
static const struct frag_account *beside(const struct notes *n, const struct frag_account *account,
					 enum frag_account_kind kind)
{
	for (uint32_t i = 0; i < n->a->count; i++)
		if (n->a->of[i].kind == kind && n->a->of[i].program == account->program
		    && n->a->of[i].device == account->device)
			return &n->a->of[i];
	return NULL;
}

/* Reserved bytes in no live block are no shortage. */
static void note_cached(const struct notes *n, const struct frag_account *cached)
{
	const struct frag_account *reserved = beside(n, cached, A(RESERVED));
	const struct frag_account *allocated = beside(n, cached, A(ALLOCATED));
	const struct frag_account *kept = beside(n, cached, A(NONRELEASABLE));
	const struct frag_account *peak = beside(n, cached, A(PEAK_ALLOCATED));
	struct frag_words w = WORDS(NOTE_ROOM);

	if (!reserved || !allocated || 20 * cached->bytes < reserved->bytes)
		return;
	frag_add(&w, "%s of the %s that %s has reserved is in no live block: a cache, left by a higher peak",
		 SIZE(cached->bytes), SIZE(reserved->bytes), program_of(cached));
	if (peak)
		frag_add(&w, " (%s)", SIZE(peak->most));
	else
		frag_add(&w, " (torch.cuda.max_memory_allocated() has it)");
	frag_add(&w, ", and no shortage for this program");
	if (kept)
		frag_add(&w, "; %s of it is non-releasable, in segments with live blocks", SIZE(kept->bytes));
	frag_add(&w, "; empty_cache() returns whole segments to the device%s",
		 frag_account_of(n->a, A(STILL_USED), NULL)
		 ? ": call it in the trainer before the server sleeps or wakes up" : "");
	NOTE(n, "%s", w.text);
}

static void note_active(const struct notes *n, const struct frag_account *active)
{
	const struct frag_account *allocated = beside(n, active, A(ALLOCATED));

	if (allocated && active->bytes > allocated->bytes)
		NOTE(n, "%s more is active than allocated: freed blocks that another stream used, which stay until it"
		     " is done (record_stream)", SIZE(active->bytes - allocated->bytes));
}

static void note_asleep(const struct notes *n, const struct frag_account *outside)
{
	const struct frag_account *used = beside(n, outside, A(STILL_USED));
	const struct frag_account *limit = beside(n, outside, A(LIMIT));
	const struct frag_account *freed = beside(n, outside, A(FREED));

	if (used && limit && freed)
		NOTE(n, "at least %s of the %s still in use is not the server's: it may use %s and freed %s, so that at"
		     " most %s is its own; the trainer or another process holds the others", SIZE(outside->bytes),
		     SIZE(used->bytes), SIZE(limit->bytes), SIZE(freed->bytes),
		     SIZE(limit->bytes > freed->bytes ? limit->bytes - freed->bytes : 0));
}

static bool is_program(const struct frag_account *account, const char *name)
{
	return account->program && strcmp(account->program, name) == 0;
}

static void note_graphs(const struct notes *n, const struct frag_account *graphs)
{
	const struct frag_account *weights = beside(n, graphs, A(WEIGHTS));

	if (graphs->bytes >> 30 < 2)
		return;
	NOTE(n, "CUDA graphs took %s%s%s: %s; a snapshot around the capture shows what holds them", SIZE(graphs->bytes),
	     weights ? ", in addition to weights of " : "", weights ? SIZE(weights->bytes) : "",
	     is_program(graphs, "SGLang")
	     ? "fewer batch sizes (--cuda-graph-max-bs), or none (--disable-cuda-graph)"
	     : is_program(graphs, "vLLM") ? "fewer capture sizes, or none (--enforce-eager)"
					  : "fewer captured sizes");
}

/* By values of one device, or by the percentage that a line has. */
static void note_edge(const struct notes *n)
{
	static const enum frag_account_kind held[] = { A(PEAK_RESERVED), A(RESERVED), A(USED) };
	const struct frag_account *total = frag_account_of(n->a, A(TOTAL), NULL);
	bool noted = false;

	for (uint32_t i = 0; i < n->a->count; i++) {
		const struct frag_account *of = &n->a->of[i];
		const struct frag_account *all = beside(n, of, A(TOTAL)) ? beside(n, of, A(TOTAL))
						 : of->device == FRAG_NO_GPU ? total : NULL;
		bool is = false;

		for (size_t k = 0; k < sizeof(held) / sizeof(*held); k++)
			is |= of->kind == held[k];
		if (!is || !all || !all->bytes || of->most > all->bytes
		    || (noted && of->device == FRAG_NO_GPU))
			continue;
		noted = true;
		NOTE(n, "%s: %s of %s, %.1f%%%s", of->who, SIZE(of->most), SIZE(all->bytes),
		     (double)tenths_of(of->most, all->bytes) / 10,
		     100 * (double)of->most >= EDGE * (double)all->bytes ? ": at the edge of the device" : "");
	}
	if (!noted && n->a->percent) {
		const struct frag_account *peak = frag_account_of(n->a, A(PEAK_RESERVED), NULL);

		NOTE(n, "%.2f%% of the device at most%s%s%s%s", (double)n->a->percent / 100, peak ? ": " : "",
		     peak ? SIZE(peak->most) : "", peak ? " of about " : "",
		     peak ? SIZE((uint64_t)((double)peak->most * 10000 / (double)n->a->percent)) : "");
	}
	if (n->a->retries)
		NOTE(n, "%" PRIu64 " allocation retries: each released the whole cache because the device refused a"
		     " segment, and waited for the GPU. No failure yet, but at the edge: expandable_segments:True"
		     " (PYTORCH_CUDA_ALLOC_CONF, on Linux) where the unallocated bytes are many, else a smaller batch",
		     n->a->retries);
}

/* Processes of one device: their sum, and those that are contexts alone. */
static void note_processes(const struct notes *n, uint32_t device)
{
	uint64_t sum = 0, small = 0, largest = 0;
	uint32_t count = 0, equal = 0;

	for (uint32_t i = 0; i < n->a->count; i++) {
		const struct frag_account *of = &n->a->of[i];

		if (of->kind != A(PROCESS) || of->device != device)
			continue;
		count++;
		sum += of->bytes;
		if (of->bytes > largest)
			largest = of->bytes;
		equal += small && of->bytes == small;
		if (of->bytes >> 30 == 0 && of->bytes && !equal) {
			small = of->bytes;
			equal = 1;
		}
	}
	if (count < 2)
		return;
	if (device == FRAG_NO_GPU)
		NOTE(n, "%" PRIu32 " processes have %s", count, SIZE(sum));
	else
		NOTE(n, "device %" PRIu32 ": %" PRIu32 " processes have %s", device, count, SIZE(sum));
	if (equal > 1 && largest > 4 * small)
		NOTE(n, "%" PRIu32 " of them have %s each, %s in all: contexts alone, of ranks whose memory is on other"
		     " devices. Set the device (set_device, or the visible devices) before the first call of the"
		     " accelerator", equal, SIZE(small), SIZE(equal * small));
}

static void note_accounts(const struct notes *n)
{
	for (uint32_t i = 0; i < n->a->count; i++) {
		const struct frag_account *of = &n->a->of[i];

		if (of->kind == A(OUTSIDE))
			note_asleep(n, of);
		else if (of->kind == A(CACHED) && of->derived)
			note_cached(n, of);
		else if (of->kind == A(ACTIVE))
			note_active(n, of);
		else if (of->kind == A(GRAPHS))
			note_graphs(n, of);
	}
	note_edge(n);
	for (uint32_t device = 0; device < FRAG_MESSAGE_GPUS; device++)
		note_processes(n, device);
	note_processes(n, FRAG_NO_GPU);
}

#define ACCOUNTS_SHOWN 40

/* The programs first, then each value with its largest, then the notes on them. */
void frag_report_accounts(const struct frag_accounts *accounts, const struct frag_text_style *to)
{
	const struct notes notes = { accounts, to };
	struct frag_words w = WORDS(NOTE_ROOM);

	for (uint32_t i = 0; i < accounts->count; i++) {
		const char *program = accounts->of[i].program;
		bool named = !program;

		for (uint32_t k = 0; k < i && !named; k++)
			named = accounts->of[k].program == program;
		if (!named)
			frag_add_item(&w, ", ", "%s", program);
	}
	fprintf(to->f, "no failure: %" PRIu32 " memory figure%s%s%s\n", accounts->count, frag_s(accounts->count),
		w.used ? " of " : "", w.text);
	for (uint32_t i = 0; i < accounts->count && i < ACCOUNTS_SHOWN; i++) {
		const struct frag_account *of = &accounts->of[i];

		fprintf(to->f, "  %11s  %s", SIZE(of->bytes), of->who);
		if (of->most > of->bytes)
			fprintf(to->f, " (%s at most)", SIZE(of->most));
		fprintf(to->f, "\n");
	}
	if (accounts->count > ACCOUNTS_SHOWN)
		fprintf(to->f, "  and %" PRIu32 " more\n", accounts->count - ACCOUNTS_SHOWN);
	note_accounts(&notes);
}

static const struct frag_field account_rows[] = {
	{ "who", FRAG_TYPE_TEXT, FRAG_AT(account, who), "what the text says has the bytes" },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(account, bytes) },
	{ 0 },
};

static const struct frag_field change_rows[] = {
	{ "who", FRAG_TYPE_TEXT, FRAG_AT(account_change, who), .csv = "who", .head = "who" },
	{ "old", FRAG_TYPE_BYTES, FRAG_AT(account_change, old), FRAG_THERE_IF(account_change, in_old),
	  .what = "null: only the other text has it", .csv = "old", .head = "old" },
	{ "new", FRAG_TYPE_BYTES, FRAG_AT(account_change, new), FRAG_THERE_IF(account_change, in_new),
	  .csv = "new", .head = "new" },
	{ "change", FRAG_TYPE_INTEGER, FRAG_AT(account_change, change), "new minus old, in bytes; what one text"
	  " lacks is 0", .csv = "change", .head = "change" },
	{ 0 },
};

static const struct frag_field changes_list = {
	"changes", FRAG_TYPE_LIST, FRAG_ARRAY(account_changes, changes, count), "by who, the largest change first",
	.fields = change_rows,
};

static const struct frag_field accounts_fields[] = {
	{ "old", FRAG_TYPE_LIST, FRAG_ARRAY(account_changes, old.of, old.count), "the values of OLD",
	  .fields = account_rows },
	{ "new", FRAG_TYPE_LIST, FRAG_ARRAY(account_changes, new.of, new.count), "the values of NEW",
	  .fields = account_rows },
	{ "changes", FRAG_TYPE_LIST, FRAG_ARRAY(account_changes, changes, count), "by who, the largest change first",
	  .fields = change_rows },
	{ 0 },
};

const struct frag_document_type frag_accounts_document = {
	.format = "fragsim-accounts", .version = 1, .fields = accounts_fields,
	.what = "What fragsim diff OLD NEW --json writes of two texts, see fragsim-diff(1).",
};

/* A line for each value that differs; then how many do not. */
static void print_changes(const void *what, const struct frag_text_style *to)
{
	const struct frag_account_changes *c = what;
	uint32_t same = 0;

	fprintf(to->f, "%14s %14s %14s\n", "old", "new", "change");
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_account_change *of = &c->changes[i];
		const int64_t size = of->change < 0 ? -of->change : of->change;
		struct frag_words w = WORDS(32);

		if (!of->change) {
			same++;
			continue;
		}
		frag_add(&w, "%s%s", of->change < 0 ? "-" : "+", SIZE((uint64_t)size));
		fprintf(to->f, "%14s %14s %14s  %s\n", of->in_old ? SIZE(of->old) : "-",
			of->in_new ? SIZE(of->new) : "-", w.text, of->who);
	}
	if (same)
		fprintf(to->f, "%" PRIu32 " value%s did not change\n", same, frag_s(same));
}

const struct frag_format *const frag_account_formats[] = {
	FRAG_TEXT_FORM(print_changes), FRAG_ANSWER_FORMS(frag_accounts_document, &changes_list),
};
