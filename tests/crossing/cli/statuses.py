"""statuses.py - every exit status of the contract (section 8), and which goes before which.

Status 5 (no usable device, or it failed) needs a real device: nothing here can bring it about.
"""

import signal

from harness import (BAD, FULL, GOOD, HEADER, HEAVY, OLD, SAN, TRACES, Skip, cases, ended, equal,
                     feed, one_line, run, started, test, untouched, write)

HOLDS = ('--fail-if', 'steps > 0')
HOLDS_NOT = ('--fail-if', 'steps < 0')
# the file is read on behind the OOM, as it is to be valid
FULL_AND_BAD = FULL + '{"op":"free","id":77}\n'

# name: (options and trace, status, lines on standard error)
STATUSES = {
    'done': (['good.ndjson'], 0, 0),
    'a condition that does not hold': ([*HOLDS_NOT, 'good.ndjson'], 0, 0),
    'a condition that holds': ([*HOLDS, 'good.ndjson'], 1, 1),
    'an unknown option': (['--bogus', 'good.ndjson'], 2, 1),
    'an unknown policy': (['-p', 'bogus', 'good.ndjson'], 2, 1),
    'no trace': ([], 2, 1),
    'a condition on what is null': (['--fail-if', 'fi.time_weighted_mean > 1', 'good.ndjson'], 2, 1),
    'an OOM': (['full.ndjson'], 3, 0),
    'an OOM that the run goes on after': (['--on-oom', 'continue', 'full.ndjson'], 3, 0),
    'an OOM of one of two policies':
        (['-p', 'bestfit', '-p', 'bestfit:segment=8MiB', 'fits.ndjson'], 3, 0),
    'a bad trace': (['bad.ndjson'], 4, 1),
    'no such file': (['none.ndjson'], 4, 1),
    'a full output': (['--json', '/dev/full', 'good.ndjson'], 6, 1),
    'an output in no folder': (['--json', 'none/result.json', 'good.ndjson'], 6, 1),
    'an output that is a folder': (['--json', '.', 'good.ndjson'], 6, 1),
    # which goes before which
    '1 before 3': ([*HOLDS, 'full.ndjson'], 1, 1),
    '3 where the condition does not hold': ([*HOLDS_NOT, 'full.ndjson'], 3, 0),
    '2 before 1': ([*HOLDS, '--fail-if', 'fi.time_weighted_mean > 1', 'good.ndjson'], 2, 2),
    '2 before 3': (['--fail-if', 'fi.time_weighted_mean > 1', 'full.ndjson'], 2, 1),
    '2 before 4': (['--bogus', 'none.ndjson'], 2, 1),
    '4 before 1': ([*HOLDS, 'bad.ndjson'], 4, 1),
    '4 before 3': (['full-and-bad.ndjson'], 4, 1),
    '6 before 1': ([*HOLDS, '--json', '/dev/full', 'good.ndjson'], 6, 1),
    '6 before 3': (['--json', '/dev/full', 'full.ndjson'], 6, 1),
}


@cases(*STATUSES)
def statuses(folder, name):
    """exit status"""
    args, status, lines = STATUSES[name]
    # 4 MiB hold one segment of 2 MiB, not one of 8
    fits = FULL.splitlines()[:2]
    write(folder, good=GOOD, bad=BAD, full=FULL, fits='\n'.join(fits) + '\n')
    (folder / 'full-and-bad.ndjson').write_text(FULL_AND_BAD, encoding='ascii')
    out = run(folder, 'run', '-q', *args)
    equal(out.status, status, 'status')
    equal(len(out.lines), lines, f'number of lines on standard error ({out.err!r})')
    equal(out.out, b'', 'standard output')


@cases('0', '512B', '4K', '4KiB', '3MiB', '67108864', '64MiB', '1.5GiB')
def capacities_that_say_what_they_are(folder, size):
    """a device of few bytes says its unit; 0 is unlimited"""
    write(folder, good='{"op":"alloc","id":1,"size":512}\n')
    out = run(folder, 'run', '-q', '-p', 'direct', '--device-bytes', size, '--granularity', '1B',
              'good.ndjson')
    equal((out.status, out.lines), (0, []), 'status and errors')


