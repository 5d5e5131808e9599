"""commands.py - each command of src/cmd is where a command has to be."""
import re

import tree
from tap import Tap
from whole import partial

TITLE = 'Add a command'


def check(tap: Tap) -> None:
    found = tree.entries('frag_cmd', 'cmd')
    listed = re.findall(r'^  ([\w-]+)  ', tree.fragsim('--help'), re.M)
    listed += [f'{x} {verb}' for x in ('trace', 'list')
               for verb in re.findall(r'^  ([\w-]+)  ', tree.fragsim(x, '-h'), re.M)]
    listed.append('complete')       # is for shells, and hidden
    table = [re.sub('^(trace|list)_', r'\1 ', x).replace('_', '-') for x in
             re.findall(r'(?<=\bX\()\w+(?=\) |\)$)', tree.text('src/cmd/command.h'), re.M)
             if x != 'name']
    section = tree.Section(TITLE)
    for x in found:
        word = re.sub('[- ]', '_', x.name)
        file = 'verbs' if word in ('trace', 'list') else word
        section.need(x.symbol == f'frag_cmd_{word}' and x.file == f'src/cmd/{file}.c', x.file,
                     f'{x.symbol} is the command {x.name}: file and table have its name', 1)
        section.need(x.name in listed, 'src/cmd/command.h',
                     f'FRAG_COMMANDS does not have {x.symbol} of {x.file}', 2)
    section.need(table == listed, 'src/cmd/command.h',
                 f'FRAG_COMMANDS is not what help lists, in its order: {table}', 2)
    tap.result('commands: each table of src/cmd is declared and listed', section.take(),
               len(found) < 10 and f'only {len(found)} tables were found')

    for x in found:
        name = x.name.split()[0]
        section.need((tree.ROOT / f'man/fragsim-{name}.1').is_file(), f'man/fragsim-{name}.1',
                     'is missing', 3)
        section.need(f'.It Cm {name}\n' in tree.text('man/fragsim.1')
                     and f'.Xr fragsim-{name} 1' in tree.text('man/fragsim.1'), 'man/fragsim.1',
                     f'no .It Cm {name} with .Xr fragsim-{name} 1', 3)
    tap.result('commands: each has a page, and fragsim(1) names it', section.take())

    for page in tree.files('man/*.[1-8]'):
        name, number = page.removeprefix('man/').rsplit('.', 1)
        section.need(name == 'fragsim' and number == '1'
                     or f'.Xr {name} {number}' in tree.text('man/fragsim.1'), 'man/fragsim.1',
                     f'it does not have .Xr {name} {number}', 3)
    tap.result('commands: fragsim(1) names each page', section.take())

    for x in found:
        section.need(re.search(rf'`{x.name}`|fragsim(?: |-){x.name}\b', tree.text('CHANGELOG.md')),
                     'CHANGELOG.md', f'no word of fragsim {x.name}', 5)
    tap.result('commands: each has a line for users', section.take())
    # replay needs a GPU, or what stands in for one: most leave it to its own tests
    of_traces = [x.name.split()[-1] for x in found if x.name != 'replay'
                 and re.search(r'TRACE|IN|SNAPSHOT', tree.fragsim(*x.name.split(), '-h').split('\n')[0])]
    tap.result('commands: whoever goes through all that read a trace has each',
               [f'{x} (CONTRIBUTING, {TITLE}, step 4)' for x in partial(of_traces)])
