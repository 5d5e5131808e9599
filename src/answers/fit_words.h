/* fit_words.h - words that several forms of a fit share. */
#ifndef ANSWERS_FIT_WORDS_H
#define ANSWERS_FIT_WORDS_H

#include "base/format.h"
#include "search/fit_all.h"

#define FRAG_FIT_NAME_ROOM 600
/* The setting as one pastes it, or the policy; "... @1" where there are several devices. */
const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM]);

/* "2958 MiB", "1.50 GiB" is no capacity: the largest unit that it is a whole number of. */
char *frag_capacity_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes);

/* A device that was given, which a card's name may have done: rounded where it is no whole MiB. */
char *frag_device_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes);

/* How far the smallest device is above the floor, in percent. */
double frag_fit_above_floor(const struct frag_fit *fit);

#define CAPACITY(bytes) frag_capacity_text((char[FRAG_NUMBER_ROOM]){ 0 }, (bytes))
#define DEVICE(bytes) frag_device_text((char[FRAG_NUMBER_ROOM]){ 0 }, (bytes))

#endif
