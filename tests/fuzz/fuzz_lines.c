/* fuzz_lines.c - any bytes as lines of events, by both ways through their reader. */
#include "fuzz/two_ways.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	two_ways(data, size);
	return 0;
}
