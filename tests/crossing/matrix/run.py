"""run.py - every command and format on a run that ends in each way, and every file read back.

    run.py PROGRAM      prints TAP

scenes.py has the traces: names, tags, marks, streams, pools, ids, devices and files all have words
that each format has to escape. Each run must end with the one status that the manual gives, what it
prints must parse as what it is, and what fragsim wrote it must read: a result is equal to itself, a
trace is the same in all its forms. What a command has no use for is refused. PROGRAM-standin beside
it is the program on a GPU made of host memory, for replay. Under sanitizers this is a test of all
that, too.
"""

import csv
import gzip
import io
import json
import os
import sys
import xml.etree.ElementTree
from collections.abc import Iterable
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'crossing' / 'cli'))
import harness                      # noqa: E402
from harness import cases, equal, test      # noqa: E402
from scenes import PATH, SCENES, WORD, Scene        # noqa: E402

TRACE = PATH + '.trace'
DONE = next(x for x in SCENES if x.name == 'done')
FORMATS = ('text', 'markdown', 'json', 'junit', 'github', 'csv')
# of the forms that a file can have, whose ending names them
ENDING = {'text': 'txt', 'markdown': 'md', 'json': 'json', 'junit': 'xml', 'csv': 'csv'}
SAME_FORMS = ('lines', 'object', 'fsb')         # hold all of a trace
ENDINGS = ('.ndjson', '.json', '.fsb', '.ndjson.gz', '.json.zst', '.fsb.gz')
# what a sanitizer or the C library says, whatever the status
CRASHES = (b'Sanitizer', b'runtime error', b'free():', b'malloc():', b'stack smashing')


def play(folder: Path, *args: object, wanted: object = 0, **how) -> harness.Outcome:
    """A run that ends with this status, or one of these."""
    out = harness.run(folder, *args, **how)
    said = f'{" ".join(map(str, args))}: status {out.status}, {out.err[-700:]!r}'
    statuses = wanted if isinstance(wanted, tuple) else (wanted,)
    assert out.status in statuses, f'not {wanted}: {said}'
    assert not any(word in out.err for word in CRASHES), said
    assert out.status not in (2, 4, 5, 6) or out.err.startswith(b'fragsim: '), said
    return out


def rows(text: bytes) -> list[dict]:
    """Of CSV; each as long as the head."""
    table = list(csv.reader(io.StringIO(text.decode(), newline='')))
    assert all(len(row) == len(table[0]) for row in table), 'rows of CSV that are longer or shorter'
    return [dict(zip(table[0], row, strict=True)) for row in table[1:]]


def objects(text: bytes) -> list[dict]:
    """Of NDJSON."""
    return [json.loads(line) for line in text.decode().split('\n')[:-1]]


def suites(text: bytes) -> object:
    try:
        return xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as fault:
        raise AssertionError(f'XML: {fault}') from None


PARSERS = {'json': json.loads, 'csv': rows, 'junit': suites}


def parsed(kind: str, text: bytes) -> object:
    return PARSERS.get(kind, bytes.decode)(text)


def files_of(names: Iterable[str]) -> list[str]:
    return [word for name in names if name in ENDING for word in ('-o', f'{PATH}.{ENDING[name]}')]


def write_trace(folder: Path, scene: Scene) -> str:
    (folder / TRACE).write_bytes(scene.trace)
    return TRACE


def write_result(folder: Path, scene: Scene, name: str = PATH + '.result') -> str:
    play(folder, 'run', '-q', *scene.choices, '--json', name, write_trace(folder, scene),
         wanted=(0, 3))
    return name


def all_same(folder: Path, base: str, new: str) -> None:
    """Nothing differs, and each run has one that it was compared with."""
    said = json.loads(play(folder, 'diff', '-q', '--gate', '--allow-partial', '--format', 'json',
                           base, new).out)
    pairs = [pair for trace in said['traces'] for pair in trace['runs']]
    assert pairs, 'nothing was compared'
    equal({pair['verdict'] for pair in pairs}, {'same'}, f'verdicts of {base} and {new}')
    assert not any(trace['conditions'] for trace in said['traces']), 'conditions differ'
    assert all(pair['base'] and pair['run'] for pair in pairs), 'a run stands alone'


