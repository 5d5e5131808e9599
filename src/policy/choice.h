/*
 * choice.h - the settings of a choice as text, and what configure events of a trace make of them.
 *
 * A settings string that a policy cannot read is bad input, and found where the
 * trace is read: there its place is known. Whether it can be read depends on the
 * settings before it, so they are kept here as each policy keeps its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fragsim/policy.h"

struct frag_configured {
	struct frag_choice *choice;     /* copies, of those that read settings */
	uint32_t count;
};

/* As each of the choices has it before the first event. False: out of memory. */
bool frag_configured_init(struct frag_configured *c, const struct frag_choice *choices,
			  uint32_t count);
void frag_configured_fini(struct frag_configured *c);

/*
 * The next configure of the trace; `configured` is as in frag_trace_options.
 * -FRAG_EUSAGE where one of the policies does not take it, and then nothing has changed.
 */
int frag_configured_next(void *configured, const char *text, size_t length,
			 struct frag_error *err);

/* Buffer size of allocator settings, as in PYTORCH_CUDA_ALLOC_CONF or as keys. */
#define FRAG_CONF_ROOM 4096

/* The parameters as a string that the policy's own `settings` reads; "" where they are plain. */
char *frag_conf_text(const struct frag_choice *choice, char *buf, size_t size);
/* Valid until the end of the enclosing block. */
#define CONF(choice) frag_conf_text((choice), (char[FRAG_CONF_ROOM]){ 0 }, FRAG_CONF_ROOM)

/* NAME:key=value,... of those that are not plain. False where it does not fit. */
bool frag_choice_keys(const struct frag_choice *choice, char *buf, size_t size);

/* pytorch as of 2.minor; 0: the newest. */
int frag_choose_version(struct frag_choice *choice, uint32_t minor, struct frag_error *err);

/* Settings are spelt out as keys, so that the policy's text says all of it. -FRAG_EUSAGE */
int frag_choice_expand_settings(struct frag_choice *choice, struct frag_error *err);
