"""run.py - fail the k-th allocation, read, write, ... of a run, for k = 1, 2, ... until it succeeds.

    run.py PROGRAM      prints TAP

Each run must end with the status that the manual gives, one line on standard error, every
output as it was before, and without a crash. preload.c makes the calls fail; it is compiled
here, into a folder that goes away. A sanitizer has its own malloc, so that this is skipped there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
OLD = b'what stood here before\n'
OUTPUTS = {'--steps': 's.csv', '--placements': 'p.ndjson', '--json': 'r.json'}
# a bit of everything: strings, streams, pools, pending blocks, devices, an OOM, a mark
TRACE = '''{"format":"fragsim-trace","version":1,"devices":[{"name":"a","total_bytes":"8MiB"},{}]}
{"op":"alloc","id":"x","size":"3MiB","tag":"weights","stream":"copy"}
{"op":"alloc","id":2,"size":1000,"pool":"graph","device":1}
{"op":"record_stream","id":"x","stream":4}
{"op":"mark","name":"middle"}
{"op":"free","id":"x"}
{"op":"alloc","id":3,"size":"6MiB","tag":"input"}
{"op":"sync"}
{"op":"alloc","id":4,"size":5000}
{"op":"free","id":2,"pending":true}
{"op":"complete","id":2}
{"op":"empty_cache"}
'''


@dataclass(frozen=True)
class Scene:
    name: str
    call: str               # what fails
    status: int             # the end where it does
    words: tuple            # one of them is in the line
    args: tuple = ()
    all: bool = False       # the later calls fail, too
    trace: str = 'trace.ndjson'
    policies: tuple = ('bestfit',)
    outputs: tuple = ('--steps', '--placements')
    threads: int = 1        # several would allocate in any order
    diff: tuple = ()        # not run, but diff with these words ...
    convert: tuple = ()     # ... or convert
    files: tuple = ()       # ... which writes these
    fine: int = 3           # the end of a run without a fault


NOMEM = ('out of host memory', 'Cannot allocate memory')
EVERY = ('bestfit', 'firstfit', 'nextfit', 'worstfit', 'buddy', 'sizeclass', 'direct',
         'pytorch')
SCENES = [
    *[Scene(f'allocation under {name}', 'alloc', 6, NOMEM, policies=(name,)) for name in EVERY],
    Scene('allocation of three policies', 'alloc', 6, NOMEM, policies=EVERY[3:6]),
    Scene('allocation and all later ones', 'alloc', 6, NOMEM, all=True, outputs=('--steps',)),
    Scene('allocation for the result', 'alloc', 6, NOMEM, outputs=('--json',)),
    Scene('allocation for gzip', 'alloc', 6, NOMEM, trace='trace.gz'),
    Scene('allocation for zstd', 'alloc', 6, NOMEM, trace='trace.zst'),
    Scene('allocation for an object', 'alloc', 6, NOMEM, trace='object.json'),
    Scene('allocation with --lenient', 'alloc', 6, NOMEM, ('-q', '--lenient'), trace='flawed.ndjson'),
    Scene('allocation with --check', 'alloc', 6, NOMEM, ('--check',)),
    Scene('allocation for the report', 'alloc', 6, NOMEM, ('--summary', 'pytorch'), outputs=(),
          policies=('bestfit', 'pytorch')),
    Scene('read', 'read', 4, ('Input/output error',)),
    Scene('read of gzip', 'read', 4, ('Input/output error',), trace='trace.gz'),
    Scene('write', 'write', 6, ('No space left',)),
    Scene('write and all later ones', 'write', 6, ('No space left',), all=True),
    Scene('write or spool of two policies', 'write', 6, ('No space left',),
          policies=('bestfit', 'buddy')),
    Scene('write of all outputs', 'write', 6, ('No space left',), outputs=tuple(OUTPUTS)),
    Scene('file beside an output', 'open', 6, ('Too many open files',),
          policies=('bestfit', 'buddy'), outputs=tuple(OUTPUTS)),
    Scene('rename', 'rename', 6, ('Permission denied',), outputs=('--json',)),
    Scene('allocation in diff of policies', 'alloc', 6, NOMEM, fine=0, files=('o.txt',),
          diff=('-p', 'bestfit', '-p', 'pytorch', 'trace.ndjson', 'trace.gz', '-q', '-o',
                'text:o.txt')),
    *[Scene(f'allocation in diff as {name}', 'alloc', 6, NOMEM, fine=0, files=('o.txt',),
            diff=('-p', 'bestfit', 'trace.ndjson', '-q', '-o', f'{name}:o.txt'))
      for name in ('markdown', 'json', 'junit', 'github', 'csv')],
    Scene('allocation in diff of results', 'alloc', 6, NOMEM, fine=0, files=('o.txt',),
          diff=('base.json', 'new.json', '-o', 'text:o.txt', '--fail-if', 'peak.reserved < 1')),
    Scene('allocation in diff of a baseline', 'alloc', 6, NOMEM, fine=0, files=('o.txt',),
          diff=('-b', 'base.json', '-q', '-o', 'csv:o.txt')),
    Scene('allocation for a baseline', 'alloc', 6, NOMEM, fine=0, files=('made.json',),
          diff=('-b', 'made.json', '--update-baseline', '-p', 'pytorch', '-q', 'trace.ndjson')),
    *[Scene(f'{name} in convert to {form}', call, 6, words, fine=0, files=('o.out',),
            convert=('-q', '--to', form, '-p', policy, '--on-oom', 'continue', 'trace.ndjson',
                     'o.out'))
      for name, call, words, form, policy in (
          ('allocation', 'alloc', NOMEM, 'snapshot', 'pytorch'),
          ('allocation', 'alloc', NOMEM, 'perfetto', 'buddy'),
          ('write', 'write', ('No space left',), 'snapshot', 'bestfit'))],
    Scene('file beside a snapshot', 'open', 6, ('Too many open files',), fine=0,
          files=('o.out',), convert=('-q', '--to', 'snapshot', 'trace.ndjson', 'o.out')),
    Scene('read of a result', 'read', 4, ('Input/output error',), fine=0, files=('o.txt',),
          diff=('base.json', 'new.json', '-q', '-o', 'csv:o.txt')),
    # without them the first thread does all the work
    Scene('start of a thread', 'thread', 3, (), policies=EVERY, threads=7),
]


def prepare(folder: Path, program: str) -> None:
    """The traces, and two results; a baseline to begin with."""
    (folder / 'trace.ndjson').write_text(TRACE, encoding='ascii')
    lines = TRACE.splitlines()
    (folder / 'object.json').write_text(
        f'{lines[0][:-1]},"events":[{",".join(lines[1:])}]}}', encoding='ascii')
    (folder / 'flawed.ndjson').write_text(TRACE + '{"op":"free","id":99}\n', encoding='ascii')
    for command, name in (('gzip', 'trace.gz'), ('zstd', 'trace.zst')):
        with open(folder / name, 'wb') as to:
            subprocess.run([command, '-qc', str(folder / 'trace.ndjson')], stdout=to, check=True)


    for policy, name in (('bestfit', 'base.json'), ('buddy', 'new.json')):
        subprocess.run([program, 'run', '-q', '-p', policy, '--json', name, 'trace.ndjson'],
                       cwd=folder, check=False)
    shutil.copy(folder / 'base.json', folder / 'made.json')


def contents(folder: Path) -> dict:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != 'mark'}


class Stage:
    """A folder, the library and the program."""

    def __init__(self, folder: Path, library: Path, program: str):
        self.folder, self.library, self.program = folder, library, program
        self.wanted: dict[Path, bytes] = {}      # what the run without a fault makes
        self.report = b''                       # and prints
        # a baseline is read before it is written
        self.old = {'made.json': (folder / 'made.json').read_bytes()}

    def outputs(self, scene: Scene) -> list[Path]:
        return [self.folder / x for x in scene.files or [OUTPUTS[y] for y in scene.outputs]]

    def command(self, scene: Scene) -> list[str]:
        if scene.diff:
            return [self.program, 'diff', '--threads', str(scene.threads), *scene.diff]
        if scene.convert:
            return [self.program, 'convert', *scene.convert]
        policies = [word for name in scene.policies for word in ('-p', name)]
        outputs = [word for option in scene.outputs for word in (option, OUTPUTS[option])]
        return [self.program, 'run', '--threads', str(scene.threads), '--on-oom',
                'continue', *policies, *outputs, *scene.args, scene.trace]

    def play(self, scene: Scene, number: int):
        """The run in which this call fails; whether there was one; what ended."""
        mark = self.folder / 'mark'
        mark.unlink(missing_ok=True)
        env = {**os.environ, 'LD_PRELOAD': str(self.library), 'FAULT_CALL': scene.call,
               'FAULT_AT': str(number), 'FAULT_MARK': str(mark)}
        if scene.all:
            env['FAULT_ALL'] = '1'
        done = subprocess.run(self.command(scene), cwd=self.folder, env=env, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        return mark.exists(), done

    def whole(self, scene: Scene, done: subprocess.CompletedProcess) -> bool:
        """Is all as it should be? The C library may do without what it was refused."""
        if not self.wanted:
            self.wanted = {path: path.read_bytes() for path in self.outputs(scene)}
        self.report = self.report or done.stdout
        return done.stderr == b'' and done.stdout == self.report and all(
            path.read_bytes() == wanted != OLD for path, wanted in self.wanted.items())

    def fault(self, scene: Scene, number: int) -> tuple[bool, str]:
        """Was there such a call, and what is wrong with how the run ended?"""
        for path in self.outputs(scene):
            path.write_bytes(self.old.get(path.name, OLD))
        before = contents(self.folder)
        there, done = self.play(scene, number)
        said = done.stderr.decode(errors='backslashreplace')
        if not there:
            whole = done.returncode == scene.fine and self.whole(scene, done)
            return False, '' if whole else f'without a fault: {done.returncode} {said}'
        if done.returncode == scene.fine and self.whole(scene, done):
            return True, ''
        if done.returncode != scene.status:
            return True, f'status {done.returncode}, not {scene.status}: {said!r}'
        lines = said.splitlines()
        if len(lines) != 1 or not lines[0].startswith('fragsim: '):
            return True, f'{len(lines)} lines: {said!r}'
        if not any(word in said for word in scene.words):
            return True, f'nothing of {scene.words}: {said!r}'
        after = contents(self.folder)
        if before != after:
            return True, f'files {sorted(after)} differ from before'
        return True, ''


def judge(scene: Scene, library: Path, program: str) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix='fragsim-fault-') as name:
        prepare(Path(name), program)
        stage = Stage(Path(name), library, program)
        # so large a number is never reached
        wrong = stage.fault(scene, 10**9)[1]
        number = 0
        while not wrong:
            number += 1
            there, wrong = stage.fault(scene, number)
            if not there:
                break
    if wrong:
        return False, f'number {number}: {wrong}'
    if number < 2:
        return False, 'nothing failed: the library was not loaded'
    return True, f'{number - 1} calls'


def compile_library(folder: Path) -> Path | None:
    compiler = next(filter(shutil.which, ('cc', 'gcc', 'clang')), None)
    if not compiler:
        return None
    library = folder / 'preload.so'
    subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', str(library),
                    str(Path(__file__).with_name('preload.c'))], check=True)
    return library


def main(argv: list[str]) -> int:
    if len(argv) != 2:
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
        print(f'1..{len(SCENES)}')
        good = True
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(judge, scene, library, program) for scene in SCENES]
            for number, (scene, job) in enumerate(zip(SCENES, jobs), 1):
                fine, text = job.result()
                good = good and fine
                print(f'{"ok" if fine else "not ok"} {number} - a failing {scene.name}')
                print(f'# {text}', flush=True)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv))
