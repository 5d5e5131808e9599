"""modules.py - ARCHITECTURE.md tells of each module of modules.txt once, in the same order."""
import re

import tree
from tap import Tap


def check(tap: Tap) -> None:
    order = re.findall(r'^(\w+):', tree.text('scripts/modules.txt'), re.M)
    table = tree.text('ARCHITECTURE.md').split('| module | what goes in |\n')[-1].split('\n\n')[0]
    told = [module for cell in re.findall(r'^\| ([\w, ]+) \|', table, re.M)
            for module in cell.split(', ')]
    tap.result('modules: ARCHITECTURE has each once, in the order of modules.txt',
               [] if told == order else [f'ARCHITECTURE.md: {" ".join(told)}, '
                                         f'where scripts/modules.txt has {" ".join(order)}'])
