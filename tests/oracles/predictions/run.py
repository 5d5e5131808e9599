"""run.py - what fragsim predict says of real programs, against these programs at the number.

    run.py PROGRAM

Prints TAP. recordings/ has snapshots of programs of PyTorch 2.15, recorded without a GPU:
NAME-N.pickle.zst is the program NAME at the batch size or length N. The truth of a prediction is
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
        errors[kind].append((error, doubted))
        if error < 0 and not doubted:
            yield f'{error:+.1%} without a doubt'
        if error > 0.12:
            yield f'{error:+.1%}'


def check_program(name: str, numbers: list[int], truth: dict[int, list[int]]) -> list[str]:
    faults: list[str] = []
    what = 'length' if name.endswith('.len') else 'batch'
    for count in (2, 3):
        for i in range(len(numbers) - count):
            at, to = numbers[i:i + count], numbers[i + count:]
            found = document('predict', *(f'{recording(name, n)}={n}' for n in at), '--at',
                             ','.join(map(str, to)))
            if 'failed' in found:
                faults.append(found['failed'])
                continue
            for point in found['points']:
                faults += [f'{name} {at} at {point["at"]}: {x}' for x in
                           note(f'{what}, {count} recordings', point['fits'], truth[point['at']],
                                bool(found['doubt']))]
    for n in numbers:
        if what == 'batch' and 2 * n in numbers:
            found = document('predict', recording(name, 2 * n), '--scale-batch', '1/2')
            faults += [f'{name} {n} of {2 * n}: {x}' for x in
                       note('--scale-batch 1/2', found['changed']['fits'], truth[n], bool(found['doubt']))]
    return faults


def different(truth: dict[str, list[int]]) -> list[str]:
    """Recordings of different programs are refused, or doubted to be of one."""
    faults = []
    for one, other in (('tfm', 'auto'), ('tfm', 'ckpt'), ('mlpsgd', 'mlp'), ('tfm', 'mlp'), ('accum', 'tfm'),
                       ('gru', 'mlp'), ('bf16s', 'tfm'), ('varlen', 'tfm'), ('auto', 'ckpt')):
        for a, b in ((one, other), (other, one)):
            found = document('predict', f'{recording(a, 4)}=4', f'{recording(b, 8)}=8', '--at', 16)
            if 'failed' not in found and not any('different programs' in x for x in found['doubt']):
                faults.append(f'{a} and {b}')
    return faults


def table() -> str:
    lines = []
    for kind, of in sorted(errors.items()):
        values = [x for x, _ in of]
        lines.append(f'{kind:26}{len(of):6}{statistics.median(values) + 0:+8.1%}{min(values):+8.1%}'
                     f'{max(values):+8.1%}{sum(x == 0 for x in values):7}{sum(d for _, d in of):9}\n')
    return ''.join(lines).replace('%', ' %')


def main() -> int:
    programs = recorded()
    for name, numbers in programs.items():
        truth = {n: [fit['reliable'] for fit in document('fit', recording(name, n))['fits']]
                 for n in numbers}
        TAP.result(f'{name}: no named device without a doubt is too small',
                   check_program(name, numbers, truth))
    TAP.result('different programs are refused or doubted', different(programs))
    text = PAGE.read_text()
    if os.environ.get('ACCEPT'):
        PAGE.write_text(TABLE.sub(lambda m: m[1] + table(), text))
    found = TABLE.search(text)
    TAP.result('the table of errors in fragsim-predict(1) is this',
               (not found or found[0] != found[1] + table()) and table())
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
