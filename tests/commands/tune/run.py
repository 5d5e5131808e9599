#!/usr/bin/python3
"""run.py - what tune finds, against each setting's fit and runs.

    run.py PROGRAM [FIRST_SEED COUNT]       prints TAP

Small grids over random traces: what a setting needs says its fit, which tests/commands/fit holds against a
run on every capacity; what it comes to on a device, a run there. The best is chosen here again.
"""

import json
import math
import multiprocessing
import random
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'fit'), str(HERE.parents[1] / 'support')]
from tap import Tap                                                     # noqa: E402
from worlds import SECONDS, Brute, World, make_trace, settings   # noqa: E402

SHORT = 6
BLOCK = 3
SEEN = ('bests', 'not the default', 'without', 'devices', 'no headroom', 'none', 'tests', 'simpler')


class Wrong(Exception):
    """The first thing that is not as it has to be."""


def need(good: object, what: str) -> None:
    if not good:
        raise Wrong(what)


def same(got: object, wanted: object, what: str) -> None:
    need(got == wanted, f'{what} is {got}, not {wanted}')


def conf(keys: str) -> str:
    """A policy's keys as a line to paste."""
    return keys.replace('=', ':').replace(':true', ':True')


@dataclass
class Case:
    program: str
    folder: Path
    seed: int
    lines: list                         # of the grid
    traces: list
    tests: list
    names: list = field(default_factory=list)
    brutes: list = field(default_factory=list)
    seen: dict = field(default_factory=lambda: dict.fromkeys(SEEN, 0))

    def call(self, *args: str, wanted: tuple = (0,)) -> dict:
        done = subprocess.run([self.program, *args], capture_output=True, cwd=self.folder,
                              timeout=SECONDS, check=False)
        need(done.returncode in wanted,
             f'{" ".join(args)}: status {done.returncode}: {done.stderr.decode()[-600:]}')
        return {'status': done.returncode, **json.loads(done.stdout)}

    def tune(self, *more: str) -> dict:
        return self.call('tune', '-q', '--grid', 'grid', '--json', '-', *more,
                         *self.names[:len(self.traces)], wanted=(0, 1))

    def end(self, trace: int, setting: int, total: int):
        return self.brutes[trace].at(total, setting)


def case(program: str, folder: Path, seed: int, seen: dict) -> Case:
    rng = random.Random(f'tune {seed}')
    lines = list(dict.fromkeys(settings(rng) for _ in range(rng.randint(3, 9))))
    lines = [x for x in lines if x]
    traces = [make_trace(rng, True, 1) for _ in range(rng.choice([1, 1, 2]))]
    tests = [make_trace(rng, True, 1) for _ in range(rng.choice([0, 0, 1]))]
    for trace in traces[1:] + tests:    # one lattice
        trace.devices = traces[0].devices
    c = Case(program, folder, seed, lines, traces, tests, seen=seen)
    c.names = [f'trace{i}.ndjson' for i in range(len(traces) + len(tests))]
    for name, trace in zip(c.names, [*traces, *tests], strict=True):
        (folder / name).write_text(trace.text(), encoding='ascii')
    (folder / 'grid').write_text('# settings\n\n' + ''.join(
        f'  {conf(x)}  # {i}\n' for i, x in enumerate(lines)), encoding='ascii')
    world = World(seed, [f'pytorch:{x}'.rstrip(':') for x in ['', *lines]])
    c.brutes = [Brute(program, folder, world, trace, 0) for trace in [*traces, *tests]]
    return c


@dataclass
class Need:
    """A setting's fit, over all traces."""
    smallest: int | None
    safe: int | None
    holes: list


def needs(c: Case, traces: range) -> list:
    words = [word for x in ['', *c.lines] for word in ('-p', f'pytorch:{x}'.rstrip(':'))]
    said = c.call('fit', '-q', '--json', '-', *words, *(c.names[i] for i in traces),
                  wanted=(0, 1))
    fits = said['joint'] if len(traces) > 1 else said['fits']
    return [Need(x['smallest'], x['reliable'], x['failing_ranges']) for x in fits]


def is_expandable(line: str) -> bool:
    return 'expandable_segments=true' in line


