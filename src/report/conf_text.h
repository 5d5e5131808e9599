/* conf_text.h - settings as one pastes them. */
#ifndef REPORT_CONF_TEXT_H
#define REPORT_CONF_TEXT_H

#include <stddef.h>

#include "fragsim/policy.h"

#define FRAG_CONF_ROOM 4096

/* The parameters as a string that the policy's own `settings` reads; "" where they are plain. */
void frag_conf_text(const struct frag_choice *choice, char *buf, size_t size);

#endif
