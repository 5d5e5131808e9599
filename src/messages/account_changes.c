/* account_changes.c - what changed from one text to another, by holder. */
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "messages/accounts.h"

static int by_change(const void *a, const void *b)
{
	const struct frag_account_change *x = a, *y = b;
	const int64_t left = x->change < 0 ? -x->change : x->change;
	const int64_t right = y->change < 0 ? -y->change : y->change;

	return left != right ? (left < right ? 1 : -1) : strcmp(x->who, y->who);
}

static struct frag_account_change *account_change_of(struct frag_account_changes *c, const char *who)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (strcmp(c->changes[i].who, who) == 0)
			return &c->changes[i];
	if (!FRAG_GROW(c->changes, c->capacity, c->count))
		return NULL;
	c->changes[c->count] = (struct frag_account_change){ .in_old = false };
	frag_snprintf(c->changes[c->count].who, FRAG_ACCOUNT_ROOM, "%s", who);
	return &c->changes[c->count++];
}

int frag_accounts_compare(struct frag_account_changes *c, struct frag_error *err)
{
	struct frag_account_change *change;

	for (uint32_t i = 0; i < c->old.count; i++) {
		change = account_change_of(c, c->old.of[i].who);
		if (!change)
			return frag_fail_nomem(err);
		change->old = c->old.of[i].bytes;
		change->in_old = true;
	}
	for (uint32_t i = 0; i < c->new.count; i++) {
		change = account_change_of(c, c->new.of[i].who);
		if (!change)
			return frag_fail_nomem(err);
		change->new = c->new.of[i].bytes;
		change->in_new = true;
	}
	for (uint32_t i = 0; i < c->count; i++)
		c->changes[i].change = (int64_t)c->changes[i].new - (int64_t)c->changes[i].old;
	if (c->count)
		qsort(c->changes, c->count, sizeof(*c->changes), by_change);
	return 0;
}

void frag_account_changes_fini(struct frag_account_changes *c)
{
	free(c->old.of);
	free(c->new.of);
	free(c->changes);
}
