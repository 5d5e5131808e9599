/* repeated_marks.h - marks that repeat, except their numbers; and which blocks outlast them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns a mark's name with each number replaced by #, owned by the caller; NULL on out of
 * memory.
 */
char *frag_mark_kind(const char *name, size_t length);

/* A mark: where it is, in whatever the caller counts, and its kind, hashed. */
struct frag_lasting_mark {
	uint64_t at, kind;
};

/* The marks so far, in their order; after frag_lasting_find() those that begin an iteration. */
struct frag_lasting_marks {
	struct frag_lasting_mark *mark;
	uint32_t count, capacity;
};

/* A mark of this name; false: out of memory. */
bool frag_lasting_note(struct frag_lasting_marks *marks, uint64_t at, const char *name,
			  size_t length);

/*
 * Leaves the marks of the kind whose repeating one comes first; none where none repeats. False:
 * out of memory. The caller frees marks->mark.
 */
bool frag_lasting_find(struct frag_lasting_marks *marks);

/* Iterations that have begun before this place, or at it. */
uint32_t frag_lasting_begun(const struct frag_lasting_marks *marks, uint64_t at);

/*
 * Is a block long-lived that is allocated after the beginning of `before` iterations, and freed
 * after the beginnings of `outlived` more? never: it is not freed.
 */
static inline bool frag_outlasts(uint32_t before, uint32_t outlived, bool never)
{
	return outlived >= 2 || (never && (outlived || !before));
}

/* The same in a trace of `steps` steps in which no mark repeats. */
static inline bool frag_outlasts_part(uint64_t birth, uint64_t end, uint64_t steps, bool never)
{
	return end - birth >= steps / 2 || (never && birth < steps / 10);
}
