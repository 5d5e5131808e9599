/* message_text.c - what out-of-memory messages come to, for people. */
#include "answers/message_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "answers/color.h"
#include "answers/wrap_lines.h"
#include "messages/message.h"
#include "answers/formats.h"

#define ABSURD 16               /* times what a device has: no model asks for that */

/* Whose settings there are. */
enum speaker { TORCH, OLD_TORCH, ASYNC, MPS, BFC, RMM, OTHER };

static enum speaker speaker_of(const struct frag_message *m)
{
	static const enum speaker speakers[] = {
		[FRAG_WORDING_CACHED] = OLD_TORCH, [FRAG_WORDING_RESERVED] = OLD_TORCH,
		[FRAG_WORDING_SENTENCES] = TORCH, [FRAG_WORDING_ASYNC] = ASYNC,
		[FRAG_WORDING_MPS] = MPS, [FRAG_WORDING_BFC] = BFC, [FRAG_WORDING_XLA] = BFC,
		[FRAG_WORDING_RMM] = RMM, [FRAG_WORDING_RMM_POOL] = RMM,
		[FRAG_WORDING_CUPY] = OTHER,
	};

	return speakers[m->wording];
}

struct advice {
	const struct frag_message *m;
	const struct frag_text_style *paper;
	FILE *f;
};

static void say(const struct advice *a, const char *text)
{
	frag_put_wrapped(a->paper->columns, "  - ", text, a->f);
}

/* A line to paste is never wrapped. */
static void paste(const struct advice *a, const char *line)
{
	fprintf(a->f, "      %s\n", line);
}

static void less_memory(const struct advice *a)
{
	if (speaker_of(a->m) == RMM)
		say(a, "partition the data into smaller pieces, spill to the host, or take a larger"
		    " device.");
	else
		say(a, "need less at once: a smaller batch or shorter sequences (and more steps"
		    " between updates), activation checkpointing, lower precision; or a larger"
		    " device.");
}

