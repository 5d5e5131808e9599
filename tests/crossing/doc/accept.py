"""accept.py - write what the examples of the manual print now into its pages.

    accept.py [PROGRAM [PAGE...]]  default: build/fragsim, all pages

An output keeps its shape: `...` stays where it stands, a run of lines at the beginning or at the
end of an output keeps its place, and one between two `...` becomes the lines most like it. Look at
the difference before it is committed.
"""
import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run  # noqa: E402


def parts_of(lines: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == '...':
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def nearest(part: list[str], got: list[str]) -> list[str]:
    """The window of the same length whose lines are most like the part's."""
    def likeness(at: int) -> float:
        return sum(difflib.SequenceMatcher(None, a, b).ratio()
                   for a, b in zip(part, got[at:at + len(part)], strict=True))
    places = range(len(got) - len(part) + 1)
    best = max(places, key=likeness, default=None)
    return [] if best is None else got[best:best + len(part)]


def reshaped(wanted: list[str], got: list[str]) -> list[str]:
    parts = parts_of(wanted)
    if len(parts) == 1:
        return got
    last = parts[-1]
    out = got[:len(parts[0])]
    for part in parts[1:-1]:
        out += ['...', *nearest(part, got)]
    return [*out, '...', *(got[len(got) - len(last):] if last else [])]


def escaped(line: str, page: bool) -> str:
    if not page:
        return line
    if not line:
        return r'\&'           # mdoc takes no empty line
    line = line.replace('\\', '\\e')
    for mark, name in (("'", r'\(aq'), ('`', r'\(ga'), ('^', r'\(ha'), ('~', r'\(ti')):
        line = line.replace(mark, name)
    return r'\&' + line if line.startswith(('.', r'\(aq')) else line


def accept(path: Path, program: Path) -> int:
    page = path.suffix != '.md'
    lines = path.read_text(encoding='utf-8').splitlines()
    items = run.of_page(path) if page else run.of_markdown(path)
    changes = []
    status = 0
    with tempfile.TemporaryDirectory(prefix='doc-') as place:
        folder = Path(place)
        env = run.furnish(folder, program)
        for item in items:
            if isinstance(item, run.Trace) or run.cannot_run(item.command) is not None:
                continue
            done = subprocess.run(['sh', '-c', f'(exit {status})\n{item.command}'], cwd=folder,
                                  env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=False, timeout=run.TIME_LIMIT)
            status = done.returncode
            got = done.stdout.splitlines()
            if item.output and not run.fits(item.output, got):
                first = item.line + item.command.count('\n')
                changes.append((first, len(item.output), reshaped(item.output, got)))
    for first, count, new in reversed(changes):
        lines[first:first + count] = [escaped(x, page) for x in new]
    if changes:
        path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return len(changes)


def main(argv: list[str]) -> int:
    program = Path(argv[1] if len(argv) > 1 else 'build/fragsim').absolute()
    paths = [run.ROOT / 'README.md', run.ROOT / 'traces' / 'README.md',
             run.ROOT / 'skills/fragsim/SKILL.md', *sorted((run.ROOT / 'man').glob('*.[1-8]'))]
    os.chdir(run.ROOT)
    for path in [run.ROOT / x for x in argv[2:]] or paths:
        count = accept(path, program)
        if count:
            print(f'{path.relative_to(run.ROOT)}: {count} outputs')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
