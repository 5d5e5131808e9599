"""run.py - fragsim predict, against programs whose sizes are known at every number.

    run.py PROGRAM

Prints TAP. What a trace at another number is, and what fits a device, comes from the program's
own formula: it is written at that number and simulated; sizes that follow no formula come from
expected.py, which has the rules of the manual in fractions.
"""
import copy
import csv
import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'formats' / 'snapshot'))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import changes  # noqa: E402
import insertions  # noqa: E402
import recorded as models  # noqa: E402
import snaps  # noqa: E402
from expected import growth, size_at  # noqa: E402
from programs import HEADER, MIB, Program, write  # noqa: E402
from program import PROGRAM, SAN, fragsim, times, until_cpu  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

TREE = Path(__file__).resolve().parents[3]
TRACES = Path(os.environ.get('TRACES') or TREE / 'traces')
SEEDS = times(40, 40, 12)
LAST = 2**53 - 1
NUMBER_MAX = 2**24 - 1
TAP = Tap()


def document(*args: object) -> dict:
    """The answer as JSON; {} with the complaint on it where there is none."""
    done = fragsim('predict', *args, '--json', '-')
    if done.returncode not in (0, 1):
        return {'failed': f'{args}: {done.returncode} {done.stderr.decode()}'}
    return json.loads(done.stdout)


def events_of(path: Path) -> list[dict]:
    return [json.loads(x) for x in path.read_text().splitlines()][1:]


def three(rng: random.Random, count: int) -> list[int]:
    return rng.sample(range(1, 12), count)


# The trace ---------------------------------------------------------------------

def same_as_real(seed: int) -> list[str]:
    """The trace that comes out is the one the program writes at that number, and so is its run."""
    rng = random.Random(seed)
    count = rng.choice([2, 3])
    program = Program(seed, degree=count - 1, devices=rng.choice([1, 1, 2]), scale=100)
    numbers = three(rng, count)
    x = rng.choice([0, 1, 16, 33, 100, *numbers])
    operands = [f'{program.write(Path(f"r{i}"), n, names=i)}={n}' for i, n in enumerate(numbers)]
    # 0 and numbers below the recorded ones may make a size negative: b*(n - 1)
    real = program.write(Path('real'), x) if all(s(x) >= 0 for s in program.sizes) else None
    done = fragsim('predict', *operands, '--at', x, '-q', '--trace', 'out.ndjson')
    if done.returncode:
        return [f'seed {seed}: {done.returncode} {done.stderr.decode()}']
    if not real:
        return []
    if events_of(Path('out.ndjson')) != events_of(real):
        return [f'seed {seed}: other events at {x} than the program has there']
    found = document(*operands, '--at', x)
    if 'failed' in found:
        return [found['failed']]
    fits = json.loads(fragsim('fit', '-p', 'pytorch', '-p', 'pytorch:expandable_segments=true',
                              '--json', '-', real).stdout)['fits']
    runs = json.loads(fragsim('run', '-p', 'pytorch', '-p', 'pytorch:expandable_segments=true',
                              '--json', '-', real).stdout)['runs']
    faults = []
    for got, fit, run in zip(found['points'][0]['fits'], fits, runs, strict=True):
        if {k: got[k] for k in ('smallest', 'reliable', 'failing_ranges')} != \
                {k: fit[k] for k in ('smallest', 'reliable', 'failing_ranges')}:
            faults.append(f'seed {seed} at {x}: another fit than the real trace has')
        if (got['requested'], got['reserved']) != (run['lower_bound'], run['peak']['reserved']):
            faults.append(f'seed {seed} at {x}: {got["requested"]}, {got["reserved"]} are not the'
                          f' real {run["lower_bound"]}, {run["peak"]["reserved"]}')
    if found['points'][0]['unexplained']:
        faults.append(f'seed {seed} at {x}: {found["unexplained"]} where all is explained')
    return faults


def traces() -> None:
    TAP.result('the trace at another number is the program\'s own, and so are fit and run',
               [x for seed in range(SEEDS) for x in same_as_real(seed)])


def one_size(sizes: list[int]) -> list[dict]:
    return [{'op': 'alloc', 'id': i, 'size': size} for i, size in enumerate(sizes)]


