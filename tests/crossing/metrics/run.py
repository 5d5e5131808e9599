"""run.py - metrics: whatever knows them knows each one of the table; prints TAP.

    run.py PROGRAM

The program's own list is that of completion, which is made of the table (fragsim/metrics.h). It is
held against rows, results, baselines, conditions, schemas, manual and the naive model; what lacks a
metric is named, with the file. What the first edition had is written down here once more, as its
rows and members may not move. old-baseline.json is a baseline of that edition.
"""

import functools
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1] / 'support'))
sys.path.insert(0, str(HERE.parents[1] / 'property'))
import naive  # noqa: E402
import program  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
fragsim = functools.partial(program.fragsim, text=True, stdin='')
equal = TAP.same
MIB = 1 << 20

OF_STEP = ['step', 't', 'device', 'op', 'id', 'size', 'status']
FIRST = ['requested', 'allocated', 'active', 'reserved', 'free', 'largest_free', 'releasable',
         'non_releasable', 'waste', 'device_free', 'process_used', 'fi', 'fi_device', 'internal',
         'utilization', 'segments', 'blocks']
PERCENTAGES = ['fi', 'fi_device', 'internal', 'utilization']
NUMBERS = [x for x in FIRST if x not in PERCENTAGES]
OBJECTS = ('peak', 'last')
LATER = ['holes', 'wasted']
FIRST_FIGURES = 13      # of a comparison; behind these stand those of later metrics
# a request of 512 bytes, of a page and of more than is left; slots with a tail; something pending
EVENTS = [
    {'format': 'fragsim-trace', 'version': 1,
     'device': {'total_bytes': 16 * MIB, 'context_bytes': MIB, 'granularity_bytes': 2 * MIB}},
    {'op': 'alloc', 'id': 1, 'size': 700000}, {'op': 'alloc', 'id': 2, 'size': 700000},
    {'op': 'alloc', 'id': 3, 'size': 3 * MIB}, {'op': 'free', 'id': 1},
    {'op': 'free', 'id': 3}, {'op': 'mark', 'name': 'middle'},
    {'op': 'free', 'id': 2, 'pending': True}, {'op': 'alloc', 'id': 4, 'size': 64 * MIB},
    {'op': 'complete', 'id': 2}]


def table() -> list[str]:
    """The metrics of the program, in their order."""
    lines = fragsim('complete', '--', 'run', '--columns', '').stdout.splitlines()
    names = [line.split('\t')[0] for line in lines if not line.startswith(':')]
    assert names[:1] == ['all'] and names[1:8] == OF_STEP, names
    return names[8:]


def lacks(place: str, metrics: list[str], there: object) -> list[str]:
    """What to complain of: metrics that a place does not have."""
    return [f'{place}: {x} is missing' for x in metrics if x not in there]


def rows_of(trace: Path, *options: str) -> list[list[str]]:
    done = fragsim('run', '-q', '--on-oom', 'continue', '--steps', '-', *options, trace)
    assert done.returncode == 3 and not done.stderr, done
    return [line.split(',') for line in done.stdout.splitlines()]


def check_columns(metrics: list[str], trace: Path) -> None:
    usual, every = rows_of(trace), rows_of(trace, '--columns', 'all')
    equal('rows have the columns of the first edition', usual[0], OF_STEP + FIRST)
    equal('all of them are those of the table', every[0], OF_STEP + metrics)
    equal('each has its value in both', [row[:len(usual[0])] for row in every], usual)
    equal('the same where they are named', rows_of(trace, '--columns', ','.join(usual[0])), usual)
    chosen = ['wasted', 'op', 'free', 'step', 'holes']
    equal('the columns stand in the order in which they are named',
          rows_of(trace, '--columns', ','.join(chosen)),
          [[row[every[0].index(x)] for x in chosen] for row in every])
    equal('the policy comes first', rows_of(trace, '-p', 'direct', '-p', 'buddy', '--columns',
                                            'holes')[0], ['policy', 'holes'])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 's.ndjson')
        fragsim('run', '-q', '--on-oom', 'continue', '--steps', path, '--columns', 'wasted,t,op,id',
                trace)
        lines = path.read_text(encoding='utf-8').splitlines()
    equal('NDJSON has the same members', [list(json.loads(line)) for line in lines],
          [['wasted', 't', 'op', 'id']] * (len(every) - 1))
    at = every[0].index('wasted')
    equal('and values', lines[1], f'{{"wasted":{every[2][at]},"t":null,"op":"alloc","id":2}}')


