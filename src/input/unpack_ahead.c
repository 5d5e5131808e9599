/*
 * unpack_ahead.c - a packed file, unpacked in a thread of its own.
 *
 * Pieces go round: the thread fills those that nobody has to read any more, the reader takes them
 * in their order. A piece belongs to the one of them from whom the counters have it; the lock
 * is for the counters alone. What the unpacker has to say, an error or the end, is a piece too, and
 * the last one, so it comes where it came without the thread.
 */
#include "input/unpack_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

#define PIECES 4
#define PIECE_BYTES ((size_t)128 << 10)

struct piece {
	char bytes[PIECE_BYTES];
	size_t length;          /* 0 and no rc: the end of the file */
	uint64_t read, total;   /* the unpacker's amount then */
	int rc;
	struct frag_error err;
};

struct frag_unpack_ahead {
	struct frag_unpacker *unpacker;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, used;
	uint64_t filled_count, used_count;      /* pieces so far */
	bool quit;
	size_t at;              /* bytes that are taken of the piece that is read */
	uint64_t read, total;   /* of the pieces that were begun to be read */
	struct piece pieces[PIECES];
};

static struct piece *piece_at(struct frag_unpack_ahead *a, uint64_t i)
{
	return &a->pieces[i % PIECES];
}

/* False: nobody wants more. */
static bool wait_for_room(struct frag_unpack_ahead *a)
{
	bool more;

	pthread_mutex_lock(&a->lock);
	while (!a->quit && a->filled_count - a->used_count == PIECES)
		pthread_cond_wait(&a->used, &a->lock);
	more = !a->quit;
	pthread_mutex_unlock(&a->lock);
	return more;
}

static void hand_over(struct frag_unpack_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->filled_count++;
	pthread_cond_signal(&a->filled);
	pthread_mutex_unlock(&a->lock);
}

static void *unpack(void *ahead)
{
	struct frag_unpack_ahead *a = ahead;
	bool more = true;

	for (uint64_t i = 0; more && wait_for_room(a); i++) {
		struct piece *p = piece_at(a, i);

		p->rc = frag_unpacker_read(a->unpacker, p->bytes, PIECE_BYTES, &p->length, &p->err);
		frag_unpacker_amount(a->unpacker, &p->read, &p->total);
		more = !p->rc && p->length;
		hand_over(a);
	}
	return NULL;
}

struct frag_unpack_ahead *frag_unpack_ahead_new(struct frag_unpacker *u)
{
	struct frag_unpack_ahead *a = malloc(sizeof(*a));

	FRAG_ASSERT(frag_unpacker_rewindable(u));
	if (!a)
		return NULL;
	a->unpacker = u;
	a->filled_count = a->used_count = 0;
	a->quit = false;
	a->at = 0;
	frag_unpacker_amount(u, &a->read, &a->total);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->filled, NULL);
	pthread_cond_init(&a->used, NULL);
	if (pthread_create(&a->thread, NULL, unpack, a) == 0)
		return a;
	pthread_cond_destroy(&a->used);
	pthread_cond_destroy(&a->filled);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}

static struct piece *wait_for_piece(struct frag_unpack_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->filled_count == a->used_count)
		pthread_cond_wait(&a->filled, &a->lock);
	pthread_mutex_unlock(&a->lock);
	/* only the reader changes used_count */
	return piece_at(a, a->used_count);
}

static void unpack_ahead_give_back(struct frag_unpack_ahead *a)
{
	a->at = 0;
	pthread_mutex_lock(&a->lock);
	a->used_count++;
	pthread_cond_signal(&a->used);
	pthread_mutex_unlock(&a->lock);
}

/* The last piece, of the end or of an error, stays: it can be asked for again. */
int frag_unpack_ahead_read(struct frag_unpack_ahead *a, char *to, size_t room, size_t *got,
			   struct frag_error *err)
{
	struct piece *p = wait_for_piece(a);

	FRAG_ASSERT(room > 0);
	*got = 0;
	a->read = p->read;
	a->total = p->total;
	if (p->rc)
		return frag_fail(err, (enum frag_error_code)-p->rc, "%s", p->err.message);
	if (!p->length)
		return 0;
	*got = p->length - a->at < room ? p->length - a->at : room;
	memcpy(to, p->bytes + a->at, *got);
	a->at += *got;
	if (a->at == p->length)
		unpack_ahead_give_back(a);
	return 0;
}

void frag_unpack_ahead_amount(const struct frag_unpack_ahead *a, uint64_t *read, uint64_t *total)
{
	*read = a->read;
	*total = a->total;
}

void frag_unpack_ahead_del(struct frag_unpack_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->quit = true;
	pthread_cond_signal(&a->used);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->used);
	pthread_cond_destroy(&a->filled);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
