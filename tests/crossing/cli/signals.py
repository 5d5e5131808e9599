"""signals.py - Ctrl-C and its relatives."""

import csv
import json
import os
import signal
import subprocess

from harness import (GOOD, HEADER, OLD, asleep, cases, ended, equal, feed, run, started, test,
                     unread, until, untouched)

OUTPUTS = ('--steps', 's.csv', '--placements', 'p.ndjson', '--json', 'r.json')
NAMES = ['p.ndjson', 'r.json', 's.csv']


def requests(count: int, first: int = 0) -> str:
    return ''.join(f'{{"op":"alloc","id":{i},"size":{512 + i % 7 * 512}}}\n'
                   for i in range(first, first + count))


@cases('SIGINT', 'SIGTERM', 'SIGHUP')
def what_there_is_is_written(folder, name):
    """interrupted, a run writes what there is, says so, and ends with 130"""
    count = 3000
    for file in NAMES:
        (folder / file).write_bytes(OLD)
    with started(folder, 'run', *OUTPUTS, '-') as process:
        feed(process, HEADER % '' + requests(count))
        process.send_signal(getattr(signal, name))
        out = ended(process, by_itself=True)
    equal((out.status, out.err), (130, b''), 'status and errors')
    assert b'interrupted' in out.out, out.out
    equal(sorted(path.name for path in folder.iterdir()), NAMES, 'files')
    result = json.loads((folder / 'r.json').read_text(encoding='ascii'))
    equal([run['status'] for run in result['runs']], ['interrupted'], 'status in the result')
    equal(result['runs'][0]['steps'], count, 'steps')
    equal(result['trace']['events'], count, 'events')
    # the sizes go round: 512 (1 + 2 + ... + 7) in each seven
    asked = sum(512 + i % 7 * 512 for i in range(count))
    equal(result['runs'][0]['last']['requested'], asked, 'requested')
    with (folder / 's.csv').open(newline='', encoding='ascii') as text:
        rows = list(csv.DictReader(text))
    equal((len(rows), int(rows[-1]['requested'])), (count, asked), 'rows, requested in the last')
    equal(len((folder / 'p.ndjson').read_bytes().splitlines()), count, 'placements')


@test
def several_policies(folder):
    """interrupted with several policies, each has done the same steps"""
    with started(folder, 'run', '-p', 'bestfit', '-p', 'buddy', '-p', 'direct', '--threads', '3',
                 '-q', *OUTPUTS, '-') as process:
        feed(process, HEADER % '' + requests(5000))
        process.send_signal(signal.SIGINT)
        out = ended(process, by_itself=True)
    equal((out.status, out.out, out.err), (130, b'', b''), 'status and outputs')
    runs = json.loads((folder / 'r.json').read_text(encoding='ascii'))['runs']
    equal([run['status'] for run in runs], ['interrupted'] * 3, 'status')
    equal({run['steps'] for run in runs}, {5000}, 'steps')
    equal(len((folder / 's.csv').read_bytes().splitlines()), 3 * 5000 + 1, 'lines of steps')


@test
def before_the_first_event(folder):
    """interrupted while it waits for the header, it ends with 130 and touches no file"""
    with untouched(folder, *NAMES), started(folder, 'run', *OUTPUTS, '-') as process:
        until(lambda: asleep(process), 'it waits')
        process.send_signal(signal.SIGINT)
        out = ended(process, by_itself=True)
    equal((out.status, out.out, out.err), (130, b'', b''), 'status and outputs')


@test
def before_the_fifo_opens(folder):
    """interrupted while it waits for the other end of a fifo, it ends with 130"""
    os.mkfifo(folder / 'fifo')
    with started(folder, 'run', *OUTPUTS, 'fifo') as process:
        until(lambda: asleep(process), 'it waits')
        process.send_signal(signal.SIGINT)
        out = ended(process, by_itself=True)
    equal((out.status, out.out, out.err), (130, b'', b''), 'status and outputs')
    equal([path.name for path in folder.iterdir()], ['fifo'], 'files')


@cases('SIGINT', 'SIGTERM')
def a_second_one_ends_it(folder, name):
    """a second signal ends it at once, and no half-written file stays"""
    number = getattr(signal, name)
    reader, writer = os.pipe()
    outputs = ('--placements', 'p.ndjson', '--json', 'r.json')
    for file in ('p.ndjson', 'r.json'):
        (folder / file).write_bytes(OLD)
    # the rows fill the pipe, which nobody reads
    with open(folder / 'long.ndjson', 'w', encoding='ascii') as text:
        text.write(requests(20000))
    with untouched(folder), started(folder, 'run', '--steps', '-', *outputs, 'long.ndjson',
                                    stdout=writer) as process:
        until(lambda: unread(reader) > 0 and asleep(process), 'it waits for its reader')
        process.send_signal(number)
        until(lambda: asleep(process), 'it waits again')
        equal(process.poll(), None, 'status after the first signal')
        process.send_signal(number)
        equal(ended(process).status, 128 + number, 'status')
    os.close(reader)
    os.close(writer)


