"""labels.py - what a person looks at is in the manual: each label of an answer has a line of the
table OUTPUT of its command's page; and the pages have their sections, in the same order."""

import re

import tree
from tap import Tap

# whose answers a file prints
PAGES = {
    'change_answer': 'diff', 'diagnosis_text': 'run', 'explain_answer': 'explain',
    'fit_answer': 'fit', 'leaks_answer': 'leaks',
    'message_answer': 'explain', 'plan_answer': 'plan', 'ranks_answer': 'ranks',
    'predict_text': 'predict', 'fit_settings': 'fit', 'fit_cards': 'fit',
}
# a label is the second argument of these, maybe one of two; the first row of several has it
ROWS = re.compile(r'\b(?:frag_put_row|frag_print_row|fit_row|message_row)\('
                  r'[^",]+,\s*((?:[^",]*"[a-z ]*")+)')
SECTIONS = ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'OUTPUT', 'EXIT STATUS', 'EXAMPLES',
            'SEE ALSO')


def labels(text: str) -> set[str]:
    return {label for row in ROWS.findall(text) for label in re.findall(r'"([a-z ]+)"', row)}


def listed(page: str) -> str:
    """The words of the items of OUTPUT."""
    output = re.split(r'^\.Sh ', page.split('\n.Sh OUTPUT\n')[1], maxsplit=1, flags=re.M)[0]
    return ' , '.join(re.findall(r'^\.It Li (.*)', output, re.M))


QUOTED = re.compile(r"\b[Rr]ows?(?: `([a-z ]+)`|\n\.(?:Li|Ql|Cm|Sy) ([a-z ]+?)(?: [.,;:)]|\n))")


def check_quoted(tap: Tap) -> None:
    """A row that prose names is one that the program prints."""
    printed = set(re.findall(r'"([a-z ]+)"', ''.join(tree.text(x) for x in tree.files('src/answers/*.c'))))
    found = [(path, one or other) for pattern in ('*.md', 'doc/**/*.md', 'skills/**/*.md', 'man/*.[1-7]')
             for path in tree.files(pattern) for one, other in QUOTED.findall(tree.text(path))]
    tap.result('labels: a row that prose names is printed', [
        f'{path}: no row {label!r}' for path, label in found if label not in printed],
        len(found) < 10 and f'only {len(found)} are named')


def check(tap: Tap) -> None:
    check_quoted(tap)
    faults, found = [], 0
    for file, command in PAGES.items():
        words = listed(tree.text(f'man/fragsim-{command}.1'))
        for label in sorted(labels(tree.text(f'src/answers/{file}.c'))):
            found += 1
            if not re.search(rf'(?:^| , ){label}(?: ,|$)', words):
                faults.append(f'{label!r} of src/answers/{file}.c: not in OUTPUT of {command}')
    tap.result('labels: each is in the manual', faults, found < 50 and f'only {found} labels')
    faults = []
    for command in tree.offered(''):
        page = tree.text(f'man/fragsim-{command}.1')
        titles = re.findall(r'^\.Sh (.*)', page, re.M)
        # each verb has a section, with its options and its output
        wanted = [x for x in SECTIONS if command not in ('trace', 'list') or x not in ('OPTIONS', 'OUTPUT')]
        if [x for x in titles if x in SECTIONS] != wanted:
            faults.append(f'{command}: {titles}')
        text = page.split('\n.Sh DESCRIPTION\n')[1].split('\n.Sh ')[0]
        text = ' '.join(x for x in text.split('\n') if not x.startswith(('.Pp', '.Bl', '.El')))
        sentences = len(re.findall(r'[.:](?= [A-Z]| \.[A-Z][a-z] [A-Z]|$)', text))
        if sentences > 8:
            faults.append(f'{command}: {sentences} sentences in DESCRIPTION')
        example = page.split('\n.Sh EXAMPLES\n')[1].split('\n')
        if not any(x.startswith(('$ ', '.Dl $', 'fragsim ')) for x in example[:5]):
            faults.append(f'{command}: no example within five lines')
    tap.result('labels: pages have their sections, short descriptions and an example at once', faults)
