#!/usr/bin/python3 -B
"""run.py - holds fragsim's policy bfc against the BFC allocator that TensorFlow ships.

  run.py build                      download the wheel of tensorflow-cpu (274 MB), unpack a library
                                    and headers, and build the driver; a folder: no download
"""
import argparse
import os
import random
import sys
from collections.abc import Generator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'common'))

from allocator import Allocator     # noqa: E402
from case import Case               # noqa: E402
from process import talk_to         # noqa: E402
from tool import main               # noqa: E402
from wheels import fetch, run       # noqa: E402

PACKAGE = 'tensorflow-cpu==2.21.0'
LIBRARY = 'tensorflow/libtensorflow_framework.so.2'
HEADERS = ('Eigen', 'absl', 'google', 'ml_dtypes', 'tsl', 'unsupported', 'xla/tsl')
ENDLESS = 1 << 52       # the limit of a pool that has none
MIB, GIB = 1 << 20, 1 << 30
MOST = 4 * GIB          # for each 256 bytes of a region TensorFlow keeps 8


class Bfc(Allocator):
    """The real one, behind a driver of its own."""
    policy, unit = 'bfc', 256

    def add_build(self, parser: argparse.ArgumentParser) -> None:
        super().add_build(parser)
        parser.add_argument('--package', default=PACKAGE, help='which one (%(default)s)')

    def build(self, arguments: argparse.Namespace) -> str:
        folder = arguments.folder
        fetch({arguments.package: (LIBRARY, *('tensorflow/include/%s/' % name
                                              for name in HEADERS))}, folder, arguments.wheels)
        run([os.environ.get('CXX', 'g++'), '-O2', '-std=c++17', '-Wall', '-Wextra', '-isystem',
             folder / 'tensorflow/include', HERE / 'src/driver.cpp', '-o', folder / 'driver',
             folder / LIBRARY, '-Wl,-rpath,$ORIGIN/tensorflow', '-Wl,--disable-new-dtags'])
        return str(folder / 'driver')

    def talk(self, case: Case) -> Generator[str, str, None]:
        keys = case.keys
        return talk_to([self.folder / self.program, case.room(), case.granularity,
                        keys.get('memory_limit') or case.total or ENDLESS,
                        int(keys.get('allow_growth', True)),
                        int(keys.get('garbage_collection', False)),
                        keys.get('fragmentation_fraction', 0)],
                       {'TF_CPP_MIN_LOG_LEVEL': '3', 'TF_ENABLE_ONEDNN_OPTS': '0'})

    def draw_keys(self, rng: random.Random, scale: int) -> dict:
        """Each key in some of the cases; a limit always where there may be no other one."""
        keys: dict = {}
        near = min(scale, MOST)
        endless = scale > MOST or scale in (MIB, 100 * MIB, MOST)
        if endless or rng.random() < 0.6:
            # twice what there is: then the device refuses, not the limit
            keys['memory_limit'] = max(1000, rng.choice((2 * near, 2 * near, near // 2, near // 4, rng.choice((
                near, near * 3 // 4, near - 1, near + 300, near // MIB * MIB,
                rng.randint(1, 1 << rng.randint(9, 32)))))))
        if rng.random() < 0.2:
            keys['allow_growth'] = False
        if rng.random() < 0.75:
            keys['garbage_collection'] = True
        if rng.random() < 0.4:
            keys['fragmentation_fraction'] = rng.choice((0.001, 0.01, 0.05, 0.1, 0.25, 1 / 3, 1))
        return keys


if __name__ == '__main__':
    sys.exit(main(Bfc(), __doc__))
