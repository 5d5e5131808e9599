"""together.py - programs that run at the same time, against the naive model on every device.

Two naive runs share one device: before each event, the memory of the other program is in use by
other processes. Of every offset and every capacity it is simulated whether both fit. For pytorch,
which the naive model lacks, one program that has no events must change nothing.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'property'), str(HERE.parents[1] / 'support')]
from naive import Run                                           # noqa: E402
from naive_policies import Device, OutOfMemory                  # noqa: E402
from naive_trace import resolve                                 # noqa: E402
from program import times                                       # noqa: E402
from tap import Tap                                             # noqa: E402
from worlds import POOLS, SECONDS, SMALL, Maker, policies       # noqa: E402

TRACES = HERE.parents[2] / 'traces'
SEEDS = times(16, 400)


class Program:
    """A trace, and its naive run next to others."""

    def __init__(self, events: list, context: int, other: int, page: int, timed: bool) -> None:
        self.events, self.context, self.other, self.page = events, context, other, page
        self.clock = [x['t'] for x in events] if timed else list(range(len(events)))
        self.steps = resolve(events, 1)

    def begin(self, policy: str, total: int, at: int) -> None:
        self.at, self.policy, self.next, self.run = at, policy, 0, None
        self.device = Device(0, {'total_bytes': total, 'context_bytes': self.context,
                                 'granularity_bytes': self.page})

    def time(self) -> int | None:
        """Of the next event."""
        if self.next == len(self.events):
            return None
        return self.at + self.clock[self.next] - self.clock[0]

    def step(self, others: int) -> bool:
        """False: an OOM."""
        self.device.other = self.other + others
        if not self.run:
            self.run = Run(self.policy, self.device, False)
        step = self.steps[self.next]
        self.next += 1
        self.run.policy.begin_step()
        return self.run.started and getattr(self.run, step.op)(step) == 'ok'


def fits(programs: list, policy: str, total: int, begins: list) -> bool:
    """Of events at the same time the first program's comes first."""
    for program, begin in zip(programs, begins, strict=True):
        program.begin(policy, total, begin)
    while True:
        left = [(x.time(), i) for i, x in enumerate(programs) if x.time() is not None]
        if not left:
            return True
        one = programs[min(left)[1]]
        try:
            if not one.step(sum(x.device.process_used() for x in programs if x is not one)):
                return False
        except OutOfMemory:
            return False


def text(events: list, context: int, other: int, page: int) -> str:
    head = {'format': 'fragsim-trace', 'version': 1, 'device': {
        'context_bytes': context, 'other_bytes': other, 'granularity_bytes': page}}
    return ''.join(json.dumps(x) + '\n' for x in (head, *events))


def fit(program: str, folder: Path, *args: str, wanted: tuple = (0, 1)) -> subprocess.CompletedProcess:
    done = subprocess.run([program, 'fit', *args], cwd=folder, text=True, capture_output=True,
                          timeout=SECONDS, check=False)
    if done.returncode not in wanted:
        raise AssertionError(f'fit {args}: status {done.returncode}: {done.stderr}')
    return done


def make(rng: random.Random, timed: bool) -> list:
    maker = Maker(rng, False, 1)
    maker.make(rng.randint(2, 26))
    now = rng.randint(0, 9)
    for event in maker.events:
        event.pop('device', None)
        if event['op'] == 'configure':
            event.update(op='mark', name=event.pop('value'))
        if timed:
            event['t'] = now
            now += rng.choice([0, 1, 1, 2, 5])
    return maker.events


def ranges(good: list, known: list) -> tuple:
    """smallest, reliable and the failing ranges above; known: capacities in order."""
    if not any(good):
        return None, None, []
    first, holes = good.index(True), []
    for i in range(first + 1, len(good)):
        if good[i - 1] and not good[i]:
            holes.append([known[i], None])
        elif good[i] and not good[i - 1]:
            holes[-1][1] = known[i]
    safe = None if holes and holes[-1][1] is None else holes[-1][1] if holes else known[first]
    return known[first], safe, holes


def walk(programs: list, policy: str, shifts: list, end: int) -> tuple:
    """By capacity up to `end` whether all shifts fit."""
    known, good = [], []
    for total in range(programs[0].other + sum(x.context for x in programs), end + 1,
                       programs[0].page):
        known.append(total)
        good.append(all(fits(programs, policy, total or 1,
                             [i * x for i in range(len(programs))]) for x in shifts))
    return known, good


