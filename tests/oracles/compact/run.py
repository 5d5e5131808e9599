#!/usr/bin/python3
"""run.py - the policy compact against enumeration of what could be moved, and arithmetic on paper.

usage: run.py PROGRAM
"""
import json
import os
import pickle
import random
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'support')]
from heap import MIB, Heap, Refused     # noqa: E402
from program import call, times  # noqa: E402
from tap import Tap                     # noqa: E402

TRACES = HERE.parents[2] / 'traces'
TAP = Tap()
ok = TAP.ok
KIB = 1 << 10


def alloc(name: object, size: int, **more: object) -> dict:
    return {'op': 'alloc', 'id': name, 'size': size, **more}


def free(name: object, **more: object) -> dict:
    return {'op': 'free', 'id': name, **more}


def write(name: str, events: list, **device: int) -> str:
    header = {'format': 'fragsim-trace', 'version': 1,
              'device': {'granularity_bytes': 2 * MIB, **device}}
    Path(name).write_text('\n'.join(map(json.dumps, [header, *events])) + '\n', encoding='ascii')
    return name


def places(policy: str, trace: str, *args: object) -> tuple:
    """The exit status, and a line of placements a step."""
    status, out, err = call('run', '-q', '--check', '-p', policy, '--placements', '-', *args, trace)
    assert status in (0, 3), (policy, trace, status, err)
    return status, [json.loads(x) for x in out.splitlines()]


def run_of(policy: str, trace: str, *args: object) -> dict:
    status, out, err = call('run', '-q', '-p', policy, '--json', '-', *args, trace)
    assert status in (0, 3), (policy, trace, status, err)
    return json.loads(out)['runs'][0]


# By hand ------------------------------------------------------------------------------
def check_window() -> None:
    """
    8 MiB: two segments of 2 MiB, half of each live, and one of 4. A request of 2 MiB finds 1 MiB
    twice. The halves cost the same, so the lower goes, into the hole of the other segment.
    """
    events = [alloc('a', MIB), alloc(2, MIB), alloc(3, MIB), alloc(4, MIB), alloc(5, 4 * MIB),
              free(2), free(3), alloc(6, 2 * MIB), free('a'), free(4), free(6)]
    trace = write('window.ndjson', events, total_bytes=8 * MIB)
    status, got = places('compact:over=bestfit', trace)
    ok(status == 0 and got[7] == {
        'step': 7, 'op': 'alloc', 'id': 6, 'segment': 0, 'offset': 0, 'bytes': 2 * MIB,
        'moved': [{'id': 'a', 'segment': 1, 'offset': 0, 'bytes': MIB}]},
       'by hand: the half of a segment goes into the hole of another', got[7])
    ok(got[8:] == [{'step': 8 + i, 'op': 'free', 'id': x} for i, x in enumerate(('a', 4, 6))],
       'by hand: what was moved is freed by its id', got[8:])
    ok(run_of('compact:over=bestfit', trace)['compaction']
       == {'moves': 1, 'blocks': 1, 'bytes': MIB}, 'by hand: the result counts it')
    status, got = places('bestfit', trace)
    ok(status == 3 and got[-1].get('oom') and got[-1]['step'] == 7,
       'by hand: without compact that is out of memory')


def check_cost() -> None:
    """
    Two segments of 4 MiB, each a block of 1 MiB free at its end. In the first 3 blocks of 1 MiB, in
    the second one of 3 MiB. For 2 MiB: a block of 1 MiB of the first, or the 3 MiB of the second
    (which fit nowhere). Where three times as many blocks are free, a block's price decides.
    """
    events = [alloc(1, MIB), alloc(2, MIB), alloc(3, MIB), alloc(4, MIB), alloc(5, 3 * MIB),
              alloc(6, MIB), free(4), free(6), alloc(7, 2 * MIB)]
    trace = write('cost.ndjson', events, total_bytes=8 * MIB)
    _, got = places('compact:over=bestfit,segment=4MiB', trace)
    ok(got[8]['moved'] == [{'id': 3, 'segment': 1, 'offset': 3 * MIB, 'bytes': MIB}]
       and (got[8]['segment'], got[8]['offset']) == (0, 2 * MIB),
       'by hand: one block of 1 MiB is cheaper than one of 3', got[8])
    # 12 MiB: a segment of 2 x 1 MiB beside 2 free, one of 3 MiB beside 1 free, and a hole of 3
    # beside what is pending: for 4 MiB either two blocks of 1 MiB or one of 3 go into it
    events = [alloc(1, MIB), alloc('x', 2 * MIB), alloc(2, MIB), alloc(3, 3 * MIB),
              alloc('y', MIB), alloc('z', 3 * MIB), alloc(4, MIB), free('x'), free('y'), free('z'),
              free(4, pending=True), alloc(5, 4 * MIB)]
    trace = write('price.ndjson', events, total_bytes=12 * MIB)
    for price, moved in ('512KiB', [1, 2]), ('1536KiB', [3]):
        _, got = places(f'compact:over=bestfit,segment=4MiB,block_cost={price}', trace)
        ok(sorted(x['id'] for x in got[11].get('moved', [])) == moved,
           f'by hand: at {price} a block it is {moved}', got[11])