def check_usage(trace: Path) -> None:
    for columns, said in (
            ('hole', '--columns: no such column "hole"; did you mean holes?'),
            ('step,Wasted', '--columns: no such column "Wasted"; did you mean wasted?'),
            ('step,step', '--columns: step is named twice'),
            ('', '--columns: no such column ""'), ('step,', '--columns: no such column ""'),
            ('step,all', '--columns: no such column "all"'),
            ('policy', '--columns: no such column "policy"'),
            ('x' * 5000, '--columns: no such column "xxx')):
        done = fragsim('run', '--steps', '-', '--columns', columns, trace)
        TAP.ok(done.returncode == 2 and not done.stdout and done.stderr.count('\n') == 1
               and said in done.stderr, f'refused: --columns {columns[:20]!r}', [str(done)[:500]])
    done = fragsim('run', '--columns', 'all', trace)
    TAP.ok(done.returncode == 2 and '--steps' in done.stderr, 'refused: --columns without rows',
           [str(done)])


def check_counted(metrics: list[str], trace: Path) -> None:
    """Each is more than 0 somewhere, and peaks are not below what rows show."""
    options = [x for p in ('bestfit', 'sizeclass', 'direct') for x in ('-p', p)]
    head, *rows = rows_of(trace, *options, '--columns', 'all')
    values = {x: [float(row[head.index(x)]) for row in rows] for x in metrics}
    TAP.result('each metric is counted', [
        f'{x}: 0 in every row: is it counted in CHANGING() of src/metrics/run_metrics.c?'
        for x in metrics if not any(values[x])])
    runs = result_of(trace, *options)['runs']
    faults = []
    for x in metrics:
        peaks = [run['peak'].get(x) for run in runs]
        if x in PERCENTAGES:
            top = max(run[x]['max'] for run in runs)
        else:
            top = max(peaks)
        if top < max(values[x]):
            faults.append(f'{x}: the peak is {top}, a row has {max(values[x])}: see BY_CALLS()'
                          ' of src/metrics/run_metrics.c')
    TAP.result('its peak is kept', faults)


def result_of(trace: Path, *options: str) -> dict:
    done = fragsim('run', '-q', '--on-oom', 'continue', '--json', '-', *options, trace)
    assert done.returncode == 3, done
    return json.loads(done.stdout)


def check_documents(metrics: list[str], trace: Path, folder: Path) -> None:
    run = result_of(trace)['runs'][0]
    numbers = [x for x in metrics if x not in PERCENTAGES]
    whole = NUMBERS + PERCENTAGES + LATER
    for name, got, wanted in (
            ('peak', run['peak'], NUMBERS + LATER), ('last', run['last'], whole),
            ('oom.metrics', run['oom'][0]['metrics'], whole),
            ('marks', run['marks'][0], ['name', 'step', *whole])):
        TAP.result(f'result: {name} has each metric',
                   lacks(f'src/documents/result_fields.c: {name}',
                         numbers if name == 'peak' else metrics, got),
                   [] if list(got)[:len(wanted)] == wanted else [f'in this order: {list(got)}'])
    baseline = folder / 'b.json'
    done = fragsim('diff', '-q', '-b', baseline, '--update-baseline', '-p', 'bestfit', trace)
    assert done.returncode == 0, done
    run = json.loads(baseline.read_text(encoding='utf-8'))['traces'][0]['runs'][0]
    first = [x for x in NUMBERS if x != 'device_free']
    for name, got, wanted in (
            ('peak', run['peak'], [*first, 'device_free', *LATER]),
            ('last', run['last'], [*first, *PERCENTAGES, 'device_free', *LATER])):
        TAP.result(f'baseline: {name} has each metric',
                   lacks(f'src/documents/result_fields.c: {name}',
                         numbers if name == 'peak' else metrics, got),
                   [] if list(got)[:len(wanted)] == wanted else [f'in this order: {list(got)}'])


