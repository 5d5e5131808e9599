"""heap.py - bestfit over one device by the plainest means, and what could be moved in it."""
import copy
import itertools
from dataclasses import dataclass

MIB = 1 << 20


@dataclass
class Block:
    offset: int
    size: int
    state: str = 'free'         # or 'live', 'pending'
    id: object = None
    requested: int = 0


@dataclass
class Segment:
    ordinal: int
    pool: int
    size: int
    blocks: list
    kept: bool = False


def up(x: int, m: int) -> int:
    return -(-x // m) * m


class Refused(Exception):
    """The device has no memory for a request."""


class Heap:
    def __init__(self, keys: dict, device: dict) -> None:
        self.align = keys.get('align', 512)
        self.segment = keys.get('segment', 2 * MIB)
        self.min_split = keys.get('min_split', self.align)
        self.release = keys.get('release', True)
        self.block_cost = keys.get('block_cost', 4 * MIB)
        self.page = device['granularity_bytes']
        self.room = device['total_bytes'] - device.get('context_bytes', 0)
        self.segments: list = []
        self.ordinal = 0
        self.tried = 0
        self.new: list = []
        self.released: list = []
        if keys.get('pool'):
            self.obtain(0, keys['pool'])
            self.segments[0].kept = True

    def left(self) -> int:
        return self.room - sum(up(s.size, self.page) for s in self.segments)

    def obtain(self, pool: int, size: int) -> None:
        self.tried = size
        if up(size, self.page) > self.left():
            raise Refused
        self.segments.append(Segment(self.ordinal, pool, size, [Block(0, size)]))
        self.new.append({'segment': self.ordinal, 'bytes': size})
        self.ordinal += 1

    def flush(self) -> None:
        for s in list(self.segments):
            if not s.kept and all(b.state == 'free' for b in s.blocks):
                self.segments.remove(s)
                self.released.append(s.ordinal)

    def alloc(self, name: object, pool: int, size: int) -> tuple:
        need = up(size, self.align)
        found = self.fit(pool, need)
        if not found:
            grown = up(need, self.segment)
            try:
                self.obtain(pool, grown)
            except Refused:
                if not self.release:
                    raise
                self.flush()
                self.obtain(pool, grown)
            found = self.fit(pool, need)
        s, b = found
        if b.size - need >= self.min_split:
            s.blocks.insert(s.blocks.index(b) + 1, Block(b.offset + need, b.size - need))
            b.size = need
        b.state, b.id, b.requested = 'live', name, size
        return s.ordinal, b.offset, b.size

    def fit(self, pool: int, need: int) -> tuple:
        found = [(b.size, s.ordinal, b.offset, s, b) for s in self.segments if s.pool == pool
                 for b in s.blocks if b.state == 'free' and b.size >= need]
        return min(found, key=lambda x: x[:3])[3:] if found else ()

    def place(self, name: object) -> tuple:
        return next((s, b) for s in self.segments for b in s.blocks
                    if b.id == name and b.state == 'live')

    def free(self, name: object) -> None:
        self.end(*self.place(name))

    def defer(self, name: object) -> None:
        """It is pending: nobody's any more, and not free yet."""
        self.place(name)[1].state = 'pending'

    def complete(self, name: object) -> None:
        self.end(*next((s, b) for s in self.segments for b in s.blocks
                       if b.id == name and b.state == 'pending'))

    @staticmethod
    def end(s: Segment, b: Block) -> None:
        b.state, b.id, b.requested = 'free', None, 0
        kept: list = []
        for x in s.blocks:
            if kept and kept[-1].state == 'free' and x.state == 'free':
                kept[-1].size += x.size
            else:
                kept.append(x)
        s.blocks = kept

    # What could be moved ---------------------------------------------------------------
    def cost(self, blocks: list) -> int:
        return sum(b.size + self.block_cost for b in blocks)

    def windows(self, pool: int, need: int) -> list:
        """Of each segment the shortest run from each block on that is large enough."""
        out = []
        for s in self.segments:
            for first in range(len(s.blocks) if s.pool == pool else 0):
                for end in range(first + 1, len(s.blocks) + 1):
                    run = s.blocks[first:end]
                    if sum(b.size for b in run) >= need:
                        if all(b.state != 'pending' for b in run):
                            out.append([b for b in run if b.state == 'live'])
                        break
        return out

    def evacuations(self, missing: int) -> list:
        """Whole segments: each that is enough, and those that are so at the least cost."""
        can = []
        for s in self.segments:
            live = [b for b in s.blocks if b.state == 'live']
            if live and not s.kept and all(b.state != 'pending' for b in s.blocks):
                can.append((live, sum(b.size for b in s.blocks if b.state == 'free'), s.size))
        out = [x[0] for x in can if missing and x[2] >= missing]
        for gain in 1, 2:
            able = [sum((x[0] for x in some), []) for n in range(1, len(can) + 1)
                    for some in itertools.combinations([x for x in can if x[gain]], n)
                    if missing and sum(x[gain] for x in some) >= missing]
            least = min(map(self.cost, able), default=None)
            out.append([x for x in able if self.cost(x) == least])
        return out

    def candidates(self, pool: int, size: int) -> list:
        """(cost, [ids, ...]): one of these sets of ids is tried at that cost."""
        missing = max(0, up(self.tried, self.page) - self.left())
        out = []
        for x in self.windows(pool, up(size, self.align)) + self.evacuations(missing):
            some = x if x and isinstance(x[0], list) else [x]
            some = [y for y in some if y]
            if some:
                out.append((self.cost(some[0]), [frozenset(b.id for b in y) for y in some]))
        return sorted(out, key=lambda x: x[0])

    def move(self, ids: frozenset, name: object, pool: int, size: int) -> tuple:
        """The heap after the move, the place of the request, and those of what was moved."""
        after = copy.deepcopy(self)
        pools = {b.id: (s.pool, b.requested) for s in self.segments for b in s.blocks
                 if b.state == 'live'}
        at = {b.id: (-b.size, i, b.offset) for i, s in enumerate(self.segments)
              for b in s.blocks if b.state == 'live'}
        was = {x: (self.place(x)[0].ordinal, self.place(x)[1].offset) for x in ids}
        order = sorted(ids, key=lambda x: at[x])
        for x in order:
            after.free(x)
        place = after.alloc(name, pool, size)
        moved = [(x, *after.alloc(x, *pools[x])) for x in order]
        return after, place, [x for x in moved if x[1:3] != was[x[0]]]

    def movable(self) -> frozenset:
        return frozenset(b.id for s in self.segments for b in s.blocks if b.state == 'live')