def check_pair(program: str, folder: Path, seed: int) -> list:
    rng = random.Random(f'together {seed}')
    drawn = [x for x in policies(rng, False) if x.split(':')[0] not in ('pytorch', 'compact', 'plan')]
    policy = rng.choice(drawn + [f'{x}:{rng.choice(POOLS[x])}'.rstrip(':') for x in POOLS]
                        + ['direct', f'bestfit:{rng.choice(SMALL["bestfit"])}'])
    # segments of these are MiB
    page = 1 << 18 if policy.split(':')[0] in ('bfc', 'sizeclass', 'rmm') else 1 << 12
    timed, other = rng.random() < 0.5, rng.choice([0, 0, page, 777])
    count = rng.choice([2, 2, 2, 3])
    programs = []
    for i in range(count):
        events, context = make(rng, timed), rng.choice([0, 0, 5000, 3 * page])
        programs.append(Program(events, context, other, page, timed))
        (folder / f'p{i}').write_text(text(events, context, other, page), encoding='ascii')
    names = [f'p{i}' for i in range(count)]
    what = f'seed {seed}, {policy}{", timed" if timed else ""}'
    lengths = [x.clock[-1] - x.clock[0] + (not timed) for x in programs]
    faults = []

    def ask(*more: str) -> dict:
        said = json.loads(fit(program, folder, '-q', '--together', '--json', '-', '-p', policy,
                              *more, *names).stdout)['joint'][0]
        if said['together']['clock'] != ('microseconds' if timed else 'steps'):
            faults.append(f'{what}: clock {said["together"]}')
        return said

    def compare(said: dict, shifts: list, name: str) -> None:
        end = said['examined_to'] or said['no_refusal'] or 300 * page
        known, good = walk(programs, policy, shifts, end - (said['examined_to'] is not None))
        got = said['smallest'], said['reliable'], said['failing_ranges']
        smallest, safe, holes = ranges(good, known)
        if holes and holes[-1][1] is None:
            holes[-1][1] = said['examined_to']
        if len(shifts) > 1 and smallest and safe is None:
            # above all that was examined the sum is enough
            safe = said['no_refusal']
            if not all(fits(programs, policy, safe, [0, x]) for x in shifts):
                faults.append(f'{what}: {safe} is not enough')
        if got != (smallest, safe, holes):
            faults.append(f'{what}, {name}: {got}, not {(smallest, safe, holes)}')

    offset = rng.randint(-lengths[1], lengths[0]) if count == 2 else rng.randint(
        0, min(lengths[:-1]))
    compare(ask('--offset', f'{offset}'), [offset], f'offset {offset}')
    said = ask()
    if count > 2:
        if said['smallest'] is not None or not said['at_most'] == said['reliable']:
            faults.append(f'{what}: three programs, {said}')
        # the sum is enough, whatever the order
        for _ in range(10):
            begins = [rng.randint(0, 99) for _ in programs]
            if said['at_most'] and not fits(programs, policy, said['at_most'], begins):
                faults.append(f'{what}: {said["at_most"]} fails with {begins}')
        return faults
    every = list(range(-lengths[1] - 1, lengths[0] + 2))
    compare(said, every, 'every offset')
    below = said['smallest'] and said['smallest'] - page
    worst = said['together']['offset']
    if below and below > 0 and fits(programs, policy, below, [0, worst]):
        faults.append(f'{what}: {below} fits with --offset {worst}')
    return faults


def check_words(program: str, folder: Path) -> list:
    """Sentences, by arithmetic; and bad input."""
    faults = []

    def put(name: str, *sizes: int, more: dict | None = None, head: dict | None = None) -> None:
        events = [{'op': 'alloc', 'id': i, 'size': x << 20, **(more or {})}
                  for i, x in enumerate(sizes)]
        lines = [{'format': 'fragsim-trace', 'version': 1, **(head or {})}, *events]
        (folder / name).write_text(''.join(json.dumps(x) + '\n' for x in lines), encoding='ascii')

    def expect(good: bool, what: str) -> None:
        if not good:
            faults.append(what)

    put('a', 40, 60)
    put('b', 30)
    put('timed', 20, more={'t': 5})
    put('fine', 20, head={'device': {'granularity_bytes': 512}})
    put('two', 20, head={'devices': [{}, {}]})
    said = fit(program, folder, '--color', 'never', '--together', '-p', 'pytorch', '--context-bytes',
               '10MiB', 'a', 'b').stdout
    # both contexts, and all that is ever requested
    for line in ('SMALLEST DEVICE for all at the same time: 150 MiB with default settings; every larger one fits\n',
                 'pytorch       150 MiB      150 MiB\n', '  clock     events, one of each program in turn\n',
                 '  offset    pytorch: 150 MiB fits at every offset, the next smaller device fails with'
                 ' --offset '):
        expect(line in said, f'{line!r} is not in {said}')
    said = fit(program, folder, '--color', 'never', '--together', '-p', 'pytorch', 'a', 'b',
               'a').stdout
    expect('at most 230 MiB with default settings' in said
           and '  at most   pytorch requires at most 230 MiB' in said, said)
    said = fit(program, folder, '--together', '-p', 'pytorch', '--offset', '1', '--format', 'csv',
               'a', 'b').stdout.splitlines()
    expect(said[-1].startswith('together,') and f',{130 << 20},' in said[-1], f'{said}')
    done = fit(program, folder, '-q', '--together', '-p', 'pytorch', '--fail-if', 'smallest > 129MiB',
               'a', 'b', wanted=(1,))
    expect('together, pytorch, device 0: smallest is' in done.stderr, done.stderr)
    for args, words in (
            (['--together', 'a'], '--together requires two traces'),
            (['--offset', '1', 'a', 'b'], '--offset is for --together'),
            (['--together', '--offset', '1x', 'a', 'b'], '--offset 1x: a number is required'),
            (['--together', '--offset', '', 'a', 'b'], '--offset : a number is required'),
            (['--together', '--offset', 'inf', 'a', 'b'], '--offset inf: a number is required'),
            (['--together', '--offset', '0.5', 'a', 'b'], '--offset 0.5: a whole number of events'),
            (['--together', '--offset', '3', 'a', 'b'], '--offset 3: a has 2 events'),
            (['--together', '--offset', '-2', 'a', 'b'], '--offset -2: b has 1 event'),
            (['--together', '--offset', '1', 'timed', 'timed'], '--offset 1: timed has 0 microseconds'),
            (['--together', 'a', 'fine'], 'a and fine are of devices with another granularity'),
            (['--together', 'two', 'a'], 'two has 2 devices'),
            (['--together', '--headroom', '--device', 't4', 'a', 'b'], '--headroom is for each trace')):
        done = fit(program, folder, *args, wanted=(2,))
        expect(words in done.stderr, f'{args}: {done.stderr}')
    fit(program, folder, '--together', '--granularity', '2MiB', '-q', 'a', 'fine', wanted=(0,))
    fit(program, folder, '--together', '-q', 'a', 'timed', wanted=(0,))
    return faults


