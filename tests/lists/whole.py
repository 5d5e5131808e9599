"""whole.py - lists in tests, scripts and pages that were whole until something was added."""
import functools
from collections.abc import Callable

import tree

# generated, or the sources themselves, which are compared in other ways
APART = ('tests/golden/', 'tests/fuzz/corpus/', 'tests/lists/')


@functools.cache
def texts() -> dict[str, str]:
    out = {}
    for pattern in ('tests/**/*.py', 'tests/**/*.[ch]', 'tests/**/*.sh', 'scripts/**/*.sh', 'man/*',
                    'README.md'):
        for file in tree.files(pattern):
            if not file.startswith(APART):
                out[file] = tree.text(file)
    return out


def partial(names: list[str], apart: Callable[[str, str], bool] = lambda file, name: False,
            ) -> list[str]:
    """Complaints: for each name the files that have all of these but that one."""
    lacking: dict[str, list[str]] = {}
    for file, content in texts().items():
        missing = [x for x in names if not tree.has_word(x, content)]
        if len(missing) == 1 and not apart(file, missing[0]):
            lacking.setdefault(missing[0], []).append(file)
    return [f'{", ".join(files)}: all of {", ".join(names)} but {name}'
            for name, files in lacking.items()]
