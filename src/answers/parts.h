/*
 * parts.h - what answers are made of: text, tables, members; and the texts and members of a fit
 * that those of other commands have too. It includes what nearly every answer needs.
 */
#ifndef ANSWERS_PARTS_H
#define ANSWERS_PARTS_H

#include <inttypes.h>
#include <string.h>

#include "answers/answers.h"
#include "base/format.h"
#include "base/atomic_file.h"
#include "documents/document_head.h"
#include "policy/choice.h"
#include "search/fit_all.h"

#define FRAG_FIT_NAME_ROOM 600
/* The allocator settings, or the policy; "... @1" where there are several devices. */
const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM]);
#define FIT_NAME(fits, one) frag_fit_name((fits), (one), (char[FRAG_FIT_NAME_ROOM]){ 0 })

/* Members `policy` and `alloc_conf`. */
void frag_document_choice(struct frag_node_ref in, const struct frag_choice *choice);

/* Members of one policy on one device, except `trace`. map: its intervals too. */
void frag_fit_members(struct frag_node_ref in, const struct frag_fits *fits,
		      const struct frag_fitted *one, bool map);

/* Members of its run without a limit. */
extern const struct frag_json_row frag_unlimited_rows[];

/* What is requested at once of a source: at its peak, on the device where that is the highest. */
uint64_t frag_fits_requested(const struct frag_fits *fits, uint32_t source);

#endif
