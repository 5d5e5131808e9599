"""run.py - try every example of the manual and of the READMEs; prints TAP.

    run.py [PROGRAM [PAGE...]]  default: build/fragsim, all pages

An example is a line of a literal block that begins with `$ ` (or any line of a ```sh block, which
shows no output). The examples of a page run one after the other in one folder, which has traces/,
scripts/, include/, build/fragsim and man/ as the top of the repository has them, examples/ as it is installed,
fragsim on the PATH, and a pkg-config that knows the installation in build/stage.

- The exit status is 0, unless the next example is `echo $?`, whose output then says which.
- Lines that follow up to the next example or the end of the block are its output, line by line;
  the line `...` stands for any lines. Standard error counts where 2>&1 stands in the example.
- Rows of a table, `| ... |`, that an example prints have to stand in the page.
- Of `cat > FILE <<'END'` the lines up to END belong to the example.
- A page shows the words of its source (rendering.py).
- Each page fragsim-NAME(N) that is referred to has to exist.
- What is marked ```python is for tests/crossing/python/run.py.
- A block that begins with { is a trace, and has to be one to the program too. A block that is
  marked ```text, or an .Bd without a `$ `, is a picture: nothing is tried.
- `make TARGET` is not run here, but the Makefile must have that target; of scripts/NAME the help
  must know the options.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rendering  # noqa: E402
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
TIME_LIMIT = 60         # seconds


@dataclass
class Example:
    line: int           # of the source
    command: str
    output: list[str]


@dataclass
class Trace:
    line: int
    text: str


Item = Example | Trace


def examples_of(block: list[str], line: int, prompt: bool) -> list[Item]:
    """The examples of one block; line is that of its first line."""
    if block and block[0].startswith('{'):
        return [Trace(line, '\n'.join(block) + '\n')]
    out: list[Item] = []
    until = None                # the word that ends what a command reads
    for number, text in enumerate(block, line):
        last = out[-1] if out else None
        if isinstance(last, Example) and (until or last.command.endswith('\\')):
            last.command += '\n' + text
            until = None if text == until else until
        elif text.startswith('$ ') or (not prompt and text.strip()):
            out.append(Example(number, text[2:] if prompt else text, []))
            here = re.search(r"<<'(\w+)'", text)
            until = here[1] if here else None
        elif isinstance(last, Example):
            last.output.append(text)
    for item in out:
        while item.output and not item.output[-1].strip():
            item.output.pop()
    return out


def of_markdown(path: Path) -> list[Item]:
    out: list[Item] = []
    block: list[str] | None = None
    kind, first = '', 0
    for number, text in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        if text.startswith('```'):
            if block is None:
                block, kind, first = [], text[3:].strip(), number + 1
                continue
            if kind not in ('sh', 'console', 'json', 'text', 'c', 'python', ''):
                raise SystemExit(f'{path}:{number}: a block of a kind that nobody knows: {kind}')
            if kind in ('sh', 'console', 'json'):
                out += examples_of(block, first, kind == 'console')
            block = None
        elif block is not None:
            block.append(text)
        elif text.startswith('    ') and re.match(r'\s+(\$ |make |build/|fragsim )', text):
            raise SystemExit(f'{path}:{number}: a command that is in no block')
    return out


ESCAPES = {r'\e': '\\', r'\-': '-', r'\&': '', r'\(aq': "'", r'\(dq': '"', r'\(ga': '`',
           r'\(ti': '~', r'\(ha': '^', r'\(rs': '\\'}


def plain(text: str) -> str:
    """A line of a page as it is shown."""
    return re.sub(r'\\(?:\(..|.)', lambda m: ESCAPES.get(m[0], m[0]), text)


def of_page(path: Path) -> list[Item]:
    out: list[Item] = []
    block: list[str] | None = None
    first = 0
    for number, text in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        if text.startswith('.Bd ') and '-literal' in text:
            block, first = [], number + 1
        elif text == '.Ed' and block is not None:
            out += examples_of(block, first, True)
            block = None
        elif block is not None:
            if not text.startswith(r'.\"'):
                block.append(plain(text))
        elif text.startswith('.Dl $ '):
            out.append(Example(number, plain(text[6:]), []))
        elif text.startswith('.Dl '):
            out.append(Trace(number, plain(text[4:]) + '\n')
                       if text.startswith('.Dl {') else Example(number, plain(text[4:]), []))
    return out


def shown(path: Path) -> str | None:
    """The page as a reader sees it; None without mandoc."""
    try:
        done = subprocess.run(['mandoc', '-Tascii', '-Owidth=500', str(path)],
                              capture_output=True, check=True)
    except FileNotFoundError:
        return None
    return re.sub('.\b', '', done.stdout.decode())


def is_shown(items: list[Item], text: str) -> list[str]:
    """The commands that a reader does not see as they are tried."""
    return [f'line {x.line}: not shown so: {line}' for x in items
            for line in (x.command if isinstance(x, Example) else x.text).split('\n')
            if line.strip() not in text]


def fits(wanted: list[str], got: list[str]) -> bool:
    """Are these the lines, where `...` stands for any?"""
    if not wanted:
        return not got
    if wanted[0] == '...':
        return any(fits(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and wanted[0].rstrip() == got[0].rstrip() and fits(wanted[1:], got[1:])


def cannot_run(command: str) -> list[str] | None:
    """What is wrong with a command that is not for a test to run; None: it is."""
    words = command.split('#')[0].split()
    if words[0] == 'make':
        makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
        return [f'the Makefile has no target {word}' for word in words[1:]
                if '=' not in word and not re.search(f'^## {word}: ', makefile, re.M)]
    if words[0] in ('git', 'cd', 'sudo', 'man', 'pip'):
        return []
    if words[0].startswith('scripts/record_torch.py'):
        script = (ROOT / words[0]).read_text(encoding='utf-8')
        known = set(re.findall(r'"(-o|--\w+)"', script))
        return [f'{words[0]} has no option {w}' for w in words[1:words.index('train.py')
                if 'train.py' in words else None] if w.startswith('-') and w not in known]
    return None


def try_example(example: Example, before: int, any_status: bool, page: str, folder: Path,
                env: dict[str, str]) -> tuple[int, list[str]]:
    """The status, and what is wrong; the example before this one ended with `before`."""
    faults = cannot_run(example.command)
    if faults is not None:
        return 0, faults
    done = subprocess.run(['sh', '-c', f'(exit {before})\n{example.command}'], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=TIME_LIMIT)
    lines, faults = done.stdout.splitlines(), []
    if done.returncode and not any_status:
        faults += [f'exit status {done.returncode}', *done.stderr.splitlines()[:10]]
    if example.output and not fits(example.output, lines):
        faults += ['printed:', *lines[:60]]
    faults += [f'not in the page: {x}' for x in lines if x.startswith('| ') and x not in page]
    return done.returncode, faults


def try_trace(trace: Trace, env: dict[str, str]) -> list[str]:
    done = subprocess.run(['fragsim', 'run', '-q', '-'], input=trace.text.encode(), env=env,
                          capture_output=True, check=False, timeout=TIME_LIMIT)
    return [] if done.returncode in (0, 3) else [done.stderr.decode()]


def furnish(folder: Path, program: Path) -> dict[str, str]:
    """Makes the folder look like the top of the repository; what the examples run under."""
    for name in ('traces', 'scripts', 'man', 'tests', 'include'):
        (folder / name).symlink_to(ROOT / name)
    (folder / 'examples').symlink_to(ROOT / 'tests' / 'examples')
    (folder / 'build').mkdir()
    (folder / 'build' / 'fragsim').symlink_to(program)
    env = {k: v for k, v in os.environ.items()
           if k not in ('NO_COLOR', 'CLICOLOR_FORCE', 'COLUMNS')}
    stage = program.parent / 'stage'            # what `make check` installed
    for found in stage.rglob('fragsim.pc'):
        env |= {'PKG_CONFIG_PATH': str(found.parent), 'PKG_CONFIG_SYSROOT_DIR': str(stage)}
    return {**env, 'PATH': f'{folder}/build:{env["PATH"]}', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC'}


def check(tap: Tap, path: Path, program: Path) -> None:
    name = str(path.relative_to(ROOT))
    is_page = path.suffix != '.md'
    source = path.read_text(encoding='utf-8')
    items = of_page(path) if is_page else of_markdown(path)
    tap.result(f'{name}: the pages that it refers to', [
        f'{page}({number}) is missing'
        for page, number in re.findall(r'\b(fragsim(?:-\w+)?)(?:\(| )([1-8])\b', source)
        if not any((ROOT / 'man' / f'{page}.{number}{more}').exists() for more in ('', '.in'))])
    if is_page:
        tap.result(f'{name}: no macro takes a word, and no mark stands alone',
                   rendering.swallowed(source), rendering.stray(source))
    if is_page and items:
        text = shown(path)
        if text is not None:
            tap.result(f'{name}: its examples are shown as they are', is_shown(items, text))
    status = 0
    with tempfile.TemporaryDirectory(prefix='doc-') as place:
        folder = Path(place)
        env = furnish(folder, program)
        for item, after in zip(items, [*items, None][1:], strict=True):
            title = f'{name}:{item.line}: '
            if isinstance(item, Trace):
                tap.result(title + 'a trace', try_trace(item, env))
                continue
            asked = isinstance(after, Example) and after.command == 'echo $?'
            status, faults = try_example(item, status, asked, source, folder, env)
            tap.result(title + item.command.split('\n')[0], faults)


def main(argv: list[str]) -> int:
    program = Path(argv[1] if len(argv) > 1 else 'build/fragsim').absolute()
    tap = Tap()
    paths = [ROOT / 'README.md', ROOT / 'README.zh-CN.md', ROOT / 'traces' / 'README.md',
             ROOT / 'skills/fragsim/SKILL.md',
             *sorted((ROOT / 'doc/site').rglob('*.md')), *sorted((ROOT / 'man').glob('*.[1-8]'))]
    for path in [ROOT / x for x in argv[2:]] or paths:
        check(tap, path, program)
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
