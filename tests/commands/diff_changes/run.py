"""run.py - fragsim diff OLD NEW: the parts of a change, its tags, and the cause that was planted.

    run.py PROGRAM      prints TAP

Peaks come from `fragsim run --json` of each trace under each version and settings, live bytes by
tag and the first request that differs from a walk over the events here. Programs are changed in a
known way: a larger layer, a tensor kept longer, another version, other settings, another order.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from program import times  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

TAP = Tap()
PROGRAM = ''
MIB = 1 << 20
PARTS = ('version', 'settings', 'requested', 'rounding', 'fragmentation')
PAIRS = times(15, 30)                          # of each kind
KINDS = ('larger', 'longer', 'version', 'settings', 'order', 'same', 'random')


def run(*args: str, status: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess:
    done = subprocess.run([PROGRAM, *args], capture_output=True, check=False, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode in status, (args, done.returncode, done.stderr)
    return done


def write(name: str, events: list, version: str | None = None, conf: str = '',
          devices: int = 1) -> str:
    meta = {'pytorch': version, 'alloc_conf': conf} if version else {}
    head = {'format': 'fragsim-trace', 'version': 1, 'devices': [{}] * devices,
            **({'meta': {'recorder': 'record_torch.py', **meta}} if meta else {})}
    Path(name).write_text(''.join(json.dumps(x) + '\n' for x in [head, *events]), encoding='utf-8')
    return name


def program(draw: random.Random, layers: list[int], steps: int) -> list[dict]:
    """Weights, then steps of a forward and a backward pass."""
    events: list[dict] = []
    number = 0

    def alloc(size: int, tag: str) -> int:
        nonlocal number
        number += 1
        events.append({'op': 'alloc', 'id': number, 'size': size, 'tag': tag})
        return number

    for i, size in enumerate(layers):
        alloc(size, f'weight {i}')
    for _ in range(steps):
        kept = [alloc(size * draw.choice((1, 1, 2)) // 2 + 1, f'activation {i}')
                for i, size in enumerate(layers)]
        for i in reversed(range(len(layers))):
            short = alloc(layers[i] // 3 + 100, f'gradient {i}')
            events.append({'op': 'free', 'id': kept[i]})
            events.append({'op': 'free', 'id': short})
    return events


def pair(kind: str, draw: random.Random) -> tuple:
    """Events, version and settings of OLD and of NEW."""
    layers = [draw.randrange(200_000, 30 * MIB) for _ in range(draw.randrange(2, 7))]
    seed = draw.random()
    old = program(random.Random(seed), layers, 3)
    new, versions, confs = old, ['2.8', '2.8'], ['', '']
    if kind == 'larger':
        layers[draw.randrange(len(layers))] += draw.randrange(8 * MIB, 40 * MIB)
        new = program(random.Random(seed), layers, 3)
    elif kind == 'longer':
        kept = next(x for x in old if x['op'] == 'free')
        new = [x for x in old if x is not kept] + [kept]
    elif kind == 'version':
        versions[1] = '2.15'
    elif kind == 'settings':
        confs[1] = draw.choice(('expandable_segments:True', 'roundup_power2_divisions:4',
                                'max_split_size_mb:32'))
    elif kind == 'order':
        weights = [x for x in old if x.get('tag', '').startswith('weight')]
        new = weights[::-1] + old[len(weights):]
    elif kind == 'random':
        new = program(random.Random(draw.random()), layers[::-1] + [5 * MIB], 2)
        versions = [draw.choice(('2.5', '2.9', '2.12', '2.15')) for _ in range(2)]
        confs = [draw.choice(('', 'expandable_segments:True', 'max_split_size_mb:64'))
                 for _ in range(2)]
    return (old, versions[0], confs[0]), (new, versions[1], confs[1])


def peaks(trace: str, version: str, conf: str) -> dict:
    keys = [f'version={version}'] + [x.replace(':', '=', 1).replace('True', 'true')
                                     for x in conf.split(',') if x]
    done = run('run', '-q', '-p', 'pytorch:' + ','.join(keys), '--device-bytes', '0', '--json',
               '-', trace)
    peak = json.loads(done.stdout)['runs'][0]['peak']
    return {'R': peak['reserved'], 'Q': peak['requested'], 'A': peak['active']}


def expected_parts(old: tuple, new: tuple) -> dict:
    first = peaks('old', old[1], old[2])
    version = peaks('old', new[1], old[2])
    both = peaks('old', new[1], new[2])
    last = peaks('new', new[1], new[2])
    return {'version': version['R'] - first['R'], 'settings': both['R'] - version['R'],
            'requested': last['Q'] - both['Q'],
            'rounding': last['A'] - last['Q'] - both['A'] + both['Q'],
            'fragmentation': last['R'] - last['A'] - both['R'] + both['A']}


def live_by_tag(events: list) -> dict:
    """At the first step with the most live bytes."""
    live: dict = {}
    best, most = {}, -1
    for event in events:
        if event['op'] == 'alloc':
            live[event['id']] = (event.get('tag'), event['size'])
        else:
            live.pop(event['id'])
        total = sum(size for _, size in live.values())
        if total > most:
            most, best = total, dict(live)
    sums: dict = {}
    for tag, size in best.values():
        sums[tag] = sums.get(tag, 0) + size
    return sums


def first_difference(old: list, new: list) -> dict | None:
    a, b = ([(i, x['size'], x.get('tag')) for i, x in enumerate(events) if x['op'] == 'alloc']
            for events in (old, new))
    for x, y in zip(a, b):
        if x[1:] != y[1:]:
            return {'old_step': x[0], 'new_step': y[0]}
    if len(a) == len(b):
        return None
    n = min(len(a), len(b))
    return {'old_step': a[n][0] if len(a) > n else len(old),
            'new_step': b[n][0] if len(b) > n else len(new)}


def faults_of(old: tuple, new: tuple) -> list:
    write('old', *old)
    write('new', *new)
    said = json.loads(run('diff', '--top', 'all', '--json', '-', 'old', 'new').stdout)
    faults = []
    if said['parts'] != expected_parts(old, new):
        faults.append(('parts', said['parts'], expected_parts(old, new)))
    if sum(said['parts'].values()) != said['reserved'] or said['reserved'] != (
            said['new']['peak']['reserved'] - said['old']['peak']['reserved']):
        faults.append(('sum', said['parts'], said['reserved']))
    a, b = live_by_tag(old[0]), live_by_tag(new[0])
    if {x['tag']: (x['old'], x['new'], x['change']) for x in said['tags']} != {
            tag: (a.get(tag, 0), b.get(tag, 0), b.get(tag, 0) - a.get(tag, 0))
            for tag in a.keys() | b.keys()}:
        faults.append(('tags', said['tags'], a, b))
    sizes = [abs(x['change']) for x in said['tags']]
    if sizes != sorted(sizes, reverse=True):
        faults.append(('order', sizes))
    if said['first_difference'] != first_difference(old[0], new[0]):
        faults.append(('first', said['first_difference'], first_difference(old[0], new[0])))
    undo = said['undo']
    if undo:
        again = peaks('new', new[1], undo['alloc_conf'])['R']
        if again != undo['reserved'] or again > said['old']['peak']['reserved']:
            faults.append(('undo', undo, again))
    return faults


def names_cause(kind: str, said: dict) -> bool:
    """Is what was planted the only part, or the program's own?"""
    parts = {name for name in PARTS if said['parts'][name]}
    if kind in ('version', 'settings'):
        return parts <= {kind}
    if kind == 'same':
        return not parts and said['first_difference'] is None
    return not parts & {'version', 'settings'} and (kind != 'larger' or said['parts']['requested'] > 0)


