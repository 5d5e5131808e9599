/* json_rows.c - the members of a JSON object as rows of a table: written and read. */
#include "documents/json_rows.h"

#include "base/bug.h"

static bool is_end(const struct frag_json_row *row)
{
	return !row->name && !row->call;
}

static uint64_t number_at(const struct frag_json_row *row, const char *at)
{
	return row->kind == FRAG_ROW_U32 ? *(const uint32_t *)(const void *)at
					 : *(const uint64_t *)(const void *)at;
}

/* Writes the member that a row describes; `of` is the structure that has its value. */
static void put_row(struct frag_node_ref in, const struct frag_json_row *row, const char *of)
{
	const char *at = of + row->at;

	if (row->there && !*(const bool *)(of + row->there - 1)) {
		frag_json_null(in, row->name);
		return;
	}
	switch (row->kind) {
	case FRAG_ROW_U64:
	case FRAG_ROW_SUM:
	case FRAG_ROW_U32:
		frag_json_u64_or_null(in, row->name,
				      !row->or_null || number_at(row, at) != row->none,
				      number_at(row, at));
		break;
	case FRAG_ROW_I64:
		frag_json_i64(in, row->name, *(const int64_t *)(const void *)at);
		break;
	case FRAG_ROW_BOOL:
		frag_json_bool(in, row->name, *(const bool *)at);
		break;
	case FRAG_ROW_FIXED4:
		frag_json_fixed4(in, row->name, *(const double *)(const void *)at);
		break;
	case FRAG_ROW_TEXT:
		frag_json_text(in, row->name, *(const char *const *)(const void *)at);
		break;
	case FRAG_ROW_JSON:
		frag_json_raw(in, row->name, *(const char *const *)(const void *)at);
		break;
	case FRAG_ROW_OBJECT:
		frag_json_of(in, row->name, row->rows, at);
		break;
	case FRAG_ROW_LIST:
		frag_json_list(in, row->name, row->rows, *(const void *const *)(const void *)at,
			       *(const uint32_t *)(const void *)(of + row->count), row->size);
		break;
	case FRAG_ROW_CALL:
		row->call(in, of);
		break;
	}
}

void frag_json_rows(struct frag_node_ref in, const struct frag_json_row *rows, const void *of)
{
	for (; !is_end(rows); rows++)
		put_row(in, rows, of);
}

struct frag_node_ref frag_json_of(struct frag_node_ref in, const char *key,
				  const struct frag_json_row *rows, const void *of)
{
	struct frag_node_ref o = frag_json_object_or_null(in, key, of != NULL);

	if (o.node)
		frag_json_rows(o, rows, of);
	return o;
}

struct frag_node_ref frag_json_list(struct frag_node_ref in, const char *key,
				    const struct frag_json_row *rows, const void *list,
				    uint32_t count, size_t size)
{
	struct frag_node_ref array = frag_json_array(in, key);
	const uint32_t shown = frag_json_shown(in, key, count);

	for (uint32_t i = 0; i < shown; i++)
		frag_json_of(array, NULL, rows, (const char *)list + i * size);
	return array;
}

/* The way back: reads the member into its place. Kinds without a reader are only written. */
static void take_row(struct frag_members *r, const struct frag_at *in,
		     const struct frag_json_row *row, char *at)
{
	switch (row->kind) {
	case FRAG_ROW_U64:
		*(uint64_t *)(void *)at = frag_take_count(r, in, row->name);
		return;
	case FRAG_ROW_SUM:
		*(uint64_t *)(void *)at = frag_take_sum(r, in, row->name);
		return;
	case FRAG_ROW_BOOL:
		*(bool *)at = frag_take_bool(r, in, row->name);
		return;
	case FRAG_ROW_FIXED4:
		*(double *)(void *)at = frag_take_percent(r, in, row->name);
		return;
	case FRAG_ROW_TEXT:
		if (!row->or_null || !frag_is_null(r, in, row->name))
			*(char **)(void *)at = frag_take_text(r, in, row->name);
		return;
	case FRAG_ROW_U32:
	case FRAG_ROW_I64:
	case FRAG_ROW_JSON:
	case FRAG_ROW_OBJECT:
	case FRAG_ROW_LIST:
	case FRAG_ROW_CALL:
		break;
	}
	FRAG_BUG("a row that is only written");
}

void frag_take_rows(struct frag_members *r, const struct frag_at *in,
		    const struct frag_json_row *rows, void *to)
{
	for (; !is_end(rows); rows++)
		take_row(r, in, rows, (char *)to + rows->at);
}
