"""readers.py - each reader of a form is tried first, fuzzed, shown by examples and described."""
import functools
import json
import os
import re
import tempfile
from pathlib import Path

import samples
import tree
from tap import Tap

TITLE = 'Add a trace format'
FUZZ = 'tests/fuzz'


@functools.cache
def form_of(data: bytes) -> str:
    """As which form the program reads it; '' where it refuses it."""
    with tempfile.NamedTemporaryFile(prefix='lists-') as file:
        file.write(data)
        file.flush()
        said = tree.fragsim('trace', 'info', '-q', '--json', '-', file.name)
    return json.loads(said)['form'] if said.startswith('{') else ''


def fuzzers_of(reader: tree.Entry) -> list[str]:
    """Those of its own, or else those that open whatever is a trace."""
    sources = {x: tree.text(x) for x in tree.files(f'{FUZZ}/fuzz_*.c')}
    own = [x for x, content in sources.items() if tree.has_word(reader.symbol, content)]
    return own or [x for x, content in sources.items() if 'frag_trace_open(' in content]


def corpus_of(fuzzer: str) -> str:
    return f'{FUZZ}/corpus/{os.path.basename(fuzzer).removeprefix("fuzz_").removesuffix(".c")}'


def examples(fuzzer: str) -> list[bytes]:
    """Its inputs; where the first byte says how, without that one too."""
    whole = [(tree.ROOT / x).read_bytes() for x in tree.files(f'{corpus_of(fuzzer)}/**/*')
             if (tree.ROOT / x).is_file()]
    return whole + [x[1:] for x in whole]


def check_fuzzers(tap: Tap, readers: list[tree.Entry]) -> None:
    section = tree.Section(TITLE)
    fuzzers = tree.files(f'{FUZZ}/fuzz_*.c')
    for fuzzer in fuzzers:
        section.need(tree.files(f'{corpus_of(fuzzer)}/*'), corpus_of(fuzzer),
                     f'no input for {fuzzer}', 3)
        if '"fuzz/one_reader.h"' in tree.text(fuzzer):
            section.need(any(form_of(x) for x in examples(fuzzer)), corpus_of(fuzzer),
                         'no input is a valid trace', 3)
            section.need(any(not form_of(x) for x in examples(fuzzer)), corpus_of(fuzzer),
                         'no input is malformed', 3)
    for corpus in tree.files(f'{FUZZ}/corpus/*'):
        section.need(corpus in map(corpus_of, fuzzers), corpus, 'no fuzzer reads it', 3)
    for x in readers:
        section.need(any(form_of(data) == x.name for fuzzer in fuzzers_of(x)
                         for data in examples(fuzzer)),
                     f'{FUZZ}/fuzz_{os.path.basename(x.file)}',
                     f'no fuzzer has a valid input for {x.symbol} of {x.file}', 3)
    tap.result('readers: each has a fuzzer, and that a corpus', section.take())


def check_samples(tap: Tap, readers: list[tree.Entry]) -> None:
    section = tree.Section(TITLE)
    with tempfile.TemporaryDirectory(prefix='lists-') as folder:
        samples.write(Path(folder), str(tree.PROGRAM))
        forms = {form_of(Path(folder, x).read_bytes()) for x in samples.NAMES}
    for x in readers:
        section.need(x.name in forms, 'tests/support/samples.py', f'no sample of the form {x.name}', 3)
    tap.result('readers: each form has a sample', section.take())


def check(tap: Tap) -> None:
    readers = tree.entries('frag_reader', 'trace') + tree.entries('frag_reader', 'snapshot')
    section = tree.Section(TITLE)
    table = re.search(r'\breaders\[\] = \{(.*?)\};', tree.text('src/events/find_reader.c'), re.S)
    listed = re.findall(r'&(\w+)', table[1] if table else '')
    for x in readers:
        section.need(x.symbol in listed, 'src/events/find_reader.c',
                     f'readers[] does not have {x.symbol} of {x.file}', 2)
    tap.result('readers: each table is listed', section.take(),
               len(readers) < 5 and f'only {len(readers)} tables were found')
    check_fuzzers(tap, readers)
    check_samples(tap, readers)

    tests = ''.join(map(tree.text, ('tests/formats/forms/run.py', 'tests/formats/nsys/run.py',
                                   'tests/formats/snapshot/run.py')))
    page = tree.text('man/fragsim-formats.5')
    row = dict(re.findall(r'^\.It ([\w ]+?) Ta (yes|no) Ta', page, re.M))
    titles = ' , '.join(re.findall(r'^\.Ss (.*)', page, re.M)).replace(' and ', ' , ').split(' , ')
    for x in readers:
        form = x.name.split(',')[0]
        section.need(tree.has_word(form.split()[-1], tests), 'tests/formats/forms/run.py',
                     f'no example, valid or malformed, of the form {form}', 3)
        section.need(row.get(form) == 'yes', 'man/fragsim-formats.5',
                     f'the table has no line ".It {form} Ta yes"', 4)
        section.need(form in titles, 'man/fragsim-formats.5', f'no .Ss {form}', 4)
    tap.result('readers: each form has examples, and is described', section.take())
