"""whole.py - lists in tests, scripts and pages that were whole until something was added."""
import tree

# generated, or the sources themselves, which are compared in other ways
APART = ('tests/golden/', 'tests/fuzz/corpus/', 'tests/lists/')


def texts() -> dict[str, str]:
    out = {}
    for pattern in ('tests/**/*.py', 'tests/**/*.[ch]', 'tests/**/*.sh', 'scripts/**/*.sh', 'man/*',
                    'README.md'):
        for file in tree.files(pattern):
            if not file.startswith(APART):
                out[file] = tree.text(file)
    return out


def partial(names: list[str]) -> list[tuple[str, str]]:
    """Each file that names all of these but one, and that one."""
    found = []
    for file, content in texts().items():
        missing = [x for x in names if not tree.has_word(x, content)]
        if len(missing) == 1:
            found.append((file, missing[0]))
    return found
