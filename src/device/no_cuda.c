/* no_cuda.c - replaces cuda.c in a build without CUDA: there are no calls. */
#include "device/cuda.h"

#include <stddef.h>

const struct frag_cuda_calls frag_cuda = { .words = NULL };
