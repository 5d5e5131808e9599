/* version.h - the version of fragsim, as one string, and that of its library. */
#pragma once

#define FRAG_VERSION "0.1.0"

/* Of the library's interface: another number wherever a program must be compiled again. */
#define FRAG_ABI 1
