"""programs.py - made-up programs whose sizes are known at every number, and their traces."""
import json
import random
from collections.abc import Callable
from pathlib import Path

HEADER = {'format': 'fragsim-trace', 'version': 1}
MIB = 1 << 20


class Program:
    """Events in a fixed order; only sizes depend on the number. degree: of the sizes."""

    def __init__(self, seed: int, length: int = 60, degree: int = 1, devices: int = 1,
                 scale: int = 1, plain: bool = False) -> None:
        self.rng = random.Random(seed)
        self.events: list[tuple] = []
        self.sizes: list[Callable[[int], int]] = []
        self.devices = devices
        live: list[int] = []
        pending: list[int] = []
        for _ in range(length):
            self.add(live, pending, degree, scale, plain)

    def add(self, live: list[int], pending: list[int], degree: int, scale: int,
            plain: bool) -> None:
        r = self.rng
        kind = r.random()
        if kind < 0.55 or not live:
            live.append(len(self.sizes))
            self.events.append(('alloc', len(self.sizes), r.choice([0, 0, 0, 7]),
                                r.choice([0, 0, 0, 3]), r.randrange(self.devices),
                                r.choice([None, 'conv', 'norm'])))
            self.sizes.append(self.size(degree, scale))
        elif kind < 0.85 or plain:
            self.events.append(('free', live.pop(r.randrange(len(live))), False))
        elif kind < 0.88:
            pending.append(live.pop(r.randrange(len(live))))
            self.events.append(('free', pending[-1], True))
        elif kind < 0.91 and pending:
            self.events.append(('complete', pending.pop(0)))
        elif kind < 0.94:
            self.events.append(('record_stream', r.choice(live), 9))
        elif kind < 0.97:
            self.events.append(('sync',))
        else:
            self.events.append(('mark', f'm{r.randrange(3)}'))

    def size(self, degree: int, scale: int) -> Callable[[int], int]:
        """Constant, or with coefficients that are not negative but for the last, as L - 1 has."""
        r = self.rng
        a = r.randrange(1, 400) * scale if degree == 2 and r.random() < 0.4 else 0
        b = r.randrange(1, 9000) * scale if r.random() < 0.7 else 0
        c = r.choice([0, 0, 512, 1000, 3 * MIB, -b])
        return lambda n: a * n * n + b * n + (c if a or b else abs(c) + 700)

    def lines(self, n: int, names: int = 0) -> list[dict]:
        """The events at a number, with ids that differ from recording to recording."""
        out = []
        for e in self.events:
            block = {'id': e[1] + 1 if names == 0 else f'0x{e[1] * 64 + names:x}'} \
                if e[0] not in ('sync', 'mark') else {}
            line: dict = {'op': e[0], **block}
            if e[0] == 'alloc':
                line['size'] = self.sizes[e[1]](n)
                line |= {k: v + (names if v and k == 'stream' else 0)
                         for k, v in (('stream', e[2]), ('pool', e[3]), ('device', e[4])) if v}
                line |= {'tag': e[5]} if e[5] else {}
            elif e[0] == 'free' and e[2]:
                line['pending'] = True
            elif e[0] == 'record_stream':
                line['stream'] = e[2] + names
            elif e[0] == 'mark':
                line['name'] = e[1]
            out.append(line)
        return out

    def write(self, path: Path, n: int, names: int = 0, **device: int) -> Path:
        header = dict(HEADER)
        if self.devices > 1 or device:
            header['devices'] = [device] * self.devices
        return write(path, [header, *self.lines(n, names)])


def write(path: Path, lines: list[dict]) -> Path:
    path.write_text(''.join(json.dumps(x, separators=(',', ':')) + '\n' for x in lines))
    return path
