/*
 * speakers.h - which program a message is of, and what its numbers mean.
 *
 * The same words occur in the messages of several programs: the words of forms.c that only one has
 * decide, and this table has their meaning, without arithmetic.
 */
#pragma once

#include "messages/message.h"

/* As JSON has them. */
#define FRAG_ACCELERATORS(ONE) \
	ONE(CUDA, "cuda") ONE(HIP, "hip") ONE(XPU, "xpu") ONE(NPU, "npu") ONE(MPS, "mps") \
	ONE(TPU, "tpu") ONE(NEURON, "neuron") ONE(CPU, "cpu")

enum frag_on {
#define ONE(which, name) FRAG_ON_##which,
	FRAG_ACCELERATORS(ONE)
#undef ONE
	FRAG_ON_UNKNOWN
};

struct frag_speaker {
	const char *name;               /* as JSON has it */
	const char *text;               /* for people */
	enum frag_on on;                /* unless the message names another accelerator */
	bool decided;                   /* the verdict does not depend on values */
	enum frag_shortage shortage;
	const char *means;              /* what its words mean; NULL: what its values say */
};

/* By enum frag_wording. */
extern const struct frag_speaker frag_speakers[];

/* Of the words that a member can have, ended by NULL. */
extern const char *const frag_speaker_names[], *const frag_accelerator_names[];

enum frag_on frag_message_on(const struct frag_message *m);
