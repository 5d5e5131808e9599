#!/usr/bin/python3
"""run.py - whole recordings cut into parts: what fit claims of a part holds for the whole.

    run.py PROGRAM [RECORDING...]       prints TAP; without recordings those of $TRACES, and generated ones

The law, for a part that shows that it is one, under the same policy: its `at_least` is no more than the
smallest device of the whole, its bound is not exact, and its `at_least` is no less than the most that
the part requests at once, which is counted here.
"""
import gzip
import json
import os
import pickle
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import HEAVY, call, fragsim                        # noqa: E402
from tap import Tap                                             # noqa: E402

POLICIES = ('pytorch', 'pytorch:expandable_segments=true', 'bestfit:align=1', 'buddy')
MORE = ('pytorch:roundup_power2_divisions=4', 'pytorch:max_split_size_mb=64', 'sizeclass', 'direct',
        'tlsf', 'cupy', 'rmm', 'compact', 'bfc')
SHORT = ('moe_train_dispatch', 'resnet50_train_bs32_fp32', 'gpt2_small_train_bs8_seq1024',
         'gpt2_small_train_bs8_seq1024_ckpt')
GENERATED = {'random': ('random', '--events', '3000', '--live', '200', '--streams', '3', '--shared', '20',
                        '--seed', '3'),
             'multitask': ('multitask',)}
CUTS = 15 if HEAVY else 4       # of each recording
RUNS = 300                      # simulations of a policy at most
TAP = Tap()


class Part:
    """A file, and the most bytes that it requests at once."""
    def __init__(self, name: str, requested: int) -> None:
        self.name, self.requested = name, requested


def live_at(events: list, end: int) -> dict:
    """The blocks that are live before event `end`, by id."""
    live: dict = {}
    for e in events[:end]:
        if e['op'] == 'alloc':
            live[e['id']] = e
        elif e['op'] == 'free':
            live.pop(e['id'], None)
    return live


def peak(events: list) -> int:
    """The most that is requested at once."""
    live: dict = {}
    now = most = 0
    for e in events:
        if e['op'] == 'alloc':
            live[e['id']] = e['size']
            now += e['size']
        elif e['op'] == 'free':
            now -= live.pop(e['id'])
        most = max(most, now)
    return most


def rest_of(events: list, begin: int) -> list:
    """The events from there on, behind an alloc of each block that is live there."""
    live = live_at(events, begin)
    out = [{k: v for k, v in e.items() if k != 't'} for e in live.values()]
    known = set(live)
    for e in events[begin:]:
        if e['op'] == 'alloc':
            known.add(e['id'])
        if e['op'] not in ('free', 'complete', 'record_stream') or e['id'] in known:
            out.append(e)
    return out


class Recording:
    def __init__(self, path: str, folder: str) -> None:
        self.path, self.name = path, Path(path).name.split('.')[0]
        self.folder = Path(folder) / self.name
        self.folder.mkdir()
        self.pickled = '.pickle' in path
        lines = path
        if self.pickled:
            lines = str(self.folder / 'whole.ndjson')
            fragsim('trace', 'convert', '-q', '--stacks', 'none', path, lines, statuses=(0,))
        opened = gzip.open if lines.endswith('.gz') else open
        with opened(lines, 'rt', encoding='utf-8') as file:
            head, *events = [json.loads(line) for line in file]
        self.events = ([] if 'format' in head else [head]) + events
        self.head = head if 'format' in head else {'format': 'fragsim-trace', 'version': 1}
        self.allocs = [i for i, e in enumerate(self.events) if e['op'] == 'alloc']

    def write(self, name: str, events: list, **meta: object) -> str:
        path = str(self.folder / f'{name}.ndjson')
        own = {k: v for k, v in self.head.get('meta', {}).items() if k not in ('scope', 'ends_at_oom')}
        with open(path, 'w', encoding='utf-8') as file:
            for e in [{**self.head, 'meta': {**own, **meta}}, *events]:
                file.write(json.dumps(e, separators=(',', ':')) + '\n')
        return path

    def snapshot(self, name: str, end: int) -> dict:
        """What PyTorch would have dumped before event `end`."""
        path = str(self.folder / f'{name}.dump')
        fragsim('trace', 'convert', '-q', '-p', 'pytorch', '--device-bytes', '0', '-t', 'snapshot',
                self.write(name, self.events[:end]), path, statuses=(0,))
        with open(path, 'rb') as file:
            return pickle.load(file)

    def store(self, name: str, dump: dict) -> str:
        path = str(self.folder / f'{name}.pickle')
        with open(path, 'wb') as file:
            pickle.dump(dump, file)
        return path