def random_points(rng: random.Random, count: int) -> list[list[int]]:
    """Sizes that follow no formula, and some that almost do; a row a recording."""
    columns = []
    for _ in range(30):
        base = rng.choice([8, 1000, 1 << 30, LAST - 9])
        kind = rng.random()
        if kind < 0.4:
            columns.append([rng.randint(0, base) for _ in range(count)])
        else:
            step = rng.randint(0, max(1, base // 4))
            columns.append([min(LAST, i * step + rng.choice([0, 0, 1])) for i in range(count)])
            if rng.random() < 0.3:
                columns[-1].reverse()
    return [list(x) for x in zip(*columns, strict=True)]


def by_the_rules(seed: int) -> list[str]:
    rng = random.Random(seed)
    count = rng.choice([2, 3])
    last = rng.choice([20, 20, 1000, NUMBER_MAX])
    numbers = rng.sample(range(last + 1), count)
    rows = random_points(rng, count)
    operands = [f'{write(Path(f"r{i}"), [HEADER, *one_size(row)])}={n}'
                for i, (n, row) in enumerate(zip(numbers, rows, strict=True))]
    x = rng.choice([0, rng.randint(0, last), rng.choice(numbers), NUMBER_MAX])
    points = [list(zip(numbers, column)) for column in zip(*rows, strict=True)]
    wanted = [size_at(p, x) for p in points]
    done = fragsim('predict', *operands, '--at', x, '-q', '--trace', 'out.ndjson')
    if any(size > LAST for size, _ in wanted):
        first = next(i for i, (size, _) in enumerate(wanted) if size > LAST)
        told = done.stderr.decode()
        return [f'seed {seed}: {done.returncode} {told}'] if done.returncode != 2 or \
            f'event {first} ' not in told or '2^53' not in told else []
    if done.returncode:
        return [f'seed {seed}: {done.returncode} {done.stderr.decode()}']
    got = [e['size'] for e in events_of(Path('out.ndjson'))]
    faults = [f'seed {seed} at {x}: {p}: {size}, not {y}'
              for p, size, (y, _) in zip(points, got, wanted, strict=True) if size != y]
    found = document(*operands, '--at', x, '-p', 'direct')
    odd = sum(not good for _, good in wanted)
    kinds = [growth(sorted(p)) for p in points]
    if found.get('failed') or found['points'][0]['unexplained'] != odd or \
            found['unexplained']['count'] != odd or \
            found['sizes'] != {k: kinds.count(k)
                               for k in ('constant', 'linear', 'quadratic', 'other')}:
        faults.append(f'seed {seed} at {x}: {odd} of {kinds} unexplained, got'
                      f' {found.get("failed") or (found["points"][0]["unexplained"], found["sizes"])}')
    return faults


def rules() -> None:
    TAP.result('sizes of no formula are what the manual says, and counted',
               [x for seed in range(times(1, 2) * SEEDS) for x in by_the_rules(seed)])


def no_size_falls() -> None:
    """What bounds --largest: from the last recorded number on."""
    rng = random.Random(7)
    faults = []
    for _ in range(times(150, 1000)):
        points = sorted(zip(rng.sample(range(30), 3), [rng.randrange(200) for _ in range(3)]))
        points = points[:rng.choice([2, 3])]
        sizes = [size_at(points, x)[0] for x in range(points[-1][0], points[-1][0] + 60)]
        if sizes != sorted(sizes):
            faults.append(f'{points}: {sizes}')
    TAP.result('by the rules no size falls from the last recorded number on', faults)


def named() -> None:
    sizes = {'a': (100, 90, 80), 'b': (1, 2, 2), 'c': (7, 7, 7), 'd': (4, 8, 12), None: (9, 3, 9)}
    many = ['a', 'b', 'b', 'c', 'd', None, 'b']
    for i in range(3):
        write(Path(f'r{i}'), [HEADER] + [
            {'op': 'alloc', 'id': k, 'size': sizes[tag][i]} | ({'tag': tag} if tag else {})
            for k, tag in enumerate(many)])
    found = document('r0=2', 'r1=4', 'r2=6', '--at', '5,8')['unexplained']
    want = {'count': 5, 'tag_count': 3, 'tags': [
        {'tag': 'b', 'count': 3, 'step': 1, 'sizes': [1, 2, 2]},
        {'tag': 'a', 'count': 1, 'step': 0, 'sizes': [100, 90, 80]},
        {'tag': None, 'count': 1, 'step': 5, 'sizes': [9, 3, 9]}]}
    TAP.result('what is not explained is named by tag, the most frequent first',
               found != want and f'{found}, not {want}')
    text = fragsim('predict', 'r2=6', 'r0=2', 'r1=4', '--at', '5,8').stdout.decode()
    want = [r'^  sizes     of 7 allocations: 1 constant, 1 linear, 5 neither$',
            r'^  estimated 5 sizes that the recordings do not explain:$',
            r'^    b: 3 allocations, that of event 1 with 2 bytes at 6, 1 byte at 2, 2 bytes at 4$',
            r'^    \(no tag\): 1 allocation, that of event 5 with', r'^at 5: .*; 5 sizes estimated$']
    TAP.result('the text names them too, in the order of the recordings',
               [f'no {x!r} in {text}' for x in want if not re.search(x, text, re.M)])


# Recordings that differ --------------------------------------------------------

def refused(name: str, change: list[dict], step: int, *words: str) -> None:
    """Both ways: the step is told whichever of the two is the first."""
    base = [HEADER | {'devices': [{}, {}]}, {'op': 'alloc', 'id': 1, 'size': 10, 'tag': 'x'},
            {'op': 'alloc', 'id': 2, 'size': 20, 'stream': 3, 'pool': 4},
            {'op': 'record_stream', 'id': 1, 'stream': 3}, {'op': 'free', 'id': 1},
            {'op': 'sync', 'stream': 3}, {'op': 'set_fraction', 'value': 0.5},
            {'op': 'configure', 'value': 'max_split_size_mb:64'}, {'op': 'mark', 'name': 'one'},
            {'op': 'free', 'id': 2, 'pending': True}, {'op': 'complete', 'id': 2}]
    write(Path('a'), base)
    write(Path('b'), change if 'format' in change[0] else base[:step + 1] + change
          + base[step + 2:])
    Path('out.ndjson').write_text('old')
    faults = []
    for operands in (('a=1', 'b=2'), ('b=1', 'a=2'), ('a=3', 'a2=4', 'b=5')):
        write(Path('a2'), base)
        done = fragsim('predict', *operands, '--at', 9, '-q', '--trace', 'out.ndjson')
        told = done.stderr.decode()
        if done.returncode != 4 or told.count('\n') != 1:
            faults.append(f'{operands}: {done.returncode} {told}')
        faults += [f'{operands}: no {x!r} in {told}'
                   for x in (f'event {step}', 'same events', *words) if x not in told]
    if Path('out.ndjson').read_text() != 'old':
        faults.append('out.ndjson was replaced')
    TAP.result(f'refused: {name}', faults)


def differences() -> None:
    refused('another operation', [{'op': 'empty_cache'}], 5, 'empty_cache', 'set_fraction')
    refused('another block',
            [HEADER | {'devices': [{}, {}]}, {'op': 'alloc', 'id': 1, 'size': 10, 'tag': 'x'},
             {'op': 'alloc', 'id': 2, 'size': 20, 'stream': 3, 'pool': 4},
             {'op': 'record_stream', 'id': 1, 'stream': 3}, {'op': 'free', 'id': 2}], 3,
            'of event 0', 'of event 1')
    refused('another device', [{'op': 'alloc', 'id': 1, 'size': 10, 'device': 1, 'tag': 'x'}], 0,
            'of device 1')
    refused('another stream', [{'op': 'alloc', 'id': 2, 'size': 20, 'pool': 4}], 1, 'on stream 3')
    refused('another pool', [{'op': 'alloc', 'id': 2, 'size': 20, 'stream': 3}], 1, 'in pool 4')
    refused('another tag', [{'op': 'alloc', 'id': 1, 'size': 10, 'tag': 'y'}], 0, '"x"', '"y"')
    refused('another stream to wait for', [{'op': 'record_stream', 'id': 1, 'stream': 5}], 2,
            'stream 5')
    refused('another stream that is done', [{'op': 'sync'}], 4, 'sync on stream 3')
    refused('another fraction', [{'op': 'set_fraction', 'value': 0.25}], 5, '0.25', '0.5')
    refused('other settings', [{'op': 'configure', 'value': ''}], 6, 'max_split_size_mb:64')
    refused('another mark', [{'op': 'mark', 'name': 'two'}], 7, '"one"', '"two"')
    refused('a free that is not pending',
            [HEADER | {'devices': [{}, {}]}, {'op': 'alloc', 'id': 1, 'size': 10, 'tag': 'x'},
             {'op': 'alloc', 'id': 2, 'size': 20, 'stream': 3, 'pool': 4},
             {'op': 'record_stream', 'id': 1, 'stream': 3}, {'op': 'free', 'id': 1},
             {'op': 'sync', 'stream': 3}, {'op': 'set_fraction', 'value': 0.5},
             {'op': 'configure', 'value': 'max_split_size_mb:64'}, {'op': 'mark', 'name': 'one'},
             {'op': 'free', 'id': 2}], 8, 'pending')


def ends() -> None:
    base = [HEADER, *one_size([5, 6, 7, 8, 9])]
    write(Path('a'), base)
    write(Path('b'), base[:3])
    faults = []
    for operands in (('a=1', 'b=2'), ('b=1', 'a=2')):
        done = fragsim('predict', *operands, '--at', 3)
        told = done.stderr.decode()
        if done.returncode != 4 or not re.search(r'b: it has ended, where a has, at event 2', told):
            faults.append(f'{operands}: {done.returncode} {told}')
    TAP.result('refused: one that ends before the other', faults)
    write(Path('b'), [HEADER | {'devices': [{}, {}]}, *base[1:]])
    done = fragsim('predict', 'a=1', 'b=2', '--at', 3)
    TAP.result('refused: another count of devices', done.returncode != 4
               or b'b has 2 devices, and a 1' not in done.stderr)
    write(Path('b'), [HEADER, *base[1:3], {'op': 'free', 'id': 77}, *base[3:]])
    strict = fragsim('predict', 'a=1', 'b=2', '--at', 3)
    lenient = fragsim('predict', 'a=1', 'b=2', '--at', 3, '--lenient')
    TAP.result('a bad event stops it, and --lenient leaves it out',
               strict.returncode != 4 and 'strict', lenient.returncode and lenient.stderr.decode())


def telling(n: int, ready: str = 'len') -> list[dict]:
    """A program that names its number, as many do."""
    return [HEADER, {'op': 'mark', 'name': f'step2 {ready}{n}'},
            {'op': 'alloc', 'id': 1, 'size': 64 * n, 'tag': f'mm {n}x2 | step2 {ready}{n}'},
            {'op': 'mark', 'name': 'end 4'}]


def own_numbers() -> None:
    for n in (2, 4, 8):
        write(Path(f'r{n}'), telling(n))
    write(Path('real'), telling(16))
    faults = []
    for operands in (('r2=2', 'r4=4'), ('r4=4', 'r8=8', 'r2=2')):
        done = fragsim('predict', *operands, '--at', 16, '-q', '--trace', 'o.ndjson')
        if done.returncode or events_of(Path('o.ndjson')) != events_of(Path('real')):
            faults.append(f'{operands}: {done.stderr.decode()}{Path("o.ndjson").read_text()}')
    TAP.result('marks and tags may tell the number, and then tell the new one', faults)
    faults = []
    for operands in (('r2=2', 'r4=5'), ('r2=3', 'r4=4'), ('r2=2', 'r4=4', 'r4=8'),
                     ('r2=2', 'r4=4', 'r2=8'), ('r2=2', 'r2=4', 'r8=8')):
        done = fragsim('predict', *operands, '--at', 16)
        if done.returncode != 4 or b'step2 len' not in done.stderr:
            faults.append(f'{operands}: {done.returncode} {done.stderr.decode()}')
    TAP.result('but no other', faults)


# What fits ---------------------------------------------------------------------

def survives(program: Program, n: int, policy: str, total: int, granularity: int) -> bool:
    path = program.write(Path('one'), n)
    return fragsim('run', '-q', '-p', policy, '--device-bytes', f'{total}B', '--granularity',
                   granularity, path).returncode == 0


def brute(program: Program, numbers: list[int], policy: str, total: int, granularity: int,
          ) -> list[tuple[int, bool]]:
    return [(n, survives(program, n, policy, total, granularity)) for n in numbers]


def map_of(reach: dict, stride: int) -> list[tuple[int, bool]]:
    return [(n, x['status'] == 'fits') for x in reach['map']
            for n in range(x['from'], x['to'] + 1, stride)]


def largest_of(seed: int, holes: list[int]) -> list[str]:
    rng = random.Random(seed)
    program = Program(seed, length=30, scale=rng.choice([1, 30]), plain=True,
                      devices=rng.choice([1, 1, 1, 2]))
    policy = rng.choice(['pytorch', 'pytorch:max_split_size_mb=20', 'bestfit', 'firstfit',
                         'pytorch:expandable_segments=true', 'buddy', 'nextfit'])
    granularity = rng.choice([4096, 2 * MIB])
    first, second = sorted(rng.sample(range(1, 9), 2))
    a = program.write(Path('a'), first)
    b = program.write(Path('b'), second)
    stride = rng.choice([1, 1, 3])
    last = rng.choice([second + 25, 40])
    # a device that most of these numbers do not fit
    half = document(f'{a}={first}', f'{b}={second}', '--at', (first + last) // 2, '-p', policy,
                    '--granularity', granularity)
    total = max(x['smallest'] or 0 for x in half['points'][0]['fits'])
    found = document(f'{a}={first}', f'{b}={second}', '--largest', '--device-bytes', f'{total}B',
                     '--granularity', granularity, '--multiple-of', stride, '--up-to', last, '-p', policy)
    if 'failed' in found:
        return [found['failed']]
    reach = found['largest'][0]
    numbers = [n for n in range(first, last + 1) if n % stride == 0]
    want = brute(program, numbers, policy, total, granularity)
    if reach['bound'] is not None:
        if any(good for n, good in want if n > reach['bound']):
            return [f'seed {seed}: some fit above {reach["bound"]}']
        want = [(n, good) for n, good in want if n <= reach['bound']]
    good = [n for n, fits in want if fits]
    bad = [n for n, fits in want if not fits]
    holes += [n for n in bad if good and n < good[-1]]
    safe = [n for n in good if not bad or n < bad[0]]
    faults = []
    if map_of(reach, stride) != want:
        faults.append(f'seed {seed}, {policy} on {total}: {reach["map"]}, not {want}')
    if reach['largest'] != (good[-1] if good else None) or \
            reach['reliable'] != (safe[-1] if safe else None):
        faults.append(f'seed {seed}: {reach["largest"]} and {reach["reliable"]} of {want}')
    if reach['examined_to'] != (want[-1][0] if want else None):
        faults.append(f'seed {seed}: examined to {reach["examined_to"]}')
    return faults


def largest() -> None:
    holes: list[int] = []
    faults = [x for seed in range(SEEDS) for x in largest_of(seed, holes)]
    TAP.result('--largest says what a run at every number says', faults)
    if not SAN:
        TAP.result('among those are numbers that do not fit though larger ones do',
                   not holes and 'none: the test above shows less than it should')


def bounds() -> None:
    """64 bytes a number, and 1 KiB more: on 10 KiB in pages of 1 KiB there is room for 144."""
    for n in (2, 4):
        write(Path(f'r{n}'), [HEADER, {'op': 'alloc', 'id': 1, 'size': 1024},
                              {'op': 'alloc', 'id': 2, 'size': 64 * n}])
    common = ('r2=2', 'r4=4', '--largest', '--device-bytes', '10240B', '--granularity', 1024, '-p',
              'direct')
    reach = document(*common)['largest'][0]
    TAP.result('--largest ends where more is requested at once than there is',
               (reach['largest'], reach['reliable'], reach['bound'], reach['examined_to'])
               != (144, 144, 144, 144) and f'{reach}')
    reach = document(*common, '--runs', 9)['largest'][0]
    TAP.result('--runs ends it earlier', (reach['largest'], reach['examined_to']) != (10, 10)
               and f'{reach}')
    text = fragsim('predict', *common, '--runs', 9).stdout.decode()
    TAP.result('which is said', 'larger ones may fit' not in text and text,
               'larger ones may fit' in fragsim('predict', *common).stdout.decode()
               and 'it is said of all')
    reach = document(*common, '--context-bytes', '4096B', '--other-bytes', '1024B')['largest'][0]
    TAP.result('context and others are not there', (reach['largest'], reach['bound']) != (64, 64)
               and f'{reach}')
    done = fragsim('predict', *common[:3], '--device-bytes', '512B', *common[5:], '--json', '-')
    reach = json.loads(done.stdout)['largest'][0]
    TAP.result('where none fits the status is 1', done.returncode != 1,
               (reach['largest'], reach['reliable']) != (None, None) and f'{reach}')
    done = fragsim('predict', 'r2=2', 'r4=4', '--at', '144,145', *common[3:], '--json', '-')
    got = [x['fits'][0]['fits'] for x in json.loads(done.stdout)['points']]
    TAP.result('--at with --device-bytes says whether it fits', got != [True, False] and f'{got}',
               done.returncode != 1 and f'status {done.returncode}')


def doubts() -> None:
    """Two recordings do not show how a size grows that grows faster than the number."""
    def rows(*args: str) -> tuple[str, list[str]]:
        text = fragsim('predict', *args, '-p', 'direct').stdout.decode()
        # setting, reserved, smallest, reliable, ...; or setting, largest, reliable
        return ' '.join(text.split()), [re.split('  +', x)[:4][-1] for x in text.splitlines()
                                        if x.startswith('direct ')]

    for n in (2, 4, 6):
        write(Path(f'd{n}'), [HEADER, {'op': 'alloc', 'id': 1, 'size': (n - 1) << 20}])
        write(Path(f'p{n}'), [HEADER, {'op': 'alloc', 'id': 1, 'size': n << 20}])
        write(Path(f's{n}'), [HEADER, {'op': 'alloc', 'id': 1, 'size': n * n << 20}])
        write(Path(f'c{n}'), [HEADER, {'op': 'alloc', 'id': 1, 'size': 4 << 20}])
        write(Path(f'm{n}'), [HEADER, {'op': 'alloc', 'id': 1, 'size': 4 << 20, 'tag': 'm'}])
    said = 'sizes grow faster than the number, and two recordings do not show how'
    for args, doubt, last in ((('d2=2', 'd4=4', '--at', '3,8'), True, ['2 MiB', '8 MiB']),
                              (('p2=2', 'p4=4', '--at', '3,8'), False, ['4 MiB', '8 MiB']),
                              (('s2=2', 's4=4', '--at', '3,8'), False, ['10 MiB', '64 MiB']),
                              (('d2=2', 'd4=4', 'd6=6', '--at', '5,8'), False, ['4 MiB', '8 MiB']),
                              (('c2=2', 'c4=4', '--at', '3,8'), False, ['4 MiB', '4 MiB']),
                              (('c2=2', 'm4=4', '--at', '3,8'), False, ['4 MiB', '4 MiB']),
                              (('d2=2', 'd4=4', '--largest', '--device-bytes', '9MiB'), True, ['9'])):
        text, got = rows(*args)
        TAP.result(f'{args}: is it doubted?', (said in text) != doubt and text, got != last and f'{got}')
        document = json.loads(fragsim('predict', '-q', *args, '-p', 'direct', '--json', '-').stdout)
        # c2 and c4 have equal events, m4 another mark
        nothing = {'c2=2 c4=4': 'two recordings have the same events', 'c2=2 m4=4': 'no size grows with the number'}
        wanted = [x for x in [said] if doubt] + [y for x, y in nothing.items() if x == ' '.join(args[:2])]
        TAP.result('as JSON', len(document['doubt']) != len(wanted)
                   or not all(x.startswith(y) for x, y in zip(document['doubt'], wanted, strict=True))
                   and f'{document}')


def conditions() -> None:
    """The same: at 144 there are 10 KiB, which is the device, and as large as it gets."""
    common = ('r2=2', 'r4=4', '-q', '-p', 'direct', '--granularity', 1024)
    cases: list[tuple[tuple, str, str]] = [
        (('--at', '100,144'), 'requested > 10239', 'at 144, direct, device 0: requested is 10240'),
        (('--at', '100,144'), 'requested > 10240', ''),
        (('--at', 144), 'smallest == 10KiB', 'smallest is 10240'),
        (('--at', 144), 'safe != 10KiB', ''), (('--at', 144), 'safe>=10240', 'reliable is 10240'),
        (('--at', 144), 'reserved < 10KiB', ''), (('--at', 144), 'reserved <= 10KiB', 'reserved'),
        (('--at', 144), 'unexplained > 0', ''), (('--at', 144), 'unexplained<1', 'unexplained is 0'),
        (('--at', 144, '--trace', 'x.ndjson'), 'smallest > 1', 'smallest is 10240')]
    reach = ('--largest', '--device-bytes', '10240B')
    cases += [(reach, 'largest < 144', ''), (reach, 'largest < 145', 'direct: largest is 144'),
              (reach, 'all < 145', 'direct: all is 144'), (reach, 'all != 144', ''),
              ((*reach, '--at', 3), 'largest == 144', 'largest is 144')]
    faults = []
    for options, condition, told in cases:
        done = fragsim('predict', *common, *options, '--fail-if', condition)
        line = f'{told}, which fails \'{condition}\'\n' if ' is ' in told else told
        if done.returncode != bool(told) or line not in done.stderr.decode() \
                or bool(done.stderr) != bool(told):
            faults.append(f'{options} {condition}: {done.returncode} {done.stderr.decode()}')
    TAP.result('--fail-if judges numbers and what they need', faults)
    none = fragsim('predict', *common, '--largest', '--device-bytes', '512B', '--fail-if',
                   'largest < 1', '--fail-if', 'largest >= 0', '--fail-if', 'all == 0')
    TAP.result('a number that is none is below every bound', none.returncode != 1,
               none.stderr != b"fragsim: direct: largest is none, which fails 'largest < 1'\n"
               and none.stderr.decode())


# Files and forms -----------------------------------------------------------------

def forms() -> None:
    program = Program(3, plain=True)
    program.write(Path('a'), 2)
    program.write(Path('b'), 4)
    program.write(Path('real'), 6)
    faults = []
    for name in ('o.ndjson', 'o.json', 'o.fsb', 'o.ndjson.gz', 'o.fsb.zst'):
        done = fragsim('predict', 'a=2', 'b=4', '--at', 6, '-q', '--trace', name)
        back = fragsim('trace', 'convert', '-q', name, 'back.ndjson')
        if done.returncode or back.returncode \
                or events_of(Path('back.ndjson')) != events_of(Path('real')):
            faults.append(f'{name}: {done.stderr.decode()}{back.stderr.decode()}')
        for command in (('run', '-q'), ('trace', 'info'), ('fit', '-q'), ('diff', '-p', 'direct', '-p',
                                                                   'bestfit')):
            other = fragsim(*command, name)
            if other.returncode:
                faults.append(f'{command} {name}: {other.stderr.decode()}')
    TAP.result('the trace comes in every form, and every command reads it', faults)
    done = fragsim('predict', 'a=2', 'b=4', '--at', 6, '--trace', 'o.txt', '-t', 'rmm')
    TAP.result('what a form has no place for is told', done.returncode,
               b'the form rmm has no place for' not in done.stderr and done.stderr.decode())
    done = fragsim('predict', 'a=2', 'b=4', '--at', 6, '--trace', '-')
    lines = [json.loads(x) for x in done.stdout.splitlines()]
    TAP.result('-o - is the trace and nothing else', lines[1:] != events_of(Path('real')))
    want = {'at': 6, 'recordings': [{'path': 'a', 'at': 2}, {'path': 'b', 'at': 4}]}
    TAP.result('its meta says what it was made of',
               lines[0].get('meta') != {'predicted': want} and f'{lines[0]}')
    a, b = Path('a').read_bytes(), Path('b').read_bytes()
    piped = fragsim('predict', '--at', 6, '--trace', '-', '--', '-=2', 'b=4', stdin=a)
    TAP.result('a recording may be a pipe', piped.stdout.split(b'\n', 1)[1]
               != done.stdout.split(b'\n', 1)[1] and piped.stderr.decode())
    Path('a.gz').write_bytes(gzip.compress(a))
    Path('b=4').write_bytes(b)
    other = fragsim('predict', 'a.gz=2', 'b=4=4', '--at', 6, '--trace', '-')
    TAP.result('a name may have an equals sign', other.stdout.split(b'\n', 1)[1]
               != done.stdout.split(b'\n', 1)[1] and other.stderr.decode())


def metas() -> None:
    header = HEADER | {'meta': {'recorder': 'record_torch.py', 'x': [1, {'y': 2}]}}
    write(Path('a'), [header, *one_size([8])])
    write(Path('b'), [HEADER, *one_size([16])])
    fragsim('predict', 'a=1', 'b=2', '--at', 4, '-q', '--trace', 'c.ndjson')
    first = json.loads(Path('c.ndjson').read_text().splitlines()[0])['meta']
    fragsim('predict', 'c.ndjson=1', 'b=2', '--at', 8, '-q', '--trace', 'd.ndjson')
    second = json.loads(Path('d.ndjson').read_text().splitlines()[0])['meta']
    TAP.result('what the first recording says of itself is kept',
               {k: first.get(k) for k in ('recorder', 'x')} != header['meta'] and f'{first}',
               first.get('predicted', {}).get('at') != 4 and f'{first}')
    TAP.result('of an extrapolated one too', second['predicted'].get('meta') != first
               and f'{second}', second.get('recorder') != 'record_torch.py')
    runs = json.loads(fragsim('run', 'd.ndjson', '--json', '-').stdout)['runs']
    TAP.result('so it is simulated under pytorch', runs[0]['policy']['name'] != 'pytorch')


def recorded() -> None:
    """A recording and itself: nothing changes, whatever the number."""
    for path in sorted(TRACES.glob('*smoke*')) or sorted(TRACES.glob('*.ndjson.gz'))[:1]:
        done = fragsim('predict', f'{path}=1', f'{path}=2', '--at', 9, '-q', '--trace', 'x.ndjson')
        wanted = fragsim('trace', 'convert', '-q', path, 'y.ndjson')
        same = Path('x.ndjson').read_bytes().split(b'\n', 1)[1] \
            == Path('y.ndjson').read_bytes().split(b'\n', 1)[1]
        TAP.result(f'a recorded trace and itself: {path.name}', done.returncode
                   or wanted.returncode, not same and 'other events')


def scaled(n: int) -> dict:
    """A snapshot that begins with a block of 100 bytes a number; another grows by 1 KiB a number."""
    k = 512 + n * snaps.K
    log = snaps.Log(frames=snaps.FRAMES).alloc(snaps.SMALL + 512, n * snaps.K)
    return snaps.snapshot([snaps.segment(
        snaps.SMALL, snaps.block(snaps.SMALL, 512, 100 * n),
        snaps.block(snaps.SMALL + 512, n * snaps.K), snaps.hole(snaps.SMALL + k, 2 * MIB - k))],
        log, settings='max_split_size_mb:64')


def snapshots() -> None:
    """What was there before the first event was placed in segments that other sizes do not fit."""
    for n in (2, 4):
        Path(f's{n}').write_bytes(snaps.pickled(scaled(n)))
    found = document('s2=2', 's4=4', '--at', '8')
    fragsim('predict', 's2=2', 's4=4', '--at', '8', '-q', '--trace', 'o.ndjson')
    fit = json.loads(fragsim('fit', '-p', 'pytorch:max_split_size_mb=64', '--json', '-',
                             'o.ndjson').stdout)['fits'][0]
    if 'failed' in found:
        TAP.result('snapshots', found['failed'])
        return
    got = found['points'][0]['fits'][0]
    TAP.result('a snapshot is simulated under the settings that it was recorded with',
               got['alloc_conf'] != 'max_split_size_mb:64' and got['alloc_conf'])
    head = json.loads(Path('o.ndjson').read_text().splitlines()[0])['meta']
    TAP.result('and so is what was written of it', head.get('alloc_conf') != 'max_split_size_mb:64'
               and f'{head}', 'recorder' not in head)
    TAP.result('blocks from before the first event are requests as any',
               [e['size'] for e in events_of(Path('o.ndjson'))] != [800, 8192],
               got['requested'] != 8992, got['smallest'] != fit['smallest'])


def elsewhere(n: int, seed: int, blocks: int = 8) -> dict:
    """A program that frees and replaces some of what it began with, which the driver put anywhere."""
    rng = random.Random(seed)
    place = [snaps.LARGE + 64 * MIB * i for i in rng.sample(range(10), 10)]
    size = [20 * MIB, 20 * MIB, 20 * MIB, 21 * MIB, 22 * MIB, 2 * n * MIB, 3 * n * MIB, 30 * MIB][:blocks]
    log = snaps.Log()
    for i in (5, 1, 6):
        log.free(place[i], size[i])
    later = {8: 4 * n * MIB, 9: (4 * n + 2) * MIB}
    for i, bytes_ in later.items():
        log.segment(place[i], bytes_).alloc(place[i], bytes_)
    log.free(place[8], later[8])
    return snaps.snapshot(
        [snaps.segment(place[i], snaps.hole(place[i], k) if i in (5, 1, 6) else snaps.block(place[i], k))
         for i, k in enumerate(size)] + [snaps.segment(place[8], snaps.hole(place[8], later[8])),
                                         snaps.segment(place[9], snaps.block(place[9], later[9]))], log)


def initial_blocks() -> None:
    """Blocks from before the history have other addresses, thus another order, in each recording."""
    faults, written = [], 0
    for seed in range(SEEDS):
        numbers = random.Random(seed).sample(range(1, 9), 2)
        for n in numbers:
            Path(f'e{n}').write_bytes(snaps.pickled(elsewhere(n, 100 * seed + n)))
        words = [f'e{n}={n}' for n in numbers] + ['--at', '11']
        Path('e11').write_bytes(snaps.pickled(elsewhere(11, seed)))
        fragsim('trace', 'convert', '-q', 'e11', 'w.ndjson')
        wanted = sizes_of_events(events_of(Path('w.ndjson')))
        found = document(*words)
        if 'failed' in found or found['points'][0]['fits'][0]['requested'] != peak(wanted):
            faults.append(f'seed {seed}: {numbers}: {found}')
        # sizes that have been written cannot be corrected by a later event
        done = fragsim('predict', '-q', *words, '--trace', 'o.ndjson')
        if done.returncode not in (0, 4) or (
                not done.returncode and sizes_of_events(events_of(Path('o.ndjson'))) != wanted):
            faults.append(f'seed {seed}: {numbers}: the trace: {done.stderr.decode()}')
        written += not done.returncode
    TAP.result('blocks from before the history are found again at other addresses', faults,
               2 * written < SEEDS and f'{written} traces were written')
    for n, blocks in ((2, 8), (4, 7)):
        Path(f'e{n}').write_bytes(snaps.pickled(elsewhere(n, n, blocks)))
    Path('e8').write_bytes(snaps.pickled(elsewhere(8, 8, 7)))
    fragsim('trace', 'convert', '-q', 'e8', 'w.ndjson')
    found = document('e2=2', 'e4=4', '--at', '8')
    TAP.result('another number of them is aligned', found.get('failed') or
               found['points'][0]['fits'][0]['requested'] != peak(sizes_of_events(events_of(Path('w.ndjson')))))


def peak(events: list) -> int:
    live = most = sum(events[0])
    for op, size in events[1:]:
        live += size if op == 'alloc' else -size
        most = max(most, live)
    return most


def sizes_of_events(events: list[dict]) -> list:
    """What is there at first, then each size as it comes and goes."""
    size = {e['id']: e['size'] for e in events if e['op'] == 'alloc'}
    first = sorted(e['size'] for e in events if e.get('tag') == '(before the history)')
    return [first] + [(e['op'], size[e['id']]) for e in events if e.get('tag') != '(before the history)']


def schema() -> None:
    try:
        import jsonschema
    except ImportError:
        TAP.skip('the document is as its schema says', 'python3-jsonschema is not installed')
        return
    rules = schema_of('predict')
    validator = jsonschema.Draft202012Validator(rules)
    Program(5, degree=2, devices=2).write(Path('a'), 2)
    Program(5, degree=2, devices=2).write(Path('b'), 4)
    documents = [document('a=2', 'b=4', '--at', '1,8,16'),
                 document('a=2', 'b=4', '--at', '8', '--largest', '--device-bytes', '4MiB'),
                 document('a=2', 'b=4', '--largest', '--device-bytes', '1B', '-p', 'bestfit')]
    TAP.result('the document is as its schema says',
               [f'{e.json_path}: {e.message}' for d in documents for e in
                validator.iter_errors(d)])
    worse = copy.deepcopy(documents[1])
    worse['largest'][0]['map'][0]['more'] = 1
    TAP.result('and no document with anything else', validator.is_valid(worse))


def tables() -> None:
    program = Program(5)
    program.write(Path('a'), 2)
    program.write(Path('b'), 4)
    args = ('a=2', 'b=4', '--at', '8,16', '--largest', '--device-bytes', '8MiB', '--up-to', 30)
    found = document(*args)
    rows = list(csv.DictReader(io.StringIO(
        fragsim('predict', *args, '--format', 'csv').stdout.decode())))
    want = [(p['at'], f['policy']['text'], str(f['smallest'] or ''), str(f['reserved']),
             'true' if f['fits'] else 'false') for p in found['points'] for f in p['fits']]
    got = [(int(r['at']), r['policy'], r['smallest'], r['reserved'], r['fits'])
           for r in rows if r['device']]
    TAP.result('CSV: a row a number and policy', got != want and f'{got}, not {want}')
    want = [(n, r['policy']['text'], good) for r in found['largest'] for n, good in map_of(r, 1)]
    got = [(int(r['at']), r['policy'], r['fits'] == 'true') for r in rows if not r['device']]
    TAP.result('CSV: a row a number that was tried', got != want and f'{got}, not {want}')
    marked = fragsim('predict', *args, '--format', 'markdown').stdout.decode()
    TAP.result('Markdown: two tables', marked.count('|--:|') < 2 and marked,
               [f'{x}: not there' for x in (8, 16) if f'\n| at {x} | default |' not in marked])
    outputs = {fragsim('predict', *args, '--json', '-', '--threads', n).stdout for n in
               (1, 2, 7)}
    TAP.result('threads make no difference', len(outputs) != 1)
    both = fragsim('predict', *args, '--json', 'x.json')
    TAP.result('--json FILE beside the text', not both.stdout,
               json.loads(Path('x.json').read_text()) != found)
    TAP.result('-q prints nothing', fragsim('predict', *args, '-q').stdout)


def bad_usage() -> None:
    write(Path('a'), [HEADER, *one_size([8])])
    write(Path('b'), [HEADER, *one_size([16])])
    write(Path('c'), [HEADER, *one_size([24])])
    cases = [
        ((), 'two to eight'), (('a=1', '--at', 3), 'two to eight'),
        ((*(f'a={n}' for n in range(9)), '--at', 3), 'two to eight'),
        (('a=1', 'b=2'), '--at'), (('a', 'b=2', '--at', 3), 'TRACE=N'),
        (('=1', 'b=2', '--at', 3), 'TRACE=N'), (('a=', 'b=2', '--at', 3), 'a number from 0'),
        (('a=1.5', 'b=2', '--at', 3), 'a number from 0'),
        (('a=-1', 'b=2', '--at', 3), 'a number from 0'),
        ((f'a={NUMBER_MAX + 1}', 'b=2', '--at', 3), f'{NUMBER_MAX}'),
        (('a=2', 'b=2', '--at', 3), 'two recordings at 2'), (('a=1', 'b=2', '--at', ''), '--at'),
        (('a=1', 'b=2', '--at', '1,,2'), '--at'), (('a=1', 'b=2', '--at', '8x'), '--at'),
        (('a=1', 'b=2', '--at', NUMBER_MAX + 1), f'{NUMBER_MAX}'),
        (('a=1', 'b=2', '--largest'), '--device CARD'),
        (('a=1', 'b=2', '--largest', '--device-bytes', 0), '--device CARD'),
        (('a=1', 'b=2', '--at', 3, '--device-bytes', 0), '--device-bytes'),
        (('a=1', 'b=2', '--at', 3, '--up-to', 9), '--largest'),
        (('a=1', 'b=2', '--at', 3, '--multiple-of', 9), '--largest'),
        (('a=1', 'b=2', '--at', '3,4', '--trace', 'x.ndjson'), 'one number'),
        (('a=1', 'b=2', '--at', 3, '--trace', 'x.what'), '.ndjson'),
        (('a=1', 'b=2', '--at', 3, '-t', 'lines'), '--trace'),
        (('a=1', 'b=2', '--at', 3, '--trace', 'x', '-t', 'what'), '--to what: use lines'),
        (('a=1', 'b=2', '--at', 3, '--trace', 'a', '-t', 'lines'), 'replace'),
        (('a=1', 'b=2', '--at', 3, '--json', './b'), 'replace'),
        (('a=1', 'b=2', '--at', 3, '--trace', 'x.json', '--json', './x.json'), 'one file'),
        (('a=1', 'b=2', '--at', 3, '--trace', '-', '--json', '-'), 'only one'),
        (('a=1', 'b=2', '--at', 3, '--trace', '-', '--format', 'csv'), 'only one'),
        (('--at', 3, '--', '-=1', '-=2'), 'read only once'),
        (('a=1', 'b=2', '--at', 3, '-p', 'what'), 'what'),
        (('a=1', 'b=2', '--at', 3, '--fail-if', 'large > 1'), 'requested, unexplained, largest'),
        (('a=1', 'b=2', '--at', 3, '--fail-if', 'largest < 1'), 'requires --largest'),
        (('a=1', 'b=2', '--largest', '--device-bytes', '1MiB', '--fail-if', 'reliable > 1'),
         'requires --at'), (('a=1', 'b=2', '--at', 3, '--fail-if', 'reliable > +1'), 'baseline'),
    ]
    before = sorted(os.listdir())
    faults = []
    for args, words in cases:
        done = fragsim('predict', *args)
        told = done.stderr.decode()
        if done.returncode != 2 or told.count('\n') != 1 or words not in told or done.stdout:
            faults.append(f'{args}: {done.returncode} {told}')
    TAP.result('wrong usage is told', faults, sorted(os.listdir()) != before and 'files changed')


def interrupted() -> None:
    """A byte a number, so there is no end in sight; what is proven is printed."""
    for n in (2, 4):
        lines = [HEADER]
        for i in range(4000):
            lines += [{'op': 'alloc', 'id': i, 'size': n}, {'op': 'free', 'id': i}]
        write(Path(f'r{n}'), lines)
    for delay in (0.2, 1, 4, 16):
        with subprocess.Popen([PROGRAM, 'predict', 'r2=2', 'r4=4', '--largest', '--at', '8',
                               '--device-bytes', '1GiB', '--runs', '1000000', '-p', 'bestfit',
                               '--json', 'x.json', '--trace', 'x.ndjson', '--threads', '2'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            until_cpu(p, delay)
            p.send_signal(signal.SIGINT)
            text, told = (x.decode() for x in p.communicate(timeout=120))
        faults = [] if p.returncode == 130 else [f'{p.returncode} {told}']
        if faults or not Path('x.json').exists():
            continue
        found = json.loads(Path('x.json').read_text())
        # before the first number was tried there is nothing yet: it is given more time
        if not found['largest'] or not found['largest'][0]['map']:
            faults.append(f'nothing was proven in {delay} s')
            continue
        reach = found['largest'][0]
        want = [{'from': 2, 'to': reach['examined_to'], 'status': 'fits'}]
        if reach['map'] != want or reach['largest'] != reach['examined_to']:
            faults.append(f'{reach}')
        if len(events_of(Path('x.ndjson'))) != 8000:
            faults.append('the trace was whole, and is not there')
        if '\n  stopped   interrupted: ' not in text:
            faults.append(f'nothing says that it was interrupted: {text}')
        break
    TAP.result('interrupted it prints what is proven', faults)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in (traces, rules, no_size_falls, named, differences, ends, own_numbers, largest,
                     bounds, doubts, conditions, forms, metas, recorded, snapshots, initial_blocks, schema, tables, bad_usage, interrupted):
            part()
        models.check(TAP, PROGRAM)
        changes.check(TAP)
        insertions.check(TAP)
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
