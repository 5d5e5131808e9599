/* forms.h - how programs say what they had and what they lacked: a row for each wording. */
#pragma once

#include "messages/match.h"

/* What a form is for. */
enum frag_form_role {
	FRAG_FORM_FAILS,        /* a message */
	FRAG_FORM_BEFORE,       /* a line whose values belong to a message of that program behind it */
	FRAG_FORM_AFTER,        /* to the message before it */
	FRAG_FORM_AROUND        /* to either */
};

/* A wording of a program: the words that are searched for, and the pattern behind them. */
struct frag_form {
	const char *words;      /* squeezed; rows of the same words are next to each other */
	const char *near;       /* what must be somewhere before them; NULL: nothing */
	const char *pattern;
	enum frag_wording wording;
	enum frag_form_role role;
	uint8_t said[6];        /* what each size is; those behind them are of no interest */
	uint8_t sizes;
	bool device;            /* a device such as CUDA0 is right before the words */
	bool starts;            /* except the total, what was said before is of an earlier time */
	bool adds;              /* several lines add up */
	bool list;              /* one size for each device */
	bool bare;              /* where no pattern matches, the words still say that memory ran out */
	/* instead of a pattern, of words that occur in every message of some wordings */
	bool (*read)(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end);
};

/* Those with a function first; ended by one without words. */
extern const struct frag_form frag_forms[];
#define FRAG_FORM_WORDS_MAX 192

/*
 * Reads the form whose words are at `at`: tries it, and the rows of the same words behind it. NULL:
 * none matches. Otherwise m has its values. *end is where to go on, if there is more to skip.
 */
const struct frag_form *frag_form_read(const struct frag_stripped_text *in, size_t at,
				       const struct frag_form *form, struct frag_message *m,
				       size_t *end);

/*
 * Corrects one wrong letter in the words of a failure, wherever they stand in a short text. False: there
 * was none. For a text in which nothing was found.
 */
bool frag_forms_correct(struct frag_stripped_text *in);
