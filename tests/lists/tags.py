"""tags.py - the tag of a struct that several files may see means one thing in the whole tree."""
import re

import tree
from tap import Tap

DEFINED = re.compile(r'\bstruct (frag_\w+) \{')


def check(tap: Tap) -> None:
    homes: dict[str, list[str]] = {}
    for path in sorted([*tree.ROOT.glob('src/*/*.[ch]'), *tree.ROOT.glob('include/*/*.h')]):
        text = re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'), flags=re.S)
        for tag in DEFINED.findall(text):
            homes.setdefault(tag, []).append(str(path.relative_to(tree.ROOT)))
    tap.result('tags: a struct tag means one thing', [
        f'{tag}: {" ".join(where)}' for tag, where in homes.items()
        if len(where) > 1],
        len(homes) < 100 and f'only {len(homes)} were found')
