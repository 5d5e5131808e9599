"""endings.py - programs alone and recorded: each way out, while a lock is held, after a child.

A program that is recorded has the status, the files and the output that it has alone, and ends as
soon. endings.c says what each word of it is. What it requested is recorded.
"""
import ctypes
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
WAYS = ('return', 'exit', '_exit', 'abort', 'signal', 'quick_exit', 'exec', 'size', 'memory', 'files')
LOCKS = ('none', 'malloc', 'dlopen', 'stdio')
CHILDREN = ('none', 'fork', 'vfork', '_Fork', 'clone', 'syscall')
LATER = 2               # seconds, at most
PAIRS = 9000
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000    # of ptrace() and waitpid()
HEAVY = os.environ.get('HEAVY') == '1'


def build(cc: list[str], folder: Path) -> Path:
    """In a folder of its own, whose driver is another one."""
    place = folder / 'endings'
    place.mkdir()
    shared = ['-fPIC', '-shared']
    for name, words in (
            ('libcuda.so.1', [*shared, '-Wl,-soname,libcuda.so.1', HERE / 'driver.c']),
            ('libheld.so', [*shared, HERE / 'held.c']),
            ('endings', ['-rdynamic', HERE / 'endings.c', f'{place}/libcuda.so.1', '-ldl'])):
        subprocess.run([*cc, '-g', '-Wall', '-Wextra', '-fno-builtin', *map(str, words), '-o', str(place / name)],
                       check=True)
    return place


class Run:
    """A program in a folder: its status, what it printed and wrote, and how long it took."""

    def __init__(self, stage, place: Path, folder: Path, *words):
        folder.mkdir()
        self.folder = folder
        begin = time.monotonic()
        try:
            done = subprocess.run([str(x) for x in words], cwd=folder, capture_output=True, text=True,
                                  check=False, timeout=30, stdin=subprocess.DEVNULL,
                                  env=stage.environment(folder, LD_LIBRARY_PATH=str(place)))
            self.status, self.printed, self.said = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            self.status, self.printed, self.said = 'it hangs', '', ''
        self.seconds = time.monotonic() - begin
        result = folder / 'result'
        self.result = result.read_text(encoding='ascii') if result.exists() else 'none'


def sizes(events: list[dict]) -> list[int]:
    return [e['size'] for e in events if e['op'] == 'alloc']


def expected(way: str, child: str) -> list[list[int]]:
    """The sizes in each file: of the program, of its child, of what they became."""
    begin = [1000, 1001, 1002]
    own = begin + ([512] * 3 if child == 'vfork' else []) + list(range(1003, 1023))
    return [own] + ([[512] * PAIRS] if child not in ('none', 'vfork') else []) \
        + [begin + list(range(1003, 1023))] * (way == 'exec')


def compare(way: str, child: str, alone: Run, recorded: Run, read_trace) -> str:
    if (alone.status, alone.printed, alone.result) != (recorded.status, recorded.printed, recorded.result):
        return f'{recorded.status} {recorded.result}, alone {alone.status} {alone.result}'
    if recorded.seconds > alone.seconds + LATER:
        return f'{recorded.seconds:.2f} s, alone {alone.seconds:.2f} s'
    if recorded.said != alone.said and (way != 'size' or recorded.said.count('\n') != 1):
        return recorded.said
    files = [*recorded.folder.glob('t.*')]
    if way == 'signal':     # also in the middle of a line
        return '' if files else 'no file'
    try:
        got = [sizes(read_trace(x)[1]) for x in files]
    except (AssertionError, ValueError, subprocess.CalledProcessError) as error:
        return f'{error}'
    if way in ('size', 'memory'):
        return '' if got and (got[0] or way == 'memory') else 'nothing is recorded'
    missing = [f'{x[:4]}... of {len(x)}' for x in expected(way, child) if x not in got]
    return f'{missing} not in {[len(x) for x in got]}' if missing else ''


