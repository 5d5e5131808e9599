"""run.py - modules that XLA compiled, with the places of their buffers (*.hlo.pb).

    run.py PROGRAM

Prints TAP.  The files are those of make.py. What they mean is decoded here a second time, by a
plain reader of the wire format; peaks, lifetimes and plans are counted from that by brute force.
"""

import gzip
import json
import os
import pickle
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import fragsim  # noqa: E402
from tap import Tap  # noqa: E402

HERE = Path(__file__).resolve().parent
FILES = ('mlp', 'recurrent', 'mixed')
POOL = 'inputs and outputs'
ALLOC, FREE, SHARE = 0, 1, 2
TAP = Tap()
report = TAP.result


# Reading the wire format, all fields of a message as number -> values.

def varint(data: bytes, at: int) -> tuple:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def message(data: bytes) -> dict:
    at, fields = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            length, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value = data[at:at + length]
            at += length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def one(fields: dict, number: int, usual: object = 0) -> object:
    return fields.get(number, [usual])[-1]


class Module:
    """What the file says, with a group of buffers as one block."""

    def __init__(self, data: bytes) -> None:
        proto = message(data)
        module, places = message(one(proto, 1, b'')), message(one(proto, 3, b''))
        self.names = {}
        for computation in module[3]:
            for of in map(message, message(computation)[2]):
                op_name = one(message(one(of, 7, b'')), 2, b'').decode()
                name = one(of, 1).decode()
                self.names[one(of, 35)] = name + (f' | {op_name}' if op_name else '')
        self.tag = {one(b, 1): self.names[one(message(one(b, 3)), 4)]
                    for b in map(message, places[1])}
        self.offset, self.size, self.whole, self.silent = {}, {}, [], []
        (trace,) = places[4]
        self.events = [(one(e, 1), one(e, 2), one(e, 5))
                       for e in map(message, message(trace)[1])]
        heap = {buffer for _, buffer, _ in self.events}
        self.given = 0
        for a in map(message, places[3]):
            if one(a, 3):       # of a thread
                continue
            assigned = [(one(x, 1), one(x, 2), one(x, 3)) for x in map(message, a.get(9, []))]
            if heap & {x[0] for x in assigned}:
                self.given += one(a, 2)
                for buffer, offset, size in assigned:
                    self.offset[buffer], self.size[buffer] = offset, size
                self.silent += [x for x in assigned if x[0] not in heap]
            else:
                self.whole.append(one(a, 2))
        self.count_lives()

    def count_lives(self) -> None:
        """The groups; of each the times at which one of its buffers is in use."""
        self.group, users, self.used = {}, {}, {}
        for time, (kind, buffer, other) in enumerate(self.events):
            if kind != FREE:
                self.group[buffer] = self.group[other] if kind == SHARE else buffer
            group = self.group[buffer]
            users[group] = users.get(group, 0) + (-1 if kind == FREE else 1)
            if kind != FREE and users[group] == 1:
                self.used.setdefault(group, []).append([time, None])
            elif users[group] == 0:
                self.used[group][-1][1] = time
        # one that begins with the next event, as a buffer took the place of another, is no gap
        for runs in self.used.values():
            for a, b in zip(runs[:-1], runs[1:], strict=True):
                if b[0] == a[1] + 1:
                    b[0] = a[0]
                    a[0] = a[1]
            runs[:] = [run for run in runs if run[0] != run[1]]

    def at(self, time: int, gaps: bool) -> list:
        """The blocks that are live after an event; with gaps as a plan may use them."""
        return [g for g, runs in self.used.items()
                if (any(a <= time < b for a, b in runs) if gaps
                    else runs[0][0] <= time < runs[-1][1])]

    def merged(self) -> list:
        """Buffers without events: where they overlap, one of (first buffer, offset, size)."""
        blocks = []
        for buffer, offset, size in sorted(self.silent, key=lambda x: x[1]):
            if blocks and offset < blocks[-1][1] + blocks[-1][2]:
                last = blocks[-1]
                last[2] = max(last[2], offset + size - last[1])
            else:
                blocks.append([buffer, offset, size])
        return blocks

    def peak(self, gaps: bool) -> int:
        return sum(b[2] for b in self.merged()) + max(
            sum(self.size[g] for g in self.at(t, gaps)) for t in range(len(self.events)))


def module_of(name: str) -> tuple:
    path = HERE / f'{name}.hlo.pb.gz'
    return path, Module(gzip.decompress(path.read_bytes()))


