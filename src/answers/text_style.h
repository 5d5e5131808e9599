/* text_style.h - text for people: where it goes, colours, rows wrapped to the terminal, lists. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "policy/evidence.h"
#include "fragsim/policy.h"
#include "fragsim/trace.h"

/* Where it goes: on a terminal words are wrapped, and may have colours. */
struct frag_text_style {
	FILE *f;
	bool colour;
	int columns;            /* of the terminal; 0: it is none */
	uint32_t top;           /* rows of each list in a document or a table of Markdown */
};

#define FRAG_TOP_ALL UINT32_MAX
#define FRAG_TOP_FITTING (UINT32_MAX - 1)       /* as many as FRAG_ANSWER_MAX bytes hold */
#define FRAG_ANSWER_MAX 12288

enum frag_color_code {
	INK_PLAIN, INK_BOLD, INK_RED, INK_GREEN, INK_YELLOW
};

/* What is printed to write in this ink from here on; "" without colour. */
static inline const char *frag_ink(const struct frag_text_style *to, enum frag_color_code which)
{
	static const char *const codes[] = {
		"\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[33m",
	};

	return to->colour ? codes[which] : "";
}

/* Words after a head, wrapped to the columns; 0, no terminal: in one line. */
void frag_put_wrapped(const struct frag_text_style *to, const char *head, const char *text);

/* The first line of an answer, wrapped likewise, in its colour. */
void frag_put_first_line(const struct frag_text_style *to, enum frag_color_code which,
			 const char *head, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * "  label   text", likewise, the text as frag_fprintf() has it. No label: what is above goes on.
 */
void frag_put_row(const struct frag_text_style *to, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What the rules of the policy were compared with. more: what else is assumed; "": nothing. */
void frag_put_evidence(const struct frag_text_style *to, const struct frag_choice *choice,
		       const char *more);

/* The row of a setting to copy, for the choice's device; it is never wrapped. note: about it. */
void frag_put_setting(const struct frag_text_style *to, const struct frag_choice *choice,
		      const char *conf, const char *note);

/*
 * The first column of a table, of that width; a longer name has a separate line. indent: columns
 * on the left of the name.
 */
void frag_put_name(const char *name, int width, int indent, FILE *f);
/* The length of the longest name so far. */
static inline void frag_note_longest(size_t *longest, const char *name)
{
	const size_t n = strlen(name);

	*longest = n > *longest ? n : *longest;
}
/* Its width: that of the longest name, from min to what the terminal leaves of its other columns. */
int frag_name_column(size_t longest, size_t min, size_t others, int columns);

#define FRAG_OWNER_ROOM 200
/*
 * What blocks were allocated for: the text of their tag, which is JSON, or the first of their
 * frames, cut where it is long; or their size. tag, frames: may be NULL.
 */
const char *frag_owner_text(const char *tag, const char *frames, uint64_t size,
			    char buf[FRAG_OWNER_ROOM]);

/* A column of 11 with a capacity; UINT64_MAX: "-". */
void frag_put_capacity(uint64_t bytes, FILE *f);

/*
 * A row about the CUDA context of a device: what it is based on, if a table of cards has it; or,
 * where the program fits, that none is counted.
 */
void frag_put_context(const struct frag_text_style *to, uint64_t total, uint64_t context, bool fits);
/* A row for each trace whose memory grows: by how much. */
void frag_put_growth(const struct frag_text_style *to, const struct frag_trace_info *const *traces,
		     uint32_t count);

/* "the default settings", or what the choice is called. */
const char *frag_setting_words(const struct frag_choice *choice);

/* The row of an answer that its time (--time), or else a signal, has cut short. */
void frag_put_stopped(const struct frag_text_style *to, bool time_up);

/* Words that are put one after the other into an array, truncated where it ends. */
struct frag_words {
	char *text;
	size_t size, used;
};

/* "from its start; ends at its out-of-memory" */
void frag_add_scope(struct frag_words *w, const struct frag_scope *scope);

#define FRAG_WORDS(array) { .text = (*(array) = '\0', (array)), .size = sizeof(array) }
/* The same, with an array that is valid until the end of the enclosing block. */
#define WORDS(room) { .text = (char[room]){ 0 }, .size = (room) }
void frag_add(struct frag_words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same with this in front, unless it is the first. */
void frag_add_item(struct frag_words *words, const char *between, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As SIZE() of base/format.h: in an array that is valid until the end of the enclosing block. */
#define SHORT(json) frag_short_name((json), (char[FRAG_SHORT_NAME]){ 0 })

#define FRAG_MARK_ROOM (FRAG_SHORT_NAME + 8)
/*
 * The place that the last mark names, which is a JSON string, shortened like SHORT: `inside` and the
 * name without its " (start)". After " (end)" the program is no longer there: "after" and the name.
 */
const char *frag_mark_place(const char *inside, const char *json, char buf[FRAG_MARK_ROOM]);
#define MARK_PLACE(inside, json) \
	frag_mark_place((inside), (json), (char[FRAG_MARK_ROOM]){ 0 })
