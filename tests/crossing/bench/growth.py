"""growth.py - how the time of commands grows with what they are given.

    growth.py [--quick | --tiny] [--json FILE] [WORD]...

Each case is made of 10^4, 10^5 and 10^6 things; --quick takes a tenth of that, --tiny a
hundredth. What stands in a row is the processor's time for one of them, in microseconds: the
least of three repetitions, less what the program takes to start. It may grow as a logarithm
does from the first size to the last, and by as much again for what is in no cache any more: what
grows by more than that is called bad. WORDs choose cases whose names have them all.
$FRAGSIM is the program; files go to a folder of their own in $BUILD.
"""
import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from growth_cases import CASES, Case  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get('FRAGSIM', 'build/fragsim'))
BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
REPEATS = 3
PATIENCE = 60       # seconds of the processor for a command
CACHES = 2


def measure(arguments: tuple[str, ...]) -> float | None:
    """Seconds of the processor; None: more than anyone has patience for."""
    with subprocess.Popen(
            [PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    ) as process:
        message = process.stderr.read() if process.stderr else b''
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in (0, 1, 3):
        return usage.ru_utime + usage.ru_stime
    if usage.ru_utime + usage.ru_stime > PATIENCE - 1:
        return None
    sys.exit(f'growth.py: {arguments}: {process.returncode} {message!r}')


def least(arguments: tuple[str, ...]) -> float | None:
    """Of as many repetitions as do not take long."""
    taken: list[float] = []
    while len(taken) < REPEATS and sum(taken) < 5:
        one = measure(arguments)
        if one is None:
            return None
        taken.append(one)
    return min(taken)


def take(case: Case, sizes: list[int], start: float) -> list[float | None]:
    """Seconds for a thing, by size."""
    out: list[float | None] = []
    for n in sizes:
        # ten times the things in a hundred times the time, at the worst
        if out and (out[-1] is None or out[-1] * n * 10 > 4 * PATIENCE):
            out.append(None)
            continue
        taken = least(case.make(PROGRAM, n))
        out.append(None if taken is None else max(taken - start, start / 5) / n)
        for name in os.listdir('.'):
            os.unlink(name)
    return out


def ratio(row: list[float | None]) -> float | None:
    return row[-1] / row[0] if row[-1] and row[0] else None


def limit(sizes: list[int]) -> float:
    return CACHES * math.log(sizes[-1]) / math.log(max(sizes[0], 10))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--tiny', action='store_true')
    parser.add_argument('--json', default=os.path.join(BUILD, 'bench-growth.json'))
    parser.add_argument('words', nargs='*')
    options = parser.parse_args()
    run = 'tiny' if options.tiny else 'quick' if options.quick else 'full'
    first = {'tiny': 100, 'quick': 1000, 'full': 10000}[run]
    json_file = os.path.abspath(options.json)
    folder = os.path.join(BUILD, 'bench-growth')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    start = least(('--version',)) or 0
    print('\nmicroseconds of the processor for each of so many things, least of', REPEATS)
    print(f'{"":34}{"things":>17}{"us each":>12}{"10 times":>12}{"100 times":>12}{"ratio":>8}')
    rows: list[dict[str, object]] = []
    for case in CASES:
        if not all(word in case.name for word in options.words):
            continue
        sizes = [max(first * k // case.per, 2 * k) for k in (1, 10, 100)]
        row = take(case, sizes, start)
        grown = ratio(row)
        wrong = not case.known and (grown is None or grown > limit(sizes))
        cells = ''.join(f'{"-" if x is None else format(x * 1e6, ".3f"):>12}' for x in row)
        print(f'{case.name:34}{sizes[0]:8} x 100{cells[3:]:>33}'
              f'{"-" if grown is None else format(grown, ".1f"):>8}'
              f'{"  BAD" if wrong else "  " + case.known if case.known else ""}', flush=True)
        rows.append({'name': case.name, 'things': sizes, 'seconds': row, 'ratio': grown,
                     'bad': wrong, 'known': case.known})
    os.chdir(BUILD)
    os.rmdir(folder)
    with open(json_file, 'w', encoding='utf-8') as file:
        json.dump({'run': run, 'start': start, 'rows': rows}, file, indent='\t')
        file.write('\n')
    bad = [str(row['name']) for row in rows if row['bad']]
    print('worse than n log n:', '; '.join(bad) or 'none')
    return 0


if __name__ == '__main__':
    sys.exit(main())
