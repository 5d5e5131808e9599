/* inline.h - functions that the compiler must inline, whatever it estimates. */
#pragma once

/*
 * For functions that each event calls, whose callers differ in constant arguments or in the order
 * of an index, and for hints: GCC omits a call of a function that does nothing else.
 */
#define FRAG_INLINE static inline __attribute__((always_inline))
