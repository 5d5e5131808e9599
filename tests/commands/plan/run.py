"""run.py - fragsim plan: every placement is swept here once more, small ones are compared with all.

    run.py PROGRAM

Prints TAP. Random programs have pending blocks, pools and devices; who lives when is worked out
here from their events alone. Of at most eight blocks the lowest height is found by trying every
order; the bound is a sum over the steps. Plans that were tampered with must be refused, by name.
"""
import bisect
import csv
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import SAN, fragsim, times  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

TREE = Path(__file__).resolve().parents[3]
TRACES = Path(os.environ.get('TRACES') or TREE / 'traces')
HEADER = {'format': 'fragsim-trace', 'version': 1}
TAP = Tap()


def write(path: str, events: list, **header: object) -> str:
    Path(path).write_text('\n'.join(json.dumps(x) for x in [HEADER | header, *events]) + '\n')
    return path


def made(*args: object, status: int = 0) -> dict:
    done = fragsim('plan', '-q', '--plan', 'plan.json', '--alone', *args)
    assert done.returncode == status, f'{args}: {done.returncode} {done.stderr.decode()}'
    return json.loads(Path('plan.json').read_text())


def answer(*args: object, status: int = 0) -> dict:
    done = fragsim('plan', *args, '--json', '-')
    assert done.returncode == status, f'{args}: {done.returncode} {done.stderr.decode()}'
    return json.loads(done.stdout)


def events_of(buffers: list[tuple[int, int, int]]) -> list[dict]:
    """Of (birth, end, size), in the order of time, ends first."""
    changes = sorted([(birth, 1, i) for i, (birth, _, _) in enumerate(buffers)]
                     + [(end, 0, i) for i, (_, end, _) in enumerate(buffers)])
    return [{'op': 'alloc', 'id': i, 'size': buffers[i][2]} if alloc else {'op': 'free', 'id': i}
            for _, alloc, i in changes]