def check_conditions(metrics: list[str], trace: Path) -> None:
    run = result_of(trace)['runs'][0]
    faults = []
    paths = [f'last.{x}' for x in metrics] + [f'peak.{x}' for x in metrics if x not in PERCENTAGES]
    for path in paths:
        group, name = path.split('.')
        for relation, status in (('==', 1), ('!=', 3)):
            done = fragsim('run', '-q', '--on-oom', 'continue', '--fail-if',
                           f'{path} {relation} {max(run[group][name], 0):.4f}', trace)
            if done.returncode != status and run[group][name] >= 0:
                faults.append(f'{path} {relation}: {done}')
    TAP.result(f'{len(paths)} conditions hold on what the result has', faults)
    done = fragsim('run', '-q', '--fail-if', 'peak.hole > 1', trace)
    TAP.ok(done.returncode == 2 and 'did you mean peak.holes?' in done.stderr,
           'what nearly is a metric is named', [str(done)])


def section(page: str, title: str) -> str:
    text = (ROOT / 'man' / page).read_text(encoding='utf-8')
    return re.split(r'^\.S[sh] ', text.split(f'\n.Ss {title}\n')[1], maxsplit=1, flags=re.M)[0]


def check_manual(metrics: list[str], figures: list[str]) -> None:
    page = 'fragsim-result.5'
    items = dict(re.findall(r'^\.It Li (\w+)\n(\w+)', section(page, 'Metrics'), re.M))
    TAP.result('the manual describes each metric',
               lacks(f'man/{page}, Metrics', metrics, items),
               [f'man/{page}, Metrics: {x} is no metric' for x in items if x not in metrics],
               [f'man/{page}: is {x} in percent?' for x in metrics
                if (items.get(x) == 'Percent') != (x in PERCENTAGES)])
    text = section(page, 'Steps').split('and then the metrics:')[1]
    always, asked = text.split('These are the columns')
    listed = [re.findall(r'\w+', ' '.join(re.findall(r'^\.Li (.*)', part, re.M)))
              for part in (always, asked)]
    equal(f'man/{page}, Steps: the columns that there always are', listed[0], FIRST)
    TAP.result('and those that --columns gives',
               lacks(f'man/{page}, Steps', [x for x in metrics if x not in FIRST], listed[1]))
    compared = (ROOT / 'man' / 'fragsim-diff.1').read_text(encoding='utf-8')
    TAP.result('the manual names each figure of a comparison',
               lacks('man/fragsim-diff.1', figures, compared))


def check_committed(metrics: list[str]) -> None:
    """What else is written by hand."""
    TAP.result('the naive model counts each metric',
               lacks('tests/property/naive.py', metrics, naive.ALL_COLUMNS))
    path = 'traces/baseline.json'
    run = json.loads((ROOT / path).read_text(encoding='utf-8'))['traces'][0]['runs'][0]
    TAP.result(f'{path} has each metric', lacks(
        f'{path} (fragsim diff -b {path} --update-baseline)', metrics, run['last']))


def older(document: dict, runs: list[dict]) -> dict:
    """The document as the first edition had it."""
    for run in runs:
        for part in [*(run[x] for x in OBJECTS), *run.get('marks', []),
                     *(x['metrics'] for x in run.get('oom', []) if 'metrics' in x)]:
            for name in [x for x in part if x not in [*FIRST, 'name', 'step']]:
                del part[name]
    return document


def compare(*words: object) -> tuple[dict, int]:
    done = fragsim('diff', *words, '--format', 'json')
    assert not done.stderr, done
    return json.loads(done.stdout), done.returncode


def figures_of(comparison: dict) -> list[str]:
    """Those that the first edition did not have."""
    return list(comparison['traces'][0]['runs'][0]['figures'])[FIRST_FIGURES:]


