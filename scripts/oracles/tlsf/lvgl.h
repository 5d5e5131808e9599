/* lvgl.h - what lv_tlsf.c wants of LVGL's headers, which its archive on PyPI leaves out. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void *lv_tlsf_t;
typedef void *lv_pool_t;
typedef void (*lv_tlsf_walker)(void *ptr, size_t size, int used, void *user);

#define LV_USE_BUILTIN_MALLOC 1
#define LV_MEM_SIZE ((size_t)1 << 32)   /* as many classes as its author's own source has */
#define LV_MEM_POOL_EXPAND_SIZE 0
#define LV_ASSERT assert
#define LV_UNUSED(x) ((void)(x))
#define LV_LOG_ERROR(...) fprintf(stderr, __VA_ARGS__)
#define lv_memcpy memcpy

lv_tlsf_t lv_tlsf_create(void *mem);
lv_pool_t lv_tlsf_add_pool(lv_tlsf_t tlsf, void *mem, size_t bytes);
void lv_tlsf_remove_pool(lv_tlsf_t tlsf, lv_pool_t pool);
size_t lv_tlsf_size(void);
void *lv_tlsf_malloc(lv_tlsf_t tlsf, size_t size);
size_t lv_tlsf_free(lv_tlsf_t tlsf, const void *ptr);