def worst(ends: list) -> tuple:
    """Calls and retries."""
    return max(x.calls for x in ends), max(x.retries for x in ends)


def check_point(c: Case, point: dict, setting: int, total: int) -> None:
    """On the device that all are compared on."""
    ends = [c.end(i, setting, total) for i in range(len(c.traces))]
    good = all(x.survives for x in ends)
    what = f'{point["alloc_conf"]} on {total}'
    same(point['status'], 'fits' if good else 'oom', f'{what}: status')
    if good:
        same((point['calls'], point['retries']), worst(ends), f'{what}: calls, retries')
        same(point['oom'], None, f'{what}: oom')
    else:
        oom = point['oom']
        same(ends[oom['trace']].step, oom['step'], f'{what}: the step of trace {oom["trace"]}')


def check_best(c: Case, said: dict, key: str, fits: list, choices: list, exact: bool) -> None:
    """The least capacity, then calls there, then the order of the grid."""
    texts = [x['alloc_conf'] for x in said['points']]
    able = [i for i in choices if fits[i].smallest is not None]
    got = said[key]
    if not able:
        same(got, None, key)
        return
    least = min(fits[i].smallest for i in able)
    chosen = texts.index(got['alloc_conf'])
    need(chosen in choices, f'{key} is {got["alloc_conf"]}')
    need(got['smallest'] >= least, f'{key}: smallest {got["smallest"]} is below {least}')
    same((got['smallest'], got['reliable']), (fits[chosen].smallest, fits[chosen].safe),
         f'{key}: smallest, safe of {got["alloc_conf"]}')
    if exact or not any(fits[i].holes for i in choices):
        same(got['smallest'], least, f'{key}: smallest')
        equals = [i for i in able if fits[i].smallest == least]
        calls = {i: worst([c.end(k, i, least) for k in range(len(c.traces))])[0] for i in equals}
        wanted = min(equals, key=lambda i: (calls[i], i))
        same(got['alloc_conf'], texts[wanted], f'{key} of {[texts[i] for i in equals]}')
        same(got['calls'], calls[wanted], f'{key}: calls')


def check_pasted(c: Case, best: dict) -> None:
    """The line is one that --alloc-conf takes, and does there what was said."""
    calls = []
    for i in range(len(c.traces)):
        (c.folder / 'pasted').write_text(c.traces[i].text(0, best['smallest']), encoding='ascii')
        said = c.call('run', '-q', '--alloc-conf', best['alloc_conf'], '--json', '-', 'pasted')
        same(said['runs'][0]['policy']['params'], best['policy']['params'], 'what is pasted')
        calls.append(said['runs'][0]['counts'])
    same(max(x['retries'] for x in calls), best['retries'], 'retries of what is pasted')


def check_smallest(c: Case, fits: list, exact: bool) -> dict:
    said = c.tune(*(('--exact',) if exact else ()))
    same(said['status'], int(said['best'] is None), 'status')
    same((said['device'], said['headroom'], said['grid']), (None, None, 'grid'), 'what was asked')
    same(len(said['points']), len(c.lines) + 1, 'points')
    every = range(len(c.lines) + 1)
    without = [i for i in every if not is_expandable(['', *c.lines][i])]
    check_best(c, said, 'best', fits, list(every), exact)
    check_best(c, said, 'best_without_expandable', fits, without, exact)
    same(said['default'], said['points'][0], 'default')
    if said['best'] is None:
        c.seen['none'] += 1
        return said
    for i, point in enumerate(said['points']):
        check_point(c, point, i, said['best']['smallest'])
    check_pasted(c, said['best'])
    check_recommended(c, said, fits)
    chosen = said['best']['alloc_conf']
    same(said['env'], f'PYTORCH_ALLOC_CONF={chosen}' if chosen else None, 'env')
    c.seen['bests'] += 1
    c.seen['not the default'] += bool(chosen)
    c.seen['without'] += said['best'] != said['best_without_expandable']
    return said


def keys(line: str) -> int:
    return len(re.sub(r'\[[^]]*\]', '', line).split(',')) if line else 0


