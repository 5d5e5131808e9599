/* message_advice.c - what to do about an out-of-memory message. */
#include "report/message_advice.h"

#include "base/format.h"
#include "report/wrap_lines.h"

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
	const struct frag_figure *allowed = &a->m->said[FRAG_SAID_ALLOWED];
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
void frag_print_message_advice(const struct frag_message *m, const struct frag_text_style *paper,
			       FILE *f)
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
