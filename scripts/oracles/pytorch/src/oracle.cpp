/* oracle.cpp - runs PyTorch's own CUDA caching allocator on a trace of lines.
 *
 * The allocator is the libc10_cuda.so of a torch wheel, its device is
 * fake_cuda.cpp. Standard input has one event a line:
 *
 *   a ID SIZE STREAM [POOL]                 allocate, in a private pool where POOL is not 0
 *   f ID               free                 l POOL       the program is done with the pool
 *   b POOL [STREAM]    requests on that stream, or on all, go to the pool from now on
 *   x POOL             no longer
 *   r ID STREAM        record_stream        e            empty_cache
 *   s [STREAM]         the work on one stream, or on all, is done
 *   fraction X         set_per_process_memory_fraction
 *   conf STRING        settings from now on
 *   p                  print the heap
 *
 * and standard output one line an event, its columns named in the first line. Oracle N reads lines
 * "a ID SIZE" and "f ID", runs all of them N times and prints nothing, so that it can be timed.
 * ../README.md says what they mean. The settings of the start are where PyTorch
 * has them: in PYTORCH_CUDA_ALLOC_CONF.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#if TORCH_MINOR >= 10
#include <c10/core/AllocatorConfig.h>
#elif TORCH_MINOR >= 2
#include <c10/cuda/CUDAAllocatorConfig.h>
#endif
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#if TORCH_MINOR >= 11
#include <c10/cuda/PeerToPeerAccess.h>
#endif
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include "fake_cuda.h"

/* Exported by the library, but in no header of the wheel. */
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*)(c10::DeviceIndex));
}

namespace allocator = c10::cuda::CUDACachingAllocator;
using std::string;
using std::to_string;

/* TORCH_MINOR is the N of 2.N: what releases call otherwise is below. */
static auto segments_of_heap(void)
{
#if TORCH_MINOR >= 11
	return allocator::snapshot({0, 0}, false).segments;
#else
	return allocator::snapshot().segments;
#endif
}

static void set_settings(const string &text)
{
#if TORCH_MINOR >= 10
	c10::CachingAllocator::setAllocatorSettings(text);
#else
	allocator::setAllocatorSettings(text);
#endif
}

static void init_peers(void)
{
#if TORCH_MINOR >= 11
	c10::cuda::detail::init_p2p_access_cache(1);
#endif
}

static const uint64_t STREAM_BASE = 0x700000000000, STREAM_STEP = 0x100;

struct segment {
	uint64_t size;
	string   name;     /* S3: the fourth cudaMalloc; V1: the second address range */
	uint64_t page;     /* of a range, once pages were mapped; else 0 */
};

struct answer {
	string   where = "-", message;
	uint64_t address = 0;
};

/* What a snapshot of the heap comes to. */
struct sums {
	uint64_t free = 0, largest = 0, releasable = 0, blocks = 0;
};

static std::map<uint64_t, struct segment> segments;     /* by address */
static std::unordered_map<uint64_t, void *> live;       /* by id */

static cudaStream_t stream_of(uint64_t number)
{
	return number ? (cudaStream_t)(STREAM_BASE + STREAM_STEP * number) : nullptr;
}

static uint64_t number_of(const void *stream)
{
	return stream ? ((uint64_t)stream - STREAM_BASE) / STREAM_STEP : 0;
}

static std::map<uint64_t, struct segment>::iterator segment_at(uint64_t address)
{
	auto s = segments.upper_bound(address);

	if (s == segments.begin() || address - (--s)->first >= s->second.size) {
		fprintf(stderr, "oracle: an address in no segment: %#llx\n",
			(unsigned long long)address);
		_Exit(4);    /* PyTorch released what it still uses */
	}
	return s;
}

static string place_of(uint64_t address)
{
	auto s = segment_at(address);

	return s->second.name + "+" + to_string(address - s->first);
}

/* Calls of the device ------------------------------------------------------- */

static string obtained(const struct fake_record *r, char kind)
{
	static unsigned long mallocs, ranges;
	string name = kind + to_string(kind == 'S' ? mallocs++ : ranges++);

	segments[r->address] = {r->size, name, 0};
	return name;
}

static string forgotten(uint64_t address)
{
	auto s = segment_at(address);
	string name = s->second.name;

	segments.erase(s);
	return name;
}

/* Joins the map or unmap calls of neighbouring pages, from record *i on. */
static string pages(const struct fake_record *log, size_t count, size_t *i)
{
	const struct fake_record *first = &log[*i];
	uint64_t size = first->size;
	size_t j, last = *i;

	for (j = last + 1; j < count; j++) {
		if (log[j].call == first->call && log[j].address == first->address + size) {
			size += log[j].size;
			last = j;
		} else if (log[j].call != FAKE_RELEASE) {
			break;
		}
	}
	*i = last;
	if (first->call == FAKE_MAP)
		segment_at(first->address)->second.page = first->size;
	return (first->call == FAKE_MAP ? "m" : "u") + place_of(first->address) + ":"
	       + to_string(size);
}