@cases(*SCENES)
def check_run(folder: Path, scene: Scene) -> None:
    """run, with each of its outputs"""
    trace = write_trace(folder, scene)
    words = (*scene.choices, *scene.judged)
    outputs = (('--steps', 'steps.csv'), ('--steps', 'steps.ndjson'), ('--placements', 'p.ndjson'),
               ('--json', 'r.json'))
    reports = [(), ('-q',), ('--check',), ('--threads', '1'), ('--lenient',), ('--stacks', 'all'),
               ('--stacks', 'none')]
    if 'pytorch' in scene.policies:
        reports.append(('--summary', 'pytorch'))
    for more in reports:
        out = play(folder, 'run', *more, *words, trace, wanted=scene.status)
        assert out.out.decode() or more == ('-q',), 'no report'
    for option, name in outputs:
        name = PATH + name
        play(folder, 'run', *words, option, name, trace, wanted=scene.status)
        wrote = (folder / name).read_bytes()
        if name.endswith('steps.ndjson'):
            continue
        out = play(folder, 'run', *words, option, '-', trace, wanted=scene.status)
        equal(out.out, wrote, f'{option} on standard output')
    read = {name: (folder / (PATH + name)).read_bytes() for _, name in outputs}
    equal([row['op'] for row in rows(read['steps.csv'])],
          [row['op'] for row in objects(read['steps.ndjson'])], 'operations of the rows')
    objects(read['p.ndjson'])
    check_result(scene, json.loads(read['r.json']))


def check_result(scene: Scene, result: dict) -> None:
    runs = result['runs']
    equal(result['trace']['path'], TRACE, 'path')
    equal(len(runs), len(scene.policies) * scene.devices, 'runs')
    equal([mark['name'] for mark in runs[0]['marks']], [scene.mark] * scene.marks, 'marks')
    if not scene.snapshot:
        equal([run['device']['name'] for run in runs],
              [f'{WORD} {i}' for i in range(scene.devices)] * len(scene.policies), 'devices')
    equal(runs[0]['status'], 'oom' if scene.cause else 'fits', 'status')
    equal([oom['cause'] for oom in runs[0]['oom'][:1]], [scene.cause] * bool(scene.cause), 'cause')


@cases(*SCENES)
def check_diff(folder: Path, scene: Scene) -> None:
    """diff of policies, in each format"""
    trace = write_trace(folder, scene)
    status = 1 if scene.conditions else 0
    words = ('diff', *scene.choices, *scene.judged)
    play(folder, *words, '-q', *files_of(FORMATS), trace, wanted=status)
    for name in FORMATS:
        out = play(folder, *words, '--format', name, trace, wanted=status).out
        parsed(name, out)
        if name in ENDING:
            equal((folder / f'{PATH}.{ENDING[name]}').read_bytes(), out, f'{name} in a file')
    play(folder, *words, '-q', trace, wanted=status)
    play(folder, *words, '--gate', trace, trace, wanted=(0, 1))