def check_pairs() -> None:
    for kind in KINDS:
        faults, wrong, changed = [], 0, 0
        for seed in range(PAIRS):
            old, new = pair(kind, random.Random(f'{kind}{seed}'))
            faults += faults_of(old, new)
            said = json.loads(run('diff', '--top', 'all', '--json', '-', 'old', 'new').stdout)
            wrong += kind != 'random' and not names_cause(kind, said)
            changed += said['reserved'] != 0
        TAP.ok(not faults, f'{kind}: parts, tags and steps are those that are counted here',
               '\n'.join(map(str, faults[:5])))
        TAP.ok(not wrong, f'{kind}: the parts name what was planted', f'{wrong} of {PAIRS}')
        TAP.ok(changed > 0 or kind in ('same', 'order', 'longer', 'version'),
               f'{kind}: some pairs change')


def check_forms() -> None:
    old, new = pair('larger', random.Random(5))
    write('old', *old)
    write('new', *new)
    said = json.loads(run('diff', '--format', 'json', 'old', 'new').stdout)
    if jsonschema:
        schema = schema_of('change')
        faults = list(jsonschema.Draft202012Validator(schema).iter_errors(said))
        TAP.ok(not faults, 'the schema has it', str(faults[:2]))
    text = run('diff', 'old', 'new').stdout.split('\n')
    TAP.ok(text[0].startswith('+') and ' reserved at the peak: program +' in text[0],
           'the first line is the verdict', text[0])
    rows = run('diff', '--format', 'csv', 'old', 'new').stdout.split('\n')
    TAP.ok(rows[0] == 'kind,name,old,new,change'
           and [row.split(',')[1:5:3] for row in rows[2:7]]
           == [[name, f'{said["parts"][name]:+d}'] for name in PARTS],
           'CSV has the parts', '\n'.join(rows[:8]))
    shown = run('diff', '--format', 'markdown', 'old', 'new').stdout
    TAP.ok('| reserved |' in shown and shown.startswith(f'**{text[0]}**\n') and '  aligned ' in shown,
           'Markdown has the verdict, its reasons and the change', shown)
    run('diff', '-q', '-o', 'rows.csv', '--json', 'change.json', 'old', 'new')
    TAP.ok(json.loads(Path('change.json').read_text('utf-8')) == said
           and Path('rows.csv').read_text('utf-8') == '\n'.join(rows), 'files have the same')
    same = json.loads(run('diff', '-p', 'bestfit', '--json', '-', 'old', 'new').stdout)
    TAP.ok(same['parts']['version'] == same['parts']['settings'] == 0
           and same['old']['policy']['name'] == 'bestfit', 'another policy has no versions')


