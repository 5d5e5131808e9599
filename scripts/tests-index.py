#!/usr/bin/python3 -B
"""tests-index.py - which tests concern a source file or a command; made from the tree each time.

usage: scripts/tests-index.py [WORD]       a file's name without its folder, or a command

A C test concerns the files whose headers it includes and the file of its name; any other test
concerns the commands that it names as words of their own.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(argv: list[str]) -> int:
    table = (ROOT / 'src/cmd/command.h').read_text(encoding='utf-8')
    commands = [re.sub('^(trace|list)_', r'\1 ', x).replace('_', '-') for x in
                re.findall(r'(?<=\bX\()\w+(?=\) |\)$)', table, re.M) if x != 'name']
    sources = {x.stem: x for x in (*ROOT.glob('src/*/*.h'), *ROOT.glob('include/*/*.h'),
                                   *ROOT.glob('src/*/*.c'))}
    found: dict[str, set] = defaultdict(set)
    for path in ROOT.glob('tests/**/*'):
        if path.suffix not in ('.c', '.py', '.sh') or 'support' in path.parts:
            continue
        text = path.read_text(encoding='utf-8', errors='replace')
        name = str(path.relative_to(ROOT))
        if path.suffix == '.c':
            for header in re.findall(r'#include "[\w/]*?(\w+)\.h"', text):
                found[header].add(name)
            found[path.stem.removeprefix('test_')].add(name)
            continue
        if 'golden' in path.parts:
            name = f'tests/golden/run.sh {path.parent.name}'
        for command in commands:
            words = '[\'", ]+'.join(command.split())
            if re.search(rf"""['"]{words}['"]|FRAGSIM"? {words}\b|fragsim {words}\b""", text):
                found[command].add(name)
    wanted = argv[1].removesuffix('.c').removesuffix('.h') if len(argv) == 2 else None
    for key in sorted([*commands, *sources] if wanted is None else [wanted]):
        if found[key]:
            where = sources[key].relative_to(ROOT) if key in sources else f'fragsim {key}'
            print(f'{where}:\n  ' + '\n  '.join(sorted(found[key])))
    return 0 if wanted is None or found[wanted] else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv))