@test
def no_room_in_the_header(folder):
    """of a trace that says so itself, a device without room is an out-of-memory"""
    head = '{"format":"fragsim-trace","version":1,"device":{"total_bytes":100,"context_bytes":100}}\n'
    write(folder, full=head + '{"op":"alloc","id":1,"size":1}\n')
    equal(run(folder, 'run', '-q', 'full.ndjson').status, 3, 'status')
    equal(run(folder, 'run', '-q', '--granularity', '4KiB', 'full.ndjson').status, 3,
          'status with another granularity')
    for command in ('run', 'diff', 'trace shrink', 'trace convert'):
        rest = {'diff': ('-p', 'bestfit'), 'trace convert': ('--to', 'perfetto')}.get(command, ())
        out = run(folder, *command.split(), *rest, '--device-bytes', '100B', 'full.ndjson',
                  *(('out',) if command.startswith('trace') else ()))
        equal(out.status, 2, f'status of {command}')
        one_line(out)


@cases(0, 3, 1)
def before_interrupted(folder, otherwise):
    """an interrupt goes before what the run would have ended with"""
    head = {0: GOOD, 3: FULL, 1: GOOD}[otherwise]
    more = ['--on-oom', 'continue'] + list(HOLDS if otherwise == 1 else ())
    write(folder, whole=head)
    equal(run(folder, 'run', '-q', *more, 'whole.ndjson').status, otherwise, 'status of the whole')
    with started(folder, 'run', '-q', *more, '-') as process:
        feed(process, head)
        process.send_signal(signal.SIGINT)
        equal(ended(process, by_itself=True).status, 130, 'status')


@test
def stopped_at_an_oom(folder):
    """of a pipe nothing is read behind the last run's OOM, of a file all"""
    write(folder, bad=FULL_AND_BAD)
    out = run(folder, 'run', '-q', '-', input=FULL_AND_BAD.encode())
    # the whole text is in one batch with the OOM, so either answer would do for its end;
    # what comes batches later is never seen
    equal(out.status in (3, 4), True, 'status 3 or 4')
    far = FULL + '{"op":"mark","name":"x"}\n' * 100000 + '{"op":"free","id":77}\n'
    equal(run(folder, 'run', '-q', '-', input=far.encode()).status, 3, 'status of a long pipe')
    write(folder, far=far)
    equal(run(folder, 'run', '-q', 'far.ndjson').status, 4, 'status of a long file')


@cases('run', 'list policies')
def help_words(folder, command):
    """help says what there is, and is no error"""
    out = run(folder, *command.split(), '--help')
    equal((out.status, out.lines), (0, []), 'status and errors')
    assert out.out.startswith(f'usage: fragsim {command} '.encode()), out.out
    equal(run(folder, 'help', *command.split()), out, 'fragsim help COMMAND')
    equal(run(folder, *command.split(), '--bogus', '--help').status, 2, 'status behind a bad option')


