"""checks_files.py - results and baselines that are compared: what they say, and what is wrong."""

import copy
import json
import os
import re
import random
import signal
import subprocess
from collections.abc import Iterator

from stage import PATIENCE, ROOT, Stage
from schemas import schema as schema_of
from tap import Tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

EVENTS = [
    {'op': 'mark', 'name': 'one'}, {'op': 'alloc', 'id': 1, 'size': '3MiB'},
    {'op': 'mark', 'name': 'two'}, {'op': 'alloc', 'id': 2, 'size': 1000},
    {'op': 'free', 'id': 1}, {'op': 'mark', 'name': 'three'}]
# what comparisons never look at
UNUSED = ('overhead_bytes', 'tool.name', 'message', 'pytorch', 'answer', 'evidence', 'scope', 'bound',
          'at_least')
# of many sizes, each below 2^53
SUMS = ('requested', 'allocated', 'active', 'reserved', 'free', 'largest_free', 'releasable',
        'non_releasable', 'waste', 'wasted', 'process_used', 'lower_bound', 'driver_ns', 'calls',
        'unmeasured_calls')


def results(stage: Stage) -> tuple[str, str]:
    """Two results of one trace: bestfit reserves 4 MiB for 3 and 1000 bytes, direct 3 and then
    two more of the 1 MiB pages that the device has."""
    trace = stage.trace('small', EVENTS, {'granularity_bytes': '1MiB'})
    stage.run('run', '-q', '-p', 'bestfit', '--json', 'base.json', trace)
    stage.run('run', '-q', '-p', 'direct', '--json', 'new.json', trace)
    return 'base.json', 'new.json'


def check_places(tap: Tap, stage: Stage) -> None:
    """On paper: bestfit reserves 4 MiB at step 1, and its rest serves step 3. direct has 3 MiB at
    mark two and 1 MiB at mark three, after the free; it allocates whole pages."""
    base, new = results(stage)
    pair = stage.json('diff', base, new)['traces'][0]['runs'][0]
    mib = 1 << 20
    wanted = {
        'first': ('mark', 2, 'two', 4 * mib, 3 * mib, 3 * mib, 3 * mib),
        'largest': ('mark', 5, 'three', 4 * mib, 1 * mib, 1024, 1 * mib)}
    got = {key: tuple(pair[key][x] for x in ('at', 'step', 'mark', 'base_reserved', 'reserved',
                                             'base_allocated', 'allocated'))
           for key in wanted}
    tap.result('where two results part, and differ most', [] if got == wanted else [str(got)])
    reserved = pair['figures']['peak.reserved']
    tap.result('two policies in two results are compared by place', [] if (
        reserved['base'], reserved['value'], reserved['percent'], reserved['verdict']) == (
        4 * mib, 4 * mib, 0, 'same') else [str(reserved)])
    tap.result('a result is what it is', [] if stage.json('diff', base, base)['traces'][0]['runs'][
        0]['verdict'] == 'same' else ['not the same'])


def check_conditions(tap: Tap, stage: Stage) -> None:
    base, _ = results(stage)
    old = stage.read(base)
    changes = (
        ('the tool', lambda x: x['tool'].update(version='9.8.7'), 'fragsim 0.1.0, before 9.8.7'),
        ('the trace', lambda x: x['trace'].update(content='00'), 'the trace itself: content'),
        ('the events', lambda x: x['trace'].update(events=7), 'events: 6, before 7'),
        ('the end', lambda x: x['trace'].update(complete=False),
         'not read to its end: the base'),
        ('the device', lambda x: x['runs'][0]['device'].update(total_bytes=1 << 30),
         'device total: 0 (0 bytes), before 1073741824 (1.00 GiB)'),
        ('a key', lambda x: x['runs'][0]['policy']['params'].update(align=256),
         'policy key align: 512, before 256'),
        ('a key that is new', lambda x: x['runs'][0]['policy']['params'].pop('align'),
         'policy key align: 512, before there was none'),
        ('a key that is gone', lambda x: x['runs'][0]['policy']['params'].update(zeal='a,b'),
         'policy key zeal: there is none, before a,b'),
        ('the status', lambda x: x['runs'][0].update(status='interrupted'),
         'interrupted: the base'),
    )
    for name, change, words in changes:
        changed = copy.deepcopy(old)
        change(changed)
        text = stage.run('diff', stage.write('changed.json', changed), base).stdout
        # said before the first figure is
        head = text.split('difference\n')[0].split('    they diverge')[0]
        tap.result(f'a condition that differs: {name}', [] if words in head else [text])


