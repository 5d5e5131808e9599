"""spellings.py - how files and options are written: one file by two names, endings, old names."""

from harness import GOOD, HEADER, cases, equal, one_line, run, test

# file is what the command makes, or has
SPELLINGS = ('./file', 'folder/../file', 'folder/link', 'chain', 'absolute', 'file')


def lay_out(folder) -> None:
    (folder / 'good.ndjson').write_text(GOOD)
    (folder / 'folder').mkdir()
    (folder / 'folder' / 'link').symlink_to('../file')
    (folder / 'chain').symlink_to('folder/link')
    (folder / 'absolute').symlink_to(folder / 'file')


@cases(*SPELLINGS)
def two_outputs(folder, other):
    """two outputs to one file, there already or not, are refused before anything is written"""
    lay_out(folder)
    for before in (None, b'old\n'):
        if before:
            (folder / 'file').write_bytes(before)
        for command in (('run', '-q', '--steps', 'file', '--json', other, 'good.ndjson'),
                        ('run', '-q', '--json', other, '--placements', 'file', 'good.ndjson'),
                        ('diff', '-q', '-p', 'bestfit', '-o', 'file', '--json', other,
                         'good.ndjson')):
            out = run(folder, *command)
            equal((out.status, out.out), (2, b''), f'status and output of {command}')
            one_line(out)
            assert 'two outputs to one file' in out.err.decode(), out.err
        equal((folder / 'file').read_bytes() if (folder / 'file').exists() else None, before,
              'the file')


@test
def two_files(folder):
    """outputs of one name in two folders, and links to two names, are two files"""
    lay_out(folder)
    (folder / 'other').symlink_to('folder/file')
    for other in ('folder/file', 'other', 'folder/../x'):
        out = run(folder, 'run', '-q', '--steps', 'file', '--json', other, 'good.ndjson')
        equal((out.status, out.err), (0, b''), f'status and errors of {other}')


@cases(*SPELLINGS)
def the_trace_itself(folder, other):
    """no output replaces what is read"""
    lay_out(folder)
    (folder / 'file').write_text(HEADER % '' + '{"op":"mark","name":"m"}\n')
    before = (folder / 'file').read_bytes()
    for command in (('run', '-q', '--json', other, 'file'), ('trace', 'info', '--json', other, 'file'),
                    ('diff', '-q', '-p', 'bestfit', '-o', other, 'file')):
        out = run(folder, *command)
        equal((out.status, out.out), (2, b''), f'status and output of {command}')
        one_line(out)
        equal((folder / 'file').read_bytes(), before, 'the file')


# what is written the old way, and the word of the one line that names the new way
OLD_WAYS = {
    'GB of a card': (('run', '--device', '24GB', 'good.ndjson'), '24GiB', None, None),
}


@cases(*OLD_WAYS)
def old_ways(folder, name):
    """old spellings do what they did, with one line that names the new one, and none under -q"""
    command, word, path, first = OLD_WAYS[name]
    lay_out(folder)
    out = run(folder, *command)
    equal((out.status, bool(out.out)), (0, True), 'status and output')
    one_line(out)
    assert word in out.err.decode(), out.err
    if path:
        equal((folder / path).read_bytes()[:len(first)], first, 'what is written')
    equal(run(folder, command[0], '-q', *command[1:]).err, b'', 'errors under -q')