def events_of(path: Path) -> list:
    done = fragsim('trace', 'convert', '-q', path, '-', statuses=(0,))
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def test_events(name: str) -> None:
    path, module = module_of(name)
    events = events_of(path)
    heap = [e for e in events if e['op'] == 'free' or e.get('pool') != POOL]
    silent = len(module.merged())
    wanted = []
    for time in range(len(module.events)):
        for group, runs in module.used.items():
            if runs[-1][1] == time:
                wanted.append({'op': 'free', 'id': group})
            if runs[0][0] == time:
                wanted.append({'op': 'alloc', 'id': group, 'size': module.size[group],
                               'tag': module.tag[group]})
    report(f'{name}: an alloc and a free of each block of the heap, with its instruction',
           [] if heap[silent:] == wanted else [f'got {heap[silent:]}', f'wanted {wanted}'])
    report(f'{name}: buffers that no event has are there from the beginning',
           [] if sorted(e['size'] for e in heap[:silent]) == sorted(b[2] for b in module.merged())
           else [f'got {heap[:silent]}', f'wanted {module.merged()}'])
    got = [e['size'] for e in events if e.get('pool') == POOL]
    report(f'{name}: parameters, constants and outputs, each as large as its allocation',
           [] if got == module.whole else [f'got {got}', f'wanted {module.whole}'])


def test_peak(name: str) -> None:
    path, module = module_of(name)
    done = fragsim('explain', '--at', 'peak', '-v', '-p', 'bestfit', path, statuses=(0,))
    run = json.loads(fragsim('run', '-q', '-p', 'direct', '--json', '-', path, statuses=(0,)).stdout)
    got = run['runs'][0]['peak']['requested']
    wanted = module.peak(gaps=False) + sum(module.whole)
    report(f'{name}: the peak', [] if got == wanted else [f'got {got}, wanted {wanted}'])
    blocks = [(e['size'], e['tag'].partition(' | ')[0]) for e in events_of(path)
              if e.get('pool') == POOL]
    report(f'{name}: explain names the instruction of a largest block at the peak', [] if any(
        f'"{tag}' in done.stdout.decode() for size, tag in blocks if size == max(blocks)[0])
        else done.stdout.decode())


def test_plan(name: str) -> None:
    """Placements are tried at each event of the heap, whatever the program says of them."""
    path, module = module_of(name)
    done = fragsim('plan', '-q', '--alone', '--json', 'answer.json', '--plan', 'plan.json', path,
                   statuses=(0,))
    space = json.loads(Path('answer.json').read_text())['spaces'][0]
    buffers = {b['id']: b for b in json.loads(Path('plan.json').read_text())['buffers']
               if b['pool'] == 0}
    faults = [done.stderr.decode()] if done.stderr else []
    always = [buffers[b[0]] for b in module.merged()]
    for time in range(len(module.events)):
        live = sorted((b['offset'], b['offset'] + b['size'])
                      for b in [*always, *(buffers[g] for g in module.at(time, True))])
        faults += [f'{a} and {b} overlap at event {time}'
                   for a, b in zip(live[:-1], live[1:], strict=True) if a[1] > b[0]]
    high = max(b['offset'] + b['size'] for b in buffers.values())
    if high != space['height']:
        faults.append(f'the height is {high}, not {space["height"]}')
    offsets = set(module.offset.values())
    align = next(a for a in (256, 128, 64, 32, 16, 8, 4, 2, 1) if all(o % a == 0 for o in offsets))
    faults += [f'{b} is not aligned' for b in buffers.values() if b['offset'] % align]
    report(f'{name}: no two blocks of the plan overlap, and all are aligned as XLA has them', faults)
    report(f'{name}: the plan is not above the allocation of XLA, nor below the peak', [
        f'{key}: {space}' for key, good in (
            ('given_height', space['given_height'] == module.given),
            ('height', space['height'] <= module.given),
            ('bound', space['bound'] == module.peak(gaps=True))) if not good])
    text = fragsim('plan', '--alone', path, statuses=(0,)).stdout.decode()
    report(f'{name}: the text has the allocation of XLA',
           [] if f'  XLA       {module.given} bytes' in text else text)


