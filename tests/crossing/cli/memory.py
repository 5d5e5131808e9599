"""memory.py - small files that would take much memory: what they may take, and what they are told."""

import gzip
import json
import subprocess
import sys

import harness
from harness import HEAVY, Skip, cases, equal, test, times, write

MIB = 1 << 20
MOST = 512 * MIB        # of the whole program; each of these files took more, up to 4 GiB
HEAD = b'{"format":"fragsim-trace","version":1}\n'


# in a process of its own: a child begins with the memory of its parent as its most;
# and what is only reserved is not touched, as it is where malloc fills it
PROBE = """import os, sys
os.environ.pop("MALLOC_PERTURB_", None)
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)"""


def peak(folder, *args) -> tuple:
    """Status, standard error, and the most memory that the run took, in bytes."""
    if harness.SAN:
        raise Skip('a sanitizer takes memory of its own')
    done = subprocess.run([sys.executable, '-c', PROBE, harness.PROGRAM, *args], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, check=True)
    status, kibibytes = map(int, done.stdout.split())
    return status, done.stderr.decode(), kibibytes * 1024


def zstd(data: bytes) -> bytes:
    return subprocess.run(['zstd', '-qc'], input=data, stdout=subprocess.PIPE, check=True).stdout


def pack(packer, first: bytes, again: bytes, times: int, last: bytes) -> bytes:
    """Members or frames in a row are one stream."""
    return packer(first) + packer(again) * times + packer(last)


def event(action: str) -> bytes:
    """As a dict of a pickle."""
    def text(word):
        return b'X' + len(word).to_bytes(4, 'little') + word.encode()

    numbers = (('addr', 4096), ('size', 1), ('stream', 0), ('time_us', 1))
    return (b'}(' + text('action') + text(action)
            + b''.join(text(name) + b'M' + n.to_bytes(2, 'little') for name, n in numbers) + b'u')


SHARED = (b'\x80\x02}(X\x0d\x00\x00\x00device_traces](](' + event('alloc') + b'q\x00'
          + event('free_completed') + b'q\x01')
NAME = b'a' * (16 * MIB)
def long_names(line: bytes) -> bytes:
    """Events of 32 MiB, each with another name."""
    name = zstd(NAME) * 2
    return zstd(HEAD) + b''.join(zstd(line % (i, i)) + name + zstd(b'"}\n') for i in range(24))


