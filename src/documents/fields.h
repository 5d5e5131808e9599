/*
 * fields.h - an answer or a document, declared once: a table of fields says the members of an object.
 *
 * A field has the member's name, its type, where its value is, and one sentence. From the fields follow
 * the JSON, its schema, the table of members in the manual, the types of the Python module, and,
 * where a field has headings, the columns of CSV and Markdown. Text for people is written by hand.
 *
 * A value is a member of the struct that the table is for, or what a function makes of that
 * struct. An object that several structs describe has one that points to them.
 *
 *     static const struct frag_field leak_rows[] = {
 *             { "tag", FRAG_TYPE_TEXT_JSON, FRAG_AT(leak, tag), "the innermost own frame", "tag", "tag" },
 *             { "bytes", FRAG_TYPE_BYTES, FRAG_AT(leak, bytes), "live bytes of this tag", "bytes" },
 *             { 0 },
 *     };
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

/* What a member is: in JSON, in the schema, and in a cell for people. */
enum frag_field_type {
	FRAG_TYPE_END,          /* ends a table */
	FRAG_TYPE_COUNT,             /* an integer from 0 on */
	FRAG_TYPE_BYTES,             /* the same; for people rounded: 2.63 GiB */
	FRAG_TYPE_CAPACITY,          /* the same; for people exact: 2692 MiB */
	FRAG_TYPE_SUM,               /* the same of many sizes, which may exceed 2^53; by `text` 2^64 too */
	FRAG_TYPE_INTEGER,           /* of either sign */
	FRAG_TYPE_FLAG,              /* true or false */
	FRAG_TYPE_NUMBER,            /* four digits after the point */
	FRAG_TYPE_CHANGE,            /* the same, a percentage; for people +1.23 % */
	FRAG_TYPE_PERCENT,           /* the same, from 0 to 100 */
	FRAG_TYPE_NUMBER_JSON,       /* text of a number that is JSON already */
	FRAG_TYPE_TEXT,              /* a C string */
	FRAG_TYPE_TEXT_JSON,         /* a string that is JSON text already */
	FRAG_TYPE_ID,                /* JSON text of a trace's handle: a number or a string */
	FRAG_TYPE_JSON,              /* text that is JSON already, of the types that `members` lists */
	FRAG_TYPE_SIZE,              /* of a document that is read: bytes, or a text such as 512MiB */
	FRAG_TYPE_VALUE,             /* likewise: a number or a text */
	FRAG_TYPE_FIGURE,            /* text of a column alone, which has a number */
	FRAG_TYPE_WORD,              /* one of the field's words, by its index; of a bool by false and true */
	FRAG_TYPE_CONTENT,           /* a hash, as 16 hexadecimal digits */
	FRAG_TYPE_HEX,               /* the bytes of a C string, two hexadecimal digits each */
	FRAG_TYPE_OBJECT,            /* of the field's fields */
	FRAG_TYPE_LIST,              /* of objects of the field's fields, or of words, texts or numbers */
	FRAG_TYPE_MAP,               /* an object whose members the table does not name: `put` adds them */
	FRAG_TYPE_FRAMES,            /* a list of strings, by the text of frag_frames_json() */
	FRAG_TYPE_RANGE,             /* of a list's items: from, and to, or null where that is the largest */
	FRAG_TYPE_VALUES,            /* of a list's items: an array of the values of the field's fields */
	FRAG_TYPE_MEMBERS,           /* no member, but those of the field's fields */
};

/* A value, as every form takes it. */
struct frag_cell_value {
	bool there;             /* else null, or "-" */
	union {
		uint64_t u;
		int64_t  i;
		double   d;
		bool     b;
		const char *text;
		const void *of; /* the struct of an object */
	};
};

/* How the member of a struct is stored. */
enum frag_field_store {
	FRAG_STORED_U64, FRAG_STORED_U32, FRAG_STORED_U16, FRAG_STORED_I64, FRAG_STORED_INT,
	FRAG_STORED_BOOL, FRAG_STORED_DOUBLE, FRAG_STORED_TEXT,
	FRAG_STORED_POINTER,    /* to a struct; NULL: not there */
	FRAG_STORED_STRUCT,     /* or an array of char with a C string */
};

/* When the value of a field is not there. */
enum frag_field_absence {
	FRAG_ALWAYS_THERE,      /* a text or a pointer may be NULL all the same */
	FRAG_UNLESS_MAX,        /* the largest number of its type means that there is none */
	FRAG_UNLESS_ZERO,
	FRAG_IF,                /* a bool of the struct says it: `there` */
};

/* Bytes of the struct of an element that a function makes. */
enum { FRAG_ELEMENT_MAX = 4096 };

