/* test_no_cuda.c - a build without CUDA says so, and how to change that. */
#include <string.h>

#include "device/gpu.h"
#include "support/unit.h"

/* Linked to the library alone, which has no_cuda.c. */
static void test_open(void **state)
{
	struct frag_error err = { .code = 0 };
	struct frag_gpu *gpus[1] = { NULL };
	const uint32_t first = 0;

	(void)state;
	assert_int_equal(frag_gpu_open(gpus, &first, 1, UINT64_MAX, false, &err), -FRAG_EDEVICE);
	assert_int_equal(frag_error_status(err.code), 5);
	assert_non_null(strstr(err.message, "built without CUDA"));
	assert_non_null(strstr(err.message, "WITH_CUDA=yes"));
	assert_null(gpus[0]);
	assert_int_equal(frag_gpu_close(gpus, 0, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
