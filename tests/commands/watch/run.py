"""run.py - fragsim.watch(), fragsim record --torch --explain, python -m fragsim.watch; prints TAP.

    run.py PROGRAM

A program that does not fail, or whose failure it catches, is the same with and without: output,
status, files. One that fails has the answer of `fragsim explain` before the traceback that it has
without. The programs use the stand-in of PyTorch of record_torch.
"""
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'support'), str(HERE.parent / 'record_torch')]
from tap import Tap  # noqa: E402
from run import MIB, PYTHON, ROOT, Stage, actions  # noqa: E402

TAP = Tap()
PROGRAM = ''
SAME = ('return', 'status', 'exception', 'caught', 'many', 'os_exit', 'steps', 'fork', 'fork_first', 'spawn',
        'own_history', 'looked', 'thread', 'devices', 'interrupt', 'term_own', 'ignored', 'hidden', 'steady',
        'work_on_cpu', 'unused')
FAIL = ('oom', 'chained', 'caught_and_failed', 'thread_fails', 'nested')


class Watched(Stage):
    def __init__(self, folder):
        super().__init__(folder, FRAGSIM=PROGRAM)
        self.env['PYTHONPATH'] = f'{HERE.parent}/record_torch/standin:{ROOT}/python'

    def plain(self, scene, **more):
        return self.call(PYTHON, '-B', HERE / 'watched.py', scene, **more)

    def watch(self, scene, options=None, **more):
        return self.plain(scene, WATCH=json.dumps(options or {}), **more)

    def outside(self, scene, *words):
        return self.call(PROGRAM, 'record', '--torch', '--explain', '-o', self.trace, *words, '--', PYTHON, '-B',
                         HERE / 'watched.py', scene)

    def explained(self, path):
        return self.call(PROGRAM, 'explain', '--color', 'never', path).stdout


def staged(check, *args):
    with tempfile.TemporaryDirectory(prefix='watch-') as place:
        return check(Watched(Path(place)), *args)


def outcome(done):
    """Numbers of processes and addresses differ from run to run."""
    return done.returncode, done.stdout, re.sub(r'\b\d{3,}\b', 'N', done.stderr)


def both(stage, scene):
    """Watched by itself, and from outside; what one leaves is gone before the next."""
    for how, run in (('call', stage.watch), ('outside', stage.outside)):
        yield how, run(scene)
        for path in stage.trace.parent.iterdir():
            path.unlink()


def check_same(stage, scene):
    wrong = []
    bare = outcome(stage.plain(scene))
    for how, done in both(stage, scene):
        got = outcome(done)
        if got != bare:
            wrong.append(f'{how}: {got} for {bare}')
        left = [p.name for p in stage.trace.parent.iterdir()]
        wrong += [f'{how}: {left}'] * (left != [] and scene not in ('caught', 'many', 'hidden'))
    return wrong


def check_fail(stage, scene):
    """The answer for the file, then the traceback as without; the file ends with the failure."""
    wrong = []
    bare = stage.plain(scene)
    for how, done in both(stage, scene):
        path = stage.trace.with_suffix('.pickle')
        if not path.exists():
            wrong.append(f'{how}: no file: {done.stderr[-500:]}')
            continue
        answer = stage.explained(path)
        wanted = f'{answer}fragsim: {path} is the snapshot\n'
        if (done.returncode, done.stdout) != (bare.returncode, bare.stdout) \
                or not done.stderr.startswith(wanted) \
                or done.stderr[len(wanted):].splitlines()[-1] != bare.stderr.splitlines()[-1] \
                or done.stderr.count('\nTraceback') + 1 < bare.stderr.count('Traceback'):
            wrong.append(f'{how}: {done.returncode} {done.stderr}\n-- for --\n{wanted}{bare.stderr}')
        if not answer.startswith('OOM: 100.00 MiB requested by client.py:') or actions(path)[-1] != 'oom':
            wrong.append(f'{how}: {answer} {actions(path)}')
    return wrong


def check_caught(stage):
    """caught=True: a line at each failure, the first at once"""
    done = stage.watch('caught', {'caught': True})
    lines = done.stderr.splitlines()
    return [done.stderr] * (done.returncode != 0 or len(lines) != 1 or not re.fullmatch(
        r'fragsim: OOM: 100\.00 MiB requested by client\.py:\d+ \S+, event \d+ of \d+; .+; \S+/trace\.pickle', lines[0]))


def check_every(stage):
    """every=N: a line where memory grows, none where it does not, and no file"""
    grows = stage.watch('leak', {'every': 9})
    lines = grows.stderr.splitlines()
    wrong = [grows.stderr] * (grows.returncode != 0 or not lines or any(not re.fullmatch(
        r'fragsim: after (9|18) optimizer steps: \+1\.00 MiB per iteration at client\.py:\d+ alloc;'
        r' full in about \d+ iterations', x) for x in lines))
    steady = stage.watch('steady', {'every': 8})
    return wrong + [steady.stderr] * (steady.stderr != '') + [str(p) for p in stage.trace.parent.iterdir()]


def check_hook(stage):
    """the program's own sys.excepthook comes after the answer"""
    done = stage.watch('hook')
    tail = done.stderr.splitlines()[-2:]
    return [done.stderr] * (done.returncode != 1 or not done.stderr.startswith('OOM: ')
                            or tail != [f"fragsim: {stage.trace}.pickle is the snapshot",
                                        f'mine: CUDA out of memory. Tried to allocate {100 * MIB} bytes'])


