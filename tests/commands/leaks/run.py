"""run.py - fragsim leaks, against programs whose growth is known.

    run.py PROGRAM

Prints TAP. Levels, cuts and verdicts of random programs are computed here once more, by brute force
from their events, by the definitions of the manual. Each branch of the rules has a program whose
levels are known by arithmetic.
"""
import csv
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'support'))
from program import fragsim, times  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

TREE = HERE.parents[2]
sys.path.insert(0, str(TREE / 'tests' / 'formats' / 'snapshot'))
import snaps  # noqa: E402
TRACES = Path(os.environ.get('TRACES') or TREE / 'traces')
HEADER = {'format': 'fragsim-trace', 'version': 1}
SEEDS = times(15, 150, 10)
MIB = 1 << 20
TAP = Tap()


def document(*args: object) -> dict:
    done = fragsim('leaks', *args, '--json', '-')
    assert done.returncode == 0, f'{args}: {done.returncode} {done.stderr.decode()}'
    return json.loads(done.stdout)


def write(path: str, events: list, **header: object) -> str:
    lines = [json.dumps(x) for x in [HEADER | header, *events]]
    Path(path).write_text('\n'.join(lines) + '\n')
    return path


class Program:
    """Events, written by hand: blocks by name."""

    def __init__(self) -> None:
        self.events: list[dict] = []
        self.count = 0
        self.live: dict[object, int] = {}

    def alloc(self, size: int, tag: str | None = None, name: object = None, **more: object) -> int:
        self.count += 1
        self.events.append({'op': 'alloc', 'id': self.count, 'size': size}
                           | ({'tag': tag} if tag else {}) | more)
        if name is not None:
            self.live[name] = self.count
        return self.count

    def free(self, block: int) -> None:
        self.events.append({'op': 'free', 'id': block})

    def drop(self, name: object) -> None:
        if name in self.live:
            self.free(self.live.pop(name))

    def mark(self, name: str) -> None:
        self.events.append({'op': 'mark', 'name': name})

    def scratch(self, size: int = 2 * MIB, tag: str = 'train.py:9 forward') -> None:
        self.free(self.alloc(size, tag))


# Brute force ---------------------------------------------------------------------

def levels_of(events: list, owner: Callable) -> tuple[list, list]:
    """The minimum of bytes and of blocks within each whole round, of blocks with owner(event)."""
    live: dict = {}
    size = count = 0
    rounds: list[list] = []
    for e in events:
        if e['op'] == 'mark' and e['name'].startswith('step'):
            rounds.append([size, count])
        elif e['op'] == 'alloc' and owner(e):
            live[e['id']] = e['size']
            size, count = size + e['size'], count + 1
        elif e['op'] == 'free' and e['id'] in live:
            size, count = size - live.pop(e['id']), count - 1
        if rounds:
            rounds[-1] = [min(rounds[-1][0], size), min(rounds[-1][1], count)]
    return [x[0] for x in rounds[:-1]], [x[1] for x in rounds[:-1]]


def cuts_of(levels: list) -> list:
    return [i for i in range(1, len(levels)) if max(levels[:i]) < min(levels[i:])]


