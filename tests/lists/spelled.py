"""spelled.py - command lines in prose and in messages, which no test runs: their options exist."""
import functools
import re
import subprocess

import tree
from tap import Tap

PROSE = ('*.md', 'doc/**/*.md', 'skills/**/*.md', 'traces/*.md', 'man/*.[1-7]', 'action.yml',
         'src/**/*.[ch]', 'python/**/*.py')
LINE = re.compile(r'(?:^|[`$"/ ]|\.Ic |\.Li )fragsim ((?:[a-z]+)(?: [^`|;&>"\n\\]*)?)', re.M)
TWO_WORDS = ('trace', 'list')
OWN = {'--version', '--help'}


@functools.cache
def options(command: tuple[str, ...]) -> set[str] | None:
    """Of `fragsim COMMAND -h`; None: there is no such command."""
    done = subprocess.run([tree.PROGRAM, *command, '-h'], capture_output=True, text=True, check=False)
    return set(re.findall(r'--[a-z][a-z-]*', done.stdout)) | OWN if done.returncode == 0 else None


def faults(text: str) -> list[str]:
    out = []
    for line in LINE.findall(re.sub(r'\\e?\n\s*|\\&', ' ', text)):
        words = re.split(r' -- |[.:](?:\s|$)', line)[0].split()
        asked = [x.split('=')[0].rstrip('.,)') for x in words if re.match(r'--[a-z]', x)]
        names = [x for x in words[:2] if re.fullmatch('[a-z]+', x)]
        command = tuple(names[:2] if names[0] in TWO_WORDS else names[:1])
        if command == ('trace', 'gen') and len(words) > 2 and re.fullmatch('[a-z-]+', words[2]):
            command += (words[2],)
        if not asked and options(command) is None:
            continue            # a sentence: `fragsim reads`
        known = options(command)
        out += [f'fragsim {line}: no such command'] * (known is None)
        out += [f'fragsim {line}: no {x}' for x in asked if known is not None and x not in known]
    return out


def check(tap: Tap) -> None:
    files = sorted({x for pattern in PROSE for x in tree.files(pattern)})
    tap.result('options that a command line in prose has exist', [
        f'{x}: {fault}' for x in files for fault in faults(tree.text(x))],
        len(files) < 30 and f'only {len(files)} files')