def scope(begins: str, ends: str) -> dict:
    before = None if begins == 'start' else {'active': 1, 'reserved': 1}
    return {'begins': begins, 'ends': ends, 'before': before, 'lost': None, 'grows': None}


def lines_late(r: Recording, name: str, at: int, _end: int) -> Part:
    events = rest_of(r.events, at)
    return Part(r.write(name, events, scope=scope('late', 'end')), peak(events))


def lines_state(r: Recording, name: str, at: int, _end: int) -> Part:
    events = rest_of(r.events[:at], at)
    return Part(r.write(name, events, scope=scope('state', 'end')), peak(events))


def lines_cut(r: Recording, name: str, at: int, _end: int) -> Part:
    return Part(r.write(name, r.events[:at], scope=scope('start', 'cut')), peak(r.events[:at]))


def lines_oom(r: Recording, name: str, at: int, _end: int) -> Part:
    last = next((i for i in r.allocs if i >= at), r.allocs[-1])
    events = r.events[:last + 1]
    return Part(r.write(name, events, scope=scope('start', 'oom'),
                        ends_at_oom={'step': last, 'size': events[-1]['size']}), peak(events))


def pickle_late(r: Recording, name: str, at: int, end: int) -> Part:
    dump = r.snapshot(name, end)
    log = dump['device_traces'][0]
    gone = len(log) * at // end
    dump['device_traces'][0] = log[gone:]
    dump['external_annotations'] = []
    logged = [e for e in log if e['action'] in ('alloc', 'free_requested')]
    split = sum(e['action'] in ('alloc', 'free_requested') for e in log[:gone])
    live: dict = {}
    now = most = 0
    for i, e in enumerate(logged):
        if e['action'] == 'alloc':
            live[e['addr']] = e['size']
            now += e['size']
        else:
            now -= live.pop(e['addr'])
        most = max(most, now) if i >= split else now
    return Part(r.store(name, dump), most)


def pickle_state(r: Recording, name: str, at: int, _end: int) -> Part:
    dump = r.snapshot(name, at)
    dump['device_traces'] = [[] for _ in dump['device_traces']]
    dump['external_annotations'] = []
    return Part(r.store(name, dump), sum(e['size'] for e in live_at(r.events, at).values()))


def pickle_oom(r: Recording, name: str, at: int, _end: int) -> Part:
    last = next((i for i in r.allocs if i >= at), r.allocs[-1])
    dump = r.snapshot(name, last)
    log = dump['device_traces'][0]
    size = r.events[last]['size']
    log.append({'action': 'oom', 'device_free': 1 << 20, 'size': size, 'stream': 0, 'frames': [],
                'time_us': log[-1].get('time_us', 0) + 1 if log else 1})
    return Part(r.store(name, dump), peak(r.events[:last + 1]))


