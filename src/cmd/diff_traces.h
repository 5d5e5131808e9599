/* diff_traces.h - fragsim diff OLD NEW of two recordings, or of two folders of ranks. */
#pragma once

#include "cmd/frame.h"
#include "ranks/rank_folder.h"
#include "search/trace_change.h"

/* The question of such a comparison. */
struct frag_changes {
	struct frag_question q; /* at most one policy; its traces are the two that are shown */
	struct frag_rank_folder old, now;
	struct frag_change_pair *pairs;         /* of their files */
	const char **alone;             /* files of one folder only: OLD's first, then NEW's */
	uint32_t only_old, only_new;
	bool missing, new_traces;       /* such files and devices break no condition */
	struct frag_change_found found;
};
extern const struct frag_question_ops frag_changes_ops;

/* What its conditions may be about; ended by NULL. */
extern const char *const frag_change_paths[];
