"""torch_allocator.py - the allocator of a torch wheel, as common/allocator.py would have it."""
import argparse
import collections
import re
from collections.abc import Callable
from pathlib import Path

import build
import oracle
from allocator import Allocator
from torch_case import NEWEST, TorchCase
from torch_compare import TorchComparer, TorchExpected
from torch_generate import TorchGenerator

NEWEST_RELEASE = '2.%d' % NEWEST


def release(text: str) -> str:
    if not re.fullmatch(r'2\.\d+', text):
        raise argparse.ArgumentTypeError('not a release such as 2.8: %s' % text)
    return text


class Torch(Allocator):
    """The allocator of a torch wheel, in a program of its own that plays a whole case at once."""
    policy, program = 'pytorch', 'oracle'
    case, comparer, generator = TorchCase, TorchComparer, TorchGenerator
    version = NEWEST

    def add_options(self, parser: argparse.ArgumentParser, default: str = NEWEST_RELEASE) -> None:
        parser.add_argument('--torch', metavar='2.N', type=release, default=default,
                            help='whose allocator (%s)' % NEWEST_RELEASE)

    def add_build(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('wheel', type=Path, nargs='?',
                            help='a torch wheel, or a folder with one')
        parser.add_argument('--cuda-include', metavar='FOLDER',
                            help='the headers of CUDA 13, of which 2.11 and later are')

    def add_settings(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('--alloc-conf', metavar='STRING', help="in place of the header's")

    def add_expect(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('--statistics', action='store_true')

    def add_commands(self, command: Callable[..., argparse.ArgumentParser]) -> None:
        sub = command('settings', help='compare what settings are refused')
        sub.add_argument('count', type=int, help='how many seeds')
        sub.add_argument('--first', type=int, default=1, help='the first seed (1)')
        sub.add_argument('--stricter', action='store_true',
                         help='list what only fragsim refuses, too')

    def take_options(self, arguments: argparse.Namespace) -> str:
        self.version = int(arguments.torch.partition('.')[2])
        return 'pytorch-oracle' + ('-' + arguments.torch if self.version != NEWEST else '')

    def set_case(self, case: TorchCase, arguments: argparse.Namespace) -> None:
        case.version = self.version
        if arguments.alloc_conf is not None:
            case.conf = arguments.alloc_conf

    def build(self, arguments: argparse.Namespace) -> str:
        return str(build.build(arguments.folder, arguments.wheel, arguments.torch,
                               arguments.cuda_include))

    def expect(self, case: TorchCase, spread: int = 1) -> TorchExpected:
        return oracle.expect(self.folder / self.program, case, spread)

    def features(self, case: TorchCase, expected: TorchExpected) -> collections.Counter:
        rows, lines = expected.rows, expected.placements
        ooms = sum(row.status == 'oom' for row in rows)
        return collections.Counter({
            'cases': 1, 'steps': len(rows), 'ooms': ooms,
            'retries': rows[-1].beside['retries'] if rows else 0,
            'cases with an OOM': ooms > 0,
            'cases with expandable ranges': any('"expandable"' in line for line in lines),
            'cases with pages unmapped': any('"unmapped"' in line for line in lines),
            'cases where PyTorch spoils its heap': expected.broken is not None,
            'cases with private pools': any('pool' in event for event in case.events),
            'cases with a change of settings': any(event['op'] == 'configure'
                                                   for event in case.events)})
