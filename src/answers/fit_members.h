/* fit_members.h - what documents of several commands say of a fit. */
#ifndef ANSWERS_FIT_MEMBERS_H
#define ANSWERS_FIT_MEMBERS_H

#include "base/json.h"
#include "search/fit_all.h"

/* Members `policy` and `alloc_conf`. */
void frag_document_choice(struct frag_node_ref in, const struct frag_choice *choice);

/* One policy on one device: all but the trace that it is of. map: its intervals too. */
void frag_fit_members(struct frag_node_ref in, const struct frag_fits *fits,
		      const struct frag_fitted *one, bool map);

#endif
