/*
 * functions.h - the address of a function is a void pointer.
 *
 * POSIX has it so for dlsym; C does not, and compilers say it with -Wpedantic.
 */
#ifndef PRELOAD_FUNCTIONS_H
#define PRELOAD_FUNCTIONS_H

#pragma GCC diagnostic ignored "-Wpedantic"

#endif
