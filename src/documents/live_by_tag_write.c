/* live_by_tag_write.c - who holds memory, in the result object. */
#include "documents/documents.h"

#include <stdlib.h>
#include <string.h>

/* They are JSON already. */
void frag_json_frames(struct frag_node_ref in, const char *frames)
{
	struct frag_node_ref list = frag_json_array(in, "frames");
	const char *end;

	for (; (end = strchr(frames, '\n')) != NULL; frames = end + 1) {
		const size_t length = (size_t)(end - frames);
		char *json = malloc(length + 3);

		if (!json) {
			in.doc->failed = true;
			return;
		}
		json[0] = json[length + 1] = '"';
		memcpy(json + 1, frames, length);
		json[length + 2] = '\0';
		frag_json_raw(list, NULL, json);
		free(json);
	}
}

void frag_json_holders(struct frag_node_ref in, const char *key,
		       const struct frag_tag_usage *holders, uint32_t count)
{
	struct frag_node_ref list = frag_json_array(in, key), o, stacks, stack;

	for (const struct frag_tag_usage *h = holders; h < holders + count; h++) {
		o = frag_json_object(list, NULL);
		frag_json_raw(o, "tag", h->tag);
		frag_json_u64(o, "bytes", h->bytes);
		frag_json_u64(o, "blocks", h->blocks);
		frag_json_u64(o, "oldest", h->oldest);
		if (!h->all_stacks)
			continue;
		frag_json_u64(o, "all_stacks", h->all_stacks);
		stacks = frag_json_array(o, "stacks");
		for (uint32_t k = 0; k < h->stack_count; k++) {
			stack = frag_json_object(stacks, NULL);
			frag_json_frames(stack, h->stacks[k].frames);
			frag_json_u64(stack, "bytes", h->stacks[k].bytes);
			frag_json_u64(stack, "blocks", h->stacks[k].blocks);
			frag_json_u64(stack, "oldest", h->stacks[k].oldest);
		}
	}
}
