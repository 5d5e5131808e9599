"""insertions.py - recordings that differ, as kernels take workspaces from some number on.

A program here is a list of operations whose sizes are known at every number. What fragsim predicts
from recordings of it is what the program does at the number; the truth is its own list.
"""
import json
import random
from collections.abc import Callable
from pathlib import Path

from program import fragsim, times
from tap import Tap

HEADER = {'format': 'fragsim-trace', 'version': 1}
HERE = Path(__file__).resolve().parent


def program(seed: int) -> Callable[[int], list[dict]]:
    """Operations that keep or free blocks, some of which take a workspace from a number on."""
    rng = random.Random(seed)
    operations = []
    for i in range(rng.randrange(30, 80)):
        kind = rng.choice(['constant', 'linear', 'linear'])
        size = 512 * rng.randrange(1, 400)
        # of some operations: from which number on, and how many bytes a number
        space = (rng.choice([3, 5, 9]), 8 * rng.randrange(100, 9000)) if rng.random() < 0.3 else None
        operations.append((f'op{rng.randrange(6)}', kind, size, space, rng.random() < 0.5))

    def at(n: int) -> list[dict]:
        events: list[dict] = []
        kept: list[int] = []
        for i, (tag, kind, size, space, keeps) in enumerate(operations):
            if i % 10 == 0:
                events.append({'op': 'mark', 'name': f'step{i // 10} n{n}'})
            events.append({'op': 'alloc', 'id': i, 'size': size * (n if kind == 'linear' else 1), 'tag': tag})
            if space and n >= space[0]:
                events += [{'op': 'alloc', 'id': 1000 + i, 'size': space[1] * n, 'tag': tag},
                           {'op': 'free', 'id': 1000 + i}]
            if keeps:
                kept.append(i)
            else:
                events.append({'op': 'free', 'id': i})
            if i % 10 == 9:
                events += [{'op': 'free', 'id': k} for k in kept]
                kept = []
        return events
    return at


def write(name: str, events: list[dict]) -> str:
    Path(name).write_text('\n'.join(json.dumps(x) for x in [HEADER, *events]) + '\n')
    return name


def predicted(seed: int) -> list[str]:
    """From numbers with fewer workspaces what the program has at a larger one."""
    rng = random.Random(seed)
    at = program(seed)
    # all workspaces are there at the largest: what is in no recording nobody can predict
    numbers = rng.choice([(2, 9), (4, 10), (2, 4, 9), (4, 8, 12), (8, 10)])
    number = numbers[-1] * rng.choice([2, 4])
    operands = [f'{write(f"i{n}", at(n))}={n}' for n in rng.sample(numbers, len(numbers))]
    done = fragsim('predict', *operands, '--at', number, '-q', '--trace', 'out.ndjson')
    if done.returncode:
        return [f'seed {seed} {numbers}: {done.stderr.decode()}']
    got = [json.loads(x) for x in Path('out.ndjson').read_text().splitlines()][1:]
    want = at(number)
    if got != want:
        i = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), len(want))
        return [f'seed {seed} {numbers} at {number}: event {i} of {len(got)}, {len(want)}:'
                f' {got[i:i + 1]}, not {want[i:i + 1]}']
    # below the first number with a workspace there is none
    done = fragsim('predict', *operands, '--at', numbers[0], '-q', '--trace', 'out.ndjson')
    got = [json.loads(x) for x in Path('out.ndjson').read_text().splitlines()][1:]
    return [] if got == at(numbers[0]) else [f'seed {seed} {numbers}: another trace at the first']


def far_apart() -> list[str]:
    """Another program is refused, and one that may be is doubted."""
    bad = []
    one, other = program(1), program(2)
    write('o2', one(2))
    write('o4', other(4))
    done = fragsim('predict', 'o2=2', 'o4=4', '--at', 8)
    if done.returncode != 4 or done.stderr.count(b'\n') != 1 or b'same events' not in done.stderr:
        bad.append(f'another program: {done.returncode} {done.stderr.decode()}')
    more = [e for i in range(10) for e in [{'op': 'alloc', 'id': 2000 + i, 'size': 4096, 'tag': 'state'}]]
    write('o4', one(2)[:40] + more + one(2)[40:])
    found = json.loads(fragsim('predict', 'o2=2', 'o4=4', '--at', 8, '--json', '-', '-q').stdout)
    if not any('outlive an operation, first of state' in x for x in found['doubt']):
        bad.append(f'blocks that stay: {found["doubt"]}')
    write('o4', one(2)[:30] + [{**e, 'id': 3000 + i} for i in range(60) for e in (
        {'op': 'alloc', 'size': 512, 'tag': 'x'}, {'op': 'free'})] + one(2)[30:])
    done = fragsim('predict', 'o2=2', 'o4=4', '--at', 8, '--json', '-', '-q')
    if done.returncode == 0 and not any('allocations are in all' in x for x in json.loads(done.stdout)['doubt']):
        bad.append(f'many insertions: {done.stdout.decode()[:300]}')
    return bad


def reductions() -> list[str]:
    """A sum over 1024 rows and more may take a workspace of twice its input: up to that is counted."""
    def rows(n: int) -> list[dict]:
        return [{'op': 'alloc', 'id': 1, 'size': 4096 * 64 * n, 'tag': 'input'},
                {'op': 'alloc', 'id': 2, 'size': 4096, 'tag': 'sum'}, {'op': 'free', 'id': 1},
                {'op': 'free', 'id': 2}]
    bad = []
    for n in (2, 4, 16):
        write(f'w{n}', rows(n))
    for operands, number, margin in ((('w2=2', 'w4=4'), 8, 0), (('w2=2', 'w4=4'), 16, 2 * 4096 * 1024),
                                     (('w4=4', 'w16=16'), 32, 0)):
        found = json.loads(fragsim('predict', *operands, '--at', number, '-p', 'direct', '--granularity',
                                   4096, '--json', '-', '-q').stdout)
        needs = 4096 * 64 * number + 4096 + margin
        if (found['margin'], found['points'][0]['fits'][0]['reliable']) != (margin, needs) \
                or bool(found['doubt']) != bool(margin):
            bad.append(f'{operands} at {number}: {found["margin"]}, {found["points"][0]["fits"][0]}')
    return bad


def real() -> list[str]:
    """A real perceptron, whose gradients of biases take workspaces from 16 samples on."""
    bad = []
    for numbers, number in (((2, 4), 16), ((2, 4), 32), ((4, 16), 32)):
        operands = [f'{HERE}/recordings/mlp{n}.ndjson.gz={n}' for n in numbers]
        found = json.loads(fragsim('predict', *operands, '--at', number, '--alloc-conf', '', '--json', '-',
                                   '-q').stdout)
        truth = json.loads(fragsim('fit', f'{HERE}/recordings/mlp{number}.ndjson.gz', '--alloc-conf', '',
                                   '--json', '-', '-q').stdout)['fits'][0]['reliable']
        named = found['points'][0]['fits'][0]['reliable']
        if not truth <= named <= truth * 1.05:
            bad.append(f'{numbers} at {number}: {named}, not {truth}')
    return bad


def check(tap: Tap) -> None:
    seeds = times(40, 100, 12)
    tap.result('insertions are predicted from the number that has them', [
        x for seed in range(seeds) for x in predicted(seed)][:5])
    tap.result('other programs are refused or doubted', far_apart())
    tap.result('reductions that may start are counted', reductions())
    tap.result('a real program fits the device that is named', real())
