"""arithmetic.py - what a message comes to, from its printed figures, by plain arithmetic.

The rules are those of fragsim-explain(1). Which verdicts the rounding leaves possible is decided by
eliminating one unknown after the other from the inequalities of each verdict (Fourier, Motzkin).
"""
import re
from fractions import Fraction
from math import floor

UNITS = {'bytes': 1, 'byte': 1, 'B': 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30, 'KB': 1 << 10,
         'MB': 1 << 20, 'GB': 1 << 30}
MIB = 1 << 20
MOST = (1 << 53) - 1
VERDICTS = ('request_too_large', 'refused', 'outside', 'capacity', 'nearly_full', 'fragmentation')
# one list of words for all commands: nearly full qualifies fragmentation
WORDS = {'nearly_full': 'fragmentation'}
ASKED, TOTAL, FREE, ALLOCATED, UNALLOCATED = range(5)


class Figure:
    """A printed size: the nearest integer, and how far from it the true one may be."""

    def __init__(self, text: str) -> None:
        digits, unit = text.split()
        half = Fraction(UNITS[unit], 2 * 10 ** len(digits.partition('.')[2]))
        self.bytes = floor(Fraction(digits) * UNITS[unit] + Fraction(1, 2))
        self.error = floor(half + Fraction(1, 2)) if UNITS[unit] > 1 else 0
        self.range = max(0, self.bytes - self.error), self.bytes + self.error


