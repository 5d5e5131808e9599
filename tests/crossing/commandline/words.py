"""words.py - what the program says that it takes: commands, options, and the words of some.

It is asked by --help, -h and complete, so that what is new joins by itself; the exit statuses of a
command stand in its manual page.
"""
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 120.0        # seconds until something counts as hanging
# help opens man(1), record becomes any program, whose statuses are their own
LEFT_OUT = ('help', 'record')


@dataclass
class Option:
    name: str           # with its dashes
    arg: str            # '': takes none
    words: list[str]    # that completion knows


@dataclass
class Command:
    name: str
    usage: str
    options: list[Option]
    statuses: set[int]
    scenarios: dict[str, list[Option]] = field(default_factory=dict)    # of gen

    @property
    def writes(self) -> bool:
        """Is the last operand an output?"""
        return self.usage.endswith('OUT')


def ask(program: str, *args: str) -> str:
    done = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise SystemExit(f'Bail out! {" ".join(args)}: status {done.returncode}: {done.stderr}')
    return done.stdout


def words_of(program: str, *before: str) -> list[str]:
    """What may stand there, without what the shell is told."""
    lines = ask(program, 'complete', '--', *before, '').splitlines()
    return [x.split('\t')[0] for x in lines if not x.startswith(':')]


def options_of(program: str, *before: str) -> list[Option]:
    found = []
    for line in ask(program, *before, '-h').splitlines():
        at = re.match(r'  (?:-(\w), |    )--([\w-]+)((?: [A-Z][A-Z.]*)*)\s', line)
        if not at:
            continue
        short, name, arg = at.groups('')
        arg = arg.strip()
        words = words_of(program, *before, '--' + name) if arg else []
        found.append(Option('--' + name, arg, words))
        if short:
            found.append(Option('-' + short, arg, words))
    return found


def documented(name: str) -> set[int]:
    """The exit statuses that the page of a command allows, and the page of all."""
    def section(page: str) -> str:
        text = (ROOT / 'man' / page).read_text(encoding='utf-8')
        return text.split('.Sh EXIT STATUS\n')[1].split('\n.Sh ')[0]

    every = {int(x) for x in re.findall(r'^\.It (\d+)', section('fragsim.1'), re.M)}
    own = section(f'fragsim-{name.split()[0]}.1')
    if re.search(r'fragsim 1 :', own):
        listed = {int(x) for x in re.findall(r'\b\d+\b', own.split('fragsim 1 :')[1])}
        # `5: there is no GPU` explains one; a list has several
        every = listed if len(listed) > 1 else every
    return every - {int(x) for x in re.findall(r'never (\d)', own)}


def listed(program: str, *words: str) -> list[str]:
    """The names at the beginnings of lines."""
    return re.findall(r'^  ([\w-]+)  ', ask(program, *words), re.M)


def commands_of(program: str) -> list[Command]:
    found = []
    names = ['complete']        # which --help hides
    for name in listed(program, '--help'):
        verbs = listed(program, name, '-h') if name in ('trace', 'list') else ()
        names += [f'{name} {x}' for x in verbs] or [name]
    for name in names:
        if name in LEFT_OUT:
            continue
        words = name.split()
        usage = ask(program, *words, '-h').splitlines()[0]
        command = Command(name, usage, options_of(program, *words), documented(name))
        if name == 'trace gen':
            command.scenarios = {s: options_of(program, *words, s) for s in words_of(program, *words)}
        found.append(command)
    return found
