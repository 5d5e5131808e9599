#!/usr/bin/python3 -B
"""performance.py - what works take beside what people have for them: the table of doc/performance.md.

usage: scripts/performance.py [--before OLD] [--rows WORD] [--times N] [--list] [PROGRAM]

PROGRAM (build/fragsim) and the anchor of a row run in turn, N times each (5), on files that are made here; OLD is
an earlier fragsim. A figure is the least CPU time, user and system, and the most memory that was resident. Prints
the table, and on standard error which rows have no anchor here:
- PyTorch's own allocator: `scripts/oracles/pytorch/run.py build` makes it (a wheel of 540 MB, no GPU);
- std::set: a C++ compiler, CXX (c++).
"""
import argparse
import gzip
import json
import multiprocessing
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ORACLE = ROOT / 'build/pytorch-oracle/oracle'
CORPUS = ROOT / 'tests/oracles/corpus'
RECORDED = ROOT / 'traces/gpt2_medium_train_bs8_varlen_amp.ndjson.gz'
ONE = '-q --threads 1'
AGAIN = 10                      # runs more, of which one is a tenth of the difference
LOAD = 'import gc, pickle; {}pickle.load(open("{}", "rb"))'
# the rows and indexes of another database, by SQLite alone
COPY = '''
import os, sqlite3
if os.path.exists("copy.sqlite"):
    os.remove("copy.sqlite")
to = sqlite3.connect("copy.sqlite", isolation_level=None)
to.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; ATTACH 'made.sqlite' AS made; BEGIN")
made = to.execute("SELECT type, name, sql FROM made.sqlite_master WHERE sql NOTNULL ORDER BY type = 'index'").fetchall()
for kind, name, sql in made:
    to.execute(sql)
    if kind == "table":
        to.execute(f"INSERT INTO main.{name} SELECT * FROM made.{name}")
to.execute("COMMIT")
'''
# a heap that neither maps memory nor gives it back, as that of a page in a browser
PROGRAM = ''
HEAP = {'GLIBC_TUNABLES': 'glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184'}


class Side(NamedTuple):
    """A command line, {} being the program; where `less` is given, of AGAIN times the work above that of `less`."""
    line: list[str]
    less: list[str] | None = None
    stdin: str | None = None


class Row(NamedTuple):
    name: str
    beside: str                 # what the anchor is; '': it has none
    files: tuple[str, ...]      # names in MAKERS
    ours: Side
    anchor: Side | None = None
    before: bool = True         # an earlier fragsim takes the same command line
    env: dict[str, str] = {}


def write_events(name: str, events: list[tuple[int, int]]) -> None:
    """(id, bytes), or (id, 0) for its free: as a trace, and as lines for the anchors."""
    with open(f'{name}.ndjson', 'w', encoding='ascii') as trace, open(f'{name}.txt', 'w', encoding='ascii') as lines:
        trace.write('{"format":"fragsim-trace","version":1}\n')
        for i, size in events:
            trace.write(f'{{"op":"alloc","id":{i},"size":{size}}}\n' if size else f'{{"op":"free","id":{i}}}\n')
            lines.write(f'a {i} {size}\n' if size else f'f {i}\n')


def random_events(count: int, live: int) -> list[tuple[int, int]]:
    """All powers of two from 512 bytes to 32 MiB, and the sizes between two of them, are equally likely."""
    dice, blocks, events, i = random.Random(1), [], [], 0
    for _ in range(count):
        if dice.random() < len(blocks) / (2 * live):
            at = dice.randrange(len(blocks))
            events.append((blocks[at], 0))
            blocks[at] = blocks[-1]
            blocks.pop()
        else:
            blocks.append(i)
            events.append((i, int(512 * 2 ** (16 * dice.random()))))
            i += 1
    return events


def make_random() -> None:
    write_events('random', random_events(200000, 2000))


