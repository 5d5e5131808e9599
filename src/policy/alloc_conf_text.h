/* alloc_conf_text.h - settings as one pastes them, or as keys. */
#ifndef POLICY_ALLOC_CONF_TEXT_H
#define POLICY_ALLOC_CONF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "fragsim/policy.h"

#define FRAG_CONF_ROOM 4096

/* The parameters as a string that the policy's own `settings` reads; "" where they are plain. */
void frag_conf_text(const struct frag_choice *choice, char *buf, size_t size);

/* NAME:key=value,... of those that are not plain. False where it does not fit. */
bool frag_choice_keys(const struct frag_choice *choice, char *buf, size_t size);

#endif
