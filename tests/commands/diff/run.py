"""run.py - fragsim diff against arithmetic, brute force, and pull requests that are played.

    run.py PROGRAM      prints TAP

What diff says of policies is worked out again from what `run` writes: figures and their
differences from the results, the first step where two policies part from their rows, the geometric
mean from the peaks. checks_files.py has the results and baselines, and what is wrong with them;
checks_gate.py the conditions and the pull requests.
"""

import csv
import io
import json
import math
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
import checks_files  # noqa: E402
import checks_gate  # noqa: E402
import checks_missing  # noqa: E402
from stage import ROOT, Stage  # noqa: E402
from tap import Tap  # noqa: E402

POLICIES = ('bestfit', 'buddy', 'pytorch:expandable_segments=true', 'firstfit:min_split=64KiB')
FORMATS = ('text', 'markdown', 'json', 'junit', 'github', 'csv')


def words(policies: tuple) -> list[str]:
    return [word for policy in policies for word in ('-p', policy)]


def figures_of(run: dict) -> dict:
    """The figures that are compared, from a run of a result, as fragsim-result(5) and fragsim-diff(1) define them."""
    peak, bound = run['peak'], run['lower_bound']
    return {
        'peak.reserved': peak['reserved'],
        'peak.allocated': peak['allocated'],
        'over_bound': 100 * (peak['reserved'] / bound - 1) if bound else 0,
        'efficiency': 100 * peak['allocated'] / peak['reserved'] if peak['reserved'] else 100,
        'fi_device.mean': run['fi_device']['mean'],
        'fi_device.p95': run['fi_device']['p95'],
        'fi_device.max': run['fi_device']['max'],
        'fi.mean': run['fi']['mean'],
        'fi_device.severe_steps': run['fi_device']['severe_steps'],
        'counts.ooms': run['counts']['ooms'],
        'counts.retries': run['counts']['retries'],
        'device_calls': run['counts']['segment_allocs'] + run['counts']['segment_frees'],
        'peak.holes': run['peak']['holes'], 'peak.wasted': run['peak']['wasted'],
    }


