#!/usr/bin/python3 -B
"""run.py - holds fragsim's policy cupy against CuPy's MemoryPool.

  run.py build                      install the wheel of cupy-cuda12x (137 MB) and numpy in a folder
                                    of their own; or from a folder with the wheels
  run.py fuzz 2000                  compare 2,000 random cases; the ones that differ are shrunk
  run.py compare TRACE...           compare traces; --key limit=1GiB and --device-bytes
  run.py shrink TRACE | --seed N    the shortest case that differs, as a golden test has it
  run.py expect TRACE               what CuPy does: the placements, or with --metrics the rows
  run.py show --seed N              the random case itself, as a trace
  run.py goldens 20 --write FOLDER  short cases, as golden tests

The exit status is 0 where all agree, 1 where something differs, 2 where the work cannot be done.
README.md tells more.
"""
import argparse
import random
import sys
from collections.abc import Generator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'common'))

import wheels                               # noqa: E402
from case import Case, OracleError          # noqa: E402
from pools import Pools, load               # noqa: E402
from tool import main                       # noqa: E402

PACKAGE = 'cupy-cuda12x==14.2.0'


class Cupy:
    """CuPy's pool, in this process."""
    name, policy, unit = 'CuPy', 'cupy', 512
    releases_in_any_order = True
    goldens = False             # only cases in which CuPy takes the lowest of equals
    choices = elsewhere = 0

    def add_build(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('wheels', type=Path, nargs='?', help='a folder with the wheels')

    def build(self, arguments: argparse.Namespace) -> str:
        source = (['--no-index', '--find-links', arguments.wheels] if arguments.wheels else [])
        wheels.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--only-binary', ':all:',
                    '--target', arguments.folder / 'packages', *source, PACKAGE])
        return str(arguments.folder / 'packages')

    def start(self, folder: Path) -> None:
        if not (folder / 'packages/cupy').exists():
            raise OracleError('%s: no CuPy; `run.py build` installs it' % folder)
        sys.path.insert(0, str(folder / 'packages'))

    def talk(self, case: Case) -> Generator[str, str, None]:
        pools = Pools(load_once(), case)
        answer = 'i'
        while True:
            answer = pools.serve((yield answer))
            if self.goldens and pools.beside.elsewhere:
                raise OracleError('CuPy takes another one of equals than the lowest')

    def draw_keys(self, rng: random.Random, scale: int) -> dict:
        if rng.random() < 0.6:
            return {}
        return {'limit': max(1, int(scale * rng.choice((0.01, 0.1, 0.3, 0.6, 0.9, 1.2))
                                    * rng.random() ** 0.3))}


loaded = None


def load_once():
    global loaded
    loaded = loaded or load()
    return loaded


if __name__ == '__main__':
    allocator = Cupy()
    allocator.goldens = 'goldens' in sys.argv[1:2] + sys.argv[3:4]
    sys.exit(main(allocator, __doc__))
