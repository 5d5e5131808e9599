"""run.py - what fragsim predict says of real programs, against these programs at the number.

    run.py PROGRAM

Prints TAP. recordings/ has snapshots of programs of PyTorch 2.15 and, with names that begin with v2.9, 2.9.1,
recorded without a GPU: NAME-N.pickle.zst is the program NAME at the batch size or length N.
scripts/oracles/predictions/programs.py made those of 2.9.1. The truth of a prediction is
what fragsim fit finds for the recording at its number. The table of errors in fragsim-predict(1) is
made here: ACCEPT=1 writes it.
"""
import json
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / 'man' / 'fragsim-predict.1'
SETTINGS = ('--alloc-conf', '', '--alloc-conf', 'expandable_segments:True')
TABLE = re.compile(r'(kind of prediction +cases.*\n)(?:.+\n)*?(?=\.Ed\n)')
TAP = Tap()
PROGRAM = os.path.abspath(sys.argv[1])

# rows of a program at the number 1, by the beginning of its name: other programs have 256
ROWS = {'mlpsgd': 32, 'mlp': 64, 'gru': 12, 'v2.9.gru': 12, 'v2.9.varlen': 64, 'varlen': 64}
# of the predictions from recordings with 1024 rows and more: the number, and those with a doubt
large = {'cases': 0, 'doubted': 0}
# by kind: how far each named device is from the truth, and is it doubted?
errors: dict[str, list[tuple[float, bool]]] = defaultdict(list)


def recording(name: str, n: int) -> str:
    return f'{HERE}/recordings/{name}-{n}.pickle.zst'


def document(*args: object) -> dict:
    done = subprocess.run([PROGRAM, *map(str, args), *SETTINGS, '--json', '-', '-q'],
                          capture_output=True, check=False)
    return json.loads(done.stdout) if done.stdout else {'failed': f'{args}: {done.stderr.decode()}'}


def recorded() -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for path in (HERE / 'recordings').iterdir():
        name, n = path.name.removesuffix('.pickle.zst').rsplit('-', 1)
        found[name].append(int(n))
    return {name: sorted(numbers) for name, numbers in sorted(found.items())}


def note(kind: str, fits: list[dict], truth: list[int], doubted: bool) -> Iterator[str]:
    for fit, wanted in zip(fits, truth, strict=True):
        error = fit['reliable'] / wanted - 1
        # of a recording that began late the answer is "at least", not a device
        doubted |= fit['bound'] != 'exact'
        errors[kind].append((error, doubted))
        if error < 0 and not doubted:
            yield f'{error:+.1%} without a doubt'
        if error > (0.17 if kind.endswith('--scale-batch 1/2') else 0.12):
            yield f'{error:+.1%}'


def rows(name: str, n: int) -> int:
    return n * (2 if name.endswith('.len') else next((x for k, x in ROWS.items() if name == k), 256))


def few_doubts() -> list[str]:
    if 10 * large['doubted'] > large['cases'] or large['cases'] < 20:
        return [f'{large["doubted"]} of {large["cases"]} have a doubt']
    return []


def check_program(name: str, numbers: list[int], truth: dict[int, list[int]]) -> list[str]:
    faults: list[str] = []
    what = 'length' if name.endswith('.len') else 'late, batch' if '.late' in name else 'batch'
    for count in (2, 3):
        for i in range(len(numbers) - count):
            at, to = numbers[i:i + count], numbers[i + count:]
            found = document('predict', *(f'{recording(name, n)}={n}' for n in at), '--at',
                             ','.join(map(str, to)))
            if 'failed' in found:
                faults.append(found['failed'])
                continue
            if rows(name, at[0]) >= 1024:
                large['cases'] += len(to)
                large['doubted'] += bool(found['doubt']) * len(to)
            for point in found['points']:
                faults += [f'{name} {at} at {point["at"]}: {x}' for x in
                           note(f'{what}, {count} recordings', point['fits'], truth[point['at']],
                                bool(found['doubt']))]
    for n in numbers:
        if what != 'length' and 2 * n in numbers:
            found = document('predict', recording(name, 2 * n), '--scale-batch', '1/2')
            faults += [f'{name} {n} of {2 * n}: {x}' for x in
                       note('late, --scale-batch 1/2' if '.late' in name else '--scale-batch 1/2', found['changed']['fits'], truth[n], bool(found['doubt']))]
    return faults


# a change, and the program that has it: its recording is the truth of what is predicted from the first
CHANGES = (('--scale-dtype 1/2', 'v2.9.sgd', 'v2.9.bf16s'), ('--drop * --of optimizer', 'v2.9.tfm', 'v2.9.sgd'),
           ('--drop * --of activations', 'v2.9.tfm', 'v2.9.ckpt'))