def check_comparison(tap_name: str, got: dict, *files: Path) -> None:
    """It tells of these files, and of nothing else, that they are older; all else is the same."""
    later = figures_of(got)
    notes = [f'{x} is older than {", ".join(later)}: not compared' for x in files]
    faults = [] if got['conditions'] == notes else [f'told: {got["conditions"]}']
    for trace in got['traces']:
        for pair in trace['runs']:
            if pair['verdict'] != 'same':
                faults.append(f'{pair["run"]}: {pair["verdict"]}')
            faults += [f'{x}: {pair["figures"][x]}' for x in later
                       if notes and pair['figures'][x]['verdict'] is not None]
    TAP.result(tap_name, faults)


def check_old_baseline(folder: Path) -> None:
    """The committed one, without the two larger of its traces."""
    old = json.loads((HERE / 'old-baseline.json').read_text(encoding='utf-8'))
    old['traces'] = [x for x in old['traces'] if 'resnet50' in x['path'] or 'bert' in x['path']]
    for trace in old['traces']:
        shutil.copy(ROOT / trace['path'], folder)
        trace['path'] = str(folder / Path(trace['path']).name)
    path = folder / 'old.json'
    path.write_text(json.dumps(old), encoding='utf-8')
    got, status = compare('-b', path, '--gate')
    check_comparison('an older baseline is compared, and one note says what is not', got, path)
    equal('it passes the gate', status, 0)
    lost = got['traces'][0]['runs'][0]['figures']['peak.wasted']
    TAP.ok(lost['base'] is None and lost['value'] > 0, 'the new value is shown', [str(lost)])
    done = fragsim('diff', '-b', path, '--fail-if', 'peak.wasted > +0')
    TAP.ok(done.returncode == 2 and done.stderr.count('\n') == 1
           and 'is older than this metric' in done.stderr,
           'a change of what it does not have cannot be judged', [str(done)])
    for bound, status in (('> 0', 1), ('> 1TiB', 0)):
        done = fragsim('diff', '-q', '-b', path, '--fail-if', f'peak.wasted {bound}')
        equal(f'a bound on it can: {bound}', done.returncode, status)
    fragsim('diff', '-q', '-b', path, '--update-baseline')
    got, _ = compare('-b', path)
    check_comparison('written anew it has all', got)


def check_old_result(trace: Path, folder: Path) -> None:
    new = result_of(trace, '-p', 'bestfit', '-p', 'direct')
    (folder / 'new.json').write_text(json.dumps(new), encoding='utf-8')
    half = json.loads(json.dumps(new))
    del half['runs'][1]['last']['holes']
    (folder / 'half.json').write_text(json.dumps(half), encoding='utf-8')
    old = folder / 'old-result.json'
    old.write_text(json.dumps(older(new, new['runs'])), encoding='utf-8')
    other = shutil.copy(old, folder / 'other.json')
    for name, base, now, files in (
            ('an older result as the base', old, folder / 'new.json', [old]),
            ('an older result as the new one', folder / 'new.json', old, [old]),
            ('two older results', old, other, [old, other]),
            ('none that is older', folder / 'new.json', folder / 'new.json', [])):
        got, _ = compare(base, now)
        check_comparison(name, got, *files)
    done = fragsim('diff', folder / 'half.json', folder / 'new.json')
    TAP.ok(done.returncode == 4 and 'runs[1].last.holes' in done.stderr,
           'one of them alone may not be missing', [str(done)])


def main(argv: list[str]) -> int:
    metrics = table()
    equal('the metrics of the first edition come first', metrics[:len(FIRST)], FIRST)
    with tempfile.TemporaryDirectory(prefix='metrics-') as name:
        folder = Path(name)
        trace = folder / 'trace.ndjson'
        trace.write_text(''.join(json.dumps(x) + '\n' for x in EVENTS), encoding='utf-8')
        check_columns(metrics, trace)
        check_usage(trace)
        check_counted(metrics, trace)
        check_documents(metrics, trace, folder)
        check_conditions(metrics, trace)
        check_old_baseline(folder)
        check_old_result(trace, folder)
        got, _ = compare('-p', 'bestfit', trace)
        check_manual(metrics, figures_of(got))
    check_committed(metrics)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
