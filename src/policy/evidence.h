/* evidence.h - what the rules of a policy were compared with, and what they assume. */
#pragma once

#include "fragsim/policy.h"

#define FRAG_EVIDENCE_ROOM 400

/* Did a snapshot's log decide otherwise than the rules, as where settings changed in mid-run? */
bool frag_evidence_differs(const struct frag_choice *choice);

/*
 * In buf, which is returned: "PyTorch 2.8: exact on the released binary". order: what is known of
 * the order that decides between equal blocks; NULL: nothing.
 */
const char *frag_evidence_text(const struct frag_choice *choice, const char *order,
			       char buf[FRAG_EVIDENCE_ROOM]);

/* The words of a device, for advice. */
struct frag_device_words {
	const char *variable;   /* of the environment, for allocator settings */
	const char *module;     /* with empty_cache() */
};

const struct frag_device_words *frag_device_words(enum frag_accelerator device);

/* Does the allocator of the choice's device have all of these settings, and together? */
bool frag_device_has_settings(const struct frag_choice *choice, const char *conf);

/*
 * The N of 2.N, the oldest release that a program may run under: as recorded or given, else that of
 * settings which all programs are taken to have.
 */
uint32_t frag_oldest_release(const struct frag_choice *choice);

/* What decides between equal blocks, where it is in no trace; NULL: nothing does. */
const char *frag_unknown_order(const struct frag_choice *choice);
