/*
 * plugin.h - a policy in a separate shared object: --policy ./NAME.so.
 *
 * The source of a plug-in looks like any file of src/policy: it fills one const struct
 * frag_policy_ops and calls frag_heap_take() and the others by their names. One of its files
 * includes this header and ends in
 *
 *     FRAG_PLUGIN(frag_policy_mine);
 *
 * which exports the table, and defines those names as calls through pointers that
 * the program sets when it loads the plug-in. So a plug-in is linked with no copy
 * of the library, and the heap that it acts on is the program's own:
 *
 *     cc -std=c11 -O2 -fPIC -shared -o mine.so mine.c $(pkg-config --cflags fragsim)
 *
 * The heap checks what a plug-in asks of it. It cannot check what else native
 * code does: a plug-in that writes where it should not can crash the program.
 */
#pragma once

#include <stdarg.h>

#include "fragsim/policy.h"

/* The number changes whenever plug-ins must be compiled again. */
#define FRAG_PLUGIN_VERSION 6
#define FRAG_PLUGIN_MAGIC "fragsim plug-in"     /* 16 bytes with its NUL */

/*
 * What a plug-in can call: X(type, name, parameters, arguments) is frag_NAME, V
 * the same for those that return nothing. heap.h and policy.h say what they do.
 */