@cases(*SCENES)
def check_results(folder: Path, scene: Scene) -> None:
    """results and baselines are equal to themselves and to each other"""
    result, baseline = write_result(folder, scene), PATH + '.baseline'
    play(folder, 'diff', '-q', '-b', baseline, '--update-baseline', *scene.choices, TRACE)
    for base in (result, baseline):
        for new in (result, baseline):
            all_same(folder, base, new)
    for name in FORMATS:
        parsed(name, play(folder, 'diff', '--format', name, result, baseline).out)
    again = ('diff', '-b', baseline, *scene.choices)
    said = json.loads(play(folder, *again, '-q', '--gate', '--allow-partial', '--format', 'json').out)
    equal({pair['verdict'] for trace in said['traces'] for pair in trace['runs']}, {'same'},
          'verdicts')
    for name in FORMATS:
        parsed(name, play(folder, *again, '--format', name, TRACE).out)
    for condition in scene.conditions:
        play(folder, *again, '-q', '--fail-if', condition, wanted=1)
        play(folder, 'diff', '-q', '--fail-if', condition, result, result, wanted=1)
    # other people write the same document in another way; what is not compressed stays so
    for ascii_only in (False, True):
        document = json.loads((folder / result).read_bytes())
        (folder / 'other').write_text(json.dumps(document, ensure_ascii=ascii_only))
        all_same(folder, result, 'other')
    before = (folder / baseline).read_bytes()
    play(folder, *again, '-q', '--update-baseline')
    equal((folder / baseline).read_bytes(), before, 'the baseline written again')
    (folder / 'packed.gz').write_bytes(gzip.compress(before))
    play(folder, 'diff', '-q', 'packed.gz', baseline, wanted=4)


def content(folder: Path, trace: str) -> str:
    return json.loads(play(folder, 'trace', 'info', '--json', '-', '-q', trace).out)['content']


@cases(*SCENES)
def check_traces(folder: Path, scene: Scene) -> None:
    """a trace is the same in all its forms"""
    play(folder, 'trace', 'convert', '-q', write_trace(folder, scene), 'plain.ndjson')
    first = 'plain.ndjson' if scene.snapshot else TRACE         # a snapshot has more than events
    lines = (folder / 'plain.ndjson').read_bytes()
    (folder / 'packed').write_bytes(gzip.compress(lines))
    write_result(folder, scene)
    for name in ('packed', *(PATH + ending for ending in ENDINGS)):
        if name != 'packed':
            play(folder, 'trace', 'convert', '-q', first, name)
        equal(content(folder, name), content(folder, first), f'content of {name}')
        play(folder, 'trace', 'convert', '-q', name, 'back.ndjson')
        equal((folder / 'back.ndjson').read_bytes(), lines, f'{name} as lines again')
        play(folder, 'trace', 'info', name)
        out = play(folder, 'run', '-q', *scene.choices, *scene.judged, '--json', 'r.json', name,
                   wanted=(0, 3) if scene.snapshot else scene.status)
        if not scene.snapshot and out.status in (0, 3):
            all_same(folder, PATH + '.result', 'r.json')
    play(folder, 'trace', 'info', '-', input=lines)


@cases(*SCENES)
def check_narrow_forms(folder: Path, scene: Scene) -> None:
    """the forms of other people are read back, and written the same again"""
    trace = write_trace(folder, scene)
    for form in ('minimalloc', 'rmm'):
        if scene.devices > 1:
            play(folder, 'trace', 'convert', '-q', '-t', form, trace, 'x', wanted=2)
            continue
        play(folder, 'trace', 'convert', '-q', '-t', form, trace, form)
        if scene.name == 'no events':
            play(folder, 'trace', 'info', '-q', form, wanted=4)          # a head without rows
            continue
        # times of minimalloc are steps, of which a reader makes its own
        play(folder, 'trace', 'convert', '-q', '-t', form, form, 'second')
        play(folder, 'trace', 'convert', '-q', '-t', form, 'second', 'third')
        equal((folder / 'third').read_bytes(), (folder / 'second').read_bytes(), f'{form} again')
        play(folder, 'trace', 'convert', '-q', form, 'back.ndjson')
        play(folder, 'trace', 'info', '-q', form)
        play(folder, 'run', '-q', *scene.choices, form, wanted=(0, 3))