def rises(levels: list) -> tuple | None:
    """('on' or 'stopped', cuts); of 16 levels and more those of pairs are judged too."""
    cuts = [i for i in cuts_of(levels) if i > 1]
    gaps = [b - a for a, b in zip(cuts, cuts[1:])]
    if len(cuts) >= 3 and len(levels) - cuts[-1] <= max(gaps) <= len(levels) / 2:
        before = levels[:cuts[0]]
        fall = max(max(before[:i + 1]) - x for i, x in enumerate(before))
        return 'on' if levels[-1] - max(before) >= fall else 'stopped', cuts
    late = [i for i in cuts_of(levels) if i >= len(levels) // 2 and 3 <= i <= len(levels) - 3]
    if late:
        return 'stopped', late
    if len(levels) >= 16:
        odd = len(levels) % 2
        pairs = rises([min(levels[i:i + 2]) for i in range(odd, len(levels), 2)])
        if pairs and pairs[0] == 'on':
            return 'on', [2 * i + odd for i in pairs[1]]
    return None


def expected(program: Program, tags: list) -> tuple[str, dict]:
    """The verdict, and of each tag that rises its kind and its bytes an iteration."""
    total, _ = levels_of(program.events, lambda e: True)
    n, least = len(total), max(64 << 10, total[-1] / 1000) if total else 0
    if n < 5:
        return 'unknown', {}
    said: dict[str, tuple] = {}
    proven = False
    for tag in tags:
        size, count = levels_of(program.events, lambda e, tag=tag: e.get('tag') == tag)
        if size[-1] - size[n // 2] <= least:
            continue
        more, larger = rises(count), rises(size)
        if (larger and larger[0] == 'stopped') or not any(x and x[0] == 'on' for x in (more, larger)):
            continue
        kind, (_, cuts) = ('more', more) if more and more[0] == 'on' else ('larger', larger)
        pace = (size[cuts[-1]] - size[cuts[0]]) / (cuts[-1] - cuts[0])
        said[tag] = kind, round(pace) if pace > 0 else None
        proven = proven or kind == 'more'
    if proven:
        return 'leak', said
    rise = rises(total)
    if said or (rise and rise[0] == 'on' and total[-1] - total[n // 2] > least):
        return 'grows', said
    if rise and rise[0] == 'stopped' and total[-1] - total[rise[1][0] - 1] > least:
        return 'unknown', said
    return 'none', said


def random_program(seed: int) -> tuple[Program, list]:
    """Owners that keep every k-th block, for ever or for some rounds, or replace it by a larger one."""
    rng = random.Random(seed)
    p, tags = Program(), [f'train.py:{i} f' for i in range(4)]
    kinds = [rng.choice(['none', 'every', 'cache', 'larger', 'noise', 'window', 'once']) for _ in tags]
    every = [rng.randrange(1, 6) for _ in tags]
    if rng.random() < 0.4:
        kinds = ['none' if x in ('every', 'larger') else x for x in kinds]
    for _ in range(rng.randrange(4)):
        p.alloc(MIB, 'model.py:3 build')
    for i in range(rng.randrange(3, 45)):
        p.mark(f'step {i}')
        for tag, kind, k in zip(tags, kinds, every):
            p.scratch(rng.randrange(1, 9) * MIB, tag)
            if kind == 'every' and i % k == k - 1:
                p.alloc(MIB, tag)
            elif kind == 'cache' and i < 4 * k:
                p.alloc(MIB, tag)
            elif kind == 'larger':
                new = p.alloc((i + 1) << 17, tag)
                p.drop(tag)
                p.live[tag] = new
            elif kind == 'noise':
                p.drop(tag)
                p.alloc(rng.randrange(1, 32) << 16, tag, tag)
            elif kind == 'window':
                p.alloc(MIB, tag, (tag, i))
                p.drop((tag, i - k))
            elif kind == 'once' and i == 5 * k:
                p.alloc(4 * MIB, tag)
        p.scratch()
    return p, tags


def random_programs() -> None:
    seen: dict[str, int] = {}
    for seed in range(SEEDS):
        program, tags = random_program(seed)
        said = document(write('t.ndjson', program.events))
        verdict, rising = expected(program, tags)
        found = {x['tag']: (x['kind'], x['per_iteration']) for x in said['rising']}
        wrong = [t for t in {*found, *rising}
                 if t not in found or t not in rising or found[t][0] != rising[t][0]
                 or (rising[t][1] is not None and found[t][1] != rising[t][1])]
        total, _ = levels_of(program.events, lambda e: True)
        device = said['devices'][0]
        gate = fragsim('leaks', '-q', '--fail-if', 'leak > 0', 't.ndjson').returncode
        if (said['verdict'] != verdict or wrong or gate != (verdict != 'none')
                or (len(total) >= 5 and [device['live_first'], device['live_last']] != [total[1], total[-1]])):
            TAP.result('random programs', f'seed {seed}: {said["verdict"]}, is {verdict}; {found},'
                                          f' is {rising}; the gate ends with {gate}; {device} {total}')
            return
        seen[verdict] = seen.get(verdict, 0) + 1
    TAP.result(f'random programs have the verdicts of brute force: {seen}',
               len(seen) < 4 and 'not every verdict: this proves little')


# Branches ------------------------------------------------------------------------

def steps(n: int, body: Callable, mark: str = 'step', base: int = 4) -> Program:
    """n marked rounds over weights of `base` blocks of 4 MiB."""
    p = Program()
    for _ in range(base):
        p.alloc(4 * MIB, 'train.py:5 build')
    for i in range(n):
        p.mark(f'{mark} {i}')
        p.scratch()
        body(p, i)
    return p


def said_of(p: Program, *args: object, **header: object) -> dict:
    return document(write('b.ndjson', p.events, **header), *args)


def periods() -> None:
    for k in (1, 2, 3, 5, 7):
        said = said_of(steps(24, lambda p, i, k=k: i % k == k - 1 and p.alloc(10 * MIB, 'eval.py:7 f')))
        # whole rounds 1 to 23: the levels from the second one on
        last = 16 + 10 * (22 // k)
        first = 16 + 10 * (1 // k)
        TAP.result(f'a block of each {k}. iteration is a leak of that period', said['verdict'] != 'leak',
                   [(x['tag'], x['period'], x['kind'], x['bytes']) for x in said['rising']]
                   != [('eval.py:7 f', k, 'more', (last - first) * MIB)] and f'{said["rising"]}',
                   abs(said['rising'][0]['per_iteration'] * k - 10 * MIB) > k,
                   said['devices'][0]['live_last'] != last * MIB and f'{said["devices"]}')


def no_leaks() -> None:
    cases = (
        ('nothing stays', lambda p, i: None, 'none'),
        ('four bytes an iteration', lambda p, i: p.alloc(4, 'x.py:1 f'), 'none'),
        ('a cache that is full', lambda p, i: i < 6 and p.alloc(MIB, 'cache.py:1 f'), 'none'),
        ('a window of three', lambda p, i: (p.alloc(MIB, 'w.py:1 f', i), p.drop(i - 3)), 'none'),
        ('a rise that stopped past the middle',
         lambda p, i: i in (10, 12, 13) and p.alloc(MIB, 'late.py:1 f'), 'unknown'),
        ('results that are freed every ten iterations',
         lambda p, i: (p.alloc(MIB, 'm.py:1 f', i), i % 10 == 9 and [p.drop(k) for k in range(i + 1)]), 'none'),
    )
    for name, body, verdict in cases:
        said = said_of(steps(24, body))
        TAP.result(f'{name}: {verdict}', said['verdict'] != verdict and f'{said}', said['leaks'], said['rising'])
    said = said_of(steps(5, lambda p, i: p.alloc(MIB, 'x.py:1 f')))
    TAP.result('four whole iterations are too few', said['verdict'] != 'unknown', said['iterations']['whole'] != 4)
    said = said_of(steps(6, lambda p, i: p.alloc(MIB, 'x.py:1 f')))
    TAP.result('five are enough', said['verdict'] != 'leak' and f'{said}', said['iterations']['whole'] != 5)


def growth() -> None:
    def cat(p: Program, i: int) -> None:
        new = p.alloc((i + 1) * MIB, 'chat.py:3 cat')
        p.drop('kv')
        p.live['kv'] = new
    said = said_of(steps(12, cat))
    TAP.result('one block that is larger each time is growth', said['verdict'] != 'grows' and f'{said}',
               [(x['tag'], x['kind'], x['per_iteration']) for x in said['rising']]
               != [('chat.py:3 cat', 'larger', MIB)] and f'{said["rising"]}', said['leaks'])
    said = said_of(steps(24, lambda p, i: p.alloc(MIB, f'a.py:{i} f')))
    TAP.result('another tag each time: the total grows, no tag is proven', said['verdict'] != 'grows' and f'{said}',
               said['rising'], said['devices'][0]['growth'] != MIB)
    p = steps(24, lambda p, i: p.alloc(MIB, 'a.py:1 f', i))
    for i in range(24):
        p.drop(i)
    TAP.result('blocks that are freed after the last iteration leaked until then', said_of(p)['verdict'] != 'leak')
    said = said_of(steps(24, lambda p, i: p.alloc(100000)))
    TAP.result('without a tag the size is named', said['verdict'] != 'leak' and f'{said}',
               [(x['tag'], x['size']) for x in said['leaks']] != [(None, 100000)] and f'{said["leaks"]}')


def devices() -> None:
    def body(p: Program, i: int) -> None:
        p.alloc(MIB, 'a.py:1 f', device=1)
        p.free(p.alloc(MIB, 'a.py:1 f', device=0))
    said = said_of(steps(12, body), devices=[{}, {}, {}])
    TAP.result('each device has a verdict, and the worst one counts',
               [x['verdict'] for x in said['devices']] != ['none', 'leak', 'none'] and f'{said["devices"]}',
               said['verdict'] != 'leak', [x['device'] for x in said['leaks']] != [1])


def after_the_last_mark() -> None:
    p = steps(12, lambda p, i: None, 'Optimizer.step#SGD.step')
    for _ in range(60):
        p.scratch()
        p.alloc(MIB, 'eval.py:3 f')
    said = said_of(p)
    TAP.result('what stays after the last mark is no "none"', said['verdict'] != 'unknown' and f'{said}')
    text = fragsim('leaks', 'b.ndjson').stdout.decode()
    TAP.result('and the text gives the reason', 'stays allocated after the last of 12 iterations' not in text and text)


def sizes() -> None:
    """Without marks and stacks a program of which the sizes repeat."""
    def loop(leak: int, weights: int = 1, lengths: Callable = lambda i: 0) -> list:
        p = Program()
        for _ in range(weights):
            p.alloc(4 * MIB, 'build')
        for i in range(12):
            ids = [p.alloc(64 + 8 * ((k * k * 7) % 31) + lengths(i), f'layer {k}') for k in range(30)]
            for x in ids:
                p.free(x)
            if leak:
                p.alloc(leak, 'losses.append')
        return p.events
    said = document(write('a', loop(MIB)))
    TAP.result('without marks a program that repeats itself is found out', said['verdict'] != 'leak' and f'{said}',
               [x['tag'] for x in said['leaks']] != ['losses.append'], said['devices'][0]['leak'] != MIB,
               said['iterations']['mark'] is not None, said['iterations']['steps'] != 61)
    TAP.result('and has no leak where there is none', document(write('a', loop(0)))['verdict'] != 'none')
    TAP.result('without anything to go over, it loads: no verdict',
               document(write('a', loop(MIB, weights=0)))['verdict'] != 'unknown')
    said = document(write('a', loop(MIB, lengths=lambda i: i * i * 3)))
    TAP.result('other sizes each time are no iterations', said['verdict'] != 'unknown', said['iterations']['count'])


# Stacks --------------------------------------------------------------------------

MAIN, LIB = '/app/main.py', '/usr/lib/python3.12/site-packages/torch/nn/modules/module.py'


class Recording:
    """A snapshot: each request with its frames, the outermost first, as 'function:line' of main.py."""

    def __init__(self) -> None:
        self.trace: list[dict] = []
        self.at = 1 << 40

    def alloc(self, size: int, *calls: str) -> dict:
        self.at += 1 << 24
        frames = [{'filename': LIB if c.startswith('_') else MAIN, 'name': c.partition(':')[0],
                   'line': int(c.partition(':')[2])} for c in reversed(calls)]
        e = {'addr': self.at, 'size': size, 'stream': 0, 'frames': frames}
        self.trace.append(e | {'action': 'alloc'})
        return e

    def free(self, e: dict) -> None:
        self.trace += [e | {'action': 'free_requested'}, e | {'action': 'free_completed'}]

    def scratch(self, *calls: str) -> None:
        self.free(self.alloc(MIB, *calls))

    def document(self, **more: object) -> dict:
        Path('s.pickle').write_bytes(snaps.pickled({'segments': [], 'device_traces': [self.trace]} | more))
        return document('s.pickle')


def weights(r: Recording) -> None:
    for i in range(4):
        r.alloc(4 * MIB, 'main:1', f'build:{50 + i}')


def forward(r: Recording, line: int, caller: str = 'main') -> None:
    """A module of three layers, which has a loop of its own."""
    for k in range(6):
        r.scratch(f'{caller}:{line}', '_call_impl:1', f'layers:{30 + k % 2}')


def loops() -> None:
    r = Recording()
    weights(r)
    for i in range(12):
        r.scratch('main:5')
        forward(r, 6)
        r.alloc(MIB, 'main:7')
    said = r.document()
    TAP.result('a loop of the program is found by its stacks', said['verdict'] != 'leak' and f'{said}',
               said['iterations']['loop'] != 'main.py:5 main' and f'{said["iterations"]}',
               said['iterations']['count'] != 12, [x['tag'] for x in said['leaks']] != ['main.py:7 main'],
               not all('/app/main.py:7 main' in x['frames'] for x in said['leaks']))
    r = Recording()
    weights(r)
    for i in range(12):
        forward(r, 5)
        r.scratch('main:5', 'batch:20')
    TAP.result('a loop of one line too', (r.document()['verdict'], r.document()['iterations']['count'])
               not in (('none', 12), ('none', 11), ('none', 13)) and f'{r.document()}')
    r = Recording()
    weights(r)
    for i in range(12):
        r.scratch('main:5', 'request:10')
        for _ in range(7):
            forward(r, 12, 'request')
            r.scratch('main:5', 'request:13')
        r.alloc(MIB, 'main:6')
    said = r.document()
    TAP.result('of nested loops the outer one counts', said['verdict'] != 'leak' and f'{said}',
               abs(said['iterations']['count'] - 12) > 1 and f'{said["iterations"]}')
    r = Recording()
    weights(r)
    for k in range(60):
        r.alloc(MIB, 'main:4', '_call_impl:1', f'layers:{30 + k % 2}')
    TAP.result('layers of one forward pass are no iterations', r.document()['iterations']['count'],
               r.document()['verdict'] != 'unknown')
    r = Recording()
    for _ in range(40):
        r.alloc(MIB, 'main:4', 'load:10')
        r.alloc(MIB, 'main:4', 'load:11')
    TAP.result('a loop that loads weights is none either', r.document()['verdict'] != 'unknown' and f'{r.document()}')


def evaluation() -> None:
    """Steps that are marked, then a loop after the last of them that keeps what it makes."""
    r = Recording()
    weights(r)
    marks = []
    for i in range(8):
        marks.append(len(r.trace))
        r.scratch('main:5')
        forward(r, 6)
    for i in range(20):
        r.scratch('main:10')
        forward(r, 11)
        r.alloc(MIB, 'main:12')
    for t, e in enumerate(r.trace):
        e['time_us'] = 10 * t + 10
    notes = [{'name': f'Optimizer.step#SGD.step', 'stage': 'START', 'device': 0, 'time_us': 10 * m + 5}
             for m in marks]
    said = r.document(external_annotations=notes)
    TAP.result('an evaluation after the last step is judged by itself', said['verdict'] != 'leak' and f'{said}',
               [x['tag'] for x in said['leaks']] != ['main.py:12 main'], said['iterations']['mark'] is not None)


def late() -> None:
    """New blocks take the place of old ones, whose tags are unknown: no tag leaks alone."""
    r, old = Recording(), []
    for i in range(40):
        old.append({'addr': (1 << 40) - ((i + 1) << 21), 'size': MIB, 'stream': 0})
    for i in range(20):
        r.scratch('main:5')
        forward(r, 6)
        r.free(old[i] | {'frames': []})
        r.alloc(MIB, 'main:7')
    live = {e['addr'] for e in r.trace if e['action'] == 'alloc'} - {
        e['addr'] for e in r.trace if e['action'] == 'free_completed'}
    def segment(address: int, state: str) -> dict:
        return {'address': address, 'total_size': 2 * MIB, 'stream': 0, 'segment_type': 'large', 'device': 0,
                'allocated_size': MIB, 'active_size': MIB, 'requested_size': MIB, 'blocks': [
                    {'address': address, 'size': MIB, 'requested_size': MIB, 'state': state},
                    {'address': address + MIB, 'size': MIB, 'requested_size': 0, 'state': 'inactive'}]}
    segments = [segment(x['addr'], 'active_allocated' if i >= 20 else 'inactive') for i, x in enumerate(old)]
    segments += [segment(a, 'active_allocated') for a in sorted(live)]
    said = r.document(segments=segments)
    TAP.result('where the total does not rise, a late recording has no leak', said['verdict'] != 'none' and f'{said}')


def real_programs() -> None:
    """recorded/programs.py under PyTorch: serving loops, with modules and without, and asyncio."""
    cases = {'serve_log_every_4': ('leak', 4, 'more'), 'kv_static_then_cat': ('grows', 1, 'larger'),
             'asyncio_serving': ('none', None, None), 'plain_functions_clean': ('none', None, None)}
    for name, (verdict, period, kind) in cases.items():
        said = document(HERE / 'recorded' / f'{name}.pickle.gz')
        rising = said['rising'][0] if said['rising'] else {'period': None, 'kind': None}
        TAP.result(f'{name}: {verdict}', said['verdict'] != verdict and f'{said}',
                   (rising['period'], rising['kind']) != (period, kind) and f'{rising}',
                   said['scope']['grows'] != (verdict != 'none'))


# The command ---------------------------------------------------------------------

def bad() -> None:
    write('m', steps(12, lambda p, i: p.alloc(MIB, 'kept')).events)
    cases = (
        ('a mark that is not there', ('--mark', 'epoch 1', 'm'), 4, b'no mark is called epoch 1'),
        ('a bad condition', ('--fail-if', 'peak > 1', 'm'), 2, b'peak'),
        ('no trace', (), 2, b'missing argument: TRACE'), ('two', ('m', 'm'), 2, b'too many arguments'),
        ('the trace as output', ('--json', 'm', 'm'), 2, b'm'),
        ('no such file', ('gone',), 4, b'gone'),
        ('not a trace', (write('x', ['no']),), 4, b'x'))
    for name, args, status, words in cases:
        before = Path('m').read_bytes()
        done = fragsim('leaks', *args)
        lines = done.stderr.splitlines()
        TAP.result(f'{name}: one line, status {status}', done.returncode != status
                   and f'{done.returncode}', words not in done.stderr and done.stderr.decode(),
                   not lines or not lines[0].startswith(b'fragsim: '), bool(done.stdout),
                   Path('m').read_bytes() != before)


def marks() -> None:
    p = Program()
    for i in range(8):
        p.mark(f'epoch {i} (lr 0.{i})')
        for k in range(3):
            p.mark(f'it {k}')
            p.scratch()
        p.alloc(MIB, 'x')
    path = write('both', p.events)
    TAP.result('the most usual kind of mark begins an iteration',
               document(path)['iterations']['mark'] != 'it #')
    said = document('--mark', 'epoch 77 (lr 3.14)', path)
    TAP.result('or the one that is named, whatever its numbers',
               said['iterations']['mark'] != 'epoch # (lr #.#)' and said['iterations'],
               said['leaks'][0]['bytes_an_iteration'] != MIB)
    p = Program()
    for i in range(12):
        p.mark('ProfilerStep#%d' % i)
        for _ in range(4):
            p.scratch()
            p.mark('Optimizer.step#Adam.step')
    TAP.result('the steps of a profiler come before those of an optimizer',
               document(write('p', p.events))['iterations']['count'] != 12)
    p = Program()
    for i in range(9):
        p.scratch()
        p.mark('snapshot')
    TAP.result('a mark for each snapshot that a program wrote is none', document(write('p', p.events))['iterations']['mark'])


def tags_of_marks() -> None:
    """Recorders write the mark into the tag: of what each step leaves, all have another one."""
    p = Program()
    for i in range(12):
        # a fourth is made in each step under a tag that has the step's number, but not its mark
        for name, tags in ((f'step {i} fwd', (f'sum | step {i} fwd', f'step {i} fwd')),
                           (f'step {i} bwd', (f'sum | step {i} bwd', f'row {i}', f'x{i} bwd'))):
            p.mark(name)
            for tag in tags:
                p.alloc((10 + len(tags)) << 16, tag)
        if i == 3:      # and a cache that one step has made
            p.alloc(1000 << 10, 'c | step 3 bwd')
    said = document(write('tags', p.events))
    TAP.result('tags that end with a mark are one, whatever its numbers',
               sorted((x['tag'], x['bytes_an_iteration']) for x in said['leaks'])
               != [('step # fwd', 12 << 16), ('sum | step # bwd', 13 << 16), ('sum | step # fwd', 12 << 16)]
               and f'{said["leaks"]}')


def kept_streams(p: Program, i: int) -> None:
    """Blocks that a second stream uses, of which one is freed an iteration late; and a kept one."""
    for name, size in (('a', 3 * MIB), ('b', 700 << 10)):
        p.drop((name, i - 1))
        block = p.alloc(size, f'{name}.py:1 f', (name, i))
        p.events.append({'op': 'record_stream', 'id': block, 'stream': 1})
    p.drop(('b', i))
    p.events.append({'op': 'sync', 'stream': 1})
    p.alloc(5 << 17, 'kept.py:2 f')


def kept_larger(p: Program, i: int) -> None:
    new = p.alloc((i + 1) * 300_000, 'history.py:4 cat')
    p.drop('history')
    p.live['history'] = new


def kept_small(p: Program, i: int) -> None:
    for _ in range(1000):
        p.alloc(4, 'small.py:4 f')
    p.events.append({'op': 'empty_cache'})


ENDS = {'two streams': (kept_streams, 12, 200), 'larger blocks': (kept_larger, 12, 120),
        'blocks of 4 bytes': (kept_small, 160, 130),
        'each third iteration': (lambda p, i: i % 3 or p.alloc(4 * MIB, 'eval.py:7 f'), 24, 150),
        'two that are freed late': (lambda p, i: (p.drop(('x', i - 2)), p.alloc(9 * MIB, 'x.py:1 f', ('x', i)),
                                                  p.alloc(MIB + 1, 'k.py:1 f')), 12, 160)}


def iteration_that_fails(make: Callable, mib: int, conf: str) -> int:
    """The program, with as many iterations as it takes, and the mark before its failed request."""
    events = make(2000).events
    path = write('long', events, meta={'recorder': 'record_torch.py', 'pytorch': '2.9.0', 'alloc_conf': conf})
    done = fragsim('run', '--device-bytes', f'{mib}MiB', '--format', 'json', path)
    ooms = json.loads(done.stdout)['runs'][0]['oom']
    marks = [e['op'] == 'mark' for e in events[:ooms[0]['step']]] if ooms else []
    return sum(marks)


def full() -> None:
    for name, (body, recorded_steps, mib) in ENDS.items():
        for conf in ('', 'expandable_segments:True', 'max_split_size_mb:21,garbage_collection_threshold:0.7'):
            short = write('short', steps(recorded_steps, body).events, meta={'recorder': 'record_torch.py', 'pytorch': '2.9.0', 'alloc_conf': conf})
            device = document(short, '--device-bytes', f'{mib}MiB')['devices'][0]
            fails = iteration_that_fails(lambda n, body=body: steps(n, body), mib, conf)
            TAP.result(f'{name}, {conf or "default"}: full when the program that runs on fails',
                       fails <= recorded_steps and f'it fails in {fails}: this proves nothing',
                       (device['fails_in_iteration'], device['full_in_iterations'], device['estimated'])
                       != (fails, fails - recorded_steps, False) and f'{device} but it fails in {fails}')
    text = fragsim('leaks', write('short', steps(12, lambda p, i: [
        p.alloc(4, 's.py:1 f') for _ in range(40)]).events)).stdout.decode()
    # 6 iterations are 960 bytes, but 120 KiB of blocks
    TAP.result('40 blocks of 4 bytes are a leak of 20 KiB', text.splitlines()[0]
               != 'LEAK: 160 bytes (20.00 KiB allocated) per iteration of s.py:1 f' and text)
    path = write('short', steps(12, lambda p, i: p.alloc(MIB, 'k.py:1 f')).events)
    early = document(path, '--device-bytes', '22MiB')['devices'][0]
    TAP.result('a device that the recording itself does not fit is full in 0 iterations',
               (early['full_in_iterations'], early['estimated']) != (0, False) and f'{early}',
               (early['fails_in_iteration'] or 99) > 12 and f'{early}')
    far = document(path, '--device-bytes', '64TiB')['devices'][0]
    TAP.result('what takes too long to simulate is a bound', not far['at_least'] and f'{far}',
               far['fails_in_iteration'], (far['full_in_iterations'] or 0) < 1_000_000 and f'{far}')
    path = write('short', steps(12, lambda p, i: (p.scratch((i * i + 1) << 18), p.alloc(MIB, 'k.py:1 f'))).events)
    differ = document(path, '--device-bytes', '1GiB')['devices'][0]
    TAP.result('iterations that differ give an estimate', not differ['estimated'] and f'{differ}',
               differ['fails_in_iteration'])


def forms() -> None:
    path = write('f', steps(12, lambda p, i: i % 2 and p.alloc(MIB, 'losses.append')).events)
    said = document(path)
    rows = list(csv.DictReader(io.StringIO(fragsim('leaks', '--format', 'csv', path).stdout.decode())))
    TAP.result('CSV has what the JSON has', [(int(x['rise']), int(x['period']), x['kind']) for x in rows]
               != [(x['bytes'], x['period'], x['kind']) for x in said['rising']] and f'{rows}')
    text = fragsim('leaks', '--device-bytes', '1GiB', path).stdout.decode()
    # a segment of 20 MiB for all but what is kept, of which two blocks are in a segment of 2 MiB:
    # 1004 blocks fit, and the next one is made in iteration 2010
    full = 2010 - 12
    TAP.result('the text names pace, owner, levels and end', *[w not in text and f'{w}: {text}' for w in (
        'LEAK: 1.00 MiB every 2 iterations of losses.append\n', 'level     16.00 MiB at iteration 2,'
        ' 21.00 MiB at iteration 11', f'in {full} iterations of a 1.00 GiB device: a request of'
        ' iteration 2010 fails')])
    table = fragsim('leaks', '--format', 'markdown', path).stdout.decode()
    TAP.result('Markdown is a table', '| 0 | losses.append | 512.00 KiB | 2 | more | 5 |' not in table and table)
    done = fragsim('leaks', '-q', '-o', 'j.json', '-o', 'c.csv', path)
    TAP.result('quiet, into files', done.stdout, done.stderr, json.loads(Path('j.json').read_text()) != said)
    heads = {'none': 'NO LEAK: live memory returns to 16.00 MiB in each of 11 iterations\n',
             'grows': 'GROWS: live memory rises 1.5x over 11 iterations; no single line is proven to keep it\n',
             'unknown': 'UNKNOWN: 3 iterations recorded, 6 are needed: fragsim record --torch --iterations 6\n'}
    for verdict, p in (('none', steps(12, lambda p, i: None)),
                       ('grows', steps(12, lambda p, i: p.alloc(MIB, f'a.py:{i} f'))),
                       ('unknown', steps(3, lambda p, i: None, 'Optimizer.step'))):
        TAP.result(f'the headline of {verdict}', fragsim('leaks', write('h', p.events)).stdout.decode()
                   .splitlines(True)[0] != heads[verdict]
                   and fragsim('leaks', 'h').stdout.decode())
    done = fragsim('leaks', '--fail-if', 'growth > 1MiB', '--fail-if', 'leak >= 512KiB', path)
    TAP.result('a condition that holds is said', done.returncode != 1, b'leak' not in done.stderr,
               b'growth' in done.stderr)
    few = write('few', steps(3, lambda p, i: None).events)
    done = fragsim('leaks', '-q', '--fail-if', 'leak > 0', few)
    TAP.result('a condition on nothing that is known fails, and says why', done.returncode != 1,
               b'cannot be judged' not in done.stderr and done.stderr.decode())
    done = fragsim('leaks', '-q', '--allow-partial', '--fail-if', 'leak > 0', few)
    TAP.result('unless that is allowed', done.returncode, done.stderr)
    try:
        import jsonschema
    except ImportError:
        TAP.skip('the document is as its schema says', 'python3-jsonschema is not installed')
        return
    rules = schema_of('leaks')
    validator = jsonschema.Draft202012Validator(rules)
    documents = [said, document(few), document('h'), document('s.pickle')]
    TAP.result('the document is as its schema says',
               [f'{e.json_path}: {e.message}' for d in documents for e in validator.iter_errors(d)])
    TAP.result('and nothing else is', validator.is_valid(said | {'more': 1}))


def recorded() -> None:
    """Programs that are known to leak nothing; one has a block put into each of its steps."""
    paths = [x for x in sorted(TRACES.glob('*.ndjson.gz'))]
    if not paths:
        TAP.skip('no false alarm on recorded programs', 'no traces')
        return
    ends = {x.name: fragsim('leaks', '-q', '--allow-partial', '--fail-if', 'leak > 0', x).returncode for x in paths}
    TAP.result('no false alarm on recorded programs', [f'{k}: {v}' for k, v in ends.items() if v])
    lines = fragsim('trace', 'gen', 'training', '--jitter', '30').stdout.decode().splitlines()
    TAP.result('nor on generated ones', fragsim('leaks', '-q', '--fail-if', 'leak > 0', '-',
                                                stdin='\n'.join(lines).encode()).returncode)
    put = []
    for x in lines:
        put.append(x)
        if '"mark"' in x and 'iteration' in x:
            put.append(json.dumps({'op': 'alloc', 'id': f'leak {len(put)}', 'size': 1 << 20,
                                   'tag': 'put there'}))
    Path('put').write_text('\n'.join(put) + '\n')
    said = document('put')
    TAP.result('a block that is put into each iteration is found with its tag',
               [(x['tag'], x['bytes_an_iteration']) for x in said['leaks']]
               != [('put there', 1 << 20)] and f'{said["leaks"]}')


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in (random_programs, periods, no_leaks, growth, devices, after_the_last_mark, sizes, loops,
                     evaluation, late, real_programs, marks, tags_of_marks, bad, forms, full, recorded):
            part()
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