struct frag_field {
	const char *name;               /* NULL: a column of CSV or Markdown alone */
	enum frag_field_type type;
	uint32_t at;                    /* offset of the value; of a list: of its pointer */
	uint32_t via;                   /* of a pointer to the struct that `at` is in, plus 1; or 0 */
	enum frag_field_store store;
	uint32_t count, size;           /* of a list at a pointer: see `each` */
	const char *what;               /* one sentence for schema and manual; NULL: as the name says */
	const char *csv, *head;         /* headings of its column; NULL: it is none */
	/* NULL: the value at `at`; else of the struct, or of the one that `via` points to */
	struct frag_cell_value (*get)(const void *of);
	/* the same of a text: it may be made in `buf`, of FRAG_ELEMENT_MAX bytes */
	const char *(*text)(const void *of, char *buf);
	/* is the value there? NULL: as `absence` says; else `nullable` or `optional` is set */
	bool (*known)(const void *of, const struct frag_field *field);
	const struct frag_field *fields;    /* of an object, or of the elements of a list */
	const char *const *words;       /* of FRAG_TYPE_WORD, or of a list's words; ended by NULL */
	uint64_t except;                /* a bit for each of them that the member never is */
	/* of a list without fields: uint64_t (FRAG_UNLESS_MAX: the largest is null), texts, or ranges */
	enum frag_field_type items;
	/*
	 * A list: element i of it into `element`, which has FRAG_ELEMENT_MAX bytes; false behind the
	 * last; element i - 1 is still there. NULL: `count` is the offset of a uint32_t, and `size` that
	 * of an element.
	 * An object: its struct as element 0, or null. NULL: it is a member of the struct.
	 */
	bool (*each)(const void *of, uint32_t i, void *element);
	/* of a list that is cut: is element i among the n that are shown? NULL: the first n are */
	bool (*shows)(const void *of, uint32_t i, uint32_t n);
	void (*put)(struct frag_node_ref in, const void *of);   /* of FRAG_TYPE_MAP */
	const char *members;            /* of FRAG_TYPE_MAP, or of a list: the schema of each, as JSON; of
					 * FRAG_TYPE_JSON its `type` */
	uint32_t there;
	uint64_t least, most;           /* for the schema; most 0: no limit */
	uint8_t absence;                /* enum frag_field_absence */
	bool nullable;                  /* null is a value of the member, or of a list's items: for the schema */
	bool optional;                  /* left out where it is not there, instead of null */
	bool blank;                     /* in Markdown nothing, and not "-", where it is not there */
	bool cut;                       /* a list that --top cuts */
	bool open;                      /* an object that may have other members too */
	bool pointers;                  /* an array of pointers to the elements */
	bool one_alone;                 /* a list: where it has one element, that is the member */
};

#define FRAG_MEMBER_OF(type, m) ((struct frag_##type *)0)->m
/* clang-format off */
#define FRAG_STORE_OF(type, m) _Generic(&FRAG_MEMBER_OF(type, m),                               \
		uint64_t *: FRAG_STORED_U64, uint32_t *: FRAG_STORED_U32,                       \
		uint16_t *: FRAG_STORED_U16, int64_t *: FRAG_STORED_I64,                       \
		int *: FRAG_STORED_INT, bool *: FRAG_STORED_BOOL,                               \
		double *: FRAG_STORED_DOUBLE, char **: FRAG_STORED_TEXT,                        \
		const char **: FRAG_STORED_TEXT, default: FRAG_STORED_STRUCT)
