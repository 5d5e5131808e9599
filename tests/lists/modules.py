"""modules.py - ARCHITECTURE.md tells of each module of modules.txt once, in the same order; and
make check-all has each test."""
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
    areas = re.search(r'^areas = (.*)', tree.text('Makefile'), re.M)
    folders = re.findall(r'[a-z]+(?:/\*)?', areas[1].replace('$(if $(ALL),', '')) if areas else []
    have = {x for folder in folders for x in tree.files(f'tests/{folder}/run.py')}
    tap.result('tests: each run.py is in a folder that make check-all goes through',
               [f'{x}: nothing runs it' for x in sorted({*tree.files('tests/**/run.py')} - have)],
               len(have) < 40 and f'only {len(have)} were found')
