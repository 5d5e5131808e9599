"""torch_generate.py - a random case of PyTorch: what it draws that others do not.

Of its own are the sizes near the limits of its rules, the settings and their changes on the way,
private pools and captures. Only settings that PyTorch accepts are drawn (settings.py has others).
"""
import random

from generate import GIB, KIB, MIB, Character, Generator
from torch_case import ADDRESSES, BY_ADDRESS, BY_CREATION, TorchCase

EMPTIES_IN_CAPTURE = 8          # the first version that does
SINCE = {'non_split': 6, 'large': 11, 'throw': 12, 'reserve': 15}       # versions
EDGES = (1, 511, 512, 513, 1024, MIB - 512, MIB - 511, MIB, MIB + 1, 2 * MIB - 512, 2 * MIB,
         2 * MIB + 1, 10 * MIB - 512, 10 * MIB - 511, 10 * MIB, 10 * MIB + 1, 12 * MIB, 19 * MIB,
         19 * MIB + 512, 20 * MIB - 512, 20 * MIB, 20 * MIB + 1, 21 * MIB, 22 * MIB, 32 * MIB,
         40 * MIB, 64 * MIB)


class Settings:
    """PyTorch's settings as they are, so that the next string drawn is one that it accepts."""

    def __init__(self, rng: random.Random, version: int) -> None:
        self.rng = rng
        self.version = version
        self.large_segment = 20
        weights = {key: rng.random() for key in (
            'max_split', 'non_split', 'gc', 'roundup', 'expandable', 'large', 'throw', 'reserve')}
        self.likely = {key: weight ** 2 for key, weight in weights.items()}
        if rng.random() < 0.2:
            self.likely = dict.fromkeys(weights, 0.0)
        self.likely['expandable'] = rng.choice((0, 0, 0.3, 1))
        self.likely['throw'] *= 0.3
        self.likely['reserve'] *= 0.3

    def wants(self, key: str) -> bool:
        return (self.rng.random() < self.likely[key]) & (self.version >= SINCE.get(key, 0))

    def roundup(self) -> str:
        rng = self.rng
        if rng.random() < 0.5:
            return str(rng.choice((1, 2, 4, 8, 16, 32)))
        keys = sorted(rng.sample(range(17), rng.randint(0, 4)))
        items = ['%d:%d' % (1 << key, rng.choice((0, 1, 2, 4, 8, 16))) for key in keys]
        if self.version <= 3:
            items = [item.replace(':0', ':1') for item in items]
        if not items or rng.random() < 0.5:
            items.append('>:%d' % rng.choice((1, 2, 4, 8)))
        return '[%s]' % ','.join(items)

    def at_least_large(self) -> int:
        least = self.large_segment + (self.version <= 9)
        return self.rng.choice((least, least, least + 1, least + 4, 2 * least,
                                self.rng.randint(least, 8 * least)))

    def draw(self, first: bool) -> str:
        """A settings string; `first` is the one in force at the start."""
        rng, words = self.rng, []
        if self.wants('large'):
            self.large_segment = rng.choice((11, 12, 16, 20, 24, 32, 33, 64))
            words.append('large_segment_size_mb:%d' % self.large_segment)
        if self.wants('max_split'):
            words.append('max_split_size_mb:%d' % self.at_least_large())
        if self.wants('non_split'):
            words.append('max_non_split_rounding_mb:%d' % self.at_least_large())
        if self.wants('gc'):
            words.append('garbage_collection_threshold:%s' % rng.choice(
                ('0.1', '0.3', '0.5', '0.6', '0.75', '0.8', '0.9', '0.99')))
            if first and (rng.random() < 0.6) & (self.version >= 10):
                words.append('per_process_memory_fraction:%s' % rng.choice(
                    ('0.5', '0.7', '0.9', '0.95', '1.0')))
        if self.wants('roundup'):
            words.append('roundup_power2_divisions:' + self.roundup())
        if self.wants('expandable'):
            words.append('expandable_segments:' + rng.choice(('True', 'True', 'False')))
        if self.wants('throw'):
            words.append('throw_on_cudamalloc_oom:' + rng.choice(('True', 'True', 'False')))
        if first and self.wants('reserve'):
            words.append('expandable_segments_reserve:' + rng.choice(('0.1', '0.5', '1.0', '1G')))
        rng.shuffle(words)
        return ','.join(words)


