"""outputs.py - where output goes, what happens when it cannot, and that no file is harmed."""

import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'formats' / 'snapshot'))
import harness  # noqa: E402
import snaps  # noqa: E402
from harness import (BAD, FULL, GOOD, OLD, Skip, cases, closed_pipe, ended, equal, one_line,
                     run, started, test, untouched, write)

FILES = ('--steps', '--placements', '--json')
# everything that prints on standard output
PRINTING = {
    'the report': ('run', 'good.ndjson'),
    'reports of many policies': ('run', '-p', 'bestfit', '-p', 'buddy', '-p', 'firstfit',
                                 '-p', 'direct', 'good.ndjson'),
    'steps': ('run', '--steps', '-', 'good.ndjson'),
    'steps of two policies': ('run', '--steps', '-', '-p', 'buddy', '-p', 'direct', 'good.ndjson'),
    'placements': ('run', '--placements', '-', 'good.ndjson'),
    'a result': ('run', '--json', '-', 'good.ndjson'),
    'completions': ('complete', '--', 'run', '-'),
    'the list of policies': ('list', 'policies'),
    'the list as JSON': ('list', 'policies', '--json', '-'),
    'the version': ('--version',),
    'the help': ('--help',),
    'the help of run': ('run', '-h'),
    'the help of policies': ('help', 'list', 'policies'),
    'the help of a scenario': ('trace', 'gen', 'tiny', '-h'),
    'a scenario': ('trace', 'gen', 'tiny'),
    'much of a scenario': ('trace', 'gen', 'random'),
    'the list of scenarios': ('trace', 'gen', '-l'),
    'what a trace is': ('trace', 'info', 'good.ndjson'),
    'the same as JSON': ('trace', 'info', '--json', '-', 'good.ndjson'),
    'a comparison': ('diff', '-p', 'bestfit', '-p', 'buddy', 'good.ndjson'),
    'a comparison as JSON': ('diff', '--format', 'json', '-p', 'bestfit', 'good.ndjson'),
    'a comparison as CSV': ('diff', '-q', '--format', 'csv', '-p', 'bestfit', 'good.ndjson'),
    'a trace in lines': ('trace', 'convert', 'good.ndjson', '-'),
    'a trace in binary': ('trace', 'convert', '-t', 'fsb', 'good.ndjson', '-'),
    'a slice': ('trace', 'slice', '--from-step', '1', 'good.ndjson', '-'),
    'an anonymous trace': ('trace', 'anonymize', 'good.ndjson', '-'),
    'two traces in one': ('trace', 'merge', 'good.ndjson', 'full.ndjson', '-'),
    'a prediction': ('predict', '--at', '3', 'good.ndjson=1', 'good.ndjson=2'),
    'a trace of one': ('predict', '--at', '3', '--trace', '-', 'good.ndjson=1', 'good.ndjson=2'),
    'what a change brings': ('predict', '--preallocate', '1MiB', '-p', 'bestfit', 'good.ndjson'),
    'a changed trace': ('predict', '-q', '--split', '1MiB', '--trace', '-', 'good.ndjson'),
    'a shorter trace': ('trace', 'shrink', 'full.ndjson', '-'),
    'a verdict': ('verify', 'whole.pickle'),
    'an explained trace': ('explain', 'good.ndjson'),
    'folded stacks': ('explain', '--folded', '-', 'good.ndjson'),
    'an explanation as JSON': ('explain', '--json', '-', 'good.ndjson'),
    'an explained message': ('explain', 'oom.log'),
    'messages as JSON': ('explain', '--json', '-', 'oom.log'),
}
ENOUGH = ('a scenario', 'much of a scenario')


def inputs(folder) -> None:
    write(folder, good=GOOD, full=FULL)
    (folder / 'oom.log').write_text('Out of memory while trying to allocate 5 bytes.\n' * 300)
    # the whole history of one block
    log = snaps.Log().segment(snaps.SMALL, 2 * snaps.M).alloc(snaps.SMALL, 512)
    blocks = snaps.block(snaps.SMALL, 512), snaps.hole(snaps.SMALL + 512, 2 * snaps.M - 512)
    (folder / 'whole.pickle').write_bytes(snaps.pickled(
        snaps.snapshot([snaps.segment(snaps.SMALL, *blocks)], log)))


