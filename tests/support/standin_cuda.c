/* standin_cuda.c - src/device/cuda.c, compiled for the stand-in's declarations. */
#include "device/cuda.c"
