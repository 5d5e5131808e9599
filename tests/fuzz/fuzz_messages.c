/*
 * fuzz_messages.c - any bytes as a log with out-of-memory messages.
 *
 * In one piece and in many they say the same, each message is judged, and its verdict is among
 * those that are possible.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages/advice.h"
#include "messages/speakers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEPT 64         /* messages that are compared */

struct found {
	struct frag_message messages[KEPT];
	uint64_t count;
	struct frag_accounts accounts;
};

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check_figure(const struct frag_message_value *figure)
{
	must(!figure->there || figure->bytes < UINT64_C(1) << 62, "no device has so many bytes");
}

static int found(void *ctx, const struct frag_message *m)
{
	struct found *f = ctx;

	const char *missing[FRAG_MISSING_MAX + 1];

	must(m->possible && m->possible < 1U << FRAG_SHORT_VERDICTS, "nothing is possible");
	frag_message_missing(m, missing);
	must(m->said[FRAG_SAID_ASKED].there || frag_message_is_budget(m)
	     || frag_speakers[m->wording].decided || m->shortage == FRAG_SHORT_UNKNOWN
	     || m->huge || m->wording == FRAG_WORDING_TENSORRT, "a verdict without a request");
	must(m->shortage == FRAG_SHORT_UNKNOWN || !*missing, "a verdict lacks a value");
	for (int i = 0; i < FRAG_SAID_ALL; i++)
		check_figure(&m->said[i]);
	check_figure(&m->need);
	must(m->shortage == FRAG_SHORT_UNKNOWN || m->possible >> m->shortage & 1, "its own verdict");
	must(frag_wording_names[m->wording] && frag_oom_verdict_name(frag_message_verdict(m)), "a name");
	must(m->line > 0, "lines begin with 1");
	check_figure(&m->total);
	check_figure(&m->free);
	check_figure(&m->allocated);
	check_figure(&m->reserved);
	check_figure(&m->outside);
	if (f->count < KEPT)
		f->messages[f->count] = *m;
	f->count++;
	return 0;
}

/* step: how many bytes at a time. */
static void read_all(struct found *f, const char *data, size_t size, size_t step)
{
	struct frag_finder *finder = frag_finder_new(found, f);
	struct frag_surroundings around = { .system = FRAG_SYSTEM_UNKNOWN };

	must(finder != NULL, "out of memory");
	frag_finder_look_around(finder, &around);
	free(f->accounts.of);
	f->accounts = (struct frag_accounts){ .count = 0 };
	frag_finder_account(finder, &f->accounts);
	f->count = 0;
	for (size_t at = 0; at < size; at += step)
		must(frag_finder_feed(finder, data + at, size - at < step ? size - at : step) == 0,
		     "found failed");
	must(frag_finder_end(finder) == 0, "found failed");
	frag_accounts_derive(&f->accounts);
	frag_finder_del(finder);
	for (uint64_t i = 0; i < f->count && i < KEPT; i++) {
		const struct frag_message_group group = { .first = f->messages[i], .around = &around };
		struct frag_advice advice;

		for (uint32_t k = 0; frag_advice_at(&group, k, &advice); k++)
			must(*advice.text && strlen(advice.text) < FRAG_ADVICE_ROOM - 1, "an advice is cut");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct found whole, pieces;

	read_all(&whole, (const char *)data, size, size ? size : 1);
	read_all(&pieces, (const char *)data, size, 7);
	must(whole.count == pieces.count, "other messages in pieces");
	for (uint64_t i = 0; i < whole.count && i < KEPT; i++)
		must(whole.messages[i].line == pieces.messages[i].line
		     && whole.messages[i].shortage == pieces.messages[i].shortage
		     && whole.messages[i].possible == pieces.messages[i].possible
		     && whole.messages[i].precision == pieces.messages[i].precision,
		     "another message in pieces");
	must(whole.accounts.count == pieces.accounts.count, "other accounts in pieces");
	for (uint32_t i = 0; i < whole.accounts.count; i++)
		must(strcmp(whole.accounts.of[i].who, pieces.accounts.of[i].who) == 0
		     && whole.accounts.of[i].bytes == pieces.accounts.of[i].bytes
		     && whole.accounts.of[i].bytes <= whole.accounts.of[i].most
		     && whole.accounts.of[i].most < UINT64_C(1) << 53, "another account in pieces");
	return 0;
}