@cases(*PRINTING)
def closed_pipe_is_silent(folder, name):
    """a pipe that nobody reads: status 6 and no word"""
    inputs(folder)
    with closed_pipe() as pipe, untouched(folder):
        out = run(folder, *PRINTING[name], stdout=pipe)
    # fragsim-trace(1): its reader may have seen enough
    equal((out.status, out.err), (0 if name in ENOUGH else 6, b''), 'status and errors')


@cases(*PRINTING)
def full_disk_is_told(folder, name):
    """standard output on a full disk: status 6 and one line"""
    inputs(folder)
    with open('/dev/full', 'wb') as full, untouched(folder):
        out = run(folder, *PRINTING[name], stdout=full)
    equal(out.status, 6, 'status')
    one_line(out)
    assert 'standard output' in out.lines[0] and 'No space left' in out.lines[0], out.err


@cases(*PRINTING)
def closed_stdout_is_told(folder, name):
    """no standard output at all: status 6 and one line"""
    inputs(folder)
    with untouched(folder):
        out = run(folder, *PRINTING[name], close=(1,))
    equal(out.status, 6, 'status')
    one_line(out)
    assert 'standard output' in out.lines[0], out.err


@test
def reader_that_leaves(folder):
    """a reader that leaves in the middle of much output: status 6 and no word"""
    text = '{"op":"mark","name":"x"}\n' * 100_000
    write(folder, long=text)
    reader, writer = os.pipe()
    with os.fdopen(writer, 'wb') as end:
        with started(folder, 'run', '--steps', '-', 'long.ndjson', stdout=end) as process:
            end.close()
            equal(os.read(reader, 9), b'step,t,de', 'the first bytes')
            os.close(reader)
            out = ended(process)
    equal((out.status, out.err), (6, b''), 'status and errors')


@cases((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2))
def closed_streams_and_files(folder, closed):
    """a closed standard stream never becomes a file that is written"""
    late = GOOD.replace('"size":1000', '"size":1000,"t":5').replace('"id":1}', '"id":1,"t":4}')
    write(folder, late=late)
    args = ('run', '--steps', 's.csv', '--placements', 'p.ndjson', '--json', 'r.json')
    equal(run(folder, *args, '-q', 'late.ndjson').status, 0, 'status without a closed stream')
    names = ('s.csv', 'p.ndjson', 'r.json')
    wanted = [(folder / name).read_bytes() for name in names]
    for name in names:
        (folder / name).unlink()
    # without the report all is well, with it only where it can be printed
    out = run(folder, *args, '-q', 'late.ndjson', close=closed)
    equal((out.status, out.err), (0, b''), 'status and errors of a quiet run')
    equal([(folder / name).read_bytes() for name in names], wanted, 'files')
    if 1 in closed:
        with untouched(folder, *names):
            equal(run(folder, *args, 'late.ndjson', close=closed).status, 6, 'status')


@test
def closed_stdin(folder):
    """a closed standard input is a trace that cannot be read, and no file instead of it"""
    with untouched(folder, 's.csv'):
        out = run(folder, 'run', '--steps', 's.csv', '-', close=(0,))
    equal(out.status, 4, 'status')
    one_line(out)
    assert 'standard input' in out.lines[0], out.err