def check_changes(truth: dict[str, dict[int, list[int]]]) -> list[str]:
    """A change of a class, from the recording of a program, against the program that was changed."""
    faults = []
    for change, before, after in CHANGES:
        for n in truth[before]:
            if n not in truth[after]:
                continue
            found = document('predict', recording(before, n), *change.split())
            faults += [f'{change} of {before} {n}: {x}' for x in
                       note(change, found['changed']['fits'], truth[after][n], bool(found['doubt']))]
    return faults


def different(truth: dict[str, list[int]]) -> list[str]:
    """Recordings of different programs are refused, or doubted to be of one."""
    faults = []
    for one, other in (('tfm', 'auto'), ('tfm', 'ckpt'), ('mlpsgd', 'mlp'), ('tfm', 'mlp'), ('accum', 'tfm'),
                       ('gru', 'mlp'), ('bf16s', 'tfm'), ('varlen', 'tfm'), ('auto', 'ckpt'),
                       ('v2.9.layers2', 'v2.9.layers8'), ('v2.9.sgd', 'v2.9.tfm'), ('v2.9.auto', 'v2.9.tfm'),
                       ('v2.9.ckpt', 'v2.9.tfm'), ('v2.9.layers2', 'v2.9.tfm'), ('v2.9.layers8', 'v2.9.tfm'),
                       ('v2.9.ckpt', 'v2.9.auto'), ('v2.9.bf16s', 'v2.9.sgd'), ('v2.9.bf16s', 'v2.9.tfm'),
                       ('v2.9.sdp', 'v2.9.tfm'), ('v2.9.mlpsgd', 'v2.9.mlp'), ('v2.9.accum', 'v2.9.layers2'),
                       ('v2.9.ckpt', 'v2.9.layers8'), ('v2.9.auto', 'v2.9.sdp'), ('v2.9.gru', 'v2.9.mlp'),
                       ('v2.9.ckpt', 'v2.9.sgd'), ('v2.9.varlen', 'v2.9.tfm'), ('v2.9.layers2', 'v2.9.mlp'),
                       ('v2.9.accum', 'v2.9.tfm'), ('v2.9.auto', 'v2.9.bf16s')):
        for a, b in ((one, other), (other, one)):
            found = document('predict', f'{recording(a, 4)}=4', f'{recording(b, 8)}=8', '--at', 16)
            if 'failed' not in found and not any('different programs' in x for x in found['doubt']):
                faults.append(f'{a} and {b}')
    return faults


def largest() -> list[str]:
    """The largest number is the last one whose named device, that of --at, is not above the given one."""
    faults = []
    for name, two in (('tfm', (4, 8)), ('mlp', (4, 8)), ('tfm.odd', (3, 7)), ('auto', (2, 4)), ('bf16s', (4, 8))):
        files = [f'{recording(name, n)}={n}' for n in two]
        points = document('predict', *files, '--at', ','.join(map(str, range(two[0], 41))))['points']
        for mib in (500, 777, 1024, 1500, 2000):
            reaches = document('predict', *files, '--largest', '--up-to', 40, '--device-bytes', f'{mib}MiB')['largest']
            for i, reach in enumerate(reaches):
                fits = [x['at'] for x in points if x['fits'][i]['reliable'] <= mib << 20]
                if reach['largest'] != max(fits, default=None):
                    faults.append(f'{name} {two} on {mib} MiB: {reach["largest"]}, but {max(fits, default=None)}')
    return faults


def table() -> str:
    lines = []
    for kind, of in sorted(errors.items()):
        values = [x for x, _ in of]
        lines.append(f'{kind:26}{len(of):6}{statistics.median(values) + 0:+8.1%}{min(values):+8.1%}'
                     f'{max(values):+8.1%}{sum(x == 0 for x in values):7}{sum(d for _, d in of):9}\n')
    return ''.join(lines).replace('%', ' %')


def main() -> int:
    programs, truths = recorded(), {}
    for name, numbers in programs.items():
        truth = truths[name] = {n: [fit['reliable'] for fit in document('fit', recording(name, n))['fits']]
                 for n in numbers}
        TAP.result(f'{name}: no named device without a doubt is too small',
                   check_program(name, numbers, truth))
    TAP.result('changes of classes are what the changed program requires, or are doubted', check_changes(truths))
    TAP.result('at most a tenth of the predictions from 1024 rows and more have a doubt', few_doubts())
    TAP.result('different programs are refused or doubted', different(programs))
    TAP.result('--largest is the last number whose named device fits', largest())
    text = PAGE.read_text()
    if os.environ.get('ACCEPT'):
        PAGE.write_text(TABLE.sub(lambda m: m[1] + table(), text))
    found = TABLE.search(text)
    TAP.result('the table of errors in fragsim-predict(1) is this',
               (not found or found[0] != found[1] + table()) and table())
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
