/* html_page.h - a page of the runs of a trace: who watches them, and what is made of it. */
#ifndef CMD_HTML_PAGE_H
#define CMD_HTML_PAGE_H

#include "cmd/session.h"
#include "answers/page_write.h"

struct frag_html_page {
	struct frag_page *pages;        /* one a policy */
	uint32_t count;
};

/* Room for so many policies. -FRAG_EUSAGE where a page has none for them, -FRAG_ENOMEM */
int frag_drawing_room(struct frag_html_page *drawing, uint32_t policies, struct frag_error *err);

/* The next policy's simulation is watched. -FRAG_ENOMEM, as below. */
int frag_drawing_watch(struct frag_html_page *drawing, struct frag_sim *sim, uint32_t devices,
		       struct frag_error *err);

/* After the last step, before the simulations are retired. */
int frag_drawing_end(struct frag_html_page *drawing, struct frag_error *err);

/*
 * At last, of a session that has its answers: the section of its trace. tape: where iterations
 * are looked for; NULL: nowhere.
 */
int frag_drawing_section(struct frag_html_page *drawing, const struct frag_session *s,
			 const struct frag_trace *trace, const struct frag_tape *tape,
			 struct frag_page_section *section, struct frag_error *err);

/*
 * The same of what is known of a trace without a session: made has all but the pages and leaks.
 */
int frag_drawing_make(struct frag_html_page *drawing, struct frag_page_trace *made,
		      const struct frag_tape *tape, struct frag_page_section *section,
		      struct frag_error *err);

void frag_drawing_fini(struct frag_html_page *drawing);   /* one that is zeroed is fine */

/*
 * The command and what follows it, as a shell would read it again; before the options are read,
 * which moves them. NULL: memory is short.
 */
char *frag_command_line(const char *command, int argc, char *const *argv);

#endif
