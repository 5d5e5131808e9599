"""generate.py - a random case from a seed: device, keys and trace.

Uniform noise finds little. So a seed first draws a character: how large the device is against what
the trace asks for, which sizes it asks for (near the limits of the rules, a few sizes over and over,
or spread), how it frees, and how many streams it uses. The keys are the allocator's to draw; one
with other settings has a generator of its own, with what differs.
"""
import random
from dataclasses import dataclass

from case import Case

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass
class Character:
    """What a seed's trace is like."""
    streams: int
    fill: float         # of the device, that live blocks should take
    record: float       # share of requests whose block other streams use too
    sync: float
    pending: float      # share of frees that are pending until their complete
    empty: float
    fraction: float
    order: str          # of frees: any, last, first
    sizes: list         # weights
    configure: float = 0


def character(rng: random.Random) -> Character:
    several = rng.random() < 0.5
    return Character(
        streams=rng.choice((2, 2, 3, 5, 16)) if several else 1,
        fill=rng.choice((0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.95, 1.2)),
        record=rng.choice((0, 0.05, 0.2)) if several else rng.choice((0, 0, 0.1)),
        sync=rng.choice((0.002, 0.01, 0.05)),
        pending=rng.choice((0, 0, 0, 0.05, 0.2)),
        empty=rng.choice((0, 0, 0.002, 0.02)),
        fraction=rng.choice((0, 0, 0, 0.003, 0.02)),
        order=rng.choice(('any', 'any', 'last', 'first')),
        sizes=[rng.choice((0, 0, 1, 3)) for _ in range(5)])