# options: what the one line must hold
HELPFUL = {
    ('-p', 'bestfit:bogus=1'): ('bogus', 'align', 'segment', 'pool', 'min_split', 'release'),
    ('-p', 'bestfit:align=3'): ('align', 'power of two'),
    ('-p', 'bestfit:align=0'): ('align',),
    ('-p', 'bestfit:segment=2XiB'): ('segment', '2XiB'),
    ('-p', 'bestfit:align'): ('align',),
    ('-p', 'bestfit:release=perhaps'): ('release', 'perhaps'),
    ('-p', 'buddy:segment=3MiB'): ('segment', 'power of two'),
    ('-p', 'buddy:min=4MiB'): ('min', 'segment'),
    ('-p', 'sizeclass:max_small=4MiB'): ('max_small', 'slab'),
    ('-p', 'tlsf:sl_log2=6'): ('sl_log2', '5'),
    ('-p', 'direct:align=512'): ('align', 'direct'),
    ('-p', 'plan:align=512'): ('align', 'plan', 'file'),
    ('-p', 'compact:align=1024'): ('align', 'over=bestfit', 'over=pytorch'),
    ('-p', 'compact:over=direct'): ('over=direct', 'pytorch or bestfit'),
    ('-p', 'bfc:memory_limit=-1'): ('memory_limit', '-1'),
    ('-p', 'bfc:fragmentation_fraction=2'): ('fragmentation_fraction', 'from 0 to 1'),
    ('-p', 'best'): ('best', 'bestfit', 'firstfit', 'nextfit', 'worstfit', 'buddy', 'sizeclass',
                     'direct'),
    ('-p', ''): ('bestfit', 'direct'),
    ('--device-bytes', '5KB'): ('--device-bytes', '5KB', 'size', 'use 5KiB'),
    ('--device-bytes', '80GB'): ("--device-bytes: invalid size '80GB'; use 80GiB, or bytes",),
    ('--device-bytes', '80g'): ("'80g'", 'use 80GiB'),
    ('--device-bytes', '16 GiB'): ("'16 GiB'", 'use 16GiB'),
    ('--device-bytes', '1.5'): ("'1.5'", 'no whole number of bytes', 'use 1.5GiB'),
    ('--device-bytes', '64PiB'): ("'64PiB'", 'TiB'),
    ('--device-bytes', '-1'): ('--device-bytes', "'-1'", '0 is unlimited'),
    ('--device-bytes', '1e9'): ('--device-bytes', '1e9', 'such as 4.5GiB'),
    # what is meant to be GiB mostly; 64 MiB is 67,108,864 bytes
    ('--device-bytes', '80'): ("'80' is 80 bytes; write 80GiB, or 80B if you mean bytes",),
    ('--device-bytes', '80.0'): ('80 bytes', '80B'),
    ('--device-bytes', '67108863'): ('67108863 bytes', '64 MiB', '67108863B'),
    ('--device-bytes', '400MiB', '--context-bytes', '300MiB', '--other-bytes', '100MiB'):
        ('device 0', '400.00 MiB', '300.00 MiB', '100.00 MiB', 'context'),
    ('--device-bytes', '400MiB', '--context-bytes', '401MiB'): ('device 0', '401.00 MiB'),
    # 1 MiB is 1,048,576 bytes
    ('--context-bytes', '450'): ("'450' is 450 bytes; write 450MiB, or 450B if you mean bytes",),
    ('--other-bytes', '1'): ("'1' is 1 byte; write 1MiB, or 1B if you mean bytes",),
    ('--context-bytes', '1048575'): ('1048575 bytes', '1 MiB', '1048575B'),
    ('--context-bytes', '80GB'): ('--context-bytes', "'80GB'", 'use 80GiB'),
    ('-p', 'bestfit:segment=8MB'): ('8MB', 'use 8MiB'),
    ('--fail-if', 'peak.reserved > 4GB'): ('4GB', 'use 4GiB'),
    ('--granularity', '0'): ('--granularity', '0'),
    ('--on-oom', 'die'): ('--on-oom', 'die', 'stop', 'continue'),
    ('-p', 'bestfit', '--alloc-conf', 'x:1'): ('--alloc-conf', 'pytorch'),
    ('-p', 'pytorch', '--alloc-conf', 'bogus:1'): ('bogus',),
    ('--threads', 'many'): ('--threads', 'many'),
    ('--c', '5'): ('--check', '--context-bytes'),
    ('--json', '-', '--steps', '-'): ('standard output',),
    ('--json', 'x', '--steps', './x'): ('x',),
    ('--json', 'good.ndjson'): ('good.ndjson', 'trace'),
    ('--fail-if', 'peak.reserve > 1'): ('peak.reserve', 'peak.X'),
    ('--fail-if', 'any > +1%'): ('+1%', 'baseline'),
}


@cases('0', '450B', '1048576', '450KiB')
def few_bytes(folder, value):
    """what others hold may be little where that is said"""
    write(folder, good=GOOD)
    for option in ('--context-bytes', '--other-bytes'):
        equal(run(folder, 'run', '-q', option, value, 'good.ndjson').status, 0, option)
    equal(run(folder, 'run', '-q', '--granularity', '450', 'good.ndjson').status, 0, 'granularity')


# of a size in a trace that is none: what to write, where that can be told
SIZES = {
    '"3MB"': '; use 3MiB, or bytes', '"16 GiB"': '; use 16GiB, or bytes',
    '"-1"': '; a size has no sign', '"4.5GiB"': '; use 4831838208', '"64PiB"': '; the largest unit'
    ' is TiB', '"some"': '', '-1': '', 'true': '',
}


