/* json.c - JSON documents to be written: a thin cover over cJSON. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

struct frag_node_ref frag_json_begin(struct frag_json *doc)
{
	doc->root = cJSON_CreateObject();
	doc->failed = !doc->root;
	return (struct frag_node_ref){ .doc = doc, .node = doc->root };
}

void frag_json_end(struct frag_json *doc)
{
	cJSON_Delete(doc->root);
	doc->root = NULL;
}

static struct frag_node_ref add(struct frag_node_ref in, const char *key, struct cJSON *item)
{
	cJSON_bool done = false;

	if (item && in.node)
		done = key ? cJSON_AddItemToObject(in.node, key, item)
			   : cJSON_AddItemToArray(in.node, item);
	if (!done) {
		cJSON_Delete(item);
		item = NULL;
		in.doc->failed = true;
	}
	return (struct frag_node_ref){ .doc = in.doc, .node = item };
}

struct frag_node_ref frag_json_object(struct frag_node_ref in, const char *key)
{
	return add(in, key, cJSON_CreateObject());
}

struct frag_node_ref frag_json_array(struct frag_node_ref in, const char *key)
{
	return add(in, key, cJSON_CreateArray());
}

void frag_json_u64(struct frag_node_ref in, const char *key, uint64_t value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_u64(text, value) = '\0';
	add(in, key, cJSON_CreateRaw(text));
}

void frag_json_i64(struct frag_node_ref in, const char *key, int64_t value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_i64(text, value) = '\0';
	add(in, key, cJSON_CreateRaw(text));
}

void frag_json_fixed4(struct frag_node_ref in, const char *key, double value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_fixed4(text, value) = '\0';
	add(in, key, cJSON_CreateRaw(text));
}

void frag_json_bool(struct frag_node_ref in, const char *key, bool value)
{
	add(in, key, cJSON_CreateBool(value));
}

void frag_json_null(struct frag_node_ref in, const char *key)
{
	add(in, key, cJSON_CreateNull());
}

void frag_json_text(struct frag_node_ref in, const char *key, const char *text)
{
	char *json = text ? malloc(strlen(text) * 6 + 3) : NULL;

	if (json)
		*frag_put_json(json, text, strlen(text)) = '\0';
	else if (text)
		in.doc->failed = true;
	frag_json_raw(in, key, json);
	free(json);
}

void frag_json_raw(struct frag_node_ref in, const char *key, const char *json)
{
	add(in, key, json ? cJSON_CreateRaw(json) : cJSON_CreateNull());
}

int frag_json_write(const struct frag_json *doc, struct frag_outfile *f, struct frag_error *err)
{
	char *text = doc->failed ? NULL : cJSON_Print(doc->root);

	if (!text)
		return frag_fail_nomem(err);
	frag_outfile_write(f, text, strlen(text));
	frag_outfile_write(f, "\n", 1);
	cJSON_free(text);
	return frag_outfile_status(f, err);
}
