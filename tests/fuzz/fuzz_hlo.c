/* fuzz_hlo.c - any bytes through the reader hlo. */
#include "fuzz/one_reader.h"

#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&frag_reader_hlo, data, size);
}
