"""checks_gate.py - conditions and pull requests that are played."""

import json
from pathlib import Path

from stage import ROOT, Stage
from tap import Tap

MIB = 1 << 20


def alternate(live: int) -> list[dict]:
    """Segments of 2 MiB hold two blocks each, and every other block goes: the request of 2 MiB finds
    no hole, although `live` MiB are free."""
    events = [{'op': 'alloc', 'id': i, 'size': '1MiB'} for i in range(2 * live)]
    events += [{'op': 'free', 'id': i} for i in range(0, 2 * live, 2)]
    return [*events, {'op': 'mark', 'name': 'holes'}, {'op': 'alloc', 'id': 'big', 'size': '2MiB'}]


def neighbours(live: int) -> list[dict]:
    """The same, but blocks go in pairs, so that the request finds a whole segment."""
    events = [{'op': 'alloc', 'id': i, 'size': '1MiB'} for i in range(2 * live)]
    events += [{'op': 'free', 'id': i} for i in range(live)]
    return [*events, {'op': 'mark', 'name': 'holes'}, {'op': 'alloc', 'id': 'big', 'size': '2MiB'}]


def commit(stage: Stage, events: list[dict]) -> None:
    """The trace of the program at this commit."""
    stage.trace('model.ndjson', events)


def played(stage: Stage) -> None:
    """A repository with a trace and its baseline."""
    commit(stage, neighbours(4))
    stage.run('diff', '-q', '-b', 'repo.json', '--update-baseline', '-p', 'bestfit',
              'model.ndjson')


def check_worse(tap: Tap, stage: Stage) -> None:
    """8 blocks of 1 MiB: four segments, 8 MiB. With holes in place of pairs the 2 MiB need a
    fifth: 10 MiB, 2 MiB or 25 % more."""
    played(stage)
    commit(stage, alternate(4))
    done = stage.run('diff', '-b', 'repo.json', '--gate', statuses=(1,))
    wanted = ('differs: the trace itself', 'model.ndjson, bestfit', 'worse',
              f'peak.reserved is {10 * MIB}, {2 * MIB} (25.00%) above {8 * MIB}, which fails'
              " 'peak.reserved > +0%'")
    tap.result('a pull request that fragments memory fails the gate, and is told why',
               [x for x in wanted if x not in done.stdout])
    row = next((x for x in done.stdout.splitlines() if x.startswith('    peak.reserved  ')), '')
    tap.result('the table names it', [] if row.split()[1:] == [
        '8.00', 'MiB', '10.00', 'MiB', '+2.00', 'MiB', '+25.00%', 'worse'] else [row])
    tap.result('nothing is called better', [x for x in ('better than before', '--update-baseline')
                                            if x in done.stdout])
    quiet = stage.run('diff', '-q', '-b', 'repo.json', '--gate', statuses=(1,))
    tap.result('and without the text, on standard error', [] if not quiet.stdout and wanted[
        -1] in quiet.stderr else [quiet.stderr])


def check_better(tap: Tap, stage: Stage) -> None:
    commit(stage, alternate(4))
    stage.run('diff', '-q', '-b', 'repo.json', '--update-baseline', '-p', 'bestfit',
              'model.ndjson')
    commit(stage, neighbours(4))
    done = stage.run('diff', '-b', 'repo.json', '--gate', '--allow-new-traces')
    tap.result('a pull request that helps passes, and is named', [
        x for x in ('passed: 1 run, oom is 0, peak.reserved is 8.00 MiB,', 'better than before:',
                    'peak.reserved is 8.00 MiB, before 10.00 MiB (-2.00 MiB)',
                    '--update-baseline') if x not in done.stdout])
    stage.run('diff', '-q', '-b', 'repo.json', '--update-baseline')
    again = stage.run('diff', '-b', 'repo.json', '--gate').stdout
    tap.result('the new measure is taken', [x for x in ('1 run compared: 1 same',)
                                            if x not in again])
    commit(stage, alternate(4))
    stage.run('diff', '-q', '-b', 'repo.json', '--gate', statuses=(1,))
    tap.result('and held', [])