def check_recommended(c: Case, said: dict, fits: list) -> None:
    """The simplest setting that needs 1 % more than the best at most; no gain below 2 %."""
    got, best = said['recommended'], said['best']
    texts = [x['alloc_conf'] for x in said['points']]
    chosen = texts.index(got['alloc_conf'])
    same((got['smallest'], got['reliable']), (fits[chosen].smallest, fits[chosen].safe),
         f'recommended: smallest, safe of {got["alloc_conf"]}')
    line = got['alloc_conf']
    same(said['recommended_env'], f'PYTORCH_CUDA_ALLOC_CONF={line}' if line else None,
         'recommended_env')
    if chosen == 0:
        least = min(x.smallest for x in fits if x.smallest is not None)
        need(fits[0].smallest * 0.98 <= 1.01 * least, 'the default is not that good')
    else:
        need(got['smallest'] <= 1.01 * best['smallest'], 'recommended needs over 1 % more')
    if any(x.holes for x in fits):
        return
    near = [i for i, x in enumerate(fits)
            if x.smallest is not None and x.smallest <= 1.01 * best['smallest']]
    simplest = min(keys(texts[i]) for i in near)
    wanted = [i for i in near if keys(texts[i]) == simplest]
    plain = [i for i in wanted if texts[i] == 'expandable_segments:True']
    if plain and simplest == 1:
        wanted = plain
    gains = {i: fits[0].smallest is None
             or fits[i].smallest <= 0.98 * fits[0].smallest for i in wanted}
    need(chosen in wanted and gains[chosen] or chosen == 0 and not all(gains.values()),
         f'recommended: {texts[chosen]}, not one of {[texts[i] for i in wanted]}')
    c.seen['simpler'] += chosen not in (0, texts.index(best['alloc_conf']))


def capacities(c: Case, least: int, total: int) -> list:
    """Those of the lattice and their neighbours, the ends, and some more."""
    brute = c.brutes[0]
    rng = random.Random(total)
    points = {least, total, *(rng.randint(least, total) for _ in range(6))}
    at = brute.lattice(least)
    while at <= total and len(points) < 120:
        points |= {at, min(total, at + 1), max(least, at - 1)}
        at += brute.page
    return sorted(points)


def has_fraction(c: Case, line: str) -> bool:
    """Then any byte may be a border, not only those of pages."""
    return 'fraction' in line or 'threshold' in line or 'expandable' in line or any(
        'set_fraction' in trace.text() or 'threshold' in trace.text() for trace in c.traces)


def check_device(c: Case, total: int, percent: float) -> None:
    said = c.tune('--device-bytes', f'{total}B', '--headroom', f'{percent}%')
    least = math.ceil(total / (1 + percent / 100))
    texts = [x['alloc_conf'] for x in said['points']]
    good, sure = [], []
    for i, line in enumerate(['', *c.lines]):
        check_point(c, said['points'][i], i, total)
        if said['points'][i]['status'] != 'fits':
            continue
        fails = [x for x in capacities(c, least, total)
                 if not all(c.end(k, i, x).survives for k in range(len(c.traces)))]
        if not fails:
            good.append(i)
            sure.append(not has_fraction(c, line))
    alive = [i for i, x in enumerate(said['points']) if x['status'] == 'fits']
    headroom = round(percent / 100, 4)
    if not alive:
        same((said['best'], said['status'], said['env']), (None, 1, None), 'the best of none')
        c.seen['none'] += 1
        return
    same(said['status'], 0, 'status')
    c.seen['devices'] += 1
    if said['headroom'] != headroom:
        need(not any(sure), f'{texts[good[0]] if good else ""}: there is one with headroom')
        same(said['headroom'], 0, 'headroom')
        c.seen['no headroom'] += 1
        good, sure = alive, [True] * len(alive)
    for key, among in (('best', good), ('best_without_expandable',
                                        [i for i in good if not is_expandable(['', *c.lines][i])])):
        ends = {i: worst([c.end(k, i, total) for k in range(len(c.traces))]) for i in among}
        order = sorted(among, key=lambda i: (*ends[i], texts[i]))
        if said[key] is None:
            need(not any(s for i, s in zip(good, sure, strict=True) if i in among), f'no {key}')
            continue
        chosen = texts.index(said[key]['alloc_conf'])
        need(chosen in among, f'{key}, {texts[chosen]}, fails between {least} and {total}')
        before = [i for i in order[:order.index(chosen)] if sure[good.index(i)]]
        need(not before, f'{[texts[i] for i in before]} come before the {key} {texts[chosen]}')
        same((said[key]['smallest'], said[key]['reliable']), (None, None), f'smallest, safe of {key}')


