/*
 * banned.h - calls that fragsim does not make. The Makefile includes it before
 * every file of src/, so that none can forget it.
 *
 * Macros rather than a poison pragma: a field named time, in zlib.h for one, is
 * no call.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
#undef rand
#define rand() BANNED(rand)
#undef srand
#define srand(...) BANNED(srand)
#undef time
#define time(...) BANNED(time)

#endif