def counterpart(bases: list, runs: list, i: int) -> dict | None:
    """As fragsim-diff(1) says it: by the policy as written, else by its keys, on the same
    device, the second of two that are alike to the second, what is left to the last; by place
    where both have as many runs, and neither policy is on the other side."""
    keys = (lambda x: (x['device']['ordinal'], x['policy']['text']),
            lambda x: (x['device']['ordinal'], x['policy']['name'], x['policy']['params']))

    def like(all_: list, mine: list, i: int) -> dict | None:
        for key in keys:
            alike = [x for x in all_ if key(x) == key(mine[i])]
            before = sum(key(x) == key(mine[i]) for x in mine[:i])
            if alike:
                return alike[min(before, len(alike) - 1)]
        return None
    base = like(bases, runs, i)
    if base or len(bases) != len(runs) or like(runs, bases, i) \
            or bases[i]['device']['ordinal'] != runs[i]['device']['ordinal']:
        return base
    return bases[i]


def check_counterparts(tap: Tap, stage: Stage) -> None:
    """Many runs in any order; the reserved peak is the run's own number."""
    path, _ = results(stage)
    document = stage.read(path)
    draw = random.Random(1)

    def many(count: int, first: int, letters: str) -> dict:
        runs = []
        for i in range(count):
            run = copy.deepcopy(document['runs'][0])
            run['device']['ordinal'] = draw.randrange(3)
            run['policy'] = {'name': draw.choice(letters), 'params': {'k': draw.randrange(40)},
                             'text': draw.choice(letters) + str(draw.randrange(40))}
            run['peak']['reserved'] = first + i
            runs.append(run)
        return document | {'runs': runs}

    faults = []
    for count, other, letters in ((1, 1, 'xy'), (150, 150, 'ab'), (150, 151, 'ab'), (150, 150, 'cd')):
        base, now = many(count, 1000, 'ab'), many(other, 5000, letters)
        stage.write('many_base.json', base)
        stage.write('many_now.json', now)
        found = stage.json('diff', 'many_base.json', 'many_now.json')['traces'][0]['runs']
        pairs = [counterpart(base['runs'], now['runs'], i) for i in range(other)]
        wanted = [(5000 + i, pair and pair['peak']['reserved']) for i, pair in enumerate(pairs)]
        missing = {x['peak']['reserved'] for x in base['runs']} - {y for _, y in wanted}
        wanted += [(None, y) for y in sorted(missing)]
        got = [(x.get('value'), x.get('base')) for x in
               (run['figures']['peak.reserved'] for run in found)]
        faults += [f'{g}, not {w}' for g, w in zip(got, wanted) if g != w][:3]
        faults += [f'{len(got)} pairs, not {len(wanted)}'] * (len(got) != len(wanted))
    tap.result('which of many runs are compared', faults)


