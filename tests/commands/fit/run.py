#!/usr/bin/python3
"""run.py - what fit says of every capacity, against a run on each.

    run.py PROGRAM [FIRST_SEED COUNT]       prints TAP

With seeds it is that alone; else recorded.py, cards.py, ends.py and together.py too. A map must say of each capacity what `run` comes to there: whether it survives, the step where not,
calls and retries. What fit concludes from it (smallest, safe, holes, ...) is concluded here again
from those runs alone, by the definitions of fragsim-fit(1).
"""

import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / 'support')]
import cards                                                    # noqa: E402
import ends                                                     # noqa: E402
import recorded                                                 # noqa: E402
import together                                                 # noqa: E402
from tap import Tap                                             # noqa: E402
from worlds import SECONDS, Brute, World, world                 # noqa: E402

SHORT = 9               # seeds, where nothing is said (the ninth is the first with a hole),
SOME = 0                # with so many capacities of an interval beside its first and last;
EVERY = 30              # else with more of them
BLOCK = 4               # seeds of a line of TAP
SEEN = ('fits', 'runs', 'failing_ranges', 'nowhere', 'joint', 'rooms')


class Wrong(Exception):
    """The first thing that is not as it has to be."""


def need(good: object, what: str) -> None:
    if not good:
        raise Wrong(what)


def same(got: object, wanted: object, what: str) -> None:
    need(got == wanted, f'{what} is {got}, not {wanted}')


def fit(program: str, folder: Path, w: World, *more: str) -> tuple:
    """Status and document."""
    names = []
    for i, trace in enumerate(w.traces):
        names.append(f'trace{i}.ndjson')
        (folder / names[-1]).write_text(trace.text(), encoding='ascii')
    words = [word for name in w.policies for word in ('-p', name)]
    done = subprocess.run([program, 'fit', '-q', '--map', '--json', '-', *words, *w.options, *more,
                           *names], capture_output=True, cwd=folder, timeout=SECONDS, check=False)
    need(done.returncode in (0, 1), f'status {done.returncode}: {done.stderr.decode()}')
    return done.returncode, json.loads(done.stdout)


def limit_of(w: World, smallest: int | None) -> int | None:
    """The highest capacity that is to be tried, where it is known."""
    if w.up_to:
        return w.up_to
    return None if smallest is None else smallest + smallest // 2


def check_interval(brute: list, policies: int, interval: dict, at: int) -> None:
    """The capacity `at` of the lattice of a trace against the interval of the map it is in."""
    end = brute.at(at, policies)
    what = f'on {at}, of the interval from {interval["least"]}'
    same(interval['status'], 'fits' if end.survives else 'oom', f'{what}: status')
    same(interval['oom_step'], end.step, f'{what}: oom_step')
    same(interval['calls'], end.calls, f'{what}: calls')
    same(interval['retries'], end.retries, f'{what}: retries')