def check_pending() -> None:
    """As in check_window, but what would go is in use by a stream: the other half goes."""
    events = [alloc(1, MIB), alloc(2, MIB), alloc(3, MIB), alloc(4, MIB), alloc(5, 4 * MIB),
              free(2), free(3), free(1, pending=True), alloc(6, 2 * MIB)]
    trace = write('pending.ndjson', events, total_bytes=8 * MIB)
    _, got = places('compact:over=bestfit', trace)
    ok([x['id'] for x in got[8].get('moved', [])] == [4] and got[8]['segment'] == 1,
       'by hand: a pending block is not moved', got[8])
    events[8:8] = [free(4, pending=True)]
    trace = write('stuck.ndjson', events, total_bytes=8 * MIB)
    status, got = places('compact:over=bestfit', trace)
    ok(status == 3 and got[-1] == {'step': 9, 'op': 'alloc', 'id': 6, 'oom': True},
       'by hand: two of them are in the way: out of memory', got[-1])


def check_all() -> None:
    """
    12 MiB: two segments of 4 MiB with a block of 2.5 MiB between holes of 768 KiB, and one with two
    of 1.5 MiB. 4 MiB are free, and 4 are requested: no segment can be emptied into the holes, but
    the request, 2.5 + 1.5 and 2.5 + 1.5 fill three segments. That moves all four blocks.
    """
    q = 256 * KIB
    events = [alloc('x', 3 * q), alloc('a', 10 * q), alloc('y', 3 * q), alloc('u', 3 * q), alloc('b', 10 * q),
              alloc('v', 3 * q), alloc('c', 6 * q), alloc('d', 6 * q), alloc('z', 4 * q),
              *(free(i) for i in 'xyuvz'), alloc('new', 16 * q)]
    trace = write('all.ndjson', events, total_bytes=12 * MIB)
    policy = 'compact:over=bestfit,segment=4MiB'
    status, got = places(policy, trace)
    ok(status == 0 and (got[-1]['segment'], got[-1]['offset']) == (0, 0) and got[-1]['moved'] == [
        {'id': 'a', 'segment': 1, 'offset': 0, 'bytes': 10 * q},
        {'id': 'b', 'segment': 2, 'offset': 0, 'bytes': 10 * q},
        {'id': 'c', 'segment': 1, 'offset': 10 * q, 'bytes': 6 * q},
        {'id': 'd', 'segment': 2, 'offset': 10 * q, 'bytes': 6 * q}], 'by hand: where no move serves, all move', got[-1])
    ok(run_of(policy, trace)['compaction'] == {'moves': 1, 'blocks': 4, 'bytes': 8 * MIB},
       'by hand: the result says what that cost')
    events[2:2] = [alloc('e', 1), free('e')]
    events[-1]['size'] += 1
    status, got = places(policy, write('more.ndjson', events, total_bytes=12 * MIB))
    ok(status == 3 and got[-1].get('oom') and 'moved' not in got[-1], 'by hand: a byte more is out of memory')