#define FRAG_HOST_CALLS(X, V)                                                               \
	X(const struct frag_totals *, heap_totals, (const struct frag_heap *h), (h))        \
	X(const struct frag_call *, heap_calls,                                             \
	  (const struct frag_heap *h, uint32_t *count), (h, count))                         \
	X(uint64_t, heap_largest, (const struct frag_heap *h), (h))                         \
	X(uint64_t, heap_capacity, (const struct frag_heap *h), (h))                        \
	X(bool, heap_capacity_reaches, (struct frag_heap *h, uint64_t bytes), (h, bytes))   \
	V(heap_pin_capacity, (struct frag_heap *h), (h))                                    \
	V(heap_capacity_range,                                                                 \
	  (const struct frag_heap *h, uint64_t *min_capacity, uint64_t *end_capacity),      \
	  (h, min_capacity, end_capacity))                                                  \
	X(uint64_t, heap_granularity, (const struct frag_heap *h), (h))                     \
	X(uint64_t, heap_round, (const struct frag_heap *h, uint64_t bytes), (h, bytes))    \
	X(struct frag_block_view, heap_look, (const struct frag_heap *h, frag_block b),     \
	  (h, b))                                                                           \
	X(struct frag_segment_view, heap_look_segment,                                      \
	  (const struct frag_heap *h, frag_segment s), (h, s))                              \
	X(struct frag_list_view, heap_look_list,                                            \
	  (const struct frag_heap *h, frag_list list), (h, list))                           \
	X(uint64_t, heap_page, (const struct frag_heap *h, frag_block b), (h, b))           \
	X(int, heap_list,                                                                   \
	  (struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out),             \
	  (h, pool, which, out))                                                            \
	X(frag_list, heap_find_list,                                                        \
	  (const struct frag_heap *h, uint32_t pool, uint32_t which), (h, pool, which))     \
	X(frag_list, heap_list_of, (const struct frag_heap *h, frag_block b), (h, b))       \
	X(uint64_t, heap_key, (const struct frag_heap *h, frag_block b), (h, b))            \
	X(frag_block, heap_find,                                                            \
	  (const struct frag_heap *h, frag_list list, uint64_t bytes), (h, list, bytes))    \
	X(frag_block, heap_find_from,                                                       \
	  (const struct frag_heap *h, frag_list list, uint64_t bytes, uint32_t ordinal,     \
	   uint64_t offset), (h, list, bytes, ordinal, offset))                             \
	X(frag_block, heap_find_last,                                                       \
	  (const struct frag_heap *h, frag_list list, uint64_t bytes), (h, list, bytes))    \
	X(frag_block, heap_find_key,                                                        \
	  (const struct frag_heap *h, frag_list list, uint64_t bytes, uint64_t key),        \
	  (h, list, bytes, key))                                                            \
	X(frag_block, heap_find_largest,                                                    \
	  (const struct frag_heap *h, frag_list list), (h, list))                           \
	X(frag_block, heap_after, (const struct frag_heap *h, frag_block b), (h, b))        \
	X(frag_block, heap_before, (const struct frag_heap *h, frag_block b), (h, b))       \
	X(frag_block, heap_find_smaller,                                                    \
	  (const struct frag_heap *h, frag_list list, uint64_t bytes), (h, list, bytes))    \
	X(frag_block, heap_find_unmapped,                                                   \
	  (const struct frag_heap *h, frag_list list, frag_block b), (h, list, b))          \
	X(frag_segment, heap_find_idle, (const struct frag_heap *h, uint32_t i), (h, i))    \
	X(frag_block, heap_find_pending, (const struct frag_heap *h), (h))                  \
	X(frag_block, heap_find_ready, (const struct frag_heap *h), (h))                    \
	X(int, heap_grow,                                                                   \
	  (struct frag_heap *h, frag_list list, uint64_t bytes, frag_block *out),           \
	  (h, list, bytes, out))                                                            \
	X(int, heap_keep, (struct frag_heap *h, frag_block whole), (h, whole))              \
	X(int, heap_release, (struct frag_heap *h, frag_block whole), (h, whole))           \
	X(int, heap_release_idle, (struct frag_heap *h), (h))                               \
	X(int, heap_release_unused,                                                         \
	  (struct frag_heap *h, frag_rank_fn *rank, void *ctx), (h, rank, ctx))             \
	X(int, heap_take,                                                                   \
	  (struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep),          \
	  (h, b, requested, keep))                                                          \
	X(int, heap_take_upper,                                                             \
	  (struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep),          \
	  (h, b, requested, keep))                                                          \
	X(int, heap_ready, (struct frag_heap *h, frag_block b), (h, b))                     \
	X(int, heap_give, (struct frag_heap *h, frag_block b, frag_block *out),             \
	  (h, b, out))                                                                      \
	X(int, heap_detach_free, (struct frag_heap *h, frag_block b), (h, b))               \
	X(int, heap_detach_live, (struct frag_heap *h, frag_block b), (h, b))               \
	X(int, heap_split, (struct frag_heap *h, frag_block b, uint64_t keep),              \
	  (h, b, keep))                                                                     \
	X(int, heap_merge,                                                                  \
	  (struct frag_heap *h, frag_block *b, frag_block neighbour), (h, b, neighbour))    \
	X(int, heap_assign, (struct frag_heap *h, frag_block b, uint64_t requested),        \
	  (h, b, requested))                                                                \
	X(int, heap_insert, (struct frag_heap *h, frag_block b), (h, b))                    \
	X(int, heap_carve,                                                                  \
	  (struct frag_heap *h, frag_block whole, uint64_t slot_size, frag_list list,       \
	   frag_block *out), (h, whole, slot_size, list, out))                              \
	X(int, heap_uncarve, (struct frag_heap *h, frag_segment s, frag_list list),         \
	  (h, s, list))                                                                     \
	X(int, heap_reserve,                                                                \
	  (struct frag_heap *h, frag_list list, uint64_t bytes, uint64_t page,              \
	   frag_block *out), (h, list, bytes, page, out))                                   \
	X(int, heap_map,                                                                    \
	  (struct frag_heap *h, frag_block unmapped, uint64_t offset, uint64_t bytes,       \
	   frag_block *out), (h, unmapped, offset, bytes, out))                             \
	X(int, heap_unmap,                                                                  \
	  (struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes,              \
	   frag_block *out), (h, b, offset, bytes, out))                                    \
	V(heap_count_retry, (struct frag_heap *h), (h))                                     \
	V(heap_note_tried, (struct frag_heap *h, uint64_t bytes), (h, bytes))                    \
	V(heap_limit, (struct frag_heap *h, double fraction), (h, fraction))                \
	V(heap_set_list_user, (struct frag_heap *h, frag_list list, uint64_t user),         \
	  (h, list, user))                                                                  \
	V(heap_pool_done, (struct frag_heap *h, uint32_t pool), (h, pool))                  \
	V(heap_set_user, (struct frag_heap *h, frag_block b, uint32_t user), (h, b, user))  \
	V(heap_set_segment_user, (struct frag_heap *h, frag_segment s, uint32_t user),      \
	  (h, s, user))                                                                     \
	X(int, policy_obtain,                                                               \
	  (struct frag_policy *p, frag_list list, uint64_t bytes, bool again,               \
	   frag_block *out), (p, list, bytes, again, out))                                  \
	X(int, policy_begin_with, (struct frag_policy *p, uint64_t bytes), (p, bytes))       \
	X(int, fail_nomem, (struct frag_error *err), (err))                                 \
	X(int, vfail,                                                                       \
	  (struct frag_error *err, enum frag_error_code code, const char *format,           \
	   va_list args), (err, code, format, args))

