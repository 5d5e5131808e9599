/*
 * driver.cpp - RMM's pool_memory_resource over a made-up device, one line of answer a line.
 *
 *     driver ROOM GRANULARITY INITIAL MAXIMUM      (MAXIMUM 0: none)
 *
 * common/books.py has the lines. The pool is librmm.so's own; below it is a callback resource that
 * keeps totals and gives out addresses with nothing behind them, and in place of the CUDA runtime
 * are the few functions at the end, for events and streams, as the pool's lists are kept by these.
 * Events get rising handles, so that the pool goes through its streams in the order in which they
 * came. What librmm.so itself asks its own copy of the runtime fails, and is let pass (NDEBUG).
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include <rmm/mr/callback_memory_resource.hpp>
#include <rmm/mr/detail/pool_memory_resource_impl.hpp>

namespace {

struct Device {
	uint64_t room, granularity, cap = UINT64_MAX, used = 0, next = UINT64_C(1) << 40;
	std::string calls;

	uint64_t booked(uint64_t bytes) const
	{
		return (bytes + granularity - 1) / granularity * granularity;
	}
	void *obtain(uint64_t bytes)
	{
		const uint64_t take = booked(bytes), at = next;

		if (take > room - used || used + take > cap) {
			calls += " !" + std::to_string(bytes);
			throw rmm::out_of_memory("the device refuses");
		}
		used += take;
		next += (bytes + (2 << 20)) / (2 << 20) * (2 << 20) + (2 << 20);
		calls += " +" + std::to_string(at) + ":" + std::to_string(bytes);
		return reinterpret_cast<void *>(at);
	}
	void give_back(void *p, uint64_t bytes)
	{
		used -= booked(bytes);
		calls += " -" + std::to_string(reinterpret_cast<uint64_t>(p));
	}
	/* what was called since the last answer ends this one */
	void answer(const std::string &text)
	{
		printf("%s%s\n", text.c_str(), calls.c_str());
		fflush(stdout);
		calls.clear();
	}
};

struct Live {
	void *at;
	uint64_t bytes;
	cudaStream_t stream;
};

/* 0 is the default stream; the handles 1 and 2 are taken by CUDA. */
cudaStream_t stream_of(uint64_t number)
{
	return reinterpret_cast<cudaStream_t>(number ? number + 16 : 0);
}

using Pool = rmm::mr::detail::pool_memory_resource_impl;

void serve(Pool &pool, Device &device)
{
	std::map<uint64_t, Live> live;
	uint64_t number, bytes, stream;
	int64_t cap;
	char op;

	while (scanf(" %c", &op) == 1) {
		if (op == 'a') {
			if (scanf("%" SCNu64 " %" SCNu64 " %" SCNu64, &number, &bytes, &stream) != 3)
				exit(2);
			std::string text = "a " + std::to_string(number) + " ";
			try {
				void *p = pool.allocate(cuda::stream_ref{stream_of(stream)}, bytes, 256);

				live[number] = Live{p, bytes, stream_of(stream)};
				text += std::to_string(reinterpret_cast<uint64_t>(p)) + " "
					+ std::to_string((bytes + 255) / 256 * 256);
			} catch (const rmm::out_of_memory &) {
				text += "OOM";
			}
			device.answer(text);
		} else if (op == 'f') {
			if (scanf("%" SCNu64, &number) != 1)
				exit(2);
			const Live it = live.at(number);

			live.erase(number);
			pool.deallocate(cuda::stream_ref{it.stream}, it.at, it.bytes, 256);
			device.answer("f " + std::to_string(number));
		} else if (op == 'c') {
			if (scanf("%" SCNd64, &cap) != 1)
				exit(2);
			device.cap = cap < 0 ? UINT64_MAX : static_cast<uint64_t>(cap);
			device.answer("c");
		} else {
			device.answer(std::string(1, op));
		}
	}
}

} // namespace

int main(int count, char **word)
{
	static Device device;
	std::optional<std::size_t> maximum;

	if (count != 5)
		return 2;
	device.room = strtoull(word[1], nullptr, 10);
	device.granularity = strtoull(word[2], nullptr, 10);
	if (strtoull(word[4], nullptr, 10))
		maximum = strtoull(word[4], nullptr, 10);
	rmm::mr::callback_memory_resource upstream(
		[](std::size_t bytes, cuda::stream_ref, void *) { return device.obtain(bytes); },
		[](void *p, std::size_t bytes, cuda::stream_ref, void *) { device.give_back(p, bytes); });
	try {
		auto *pool = new Pool(upstream, strtoull(word[3], nullptr, 10), maximum);

		device.answer("i");
		serve(*pool, device);
	} catch (const rmm::out_of_memory &) {
		device.answer("i OOM");
	}
	fflush(stdout);
	_Exit(0);       /* the pool's end would wait for events of its own runtime */
}

/* In place of the CUDA runtime, for the part of the pool that is in its headers. */
extern "C" {
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
	static uint64_t next = 4096;

	*event = reinterpret_cast<cudaEvent_t>(next++);
	return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	/* 0 is also what librmm.so has noted for it, where it began with an initial pool */
	*id = stream == cudaStreamLegacy ? 0 : reinterpret_cast<unsigned long long>(stream);
	return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
	return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t CUDARTAPI cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t CUDARTAPI cudaGetLastError() { return cudaSuccess; }
const char *CUDARTAPI cudaGetErrorName(cudaError_t) { return "error"; }
const char *CUDARTAPI cudaGetErrorString(cudaError_t) { return "error"; }
}