def check_tests(c: Case, said: dict) -> None:
    for k in range(len(c.tests)):
        place = len(c.traces) + k
        again = c.call('tune', '-q', '--grid', 'grid', '--json', '-', '--test', c.names[place],
                       *c.names[:len(c.traces)], wanted=(0, 1))
        same(again['best'], said['best'], 'the best, with a test')
        got = again['tests'][0]
        fits = needs(c, range(place, place + 1))
        if said['best'] is None:
            continue
        chosen = [x['alloc_conf'] for x in said['points']].index(said['best']['alloc_conf'])
        same(got['fits'], c.end(place, chosen, said['best']['smallest']).survives,
             'survives of the test')
        same(got['smallest'], fits[chosen].smallest, 'smallest of the test')
        able = [x.smallest for x in fits if x.smallest is not None]
        if not able:
            same(got['own_best'], None, 'own_best')
            continue
        need(got['own_best']['smallest'] >= min(able), 'own_best is below what is possible')
        if not any(x.holes for x in fits):
            same(got['own_best']['smallest'], min(able), 'own_best')
        c.seen['tests'] += 1


def check_seed(program: str, folder: Path, seed: int, seen: dict) -> None:
    c = case(program, folder, seed, seen)
    fits = needs(c, range(len(c.traces)))
    said = check_smallest(c, fits, False)
    check_smallest(c, fits, True)
    check_tests(c, said)
    rng = random.Random(f'device {seed}')
    some = [x.smallest for x in fits if x.smallest is not None] or [c.brutes[0].floor]
    total = int(rng.choice(some) * rng.choice([1, 1, 1.01, 1.04, 1.06, 1.2, 0.99]))
    check_device(c, max(total, c.brutes[0].taken + 1), rng.choice([0, 2.5, 5, 20]))


def try_seed(job: tuple) -> tuple:
    program, seed = job
    seen = dict.fromkeys(SEEN, 0)
    try:
        with tempfile.TemporaryDirectory(prefix='fragsim-tune-') as folder:
            check_seed(program, Path(folder), seed, seen)
    except Wrong as wrong:
        return f'seed {seed}: {wrong}', seen
    except Exception:       # one that fails in any way must not hide the others
        return f'seed {seed}: {traceback.format_exc()}', seen
    return None, seen


NEWER = ('large_segment_size_mb', 'per_process_memory_fraction')


