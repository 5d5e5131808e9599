"""run.py - fail the k-th allocation, read, write, ... of a run, k = 1, 2, ... until it succeeds.

    run.py PROGRAM [WORD]      prints TAP; of the scenes with this word in their names alone

Each run must end with the status that the manual gives, one line on standard error, every
output as it was before, no memory that was never freed, and without a crash. commands.py has the
runs; after the first ALL calls of a run only some are made to fail, ever farther apart, except for
the last END calls of a dense scene: a command prints its outputs there. Of a run on a sample of a form,
SPREAD calls fail, evenly. HEAVY=1 fails more of each.
preload.c makes them fail; it is compiled here, into a folder that goes away. A sanitizer has its
own malloc, so that this is skipped there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from commands import SCENES, SIGNALS, SPOILS, SWEPT, Scene, write_inputs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import times  # noqa: E402

PATIENCE = 60.0
OLD = b'what stood here before\n'
ALL = times(8, 20)      # calls that fail each; then ever farther apart
END = times(8, 30)      # calls at the end of a dense scene that fail each
SPREAD = times(16, 80)          # calls that fail, evenly, of a run on a sample of a form
OWN = ('mark', 'live')  # files of preload.c
LEAKS = not os.environ.get('COVERAGE')  # to count lines takes memory, too


def prepare(folder: Path, program: str) -> None:
    """The traces, and two results; a baseline to begin with."""
    write_inputs(folder, program)
    for command, source, name in (('gzip', 'trace.ndjson', 'trace.gz'),
                                  ('gzip', 'long.ndjson', 'long.gz'),
                                  ('zstd', 'trace.ndjson', 'trace.zst')):
        with open(folder / name, 'wb') as to:
            subprocess.run([command, '-qc', str(folder / source)], stdout=to, check=True)
    subprocess.run([program, 'trace', 'convert', 'trace.ndjson', 'trace.fsb'], cwd=folder, check=True)
    for policy, name in (('bestfit', 'base.json'), ('buddy', 'new.json')):
        subprocess.run([program, 'run', '-q', '-p', policy, '--json', name, 'trace.ndjson'],
                       cwd=folder, check=False)
    shutil.copy(folder / 'base.json', folder / 'made.json')
    subprocess.run([program, 'sweep', *SWEPT, '-q', '-o', '.'], cwd=folder, check=True)


def content(path: Path) -> object:
    """Of the one long input, what would show that it was touched."""
    at = path.stat()
    return path.read_bytes() if at.st_size < 1 << 16 else (at.st_ino, at.st_size, at.st_mtime_ns)


def contents(folder: Path) -> dict:
    return {path.name: content(path) for path in folder.iterdir()
            if path.name not in OWN and path.is_file()}


class Stage:
    """A folder, the library and the program."""

    def __init__(self, folder: Path, library: Path, program: str):
        self.folder, self.library, self.program = folder, library, program
        self.wanted: dict[Path, bytes] = {}      # what the run without a fault makes
        self.report = b''                       # and prints
        self.live = -1                          # and does not free
        self.calls = 0                          # and how many calls it makes that could fail
        # a baseline is read before it is written
        self.old = {'made.json': (folder / 'made.json').read_bytes()}
        self.inputs = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    def play(self, scene: Scene, number: int):
        """The run in which this call fails: was there one? The blocks left, the calls, the end."""
        mark, live = (self.folder / name for name in OWN)
        mark.unlink(missing_ok=True)
        live.unlink(missing_ok=True)
        env = {**os.environ, 'LD_PRELOAD': str(self.library), 'FAULT_CALL': scene.call,
               'FAULT_AT': str(number), 'FAULT_MARK': str(mark), 'FAULT_LIVE': str(live),
               'FRAGSIM_STANDIN': 'gpus=2'}
        if scene.all:
            env['FAULT_ALL'] = '1'
        done = subprocess.run([self.program, *scene.command], cwd=self.folder, env=env,
                              check=False, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE)
        left, calls = (int(x) for x in live.read_text().split()) if live.exists() else (None, 0)
        return mark.exists(), left, calls, done

    def whole(self, scene: Scene, done: subprocess.CompletedProcess) -> bool:
        """Is all as it should be? The C library may do without what it was refused."""
        if scene.timed:
            return done.stderr == b'' and all(path.read_bytes() != OLD for path in self.wanted)
        return done.stderr == b'' and done.stdout == self.report and all(
            path.read_bytes() == wanted != OLD for path, wanted in self.wanted.items())

    def reset(self, scene: Scene) -> None:
        if scene.folder:
            shutil.rmtree(self.folder / scene.folder, ignore_errors=True)
        for name in scene.files:
            (self.folder / name).write_bytes(self.old.get(name, OLD))
        if scene.call in SPOILS:
            for name in self.inputs.keys() & set(scene.command):
                (self.folder / name).write_bytes(self.inputs[name])

    def first(self, scene: Scene) -> str:
        """The run without a fault, which says what is right; what is wrong with it."""
        self.reset(scene)
        there, live, self.calls, done = self.play(scene, 10**9)
        self.wanted = {self.folder / name: (self.folder / name).read_bytes()
                       for name in scene.files}
        self.report, self.live = done.stdout, live
        if there or done.returncode != scene.fine or not self.whole(scene, done):
            return f'without a fault: {done.returncode} {done.stderr!r}'
        # the C library's own, for what is printed
        if live is None or (LEAKS and live > bool(done.stdout)):
            return f'without a fault: {live} blocks of memory are left'
        return ''

    def fault(self, scene: Scene, number: int) -> tuple[bool, str]:
        """Was there such a call, and what is wrong with how the run ended?"""
        self.reset(scene)
        before = contents(self.folder)
        there, live, _, done = self.play(scene, number)
        said = done.stderr.decode(errors='backslashreplace')
        if scene.call in SIGNALS and done.returncode in SIGNALS[scene.call]:
            quiet = done.stderr == b'' and contents(self.folder) == before
            return there, '' if there and quiet else f'{done.returncode} {said!r}, or its files'
        if done.returncode < 0 or live is None:
            return there, f'it crashed: {done.returncode} {said}'
        if LEAKS and live > self.live:
            return there, f'{live} blocks of memory are left, not {self.live}: {said!r}'
        if done.returncode == scene.fine and self.whole(scene, done):
            return there, ''
        if not there:
            return False, f'without a fault: {done.returncode} {said!r}'
        if done.returncode != scene.end:
            return True, f'status {done.returncode}, not {scene.end}: {said!r}'
        lines = said.splitlines()
        if len(lines) != 1 or not lines[0].startswith('fragsim: '):
            return True, f'{len(lines)} lines: {said!r}'
        if not any(word in said for word in scene.said):
            return True, f'nothing of {scene.said}: {said!r}'
        after = contents(self.folder)
        if scene.call in SPOILS:
            before, after = ({name: x[name] for name in scene.files if name in x}
                             for x in (before, after))
        if before != after:
            return True, f'files {sorted(after)} differ from before'
        return True, ''


def following(number: int, scene: Scene, calls: int) -> int:
    """The call that fails after this one did."""
    if scene.every and number >= ALL:
        return number + max(1, calls // SPREAD)
    if number < ALL or (scene.dense and number >= calls - END):
        return number + 1
    further = number + number // times(3, 8)
    return min(further, max(number + 1, calls - END)) if scene.dense else further


def judge(scene: Scene, inputs: Path, library: Path, program: str) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix='fragsim-fault-') as name:
        folder = Path(name, 'run')
        shutil.copytree(inputs, folder)
        stage = Stage(folder, library, program)
        wrong = stage.first(scene)
        number, failed, there = 1, 0, True
        while there and not wrong:
            there, wrong = stage.fault(scene, number)
            failed += there
            if there and not wrong:
                number = following(number, scene, stage.calls)
    if wrong:
        return False, f'number {number}: {wrong}'
    if not failed:
        return False, 'nothing failed: there is no such call'
    return True, f'{failed} of {number - 1} calls' if number > ALL else f'{failed} calls'


def compile_library(folder: Path) -> Path | None:
    compiler = next(filter(shutil.which, ('cc', 'gcc', 'clang')), None)
    if not compiler:
        return None
    library = folder / 'preload.so'
    subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', str(library),
                    str(Path(__file__).with_name('preload.c'))], check=True)
    return library


def main(argv: list[str]) -> int:
    if len(argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(argv[1])
    # CUDA's runtime allocates before main, and does not survive a failure there: this is the same
    # program without it
    if os.path.exists(program + '-standin'):
        program += '-standin'
    if os.environ.get('SAN'):
        print('1..0 # SKIP a sanitizer has its own malloc')
        return 0
    with tempfile.TemporaryDirectory(prefix='fragsim-fault-') as name:
        library = compile_library(Path(name))
        if not library:
            print('1..0 # SKIP no compiler')
            return 0
        inputs = Path(name, 'inputs')
        inputs.mkdir()
        prepare(inputs, program)
        scenes = [x for x in SCENES if ''.join(argv[2:]) in x.name]
        print(f'1..{len(scenes)}')
        good = True
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(judge, scene, inputs, library, program) for scene in scenes]
            for number, (scene, job) in enumerate(zip(scenes, jobs), 1):
                fine, text = job.result()
                good = good and fine
                print(f'{"ok" if fine else "not ok"} {number} - a failing {scene.name}')
                print(f'# {text}', flush=True)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv))