@cases(*SIZES)
def sizes_of_a_trace(folder, value):
    """a size in a trace that is none is refused with the advice that an option would give"""
    write(folder, event=HEADER % '' + f'{{"op":"alloc","id":1,"size":{value}}}\n',
          device=HEADER % f',"device":{{"total_bytes":{value}}}' + GOOD)
    for name in ('event', 'device'):
        out = run(folder, 'run', f'{name}.ndjson')
        equal(out.status, 4, 'status')
        one_line(out)
        assert out.lines[0].endswith(f'is required, not {value}{SIZES[value]}'), out.lines


@cases(*HELPFUL)
def helpful_lines(folder, args):
    """wrong usage is one line that names what is wrong and what there is"""
    write(folder, good=GOOD)
    if './x' in args:
        (folder / 'x').write_bytes(OLD)
    with untouched(folder):
        out = run(folder, 'run', *args, 'good.ndjson')
    equal(out.status, 2, 'status')
    one_line(out)
    equal(out.out, b'', 'standard output')
    missing = [word for word in HELPFUL[args] if word not in out.lines[0]]
    assert not missing, f'{out.lines[0]!r} lacks {missing}'


@test
def quiet(folder):
    """--quiet takes away the report and warnings, not the line of an error"""
    late = GOOD.replace('"size":1000', '"size":1000,"t":5').replace('"id":1}', '"id":1,"t":4}')
    write(folder, late=late, bad=BAD)
    loud = run(folder, 'run', 'late.ndjson')
    equal((loud.status, len(loud.lines)), (0, 1), 'status and warnings')
    assert 'warning' in loud.lines[0] and loud.out, loud
    out = run(folder, 'run', '--quiet', 'late.ndjson')
    equal((out.status, out.out, out.err), (0, b'', b''), 'status and outputs')
    one_line(run(folder, 'run', '--quiet', 'bad.ndjson'))


@cases(*sorted(path.name for path in TRACES.glob('*.gz')))
def check(folder, name):
    """--check finds nothing in a recorded trace"""
    trace = TRACES / name
    if (SAN or not HEAVY) and trace.stat().st_size > 300_000:
        raise Skip('it takes long: HEAVY=1 checks it' if not SAN else 'a sanitizer takes too long')
    out = run(folder, 'run', '-q', '--check', '-p', 'bestfit', '-p', 'nextfit', '-p', 'buddy',
              '-p', 'sizeclass', trace)
    equal((out.status, out.err), (0, b''), 'status and errors')


# 30 MiB are freed, and 9 of them taken again: 25 need a segment of 26, as pages have 2 MiB, where
# 10 of 40 are free. All of it fits 34 MiB, and 40 in expandable pages of 20. Twice the sizes are
# 60 and 50 in two segments.
REUSED = HEADER % '' + ''.join(f'{{"op":"{op}","id":{n}{size}}}\n' for op, n, size in (
    ('alloc', 1, ',"size":"30MiB"'), ('free', 1, ''), ('alloc', 2, ',"size":"9MiB"'),
    ('alloc', 3, ',"size":"25MiB"')))
ANSWERS = {
    'explain': (('explain', '-p', 'bestfit', '--device', '40MiB'), {
        'oom': '1', 'live': '9MiB', 'free': '21MiB', 'non_releasable': '21MiB',
        'missing': '16MiB'}),
    'explain, of no OOM': (('explain', '-p', 'bestfit'), {'oom': '0', 'missing': '0'}),
    'plan': (('plan', '--alone'), {'height': '34MiB', 'bound': '34MiB'}),
    'predict': (('predict', '--scale', '2', '-p', 'pytorch'), {
        'reserved': '110MiB', 'smallest': '110MiB', 'reliable': '110MiB'}),
}


@cases(*ANSWERS)
def conditions_of_answers(folder, name):
    """--fail-if: status 1 and a line where it holds, 0 and none where it does not"""
    command, values = ANSWERS[name]
    write(folder, t=REUSED)
    for path, value in values.items():
        out = run(folder, *command, '-q', '--fail-if', f'{path} >= {value}', 't.ndjson')
        equal((out.status, out.out), (1, b''), f'status and output of {path} >= {value}')
        assert path in out.err.decode() and out.err.count(b'\n') == 1, out.err
        out = run(folder, *command, '-q', '--fail-if', f'{path} > {value}', 't.ndjson')
        equal((out.status, out.out, out.err), (0, b'', b''), f'{path} > {value}')
    out = run(folder, *command, '--fail-if', 'nothing > 1', 't.ndjson')
    equal((out.status, out.out), (2, b''), 'an unknown value')
    one_line(out)