def check_releases(program: str, folder: Path) -> list:
    """A named grid has settings that the release of the trace accepts, and no others for sure."""
    faults = []

    def tune(release: str | None, *args: str) -> tuple:
        meta = {'recorder': 'record_torch.py', **({'pytorch': release} if release else {})}
        events = ['{"op":"alloc","id":%d,"size":"%dMiB"}' % (i, 25 + i) for i in range(4)]
        (folder / 'trace').write_text('\n'.join([
            json.dumps({'format': 'fragsim-trace', 'version': 1, 'meta': meta}), *events]) + '\n',
            encoding='ascii')
        done = subprocess.run([program, 'tune', '-q', '--json', '-', *args, 'trace'], cwd=folder,
                              capture_output=True, timeout=SECONDS, check=False)
        return done.returncode, done.stdout and json.loads(done.stdout), done.stderr.decode()

    def expect(good: bool, what: str) -> None:
        if not good:
            faults.append(what)

    for release, newer, any_newer in (('2.8', False, False), ('2.9', False, False),
                                      ('2.11', True, False), (None, True, True),
                                      ('2.9 to 2.14', True, True), ('2.11 to 2.14', True, False)):
        for grid in ('short', 'default'):
            rc, said, err = tune(release, '--grid', grid)
            expect(rc == 0, f'{release}, {grid}: {err}')
            texts = [x['alloc_conf'] for x in said['points']]
            expect(any(key in x for x in texts for key in NEWER) == newer,
                   f'{release}, {grid}: candidates that it refuses: {texts}')
            for key in ('best', 'recommended', 'best_without_expandable'):
                expect(newer and not any_newer
                       or not any(k in said[key]['alloc_conf'] for k in NEWER),
                       f'{release}, {grid}: {key} is {said[key]["alloc_conf"]}')
            expect(said['pytorch'] == release, f'{release}: pytorch is {said["pytorch"]}')
            version = said['default']['policy']['params'].get('version', '2.15')
            expect(version == (release or '2.15').split()[-1], f'{release}: rules of {version}')
            expect((said['best_newer'] is None) == (said['newer_pytorch'] is None), 'newer_pytorch')
            # 25 to 28 MiB in a segment of 28 each: 112, where one of 128 would take 128
            expect(said['best_newer'] is None or any_newer and any(
                k in said['best_newer']['alloc_conf'] for k in NEWER), f'{release}: best_newer')
    (folder / 'lines').write_text('max_split_size_mb:64\nlarge_segment_size_mb:32\n', encoding='ascii')
    for release, wanted in (('2.8', 2), ('2.11', 0), (None, 0)):
        rc, said, err = tune(release, '--grid', 'lines')
        expect(rc == wanted, f'{release}: status {rc}: {err}')
        expect(rc == 0 or 'lines: large_segment_size_mb:32: PyTorch 2.8' in err, err)
    # 30 of 64 MiB in turn: one segment is enough, and nothing is to be gained
    (folder / 'even').write_text(''.join(
        f'{{"op":"{op}","id":1{size}}}\n' for _ in range(3)
        for op, size in (('alloc', ',"size":"30MiB"'), ('free', ''))), encoding='ascii')
    done = subprocess.run([program, 'tune', '--grid', 'short', 'even'], cwd=folder, text=True,
                          capture_output=True, timeout=SECONDS, check=False)
    expect(done.stdout.startswith('NOTHING TO GAIN: 30 MiB device'), done.stdout)
    return faults


def growing(marks: bool, first: int = 40, more: int = 2, kept: int = 22) -> str:
    """Four iterations, each larger than the last by 2 MiB, and 22 MiB of each are kept.

    What is kept goes into the segment of the iteration before, so all of these stay: 40 + 42 + 44
    + 46 MiB. Where that segment has been released, 3 x 22 + 46 MiB are reserved at most, and with
    pages of 20 MiB 120. Of 60 + 80 + 100 + 120 MiB with 40 kept the second holds two, so 100 are
    released where the device is full: 260 MiB, and with the others 3 x 40 + 120.
    """
    events = []
    for i in range(4):
        if marks:
            events.append({'op': 'mark', 'name': f'step {i}'})
        if i:
            events.append({'op': 'alloc', 'id': f'kept {i}', 'size': kept << 20})
        events.append({'op': 'alloc', 'id': i, 'size': (first + more * i) << 20})
        events.append({'op': 'free', 'id': i})
    return ''.join(json.dumps(x) + '\n' for x in events)