/* PyTorch 2.1 has this setting, at first by the older name alone; 1.10 has another. */
static void expandable(const struct advice *a)
{
	say(a, "let segments grow in place; set this before the program starts:");
	paste(a, "export PYTORCH_ALLOC_CONF=expandable_segments:True");
	say(a, "PyTorch 2.1 has it; where it is not of the latest, by the older name:");
	paste(a, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
	if (speaker_of(a->m) == OLD_TORCH) {
		say(a, "from 1.10 on this one can help instead:");
		paste(a, "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512");
	}
}

static void snapshot(const struct advice *a)
{
	say(a, "who holds the memory, and what keeps the free pieces apart, only a snapshot"
	    " tells. PyTorch 2.1 or later, before the first allocation:");
	paste(a, "torch.cuda.memory._record_memory_history()");
	say(a, "where the error is caught (except torch.OutOfMemoryError):");
	paste(a, "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")");
	say(a, "and then:");
	paste(a, "fragsim explain snapshot.pickle");
}

static void tensorflow_dump(const struct advice *a)
{
	say(a, "the allocator writes a list of its chunks to the log, right before or after this"
	    " line; give all of the log to fragsim explain --message. It is not left out with:");
	paste(a, "export TF_CPP_MIN_LOG_LEVEL=0");
}

static void rmm_log(const struct advice *a)
{
	say(a, "what was allocated, RMM logs, and fragsim run reads that:");
	paste(a, "rmm.enable_logging(log_file_name=\"rmm.csv\")");
}

/* Where only more than a message can tell. */
static void look_closer(const struct advice *a)
{
	switch (speaker_of(a->m)) {
	case TORCH:
	case OLD_TORCH:
		snapshot(a);
		break;
	case BFC:
		if (!a->m->total.there)
			tensorflow_dump(a);
		break;
	case RMM:
		rmm_log(a);
		break;
	case ASYNC:
	case MPS:
	case OTHER:
		break;
	}
}

static void over_device(const struct advice *a)
{
	const uint64_t asked = a->m->said[FRAG_SAID_ASKED].bytes;

	if (asked / ABSURD > a->m->total.bytes)
		say(a, "so much is mostly a mistake: look at the shapes of the operation that"
		    " failed, such as an index or a broadcast that makes one huge.");
	else
		say(a, "no setting helps: split the operation that failed (a smaller batch,"
		    " attention in pieces, a chunked loss), or take a larger device.");
}

/* A limit that the program has set itself, and that the request may exceed, as far as digits go. */
static bool own_limit(const struct advice *a)
{
	const struct frag_message_value *allowed = &a->m->said[FRAG_SAID_ALLOWED];
	const uint64_t held = a->m->reserved.there ? a->m->reserved.bytes : a->m->allocated.bytes;
	char text[256];

	if (!allowed->there || allowed->bytes >= a->m->total.bytes
	    || held + a->m->said[FRAG_SAID_ASKED].bytes + 3 * a->m->precision <= allowed->bytes)
		return false;
	snprintf(text, sizeof(text), "the program limits itself to %s, whatever the device has:"
		 " raise that where it calls", SIZE(allowed->bytes));
	say(a, text);
	paste(a, "torch.cuda.set_per_process_memory_fraction(1.0)");
	return true;
}

static void refused(const struct advice *a)
{
	say(a, "what is free was looked at after the refusal: another process or stream may have"
	    " given memory back since. Does nvidia-smi, asked every second, show others come and"
	    " go?");
	say(a, "the program may have a limit of its own (set_per_process_memory_fraction, MIG, a"
	    " container, Windows' limit for a process).");
	look_closer(a);
}

static void outside(const struct advice *a)
{
	if (speaker_of(a->m) == MPS) {
		say(a, "other users of the GPU in this program hold it: Metal, another framework.");
		less_memory(a);
		return;
	}
	say(a, "see who has it, and end what is not needed (a notebook, a process that was left"
	    " over):");
	paste(a, "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv");
	say(a, "each process has a CUDA context of some 0.3 to 0.6 GiB; NCCL, cuDNN, cuBLAS and"
	    " CUDA graphs hold memory that the allocator does not know of.");
}

/* The setting that lets pieces join, where the allocator has one. */
static void fragmentation(const struct advice *a)
{
	switch (speaker_of(a->m)) {
	case TORCH:
	case OLD_TORCH:
		expandable(a);
		break;
	case BFC:
		say(a, "TensorFlow: let the driver place blocks; set this before it starts:");
		paste(a, "export TF_GPU_ALLOCATOR=cuda_malloc_async");
		say(a, "JAX: let it have more of the device than the usual three quarters:");
		paste(a, "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95");
		break;
	case RMM:
		say(a, "give the pool its largest size from the start: what grows piece by piece"
		    " never joins.");
		break;
	case ASYNC:
	case MPS:
	case OTHER:
		say(a, "give back what is cached before the request that fails.");
		break;
	}
	look_closer(a);
}

static void capacity(const struct advice *a)
{
	less_memory(a);
	if (speaker_of(a->m) == MPS) {
		say(a, "without its limit PyTorch takes more, at the system's risk:");
		paste(a, "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0");
	} else if (speaker_of(a->m) == BFC && a->m->total.there) {
		say(a, "the limit is the allocator's; JAX takes three quarters of the device unless"
		    " it is told otherwise:");
		paste(a, "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95");
	}
	look_closer(a);
}

/* Least is said where nothing helps. */
static void frag_print_message_advice(const struct frag_message *m,
				      const struct frag_text_style *paper, FILE *f)
{
	const struct advice a = { .m = m, .paper = paper, .f = f };

	if (m->verdict != FRAG_SHORT_OVER_DEVICE && own_limit(&a)
	    && m->verdict == FRAG_SHORT_REFUSED)
		return;
	switch (m->verdict) {
	case FRAG_SHORT_OVER_DEVICE:
		over_device(&a);
		break;
	case FRAG_SHORT_REFUSED:
		refused(&a);
		break;
	case FRAG_SHORT_OUTSIDE:
		outside(&a);
		break;
	case FRAG_SHORT_TIGHT:
		less_memory(&a);
		fragmentation(&a);
		break;
	case FRAG_SHORT_FRAGMENTATION:
		fragmentation(&a);
		break;
	case FRAG_SHORT_CAPACITY:
		capacity(&a);
		break;
	case FRAG_SHORT_UNKNOWN:
		look_closer(&a);
		break;
	}
}

#define WHOLE_MAX 3             /* groups that are all shown whole */
#define ROWS_MAX 20             /* of the table of more of them */
#define GPUS_ROOM 256
#define SENTENCE_ROOM 1024

static const char *const verdict_words[] = {
	[FRAG_SHORT_OVER_DEVICE] = "asks more than the device has",
	[FRAG_SHORT_REFUSED] = "room was there, and it was refused",
	[FRAG_SHORT_OUTSIDE] = "held outside the allocator",
	[FRAG_SHORT_CAPACITY] = "capacity",
	[FRAG_SHORT_TIGHT] = "nearly full",
	[FRAG_SHORT_FRAGMENTATION] = "fragmentation",
	[FRAG_SHORT_UNKNOWN] = "the message does not tell",
};

/* "0-3, 5" */
static const char *gpus_text(uint64_t gpus, char buf[GPUS_ROOM])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < FRAG_MESSAGE_GPUS; i++) {
		int last = i;

		if (!(gpus >> i & 1))
			continue;
		while (last + 1 < FRAG_MESSAGE_GPUS && gpus >> (last + 1) & 1)
			last++;
		used += (size_t)snprintf(buf + used, GPUS_ROOM - used, "%s%d", used ? ", " : "", i);
		if (last > i)
			used += (size_t)snprintf(buf + used, GPUS_ROOM - used, "-%d", last);
		i = last;
	}
	return buf;
}