@cases(*SCENES)
def check_transforms(folder: Path, scene: Scene) -> None:
    """what slice, merge, anonymize and shrink write is read"""
    trace = write_trace(folder, scene)
    for ending in ENDINGS[:3]:
        name = PATH + 'cut' + ending
        commands = [('trace', 'anonymize'), ('trace', 'merge', trace)]
        if scene.name != 'no events':
            commands += [('trace', 'slice', '--from-step', '1', '--to-step', '6')]
        if scene.marks:
            commands += [('trace', 'slice', '--from-mark', scene.mark), ('trace', 'slice', '--to-mark', scene.mark)]
        if scene.devices > 1:
            commands += [('trace', 'slice', '--only-device', '1')]
        for command, *words in commands:
            play(folder, command, *words, '-q', trace, name)
            play(folder, 'trace', 'info', '-q', name)
            play(folder, 'run', '-q', *scene.choices, name, wanted=(0, 3))
            if words[0] == 'anonymize':
                play(folder, 'trace', 'convert', '-q', name, 'plain.ndjson')
                assert b'<!--' not in (folder / 'plain.ndjson').read_bytes(), 'words are left'


@cases(*SCENES)
def check_shrink(folder: Path, scene: Scene) -> None:
    """what shrink leaves of a trace runs out of memory still, where it did"""
    trace = write_trace(folder, scene)
    device = scene.options if '--device-bytes' in scene.options else ()
    how = ('-p', scene.policies[0], *device)
    name = PATH + 'small.ndjson'
    play(folder, 'trace', 'shrink', '-q', *how, trace, name, wanted=0 if scene.cause else 2)
    if scene.cause:
        play(folder, 'run', '-q', *how, name, wanted=3)


ANSWERS = ('text', 'markdown', 'json', 'csv')


@cases(*SCENES)
def check_fit(folder: Path, scene: Scene) -> None:
    """fit and tune, in each format"""
    trace = write_trace(folder, scene)
    policies = [word for policy in scene.policies for word in ('-p', policy)]
    (folder / 'grid').write_text('expandable_segments:True\nmax_split_size_mb:64\n')
    for words in (('fit', '--map', *policies), ('fit',),
                  ('fit', '--headroom', '--device-bytes', '1GiB', *policies),
                  ('fit', '--settings', 'grid', *policies),
                  ('fit', '--settings', 'grid', '--device-bytes', '1GiB', '--test', trace)):
        play(folder, *words, '-q', *files_of(ANSWERS), trace, wanted=(0, 1))
        for name in ANSWERS:
            out = play(folder, *words, '--format', name, trace, wanted=(0, 1)).out
            said = parsed(name, out)
            equal((folder / f'{PATH}.{ENDING[name]}').read_bytes(), out, f'{name} in a file')
            if name == 'json':
                equal(said['traces'][0]['path'], trace, 'path')
    play(folder, 'fit', '-q', trace, trace, wanted=(0, 1))


@cases(*SCENES)
def check_sweep(folder: Path, scene: Scene) -> None:
    """sweep, in three shards: what diff finds the same as a result of run"""
    trace = write_trace(folder, scene)
    policies = [word for policy in scene.policies for word in ('-p', policy)]
    for shard in range(3):
        play(folder, 'sweep', '-q', *policies, '-o', 'swept', '--shard', f'{shard}/3', trace)
    play(folder, 'sweep', '-q', '--merge', 'swept')
    play(folder, 'run', '-q', *policies, '--json', 'run.json', trace, wanted=(0, 3))
    all_same(folder, 'run.json', 'swept/merged.ndjson')


FAILURES = ('request_too_large', 'capacity', 'transient', 'pending', 'limit', 'tight', 'fragmentation')


@cases(*SCENES)
def check_explain(folder: Path, scene: Scene) -> None:
    """explain, at an out-of-memory where there is one, and at marks"""
    trace = write_trace(folder, scene)
    device = scene.options if '--device-bytes' in scene.options else ()
    for number, policy in enumerate(scene.policies):
        how = ('explain', '-p', policy, *device)
        play(folder, *how, trace)
        out = play(folder, *how, '-q', '--moves', '2', '--folded', PATH + 'folded', '--json', '-',
                   trace).out
        said = json.loads(out)
        equal(said['trace']['path'], trace, 'path')
        equal(len(said['moments']), scene.devices, 'moments')
        first = [x for x in said['moments'] if x['kind'] == 'oom']
        if number == 0:
            equal(bool(first), bool(scene.cause), 'out of memory')
        assert all(x['verdict'] in FAILURES for x in first), 'no verdict'
        for line in (folder / (PATH + 'folded')).read_bytes().splitlines():
            assert line.rpartition(b' ')[2].isdigit(), f'no folded line: {line}'
    if scene.marks and not scene.cause:
        out = play(folder, *how, '-q', '--at', scene.mark, '--json', '-', trace).out
        equal(json.loads(out)['moments'][0]['kind'], 'mark', 'kind')


