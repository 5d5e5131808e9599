"""run.py - fragsim ranks, against jobs whose odd ranks were put there.

    run.py PROGRAM

Prints TAP. Random jobs are run under `direct`, where each request is a segment of its own, so
that all figures are sums that are made here once more from the events alone; who stands out, and
by which tags, is found by the rule of the manual.
"""
import csv
import io
import json
import os
import random
import resource
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'formats' / 'snapshot'))
import folders  # noqa: E402
import snaps  # noqa: E402
from program import PROGRAM, SAN, fragsim, times  # noqa: E402
from tap import Tap  # noqa: E402

TREE = Path(__file__).resolve().parents[3]
SEEDS = times(25, 200, 25)
MIB = 1 << 20
PAGE = 4096                     # of the devices
FIGURES = ('reserved', 'requested', 'wasted')
TAP = Tap()


def document(*args: object) -> dict:
    done = fragsim('ranks', *args, '--top', 'all', '--json', '-')
    assert done.returncode == 0, f'{args}: {done.returncode} {done.stderr.decode()}'
    return json.loads(done.stdout)


def write(path: str, events: list, **header: object) -> str:
    lines = [json.dumps(x) for x in [{'format': 'fragsim-trace', 'version': 1} | header, *events]]
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text('\n'.join(lines) + '\n')
    return path


# A job, and what it comes to --------------------------------------------------------