static void print_figure(const char *label, const struct frag_message_value *figure, const char *note,
			 FILE *f)
{
	if (figure->there)
		fprintf(f, "  %-12s %11s%s%s\n", label, SIZE(figure->bytes),
			*note ? "  " : "", note);
}

static const char *total_note(const struct frag_message *m)
{
	switch (m->wording) {
	case FRAG_WORDING_BFC:
		return "that the allocator may have of the device";
	case FRAG_WORDING_RMM_POOL:
	case FRAG_WORDING_CUPY:
		return "that the pool may have";
	case FRAG_WORDING_MPS:
		return "that PyTorch lets itself have";
	case FRAG_WORDING_CACHED:
	case FRAG_WORDING_RESERVED:
	case FRAG_WORDING_SENTENCES:
	case FRAG_WORDING_ASYNC:
	case FRAG_WORDING_XLA:
	case FRAG_WORDING_RMM:
	case FRAG_WORDINGS:
		break;
	}
	return "of the device";
}

/* Those that are printed and those that follow from them, in one order whatever the wording. */
static void print_figures(const struct frag_message *m, FILE *f)
{
	char pools[FRAG_NUMBER_ROOM + 32] = "in live blocks";

	if (m->said[FRAG_SAID_POOLS].there)
		snprintf(pools, sizeof(pools), "in live blocks, %s of it in private pools",
			 SIZE(m->said[FRAG_SAID_POOLS].bytes));
	print_figure("asked", &m->said[FRAG_SAID_ASKED], "", f);
	print_figure("total", &m->total, total_note(m), f);
	print_figure("free", &m->free, m->said[FRAG_SAID_FREE].there ? "on the device"
							       : "follows from the others", f);
	print_figure("allocated", &m->allocated, pools, f);
	if (m->wording != FRAG_WORDING_ASYNC && m->wording != FRAG_WORDING_MPS)
		print_figure("unallocated", &m->unallocated,
			     "held by the allocator, in no live block", f);
	print_figure("outside", &m->outside, "CUDA context, libraries, other processes", f);
	print_figure("limit", &m->said[FRAG_SAID_ALLOWED],
		     "that the program set itself (set_per_process_memory_fraction)", f);
	print_figure("processes", &m->said[FRAG_SAID_OTHERS],
		     "in use by processes that the message names", f);
	if (m->chunks.count)
		frag_fprintf(
			f, "  %-12s %11s  of %" PRIu64 " free chunks; fragmentation index %.1f%%\n",
			"largest", SIZE(m->chunks.largest), m->chunks.count,
			100 * (1 - (double)m->chunks.largest / (double)m->chunks.bytes));
}

/* The arithmetic in a sentence. */
static void sentence(const struct frag_message *m, char *buf, size_t size)
{
	const uint64_t asked = m->said[FRAG_SAID_ASKED].bytes;
	const uint64_t room = m->free.bytes + m->unallocated.bytes;
	const uint64_t apart = asked > room ? asked - room : room - asked;
	char a[FRAG_NUMBER_ROOM];

	frag_size_text(a, asked);
	switch (m->verdict) {
	case FRAG_SHORT_OVER_DEVICE:
		frag_snprintf(buf, size, "%s asked for at once are more than the %s that there are",
			      a, SIZE(m->total.bytes));
		break;
	case FRAG_SHORT_REFUSED:
		frag_snprintf(buf, size, "%s were free, %s more than was asked for",
			      SIZE(m->free.bytes),
			      SIZE(m->free.bytes - asked));
		break;
	case FRAG_SHORT_OUTSIDE:
		frag_snprintf(buf, size, "free and unallocated are %s, %s too few; %s are held"
			      " outside the allocator, and without them it would fit",
			      frag_size_text(a, room), SIZE(apart),
			      SIZE(m->outside.bytes));
		break;
	case FRAG_SHORT_CAPACITY:
		if (!m->free.there || !m->unallocated.there)
			snprintf(buf, size, "whatever was free, beside what is allocated there is"
				 " no room for %s", a);
		else
			frag_snprintf(buf, size, "free and unallocated are %s, %s too few for %s",
				      SIZE(room), SIZE(apart), a);
		break;
	case FRAG_SHORT_TIGHT:
	case FRAG_SHORT_FRAGMENTATION:
		frag_snprintf(
			buf, size,
			"free and unallocated are %s, enough for %s: %s, %.1f%% of"
			" all, would be left%s",
			SIZE(room), a, SIZE(apart), 100 * (double)apart / (double)m->total.bytes,
			m->verdict == FRAG_SHORT_TIGHT ? ", less than any placement can count on"
						       : "; but nowhere in one piece");
		break;
	case FRAG_SHORT_UNKNOWN:
		snprintf(buf, size, "%s were asked for; how much was free is not said, or not of"
			 " what", a);
		break;
	}
}

