"""scenarios.py - each scenario of src/gen is listed, sorted, and tested."""
import re

import tree
from tap import Tap

TITLE = 'Add a scenario'


def check(tap: Tap) -> None:
    found = tree.entries('frag_scenario', 'gen')
    listed = re.findall(r'^([\w-]+) ', tree.fragsim('trace', 'gen', '--list'), re.M)
    tests = ''.join(tree.text(x) for x in tree.files('tests/commands/trace_gen/*.py'))
    section = tree.Section(TITLE)
    for x in found:
        section.need(x.name in listed, 'src/gen/gen.h',
                     f'FRAG_SCENARIOS does not have {x.symbol} of {x.file}', 2)
        section.need(tree.has_word(x.name, tests), 'tests/commands/trace_gen/run.py', f'no test of {x.name}', 4)
    section.need(listed == sorted(listed), 'src/gen/gen.h',
                 f'FRAG_SCENARIOS is not sorted: {listed}', 2)
    tap.result('scenarios: each table of src/gen is listed and tested', section.take(),
               len(found) < 10 and f'only {len(found)} tables were found')
