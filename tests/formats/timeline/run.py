"""run.py - memory timelines of torch.profiler, and classes of blocks beside PyTorch's own categories.

    run.py PROGRAM

Prints TAP.  2.15.0 and 2.9.1 are what program.py recorded with these releases of PyTorch on scripts/torch-run: its
timelines, the profiler's trace and the snapshot of one run.  Values come from the sums that PyTorch itself made of the
timeline, from its categories, and from files that are worked out here by hand.  With TORCH_RUN_VERSIONS, such as
"2.15.0 2.9.1", the program is recorded anew.
"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'support'))
from program import fragsim  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
report = TAP.result
PARAMETER, OPTIMIZER, INPUT, TEMPORARY, ACTIVATION, GRADIENT, AUTOGRAD, UNKNOWN = range(8)
BEFORE, CREATE, CHANGE, DESTROY = range(1, 5)
NAMES = ['PARAMETER', 'OPTIMIZER_STATE', 'INPUT', 'TEMPORARY', 'ACTIVATION', 'GRADIENT', 'AUTOGRAD_DETAIL', None]
CLASS_OF = dict(zip(NAMES, ['weights', 'optimizer', 'inputs', 'temporaries', 'activations', 'gradients', 'activations',
                            'unknown']))


def converted(data: object) -> tuple[list, str, int]:
    Path('in').write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    done = fragsim('trace', 'convert', Path('in'), '-')
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode(), done.returncode


def expect(name: str, data: object, wanted: list, begins: str = 'start', warning: str = '') -> None:
    lines, told, rc = converted(data)
    faults = [] if rc == 0 and lines[1:] == wanted else [f'got {lines[1:]}, status {rc}, {told}', f'wanted {wanted}']
    if lines and lines[0]['meta']['scope']['begins'] != begins:
        faults.append(f'scope {lines[0]["meta"]["scope"]}')
    if len(told.splitlines()) != bool(warning) or warning not in told:
        faults.append(f'warnings {told!r}')
    report(name, faults)


def refused(name: str, data: object, message: str) -> None:
    lines, told, rc = converted(data)
    report(f'refused: {name}', [] if rc == 4 and told.count('\n') == 1 and message in told and not lines
           else [f'status {rc}, {told!r}'])


def alloc(id_: int, size: int, t: float | None = None, tag: int = UNKNOWN) -> dict:
    return {'op': 'alloc', 'id': id_, 'size': size} | ({} if t is None else {'t': t}) \
        | ({'tag': NAMES[tag]} if NAMES[tag] else {})


def free(id_: int, t: float) -> dict:
    return {'op': 'free', 'id': id_, 't': t}


def test_form() -> None:
    one = [[1500, CREATE, 512, ACTIVATION], [2250, DESTROY, -512, ACTIVATION]]
    wanted = [alloc(0, 512, 1.5, ACTIVATION), free(0, 2.25)]
    expect('a block and its end', one, wanted)
    expect('compressed', gzip.compress(json.dumps(one).encode()), wanted)
    expect('without spaces, and with lines', b'\n [\n' + json.dumps(one, indent=1).encode()[1:], wanted)
    expect('each category', [[1000, CREATE, 8, c] for c in range(8)], [alloc(c, 8, 1, c) for c in range(8)])
    expect('what was there before comes first, with its category',
           [[-1, BEFORE, 64, PARAMETER], [1000, CREATE, 8, GRADIENT], [2000, DESTROY, -64, PARAMETER]],
           [alloc(0, 64, 1, PARAMETER), alloc(1, 8, 1, GRADIENT), free(0, 2)], 'late')
    expect('the latest block of a size and category goes',
           [[1000, CREATE, 8, TEMPORARY], [2000, CREATE, 8, ACTIVATION], [3000, CREATE, 8, TEMPORARY],
            [4000, DESTROY, -8, TEMPORARY], [5000, DESTROY, -8, TEMPORARY], [6000, DESTROY, -8, ACTIVATION]],
           [alloc(0, 8, 1, TEMPORARY), alloc(1, 8, 2, ACTIVATION), alloc(2, 8, 3, TEMPORARY), free(2, 4), free(0, 5),
            free(1, 6)])
    expect('a new version changes the category of the block from its beginning on',
           [[1000, CREATE, 8, UNKNOWN], [2000, CHANGE, -8, UNKNOWN], [2000, CHANGE, 8, INPUT],
            [3000, CHANGE, -8, INPUT], [3000, CHANGE, 8, UNKNOWN], [4000, DESTROY, -8, UNKNOWN]],
           [alloc(0, 8, 1, INPUT), free(0, 4)])
    expect('an end without a beginning', [[2000, CREATE, 4, INPUT], [3000, DESTROY, -8, GRADIENT]],
           [alloc(1, 8, 2, GRADIENT), alloc(0, 4, 2, INPUT), free(1, 3)], 'late', '1 block that no event creates')
    expect('no bytes are no block', [[1000, CREATE, 0, INPUT], *one, [3000, DESTROY, 0, INPUT]], wanted)


def test_refused() -> None:
    good = [5, CREATE, 8, INPUT]
    for name, data, message in (
            ('sums by category', [[1, 2], [[0] * 9] * 2], 'an event of a memory timeline is'),
            ('sums by category, with times of a clock', [[1795904527649585, 1795904527649590], [[0] * 9] * 2],
             'byte 20: sums of a memory timeline by category, without blocks: export it as FILE.raw.json.gz'),
            ('empty sums', [[], []], 'an integer is expected here'),
            ('a page', b'<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>\n',
             'a picture of a memory timeline, without blocks: export it as FILE.raw.json.gz'),
            ('three fields', [good[:3]], 'byte 9: an event of a memory timeline is [time, action, bytes, category]'),
            ('five fields', [[*good, 1]], 'an event of a memory timeline is'),
            ('no event', [good, 7], 'an event of a memory timeline is'),
            ('an action', [[5, 5, 8, 0]], 'byte 5: an action is 1 (PREEXISTING) to 4 (DESTROY)'),
            ('a category', [[5, 2, 8, 8]], 'a category is 0 (PARAMETER) to 7 (unknown)'),
            ('a size', [[5, 2, 2**53, 0]], 'a size below 2^53'),
            ('a time', [[2**63, 2, 8, 0]], 'a time of 63 bits'),
            ('a fraction', [[5.5, 2, 8, 0]], 'byte 2: an integer is expected here'),
            ('a negative beginning', [[5, 2, -8, 0]], 'byte 1: its bytes are negative'),
            ('a positive end', [[5, 4, 8, 0]], 'action 4 (DESTROY) has negative bytes'),
            ('half a change', [[5, 3, -8, 0], good], 'two events'),
            ('the second half of a change', [[5, 3, 8, 0]], 'two events'),
            ('a change that the file ends in', [good, [5, 3, -8, INPUT]], 'ends within a change'),
            ('nothing after the bracket', b'[[5, 2, 8, 0]', 'truncated'),
            ('bytes after the end', b'[[5, 2, 8, 0]]]', 'bytes after the end'),
            ('no blocks', [[5, 2, 0, 0]], 'without events')):
        refused(name, data, message)


def last_classes(path: Path) -> dict[str, float]:
    """Bytes by class after the last event, as far as two digits of MiB tell them."""
    events = fragsim('trace', 'convert', '-q', path, '-').stdout.splitlines()[1:]
    done = fragsim('explain', '-v', '--at', str(len(events) - 1), path)
    row = re.search(r'^ *held +(.*)$', done.stdout.decode(), re.M)
    units = {'bytes': 1, 'KiB': 1 << 10, 'MiB': 1 << 20}
    return {name: float(n) * units[unit] for name, n, unit in re.findall(r'([a-z-]+) ([\d.]+) (\w+)', row[1])} if row else {}


def live_by_category(raw: list) -> dict[str, int]:
    """PyTorch's own, at the end."""
    out: dict[str, int] = {}
    for _, _, size, category in raw:
        name = CLASS_OF[NAMES[category]]
        out[name] = out.get(name, 0) + size
    return {k: v for k, v in out.items() if v}


