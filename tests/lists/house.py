"""house.py - what makes the sources hard to read: neither of these figures may rise.

LIMIT is what holds today: lower it whenever a change allows it.
"""
import re
from collections import defaultdict

import tree
from tap import Tap

LIMIT = {'names in several files': 2, 'long functions without a sentence': 10}
LONG = 20               # lines of a function that needs a sentence
# a definition begins in the first column, and its braces stand there alone
FUNCTION = re.compile(r'^(?P<head>(?!typedef|struct \w+ \{)[a-z][\w \t*]*?\b(?P<name>\w+)'
                      r'\([^;{}]*\))\n\{\n(?P<body>.*?)^\}', re.M | re.S)


def percent(part: int, whole: int) -> float:
    return 100 * part / max(whole, 1)


def figures(sources: dict[str, str]) -> dict[str, float]:
    """Each figure of these files: path and text."""
    named: dict[str, set] = defaultdict(set)
    documented = set()
    long = bare = 0
    for path, text in sources.items():
        if path.endswith('.h'):
            documented |= set(re.findall(r'\*/\n[^;{}#]*?\b(\w+)\([^;{}]*\)[^;{}]*;', text))
    for path, text in sources.items():
        if not path.endswith('.c'):
            continue
        for m in FUNCTION.finditer(text):
            named[m['name']].add(path)
            if m['body'].count('\n') + 3 >= LONG:
                long += 1
                above = text[:m.start()].rstrip(' \t')
                bare += not (above.endswith('*/\n') or m['name'] in documented)
    return {'names in several files': percent(sum(len(x) > 1 for x in named.values()), len(named)),
            'long functions without a sentence': percent(bare, long)}


BODY = '\tx();\n' * LONG
GOOD = {'a.h': '/* Runs. */\nint frag_run(int a);\n', 'b.c': 'int b(void)\n{\n\tfrag_run(1);\n}\n',
        'c.c': 'int c(void)\n{\n\tfrag_run(2);\n}\n',
        'a.c': f'int frag_run(int a)\n{{\n{BODY}}}\n'}
# what makes each figure rise
WORSE = {'names in several files': {'d.c': GOOD['b.c']},
         'long functions without a sentence': {'d.c': f'static int d(int a)\n{{\n{BODY}}}\n'}}


def check(tap: Tap) -> None:
    paths = [*tree.files('src/*/*.[ch]'), *tree.files('include/*/*.h')]
    found = figures({path: tree.text(path) for path in paths})
    for name, value in found.items():
        print(f'# {name}: {value:.1f}, at most {LIMIT[name]}')
        tap.result(f'house: {name} are no more than they were',
                   value > LIMIT[name] and f'{value:.2f}, more than {LIMIT[name]}')
    before = figures(GOOD)
    tap.result('house: each figure is seen to rise', [
        f'{name}: {before[name]}' for name, more in WORSE.items()
        if figures({**GOOD, **more})[name] <= before[name]])
