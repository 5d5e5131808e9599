/* top_n.h - those of many that a report shows: the highest. */
#ifndef ANSWERS_TOP_N_H
#define ANSWERS_TOP_N_H

#include <stdint.h>

#define FRAG_WORST_MAX 5

/*
 * The indexes of the elements with the highest value, earlier ones before later
 * ones of equals; how many they are.
 */
uint32_t frag_top_indexes(uint32_t worst[FRAG_WORST_MAX], const void *list, uint32_t count,
		    double (*value)(const void *list, uint32_t i));

#endif