static string call_text(const struct fake_record *log, size_t count, size_t *i)
{
	const struct fake_record *r = &log[*i];
	string size = to_string(r->size);

	switch (r->call) {
	case FAKE_MALLOC:
		return "+" + obtained(r, 'S') + ":" + size;
	case FAKE_MALLOC_FAIL:
		return "!" + size;
	case FAKE_FREE:
		return "-" + forgotten(r->address) + ":" + size;
	case FAKE_RESERVE:
		return "R" + obtained(r, 'V') + ":" + size;
	case FAKE_ADDRESS_FREE:
		return "X" + forgotten(r->address);
	case FAKE_CREATE_FAIL:
		return "!c:" + size;
	case FAKE_MAP:
	case FAKE_UNMAP:
		return pages(log, count, i);
	case FAKE_RELEASE:
		break;
	}
	return "";
}

static string calls_since_last_step(void)
{
	size_t count, i;
	const struct fake_record *log = fake_log(&count);
	string all;

	for (i = 0; i < count; i++) {
		string text = call_text(log, count, &i);

		if (!text.empty())
			all += (all.empty() ? "" : ",") + text;
	}
	fake_log_reset();
	return all.empty() ? "-" : all;
}

/* The heap ------------------------------------------------------------------ */

/* The bytes of the pages that lie whole between two offsets of a range. */
static uint64_t whole_pages(uint64_t from, uint64_t to, uint64_t page)
{
	uint64_t first = (from + page - 1) / page * page, last = to / page * page;

	return last > first ? last - first : 0;
}

static struct sums sum_up(void)
{
	struct sums sum;

	for (const auto &s : segments_of_heap()) {
		uint64_t at = s.address;
		bool idle = s.active_size == 0 && !s.is_expandable;

		for (const auto &b : s.blocks) {
			sum.blocks += b.allocated;
			if (!b.active) {
				sum.free += b.size;
				sum.largest = std::max<uint64_t>(sum.largest, b.size);
			}
			if (!b.active && s.is_expandable) {
				auto range = segment_at(at);

				sum.releasable += whole_pages(at - range->first,
							      at - range->first + b.size,
							      range->second.page);
			}
			at += b.size;
		}
		sum.releasable += idle ? s.total_size : 0;
	}
	return sum;
}

/* Segments by address; a range is cut where pages are not mapped. */
static void print_heap(void)
{
	auto all = segments_of_heap();

	std::stable_sort(all.begin(), all.end(), [](const auto &one, const auto &two) {
		return one.address < two.address;
	});
	for (const auto &s : all) {
		uint64_t at = s.address;

		printf("P %s %zu stream %llu %s%s\n", place_of(at).c_str(), s.total_size,
		       (unsigned long long)number_of(s.stream), s.is_large ? "large" : "small",
		       s.is_expandable ? " expandable" : "");
		for (const auto &b : s.blocks) {
			printf("P   %s %zu %s\n", place_of(at).c_str(), b.size,
			       b.allocated ? "allocated" : b.active ? "pending" : "free");
			at += b.size;
		}
	}
}

/* Events -------------------------------------------------------------------- */

/* Requests go to a private pool between these two. The pool is there from its first one on. */
static std::map<uint64_t, unsigned> pools_used;

/* Pools whose context is open between two lines, with the stream; UINT64_MAX: all streams. */
static std::map<uint64_t, uint64_t> contexts;

static bool is_inside(uint64_t pool, uint64_t stream)
{
	auto open = contexts.find(pool);

	return open != contexts.end()
	       && (open->second == UINT64_MAX || open->second == stream);
}

static void enter(uint64_t pool, uint64_t stream)
{
	if (pool == 0 || is_inside(pool, stream))
		return;
#if TORCH_MINOR >= 3
	(void)stream;
	allocator::get()->beginAllocateToPool(0, {0, pool}, [](cudaStream_t) { return true; });
#else
	allocator::get()->beginAllocateStreamToPool(0, stream_of(stream), {0, pool});
#endif
	pools_used[pool]++;
}

static void begin_pool(std::istream &in)
{
	uint64_t pool, stream;

	in >> pool;
	if (!(in >> stream))
		stream = UINT64_MAX;
	contexts[pool] = stream;
#if TORCH_MINOR >= 3
	allocator::get()->beginAllocateToPool(0, {0, pool}, [stream](cudaStream_t on) {
		return stream == UINT64_MAX || on == stream_of(stream);
	});
#else
	allocator::get()->beginAllocateStreamToPool(0, stream_of(stream), {0, pool});
#endif
#if TORCH_MINOR >= 13
	allocator::get()->markCaptureBegin(0);
#endif
	fake_capture(true);
	pools_used[pool]++;
}