def real_late(r: Recording, name: str, at: int, _end: int) -> Part:
    """Of a real snapshot, the history from some event on."""
    with gzip.open(r.path, 'rb') if r.path.endswith('.gz') else open(r.path, 'rb') as file:
        dump = pickle.load(file)
    log = dump['device_traces'][0]
    dump['device_traces'][0] = log[len(log) * at // len(r.events):]
    dump['external_annotations'] = []
    return Part(r.store(name, dump), 1)


KINDS = (lines_late, lines_state, lines_cut, lines_oom, pickle_late, pickle_state, pickle_oom)


def fits_of(path: str, policies: tuple) -> dict:
    words = [word for p in policies for word in ('-p', p)]
    rc, out, err = call('fit', '-q', '--json', '-', '--runs', RUNS, '--top', 'all', *words, path)
    assert rc in (0, 1), f'{path}: status {rc}: {err}'
    return json.loads(out)


def faults_of(part: Part, whole: dict, policies: tuple) -> list:
    """What breaks the law. PyTorch itself fails where max_split_size changes in mid-run."""
    if '_late' in part.name and part.name.endswith('.pickle'):
        whole = {'fits': [f for p, f in zip(policies, whole['fits'], strict=True)
                          if 'max_split' not in p]}
        policies = tuple(p for p in policies if 'max_split' not in p)
    found = fits_of(part.name, policies)
    faults = []
    for p, one, all_of_it in zip(policies, found['fits'], whole['fits'], strict=True):
        least, smallest = one.get('at_least'), all_of_it['smallest']
        if one.get('bound') != 'at_least':
            faults.append(f'{p}: the bound is {one.get("bound")}')
        if least is None or least < part.requested:
            faults.append(f'{p}: at least {least}, with {part.requested} requested at once')
        elif smallest is not None and least > smallest:
            faults.append(f'{p}: at least {least}, and the whole fits {smallest}')
    known = [one['at_least'] for one in found['fits'] if one.get('at_least')]
    if not faults and found.get('at_least') != min(known):
        faults.append(f'the document says {found["at_least"]}, not {min(known)}')
    return faults


def cut(r: Recording, policies: tuple, seed: int) -> None:
    whole = fits_of(r.write('all', r.events), policies)
    TAP.ok(all(f.get('bound') == 'exact' and f.get('at_least') == f['smallest']
               for f in whole['fits'] if f['smallest']), f'{r.name}: of the whole it is exact')
    for n in range(CUTS):
        rng = random.Random(f'{r.name} {seed} {n}')
        kinds = (*KINDS, real_late) if r.pickled else KINDS
        kind = kinds[(seed + n) % len(kinds)]
        at = rng.randrange(r.allocs[0] + 1, len(r.events))
        end = rng.randrange(at, len(r.events)) + 1
        try:
            faults = faults_of(kind(r, f'{kind.__name__}{n}', at, end), whole, policies)
        except AssertionError as bad:
            faults = [str(bad)]
        TAP.result(f'{r.name}, {kind.__name__} at {at} of {len(r.events)}', *faults)
        for file in r.folder.glob(f'{kind.__name__}{n}.*'):
            file.unlink()


def bare_prefix(path: str, folder: str) -> None:
    """It shows nothing of what it lacks: the answer names the iterations that it has."""
    r = Recording(path, folder)
    marks = [i for i, e in enumerate(r.events) if e['op'] == 'mark' and e['name'].endswith('fwd')]
    name = r.write('prefix', r.events[:marks[2]])
    found = fits_of(name, ('pytorch',))
    TAP.same('a prefix that says nothing of it is exact', found.get('bound'), 'exact')
    rc, out, err = call('fit', name)
    TAP.ok(rc == 0 and 'iterations' in out, 'and the answer names its iterations', out, err)


def conditions(path: str, folder: str) -> None:
    """What a bound decides is judged; what it does not decide fails, and says so."""
    r = Recording(path, folder)
    part = lines_cut(r, 'part', len(r.events) // 2, 0).name
    now = fits_of(part, ('direct',))['fits'][0]['smallest']
    for command, name, bound in (('fit', 'smallest', now), ('run', 'peak.reserved', now)):
        for text, status, judged in ((f'{name} > {bound - 1}', 1, True), (f'{name} > {bound}', 1, False),
                                     (f'{name} < {bound}', 0, True), (f'{name} <= {bound}', 1, False)):
            rc, _, err = call(command, '-q', '-p', 'direct', '--fail-if', text, part)
            TAP.ok(rc == status and ('cannot be judged' in err) != judged or rc == status == 0,
                   f'{command}: {text}', rc, err)
        rc, _, err = call(command, '-q', '-p', 'direct', '--allow-partial', '--fail-if',
                          f'{name} > {bound}', part)
        TAP.ok(rc == 0, f'{command}: --allow-partial judges the part', rc, err)
    rc, out, err = call('run', '-p', 'direct', '--device-bytes', '64GiB', part)
    TAP.ok(out.startswith('FITS THE RECORDED PART: '), 'run says what fits', out, err)
    rc, _, err = call('diff', '-q', '-p', 'direct', '-p', 'bestfit', '--gate', part)
    TAP.ok(rc == 1 and 'cannot be judged' in err, 'no gate passes by a part', rc, err)
    of_changes(path, part)
    documents(path, part)
    of_moments(part)


def of_changes(whole: str, part: str) -> None:
    """Ranks, and two recordings: a difference of parts is unknown, and a peak can be larger."""
    for args, status in (((whole, part, 'change.reserved > 1TiB'), 1),
                         ((whole, part, 'change.reserved < -1TiB'), 0),
                         ((part, whole, 'change.reserved < -1TiB'), 1),
                         ((whole, part, 'change.requested > 1TiB'), 1),
                         ((whole, whole, 'change.reserved > 1TiB'), 0)):
        options = ('-q', '--fail-if', args[2], args[0], args[1])
        rc, _, err = call('diff', *options)
        TAP.ok(rc == status and ('cannot be judged' in err) == bool(status), f'diff: {args}', rc, err)
        rc, _, err = call('diff', '--allow-partial', *options)
        TAP.ok(rc == 0, 'and --allow-partial judges the parts', rc, err)
    rc, out, err = call('diff', whole, part)
    TAP.ok(' part      NEW: from its start; lost events' in out and 'OLD: from' not in out,
           'the answer says which is a part', out, err)
    for files, text, status in (((whole, part), 'reserved > 1TiB', 1), ((whole, part), 'spread > 1TiB', 1),
                                ((whole, part), 'oom > 2', 1), ((whole, part), 'reserved < 1MiB', 0),
                                ((whole, whole), 'reserved > 1TiB', 0)):
        rc, _, err = call('ranks', '-q', '--fail-if', text, *files)
        TAP.ok(rc == status and ('cannot be judged' in err) == bool(status), f'ranks: {text}', rc, err)
        rc, _, err = call('ranks', '-q', '--allow-partial', '--fail-if', text, *files)
        TAP.ok(rc == 0, 'and --allow-partial judges the parts', rc, err)
    rc, out, err = call('diff', '-p', 'direct', '-p', 'bestfit', whole, part)
    TAP.ok(f'  a part of its program: {part}, from its start; lost events' in out
           and out.count('a part of its program') == 1, 'policies: the answer names the part', out, err)


def left_out(folder: str) -> None:
    """Settings that no policy takes are left out of a bound, as they are of a run."""
    events = [{'op': 'alloc', 'id': i, 'size': 3 << 20} for i in range(9)]
    events.insert(5, {'op': 'configure', 'value': 'max_split_size_mb:no'})
    head = {'format': 'fragsim-trace', 'version': 1, 'meta': {'scope': scope('late', 'end')}}
    path = Path(folder) / 'left_out.ndjson'
    path.write_text('\n'.join(map(json.dumps, [head, *events])) + '\n')
    for command, key in (('run', 'runs'), ('fit', 'fits')):
        rc, out, err = call(command, '-q', '--lenient', '-p', 'pytorch', '--json', '-', str(path))
        TAP.same(f'{command}: settings that are left out', (rc, rc == 0 and json.loads(out)[key][0]['at_least']),
                 (0, 28 << 20), err)


def of_moments(part: str) -> None:
    """explain: that no request of a part failed says nothing; memory at a moment is what it is."""
    for text, status, options in (('oom > 0', 1, ()), ('oom > 0', 0, ('--allow-partial',)),
                                  ('live > 1TiB', 0, ()), ('live > 1KiB', 1, ('--allow-partial',))):
        rc, _, err = call('explain', '-q', '-p', 'direct', '--at', 'peak', *options, '--fail-if', text, part)
        TAP.ok(rc == status and ('cannot be judged' in err) == (text == 'oom > 0' and not options),
               f'explain {options}: {text}', rc, err)


def documents(whole: str, part: str) -> None:
    """A result and a baseline keep the scope: what is read back is a part, too."""
    folder = Path(part).parent
    result, baseline = str(folder / 'result.json'), str(folder / 'baseline.json')
    for path, bound in ((whole, 'exact'), (part, 'at_least')):
        for options in ((), ('--device-bytes', '64GiB'), ('-q',)):
            rc, _, err = call('run', '-p', 'direct', *options, '--json', result, path)
            run = json.loads(Path(result).read_text())['runs'][0]
            most = run['peak']['requested']
            good = run['at_least'] is None if bound == 'exact' else run['at_least'] >= most
            TAP.ok(run['bound'] == bound and good, f'run {options}: {bound}', rc, run['at_least'], err)
    rc, _, err = call('diff', '-q', '-p', 'direct', '-b', baseline, '--update-baseline', part)
    TAP.ok(rc == 0, 'a baseline of a part', rc, err)
    for old in (result, baseline):
        # A part against itself: nothing is worse, and nothing is known of the program
        for args in ((old, old), ('-b', old, '-p', 'direct', part)):
            rc, out, err = call('diff', *args, '--fail-if', 'peak.reserved > +0%')
            TAP.ok(rc == 1 and 'cannot be judged' in out + err
                   and f'a part of its program: {part}, from its start; lost events' in out, f'diff {args}', rc, out, err)
            rc, out, err = call('diff', *args, '--allow-partial', '--fail-if', 'peak.reserved > +0%')
            TAP.ok(rc == 0, 'and --allow-partial judges it', rc, out, err)
            rc, out, err = call('diff', '-q', '--json', '-', *args)
            scopes = [json.loads(out)['traces'][0][side]['scope'] for side in ('base', 'trace')]
            TAP.ok(all((s['begins'], s['ends']) == ('start', 'cut') for s in scopes), 'the document has both',
                   scopes)
    call('sweep', '-q', '-p', 'direct', '-o', str(folder / 'sweep'), part)
    line = json.loads((folder / 'sweep' / 'shard-0-of-1.ndjson').read_text())
    TAP.same('a line of a sweep has it', [line['scope'][x] for x in ('begins', 'ends')], ['start', 'cut'])
    document = json.loads(Path(result).read_text())
    document['scope']['ends'] = 'soon'
    Path(result).write_text(json.dumps(document))
    rc, _, err = call('diff', '-b', result, baseline)
    TAP.ok(rc == 4 and '"ends" must be end, oom or cut' in err and err.count('\n') == 1,
           'a scope that is none is refused', rc, err)


def main() -> int:
    recordings = sys.argv[2:]
    policies = POLICIES + MORE if HEAVY or recordings else POLICIES
    with tempfile.TemporaryDirectory() as folder:
        if not recordings:
            traces = Path(os.environ['TRACES'])
            recordings = [str(p) for p in sorted(traces.glob('*.ndjson.gz'))
                          if HEAVY or p.name.split('.')[0] in SHORT]
            for name, words in GENERATED.items():
                recordings.append(f'{folder}/{name}.ndjson')
                fragsim('trace', 'gen', *words, '-o', recordings[-1], statuses=(0,))
            bare_prefix(str(traces / 'resnet50_train_bs32_fp32.ndjson.gz'), folder)
            left_out(folder)
            conditions(str(traces / 'moe_train_dispatch.ndjson.gz'), folder)
        for seed, path in enumerate(recordings):
            with tempfile.TemporaryDirectory() as own:
                cut(Recording(path, own), policies, seed)
    return TAP.finish()


sys.exit(main())