def stacks_of(module: dict) -> dict:
    """The frames of each instruction, the innermost first, as (file, function, line)."""
    index = message(one(module, 17))
    files, functions = ([x.decode() for x in index[n]] for n in (1, 2))
    places = [(files[one(p, 1) - 1], functions[one(p, 2) - 1], one(p, 3))
              for p in map(message, index[3])]
    frames = [(one(f, 1), one(f, 2)) for f in map(message, index[4])]
    stacks = {}
    for computation in module[3]:
        for of in map(message, message(computation)[2]):
            metadata = message(one(of, 7, b''))
            op_name, at, stack = one(metadata, 2, b'').decode(), one(metadata, 15), []
            while at:
                place, at = frames[at - 1]
                stack.append(places[place - 1])
            stacks[one(of, 1).decode()] = [('', op_name, 0), *stack] if op_name else stack
    return stacks


def test_stacks() -> None:
    """A snapshot of a run has the frames of each block."""
    path, _ = module_of('recurrent')
    stacks = stacks_of(message(one(message(gzip.decompress(path.read_bytes())), 1)))
    fragsim('trace', 'convert', '-q', '--stacks', 'all', '--to', 'snapshot', '-p', 'bestfit', path, 'x.pickle',
            statuses=(0,))
    events = pickle.loads(Path('x.pickle').read_bytes())['device_traces'][0]
    got = [[(f['filename'], f['name'], f['line']) for f in e['frames']] for e in events
           if e['action'] == 'alloc']
    tags = [e['tag'] for e in events_of(path) if e['op'] == 'alloc']
    wanted = [stacks[tag.partition(' | ')[0]] or [('tag', tag, 0)] for tag in tags]
    report('stacks: the operation, then the lines of the program', [] if got == wanted and any(
        f[0] == 'programs.py' for stack in got for f in stack) else [
            f'got {a}, wanted {b}' for a, b in zip(got, wanted, strict=False) if a != b])


# Files by hand.

