#!/usr/bin/python3 -B
"""run.py - holds fragsim's policy rmm against the pool_memory_resource of RAPIDS RMM.

  run.py build                      download the wheel of librmm (5 MB), what it needs and CUDA's
                                    headers, and build the driver; or a folder with the wheels
"""
import argparse
import os
import random
import sys
from collections.abc import Generator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'common'))

import wheels                       # noqa: E402
from allocator import Allocator     # noqa: E402
from case import Case               # noqa: E402
from process import talk_to         # noqa: E402
from tool import main               # noqa: E402

PACKAGES = {'librmm-cu12==26.10.0': (), 'rapids-logger==0.3.0': (),
            'nvidia-cuda-runtime-cu12==12.9.79': ('nvidia/cuda_runtime/include/',)}


class Rmm(Allocator):
    """RMM's pool, in a program of its own."""
    policy, unit = 'rmm', 256

    def build(self, arguments: argparse.Namespace) -> str:
        folder = arguments.folder
        wheels.fetch(PACKAGES, folder, arguments.wheels)
        libraries = [folder / 'librmm/lib64', folder / 'rapids_logger/lib64']
        wheels.run([os.environ.get('CXX', 'g++'), '-std=c++20', '-O1', '-DNDEBUG', '-w',
                    '-isystem', folder / 'librmm/include',
                    '-isystem', folder / 'librmm/include/rapids',
                    '-isystem', folder / 'rapids_logger/include',
                    '-isystem', folder / 'nvidia/cuda_runtime/include',
                    HERE / 'driver.cpp', '-o', folder / 'driver',
                    libraries[0] / 'librmm.so', libraries[1] / 'librapids_logger.so', '-ldl',
                    '-Wl,-rpath,' + ':'.join('$ORIGIN/%s' % one.relative_to(folder)
                                             for one in libraries), '-Wl,--disable-new-dtags'])
        return str(folder / 'driver')

    def talk(self, case: Case) -> Generator[str, str, None]:
        return talk_to([self.folder / self.program, case.room(), case.granularity,
                        case.keys.get('initial', 0), case.keys.get('maximum', 0)])

    def draw_keys(self, rng: random.Random, scale: int) -> dict:
        keys = {}
        if rng.random() < 0.4:
            keys['initial'] = self.multiple(rng, scale)
        if rng.random() < 0.4:
            keys['maximum'] = max(self.multiple(rng, scale), keys.get('initial', 0), self.unit)
        return keys

    def multiple(self, rng: random.Random, scale: int) -> int:
        share = rng.choice((0.0001, 0.01, 0.1, 0.25, 0.5, 0.75, 1, 1.5))
        return int(scale * share * rng.random() ** 0.3) // self.unit * self.unit


if __name__ == '__main__':
    sys.exit(main(Rmm(), __doc__))