def points(brute: Brute, first: int, beyond: int | None, some: int) -> list:
    """Capacities of the lattice in an interval: the first, the last, and `some` between."""
    last = brute.lattice(first * 7 + 1) if beyond is None else (
        (beyond - 1 - brute.taken) // brute.page * brute.page + brute.taken)
    between = range(first + brute.page, last, brute.page)
    if len(between) > some:
        between = random.Random(first).sample(between, some)
    return [first, *between, last]


def check_map(brute: Brute, policy: int, got: dict, w: World, some: int) -> list:
    """The walk by its own intervals; returns the capacities of the lattice that are known."""
    at, runs, smallest, covered = brute.floor, 0, None, []
    for interval in got['map']:
        limit = limit_of(w, smallest)
        need(limit is None or at <= limit, f'{at} was tried, above the limit {limit}')
        need(interval['least'] <= at < (interval['beyond'] or at + 1),
             f'{at} comes next, and is not in {interval}')
        for point in points(brute, at, interval['beyond'], some):
            check_interval(brute, policy, interval, point)
            covered.append(point)
        runs += 1
        if smallest is None and interval['status'] == 'fits':
            smallest = at
        at = None if interval['beyond'] is None else brute.lattice(interval['beyond'])
    same(got['runs'], runs, 'runs')
    limit = limit_of(w, smallest)
    need(runs >= w.runs or at is None or (limit is not None and at > limit),
         f'the walk ended at {at}, with {runs} runs and the limit {limit}')
    return sorted(set(covered))


def conclude(known: list, examined_to: int | None) -> dict:
    """From (capacity, survives, retries) of all that was examined."""
    good = [capacity for capacity, survives, _ in known if survives]
    if not good:
        return {'smallest': None, 'reliable': None, 'failing_ranges': [], 'no_refusal': None}
    holes, safe = [], None
    for capacity, survives, _ in known:
        if capacity < good[0]:
            continue
        if survives and safe is None:
            safe = capacity
            if holes:
                holes[-1][1] = capacity
        elif not survives and safe is not None:
            safe = None
            holes.append([capacity, examined_to])
    refused = [i for i, (_, survives, retries) in enumerate(known) if retries or not survives]
    behind = refused[-1] + 1 if refused else 0
    return {'smallest': good[0], 'reliable': safe, 'failing_ranges': holes,
            'no_refusal': known[behind][0] if behind < len(known) else None}


def check_outcome(said: dict | None, brute: Brute, policy: int, at: int | None, what: str) -> None:
    if at is None:
        same(said, None, what)
        return
    end = brute.at(at, policy)
    for key in ('calls', 'retries', 'peak_reserved'):
        same(said[key], getattr(end, key), f'{what}.{key}')
    # what the device refuses is tried again, but not all that is was the device that refused
    need(said['refused'] == 0 or said['retries']
         or brute.trace.limits_splits(brute.world.policies[policy]),
         f'{what}.refused is {said["refused"]}')
    same(said['driver_ns'], None, f'{what}.driver_ns')


def check_below(brute: Brute, policy: int) -> None:
    """What the floor says: below it nothing survives."""
    for capacity in (brute.floor - brute.page, brute.taken):
        if brute.taken <= capacity < brute.floor:
            need(not brute.at(capacity, policy).survives,
                 f'{capacity} survives, below the floor {brute.floor}')


def check_fit(brute: Brute, policy: int, got: dict, w: World, some: int) -> None:
    covered = check_map(brute, policy, got, w, some)
    text = got['policy']['text']
    seen = brute.trace.gives_back_when_refused(text)
    ends = [brute.at(x, policy) for x in covered]
    known = [(x, end.survives, end.retries or (seen and end.gave))
             for x, end in zip(covered, ends, strict=True)]
    examined = got['map'][-1]['beyond'] if got['map'] else brute.floor
    same(got['examined_to'], examined, 'examined_to')
    wanted = conclude(known, examined)
    if brute.trace.limits_splits(text) and not seen:
        # some second tries of PyTorch's are not counted, so that a refusal may not be seen here
        need(not wanted['no_refusal'] or got['no_refusal'] is None
             or got['no_refusal'] >= wanted['no_refusal'], 'no_refusal')
        del wanted['no_refusal']
    for key, value in wanted.items():
        same(got[key], value, key)
    check_outcome(got['at_smallest'], brute, policy, got['smallest'], 'at_smallest')
    check_outcome(got['at_reliable'], brute, policy, got['reliable'], 'at_reliable')
    check_below(brute, policy)


def joint_walk(brutes: list, policy: int, fits: list, w: World) -> dict:
    """All traces on the lattice of the first: a run of the walk is as far as their intervals."""
    first = brutes[0]
    at, runs, smallest, known, beyond = first.lattice(max(x.floor for x in brutes)), 0, None, [], 0
    beyond = at
    while at is not None and runs < w.runs:
        limit = limit_of(w, smallest)
        if limit is not None and at > limit:
            break
        ends = [brute.at(at, policy) for brute in brutes]
        survives = all(end.survives for end in ends)
        known.append((at, survives, sum(end.retries for end in ends)))
        if smallest is None and survives:
            smallest = at
        intervals = [x for fit_ in fits for x in fit_['map']
                     if x['least'] <= at and (x['beyond'] is None or at < x['beyond'])]
        if len(intervals) < len(fits):
            raise Unknown   # beyond what was examined of one alone
        ends = [x['beyond'] for x in intervals if x['beyond'] is not None]
        beyond = min(ends) if ends else None
        at = None if beyond is None else first.lattice(beyond)
        runs += 1
    return {**conclude(known, beyond), 'examined_to': beyond, 'runs': runs}


class Unknown(Exception):
    """The maps do not say it."""


def check_joint(brutes: list, policy: int, got: dict, fits: list, w: World) -> bool:
    try:
        wanted = joint_walk(brutes, policy, fits, w)
    except Unknown:
        return False
    if any(brute.trace.limits_splits(got['policy']['text']) for brute in brutes):
        del wanted['no_refusal']
    for key, value in wanted.items():
        same(got[key], value, f'joint {key}')
    return True


def check_documents(w: World, document: dict, brutes: dict) -> None:
    same(document['lower_bound'], max(x.floor for x in brutes.values()), 'lower_bound')
    same(document['granularity'], brutes[0, 0].page, 'granularity')
    places = [(i, policy, d) for i, trace in enumerate(w.traces) for policy in w.policies
              for d in range(len(trace.devices))]
    same([(x['trace'], x['policy']['text'], x['device']['ordinal']) for x in document['fits']],
         places, 'order of the fits')
    common = min(len(trace.devices) for trace in w.traces)
    same([(x['policy']['text'], x['device']['ordinal']) for x in document['joint']],
         [(policy, d) for policy in w.policies for d in range(common)] if len(w.traces) > 1 else [],
         'order of the joint ones')


def check_seed(program: str, seed: int, folder: Path, seen: dict, some: int) -> None:
    w = world(seed)
    status, document = fit(program, folder, w)
    brutes = {(i, d): Brute(program, folder, w, trace, d)
              for i, trace in enumerate(w.traces) for d in range(len(trace.devices))}
    check_documents(w, document, brutes)
    same(status, int(any(x['smallest'] is None for x in document['fits'])), 'status')
    for got in document['fits']:
        brute = brutes[got['trace'], got['device']['ordinal']]
        policy = w.policies.index(got['policy']['text'])
        try:
            check_fit(brute, policy, got, w, some)
        except Wrong as wrong:
            raise Wrong(f'trace {got["trace"]}, device {brute.device}, {got["policy"]["text"]}: '
                        f'{wrong}') from None
        seen['fits'] += 1
        seen['failing_ranges'] += len(got['failing_ranges'])
        seen['nowhere'] += got['smallest'] is None
        seen['runs'] += got['runs']
    for got in document['joint']:
        policy, d = w.policies.index(got['policy']['text']), got['device']['ordinal']
        fits = [x for x in document['fits']
                if x['policy'] == got['policy'] and x['device']['ordinal'] == d]
        try:
            seen['joint'] += check_joint([brutes[i, d] for i in range(len(w.traces))], policy, got,
                                         fits, w)
        except Wrong as wrong:
            raise Wrong(f'device {d}, {got["policy"]["text"]}: {wrong}') from None
    check_static_room(program, folder, w, brutes, document, seen)


def check_static_room(program: str, folder: Path, w: World, brutes: dict, document: dict,
                      seen: dict) -> None:
    """On a device that all of them would fit on, or some, or none: every multiple of the page."""
    whole = [x['reliable'] or x['smallest'] for x in document['fits'] if x['smallest']]
    if not whole or w.seed % 4 == 3:
        return
    total = [min(whole), max(whole), max(whole) * 5 // 4 + 77][w.seed % 3]
    _, rooms = fit(program, folder, w, '--headroom', '--device-bytes', f'{total}B')
    for got in rooms['fits']:
        brute = brutes[got['trace'], got['device']['ordinal']]
        policy = w.policies.index(got['policy']['text'])
        room, wanted = 0, None
        while brute.taken + room <= total and brute.at(total, policy, room).survives:
            wanted = room
            room += brute.page
        # none of the device's bytes are left: header and options would not allow it
        same(got['static_room'], wanted,
             f'{got["policy"]["text"]} on device {brute.device}, {total}: static_room')
        seen['rooms'] += wanted is not None


def try_seed(job: tuple) -> tuple:
    """What is wrong, if anything, and what there was to see."""
    program, seed, some = job
    seen = dict.fromkeys(SEEN, 0)
    try:
        with tempfile.TemporaryDirectory(prefix='fragsim-fit-') as folder:
            check_seed(program, seed, Path(folder), seen, some)
    except Wrong as wrong:
        return f'seed {seed}: {wrong}', seen
    except Exception:       # one that fails in any way must not hide the others
        return f'seed {seed}: {traceback.format_exc()}', seen
    return None, seen


def main(argv: list) -> int:
    if len(argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    program = str(Path(argv[1]).resolve())
    first, count = (int(argv[2]), int(argv[3])) if len(argv) == 4 else (0, SHORT)
    some = EVERY if len(argv) == 4 else SOME
    seen = dict.fromkeys(SEEN, 0)
    tap = Tap()
    with multiprocessing.Pool(2) as pool:
        done = pool.imap(try_seed, [(program, seed, some) for seed in range(first, first + count)])
        for start in range(first, first + count, BLOCK):
            seeds = range(start, min(start + BLOCK, first + count))
            results = [next(done) for _ in seeds]
            tap.result(f'seeds {seeds[0]} to {seeds[-1]}: each capacity is as a run on it',
                       [said for said, _ in results if said])
            for key in SEEN:
                seen[key] += sum(x[key] for _, x in results)
    print('# ' + ', '.join(f'{value} {key}' for key, value in seen.items()))
    if count >= SHORT:
        tap.result('there were fits, holes, joint ones, and what survives nowhere',
                   [f'no {key}' for key, value in seen.items() if not value])
    if len(argv) == 2:
        recorded.check(tap, program)
        cards.check(tap, program)
        with tempfile.TemporaryDirectory(prefix='fragsim-fit-') as folder:
            ends.check(tap, program, Path(folder))
            together.check(tap, program, Path(folder))
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
