"""changes.py - changes of fragsim predict against a model, identities, and what is printed.

What a change makes of a random trace comes from model.py; the figures of a table come
from fragsim fit and fragsim run of the two traces, each on its own.
"""
import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import model
from program import fragsim, times
from tap import Tap

SEEDS = times(20, 75, 20)
HIGH = 2**52
HERE = Path(__file__).resolve().parent
TAGS = ['a.weight', 'a.bias', 'b.weight', 'it | fwd', 'it | bwd', '', "o'clock"]


def random_trace(rng: random.Random) -> list[dict]:
    """Valid events with everything in them: ids used again, streams, pools, several devices."""
    devices = rng.choice([1, 1, 2])
    pools = rng.choice([[0], [0, 1], [0, 3, 'p', 'long-lived']])
    marks = rng.choice([[], ['step'], ['step', 'bwd'], ['epoch']])
    names = rng.choice([range(40), [f'x{i}' for i in range(40)], [2**53 - 1 - i for i in range(40)]])
    ids: list = list(names) + [7, '7', 2**53 - 5]
    live: dict[str, dict] = {}
    pending: list = []
    released: set = set()
    events: list[dict] = []
    timed = rng.random() < 0.7

    def add(ev: dict) -> None:
        if timed and rng.random() < 0.9:
            ev['t'] = len(events) * 1.5
        events.append(ev)

    def add_mark(number: int) -> None:
        add({'op': 'mark', 'name': f'{rng.choice(marks)}{number} len{rng.randrange(9)}'})

    for i in range(rng.randrange(5, 160)):
        dice = rng.random()
        free_ids = [x for x in ids if repr(x) not in live]
        if dice < 0.45 and free_ids:
            ev = {'op': 'alloc', 'id': rng.choice(free_ids), 'size': rng.choice(
                [0, 1, rng.randrange(1, 50), rng.randrange(1, 5000), 512 * rng.randrange(1, 9)])}
            if devices > 1:
                ev['device'] = rng.randrange(devices)
            if rng.random() < 0.5:
                ev['stream'] = rng.choice([0, 1, 's'])
            pool = rng.choice(pools)
            if pool != 0 and (repr(pool), ev.get('device', 0)) not in released:
                ev['pool'] = pool
            if rng.random() < 0.8:
                ev['tag'] = rng.choice(TAGS)
            live[repr(ev['id'])] = ev
            add(ev)
        elif dice < 0.78 and live:
            key = rng.choice(sorted(live))
            ev = {'op': 'free', 'id': live.pop(key)['id']}
            if rng.random() < 0.15:
                ev['pending'] = True
                pending.append(ev['id'])
            add(ev)
        elif dice < 0.82 and pending:
            add({'op': 'complete', 'id': pending.pop(rng.randrange(len(pending)))})
        elif dice < 0.86 and live:
            add({'op': 'record_stream', 'id': live[rng.choice(sorted(live))]['id'], 'stream': 2})
        elif dice < 0.89:
            add({'op': 'sync', **rng.choice([{}, {'stream': 2}])})
        elif dice < 0.91:
            add(rng.choice([{'op': 'empty_cache'}, {'op': 'set_fraction', 'value': 0.5},
                            {'op': 'configure', 'value': 'garbage_collection_threshold:0.5'}]))
        elif dice < 0.92 and len(pools) > 1:
            pool = rng.choice(pools[1:])
            device = rng.randrange(devices)
            released.add((repr(pool), device))
            add({'op': 'release_pool', 'pool': pool, 'device': device})
        elif marks:
            add_mark(i)
    return events


def write(path: str, events: list[dict], devices: int = 2) -> str:
    head = {'format': 'fragsim-trace', 'version': 1, 'devices': [{}] * devices}
    Path(path).write_text('\n'.join(json.dumps(x) for x in [head, *events]) + '\n')
    return path


def read(path: str) -> list[dict]:
    return [json.loads(x) for x in Path(path).read_text().splitlines()][1:]


