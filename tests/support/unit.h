/* unit.h - cmocka with what it needs before it, and lengths of tables. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

/* How often to repeat: `few` by default, `many` with HEAVY=1. */
static inline uint32_t repeats(uint32_t few, uint32_t many)
{
	const char *heavy = getenv("HEAVY");

	return heavy && *heavy ? many : few;
}
