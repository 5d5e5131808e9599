/* bug.h - a stop for what no input can cause. */
#pragma once

/* Prints the place and the message on standard error, then aborts. */
_Noreturn void frag_bug(const char *file, int line, const char *what);

#define FRAG_BUG(what) frag_bug(__FILE__, __LINE__, what)

/* A precondition that the caller must keep. NDEBUG compiles the condition, but never runs it. */
#ifdef NDEBUG
#define FRAG_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#else
#define FRAG_ASSERT(condition) ((condition) ? (void)0 : frag_bug(__FILE__, __LINE__, #condition))
#endif
