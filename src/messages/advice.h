/*
 * advice.h - what to do about a message, where that is valid.
 *
 * One table serves the short answer, the long one and JSON: a row names the verdicts,
 * programs, accelerators, systems, frameworks and phases for which it is true.
 */
#pragma once

#include "messages/message_log.h"

#define FRAG_ADVICE_ROOM 400

struct frag_advice {
	char text[FRAG_ADVICE_ROOM];
	char set[160];                  /* a line to copy; "": none */
};

/* The i-th piece of advice, the most important first; false behind the last. */
bool frag_advice_at(const struct frag_message_group *group, uint32_t i, struct frag_advice *advice);
