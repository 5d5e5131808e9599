/* page_write.h - a report as one page of HTML that needs nothing else, and its picture alone. */
#ifndef ANSWERS_PAGE_WRITE_H
#define ANSWERS_PAGE_WRITE_H

#include "answers/page_facts.h"

#define FRAG_PAGE_POLICIES_MAX 6

/* What was made of one trace, as texts. */
struct frag_page_section {
	char *path, *facts, *verdict, *panels;
	uint32_t panel_count;
	double badness;         /* how bad it is: the worst comes first */
};

/* One that is zeroed is fine for fini. -FRAG_ENOMEM */
int frag_page_section_init(struct frag_page_section *section, struct frag_page_trace *trace,
			   struct frag_error *err);
void frag_page_section_fini(struct frag_page_section *section);

/* What a page says first, where its sections do not say it themselves. */
struct frag_page_answer {
	const char *text;       /* its first line is a heading */
	bool bad;               /* as an out-of-memory is */
};

/*
 * Sorts them, and prints the page; command: as it was typed; answer: NULL where there is none.
 * -FRAG_ENOMEM
 */
int frag_page_print(struct frag_page_section *sections, uint32_t count, const char *command,
		    const struct frag_page_answer *answer, FILE *f, struct frag_error *err);
/* The same to a file, without an answer. */
int frag_page_write(struct frag_page_section *sections, uint32_t count, const char *command,
		    struct frag_outfile *out, struct frag_error *err);
int frag_page_write_svg(struct frag_page_section *sections, uint32_t count,
			struct frag_outfile *out, struct frag_error *err);

#endif
