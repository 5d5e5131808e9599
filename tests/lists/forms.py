"""forms.py - each form or format of an output is offered, tested and described."""
import re

import tree
from tap import Tap
from whole import partial

TITLE = 'Add an output format'


def help_line(command: str, option: str) -> str:
    found = re.search(rf'^.*--{option} .*$', tree.fragsim(command, '-h'), re.M)
    return found[0] if found else ''


class Kind:
    """A table of forms: where it is, which option takes one, which file tests them."""

    def __init__(self, table: str, room: str, listed_in: str, option: tuple[str, str],
                 *tests: str) -> None:
        self.entries = tree.entries(table, room)
        self.listed_in = listed_in
        self.option = option
        self.tests = tests


def kinds() -> list[Kind]:
    return [
        Kind('frag_sink_ops', 'trace', 'src/trace/trace_formats.c', ('trace anonymize', 'to'),
             'tests/formats/forms/run.py'),
        Kind('frag_export_ops', 'answers', 'src/answers/export.c', ('trace convert', 'to'),
             'tests/commands/run_export/run.py', 'tests/commands/run_sqlite/run.py'),
        Kind('frag_format', 'answers', 'src/answers/diff_answer.c', ('diff', 'format'),
             'tests/commands/diff/run.py'),
    ]


def check_listed(tap: Tap, kind: Kind) -> None:
    section = tree.Section(TITLE)
    command, option = kind.option
    for x in kind.entries:
        section.need(x.name in tree.offered(*command.split(), f'--{option}', ''), kind.listed_in,
                     f'the table does not have {x.symbol} of {x.file}', 2)
        section.need(tree.has_word(x.name, ''.join(map(tree.text, kind.tests))), kind.tests[0],
                     f'no test writes {x.name}', 4)
        section.need(tree.has_word(x.name, tree.text('CHANGELOG.md').lower()), 'CHANGELOG.md',
                     f'no word of {x.name}', 5)
    tap.result(f'forms: {command} --{option}: each is listed and tested', section.take(),
               len(kind.entries) < 2 and f'only {len(kind.entries)} tables were found')


def is_no_form(file: str, _name: str) -> bool:
    """That page has the formats of a list, and addresses at github.com."""
    return file == 'man/fragsim-list.1'


def check_whole_lists(tap: Tap) -> None:
    for command, option in (('trace convert', 'to'), ('diff', 'format')):
        # the page is no format of diff alone
        names = [x for x in tree.offered(*command.split(), f'--{option}', '') if x != 'html']
        tap.result(f'forms: whoever goes through all of {command} --{option} has each',
                   [f'{x} (CONTRIBUTING, {TITLE}, step 4)' for x in partial(names, is_no_form)])


def homes_of(option: str, takes: str) -> str:
    """The files of src/cmd whose tables of options have it."""
    found = [x for x in tree.files('src/cmd/*.[ch]') if f'"{option}", "{takes}"' in tree.text(x)]
    return ', '.join(found)


def check_words(tap: Tap) -> None:
    """The line of -h has each word that completion, from the tables, offers."""
    section = tree.Section(TITLE)
    pairs = 0
    for command in tree.offered(''):
        for option, takes in re.findall(r'--([\w-]+) (FORM|FORMAT|WHAT) ',
                                        tree.fragsim(command, '-h')):
            pairs += 1
            line = help_line(command, option)
            for word in tree.offered(*command.split(), f'--{option}', ''):
                section.need(tree.has_word(word, line), homes_of(option, takes),
                             f'the line of --{option} in {command} -h does not have {word}', 3)
    tap.result('forms: -h has each word that an option takes', section.take(),
               pairs < 10 and f'only {pairs} options')


def check_manual(tap: Tap) -> None:
    section = tree.Section(TITLE)
    convert, diff = tree.text('man/fragsim-trace.1').split('.Sh TRACE CONVERT\n')[1], tree.text('man/fragsim-diff.1')
    to = convert[convert.index('.It Fl t , Fl -to Ar FORM'):]
    to = to[:to.index('\n.It ')] if '\n.It ' in to else to
    for word in tree.offered('trace', 'convert', '--to', ''):
        section.need(re.search(rf'^\.Cm .*(?<!\S){word}(?!\S)', to, re.M), 'man/fragsim-trace.1',
                     f'--to does not name .Cm {word}', 5)
        # what is written as a whole has the name of the form that is read
        section.need(re.search(rf'^\.It (?:PyTorch )?{word} Ta (?:yes|no) Ta (?:yes|of a run)',
                               tree.text('man/fragsim-formats.5'), re.M), 'man/fragsim-formats.5',
                     f'the table has no line for {word}, which is written', 5)
    formats = diff[diff.index('.Sh FORMATS'):]
    for word in tree.offered('diff', '--format', ''):
        section.need(f'\n.It Cm {word}\n' in formats, 'man/fragsim-diff.1',
                     f'.Ss Formats has no .It Cm {word}', 5)
    tap.result('forms: each is in the manual', section.take())


def check(tap: Tap) -> None:
    for kind in kinds():
        check_listed(tap, kind)
    check_whole_lists(tap)
    check_words(tap)
    check_manual(tap)
