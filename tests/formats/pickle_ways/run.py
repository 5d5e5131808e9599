"""run.py - one snapshot, pickled in all the ways that a pickle permits: Python reads each, and so do we.

    run.py PROGRAM

Prints TAP.  CPython fills a box directly after it made it, in batches, and gives it one number.  Here a box is filled at
once or in parts, with one number, several or none, is referred to while it is open, and grows after others were read that
were its equals.  pickle.loads() says what the bytes mean; what it gives, pickled as usual, must have the same answers.
"""
import copy
import io
import os
import pickle
import random
import struct
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'support'), str(HERE.parent / 'snapshot')]
from program import fragsim, times  # noqa: E402
from snaps import FRAMES, LARGE, M, Log, block, hole, segment, snapshot  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PLAIN = {None: b'N', True: b'\x88', False: b'\x89'}


def is_stack(value: list | dict) -> bool:
    """Of all stacks some frames, and of all frames some members can be missing."""
    return 'filename' in (value if isinstance(value, dict) else value[0] if value and isinstance(value[0], dict) else ())


class Ways:
    """Writes a value as chance has it.  late: may a stack grow where it is referred to again?"""

    def __init__(self, dice: random.Random, late: bool) -> None:
        self.dice, self.late = dice, late
        self.out, self.count = bytearray(b'\x80\x04'), 0
        self.numbers: dict[int, int] = {}      # of the memo, by id()
        self.left: dict[int, list] = {}         # what a box lacks yet
        self.seen: list = []                    # so that no id() comes twice
        self.changed = False                    # was a box added to?

    def put(self, value: object) -> None:
        self.numbers[id(value)] = self.count
        self.out += b'q' + bytes([self.count]) if self.count < 256 else b'r' + struct.pack('<I', self.count)
        self.count += 1

    def get(self, value: object) -> None:
        n = self.numbers[id(value)]
        self.out += b'h' + bytes([n]) if n < 256 else b'j' + struct.pack('<I', n)

    def items(self, items: list, one: bytes, many: bytes) -> None:
        """Adds them to the box on the stack, in one part or in some."""
        while items:
            n = self.dice.choice((len(items), len(items), 1 + self.dice.randrange(len(items))))
            single = n == 1 and self.dice.random() < .7
            self.out += b'' if single else b'('
            for item in items[:n]:
                for x in item:
                    self.write(x)
            self.out += one if single else many
            items = items[n:]

    def box(self, value: list | dict) -> None:
        dict_ = isinstance(value, dict)
        items = list(value.items()) if dict_ else [(x,) for x in value]
        self.out += b'}' if dict_ else b']'
        for _ in range(self.dice.choice((1, 1, 1, 1, 2))):
            self.put(value)
        if self.late and is_stack(value) and len(items) > 1 and self.dice.random() < .5:
            self.left[id(value)] = items[1:]
            items = items[:1]
        self.items(items, b's' if dict_ else b'a', b'u' if dict_ else b'e')

    def again(self, value: list | dict) -> None:
        self.get(value)
        items = self.left.pop(id(value), None)
        if items:
            self.changed = True
            dict_ = isinstance(value, dict)
            self.items(items, b's' if dict_ else b'a', b'u' if dict_ else b'e')

    def write(self, value: object) -> None:
        self.seen.append(value)
        if isinstance(value, (list, dict)):
            if id(value) in self.numbers:
                self.again(value)
            else:
                self.box(value)
        elif isinstance(value, tuple):
            self.out += b'('
            for x in value:
                self.write(x)
            self.out += b't'
        elif isinstance(value, str):
            if id(value) in self.numbers and self.dice.random() < .8:
                self.get(value)
                return
            self.out += b'X' + struct.pack('<I', len(value.encode())) + value.encode()
            if self.dice.random() < .8:
                self.put(value)
        elif value is None or isinstance(value, bool):
            self.out += PLAIN[value]
        elif isinstance(value, float):
            self.out += b'G' + struct.pack('>d', value)
        else:
            n = value.bit_length() // 8 + 1
            self.out += b'K' + bytes([value]) if 0 <= value < 256 else b'\x8a' + bytes([n]) + value.to_bytes(n, 'little', signed=True)


