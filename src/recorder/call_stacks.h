/* call_stacks.h - the stacks of requests, each once, known by a number. */
#ifndef RECORDER_CALL_STACKS_H
#define RECORDER_CALL_STACKS_H

#include <stddef.h>
#include <stdint.h>

/* The stack of this call from its caller on, which has that return address; 0: out of memory. */
uint64_t frag_stack_here(uint64_t caller);

/* Its functions, the innermost first, with " < " between them. */
void frag_stack_name(uint64_t stack, char *buf, size_t room);

/* In a forked child: the table is unlocked. */
void frag_stacks_in_child(void);

#endif
