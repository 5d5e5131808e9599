"""steps.py - CONTRIBUTING.md: at most five steps each, and the files it names are there."""
import re

import tree
from tap import Tap

STEPS_MAX = 5
TITLES = ('Add a policy', 'Add a metric', 'Add a command', 'Add a trace format',
          'Add an output format', 'Add a scenario')


def check(tap: Tap) -> None:
    counts = {title: len(tree.steps(title)) for title in TITLES}
    tap.result('CONTRIBUTING: one to five steps to add something', [
        f'CONTRIBUTING.md: **{title}** has {count} steps' for title, count in counts.items()
        if not 1 <= count <= STEPS_MAX], [
        f'CONTRIBUTING.md: **{title}** is there twice' for title in TITLES
        if tree.text('CONTRIBUTING.md').count(f'**{title}**') > 1])
    named = re.findall(r'`((?:src|include|tests|scripts|man|traces)/[\w./-]+)`',
                       tree.text('CONTRIBUTING.md'))
    missing = [x for x in named if not re.search('NAME|CASE', x) and not (tree.ROOT / x).exists()]
    tap.result('CONTRIBUTING: the files that it names are there',
               [f'CONTRIBUTING.md: {x} does not exist' for x in missing],
               len(named) < 20 and f'only {len(named)} were found')