# names of commands, and spellings of options, that were there before, and a word of the one line
GONE = {
    **{name: ((name, 'good.ndjson'), f'use fragsim {now}') for name, now in (
        ('info', 'trace info'), ('convert', 'trace convert'), ('merge', 'trace merge'),
        ('slice', 'trace slice'), ('shrink', 'trace shrink'), ('anonymize', 'trace anonymize'),
        ('gen', 'trace gen'), ('policies', 'list policies'), ('cards', 'list cards'),
        ('report', 'run -o page.html'), ('extrapolate', 'predict'), ('what-if', 'predict'))},
    'help of an old name': (('help', 'convert'), 'use fragsim trace convert'),
    'room for others': (('fit', '--static-room', '--device-bytes', '1GiB', 'good.ndjson'), 'use --headroom'),
    'settings': (('fit', '--grid', 'short', 'good.ndjson'), 'use --settings'),
    'a page': (('run', '--html', 'x.html', 'good.ndjson'), '-o FILE.html'),
    'a text': (('explain', '--message', 'good.ndjson'), 'knows a text'),
    'rows': (('run', '-o', 'x.csv', 'good.ndjson'), '.json, .html'),
    **{f'a format in front of a file: {x}': (('diff', '-p', 'bestfit', '-o', f'{x}:x', 'good.ndjson'),
                                            'the ending of FILE')
       for x in ('text', 'markdown', 'json', 'csv', 'html', 'junit', 'github')},
}


@cases(*GONE)
def gone(folder, name):
    """an old name is refused with one line that names the new one, and nothing is written"""
    command, word = GONE[name]
    lay_out(folder)
    before = sorted(folder.iterdir())
    out = run(folder, *command)
    equal((out.status, out.out), (2, b''), 'status and output')
    one_line(out)
    assert word in out.err.decode(), out.err
    equal(sorted(folder.iterdir()), before, 'files')


# -o: what the ending of a file names, and what it has then
ENDINGS = {
    'csv': (('fit', '-o', 'x.csv'), b'trace,'), 'json': (('fit', '-o', 'x.json'), b'{'),
    'markdown': (('fit', '-o', 'x.md'), b'| '), 'text': (('fit', '-o', 'x.txt'), b'SMALLEST'),
    'a page': (('fit', '-o', 'x.html'), b'<!doctype html>'),
    'JUnit': (('diff', '-p', 'bestfit', '-o', 'x.xml'), b'<?xml'),
    'a page of diff': (('diff', '-p', 'bestfit', '-o', 'x.html'), b'<!doctype html>'),
    'none': (('fit', '--format', 'json', '-o', 'x'), b'{'),
    'none, and no format': (('fit', '-o', 'x'), b'SMALLEST'),
    'a result': (('run', '-o', 'x.json'), b'{'), 'a page of a run': (('run', '-o', 'x.html'), b'<!doctype html>'),
    'an explanation': (('explain', '-o', 'x.json'), b'{'),
    'a page of a plan': (('plan', '-o', 'x.html'), b'<!doctype html>'),
    'a page of a change': (('predict', '--scale', '2', '-o', 'x.html'), b'<!doctype html>'),
    'a page of ranks': (('ranks', '-o', 'x.html'), b'<!doctype html>'),
    'a page of numbers': (('predict', 'good.ndjson=1', 'good.ndjson=2', '--at', '3', '-o',
                                    'x.html'), b'<!doctype html>'),
}


@cases(*ENDINGS)
def endings(folder, name):
    """-o FILE is in the format of its ending, or in that of --format"""
    command, first = ENDINGS[name]
    lay_out(folder)
    trace = () if 'good.ndjson=1' in command else ('good.ndjson',)
    out = run(folder, *command, *trace)
    equal((out.status, out.err), (0, b''), 'status and errors')
    data = (folder / command[-1]).read_bytes()
    equal(data[:len(first)].lower(), first.lower(), 'what is written')


@test
def wrong_endings(folder):
    """an ending of no format of the command is refused, with those that there are"""
    lay_out(folder)
    for command, word in ((('leaks', '-o', 'x.xml'), 'markdown'), (('run', '-o', 'x.md'), '.json'),
                          (('fit', '-o', 'x.xml'), 'csv'), (('explain', '-o', 'x.csv'), '.json')):
        out = run(folder, *command, 'good.ndjson')
        equal((out.status, out.out), (2, b''), f'status and output of {command}')
        assert word in out.err.decode().splitlines()[-1], out.err
        assert not (folder / command[-1]).exists(), command
