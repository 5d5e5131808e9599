"""rooms.py - ARCHITECTURE.md tells of each room of rooms.txt once, in the same order."""
import re

import tree
from tap import Tap


def check(tap: Tap) -> None:
    order = re.findall(r'^(\w+):', tree.text('scripts/rooms.txt'), re.M)
    table = tree.text('ARCHITECTURE.md').split('| room | what goes in |\n')[-1].split('\n\n')[0]
    told = [room for cell in re.findall(r'^\| ([\w, ]+) \|', table, re.M)
            for room in cell.split(', ')]
    tap.result('rooms: ARCHITECTURE has each once, in the order of rooms.txt',
               [] if told == order else [f'ARCHITECTURE.md: {" ".join(told)}, '
                                         f'where scripts/rooms.txt has {" ".join(order)}'])