def check_policy_change(tap: Tap, stage: Stage) -> None:
    """Other settings for the same trace: a segment of 16 MiB where 8 MiB did."""
    played(stage)
    done = stage.run('diff', '-b', 'repo.json', '-p', 'bestfit:segment=16MiB', '--gate',
                     'model.ndjson', statuses=(1,))
    tap.result('a pull request that changes the settings', [x for x in (
        'policy key segment: 16777216, before 2097152',
        f'peak.reserved is {16 * MIB}, {8 * MIB} (100.00%) above {8 * MIB}') if x not in
        done.stdout])


def check_new_run(tap: Tap, stage: Stage) -> None:
    played(stage)
    done = stage.run('diff', '-b', 'repo.json', '-p', 'bestfit', '-p', 'buddy', '--gate',
                     statuses=(1,))
    tap.result('a run that the baseline does not have breaks a gate of changes',
               [] if 'the baseline does not have this run' in done.stdout else [done.stdout])
    stage.run('diff', '-b', 'repo.json', '-p', 'bestfit', '-p', 'buddy', '--fail-if', 'oom > 0')
    tap.result('but not one of plain bounds', [])


def check_bounds(tap: Tap, stage: Stage) -> None:
    """The base is 8 MiB and 8 allocs more than 1; now 10 MiB: +25 %, +2 MiB."""
    played(stage)
    commit(stage, alternate(4))
    cases = {
        'peak.reserved > +24.9%': 1, 'peak.reserved > +25%': 0, 'peak.reserved >= +25%': 1,
        'peak.reserved>+2MiB': 0, 'peak.reserved>=+2MiB': 1, 'peak.reserved > +2097151': 1,
        'peak.reserved < -1%': 0, 'peak.reserved > -1%': 1, 'peak.reserved == +25%': 1,
        'peak.reserved != +2MiB': 0, 'peak.reserved > 9MiB': 1, 'peak.reserved > 10MiB': 0,
        'lower_bound > +0%': 0, 'lower_bound >= +0': 1, 'oom>0': 0, 'oom >= +0': 1,
        'any > +1000': 1, 'counts.retries > +5%': 0, 'counts.allocs == 9': 1,
        'last.segments > +0%': 1, 'last.segments > +1': 0, 'fi_device.max > +100': 0,
    }
    faults = []
    for text, status in cases.items():
        done = stage.run('diff', '-b', 'repo.json', '--fail-if', text, statuses=(0, 1, 2))
        if done.returncode != status or (status and text not in done.stdout):
            faults.append(f'{text}: {done.returncode}: {done.stderr}')
    tap.result(f'{len(cases)} bounds', faults)
    wrong = ('peak.reserved > +', 'peak.reserved > +%', 'peak.reserved > +5K%', 'x > +1%',
             'peak.reserved > ++1', 'peak.reserved +2%', 'last.device_free > +1',
             'fi.time_weighted_mean > +1')
    faults = []
    for text in wrong:
        done = stage.run('diff', '-b', 'repo.json', '--fail-if', text, statuses=(0, 1, 2, 4))
        if done.returncode != 2 or done.stderr.count('\n') != 1 or done.stdout:
            faults.append(f'{text}: {done.returncode}: {done.stderr}')
    tap.result(f'{len(wrong)} that are none, or have no value', faults)


