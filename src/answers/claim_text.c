/* claim_text.c - names the part of its program that a recording is, and what its results prove. */
#include "answers/answers.h"
#include "answers/report.h"

/* "1.25 GiB were active, 1.50 GiB reserved": before the recording, or in its only state. */
static void add_reserved(struct frag_words *w, const struct frag_scope *scope, const char *when)
{
	if (scope->before_active)
		frag_add(w, "%s were active, ", SIZE(scope->before_active));
	frag_add(w, "%s %sreserved %s", SIZE(scope->before_reserved),
		 scope->before_active ? "" : "were ", when);
}

void frag_add_scope(struct frag_words *w, const struct frag_scope *scope)
{
	const char *there = scope->begins == FRAG_BEGINS_STATE ? "at its end" : "before it";

	frag_add(w, "%s", scope->begins == FRAG_BEGINS_START ? "from its start"
		 : scope->begins == FRAG_BEGINS_LATE ? "starts late" : "no history, the final state alone");
	if (scope->before_active || scope->before_reserved)
		frag_add(w, ", %s active and %s reserved %s", SIZE(scope->before_active),
			 SIZE(scope->before_reserved), there);
	if (scope->ends == FRAG_ENDS_OOM)
		frag_add(w, "; ends at its out-of-memory");
	else if (scope->ends == FRAG_ENDS_CUT && scope->lost)
		frag_add(w, "; lost at least %" PRIu64 " event%s", scope->lost, frag_s(scope->lost));
	else if (scope->ends == FRAG_ENDS_CUT)
		frag_add(w, "; lost events");
	else if (scope->begins != FRAG_BEGINS_STATE)
		frag_add(w, " to its end");
}

void frag_add_at_least(struct frag_words *w, uint64_t least, uint64_t usual,
		       const struct frag_choice *choice)
{
	frag_add(w, "%s", CAPACITY(least));
	if (usual != least)
		frag_add(w, " (%s with %.200s)", usual == UINT64_MAX ? "none" : CAPACITY(usual),
			 choice->ops->settings && !*CONF(choice) ? "default settings"
			 : frag_choice_label(choice));
}

void frag_add_claim(struct frag_words *w, const struct frag_scope *scope, const char *fits)
{
	const enum frag_part part = frag_scope_part(scope);

	if (part == FRAG_PART_LATE && fits)
		frag_add(w, "; the recorded part fits %s", fits);
	if (part != FRAG_PART_WHOLE)
		frag_add(w, ": ");
	if (part == FRAG_PART_STATE) {
		frag_add(w, "the file has no history; %s were reserved when it was written",
			 SIZE(scope->before_reserved));
		return;
	}
	if (part == FRAG_PART_LATE) {
		if (scope->before_active || scope->before_reserved)
			add_reserved(w, scope, "before it");
		else
			frag_add(w, "the recording starts late");
		frag_add(w, "%s", scope->ends == FRAG_ENDS_OOM ? ", and it ends at its out-of-memory"
				  : "");
		return;
	}
	if (part == FRAG_PART_OOM)
		frag_add(w, "the recording ends at its out-of-memory");
	else if (part == FRAG_PART_CUT && scope->lost)
		frag_add(w, "the recording lost at least %" PRIu64 " event%s", scope->lost,
			 frag_s(scope->lost));
	else if (part == FRAG_PART_CUT)
		frag_add(w, "the recording lost events");
	if (part != FRAG_PART_WHOLE)
		frag_add(w, "; what the program needs in all is not in it");
}

void frag_put_recorded(const struct frag_text_style *to,
		       const struct frag_trace_info *const *traces, const uint32_t *iterations,
		       uint32_t count)
{
	enum frag_part part = FRAG_PART_WHOLE;

	for (uint32_t i = 0; i < count; i++) {
		const enum frag_part its = frag_scope_part(&traces[i]->scope);

		if (its == FRAG_PART_WHOLE && iterations[i])
			frag_put_row(to, "recorded", "%" PRIu32 " iteration%s%s%s", iterations[i],
				     frag_s(iterations[i]), count > 1 ? " in " : "",
				     count > 1 ? SHOWN(frag_input_name(traces[i]->path)) : "");
		part = its > part ? its : part;
	}
	if (part >= FRAG_PART_LATE)
		frag_put_row(to, "part", "smallest and reliable are of the recorded part alone");
}

/* The largest owner need not have all of it: the bytes are those of the device. */
void frag_put_growth(const struct frag_text_style *to, const struct frag_trace_info *const *traces,
		     uint32_t count)
{
	char name[FRAG_OWNER_ROOM];

	for (uint32_t i = 0; i < count; i++) {
		const struct frag_memory_growth *g = &traces[i]->growth;
		const bool owner = g->tag || g->frames || g->size;

		if (traces[i]->scope.grows == FRAG_GROWS_YES)
			frag_put_row(to, "growth", "%s per iteration%s%s%s%s: a longer run needs more",
				     SIZE(g->bytes), owner ? ", most of it by " : "",
				     owner ? frag_owner_text(g->tag, g->frames, g->size, name) : "",
				     count > 1 ? " in " : "",
				     count > 1 ? SHOWN(frag_input_name(traces[i]->path)) : "");
	}
}

const char *frag_fits_words(const struct frag_scope *scope)
{
	return scope->ends == FRAG_ENDS_OOM ? "fits up to the recorded OOM"
	       : frag_scope_part(scope) != FRAG_PART_WHOLE ? "fits the recorded part" : "fits";
}

const char *frag_fits_head(const struct frag_scope *scope)
{
	return scope->ends == FRAG_ENDS_OOM ? "FITS UP TO THE RECORDED OOM"
	       : frag_scope_part(scope) != FRAG_PART_WHOLE ? "FITS THE RECORDED PART" : "FITS";
}
