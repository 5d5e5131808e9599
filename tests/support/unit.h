/* unit.h - cmocka with what it needs before it, and lengths of tables. */
#ifndef SUPPORT_UNIT_H
#define SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

#endif
