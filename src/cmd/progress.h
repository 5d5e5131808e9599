/* progress.h - a line on standard error that shows how far a long reading is. */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/trace.h"

struct frag_progress {
	bool wanted;            /* standard error is a terminal */
	int shown;              /* columns that it takes now */
	double begun, last;     /* seconds */
	double part;            /* likewise: when what is counted now began */
};

/* Of a clock that is never set back. */
double frag_seconds(void);

void frag_progress_begin(struct frag_progress *p, bool wanted);
void frag_progress_show(struct frag_progress *p, const struct frag_trace_info *info);
/* The same for things ("traces") of which so many are done. */
void frag_progress_count(struct frag_progress *p, const char *what, uint32_t done,
			 uint32_t count);
/* Something else is counted from here on. */
void frag_progress_part(struct frag_progress *p);
/* Takes the line away. */
void frag_progress_end(struct frag_progress *p);

#endif