def check_pytorch() -> None:
    """
    44 MiB: pieces of 4 MiB fill two segments of 20 MiB, and every other one is freed. No segment
    goes back, and 8 MiB are in none: a window of three pieces has one live in its middle.
    """
    events = [alloc(i, 4 * MIB, stream=7) for i in range(10)]
    events += [free(i) for i in (0, 2, 4, 5, 7, 9)] + [alloc('n', 9 * MIB, stream=7)]
    trace = write('pytorch.ndjson', events, total_bytes=44 * MIB)
    status, got = places('compact', trace)
    ok(status == 0 and got[-1]['segment'] == 0 and got[-1]['offset'] == 0
       and got[-1]['moved'] == [{'id': 1, 'segment': 0, 'offset': 16 * MIB, 'bytes': 4 * MIB}],
       'by hand: over pytorch a window of its list', got[-1])
    events[-1]['stream'] = 8
    trace = write('streams.ndjson', events, total_bytes=44 * MIB)
    status, got = places('compact', trace)
    # on another stream that hole does not serve: a whole segment has to go back. 4 pieces are
    # live; the 2 of the first segment fit into the second beside the 2 there
    ok(status == 0 and got[-1]['segment'] == 2 and got[-1]['new'] == [
        {'segment': 2, 'bytes': 20 * MIB}] and got[-1]['released'] == [0]
       and [(x['id'], x['segment']) for x in got[-1]['moved']] == [(1, 1), (3, 1)],
       'by hand: for another stream a segment goes back', got[-1])