def check_trainers(stage):
    """a callback of each trainer watches: stand-ins of three packages (tests/oracles/watch has the real ones)"""
    wrong = []
    for trainer, module, base in (('lightning', 'lightning/pytorch', 'Callback'), ('transformers', 'transformers', 'TrainerCallback'),
                                  ('accelerate', 'accelerate/tracking', 'GeneralTracker')):
        path = stage.folder / 'packages' / f'{module}.py'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'class {base}:\n    def __init__(self, **options): pass\n')
        paths = f'{stage.folder}/packages:{stage.env["PYTHONPATH"]}'
        done = stage.plain('trainer', TRAINER=trainer, PYTHONPATH=paths)
        wrong += [f'{trainer}: {done.stderr}'] * (done.returncode != 1 or not done.stderr.startswith('OOM: 100.00 MiB'))
        (stage.trace.with_suffix('.pickle')).unlink(missing_ok=True)
    return wrong


def check_child(stage):
    """a child that is spawned is watched from outside"""
    done = stage.outside('child_fails')
    return [done.stderr] * (done.returncode != 1 or done.stderr.count('OOM: 100.00 MiB requested') != 1)


def check_ranks(stage):
    """of two ranks that fail one speaks for both, and the other says where its file is"""
    wrong = []
    for how, done in both(stage, 'both_ranks'):
        for words, count in (('OOM: 100.00 MiB requested', 1), ('is out of memory; ', 1), ('snapshots of 2 ranks', 1),
                             ('Traceback', 2)):
            if done.stderr.count(words) != count:
                wrong.append(f'{how}: {count} of {words}: {done.stderr}')
        if done.returncode != 2 or sorted(stage.files()) != ['.rank0', '.rank1']:
            wrong.append(f'{how}: {done.returncode} {sorted(stage.files())}')
    return wrong


def check_no_answer(stage):
    """no program, one that hangs, fails, or takes too much memory: a line, and the program's own end"""
    wrong = []
    bare = stage.plain('oom')
    for text, more, said in (
            (None, {}, 'No such file'),
            ('exec sleep 60', {'SECONDS': '1'}, 'no answer after 1 seconds'),
            ('echo "fragsim: it cannot" >&2; exit 6', {}, 'it cannot'),
            (f'exec {PYTHON} -c "x = bytearray(1 << 28)\nimport time\ntime.sleep(60)"', {'MEMORY': str(1 << 27)},
             'takes too much memory')):
        tool = stage.folder / 'tool'
        if text:
            tool.write_text(f'#!/bin/sh\n{text}\n')
            tool.chmod(0o755)
        done = stage.watch('oom', FRAGSIM=str(tool), **more)
        first, rest = done.stderr.split('\n', 1)
        if said not in first or not first.startswith(f'fragsim: {stage.trace}.pickle: ') \
                or done.returncode != bare.returncode or rest.splitlines()[-1] != bare.stderr.splitlines()[-1]:
            wrong.append(f'{said}: {done.returncode} {done.stderr}')
    return wrong


def check_refused(stage):
    """what cannot be: an exception of the call, and usage from outside"""
    wrong = []
    for options, said in (({'every': 0}, 'every must be'), ({'max_entries': 0}, 'max_entries must be')):
        done = stage.watch('return', options)
        wrong += [done.stderr] * (done.returncode != 1 or f'ValueError: watch: {said}' not in done.stderr)
    done = stage.watch('return', TRACE=str(stage.folder / 'none' / 'trace'))
    wrong += [done.stderr] * (done.returncode != 1 or 'FileNotFoundError' not in done.stderr)
    for words in (('record', '--explain', '--', 'true'), ('record', '--torch', '--explain', '--iterations', '3', '--', 'true')):
        done = stage.call(PROGRAM, *words)
        wrong += [done.stderr] * (done.returncode != 2 or '--explain' not in done.stderr)
    return wrong


def check_module(stage):
    """python -m fragsim.watch PROGRAM is the same, into oom.pickle"""
    done = stage.call(PYTHON, '-B', '-m', 'fragsim.watch', HERE / 'watched.py', 'oom')
    return [done.stderr] * (done.returncode != 1 or not done.stderr.startswith('OOM: 100.00 MiB requested by client')
                            or not (stage.folder / 'oom.pickle').exists())


def check_full(stage):
    """a ring that was full says so"""
    done = stage.watch('oom', {'max_entries': 3})
    return [done.stderr] * ('device 0: the ring was full: the first 2 of its allocations' not in done.stderr)


def main(argv):
    global PROGRAM
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    PROGRAM = str(Path(argv[1]).resolve())
    cases = [(check_same, x) for x in SAME] + [(check_fail, x) for x in FAIL]
    with ThreadPoolExecutor(2) as pool:
        for (check, scene), wrong in zip(cases, pool.map(lambda c: staged(*c), cases)):
            TAP.result(f'{"the same" if check is check_same else "explained"}: {scene}', wrong)
    for check in (check_caught, check_every, check_hook, check_trainers, check_child, check_ranks, check_no_answer, check_refused,
                  check_module, check_full):
        TAP.result(check.__doc__, staged(check))
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