/* clang-format on */
#define FRAG_AT(type, m) .at = offsetof(struct frag_##type, m), .via = 0, .store = FRAG_STORE_OF(type, m), .size = 0
/* The member m of a struct frag_OTHER to which the member `pointer` of this struct points. */
#define FRAG_VIA(type, pointer, other, m)                                                       \
	.at = offsetof(struct frag_##other, m), .via = offsetof(struct frag_##type, pointer) + 1, \
	.store = FRAG_STORE_OF(other, m), .size = 0
#define FRAG_POINTER(type, m)                                                                   \
	.at = offsetof(struct frag_##type, m), .via = 0, .store = FRAG_STORED_POINTER, .size = 0
/* All of the struct, or of that at its pointer: for an object of some of its members, and for `get`. */
#define FRAG_WHOLE .at = 0, .via = 0, .store = FRAG_STORED_STRUCT, .size = 0
#define FRAG_WHOLE_VIA(type, pointer)                                                           \
	.at = 0, .via = offsetof(struct frag_##type, pointer) + 1, .store = FRAG_STORED_STRUCT, .size = 0
/* The first `n` elements of the array m. */
#define FRAG_ARRAY_IN(type, m, n)                                                               \
	.at = offsetof(struct frag_##type, m), .via = 0, .store = FRAG_STORED_STRUCT,           \
	.count = offsetof(struct frag_##type, n), .size = sizeof(*FRAG_MEMBER_OF(type, m))
#define FRAG_ARRAY_IN_VIA(type, pointer, other, m, n)                                           \
	.at = offsetof(struct frag_##other, m), .via = offsetof(struct frag_##type, pointer) + 1, \
	.store = FRAG_STORED_STRUCT, .count = offsetof(struct frag_##other, n),                 \
	.size = sizeof(*FRAG_MEMBER_OF(other, m))
/* An array of `n` elements at the pointer m. */
#define FRAG_ARRAY(type, m, n)                                                                  \
	.at = offsetof(struct frag_##type, m), .via = 0, .store = FRAG_STORED_POINTER,                    \
	.count = offsetof(struct frag_##type, n), .size = sizeof(*FRAG_MEMBER_OF(type, m))
#define FRAG_ARRAY_VIA(type, pointer, other, m, n)                                              \
	.at = offsetof(struct frag_##other, m), .via = offsetof(struct frag_##type, pointer) + 1, \
	.store = FRAG_STORED_POINTER, .count = offsetof(struct frag_##other, n),                \
	.size = sizeof(*FRAG_MEMBER_OF(other, m))
/* The members of another table, of the struct at this place. */
#define FRAG_MEMBERS(at_place, its) { "", FRAG_TYPE_MEMBERS, at_place, .fields = (its) }
#define FRAG_THERE_IF(type, flag) .absence = FRAG_IF, .there = offsetof(struct frag_##type, flag)

static inline bool frag_field_is_end(const struct frag_field *field)
{
	return field->type == FRAG_TYPE_END;
}

/* Can the member be null? */
bool frag_field_is_nullable(const struct frag_field *field);
/* Is word i one that the member can be, and not among those before? Several values may have one. */
bool frag_field_has_word(const struct frag_field *field, uint32_t i);

#define FRAG_OF(pointer) ((struct frag_cell_value){ .there = (pointer) != NULL, .of = (pointer) })
#define FRAG_TEXT_OF(words) ((struct frag_cell_value){ .there = (words) != NULL, .text = (words) })
#define FRAG_FLAG_OF(flag) ((struct frag_cell_value){ .there = true, .b = (flag) })
#define FRAG_NUMBER_OF(number) ((struct frag_cell_value){ .there = true, .u = (number) })

/*
 * The value of a field that is neither a list nor a map; `of` is the struct of its table. What is
 * made for it is in `buf`.
 */
struct frag_cell_value frag_field_value(const struct frag_field *field, const void *of,
					char buf[FRAG_ELEMENT_MAX]);

/*
 * Calls visit for each element of the list that the field describes, with its struct, or the pointer
 * to its text or number; stops where visit returns false. The number of calls.
 */
uint32_t frag_field_each(const struct frag_field *field, const void *of,
		       bool (*visit)(void *ctx, const void *element), void *ctx);

/* Adds the members of the struct at `of`. Failures stay in the document. */
void frag_put_fields(struct frag_node_ref in, const struct frag_field *fields, const void *of);

/* An object of them under this key, or an element of an array, where key is NULL. */
void frag_put_object(struct frag_node_ref in, const char *key, const struct frag_field *fields,
		     const void *of);

struct frag_members;
struct frag_at;
/*
 * The way back, see json_members.h: reads the members of the object into the struct, texts as copies,
 * which are the caller's. A value that is null or missing, where it may be, is unchanged, and the
 * field's bool is set; what is not known, by the struct, is not read. Of fields whose value is stored
 * in the struct; lists and maps are the caller's to read.
 */
void frag_take_fields(struct frag_members *r, const struct frag_at *in,
		      const struct frag_field *fields, void *to);

/* A document: what is printed with format, version and usually tool before its fields. */
struct frag_document_type {
	const char *format;             /* "fragsim-ranks" */
	uint32_t version;               /* 0: a line, which has neither format nor version */
	const char *what;               /* for the schema: the command, and where it is described */
	const struct frag_field *fields;
	bool no_tool;                   /* it does not name the tool that wrote it */
	bool open;                      /* it may have other members too */
	void (*rules)(struct frag_node_ref schema);     /* adds what fields cannot say of it; or NULL */
	/* makes the struct that the fields are of, of FRAG_ELEMENT_MAX bytes at most; NULL: it is
	 * the answer itself */
	void (*view)(const void *answer, void *view);
};

/* The whole of it; to be ended by the caller. And with `top` rows of each list that --top cuts. */
struct frag_json frag_document_of(const struct frag_document_type *d, const void *answer);
struct frag_json frag_document_cut(const struct frag_document_type *d, const void *answer, uint32_t top);

/*
 * Writes a document without a tool as it comes: a list may be too long to hold, and each of its elements
 * is a line. Its members are counts, bytes, flags, contents, ids and such lists. Failures stay in the file.
 */
void frag_document_write_lines(const struct frag_document_type *d, const void *of,
			       struct frag_outfile *out);

/* Adds a member to the properties of a schema; and the names of those that are always there. */
void frag_schema_member(struct frag_node_ref properties, const struct frag_field *field);
void frag_schema_required(struct frag_node_ref list, const struct frag_field *fields);
/* The properties of a document, with its format, its version and its tool. */
struct frag_node_ref frag_schema_properties(struct frag_node_ref in, const struct frag_document_type *d);

/* Its JSON Schema, draft 2020-12. -FRAG_ENOMEM */
int frag_schema_print(const struct frag_document_type *d, FILE *f, struct frag_error *err);

/*
 * The members of documents, which NULL ends, as sections of mdoc(7). An object that several have is
 * described at its first place.
 */
void frag_members_print(const struct frag_document_type *const *documents, FILE *f);
