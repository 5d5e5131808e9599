# naive_policies.py - the device (fragsim-lines(5), Members of a device) and the policies (fragsim-policies(7)) of naive.py
"""Lists of segments, lists of blocks, linear searches: as plain as the text that they follow."""

import math
import struct

from naive_trace import parse_size

COUNTS = ["allocs", "frees", "hits", "segment_allocs", "segment_frees", "splits", "merges",
          "retries", "ooms", "skipped"]


def round_up(x, m):
    """The least multiple of m that is at least x (fragsim-policies(7))."""
    return (x + m - 1) // m * m


def power_of_two_at_least(x):
    power = 1
    while power < x:
        power *= 2
    return power


# ---- the device (fragsim-lines(5), Members of a device) ------------------------------------------------------------------------

class Device:
    """A ledger of whole segments."""

    def __init__(self, ordinal, figures):
        self.ordinal = ordinal
        self.total = parse_size(figures.get("total_bytes", 0))
        self.context = parse_size(figures.get("context_bytes", 0))
        self.other = parse_size(figures.get("other_bytes", 0))
        self.granularity = parse_size(figures.get("granularity_bytes", 2097152))
        self.fraction = 1.0
        self.held = []          # the rounded bytes of every segment held

    def used(self):
        return sum(self.held)

    def free(self):
        """device_free; None on an unlimited device."""
        if self.total == 0:
            return None
        return self.total - self.context - self.other - self.used()

    def process_used(self):
        return self.context + self.used()

    def limit(self):
        """What set_fraction allows; None: all."""
        if self.total and self.fraction < 1.0:
            return math.floor(self.fraction * float(self.total))
        return None

    def headroom(self):
        """Of a limited device: bytes that it would give."""
        limit = self.limit()
        return self.free() if limit is None else min(self.free(), limit - self.used())

    def take(self, size):
        """Whether the device gives a segment of so many bytes."""
        used = self.used() + round_up(size, self.granularity)
        if self.total and self.context + self.other + used > self.total:
            return False
        if self.limit() is not None and used > self.limit():
            return False
        self.held.append(round_up(size, self.granularity))
        return True

    def give_back(self, size):
        self.held.remove(round_up(size, self.granularity))


# ---- the policies (fragsim-policies(7)) ----------------------------------------------------------------

FREE, ALLOCATED, PENDING = "free", "allocated", "pending"


class Block:
    def __init__(self, segment, offset, size):
        self.segment = segment
        self.offset = offset
        self.bytes = size
        self.state = FREE
        self.requested = 0
        self.stream = None      # rmm only

    def address(self):
        return (self.segment.ordinal, self.offset)


class Segment:
    def __init__(self, ordinal, size, pool):
        self.ordinal = ordinal
        self.bytes = size
        self.pool = pool
        self.initial = False    # the `pool` of a policy, or all are kept: never released
        self.stream = None      # cupy only
        self.slab = False       # sizeclass only: a slab, and the class that it is carved for
        self.carved = None
        self.blocks = [Block(self, 0, size)]

    def releasable(self):
        return not self.initial and all(block.state == FREE for block in self.blocks)


class OutOfMemory(Exception):
    pass


