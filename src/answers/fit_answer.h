/* fit_answer.h - texts and members of a fit that answers of other commands have too. */
#ifndef ANSWERS_FIT_ANSWER_H
#define ANSWERS_FIT_ANSWER_H

#include "base/json.h"
#include "search/fit_all.h"

#define FRAG_FIT_NAME_ROOM 600
/* The allocator settings, or the policy; "... @1" where there are several devices. */
const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM]);

/* Members `policy` and `alloc_conf`. */
void frag_document_choice(struct frag_node_ref in, const struct frag_choice *choice);

/* Members of one policy on one device, except `trace`. map: its intervals too. */
void frag_fit_members(struct frag_node_ref in, const struct frag_fits *fits,
		      const struct frag_fitted *one, bool map);

#endif
