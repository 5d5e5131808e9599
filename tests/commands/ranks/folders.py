"""folders.py - folders as frameworks write them: which files are read, of which ranks.

The snapshots are written here, each with one block of its own size, so that the bytes in an answer
say which file it is from. The names are those of the frameworks' sources.
"""
import gzip
import json
import pickle
from pathlib import Path

import snaps
from program import fragsim
from tap import Tap

MIB = 1 << 20
NO_SNAPSHOT = b'no snapshot in this folder'


def snapshot(mib: int, oom: bool = False) -> bytes:
    """A block of so many MiB in a segment of its own; then a request of 999 MiB that fails."""
    log = snaps.Log().segment(snaps.LARGE, mib * MIB).alloc(snaps.LARGE, mib * MIB)
    if oom:
        log.add('oom', 5 * MIB, 999 * MIB)
    return pickle.dumps(snaps.snapshot(
        [snaps.segment(snaps.LARGE, snaps.block(snaps.LARGE, mib * MIB))], log))


def write(folder: str, files: dict[str, object]) -> Path:
    """Each file: MiB of its snapshot, negative for one with an OOM; or its bytes."""
    for name, what in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = snapshot(abs(what), what < 0) if isinstance(what, int) else what
        path.write_bytes(gzip.compress(data) if name.endswith('.gz') else data)
    return Path(folder)


PAGE = b'<!DOCTYPE html>\n<html></html>\n'
OPTIMIZER = pickle.dumps({'state': [1, 2, 3], 'param_groups': []})
TITAN = {f'iteration_{n}/rank{r}_memory_snapshot.pickle': 20 + 2 * r + 10 * (n == 10)
         for n in (9, 10) for r in range(11)}
COMPOSER = {f'rank{r}.{batch}.memory_snapshot.{end}': PAGE if end == 'html' else 20 + batch + 2 * r
            for r in range(3) for batch in (4, 12) for end in ('pickle', 'html')}
# name, files, MiB by rank that `ranks` reads, words of its row `folder`
RANKS = (
    ('torchtitan: the last iteration, ranks in the order of their numbers', TITAN,
     {r: 30 + 2 * r for r in range(11)}, '11 files of {}: {}/iteration_10, the last of 2 iterations'),
    ('torchtitan: an iteration without a file is none', {**TITAN, 'iteration_11/x.txt': b'-'},
     {r: 30 + 2 * r for r in range(11)}, 'the last of 3 iterations'),
    ('composer: the last batch of each rank', COMPOSER, {r: 32 + 2 * r for r in range(3)},
     '3 files of {}: 3 other files of the same ranks omitted'),
    ('composer: the OOM of a rank instead of its batches',
     {**COMPOSER, 'rank1.oom_snapshot.pickle': -50, 'rank1.oom_trace_plot.html': PAGE},
     {0: 32, 1: 50, 2: 36}, '3 files of {}: 4 other files of the same ranks omitted'),
    ('Megatron-Bridge: the number before the extension',
     {f'memory_trace_{r}.pickle': 20 + 2 * r for r in (0, 8, 16)}, {0: 20, 8: 36, 16: 52},
     '3 files of {}'),
    ('torchtnt: a folder for each rank',
     {'config.json': b'{}', **{f'memory_snapshot_rank{r}/{name}': what for r in (2, 10)
                               for name, what in (('snapshot.pickle', 20 + r),
                                                  ('trace_plot.html', PAGE))}},
     {2: 22, 10: 30}, '2 files of {}'),
    ('verl: the last step',
     {f'step{n}/torch_memory_rank{r}_pid{100 + r}.pickle': 20 + 2 * n + 6 * r
      for n in (8, 12) for r in range(3)}, {r: 44 + 6 * r for r in range(3)},
     'step12, the last of 2 iterations'),
    ('what is no snapshot is left out, compressed ones are read',
     {'optimizer.pickle': OPTIMIZER, 'profiler_trace.json': b'{"traceEvents":[]}',
      'model.safetensors': b'\x80\x02' + bytes(5000), 'rank0.pickle.gz': 20, 'rank1.pickle': 22},
     {0: 20, 1: 22}, '2 files of {}'),
)

TIED = {f'rank{r}.pickle': (30, 40, 40)[r] for r in range(3)}
# name, files, the one that `explain` takes, words of its row `file`
PICKED = (
    ('Megatron-LM: the rank that failed, whatever the peaks',
     {'oom_rank-3_snapshot.pickle': -24, 'snapshot.pickle': 80}, 'oom_rank-3_snapshot.pickle',
     'of 2 snapshots the only one with a recorded OOM'),
    ('torchtitan: the iteration of the OOM',
     {**TITAN, 'iteration_10_exit/rank7_memory_snapshot.pickle': -40},
     'iteration_10_exit/rank7_memory_snapshot.pickle', 'iteration_10_exit, the last of 3 iterations'),
    ('torchtnt: the folder of the rank', {'oom_rank0/snapshot.pickle': -30,
                                          'oom_rank1/snapshot.pickle': -34},
     'oom_rank1/snapshot.pickle',
     'rank 1: of 2 snapshots with a recorded OOM the highest peak, 34.00 MiB reserved'),
    ('without an OOM the highest peak, of equals the first rank', TIED, 'rank1.pickle',
     'rank 1: no OOM is recorded; of 3 snapshots the highest peak, 40.00 MiB reserved'),
    ('axolotl: one file among others', {'snapshot.pickle': 30, 'profiler_trace.json': b'{}',
                                        'config.json': b'{}'}, 'snapshot.pickle',
     'snapshot.pickle: the only snapshot, without a recorded OOM'),
)


