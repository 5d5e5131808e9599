#!/usr/bin/python3 -B
"""run.py - holds fragsim's pytorch policy against PyTorch's own allocator.

  run.py build                      download the torch wheel (540 MB), unpack two of its libraries
                                    and build the oracle with them; WHEEL or a folder: no download.
                                    Here and below, --torch 2.8 is about another release
  run.py settings 2000              does fragsim refuse each settings string that PyTorch refuses?
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'common'))

from settings import compare_settings, random_settings      # noqa: E402
from tool import Tool, main                                 # noqa: E402
from torch_allocator import Torch                           # noqa: E402
from torch_compare import TorchExpected                     # noqa: E402


class TorchTool(Tool):
    """The commands, and those that only PyTorch has."""

    def print_expected(self, expected: TorchExpected) -> None:
        if self.arguments.statistics and not self.arguments.metrics:
            print(json.dumps(expected.statistics, indent=1))
        else:
            super().print_expected(expected)

    def settings(self) -> int:
        arguments, comparer, wrong = self.arguments, self.comparer(), 0
        program = arguments.folder / self.allocator.program
        for seed in range(arguments.first, arguments.first + arguments.count):
            bad, text = compare_settings(program, comparer.program, random_settings(seed),
                                         self.allocator.version)
            wrong += bad
            if text and (bad or arguments.stricter):
                print('seed %d: %s' % (seed, text), flush=True)
        print('%10d settings\n%10d that only PyTorch refuses' % (arguments.count, wrong))
        return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(Torch(), __doc__, TorchTool))