def leaves(document: object, path: tuple = ()) -> Iterator[tuple]:
    """The paths of all members of objects."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield (*path, key)
            yield from leaves(value, (*path, key))
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from leaves(value, (*path, i))


def inner(document: object, path: tuple) -> object:
    for key in path:
        document = document[key]
    return document


def spelt(path: tuple) -> str:
    text = ''
    for key in path:
        text += f'[{key}]' if isinstance(key, int) else ('.' if text else '') + key
    return text


def mutants(document: dict) -> Iterator[tuple[str, dict, str]]:
    """With a member out, or of another kind: the mutant, and the place that has to be named."""
    for path in leaves(document):
        place = spelt(path)
        if path[0] in UNUSED or any(x in UNUSED for x in path) or place in UNUSED \
                or 'params' in path[:-1] or path[-1] in ('id', 'name') and 'oom' in path:
            continue
        without = copy.deepcopy(document)
        del inner(without, path[:-1])[path[-1]]
        if path[-1] not in ('course',):
            yield f'no {place}', without, place
        other = copy.deepcopy(document)
        inner(other, path[:-1])[path[-1]] = [{}] if not isinstance(inner(document, path), list) \
            else 'text'
        yield f'another kind: {place}', other, place
        if isinstance(inner(document, path), int) and not isinstance(inner(document, path), bool) \
                and path[-1] != 'device_free':
            most = 2**63 if path[-1] in SUMS or 'stretches' in path else 2**53
            for value in (-1, 1.5, most, 1e300):
                other = copy.deepcopy(document)
                inner(other, path[:-1])[path[-1]] = value
                yield f'{value}: {place}', other, place


def check_mutants(tap: Tap, stage: Stage, name: str, document: dict, good: str, step: int) -> None:
    faults, count = [], 0
    for i, (what, mutant, place) in enumerate(mutants(document)):
        if i % step:
            continue
        count += 1
        done = stage.run('diff', stage.write('mutant.json', mutant), good,
                         statuses=(0, 1, 2, 3, 4, 6))
        if done.returncode != 4 or not done.stderr.startswith('fragsim: mutant.json: ') \
                or place not in done.stderr or done.stderr.count('\n') != 1 or done.stdout:
            faults.append(f'{what}: {done.returncode}: {done.stderr}')
    tap.result(f'{count} mutants of {name} are refused, and the member named', faults)


def check_version_1(tap: Tap, stage: Stage) -> None:
    """Documents of version 1, and of a sweep from when a baseline had a writer of its own."""
    for name in ('result.json', 'baseline.json', 'merged.ndjson', 'small.ndjson'):
        (stage.folder / name).write_bytes((ROOT / 'tests/commands/diff/version_1' / name).read_bytes())
    stage.run('run', '-q', '-p', 'bestfit', '-p', 'pytorch', '--json', 'now.json', 'small.ndjson',
              statuses=(3,))
    for title, args, said in (
            ('a result', ('result.json', 'now.json'), '2 runs compared: 2 same'),
            ('a baseline', ('-b', 'baseline.json', 'small.ndjson'), '2 runs compared: 2 same'),
            ('a sweep', ('-b', 'merged.ndjson', 'small.ndjson'), '2 runs compared: 2 same'),
            ('a condition', ('-b', 'baseline.json', '--fail-if', 'peak.stranded > 1KiB',
                             'small.ndjson'), 'peak.non_releasable is 5241856, as before')):
        done = stage.run('diff', *args, statuses=(0, 1))
        tap.result(f'{title} of version 1 is read',
                   [] if said in done.stdout and not done.stderr else [str(done)])


def check_damage(tap: Tap, stage: Stage, good: str) -> None:
    whole = (stage.folder / good).read_bytes()
    cases = {f'cut at {n}': whole[:n] for n in range(0, len(whole) - 2, len(whole) // 23)}
    cases |= {
        'something behind it': whole + b'x', 'twice': whole + whole,
        'a leading zero': whole.replace(b'"steps":\t6', b'"steps":\t06'),
        'a comment': b'/* */' + whole, 'a NUL': whole[:9] + b'\0' + whole[10:],
        'invalid UTF-8': whole.replace(b'fragsim-result', b'fragsim-\xff'),
        'a lone surrogate': whole.replace(b'fragsim-result', b'\\ud800'),
        'a trailing comma': whole.rstrip()[:-1] + b',}',
        'too deep': b'[' * 65 + b']' * 65, 'another format': b'{"format":"x","version":1}',
        'no object': b'7', 'a later version': whole.replace(b'"version":\t2,', b'"version":\t3,'),
        'too many keys': whole.replace(b'"align":', b'"k":\t1,' * 4097 + b'"align":'),
        'a device of no granularity': re.sub(rb'"granularity_bytes":\t\d+', b'"granularity_bytes":\t0', whole),
        'an ordinal of 33 bits': whole.replace(b'"ordinal":\t0', b'"ordinal":\t8589934592'),
        'a member twice': whole.replace(b'"version":\t2,', b'"version":\t2,"version":\t2,'),
    }
    faults = []
    for name, text in cases.items():
        if text == whole:
            faults.append(f'{name}: no change')
        (stage.folder / 'damaged.json').write_bytes(text)
        done = stage.run('diff', 'damaged.json', good, statuses=(0, 1, 2, 3, 4, 6))
        if done.returncode != 4 or 'fragsim: damaged.json:' not in done.stderr \
                or done.stderr.count('\n') != 1 or done.stdout:
            faults.append(f'{name}: {done.returncode}: {done.stderr}')
    tap.result(f'{len(cases)} damaged results are refused', faults)


def check_schemas(tap: Tap, stage: Stage, documents: dict) -> None:
    if not jsonschema:
        tap.skip('schemas', 'python3-jsonschema is not installed')
        return
    schemas = {name: schema_of(name)
               for name in ('result', 'baseline', 'comparison')}
    for name, document in documents.items():
        validator = jsonschema.Draft202012Validator(schemas[name.split()[0]])
        tap.result(f'the schema takes: {name}', [
            f'{list(e.absolute_path)}: {e.message}' for e in validator.iter_errors(document)])
    of_baseline = schemas['baseline']['properties']['traces']['items']['properties']['runs']['items']
    of_result = schemas['result']['properties']['runs']['items']
    tap.result('a baseline calls things what a result calls them', [
        part for part in ('policy', 'device', 'peak', 'last', 'fi', 'counts', 'modelled')
        if of_baseline['properties'][part]['properties'] != of_result['properties'][part]['properties']])
    bad = 0
    document = documents['baseline']
    validator = jsonschema.Draft202012Validator(schemas['baseline'])
    faults = []
    for what, mutant, _ in mutants(document):
        bad += 1
        if validator.is_valid(mutant) and not what.startswith(
                ('9007199254740992', '9223372036854775808', '1e+300')):
            faults.append(what)
    tap.result(f'the schema refuses {bad} mutants of a baseline', faults)


def check_baseline(tap: Tap, stage: Stage) -> None:
    trace = stage.trace('small', EVENTS)
    make = ('diff', '-q', '-b', 'b.json', '--update-baseline', '-p', 'bestfit', '-p', 'pytorch')
    done = stage.run('diff', '-b', 'none.json', '-p', 'bestfit', trace, statuses=(4,))
    tap.result('no baseline: how one is made', [] if '--update-baseline' in done.stderr
               else [done.stderr])
    stage.run(*make, trace)
    first = (stage.folder / 'b.json').read_bytes()
    stage.run(*make, trace)
    tap.result('a baseline that is made again is the same',
               [] if first == (stage.folder / 'b.json').read_bytes() else ['other bytes'])
    compared = stage.json('diff', '-b', 'b.json')
    got = [(x['run']['policy'], x['verdict']) for x in compared['traces'][0]['runs']]
    tap.result('policies and traces of the baseline', [] if got == [
        ('bestfit', 'same'), ('pytorch', 'same')] else [str(got)])
    subset = stage.json('diff', '-b', 'b.json', '-p', 'pytorch')
    tap.result('some of its policies', [] if [
        x['run']['policy'] for x in subset['traces'][0]['runs']] == ['pytorch'] else [str(subset)])
    stage.run('run', '-q', '--json', 'r.json', '-p', 'bestfit', '-p', 'pytorch', trace)
    both = stage.json('diff', 'r.json', 'b.json')['traces'][0]['runs']
    tap.result('a result beside a baseline', [] if [x['verdict'] for x in both] == ['same'] * 2
               else [str(both)])
    check_schemas(tap, stage, {'baseline': stage.read('b.json'), 'result': stage.read('r.json'),
                               'comparison of runs': compared,
                               'comparison of policies': stage.json('diff', '-p', 'bestfit', '-p',
                                                                    'buddy', trace)})
    check_mutants(tap, stage, 'a baseline', stage.read('b.json'), 'r.json',
                  9 if os.environ.get('SAN') else 2)


def check_given(tap: Tap, stage: Stage) -> None:
    """Figures that were given hold again; an option on the command line wins."""
    trace = stage.trace('small', EVENTS)
    figures = ('--device-bytes', '64MiB', '--context-bytes', '0', '--granularity', '4MiB')
    wanted = {'total_bytes': 64 << 20, 'context_bytes': 0, 'granularity_bytes': 4 << 20}

    def conditions(*args: str) -> list:
        return stage.json('diff', '-b', 'given.json', *args)['traces'][0]['runs'][0]['conditions']
    stage.run('diff', '-q', '-b', 'given.json', '--update-baseline', '-p', 'direct', *figures,
              trace)
    made = (stage.folder / 'given.json').read_bytes()
    document = stage.read('given.json')
    plain, other = conditions(), conditions('--device-bytes', '80MiB', '--granularity', '2MiB')
    stage.run('diff', '-q', '-b', 'given.json', '--update-baseline')
    tap.result('figures that were given are kept in a baseline, and hold again',
               document['given'] != wanted and document['given'], plain,
               [] if len(other) == 2 and 'total' in other[0] and 'granularity' in other[1]
               else [other],
               [] if (stage.folder / 'given.json').read_bytes() == made else ['made anew'])
    if jsonschema:
        schema = schema_of('baseline')
        tap.result('the schema takes figures that were given',
                   [e.message for e in
                    jsonschema.Draft202012Validator(schema).iter_errors(document)])
    faults = []
    for key, value, words in (('total_bytes', -1, 'given.total_bytes: an integer'),
                              ('granularity_bytes', 0, 'given.granularity_bytes: at least 1'),
                              ('other_bytes', '5', 'given.other_bytes: an integer')):
        document['given'] = {key: value}
        (stage.folder / 'bad.json').write_text(json.dumps(document), encoding='utf-8')
        done = stage.run('diff', '-b', 'bad.json', statuses=(4,))
        faults += [] if words in done.stderr else [done.stderr]
    tap.result('figures that cannot be are refused', faults)


def check_settings(tap: Tap, stage: Stage) -> None:
    trace = stage.trace('small', EVENTS)
    stage.run('diff', '-q', '-b', 'conf.json', '--update-baseline', '-p', 'pytorch', '--alloc-conf',
              'expandable_segments:True,roundup_power2_divisions:4', trace)
    text = stage.read('conf.json')['traces'][0]['runs'][0]['policy']['text']
    same = stage.json('diff', '-b', 'conf.json')['traces'][0]['runs'][0]['verdict']
    tap.result('--alloc-conf is kept in a baseline', [] if text.startswith(
        'pytorch:') and 'expandable_segments=true' in text and same == 'same' else [text, same])


def check_untouched(tap: Tap, stage: Stage) -> None:
    """A run that fails or is ended harms nothing."""
    trace = stage.trace('small', EVENTS)
    stage.run('diff', '-q', '-b', 'b.json', '--update-baseline', '-p', 'bestfit', trace)
    before = (stage.folder / 'b.json').read_bytes()
    (stage.folder / 'broken').write_text('{"op":"alloc"}\n', encoding='ascii')
    stage.run('diff', '-q', '-b', 'b.json', '--update-baseline', '-p', 'bestfit', 'broken',
              statuses=(4,))
    tap.result('a failure leaves the baseline', [] if before == (
        stage.folder / 'b.json').read_bytes() else ['it changed'])
    for args in (('--output', 'b.json', '-b', 'b.json'), ('-b', 'b.json', '--output',
                 trace), ('-p', 'bestfit', trace, '--output', f'./{trace}'),
                 ('-p', 'bestfit', trace, '--output', 'o.csv', '--json', 'o.csv')):
        done = stage.run('diff', *args, statuses=(2,))
        tap.result(f'refused: {" ".join(args)}', [] if done.stderr.count('\n') == 1
                   else [done.stderr])
    os.mkfifo(stage.folder / 'pipe')
    child = subprocess.Popen([str(stage.program), 'diff', '-b', 'b.json', '--update-baseline',
                              '-p', 'bestfit', 'pipe'], cwd=stage.folder,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(stage.folder / 'pipe', 'w', encoding='ascii') as pipe:
        pipe.write('{"op":"alloc","id":1,"size":1000}\n')
        pipe.flush()
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=PATIENCE)
    names = sorted(x.name for x in stage.folder.iterdir() if x.name.startswith('b.json'))
    tap.result('an interruption leaves the baseline, and says so', [
        fault for fault, holds in (
            (f'status {child.returncode}', child.returncode == 130),
            (out.decode(), b'interrupted' in out),
            ('it changed', before == (stage.folder / 'b.json').read_bytes()),
            (str(names), names == ['b.json'])) if not holds])


def check_failing_writes(tap: Tap, stage: Stage) -> None:
    """A full disk, a file that may not grow, a reader that goes: told, and nothing is harmed."""
    trace = stage.trace('small', EVENTS)
    stage.run('diff', '-q', '-b', 'b.json', '--update-baseline', '-p', 'bestfit', trace)
    before = (stage.folder / 'b.json').read_bytes()
    program = str(stage.program)
    common = f'{program} diff -q -p bestfit -p buddy {trace}'
    cases = {
        f'{common} --format csv -o /dev/full': 'fragsim: /dev/full: No space left on device',
        f'{common} --format csv > /dev/full': 'fragsim: standard output: No space left on device',
        f'ulimit -f 0; {common} -o o.json': 'fragsim: o.json: File too large',
        f'ulimit -f 0; {program} diff -q -b b.json --update-baseline':
            'fragsim: b.json: File too large'}
    faults = []
    for line, wanted in cases.items():
        done = subprocess.run(['sh', '-c', line], cwd=stage.folder, capture_output=True, text=True,
                              check=False, timeout=PATIENCE)
        if done.returncode != 6 or done.stderr != wanted + '\n':
            faults.append(f'{line}: {done.returncode}: {done.stderr}')
    left = {x.name for x in stage.folder.iterdir() if x.name.startswith(('b.json', 'o.json'))}
    if left != {'b.json'} or before != (stage.folder / 'b.json').read_bytes():
        faults.append(f'{left}, or the baseline is another')
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([program, 'diff', '-p', 'bestfit', '--format', 'csv', trace], check=False,
                          cwd=stage.folder, stdout=write, stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(write)
    if (done.returncode, done.stderr) != (6, b''):
        faults.append(f'a reader that has gone: {done.returncode}: {done.stderr}')
    tap.result('writes that fail', faults)


def check(tap: Tap, stage: Stage) -> None:
    check_version_1(tap, stage)
    check_places(tap, stage)
    check_conditions(tap, stage)
    check_counterparts(tap, stage)
    base, _ = results(stage)
    check_mutants(tap, stage, 'a result', stage.read(base), base,
                  9 if os.environ.get('SAN') else 2)
    check_damage(tap, stage, base)
    check_baseline(tap, stage)
    check_given(tap, stage)
    check_settings(tap, stage)
    check_untouched(tap, stage)
    check_failing_writes(tap, stage)
