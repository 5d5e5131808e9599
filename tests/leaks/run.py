"""run.py - fragsim leaks, against programs whose leaks were put there.

    run.py PROGRAM

Prints TAP. Random programs of marked iterations free what they allocate in other iterations, and
who leaks is counted here once more from their events alone, by the definition of the manual.
"""
import csv
import io
import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from program import fragsim, times  # noqa: E402
from tap import Tap  # noqa: E402

TREE = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get('TRACES') or TREE / 'traces')
HEADER = {'format': 'fragsim-trace', 'version': 1}
SEEDS = times(25, 120, 20)
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
    """Blocks of a few owners; some stay for long, some for ever."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.devices = rng.choice([1, 1, 2])
        self.events: list[dict] = []
        self.ends: dict[int, list] = {}         # ids that an iteration frees
        self.id = 0
        count = rng.randrange(5, 14)
        owners = [(rng.choice(['conv', 'norm', 'loss', None]), rng.randrange(1, 5) * 100,
                   rng.randrange(self.devices), rng.choice([0, 0, 1, 2, 5, 99, 99]),
                   rng.choice([1, 1, 1, 0.8]), rng.randrange(1, 3)) for _ in range(8)]
        for _ in range(rng.randrange(4)):
            self.alloc('weights', 5000, 0, None)
        for i in range(count):
            self.events.append({'op': 'mark', 'name': f'step {i} of {count}, batch {i * 7}'})
            if rng.random() < 0.5:
                self.events.append({'op': 'mark', 'name': f'eval {i}'})
            for x in self.ends.pop(i, []):
                self.events.append({'op': 'free', 'id': x})
            for tag, size, device, age, often, blocks in owners:
                if rng.random() < often:
                    for _ in range(blocks):
                        self.alloc(tag, size, device, i + age)
        self.count = count

    def alloc(self, tag: str | None, size: int, device: int, end: int | None) -> None:
        self.id += 1
        event = {'op': 'alloc', 'id': self.id, 'size': size}
        self.events.append(event | ({'tag': tag} if tag else {})
                           | ({'device': device} if self.devices > 1 else {}))
        if end is not None:
            self.ends.setdefault(end, []).append(self.id)


def expected(program: Program) -> tuple:
    """By the definition: what of 1 to n - 3 is live when the last begins; and the starts."""
    live: dict[int, tuple] = {}
    starts: list[list] = []
    at = -1
    peak = [0] * program.devices
    for step, e in enumerate(program.events):
        if e['op'] == 'mark' and e['name'].startswith('step'):
            at += 1
            starts.append([sum(b[1] for b in live.values() if b[2] == d)
                           for d in range(program.devices)])
            if at == program.count - 1:
                break
        elif e['op'] == 'alloc':
            d = e.get('device', 0)
            live[e['id']] = (e.get('tag'), e['size'], d, at, step)
            if at == program.count - 2:
                peak[d] = max(peak[d], sum(b[1] for b in live.values() if b[2] == d))
        elif e['op'] == 'free':
            del live[e['id']]
    groups: dict[tuple, list] = {}
    for tag, size, d, born, step in live.values():
        if 1 <= born <= program.count - 3:
            groups.setdefault((d, tag, None if tag else size), []).append((born, size, step))
    looked = program.count - 3
    leaks = [{'device': d, 'tag': tag, 'size': size, 'bytes': sum(b[1] for b in blocks),
              'blocks': len(blocks), 'first_step': min(b[2] for b in blocks),
              'bytes_an_iteration': sum(b[1] for b in blocks) // looked}
             for (d, tag, size), blocks in groups.items()
             if {b[0] for b in blocks} == set(range(1, program.count - 2))]
    growth = [statistics.median((starts[k][d] - starts[i][d]) / (k - i)
                                for k in range(1, program.count) for i in range(1, k))
              for d in range(program.devices)]
    return leaks, growth, starts, peak


def by_who(leaks: list) -> list:
    return sorted(leaks, key=lambda x: (x['device'], str(x['tag']), x['size'] or 0))


def random_programs() -> None:
    found = 0
    for seed in range(SEEDS):
        program = Program(seed)
        path = write('t.ndjson', program.events, **({'devices': [{}] * program.devices}
                                                    if program.devices > 1 else {}))
        total = 1 << 20
        said = document(path, '--device-bytes', f'{total}B', '--context-bytes', '0', '--other-bytes', '0')
        leaks, growth, starts, peak = expected(program)
        faults = [f'seed {seed}: {said}'] if by_who(said['leaks']) != by_who(leaks) else []
        for d, k in enumerate(said['devices']):
            leak = sum(x['bytes_an_iteration'] for x in leaks if x['device'] == d)
            full = (total - peak[d]) // leak if leak else None
            if (abs(k['growth'] - growth[d]) > 0.0001 or k['leak'] != leak
                    or k['live_first'] != starts[1][d] or k['live_last'] != starts[-1][d]
                    or k['live_peak'] != peak[d] or k['full_in_iterations'] != full
                    or (k['full_in_steps'] is None) != (full is None)):
                faults.append(f'seed {seed}: {k}, not {leak} {growth[d]} {starts[-1]} {peak} {full}')
        pace = [x['bytes_an_iteration'] for x in said['leaks']]
        if pace != sorted(pace, reverse=True):
            faults.append(f'seed {seed}: not the largest first')
        gate = fragsim('leaks', '-q', '--fail-if', 'leak > 0', path)
        if gate.returncode != bool(leaks):
            faults.append(f'seed {seed}: the gate ends with {gate.returncode}')
        found += len(leaks)
        if faults:
            TAP.result('random programs', faults)
            return
    TAP.result(f'random programs: what leaks is what every iteration has left ({found} do)',
               found < SEEDS / 4 and 'hardly any leaks: this proves little')


def loop(leaks: bool, mark: str | None = None, lengths: list | None = None) -> list:
    """Ten steps of 60 events that differ in their sizes, and 40 bytes that stay."""
    events, number = [], 0
    for i in range(10):
        if mark:
            events.append({'op': 'mark', 'name': mark.replace('N', str(i))})
        ids = []
        for k in range(30):
            number += 1
            size = 64 + 8 * ((k * k * 7) % 31) + (lengths[i] if lengths else 0)
            events.append({'op': 'alloc', 'id': number, 'size': size, 'tag': f'layer {k}'})
            ids.append(number)
        events += [{'op': 'free', 'id': x} for x in ids]
        if leaks:
            number += 1
            events.append({'op': 'alloc', 'id': number, 'size': 40, 'tag': 'losses.append'})
    return events


def unmarked() -> None:
    said = document(write('a', loop(True)))
    TAP.result('without marks a program that repeats itself is found out',
               said['iterations'] != {'count': 10, 'mark': None, 'steps': 61, 'first': 1, 'last': 7}
               and f'{said["iterations"]}',
               [x['tag'] for x in said['leaks']] != ['losses.append'],
               said['devices'][0]['leak'] != 40, said['devices'][0]['growth'] != 40)
    said = document(write('a', loop(False)))
    TAP.result('and has no leak where there is none', said['leaks'],
               said['devices'][0]['growth'] != 0, said['devices'][0]['full_in_iterations'])
    done = fragsim('leaks', write('a', loop(True, lengths=[i * i * 3 for i in range(10)])))
    TAP.result('other sizes each time are no iterations', done.returncode != 4,
               b': no iterations: ' not in done.stderr and done.stderr.decode())
    same = [{'op': 'alloc', 'id': i, 'size': 512} for i in range(3000)]
    done = fragsim('leaks', write('a', same))
    TAP.result('nor is one allocation after the other', done.returncode != 4)


def stacks() -> None:
    """Without tags stacks tell blocks apart."""
    sys.path.insert(0, str(TREE / 'tests' / 'snapshot'))
    import snaps
    at, trace = 1 << 40, []
    for i in range(8):
        for name, size, stays in (('forward', 4096, False), ('cache', 512, True),
                                  ('backward', 8192, False)):
            frames = [{'filename': '/app/train.py', 'line': 7, 'name': name}]
            entry = {'addr': at, 'size': size, 'stream': 0, 'frames': frames}
            trace.append(entry | {'action': 'alloc'})
            if not stays:
                trace += [entry | {'action': 'free_requested'}, entry | {'action': 'free_completed'}]
            at += 1 << 20
        trace += [x | {'addr': x['addr'] + (1 << 30)} for x in [
            {'action': 'alloc', 'addr': at + 4096 * k, 'size': 600 + 8 * k, 'stream': 0, 'frames': []}
            for k in range(20)]]
        trace += [{'action': 'free_requested', 'addr': (1 << 30) + at + 4096 * k,
                   'size': 600 + 8 * k, 'stream': 0, 'frames': []} for k in range(20)]
        trace += [x | {'action': 'free_completed'} for x in trace[-20:]]
        at += 1 << 20
    Path('s.pickle').write_bytes(snaps.pickled({'segments': [], 'device_traces': [trace]}))
    said = document('s.pickle')
    TAP.result('of a snapshot it says which line of the program',
               len(said['leaks']) != 1 and f'{said["leaks"]}',
               not all('/app/train.py:7 cache' in x['frames'] for x in said['leaks']))


def bad() -> None:
    few = [{'op': 'mark', 'name': f'step {i}'} for i in range(4)]
    cases = (
        ('four iterations', (write('few', few),), 4, b'no mark occurs 5 times'),
        ('an empty trace', (write('none', []),), 4, b'no events'),
        ('a mark that is not there', ('--mark', 'epoch 1', write('m', loop(True, 'step N'))), 4,
         b'0 marks are called epoch 1'),
        ('a bad condition', ('--fail-if', 'peak > 1', 'm'), 2, b'peak'),
        ('no trace', (), 2, b'missing argument: TRACE'), ('two', ('m', 'm'), 2, b'too many arguments'),
        ('the trace as output', ('--json', 'm', 'm'), 2, b'm'),
        ('no such file', ('gone',), 4, b'gone'),
        ('not a trace', (write('x', ['no']),), 4, b'x'))
    for name, args, status, words in cases:
        before = Path('m').read_bytes() if Path('m').exists() else None
        done = fragsim('leaks', *args)
        lines = done.stderr.splitlines()
        TAP.result(f'{name}: one line, status {status}', done.returncode != status
                   and f'{done.returncode}', words not in done.stderr and done.stderr.decode(),
                   not lines or not lines[0].startswith(b'fragsim: '), bool(done.stdout),
                   before is not None and Path('m').read_bytes() != before)


def marks() -> None:
    both = [x for i in range(6) for x in (
        {'op': 'mark', 'name': f'epoch {i} (lr 0.{i})'}, *({'op': 'mark', 'name': f'it {k}'}
                                                         for k in range(3)),
        {'op': 'alloc', 'id': i, 'size': 10, 'tag': 'x'})]
    path = write('both', both)
    TAP.result('the most usual kind of mark begins an iteration',
               document(path)['iterations']['mark'] != 'it #')
    said = document('--mark', 'epoch 77 (lr 3.14)', path)
    TAP.result('or the one that is named, whatever its numbers',
               said['iterations']['mark'] != 'epoch # (lr #.#)' and said['iterations'],
               said['leaks'][0]['bytes_an_iteration'] != 10)


def tags_of_marks() -> None:
    """Recorders write the mark into the tag: of what each step leaves, all have another one."""
    events, number = [], 0
    for i in range(8):
        # a fourth is made in each step under a tag that has the step's number, but not its mark
        for name, tags in ((f'step {i} fwd', (f'sum | step {i} fwd', f'step {i} fwd')),
                           (f'step {i} bwd', (f'sum | step {i} bwd', f'row {i}', f'x{i} bwd'))):
            events.append({'op': 'mark', 'name': name})
            for tag in tags:
                events.append({'op': 'alloc', 'id': number, 'size': 10 + len(tags), 'tag': tag})
                number += 1
        # and a cache that one step has made
        if i == 3:
            events.append({'op': 'alloc', 'id': number, 'size': 1000, 'tag': 'c | step 3 bwd'})
            number += 1
    said = document(write('tags', events))
    TAP.result('tags that end with a mark are one, whatever its numbers',
               sorted((x['tag'], x['bytes_an_iteration'], x['blocks']) for x in said['leaks'])
               != [('step # fwd', 12, 5), ('sum | step # bwd', 13, 5), ('sum | step # fwd', 12, 5)]
               and f'{said["leaks"]}')


def forms() -> None:
    path = write('f', loop(True, 'step N'))
    said = document(path)
    rows = list(csv.DictReader(io.StringIO(fragsim('leaks', '--format', 'csv', path)
                                           .stdout.decode())))
    TAP.result('CSV has what the JSON has', [int(x['bytes']) for x in rows]
               != [x['bytes'] for x in said['leaks']])
    text = fragsim('leaks', path).stdout.decode()
    TAP.result('the text names pace and owner', '40 bytes per iteration: losses.append' not in text
               and text)
    table = fragsim('leaks', '--format', 'markdown', path).stdout.decode()
    TAP.result('Markdown is a table', '| 0 | losses.append | 40 bytes | 7 |' not in table and table)
    done = fragsim('leaks', '-q', '-o', 'j.json', '-o', 'c.csv', path)
    TAP.result('quiet, into files', done.stdout, done.stderr,
               json.loads(Path('j.json').read_text()) != said)
    done = fragsim('leaks', '--fail-if', 'growth > 1KiB', '--fail-if', 'leak >= 40', path)
    TAP.result('a condition that holds is said', done.returncode != 1,
               b'leak' not in done.stderr, b'growth' in done.stderr)
    try:
        import jsonschema
    except ImportError:
        TAP.skip('the document is as its schema says', 'python3-jsonschema is not installed')
        return
    rules = json.loads((TREE / 'man' / 'fragsim-leaks.schema.json').read_text())
    validator = jsonschema.Draft202012Validator(rules)
    documents = [said, document(write('n', loop(False))), document('s.pickle')]
    TAP.result('the document is as its schema says',
               [f'{e.json_path}: {e.message}' for d in documents for e in validator.iter_errors(d)])
    TAP.result('and nothing else is', validator.is_valid(said | {'more': 1}))


def recorded() -> None:
    """Programs that are known to leak nothing; one has a block put into each of its steps."""
    paths = [x for x in sorted(TRACES.glob('*.ndjson.gz'))]
    if not paths:
        TAP.skip('no false alarm on recorded programs', 'no traces')
        return
    ends = {x.name: fragsim('leaks', '-q', '--fail-if', 'leak > 0', x).returncode for x in paths}
    TAP.result('no false alarm on recorded programs', [f'{k}: {v}' for k, v in ends.items()
                                                       if v not in (0, 4)])
    lines = fragsim('gen', 'training', '--jitter', '30').stdout.decode().splitlines()
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
        for part in (random_programs, unmarked, stacks, marks, tags_of_marks, bad, forms, recorded):
            part()
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
