"""spellings.py - one file by two names, as two outputs or as input and output: wrong usage."""

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
                        ('diff', '-q', '-p', 'bestfit', '-o', 'csv:file', '-o', f'json:{other}',
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
    for command in (('run', '-q', '--json', other, 'file'), ('info', '--json', other, 'file'),
                    ('diff', '-q', '-p', 'bestfit', '-o', f'csv:{other}', 'file')):
        out = run(folder, *command)
        equal((out.status, out.out), (2, b''), f'status and output of {command}')
        one_line(out)
        equal((folder / 'file').read_bytes(), before, 'the file')
