"""harness.py - runs the program in a folder of its own, and prints TAP."""

import fcntl
import os
import subprocess
import sys
import tempfile
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'support'))
from program import HEAVY, times, until                 # noqa: E402, F401
from terminal import Terminal                           # noqa: E402, F401

PATIENCE = 60.0         # seconds until something counts as hanging
OLD = b'what stood here before\n'
PROGRAM = ''            # set by run.py
TRACES = Path()
SAN = os.environ.get('SAN', '')

TESTS = []

HEADER = '{"format":"fragsim-trace","version":1%s}\n'
GOOD = (HEADER % '' + '{"op":"alloc","id":1,"size":1000}\n{"op":"alloc","id":2,"size":3000000}\n'
        '{"op":"free","id":1}\n{"op":"mark","name":"end"}\n')
# 4 MiB: the second request does not fit
FULL = (HEADER % ',"device":{"total_bytes":4194304}' + '{"op":"alloc","id":1,"size":2097152}\n'
        '{"op":"alloc","id":2,"size":4194304}\n{"op":"free","id":1}\n')
BAD = GOOD + '{"op":"free","id":77}\n'


class Skip(Exception):
    """The test cannot be tried here."""


@dataclass(frozen=True)
class Outcome:
    status: int             # negative: killed by that signal
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[str]:
        """What stands on standard error."""
        return self.err.decode().splitlines()


def test(function):
    """Registers a test; its docstring is its name, an AssertionError its failure."""
    TESTS.append(function)
    return function


def cases(*arguments):
    """Registers a test once for each argument, which must print well."""
    def register(function):
        for argument in arguments:
            def one(folder, argument=argument):
                function(folder, argument)
            one.__doc__ = f'{function.__doc__}: {argument}'
            TESTS.append(one)
        return function
    return register


def run(folder: Path, *args, **how) -> Outcome:
    """One run to its end; `how` goes to subprocess, `input` and `close` included, but `program`."""
    program = how.pop('program', PROGRAM)
    closed = how.pop('close', ())
    if closed:
        how['preexec_fn'] = lambda: [os.close(fd) for fd in closed]
    how.setdefault('stdout', subprocess.PIPE)
    if 'input' not in how:
        how.setdefault('stdin', subprocess.DEVNULL)
    done = subprocess.run([program, *map(str, args)], cwd=folder, stderr=subprocess.PIPE,
                          check=False, timeout=PATIENCE, **how)
    return Outcome(done.returncode, done.stdout or b'', done.stderr)


def equal(got, wanted, what: str = 'value') -> None:
    assert got == wanted, f'{what} is {got!r}, not {wanted!r}'


def one_line(out: Outcome) -> None:
    """An error is one line, and says whose it is."""
    equal(len(out.lines), 1, f'lines on standard error ({out.err!r}), their number')
    assert out.lines[0].startswith('fragsim: '), out.err


def write(folder: Path, **texts: str) -> None:
    """NAME='...' makes the file NAME.ndjson."""
    for name, text in texts.items():
        (folder / f'{name}.ndjson').write_text(text, encoding='utf-8')


def snapshot(folder: Path) -> dict:
    """All files, with what shows that one was touched."""
    seen = {}
    for path in sorted(folder.iterdir()):
        at = path.lstat()
        content = path.read_bytes() if path.is_file() else b''
        seen[path.name] = (at.st_ino, at.st_mtime_ns, at.st_mode, content)
    return seen


@contextmanager
def untouched(folder: Path, *names: str):
    """Files of these names are there before, and nothing comes, goes or changes meanwhile."""
    for name in names:
        (folder / name).write_bytes(OLD)
    before = snapshot(folder)
    yield
    after = snapshot(folder)
    for name in before.keys() | after.keys():
        assert before.get(name) == after.get(name), (
            f'{name} ' + ('was left behind' if name not in before else 'changed or is gone'))


@contextmanager
def closed_pipe():
    """The end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@contextmanager
def started(folder: Path, *args, **how):
    """A run that goes on meanwhile; whatever happens, it does not outlive the test."""
    how.setdefault('stdin', subprocess.PIPE)
    how.setdefault('stdout', subprocess.PIPE)
    how.setdefault('stderr', subprocess.PIPE)
    with subprocess.Popen([PROGRAM, *map(str, args)], cwd=folder, **how) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def asleep(process: subprocess.Popen) -> bool:
    """Does the program wait for something, and for a while?"""
    for _ in range(5):
        state = Path(f'/proc/{process.pid}/stat').read_text(encoding='ascii').rsplit(')')[1].split()[0]
        if state != 'S':
            return False
        time.sleep(0.01)
    return True


def unread(pipe) -> int:
    """Bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def feed(process: subprocess.Popen, text: str) -> None:
    """Writes it, and waits until the program has taken all of it and wants more."""
    process.stdin.write(text.encode())
    process.stdin.flush()
    until(lambda: unread(process.stdin) == 0 and asleep(process), 'the program has read all')


def ended(process: subprocess.Popen, by_itself: bool = False) -> Outcome:
    """By itself: its standard input stays open until then."""
    if by_itself:
        process.wait(timeout=PATIENCE)
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, out or b'', err or b'')


def judge(number: int, function) -> tuple[bool, str]:
    name = ' '.join((function.__doc__ or function.__name__).split())
    with tempfile.TemporaryDirectory(prefix='fragsim-cli-') as folder:
        try:
            function(Path(folder))
        except Skip as why:
            return True, f'ok {number} - {name} # SKIP {why}'
        except (AssertionError, OSError, ValueError, KeyError,
                subprocess.TimeoutExpired) as fault:
            text = f'{type(fault).__name__}: {fault}'.replace('\n', ' ')
            return False, f'not ok {number} - {name}\n#   {text[:1500]}'
    return True, f'ok {number} - {name}'


def run_all() -> int:
    print(f'1..{len(TESTS)}')
    good = True
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(judge, i + 1, function) for i, function in enumerate(TESTS)]
        for job in jobs:
            fine, text = job.result()
            good = good and fine
            print(text, flush=True)
    return 0 if good else 1