def check_alone(program: str, folder: Path) -> list:
    """Next to a program that requests nothing, pytorch needs what it needs alone."""
    faults = []
    for seed in range(SEEDS // 4):
        maker = Maker(random.Random(f'alone {seed}'), True, 1)
        maker.make(120)
        (folder / 'one').write_text(text(maker.events, 0, 0, 1 << 20), encoding='ascii')
        (folder / 'idle').write_text(text([{'op': 'mark', 'name': 'idle'}] * 3, 0, 0,
                                          1 << 20), encoding='ascii')
        for more in ([], ['--offset', '1'], ['--offset', '-1']):
            said = json.loads(fit(program, folder, '-q', '--together',
                                  '--json', '-', '-p', 'pytorch', '-p',
                                  'pytorch:expandable_segments=true', *more, 'one', 'idle').stdout)
            keys = ['smallest', 'reliable'] + ['failing_ranges', 'no_refusal'] * bool(more)
            for joint, alone in zip(said['joint'], said['fits'], strict=False):
                got, wanted = ([x[k] for k in keys] for x in (joint, alone))
                if got != wanted:
                    faults.append(f'seed {seed} {more}: {got}, alone {wanted}')
    return faults


def check_recorded(program: str, folder: Path) -> list:
    """pytorch on recorded traces: what fits at every offset fits at some, and below it one fails."""
    faults, rng = [], random.Random('recorded')
    paths = [str(TRACES / f'{x}.ndjson.gz') for x in ('moe_train_dispatch',
                                                      'gpt2_small_train_bs8_seq1024_ckpt')]
    most = []
    for path in paths:
        said = json.loads(subprocess.run([program, 'trace', 'info', '--json', '-', path], check=True,
                                         capture_output=True, timeout=SECONDS).stdout)
        most.append(int(said['duration']))

    def ask(*more: str) -> list:
        words = ['-q', '--together', '--json', '-', '-p', 'pytorch', '-p',
                 'pytorch:expandable_segments=true', *more, *paths]
        return json.loads(fit(program, folder, *words).stdout)['joint']

    def has(said: dict, capacity: int) -> bool:
        return said['smallest'] <= capacity and not any(
            a <= capacity and (b is None or capacity < b) for a, b in said['failing_ranges'])

    every = ask()
    for _ in range(times(3, 30)):
        offset = rng.randint(-most[1], most[0])
        for one, all_of in zip(ask('--offset', f'{offset}'), every, strict=True):
            if not has(one, all_of['smallest']) or not has(one, all_of['reliable']):
                faults.append(f'--offset {offset}: {one["smallest"]}, every: {all_of}')
    for i, all_of in enumerate(every):
        worst = all_of['together']['offset']
        if has(ask('--offset', f'{worst}')[i], all_of['smallest'] - (2 << 20)):
            faults.append(f'--offset {worst} fits below {all_of["smallest"]}')
    return faults


def check(tap: Tap, program: str, folder: Path) -> None:
    faults = []
    for seed in range(SEEDS):
        faults += check_pair(program, folder, seed)
    tap.result(f'together: {SEEDS} pairs on every device, at every offset', faults)
    tap.result('together: sentences and bad input', check_words(program, folder))
    tap.result('together: next to an idle program pytorch is as alone', check_alone(program, folder))
    tap.result('together: recorded traces at some offsets', check_recorded(program, folder))