def same(wanted: list[dict], got: list[dict]) -> str:
    """The same events, where blocks without an id have one of their own; else what differs."""
    id_of: dict[int, object] = {}
    live: dict[str, int] = {}
    if len(wanted) != len(got):
        return f'{len(got)} events, not {len(wanted)}'
    for i, (a, b) in enumerate(zip(wanted, got)):
        block = a.get('_b')
        if a['op'] == 'alloc':
            id_of[block] = b.get('id')
            new = isinstance(b.get('id'), int) and b['id'] >= HIGH
            own = isinstance(a['id'], int) and a['id'] >= HIGH
            if repr(b.get('id')) in live:
                return f'event {i}: {b} is live'
            if a['id'] is None and not new:
                return f'event {i}: {b} has no new id'
            if a['id'] is not None and a['id'] != b['id'] and not (own and new):
                return f'event {i}: id {b["id"]} for {a["id"]}'
            live[repr(b['id'])] = block
        elif a['op'] == 'free':
            live.pop(repr(id_of[block]), None)
        wish = {k: v for k, v in a.items() if k != '_b'}
        if 'id' in wish:
            wish['id'] = id_of[block]
        if wish != b:
            return f'event {i}: {b}, not {wish}'
    return ''


def random_change(rng: random.Random, events: list[dict]) \
        -> tuple[list[str], Callable[[list[dict]], list[dict]]]:
    """Words of a command line, and what they make of events; a glob or mark that is there."""
    tags = sorted({ev['tag'] for ev in events if ev.get('tag')})
    marks = [ev['name'] for ev in events if ev['op'] == 'mark']
    what = rng.choice(['scale', 'scale', 'split', 'shard', 'isolate', 'isolate', 'hoist', 'warmup',
                       'preallocate', 'drop', 'empty', 'set', 'park', 'park'])
    if what == 'scale':
        factor = rng.choice(['1', '0.5', '1/3', '2', '1.25', '7/1000', '0.999999999999999'])
        words, keys = ['--scale', factor], {}
        if tags and rng.random() < 0.3:
            keys['tag'] = rng.choice([rng.choice(tags), rng.choice(tags)[0] + '*', '*'])
            words += ['--of', keys['tag']]
        if rng.random() < 0.3:
            keys['least'] = rng.choice([1, 50, 512])
            words += ['--min-bytes', keys['least']]
        return words, lambda x: model.scale(x, factor, **keys)
    if what == 'split':
        most = rng.choice([1, 7, 512, 1000, 2**40]) if len(events) < 60 else 300
        return ['--split', most], lambda x: model.split(x, most)
    if what == 'shard':
        count = rng.choice([1, 2, 3, 8])
        if tags and rng.random() < 0.3:
            tag = rng.choice(tags)
            return ['--shard', count, '--of', tag], lambda x: model.shard(x, count, tag)
        return ['--shard', count], lambda x: model.shard(x, count)
    if what == 'isolate':
        how = rng.choice(['by=life', 'by=tag', 'by=size:512', 'by=size:50,600', 'by=size:1000000']
                         + [f'by=tag:{x}' for x in tags] + ['by=tag:*'] * bool(tags))
        return ['--isolate', how], lambda x: model.isolate(x, how)
    if what == 'warmup' and marks:
        mark = rng.choice(marks)
        return ['--warmup', mark], lambda x: model.warmup(x, mark)
    if what == 'preallocate':
        size = rng.choice([1, 4096, 10**6])
        return ['--preallocate', size], lambda x: model.preallocate(x, size)
    if what == 'drop' and tags:
        tag = rng.choice([*tags, 'a.*'] if any(t.startswith('a.') for t in tags) else tags)
        return ['--drop', tag], lambda x: model.drop(x, tag)
    if what in ('empty', 'set', 'park') and marks:
        mark, until = (rng.choice([rng.choice(marks), rng.choice(marks)[0] + '*', '*'])
                       for _ in range(2))
        if what == 'empty':
            return ['--empty-cache', mark], lambda x: model.operate(x, mark, {'op': 'empty_cache'})
        if what == 'set':
            value = 'max_split_size_mb:64'
            return ['--set', mark, value], lambda x: model.operate(
                x, mark, {'op': 'configure', 'value': value})
        if tags:
            tag = rng.choice([rng.choice(tags), rng.choice(tags)[0] + '*', '*'])
            return ['--park', tag, mark, until], lambda x: model.park(x, tag, mark, until)
    return ['--hoist'], model.hoist


