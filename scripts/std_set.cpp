/* std_set.cpp - best fit as textbooks write it, with std::set: what the loop of fragsim is measured beside.
 *
 * std_set N < LINES: reads lines "a ID BYTES" and "f ID", runs them N times, and prints the highest end of a
 * block. It does less than fragsim: one heap without segments, and no metric but that end.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

struct event {
	uint32_t id;
	uint64_t bytes;         /* 0: a free */
};

struct block {
	uint64_t at, bytes;
};

class heap {
public:
	block take(uint64_t bytes)
	{
		auto fit = by_size.lower_bound({bytes, 0});

		if (fit == by_size.end()) {
			end += bytes;
			return {end - bytes, bytes};
		}
		const auto [size, at] = *fit;
		by_size.erase(fit);
		by_place.erase(at);
		if (size > bytes)
			add(at + bytes, size - bytes);
		return {at, bytes};
	}

	void give(block b)
	{
		auto next = by_place.lower_bound(b.at);

		if (next != by_place.end() && next->first == b.at + b.bytes) {
			b.bytes += next->second;
			by_size.erase({next->second, next->first});
			next = by_place.erase(next);
		}
		if (next != by_place.begin()) {
			const auto before = std::prev(next);

			if (before->first + before->second == b.at) {
				b = {before->first, before->second + b.bytes};
				by_size.erase({before->second, before->first});
				by_place.erase(before);
			}
		}
		add(b.at, b.bytes);
	}

	uint64_t end = 0;

private:
	void add(uint64_t at, uint64_t bytes)
	{
		by_size.emplace(bytes, at);
		by_place.emplace(at, bytes);
	}

	std::set<std::pair<uint64_t, uint64_t>> by_size;        /* free blocks: bytes, place */
	std::map<uint64_t, uint64_t> by_place;
};

int main(int argc, char **argv)
{
	std::vector<event> events;
	std::vector<block> live;
	unsigned long long bytes;
	char line[64], op;
	uint64_t end = 0;
	unsigned id;

	while (fgets(line, sizeof(line), stdin)) {
		bytes = 0;
		if (sscanf(line, "%c %u %llu", &op, &id, &bytes) < 2)
			return 2;
		events.push_back({id, (bytes + 511) / 512 * 512});
		if (id >= live.size())
			live.resize(id + 1);
	}
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		heap h;

		for (const event &e : events)
			if (e.bytes)
				live[e.id] = h.take(e.bytes);
			else
				h.give(live[e.id]);
		end = h.end;
	}
	printf("%llu\n", (unsigned long long)end);
}
