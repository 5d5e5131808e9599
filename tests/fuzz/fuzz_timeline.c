/* fuzz_timeline.c - any bytes through the reader timeline. */
#include "fuzz/one_reader.h"

#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&frag_reader_timeline, data, size);
}
