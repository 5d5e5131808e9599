/* fields_read.c - the members that fields describe, read back out of a JSON document. */
#include "documents/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/parse.h"
#include "documents/json_members.h"

/* One of the field's words, by its name or by the one that it had; its index. */
static uint32_t take_word(struct frag_members *r, const struct frag_at *in,
			  const struct frag_field *field)
{
	const struct frag_at at = frag_take(r, in, field->name, FRAG_JSON_STRING, "a string is required");
	char wanted[200] = "";
	size_t used = 0;

	for (uint32_t i = 0; field->words[i] && !r->rc; i++) {
		const char *old = frag_old_name(field->words[i]);

		if (strcmp(frag_json_string(at.node), field->words[i]) == 0
		    || (old && strcmp(frag_json_string(at.node), old) == 0))
			return i;
		used += (size_t)snprintf(wanted + used, sizeof(wanted) - used, "%s%s", !i ? ""
					 : field->words[i + 1] ? ", " : " or ", field->words[i]);
		FRAG_ASSERT(used < sizeof(wanted));
	}
	snprintf(wanted + used, sizeof(wanted) - used, " is required");
	frag_bad(r, &at, wanted);
	return 0;
}

/* A count as the row bounds it, in the width that it is stored in. */
static void take_bounded(struct frag_members *r, const struct frag_at *in,
			const struct frag_field *field, void *at)
{
	const struct frag_at here = { .up = in, .key = field->name };
	const uint64_t value = frag_take_count(r, in, field->name);
	char wanted[60];

	FRAG_ASSERT(field->store == FRAG_STORED_U64 || field->store == FRAG_STORED_U32);
	if (value < field->least) {
		snprintf(wanted, sizeof(wanted), "at least %" PRIu64 " is required", field->least);
		frag_bad(r, &here, wanted);
	}
	if (field->store == FRAG_STORED_U64) {
		*(uint64_t *)at = value;
		return;
	}
	if (value > UINT32_MAX)
		frag_bad(r, &here, "an integer below 2^32 is required");
	*(uint32_t *)at = (uint32_t)value;
}

/* A string as JSON, with its quotes. */
static char *take_json_text(struct frag_members *r, const struct frag_at *in, const char *key)
{
	char *text = frag_take_text(r, in, key), *json;

	if (!text)
		return NULL;
	json = frag_new_json(text, strlen(text));
	if (!json)
		frag_bad_memory(r);
	free(text);
	return json;
}

/* The member's value, which is there, into the place that its type is stored at. */
static void take_field(struct frag_members *r, const struct frag_at *in,
		       const struct frag_field *field, void *at)
{
	struct frag_at object;

	switch (field->type) {
	case FRAG_TYPE_COUNT:
	case FRAG_TYPE_BYTES:
		take_bounded(r, in, field, at);
		return;
	case FRAG_TYPE_SUM:
		*(uint64_t *)at = frag_take_sum(r, in, field->name);
		return;
	case FRAG_TYPE_INTEGER:
		*(int64_t *)at = frag_take_signed(r, in, field->name);
		return;
	case FRAG_TYPE_FLAG:
		*(bool *)at = frag_take_bool(r, in, field->name);
		return;
	case FRAG_TYPE_PERCENT:
		*(double *)at = frag_take_percent(r, in, field->name);
		return;
	case FRAG_TYPE_TEXT:
		*(char **)at = frag_take_text(r, in, field->name);
		return;
	case FRAG_TYPE_TEXT_JSON:
		*(char **)at = take_json_text(r, in, field->name);
		return;
	case FRAG_TYPE_WORD:
		if (field->store == FRAG_STORED_BOOL)
			*(bool *)at = take_word(r, in, field) != 0;
		else
			*(uint32_t *)at = take_word(r, in, field);
		return;
	case FRAG_TYPE_OBJECT:
		object = frag_take_object(r, in, field->name);
		frag_take_fields(r, &object, field->fields, at);
		return;
	case FRAG_TYPE_CAPACITY:
	case FRAG_TYPE_NUMBER:
	case FRAG_TYPE_CHANGE:
	case FRAG_TYPE_NUMBER_JSON:
	case FRAG_TYPE_ID:
	case FRAG_TYPE_JSON:
	case FRAG_TYPE_FIGURE:
	case FRAG_TYPE_CONTENT:
	case FRAG_TYPE_HEX:
	case FRAG_TYPE_SIZE:
	case FRAG_TYPE_VALUE:
	case FRAG_TYPE_LIST:
	case FRAG_TYPE_MAP:
	case FRAG_TYPE_FRAMES:
	case FRAG_TYPE_RANGE:
	case FRAG_TYPE_VALUES:
	case FRAG_TYPE_MEMBERS:
	case FRAG_TYPE_END:
		break;
	}
	FRAG_BUG("a field that is only written");
}

void frag_take_fields(struct frag_members *r, const struct frag_at *in,
		      const struct frag_field *fields, void *to)
{
	for (; !frag_field_is_end(fields) && !r->rc; fields++) {
		char *const at = (char *)to + fields->at;
		bool there = !fields->optional || frag_has(r, in, fields->name);

		if (fields->type == FRAG_TYPE_LIST || fields->type == FRAG_TYPE_MAP)
			continue;
		FRAG_ASSERT(!fields->via && !fields->get && !fields->text && !fields->each);
		if (fields->type == FRAG_TYPE_MEMBERS) {
			frag_take_fields(r, in, fields->fields, at);
			continue;
		}
		if (fields->known)
			there = there && fields->known(to, fields);
		else if (frag_field_is_nullable(fields))
			there = there && !frag_is_null(r, in, fields->name);
		if (fields->absence == FRAG_IF)
			*((bool *)to + fields->there) = there;
		if (there)
			take_field(r, in, fields, at);
	}
}
