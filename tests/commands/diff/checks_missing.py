"""checks_missing.py - a gate passes only where it has judged: each kind of comparison, without each thing
that it can lack."""

import copy

from stage import Stage
from tap import Tap

MIB = 1 << 20
EVENTS = [{'op': 'alloc', 'id': 1, 'size': '8MiB'}, {'op': 'free', 'id': 1},
          {'op': 'alloc', 'id': 2, 'size': '4MiB'}]
TWO = [*EVENTS, {'op': 'alloc', 'id': 3, 'size': '2MiB', 'device': 1}]
CONDITIONS = (('--gate',), ('--fail-if', 'oom > 0'), ('--fail-if', 'any > +0'))
CHANGES = (('--gate',), ('--fail-if', 'change.reserved > 0'),
           ('--fail-if', 'change.fragmentation > 1TiB'))


def result(stage: Stage) -> dict:
    """A result of two runs, on two devices each."""
    stage.trace('two.ndjson', TWO, devices=[{}, {}])
    return stage.json('run', '-q', '-p', 'bestfit', '-p', 'direct', 'two.ndjson')


def without(document: dict, what: str) -> dict:
    """What a result lacks where a part of the job died."""
    new = copy.deepcopy(document)
    runs = new['runs']
    if what == 'all runs':
        runs.clear()
    elif what == 'a policy':
        del runs[2:]
    elif what == 'a device':
        del runs[1::2]
    elif what == 'an end':
        runs[0]['status'] = 'interrupted'
    elif what == 'the same end':        # both fail, this one earlier
        runs[0].update(status='oom', steps=1)
        runs[0]['counts']['ooms'] = 1
    return new


def check_results(tap: Tap, stage: Stage) -> None:
    whole = result(stage)
    stage.write('old.json', whole)
    faults = []
    for what in ('all runs', 'a policy', 'a device', 'an end'):
        stage.write('new.json', without(whole, what))
        for how in CONDITIONS:
            done = stage.run('diff', *how, 'old.json', 'new.json', statuses=(0, 1, 2, 4))
            if done.returncode not in (1, 4) or 'passed' in done.stdout:
                faults.append(f'{what}: {how}: {done.returncode}: {done.stdout}')
        done = stage.run('diff', '--gate', '--allow-missing', 'old.json', 'new.json',
                         statuses=(0, 1, 2, 4))
        if (done.returncode == 0) == (what == 'all runs'):
            faults.append(f'{what}: --allow-missing: {done.returncode}: {done.stdout}')
    tap.result('two results, of which the new one lacks something', faults)
    stage.write('new.json', {**whole, 'trace': {**whole['trace'], 'path': 'x', 'content': 'x'}})
    failed = without(whole, 'the same end')
    failed['runs'][0]['steps'] = 2
    stage.write('late.json', failed)
    stage.write('early.json', without(whole, 'the same end'))
    stage.write('cut.json', without(whole, 'an end'))
    cases = {
        'another trace': ('old.json', 'new.json', 1), 'an earlier OOM': ('late.json', 'early.json', 1),
        'the same OOM': ('late.json', 'late.json', 0), 'an OOM less': ('late.json', 'old.json', 0),
        'a base that was cut': ('cut.json', 'old.json', 1),
    }
    faults = []
    for name, (old, new, status) in cases.items():
        done = stage.run('diff', '--gate', old, new, statuses=(0, 1))
        if done.returncode != status:
            faults.append(f'{name}: {done.returncode}: {done.stdout}')
    done = stage.run('diff', '--fail-if', 'peak.reserved > 1GiB', 'old.json', 'early.json', statuses=(0, 1))
    if done.returncode != 1 or 'cannot be judged' not in done.stdout:
        faults.append(f'the peak of a beginning: {done.stdout}')
    tap.result(f'{len(cases)} pairs of results that decide a gate or not', faults)
    empty = without(whole, 'all runs')
    stage.write('empty.json', empty)
    for how in CONDITIONS:
        done = stage.run('diff', *how, 'empty.json', 'empty.json', statuses=(0, 1, 2, 4))
        tap.result(f'two results without a run: {how}', [done.stdout] * (not done.returncode))


def check_baselines(tap: Tap, stage: Stage) -> None:
    for name in ('one.ndjson', 'second.ndjson'):
        stage.trace(name, EVENTS[:2] if name == 'one.ndjson' else EVENTS)
    policies = ('-p', 'bestfit', '-p', 'direct')
    stage.run('diff', '-q', '-b', 'b.json', '--update-baseline', *policies, 'one.ndjson', 'second.ndjson')
    cases = {
        'a trace': ('one.ndjson',), 'a policy': ('-p', 'bestfit', 'one.ndjson', 'second.ndjson'),
        'both': ('-p', 'direct', 'second.ndjson'),
    }
    faults = []
    for what, args in cases.items():
        for how in CONDITIONS:
            done = stage.run('diff', '-b', 'b.json', *how, *args, statuses=(0, 1))
            wrong = done.returncode != 1 or 'it is missing' not in done.stdout
            more = stage.run('diff', '-b', 'b.json', *how, '--allow-missing', *args, statuses=(0, 1))
            if wrong or more.returncode:
                faults.append(f'{what}: {how}: {done.stdout} {more.stdout}')
    tap.result('a baseline, of which something is not simulated now', faults)
    done = stage.run('diff', '-b', 'b.json', '--gate')
    tap.result('and all of it: what was checked is said', [done.stdout] * (
        'passed: 4 runs, oom is 0, peak.reserved is 8.00 MiB' not in done.stdout))
    stage.trace('third.ndjson', [*EVENTS, {'op': 'mark', 'name': 'x'}])
    done = stage.run('diff', '-b', 'b.json', '--gate', '--allow-new-traces', '--allow-missing', 'third.ndjson',
                     statuses=(0, 1))
    tap.result('new traces alone are no gate', [done.stdout] * (done.returncode != 1))
    stage.run('diff', '-b', 'b.json', '--update-baseline', '--gate', statuses=(2,))
    tap.result('to write a baseline is no gate either', [])


