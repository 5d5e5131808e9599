/* text_style.h - text for people: its style, colours, and rows wrapped to the terminal. */
#ifndef ANSWERS_TEXT_STYLE_H
#define ANSWERS_TEXT_STYLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fragsim/policy.h"

/* Where it goes: on a terminal words are wrapped, and may have colours. */
struct frag_text_style {
	bool colour;
	int columns;            /* of the terminal; 0: it is none */
};

enum frag_color_code {
	INK_PLAIN, INK_BOLD, INK_RED, INK_GREEN, INK_YELLOW
};

/* What is printed to write in this ink from here on; "" without colour. */
static inline const char *frag_color_code(bool colour, enum frag_color_code which)
{
	static const char *const codes[] = {
		"\033[0m", "\033[1m", "\033[31m", "\033[32m", "\033[33m",
	};

	return colour ? codes[which] : "";
}

/* Words after a head, wrapped to the columns; 0, no terminal: in one line. */
void frag_put_wrapped(int columns, const char *head, const char *text, FILE *f);

/* The first line of an answer, wrapped likewise, in its colour. */
void frag_put_first_line(const struct frag_text_style *style, enum frag_color_code which,
			 const char *head, const char *text, FILE *f);

/*
 * "  label   text", likewise, the text as frag_fprintf() has it. No label: what is above goes on.
 */
void frag_put_row(int columns, const char *label, FILE *f, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void frag_put_vrow(int columns, const char *label, FILE *f, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

/* What the rules of the policy were compared with. more: what else is assumed; "": nothing. */
void frag_put_evidence(int columns, const struct frag_choice *choice, const char *more, FILE *f);

/*
 * The first column of a table, of that width; a longer name has a separate line. indent: columns
 * on the left of the name.
 */
void frag_put_name(const char *name, int width, int indent, FILE *f);
/* Its width: that of the longest name, from min to what the terminal leaves of its other columns. */
int frag_name_column(size_t longest, size_t min, size_t others, int columns);

/* A column of 11 with a capacity; UINT64_MAX: "-". */
void frag_put_capacity(uint64_t bytes, FILE *f);

/* The row of an answer that its time (--time), or else a signal, has cut short. */
void frag_put_stopped(int columns, bool time_up, FILE *f);

#endif