def plain_pools(events: list[dict]) -> list[dict]:
    """Without the pool whose name is that of an isolated one: who gets which is tested apart."""
    return [{k: ('other' if k == 'pool' and v == 'long-lived' else v) for k, v in ev.items()}
            for ev in events]


def by_model(seed: int) -> list[str]:
    """One change to three make of a random trace what the model makes of it."""
    rng = random.Random(seed)
    events = plain_pools(random_trace(rng))
    wanted = model.resolve(events)
    words: list = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        if len(wanted) > 3000:
            break
        more, change = random_change(rng, wanted)
        words += more
        wanted = change(wanted)
    if rng.random() < 0.3 and any(ev.get('pool', 0) != 0 for ev in wanted if ev['op'] == 'alloc'):
        words += ['--prime-pool', 70000]
        wanted = model.prime_pool(wanted, 70000)
    done = fragsim('predict', '-q', write('in.ndjson', events), *words, '--trace', 'out.ndjson')
    if done.returncode == 4 and '--park' in words and b'which was released' in done.stderr:
        return []       # a parked block cannot return into a pool that is no more
    if done.returncode:
        return [f'seed {seed}: {words}: {done.returncode} {done.stderr.decode()}']
    differs = same(wanted, read('out.ndjson'))
    if differs:
        return [f'seed {seed}: {words}: {differs}']
    checked = fragsim('trace', 'info', '-q', 'out.ndjson')
    return [] if checked.returncode == 0 else [f'seed {seed}: {words}: {checked.stderr.decode()}']


def identities(seed: int) -> list[str]:
    """Scale 1, pieces that no block is larger than, one class: the same bytes after the header."""
    rng = random.Random(seed)
    events = random_trace(rng)
    size = 1 + max((ev['size'] for ev in events if ev['op'] == 'alloc'), default=0)
    fragsim('trace', 'convert', '-q', write('in.ndjson', events), 'plain.ndjson')
    plain = Path('plain.ndjson').read_bytes().split(b'\n', 1)[1]
    bad = []
    for words in (['--scale', '1'], ['--scale', '3/3', '--min-bytes', '7'], ['--split', size],
                  ['--isolate', f'by=size:{size}'], ['--shard', '1'],
                  ['--scale', '1', '--split', size, '--isolate', f'by=size:{size}']):
        done = fragsim('predict', '-q', 'in.ndjson', *words, '--trace', 'out.ndjson')
        if done.returncode or Path('out.ndjson').read_bytes().split(b'\n', 1)[1] != plain:
            bad.append(f'seed {seed}: {words}: {done.returncode} {done.stderr.decode()}')
    untagged = [{k: v for k, v in ev.items() if k != 'tag'} for ev in events]
    fragsim('trace', 'convert', '-q', write('in.ndjson', untagged), 'plain.ndjson')
    fragsim('predict', '-q', 'in.ndjson', '--isolate', 'by=tag', '--trace', 'out.ndjson')
    if Path('out.ndjson').read_bytes().split(b'\n', 1)[1] \
            != Path('plain.ndjson').read_bytes().split(b'\n', 1)[1]:
        bad.append(f'seed {seed}: by=tag without tags')
    return bad


def sums(seed: int) -> list[str]:
    """Splitting keeps what is requested, at each step of the trace."""
    rng = random.Random(seed)
    events = [{k: v for k, v in ev.items() if k != 'device'} for ev in random_trace(rng)
              if ev['op'] in ('alloc', 'free')]
    live: dict = {}
    kept = []
    for ev in events:
        if ev['op'] == 'alloc':
            live[repr(ev['id'])] = ev
            kept.append(ev)
        elif live.pop(repr(ev['id']), None):
            kept.append({'op': 'free', 'id': ev['id']})
    fragsim('predict', '-q', write('in.ndjson', kept, 1), '--split', '100', '--trace', 'out.ndjson')
    peaks = [json.loads(fragsim('run', '-q', '-p', 'bestfit', '--json', '-', x).stdout)
             ['runs'][0]['peak']['requested'] for x in ('in.ndjson', 'out.ndjson')] \
        if any(ev['op'] == 'alloc' for ev in kept) else [0, 0]
    return [] if peaks[0] == peaks[1] else [f'seed {seed}: {peaks}']


def steps() -> str:
    """A training of which a table can be made; in pool 7, as gen does not know pools."""
    fragsim('trace', 'gen', 'training', '--layers', '3', '--iterations', '4', '-o', 'training.ndjson')
    return 'training.ndjson'


