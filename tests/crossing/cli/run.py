"""run.py - the program from outside: statuses, signals, files, forms, memory.

    run.py PROGRAM      prints TAP

Each test gets a folder of its own. The tests stand in statuses.py, outputs.py, manual.py,
signals.py, spellings.py, extremes.py, memory.py, telling.py, answering.py, printable.py and
sameness.py; harness.py runs them.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
import harness                      # noqa: E402


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    harness.PROGRAM = os.path.abspath(argv[1])
    harness.TRACES = Path(os.environ.get('TRACES') or Path(__file__).parents[3] / 'traces')
    if not os.access(harness.PROGRAM, os.X_OK):
        print(f'Bail out! {argv[1]} is not a program')
        return 1
    # they register their tests
    import answering, extremes, manual, memory, outputs, printable, sameness  # noqa: E401, F401
    import signals, spellings, statuses, telling  # noqa: E401, F401
    return harness.run_all()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