/* What else it may be, where the figures leave it open. */
static void print_possible(const struct frag_message *m, const struct frag_text_style *paper,
			   FILE *f)
{
	char text[SENTENCE_ROOM];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < FRAG_SHORTAGES; i++)
		if (m->possible >> i & 1 && (int)m->verdict != i)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used ? "; or: " : "", verdict_words[i]);
	if (m->precision && used)
		fprintf(f, "  %-12s each figure is off by %s at most; that leaves possible, too:\n",
			"rounding", SIZE(m->precision));
	else if (m->precision)
		fprintf(f, "  %-12s each figure is off by %s at most: the verdict stays\n",
			"rounding", SIZE(m->precision));
	if (used)
		frag_put_wrapped(paper->columns, m->precision ? "               "
				 : "  possible     ", text, f);
}

static enum frag_color_code verdict_ink(enum frag_oom_verdict verdict)
{
	return verdict == FRAG_SHORT_FRAGMENTATION || verdict == FRAG_SHORT_REFUSED ? INK_YELLOW
									    : INK_RED;
}

/* above: the line of the message whose advice is this one's, too; 0: there is none. */
static void print_group(const struct frag_message_group *group, const struct frag_text_style *paper,
			uint64_t above, FILE *f)
{
	const struct frag_message *m = &group->first;
	char gpus[GPUS_ROOM], text[SENTENCE_ROOM + 128], buf[SENTENCE_ROOM];

	fprintf(f, "line %" PRIu64 ": %s", m->line, frag_wording_text(m->wording));
	if (group->gpus)
		fprintf(f, ", GPU %s", gpus_text(group->gpus, gpus));
	if (group->count > 1)
		fprintf(f, ", said %" PRIu64 " times", group->count);
	putc('\n', f);
	print_figures(m, f);
	print_possible(m, paper, f);
	sentence(m, buf, sizeof(buf));
	snprintf(text, sizeof(text), "%s%s%s: %s.",
		 frag_color_code(paper->colour, verdict_ink(m->verdict)), verdict_words[m->verdict],
		 frag_color_code(paper->colour, INK_PLAIN), buf);
	putc('\n', f);
	frag_put_wrapped(paper->columns, "", text, f);
	if (above)
		fprintf(f, "  - what to do: as of line %" PRIu64 "\n", above);
	else
		frag_print_message_advice(m, paper, f);
}

static void message_text_print_row(const struct frag_message_group *group, FILE *f)
{
	const struct frag_message *m = &group->first;
	char free[FRAG_NUMBER_ROOM], gpus[GPUS_ROOM];

	fprintf(f, "%7" PRIu64 " %9" PRIu64 " %11s %11s  %-14s %s\n", group->count, m->line,
		SIZE(m->said[FRAG_SAID_ASKED].bytes),
		m->free.there ? frag_size_text(free, m->free.bytes) : "-",
		frag_shortage_name(m->verdict),
		group->gpus ? gpus_text(group->gpus, gpus) : "-");
}

static void message_text_print_table(const struct frag_message_groups *groups, FILE *f)
{
	const uint32_t rows = groups->count < ROWS_MAX ? groups->count : ROWS_MAX;

	fprintf(f, "%7s %9s %11s %11s  %-14s %s\n", "times", "line", "asked", "free", "verdict",
		"GPU");
	for (uint32_t i = 0; i < rows; i++)
		message_text_print_row(&groups->groups[i], f);
	if (groups->count > rows)
		fprintf(f, "  and %" PRIu32 " others\n", groups->count - rows);
	if (groups->others)
		fprintf(f, "  and %" PRIu64 " messages more, each with other figures\n",
			groups->others);
}

/* All of a few; of more a table, and the first of each verdict. */
void frag_report_messages(const struct frag_message_groups *groups,
			  const struct frag_text_style *paper, FILE *f)
{
	const bool all = groups->count <= WHOLE_MAX;
	uint64_t shown[FRAG_SHORTAGES + 1] = { 0 };     /* lines; 0: none yet */

	if (groups->messages > 1)
		fprintf(f, "%" PRIu64 " messages, %s%" PRIu32 " different\n", groups->messages,
			groups->others ? "more than " : "", groups->count);
	if (groups->count > 1)
		message_text_print_table(groups, f);
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct frag_message *m = &groups->groups[i].first;

		if (!all && shown[m->verdict])
			continue;
		if (groups->messages > 1)
			putc('\n', f);
		print_group(&groups->groups[i], paper, shown[m->verdict], f);
		if (!shown[m->verdict])
			shown[m->verdict] = m->line;
	}
}
