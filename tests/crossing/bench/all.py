"""all.py - every part of the bench, one after the other.

    all.py [--tables] [--quick | --tiny] [--json FILE] [--snapshot FILE] [TRACE | FOLDER]...

The options are those of the first part, $BUILD/bench; with --tables instructions are counted too,
and doc/performance.md gets its tables anew, which takes figures of a full run. Exit
status: that of the first part that failed.
"""
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = ('--quick', '--tiny')


def main(words: list[str]) -> int:
    tables = '--tables' in words
    words = [word for word in words if word != '--tables']
    sizes = [word for word in words if word in SIZES]
    if tables and any(word in (*SIZES, '--json', '--only') for word in words):
        print(f'all.py: --tables takes all figures, and not {" ".join(words)}', file=sys.stderr)
        return 2
    python = [sys.executable, '-B']
    parts = [[os.path.join(os.environ.get('BUILD', 'build'), 'bench'), *words],
             [*python, str(HERE / 'growth.py'), *sizes], [*python, str(HERE / 'record.py'), *sizes],
             [*python, str(HERE / 'plans.py'), *sizes]]
    if tables:
        parts += [[*python, str(HERE / 'counts.py'), *sizes], [*python, str(HERE / 'tables.py')]]
    for part in parts:
        status = subprocess.run(part, check=False).returncode
        if status:
            return status
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