def lives_of(events: list[dict], align: int) -> list[dict]:
    """The buffers: who lives from which step to which, where."""
    out, live, waiting = [], {}, {}
    for step, e in enumerate(events):
        ended = []
        if e['op'] == 'alloc':
            live[e['id']] = b = {
                'id': e['id'], 'step': step, 'size': -(-e['size'] // align) * align,
                'pool': e.get('pool', 0), 'device': e.get('device', 0), 'end': len(events)}
            out.append(b)
        elif e['op'] == 'free' and e.get('pending'):
            waiting[e['id']] = live.pop(e['id'])
        elif e['op'] == 'free':
            ended = [live.pop(e['id'])]
        elif e['op'] == 'complete':
            ended = [waiting.pop(e['id'])]
        for b in ended:
            b['end'] = step
    return [x for x in out if x['size']]


def apart(a: dict, b: dict) -> bool:
    if (a['device'], a['pool']) != (b['device'], b['pool']):
        return True
    if a['end'] <= b['step'] or b['end'] <= a['step']:
        return True
    return a['offset'] + a['size'] <= b['offset'] or b['offset'] + b['size'] <= a['offset']


def bound_of(buffers: list[dict]) -> int:
    sums: dict = {}
    for b in buffers:
        for step in range(b['step'], b['end']):
            key = b['device'], b['pool'], step
            sums[key] = sums.get(key, 0) + b['size']
    return max(sums.values(), default=0)


def faults_of(plan: dict, wanted: list[dict]) -> list[str]:
    """What is wrong with a plan of these buffers."""
    got = plan['buffers']
    out = [f'{a["id"]} and {b["id"]} overlap' for i, a in enumerate(got) for b in got[:i]
           if not apart(a, b)]
    bare = [{k: v for k, v in b.items() if k != 'offset'} for b in got]
    if sorted(bare, key=str) != sorted(wanted, key=str):
        out.append(f'buffers are {bare}, not {wanted}')
    if [b['step'] for b in got] != sorted(b['step'] for b in got):
        out.append('not by step')
    height = max((b['offset'] + b['size'] for b in got), default=0)
    if plan['height'] != height:
        out.append(f'height {plan["height"]}, not {height}')
    if plan['bound'] != bound_of(wanted):
        out.append(f'bound {plan["bound"]}, not {bound_of(wanted)}')
    return out


def lowest(buffers: list[dict]) -> int:
    """Every order, each buffer as low as it goes: depth first, what is no better is left."""
    best, bound = [sum(b['size'] for b in buffers)], bound_of(buffers)

    def place(left: list[dict], done: list[dict], height: int) -> None:
        if height >= best[0] or best[0] == bound:
            return
        if not left:
            best[0] = height
            return
        for i, b in enumerate(left):
            beside = [x for x in done if x['end'] > b['step'] and b['end'] > x['step']]
            at = min(o for o in [0, *(x['offset'] + x['size'] for x in beside)]
                     if all(apart(b | {'offset': o}, x) for x in beside))
            # one below which a later one would have gone has been tried in another order
            place(left[:i] + left[i + 1:], [*done, b | {'offset': at}],
                  max(height, at + b['size']))

    place(buffers, [], 0)
    return best[0]


def small(rng: random.Random, count: int) -> list[dict]:
    out = []
    for _ in range(count):
        birth = rng.randrange(6)
        out.append((birth, birth + rng.randint(1, 4), rng.randint(1, 9)))
    return events_of(out)


def check_small() -> None:
    faults: list[str] = []
    for seed in range(times(100, 400, 60)):
        rng = random.Random(seed)
        events = small(rng, rng.choice([1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8]))
        plan = made('--align', 1, write('small.ndjson', events))
        buffers = lives_of(events, 1)
        wanted = lowest(buffers)
        faults += [f'seed {seed}: {x}' for x in faults_of(plan, buffers)]
        if plan['height'] != wanted:
            faults.append(f'seed {seed}: height {plan["height"]}, the lowest is {wanted}')
    TAP.result('at most eight blocks: the lowest of all placements', faults)


def check_proof() -> None:
    """Eleven buffers that no placement has at their bound."""
    rows = [(0, 4, 3), (0, 2, 3), (0, 2, 4), (2, 6, 4), (2, 3, 1), (2, 5, 2), (3, 6, 2), (4, 6, 2),
            (5, 8, 3), (6, 7, 4), (6, 8, 4)]
    Path('above.csv').write_text('id,lower,upper,size\n' + ''.join(
        f'{i},{a},{b},{size}\n' for i, (a, b, size) in enumerate(rows)))
    buffers = [{'step': a, 'end': b, 'size': size, 'pool': 0, 'device': 0} for a, b, size in rows]

    def fits(height: int, done: list[dict]) -> bool:
        """Every offset of every buffer, one after the other."""
        if len(done) == len(buffers):
            return True
        b = buffers[len(done)]
        return any(all(apart(b | {'offset': at}, x) for x in done)
                   and fits(height, [*done, b | {'offset': at}]) for at in range(height - b['size'] + 1))

    wanted = next(height for height in range(11, 40) if fits(height, []))
    TAP.ok(bound_of(buffers) == 11 and wanted == 12, 'eleven buffers: the lowest is above the bound')
    said = answer('--alone', '--align', 1, 'above.csv')
    got = [said[x] for x in ('bound', 'lower_bound', 'height', 'verdict', 'gap_pct', 'complete', 'ended_by')]
    TAP.ok(got == [11, wanted, wanted, 'optimal', 0, True, None], 'which is proven', got)
    said = answer('--alone', '--align', 1, '--capacity', '11B', 'above.csv', status=1)
    TAP.ok(said['capacity'] == {'bytes': 11, 'fits': False, 'proven': True}, 'for a capacity too',
           said['capacity'])


def cut(rng: random.Random, box: tuple[int, int, int, int], count: int) -> list[tuple]:
    """A box of times and bytes, cut in two again and again: (birth, end, bytes) of each part."""
    lower, upper, at, size = box
    sides = [side for side, length in (('time', upper - lower), ('bytes', size)) if length > 1]
    if count == 1 or not sides:
        return [(lower, upper, size)]
    first = rng.randint(1, count - 1)
    if rng.choice(sides) == 'time':
        middle = rng.randint(lower + 1, upper - 1)
        boxes = (lower, middle, at, size), (middle, upper, at, size)
    else:
        middle = rng.randint(1, size - 1)
        boxes = (lower, upper, at, middle), (lower, upper, at + middle, size - middle)
    return cut(rng, boxes[0], first) + cut(rng, boxes[1], count - first)


def check_full() -> None:
    """Boxes that fill a larger box without a gap: its height is known, and orders miss it."""
    faults, searched, size = [], 0, 1 << 20
    for seed in range(times(12, 38, 6)):
        rng = random.Random(seed)
        parts = cut(rng, (0, 400, 0, size), rng.randint(20, 120))
        rng.shuffle(parts)
        Path('full.csv').write_text('id,lower,upper,size\n' + ''.join(
            f'{i},{lower},{upper},{bytes_}\n' for i, (lower, upper, bytes_) in enumerate(parts)))
        files = []
        for threads in (1, 3):
            said = answer('--alone', '--align', 1, '--time', '60s', '--threads', threads, 'full.csv',
                          '--plan', 'full.json')
            files.append((said, Path('full.json').read_bytes()))
        plan = json.loads(files[0][1])
        if files[0] != files[1]:
            faults.append(f'seed {seed}: the plan depends on the number of threads')
        searched += said['spaces'][0]['search']['heights'] > 0
        faults += [f'seed {seed}: {a["id"]} and {b["id"]} overlap' for i, a in enumerate(plan['buffers'])
                   for b in plan['buffers'][:i] if not apart(a, b)]
        if (said['height'], said['lower_bound'], said['verdict']) != (size, size, 'optimal'):
            faults.append(f'seed {seed}: height {said["height"]}, {said["verdict"]}, not {size}')
        if max(b['offset'] + b['size'] for b in plan['buffers']) != size or len(plan['buffers']) != len(parts):
            faults.append(f'seed {seed}: not the buffers, or higher')
    TAP.result('a box without gaps is filled again, whatever the threads', faults,
               searched < len(faults) + 2 and f'only {searched} were searched')


def program(seed: int, count: int) -> tuple[list[dict], int]:
    rng = random.Random(seed)
    devices, pools = rng.choice([1, 1, 2]), rng.choice([1, 1, 3])
    events, live, waiting, known = [], [], [], 0
    while known < count or live or waiting:
        roll = rng.random()
        if known < count and (roll < 0.55 or not live):
            e = {'op': 'alloc', 'id': f'b{known}' if rng.random() < 0.3 else known,
                 'size': rng.choice([0, 1, 511, 512, 513, rng.randrange(1, 100000)])}
            e |= {'device': d} if (d := rng.randrange(devices)) else {}
            e |= {'pool': p} if (p := rng.choice([0, 'own', 7][:pools])) else {}
            live.append(e['id'])
            known += 1
        elif waiting and (roll < 0.7 or not live):
            e = {'op': 'complete', 'id': waiting.pop(rng.randrange(len(waiting)))}
        elif live and rng.random() < 0.1:
            e = {'op': 'free', 'id': live.pop(rng.randrange(len(live))), 'pending': True}
            waiting.append(e['id'])
        elif live:
            e = {'op': 'free', 'id': live.pop(rng.randrange(len(live)))}
        else:
            e = {'op': 'sync'}
        events.append(e)
        if rng.random() < 0.02:
            live = live[len(live) // 2:]        # the others live until the end
    return events, devices


def check_programs() -> None:
    faults, align = [], [1, 512, 1000, 4096]
    for seed in range(times(10, 40, 10)):
        events, devices = program(seed, 60)
        trace = write('random.ndjson', events, devices=[{}] * devices)
        to = align[seed % len(align)]
        plan = made('--align', to, trace)
        faults += [f'seed {seed}: {x}' for x in faults_of(plan, lives_of(events, to))]
        one = Path('plan.json').read_bytes()
        made('--align', to, trace)
        faults += [] if one == Path('plan.json').read_bytes() else [f'seed {seed}: other bytes']
        done = fragsim('plan', '-q', '--alone', '--check', 'plan.json', trace)
        faults += [done.stderr] if done.returncode else []
    TAP.result('random programs: pending blocks, pools, devices', faults)


def placed(*args: object) -> dict[int, tuple]:
    """Where a run has put each request, by step: segment, offset, bytes."""
    done = fragsim('run', '-q', '--check', '--placements', 'where', *args)
    assert done.returncode in (0, 3), f'{args}: {done.returncode} {done.stderr.decode()}'
    lines = [json.loads(x) for x in Path('where').read_text().splitlines()]
    return {x['step']: (x['segment'], x['offset'], x['bytes']) for x in lines if 'offset' in x}


def check_followed() -> None:
    """The policy plan puts every request where the plan says, in a segment a pool and device."""
    faults = []
    for seed in range(times(8, 20, 5)):
        events, devices = program(seed, 60)
        trace = write('random.ndjson', events, devices=[{}] * devices)
        plan = made(trace)
        got = placed('-p', 'plan:file=plan.json', trace)
        for b in plan['buffers']:
            if got[b['step']][1:] != (b['offset'], b['size']):
                faults.append(f'seed {seed}: step {b["step"]} at {got[b["step"]]}, not {b}')
        homes = {(b['device'], b['pool'], got[b['step']][0]) for b in plan['buffers']}
        if len(homes) != len({x[:2] for x in homes}):
            faults.append(f'seed {seed}: segments {homes}')
    TAP.result('the policy plan follows a plan: pools, devices, pending blocks', faults)
    # four buffers; the requests of another run are: as planned, too large, as planned, too early
    write('four.ndjson', events_of([(0, 2, 512), (1, 6, 1024), (3, 5, 512), (4, 6, 2048)]))
    plan, at = made('four.ndjson'), (0, 512, 0, 1536)
    for b, offset in zip(plan['buffers'], at, strict=True):
        b['offset'] = offset
    Path('plan.json').write_text(json.dumps(plan))
    other = write('other.ndjson', [
        {'op': 'alloc', 'id': 1, 'size': 400}, {'op': 'alloc', 'id': 2, 'size': 1025},
        {'op': 'alloc', 'id': 3, 'size': 512}, {'op': 'alloc', 'id': 4, 'size': 2048},
        {'op': 'alloc', 'id': 5, 'size': 1}])
    got = placed('-p', 'plan:file=plan.json', other)
    # the third buffer has the place of the first, which this run has not freed
    wanted = {0: (0, at[0], 512), 1: (1, 0, 1536), 2: (1, 1536, 512), 3: (0, at[3], 2048)}
    TAP.ok({k: got[k] for k in wanted} == wanted and got[4][0] == 1, 'else it is bestfit', got)
    done = fragsim('run', '-p', 'plan:file=plan.json', '--device-bytes', '64MiB', '--context-bytes',
                   '63MiB', 'four.ndjson')
    TAP.ok(done.returncode == 3, 'a segment that is refused: out of memory', done.stdout)
    for name, text, status, words in (
            ('none.json', None, 2, 'none.json'), ('empty.json', '', 4, 'empty'),
            ('bad.json', '{"format":"fragsim-plan","version":1,"buffers":[{"id":1}]}', 4, 'buffers[0]: "step"')):
        if text is not None:
            Path(name).write_text(text)
        done = fragsim('run', '-p', f'plan:file={name}', 'four.ndjson')
        TAP.ok(done.returncode == status and words in done.stderr.decode(),
               f'{name}: status {status}', done.returncode, done.stderr)


def runs_of(*args: object) -> dict:
    done = fragsim('run', '-q', '--json', '-', '--on-oom', 'continue', *args)
    assert done.returncode in (0, 3), f'{args}: {done.returncode} {done.stderr.decode()}'
    return json.loads(done.stdout)['runs'][0]


def by_hand(plan: dict, events: list[dict], is_period: object) -> tuple[dict, dict]:
    """Who goes where the plan says, by step, and the counts: one device without a limit."""
    rows = [b for b in plan['buffers'] if not b.get('carried')]
    count = dict.fromkeys(('hits', 'too_large', 'other_pool', 'not_free', 'beyond', 'before'), 0)
    k, begun, taken, hits = 0, is_period is None, {}, {}
    for step, e in enumerate(events):
        if e['op'] == 'mark' and is_period and is_period(e['name']):
            k, begun = 0, True
        if e['op'] in ('free', 'complete') and not e.get('pending'):
            taken.pop(e['id'], None)
        if e['op'] != 'alloc' or not e['size']:
            continue
        row = rows[k] if begun and k < len(rows) else None
        k += begun
        if not row:
            count['beyond' if begun else 'before'] += 1
        elif e['size'] > row['size']:
            count['too_large'] += 1
        elif e.get('pool', 0) != row['pool']:
            count['other_pool'] += 1
        elif any(pool == row['pool'] and at < row['offset'] + row['size'] and row['offset'] < end
                 for pool, at, end in taken.values()):
            count['not_free'] += 1
        else:
            count['hits'] += 1
            hits[step] = (row['offset'], row['size'])
            taken[e['id']] = row['pool'], row['offset'], row['offset'] + row['size']
    return count | {'misses': sum(count.values()) - count['hits']}, hits


def periods(seed: int) -> list[dict]:
    """Steps that are alike and are not: sizes differ, blocks stay, some steps are longer."""
    rng = random.Random(seed)
    shape = [(rng.randrange(0, 3000), rng.randint(1, 9), rng.choice([0, 0, 0, 'own']))
             for _ in range(rng.randint(3, 12))]
    events, live, known = [], [], 0
    for step in range(-1, rng.randint(2, 6)):
        events.append({'op': 'mark', 'name': f'step {step}' if step >= 0 else 'warm-up'})
        for size, life, pool in shape[:rng.choice([99, 99, len(shape) - 1])]:
            for name in [n for n, left in live if left <= 0]:
                events.append({'op': 'free', 'id': name})
            live = [(n, left - 1) for n, left in live if left > 0]
            if rng.random() < 0.1:
                size, pool = rng.randrange(1, 4000), rng.choice([0, 'own'])
            events.append({'op': 'alloc', 'id': known, 'size': size} | ({'pool': pool} if pool else {}))
            live.append((known, life + 30 * (rng.random() < 0.05)))
            known += 1
        if rng.random() < 0.4:
            events.append({'op': 'mark', 'name': 'over'})
    return events


def check_period() -> None:
    """k begins anew at marks: who goes where and how many, as worked out here."""
    faults, seen = [], set()
    for seed in range(times(30, 100, 20)):
        events = periods(seed)
        trace = write('periods.ndjson', events)
        plan = made('--between', 'step 0', 'step 1', trace)
        for key, is_period in (('', None), (',period=step 1', lambda x: x == 'step 1'),
                               (',period=step *', lambda x: x.startswith('step '))):
            count, hits = by_hand(plan, events, is_period)
            policy = f'plan:file=plan.json{key}'
            got, where = runs_of('-p', policy, trace)['planned'], placed('-p', policy, trace)
            faults += [f'seed {seed}{key}: {got}, by hand {count}'] if got != count else []
            faults += [f'seed {seed}{key}: step {s} at {where[s]}, not {at}' for s, at in hits.items()
                       if where[s][1:] != at]
            seen |= {name for name, n in count.items() if n}
    TAP.result('a period begins the plan anew: hits, and misses by reason', faults,
               len(seen) < 7 and f'only {seen} were seen')


def slots_of(events: list[dict], align: int) -> list[dict]:
    """What --slots max plans between marks \"step *\" and \"over\", one device."""
    slots, live, period, k, within = [], {}, 0, 0, False
    for e in events:
        if e['op'] == 'mark' and e['name'].startswith('step '):
            period, k, within = period + 1, 0, True
        elif e['op'] == 'mark':
            within = within and e['name'] != 'over'
        elif e['op'] == 'free' and e['id'] in live:
            slot, born = live.pop(e['id'])
            slot['ends'].append(k if born == period else None)
        elif e['op'] == 'alloc' and within and e['size']:
            size = -(-e['size'] // align) * align
            if k == len(slots):
                slots.append({'id': k, 'size': 0, 'pool': e.get('pool', 0), 'device': 0, 'ends': []})
            if slots[k]['pool'] == e.get('pool', 0):
                slots[k]['size'] = max(slots[k]['size'], size)
                live[e['id']] = slots[k], period
            k += 1
    for slot, born in live.values():
        slot['ends'].append(k if born == period else None)
    for s in slots:
        ends = s.pop('ends')
        s['always'] = None in ends
        s['step'], s['end'] = s['id'], len(slots) if None in ends else max([s['id'] + 1, *ends])
    return slots


def check_slots() -> None:
    faults = []
    for seed in range(times(30, 100, 20)):
        events = periods(seed)
        names = [e['name'] for e in events if e['op'] == 'mark']
        if 'over' not in names[names.index('step 0'):]:
            continue
        trace = write('periods.ndjson', events)
        plan = made('--slots', 'max', '--between', 'step *', 'over', '--align', 256, trace)
        slots = slots_of(events, 256)
        bare = [{k: v for k, v in b.items() if k != 'offset'} for b in plan['buffers']]
        if bare != [{k: v for k, v in s.items() if k != 'always'} for s in slots]:
            faults.append(f'seed {seed}: {bare}, not {slots}')
            continue
        lives = [b | {'step': 0 if s['always'] else b['step']} for b, s in zip(plan['buffers'], slots)]
        faults += [f'seed {seed}: {a["id"]} and {b["id"]} overlap' for i, a in enumerate(lives)
                   for b in lives[:i] if not apart(a, b)]
        if plan['bound'] != bound_of(lives):
            faults.append(f'seed {seed}: bound {plan["bound"]}, not {bound_of(lives)}')
        if plan['periods'] != sum(e.get('name', '').startswith('step ') for e in events):
            faults.append(f'seed {seed}: {plan["periods"]} periods')
    TAP.result('slots: the largest of each request, for as long as any was there', faults)
    # on paper: 512 and 1024 in turns, 1024 and 512 in the next, both freed each time
    step = {'op': 'mark', 'name': 'step'}
    events = [{'op': 'alloc', 'id': 'w', 'size': 7}]
    for a, b in ((512, 1024), (1024, 512), (600, 600)):
        events += [step, {'op': 'alloc', 'id': 1, 'size': a}, {'op': 'free', 'id': 1},
                   {'op': 'alloc', 'id': 2, 'size': b}, {'op': 'free', 'id': 2}]
    trace = write('turns.ndjson', events)
    plan = made('--slots', 'max', '--between', 'step', 'step', trace)
    got = [(b['id'], b['step'], b['end'], b['size'], b['offset']) for b in plan['buffers']]
    TAP.ok(got == [(0, 0, 1, 1024, 0), (1, 1, 2, 1024, 0)] and plan['height'] == 1024,
           'slots: on paper', got)
    said = answer('--alone', '--slots', 'max', '--between', 'step', 'step', trace)
    whole = json.loads(fragsim('run', '--json', '-', '-p', 'plan:file=plan.json,period=step', '-p', 'plan',
                               trace).stdout)
    for kind, document in (('plan', plan), ('placement', said), ('result', whole)):
        schema = schema_of(kind)
        faults = [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(document)]
        TAP.result(f'slots: a {kind} is as its schema says', faults)
    got = runs_of('-p', 'plan:file=plan.json,period=step', trace)['planned']
    TAP.ok(got == {'hits': 6, 'misses': 1, 'too_large': 0, 'other_pool': 0, 'not_free': 0, 'beyond': 0,
                   'before': 1}, 'slots: each period is served by them', got)
    for words, said in ((('--slots', 'max'), '--between'), (('--slots', 'min'), 'max'),
                        (('--slots', 'max', '--between', 'step', 'none'), 'no mark "none"'),
                        (('--slots', 'max', '--between', 'none', 'step'), 'no mark "none"'),
                        (('--slots', 'max', '--between', 'step', 'step', '--check', 'plan.json'),
                         '--check')):
        done = fragsim('plan', *words, trace)
        TAP.ok(done.returncode == 2 and said in done.stderr.decode(), f'refused: {" ".join(words)}',
               done.returncode, done.stderr)
    for paths, status in (('planned.misses > 1', 0), ('planned.before == 1', 1)):
        done = fragsim('run', '-q', '-p', 'plan:file=plan.json,period=step', '--fail-if', paths, trace)
        TAP.ok(done.returncode == status, f'--fail-if {paths!r}: {status}', done.stderr)
    done = fragsim('run', '-q', '-p', 'plan', '--fail-if', 'planned.misses > 1', trace)
    TAP.ok(done.returncode == 2 and b'plan:file=FILE' in done.stderr, 'without a plan: refused',
           done.stderr)


def check_tampered() -> None:
    events = events_of([(0, 3, 512), (1, 4, 1024), (2, 5, 512), (4, 6, 2048)])
    trace = write('four.ndjson', events)
    good = made(trace)

    def refused(name: str, plan: dict, *words: str) -> None:
        Path('bad.json').write_text(json.dumps(plan))
        done = fragsim('plan', '-q', '--alone', '--check', 'bad.json', trace)
        said = done.stderr.decode()
        TAP.result(f'refused: {name}', done.returncode != 4 and f'status {done.returncode}',
                   [f'{x!r} is not in {said!r}' for x in ('bad.json', *words) if x not in said])

    def changed(i: int, **members: object) -> dict:
        plan = json.loads(json.dumps(good))
        plan['buffers'][i] |= members
        return plan

    for text in (json.dumps(good), '{'):
        done = fragsim('plan', '--alone', '--check', '-', trace, stdin=text.encode())
        TAP.ok('standard input:' in (done.stdout + done.stderr).decode(),
               f'a plan of {len(text)} bytes on standard input is named so', done.stdout, done.stderr)
    refused('an overlap', changed(1, offset=good['buffers'][0]['offset']), 'buffers 0', 'and 1',
            'overlap')
    refused('a missing buffer', good | {'buffers': good['buffers'][1:]}, 'buffer 0', 'missing')
    refused('a foreign buffer', changed(2, id='other'), 'buffer "other"', 'not one of the trace')
    refused('a buffer twice', good | {'buffers': [*good['buffers'], good['buffers'][3]]}, 'buffer 3',
            'more than once')
    refused('a small buffer', changed(3, size=2047), 'buffer 3', 'smaller')
    refused('another end', changed(1, end=99), 'buffer 1', 'ends at another event')
    refused('another device', changed(1, device=1), 'buffer 1', 'another device')
    refused('no offset', good | {'buffers': [{k: v for k, v in good['buffers'][0].items()
                                              if k != 'offset'}]}, 'buffers[0]', 'offset')
    refused('no plan', {'format': 'fragsim-result'}, 'fragsim-plan')
    refused('a later version', good | {'version': 2}, 'not supported')
    refused('a negative offset', changed(0, offset=-512), 'integer')
    Path('bad.json').write_text(json.dumps(good)[:-9])
    done = fragsim('plan', '-q', '--alone', '--check', 'bad.json', trace)
    TAP.ok(done.returncode == 4 and b'truncated' in done.stderr, 'refused: half a file', done.stderr)


def check_csv() -> None:
    """minimalloc's own example of its README's form, read, solved, written and checked."""
    rows = [('b1', 0, 3, 4), ('b2', 3, 9, 4), ('b3', 0, 9, 4), ('b4', 9, 21, 4), ('b5', 0, 21, 4)]
    text = 'id,lower,upper,size\n' + ''.join(f'{",".join(map(str, x))}\n' for x in rows)
    Path('in.csv').write_text(text)
    said = answer('--alone', '--align', 1, 'in.csv', '--plan', 'out.csv')
    TAP.ok(said['height'] == said['bound'] == 12, 'a CSV is read, and planned', said)
    out = {x['id']: x for x in csv.DictReader(io.StringIO(Path('out.csv').read_text()))}
    at = {x[0]: int(out[x[0]]['offset']) for x in rows}
    wrong = [(a[0], b[0]) for i, a in enumerate(rows) for b in rows[:i]
             if a[1] < b[2] and b[1] < a[2] and abs(at[a[0]] - at[b[0]]) < 4]
    TAP.result('a CSV is written', wrong, list(out['b1']) != ['id', 'lower', 'upper', 'size', 'offset']
               and 'columns')
    # times of its own, the order of columns too: ids say which buffer it is
    Path('solved.csv').write_text('offset,upper,lower,id,size\n' + ''.join(
        f'{at[i]},{upper},{lower},{i},{size}\n' for i, lower, upper, size in rows))
    for name in ('out.csv', 'solved.csv'):
        done = fragsim('plan', '-q', '--alone', '--align', 1, '--check', name, 'in.csv')
        TAP.ok(done.returncode == 0, f'{name} is believed', done.stderr)
    at['b5'] = at['b3']
    Path('bad.csv').write_text('id,lower,upper,size,offset\n' + ''.join(
        f'{i},{lower},{upper},{size},{at[i]}\n' for i, lower, upper, size in rows))
    done = fragsim('plan', '-q', '--alone', '--align', 1, '--check', 'bad.csv', 'in.csv')
    TAP.ok(done.returncode == 4 and b'"b3"' in done.stderr and b'"b5"' in done.stderr,
           'a CSV that overlaps is not', done.stderr)


def check_stretch() -> None:
    events = [{'op': 'alloc', 'id': 'w', 'size': 1000}, {'op': 'alloc', 'id': 'x', 'size': 10},
              {'op': 'free', 'id': 'x'}, {'op': 'mark', 'name': 'one'},
              {'op': 'alloc', 'id': 'x', 'size': 600}, {'op': 'free', 'id': 'w'},
              {'op': 'alloc', 'id': 'y', 'size': 2000}, {'op': 'mark', 'name': 'two'},
              {'op': 'free', 'id': 'y'}, {'op': 'alloc', 'id': 'z', 'size': 9999}]
    trace = write('marks.ndjson', events)
    plan = made('--between', 'one', 'two', trace)
    got = [(b['id'], b['step'], b['end'], b['size'], b.get('carried', False)) for b in plan['buffers']]
    TAP.ok(got == [('w', 3, 5, 1024, True), ('x', 4, 7, 1024, False), ('y', 6, 7, 2048, False)],
           'between two marks: what lives at a cut is born there', got)
    TAP.ok(plan['bound'] == 3072, 'and the bound is that of the stretch', plan['bound'])
    for words in (('none', 'two'), ('two', 'one')):
        done = fragsim('plan', '--between', *words, trace)
        TAP.ok(done.returncode == 2 and b'no mark' in done.stderr, f'no mark: {words}', done.stderr)


def check_statuses() -> None:
    # three of which two live at a time, and the middle one beside both
    trace = write('three.ndjson', events_of([(0, 2, 512), (1, 4, 512), (3, 5, 512)]))
    for bytes_, status, proven in ((1024, 0, True), (1023, 1, True), (2048, 0, True)):
        said = answer('--alone', '--capacity', f'{bytes_}B', trace, status=status)['capacity']
        TAP.ok(said == {'bytes': bytes_, 'fits': not status, 'proven': proven},
               f'a capacity of {bytes_}: status {status}', said)
    # the orders leave a gap of 1 here, and a search fills it
    lives = [(0, 4, 1), (1, 4, 1), (0, 1, 4), (5, 8, 1), (0, 2, 3), (4, 5, 4), (2, 4, 1), (2, 5, 4)]
    trace = write('gap.ndjson', events_of(lives))
    said = answer('--alone', '--align', 1, '--time', '0', '--capacity', '8B', trace, '--plan', 'gap.json', status=1)
    reached = max(b['offset'] + b['size'] for b in json.loads(Path('gap.json').read_text())['buffers'])
    TAP.ok(said['complete'] is False and said['bound'] == 8 and said['verdict'] == 'within'
           and 8 < said['height'] == reached <= sum(size for _, _, size in lives),
           'no time: an order, and not complete', said, reached)
    TAP.ok(said['capacity'] == {'bytes': 8, 'fits': False, 'proven': None},
           'between bound and height nothing is proven', said['capacity'])
    TAP.ok(said['ended_by'] in ('budget', 'time'), 'and says what ended it', said['ended_by'])
    said = answer('--align', 1, '--time', '0', '-p', 'bestfit', trace)
    TAP.ok(said['height'] == reached and [x['smallest'] for x in said['policies']] == [None],
           'no time: policies beside it are not known', said['policies'])
    said = answer('--alone', '--align', 1, '--capacity', '8B', trace)
    TAP.ok(said['complete'] is True and said['height'] == 8, 'with time: the bound', said)


def check_beside() -> None:
    trace = str(TRACES / 'resnet50_train_bs32_fp32.ndjson.gz')
    said = answer('-p', 'bestfit', '-p', 'direct', trace)
    fits = json.loads(fragsim('fit', '-p', 'bestfit', '-p', 'direct', trace, '--json', '-').stdout)
    runs = json.loads(fragsim('run', '-q', '-p', 'bestfit', '-p', 'direct', '--device-bytes', '0', trace,
                              '--json', '-').stdout)
    TAP.ok([x['smallest'] for x in said['policies']] == [x['smallest'] for x in fits['fits']],
           'beside the plan: the smallest devices of fit')
    TAP.ok([x['peak_reserved'] for x in said['policies']]
           == [x['peak']['reserved'] for x in runs['runs']], 'and the peaks of run')


def check_recorded() -> None:
    """Every plan of a recorded trace is at its bound."""
    if SAN:
        TAP.skip('recorded traces', 'under sanitizers')
        return
    optimal, faults = 0, []
    for path in sorted(TRACES.glob('*.ndjson.gz')):
        said = answer('--alone', '--time', '60s', path)
        gap = said['height'] - said['bound']
        optimal += gap == 0
        if gap or not said['complete'] or said['ended_by']:
            faults.append(f'{path.name}: {gap} bytes above {said["bound"]}')
    TAP.result('recorded traces: at the bound', faults, optimal < 8 and f'{optimal} at the bound')


def check_many() -> None:
    """So many buffers of random sizes are placed within 3 % of the bound, and none overlap."""
    count, faults = times(30000, 100000, 5000), []
    for name, longest in (('short', 2000), ('any', 2 * count)):
        rng, rows = random.Random(name), []
        for i in range(count):
            lower = rng.randrange(2 * count)
            upper = min(lower + rng.randint(1, longest), 2 * count)
            rows.append((i, lower, upper, rng.randint(1, 1 << 20)))
        Path('many.csv').write_text('id,lower,upper,size\n' + ''.join(
            f'{i},{a},{b},{size}\n' for i, a, b, size in rows))
        said = answer('--alone', '--align', 1, '--time', '60s', '--capacity',
                      f'{1.03 * peak_of(rows):.0f}B', 'many.csv', '--plan', 'placed.csv')
        placed = [[int(x) for x in line.split(',')] for line in Path('placed.csv').read_text().split()[1:]]
        changes = sorted((step, birth, at, size) for _, a, b, size, at in placed
                         for step, birth in ((a, True), (b, False)))
        live: list[tuple[int, int]] = []
        height = most = now = 0
        for _, birth, at, size in changes:
            k = bisect.bisect_left(live, (at, size))
            now += size if birth else -size
            most, height = max(most, now), max(height, at + size)
            if not birth:
                del live[k]
                continue
            if (k and sum(live[k - 1]) > at) or (k < len(live) and live[k][0] < at + size):
                faults.append(f'{name}: {at} overlaps')
                break
            live.insert(k, (at, size))
        if sorted(x[3] for x in placed) != sorted(x[3] for x in rows) or (said['bound'], said['height']) != (most, height):
            faults.append(f'{name}: {said["bound"]} and {said["height"]}, not {most} and {height}')
        if height > most * 1.03:
            faults.append(f'{name}: {100 * (height / most - 1)} % above the bound')
    TAP.result('many buffers of random sizes: within 3 % of the bound', faults)


def check_log() -> None:
    """Sizes or lifetimes that differ by orders of magnitude: the best of the skylines is within 3 %."""
    faults, count = [], 2000 if SAN else 20000
    for name in ('sizes', 'lives', 'both'):
        rng, rows = random.Random(name), []
        for i in range(count):
            lower = rng.randrange(2 * count)
            life = int(rng.expovariate(1 / 1000)) if name == 'sizes' else int(2 ** rng.uniform(0, 15))
            size = rng.randint(1, 1 << 20) if name == 'lives' else int(2 ** rng.uniform(0, 20))
            rows.append((i, lower, lower + life + 1, size))
        Path('log.csv').write_text('id,lower,upper,size\n' + ''.join(
            f'{i},{a},{b},{size}\n' for i, a, b, size in rows))
        said = answer('--alone', '--align', 1, '--time', '60s', '--capacity',
                      f'{1.03 * peak_of(rows):.0f}B', 'log.csv')
        if said['ended_by'] or said['height'] > said['bound'] * 1.03 or said['bound'] != peak_of(rows):
            faults.append(f'{name}: {said["gap_pct"]} % above {said["bound"]}, ended by {said["ended_by"]}')
    TAP.result('log-uniform sizes and lifetimes: within 3 % of the bound', faults)


def in_use(row: dict, time: int) -> bool:
    return row['lower'] <= time < row['upper'] and not any(a <= time < b for a, b in row['gaps'])


def clash(a: dict, b: dict, at: int, other: int) -> bool:
    return (at < other + b['size'] and other < at + a['size']
            and any(in_use(a, t) and in_use(b, t) for t in range(12)))


def check_gaps() -> None:
    """Gaps and hints, time by time: the lowest of all placements; --check believes it, and no other."""
    faults, gapped, lower = [], 0, 0
    for seed in range(times(60, 400, 30)):
        rng, rows = random.Random(seed), []
        inclusive = seed % 3 == 0
        for i in range(rng.randint(2, 6)):
            begin = rng.randrange(8)
            row = {'id': f'b{i}', 'lower': begin, 'upper': begin + rng.randint(1, 6), 'size': rng.randint(1, 5),
                   'hint': rng.choice(['', '', rng.randrange(12)]), 'gaps': []}
            for _ in range(rng.choice([0, 1, 1, 2])):
                a = rng.randrange(begin, row['upper'] + 1)
                row['gaps'].append((a, a + rng.randint(1, 3)))
            if not any(in_use(row, t) for t in range(12)):
                row['gaps'] = []
            gapped += bool(row['gaps'])
            rows.append(row)
        names = 'id,lower,end,size,gaps,hint\n' if inclusive else 'id,lower,upper,size,gaps,hint\n'
        Path('gaps.csv').write_text(names + ''.join(
            f'{x["id"]},{x["lower"]},{x["upper"] - inclusive},{x["size"]},'
            f'{" ".join(f"{a}-{b - inclusive}" for a, b in x["gaps"])},{x["hint"]}\n' for x in rows))

        def fits(height: int, placed: list[int]) -> bool:
            if len(placed) == len(rows):
                return True
            row = rows[len(placed)]
            return any(fits(height, [*placed, at]) for at in range(height - row['size'] + 1)
                       if not any(clash(row, other, at, k) for other, k in zip(rows, placed, strict=False)))

        wanted = next(h for h in range(1, 200) if fits(h, []))
        bound = max(sum(x['size'] for x in rows if in_use(x, t)) for t in range(16))
        said = answer('--alone', '--align', 1, 'gaps.csv', '--plan', 'gaps.json')
        plan = json.loads(Path('gaps.json').read_text())
        got = {x['id']: x['offset'] for x in plan['buffers']}
        lower += wanted < max(sum(x['size'] for x in rows if x['lower'] <= t < x['upper']) for t in range(16))
        if (said['height'], said['bound'], said['verdict']) != (wanted, bound, 'optimal'):
            faults.append(f'seed {seed}: {said["height"]} above {said["bound"]}; {wanted} above {bound}')
        if any(clash(a, b, got[a['id']], got[b['id']]) for i, a in enumerate(rows) for b in rows[:i]):
            faults.append(f'seed {seed}: two buffers overlap')
        done = fragsim('plan', '-q', '--alone', '--align', 1, '--check', 'gaps.json', 'gaps.csv')
        faults += [] if done.returncode == 0 else [f'seed {seed}: {done.stderr.decode()}']
        plan['buffers'][0]['offset'] = got[rows[1]['id']] if plan['buffers'][0]['id'] != rows[1]['id'] else 0
        moved = {x['id']: x['offset'] for x in plan['buffers']}
        wrong = any(clash(a, b, moved[a['id']], moved[b['id']]) for i, a in enumerate(rows) for b in rows[:i])
        Path('moved.json').write_text(json.dumps(plan))
        done = fragsim('plan', '-q', '--alone', '--align', 1, '--check', 'moved.json', 'gaps.csv')
        if done.returncode != (4 if wrong else 0):
            faults.append(f'seed {seed}: a moved buffer, {wrong}: {done.returncode} {done.stderr.decode()}')
    TAP.result('gaps and hints', faults, (gapped < 20 or lower < 5) and f'{gapped} gaps, {lower} lower')
    Path('hints.csv').write_text('id,lower,upper,size,hint\na,0,4,1,7\nb,0,2,3,4\nc,2,4,3,4\nd,0,4,4,0\n')
    said = answer('--alone', '--align', 1, 'hints.csv', '--plan', 'hints.json')
    got = {x['id']: x['offset'] for x in json.loads(Path('hints.json').read_text())['buffers']}
    TAP.ok(got == {'a': 7, 'b': 4, 'c': 4, 'd': 0} and 'hints' in said['spaces'][0]['found_by'],
           'hints that make a lowest placement are that placement', got)
    for name, row, word in (('a whole lifetime', 'a,2,5,1,1-9', 'gaps'), ('no gap', 'a,2,5,1,3', '3-5'),
                            ('a gap backwards', 'a,2,5,1,4-3', '3-5')):
        Path('odd.csv').write_text(f'id,lower,upper,size,gaps\n{row}\n')
        done = fragsim('plan', '-q', '--alone', 'odd.csv')
        TAP.ok(done.returncode == 4 and word in done.stderr.decode(), f'gaps: {name} is refused', done.stderr)


def peak_of(rows: list[tuple[int, int, int, int]]) -> int:
    now = most = 0
    for _, bytes_ in sorted(x for _, a, b, size in rows for x in ((a, size), (b, -size))):
        now += bytes_
        most = max(most, now)
    return most


def check_given() -> None:
    """Fixed offsets and alignments: the lowest of all placements, or two buffers that contradict."""
    faults, contradictions = [], 0
    for seed in range(times(100, 400, 20)):
        rng, rows = random.Random(seed), []
        for i in range(rng.randint(2, 6)):
            lower = rng.randrange(6)
            align = rng.choice([1, 1, 2, 3, 4])
            fixed = align * rng.randrange(4) if rng.random() < 0.3 else None
            rows.append({'id': f'b{i}', 'step': lower, 'end': lower + rng.randint(1, 4), 'size': rng.randint(1, 5),
                         'align': align, 'fixed': fixed, 'pool': 0, 'device': 0})
        Path('given.csv').write_text('id,lower,upper,size,alignment,offset\n' + ''.join(
            f'{x["id"]},{x["step"]},{x["end"]},{x["size"]},{x["align"]},{"" if x["fixed"] is None else x["fixed"]}\n'
            for x in rows))
        fixed_ones = [x | {'offset': x['fixed']} for x in rows if x['fixed'] is not None]
        pairs = [(a['id'], b['id']) for i, a in enumerate(fixed_ones) for b in fixed_ones[:i] if not apart(a, b)]
        done = fragsim('plan', '-q', '--alone', '--align', 1, 'given.csv', '--plan', 'given.json', '--json', 'said.json')
        if pairs:
            contradictions += 1
            named = done.stderr.decode()
            if done.returncode != 4 or not any(f'"{a}"' in named and f'"{b}"' in named for a, b in pairs):
                faults.append(f'seed {seed}: {pairs} contradict, but {done.returncode} {named}')
            continue

        def fits(height: int, left: list[dict], placed: list[dict]) -> bool:
            if not left:
                return True
            places = range(0, height - left[0]['size'] + 1, left[0]['align'])
            return any(fits(height, left[1:], [*placed, left[0] | {'offset': at}]) for at in places
                       if left[0]['fixed'] in (None, at) and all(apart(left[0] | {'offset': at}, x) for x in placed))

        wanted = next(h for h in range(1, 200) if fits(h, sorted(rows, key=lambda x: x['fixed'] is None), []))
        said, got = json.loads(Path('said.json').read_text()), {
            x['id']: x['offset'] for x in json.loads(Path('given.json').read_text())['buffers']}
        placed = [x | {'offset': got[x['id']]} for x in rows]
        if (said['height'], said['verdict']) != (wanted, 'optimal'):
            faults.append(f'seed {seed}: {said["height"]}, {said["verdict"]}; the lowest is {wanted}')
        if any(not apart(a, b) for i, a in enumerate(placed) for b in placed[:i]):
            faults.append(f'seed {seed}: two buffers overlap')
        if any(x['offset'] % x['align'] or x['fixed'] not in (None, x['offset']) for x in placed):
            faults.append(f'seed {seed}: not the offsets and alignments that are given')
    TAP.result('fixed offsets and alignments', faults, contradictions < (1 if SAN else 5) and f'only {contradictions} contradictions')
    Path('odd.csv').write_text('id,lower,upper,size,alignment,offset\na,0,1,2,4,6\n')
    done = fragsim('plan', '--alone', 'odd.csv')
    TAP.ok(done.returncode == 4 and b'"a"' in done.stderr and b'alignment' in done.stderr,
           'a fixed offset that is not aligned is refused', done.stderr)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix='plan-') as folder:
        os.chdir(folder)
        for check in (check_small, check_proof, check_full, check_programs, check_followed, check_period, check_slots, check_tampered, check_csv, check_stretch,
                      check_statuses, check_beside, check_given, check_gaps, check_many, check_log, check_recorded):
            try:
                check()
            except AssertionError as e:
                TAP.result(check.__name__, str(e))
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