class Job:
    """Ranks that do the same but for some noise; a few hold more, or less, of something."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.count = rng.choice([1, 2, 3, 4, 5, 8, 8, 9, 13])
        self.devices = rng.choice([1, 1, 1, 2])
        self.alike = rng.random() < 0.5         # they free the same blocks at the same time
        self.frees = rng.random()
        noise = rng.choice([0, 0, 1, 5])
        plan = [(rng.choice(['weights', 'acts', 'é"\\', 'a,b', None, None]), rng.randrange(1, 60000))
                for _ in range(rng.randrange(1, 30))]
        odd = set(rng.sample(range(self.count), rng.randrange(1 + rng.choice([0, 1, self.count // 2]))))
        kinds = rng.choice(['more', 'less', 'frayed', 'other'])
        self.ranks = [self.events(plan, noise, kinds if r in odd else '') for r in range(self.count)]
        peaks = [max(x['reserved'] for x in run_direct(events, self.devices, 0))
                 for events in self.ranks]
        self.total = rng.choice([0, 0, max(peaks) - PAGE, median(peaks) // PAGE * PAGE + PAGE])

    def events(self, plan: list, noise: int, kind: str) -> list[dict]:
        rng, out, live = self.rng, [], []
        if kind == 'more':
            plan = [*plan, ('expert', rng.randrange(1, 900000))]
        elif kind == 'less':
            plan = plan[len(plan) // 2:]
        elif kind == 'frayed':
            plan = plan + [(rng.choice(['crumbs', None]), 1)] * 30
        elif kind == 'other':
            plan = [(tag and tag + "'s", size + 5000) for tag, size in plan]
        when = random.Random(self.frees) if self.alike else rng
        strays = self.devices > 1 and when.random() < 0.5
        for number, (tag, size) in enumerate(plan):
            device = when.randrange(self.devices)
            if strays:
                device = int(number != 0)
            out.append({'op': 'alloc', 'id': number, 'size': size + rng.randrange(noise * 2000 + 1)}
                       | ({'tag': tag} if tag else {}) | ({'device': device} if device else {}))
            live.append(number)
            while live and when.random() < 0.3:
                out.append({'op': 'free', 'id': live.pop(when.randrange(len(live)))})
        return out

    def write(self, rank: int, path: str) -> str:
        devices = [{'total_bytes': self.total} if self.total else {}] * self.devices
        return write(path, self.ranks[rank], devices=devices)


def run_direct(events: list[dict], devices: int, total: int) -> list[dict]:
    """Of each device that is used: the figures, where its peak is, and who is there then."""
    out = []
    for d in range(devices):
        live: dict[int, tuple] = {}
        row = {'device': d, 'reserved': 0, 'requested': 0, 'wasted': 0, 'peak_step': 0, 'oom': None,
               'held': {}}
        used = False
        for step, e in enumerate(events):
            if e['op'] == 'free':
                live.pop(e['id'], None)
                continue
            if e.get('device', 0) != d:
                continue
            used = True
            size = -(-e['size'] // PAGE) * PAGE
            if total and sum(b[1] for b in live.values()) + size > total:
                row['oom'] = {'step': step, 'size': e['size'], 'tag': e.get('tag')}
                break
            live[e['id']] = (e['size'], size, e.get('tag'))
            asked, reserved = (sum(b[i] for b in live.values()) for i in (0, 1))
            row['requested'] = max(row['requested'], asked)
            if reserved > row['reserved']:
                held: dict[tuple, int] = {}
                for one, block, tag in live.values():
                    key = (tag, None if tag else one)
                    held[key] = held.get(key, 0) + block
                row |= {'reserved': reserved, 'peak_step': step, 'wasted': reserved - asked,
                        'held': held}
        if used:
            out.append(row)
    return out


def median(values: list[int]) -> int:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2


def differences(held: dict, other: dict, name: str) -> list[dict]:
    """The most first, then by tag as JSON has it, then by size."""
    found = [{'tag': tag, 'size': size, 'bytes': held.get((tag, size), 0),
              name: other.get((tag, size), 0)} for tag, size in held.keys() | other.keys()]
    return sorted((x for x in found if x['bytes'] != x[name]), key=lambda x: (
        -abs(x['bytes'] - x[name]), x['tag'] is None, json.dumps(x['tag']), x['size'] or 0))


def expected(jobs: dict[int, list], devices: int, total: int, floor: int | None) -> dict:
    """By the rules of the manual; jobs: events by the numbers of their ranks."""
    rows = []
    for number in sorted(jobs):
        own = run_direct(jobs[number], devices, total)
        most = max(x['reserved'] for x in own)
        rows += [x | {'rank': number, 'compared': x['reserved'] >= most // 10} for x in own]
    compared = [x for x in rows if x['compared']]
    middle = {f: median([x[f] for x in compared]) for f in FIGURES}
    if floor is None:
        floor = middle['reserved'] // 100
    limit = {f: max(floor, 5 * median([abs(x[f] - middle[f]) for x in compared])) for f in FIGURES}
    failed = sum(x['oom'] is not None for x in compared)
    for x in rows:
        judged = x['compared'] and len(compared) > 2
        x['apart'] = [f for f in FIGURES if judged and abs(x[f] - middle[f]) > limit[f]]
        if judged and x['oom'] and failed < len(compared) - failed:
            x['apart'].append('oom')
    usual = {key: median([x['held'].get(key, 0) for x in compared])
             for key in {key for x in compared for key in x['held']}}
    for x in rows:
        x['differences'] = differences(x['held'], usual, 'median') if x['apart'] else []
    apart = sum(bool(x['apart']) for x in rows)
    extremes = {name: {f: way(x[f] for x in compared) for f in FIGURES}
                for name, way in (('least', min), ('most', max))}
    between = None
    if not apart and extremes['most']['reserved'] - extremes['least']['reserved'] > floor:
        high = max(compared, key=lambda x: x['reserved'])
        low = min(compared, key=lambda x: x['reserved'])
        between = {'highest': high['rank'], 'highest_device': high['device'], 'lowest': low['rank'],
                   'lowest_device': low['device'],
                   'differences': differences(high['held'], low['held'], 'lowest')}
    worst = max(rows, key=lambda x: (x['oom'] is not None, x['reserved']))
    return {'ranks': rows, 'compared': len(compared), 'apart': apart, 'median': middle,
            'limit': limit, **extremes, 'between': between,
            'alike': extremes['least'] == extremes['most'] and failed in (0, len(compared)),
            'joint': {'rank': worst['rank'], 'device': worst['device'],
                      'status': 'oom' if worst['oom'] else 'fits',
                      'ooms': sum(x['oom'] is not None for x in rows),
                      **{f: max(x[f] for x in rows) for f in FIGURES}}}


def as_said(said: dict) -> dict:
    """What the document has of that; the length of a list stands beside it."""
    rows = [{k: x[k] for k in (*FIGURES, 'rank', 'peak_step', 'oom', 'compared', 'apart',
                               'differences')} | {'device': x['device']['ordinal']}
            for x in said['ranks']]
    between = said['between'] and {k: v for k, v in said['between'].items()
                                   if k != 'all_differences'}
    return {k: said[k] for k in ('compared', 'apart', 'median', 'limit', 'least', 'most', 'alike',
                                 'joint')} | {'ranks': rows, 'between': between}


def random_jobs() -> None:
    seen = dict.fromkeys(('apart', 'oom', 'between', 'beside', 'alike', 'less', 'floor'), 0)
    how = ('-p', 'direct', '--granularity', f'{PAGE}B', '--context-bytes', '0', '--other-bytes', '0')
    for seed in range(SEEDS):
        job = Job(seed)
        order = job.rng.sample(range(job.count), job.count)
        floor = job.rng.choice([None, None, 0, 50 * PAGE])
        paths = {r: job.write(r, f'j/run-7-rank{r}.ndjson') for r in order}
        said = document(*how, *(('--floor', f'{floor}B') if floor is not None else ()),
                        '--threads', job.rng.randrange(1, 5), *paths.values())
        wanted = expected(dict(enumerate(job.ranks)), job.devices, job.total, floor)
        lengths = [x['all_differences'] for x in said['ranks']]
        if lengths != [len(x['differences']) for x in wanted['ranks']]:
            TAP.result('random jobs', f'seed {seed}: {lengths} differences')
            return
        for x in wanted['ranks']:
            x.pop('held')
            x['differences'] = x['differences'][:100]
        got = as_said(said)
        wrong = [f'seed {seed}: {k} is {got[k]}, not {wanted[k]}' for k in wanted
                 if got[k] != wanted[k]]
        if wrong:
            TAP.result('random jobs', wrong)
            return
        seen['apart'] += wanted['apart'] > 0
        seen['oom'] += any('oom' in x['apart'] for x in wanted['ranks'])
        seen['between'] += wanted['between'] is not None
        seen['beside'] += wanted['compared'] < len(wanted['ranks'])
        seen['alike'] += wanted['alike'] and wanted['compared'] > 1
        seen['less'] += any(d['bytes'] < d['median'] for x in wanted['ranks']
                            for d in x['differences'])
        seen['floor'] += any(wanted['limit'][f] == floor for f in FIGURES)
    TAP.result(f'random jobs: rows, who stands out, and by which tags {seen}',
               [f'hardly any job has {k}: this proves little' for k, n in seen.items()
                if n < SEEDS / 50])


# By hand ------------------------------------------------------------------------------

def blocks(*sizes: int, tag: str = 'weights') -> list[dict]:
    return [{'op': 'alloc', 'id': f'{tag} {i}', 'size': n, 'tag': tag} for i, n in enumerate(sizes)]


def eight() -> None:
    """Seven ranks of 100 MiB, and one that holds 28 of an expert too."""
    paths = [write(f'e/rank{r}.ndjson', blocks(40 * MIB, 60 * MIB)
                   + (blocks(28 * MIB, tag='expert 3') if r == 5 else [])) for r in range(8)]
    text = fragsim('ranks', *paths).stdout.decode()
    lines = text.splitlines()
    TAP.result('one of eight with 28 MiB more',
               lines[:2] != ['DIFFERENT: rank 5; most reserved: 128.00 MiB by rank 5',
                             '  policy    bestfit'] and text,
               sum(' * ' in x for x in lines) != 1 and text,
               '     5 *  128.00 MiB  128.00 MiB     0 bytes  fits    rank5.ndjson' not in lines and text,
               '  different rank 5: 28.00 MiB more reserved, 28.00 MiB more requested' not in lines and text,
               lines[-2] != '            28.00 MiB more: expert 3, 28.00 MiB instead of 0 bytes'
               and text)
    rows = list(csv.DictReader(io.StringIO(fragsim('ranks', '--format', 'csv', *paths)
                                           .stdout.decode())))
    TAP.result('as CSV', [x['apart'] for x in rows]
               != ['reserved requested' if r == 5 else '' for r in range(8)] and f'{rows}',
               [int(x['reserved']) for x in rows] != [(128 if r == 5 else 100) * MIB
                                                      for r in range(8)])
    table = fragsim('ranks', '--format', 'markdown', *paths).stdout.decode()
    TAP.result('as Markdown', '| 5 | 0 | 128.00 MiB | 128.00 MiB | 0 bytes | enough | reserved,'
               ' requested | e/rank5.ndjson |' not in table and table)
    # 28 of 128 MiB are refused: a device of 120 has room for the others
    done = fragsim('ranks', '--device-bytes', '120MiB', '--context-bytes', '0', *paths)
    text = done.stdout.decode()
    TAP.result('one of eight that runs out of memory, which is a figure', done.returncode,
               '  different rank 5: OOM, unlike most ranks\n'
               '            event 2: OOM, 28.00 MiB requested by expert 3\n' not in text and text,
               not text.startswith('OOM: 1 of 8 ranks fail; rank 5 fails to allocate 28.00 MiB at'
                                   ' event 2\n') and text)
    for condition, status in (('oom > 0', 1), ('oom > 1', 0), ('apart != 1', 0), ('apart == 1', 1),
                              ('reserved > 100MiB', 0), ('reserved >= 100MiB', 1),
                              ('spread > 0', 0), ('lost >= 1', 0), ('requested < 100MiB', 0)):
        done = fragsim('ranks', '-q', '--device-bytes', '120MiB', '--context-bytes', '0',
                       '--fail-if', condition, *paths)
        TAP.result(f'--fail-if {condition!r}: {status}', done.returncode != status
                   and f'{done.returncode}', bool(done.stderr) != bool(status)
                   and done.stderr.decode(), done.stdout)
    done = fragsim('ranks', '-q', '--fail-if', 'spread >= 28MiB', *paths)
    TAP.result('the spread of 28 MiB', done.returncode != 1 and f'{done.returncode}')
    _, *same = [p for p in paths if '5' not in p]
    text = fragsim('ranks', *same).stdout.decode()
    TAP.result('those that are alike are said to be', '  alike     all 6, to the byte\n' not in text
               and text, ' * ' in text, not text.startswith('ALIKE: ') and text)
    text = fragsim('ranks', paths[0]).stdout.decode()
    TAP.result('one rank is like nobody else', not text.startswith('FITS: 1 rank;') and text, 'alike' in text,
               'median' in text)
    text = fragsim('ranks', paths[0], paths[5]).stdout.decode()
    TAP.result('of two none stands out, and what one has else is said', ' * ' in text,
               'differ    rank 5, with most reserved, from rank 0,' not in text and text,
               '28.00 MiB more: expert 3' not in text)


def policies() -> None:
    """As the traces say, or as options do."""
    paths = []
    for r, conf in enumerate(('', '', 'expandable_segments:True')):
        meta = {'recorder': 'record_torch.py'} | ({'alloc_conf': conf} if conf else {})
        paths.append(write(f'p/rank{r}', blocks(30 * MIB), meta=meta))
    text = fragsim('ranks', *paths).stdout.decode()
    runs = [json.loads(fragsim('run', '-q', '--json', '-', p).stdout)['runs'][0]['policy']
            for p in paths]
    TAP.result('each rank is run under its own settings, as run does',
               [x['policy'] for x in document(*paths)['ranks']] != runs,
               runs[0] == runs[2] and 'this proves nothing',
               'different policies or settings' not in text and text,
               f'{runs[2]["text"]}: 1 rank, the first is 2' not in text and text)
    rows = document('--alloc-conf', 'max_split_size_mb:64', *paths)['ranks']
    TAP.result('and under those of the options, where there are some',
               len({json.dumps(x['policy']) for x in rows}) != 1,
               rows[0]['policy']['params']['max_split_size_mb'] != 64 if 'max_split_size_mb'
               in rows[0]['policy']['params'] else '64' not in json.dumps(rows[0]['policy']))


def numbers() -> None:
    """From the names, or from the places."""
    cases = (
        ('after rank', ['x/snap_rank10.json', 'x/snap_rank9.json'], [10, 9]),
        ('after rank, however written', ['x/Rank-03.2024', 'x/RANK 1.2025', 'x/rank=2.9'], [3, 1, 2]),
        ('of a folder', ['x/rank4/a', 'x/rank11/b'], [4, 11]),
        ('the last of several', ['x/rank4/b.rank1', 'x/rank4/a.rank0'], [1, 0]),
        ('the one in which they differ', ['x/3.snap-2.p', 'x/3.snap-10.p', 'x/3.snap-0.p'], [2, 10, 0]),
        ('two in which they differ', ['x/3.snap-2.p', 'x/4.snap-10.p'], None),
        ('another place', ['x/1.1.p', 'x/2.1.p', 'x/1.2.p'], None),
        ('the same twice', ['x/rank1/a', 'x/rank1/b'], None),
        ('one without', ['x/rank1', 'x/other'], None),
        ('no number', ['x/a', 'x/b'], None),
        ('too large ones', ['x/a' + '9' * 30, 'x/a' + '8' * 30], None))
    for number, (name, paths, wanted) in enumerate(cases):
        paths = [f'{"abcdefghijklmno"[number]}{p}' for p in paths]
        for i, p in enumerate(paths):
            Path(p).parent.mkdir(parents=True, exist_ok=True)
            write(p, blocks((i + 1) * MIB))
        said = document(*paths)
        got = [(x['rank'], x['trace']['path']) for x in said['ranks']]
        right = sorted(zip(wanted or range(len(paths)), paths))
        TAP.result(f'numbers: {name}', got != right and f'{got}',
                   said['numbers_of_names'] != (wanted is not None))


def kinds() -> None:
    """Ranks in any form; and the frame that holds more in a snapshot."""
    path = write('k/trace.ndjson', blocks(30 * MIB, 9 * MIB) + blocks(5 * MIB, tag='x'))
    paths = [path]
    for form in ('fsb', 'json', 'ndjson.gz'):
        paths.append(f'k/again.{form}')
        done = fragsim('trace', 'convert', '-q', path, paths[-1])
        assert done.returncode == 0, done.stderr
    said = document('-p', 'bestfit', *paths)
    TAP.result('the same in every form is alike', not said['alike'],
               len({x['trace']['content'] for x in said['ranks']}) != 1,
               len(said['ranks']) != 4)
    paths = []
    for r in range(3):
        trace = [{'action': 'alloc', 'addr': (1 << 40) + (k << 25), 'size': 4 * MIB, 'stream': 0,
                  'frames': [{'filename': '/app/model.py', 'line': 4, 'name': 'forward'}]}
                 for k in range(4)]
        if r == 1:
            trace.append({'action': 'alloc', 'addr': 1 << 41, 'size': 30 * MIB, 'stream': 0,
                          'frames': [{'filename': '/app/moe.py', 'line': 12, 'name': 'dispatch'}]})
        paths.append(f'k/snap{r}.pickle')
        # the process of each rank works on a device of its own
        Path(paths[-1]).write_bytes(snaps.pickled(
            {'segments': [], 'device_traces': [[] for _ in range(r)] + [trace]}))
    said = document(*paths)
    found = [(x['rank'], [d['tag'] for d in x['differences']]) for x in said['ranks'] if x['apart']]
    TAP.result('of snapshots it says which line of the program',
               found != [(1, ['moe.py:12 dispatch'])] and f'{found}',
               said['ranks'][1]['differences'][0]['bytes'] != 30 * MIB)
    TAP.result('and a rank is on the device that it uses',
               [x['device']['ordinal'] for x in said['ranks']] != [0, 1, 2])


def thousand() -> None:
    """Not all at once: neither in memory, nor open; and the text stays short."""
    count, events = (100, 5000) if SAN else (1000, 4000)
    Path('t').mkdir()
    for odd in (0, 1):
        path = write(f't/{odd}', [x for i in range(events) for x in (
            {'op': 'alloc', 'id': i, 'size': 512 * (1 + odd), 'tag': f'layer {i % 50}'},)])
        assert path
    names = []
    for r in range(count):
        names.append(f't/rank{r}')
        os.symlink(str(int(r == 77)), names[-1])
    usage = []
    for some in (names[70:80], names):
        pid = os.fork()
        if not pid:
            resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
            os.dup2(os.open(f't/out{len(some)}', os.O_CREAT | os.O_WRONLY, 0o666), 1)
            os.execv(PROGRAM, [PROGRAM, 'ranks', '--threads', '2', *some])
        _, status, used = os.wait4(pid, 0)
        usage.append(used.ru_maxrss)
        TAP.result(f'{len(some)} ranks', status and f'{status}')
    text = Path(f't/out{count}').read_text()
    lines = text.splitlines()
    # a tape of 4000 events is 24 bytes each: 90 MiB of a thousand
    TAP.result('a thousand take about as much memory as ten',
               not SAN and usage[1] > usage[0] + 24 * 1024 and f'{usage} KiB')
    TAP.result('and the odd one is in a few lines', len(lines) > 20 and text,
               sum(' * ' in x for x in lines) != 1, not any(x.startswith('  different rank 77: ')
                                                            for x in lines) and text,
               f'        {count - 1} more that do not stand out: --all shows them' not in lines
               and text)
    TAP.result('--all shows each', len(fragsim('ranks', '--all', *names).stdout.splitlines())
               != count + len(lines) - 2)


def threads() -> None:
    job = Job(77)
    paths = [job.write(r, f'h/rank{r}') for r in range(job.count)]
    paths += [write(f'h/rank{r}', blocks(*range(1, 90), tag=f'tag {r}')) for r in range(50, 60)]
    for form in ('text', 'csv', 'json', 'markdown'):
        out = {fragsim('ranks', '--format', form, '--threads', n, *paths).stdout
               for n in (1, 2, 3, 16, 0)}
        TAP.result(f'threads change nothing of the {form}', len(out) != 1, b'' in out)


def bad() -> None:
    good = [write(f'b/rank{r}', blocks(MIB)) for r in range(20)]
    Path('b/empty').write_bytes(b'')
    Path('b/half').write_text(Path(good[0]).read_text()[:-9])
    Path('b/wrong').write_text(Path(good[0]).read_text() + '{"op":"free","id":"nobody"}\n')
    among = [*good[:10], 'X', *good[10:]]
    cases = (
        ('no file', ('b/gone',), 4, 'b/gone: No such file'), ('an empty one', ('b/empty',), 4, 'b/empty'),
        ('a damaged one', ('b/half',), 4, 'b/half:2'), ('a wrong one', ('b/wrong',), 4, 'b/wrong:3'),
        ('a folder', ('b',), 4, 'b: '))
    for name, (path,), status, words in cases:
        for n in (1, 2, 7):
            done = fragsim('ranks', '--threads', n, '--json', 'b/out.json',
                           *(path if x == 'X' else x for x in among))
            lines = done.stderr.decode().splitlines()
            TAP.result(f'{name} among twenty, {n} threads: one line that names it, status {status}',
                       done.returncode != status and f'{done.returncode}', len(lines) != 1
                       and f'{lines}', words not in done.stderr.decode() and f'{lines}',
                       done.stdout, Path('b/out.json').exists() and 'it leaves a file')
    done = fragsim('ranks', '--lenient', *good, 'b/wrong')
    TAP.result('what is bad in itself is left out where one says so', done.returncode)
    done = fragsim('ranks', 'b/wrong', *good, 'b/gone')
    TAP.result('of two the first is named', done.returncode != 4, b'b/wrong' not in done.stderr,
               b'gone' in done.stderr)
    usage = (
        ('no trace', (), 'missing argument: TRACE'), ('two policies', ('-p', 'buddy', '-p', 'direct', good[0]),
                                            'too many policies'),
        ('a bad condition', ('--fail-if', 'peak > 1', good[0]), 'peak'),
        ('a change', ('--fail-if', 'spread > +5%', good[0]), 'spread'),
        ('standard input twice', ('-', '-'), 'standard input'),
        ('an input as output', ('--json', good[0], *good), good[0]),
        ('a bad size', ('--floor', 'x', good[0]), 'floor'),
        ('an unknown policy', ('-p', 'nosuch', good[0]), 'nosuch'))
    for name, args, words in usage:
        done = fragsim('ranks', *args)
        TAP.result(f'{name}: status 2', done.returncode != 2 and f'{done.returncode}',
                   words not in done.stderr.decode() and done.stderr.decode(), done.stdout,
                   len(done.stderr.splitlines()) != 1)
    done = fragsim('ranks', *good, '-o', '/nosuch/x.json')
    TAP.result('no place for the output: status 6', done.returncode != 6 and f'{done.returncode}')
    done = fragsim('ranks', '-', *good, stdin=Path(good[0]).read_bytes())
    TAP.result('a rank may come from a pipe', done.returncode)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in (random_jobs, eight, policies, numbers, kinds, thousand, threads, bad):
            part()
        folders.check(TAP)
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
