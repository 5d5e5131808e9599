/*
 * driver_lookup.h - the driver's own functions behind the wrappers, and the ways to them:
 * dlsym, dlvsym and cuGetProcAddress hand out the wrappers.
 */
#ifndef RECORDER_DRIVER_LOOKUP_H
#define RECORDER_DRIVER_LOOKUP_H

#include "recorder/driver_calls.h"

/*
 * What a wrapper calls; NULL: there is no driver. It is what the next library has under that
 * name, so that other preloaded libraries see the call, too.
 */
void *frag_driver_behind(enum frag_driver_call call);

/* The driver's own function, past whoever else wraps it; NULL: it has none of that name. */
void *frag_driver_symbol(const char *name);

/* cuGetProcAddress has answered *at: a wrapper takes its place where there is one. */
void frag_driver_wrap(const char *name, int version, uint64_t flags, void **at);

/* The names of the wrappers, by their number. */
extern const char *const frag_driver_call_names[FRAG_DRIVER_CALL_COUNT];

#endif