class Policy:
    """What all policies share: the segments held, and the calls to the device."""

    def __init__(self, name, params, device):
        self.name = name
        self.params = params
        self.device = device
        self.segments = []      # in ascending order of ordinal
        self.obtained = 0       # so far; the next ordinal
        self.asked = 0          # what the device was last asked for
        self.stream = None      # that the request comes from
        self.counts = {key: 0 for key in COUNTS}
        self.high = {"reserved": 0, "segments": 0, "process_used": device.process_used()}
        self.begin_step()

    def begin_step(self):
        self.new = []           # segments obtained in this step
        self.released = []      # ordinals given back in this step

    def reserved(self):
        return sum(segment.bytes for segment in self.segments)

    def obtain(self, size, pool):
        """Ask the device once; None when it refuses."""
        self.asked = size
        if not self.device.take(size):
            return None
        segment = Segment(self.obtained, size, pool)
        self.obtained += 1
        self.segments.append(segment)
        self.new.append(segment)
        self.counts["segment_allocs"] += 1
        # These three have their peaks within a step (fragsim-result(5), Metrics), and only here do they grow.
        self.high["reserved"] = max(self.high["reserved"], self.reserved())
        self.high["segments"] = max(self.high["segments"], len(self.segments))
        self.high["process_used"] = max(self.high["process_used"], self.device.process_used())
        return segment

    def obtain_or_retry(self, size, pool, release=True):
        """Ask, and once more after giving back what can be given back."""
        segment = self.obtain(size, pool)
        if segment is None and release:
            self.release_all()
            self.counts["retries"] += 1
            segment = self.obtain(size, pool)
        if segment is None:
            raise OutOfMemory
        return segment

    def begins_with(self):
        """The bytes that are obtained before the first step."""
        return self.params.get("pool", 0)

    def obtain_initial_pool(self):
        """fragsim-policies(7), bestfit rule 6: one segment before the first step, on no line of the placements."""
        if self.begins_with() == 0:
            return
        segment = self.obtain(self.begins_with(), 0)
        if segment is None:
            raise OutOfMemory
        self.keep(segment)

    def keep(self, initial):
        initial.initial = True

    def release(self, segment):
        self.segments.remove(segment)
        self.device.give_back(segment.bytes)
        self.released.append(segment.ordinal)
        self.counts["segment_frees"] += 1

    def release_all(self):
        for segment in list(self.segments):
            if segment.releasable():
                self.release(segment)

    def free_blocks(self, pool):
        """In ascending order of address."""
        return [block for segment in self.segments if segment.pool == pool
                for block in segment.blocks if block.state == FREE]

    def split(self, block, lower_bytes):
        """Cut a free block in two; the upper part is a free block of its own."""
        blocks = block.segment.blocks
        upper = Block(block.segment, block.offset + lower_bytes, block.bytes - lower_bytes)
        blocks.insert(blocks.index(block) + 1, upper)
        block.bytes = lower_bytes
        self.counts["splits"] += 1

    def merge(self, lower, upper):
        """Join two free neighbours into the lower one."""
        lower.segment.blocks.remove(upper)
        lower.bytes += upper.bytes
        self.counts["merges"] += 1

    def empty_cache(self):
        self.release_all()

    def alloc(self, size, pool, stream):
        """A block for a request of at least one byte, marked as allocated."""
        self.stream = stream
        block = self.choose(size, pool)
        block.state = ALLOCATED
        block.requested = size
        return block

    def free(self, block):
        block.state = FREE
        self.freed(block)

    def looks_at(self, segment, size, pool):
        """Could a request of so many bytes be served from such a segment, were it free?"""
        return segment.pool == pool

    def own_limit(self):
        """Bytes that it may reserve whatever the device has; None: no limit."""
        return None

    def choose(self, size, pool):
        raise NotImplementedError

    def freed(self, block):
        raise NotImplementedError


class Fit(Policy):
    """fragsim-policies(7), bestfit."""

    def __init__(self, name, params, device):
        super().__init__(name, params, device)
        self.rover = (0, 0)     # one for all pools

    def choose(self, size, pool):
        need = round_up(size, self.params["align"])
        fitting = [block for block in self.free_blocks(pool) if block.bytes >= need]
        if fitting:
            block = self.pick(fitting)
        else:
            size = round_up(need, self.params["segment"])
            block = self.obtain_or_retry(size, pool, self.params["release"]).blocks[0]
        if block.bytes - need >= self.params["min_split"]:
            self.split(block, need)
        self.rover = (block.segment.ordinal, block.offset + block.bytes)
        return block

    def pick(self, fitting):
        if self.name == "bestfit":
            return min(fitting, key=lambda block: (block.bytes, block.address()))
        if self.name == "worstfit":
            return min(fitting, key=lambda block: (-block.bytes, block.address()))
        if self.name == "nextfit":
            ahead = [block for block in fitting if block.address() >= self.rover]
            fitting = ahead or fitting
        return min(fitting, key=lambda block: block.address())

    def freed(self, block):
        blocks = block.segment.blocks
        place = blocks.index(block)
        if place + 1 < len(blocks) and blocks[place + 1].state == FREE:
            self.merge(block, blocks[place + 1])
        if place > 0 and blocks[place - 1].state == FREE:
            self.merge(blocks[place - 1], block)


