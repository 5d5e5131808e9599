/* evidence.h - what the rules of a policy were compared with, and what they assume. */
#ifndef POLICY_EVIDENCE_H
#define POLICY_EVIDENCE_H

#include "fragsim/policy.h"

#define FRAG_EVIDENCE_ROOM 300

/*
 * In buf, which is returned: "PyTorch 2.8: exact on the released binary". order: what is known of
 * the order that decides between equal blocks; NULL: nothing.
 */
const char *frag_evidence_text(const struct frag_choice *choice, const char *order,
			       char buf[FRAG_EVIDENCE_ROOM]);

/* What decides between equal blocks, where it is in no trace; NULL: nothing does. */
const char *frag_unknown_order(const struct frag_choice *choice);

#endif