def check_conditions() -> None:
    change = json.loads(run('diff', '--top', 'all', '--json', '-', 'old', 'new').stdout)
    for name, value in (('reserved', change['reserved']), *(
            (x, change['parts'][x]) for x in ('requested', 'rounding', 'fragmentation'))):
        holds = run('diff', '-q', '--fail-if', f'change.{name} >= {value}', 'old', 'new', status=(1,))
        TAP.ok(f'change.{name}' in holds.stderr, f'change.{name}: a condition that holds')
        run('diff', '-q', '--fail-if', f'change.{name} > {value}', 'old', 'new')
    run('diff', '-q', '--fail-if', 'reserved.requested > +1KiB', 'old', 'new', status=(1,))
    run('diff', '-q', '--fail-if', 'change.version > 0', '--fail-if', 'reserved.settings != 0', 'old', 'new')
    run('diff', '-q', '--gate', 'old', 'new', status=(1,))
    run('diff', '-q', '--gate', 'new', 'old')
    for wrong in (('--fail-if', 'change.speed > 0'), ('--format', 'junit'),
                  ('--format', 'github'), ('-o', 'x.xml'), ('-o', 'old'), ('-o', 'old')):
        done = run('diff', *wrong, 'old', 'new', status=(2,))
        TAP.ok(done.stderr.count('\n') <= 2 and not Path('x.html').exists(),
               f'{wrong}: wrong usage', done.stderr)
    done = run('diff', '--fail-if', 'change.reserved > 0', '-p', 'bestfit', '-p', 'buddy', 'old',
               status=(2,))
    TAP.ok('two traces' in done.stderr, 'a change needs two traces', done.stderr)
    Path('broken').write_text('{"format":"fragsim-trace","version":1}\n{"op":"alloc"\n')
    for args in (('old', 'broken'), ('broken', 'new'), ('old', 'missing')):
        done = run('diff', *args, status=(4,))
        TAP.ok(done.stderr.count('\n') == 1, f'{args}: one line', done.stderr)


