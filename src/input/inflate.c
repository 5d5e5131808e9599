/*
 * inflate.c - a member of gzip, unpacked as its bytes come.
 *
 * ISA-L takes a third of the time of zlib. It reads up to eight bytes ahead, and returns those that
 * are behind the member's end, which may have come with an earlier step. Both unpack whole
 * members with their checksums, and the words for what is damaged are ours: which library it was
 * does not show.
 */
#include "input/inflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef FRAG_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

const char FRAG_INFLATE_NOMEM[] = "out of memory";

static const char wrong_data[] = "not what inflate expects", wrong_check[] = "incorrect data check";

struct frag_inflater {
#ifdef FRAG_ISAL
	struct inflate_state state;
	uint64_t at;            /* bytes of the member that were taken */
#else
	z_stream z;
	bool begun;
#endif
};

#ifdef FRAG_ISAL

#define FLAGS_AT 3              /* in a member */
#define FLAGS_RESERVED 0xe0     /* RFC 1952, 2.3.1.2: must be refused; ISA-L does not look */

int frag_inflater_begin(struct frag_inflater **i, struct frag_error *err)
{
	if (!*i)
		*i = malloc(sizeof(**i));
	if (!*i)
		return frag_fail_nomem(err);
	isal_inflate_init(&(*i)->state);
	(*i)->state.crc_flag = ISAL_GZIP;
	(*i)->at = 0;
	return 0;
}

void frag_inflater_del(struct frag_inflater *i)
{
	free(i);
}

const char *frag_inflater_step(struct frag_inflater *i, struct frag_inflate *step)
{
	struct inflate_state *s = &i->state;
	int rc;

	if (i->at <= FLAGS_AT && (size_t)(step->in_end - step->in) > FLAGS_AT - i->at
	    && step->in[FLAGS_AT - i->at] & FLAGS_RESERVED)
		return wrong_data;
	s->next_in = (uint8_t *)(uintptr_t)step->in;    /* it does not write there */
	s->avail_in = (uint32_t)(step->in_end - step->in);
	s->next_out = (uint8_t *)step->out;
	s->avail_out = (uint32_t)step->space;
	rc = isal_inflate(s);
	step->got = step->space - s->avail_out;
	i->at += (uint64_t)(s->next_in - step->in);     /* it may have moved back */
	step->in = s->next_in;
	step->over = s->block_state == ISAL_BLOCK_FINISH;
	return rc >= ISAL_DECOMP_OK ? NULL : rc == ISAL_INCORRECT_CHECKSUM ? wrong_check : wrong_data;
}

#else

int frag_inflater_begin(struct frag_inflater **i, struct frag_error *err)
{
	if (!*i)
		*i = calloc(1, sizeof(**i));
	if (!*i)
		return frag_fail_nomem(err);
	if ((*i)->begun)
		return inflateReset(&(*i)->z) == Z_OK ? 0 : frag_fail_nomem(err);
	(*i)->begun = inflateInit2(&(*i)->z, 15 + 16) == Z_OK;
	return (*i)->begun ? 0 : frag_fail_nomem(err);
}

void frag_inflater_del(struct frag_inflater *i)
{
	if (i && i->begun)
		inflateEnd(&i->z);
	free(i);
}

/* Z_BUF_ERROR is not an error yet: more input is needed, and the caller has it or knows the end. */
const char *frag_inflater_step(struct frag_inflater *i, struct frag_inflate *step)
{
	z_stream *z = &i->z;
	const char *said;
	int rc;

	z->next_in = (unsigned char *)(uintptr_t)step->in;
	z->avail_in = (uInt)(step->in_end - step->in);
	z->next_out = (unsigned char *)step->out;
	z->avail_out = (uInt)step->space;
	rc = inflate(z, Z_NO_FLUSH);
	said = z->msg ? z->msg : "";
	step->got = step->space - z->avail_out;
	step->in = z->next_in;
	step->over = rc == Z_STREAM_END;
	if (rc == Z_OK || rc == Z_BUF_ERROR || rc == Z_STREAM_END)
		return NULL;
	return rc == Z_MEM_ERROR ? FRAG_INFLATE_NOMEM
	       : strcmp(said, "incorrect data check") == 0
		 || strcmp(said, "incorrect length check") == 0 ? wrong_check : wrong_data;
}

#endif
