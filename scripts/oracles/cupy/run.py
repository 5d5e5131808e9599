#!/usr/bin/python3 -B
"""run.py - holds fragsim's policy cupy against CuPy's MemoryPool.

  run.py build                      install the wheel of cupy-cuda12x (137 MB) and numpy in a folder
                                    of their own; or from a folder with the wheels
"""
import argparse
import random
import sys
from collections.abc import Generator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'common'))

import wheels                       # noqa: E402
from allocator import Allocator     # noqa: E402
from case import Case, OracleError  # noqa: E402
from pools import Pools, load       # noqa: E402
from tool import main               # noqa: E402

PACKAGE = 'cupy-cuda12x==14.2.0'


class Cupy(Allocator):
    """CuPy's pool, in this process."""
    policy, unit, program = 'cupy', 512, 'packages/cupy'
    releases_in_any_order = True
    goldens = False             # only cases in which CuPy takes the lowest of equals

    def take_options(self, arguments: argparse.Namespace) -> str:
        self.goldens = arguments.command == 'goldens'
        return super().take_options(arguments)

    def build(self, arguments: argparse.Namespace) -> str:
        source = (['--no-index', '--find-links', arguments.wheels] if arguments.wheels else [])
        wheels.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--only-binary', ':all:',
                    '--target', arguments.folder / 'packages', *source, PACKAGE])
        return str(arguments.folder / 'packages')

    def start(self, folder: Path) -> None:
        super().start(folder)
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
    sys.exit(main(Cupy(), __doc__))