static void end_pool(std::istream &in)
{
	uint64_t pool;

	in >> pool;
#if TORCH_MINOR >= 13
	allocator::get()->markCaptureEnd(0);
#endif
#if TORCH_MINOR >= 3
	allocator::get()->endAllocateToPool(0, {0, pool});
#else
	allocator::get()->endAllocateStreamToPool(0, stream_of(contexts[pool]));
#endif
	contexts.erase(pool);
	fake_capture(!contexts.empty());
}

static void leave(uint64_t pool, uint64_t stream)
{
	if (pool == 0 || is_inside(pool, stream))
		return;
#if TORCH_MINOR >= 3
	(void)stream;
	allocator::get()->endAllocateToPool(0, {0, pool});
#else
	allocator::get()->endAllocateStreamToPool(0, stream_of(stream));
#endif
}

/* As often as it was entered: each time counted as a user. */
static void let_go(std::istream &in)
{
	uint64_t pool;

	in >> pool;
	for (; pools_used[pool] > 0; pools_used[pool]--)
		allocator::get()->releasePool(0, {0, pool});
}

static void allocate(std::istream &in, struct answer *out)
{
	uint64_t id, size, stream, pool = 0;
	void *pointer;

	in >> id >> size >> stream;
	if (!in || live.count(id)) {
		fprintf(stderr, "oracle: a bad allocation, or of a live id\n");
		_Exit(2);
	}
	if (!(in >> pool))
		pool = 0;
	enter(pool, stream);
	try {
		pointer = allocator::get()->raw_alloc_with_stream(size, stream_of(stream));
		leave(pool, stream);
	} catch (const c10::OutOfMemoryError &e) {
		leave(pool, stream);
		out->where = "OOM";
		out->message = e.what_without_backtrace();
		return;
	}
	live[id] = pointer;
	out->address = (uint64_t)pointer;
	if (!pointer)
		out->where = "NULL";
}

/* What an id stands for; an id whose allocation failed has nothing. */
static void *pointer_of(std::istream &in, struct answer *out, uint64_t *id)
{
	in >> *id;
	if (live.count(*id) == 0) {
		out->where = "SKIP";
		return nullptr;
	}
	return live[*id];
}

static void release(std::istream &in, struct answer *out)
{
	uint64_t id;
	void *pointer = pointer_of(in, out, &id);

	if (live.erase(id) && pointer) {
		out->where = place_of((uint64_t)pointer);
		allocator::get()->raw_delete(pointer);
	}
}

static void record_stream(std::istream &in, struct answer *out)
{
	uint64_t id, stream;
	void *pointer = pointer_of(in, out, &id);

	in >> stream;
	if (!pointer)
		return;
	c10::DataPtr data(pointer, pointer, allocator::get()->raw_deleter(),
			  c10::Device(c10::kCUDA, 0));
	allocator::get()->recordStream(data,
				       c10::cuda::getStreamFromExternal(stream_of(stream), 0));
	data.release_context();
}

static void run_event(const string &op, std::istream &in, struct answer *out)
{
	uint64_t stream;
	double fraction;
	string text;

	if (op == "a") {
		allocate(in, out);
	} else if (op == "f") {
		release(in, out);
	} else if (op == "r") {
		record_stream(in, out);
	} else if (op == "l") {
		let_go(in);
	} else if (op == "b") {
		begin_pool(in);
	} else if (op == "x") {
		end_pool(in);
	} else if (op == "e") {
		allocator::emptyCache();
	} else if (op == "s" && in >> stream) {
		fake_sync_stream(stream_of(stream));
	} else if (op == "s") {
		fake_sync_all();
	} else if (op == "fraction" && in >> fraction) {
		allocator::setMemoryFraction(fraction, 0);
	} else if (op == "conf") {
		std::getline(in >> std::ws, text);
		set_settings(text);
	} else if (op != "p") {
		fprintf(stderr, "oracle: cannot read: %s\n", op.c_str());
		_Exit(2);
	}
}

static void print_step(const string &op, struct answer *out)
{
	static int64_t before;
	string calls = calls_since_last_step();
	auto stats = allocator::get()->getDeviceStats(0);
	int64_t allocated = stats.allocated_bytes[0].current;
	struct sums sum = sum_up();

	if (out->address)
		out->where = place_of(out->address);
	std::replace(out->message.begin(), out->message.end(), '\n', ' ');
	printf("%s %s %lld", op.c_str(), out->where.c_str(), (long long)(allocated - before));
	for (int64_t value : {allocated, stats.reserved_bytes[0].current,
			      stats.active_bytes[0].current, stats.inactive_split_bytes[0].current,
			      stats.requested_bytes[0].current, stats.segment[0].current,
			      (int64_t)stats.num_alloc_retries, (int64_t)stats.num_ooms,
			      (int64_t)sum.free, (int64_t)sum.largest, (int64_t)sum.releasable,
			      (int64_t)sum.blocks})
		printf(" %lld", (long long)value);
	printf(" %s%s%s\n", calls.c_str(), out->message.empty() ? "" : " # ",
	       out->message.c_str());
	before = allocated;
}

