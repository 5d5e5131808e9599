/* patterns.c - what out-of-memory messages say, wording by wording. */
#include "messages/match.h"

#include <string.h>

#define BEFORE_MOST 200         /* squeezed bytes of a message that stand before its cue */

/* A part of a message: the value that it has; or none, FRAG_SAID_ALL. */
struct piece {
	const char *pattern;
	enum frag_said said;
};

static void patterns_note(struct frag_message *m, enum frag_said which, struct frag_message_value size)
{
	struct frag_message_value *said = &m->said[which];

	if (which == FRAG_SAID_ALL || !size.there)
		return;
	if (which == FRAG_SAID_OTHERS && said->there) {         /* one for each process */
		said->bytes += size.bytes;
		said->error += size.error;
	} else if (!said->there) {
		*said = size;
	}
}

/* The pieces that follow, in any order; how many they are. */
static int read_pieces(struct frag_cursor *c, const struct piece *pieces, struct frag_message *m)
{
	const struct piece *piece;
	int count = 0;

	do {
		struct frag_cursor next = *c;
		struct frag_message_value size = { .there = false };
		uint64_t number = UINT64_MAX;

		frag_pass_marks(&next);
		for (piece = pieces; piece->pattern; piece++)
			if (frag_match(&next, piece->pattern, &size, &number))
				break;
		if (!piece->pattern)
			break;
		patterns_note(m, piece->said, size);
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
static size_t before(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = at < length ? SIZE_MAX : at - length;
	     i != SIZE_MAX && at - i <= BEFORE_MOST; i--)
		if (memcmp(in->text + i, words, length) == 0)
			return i;
	return SIZE_MAX;
}

static const struct piece torch_pieces[] = {
	{ "%stotalcapacity", FRAG_SAID_TOTAL },
	{ "%salreadyallocated", FRAG_SAID_ALLOCATED },
	{ "%scurrentactive", FRAG_SAID_ALL },
	{ "%sfree", FRAG_SAID_FREE },
	{ "%scached", FRAG_SAID_CACHED },
	{ "%sallowed", FRAG_SAID_ALLOWED },
	{ "%sreservedintotal", FRAG_SAID_RESERVED },
	{ "%whasatotalcapacityof%s", FRAG_SAID_TOTAL },
	{ "%whasatotalcapactyof%s", FRAG_SAID_TOTAL },
	{ "ofwhich%sisfree", FRAG_SAID_FREE },
	{ "Includingnon-PyTorchmemory,thisprocesshas%smemoryinuse", FRAG_SAID_PROCESS },
	{ "Thisprocesshas%smemoryinuse", FRAG_SAID_PROCESS },
	{ "Process%nhas%smemoryinuse", FRAG_SAID_OTHERS },
	{ "Oftheallocatedmemory%sisallocatedbyPyTorch", FRAG_SAID_ALLOCATED },
	{ "%sisallocatedbyPyTorch", FRAG_SAID_ALLOCATED },
	{ "with%sallocatedinprivatepools", FRAG_SAID_POOLS },
	{ "e.g.,%l", FRAG_SAID_ALL },
	{ "and%sisreservedbyPyTorchbutunallocated", FRAG_SAID_UNALLOCATED },
	{ "%w;", FRAG_SAID_ALL },
	{ NULL, FRAG_SAID_ALL }
};

static bool read_mps(const struct frag_stripped_text *in, size_t at, struct frag_message *m)
{
	static const struct piece pieces[] = {
		{ "MPSallocated:%s", FRAG_SAID_ALLOCATED },
		{ "otherallocations:%s", FRAG_SAID_OUTSIDE },
		{ "maxallowed:%s", FRAG_SAID_TOTAL },
		{ NULL, FRAG_SAID_ALL }
	};
	const size_t begin = before(in, at, "MPSbackendoutofmemory(");
	struct frag_cursor c;

	if (begin == SIZE_MAX)
		return false;
	c = frag_cursor_at(in, begin);
	m->wording = FRAG_WORDING_MPS;
	return frag_match(&c, "MPSbackendoutofmemory(", NULL, NULL)
	       && read_pieces(&c, pieces, m) > 0;
}

/*
 * "Tried to allocate 20.00 MiB": the following text decides the version. Alone the phrase is no
 * message, unless an error precedes it.
 */
static bool read_torch(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		       size_t *end)
{
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size;
	int pieces;

	if (!frag_match(&c, "Triedtoallocate%s", &size, NULL) || !size.there)
		return false;
	patterns_note(m, FRAG_SAID_ASKED, size);
	*end = c.at;
	if (read_mps(in, at, m))
		return true;
	pieces = read_pieces(&c, torch_pieces, m);
	*end = c.at;
	m->wording = m->said[FRAG_SAID_CACHED].there ? FRAG_WORDING_CACHED
		     : m->said[FRAG_SAID_RESERVED].there ? FRAG_WORDING_RESERVED
		     : FRAG_WORDING_SENTENCES;
	return pieces > 0 || ends_with(in, at, "outofmemory.") || ends_with(in, at, "outofmemory");
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
	const size_t begin = before(in, at, "Allocationondevice");
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
	const size_t gpu = before(in, at, "Allocator(GPU_");
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
	patterns_note(m, FRAG_SAID_ASKED, size);
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

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms) && !size.there; i++)
		frag_match(&c, forms[i], &size, NULL);
	if (!size.there)
		return false;
	if (frag_match(&c, "(%NB)", NULL, &number) && number < (UINT64_C(1) << 53))
		size = (struct frag_message_value){ .bytes = number, .there = true };
	patterns_note(m, FRAG_SAID_ASKED, size);
	m->wording = read_pieces(&c, cupy, m) ? FRAG_WORDING_CUPY : FRAG_WORDING_XLA;
	*end = c.at;
	return true;
}

