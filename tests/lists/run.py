"""run.py - what is forgotten where something is added; prints TAP.

    run.py PROGRAM

A policy, a command, a reader, a form or format, a public function stands in several places. What
there is comes from the const tables in the sources, from folders, and from what the program says;
a place that lacks one of it is told as FILE, what is missing, and the step of CONTRIBUTING.md.
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import commands  # noqa: E402
import forms  # noqa: E402
import headers  # noqa: E402
import house  # noqa: E402
import labels  # noqa: E402
import policies  # noqa: E402
import readers  # noqa: E402
import mentions  # noqa: E402
import modules  # noqa: E402
import scenarios  # noqa: E402
import spelled  # noqa: E402
import steps  # noqa: E402
import tags  # noqa: E402
import tree  # noqa: E402
from tap import Tap  # noqa: E402


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tree.PROGRAM = Path(argv[1]).resolve()
    tap = Tap()
    for part in (policies, commands, readers, forms, labels, scenarios, headers, modules, mentions,
                 spelled, steps, tags, house):
        part.check(tap)
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