# name: the bytes; each is at most 100,000
BOMBS = {
    'a pickle of lists': lambda: pack(gzip.compress, b'\x80\x02]', b']' * (16 * MIB), 4, b'.'),
    'one event again and again': lambda: pack(gzip.compress, SHARED, b'h\0h\1' * (4 * MIB), 4,
                                              b'eeu.'),
    'a snapshot of strings, JSON': lambda: pack(gzip.compress, b'{"segments":[',
                                                b'"",' * (6 * MIB), 4, b'""]}'),
    'a snapshot of spaces, JSON': lambda: pack(zstd, b'{"segments":[', b' ' * (16 * MIB), 50,
                                               b']}'),
    'a page': lambda: pack(zstd, b'<html>"base64": "', b'A' * (16 * MIB), 50, b'"'),
    'buffers of minimalloc': lambda: pack(zstd, b'id,lower,upper,size\n',
                                          b'1,0,1,1\n' * (2 * MIB), 4, b'\n'),
    'rows of RMM': lambda: pack(zstd, b'Thread,Time,Action,Pointer,Size,Stream\n',
                                b'1,00:00:00.000001,allocate,0x1,1,0\n'
                                b'1,00:00:00.000001,free,0x1,1,0\n' * (MIB // 2), 12, b'\n'),
    'pending blocks': lambda: pack(zstd, HEAD, b'{"op":"alloc","id":1,"size":1}\n'
                                   b'{"op":"free","id":1,"pending":true}\n' * (MIB // 4), 20,
                                   b'\n'),
    'long ids': lambda: long_names(b'{"op":"alloc","size":%d,"id":"%d'),
}
# each takes two seconds, and all names are kept by the same table
HEAVY_BOMBS = {
    'long tags': lambda: long_names(b'{"op":"alloc","size":1,"id":%d,"tag":"%d'),
    'long marks': lambda: long_names(b'{"op":"mark","t":%d,"name":"%d'),
    'long streams': lambda: long_names(b'{"op":"sync","t":%d,"stream":"%d'),
    'long pools': lambda: long_names(b'{"op":"alloc","size":0,"id":%d,"pool":"%d'),
}


if HEAVY:
    BOMBS |= HEAVY_BOMBS


@cases(*BOMBS)
def small_files(folder, name):
    """a small file that unpacks to much is refused, and says what it would take"""
    data = BOMBS[name]()
    assert len(data) < 100_000, len(data)
    (folder / 'bomb').write_bytes(data)
    status, err, taken = peak(folder, 'run', '-q', 'bomb')
    assert taken < MOST, f'{taken / MIB:.0f} MiB'
    equal((status, err.count('\n')), (4, 1), f'status and lines ({err})')
    most = 256 + len(data) * 1024 // MIB
    assert err.startswith(f'fragsim: bomb: would take more than {most} MiB of memory, too much'
                          f' for a file of {len(data)} bytes'), err


@test
def packed_well(folder):
    """what packs well and is not large is read all the same"""
    spaces = b'{"device_traces":[' + b' ' * (100 * MIB) + b'[]]}'
    (folder / 'packed').write_bytes(zstd(spaces))
    equal(peak(folder, 'run', '-q', 'packed')[:2], (0, ''), 'status and errors')


@test
def marks_of_many_devices(folder):
    """of 1,024 devices the first 97 marks are kept, which is 100,000 of all; a warning says so"""
    many = ','.join(['{}'] * 1024)
    write(folder, marks=harness.HEADER % f',"devices":[{many}]'
          + '{"op":"mark","name":"x"}\n' * times(500, 10_000))
    status, err, taken = peak(folder, 'run', '--json', 'r.json', 'marks.ndjson')
    equal((status, err), (0, 'fragsim: warning: marks: the first 100000 of all 1024 devices are'
                             ' kept, and there are more\n'), 'status and warning')
    assert taken < MOST, f'{taken / MIB:.0f} MiB'
    runs = json.loads((folder / 'r.json').read_bytes())['runs']
    equal({(len(run['marks']), run['marks'][-1]['step']) for run in runs}, {(97, 96)},
          'marks of each device and the step of the last')


@test
def marks_of_ten_devices(folder):
    """10,000 marks of each of ten devices are kept, and there is nothing to say"""
    many = ','.join(['{}'] * 10)
    write(folder, marks=harness.HEADER % f',"devices":[{many}]'
          + '{"op":"mark","name":"x"}\n' * 10_001)
    status, err, _ = peak(folder, 'run', '--json', 'r.json', 'marks.ndjson')
    equal((status, err), (0, ''), 'status and errors')
    runs = json.loads((folder / 'r.json').read_bytes())['runs']
    equal([len(run['marks']) for run in runs], [10_000] * 10, 'marks of each device')


@cases('fits', 'fails')
def report_of_live_blocks(folder, how):
    """who holds and who pins takes no second copy of what lives: at most half of the run's own

    A failure has its history read as well, 40 bytes a request.
    """
    count = times(150_000, 400_000)
    device = {'fits': '0', 'fails': f'{count // 2 * 512}B'}[how]
    write(folder, many=harness.HEADER % ''
          + ''.join(f'{{"op":"alloc","id":{i},"size":4,"tag":"t{i % 3}"}}\n' for i in range(count))
          + '{"op":"free","id":7}\n')
    args = ('--device-bytes', device, 'many.ndjson')
    status, err, quiet = peak(folder, 'run', '-q', *args)
    equal((status, err), (3 if how == 'fails' else 0, ''), 'status and errors')
    _, err, report = peak(folder, 'run', *args)
    equal(err, '', 'errors')
    room = count * 40 if how == 'fails' else 0
    assert report < quiet * 3 / 2 + room, f'{report / MIB:.0f} MiB, {quiet / MIB:.0f} without a report'