def device_bytes(rng: random.Random) -> int:
    """0 is a device without limit; most are small, so that something is refused."""
    total = int(2 ** rng.uniform(16, 33))
    return rng.choice((total, total, total // (2 * MIB) * 2 * MIB + 2 * MIB, 80 * GIB, 0))


class Generator:
    """Draws one trace."""

    def __init__(self, allocator, seed: int, steps: int | None) -> None:
        self.rng = random.Random(seed)
        self.seed, self.allocator = seed, allocator
        self.events: list[dict] = []
        self.live: list[tuple[int, int]] = []
        self.incomplete: list[int] = []
        self.bytes, self.next_id = 0, 1
        self.begin(steps)

    def begin(self, steps: int | None) -> None:
        """What all of the trace is like."""
        rng, self.unit = self.rng, self.allocator.unit
        self.like = character(rng)
        self.total = device_bytes(rng)
        self.scale = self.total or rng.choice((MIB, 100 * MIB, 4 * GIB))
        self.steps = steps or rng.choice((30, 60, 120, 250, 500))
        self.most = max(64 * self.unit, min(self.scale // 3, 700 * MIB))
        self.favourites = [self.spread(1, self.most) for _ in range(rng.randint(1, 6))]
        names = rng.sample((0, 0, 1, 2, 7, 'side', 'copy', 3, 4, 5, 9, 10, 11, 12, 13, 14, 15), 17)
        self.streams = list(dict.fromkeys(names))[:self.like.streams]
        self.unused = 99        # a stream without a request

    def spread(self, low: int, high: int) -> int:
        """Evenly over the powers of two."""
        return max(1, int(low * (high / low) ** self.rng.random()))

    def size(self) -> int:
        rng, unit = self.rng, self.unit
        weights = self.like.sizes if any(self.like.sizes) else [1] * 5
        kind = rng.choices(range(5), weights)[0]
        if rng.random() < 0.015:
            return rng.choice((0, 0, self.scale, self.scale + 1, self.scale // 2, 1 << 40))
        if kind == 0:
            return self.spread(1, min(self.most, MIB))
        if kind == 1:
            return self.spread(unit, self.most)
        if kind == 2:
            return rng.choice((1, unit - 1, unit, unit + 1, 2 * unit, 3 * unit - 1))
        if kind == 3:
            return rng.choice(self.favourites)
        step = rng.choice((unit, unit, 2 * MIB if self.most > 8 * MIB else 4 * unit))
        return max(1, step * rng.randint(1, 8) + rng.choice((-unit, -1, 0, 0, 0, 1, unit)))

    def add(self, op: str, **members) -> None:
        self.events.append({'op': op, **members})

    def number(self) -> int:
        """Of an id; now and then one that was freed comes again."""
        if self.next_id > 3 and self.rng.random() < 0.02:
            free = set(range(1, self.next_id)) - {block[0] for block in self.live}
            if free:
                return self.rng.choice(sorted(free))
        self.next_id += 1
        return self.next_id - 1

    def pool(self, _stream) -> int:
        """Where a request goes; 0: to the pools of all."""
        return 0

    def alloc(self) -> None:
        size, stream, number = self.size(), self.rng.choice(self.streams), self.number()
        pool = self.pool(stream)
        self.add('alloc', id=number, size=size, **({'stream': stream} if stream else {}),
                 **({'pool': pool} if pool else {}))
        self.live.append((number, size))
        self.bytes += size if size <= self.scale else 0
        while self.rng.random() < self.like.record:
            self.record(number)

    def any_stream(self):
        return self.rng.choice((*self.streams, self.unused))

    def record(self, number: int) -> None:
        self.add('record_stream', id=number, stream=self.any_stream())

    def free(self) -> None:
        if not self.live:
            return
        if self.like.order == 'any' or self.rng.random() < 0.1:
            at = self.rng.randrange(len(self.live))
        else:
            at = -1 if self.like.order == 'last' else 0
        number, size = self.live.pop(at)
        self.bytes -= size if size <= self.scale else 0
        if self.rng.random() < self.like.pending:
            self.add('free', id=number, pending=True)
            self.incomplete.append(number)
        else:
            self.add('free', id=number)

    def burst(self) -> None:
        """Many frees in a row, as at the end of an iteration."""
        for _ in range(self.rng.randint(1, max(1, len(self.live)))):
            self.free()

    def actions(self) -> tuple:
        """(how often, what) of those that are rare."""
        like = self.like
        return ((like.sync, self.sync), (like.empty, self.empty), (like.fraction, self.fraction),
                (0.003, self.mark), (like.pending if self.incomplete else 0, self.complete))

    def rare(self) -> bool:
        """What happens now and then; says whether it did."""
        draw = self.rng.random()
        for share, action in self.actions():
            if draw < share:
                action()
                return True
            draw -= share
        return False

    def sync(self) -> None:
        if self.rng.random() < 0.4:
            self.add('sync')
        else:
            self.add('sync', stream=self.any_stream())

    def empty(self) -> None:
        self.add('empty_cache')

    def fraction(self) -> None:
        self.add('set_fraction', value=self.rng.choice((0.1, 0.3, 0.5, 0.7, 0.75, 0.9, 1)))

    def mark(self) -> None:
        self.add('mark', name='m%d' % len(self.events))

    def complete(self) -> None:
        self.add('complete', id=self.incomplete.pop(self.rng.randrange(len(self.incomplete))))

    def draw_settings(self) -> None:
        self.keys = self.allocator.draw_keys(self.rng, self.scale)

    def case(self) -> Case:
        rng = self.rng
        self.draw_settings()
        wanted = self.like.fill * min(self.scale, 2 * GIB)
        most_live = rng.choice((8, 30, 100, 400))
        while len(self.events) < self.steps:
            if self.rare():
                continue
            if rng.random() < 0.004:
                self.burst()
            full = self.bytes > wanted or len(self.live) > most_live
            if rng.random() < (0.65 if full else 0.35):
                self.free()
            else:
                self.alloc()
        if rng.random() < 0.3:
            while self.live:
                self.free()
            self.empty()
        return self.finish()

    def finish(self) -> Case:
        """The case, after the rest of its device."""
        rng, limited = self.rng, self.total > 0
        units = [unit for unit in (2 * MIB, 2 * MIB, 64 * KIB, 512, 1) if unit <= self.scale // 16]
        return Case(events=self.events, total=self.total,
                    context=rng.choice((0, 0, 0, self.total // 10)) if limited else 0,
                    other=rng.choice((0, 0, 0, self.total // 8)) if limited else 0,
                    granularity=rng.choice(units), keys=self.keys,
                    meta={'seed': self.seed})