/* The calls above as pointers into the program. */
struct frag_host_ops {
#define X(type, name, params, args) type (*name) params;
#define V(name, params, args) void (*name) params;
	FRAG_HOST_CALLS(X, V)
#undef X
#undef V
};

/* What both sides must see alike; also found to differ where a version was not raised. */
#define FRAG_PLUGIN_SIZES                                                                   \
	sizeof(struct frag_host_ops), sizeof(struct frag_policy_ops),                       \
	sizeof(struct frag_policy), sizeof(struct frag_param_spec),                         \
	sizeof(struct frag_request), sizeof(struct frag_notice),                            \
	sizeof(struct frag_block_view), sizeof(struct frag_segment_view),                   \
	sizeof(struct frag_list_view), sizeof(struct frag_totals),                          \
	sizeof(struct frag_call), sizeof(struct frag_memory_stats),                         \
	sizeof(struct frag_file), sizeof(struct frag_sought), sizeof(struct frag_error)
#define FRAG_PLUGIN_SIZE_COUNT 15

/* The exported symbol, frag_plugin. The first two fields never change. */
struct frag_plugin {
	char magic[16];
	uint32_t version;
	uint32_t sizes[FRAG_PLUGIN_SIZE_COUNT];
	const struct frag_policy_ops *ops;
	const struct frag_host_ops **host;      /* set by the program, before any call */
};

#define FRAG_PLUGIN_HIDDEN __attribute__((visibility("hidden")))
#define FRAG_PLUGIN_X(type, name, params, args)                                             \
	FRAG_PLUGIN_HIDDEN type frag_##name params { return frag_host->name args; }
#define FRAG_PLUGIN_V(name, params, args)                                                   \
	FRAG_PLUGIN_HIDDEN void frag_##name params { frag_host->name args; }

/* The end of a plug-in's file: its calls go through frag_host, which the program sets. */
#define FRAG_PLUGIN(table)                                                                  \
	static const struct frag_host_ops *frag_host;                                       \
	FRAG_HOST_CALLS(FRAG_PLUGIN_X, FRAG_PLUGIN_V)                                       \
	FRAG_PLUGIN_HIDDEN int frag_fail(struct frag_error *err, enum frag_error_code code, \
					 const char *format, ...)                           \
	{                                                                                   \
		va_list args;                                                               \
		int rc;                                                                     \
											    \
		va_start(args, format);                                                     \
		rc = frag_host->vfail(err, code, format, args);                             \
		va_end(args);                                                               \
		return rc;                                                                  \
	}                                                                                   \
	extern const struct frag_plugin frag_plugin;                                        \
	__attribute__((visibility("default"))) const struct frag_plugin frag_plugin = {     \
		FRAG_PLUGIN_MAGIC, FRAG_PLUGIN_VERSION, { FRAG_PLUGIN_SIZES },              \
		&(table), &frag_host,                                                       \
	}