@cases(*SCENES)
def check_predict_numbers(folder: Path, scene: Scene) -> None:
    """predict from a program whose sizes do not depend on the number, in each format"""
    trace = write_trace(folder, scene)
    policies = [word for policy in scene.policies for word in ('-p', policy)]
    recordings = (f'{trace}=1', f'{trace}=2', '--at', '4')
    for words in ((), tuple(policies), ('--largest', '--device-bytes', '1GiB')):
        play(folder, 'predict', *words, '-q', '--json', PATH + '.json', *recordings,
             wanted=(0, 1))
        for name in ANSWERS:
            parsed(name, play(folder, 'predict', *words, '--format', name, *recordings,
                              wanted=(0, 1)).out)
        json.loads((folder / (PATH + '.json')).read_bytes())
    play(folder, 'predict', '-q', *recordings, '--trace', PATH + '.at4.json')
    play(folder, 'run', '-q', PATH + '.at4.json', wanted=(0, 3))


@cases(*SCENES)
def check_predict_changes(folder: Path, scene: Scene) -> None:
    """predict changes, in each format; and the changed trace, which is one as any"""
    trace = write_trace(folder, scene)
    changes = ('--isolate', 'by=life', '--split', '1000000', '--hoist', '--preallocate', '1MiB')
    for words in ((), tuple(word for policy in scene.policies for word in ('-p', policy))):
        play(folder, 'predict', *words, '-q', '--json', PATH + '.json', trace, *changes,
             wanted=(0, 1))
        for name in ANSWERS:
            parsed(name, play(folder, 'predict', *words, '--format', name, trace, *changes,
                              wanted=(0, 1)).out)
        json.loads((folder / (PATH + '.json')).read_bytes())
    play(folder, 'predict', '-q', trace, *changes, '--trace', PATH + '.changed.json')
    play(folder, 'run', '-q', PATH + '.changed.json', wanted=(0, 3))


@cases(*SCENES)
def check_leaks(folder: Path, scene: Scene) -> None:
    """leaks, in each format, of the scene's program five times over"""
    trace = write_trace(folder, scene)
    marks = [json.dumps({'op': 'mark', 'name': f'{WORD} {i}'}) for i in range(6)]
    (folder / 'again.ndjson').write_text('\n'.join(
        [json.dumps({'format': 'fragsim-trace', 'version': 1})]
        + [line for i, mark in enumerate(marks)
           for line in (mark, json.dumps({'op': 'alloc', 'id': i, 'size': 1 << 20, 'tag': WORD}))]))
    # a scene has less than six iterations
    play(folder, 'leaks', trace)
    play(folder, 'leaks', '--mark', 'no such mark', trace, wanted=4)
    for name in ANSWERS:
        out = play(folder, 'leaks', '--format', name, 'again.ndjson').out
        parsed(name, out)
        play(folder, 'leaks', '-q', *files_of([name]), 'again.ndjson')
        equal((folder / f'{PATH}.{ENDING[name]}').read_bytes(), out, f'{name} in a file')
    play(folder, 'leaks', '-q', '--fail-if', 'leak > 1000000', 'again.ndjson', wanted=1)
    said = json.loads(play(folder, 'leaks', '--format', 'json', 'again.ndjson').out)
    equal([x['tag'] for x in said['leaks']], [WORD], 'tag')


