/*
 * driver.cpp - TensorFlow's own BFC allocator, event by event (../common/books.py has the lines).
 *
 *     driver ROOM GRANULARITY LIMIT GROWTH GC FRACTION < EVENTS
 *
 * Below tsl::BFCAllocator is a device that keeps a ledger and gives out addresses with nothing
 * behind them: always higher ones, never two regions that touch. ROOM is what it has for this
 * program, GRANULARITY what it rounds a region up to; the others are the allocator's own: bytes,
 * 0 or 1, 0 or 1, a real number.
 *
 * TensorFlow 2.21 asks for ever for the same 2,304 bytes or less where the device goes on to refuse
 * them; later sources step down by 256, and come to an end. The device then jumps out of the
 * allocator, which has changed nothing so far but the lock that it holds, and what would have
 * come next is called from here: the smaller regions, the collection, and after it a region again.
 */
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

/* what the next header includes, which must not see its `private` */
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "xla/tsl/framework/allocator.h"
#include "xla/tsl/framework/allocator_retry.h"
#include "xla/tsl/framework/shared_counter.h"
#include "xla/tsl/platform/logging.h"
#define private public
#include "xla/tsl/framework/bfc_allocator.h"
#undef private

namespace {

constexpr uint64_t kFirst = UINT64_C(1) << 40;
constexpr uint64_t kGap = UINT64_C(2) << 20;

uint64_t RoundUp(uint64_t x, uint64_t m) { return (x + m - 1) / m * m; }

/* The fake device, and the log of what it was asked for. */
struct Ledger {
    uint64_t room, granularity, most = UINT64_MAX;
    uint64_t used = 0, next = kFirst, refused = 0;
    bool collected;
    std::string calls;
    std::jmp_buf out;

    bool Has(uint64_t bytes) const {
        const uint64_t sum = used + RoundUp(bytes, granularity);
        return sum <= room && sum <= most;
    }

    void* Obtain(uint64_t bytes) {
        if (!Has(bytes)) {
            if (bytes == refused) std::longjmp(out, 1);
            refused = bytes;
            calls += " !" + std::to_string(bytes);
            return nullptr;
        }
        const uint64_t address = next;
        next += RoundUp(bytes, kGap) + kGap;
        used += RoundUp(bytes, granularity);
        calls += " +" + std::to_string(address) + ":" + std::to_string(bytes);
        return reinterpret_cast<void*>(address);
    }

    void GiveBack(void* region, uint64_t bytes) {
        collected = true;
        used -= RoundUp(bytes, granularity);
        calls += " -" + std::to_string(reinterpret_cast<uint64_t>(region));
    }
};

class Device : public tsl::SubAllocator {
  public:
    explicit Device(Ledger* ledger) : SubAllocator({}, {}), ledger_(ledger) {}
    void* Alloc(size_t, size_t bytes, size_t* received) override {
        *received = bytes;
        return ledger_->Obtain(bytes);
    }
    void Free(void* region, size_t bytes) override { ledger_->GiveBack(region, bytes); }
    bool SupportsCoalescing() const override { return false; }
    tsl::AllocatorMemoryType GetMemoryType() const override {
        return tsl::AllocatorMemoryType::kDevice;
    }

  private:
    Ledger* ledger_;
};

/* As a GPU's device asks where it does not wait for others to free something. */
void* AllocateOnce(tsl::BFCAllocator* bfc, size_t bytes) {
    static const tsl::AllocationAttributes once(false, false, nullptr);
    return bfc->AllocateRaw(64, bytes, once);
}

/* What later sources do after a refusal of so few bytes; says whether there is a new region. */
bool StepDown(tsl::BFCAllocator* bfc, Ledger* ledger, size_t need, size_t before) {
    for (size_t bytes = ledger->refused - 256; bytes >= need; bytes -= 256) {
        if (!ledger->Has(bytes)) {
            ledger->calls += " !" + std::to_string(bytes);
            continue;
        }
        const size_t region = bfc->curr_region_allocation_bytes_;
        bfc->curr_region_allocation_bytes_ = bytes;
        bfc->Extend(64, need);
        bfc->curr_region_allocation_bytes_ = region > before ? region : 2 * region;
        return true;
    }
    return false;
}

void* Allocate(tsl::BFCAllocator* bfc, Ledger* ledger, size_t bytes) {
    const size_t need = tsl::BFCAllocator::RoundedBytes(bytes);
    const size_t before = bfc->curr_region_allocation_bytes_;
    ledger->refused = 0;
    ledger->collected = false;
    if (!setjmp(ledger->out)) return AllocateOnce(bfc, bytes);
    bool extended = StepDown(bfc, ledger, need, before);
    if (!extended && !ledger->collected && bfc->DeallocateFreeRegions(need)) {
        ledger->refused = 0;
        if (!setjmp(ledger->out))
            extended = bfc->Extend(64, need);
        else
            extended = StepDown(bfc, ledger, need, before);
    }
    bfc->mutex_.unlock();
    return extended ? AllocateOnce(bfc, bytes) : nullptr;
}

}  // namespace

int main(int count, char** args) {
    if (count != 7) return 2;
    Ledger ledger;
    ledger.room = std::strtoull(args[1], nullptr, 10);
    ledger.granularity = std::strtoull(args[2], nullptr, 10);
    tsl::BFCAllocator::Options options;
    options.allow_growth = args[4][0] == '1';
    options.allow_retry_on_failure = false;
    options.garbage_collection = args[5][0] == '1';
    options.fragmentation_fraction = std::strtod(args[6], nullptr);
    auto* bfc = new tsl::BFCAllocator(std::make_unique<Device>(&ledger),
                                      std::strtoull(args[3], nullptr, 10), "bfc", options);
    std::map<long long, void*> live;
    char op;
    std::puts("i");
    std::fflush(stdout);
    while (std::scanf(" %c", &op) == 1) {
        std::string answer(1, op);
        long long number = 0, stream;
        size_t bytes;
        ledger.calls.clear();
        if (op == 'a') {
            if (std::scanf("%lld %zu %lld", &number, &bytes, &stream) != 3) return 2;
            void* place = Allocate(bfc, &ledger, bytes);
            answer += " " + std::to_string(number) + " ";
            answer += place ? std::to_string(reinterpret_cast<uint64_t>(place)) + " " +
                                  std::to_string(bfc->AllocatedSize(place))
                            : "OOM";
            if (place) live[number] = place;
        } else if (op == 'f') {
            if (std::scanf("%lld", &number) != 1 || !live.count(number)) return 2;
            bfc->DeallocateRaw(live[number]);
            live.erase(number);
            answer += " " + std::to_string(number);
        } else if (op == 'c') {
            if (std::scanf("%lld", &number) != 1) return 2;
            ledger.most = number < 0 ? UINT64_MAX : number;
        } else if (op != 'e') {     /* of which it has no notion */
            return 2;
        }
        std::puts((answer + ledger.calls).c_str());
        std::fflush(stdout);
    }
    std::_Exit(0);
}
