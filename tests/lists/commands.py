"""commands.py - each command of src/cmd is where a command has to be."""
import re

import tree
from tap import Tap
from whole import partial

TITLE = 'Add a command'


# the table of old names, and their tests
OLD_NAMES = ('src/cmd/main.c', 'tests/crossing/cli/spellings.py', 'tests/lists/commands.py')
FIRST_SCREEN = 24               # lines of a terminal


def old_uses(files: dict[str, str], old: list[str]) -> list[str]:
    """Complaints: where a text has `fragsim OLD` or frag_cmd_OLD."""
    words = '|'.join(old)
    # it begins with a constant, which a search finds at no cost
    use = re.compile(rf"frag(?:sim (?:{words})\b(?!-)|_cmd_(?:{words.replace('-', '_')})\b)")
    return [f'{path}: {m.group()} is an old name' for path, text in files.items()
            for m in use.finditer(text)
            if not re.match(r'[-\w.]' if m.group()[4] == 's' else r'\w', text[m.start() - 1:m.start()])]


def check_old(tap: Tap) -> None:
    old = re.findall(r'\{ "([\w-]+)", "[\w-]+', re.search(
        r'old_names\[\] = \{(.*?)\n\};', tree.text(OLD_NAMES[0]), re.S)[1])
    paths = [x for top in ('src', 'include', 'man', 'doc', 'skills', 'python', 'scripts', 'tests')
             for x in tree.files(f'{top}/**/*')] + tree.files('*.*')
    texts = {x: (tree.ROOT / x).read_bytes().decode('utf-8', 'replace') for x in paths
             if x not in OLD_NAMES and (tree.ROOT / x).is_file() and '__pycache__' not in x}
    tap.result('commands: no text has an old name', old_uses(texts, old),
               (len(old) < 13 or len(texts) < 500) and f'{old}, {len(texts)} files')
    seen = old_uses({'a.md': '`fragsim info x`', 'b.c': 'frag_cmd_what_if', 'c.1': 'fragsim what-if -',
                     'd.md': 'fragsim trace info', 'e.c': 'frag_cmd_trace_info', 'f.md': 'fragsim info-x'}, old)
    tap.same('commands: an old name is seen, and no new one',
             [x.split(':')[0] for x in seen], ['a.md', 'b.c', 'c.1'])


def check_screen(tap: Tap) -> None:
    """The first screen: few names, in one terminal."""
    lines = tree.fragsim('-h').splitlines()
    names = [x for x in lines if re.match(r'  [\w-]+  ', x)]
    tap.result('commands: -h has fifteen names in one terminal', [
        *([f'{len(names)} names'] if len(names) != 15 else []),
        *([f'{len(lines)} lines'] if len(lines) > FIRST_SCREEN else []),
        *(f'over 80 columns: {x}' for x in lines if len(x) > 80)])


COMMON = 5                      # commands with an option that fragsim(1) explains


def check_shared(tap: Tap, commands: list[str]) -> None:
    """The table of fragsim(1): the options of many commands, with the words of -h."""
    page = tree.text('man/fragsim.1').split('.Ss Shared options', 1)[1].split('.Ss ', 1)[0]
    table = {name: value for line in re.findall(r'^\.It (.*)$', page, re.M) for name, value in
             re.findall(r'Fl -([\w-]+)(?: Ar (\w+))?', line)}
    uses: dict[str, list[str]] = {}
    for command in commands:
        for name, value in re.findall(r'^ .*?--([\w-]+)(?: ([A-Z]+))?  ', tree.fragsim(command, '-h'), re.M):
            if name != 'help':
                uses.setdefault(name, []).append(value)
    tap.result('commands: fragsim(1) has the options of many commands', [
        f'--{x} is of {len(y)} commands' for x, y in uses.items() if len(y) >= COMMON and x not in table], [
        f'--{x} {table[x]}: {sorted(set(y))} in -h' for x, y in uses.items() if x in table and table[x] not in y], [
        f'--{x} is of no command' for x in table if x not in uses], len(table) < 15 and sorted(table))


def check(tap: Tap) -> None:
    check_old(tap)
    check_screen(tap)
    check_shared(tap, re.findall(r'^  ([\w-]+)  ', tree.fragsim('-h'), re.M))
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