def random_snapshot(dice: random.Random) -> dict:
    """Allocs and frees in one segment; stacks, notes and whole events are there once or as copies."""
    stacks = [[dict(dice.choice(FRAMES), line=dice.randrange(1, 4)) for _ in range(dice.randrange(5))] for _ in range(4)]
    held: list[int] = []
    log = Log()
    log.segment(LARGE, 512 * M)
    for _ in range(dice.randrange(5, 60)):
        stack = dice.choice(stacks)
        more = {'frames': stack if dice.random() < .5 else copy.deepcopy(stack)}
        if dice.random() < .2:
            more['user_metadata'] = dice.choice(('forward', 'backward'))
        if dice.random() < .1:
            more['pool_id'] = dice.choice(((0, 0), (1, 2), [], [3, 4]))
        if dice.random() < .1:
            loop: list = []
            loop.append(loop)
            more['other'] = dice.choice((loop, {}, [[]], None, True))
        if held and dice.random() < .4:
            n = held.pop(dice.randrange(len(held)))
            log.add('free_completed', LARGE + n * 2 * M, M, **more)
        else:
            n = dice.choice([i for i in range(256) if i not in held])
            held.append(n)
            log.alloc(LARGE + n * 2 * M, M, **more)
        if dice.random() < .05:
            log.add(dice.choice(('snapshot', 'unheard of')), 0, 0)
        if dice.random() < .03:
            log.events.append(log.events[-1])   # the same dict: it contradicts itself, which is told
    blocks = [x for n in range(256) for x in
              ((block(LARGE + n * 2 * M, M, frames=dice.choice(stacks)), hole(LARGE + n * 2 * M + M, M)) if n in held
               else (hole(LARGE + n * 2 * M, 2 * M),))]
    more = {'host_traces': log.events} if dice.random() < .05 else {}
    logs = [log] if dice.random() < .7 else [log, Log(), copy.deepcopy(log)]
    return snapshot([segment(LARGE, *blocks)], *logs, **more)


def answers(data: bytes) -> list:
    Path('s').write_bytes(data)
    out = []
    for args in (('trace', 'convert', '--stacks', 'all', 's', '-'), ('explain', '--at', 'peak', '--json', '-', 's'),
                 ('trace', 'info', '--json', '-', 's')):
        done = fragsim(*args)
        out.append((done.returncode, done.stdout, done.stderr))
    return out


def compare(late: bool, count: int) -> None:
    changed = good = 0
    wrong = []
    for seed in range(count):
        dice = random.Random(seed)
        ways = Ways(dice, late)
        ways.write(random_snapshot(dice))
        data = bytes(ways.out) + b'.'
        changed += ways.changed
        value = pickle.loads(data)
        got = answers(data)
        good += got[0][0] == 0
        if got != answers(pickle.dumps(value, 4)):
            wrong.append(f'seed {seed}')
    TAP.result(f'{count} snapshots {"that change boxes later" if late else "in other ways"} are what Python reads', wrong,
               late and changed < count / 2 and f'only {changed} changed a box',
               good < count / 2 and f'only {good} could be converted')


def from_pipe() -> None:
    """Two lists are equal until one of them grows: that takes a second reading, which a pipe does not permit."""
    value = snapshot([segment(LARGE, block(LARGE, M), hole(LARGE + M, 31 * M))], Log().free(LARGE, M).alloc(LARGE, M))
    grows = b'X\x01\0\0\0a](K\x01K\x02eX\x01\0\0\0b]r\xff\0\0\0(K\x01K\x02eX\x01\0\0\0cj\xff\0\0\0K\x03au.'
    for name, end, status in ('as usual', b'u.', 0), ('where a list grows', grows, 4):
        data = pickle.dumps(value, 4)[:-2] + end
        Path('s').write_bytes(data)
        told = fragsim('trace', 'convert', 's', '-')
        piped = fragsim('trace', 'convert', '-', '-', stdin=data)
        TAP.result(f'a pickle from a pipe, {name}', told.returncode and f'the file: {told.stderr!r}',
                   piped.returncode != status and f'status {piped.returncode}: {piped.stderr!r}',
                   status and b'must be read twice, which a pipe cannot be' not in piped.stderr and piped.stderr)


def inside() -> None:
    """A box that something within it refers to, while it is open, may be added to later: it must not be taken for complete."""
    for of in ('event', 'frame', 'stack'):
        for name, refer in (('itself', lambda box: box), ('a list', lambda box: [box]), ('a dict', lambda box: {'box': box})):
            frames = [dict(frame) for frame in FRAMES[:2]]
            log = Log().alloc(LARGE, M, frames=frames).alloc(LARGE + M, M, frames=frames)
            event = log.events[1]
            box = event if of == 'event' else frames[0]
            box['other'] = refer(box if of != 'stack' else frames)
            file = io.BytesIO()
            # pylint: disable-next=protected-access
            pickler = pickle._Pickler(file, 4)      # type: ignore[attr-defined]
            pickler.dump(snapshot([segment(LARGE, hole(LARGE, M), block(LARGE + M, M), hole(LARGE + 2 * M, 30 * M))], log))
            data = file.getvalue()
            number = pickler.memo[id(frames if of == 'stack' else box)][0]
            more = b'h' + bytes([number]) if number < 256 else b'j' + struct.pack('<I', number)
            later = Ways(random.Random(1), False)
            later.count = 400
            for x in {'event': ('frames', FRAMES[1:]), 'frame': ('name', 'later'), 'stack': (FRAMES[2],)}[of]:
                later.write(x)
            data = (data[:-2] + b'X\x04\0\0\0more' + more + bytes(later.out[2:]) + (b'a' if of == 'stack' else b's')
                    + b'u.')
            want = pickle.loads(data)
            TAP.same(f'{of}: {name} within it, and it grows', answers(data), answers(pickle.dumps(want, 4)))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    from_pipe()
    inside()
    compare(False, times(60, 300))
    compare(True, times(60, 300))
sys.exit(TAP.finish())
