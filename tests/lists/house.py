"""house.py - how many pieces and names the sources have: none of these figures may rise.

TARGET is where each is to be, LIMIT what holds today: lower a limit whenever a change allows it.
"""
import re
from collections import Counter, defaultdict

import tree
from tap import Tap

TARGET = {'files': 590, 'names in several files': 5, 'long functions without a sentence': 10,
          'exported functions with one user': 30}
LIMIT = {'files': 343, 'names in several files': 2, 'long functions without a sentence': 10,
         'exported functions with one user': 30}
LONG = 20               # lines of a function that needs a sentence
# a definition begins in the first column, and its braces stand there alone
FUNCTION = re.compile(r'^(?P<head>(?!typedef|struct \w+ \{)[a-z][\w \t*]*?\b(?P<name>\w+)'
                      r'\([^;{}]*\))\n\{\n(?P<body>.*?)^\}', re.M | re.S)
COMMENT = re.compile(r'/\*.*?\*/', re.S)


def blank(text: str) -> str:
    """The text without comments, as many lines."""
    return COMMENT.sub(lambda m: '\n' * m[0].count('\n'), text)


def percent(part: int, whole: int) -> float:
    return 100 * part / max(whole, 1)


def figures(sources: dict[str, str]) -> dict[str, float]:
    """Each figure of these files: path and text."""
    named: dict[str, set] = defaultdict(set)
    files_of: Counter = Counter()
    exported: dict[str, str] = {}
    documented, declared = set(), set()
    long = bare = 0
    for path, text in sources.items():
        code = blank(text)
        words = set(re.findall(r'\bfrag_\w+', code))
        if path.endswith('.c'):
            files_of.update(words)
        else:
            declared |= words
            documented |= set(re.findall(r'\*/\n[^;{}#]*?\b(\w+)\([^;{}]*\)[^;{}]*;', text))
    for path, text in sources.items():
        if not path.endswith('.c'):
            continue
        for m in FUNCTION.finditer(text):
            named[m['name']].add(path)
            static = m['head'].startswith('static')
            if not static and m['name'].startswith('frag_'):
                exported[m['name']] = path
            if m['body'].count('\n') + 3 >= LONG:
                long += 1
                above = text[:m.start()].rstrip(' \t')
                bare += not (above.endswith('*/\n') or m['name'] in documented)
    users = {x: files_of[x] - 1 for x in exported if x in declared}
    return {'files': len(sources),
            'names in several files': percent(sum(len(x) > 1 for x in named.values()), len(named)),
            'long functions without a sentence': percent(bare, long),
            'exported functions with one user': percent(sum(x == 1 for x in users.values()),
                                                        len(users))}


BODY = '\tx();\n' * LONG
GOOD = {'a.h': '/* Runs. */\nint frag_run(int a);\n', 'b.c': 'int b(void)\n{\n\tfrag_run(1);\n}\n',
        'c.c': 'int c(void)\n{\n\tfrag_run(2);\n}\n',
        'a.c': f'int frag_run(int a)\n{{\n{BODY}}}\n'}
# what makes each figure rise
WORSE = {'files': {'d.c': ''}, 'names in several files': {'d.c': GOOD['b.c']},
         'long functions without a sentence': {'d.c': f'static int d(int a)\n{{\n{BODY}}}\n'},
         'exported functions with one user': {'c.c': ''}}


def check(tap: Tap) -> None:
    paths = [*tree.files('src/*/*.[ch]'), *tree.files('include/*/*.h')]
    found = figures({path: tree.text(path) for path in paths})
    for name, value in found.items():
        print(f'# {name}: {value:.1f}, at most {LIMIT[name]}, to be {TARGET[name]}')
        tap.result(f'house: {name} are no more than they were',
                   value > LIMIT[name] and f'{value:.2f}, more than {LIMIT[name]}')
    before = figures(GOOD)
    tap.result('house: each figure is seen to rise', [
        f'{name}: {before[name]}' for name, more in WORSE.items()
        if figures({**GOOD, **more})[name] <= before[name]])
