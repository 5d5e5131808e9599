/* evidence.h - what the rules of a policy were compared with, and what they assume. */
#ifndef POLICY_EVIDENCE_H
#define POLICY_EVIDENCE_H

#include "fragsim/policy.h"

#define FRAG_EVIDENCE_ROOM 300

/*
 * In buf, which is returned: "PyTorch 2.8: exact on the released binary". order: what is known of
 * the addresses of new segments, where they decide; NULL: nothing.
 */
const char *frag_evidence_text(const struct frag_choice *choice, const char *order,
			       char buf[FRAG_EVIDENCE_ROOM]);

/* Do addresses of segments decide between equal blocks? */
bool frag_addresses_decide(const struct frag_choice *choice);

#endif