def near(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= 0.00011 if isinstance(a, float) or isinstance(b, float) else a == b


def check_figures(tap: Tap, compared: dict, results: list[dict]) -> None:
    for trace, result in zip(compared['traces'], results, strict=True):
        faults = []
        base = figures_of(result['runs'][0])
        for pair, run in zip(trace['runs'], result['runs'], strict=True):
            for name, value in figures_of(run).items():
                shown = pair['figures'][name]
                wanted = {'value': value}
                if pair['base']:
                    wanted['base'] = base[name]
                    wanted['difference'] = value - base[name]
                    wanted['percent'] = (100 * (value - base[name]) / base[name]
                                         if base[name] else None)
                    if isinstance(value, float) and wanted['percent'] is not None:
                        # of values with four decimals: less is known of their quotient
                        wanted['percent'] = 100 * shown['difference'] / shown['base']
                faults += [f'{run["policy"]["text"]}: {name}: {key} is {shown[key]}, not {x}'
                           for key, x in wanted.items() if not near(shown[key], x)]
        tap.result(f'figures of {Path(trace["trace"]["path"]).name}', faults)


def rows(stage: Stage, policy: str, path: str) -> list[dict]:
    done = stage.run('run', '-q', '-p', policy, '--steps', '-', path, statuses=(0, 3))
    return list(csv.DictReader(io.StringIO(done.stdout)))


def parting(base: list[dict], other: list[dict], device: str) -> int | None:
    """The first step where the rows of a device differ in what is compared."""
    for a, b in zip((x for x in base if x['device'] == device),
                    (x for x in other if x['device'] == device), strict=False):
        if any(a[k] != b[k] for k in ('reserved', 'allocated', 'status')):
            return int(a['step'])
    return None


def check_partings(tap: Tap, stage: Stage, name: str, path: str, policies: tuple,
                   options: tuple = ()) -> None:
    compared = stage.json('diff', *words(policies), *options, path)
    faults = []
    for pair in compared['traces'][0]['runs']:
        if not pair['base']:
            continue
        device = str(pair['device'])
        base = [x for x in rows(stage, policies[0], path)]
        wanted = parting(base, rows(stage, pair['run']['policy'], path), device)
        first = pair['first']
        got = first['step'] if first and first['at'] == 'step' else None
        if got != wanted:
            faults.append(f'{pair["run"]["policy"]} @{device}: step {got}, not {wanted}')
            continue
        if wanted is None:
            continue
        row = next(x for x in base if x['step'] == str(wanted) and x['device'] == device)
        if (first['base_reserved'], first['base_allocated']) != (int(row['reserved']),
                                                                 int(row['allocated'])):
            faults.append(f'{pair["run"]["policy"]}: not the values of step {wanted}: {first}')
        marks = [x for x in base if x['op'] == 'mark' and int(x['step']) < wanted]
        if (first['mark'] is None) != (not marks):
            faults.append(f'mark {first["mark"]}, of {len(marks)} before it')
        if not first['event'].startswith(row['op']):
            faults.append(f'event {first["event"]}, in the row {row["op"]}')
    tap.result(f'where policies part: {name}', faults)


def check_course(tap: Tap, stage: Stage, name: str, path: str) -> None:
    """The stretches of a baseline: all of one width, a power of two that leaves at most 16, and in
    each the most that the rows of its steps have."""
    stage.run('diff', '-q', '-b', 'course.json', '--update-baseline', *words(POLICIES), path)
    faults = []
    for run in stage.read('course.json')['traces'][0]['runs']:
        steps = rows(stage, run['policy']['text'], path)
        width, stretches = run['course']['width'], run['course']['stretches']
        parts = [steps[i:i + width] for i in range(0, len(steps), width)]
        wanted = [[int(part[0]['step']), max(int(x['reserved']) for x in part),
                   max(int(x['allocated']) for x in part)] for part in parts]
        if stretches != wanted or len(parts) > 16 or width & (width - 1) \
                or run['course']['in_last'] != len(parts[-1]):
            faults.append(f'{run["policy"]["text"]}: {width}: {stretches}')
    tap.result(f'the timeline of {name}', faults)


def check_largest(tap: Tap, compared: dict, results: list[dict]) -> None:
    faults = []
    for trace, result in zip(compared['traces'], results, strict=True):
        base = result['runs'][0]['marks']
        for pair, run in zip(trace['runs'][1:], result['runs'][1:], strict=True):
            gaps = [(abs(b['reserved'] - a['reserved']), abs(b['allocated'] - a['allocated']), -i)
                    for i, (a, b) in enumerate(zip(base, run['marks'], strict=True))]
            best = max(gaps)
            mark = run['marks'][-best[2]]
            if best[:2] == (0, 0):
                continue
            place = pair['largest']
            if not place or (
                    place['at'], place['step'], place['mark']) != (
                    'mark', mark['step'], mark['name']):
                faults.append(f'{run["policy"]["text"]}: {place}, not {mark["name"]}')
    tap.result('the mark with the largest difference', faults)


def check_summary(tap: Tap, compared: dict, results: list[dict]) -> None:
    faults = []
    for i, line in enumerate(compared['summary']):
        runs = [result['runs'][i] for result in results]
        ratios = {result['trace']['path']: run['peak']['reserved']
                  / result['runs'][0]['peak']['reserved']
                  for result, run in zip(results, runs, strict=True)}
        mean = math.prod(ratios.values()) ** (1 / len(ratios))
        bound = math.prod(run['peak']['reserved'] / run['lower_bound']
                          for run in runs) ** (1 / len(runs))
        wanted = {'policy': POLICIES[i], 'runs': len(results), 'survived': len(results),
                  'compared': len(results), 'peak_reserved_ratio': mean,
                  'over_bound': 100 * (bound - 1),
                  'best_trace': min(ratios, key=ratios.get), 'best_ratio': min(ratios.values()),
                  'worst_trace': max(ratios, key=ratios.get), 'worst_ratio': max(ratios.values())}
        if i == 0:      # 1 everywhere: which is best is of no interest
            wanted = {k: v for k, v in wanted.items() if not k.endswith('_trace')}
        for key, value in wanted.items():
            good = (line[key] == value if isinstance(value, str | int)
                    else abs(line[key] - value) < 0.0002)
            if not good:
                faults.append(f'{POLICIES[i]}: {key} is {line[key]}, not {value}')
    tap.result('the summary over traces', faults)


def verdict(policies: tuple, results: list[dict]) -> str:
    """The first line, as fragsim-diff(1) defines it: most runs that fit, then the lowest mean of
    what is reserved, over that of the first."""
    fit, mean = [], []
    for i in range(len(policies)):
        pairs = [(result['runs'][0], result['runs'][i]) for result in results]
        ratios = [run['peak']['reserved'] / base['peak']['reserved'] for base, run in pairs
                  if base['status'] == run['status'] == 'fits']
        fit.append(sum(run['status'] == 'fits' for _, run in pairs))
        mean.append(math.prod(ratios) ** (1 / len(ratios)) if ratios else 1)
    best = min(range(len(policies)), key=lambda i: (-fit[i], mean[i]))
    name, first = policies[best], policies[0]
    if not fit[best]:
        return f'none of {len(policies)} policies fits'
    if best == 0:
        return f'no policy fits more, or reserves less, than the first, {first}'
    if fit[best] == fit[0]:
        return (f'{name} reserves least, {"in the mean " if fit[best] > 1 else ""}'
                f'{100 * (1 - mean[best]):.2f} % less than the first, {first}')
    if len(results) == 1:
        return f'{name} fits, the first, {first}, does not'
    return f'{name} fits {fit[best]} of {len(results)} runs, the first, {first}, {fit[0]}'


def check_verdict(tap: Tap, stage: Stage, paths: list[str]) -> None:
    """The first line says which policy is best; tried where each of its forms is right."""
    expandable = 'pytorch:expandable_segments=true'
    faults, forms = [], set()
    for policies, device, traces in (
            (POLICIES, None, paths), (POLICIES[::-1], None, paths[:1]),
            ((expandable, 'bestfit'), None, paths), (('pytorch', expandable), '2400MiB', paths[:1]),
            (('pytorch', expandable), '2950MiB', paths), (('bestfit', 'buddy'), '1GiB', paths)):
        options = [*words(policies), *(('--device-bytes', device) if device else ())]
        said = stage.run('diff', *options, *traces).stdout.splitlines()[0]
        wanted = verdict(policies, [stage.json('run', *options, path) for path in traces])
        forms.add(re.sub('[a-z_:=.0-9A-Z]*[0-9:=][^ ,]*|bestfit|pytorch|buddy', '', wanted))
        faults += [f'{said}, not {wanted}'] if said != wanted else []
    tap.result('the first line: the best policy', faults
               + ([f'only these forms: {forms}'] if len(forms) < 6 else []))


def check_threads(tap: Tap, stage: Stage, paths: list[str]) -> None:
    for name in FORMATS:
        outputs = {stage.run('diff', *words(POLICIES), '--format', name, '--threads', str(n),
                             *paths).stdout for n in (1, 2, 3, 8)}
        tap.result(f'{name}: the same bytes whatever the threads',
                   [] if len(outputs) == 1 else [f'{len(outputs)} outputs'])


def table_faults(text: str) -> list[str]:
    """Rows of a Markdown table with another number of cells than its head."""
    faults, cells = [], None
    for line in text.splitlines():
        if not line.startswith('|'):
            cells = None
            continue
        count = len(re.findall(r'(?<!\\)\|', line))
        cells = cells or count
        if count != cells:
            faults.append(f'{count} cells, not {cells}: {line}')
    return faults


def check_formats(tap: Tap, stage: Stage, compared: dict, paths: list[str]) -> None:
    def printed(name: str, *options: str) -> str:
        return stage.run('diff', *words(POLICIES), *options, '--format', name, *paths,
                         statuses=(0, 1)).stdout

    text = printed('text')
    tap.result('text: 100 columns, no blank at an end, no colour in a pipe',
               # a path is as long as it is
               [line for line in text.splitlines()
                if (len(line) > 100 and not line.startswith(tuple(paths)))
                or line != line.rstrip() or '\033' in line])
    tap.result('markdown: whole tables', table_faults(printed('markdown')))
    lines = list(csv.DictReader(io.StringIO(printed('csv'))))
    wanted = [(trace['trace']['path'], pair['run']['policy'], name, str(pair['device']))
              for trace in compared['traces'] for pair in trace['runs']
              for name in pair['figures']]
    got = [(x['trace'], x['policy'], x['figure'], x['device']) for x in lines]
    tap.result('csv: a row a run and figure', [] if got == wanted else ['other rows'])
    figures = compared['traces'][0]['runs'][1]['figures']
    row = next(x for x in lines if x['policy'] == POLICIES[1])
    tap.result('csv: the values of json', [
        f'{key}: {row[key]}, not {value}' for key, value in figures['peak.reserved'].items()
        if key != 'percent' and row[key] != str(value)])
    suites = xml.etree.ElementTree.fromstring(printed('junit', '--fail-if', 'peak.reserved>+10%'))
    bad = [case for case in suites.iter('testcase') if case.find('failure') is not None]
    runs = sum(len(trace['runs']) for trace in compared['traces'])
    worse = sum(pair['figures']['peak.reserved']['percent'] > 10
                for trace in compared['traces'] for pair in trace['runs'] if pair['base'])
    tap.result('junit: a case a run, a failure a broken one', [
        fault for fault, holds in (
            (f'{suites.get("tests")} tests', suites.get('tests') == str(runs)),
            (f'{len(bad)} failures, not {worse}', len(bad) == worse and worse > 0),
            ('the count of failures', suites.get('failures') == str(len(bad))))
        if not holds])
    notes = printed('github', '--fail-if', 'peak.reserved>+10%').splitlines()
    tap.result('github: a line a broken one, all of the form that is read there', [
        *[x for x in notes if not re.fullmatch(r'::(error|warning|notice) [^:]*::.+', x)],
        *([] if sum(x.startswith('::error file=') for x in notes) == worse else ['not as many'])])


def check_oom(tap: Tap, stage: Stage) -> None:
    """The second allocation finds no room under the first policy and does under the second: 3 MiB
    and 3 MiB fit a device of 6 MiB as they are, not as powers of two."""
    path = stage.trace('oom', [{'op': 'alloc', 'id': i, 'size': '3MiB'} for i in (1, 2)],
                       {'total_bytes': '6MiB', 'granularity_bytes': '1MiB'})
    done = stage.run('diff', '-p', 'buddy', '-p', 'bestfit:segment=1MiB', '--format', 'json', path)
    lines = json.loads(done.stdout)['summary'] if done.returncode == 0 else []
    tap.result('an out-of-memory is a figure, not a status', [] if [
        (x['survived'], x['compared']) for x in lines] == [(0, 0), (1, 0)] else [str(lines)])
    text = stage.run('diff', '-p', 'buddy', '-p', 'bestfit:segment=1MiB', path).stdout
    tap.result('text: says where and why', [] if 'OOM at event 1, cause: capacity' in text
               else text.splitlines())
    stage.run('run', '-q', '-p', 'buddy', '--json', 'oom.json', path, statuses=(3,))
    result = stage.read('oom.json')
    oom = result['runs'][0]['oom'][0]
    result['runs'][0]['oom'] = [{key: oom[key] for key in ('step', 'id', 'size', 'message', 'cause')}]
    stage.write('older.json', result)
    text = stage.run('diff', 'oom.json', 'older.json').stdout
    tap.result('a result of an older version, whose out-of-memory is told shortly',
               [] if '1 run compared: 1 same' in text and 'holders' in oom else text.splitlines())


def check_unfinished(tap: Tap, stage: Stage) -> None:
    """Two blocks of 3 MiB on 6 MiB: buddy takes 4 MiB for the first and ends at the second, direct
    has 6 MiB at its peak. So the run that failed has the lower peak, and is no better for it."""
    path = stage.trace('ends', [{'op': 'alloc', 'id': i, 'size': '3MiB'} for i in (1, 2)],
                       {'total_bytes': '6MiB', 'granularity_bytes': '1MiB'})
    text = stage.run('diff', '-p', 'direct', '-p', 'buddy', path).stdout.splitlines()
    rows = [x.split() for x in text if x.split()[:1] in (['fits'], ['OOM'], ['status'])]
    tap.result('status is the first column, and a peak that was cut is a least', [
        str(rows)] if [rows[0][:2], rows[1][:4], rows[2]] != [
            ['status', 'policy'], ['fits', 'direct', '6.00', 'MiB'],
            ['OOM', 'buddy', '>=4.00', 'MiB', '>=4.00', 'MiB']] else [])
    reason = 'values not compared: OOM at event 1, the base: finished'
    tap.result('and why', [x for x in (f'    {reason}',) if x not in text])
    pair = stage.json('diff', '-p', 'direct', '-p', 'buddy', path)['traces'][0]['runs'][1]
    figures = pair['figures']
    wanted = {'base': 6 << 20, 'value': 4 << 20, 'difference': None, 'percent': None, 'verdict': None}
    tap.result('JSON has the values and compares none but the out-of-memories', [
        str(x) for x in (pair,) if figures['peak.reserved'] != wanted or pair['verdict'] != 'worse'
        or pair['not_compared'] != reason or figures['counts.ooms'] != {
            'base': 0, 'value': 1, 'difference': 1, 'percent': None, 'verdict': 'worse'}])
    lines = list(csv.DictReader(io.StringIO(stage.run(
        'diff', '-p', 'direct', '-p', 'buddy', '--format', 'csv', path).stdout)))
    row = next(x for x in lines if x['policy'] == 'buddy' and x['figure'] == 'peak.reserved')
    tap.result('CSV leaves the peak out that was cut', [] if (
        row['status'], row['base'], row['value'], row['difference'], row['percent'], row['verdict'])
               == ('oom', str(6 << 20), '', '', '', 'unfinished') else [str(row)])
    shown = {name: stage.run('diff', '-p', 'direct', '-p', 'buddy', '--format', name, path).stdout
             for name in ('markdown', 'junit')}
    tap.result('markdown and JUnit', [
        f'{name}: {word}' for name, word in (
            ('markdown', '| OOM | buddy | >=4.00 MiB | >=4.00 MiB | - | - |'),
            ('junit', 'status: OOM'), ('junit', 'peak.reserved: &gt;=4.00 MiB\n'), ('junit', reason))
        if word not in shown[name]])
    stage.run('run', '-q', '-p', 'buddy', '--json', 'failed.json', path, statuses=(3,))
    stage.run('run', '-q', '-p', 'direct', '--json', 'finished.json', path)
    for base, new, verdict, status in (('finished.json', 'failed.json', 'worse', 1),
                                       ('failed.json', 'finished.json', 'better', 0),
                                       ('failed.json', 'failed.json', 'same', 0)):
        text = stage.run('diff', '--gate', base, new, statuses=(0, 1))
        found = stage.json('diff', base, new)['traces'][0]['runs'][0]['verdict']
        tap.result(f'two results: {new} is {verdict}, and the gate knows it', [
            found, text.stdout] if found != verdict or text.returncode != status else [])
    # what somebody wrote is judged as it is there: 6 MiB are above 4
    stage.run('diff', 'failed.json', 'finished.json', '--fail-if', 'peak.reserved > +0%',
              statuses=(1,))
    tap.result('a condition that was written holds as ever', [])


def check_two_failed(tap: Tap, stage: Stage) -> None:
    """3 MiB, then 9, on 10 MiB: both end at the second, direct with 3 MiB reserved and buddy with 4. No peak of these says more than `at least`."""
    path = stage.trace('both', [{'op': 'alloc', 'id': i, 'size': size}
                                for i, size in enumerate(('3MiB', '9MiB'))],
                       {'total_bytes': '10MiB', 'granularity_bytes': '1MiB'})
    policies = ('-p', 'direct', '-p', 'buddy')
    shown = {name: stage.run('diff', *policies, '--format', name, path).stdout
             for name in ('text', 'markdown', 'junit', 'csv', 'json')}
    rows = [x.split() for x in shown['text'].splitlines() if x.split()[:2] == ['OOM', 'buddy']]
    tap.result('two that failed at the same step: their peaks are not compared', [] if rows == [
        ['OOM', 'buddy', '>=4.00', 'MiB', '>=4.00', 'MiB']] else [str(rows)])
    reason = 'peaks not compared: OOM at event 1, as the base'
    tap.result('and it is told', [name for name in ('text', 'junit', 'json')
                                  if reason not in shown[name]])
    tap.result('Markdown shows no difference either', [] if
               '| OOM | buddy | >=4.00 MiB | >=4.00 MiB | - | - |' in shown['markdown']
               else shown['markdown'].splitlines())
    rows = [x for x in csv.DictReader(io.StringIO(shown['csv']))
            if x['figure'].startswith('peak.') or x['figure'] in ('over_bound', 'efficiency')]
    wrong = [str(x) for x in rows if (x['base'], x['value'], x['difference'], x['verdict'])
             != ('', '', '', 'unfinished')]
    tap.result('CSV has no peak of theirs, nor what is made of one',
               wrong if len(rows) == 12 else [str(len(rows))])
    figures = json.loads(shown['json'])['traces'][0]['runs'][1]['figures']
    tap.result('JSON has both values, and none is better', [] if figures['peak.reserved'] == {
        'base': 3 << 20, 'value': 4 << 20, 'difference': None, 'percent': None, 'verdict': None}
               else [str(figures['peak.reserved'])])
    # 3 MiB for the first, then 4: all else is equal
    stage.run('run', '-q', '-p', 'bestfit:segment=1MiB', '--json', 'low.json', path, statuses=(3,))
    stage.run('run', '-q', '-p', 'bestfit:align=4MiB', '--json', 'high.json', path, statuses=(3,))
    stage.run('diff', '--gate', 'low.json', 'high.json')
    stage.run('diff', '--gate', 'low.json', 'low.json')
    tap.result('a gate asks of both only that they ended', [])
    said = stage.run('run', '-q', '-p', 'buddy', '--fail-if', 'peak.reserved > 2MiB', path,
                     statuses=(1,)).stderr
    tap.result('a condition names what it found as a least', [] if
               f"peak.reserved is at least {4 << 20}, which fails" in said else [said])


def check_devices(tap: Tap, stage: Stage) -> None:
    """Two devices: on the second the policies part one event later."""
    path = stage.trace('devices', [
        {'op': 'mark', 'name': 'bégin'}, {'op': 'alloc', 'id': 1, 'size': 512},
        {'op': 'alloc', 'id': 'x"y', 'size': 1000, 'device': 1}, {'op': 'sync'},
        {'op': 'alloc', 'id': 3, 'size': 5000}], devices=[{}, {'total_bytes': '1GiB'}])
    check_partings(tap, stage, 'two devices', path, ('bestfit', 'buddy', 'direct'))
    compared = stage.json('diff', *words(('bestfit', 'buddy')), path)
    pairs = compared['traces'][0]['runs']
    got = [(x['device'], x['base'] and x['base']['policy']) for x in pairs]
    wanted = [(0, None), (1, None), (0, 'bestfit'), (1, 'bestfit')]
    tap.result('each device beside the same device', [] if got == wanted else [str(got)])


def check_order(tap: Tap, stage: Stage, paths: list[str]) -> None:
    """Of two bad traces the first one's error, also where the second one's is found earlier."""
    (stage.folder / 'bad1').write_text('{"op":"sync"}\n' * 50000 + '{"op":"alloc"}\n',
                                       encoding='ascii')
    (stage.folder / 'bad2').write_text('{"op":"alloc"}\n', encoding='ascii')
    faults = []
    for threads in ('1', '4'):
        done = stage.run('diff', '-p', 'bestfit', '--threads', threads, paths[0], 'bad1', 'bad2',
                         statuses=(4,))
        if 'fragsim: bad1:50001:' not in done.stderr or done.stdout:
            faults.append(done.stderr)
    tap.result('the first bad trace is told', faults)


def survives(stage: Stage, policy: str, total: int, path: str) -> bool:
    run = stage.json('run', '-q', '-p', policy, '--device-bytes', str(total), path)['runs'][0]
    return run['status'] == 'fits'


def check_smallest(tap: Tap, stage: Stage) -> None:
    """Runs survive on what --smallest says, and not on a page less; of two devices it is what fit
    says of each, as the other one may end the run. It is asked for only."""
    events = [{'op': 'alloc', 'id': f'{device} {i}', 'size': size, 'device': device}
              for device, size in ((0, '3MiB'), (1, '700KiB')) for i in range(3)]
    paths = [str(ROOT / 'traces' / 'moe_train_dispatch.ndjson.gz'),
             stage.trace('small', events, devices=[{}, {}])]
    policies = words(('pytorch', 'bestfit', 'buddy'))
    fits = json.loads(stage.run('fit', '-q', '--json', '-', *policies, paths[1]).stdout)['fits']
    fitted = {(fit['policy']['text'], fit['device']['ordinal']): fit['smallest'] for fit in fits}
    faults = []
    for group in stage.json('diff', '--smallest', *policies, *paths)['traces']:
        base, path = {}, group['trace']['path']
        for run in group['runs']:
            device, figure = run['device'], run['figures']['smallest']
            name, least = run['run']['policy'], figure['value']
            if base.setdefault(device, least) != least - (figure['difference'] or 0):
                faults.append(f'{name}: {figure}')
            if path == paths[0] and (not survives(stage, name, least, path)
                                     or survives(stage, name, least - (2 << 20), path)):
                faults.append(f'{path}, {name}: not {least}')
            if path == paths[1] and fitted[name, device] != least:
                faults.append(f'{name}, device {device}: {least}, {fitted}')
    tap.result('--smallest: each run survives on it, and not on a page less', faults)

    def shown(*options: str) -> dict:
        return {name: stage.run('diff', '--format', name, *options, *policies,
                                *paths).stdout.count('smallest') for name in FORMATS}

    # of 9 runs; text and Markdown have a head for each of two traces, github has no figures
    want = {'text': 2, 'markdown': 2, 'json': 9, 'junit': 9, 'github': 0, 'csv': 9}
    with_it, without = shown('--smallest'), shown()
    tap.result('... every format says so, and none that was not asked',
               [] if with_it == want and not any(without.values()) else [f'{with_it} {without}'])
    broken = stage.run('diff', '-q', '--smallest', *policies, '--fail-if', 'smallest > 1TiB',
                       '--fail-if', 'smallest > +0%', *paths, statuses=(1,)).stderr
    alone = stage.run('diff', '-q', *policies, '--fail-if', 'smallest > 1GiB', *paths,
                      statuses=(2,)).stderr
    tap.result('... and conditions have it', [] if '1TiB' not in broken and '+0%' in broken
               and 'diff --smallest gives it one' in alone else [broken + alone])
    for why, wrong in (('standard input can be read only once', ('-p', 'bestfit', '-')),
                       ('policies that are compared now', ('a.json', 'b.json')),
                       ('policies that are compared now', ('-b', 'b.json'))):
        said = stage.run('diff', '--smallest', *wrong, statuses=(2,)).stderr
        tap.result(f'--smallest {" ".join(wrong)}: refused', [] if why in said else [said])


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='diff-') as place:
        stage = Stage(Path(place), Path(argv[1]).absolute())
        names = ('moe_train_dispatch', 'resnet50_train_bs32_fp32')
        paths = [str(ROOT / 'traces' / f'{name}.ndjson.gz') for name in names]
        compared = stage.json('diff', *words(POLICIES), *paths)
        results = [stage.json('run', *words(POLICIES), path) for path in paths]
        check_figures(tap, compared, results)
        for name, path in zip(names, paths, strict=True):
            check_partings(tap, stage, name, path, POLICIES)
            check_course(tap, stage, name, path)
        check_course(tap, stage, 'three steps', stage.trace('three', [
            {'op': 'alloc', 'id': 1, 'size': 1000}, {'op': 'free', 'id': 1}, {'op': 'sync'}]))
        check_largest(tap, compared, results)
        check_summary(tap, compared, results)
        check_verdict(tap, stage, paths)
        check_threads(tap, stage, paths)
        check_formats(tap, stage, compared, paths)
        check_oom(tap, stage)
        check_unfinished(tap, stage)
        check_two_failed(tap, stage)
        check_devices(tap, stage)
        check_order(tap, stage, paths)
        check_smallest(tap, stage)
        checks_files.check(tap, stage)
        checks_gate.check(tap, stage)
        checks_missing.check(tap, stage)
    return tap.finish()


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except subprocess.TimeoutExpired as late:
        print(f'Bail out! {late}')
        sys.exit(1)