def check_code(program: str, folder: Path) -> list:
    """A line of code is offered where it beats the settings, and its `check` shows the same."""
    faults = []
    for name, marks in (('marked', True), ('plain', False)):
        (folder / name).write_text(growing(marks), encoding='ascii')
    (folder / 'paged').write_text(growing(True, 60, 20, 40), encoding='ascii')
    (folder / 'none').write_text('# nothing\n', encoding='ascii')
    (folder / 'one').write_text('expandable_segments:True\n', encoding='ascii')

    def tune(*args: str, wanted: int = 0) -> str:
        done = subprocess.run([program, 'tune', '--color', 'never', *args], cwd=folder, text=True,
                              capture_output=True, timeout=SECONDS, check=False)
        if done.returncode != wanted:
            faults.append(f'tune {args}: status {done.returncode}: {done.stderr}')
        return done.stdout

    def expect(good: bool, what: str) -> None:
        if not good:
            faults.append(what)

    row = ('  code      torch.cuda.empty_cache() after each iteration: needs 112 MiB instead of'
           ' 172 MiB, 10 driver calls instead of 4')
    check = "fragsim what-if --empty-cache every-iteration --alloc-conf '' marked"
    for args in (['--grid', 'none'], ['--grid', 'one', '--no-expandable']):
        text = tune(*args, 'marked')
        expect(text.startswith('NO SETTING HELPS: 172 MiB device with the default settings\n'), text)
        expect(f'{row}\n  check     {check}\n' in text, f'{args}: no code: {text}')
        expect('expandable' not in text, f'{args}: {text}')
    done = subprocess.run([program, *shlex.split(check)[1:]], cwd=folder, text=True,
                          capture_output=True, timeout=SECONDS, check=False)
    expect(done.stdout.startswith('CHANGED: smallest device 112 MiB instead of 172 MiB'), done.stdout)
    text = tune('--grid', 'one', 'marked')
    expect(-1 < text.find(row) < text.find('\n  or '), f'better than expandable segments: {text}')
    text = tune('--grid', 'one', 'paged')
    expect(-1 < text.find('\n  or ') < text.find(
        row.replace('112', '240').replace('172', '260')[:-1] + '5'), f'as good as they: {text}')
    text = tune('--grid', 'none', '--device-bytes', '120MiB', 'marked', wanted=1)
    expect(text.startswith('NONE FITS') and row in text, f'on 120 MiB: {text}')
    text = tune('--grid', 'none', '--device-bytes', '114MiB', 'marked', wanted=1)
    expect('code' not in text, f'on 114 MiB, without headroom: {text}')
    expect('code' not in tune('--grid', 'none', 'plain'), 'without iterations')
    said = json.loads(tune('-q', '--grid', 'none', '--json', '-', 'marked'))['code']
    expect((said['better'], said['with']['smallest'], said['with']['calls'],
            said['without']['smallest'], said['without']['calls'])
           == (True, 112 << 20, 10, 172 << 20, 4), f'JSON: {said}')
    said = json.loads(tune('-q', '--grid', 'one', '--json', '-', 'paged'))
    expect(not said['code']['better'], 'better than expandable segments')
    expect(json.loads(tune('-q', '--json', '-', 'plain'))['code'] is None, 'JSON without iterations')
    both = tune('--grid', 'none', '--format', 'csv', 'marked').splitlines()
    expect(both[0].endswith(',code') and len(both) == 3
           and both[2].endswith(f',{112 << 20},{112 << 20},torch.cuda.empty_cache() after each'
                                ' iteration'), f'CSV: {both}')
    said = json.loads(tune('-q', '--no-expandable', '--json', '-', 'marked', '-p',
                           'pytorch:expandable_segments=true'))
    expect(not any(is_expandable(json.dumps(x).replace(':True', '=true'))
                   for x in said['points']), '--no-expandable')
    return faults


def main(argv: list) -> int:
    if len(argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    program = str(Path(argv[1]).resolve())
    first, count = (int(argv[2]), int(argv[3])) if len(argv) == 4 else (0, SHORT)
    seen = dict.fromkeys(SEEN, 0)
    tap = Tap()
    with multiprocessing.Pool(2) as pool:
        done = pool.imap(try_seed, [(program, seed) for seed in range(first, first + count)])
        for start in range(first, first + count, BLOCK):
            seeds = range(start, min(start + BLOCK, first + count))
            results = [next(done) for _ in seeds]
            tap.result(f'seeds {seeds[0]} to {seeds[-1]}: the best is the best of the grid',
                       [said for said, _ in results if said])
            for key in SEEN:
                seen[key] += sum(x[key] for _, x in results)
    with tempfile.TemporaryDirectory(prefix='fragsim-tune-') as folder:
        tap.result('candidates are those that the release of the trace accepts',
                   check_releases(program, Path(folder)))
        tap.result('a line of code is offered where it beats the settings',
                   check_code(program, Path(folder)))
    print('# ' + ', '.join(f'{value} {key}' for key, value in seen.items()))
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