def check_versions() -> None:
    """A setting that NEW's version does not know is named, and left out."""
    events = program(random.Random(1), [3 * MIB, 9 * MIB], 2)
    write('old', events, '2.15', 'max_split_size_mb:64,large_segment_size_mb:40')
    write('new', events, '2.8', 'max_split_size_mb:64')
    done = run('diff', '--top', 'all', '--json', '-', 'old', 'new')
    TAP.ok('large_segment_size_mb' in done.stderr and '2.8' in done.stderr, 'a warning names it',
           done.stderr)
    said = json.loads(done.stdout)
    TAP.ok(said['parts']['settings'] == 0 and sum(said['parts'].values()) == said['reserved'],
           'the rest is the same settings', str(said['parts']))


def check_devices() -> None:
    def two(a: int, b: int) -> list:
        return [{'op': 'alloc', 'id': 1, 'size': a, 'device': 0, 'tag': 'a'},
                {'op': 'alloc', 'id': 2, 'size': b, 'device': 1, 'tag': 'b'}]
    write('old', two(30 * MIB, 30 * MIB), devices=2)
    write('new', two(40 * MIB, 90 * MIB), devices=2)
    said = json.loads(run('diff', '--top', 'all', '--json', '-', 'old', 'new').stdout)
    TAP.ok(said['new']['device']['ordinal'] == 1 and said['reserved'] == 60 * MIB
           and [x['tag'] for x in said['tags']] == ['b'], 'the device that changes most', str(said['tags']))


def requests(tags: list, free: bool = True) -> list:
    """Events of requests of 1 MiB each, freed at once or never."""
    out = []
    for i, tag in enumerate(tags):
        out.append({'op': 'alloc', 'id': i, 'size': MIB, 'tag': tag})
        if free:
            out.append({'op': 'free', 'id': i})
    return out


def marked(iterations: list) -> list:
    """Each list of tags behind a mark."""
    out = []
    for k, tags in enumerate(iterations):
        out.append({'op': 'mark', 'name': f'step {k}'})
        out += [dict(x, **({'id': f'{k}-{x["id"]}'})) for x in requests(tags)]
    return out


def longest_common(a: list, b: list) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        last = 0
        for i, y in enumerate(b):
            last, row[i + 1] = row[i + 1], last + 1 if x == y else max(row[i + 1], row[i])
    return row[-1]


def alignment(old: list, new: list) -> dict:
    write('old', old)
    write('new', new)
    return json.loads(run('diff', '--top', 'all', '--json', '-', 'old', 'new').stdout)['alignment']


def check_alignment() -> None:
    draw = random.Random(3)
    letters = [chr(97 + i) for i in range(26)]
    faults = []
    for _ in range(40):
        a = [draw.choice(letters) for _ in range(draw.randrange(0, 300))]
        at = draw.randrange(len(a) + 1)
        more = [draw.choice('ABC') for _ in range(draw.choice((0, 1, 7, 500, 900)))]
        said = alignment(requests(a), requests(a[:at] + more + a[at:]))
        if (said['same'], said['only_old'], said['only_new'], said['whole']) != (
                len(a), 0, len(more), True):
            faults.append(('inserted', len(a), at, len(more), said))
        b = [x for x in a if draw.random() > .05]
        for _ in range(draw.randrange(20)):
            b.insert(draw.randrange(len(b) + 1), draw.choice('ABC'))
        said = alignment(requests(a), requests(b))
        if said['same'] + said['only_old'] != len(a) or said['same'] + said['only_new'] != len(b) \
                or said['same'] > longest_common(a, b) or not said['whole']:
            faults.append(('changed', a, b, said))
    TAP.ok(not faults, 'requests that were inserted are those that have no counterpart', str(faults[:1]))
    many = [letters[i % 26] + str(i * i % 97) for i in range(700)]
    said = alignment(marked([many, many, many]), marked([many, many[:200] + ['A'] + many[200:]]))
    TAP.ok(said == {'same': 1400, 'only_old': 700, 'only_new': 1, 'whole': True, 'old_iterations': 3,
                    'new_iterations': 2}, 'iterations are aligned one by one', str(said))
    said = alignment(requests(['a'] * 900), requests(['b'] * 900))
    TAP.ok(said['same'] == 0 and not said['whole'], 'a gap may be too large to search', str(said))


