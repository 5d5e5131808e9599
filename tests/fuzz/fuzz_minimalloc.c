/* fuzz_minimalloc.c - any bytes through the reader minimalloc. */
#include "fuzz/one_reader.h"

#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&frag_reader_minimalloc, data, size);
}
