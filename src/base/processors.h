/* processors.h - how many processors there are for this process. */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

#include <stdint.h>

/* At least 1; fewer than the machine has where the process may not use them all (taskset). */
uint32_t frag_processors(void);

#endif