def no_space(size: int):
    """A limit on the size of files is what comes nearest to a full disk for anybody."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


# name: (options, trace, status, how it is run)
FAILURES = {
    'a bad trace': ((), 'bad', 4, {}),
    'a bad trace behind an OOM': ((), 'full_bad', 4, {}),
    'a trace that is not there': ((), 'none', 4, {}),
    'a bad option': (('--bogus',), 'good', 2, {}),
    'a bad option behind the good ones': (('--on-oom', 'die'), 'good', 2, {}),
    'a condition on what is null': (('--fail-if', 'fi.time_weighted_mean > 1'), 'good', 2, {}),
    'two policies, one bad': (('-p', 'bestfit', '-p', 'bogus'), 'good', 2, {}),
    'a report that cannot be printed': ((), 'good', 6, {'stdout': '/dev/full'}),
    'a report that nobody reads': ((), 'good', 6, {'stdout': 'closed pipe'}),
    'no standard output': ((), 'good', 6, {'close': (1,)}),
    'a limit on the size of files': (('-q',), 'long', 6, {'preexec_fn': no_space(4096)}),
    'the same with spools': (('-q', '-p', 'direct', '-p', 'buddy'), 'long', 6,
                             {'preexec_fn': no_space(4096)}),
}


@cases(*FAILURES)
def failures_harm_no_file(folder, name):
    """what fails leaves every output as it was"""
    options, trace, status, how = FAILURES[name]
    write(folder, good=GOOD, bad=BAD, full_bad=FULL + '{"op":"free","id":77}\n',
          long=GOOD + '{"op":"mark","name":"x"}\n' * 1000)
    outputs = ('--steps', 's.csv', '--placements', 'p.ndjson', '--json', 'r.json')
    how = dict(how)
    with closed_pipe() as nobody, open('/dev/full', 'wb') as full:
        if 'stdout' in how:
            how['stdout'] = full if how['stdout'] == '/dev/full' else nobody
        for before in ((), ('s.csv', 'p.ndjson', 'r.json')):
            with untouched(folder, *before):
                out = run(folder, 'run', *outputs, *options, f'{trace}.ndjson', **how)
            equal(out.status, status, 'status')
            if name != 'a report that nobody reads':
                one_line(out)


@cases(*FILES)
def one_full_file(folder, option):
    """where one output cannot be written, the others stay as they were"""
    write(folder, good=GOOD)
    others = {'--steps': 's.csv', '--placements': 'p.ndjson', '--json': 'r.json'}
    del others[option]
    args = [word for pair in others.items() for word in pair]
    for bad, stdout in (('/dev/full', None), ('-', '/dev/full'), ('none/x', None)):
        with open(stdout or os.devnull, 'wb') as to, untouched(folder, *others.values()):
            out = run(folder, 'run', *args, option, bad, 'good.ndjson', stdout=to)
        equal(out.status, 6, f'status of {bad}')
        one_line(out)


@cases(*FILES)
def files_in_place(folder, option):
    """a file is replaced as a whole: its permissions, a link to it, other files stay"""
    write(folder, good=GOOD)
    (folder / 'old').write_bytes(OLD)
    (folder / 'old').chmod(0o640)
    (folder / 'link').symlink_to('old')
    (folder / 'hard').hardlink_to(folder / 'old')
    equal(run(folder, 'run', '-q', option, 'link', 'good.ndjson').status, 0, 'status')
    assert (folder / 'link').is_symlink(), 'the link is gone'
    assert (folder / 'old').read_bytes() != OLD, 'the file is the old one'
    equal(stat.S_IMODE((folder / 'old').stat().st_mode), 0o640, 'permissions')
    equal((folder / 'hard').read_bytes(), OLD, 'the old content under its other name')
    equal(run(folder, 'run', '-q', option, 'new', 'good.ndjson',
              preexec_fn=lambda: os.umask(0o027)).status, 0, 'status')
    equal(stat.S_IMODE((folder / 'new').stat().st_mode), 0o640, 'permissions of a new file')
    equal(sorted(path.name for path in folder.iterdir()),
          ['good.ndjson', 'hard', 'link', 'new', 'old'], 'files')


@cases(*FILES)
def dash_is_stdout(folder, option):
    """- is standard output, in place of the report, with the bytes of a file"""
    write(folder, good=GOOD)
    equal(run(folder, 'run', option, 'file', 'good.ndjson').status, 0, 'status')
    out = run(folder, 'run', option, '-', 'good.ndjson')
    equal((out.status, out.err), (0, b''), 'status and errors')
    equal(out.out, (folder / 'file').read_bytes(), 'standard output')
    for other in FILES:
        if other != option:
            out = run(folder, 'run', option, '-', other, '-', 'good.ndjson')
            equal((out.status, out.out), (2, b''), 'status and output of two')
            one_line(out)


@test
def a_fifo_is_written(folder):
    """an output that is no regular file is written as it comes, and stays what it is"""
    write(folder, good=GOOD)
    os.mkfifo(folder / 'fifo')
    reader = os.open(folder / 'fifo', os.O_RDONLY | os.O_NONBLOCK)
    try:
        equal(run(folder, 'run', '-q', '--json', 'fifo', 'good.ndjson').status, 0, 'status')
        equal(json.loads(os.read(reader, 1 << 16))['format'], 'fragsim-result', 'format')
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((folder / 'fifo').stat().st_mode), 'the fifo has been replaced'


@cases('append', 'truncate')
def descriptors_are_shared(folder, how):
    """a name of an open descriptor, a file's too: we write there, and nobody's bytes are lost"""
    write(folder, good=GOOD)
    (folder / 'link').symlink_to('/dev/stdout')
    (folder / 'chain').symlink_to(folder / 'link')
    wanted = run(folder, 'trace', 'convert', '-q', '--to', 'lines', 'good.ndjson', '-').out
    flags = os.O_APPEND if how == 'append' else os.O_TRUNC
    for name, fd in (('/dev/stdout', 1), ('/dev/fd/1', 1), ('/proc/self/fd/1', 1), ('link', 1),
                     ('chain', 1), ('/dev/stderr', 2), ('/dev/fd/9', 9)):
        log = os.open(folder / 'log', os.O_WRONLY | os.O_CREAT | flags)
        try:
            os.ftruncate(log, 0)
            os.write(log, b'old\n')
            done = run(folder, 'trace', 'convert', '-q', '--to', 'lines', 'good.ndjson', name,
                       close_fds=False, preexec_fn=lambda log=log, fd=fd: os.dup2(log, fd))
            equal((done.status, done.out, done.err), (0, b'', b''), f'the run to {name}')
            os.write(log, b'new\n')
            equal((folder / 'log').read_bytes(), b'old\n' + wanted + b'new\n', name)
            equal((folder / 'log').stat().st_ino, os.fstat(log).st_ino, f'the file of {name}')
        finally:
            os.close(log)
    equal(sorted(path.name for path in folder.iterdir()), ['chain', 'good.ndjson', 'link', 'log'],
          'files')


@test
def descriptors_that_cannot_be_written(folder):
    """a descriptor that is not open, or not for writing, or none of those we were given"""
    write(folder, good=GOOD, full=FULL)
    for name, close in (('/dev/fd/77', ()), ('/dev/stdout', (1,))):
        with untouched(folder):
            done = run(folder, 'run', '-q', '--steps', name, 'good.ndjson', close=close)
        equal(done.status, 6, f'status of {name}')
        one_line(done)
    with open(folder / 'full.ndjson', 'rb') as reading, untouched(folder):
        done = run(folder, 'run', '-q', '--steps', '/dev/stdin', 'good.ndjson', stdin=reading)
    equal(done.status, 6, 'status of a descriptor for reading')
    one_line(done)
    # whatever numbers our own files have, a name of one is a name of nothing
    for fd in range(3, 9):
        with untouched(folder, 's.csv'):
            done = run(folder, 'run', '-q', '--steps', 's.csv', '--json', f'/dev/fd/{fd}',
                       'good.ndjson')
        equal(done.status, 6, f'status of descriptor {fd}')


@cases(*FILES)
def links_that_dangle(folder, option):
    """the file is created where the links point; they stay"""
    write(folder, good=GOOD)
    (folder / 'below').mkdir()
    (folder / 'link').symlink_to('below/second')
    (folder / 'below' / 'second').symlink_to('../new')
    equal(run(folder, 'run', '-q', option, 'link', 'good.ndjson').status, 0, 'status')
    equal(os.readlink(folder / 'link'), 'below/second', 'the first link')
    equal(os.readlink(folder / 'below' / 'second'), '../new', 'the second link')
    assert stat.S_ISREG((folder / 'new').lstat().st_mode), 'what they point to is no file'
    equal(sorted(path.name for path in folder.iterdir()), ['below', 'good.ndjson', 'link', 'new'],
          'files')
    (folder / 'astray').symlink_to('none/x')
    with untouched(folder):
        equal(run(folder, 'run', '-q', option, 'astray', 'good.ndjson').status, 6, 'status')


@cases(*FILES)
def links_that_loop(folder, option):
    """links that lead to each other stay, and are an error"""
    write(folder, good=GOOD)
    (folder / 'one').symlink_to('two')
    (folder / 'two').symlink_to('one')
    done = run(folder, 'run', '-q', option, 'one', 'good.ndjson')
    equal(done.status, 6, 'status')
    one_line(done)
    assert 'Too many levels of symbolic links' in done.lines[0], done.err
    equal((os.readlink(folder / 'one'), os.readlink(folder / 'two')), ('two', 'one'), 'links')


def as_somebody(groups):
    """Somebody who owns nothing here, in these groups."""
    def become():
        os.setgroups(groups)
        os.setgid(54321)
        os.setuid(54321)
    return become


@test
def owner_of_a_file(folder):
    """a replaced file keeps its owner where we may give it away, and never runs in his name"""
    write(folder, good=GOOD)
    old = folder / 'old'

    def replaced(mode, **how):
        old.write_bytes(OLD)
        old.chmod(mode)
        before = old.stat().st_ino
        done = run(folder, 'run', '-q', '--json', 'old', 'good.ndjson', **how)
        equal((done.status, done.err), (0, b''), 'status and errors')
        now = old.stat()
        assert now.st_ino != before, 'it was not replaced'
        return stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid

    equal(replaced(0o7755)[0], 0o755, 'permissions without what runs in a name')
    if os.geteuid() != 0:
        raise Skip('root alone gives files away')
    os.chown(old, 12345, 23456)
    equal(replaced(0o640), (0o640, 12345, 23456), 'permissions and owner')
    folder.chmod(0o777)
    (folder / 'good.ndjson').chmod(0o644)
    # the program may be in a folder that is root's alone
    program = shutil.copy(harness.PROGRAM, folder / 'program')
    os.chmod(program, 0o755)
    os.chown(old, 12345, 23456)
    equal(replaced(0o664, program=program, preexec_fn=as_somebody([23456])), (0o664, 54321, 23456),
          'permissions and owner where the group alone can stay')
    os.chown(old, 12345, 23456)
    equal(replaced(0o672, program=program, preexec_fn=as_somebody([])), (0o622, 54321, 54321),
          'permissions and owner where nothing can stay')


@test
def form_by_name(folder):
    """steps are NDJSON where the name ends in .ndjson or .jsonl, else CSV"""
    write(folder, good=GOOD)
    for name, first in (('a.ndjson', b'{'), ('a.jsonl', b'{'), ('a.csv', b's'), ('jsonl', b's')):
        equal(run(folder, 'run', '-q', '--steps', name, 'good.ndjson').status, 0, 'status')
        equal((folder / name).read_bytes()[:1], first, f'the first byte of {name}')


@cases(('a.csv.gz', 'gzip'), ('a.csv.zst', 'zstd'), ('a.ndjson.gz', 'gzip'), ('a.gz', 'gzip'),
       ('a.jsonl.zst', 'zstd'))
def rows_are_compressed(folder, named):
    """rows in a file that ends in .gz or .zst are those of the plain file, compressed"""
    name, tool = named
    plain = name.rsplit('.', 1)[0]
    write(folder, good=GOOD)
    for path in (plain, name):
        equal(run(folder, 'run', '-q', '-p', 'direct', '-p', 'bestfit', '--steps', path,
                  'good.ndjson').status, 0, 'status')
    packed = subprocess.run([tool, '-dc', folder / name], capture_output=True, check=True).stdout
    equal(packed, (folder / plain).read_bytes(), 'the rows')


@cases(*[(option, name) for name in ('a.parquet', 'a.arrow', 'a.csv.bz2', 'a.b.xlsx.gz', 'a.')
         for option in ('--steps', '--placements', '-o')], ('--placements', 'a.csv'),
       ('explain -o', 'a.parquet'), ('fit -o', 'a.arrow'), ('diff -p direct -o', 'a.parquet'))
def unknown_endings(folder, case):
    """a file whose ending names no format: one line, status 2, and the file stays as it is"""
    option, name = case
    words = option.split() if ' ' in option else ['run', option]
    write(folder, good=GOOD)
    (folder / name).write_bytes(OLD)
    with untouched(folder):
        out = run(folder, *words, name, 'good.ndjson')
    equal(out.status, 2, 'status')
    assert name in out.lines[-1] and '.json' in out.lines[-1], out.err
