/*
 * answers.h - the answers of the commands, in every format; and what those of a fit share. It
 * includes what nearly every answer needs.
 */
#pragma once

#include <inttypes.h>
#include <string.h>

#include "answers/table.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "documents/document_head.h"
#include "documents/documents.h"
#include "messages/message_log.h"
#include "policy/choice.h"
#include "policy/policies.h"
#include "scope/claim.h"
#include "search/fit_all.h"
#include "search/trace_change.h"

/* For a struct frag_change_found: text, csv, json, markdown. */
extern const struct frag_format *const frag_change_formats[];
extern const struct frag_document_type frag_change_document;

/* A script that gives the shards of a sweep to who distributes work. */
struct frag_sweep_script {
	const char *program;    /* the path of fragsim */
	const char *work;       /* the folder that the names of files start from */
	const char *folder;     /* the sweep's */
	uint32_t runs, tasks;
};

/* "slurm", "parallel", "kubernetes", ended by NULL, */
extern const char *const frag_sweep_script_names[];
/* and the one of that index. */
void frag_sweep_script_write(uint32_t kind, const struct frag_sweep_script *script, FILE *f);

/* What answers about a capacity share ------------------------------------------ */

/* "2002 MiB (2070 MiB with default settings)": the smallest of several settings, and that of this one. */
void frag_add_at_least(struct frag_words *w, uint64_t least, uint64_t usual,
		       const struct frag_choice *choice);
/*
 * The end of a headline "AT LEAST N": which part of its program the recording is, and what is known
 * of the remainder. fits: the device that a recording which starts late fits, or NULL. Nothing for a
 * whole recording.
 */
void frag_add_claim(struct frag_words *w, const struct frag_scope *scope, const char *fits);
/* Rows: the iterations of each whole recording, 0: not known; and what a table of parts is of. */
void frag_put_recorded(const struct frag_text_style *to,
		       const struct frag_trace_info *const *traces, const uint32_t *iterations,
		       uint32_t count);

/* What answers with fits share ------------------------------------------------- */

#define FRAG_FIT_NAME_ROOM 600
/* The allocator settings, or the policy; "... @1" where there are several devices. */
const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM]);
#define FIT_NAME(fits, one) frag_fit_name((fits), (one), (char[FRAG_FIT_NAME_ROOM]){ 0 })

/* One policy on one device, for the fields of a document; map: its intervals too. */
struct frag_fit_view {
	const struct frag_fits *fits;
	const struct frag_fitted *fitted;
	const struct frag_fitted *unlimited;    /* the same, where it fits without a limit, or NULL */
	const struct frag_choice *choice;
	struct frag_device_view device;
	bool map;
};
void frag_fit_view_make(struct frag_fit_view *view, const struct frag_fits *fits,
			const struct frag_fitted *one, bool map);

/*
 * Its members except `trace`, those that a joint one has too, and those of its run without a limit.
 */
extern const struct frag_field frag_fit_fields[], frag_capacity_fields[], frag_unlimited_fields[];

/* What is requested at once of a source: at its peak, on the device where that is the highest. */
uint64_t frag_fits_requested(const struct frag_fits *fits, uint32_t source);