# Against enumeration ------------------------------------------------------------------
def random_trace(rng: random.Random, unit: int) -> list:
    events, live, waiting, name = [], [], [], 0
    for _ in range(rng.randint(20, 120)):
        draw = rng.random()
        if live and draw < 0.4:
            gone = live.pop(rng.randrange(len(live)))
            late = rng.random() < 0.1
            waiting += [gone] if late else []
            events.append(free(gone, **({'pending': True} if late else {})))
        elif waiting and draw < 0.45:
            events.append({'op': 'complete', 'id': waiting.pop(0)})
        else:
            name += 1
            live.append(name)
            # sizes that are all different, so that few costs are the same
            events.append(alloc(name, rng.randint(1, 12) * unit + rng.randint(0, unit // 2),
                                pool=int(rng.random() < 0.1)))
    return events


def shown(heap: Heap, line: dict, place: tuple, moved: list) -> dict:
    out = {**line, 'segment': place[0], 'offset': place[1], 'bytes': place[2]}
    if moved:
        out['moved'] = [{'id': x, 'segment': s, 'offset': o, 'bytes': b} for x, s, o, b in moved]
    if heap.new:
        out['new'] = heap.new
    if heap.released:
        out['released'] = heap.released
    return out


class Judge:
    """Follows a run; of candidates that cost the same it takes the run's word for which."""

    def __init__(self, keys: dict, device: dict) -> None:
        self.heap = Heap(keys, device)
        self.failed: set = set()
        self.moves = self.refusals = self.slides = 0

    def relieve(self, line: dict, e: dict, got: dict) -> dict:
        pool = e.get('pool', 0)
        chosen = frozenset(x['id'] for x in got.get('moved', []))
        self.refusals += 1
        for cost, ways in self.heap.candidates(pool, e['size']):
            good = {}
            for ids in ways:
                try:
                    good[ids] = self.heap.move(ids, e['id'], pool, e['size'])
                except Refused:
                    pass
            if chosen in good:
                self.moves += 1
                cheaper = self.heap.cost([self.heap.place(x)[1] for x in chosen]) == cost
                self.heap, place, moved = good[chosen]
                return shown(self.heap, line, place, moved) if cheaper else {}
            same = [x for x in self.heap.candidates(pool, e['size'])
                    if x[0] == cost and chosen in x[1]]
            # of several ways at that price just one is tried, so one that fails may be it
            if len(good) == len(ways) and not same:
                return {**line, 'cheaper': [sorted(x) for x in good]}
        try:
            self.heap, place, moved = self.heap.move(self.heap.movable(), e['id'], pool, e['size'])
            self.slides += 1
            return shown(self.heap, line, place, moved)
        except Refused:
            self.failed.add(e['id'])
        out = {**line, 'oom': True}
        if self.heap.released:
            out['released'] = self.heap.released
        return out

    def step(self, i: int, e: dict, got: dict) -> dict:
        self.heap.new, self.heap.released = [], []
        line = {'step': i, 'op': e['op'], 'id': e['id']}
        if e['op'] == 'alloc':
            try:
                return shown(self.heap, line,
                             self.heap.alloc(e['id'], e['pool'], e['size']), [])
            except Refused:
                return self.relieve(line, e, got)
        {'free': self.heap.defer if e.get('pending') else self.heap.free,
         'complete': self.heap.complete}[e['op']](e['id'])
        return line


def check_random(count: int) -> None:
    moves = refusals = slides = 0
    for seed in range(count):
        rng = random.Random(seed)
        unit = rng.choice((512, 4 * KIB))
        keys = {'align': rng.choice((64, 512)), 'segment': rng.choice((8, 16, 24)) * unit,
                'block_cost': rng.choice((1, unit, 20 * unit))}
        if rng.random() < 0.3:
            keys['min_split'] = rng.choice((1, 2)) * unit
        if rng.random() < 0.2:
            keys['pool'] = rng.randint(4, 20) * unit
        if rng.random() < 0.2:
            keys['release'] = False
        device = {'granularity_bytes': rng.choice((unit, 4 * unit)),
                  'total_bytes': rng.randint(40, 160) * unit, 'context_bytes': 3 * unit}
        events = random_trace(rng, unit)
        policy = 'compact:over=bestfit,' + ','.join(
            f'{k}={str(v).lower()}' for k, v in keys.items())
        trace = write('random.ndjson', events, **device)
        _, got = places(policy, trace, '--on-oom', 'continue')
        judge, faults, at = Judge(keys, device), [], {x['step']: x for x in got}
        for i, e in enumerate(events):
            if e['id'] in judge.failed:
                continue
            wanted = judge.step(i, e, at.get(i, {}))
            # a `complete` is shown only where it calls the device, and here it never does
            if e['op'] != 'complete' and at.get(i) != wanted:
                faults = [f'{policy}, step {i}', f'got    {at.get(i)}', f'wanted {wanted}']
                break
        moves += judge.moves
        refusals += judge.refusals
        slides += judge.slides
        if faults:
            TAP.result(f'seed {seed}', faults)
    ok(moves > count / 2 and refusals - moves - slides > count / 4 and slides > count / 10,
       f'random traces: {refusals} requests are refused, for {moves} blocks are moved, for {slides} all')


# Beside the policy that it is over ----------------------------------------------------
SETTINGS = (
    'pytorch', 'pytorch:expandable_segments=true', 'bestfit', 'bestfit:segment=20MiB',
    'pytorch:max_split_size_mb=32,garbage_collection_threshold=0.6,per_process_memory_fraction=0.9',
)


def over(setting: str) -> str:
    name, _, keys = setting.partition(':')
    return f'compact:over={name}' + (f',{keys}' if keys else '')


def large_trace(rng: random.Random) -> list:
    events, live = [], []
    for name in range(rng.randint(50, 300)):
        if live and rng.random() < 0.47:
            gone = live.pop(rng.randrange(len(live)))
            if rng.random() < 0.1:
                events.append({'op': 'record_stream', 'id': gone, 'stream': 2})
            events.append(free(gone))
        elif rng.random() < 0.05:
            events.append(rng.choice(({'op': 'sync'}, {'op': 'empty_cache'})))
        else:
            live.append(name)
            size = int(rng.choice((KIB, 300 * KIB, MIB, 7 * MIB)) * rng.uniform(0.5, 8))
            events.append(alloc(name, size, stream=rng.randrange(2)))
    return events


def check_beside(count: int) -> None:
    without = moved = stuck = 0
    for seed in range(count):
        rng = random.Random(seed)
        events = large_trace(rng)
        setting = SETTINGS[seed % len(SETTINGS)]
        free_run = write('free.ndjson', events)
        peak = run_of(setting, free_run)['lower_bound']
        tight = write('tight.ndjson', events, total_bytes=int(peak * rng.uniform(0.9, 1.6)))
        faults = []
        for trace in free_run, tight:
            status, alone = places(setting, trace)
            above, got = places(over(setting), trace)
            first = next((i for i, x in enumerate(got) if 'moved' in x), None)
            if first is None:
                without += status == 0
                stuck += status == 3
                # PyTorch may serve what it refused when it is asked again
                if (status, alone) != (above, got) and got[:len(alone) - 1] != alone[:-1]:
                    faults.append(f'{setting} on {trace}: another run without a move')
            else:
                moved += 1
                if got[:first] != alone[:first] or not alone[first].get('oom'):
                    faults.append(f'{setting} on {trace}: a move at {got[first]["step"]}, where'
                                  f' alone it is {alone[first]}')
        if faults:
            TAP.result(f'seed {seed}', faults)
    ok(without > count and moved > count / 10 and stuck > count / 10,
       f'beside the policy alone: {without} runs are the same, {stuck} fail the same,'
       f' {moved} move')


# On recorded traces --------------------------------------------------------------------
# name, the largest device on which pytorch fails, in MiB; bytes and blocks of the first move
RECORDED = (
    ('bert_base_infer_varlen', 994, 6956032, 2),
    ('gpt2_small_train_bs16_varlen_ckpt', 14094, 9437184, 1),
    ('gpt2_small_train_bs8_seq1024_ckpt', 7734, 53477376, 3),
    ('resnet50_train_bs32_fp32', 2988, 4 << 20, 1),
    ('resnet50_train_bs32_fp32', 2956, 512 << 10, 1),
)


def check_recorded() -> None:
    for name, mib, size, blocks in RECORDED:
        trace = TRACES / f'{name}.ndjson.gz'
        status, got = places('compact', str(trace), '--device-bytes', f'{mib}MiB')
        first = next((x for x in got if 'moved' in x), {'moved': [], 'step': 0})
        was = {x['id']: x['bytes'] for x in got[:got.index(first)] if x['op'] == 'alloc'}
        ok(status == 0 and len(first['moved']) == blocks
           and sum(was[x['id']] for x in first['moved']) == size,
           f'recorded: {name} on {mib} MiB gets to its end, and first moves {blocks} blocks',
           status, first)


def replay_log(snapshot: dict) -> list:
    """What a log says that is there at its end must be there, and nothing may overlap."""
    live: dict = {}
    for x in snapshot['device_traces'][0]:
        if x['action'] == 'alloc':
            for addr, size in live.items():
                if x['addr'] < addr + size and addr < x['addr'] + x['size']:
                    return [f'{x} overlaps {addr}, {size}']
            live[x['addr']] = x['size']
        elif x['action'] == 'free_completed' and live.pop(x['addr'], None) != x['size']:
            return [f'nothing is freed by {x}']
    there = {b['address'] for s in snapshot['segments'] for b in s['blocks']
             if b['state'] == 'active_allocated'}
    return [] if there == set(live) else [f'at the end there is {there}, and not {set(live)}']


# Everything else ------------------------------------------------------------------------
def check_commands() -> None:
    trace = 'window.ndjson'
    for policy, words in (('compact:over=buddy', 'over=buddy is not pytorch or bestfit'),
                          ('compact:align=1024', 'align is a key of over=bestfit, not of over=pytorch'),
                          ('compact:over=bestfit,max_split_size_mb=64',
                           'max_split_size_mb is a key of over=pytorch, not of over=bestfit')):
        status, _, err = call('run', '-p', policy, trace)
        ok(status == 2 and words in err, f'refused: {policy}', err)
    status, _, err = call('replay', '-p', 'compact', trace)
    ok(status == 2 and 'moves live blocks' in err, 'refused: replay, which copies nothing', err)
    status, out, err = call('fit', '-p', 'bestfit', '-p', 'compact:over=bestfit', '--json', '-',
                            trace)
    fits = [x['smallest'] for x in json.loads(out)['fits']]
    # 7 MiB are live when 2 MiB come: 4 + 1 + 1 + 2; alone, a segment of 2 MiB more
    ok(fits == [10 * MIB, 8 * MIB], 'fit: with compact it fits where its bytes fit', fits, err)
    status, out, err = call('diff', '-p', 'bestfit', '-p', 'compact:over=bestfit', trace)
    ok(status == 0 and 'compact:over=bestfit' in out, 'diff compares it', err)
    status, out, err = call('explain', '-p', 'compact:over=bestfit', 'stuck.ndjson')
    ok(status == 0 and 'pending' in out, 'explain looks at its out-of-memory', out, err)
    for name in 'window', 'pytorch':
        policy = 'compact:over=bestfit' if name == 'window' else 'compact'
        status, _, err = call('trace', 'convert', '--to', 'snapshot', '-p', policy, f'{name}.ndjson',
                              'w.pickle')
        TAP.result(f'an exported snapshot says what was where: {name}',
                   replay_log(pickle.loads(Path('w.pickle').read_bytes())) if status == 0 else err)
    status, out, _ = call('run', '-p', 'compact:over=bestfit', trace)
    ok('moved when out of memory' in out, 'the report has a table of what was moved', out)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_window()
        check_cost()
        check_pending()
        check_all()
        check_pytorch()
        check_random(times(30, 200))
        check_beside(times(20, 60))
        check_recorded()
        check_commands()
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
