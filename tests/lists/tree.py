"""tree.py - what the tree says of itself: const tables in the sources, words in other files."""
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path()        # set by run.py
TABLE = re.compile(r'^(?:static )?const struct (frag_\w+) (\w+) = \{(.*?)\};', re.M | re.S)


@dataclass(frozen=True)
class Entry:
    """A const table in src/ that has a name."""
    symbol: str
    name: str
    file: str           # from the top: src/policy/direct.c


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding='utf-8')


def files(pattern: str) -> list[str]:
    return sorted(str(x.relative_to(ROOT)) for x in ROOT.glob(pattern))


def entries(kind: str, folder: str) -> list[Entry]:
    """The tables `const struct KIND` of src/FOLDER, sorted by their names."""
    found = []
    for file in files(f'src/{folder}/*.c'):
        for table, symbol, body in TABLE.findall(text(file)):
            name = re.search(r'\.name = "([^"]*)"', body)
            if table == kind and name:
                found.append(Entry(symbol, name[1], file))
    return sorted(found, key=lambda x: x.name)


def fragsim(*args: str) -> str:
    """What the program prints; an error is printed too, so nothing looks as if it were whole."""
    done = subprocess.run([PROGRAM, *args], cwd=ROOT, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=60)
    return done.stdout if done.returncode == 0 else f'{done.stdout}{done.stderr}'


def offered(*words: str) -> list[str]:
    """What completion offers."""
    return [x.split('\t')[0] for x in fragsim('complete', '--', *words).splitlines()
            if not x.startswith(':')]


def has_word(word: str, content: str) -> bool:
    # most texts lack most words: that costs no expression
    return word in content and re.search(rf'(?<![\w-]){re.escape(word)}(?![\w-])', content) is not None


def steps(section: str) -> list[str]:
    """The numbered steps of a section of CONTRIBUTING.md, each as one line."""
    found = re.search(rf'^\*\*{re.escape(section)}\*\*(.*?)(?=^\*\*|\Z)', text('CONTRIBUTING.md'),
                      re.M | re.S)
    if not found:
        return []
    parts = re.split(r'^\d+\. ', found[1], flags=re.M)[1:]
    return [' '.join(x.split()) for x in parts]


class Section:
    """Complaints that tell the step of CONTRIBUTING.md that was forgotten."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.faults: list[str] = []

    def need(self, good: object, place: str, what: str, step: int) -> None:
        if not good:
            self.faults.append(f'{place}: {what} (CONTRIBUTING, {self.title}, step {step})')

    def take(self) -> list[str]:
        out, self.faults = self.faults, []
        return out
