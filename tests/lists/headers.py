"""headers.py - each prototype and object of a public header is documented."""
import re

import tree
from tap import Tap

# a function, declared or inline, or an object, at the beginning of a line
DECLARED = re.compile(r'(?!typedef|#)[a-z][^;{}=(]*\b(frag_\w+)\(|extern [^;(]*?\b(frag_\w+)[;\[]')


def groups(content: str) -> list[tuple[int, list[str]]]:
    """What stands together outside of braces and comments, with the number of its first line."""
    found: list[tuple[int, list[str]]] = []
    depth, comment, fresh = 0, False, True
    for number, line in enumerate(content.split('\n'), 1):
        if not line.strip() and not depth and not comment:
            fresh = True
            continue
        if fresh:
            found.append((number, []))
            fresh = False
        found[-1][1].append(line)
        code = re.sub(r'/\*.*?\*/', '', line)
        if comment and '*/' in code:
            comment, code = False, code.split('*/', 1)[1]
        if not comment and '/*' in code:
            comment, code = True, code.split('/*', 1)[0]
            depth += code.count('{') - code.count('}')
        elif not comment:
            depth += code.count('{') - code.count('}')
    return found


def bare(lines: list[str]) -> list[tuple[int, str]]:
    """The functions and objects that a group declares without a word on them, and their lines."""
    if lines[0].startswith('/*'):
        return []
    found = []
    for i, line in enumerate(lines):
        name = DECLARED.match(line)
        if name and '/*' not in line and not (i and lines[i - 1].rstrip().endswith('*/')):
            found.append((i, name[1] or name[2]))
    return found


def check(tap: Tap) -> None:
    faults, count = [], 0
    for file in tree.files('include/fragsim/*.h'):
        for number, lines in groups(tree.text(file)):
            count += sum(1 for line in lines if DECLARED.match(line))
            faults += [f'{file}:{number + i}: {name} has no comment above it, above its group or'
                       ' behind it' for i, name in bare(lines)]
    tap.result('headers: each prototype of a public header is documented', faults,
               count < 80 and f'only {count} declarations were found')