@test
def quit_leaves_no_file(folder):
    """SIGQUIT ends it with its core file, and no half-written file stays"""
    reader, writer = os.pipe()
    (folder / 'r.json').write_bytes(OLD)
    with open(folder / 'long.ndjson', 'w', encoding='ascii') as text:
        text.write(requests(20000))
    with untouched(folder), started(folder, 'run', '--steps', '-', '--placements', 'p.ndjson',
                                    '--json', 'r.json', 'long.ndjson', stdout=writer,
                                    preexec_fn=lambda: signal.signal(
                                        signal.SIGQUIT, signal.SIG_DFL)) as process:
        until(lambda: unread(reader) > 0 and asleep(process), 'it waits for its reader')
        process.send_signal(signal.SIGQUIT)
        equal(ended(process).status, -signal.SIGQUIT, 'status')
    os.close(reader)
    os.close(writer)


@cases('SIGINT', 'SIGHUP')
def ignored_stays_ignored(folder, name):
    """a signal that the caller ignores (nohup, a background job) does nothing"""
    number = getattr(signal, name)
    with started(folder, 'run', '-q', '--json', 'r.json', '-', stdout=subprocess.DEVNULL,
                 preexec_fn=lambda: signal.signal(number, signal.SIG_IGN)) as process:
        feed(process, GOOD)
        process.send_signal(number)
        feed(process, requests(10, first=100))
        equal(ended(process).status, 0, 'status')
    result = json.loads((folder / 'r.json').read_text(encoding='ascii'))
    equal((result['runs'][0]['status'], result['runs'][0]['steps']), ('fits', 4 + 10), 'status, steps')


@cases('', '{"format":"fragsim-', HEADER % '', HEADER % '' + requests(3) + '{"op":"al')
def the_writer_goes_too(folder, text):
    """Ctrl-C ends both ends of a pipe: what broke off there is no bad trace"""
    with started(folder, 'run', '-q', *OUTPUTS, '-') as process:
        feed(process, text)
        # stopped, it sees the signal and the end of the pipe at the same time
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        process.stdin = None
        process.send_signal(signal.SIGCONT)
        out = ended(process)
    equal((out.status, out.err), (130, b''), 'status and errors')
    if 'alloc' in text:
        result = json.loads((folder / 'r.json').read_text(encoding='ascii'))
        run_ = result['runs'][0]
        equal((run_['status'], run_['steps']), ('interrupted', 3), 'status, steps')


@test
def interrupted_twice_is_the_same(folder):
    """what an interrupted run wrote is what a whole run over the same events writes"""
    text = HEADER % '' + requests(1500)
    with started(folder, 'run', '-q', *OUTPUTS, '-') as process:
        feed(process, text)
        process.send_signal(signal.SIGINT)
        equal(ended(process, by_itself=True).status, 130, 'status')
    part = {name: (folder / name).read_bytes() for name in NAMES}
    equal(run(folder, 'run', '-q', *OUTPUTS, '-', input=text.encode()).status, 0, 'status')
    for name in ('s.csv', 'p.ndjson'):
        equal((folder / name).read_bytes() == part[name], True, f'{name} being the same')
    whole = json.loads((folder / 'r.json').read_text(encoding='ascii'))
    result = json.loads(part['r.json'])
    equal(result['trace']['content'], whole['trace']['content'], 'content')
    result['runs'][0]['status'] = 'fits'
    equal(result['runs'], whole['runs'], 'runs')


READERS = {
    'convert': ('trace', 'convert', '-', 'out.ndjson'),
    'slice': ('trace', 'slice', '--to-step', '5000', '-', 'out.ndjson'),
    'anonymize': ('trace', 'anonymize', '-', 'out.ndjson'),
    'info': ('trace', 'info', '--json', 'out.ndjson', '-'),
}


@cases(*(f'{signal} {name}' for name in READERS for signal in ('SIGINT', 'SIGTERM')))
def readers_end(folder, case):
    """interrupted while it waits for its input, it ends with 130 and touches no file"""
    number, name = case.split()
    (folder / 'out.ndjson').write_bytes(OLD)
    with untouched(folder), started(folder, *READERS[name]) as process:
        feed(process, HEADER % '' + requests(2000))
        process.send_signal(getattr(signal, number))
        out = ended(process, by_itself=True)
    equal((out.status, out.out, out.err), (130, b'', b''), 'status and outputs')


@cases('SIGINT', 'SIGTERM')
def writers_end(folder, name):
    """a scenario that nobody reads on ends with a second signal, at once"""
    number = getattr(signal, name)
    reader, writer = os.pipe()
    with started(folder, 'trace', 'gen', 'random', '--events', '1000000', stdout=writer) as process:
        until(lambda: unread(reader) > 0 and asleep(process), 'it waits for its reader')
        process.send_signal(number)
        until(lambda: process.poll() is not None or asleep(process), 'it ends or waits again')
        if process.poll() is None:
            process.send_signal(number)
        equal(ended(process).status in (130, 128 + number), True, 'status being of a signal')
    os.close(reader)
    os.close(writer)
