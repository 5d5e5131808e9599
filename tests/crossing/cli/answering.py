"""answering.py - what a report answers: what to paste, what is to blame, what was not looked for."""

import os
import re
import signal
from pathlib import Path

from harness import (FULL, HEADER, cases, ended, equal, feed, run, started, test, until, write)

MIB = 1 << 20


def used(process):
    """Seconds of the processor that a process has had: reading nine thousand events takes few."""
    fields = Path(f'/proc/{process.pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    return int(fields[11]) / os.sysconf('SC_CLK_TCK')


def rows(text):
    """The rows below the verdict, by their labels; a continued line goes on with its row."""
    found, label = {}, None
    for line in text.splitlines()[1:]:
        if re.match('  [a-z]+ +', line) and ':' not in line[:9]:
            label, _, words = line.strip().partition(' ')
            found.setdefault(label, words.strip())
        elif label and line.startswith(' ' * 12):
            found[label] += ' ' + line.strip()
        else:
            label = None
    return found


def traced(*events, total='16GiB'):
    return HEADER % f',"device":{{"total_bytes":"{total}"}}' + ''.join(x + '\n' for x in events)


def alloc(name, size):
    return f'{{"op":"alloc","id":{name},"size":"{size}"}}'


# the MiB that two blocks have, but for 1000 bytes each, what the context takes, and the least
# device for them under direct, which takes whole pages of 2 MiB: exact, and what a person reads
# beside it
LEAST = {
    'GiB': ((4096, 5120), '1GiB', '10 GiB'),
    'MiB': ((4096, 5120), '450MiB', '9666 MiB (9.44 GiB)'),
    'MiB below a GiB': ((10, 30), '0', '40 MiB'),
    'KiB': ((4096, 5120), '1025KiB', '9438209 KiB (9.00 GiB)'),
    'bytes': ((4096, 5120), '1048577', '9664724993 B (9.00 GiB)'),
}


@cases(*LEAST)
def pasted(folder, name):
    """the device that a report names fits when it is pasted"""
    sizes, context, wanted = LEAST[name]
    write(folder, t=traced(*(alloc(i, size * MIB - 1000) for i, size in enumerate(sizes))))
    words = ('run', '-p', 'direct', '--context-bytes', context)
    exact = ''.join(wanted.split()[:2])
    number, unit = re.fullmatch(r'(\d+)(\D+)', exact).groups()
    less = int(number) * {'B': 1, 'KiB': 1024, 'MiB': MIB, 'GiB': MIB << 10}[unit] - 1
    out = run(folder, *words, '--device-bytes', f'{less}B', 't.ndjson')
    equal(out.status, 3, 'status on a byte less')
    equal(rows(out.out.decode())['smallest'].split(' device')[0], wanted, 'smallest')
    out = run(folder, *words, '--device-bytes', exact, 't.ndjson')
    equal(out.status, 0, f'status on {exact}')


@test
def initial_pool(folder):
    """a pool that the device cannot hold is named, not a request that nobody made"""
    write(folder, t=traced(alloc(1, '1MiB'), total='64MiB'))
    text = run(folder, 'run', '-p', 'bestfit:pool=80MiB', '--context-bytes', '4MiB',
               't.ndjson').out.decode()
    equal(rows(text)['verdict'], 'request_too_large: initial pool of 80.00 MiB requested, 60.00 MiB'
          ' free', 'verdict')
    equal(rows(text)['smallest'].split(' device')[0], '84 MiB', 'smallest')
    text = run(folder, 'run', '-p', 'direct', '--context-bytes', '64512KiB', 't.ndjson').out.decode()
    equal(rows(text)['verdict'], 'request_too_large: 2.00 MiB requested, 1.00 MiB usable',
          'cause of a request')


@test
def too_small_a_fraction(folder):
    """where a fraction is too small for the bytes alone, it is named, not the device"""
    fraction = '{"op":"set_fraction","value":0.25}'
    over = [fraction, alloc(1, '3GiB'), alloc(2, '2GiB')]
    # 5 GiB at once, of which a quarter of 16 GiB holds 4: 20 GiB are needed
    said = ('lower bound 5.00 GiB; a fraction set by the program allows 4.00 GiB (1.00 GiB short);'
            ' on a device of 20 GiB that fraction suffices')
    write(folder, over=traced(*over), small=traced(*over, total='4GiB'))
    for name, limit, short in (('over', '4.00', '1.00'), ('small', '1.00', '4.00')):
        found = rows(run(folder, 'run', '-p', 'pytorch', f'{name}.ndjson').out.decode())
        equal(found['smallest'], said.replace('4.00 GiB (1.00', f'{limit} GiB ({short}'), name)
        equal(found['next'], 'a larger fraction, or a lower peak of the program', name)
    # the second request does not fit because of what is held; later there would be no fraction
    later = [fraction, alloc(1, '3GiB'), '{"op":"free","id":1}',
             '{"op":"alloc","id":2,"size":2147483648,"pool":1}',
             '{"op":"set_fraction","value":1}', alloc(3, '5GiB')]
    write(folder, later=traced(*later))
    found = rows(run(folder, 'run', '-p', 'bestfit:release=false', 'later.ndjson').out.decode())
    assert found['verdict'].startswith('limit'), found
    assert 'short' not in found['smallest'], found
    equal(run(folder, 'run', '-q', '-p', 'pytorch', 'later.ndjson').status, 0, 'status of pytorch')
    # the same where nothing ends it: the 5 GiB to come are too many
    write(folder, ever=traced(*later[:4], alloc(3, '5GiB')))
    found = rows(run(folder, 'run', '-p', 'bestfit:release=false', 'ever.ndjson').out.decode())
    assert found['smallest'].startswith('lower bound 7.00 GiB; a fraction'), found


@test
def interrupted_search(folder):
    """who interrupts the search for answers is told what was not looked for"""
    # five runs that end at once, and for each a search through 300,000 events
    run(folder, 'trace', 'gen', 'random', '--events', '300000', '--live', '20000', '-o', 't.fsb')
    with started(folder, 'run', '--device-bytes', '1GiB',
                 *(x for p in ('bestfit', 'firstfit', 'worstfit', 'nextfit', 'buddy')
                   for x in ('-p', p)), 't.fsb') as process:
        until(lambda: used(process) > 0.5, 'it searches')
        process.send_signal(signal.SIGINT)
        out = ended(process)
    text = out.out.decode()
    equal(out.status, 130, 'status')
    equal(rows(text[text.index('\nOOM: ') + 1:])['smallest'], '(interrupted: not searched)',
          'smallest')


@test
def interrupted_reading(folder):
    """so is who interrupts the reading, of a run that has failed already"""
    with started(folder, 'run', '-p', 'direct', '-p', 'bestfit', '--device-bytes', '64MiB',
                 '-') as process:
        feed(process, HEADER % '' + ''.join(alloc(i, 1) + '\n' for i in range(5000)))
        process.send_signal(signal.SIGINT)
        out = ended(process)
    text = out.out.decode()
    equal((out.status, text[:13]), (130, 'INTERRUPTED: '), 'status and verdict')
    equal(rows(text[text.index('\nOOM: ') + 1:])['smallest'], '(interrupted: not searched)',
          'smallest')


@test
def whole_search(folder):
    """a search that was not interrupted says nothing of that"""
    (folder / 'full.ndjson').write_text(FULL)
    assert b'interrupted' not in run(folder, 'run', 'full.ndjson').out