def segment(asked: int, segments: bool) -> int:
    """What the allocator asks the device for: PyTorch for segments, others for the request."""
    if not segments:
        return asked
    if asked <= MIB:
        return 2 * MIB
    return 20 * MIB if asked < 10 * MIB else -(-asked // (2 * MIB)) * 2 * MIB


def judge(asked: int, total: int, free: int, allocated: int, unallocated: int,
          segments: bool = True) -> str:
    """The verdict, as it is defined."""
    room = free + unallocated
    outside = total - free - allocated - unallocated
    if asked > total:
        return 'request_too_large'
    if segment(asked, segments) <= free:
        return 'refused'
    if asked > room:
        return 'outside' if (outside > Fraction(5, 100) * total and asked <= room + outside
                             - Fraction(2, 100) * total) else 'capacity'
    return 'nearly_full' if room - asked < Fraction(5, 100) * total else 'fragmentation'


def at_most(bound: int, **coefficients: int) -> tuple:
    """Σ coefficient × unknown <= bound."""
    names = ('asked', 'total', 'free', 'allocated', 'unallocated')
    return tuple(coefficients.get(name, 0) for name in names), bound


OVER = at_most(-1, total=1, asked=-1)
NOT_OVER = at_most(0, asked=1, total=-1)
SHORT = at_most(-1, free=1, unallocated=1, asked=-1)
ENOUGH = at_most(0, asked=1, free=-1, unallocated=-1)


def served(segments: bool, tight: bool) -> tuple[list, list]:
    """Ways in which a segment of the request is free, and is not; tight: fewer than there are."""
    if not segments:
        return [[at_most(0, asked=1, free=-1)]], [[at_most(-1, free=1, asked=-1)]]
    small = [at_most(MIB, asked=1)]
    middle = [at_most(-MIB - 1, asked=-1), at_most(10 * MIB - 1, asked=1)]
    large = [at_most(-10 * MIB, asked=-1)]
    yes = [[*small, at_most(-2 * MIB, free=-1)], [*middle, at_most(-20 * MIB, free=-1)],
           [*large, at_most(-2 * MIB if tight else 0, asked=1, free=-1)]]
    no = [[*small, at_most(2 * MIB - 1, free=1)], [*middle, at_most(20 * MIB - 1, free=1)],
          [*large, at_most(-1 if tight else 2 * MIB - 1, free=1, asked=-1)]]
    return yes, no


def ways_of(segments: bool, tight: bool) -> dict:
    """Where a verdict holds: each list is one way."""
    yes, no = served(segments, tight)
    few = [[NOT_OVER, SHORT, *way] for way in no]
    enough = [[NOT_OVER, ENOUGH, *way] for way in no]
    return {
        'request_too_large': [[OVER]],
        'refused': [[NOT_OVER, *way] for way in yes],
        'outside': [[*way, at_most(-1, free=100, allocated=100, unallocated=100, total=-95),
                     at_most(0, asked=100, allocated=100, total=-98)] for way in few],
        'capacity': [[*way, at_most(0, free=-100, allocated=-100, unallocated=-100, total=95)]
                     for way in few] + [[*way, at_most(-1, asked=-100, allocated=-100, total=98)]
                                        for way in few],
        'nearly_full': [[*way, at_most(-1, free=100, unallocated=100, asked=-100, total=-5)]
                        for way in enough],
        'fragmentation': [[*way, at_most(0, free=-100, unallocated=-100, asked=100, total=5)]
                          for way in enough],
    }


def feasible(rows: list) -> bool:
    """Have these inequalities a common point?"""
    for unknown in range(5):
        below = [row for row in rows if row[0][unknown] < 0]
        above = [row for row in rows if row[0][unknown] > 0]
        rest = {row for row in rows if row[0][unknown] == 0}
        for low, low_bound in below:
            for high, high_bound in above:
                a, b = high[unknown], -low[unknown]
                rest.add((tuple(a * x + b * y for x, y in zip(low, high)),
                          a * low_bound + b * high_bound))
        rows = list(rest)
    return all(bound >= 0 for _, bound in rows)


def possible(ranges: list, reserved: tuple | None, segments: bool, margin: int = 0) -> set[str]:
    """Verdicts of some point within the ranges; margin: bytes by which each condition must hold."""
    box = []
    for unknown, (low, high) in enumerate(ranges):
        one = tuple(int(i == unknown) for i in range(5))
        box += [(one, high), (tuple(-x for x in one), -low)]
    if reserved:
        box += [((0, 0, 0, 1, 1), reserved[1]), ((0, 0, 0, -1, -1), -reserved[0])]
    return {verdict for verdict, ways in ways_of(segments, margin > 0).items() for way in ways
            if feasible(box + [(c, bound - margin * max(map(abs, c))) for c, bound in way])}


class Expected:
    """What JSON has to say of a message with these printed figures."""

    def __init__(self, wording: str, said: dict, text: str = '') -> None:
        self.wording = wording
        self.segments = wording in ('pytorch-cached', 'pytorch-reserved', 'pytorch-sentences')
        allowed = re.search(r'([\d.]+ [KMG]iB) allowed;', text)
        self.allowed = Figure(allowed[1]).bytes if allowed else None
        pool = re.search(r'/(\w+_memory_resource)\.', text) if wording.startswith('rmm') else None
        self.pool = pool[1] if pool else None
        self.said = {name: Figure(text) for name, text in said.items() if text is not None}
        values = {name: figure.bytes for name, figure in self.said.items()}
        self.asked = values['asked']
        self.total, self.free = values.get('total'), values.get('free')
        self.allocated, self.reserved = values.get('allocated'), values.get('reserved')
        self.unallocated, self.outside = values.get('unallocated'), values.get('outside')
        self.errors = {name: figure.error for name, figure in self.said.items()}
        self.precision = max(self.errors.values())
        self.bound = None
        self._settle()
        process = re.search(r'this process has ([\d.]+ [KMG]iB)', text, re.IGNORECASE)
        used = Figure(process[1]).bytes if process else MOST + 1    # Windows: -1 page
        self.elsewhere = self.outside if used > MOST or self.total is None else \
            max(0, self.total - (self.free or 0) - used)
        self._judge()

    def _settle(self) -> None:
        if 'cached' in self.said:
            cached = self.said['cached']
            slack = sum(self.errors[x] for x in ('total', 'free', 'allocated', 'cached'))
            if self.allocated + self.free + cached.bytes > self.total + slack:
                self.reserved, self.errors['reserved'] = cached.bytes, cached.error
                self.said['reserved'] = cached
            else:
                self.unallocated, self.errors['unallocated'] = cached.bytes, cached.error
        if self.wording in ('pytorch-async', 'pytorch-mps'):
            self.unallocated = self.errors['unallocated'] = 0
        if self.unallocated is None and None not in (self.reserved, self.allocated):
            self.unallocated = max(0, self.reserved - self.allocated)
            self.errors['unallocated'] = self.errors['reserved'] + self.errors['allocated']
            if self.reserved >= self.allocated:
                self.bound = self.said['reserved'].range
        elif self.reserved is None and self.wording.startswith('pytorch-') and \
                self.wording not in ('pytorch-async', 'pytorch-mps'):
            self.reserved = self.allocated + self.unallocated
        elif self.reserved is not None and self.allocated is None:
            self.bound = self.said['reserved'].range
        if self.free is None and self.wording == 'pytorch-mps':
            self.free = max(0, self.total - self.allocated - self.outside)
            self.errors['free'] = sum(self.errors[x] for x in ('total', 'allocated', 'outside'))
        if self.free is None and self.wording in ('bfc', 'rmm-pool', 'cupy') and \
                None not in (self.total, self.reserved):
            self.free = max(0, self.total - self.reserved)
            self.errors['free'] = self.errors['total'] + self.errors['reserved']
        if self.wording == 'bfc' and self.reserved is None and \
                None not in (self.total, self.allocated) and self.free is None:
            self.unallocated = max(0, self.total - self.allocated)
            self.errors['unallocated'] = self.errors['total'] + self.errors['allocated']
            self.free = self.errors['free'] = 0
        parts = self.total, self.free, self.allocated, self.unallocated
        if self.outside is None and None not in parts:
            self.outside = max(0, parts[0] - sum(parts[1:]))

    def _range(self, name: str, highest: int) -> tuple[int, int]:
        value = getattr(self, name)
        if value is None:
            return 0, max(0, highest)
        return max(0, value - self.errors[name]), value + self.errors[name]

    def _judge(self) -> None:
        asked = self._range('asked', 0)
        total = self._range('total', MOST)
        held = self.reserved + self.errors['reserved'] if 'reserved' in self.said else total[1]
        if self.reserved is not None and 'reserved' not in self.said:
            held = self.reserved + self.errors['allocated'] + self.errors['unallocated']
        allocated = self._range('allocated', held)
        unallocated = self._range('unallocated', held - allocated[0])
        free = self._range('free', total[1] - allocated[0] - unallocated[0])
        self.ranges = [asked, total, free, allocated, unallocated]
        point = self.asked, self.total, self.free, self.allocated, self.unallocated
        self.possible = possible(self.ranges, self.bound, self.segments)
        if None not in point:
            self.verdict = judge(*point, self.segments)
            if self.wording == 'pytorch-async' and self.verdict == 'outside':
                self.verdict = 'capacity'
            if self.verdict in VERDICTS[3:] and 2 * self.elsewhere > self.total:
                self.possible.add(self.verdict)
                self.verdict = 'outside'
        else:
            self.verdict = next(iter(self.possible)) if len(self.possible) == 1 else 'unknown'

    def contradicts(self) -> bool:
        """More is free, allocated or used by others than there is, whatever the rounding."""
        if not self.wording.startswith('pytorch-') or self.total is None:
            return False
        over = [name for name in ('free', 'allocated') if name in self.said and
                self.said[name].bytes > self.total + self.errors['total'] + self.errors[name]]
        both = 'allocated' in self.said and 'outside' in self.said and \
            self.allocated + self.outside > self.total + sum(self.errors[x] for x in
                                                             ('total', 'allocated', 'outside'))
        return bool(over) or both

    @property
    def word(self) -> str:
        """What the program calls the verdict."""
        held = self.allocated if self.reserved is None else self.reserved
        if self.contradicts():
            return 'contradiction'
        # more than the limit is refused whatever is free
        if (self.allowed and self.allowed < self.total and self.asked
                and self.asked > self.allowed + 2 * self.precision):
            return 'limit'
        if (self.allowed and self.allowed < self.total
                and (self.free is None or self.free >= self.asked)
                and (held or 0) + self.asked + 3 * self.precision > self.allowed):
            return 'limit'
        return WORDS.get(self.verdict, self.verdict)

    def words(self) -> list[str]:
        """The other possible verdicts, each word once."""
        if self.word in ('limit', 'contradiction'):
            return []
        others = (WORDS.get(x, x) for x in VERDICTS if x in self.possible - {self.verdict})
        return [x for x in dict.fromkeys(others) if x != self.word]

    def json(self) -> dict:
        """The member of `messages`."""
        return {'wording': self.wording, 'asked': self.asked, 'total': self.total,
                'free': self.free, 'allocated': self.allocated, 'reserved': self.reserved,
                'outside': self.outside, 'limit': self.allowed, 'nonreleasable': None,
                'kv_free': None, 'max_model_len': None, 'precision': self.precision, 'parts': {},
                'pool': self.pool, 'verdict': self.word,
                'nearly_full': self.word == 'fragmentation' and self.verdict == 'nearly_full',
                'also_possible': self.words(), 'missing': self.missing()}

    def missing(self) -> list[str]:
        """What an unknown verdict lacks."""
        values = {'total': self.total, 'free': self.free, 'allocated': self.allocated,
                  'reserved': self.unallocated}
        return [k for k, v in values.items() if v is None and self.word == 'unknown']
