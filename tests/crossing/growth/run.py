"""run.py - whether memory grows: every answer about a trace says what leaks says of it.

    run.py PROGRAM [FILE...]    prints TAP; without files, of the traces and recordings of the project
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'support'))
from program import HEAVY  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PROGRAM = ''
GROWS = {'leak': True, 'grows': True, 'none': False, 'unknown': None}
COMMANDS = {
    'fit': ('fit',), 'plan': ('plan', '--time', '1s'),
    'run': ('run',), 'run of two policies': ('run', '-p', 'pytorch', '-p', 'bestfit'),
    'explain': ('explain',), 'info': ('trace', 'info'),
    'predict': ('predict', '--hoist'), 'ranks': ('ranks',),
}


def document(*args: str, data: bytes | None = None) -> dict:
    done = subprocess.run([PROGRAM, *args, '-q', '--json', '-'], check=False,
                          capture_output=True, input=data or b'')
    assert done.returncode in (0, 1, 3), (args, done.returncode, done.stderr)
    return json.loads(done.stdout)


def scopes(x: object) -> list[dict]:
    """Of a document, and of its parts."""
    if isinstance(x, list):
        return [s for v in x for s in scopes(v)]
    if not isinstance(x, dict):
        return []
    mine = x.get('scope', [])
    return (mine if isinstance(mine, list) else [mine]) + scopes(list(x.values()))


def said(*args: str, data: bytes | None = None) -> set:
    found = {s['grows'] for s in scopes(document(*args, data=data))}
    assert found, args
    return found


def check(name: str, path: str) -> object:
    """Returns what leaks says."""
    verdict = document('leaks', path)['verdict']
    faults = []
    for command, args in COMMANDS.items():
        got = said(*args, path)
        if got != {GROWS[verdict]}:
            faults.append(f'{command}: {got}')
    got = said('diff', path, path)
    if got != {GROWS[verdict]}:
        faults.append(f'diff: {got}')
    for command in ('fit', 'explain', 'run') if 'ndjson' not in path else ():
        got = said(command, '-', data=Path(path).read_bytes())
        if command != 'run' and got != {GROWS[verdict]}:
            faults.append(f'{command} of standard input: {got}')
    TAP.result(f'{name}: {verdict}', *faults)
    return GROWS[verdict]


def lines(path: str, kept: int) -> str:
    """Weights, and a loop that keeps `kept` bytes of each iteration."""
    events: list[dict] = [{'op': 'alloc', 'id': 0, 'size': 64 << 20, 'tag': 'weights'}]
    for i in range(1, 30):
        events += [{'op': 'mark', 'name': f'step {i}'},
                   {'op': 'alloc', 'id': 2 * i, 'size': 8 << 20, 'tag': 'activations'},
                   {'op': 'free', 'id': 2 * i}]
        events += [{'op': 'alloc', 'id': 2 * i + 1, 'size': kept, 'tag': 'losses'}] if kept else []
    head = {'format': 'fragsim-trace', 'version': 1}
    Path(path).write_text('\n'.join(map(json.dumps, [head, *events])) + '\n')
    return path


def text(*args: str) -> str:
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False).stdout


def check_rows() -> None:
    """The row: 3 MiB of each iteration, of one tag."""
    grown, even = lines('leak.ndjson', 3 << 20), lines('even.ndjson', 0)
    TAP.same('lines that keep 3 MiB an iteration', check('leak.ndjson', grown), True)
    TAP.same('lines that keep nothing', check('even.ndjson', even), False)
    row = '3.00 MiB per iteration, most of it by losses: a longer run needs more'
    for args in (('fit',), ('plan',), ('predict', '--hoist'),
                 ('run', '-p', 'pytorch', '--device-bytes', '1GiB')):
        shown = ' '.join(text(args[0], grown, *args[1:]).split())
        TAP.ok(row in shown and 'growth' not in text(args[0], even, *args[1:]),
               f'{args[0]} has a row for the growth, where there is some', shown)
    said_of = document('fit', grown, even)['scope']
    TAP.same('fit of two has both', [s['grows'] for s in said_of], [True, False])
    TAP.ok('in leak.ndjson' in ' '.join(text('fit', grown, even).split()), 'and names the one')
    said_of = document('predict', f'{grown}=2', f'{lines("leak4.ndjson", 6 << 20)}=4',
                       '--at', '8')['scope']
    TAP.same('predict has that of both', [s['grows'] for s in said_of], [True, True])


def check_left_out(path: Path) -> None:
    """Without the stacks, iterations can be others."""
    for stacks, wanted in (('top', None), ('none', None), ('all', True), ('python', True)):
        TAP.same(f'run --stacks {stacks}', said('run', str(path), '--stacks', stacks), {wanted})


def check_forms(path: Path) -> None:
    for form in ('ndjson', 'fsb'):
        for stacks in ('all', 'top', 'none'):
            subprocess.run([PROGRAM, 'trace', 'convert', '-q', '--stacks', stacks, path, f'x.{form}'],
                           check=True)
            check(f'{path.name} as {form} with stacks {stacks}', f'x.{form}')


def main() -> int:
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv[1])
    files = [Path(x).resolve() for x in sys.argv[2:]]
    tree = HERE.parents[2]
    recorded = sorted((tree / 'tests/commands/leaks/recorded').glob('*.gz'))
    if not files:
        names = ('leak_hook', 'eval_grad', 'oom_fragmentation', 'late_ring', 'gpt_checkpoint')
        files = [*recorded, tree / 'traces/moe_train_dispatch.ndjson.gz',
                 *(tree / f'tests/oracles/corpus/{x}.pickle.gz' for x in names)]
        if HEAVY:
            files = [*recorded, *sorted((tree / 'tests/oracles/corpus').glob('*.gz'))]
    with tempfile.TemporaryDirectory(prefix='fragsim-growth.') as work:
        os.chdir(work)
        for path in files:
            check(path.name, str(path))
        if not sys.argv[2:]:
            check_rows()
            check_forms(recorded[-1])
            check_left_out(recorded[-1])
        os.chdir('/')
    return TAP.finish()


sys.exit(main())