def cut(stage: Stage, name: str = 'model.ndjson') -> None:
    """Half of what the trace had."""
    lines = (stage.folder / name).read_text(encoding='utf-8').splitlines(keepends=True)
    (stage.folder / name).write_text(''.join(lines[:1 + len(lines) // 2]), encoding='utf-8')


def check_changed_trace(tap: Tap, stage: Stage) -> None:
    """Of 14 events seven allocs of 1 MiB are left: nothing grows, so that every bound is kept, and
    it is another program all the same."""
    commit(stage, neighbours(4))
    stage.run('diff', '-q', '-b', 'repo.json', '--update-baseline', '-p', 'bestfit', 'model.ndjson')
    stage.run('run', '-q', '-p', 'bestfit', '--json', 'before.json', 'model.ndjson', statuses=(0,))
    cut(stage)
    stage.run('run', '-q', '-p', 'bestfit', '--json', 'after.json', 'model.ndjson')
    words = 'the trace has changed: 7 events, before 14; content '
    ways = {'a baseline': ('-b', 'repo.json'), 'two results': ('before.json', 'after.json')}
    for way, args in ways.items():
        text = stage.run('diff', *args, '--gate', statuses=(1,)).stdout
        head = text.splitlines()
        tap.result(f'a trace that was cut breaks the gate, and is said first: {way}', [
            text for holds in (
                'broken: 1 run compared: 1 ' in head[0], 'passed' not in text,
                head[1] == '  model.ndjson is another trace than before',
                words in text.split('broken:')[-1]) if not holds])
        found = stage.json('diff', *args, '--gate')
        entry = found['gate']['broken'][:1]
        tap.result(f'in JSON: {way}', [str(entry)] if found['gate']['verdict'] != 'broken'
                   or len(found['gate']['broken']) != 1 or not found['traces'][0]['changed']
                   or entry[0]['policy'] is not None or not entry[0]['message'].startswith(words)
                   else [])
        for name, wanted in (
                ('github', '::error file=model.ndjson,title=fragsim%3A another trace than before::'
                 + words), ('markdown', '**Another trace than before:**'),
                ('junit', '<failure message="' + words), ('csv', 'model.ndjson,,,,content,')):
            done = stage.run('diff', *args, '--gate', '--format', name, statuses=(1,))
            lines = done.stdout.splitlines()
            place = {'github': 0, 'markdown': 4, 'junit': 4, 'csv': 1}[name]
            tap.result(f'{name} says it first, and standard error: {way}', [
                line for line, word in ((lines[place], wanted), (done.stderr, words))
                if word not in line])
        for name in ('text', 'markdown', 'json', 'junit', 'github', 'csv'):
            done = stage.run('diff', *args, '--gate', '--allow-new-traces', '--format', name)
            tap.result(f'--allow-new-traces lets it pass: {way}, {name}', [
                done.stdout] if 'broken' in done.stdout.replace('"broken":\t[]', '') else [])
        stage.run('diff', *args, '--fail-if', 'any > +0%')
    stage.trace('second.ndjson', neighbours(2))
    commit(stage, neighbours(4))
    both = ('diff', '-b', 'repo.json', '--gate', '-p', 'bestfit', 'model.ndjson', 'second.ndjson')
    stage.run(*both, statuses=(1,))
    done = stage.run(*both, '--allow-new-traces')
    tap.result('nor does one that the baseline does not have', [
        x for x in ('passed: 1 run compared: 1 same; 1 not in the base',) if x not in done.stdout])
    done = stage.run('diff', '--allow-new-traces', 'before.json', 'after.json', statuses=(2,))
    tap.result('there has to be a gate', [] if '--gate' in done.stderr else [done.stderr])


def check_one_verdict(tap: Tap, stage: Stage) -> None:
    """A result whose index is half a point worse is within the bounds of the gate, which are one
    point: that is one verdict, not two."""
    commit(stage, neighbours(4))
    stage.run('run', '-q', '-p', 'bestfit', '--json', 'before.json', 'model.ndjson')
    result = stage.read('before.json')
    result['runs'][0]['fi_device']['mean'] += 0.5
    stage.write('after.json', result)
    plain = stage.run('diff', 'before.json', 'after.json').stdout
    tap.result('without a gate: what it is', [] if plain.splitlines()[0].endswith(
        ': 1 run compared: 1 worse') else [plain])
    text = stage.run('diff', '--gate', 'before.json', 'after.json').stdout
    tap.result('worse and within the bounds is said in one breath', [
        x for x in ('after.json with before.json: passed: 1 run compared: 1 worse within the bounds',
                    'passed: 1 run, oom is 0, ') if x not in text])
    result['runs'][0]['fi_device']['mean'] += 1
    stage.write('after.json', result)
    text = stage.run('diff', '--gate', 'before.json', 'after.json', statuses=(1,)).stdout
    tap.result('and beyond them', [x for x in ('broken: 1 run compared: 1 broken\n',) if x not in text]
               + ['passed'] * ('passed' in text))
    for name, verdict, status in (('before.json', 'passed', (0,)), ('after.json', 'broken', (1,))):
        found = stage.json('diff', '--gate', 'before.json', name)['gate']['verdict']
        lines = [stage.run('diff', '--gate', '--format', form, 'before.json', name,
                           statuses=status).stdout for form in ('markdown', 'github')]
        tap.result(f'markdown, github and JSON: {verdict}', [
            str(x) for x in (found, *lines) if verdict not in x])


def check_idle_device(tap: Tap, stage: Stage) -> None:
    """No step takes place on device 1, so that its indices have no value. Nobody who writes --gate
    or `any` asked for them; who names one did."""
    here = [{'op': 'alloc', 'id': 1, 'size': '1MiB'}, {'op': 'free', 'id': 1}]
    there = [{**event, 'id': 2, **({'device': 1} if event['op'] == 'alloc' else {})} for event in here]
    stage.trace('idle.ndjson', here, devices=[{}, {}])
    gate = ('diff', '-b', 'idle.json', '--gate', '--allow-new-traces')
    stage.run(*gate[:3], '-q', '--update-baseline', '-p', 'bestfit', '-p', 'pytorch', 'idle.ndjson')
    faults = []
    for args, status in (
            (gate, 0), (('diff', '-p', 'bestfit', '-p', 'buddy', '--gate', 'idle.ndjson'), 0),
            (('diff', '-b', 'idle.json', '--fail-if', 'any > +0'), 0),
            (('run', '--fail-if', 'any > 1GiB', 'idle.ndjson'), 0),
            (('run', '--fail-if', 'any > 1MiB', 'idle.ndjson'), 1),      # 2 MiB are reserved
            ((*gate, '--fail-if', 'fi_device.max > +5'), 2),
            (('run', '--fail-if', 'fi_device.max > 70', 'idle.ndjson'), 2)):
        done = stage.run(*args, statuses=(0, 1, 2))
        if done.returncode != status:
            faults.append(f'{args}: {done.returncode}: {done.stderr}')
    tap.result('a device without a step breaks no gate', faults)
    stage.trace('idle.ndjson', here + there, devices=[{}, {}])
    done = stage.run(*gate, statuses=(1,))
    tap.result('and one that has some now does', [
        x for x in (f'peak.reserved is {2 * MIB}, before 0',) if x not in done.stdout])
    stage.run('diff', '-b', 'idle.json', '-q', '--update-baseline')
    stage.trace('idle.ndjson', here, devices=[{}, {}])
    done = stage.run(*gate, statuses=(1,))
    tap.result('to have none any more cannot be judged', [
        done.stdout] * ('fi_device.mean cannot be judged: only the base has a value' not in done.stdout))
    stage.run(*gate, '--allow-missing')


def check_usage(tap: Tap, stage: Stage) -> None:
    played(stage)
    cases = (
        (), ('model.ndjson',), ('a', 'b', 'c'), ('-p', 'bestfit'), ('--update-baseline', 'a', 'b'),
        ('-p', 'nofit', 'model.ndjson'), ('-p', 'bestfit', '-', '-'), ('--format', 'yaml', 'a', 'b'),
        ('--output', '', 'a', 'b'),
        ('--format', 'csv', '--json', '-', 'a', 'b'), ('-b', '-', '--update-baseline'),
        ('--alloc-conf', 'x', 'a', 'b'), ('-p', 'bestfit', '--threads', '-1', 'model.ndjson'),
        ('-b', '-', '-p', 'bestfit', '-'), ('-p', 'bestfit', '--gate', 'model.ndjson'),
        ('-p', 'bestfit', '--fail-if', 'peak.reserved > +5%', 'model.ndjson'),
        ('-p', 'bestfit', '--fail-if', 'oom > 0', '--fail-if', 'any > +0', 'model.ndjson'),
        ('--gate', '--alloc-conf', 'max_split_size_mb:100', 'model.ndjson'))
    faults = []
    for args in cases:
        done = stage.run('diff', *args, statuses=(0, 1, 2, 3, 4, 5, 6))
        if done.returncode != 2 or done.stderr.count('\n') != 1 or done.stdout:
            faults.append(f'{args}: {done.returncode}: {done.stderr}')
    tap.result(f'{len(cases)} wrong usages', faults)
    compared = (
        ('-p', 'bestfit', '--gate', '--fail-if', 'oom > 0', 'model.ndjson'),
        ('-p', 'bestfit', '--fail-if', 'oom > 0', '--gate', 'model.ndjson'),
        ('--gate', '--alloc-conf', 'max_split_size_mb:100', '--alloc-conf', 'max_split_size_mb:200',
         'model.ndjson'))
    tap.result('a gate with something to judge is no wrong usage', [
        f'{args}: {done.returncode}: {done.stderr}' for args in compared
        if (done := stage.run('diff', *args, statuses=(0, 1, 2))).returncode])


def check_own_baseline(tap: Tap, stage: Stage) -> None:
    """traces/baseline.json is what the program makes of the recorded traces now."""
    top = stage.folder / 'own'
    top.mkdir()
    (top / 'traces').mkdir()
    for path in (ROOT / 'traces').iterdir():
        if path.name != 'baseline.json':
            (top / 'traces' / path.name).symlink_to(path)
    committed = (ROOT / 'traces' / 'baseline.json').read_text(encoding='utf-8')
    (top / 'traces' / 'baseline.json').write_text(committed, encoding='utf-8')
    again = Stage(top, stage.program)
    done = again.run('diff', '-b', 'traces/baseline.json', '--gate', statuses=(0, 1))
    tap.result('our own traces pass the gate', done.stdout.splitlines() if done.returncode else [])
    again.run('diff', '-q', '-b', 'traces/baseline.json', '--update-baseline')
    now = (top / 'traces' / 'baseline.json').read_text(encoding='utf-8')
    differs = [b for a, b in zip(committed.splitlines(), now.splitlines(), strict=False) if a != b]
    tap.result('traces/baseline.json is up to date (build/fragsim diff -b traces/baseline.json'
               ' --update-baseline writes it)', differs)
    compared = again.json('diff', '-b', 'traces/baseline.json')
    runs = {(Path(t['trace']['path']).name, r['run']['policy'])
            for t in compared['traces'] for r in t['runs']}
    policies = json.loads(again.run('list', 'policies', '--json', '-').stdout)
    names = [x['name'] for x in policies['policies']]
    wanted = {(path.name, name) for path in (ROOT / 'traces').glob('*.ndjson.gz')
              for name in names}
    tap.result('it has every policy on every recorded trace', [str(x) for x in wanted - runs])


def check(tap: Tap, stage: Stage) -> None:
    check_worse(tap, stage)
    check_better(tap, stage)
    check_policy_change(tap, stage)
    check_new_run(tap, stage)
    check_changed_trace(tap, stage)
    check_one_verdict(tap, stage)
    check_bounds(tap, stage)
    check_idle_device(tap, stage)
    check_usage(tap, stage)
    check_own_baseline(tap, stage)