def make_recorded() -> None:
    """Allocs and frees of a recorded training; what lives on is freed by none."""
    events, sizes = [], {}
    for line in gzip.decompress(RECORDED.read_bytes()).splitlines()[1:]:
        e = json.loads(line)
        if e['op'] == 'alloc' and e['size']:
            sizes[e['id']] = e['size']
            events.append((e['id'], e['size']))
        elif e['op'] == 'free' and sizes.pop(e['id'], 0):
            events.append((e['id'], 0))
    write_events('recorded', events)


def make_long() -> None:
    subprocess.run([PROGRAM, 'trace', 'gen', 'random', '--events', '10000000', '--live', '2000', '-o', 'long.ndjson'],
                   check=True)


def make_gz() -> None:
    text = gzip.decompress(RECORDED.read_bytes())
    head, _, rest = text.partition(b'\n')
    count = rest.count(b'"alloc"')
    with gzip.open('lines.gz', 'wb', 6) as file:
        file.write(head + b'\n')
        for i in range(5):      # ids of their own
            file.write(b''.join(
                json.dumps({**e, 'id': e['id'] + i * 2 * count}).encode() + b'\n' if 'id' in e
                else line + b'\n' for line in rest.splitlines() for e in (json.loads(line),)))


def write_copies(name: str, size: int) -> None:
    """The history of a recorded training with stacks again and again, each time in lists of its own."""
    whole = gzip.decompress((CORPUS / 'gpt_accumulate_zero_all.pickle.gz').read_bytes())
    snapshot = pickle.loads(whole)
    log = pickle.dumps(snapshot['device_traces'][0])
    snapshot['device_traces'] = [[e for _ in range(size // len(log) + 1) for e in pickle.loads(log)]]
    with open(name, 'wb') as file:
        pickle.dump(snapshot, file, 4)


def write_different(name: str, events: int) -> None:
    """A snapshot in which no two stacks are equal, and each frame is a dict of its own."""
    log = []
    for i in range(events):
        frames = [{'name': 'forward', 'filename': '/home/me/model.py', 'line': 12 * (i // 2) + k} for k in range(12)]
        log.append({'action': ('alloc', 'free_completed')[i % 2], 'addr': (1 << 40) + i // 2 % 4096 * (1 << 21),
                    'size': 1 << 20, 'stream': 0, 'time_us': 1700000000000000 + i, 'frames': frames})
    with open(name, 'wb') as file:
        pickle.dump({'segments': [], 'device_traces': [log]}, file, 4)


def make_pools() -> None:
    dice, live = random.Random(1), []
    with open('pools.ndjson', 'w', encoding='ascii') as file:
        file.write('{"format":"fragsim-trace","version":1}\n')
        for i in range(6000):
            if live and dice.random() < .45:
                file.write(f'{{"op":"free","id":{live.pop(dice.randrange(len(live)))}}}\n')
                continue
            live.append(i)
            size = dice.choice((512, 70000, 3000000, 11000000))
            file.write(f'{{"op":"alloc","id":{i},"size":{size},"pool":{dice.randrange(4000)}}}\n')


def make_database() -> None:
    """What the row of SQLite writes, for its anchor to write again."""
    subprocess.run([PROGRAM, 'trace', 'convert', '-q', 'random.ndjson', 'made.sqlite'], check=True)


def make_std_set() -> None:
    subprocess.run([os.environ.get('CXX', 'c++'), '-O2', '-std=c++17', ROOT / 'scripts/std_set.cpp', '-o', 'std_set'],
                   check=True)


MAKERS: dict[str, Callable[[], None]] = {
    'random.ndjson': make_random, 'recorded.ndjson': make_recorded, 'long.ndjson': make_long,
    'lines.gz': make_gz, 'pools.ndjson': make_pools, 'made.sqlite': make_database, 'std_set': make_std_set,
    '17.pickle': lambda: write_copies('17.pickle', 17500000),
    '88.pickle': lambda: write_copies('88.pickle', 88000000),
    'different.pickle': lambda: write_different('different.pickle', 100000),
}


def loop(policy: str, trace: str) -> Side:
    return Side(f'{{}} run {ONE} {" ".join([f"-p {policy}"] * (AGAIN + 1))} {trace}.ndjson'.split(),
                f'{{}} run {ONE} -p {policy} {trace}.ndjson'.split())


def set_loop(trace: str) -> Side:
    return Side(['./std_set', str(AGAIN + 1)], ['./std_set', '1'], f'{trace}.txt')


def torch_loop(trace: str) -> Side:
    return Side([str(ORACLE), str(AGAIN + 1)], [str(ORACLE), '1'], f'{trace}.txt')


def load(file: str, collector: bool) -> Side:
    return Side([sys.executable, '-c', LOAD.format('' if collector else 'gc.disable(); ', file)])


def of(line: str) -> Side:
    return Side(f'{{}} {line}'.split())


COLLECTED, FREE = '`pickle.load`', '`pickle.load` without its collector'
SET, TORCH = 'best fit with `std::set`', 'PyTorch’s own allocator'
RUN, EXPLAIN = f'run {ONE} -p pytorch', f'explain --at peak {ONE}'
ROWS = (
    Row('`bestfit`, random requests', SET, ('random.ndjson', 'std_set'), loop('bestfit', 'random'), set_loop('random')),
    Row('`bestfit`, a recorded training', SET, ('recorded.ndjson', 'std_set'), loop('bestfit', 'recorded'),
        set_loop('recorded')),
    Row('`pytorch`, random requests', TORCH, ('random.ndjson',), loop('pytorch', 'random'), torch_loop('random')),
    Row('`pytorch`, a recorded training', TORCH, ('recorded.ndjson',), loop('pytorch', 'recorded'),
        torch_loop('recorded')),
    Row('`run` of a packed trace', '`zcat`', ('lines.gz',), of(f'run {ONE} -p bestfit lines.gz'),
        Side(['zcat', 'lines.gz'])),
    *(Row(f'`run` of a snapshot, {size} MB', beside, (f'{size}.pickle',), of(f'{RUN} {size}.pickle'),
          load(f'{size}.pickle', beside == COLLECTED)) for size in (17, 88) for beside in (COLLECTED, FREE)),
    Row('`explain --at peak` of it', FREE, ('88.pickle',), of(f'{EXPLAIN} 88.pickle'), load('88.pickle', False)),
    Row('`leaks` of it', FREE, ('88.pickle',), of('leaks 88.pickle'), load('88.pickle', False)),
    Row('`run` of stacks that all differ', FREE, ('different.pickle',), of(f'{RUN} different.pickle'),
        load('different.pickle', False)),
    Row('the same in a heap that only grows', FREE, ('different.pickle',), of(f'{RUN} different.pickle'),
        load('different.pickle', False), env=HEAP),
    Row('SQLite of 200,000 events', 'SQLite, the same rows', ('random.ndjson', 'made.sqlite'),
        of('trace convert -q random.ndjson out.sqlite'), Side([sys.executable, '-c', COPY]), before=False),
    Row('`explain --at peak`, 10 million events', '', ('long.ndjson',), of(f'{EXPLAIN} long.ndjson')),
    Row('`leaks`, 10 million events', '', ('long.ndjson',), of('leaks long.ndjson')),
    Row('`fit` of 4,000 pools', '', ('pools.ndjson',), of(f'fit {ONE} --time 20s pools.ndjson')),
)
HEAD = ('work', 'beside it', 'now, s', 'before, s', 'beside, s', 'now / beside', 'now, MiB', 'before, MiB', 'beside, MiB')


class Measured(NamedTuple):
    seconds: float
    mib: float
    faults: int


def once(program: str, line: list[str], stdin: str | None, env: dict[str, str]) -> Measured:
    words = [word.format(program) if word == '{}' else word for word in line]
    with open(stdin or os.devnull, 'rb') as file, subprocess.Popen(
            words, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **env}) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 3):
        raise SystemExit(f'performance.py: {words}: status {child.returncode}')
    return Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, usage.ru_minflt)


def measure(program: str, side: Side, env: dict[str, str]) -> Measured:
    most = once(program, side.line, side.stdin, env)
    if not side.less:
        return most
    return most._replace(seconds=(most.seconds - once(program, side.less, side.stdin, env).seconds) / AGAIN)


def missing(row: Row) -> str:
    """Why the anchor cannot run here; '': it can."""
    if row.beside == TORCH and not ORACLE.exists():
        return f'no {ORACLE.relative_to(ROOT)}'
    if row.beside == SET and not shutil.which(os.environ.get('CXX', 'c++')):
        return 'no C++ compiler'
    return ''


def row_of(row: Row, programs: dict[str, str], times: int) -> list[str]:
    """The cells of one row: now, before and the anchor in turn."""
    why = missing(row)
    if why:
        print(f'performance.py: {row.name}: its anchor is not measured: {why}', file=sys.stderr)
    sides = {'now': row.ours} | ({'before': row.ours} if 'before' in programs and row.before else {})
    if row.anchor and not why:
        sides['beside'] = row.anchor
    runs: dict[str, list[Measured]] = {key: [] for key in sides}
    for _ in range(times):
        for key, side in sides.items():
            runs[key].append(measure(programs.get(key, ''), side, row.env))
    least = {key: min(x.seconds for x in of_) for key, of_ in runs.items()}
    mib = {} if row.ours.less else {key: max(x.mib for x in of_) for key, of_ in runs.items()}
    digits = 4 if row.ours.less else 2
    keys = ('now', 'before', 'beside')
    return [row.name, row.beside or '-', *(f'{least[k]:.{digits}f}' if k in least else '-' for k in keys),
            f'{least["now"] / least["beside"]:.2f}' if 'beside' in least else '-',
            *(f'{mib[k]:.0f}' if k in mib else '-' for k in keys)]


def make(name: str) -> None:
    """In a process of its own: the peak of a child counts what its parent had."""
    if name == 'std_set' and missing(Row('', SET, (), of(''))):
        return
    maker = multiprocessing.get_context('fork').Process(target=MAKERS[name])
    maker.start()
    maker.join()
    if maker.exitcode:
        raise SystemExit(f'performance.py: {name} could not be made')


def main() -> int:
    global PROGRAM
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--before', help='an earlier fragsim')
    parser.add_argument('--rows', default='', help='only rows with this in their name')
    parser.add_argument('--times', type=int, default=5)
    parser.add_argument('--list', action='store_true', help='print the names of the rows and of what is beside them')
    parser.add_argument('program', nargs='?', default=str(ROOT / 'build/fragsim'))
    options = parser.parse_args()
    rows = [row for row in ROWS if options.rows in row.name]
    if options.list:
        for row in rows:
            print(f'{row.name} | {row.beside or "-"}')
        return 0
    PROGRAM = str(Path(options.program).resolve())
    programs = {'now': PROGRAM}
    if options.before:
        programs['before'] = str(Path(options.before).resolve())
    print(f'| {" | ".join(HEAD)} |\n|---|---{"|---:" * (len(HEAD) - 2)}|')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for row in rows:
            for file in row.files:
                if not Path(file).exists():
                    make(file)
            print(f'| {" | ".join(row_of(row, programs, options.times))} |', flush=True)
            for file in {x for r in rows for x in r.files} - {x for r in rows[rows.index(row) + 1:] for x in r.files}:
                Path(file).unlink(missing_ok=True)
        os.chdir(ROOT)
    return 0


if __name__ == '__main__':
    sys.exit(main())