@cases(*SCENES)
def check_plan(folder: Path, scene: Scene) -> None:
    """plan, in each format, and the plan that it writes believed again"""
    trace = write_trace(folder, scene)
    for name in ANSWERS:
        parsed(name, play(folder, 'plan', '--format', name, trace).out)
    play(folder, 'plan', '-q', '--alone', '--plan', PATH + '.plan', trace)
    play(folder, 'plan', '-q', '--alone', '--check', PATH + '.plan', trace)
    said = json.loads(play(folder, 'plan', '--format', 'json', '--check', PATH + '.plan', trace).out)
    equal(said['height'], json.loads((folder / (PATH + '.plan')).read_bytes())['height'], 'height')


@cases(*SCENES)
def check_ranks(folder: Path, scene: Scene) -> None:
    """ranks, in each format: three times the scene, and a program that is another one"""
    trace = write_trace(folder, scene)
    (folder / 'odd.ndjson').write_text(
        '{"format":"fragsim-trace","version":1}\n'
        + json.dumps({'op': 'alloc', 'id': 1, 'size': 1 << 40, 'tag': WORD}))
    device = scene.options if '--device-bytes' in scene.options else ()
    for policy in scene.policies:
        how = ('ranks', '-p', policy, *device, trace, trace, trace, 'odd.ndjson')
        for name in ANSWERS:
            out = play(folder, *how, '--format', name).out
            parsed(name, out)
            play(folder, *how, '-q', *files_of([name]))
            equal((folder / f'{PATH}.{ENDING[name]}').read_bytes(), out, f'{name} in a file')
        said = json.loads(play(folder, *how, '--json', '-').out)
        odd = said['ranks'][-1]
        assert odd['apart'], f'the odd one does not stand out under {policy}'
        equal(odd['oom']['tag'] if odd['oom'] else odd['differences'][0]['tag'], WORD, 'tag')
    play(folder, 'ranks', '-q', '--fail-if', 'apart > 0', trace, trace, trace, 'odd.ndjson', wanted=1)


@cases(*SCENES)
def check_exports(folder: Path, scene: Scene) -> None:
    """runs in other people's forms are whole, and a snapshot is read back"""
    trace = write_trace(folder, scene)
    for number, policy in enumerate(scene.policies):
        foreign = '--alloc-conf' in scene.options and policy != 'pytorch'
        settings = () if foreign else scene.options
        how = ('trace', 'convert', '-q', '-p', policy, *settings)
        stacks = ('--stacks', 'all') if number == 0 else ()
        play(folder, *how, *stacks, '-t', 'perfetto', trace, PATH + 'perfetto')
        json.loads((folder / (PATH + 'perfetto')).read_bytes())
        play(folder, 'trace', 'info', '-q', PATH + 'perfetto', wanted=4)         # counters are no events
        play(folder, *how, *stacks, '-t', 'sqlite', trace, PATH + 'sqlite', wanted=(0, 2))
        name = f'{PATH}{number}.pickle' + ('', '.gz', '.zst')[number % 3]
        play(folder, *how, *stacks, trace, name)
        # PyTorch's decisions are the same again; where there was none there is nothing to verify
        certain = policy == 'pytorch' and scene.decided
        play(folder, 'verify', name, wanted=0 if certain else (0, 1, 4))
        play(folder, 'trace', 'info', '-q', name, wanted=(0, 4))
        for stacks in ('top', 'all'):
            play(folder, 'run', '-q', '--stacks', stacks, '-p', 'pytorch', '-p', 'bestfit', name,
                 wanted=(0, 3, 4))
        play(folder, 'trace', 'convert', '-q', '--stacks', 'all', name, PATH + 'again.fsb', wanted=(0, 4))