class Buddy(Policy):
    """fragsim-policies(7), buddy."""

    def choose(self, size, pool):
        need = power_of_two_at_least(max(size, self.params["min"]))
        fitting = [block for block in self.free_blocks(pool) if block.bytes >= need]
        if fitting:
            block = min(fitting, key=lambda block: (block.bytes, block.address()))
        else:
            size = max(self.params["segment"], need)
            block = self.obtain_or_retry(size, pool).blocks[0]
        while block.bytes > need:
            self.split(block, block.bytes // 2)
        return block

    def freed(self, block):
        while block.bytes < block.segment.bytes:
            buddy = [other for other in block.segment.blocks
                     if other.offset == block.offset ^ block.bytes
                     and other.bytes == block.bytes and other.state == FREE]
            if not buddy:
                return
            lower, upper = sorted([block, buddy[0]], key=lambda block: block.offset)
            self.merge(lower, upper)
            block = lower


class SizeClass(Policy):
    """fragsim-policies(7), sizeclass."""

    def size_class(self, size):
        """The least class that is at least size, by going through the classes one by one."""
        candidate = spacing = self.params["quantum"]
        top = spacing * self.params["steps"]
        while candidate < size:
            if candidate == top:    # here begins a doubling, of `steps` evenly spaced classes
                spacing = top // self.params["steps"]
                top *= 2
            candidate += spacing
        return candidate

    def choose(self, size, pool):
        need = self.size_class(size)
        if need <= self.params["max_small"]:
            return self.choose_slot(need, pool)
        size = round_up(need, self.params["segment"])
        for segment in self.segments:
            if (segment.pool == pool and not segment.slab and segment.bytes == size
                    and segment.blocks[0].state == FREE):
                return segment.blocks[0]
        return self.obtain_or_retry(size, pool).blocks[0]

    def looks_at(self, segment, size, pool):
        return (segment.pool == pool and not segment.slab
                and self.size_class(size) > self.params["max_small"])

    def choose_slot(self, need, pool):
        slabs = [segment for segment in self.segments if segment.slab and segment.pool == pool]
        for slab in slabs:
            if slab.carved == need:
                for slot in slab.blocks:
                    if slot.state == FREE:
                        return slot
        empty = [slab for slab in slabs if slab.carved is None]
        if empty:
            slab = empty[0]
        else:
            slab = self.obtain_or_retry(self.params["slab"], pool)
            slab.slab = True
        slab.carved = need
        slab.blocks = [Block(slab, i * need, need) for i in range(slab.bytes // need)]
        return slab.blocks[0]

    def freed(self, block):
        segment = block.segment
        if segment.slab and all(slot.state == FREE for slot in segment.blocks):
            segment.carved = None
            segment.blocks = [Block(segment, 0, segment.bytes)]


class Tlsf(Policy):
    """fragsim-policies(7), tlsf: lists of free blocks by class, the one freed last first.

    A real one keeps a header of 8 bytes in each block; scripts/oracles/tlsf gives this very class
    its figures, and holds it against one."""

    UNIT, HEADER, LEAST = 512, 0, 512

    def __init__(self, name, params, device):
        super().__init__(name, params, device)
        self.lists = {}         # pool and where a class begins: free blocks, the first in front

    def classes(self):
        """Where classes begin, in ascending order, without an end."""
        start, count = 0, 2 ** self.params["sl_log2"]
        step = self.UNIT
        while True:
            for _ in range(count):
                yield start
                start += step
            # the first doubling that is cut into more than one size a class
            step = step if start == count * self.UNIT else step * 2

    def class_of(self, size):
        last = 0
        for start in self.classes():
            if start > size:
                return last
            last = start

    def class_for(self, size):
        return next(start for start in self.classes() if start >= size)

    def enter(self, block):
        start = self.class_of(block.bytes - self.HEADER)
        self.lists.setdefault((block.segment.pool, start), []).insert(0, block)

    def leave(self, block):
        next(blocks for blocks in self.lists.values() if block in blocks).remove(block)

    def obtain(self, size, pool):
        segment = super().obtain(size, pool)
        if segment is not None:
            self.enter(segment.blocks[0])
        return segment

    def release(self, segment):
        self.leave(segment.blocks[0])
        super().release(segment)

    def choose(self, size, pool):
        need = max(round_up(size, self.UNIT), self.LEAST)
        least = self.class_for(need)
        starts = sorted(start for (owner, start), blocks in self.lists.items()
                        if owner == pool and start >= least and blocks)
        if starts:
            block = self.lists[pool, starts[0]][0]
        else:
            size = round_up(least + self.HEADER, self.params["segment"])
            block = self.obtain_or_retry(size, pool).blocks[0]
        self.leave(block)
        if block.bytes - self.HEADER - need >= self.LEAST + self.HEADER:
            self.split(block, need + self.HEADER)
            self.enter(block.segment.blocks[block.segment.blocks.index(block) + 1])
        return block

    def freed(self, block):
        blocks = block.segment.blocks
        place = blocks.index(block)
        if place > 0 and blocks[place - 1].state == FREE:
            self.leave(blocks[place - 1])
            block = blocks[place - 1]
            self.merge(block, blocks[place])
            place -= 1
        if place + 1 < len(blocks) and blocks[place + 1].state == FREE:
            self.leave(blocks[place + 1])
            self.merge(block, blocks[place + 1])
        self.enter(block)


def single(x):
    """The nearest number of 32 bits."""
    return struct.unpack("f", struct.pack("f", x))[0]


class Bfc(Fit):
    """fragsim-policies(7), bfc."""

    def __init__(self, name, params, device):
        super().__init__(name, params, device)
        self.limit = params["memory_limit"] or device.total or math.inf
        self.region = 2 << 20
        if self.limit < (math.inf if not params["allow_growth"] else self.region):
            self.region = round_up(self.limit, 256)

    def obtain(self, size, pool):
        segment = super().obtain(size, pool)
        if segment:
            segment.initial = not self.params["garbage_collection"]
        return segment

    def own_limit(self):
        return self.params["memory_limit"] or None

    def release_all(self):
        """Nobody can ask for it."""

    def choose(self, size, pool):
        need = round_up(size, 256)
        fitting = [block for block in self.free_blocks(pool) if block.bytes >= need]
        if fitting:
            block = min(fitting, key=lambda block: (block.bytes, block.address()))
        else:
            block = self.new_region(need, pool).blocks[0]
        rest = block.bytes - need
        if rest and (rest >= need or rest >= self.least_rest()):
            self.split(block, need)
        return block

    def least_rest(self):
        fraction = self.params["fragmentation_fraction"]
        if not fraction:
            return 128 << 20
        return math.inf if self.limit == math.inf else int(fraction * self.limit)

    def new_region(self, need, pool):
        segment = self.extend(need, pool)
        if segment is None and self.collect(need):
            segment = self.extend(need, pool)
        if segment is None:
            raise OutOfMemory
        return segment

    def collect(self, need):
        unused = [segment for segment in self.segments if segment.releasable()]
        room = self.limit - self.reserved() + sum(segment.bytes for segment in unused)
        if not unused or room < need:
            return False
        self.counts["retries"] += 1
        for segment in unused:
            self.release(segment)
        return True

    def extend(self, need, pool):
        left = self.limit - self.reserved()
        if need > left:
            self.asked = need
            return None
        before = self.region
        while self.region < need:
            self.region *= 2
        sizes = self.sizes(self.region if self.region <= left else left // 256 * 256, need)
        for number, size in enumerate(sizes):
            self.counts["retries"] += number == 1
            segment = self.obtain(size, pool)
            if segment:
                self.region *= 2 if self.region == before else 1
                return segment
        return None

    @staticmethod
    def sizes(size, need):
        """What is asked for, one after the other, as long as it is refused."""
        sizes = []
        while size >= need:
            sizes.append(size)
            less = round_up(int(single(single(size) * single(0.9))), 256)
            size = less if less < size else size - 256
        return sizes


class Direct(Policy):
    """fragsim-policies(7), direct. Nothing is ever releasable, so there is no second try."""

    def choose(self, size, pool):
        size = round_up(size, self.device.granularity)
        return self.obtain_or_retry(size, pool, release=False).blocks[0]

    def freed(self, block):
        self.release(block.segment)


class Plan(Fit):
    """fragsim-policies(7), plan, without a file: bestfit with its defaults. tests/commands/plan has files."""

    def choose(self, size, pool):
        own, self.params = self.params, {"align": 512, "segment": 2 << 20, "min_split": 512,
                                         "release": True}
        try:
            return super().choose(size, pool)
        finally:
            self.params = own

    def pick(self, fitting):
        return min(fitting, key=lambda block: (block.bytes, block.address()))


class Cupy(Fit):
    """fragsim-policies(7), cupy. Blocks merge as those of bestfit; segments are of one stream."""

    def choose(self, size, pool):
        need = round_up(size, 512)
        fitting = [block for block in self.free_blocks(pool)
                   if block.bytes >= need and block.segment.stream == self.stream]
        if fitting:
            block = min(fitting, key=lambda block: (block.bytes, block.address()))
        else:
            block = self.obtain_within(need, pool).blocks[0]
            block.segment.stream = self.stream
        if block.bytes > need:
            self.split(block, need)
        return block

    def looks_at(self, segment, size, pool):
        return segment.pool == pool and segment.stream == self.stream

    def obtain_within(self, size, pool):
        limit = self.params["limit"] or math.inf
        if size <= limit < self.reserved() + size:
            self.release_all()
        if self.reserved() + size > limit:
            self.asked = size
            raise OutOfMemory
        return self.obtain_or_retry(size, pool)


class Rmm(Policy):
    """fragsim-policies(7), rmm. Each free block is one of a stream."""

    def __init__(self, name, params, device):
        super().__init__(name, params, device)
        self.streams = {}       # of each pool, in the order in which they came

    def begins_with(self):
        return self.params["initial"]

    def keep(self, initial):
        initial.initial = self.params["maximum"] == 0
        initial.blocks[0].stream = 0
        self.streams[0] = [0]

    def empty_cache(self):
        pass

    def best(self, need, pool, stream):
        fitting = [block for block in self.free_blocks(pool)
                   if block.bytes >= need and block.stream == stream]
        return min(fitting, key=lambda block: (block.bytes, block.address()), default=None)

    def choose(self, size, pool):
        need = round_up(size, 256)
        streams = self.streams.setdefault(pool, [])
        if self.stream not in streams:
            streams.append(self.stream)
        others = [stream for stream in streams if stream != self.stream]
        block = self.best(need, pool, self.stream)
        for other in others:
            block = block or self.best(need, pool, other)
        for other in others:
            if block is None:
                self.take_over(pool, other)
                block = self.best(need, pool, self.stream)
        block = block or self.expand(need, pool)
        if block.bytes > need:
            self.split(block, need)
            blocks = block.segment.blocks
            blocks[blocks.index(block) + 1].stream = block.stream
        block.stream = self.stream
        return block

    def take_over(self, pool, other):
        for block in self.free_blocks(pool):
            if block.stream == other:
                block.stream = self.stream
        for segment in self.segments:
            if segment.pool == pool:
                self.merge_all(segment)

    def merge_all(self, segment):
        at = 1
        while at < len(segment.blocks):
            lower, upper = segment.blocks[at - 1], segment.blocks[at]
            if lower.state == upper.state == FREE and lower.stream == upper.stream:
                self.merge(lower, upper)
            else:
                at += 1

    def growth(self, need):
        maximum, held = self.params["maximum"], self.reserved()
        if maximum == 0:
            return max(need, held)
        left = round_up(max(0, maximum - held), 256)
        return max(need, left // 2) if need <= left else 0

    def expand(self, need, pool):
        maximum = self.params["maximum"]
        size = self.growth(need)
        if size == 0 and need <= maximum:
            for segment in list(self.segments):
                if 0 <= maximum - self.reserved() < need and len(segment.blocks) == 1 \
                        and segment.blocks[0].state == FREE:
                    self.release(segment)
            size = self.growth(need)
        if size == 0:
            self.asked = need
            raise OutOfMemory
        segment = self.obtain(size, pool)
        while segment is None and size > need:
            size = max(need, size // 2)
            self.counts["retries"] += 1
            segment = self.obtain(size, pool)
        if segment is None:
            raise OutOfMemory
        segment.initial = maximum == 0
        segment.blocks[0].stream = self.stream
        return segment.blocks[0]

    def freed(self, block):
        self.merge_all(block.segment)


FIT_KEYS = {"align": 512, "segment": 2 << 20, "pool": 0, "min_split": None, "release": True}
POLICIES = {
    "bestfit": (Fit, FIT_KEYS),
    "firstfit": (Fit, FIT_KEYS),
    "nextfit": (Fit, FIT_KEYS),
    "worstfit": (Fit, FIT_KEYS),
    "buddy": (Buddy, {"min": 512, "segment": 2 << 20, "pool": 0}),
    "sizeclass": (SizeClass, {"quantum": 512, "steps": 4, "max_small": 1 << 20, "slab": 2 << 20,
                              "segment": 2 << 20}),
    "bfc": (Bfc, {"memory_limit": 0, "allow_growth": True, "garbage_collection": False,
                  "fragmentation_fraction": 0.0}),
    "tlsf": (Tlsf, {"sl_log2": 5, "segment": 2 << 20, "pool": 0}),
    "direct": (Direct, {}),
    "cupy": (Cupy, {"limit": 0}),
    "rmm": (Rmm, {"initial": 0, "maximum": 0}),
    "plan": (Plan, {"file": "", "period": ""}),
}


def parse_policy(text):
    """Name and all parameters of NAME or NAME:key=value,key=value."""
    name, _, rest = text.partition(":")
    params = dict(POLICIES[name][1])
    for pair in rest.split(",") if rest else []:
        key, _, value = pair.partition("=")
        if key not in params:
            raise ValueError("policy %s has no key %r" % (name, key))
        if isinstance(params[key], str):
            params[key] = value
        elif isinstance(params[key], float):
            params[key] = float(value)
        elif isinstance(params[key], bool):
            params[key] = {"true": True, "false": False}[value]
        else:
            params[key] = parse_size(value)
    if "min_split" in params and params["min_split"] is None:
        params["min_split"] = params["align"]
    return name, params