def rows_of(old: list, new: list) -> dict:
    write('old', old)
    write('new', new)
    lines = run('diff', 'old', 'new').stdout.split('tag, at the peak')[-1].split('\n')[1:]
    return {line[42:]: line[:42].split('  ')[-1].strip() for line in lines if line}


def check_words() -> None:
    def alloc(number: int, size: int, tag: str) -> dict:
        return {'op': 'alloc', 'id': number, 'size': size * MIB, 'tag': tag}
    free = {'op': 'free', 'id': 1}
    base = [alloc(1, 4, 'a.py:10 f'), alloc(2, 4, 'b')]
    pair = [alloc(1, 4, 'a'), alloc(2, 4, 'a')]
    for name, old, new, row in (
            ('a line that moved', base, [alloc(1, 6, 'a.py:12 f'), alloc(2, 4, 'b')], ''),
            ('larger', base, [alloc(1, 6, 'a.py:10 f'), alloc(2, 4, 'b')], 'a.py:10 f (larger)'),
            ('more', base, [*base, alloc(3, 4, 'b')], 'b (more requests)'),
            ('gone', base, base[:1], 'b (gone)'),
            ('longer', [pair[0], free, pair[1]], [*pair, free], 'a (live longer)'),
            ('earlier', [*pair, free], [pair[0], free, pair[1]], 'a (freed earlier)')):
        said = rows_of(old, new)
        if name == 'a line that moved':
            TAP.ok(said.keys() == {'a.py: f (larger)'}, f'{name} is one row', str(said))
        else:
            TAP.ok(row in said, f'{name}: {row}', str(said))


def check_folders() -> None:
    for folder in ('before', 'after', 'empty'):
        os.mkdir(folder)
    for rank in range(3):
        write(f'before/rank{rank}.ndjson', requests(['a'] * 4, False))
        write(f'after/mem-rank-{rank}.ndjson', requests(['a'] * (4 + 20 * (rank == 1)), False))
    Path('after/notes.txt').write_text('no recording')
    said = json.loads(run('diff', '--json', '-', 'before', 'after').stdout)
    TAP.ok([(x['rank'], x['reserved']) for x in said['pairs']] == [(0, 0), (1, 20 * MIB), (2, 0)]
           and said['reserved'] == 20 * MIB and 'rank-1' in said['new']['trace']['path'],
           'two folders are compared by rank, and the worst is told', str(said['pairs']))
    run('diff', '-q', '-o', 'ranks.html', '--gate', 'before', 'after', status=(1,))
    TAP.ok('"beside":true' in Path('ranks.html').read_text('utf-8'), 'its page has both timelines')
    os.remove('after/mem-rank-0.ndjson')
    done = run('diff', 'before', 'after')
    TAP.ok('1 of 3 files in OLD' in done.stderr, 'a rank without a counterpart is named', done.stderr)
    for args, status in ((('before', 'empty'), 4), (('before', 'after/mem-rank-1.ndjson'), 2),
                         (('before', 'nowhere'), 4)):
        done = run('diff', *args, status=(status,))
        TAP.ok(done.stderr.count('\n') == 1, f'{args}: one line', done.stderr)
    two = run('ranks', 'before/rank0.ndjson', 'after/mem-rank-1.ndjson', status=(0, 1))
    TAP.ok('fragsim diff before/rank0.ndjson after/mem-rank-1.ndjson' in two.stdout,
           'ranks of two names diff', two.stdout)


def main() -> int:
    global PROGRAM
    PROGRAM = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_pairs()
        check_forms()
        check_conditions()
        check_versions()
        check_devices()
        check_alignment()
        check_words()
        check_folders()
        os.chdir(ROOT)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