def check_ranks(tap: Tap) -> None:
    """Which bytes of which rank an answer has, and what it says of the folder."""
    for at, (name, files, right, words) in enumerate(RANKS):
        folder = write(f'ranks{at}', files)
        said = json.loads(fragsim('ranks', '--json', '-', folder, statuses=(0,)).stdout)
        got = {x['rank']: x['reserved'] // MIB for x in said['ranks']}
        text = fragsim('ranks', folder, statuses=(0,)).stdout.decode()
        row = ' '.join(text.partition('  folder ')[2].partition('\n  policy')[0].split())
        tap.result(f'folders: {name}', got != right and f'{got}', list(got) != sorted(got),
                   words.replace('{}', str(folder)) not in row and row)
    mixed = json.loads(fragsim('ranks', '--json', '-', 'ranks5', 'ranks7/rank1.pickle').stdout)
    tap.result('folders: beside files', [Path(x['trace']['path']).as_posix() for x in mixed['ranks']]
               != ['ranks7/rank1.pickle', 'ranks5/memory_snapshot_rank2/snapshot.pickle',
                   'ranks5/memory_snapshot_rank10/snapshot.pickle'] and f"{mixed['ranks']}")


def check_picked(tap: Tap) -> None:
    """The answer for a folder is that of the file, with one row more."""
    for at, (name, files, right, words) in enumerate(PICKED):
        folder = write(f'picked{at}', files)
        of_file, of_folder = (fragsim('explain', '--at', 'peak', path, statuses=(0,)).stdout.decode()
                              for path in (folder / right, folder))
        head, _, rest = of_folder.partition('  file ')
        row, mark, rest = rest.partition('\n  next')
        row = ' '.join(row.split())
        documents = [fragsim('explain', '-q', '--json', '-', path).stdout
                     for path in (folder / right, folder)]
        tap.result(f'folders, explain: {name}', f'{head}{mark[1:]}{rest}' != of_file and of_folder,
                   not row.startswith(str(folder / right)) and row, words not in row and row,
                   documents[0] != documents[1])


def check_bad_folders(tap: Tap) -> None:
    """Bad snapshots are skipped where another can be read; else one line, and status 4."""
    damaged = snapshot(60)[:-40]
    folder = write('damaged', {'rank0.pickle': damaged, 'rank1.pickle': 30})
    done = fragsim('explain', '--at', 'peak', folder)
    tap.result('folders, explain: a damaged one is skipped with a warning',
               done.returncode and f'{done.returncode}', b'rank1.pickle' not in done.stdout,
               not (b'rank0.pickle' in done.stderr and b': skipped' in done.stderr) and done.stderr,
               done.stderr.count(b'\n') != 1 and done.stderr)
    done = fragsim('ranks', folder)
    tap.result('folders: ranks names a damaged one, status 4', done.returncode != 4,
               b'rank0.pickle' not in done.stderr and done.stderr)
    folder = write('all_damaged', {'rank0.pickle': damaged})
    done = fragsim('explain', '-q', folder)
    tap.result('folders, explain: none that can be read: one line, status 4', done.returncode != 4,
               done.stderr.count(b'\n') != 1 and done.stderr)
    for name, files in (('empty', {'x/y/z.txt': b''}), ('others', {'optimizer.pkl': OPTIMIZER}),
                        ('too deep', {'iteration_1/a/rank0.pickle': 20})):
        done = fragsim('explain', write(name, files))
        tap.result(f'folders, explain: {name}: one line, status 4', done.returncode != 4,
                   NO_SNAPSHOT not in done.stderr, done.stderr.count(b'\n') != 1 and done.stderr)
    Path('empty/link.json').symlink_to('nowhere')
    Path('empty/iteration_1').symlink_to('.')
    done = fragsim('ranks', 'empty')
    tap.result('folders: ranks of none, status 4', done.returncode != 4, done.stderr.count(b'\n') != 1)
    whole = Path('picked3/rank1.pickle').read_bytes()
    done = fragsim('explain', '--json', 'picked3/rank1.pickle', 'picked3')
    tap.result('folders, explain: no output replaces the file that was picked',
               done.returncode != 2 and f'{done.returncode}',
               Path('picked3/rank1.pickle').read_bytes() != whole)


def check(tap: Tap) -> None:
    check_ranks(tap)
    check_picked(tap)
    check_bad_folders(tap)