def made_files(folder: Path, scene: Scene) -> list[str]:
    """One of each file that fragsim writes; the trace is there."""
    result = write_result(folder, scene)
    files = {name: PATH + name for name in (
        'steps.csv', 'steps.ndjson', 'places', 'info', 'policies', 'base', 'fsb', 'minimalloc',
        'pickle', 'perfetto')}
    files |= {name: f'{PATH}.{ending}' for name, ending in ENDING.items()}
    for option, name in (('--steps', 'steps.csv'), ('--steps', 'steps.ndjson'),
                         ('--placements', 'places')):
        play(folder, 'run', '-q', option, files[name], TRACE, wanted=(0, 3))
    play(folder, 'trace', 'info', '-q', '--json', files['info'], TRACE)
    play(folder, 'list', 'policies', '--json', files['policies'])
    play(folder, 'diff', '-q', '-b', files['base'], '--update-baseline', '-p', 'buddy', TRACE)
    play(folder, 'diff', '-q', *files_of(FORMATS), result, result)
    play(folder, 'trace', 'convert', '-q', TRACE, files['fsb'], '-t', 'fsb')
    play(folder, 'trace', 'convert', '-q', '-t', 'snapshot', TRACE, files['pickle'])
    play(folder, 'trace', 'convert', '-q', '-t', 'perfetto', TRACE, files['perfetto'])
    if scene.devices == 1:
        play(folder, 'trace', 'convert', '-q', '-t', 'minimalloc', TRACE, files['minimalloc'])
    return [TRACE, result, *(name for name in files.values() if (folder / name).exists())]


# where X stands, a file of any kind
READERS = (
    ('run', 'X'), ('run', '--profile', 'X', TRACE), ('trace', 'info', 'X'), ('verify', 'X'),
    ('trace', 'convert', 'X', 'out.json'), ('trace', 'convert', '-t', 'snapshot', 'X', 'out'),
    ('trace', 'slice', '--from-step', '1', 'X', 'out.json'), ('trace', 'merge', 'X', 'X', 'out.json'),
    ('trace', 'anonymize', 'X', 'out.json'), ('trace', 'shrink', 'X', 'out.json'), ('diff', '-p', 'buddy', 'X'),
    ('diff', 'X', 'X'), ('diff', '-b', 'X'),
    ('diff', '-b', 'X', '--update-baseline', '-p', 'buddy', TRACE),
    ('diff', '--profile', 'X', '-p', 'buddy', TRACE), ('fit', 'X'), ('fit', '--profile', 'X', TRACE),
    ('leaks', 'X'), ('plan', '--alone', 'X'), ('plan', '--check', 'X', TRACE),
    ('ranks', 'X', 'X'), ('ranks', '--profile', 'X', TRACE),
    ('run', '-o', 'out.html', 'X'), ('diff', '-p', 'buddy', '-o', 'out.html', 'X'),
    ('fit', '-p', 'buddy', '-o', 'out.html', 'X'), ('explain', '-o', 'out.html', 'X'),
    ('fit', '--settings', 'short', 'X'), ('fit', '--settings', 'X', TRACE),
    ('explain', 'X'), ('explain', '--profile', 'X', TRACE),
    ('predict', '--at', '3', 'X=1', 'X=2'), ('predict', '--hoist', 'X'),
    ('sweep', '-p', 'buddy', '-o', 'new', 'X'))


@cases(*(x for x in SCENES if x.name in ('fragmentation', 'devices', 'initial pool')))
def check_every_reader(folder: Path, scene: Scene) -> None:
    """every file is taken by every command, or refused with a message"""
    took = set()
    for name in made_files(folder, scene):
        whole = (folder / name).read_bytes()
        for command, *words in READERS:
            given = [name + word[1:] if word.partition('=')[0] == 'X' else word for word in words]
            out = play(folder, command, *given, '-q', wanted=(0, 1, 2, 3, 4))
            if out.status in (0, 1, 3):
                took.add((command, name))
            (folder / name).write_bytes(whole)
    for command, name in (('run', 'fsb'), ('diff', '.result'), ('diff', 'base')):
        assert (command, PATH + name) in took, f'{command} refuses {name}'