def character(rng: random.Random) -> Character:
    several = rng.random() < 0.5
    changing = rng.random() < 0.3
    return Character(
        streams=rng.choice((2, 2, 3, 5, 16)) if several else 1,
        fill=rng.choice((0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.95, 1.2)),
        record=rng.choice((0, 0.05, 0.3)) if several else rng.choice((0, 0, 0.1)),
        sync=rng.choice((0.002, 0.01, 0.05)),
        pending=rng.choice((0, 0, 0, 0.05, 0.2)),
        empty=rng.choice((0, 0.002, 0.02)),
        fraction=rng.choice((0, 0, 0.003, 0.02)),
        configure=rng.choice((0.005, 0.03)) if changing else 0,
        order=rng.choice(('any', 'any', 'last', 'first')),
        sizes=[rng.choice((0, 0, 1, 3)) for _ in range(6)])


def device_bytes(rng: random.Random) -> int:
    total = int(2 ** rng.uniform(24.5, 31))
    return rng.choice((total, total // MIB * MIB, total // (2 * MIB) * 2 * MIB,
                       total // (20 * MIB) * 20 * MIB + 20 * MIB, 80 * GIB if rng.random() < 0.3
                       else total // (2 * MIB) * 2 * MIB))


class Pools:
    """Private pools, in one case of six.

    While a request goes to a private pool PyTorch does not look which streams are done, and a
    trace cannot say how long that is: so no block waits for a stream in such a case.
    """

    def __init__(self, rng: random.Random, like: Character) -> None:
        self.rng = rng
        self.share = self.ends = 0.0
        self.open: list[int] = []
        self.next = 1
        if rng.random() < 1 / 6:
            self.share, self.ends = rng.choice((0.1, 0.5, 0.9)), rng.choice((0, 0.005, 0.03))
            like.record = like.pending = 0

    def draw(self) -> int:
        """Where a request goes; 0: to the pools of all."""
        if self.rng.random() >= self.share:
            return 0
        if not self.open or self.rng.random() < 0.02:
            self.open.append(self.next)
            self.next += 1
        return self.rng.choice(self.open)

    def release(self) -> int:
        """A pool that nothing is drawn from any more; one, as several come in no order."""
        self.ends = 0
        if not self.open:
            self.next += 1
            return self.next - 1
        return self.open.pop(self.rng.randrange(len(self.open)))


class Contexts:
    """Contexts of pools, as of graph captures, in one case of six of those without other pools.

    What is requested on the stream of an open context goes to its pool. Streams are recorded
    outside of contexts: PyTorch forgets those that a capture recorded when the capture ends. It
    records the events of blocks freed inside after the end, so no stream is synchronised between.
    """

    def __init__(self, rng: random.Random, pools: Pools, like: Character, version: int) -> None:
        self.rng, self.version = rng, version
        self.share = 0.0
        self.pool = self.stream = None
        self.done: list[int] = []
        self.recorded: set[int] = set()
        self.deferred = False       # a block with recorded streams was freed inside
        if not pools.share and rng.random() < 1 / 6:
            self.share = rng.choice((0.02, 0.1))
            like.pending = 0

    def is_open_for(self, stream: int) -> bool:
        return self.pool is not None and self.stream in (None, stream)

    def see(self, op: str, number: int | None) -> None:
        """Takes note of an event of the trace."""
        if op == 'alloc':
            self.recorded.discard(number)
            self.deferred = self.deferred and self.pool is not None
        elif op == 'record_stream':
            self.recorded.add(number)
        elif op == 'free' and self.pool is not None and number in self.recorded:
            self.deferred = True

    def turn(self, streams: int) -> dict:
        """The event that opens a context, or closes the one that is open."""
        if self.pool is not None:
            pool, self.pool = self.pool, None
            return {'op': 'end_pool', 'pool': pool}
        again = self.done and self.rng.random() < 0.5
        self.pool = self.rng.choice(self.done) if again else len(self.done) + 1
        if not again:
            self.done.append(self.pool)
        self.stream = self.rng.randrange(streams) \
            if self.version < 3 or self.rng.random() < 0.6 else None
        return {'op': 'begin_pool', 'pool': self.pool,
                **({} if self.stream is None else {'stream': self.stream})}


class TorchGenerator(Generator):
    """Draws one trace."""

    def begin(self, steps: int | None) -> None:
        rng, self.version = self.rng, self.allocator.version
        self.like = character(rng)
        self.total = self.scale = device_bytes(rng)
        self.settings = Settings(rng, self.version)
        self.steps = steps or rng.choice((30, 60, 120, 250, 500, 900))
        self.most = max(64 * KIB, min(self.total // 3, 700 * MIB))
        self.favourites = [self.spread(512, self.most) for _ in range(rng.randint(2, 8))]
        self.streams, self.unused = range(self.like.streams), self.like.streams
        self.pools = Pools(random.Random(-self.seed), self.like)
        self.contexts = Contexts(random.Random(f'contexts {self.seed}'), self.pools, self.like,
                                 self.version)

    def size(self) -> int:
        rng, weights = self.rng, self.like.sizes
        if not any(weights):
            weights = [1, 1, 1, 1, 1, 1]
        kind = rng.choices(range(6), weights)[0]
        if rng.random() < 0.01:
            return rng.choice((0, 0, self.total, self.total + 1, self.total // 2, 1 << 40))
        if kind == 0:
            return self.spread(1, MIB)
        if kind == 1:
            return self.spread(512 * KIB, 24 * MIB)
        if kind == 2:
            return self.spread(MIB, self.most) if self.most > MIB else self.spread(1, self.most)
        if kind == 3:
            return rng.choice(EDGES)
        if kind == 4:
            return rng.choice(self.favourites)
        step = rng.choice((512, 2 * MIB, 20 * MIB))
        return max(1, step * rng.randint(1, 8) + rng.choice((-512, -1, 0, 0, 0, 1, 512)))

    def add(self, op: str, **members) -> None:
        super().add(op, **members)
        self.contexts.see(op, members.get('id'))

    def pool(self, stream: int) -> int:
        return self.contexts.pool if self.contexts.is_open_for(stream) else self.pools.draw()

    def record(self, number: int) -> None:
        if self.contexts.pool is None:
            super().record(number)

    def actions(self) -> tuple:
        like = self.like
        return ((like.sync, self.sync), (like.empty, self.empty), (like.fraction, self.fraction),
                (like.configure, self.configure), (0.004, self.mark),
                (self.pools.ends, self.release_pool), (self.contexts.share, self.context),
                (like.pending if self.incomplete else 0, self.complete))

    def sync(self) -> None:
        if not self.contexts.deferred:
            super().sync()

    def empty(self) -> None:
        """In a capture an older PyTorch stops with an internal error."""
        if self.contexts.pool is None or self.version >= EMPTIES_IN_CAPTURE:
            super().empty()

    def configure(self) -> None:
        value = self.settings.draw(False)
        if value:
            self.add('configure', value=value)

    def release_pool(self) -> None:
        self.add('release_pool', pool=self.pools.release())

    def context(self) -> None:
        event = self.contexts.turn(self.like.streams)
        self.add(event.pop('op'), **event)

    def complete(self) -> None:
        """PyTorch notices it at the next request, and 2.12 at a place among equals that counts."""
        super().complete()
        if self.version == BY_CREATION:
            self.alloc()

    def draw_settings(self) -> None:
        self.conf = self.settings.draw(True)

    def finish(self) -> TorchCase:
        rng = self.rng
        return TorchCase(events=self.events, total=self.total,
                         context=rng.choice((0, 0, 0, self.total // 10, 3 * MIB + 77)),
                         other=rng.choice((0, 0, 0, self.total // 8)),
                         granularity=rng.choice((2 * MIB,) * 5 + (1, 512, 64 * KIB)),
                         conf=self.conf, addresses='fall' if self.version <= BY_ADDRESS
                         else rng.choice(ADDRESSES),
                         meta={'seed': self.seed}, version=self.version)
