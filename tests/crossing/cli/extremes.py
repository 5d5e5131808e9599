"""extremes.py - much of everything, in bounded memory. HEAVY=1: a million in place of 100,000."""

import os
import resource
import subprocess

import harness
from harness import HEADER, SAN, cases, equal, one_line, run, test, times

TIMES = times(10, 100, 1)
MEMORY = 256 << 20              # for the program itself
EACH = 1500                     # for each of what is kept


def bounded(size: int):
    """A sanitizer's shadow is larger than any bound."""
    return None if SAN else lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


@test
def long_pipe(folder):
    """many events through a pipe, in bounded memory: HEAVY=1 ten million"""
    count = 100_000 if SAN or os.environ.get('COVERAGE') else times(300_000, 10_000_000)
    with subprocess.Popen([harness.PROGRAM, 'trace', 'gen', 'random', '--events', str(count)],
                          stdout=subprocess.PIPE) as writer:
        out = run(folder, 'run', '-q', '--fail-if', f'steps < {count}', '-',
                  stdin=writer.stdout, preexec_fn=bounded(MEMORY))
        writer.stdout.close()
    equal((out.status, out.err), (0, b''), 'status and errors')


KINDS = {
    'blocks': '{{"op":"alloc","id":{0},"size":512}}\n',
    'ids that are strings': '{{"op":"alloc","id":"block {0}","size":512}}\n',
    'streams': '{{"op":"alloc","id":1,"size":512,"stream":{0}}}\n{{"op":"free","id":1}}\n',
    'streams of a block': '{{"op":"record_stream","id":"x","stream":"s{0}"}}\n',
    'tags': '{{"op":"alloc","id":{0},"size":512,"tag":"tag {0}"}}\n',
    'pools': '{{"op":"alloc","id":1,"size":512,"pool":"p{0}"}}\n{{"op":"free","id":1}}\n',
    'pending blocks': '{{"op":"alloc","id":1,"size":512}}\n'
                      '{{"op":"free","id":1,"pending":true}}\n',
    'marks': '{{"op":"mark","name":"m{0}"}}\n',
}


@cases(*KINDS)
def many(folder, kind):
    """a hundred thousand, in bounded memory"""
    count = 10_000 * TIMES
    text = HEADER % '' + '{"op":"alloc","id":"x","size":1}\n' + ''.join(
        KINDS[kind].format(i) for i in range(count))
    out = run(folder, 'run', '-q', '-p', 'pytorch', '-p', 'bestfit', '--threads', '1', '-',
              input=text.encode(), preexec_fn=bounded(MEMORY + 2 * EACH * count))
    equal((out.status, out.err), (0, b''), 'status and errors')


@test
def most_devices(folder):
    """as many devices as there can be, and one more"""
    for count, status in ((1024, 0), (1025, 4)):
        head = HEADER % f',"devices":[{",".join(["{}"] * count)}]'
        text = head + ''.join(f'{{"op":"alloc","id":{i},"size":1,"device":{i}}}\n'
                              for i in range(count)) + '{"op":"mark","name":"end"}\n'
        out = run(folder, 'run', '-q', '-p', 'pytorch', '-', input=text.encode(),
                  preexec_fn=bounded(4 * MEMORY))
        equal(out.status, status, f'status of {count}')
    one_line(out)
    assert 'more than 1024 devices' in out.lines[0], out.err