/* In its pool's message the pool is the device: current and largest size, and what was tried. */
static bool read_rmm(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end)
{
	const bool pool = ends_with(in, at, "poolsizeexceeded(");
	struct frag_cursor c = frag_cursor_at(in, at);
	struct frag_message_value size;

	if ((!pool && !ends_with(in, at, "CUDAerror("))
	    || !frag_match(&c, "failedtoallocate%s)", &size, NULL) || !size.there)
		return false;
	patterns_note(m, FRAG_SAID_ASKED, size);
	m->wording = pool ? FRAG_WORDING_RMM_POOL : FRAG_WORDING_RMM;
	*end = c.at;
	frag_pass_marks(&c);
	if (frag_match(&c, "Notenoughroomtogrow,", NULL, NULL))
		frag_pass_marks(&c);
	if (pool && frag_match(&c, "current/max/trysize=%s,", &size, NULL)) {
		patterns_note(m, FRAG_SAID_RESERVED, size);
		if (frag_match(&c, "%s", &size, NULL))
			patterns_note(m, FRAG_SAID_TOTAL, size);
		*end = c.at;
	}
	return true;
}

const char *frag_wording_name(enum frag_wording wording)
{
	static const char *const names[] = {
		[FRAG_WORDING_CACHED] = "pytorch-cached",
		[FRAG_WORDING_RESERVED] = "pytorch-reserved",
		[FRAG_WORDING_SENTENCES] = "pytorch-sentences",
		[FRAG_WORDING_ASYNC] = "pytorch-async", [FRAG_WORDING_MPS] = "pytorch-mps",
		[FRAG_WORDING_BFC] = "bfc", [FRAG_WORDING_XLA] = "xla", [FRAG_WORDING_RMM] = "rmm",
		[FRAG_WORDING_RMM_POOL] = "rmm-pool", [FRAG_WORDING_CUPY] = "cupy",
	};

	return names[wording];
}

const char *frag_wording_text(enum frag_wording wording)
{
	static const char *const texts[] = {
		[FRAG_WORDING_CACHED] = "PyTorch 0.4 to 1.3",
		[FRAG_WORDING_RESERVED] = "PyTorch 1.4 to 2.0",
		[FRAG_WORDING_SENTENCES] = "PyTorch 2.1 and later",
		[FRAG_WORDING_ASYNC] = "PyTorch with backend:cudaMallocAsync",
		[FRAG_WORDING_MPS] = "PyTorch on MPS",
		[FRAG_WORDING_BFC] = "TensorFlow's or JAX's BFC allocator",
		[FRAG_WORDING_XLA] = "JAX or XLA", [FRAG_WORDING_RMM] = "RMM",
		[FRAG_WORDING_RMM_POOL] = "RMM's pool", [FRAG_WORDING_CUPY] = "CuPy",
	};

	return texts[wording];
}

const struct frag_pattern_anchor frag_cues[] = {
	{ .words = "Triedtoallocate", .rare = 0, .read = read_torch },
	{ .words = "exceedallowedmemory", .rare = 1, .read = read_async },
	{ .words = "outofmemorytryingtoallocate", .rare = 10, .read = read_bfc },
	{ .words = "Outofmemory", .rare = 0, .read = read_xla },
	{ .words = "outofmemorytoallocate", .rare = 10, .read = read_xla },
	{ .words = "Failedtoallocate", .rare = 0, .read = read_xla },
	{ .words = "failedtoallocate", .rare = 0, .read = read_rmm },
	{ .words = NULL }
};