def number(value: int) -> bytes:
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def put(*fields: tuple) -> bytes:
    """Of (number, integer), or (number, bytes or text)."""
    out = b''
    for key, value in fields:
        if isinstance(value, int):
            out += number(key << 3) + number(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += number(key << 3 | 2) + number(len(data)) + data
    return out


MODULE = put((1, 'small'), (2, 'main'), (3, put((1, 'main'), (2, put(
    (1, 'add.1'), (7, put((2, 'jit(f)/add'))), (35, 7))))))
BUFFERS = [(1, put((1, 1), (2, 64), (3, put((4, 7))))), (1, put((1, 2), (2, 64)))]
PLACES = [(1, 0, 64), (2, 64, 64)]


def allocation(size: int, places: list, *more: tuple) -> tuple:
    return 3, put((2, size), *more, *[(9, put((1, a), (2, b), (3, c))) for a, b, c in places])


def heap(*events: tuple, whole: int = 1) -> tuple:
    return 4, put(*[(1, put((1, e[0]), (2, e[1]), (5, e[2] if len(e) > 2 else 0)))
                    for e in events], (2, whole))


def proto(*assignment: tuple, module: bytes = MODULE) -> bytes:
    return put((1, module), (3, put(*assignment)))


GOOD = proto(*BUFFERS, allocation(128, PLACES), heap((ALLOC, 1), (ALLOC, 2), (FREE, 1), (FREE, 2)))


def test_by_hand() -> None:
    wanted = [{'op': 'alloc', 'id': 1, 'size': 64, 'tag': 'add.1 | jit(f)/add'},
              {'op': 'alloc', 'id': 2, 'size': 64},
              {'op': 'free', 'id': 1}, {'op': 'free', 'id': 2}]
    unknown = number(99 << 3 | 1) + bytes(8) + number(98 << 3 | 5) + bytes(4)
    nested = b''
    for _ in range(2000):
        nested = put((97, nested))
    two = [heap((ALLOC, 1), (FREE, 1)), heap((ALLOC, 2), (FREE, 2))]
    cases = {
        'two buffers': (GOOD, wanted),
        'unknown fields, one of them 2,000 messages deep':
            (proto(*BUFFERS, allocation(128, PLACES), heap(
                (ALLOC, 1), (ALLOC, 2), (FREE, 1), (FREE, 2))) + unknown + nested, wanted),
        'a copy of the simulation for each allocation': (proto(
            *BUFFERS, allocation(64, [PLACES[0]]), allocation(64, [(2, 0, 64)]),
            *[heap((ALLOC, 1), (ALLOC, 2), (FREE, 1), (FREE, 2))] * 2), wanted),
        'buffers of a thread are omitted': (proto(
            *BUFFERS, (1, put((1, 3))), allocation(128, PLACES), allocation(
                4, [(3, 0, 4)], (3, 1)),
            heap((ALLOC, 1), (ALLOC, 2), (FREE, 1), (FREE, 2))), wanted),
        'one that is never freed': (proto(*BUFFERS, allocation(128, PLACES), heap(
            (ALLOC, 1), (ALLOC, 2), (FREE, 2))), [*wanted[:2], wanted[3]]),
        'one that shares is no block of its own': (proto(*BUFFERS, allocation(
            64, [(1, 0, 64), (2, 0, 64)]), heap(
                (ALLOC, 1), (SHARE, 2, 1), (FREE, 1), (FREE, 2))), [wanted[0], wanted[2]]),
        'memory spaces are devices': (proto(
            *BUFFERS, allocation(64, [PLACES[0]]), allocation(64, [(2, 0, 64)], (8, 5)), *two), [
                {**e, 'device': i} for i in (0, 1) for e in wanted[i::2]]),
        'no instruction is known': (proto(*BUFFERS, allocation(128, PLACES), heap(
            (ALLOC, 1), (ALLOC, 2), (FREE, 1), (FREE, 2)), module=put((1, 'a'), (2, 'b'), (3, b''))),
            [{k: v for k, v in e.items() if k != 'tag'} for e in wanted]),
        'a name that is no text': (GOOD.replace(b'add.1', b'a\xff\x00.1'), [
            {**wanted[0], 'tag': 'a??.1 | jit(f)/add'}, *wanted[1:]]),
    }
    for name, (data, events) in cases.items():
        path = Path('in')
        path.write_bytes(data)
        try:
            got = events_of(path)
        except AssertionError as fault:
            got = fault
        report(f'by hand: {name}', [] if got == events else [f'got {got}', f'wanted {events}'])


def test_given() -> None:
    """XLA's height is compared with sizes of the file only, and may be wrong itself."""
    events = heap((ALLOC, 1), (ALLOC, 2), (FREE, 1), (FREE, 2))
    Path('good').write_bytes(GOOD)
    Path('overlap').write_bytes(proto(*BUFFERS, allocation(64, [(1, 0, 64), (2, 0, 64)]), events))
    fragsim('plan', '-q', '--alone', '--align', '512', '--plan', 'rounded.plan', 'good', statuses=(0,))
    for name, words, wanted in (
            ('sizes of the file', ('good',), '128 bytes, 128 bytes: the bound'),
            ('rounded sizes', ('--align', '512', 'good'), '128 bytes, 128 bytes, for the sizes in the trace'),
            ('a checked plan of rounded sizes', ('--check', 'rounded.plan', 'good'),
             '128 bytes, 128 bytes, for the sizes in the trace'),
            ('two buffers in one place', ('overlap',),
             '64 bytes, 64 bytes: below the bound, because its buffers overlap'),
            *((f'{path.name} in steps of {align}', ('--align', align, path), None)
              for path in sorted(HERE.glob('*.gz')) for align in (2, 512, 2**20))):
        done = fragsim('plan', '--alone', *words)
        said = re.findall(r'^  XLA       (.*)', done.stdout.decode(), re.M)
        good = not done.returncode and (not wanted or said == [wanted])
        report(f'row XLA: {name}', [] if good else
               [f'status {done.returncode}, {said}: {done.stderr.decode()}'])


def refused(name: str, data: bytes, pattern: str) -> None:
    Path('in').write_bytes(data)
    done = fragsim('trace', 'info', '-q', 'in')
    told = done.stderr.decode()
    faults = [] if done.returncode == 4 else [f'exit status {done.returncode}']
    if told.count('\n') != 1 or not re.search(pattern, told):
        faults.append(f'{told!r} where {pattern!r} is required')
    report(f'refused: {name}', faults)


def test_refused() -> None:
    both = allocation(128, PLACES)
    pair = heap((ALLOC, 1), (FREE, 1))
    head = GOOD[:len(put((1, MODULE)))]
    cases = {
        'no buffer assignment': (head, 'the buffer assignment is missing.*after_optimizations'),
        'a file that ends early': (GOOD[:-5], 'byte [0-9]+: a field that is longer than its message'),
        'a length of 2^63': (head + b'\x1a' + b'\xff' * 8 + b'\x7f', 'longer than its message'),
        'a number of 11 bytes': (head + b'\x08' + b'\xff' * 10 + b'\x01', 'number'),
        'a number of 65 bits': (head + b'\x08' + b'\xff' * 9 + b'\x02', 'more than 64 bits'),
        'a number that does not end': (head + b'\x08\xff', 'a number that does not end'),
        'a group': (head + b'\x1b', 'a field of an unknown type'),
        'an id of 2^63': (proto((1, put((1, 1 << 63)))), 'id is not below 2.53'),
        'an id that is used twice': (proto(BUFFERS[0], BUFFERS[0]), 'id is specified more than once'),
        'a place of an unknown buffer': (proto(both), 'not among the logical buffers'),
        'a buffer in two allocations': (proto(*BUFFERS, both, both), 'buffer 1 is in two allocations'),
        'a buffer behind its allocation': (proto(*BUFFERS, allocation(64, PLACES)),
                                           'buffer 2 is not within its allocation'),
        'an offset near 2^64': (proto(*BUFFERS, allocation(64, [(1, 2**64 - 8, 64)])),
                                'buffer 1 is not within its allocation'),
        'an allocation of 2^60 bytes': (proto(*BUFFERS, allocation(1 << 60, [])), 'not below 2.53'),
        'a free without an alloc': (proto(*BUFFERS, both, heap((FREE, 1))),
                                    'buffer 1 is freed but is not allocated'),
        'a second free': (proto(*BUFFERS, both, heap((ALLOC, 1), (FREE, 1), (FREE, 1))),
                          'buffer 1 is freed but is not allocated'),
        'a second alloc': (proto(*BUFFERS, both, heap((ALLOC, 1), (ALLOC, 1))),
                           'buffer 1 is allocated more than once'),
        'an event of an unknown buffer': (proto(*BUFFERS, both, heap((ALLOC, 9))), 'not among'),
        'an event of an unknown kind': (proto(*BUFFERS, both, heap((7, 1))), 'none of ALLOC'),
        'a buffer without a place': (proto(*BUFFERS, allocation(64, [PLACES[0]]), heap((ALLOC, 2))),
                                     'buffer 2 is in no allocation'),
        'one that shares with none': (proto(*BUFFERS, both, heap((SHARE, 1, 2))),
                                      'buffer 1 shares the place of a buffer that was not'),
        'a simulation of one computation': (proto(*BUFFERS, both, heap((ALLOC, 1), whole=0)),
                                            'for a part of the module'),
        'two simulations of one space': (proto(*BUFFERS, both, pair, heap((ALLOC, 2), (FREE, 2))),
                                         'for a part of the module'),
        'seventeen memory spaces': (proto(*[allocation(1, [], (8, i)) for i in range(17)]),
                                    'more than 16 memory spaces'),
        'no buffers': (proto((1, put((1, 1)))), 'the module has no buffers'),
        'heaps of 2^53 bytes': (proto(
            *BUFFERS, *[allocation((1 << 53) - 1, [(i, 0, 64)]) for i in (1, 2)],
            heap((ALLOC, 1), (ALLOC, 2))), '2.53 bytes or more'),
        # of other files, whose readers say what they lack
        'text that begins with a new line': (b'\n\n\x06abcdef\x12', 'not JSON'),
        'another message of protobuf': (put((1, put((1, 5), (2, 'x')))), 'not JSON'),
    }
    for name, (data, pattern) in cases.items():
        refused(name, data, pattern)


def test_cut() -> None:
    """A real file that is cut anywhere, or has one byte changed, ends with a status of its own."""
    data = gzip.decompress((HERE / 'mlp.hlo.pb.gz').read_bytes())
    faults = []
    for i in range(40):
        at = len(data) * i // 40
        for bad in (data[:at], data[:at] + bytes([data[at] ^ 1 << i % 8]) + data[at + 1:]):
            Path('in').write_bytes(bad)
            done = fragsim('trace', 'info', '-q', 'in')
            if done.returncode not in (0, 4) or done.stderr.count(b'\n') > 1:
                faults.append(f'{at}: {done.returncode} {done.stderr!r}')
    report('refused: cut or changed anywhere', faults)


def main() -> int:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        for name in FILES:
            test_events(name)
            test_peak(name)
            test_plan(name)
        test_stacks()
        test_by_hand()
        test_given()
        test_refused()
        test_cut()
    finally:
        os.chdir('/')
        shutil.rmtree(folder)
    return TAP.finish()


sys.exit(main())