def unequal(classes: dict[str, float], wanted: dict[str, int], names: tuple = ('weights', 'gradients', 'optimizer')) -> list[str]:
    return [f'{name}: {classes.get(name, 0)} where {wanted[name]} are wanted, of {classes}'
            for name in names if abs(classes.get(name, 0) - wanted[name]) > 0.01 * 2**20]


def test_recorded(name: str, folder: Path) -> None:
    raw = json.loads(gzip.decompress((folder / 'timeline.raw.json.gz').read_bytes()))
    times, sums = json.loads(gzip.decompress((folder / 'timeline.json.gz').read_bytes()))
    lines = converted((folder / 'timeline.raw.json.gz').read_bytes())[0][1:]
    live, of, after = 0, {}, {}
    for e in lines:
        if e['op'] == 'alloc':
            of[e['id']] = e['size']
        live += of[e['id']] if e['op'] == 'alloc' else -of[e['id']]
        after[int(e['t'])] = live
    last = {t: sum(row) for t, row in zip(times, sums)}
    report(f'{name}: live bytes at each time are those of PyTorch\'s own sums',
           [f'{t}: {after[t]}, not {last.get(t)}' for t in after if after[t] != last.get(t)][:3])
    wanted = live_by_category(raw)
    report(f'{name}: the categories are classes',
           unequal(last_classes(folder / 'timeline.raw.json.gz'), wanted))
    report(f'{name}: classes of the snapshot of the same run are PyTorch\'s categories',
           unequal(last_classes(folder / 'snapshot.pickle.gz'), wanted))
    # of what was there before the profile only the sum is known, which has the sizes of workspaces beside it in 2.9
    report(f'{name}: and those of the profiler\'s trace, by its operators',
           unequal(last_classes(folder / 'kineto.json.gz'), wanted, ('gradients', 'optimizer')))


