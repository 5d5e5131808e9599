/*
 * trace_change.h - why one recording reserves more than another.
 *
 * R(t, v, s) is the peak of reserved on an unlimited device of trace t under PyTorch's version v
 * and settings s; Q and A are the peaks of requested and of active bytes of the same run. With OLD
 * (t0, v0, s0) and NEW (t1, v1, s1) the parts are, in this order:
 *
 *   version        R(t0,v1,s0') - R(t0,v0,s0)     s0': the keys of s0 that v1 knows
 *   settings       R(t0,v1,s1) - R(t0,v1,s0')
 *   requested      Q(t1,v1,s1) - Q(t0,v1,s1)
 *   rounding       [A - Q](t1,v1,s1) - [A - Q](t0,v1,s1)
 *   fragmentation  [R - A](t1,v1,s1) - [R - A](t0,v1,s1)
 *
 * Each difference begins where the one before it ends, so they add up to the whole to the byte.
 */
#pragma once

#include "base/job.h"
#include "fragsim/engine.h"

/* One of the two recordings. Borrowed, except what frag_change_find() fills in. */
struct frag_change_side {
	const struct frag_trace_info *trace;
	const struct frag_tape *tape;
	const struct frag_choice *choice;               /* as it was recorded, or given */
	const struct frag_device_figures *devices;      /* of its trace; without a capacity */
	struct frag_sim *sim;                           /* its run; owned */
	const struct frag_result *run;                  /* on the device that is compared */
	uint64_t peak_step;             /* the first with the peak of live requested bytes */
};

/* Peaks of a run, in bytes. */
struct frag_change_peaks {
	uint64_t reserved, requested, active;
	bool fits;                      /* no limit of the policy's own ended the run */
};

enum frag_change_part {
	FRAG_PART_VERSION, FRAG_PART_SETTINGS, FRAG_PART_REQUESTED, FRAG_PART_ROUNDING,
	FRAG_PART_FRAGMENTATION, FRAG_PARTS
};
extern const char *const frag_change_part_names[FRAG_PARTS];

/* The requests of a tag in one recording, in bytes as requested. */
struct frag_change_sum {
	uint64_t at_peak;               /* live bytes at the side's peak_step */
	uint64_t requests, bytes;       /* of the whole recording */
	uint64_t live, highest;         /* live bytes at its end, and their peak */
};

/* A tag, or all tags of a function whose line numbers changed. */
struct frag_change_row {
	char *tag;                      /* owned; without lines for several tags; NULL: none */
	struct frag_change_sum old, now;
};

/*
 * Requests of the same size and tag, ignoring numbers in the tag, in the same order in both
 * recordings. Where marks repeat in both, iterations are aligned individually. A gap ends at the
 * nearest place from which eight requests in a row are the same again (Myers 1986, greedy);
 * where none is found within 512 insertions and deletions, the iteration has no counterpart from
 * there on and `whole` is false.
 */
struct frag_alignment {
	uint64_t same, only_old, only_new;      /* requests */
	uint32_t old_iterations, new_iterations;
	bool whole;
};

/* A request of each side. */
struct frag_change_request {
	uint64_t step, bytes;           /* bytes UINT64_MAX: the trace has ended at that step */
	char *tag;                      /* owned; NULL: none */
};

/* A pair of recordings, of many that were compared. Borrowed. */
struct frag_change_pair {
	uint64_t rank;
	const char *old, *now;          /* paths */
	int64_t reserved;               /* the whole change, in bytes */
	int64_t highest[FRAG_PARTS + 1];        /* the next are as frag_change_found has them */
	uint32_t alone;
	bool ended;
	bool old_part, now_part;        /* the recordings are parts of their programs */
};

struct frag_change_found {
	struct frag_change_side old, now;
	struct frag_log log;            /* of settings that NEW's version does not know */
	/* OLD under NEW's version, and under its settings too; NULL: its own run is the same */
	const struct frag_choice *as_version, *as_both;
	struct frag_choice crossed[2];  /* these two */
	uint32_t device;                /* ordinal: of those of both, the one that changes most */
	int64_t reserved;               /* the whole change, in bytes */
	int64_t parts[FRAG_PARTS];
	int64_t highest[FRAG_PARTS + 1];        /* the whole and each part, over the devices of both */
	uint32_t alone;                 /* devices of one side only */
	bool ended;                     /* a run did not complete, so that its peaks are not known */
	/* one a tag with live bytes at a peak, the largest change first */
	struct frag_change_row *tags;
	uint32_t tag_count;
	/* the same, with one row for all tags of a function whose line numbers changed */
	struct frag_change_row *rows;
	uint32_t row_count;
	struct frag_alignment alignment;
	bool differs;                   /* the sequences of requests do; else the next are unset */
	struct frag_change_request old_first, now_first;
	bool undone;                    /* these settings bring NEW to what OLD reserves */
	struct frag_choice undo;
	uint64_t undo_reserved;
	/*
	 * all pairs that were compared; this one has the largest increase of reserved bytes.
	 * None if there is only one
	 */
	const struct frag_change_pair *pairs;
	uint32_t pair_count;
	struct frag_job job;
};

/*
 * The sides are given. -FRAG_ENOMEM, -FRAG_EINTERRUPTED, or why a policy
 * cannot be simulated. Released with fini, also where this fails.
 */
int frag_change_find(struct frag_change_found *change, struct frag_error *err);
void frag_change_fini(struct frag_change_found *change);

/* Live bytes of NEW's peak minus those of OLD's. */
static inline int64_t frag_change_of(const struct frag_change_row *row)
{
	return (int64_t)row->now.at_peak - (int64_t)row->old.at_peak;
}