/* The end of the run: every statistic of all, of the small and of the large pool. */
static void print_statistics(void)
{
	static const char *const pools[] = {"all", "small_pool", "large_pool"};
	auto stats = allocator::get()->getDeviceStats(0);
	const struct {
		const char *name;
		const decltype(stats.active) *values;
	} table[] = {
		{"active", &stats.active},
		{"active_bytes", &stats.active_bytes},
		{"allocated_bytes", &stats.allocated_bytes},
		{"allocation", &stats.allocation},
		{"inactive_split", &stats.inactive_split},
		{"inactive_split_bytes", &stats.inactive_split_bytes},
		{"requested_bytes", &stats.requested_bytes},
		{"reserved_bytes", &stats.reserved_bytes},
		{"segment", &stats.segment},
	};
	const struct {
		const char *name;
		const decltype(stats.oversize_segments) *value;
	} oversize[] = {
		{"oversize_allocations", &stats.oversize_allocations},
		{"oversize_segments", &stats.oversize_segments},
	};

	for (const auto &row : table) {
		for (int pool = 0; pool < 3; pool++) {
			const auto &s = (*row.values)[pool];

			printf("Z %s.%s %lld %lld %lld %lld\n", row.name, pools[pool],
			       (long long)s.current, (long long)s.peak, (long long)s.allocated,
			       (long long)s.freed);
		}
	}
	for (const auto &row : oversize)
		printf("Z %s %lld %lld %lld %lld\n", row.name, (long long)row.value->current,
		       (long long)row.value->peak, (long long)row.value->allocated,
		       (long long)row.value->freed);
	printf("Z num_alloc_retries %lld\nZ num_ooms %lld\n", (long long)stats.num_alloc_retries,
	       (long long)stats.num_ooms);
#if TORCH_MINOR >= 3
	printf("Z num_device_alloc %lld\nZ num_device_free %lld\n",
	       (long long)stats.num_device_alloc, (long long)stats.num_device_free);
	printf("Z num_sync_all_streams %lld\n", (long long)stats.num_sync_all_streams);
#endif
}

static void start(void)
{
	c10::SetStackTraceFetcher([]() -> string { return ""; });
	c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
	init_peers();
	allocator::init(1);
	fake_log_reset();
}

[[noreturn]] static void refuse(const char *why)
{
	fprintf(stderr, "settings: %s\n", why);
	fflush(stderr);
	_Exit(3);
}

/* The blocks that are left at the end of one time are freed before the next. */
static void replay(int times)
{
	std::vector<std::pair<size_t, size_t>> events;  /* id, bytes; a free has 0 */
	std::vector<void *> blocks;
	string op;
	size_t id, bytes;

	while (std::cin >> op >> id) {
		bytes = 0;
		if (op == "a")
			std::cin >> bytes;
		events.emplace_back(id, bytes);
		blocks.resize(std::max(blocks.size(), id + 1));
	}
	for (; times > 0; times--) {
		for (const auto &[of, size] : events) {
			if (size)
				blocks[of] = allocator::get()->raw_alloc_with_stream(size, stream_of(0));
			else
				allocator::get()->raw_delete(std::exchange(blocks[of], nullptr));
		}
		for (void *&block : blocks)
			if (block)
				allocator::get()->raw_delete(std::exchange(block, nullptr));
		allocator::emptyCache();
		fake_log_reset();
	}
	_Exit(0);
}

int main(int argc, char **argv)
{
	string line, op;

	try {
		start();
	} catch (const c10::Error &e) {
		refuse(e.what_without_backtrace());
	} catch (const std::exception &e) {    /* std::stoi and the like */
		refuse(e.what());
	}
	if (argc > 1)
		replay(atoi(argv[1]));
	printf("# op where bytes allocated reserved active inactive_split requested segments"
	       " retries ooms free largest_free releasable blocks calls [# message]\n");
	while (std::getline(std::cin, line)) {
		std::istringstream in(line);
		struct answer out;

		if (!(in >> op))
			continue;
		try {
			run_event(op, in, &out);
		} catch (const c10::Error &e) {
			out.where = "ERR";
			out.message = e.what_without_backtrace();
		}
		print_step(op, &out);
		if (op == "p")
			print_heap();
		fflush(stdout);    /* a heap that PyTorch spoils may end the process */
	}
	print_statistics();
	fflush(stdout);
	_Exit(0);    /* the allocator does not survive its own destructors here */
}