# What a memory timeline calls blocks, and the classes of --of that these are.
CLASSES = {'PARAMETER': 'weights', 'GRADIENT': 'gradients', 'OPTIMIZER_STATE': 'optimizer',
           'INPUT': 'inputs', 'ACTIVATION': 'activations', 'AUTOGRAD_DETAIL': 'activations',
           'TEMPORARY': '', None: ''}


def categorized(rng: random.Random) -> list[dict]:
    """Blocks that come and go, with the categories of a memory timeline as their tags, or none."""
    events: list[dict] = [{'op': 'alloc', 'id': i, 'size': 512 * (i + 1), 'tag': tag}
                          for i, tag in enumerate(CLASSES) if tag]
    live = list(range(len(events)))
    for i in range(100, 160):
        if live and rng.random() < 0.4:
            events.append({'op': 'free', 'id': live.pop(rng.randrange(len(live)))})
        tag = rng.choice(list(CLASSES))
        events.append({'op': 'alloc', 'id': i, 'size': rng.randrange(1, 9000)}
                      | ({'tag': tag} if tag else {}))
        live.append(i)
    return events


def by_class(seed: int) -> list[str]:
    """A class of blocks is changed, and no other; the doubt has the bytes of those without one."""
    events = categorized(random.Random(seed))
    all_but_inputs = {'weights', 'gradients', 'optimizer', 'activations'}
    bad = []
    for words, classes in (
            (['--scale-batch', '1/2'], {'activations', 'inputs'}),
            (['--scale-dtype', '1/2'], all_but_inputs), (['--scale', '1/2', '--of', 'weights'], {'weights'}),
            (['--scale-dtype', '1/2', '--of', 'optimizer'], {'optimizer'}),
            (['--shard', '2', '--of', 'gradients'], {'gradients'}),
            (['--drop', '*', '--of', 'inputs'], {'inputs'})):
        done = fragsim('predict', '-q', write('in.ndjson', events, 1), *words, '-p', 'direct',
                       '--trace', 'out.ndjson', '--json', 'x.json')
        changed = {e['id'] for e in events if e['op'] == 'alloc'
                   and (CLASSES[e.get('tag')] in classes
                        # another type has other temporary blocks too
                        or (words == ['--scale-dtype', '1/2'] and e.get('tag') == 'TEMPORARY'))}
        wanted = [e if e['op'] == 'free' or e['id'] not in changed else e | {'size': -(-e['size'] // 2)}
                  for e in events if words[0] != '--drop' or e['id'] not in changed]
        if done.returncode or read('out.ndjson') != wanted:
            bad.append(f'seed {seed}: {words}: {done.stderr.decode()}')
        live = most = 0
        size = {e['id']: e['size'] for e in events if e['op'] == 'alloc'
                and not CLASSES[e.get('tag')]}
        for e in events:
            live += size.get(e['id'], 0) * (1 if e['op'] == 'alloc' else -1)
            most = max(most, live)
        doubt = json.loads(Path('x.json').read_text())['doubt']
        told = float(doubt[0].split()[0]) * {'bytes': 1, 'KiB': 1024}[doubt[0].split()[1]]
        if len(doubt) != 1 + (words[0] in ('--scale-batch', '--scale-dtype', '--scale', '--drop')) \
                or abs(told - most) > 6:
            bad.append(f'seed {seed}: {words}: {doubt}, not {most}')
    return bad


def half_the_batch() -> list[str]:
    """A real perceptron of 8 samples as of 4: the stacks of a snapshot tell activations from gradients."""
    words = ['-q', '--alloc-conf', '', '--alloc-conf', 'expandable_segments:True', '--json', '-']
    found = json.loads(fragsim('predict', f'{HERE}/recordings/mlp8.pickle.gz', '--scale-batch', '1/2',
                               *words).stdout)
    truth = json.loads(fragsim('fit', f'{HERE}/recordings/mlp4.ndjson.gz', *words).stdout)
    got, want = ([fit['reliable'] for fit in x] for x in (found['changed']['fits'], truth['fits']))
    return [] if got == want else [f'{got}, not {want}']


def table() -> list[str]:
    """The figures are those that fit and run have of either trace."""
    bad = []
    trace = steps()
    for words in (['--hoist'], ['--isolate', 'by=life'], ['--scale', '0.5', '--split', '1MiB']):
        done = fragsim('predict', '-q', trace, *words, '-p', 'pytorch', '-p', 'bestfit', '--json',
                       'w.json', '--trace', 'out.ndjson')
        if done.returncode:
            return [f'{words}: {done.returncode} {done.stderr.decode()}']
        found = json.loads(Path('w.json').read_text())
        if not found['hypothetical'] or found['changes'][0].split()[0] != words[0]:
            bad.append(f'{words}: {found["changes"]}')
        for key, path in (('as_it_is', trace), ('changed', 'out.ndjson')):
            fits = json.loads(fragsim('fit', '-q', '--json', '-', '-p', 'pytorch', '-p', 'bestfit',
                                      path).stdout)
            runs = json.loads(fragsim('run', '-q', '--json', '-', '--device-bytes', '0', '-p',
                                      'pytorch', '-p', 'bestfit', path).stdout)['runs']
            for i, fit in enumerate(found[key]['fits']):
                if any(fit[x] != fits['fits'][i][x] for x in ('smallest', 'reliable', 'runs')):
                    bad.append(f'{words} {key}: {fit} {fits["fits"][i]}')
                if (fit['reserved'], fit['requested']) != tuple(
                        runs[i]['peak'][x] for x in ('reserved', 'requested')):
                    bad.append(f'{words} {key}: {fit} {runs[i]["peak"]}')
    return bad


def formats() -> list[str]:
    """Every form of the answer has the figures of the JSON."""
    trace = steps()
    words = ['predict', '-q', trace, '--isolate', 'by=life', '-p', 'bestfit']
    found = json.loads(fragsim(*words, '--format', 'json').stdout)
    rows = list(csv.DictReader(io.StringIO(fragsim(*words, '--format', 'csv').stdout.decode())))
    bad = []
    for row, key in zip(rows, ('as_it_is', 'changed'), strict=True):
        fit = found[key]['fits'][0]
        if [row[x] for x in ('requested', 'reserved', 'smallest', 'reliable')] \
                != [str(fit[x]) for x in ('requested', 'reserved', 'smallest', 'reliable')]:
            bad.append(f'{row} {fit}')
    a, b = (found[x]['fits'][0]['reliable'] for x in ('as_it_is', 'changed'))
    shift = f'{(b - a) / a * 100:+.1f} %'
    for text in (fragsim(*words, '--format', 'markdown').stdout.decode(),
                 fragsim('predict', *words[2:], '--format', 'text').stdout.decode()):
        line = next((x for x in text.splitlines()[::-1] if 'bestfit' in x), '')
        if shift not in line or f'{b >> 20} MiB' not in line:
            bad.append(f'{shift} is not in {line}')
    if 'hypothetical' not in text:
        bad.append('nothing says that it is hypothetical')
    return bad


def forms() -> list[str]:
    """Each lossless form that is written gives the same lines again; compressed ones too."""
    bad = []
    trace = write('in.ndjson', random_trace(random.Random(5)))
    fragsim('predict', '-q', trace, '--split', '100', '--hoist', '--trace', 'out.ndjson')
    for name in ('out.json', 'out.fsb', 'out.ndjson.gz'):
        done = fragsim('predict', '-q', trace, '--split', '100', '--hoist', '--trace', name)
        fragsim('trace', 'convert', '-q', name, 'again.ndjson')
        if done.returncode or Path('again.ndjson').read_bytes() != Path('out.ndjson').read_bytes():
            bad.append(f'{name}: {done.stderr.decode()}')
    done = fragsim('predict', '-q', trace, '--split', '100', '--hoist', '--trace', '-')
    if done.stdout != Path('out.ndjson').read_bytes():
        bad.append('-o -')
    done = fragsim('predict', '-q', '-', '--split', '100', '--hoist', '--trace', 'piped.ndjson',
                   stdin=Path(trace).read_bytes())
    if Path('piped.ndjson').read_bytes() != Path('out.ndjson').read_bytes():
        bad.append(f'a pipe: {done.stderr.decode()}')
    return bad


def metas() -> list[str]:
    """Meta names the changes, of one time and of another; what says PyTorch stays on top."""
    head = {'format': 'fragsim-trace', 'version': 1,
            'meta': {'recorder': 'torch.profiler', 'mine': [1, 2]}}
    events = [{'op': 'alloc', 'id': 1, 'size': 10, 'tag': 'a'}]
    Path('in.ndjson').write_text('\n'.join(json.dumps(x) for x in [head, *events]) + '\n')
    fragsim('predict', '-q', 'in.ndjson', '--scale', '2', '--of', 'a*', '--split', '1K', '--trace',
            'one.ndjson')
    fragsim('predict', '-q', 'one.ndjson', '--drop', 'a', '--trace', 'two.ndjson')
    one, two = (json.loads(Path(x).read_text().splitlines()[0])['meta']
                for x in ('one.ndjson', 'two.ndjson'))
    bad = []
    if one != {'predicted': {'changes': ["--scale 2 --of 'a*'", '--split 1K']}, **head['meta']}:
        bad.append(str(one))
    if two != {'predicted': {'changes': ['--drop a'], 'meta': one}, 'recorder': 'torch.profiler'}:
        bad.append(str(two))
    return bad


def reserved(trace: str, *words: str) -> int:
    done = fragsim('run', '-q', '--json', '-', '--device-bytes', '0', *words, trace)
    return json.loads(done.stdout)['runs'][0]['peak']['reserved']


def best_block() -> list[str]:
    """Of all sizes of the first block of a pool, each in a run of its own, the smallest with the lowest peak."""
    bad = []
    for seed in range(2):
        rng = random.Random(seed)
        events: list[dict] = []
        live: list = []
        for i in range(60):
            pool = rng.choice([0, 1, 'p'])
            events.append({'op': 'alloc', 'id': i, 'size': rng.randrange(1, 11 << 20)} | ({'pool': pool} if pool else {}))
            live.append(i)
            while len(live) > 4:
                events.append({'op': 'free', 'id': live.pop(rng.randrange(len(live)))})
        trace = write('in.ndjson', events, 1)
        policy = ['-p', ('pytorch', 'bestfit')[seed]]
        done = fragsim('predict', '-q', trace, '--prime-pool', '2MiB', *policy, '--json', '-')
        found = json.loads(done.stdout)['primed'][0]
        peaks = [reserved(trace, *policy)]
        for i in range(1, 50):
            fragsim('predict', '-q', trace, '--prime-pool', f'{2 * i}MiB', '--trace', 'out.ndjson')
            peaks.append(reserved('out.ndjson', *policy))
        best = peaks.index(min(peaks))
        if found['examined_to'] > 49 << 21 or (found['bytes'] or 0, found['reserved'], found['without']) \
                != (best << 21, peaks[best], peaks[0]):
            bad.append(f'seed {seed}: {found}, not {best << 21}, {peaks[best]}, {peaks[0]}')
    return bad


def real_pools() -> list[str]:
    """A program of PyTorch with two private pools: its peaks after such a block of each size."""
    peaks = json.loads((HERE / 'recordings' / 'pools.json').read_text())
    bad = []
    for mib, peak in peaks.items():
        if mib == '0':
            continue
        done = fragsim('predict', '-q', f'{HERE}/recordings/pools.ndjson.gz', '--prime-pool', f'{mib}MiB',
                       '--alloc-conf', '', '--json', '-')
        found = json.loads(done.stdout)
        if (found['changed']['fits'][0]['reserved'], found['primed'][0]['without']) != (peak, peaks['0']):
            bad.append(f'{mib} MiB: {found["changed"]["fits"][0]["reserved"]}, not {peak}')
    best = min(peaks, key=lambda mib: (peaks[mib], int(mib)))
    if found['primed'][0]['bytes'] != int(best) << 20:
        bad.append(f'{found["primed"][0]}, not {best} MiB')
    return bad


def taken_names() -> list[str]:
    """A pool that is called as an isolated one stays another pool, whichever comes first."""
    first = [{'op': 'alloc', 'id': 1, 'size': 10}, {'op': 'alloc', 'id': 2, 'size': 1000}]
    other = {'op': 'alloc', 'id': 3, 'size': 20, 'pool': 'from 100 bytes'}
    bad = []
    for events in ([*first, other], [other, *first]):
        fragsim('predict', '-q', write('in.ndjson', events, 1), '--isolate', 'by=size:100', '--trace',
                'out.ndjson')
        pool = {ev['id']: ev.get('pool', 0) for ev in read('out.ndjson')}
        if pool[1] != 0 or len(set(pool.values())) != 3:
            bad.append(str(pool))
    return bad


def refusals() -> list[str]:
    """Bad input is one line, with status 2, and no file is left."""
    events = [{'op': 'alloc', 'id': 1, 'size': 2**40, 'tag': 'a'}, {'op': 'mark', 'name': 'm1'}]
    trace = write('in.ndjson', events, 1)
    Path('x.ndjson').unlink(missing_ok=True)
    bad = []
    for words, part in (
            ([], 'missing option: --at NUMBERS'), (['--scale', '0'], 'above 0'), (['--scale', '1/0'], 'above 0'),
            (['--scale', '-1'], 'above 0'), (['--scale', '1e3'], 'above 0'),
            (['--scale', '.5'], 'above 0'), (['--scale', '5.'], 'above 0'),
            (['--scale', '1.5/2'], 'above 0'), (['--scale', '1000000'], '2^53'),
            (['--split', '0'], 'too small'), (['--split', '1K'], 'pieces'),
            (['--shard', '0'], 'from 1 to'), (['--shard', '1.5'], 'from 1 to'),
            (['--isolate', 'size'], 'by=life'), (['--isolate', 'by=tag:'], 'by=life'),
            (['--isolate', 'by=size:2K,1K'], 'larger than'),
            (['--isolate', 'by=size:' + ','.join(map(str, range(1, 10)))], '8 sizes'),
            (['--isolate', 'by=tag:b*'], 'no block'), (['--drop', 'b*'], 'no block'),
            (['--scale', '2', '--of', 'b*'], 'no block'), (['--warmup', 'm2'], 'no such mark'),
            (['--of', 'a'], 'right before'), (['--hoist', '--of', 'weights'], 'right before'),
            (['--scale', '2', '--of', 'weights', '--of', 'inputs'], 'one already'),
            (['--scale', '2', '--of', 'inputs'], 'no block'), (['--at', '3', '--hoist'], 'changes one trace'), (['--preallocate', '0'], 'too small'),
            (['--prime-pool', '2MiB'], 'has no private pool'), (['--prime-pool', '2MiB', '--hoist'], 'the last change'),
            (['--grow', '2'], 'unknown option'), (['--hoist', 'in.ndjson'], 'one TRACE'),
            (['--hoist', '--device-bytes', '0'], 'no limit'),
            (['--hoist', '--trace', 'in.ndjson'], 'replace')):
        done = fragsim('predict', '-q', trace, *words, *(['--trace', 'x.ndjson'] if '--trace' not in words
                                                         else []))
        lines = done.stderr.decode().splitlines()
        if done.returncode != 2 or len(lines) != 1 or part not in lines[0]:
            bad.append(f'{words}: {done.returncode} {lines}')
        if Path('x.ndjson').exists():
            bad.append(f'{words}: x.ndjson is there')
            Path('x.ndjson').unlink()
    done = fragsim('predict', trace, '--split', '1T', '-p', 'bestfit')
    if '--split 1T changes nothing' not in done.stderr.decode() or done.returncode:
        bad.append(f'changes nothing: {done.stderr.decode()}')
    return bad


def over(seeds: int, what: Callable[[int], list[str]]) -> list[str]:
    return [x for seed in range(seeds) for x in what(seed)][:5]


def check(tap: Tap) -> None:
    for name, found in (
            ('each change is what the model says', lambda: over(SEEDS * 2, by_model)),
            ('what changes nothing gives the same bytes', lambda: over(SEEDS // 5, identities)),
            ('pieces come to what was requested', lambda: over(SEEDS // 5, sums)),
            ('classes are changed alone', lambda: over(SEEDS // 5, by_class)),
            ('half the batch is that of the real program', half_the_batch),
            ('figures are those of fit and run', table), ('all formats agree', formats),
            ('all forms of a trace agree', forms), ('meta names the changes', metas),
            ('pools keep apart', taken_names), ('the best block of a pool', best_block),
            ('blocks in real pools', real_pools), ('bad input of changes is one line', refusals)):
        tap.result(name, found())
