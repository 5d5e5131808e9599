"""record.py - what it costs a program to be recorded, for each call of the driver.

    record.py [--quick | --tiny]

A client asks the stand-in of tests/commands/record_calls for a block and gives it back, over and over; the
fastest of a hundred rounds counts, with the recorder and without it, three times each in turn.
$FRAGSIM is the program, $CC the compiler; what is built goes to a folder that goes away.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / 'commands' / 'record_calls'
PROGRAM = os.path.abspath(os.environ.get('FRAGSIM', 'build/fragsim'))
CC = os.environ.get('CC', 'cc').split()


def build(folder: Path) -> None:
    for name, words in (('libcuda.so.1', ['-fPIC', '-shared', '-Wl,-Bsymbolic',
                                          '-Wl,-soname,libcuda.so.1', CLIENT / 'libcuda.c']),
                        ('client', ['-rdynamic', CLIENT / 'client.c'])):
        subprocess.run([*CC, '-O2', '-pthread', *map(str, words), '-ldl', '-o',
                        str(folder / name)], check=True)


def nanoseconds(folder: Path, *before: str) -> float:
    env = {**os.environ, 'LD_LIBRARY_PATH': str(folder)}
    done = subprocess.run([*before, folder / 'client', 'dlsym', 'none', 'bench'], env=env,
                          cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix='bench-') as place:
        folder = Path(place)
        build(folder)
        bare = recorded = stacks = float('inf')
        for _ in range(3):
            bare = min(bare, nanoseconds(folder))
            recorded = min(recorded, nanoseconds(folder, PROGRAM, 'record'))
            stacks = min(stacks, nanoseconds(folder, PROGRAM, 'record', '--stacks'))
    print('\nNanoseconds that recording adds to a call of the driver (at most 150 are meant):\n\n'
          f'| record | {recorded - bare:.0f} |\n'
          f'| record --stacks, of an alloc and a free the mean | {stacks - bare:.0f} |')
    return 0


if __name__ == '__main__':
    sys.exit(main())