def check_changes(tap: Tap, stage: Stage) -> None:
    """Two folders of four ranks."""
    for side in ('old', 'new'):
        (stage.folder / side).mkdir()
        for rank in range(4):
            stage.trace(f'{side}/rank{rank}.ndjson', TWO, devices=[{}, {}])
    faults = []

    def all_fail(name: str, sides: tuple = ('old', 'new'), allowed: str = '--allow-missing') -> None:
        for how in CHANGES:
            done = stage.run('diff', *how, *sides, statuses=(0, 1))
            if done.returncode != 1 or 'passed' in done.stderr:
                faults.append(f'{name}: {how}: {done.returncode}: {done.stderr}')
            if allowed:
                stage.run('diff', *how, allowed, *sides)

    done = stage.run('diff', '--gate', 'old', 'new')
    tap.result('two folders: what was checked is said', [done.stderr] * (
        'passed: 4 runs, change.reserved is 0' not in done.stderr))
    (stage.folder / 'new/rank2.ndjson').rename(stage.folder / 'kept')
    all_fail('a rank')
    all_fail('a rank of OLD', ('new', 'old'), '--allow-new-traces')
    stage.trace('new/rank2.ndjson', EVENTS)
    all_fail('a device')
    (stage.folder / 'kept').rename(stage.folder / 'new/rank2.ndjson')
    # rank 1 reserves less, and rank 2 that much more on its second device: neither hides the other
    stage.trace('new/rank1.ndjson', [{**x, 'size': 8} if 'size' in x else x for x in TWO], devices=[{}, {}])
    stage.trace('new/rank2.ndjson', [{**x, 'size': '6MiB' if 'device' in x else 8} if 'size' in x else x
                                     for x in TWO], devices=[{}, {}])
    done = stage.run('diff', '--gate', 'old', 'new', statuses=(0, 1))
    # large requests have segments of 20 MiB: none before on device 1, as 2 MiB take one of 20, too
    if done.returncode != 0 or 'change.reserved is -' not in done.stderr:
        faults.append(f'less: {done.stderr}')
    stage.trace('new/rank2.ndjson', [{**x, 'size': '26MiB' if 'device' in x else 8} if 'size' in x else x
                                     for x in TWO], devices=[{}, {}])
    done = stage.run('diff', '--gate', 'old', 'new', statuses=(0, 1))
    if done.returncode != 1 or f'change.reserved is {6 * MIB}' not in done.stderr:
        faults.append(f'more on the device that changes less: {done.stderr}')
    tap.result('two folders, of which one lacks something', faults)
    (stage.folder / 'nothing').mkdir()
    codes = [stage.run('diff', '--gate', *sides, statuses=(0, 1, 2, 4)).returncode
             for sides in (('old', 'nothing'), ('nothing', 'new'), ('nothing', 'nothing'))]
    tap.result('a folder without a recording', [str(codes)] * (0 in codes))


def check_ranks(tap: Tap, stage: Stage) -> None:
    stage.run('ranks', '--fail-if', 'oom > 0', 'old')
    (stage.folder / 'old/rank2.ndjson').unlink()
    done = stage.run('ranks', '--fail-if', 'oom > 0', 'old', statuses=(0, 1))
    tap.result('ranks: one between two others is missing', [done.stderr] * (
        done.returncode != 1 or 'rank 2: cannot be judged' not in done.stderr))
    stage.run('ranks', '--fail-if', 'oom > 0', '--allow-missing', 'old')


def check_others(tap: Tap, stage: Stage) -> None:
    """Without marks there are no iterations that conditions are about."""
    loop = [{'op': op, 'id': k, **({'size': 1000 * (k + 1)} if op == 'alloc' else {})}
            for _ in range(8) for op in ('alloc', 'free') for k in range(30)]
    done = stage.run('leaks', '--fail-if', 'leak > 0', stage.trace('loop.ndjson', loop), statuses=(0, 1))
    tap.result('leaks without an iteration', [done.stderr] * (
        done.returncode != 1 or 'cannot be judged' not in done.stderr))
    said = {'run': ('-p', 'direct', '--fail-if', 'oom > 0'), 'fit': ('--fail-if', 'smallest > 1TiB'),
            'plan': ('--fail-if', 'height > 1TiB'), 'explain': ('--fail-if', 'oom > 0')}
    for command, args in said.items():
        done = stage.run(command, *args, 'one.ndjson')
        tap.result(f'{command} says what was checked', [done.stderr] * ('passed: ' not in done.stderr))


def check(tap: Tap, stage: Stage) -> None:
    check_results(tap, stage)
    check_baselines(tap, stage)
    check_changes(tap, stage)
    check_ranks(tap, stage)
    check_others(tap, stage)