def check_one(stage, place: Path, read_trace, number: int, case: tuple[str, str, str]) -> str:
    program = [place / 'endings', *case]
    alone = Run(stage, place, place / f'{number}a', *program)
    name = 't.ndjson.zst' if number % 2 else 't.ndjson'
    recorded = Run(stage, place, place / f'{number}r', stage.program, 'record', '-o', name, '--', *program)
    return compare(case[0], case[2], alone, recorded, read_trace)


def check_matrix(tap, stage, place: Path, read_trace) -> None:
    cases = [(way, lock, child) for way in WAYS for lock in LOCKS for child in CHILDREN]
    # without HEAVY, each pair of a lock and a child with a third of the ways
    chosen = [c for i, c in enumerate(cases) if HEAVY or (i // 24 + i // 6 + i) % 3 == 0]
    with ThreadPoolExecutor(4) as pool:
        wrong = list(pool.map(lambda x: check_one(stage, place, read_trace, *x), enumerate(chosen)))
    for lock in LOCKS:
        tap.result(f'lock {lock}: a program ends as it does alone, and all of it is recorded',
                   [f'{way}, child {child}: {text}' for (way, held, child), text in zip(chosen, wrong)
                    if held == lock and text])


def check_handlers(tap, stage, place: Path, read_trace) -> None:
    """What handlers request is recorded, wherever they interrupt: or the header has how much is not."""
    run = Run(stage, place, place / 'handlers', stage.program, 'record', '-o', 't.ndjson', '--',
              place / 'endings', 'handlers', 'none', 'none')
    head, events = read_trace(run.folder / 't.ndjson') if run.status == 0 else ({'meta': {}}, [])
    lost = head['meta'].get('scope', {}).get('lost', 0)
    made = int(run.printed or -1)
    tap.result('requests in signal handlers are recorded', [
        f'{run.status} {run.seconds:.1f} s: {len(sizes(events))} of {made}, {lost} lost']
        if run.status or not made - lost <= len(sizes(events)) <= made else [])


def stop_thread(libc, tid: int) -> bool:
    """By ptrace, which stops one thread alone; a machine can forbid it."""
    if libc.ptrace(SEIZE, tid, None, None) or libc.ptrace(INTERRUPT, tid, None, None):
        return False
    os.waitpid(tid, WALL)
    return True


def check_stalled(tap, stage, place: Path, read_trace) -> None:
    """The writing thread is stopped: the program waits for a second, once, and what is lost is counted."""
    title = 'a program goes on without the writing thread, and the header has what was lost'
    folder = place / 'stalled'
    folder.mkdir()
    libc = ctypes.CDLL(None)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    with subprocess.Popen([stage.program, 'record', '-o', 't.ndjson', '--', place / 'endings', 'alone', 'none',
                           'none'], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                          env=stage.environment(folder, LD_LIBRARY_PATH=str(place))) as program:
        program.stdout.readline()
        threads = [int(x) for x in os.listdir(f'/proc/{program.pid}/task') if int(x) != program.pid]
        if len(threads) == 1 and not stop_thread(libc, threads[0]):
            program.kill()
            tap.skip(title, 'no ptrace here')
            return
        begin = time.monotonic()
        program.stdin.write(b'\n')
        program.stdout.readline()
        seconds = time.monotonic() - begin
        libc.ptrace(DETACH, threads[0], None, None)
        time.sleep(0.3)
        program.stdin.write(b'\n')
        program.communicate()
    head, events = read_trace(folder / 't.ndjson')
    scope = head['meta'].get('scope', {})
    tap.result(title, [f'{program.returncode}, {seconds:.1f} s, {len(events)} events, {scope}']
               if program.returncode != 7 or seconds > LATER or scope.get('ends') != 'cut'
               or len(events) + scope['lost'] != 1 + 2 * 50000 + 2 * 10 else [])


def check(tap, stage, cc: list[str], read_trace) -> None:
    place = build(cc, stage.folder)
    check_matrix(tap, stage, place, read_trace)
    check_handlers(tap, stage, place, read_trace)
    check_stalled(tap, stage, place, read_trace)
