"""rendering.py - a page that is good mdoc may still be shown wrongly: what mandoc's lint lets pass.

Inside a line of a macro, a word that names a macro is one: it is called, and not shown. A quote
holds all that follows on its line. What that leaves behind shows as a punctuation mark that stands
alone, or as a space inside brackets.
"""
import re
import subprocess

QUOTES = {'Sq', 'Dq', 'Qq', 'Ql'}
# macros that are English words too; those of them that the pages call are called first in a line
ENGLISH = {'Ad', 'An', 'At', 'Do', 'In', 'Me', 'No', 'So'}
STRAY = re.compile(r'(?:^|(?<=\s))(?!\.{3})[],.;:)]+(?=\s|$)|[([](?=\s)|(?<=\s)[])]|""|\'\'')


def prose(source: str) -> list[tuple[int, str]]:
    """The lines of a page, by number, without its literal blocks and displays."""
    out, literal = [], False
    for number, line in enumerate(source.splitlines(), 1):
        literal = literal or line.startswith('.Bd ')
        if not literal and not line.startswith(('.Dl ', '.D1 ')):
            out.append((number, line))
        literal = literal and line != '.Ed'
    return out


def swallowed(source: str) -> list[str]:
    """Macros that were meant as words, and quotes that end later than they should."""
    faults = []
    for number, line in prose(source):
        words = line.split() if line.startswith('.') else []
        for at, word in enumerate(words[1:], 1):
            # No ends a font in mid-line, and So goes with Sc; the first word has none to end
            called = word == 'No' and at > 1 or word == 'So' and 'Sc' in words[at:]
            if word in ENGLISH and not called:
                faults.append(f'line {number}: {word} is a macro here, and not shown: {line}')
        opened = [at for at, word in enumerate(words) if word.lstrip('.') in QUOTES]
        if opened and (len(opened) > 1 or 'No' in words[opened[0]:]):
            faults.append(f'line {number}: the quote holds the rest of the line: {line}')
    return faults


def stray(source: str) -> list[str]:
    """Marks that stand alone where the page is shown; None of them where there is no mandoc."""
    text = '\n'.join(line for _, line in prose(source)) + '\n'
    try:
        done = subprocess.run(['mandoc', '-Tascii', '-Owidth=1000'], input=text.encode(),
                              capture_output=True, check=True)
    except FileNotFoundError:
        return []
    shown = re.sub('.\b', '', done.stdout.decode())
    return [f'{shown[max(found.start() - 30, 0):found.end() + 30].strip()!r}'
            for found in STRAY.finditer(shown)]
