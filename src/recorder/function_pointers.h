/*
 * function_pointers.h - the address of a function is a void pointer.
 *
 * POSIX has it so for dlsym; C does not, and compilers say it with -Wpedantic.
 */
#ifndef RECORDER_FUNCTION_POINTERS_H
#define RECORDER_FUNCTION_POINTERS_H

#pragma GCC diagnostic ignored "-Wpedantic"

#endif