def span(name: str, t: float, duration: float, thread: int = 1, sequence: int | None = None, cat: str = 'cpu_op') -> dict:
    return {'ph': 'X', 'cat': cat, 'name': name, 'tid': thread, 'ts': t, 'dur': duration,
            'args': {} if sequence is None else {'External id': 7, 'Sequence number': sequence}}


def memory(t: float, size: int, address: int, thread: int = 1) -> dict:
    return {'ph': 'i', 'name': '[memory]', 'tid': thread, 'ts': t,
            'args': {'Bytes': size, 'Addr': address, 'Device Type': 1, 'Device Id': 0}}


def test_operators() -> None:
    """Two steps of SGD, which requests nothing: sizes of gradients show by who frees the first ones."""
    unit, events = 4 << 20, []
    for t in (0, 100):
        events += [memory(t + 1, 2 * unit, 0x10000000), span('aten::linear', t + 2, 8, sequence=t),
                   span('aten::addmm', t + 3, 6, sequence=t), memory(t + 4, unit + 512, 0x20000000),
                   span('autograd::engine::evaluate_function: AddmmBackward0', t + 20, 10, 2, t),
                   span('AddmmBackward0', t + 21, 8, 2, t), span('aten::mm', t + 22, 5, 2),
                   memory(t + 23, unit, 0x30000000, 2), memory(t + 24, 3 * unit, 0x40000000, 2),
                   memory(t + 25, -3 * unit, 0x40000000, 2), memory(t + 26, -unit - 512, 0x20000000, 2),
                   span('Optimizer.step#SGD.step', t + 40, 5, cat='user_annotation')]
        if not t:
            events += [span('Optimizer.zero_grad#SGD.zero_grad', 50, 5, cat='user_annotation'),
                       memory(51, -unit, 0x30000000), memory(60, -2 * unit, 0x10000000)]
    Path('k.json').write_text(json.dumps({'traceEvents': events}))
    got = last_classes(Path('k.json'))
    report('a profile: what a backward pass makes and the program frees are gradients, its inputs are unknown',
           [] if got == {'gradients': unit, 'unknown': 2 * unit} else [f'got {got}'])
    with_state = [*events, span('Optimizer.step#Adam.step', 150, 9, cat='user_annotation'), span('aten::zeros_like', 151, 2),
                  memory(152, unit, 0x50000000)]
    Path('k.json').write_text(json.dumps(with_state))
    got = last_classes(Path('k.json'))
    report('a profile: what an optimizer requests and keeps is its state',
           [] if got.get('optimizer') == unit and got.get('gradients') == unit else [f'got {got}'])
    inference = [e for e in events if 'Backward' not in e['name']]
    Path('k.json').write_text(json.dumps({'traceEvents': inference}))
    got = last_classes(Path('k.json'))
    report('a profile without a backward pass has no gradients', [f'got {got}'] if 'gradients' in got else [])


def main() -> int:
    os.chdir(tempfile.mkdtemp(prefix='timeline-'))
    test_form()
    test_refused()
    test_operators()
    for version in ('2.15.0', '2.9.1'):
        test_recorded(version, HERE / version)
    run = HERE.parents[2] / 'scripts' / 'torch-run' / 'torch-run'
    for version in os.environ.get('TORCH_RUN_VERSIONS', '').split():
        Path(version).mkdir()
        subprocess.run([run, version, HERE / 'program.py', version], check=True, stdout=2)
        test_recorded(f'{version}, recorded now', Path(version).resolve())
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