def check_profile(folder: Path, name: str) -> None:
    """run and diff take the profile of a replay, whatever the device is called."""
    document = json.loads((folder / name).read_bytes())
    document['device']['name'] = WORD
    for ascii_only in (False, True):
        (folder / name).write_text(json.dumps(document, ensure_ascii=ascii_only))
        out = play(folder, 'run', '-q', '--profile', name, '--json', 'r.json', TRACE, wanted=(0, 3))
        run = json.loads((folder / 'r.json').read_bytes())['runs'][0]
        equal(run['device']['name'], WORD, 'name')
        all_same(folder, 'r.json', 'r.json')
        play(folder, 'run', '--profile', name, TRACE, wanted=out.status)
        for kind in FORMATS:
            parsed(kind, play(folder, 'diff', '-p', 'direct', '-p', 'buddy', '--profile', name,
                              '--format', kind, TRACE).out)


@cases(*(x for x in SCENES if not x.snapshot))
def check_replay(folder: Path, scene: Scene) -> None:
    """replay, and what it writes"""
    trace, result, profile = write_trace(folder, scene), PATH + '.replayed', PATH + '.profile'
    how = {'program': harness.PROGRAM + '-standin',
           'env': {**os.environ, 'FRAGSIM_STANDIN': 'gpus=4 total=1073741824'}}
    if not os.access(how['program'], os.X_OK):
        raise harness.Skip('there is no stand-in')
    gpus = [word for i in range(scene.devices) for word in ('-d', i)]
    words = ('replay', *gpus, *scene.replayed, '--limit', '16MiB')
    for more in ((), ('--verify', '--probe', 'marks'), ('--json', '-'), ('--steps', '-'),
                 ('--placements', '-')):
        play(folder, *words, *more, trace, wanted=(0, 3), **how)
    learn = ('--write-profile', profile) if scene.devices == 1 else ()
    play(folder, *words, '-q', '--json', result, *learn, '--steps', 's.csv', trace, wanted=(0, 3),
         **how)
    rows((folder / 's.csv').read_bytes())
    read = json.loads((folder / result).read_bytes())
    equal(read['trace']['path'], trace, 'path')
    all_same(folder, result, result)
    for name in FORMATS:
        parsed(name, play(folder, 'diff', '--format', name, result, result).out)
    if learn:
        check_profile(folder, profile)
    play(folder, 'replay', '-q', *gpus, '--allocator', 'cuda-async', '--on-oom', 'continue',
         '--limit', '16MiB', '--json', result, trace, wanted=(0, 3), **how)
    play(folder, 'diff', '-q', '--gate', '--allow-partial', result, result)


@test
def check_refused(folder: Path) -> None:
    """documents of one string with each escape are refused, and nothing else happens"""
    write_trace(folder, DONE)
    for word in (WORD, '\n', '"', '\\', '\x00', 'é', '😀', 'x' * 5000 + '\n'):
        for document in ({word: 1}, {'x': word}, [word], word, {'format': word},
                         {'format': 'fragsim-result', word: word},
                         {'format': 'fragsim-profile', 'version': 1, 'device': {'name': word}}):
            (folder / 'x').write_text(json.dumps(document))
            play(folder, 'diff', 'x', 'x', wanted=4)
            play(folder, 'run', '--profile', 'x', TRACE, wanted=4)


@test
def check_lists(folder: Path) -> None:
    """commands that read no trace, and the forms of what gen writes"""
    play(folder, 'list', 'policies')
    play(folder, 'trace', 'gen', '--list')
    equal(play(folder, 'list', 'policies', '--json', PATH).out, b'', 'standard output')
    json.loads((folder / PATH).read_bytes())
    assert play(folder, 'complete', '--', 'run', '--po').out, 'nothing to complete'
    play(folder, 'trace', 'gen', 'qkv', '-o', PATH)
    play(folder, 'trace', 'gen', 'qkv', '--object', '-o', 'object')
    equal(content(folder, PATH), content(folder, 'object'), 'content')
    all_forms = play(folder, 'trace', 'convert', '-', '-', input=(folder / 'object').read_bytes())
    equal(all_forms.out, (folder / PATH).read_bytes(), 'the object as lines')


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    harness.PROGRAM = os.path.abspath(argv[1])
    if not os.access(harness.PROGRAM, os.X_OK):
        print(f'Bail out! {argv[1]} is not a program')
        return 1
    return harness.run_all()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
