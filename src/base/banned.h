/*
 * banned.h - calls that fragsim does not make, machines that it is not made for.
 * The Makefile includes it before every file of src/, so that none can forget it.
 *
 * Macros rather than a poison pragma: a field named time, in zlib.h for one, is
 * no call.
 */
#pragma once

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Sizes, addresses and counts of bytes are 64 bits; text is read by words. A size_t of wasm32 has 32. */
#if (__SIZEOF_POINTER__ != 8 && !defined(__wasi__)) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fragsim is made for 64-bit little-endian machines (amd64, arm64, riscv64 and the like) and for wasm32"
#endif

#define BANNED(name) fragsim_does_not_call_##name

#undef strcpy
#define strcpy(...) BANNED(strcpy)
#undef strcat
#define strcat(...) BANNED(strcat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef strtok
#define strtok(...) BANNED(strtok)
#undef atoi
#define atoi(...) BANNED(atoi)
#undef atol
#define atol(...) BANNED(atol)
#undef vsnprintf
#define vsnprintf(...) BANNED(vsnprintf)        /* frag_vsnprintf() ignores the locale */
#undef strtod
#define strtod(...) BANNED(strtod)      /* frag_strtod() ignores the locale */
#undef strtof
#define strtof(...) BANNED(strtof)
#undef atof
#define atof(...) BANNED(atof)
#undef setlocale
#define setlocale(...) BANNED(setlocale)
#undef rand
#define rand() BANNED(rand)
#undef srand
#define srand(...) BANNED(srand)
#undef time
#define time(...) BANNED(time)
