"""run.py - other people's forms of traces, the binary form, and convert.

    run.py PROGRAM

Prints TAP.  What a file means is written out here by hand, event by event; the binary form is
decoded by a second, plain implementation of fragsim-binary(5).
"""

import gzip
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import PROGRAM, SAN, fragsim  # noqa: E402
from tap import Tap  # noqa: E402

HEADER = 'Thread,Time,Action,Pointer,Size,Stream\n'

TAP = Tap()
report = TAP.result


def write(name: str, data: object) -> Path:
    path = Path(name)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def events(data: object, name: str = 'in') -> tuple:
    """What convert makes of it: header, events, warnings; or None, None and the message."""
    done = fragsim('trace', 'convert', write(name, data), '-')
    told = done.stderr.decode()
    if done.returncode:
        return None, None, f'{done.returncode}: {told}'
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[0], lines[1:], told


def without_scope(head: dict) -> dict:
    """tests/formats/scope is about that."""
    meta = {k: v for k, v in head.get('meta', {}).items() if k != 'scope'}
    return {k: v for k, v in head.items() if k != 'meta'} | ({'meta': meta} if meta else {})


def expect(name: str, data: object, wanted: list, *warnings: str, header: object = None) -> None:
    head, got, told = events(data)
    faults = []
    if got != wanted:
        faults = [f'got {got}', f'wanted {wanted}', told]
    if header is not None and without_scope(head) != header:
        faults.append(f'header {head}, wanted {header}')
    if len(told.splitlines()) != len(warnings):
        faults.append(f'warnings: {told!r}')
    faults += [f'no warning {w!r} in {told!r}' for w in warnings if not re.search(w, told)]
    report(name, faults)


def refused(name: str, data: object, pattern: str) -> None:
    done = fragsim('trace', 'convert', '-q', write('in', data), '-')
    told = done.stderr.decode()
    faults = []
    if done.returncode != 4:
        faults.append(f'exit status {done.returncode}')
    if told.count('\n') != 1 or not re.search(pattern, told):
        faults.append(f'{told!r} where {pattern!r} is required')
    report(f'refused: {name}', faults)


def alloc(id_: object, size: int, **more: object) -> dict:
    return {'op': 'alloc', 'id': id_, 'size': size, **more}


def free(id_: object, **more: object) -> dict:
    return {'op': 'free', 'id': id_, **more}


def mark(name: str, **more: object) -> dict:
    return {'op': 'mark', 'name': name, **more}


def memory(t: float, size: int, addr: int, type_: int = 1, device: int = 0, **more: object) -> dict:
    """A [memory] event of a profiler's trace."""
    args = {'Bytes': size, 'Addr': addr, 'Device Type': type_, 'Device Id': device, **more}
    return {'ph': 'i', 'cat': 'cpu_instant_event', 's': 't', 'name': '[memory]', 'pid': 1, 'tid': 7,
            'ts': t, 'args': args}


def span(category: str, name: str, t: float, duration: float, thread: int = 7) -> dict:
    return {'ph': 'X', 'cat': category, 'name': name, 'pid': 1, 'tid': thread, 'ts': t,
            'dur': duration}


def kineto(*list_: dict, **more: object) -> str:
    return json.dumps({'schemaVersion': 1, **more, 'traceEvents': list(list_), 'traceName': 'x'})


def test_kineto() -> None:
    plain = [memory(1.5, 512, 4096), memory(2.25, -512, 4096)]
    wanted = [alloc(0, 512, t=1.5), free(0, t=2.25)]
    expect('kineto: an alloc and its free', kineto(*plain), wanted)
    expect('kineto: a bare array', json.dumps(plain), wanted)
    expect('kineto: as C++ writes it, with new lines',
           json.dumps({'schemaVersion': 1, 'traceEvents': plain}, indent=2), wanted)
    expect('kineto: compressed', gzip.compress(kineto(*plain).encode()), wanted)
    expect('kineto: in the order of time, not of the file', kineto(*plain[::-1]), wanted)
    expect('kineto: equal times in the order of the file',
           kineto(memory(1, 512, 4096), memory(1, -512, 4096), memory(1, 1024, 4096)),
           [alloc(0, 512, t=1), free(0, t=1), alloc(1, 1024, t=1)])
    expect('kineto: the tag is the innermost operator of its thread', kineto(
        span('cpu_op', 'outer', 0, 10), span('cpu_op', 'inner', 2, 2),
        span('cpu_op', 'elsewhere', 0, 10, 8), span('cuda_op', 'kernel', 2.5, 1),
        memory(1, 1, 1), memory(3, 2, 2), memory(4.5, 3, 3), memory(11, 4, 4)),
           [alloc(0, 1, t=1, tag='outer'), alloc(1, 2, t=3, tag='inner'),
            alloc(2, 3, t=4.5, tag='outer'), alloc(3, 4, t=11)])
    expect('kineto: annotations are marks', kineto(
        span('user_annotation', 'ProfilerStep#1', 0.5, 9), *plain),
           [mark('ProfilerStep#1', t=0.5), *wanted])
    expect('kineto: the CPU where there is nothing else',
           kineto(memory(1, 64, 4096, 0, -1), memory(2, -64, 4096, 0, -1)),
           [alloc(0, 64, t=1), free(0, t=2)], 'only allocations of the CPU')
    expect('kineto: the CPU is left out where there is a GPU',
           kineto(memory(1, 64, 4096, 0, -1), memory(2, 512, 4096), memory(3, -64, 4096, 0, -1)),
           [alloc(0, 512, t=2)], '2 memory events of the CPU left out')
    expect('kineto: two devices', kineto(memory(1, 64, 4096, 1, 1), memory(2, 32, 4096, 1, 0)),
           [alloc(0, 64, t=1, device=1), alloc(1, 32, t=2, device=0)],
           header={'format': 'fragsim-trace', 'version': 1,
                   'devices': [{'total_bytes': 0}, {'total_bytes': 0}],
                   'meta': {'recorder': 'torch.profiler'}})
    expect('kineto: what was allocated before the profile', kineto(memory(3, -256, 4096)),
           [alloc(0, 256, t=3), free(0, t=3)], '1 free, 256 bytes in all')
    # 10000 bytes before the first event, 300 of which are freed later
    expect('kineto: what the profile never frees', kineto(
        memory(1, 512, 8192, **{'Total Allocated': 10512}), memory(2, -300, 4096)),
           [alloc(1, 300, t=1), alloc(2, 9700, t=1), alloc(0, 512, t=1), free(1, t=2)],
           '9700 bytes from before the profile', '1 free, 300 bytes')
    expect('kineto: a free that is missing', kineto(memory(1, 512, 4096), memory(2, 1024, 4096)),
           [alloc(0, 512, t=1), free(0, t=2), alloc(1, 1024, t=2)], '1 free missing')
    expect('kineto: addresses of all 64 bits', kineto(
        memory(1, 8, 2**64 - 4096), memory(2, 16, 2**63), memory(3, -8, -4096)),
           [alloc(0, 8, t=1), alloc(1, 16, t=2), free(0, t=3)])
    oom = memory(5, 1 << 40, 0)
    oom['name'] = '[OutOfMemory]'
    expect('kineto: an out-of-memory at the end is an alloc', kineto(*plain, oom),
           [*wanted, alloc(1, 1 << 40, t=5)])
    expect('kineto: an earlier one is a mark', kineto(*plain, oom, memory(6, 8, 64)),
           [*wanted, mark('out of memory, 1099511627776 bytes', t=5), alloc(1, 8, t=6)])
    expect('kineto: unknown members anywhere', kineto(
        {'name': 'x'}, {}, *plain, deviceProperties=[], distributedInfo={'rank': 0}), wanted)

    event = '{"ph":"i","name":"[memory]","ts":1,"args":{"Bytes":1,"Addr":1,"Device Type":1,' \
            '"Device Id":0}}'
    for name, text, pattern in (
            ('no memory events', kineto(span('cpu_op', 'x', 0, 1)), 'profile_memory=True'),
            ('truncated', kineto(*plain)[:-30], r'in: byte \d+: truncated'),
            ('bytes after the end', kineto(*plain) + 'x', 'bytes after the end'),
            ('no args', '[{"ph":"i","name":"[memory]","ts":1}]', 'byte 1: member "args".*missing'),
            ('no Bytes', f'[{event.replace("Bytes", "bytes")}]', 'byte .*"Bytes".*missing'),
            ('no ts', f'[{event.replace("ts", "tz")}]', '"ts" is missing'),
            ('Bytes twice', f'[{event.replace("Addr", "Bytes")}]', '"Bytes" is specified more than once'),
            ('Bytes no integer', '[' + event.replace('"Bytes":1', '"Bytes":1.5') + ']',
             '"Bytes": an integer is required, not 1.5'),
            ('a device beyond all', f'[{event.replace(":0}", ":1024}")}]', '"Device Id"'),
            ('ts no number', f'[{event.replace(":1,", ":true,", 1)}]', '"ts": a number is required'),
            ('traceEvents no array', '{"traceEvents":{}}', 'an array is required'),
            ('traceEvents twice', '{"traceEvents":[],"traceEvents":[]}', 'more than once'),
            ('traceEvents missing', '{"schemaVersion":1}', '"traceEvents" is missing'),
            ('an event that is none', '[{"ph":"M"},3]', 'byte 12: an event'),
            ('a comma too many', f'[{event},]', 'an event'),
            ('deep nesting', '[{"ph":' + '[' * 100, 'nested deeper'),
            ('no UTF-8', b'[{"ph":"\xff"}]', 'invalid UTF-8')):
        refused('kineto: ' + name, text, pattern)


def test_timeline() -> None:
    """tests/formats/timeline has all else."""
    expect('timeline: a block and its end', '[[1500, 2, 512, 4], [2250, 4, -512, 4]]',
           [alloc(0, 512, t=1.5, tag='ACTIVATION'), free(0, t=2.25)])
    refused('timeline: no action', '[[1500, 9, 512, 4]]', 'byte 8: an action is 1')


# a buffer of 64 bytes, its allocation, and the simulation of the heap; tests/formats/hlo has all else
XLA = (b'\n\x08\n\x01m\x12\x01e\x1a\x00\x1a\x22' b'\n\x04\x08\x01\x10@'
       b'\x1a\x0a\x10@J\x06\x08\x01\x10\x00\x18@' b'\"\x0e\n\x04\x08\x00\x10\x01\n\x04\x08\x01\x10\x01\x10\x01')


def test_hlo() -> None:
    expect('hlo: an alloc and its free', XLA, [alloc(1, 64), free(1)])
    refused('hlo: a file that ends early', XLA[:-1], 'byte 10: a field that is longer than its message')


def test_rmm() -> None:
    plain = HEADER + ('1,10:00:00.000001,allocate,0x7f00,1000,0x0\n'
                      '1,10:00:00.000003,free,0x7f00,1000,0x0\n')
    wanted = [alloc(0, 1000, t=0, stream=0), free(0, t=2, stream=0)]
    expect('rmm: an allocate and its free', plain, wanted)
    expect('rmm: CRLF', plain.replace('\n', '\r\n'), wanted)
    expect('rmm: no last line end', plain[:-1], wanted)
    expect('rmm: a colon before the microseconds, as before 2021',
           plain.replace('00.00', '00:00'), wanted)
    expect('rmm: a stream without 0x, as since 2024', plain.replace(',0x0\n', ',0\n'), wanted)
    expect('rmm: the legacy stream is the null stream', plain.replace(',0x0\n', ',0x1\n'), wanted)
    expect('rmm: streams', plain.replace(',0x0\n', ',0x55aa\n'),
           [alloc(0, 1000, t=0, stream=0x55aa), free(0, t=2, stream=0x55aa)])
    failure = '1,10:00:01.000001,allocate failure,(nil),77,0x2\n'
    expect('rmm: a failure at the end is an alloc', plain + failure,
           [*wanted, alloc(1, 77, t=1000000)])
    expect('rmm: an earlier one is a mark', plain + failure + failure,
           [*wanted, mark('out of memory, 77 bytes', t=1000000), alloc(1, 77, t=1000000)])
    expect('rmm: midnight', HEADER + '1,23:59:59.999999,allocate,0x10,8,0\n'
           '2,00:00:00.000001,free,0x10,8,0\n3,23:59:59.000001,allocate,0x10,8,0\n'
           '4,00:00:00.000001,free,0x10,8,0\n',
           [alloc(0, 8, t=0, stream=0), free(0, t=2, stream=0),
            alloc(1, 8, t=86399000002, stream=0), free(1, t=86400000002, stream=0)])
    expect('rmm: blocks of no bytes have no address', HEADER +
           '1,10:00:00.000000,allocate,(nil),0,0\n1,10:00:00.000000,allocate,0x0,0,0\n'
           '1,10:00:00.000000,free,0x0,0,0\n1,10:00:00.000000,free,(nil),0,0\n'
           '1,10:00:00.000000,free,0x0,0,0\n',
           [alloc(0, 0, t=0, stream=0), alloc(1, 0, t=0, stream=0), free(1, t=0, stream=0),
            free(0, t=0, stream=0)], '1 free of the null address')
    expect('rmm: allocated before the log', HEADER + '1,10:00:00.000000,free,0x40,256,0\n',
           [alloc(0, 256, t=0), free(0, t=0, stream=0)], '1 free, 256 bytes in all')
    expect('rmm: a free that is missing', HEADER + '1,10:00:00.000000,allocate,0x40,1,0\n'
           '1,10:00:00.000000,allocate,0x40,2,0\n',
           [alloc(0, 1, t=0, stream=0), free(0, t=0, stream=0), alloc(1, 2, t=0, stream=0)],
           '1 free missing')
    row = '1,10:00:00.000001,allocate,0x7f00,1000,0x0'
    for name, text, pattern in (
            ('no rows', HEADER, 'no rows'),
            ('a longer header', HEADER[:-1] + ',More\n' + row, r'in:1:1: the header'),
            ('too few fields', HEADER + '1,2,3\n', r'in:2:1: 3 fields where 6'),
            ('too many fields', HEADER + row + ',\n', r'in:2:1: 7 fields'),
            ('a thread', HEADER + row.replace('1,', 'x,', 1), r'in:2:1: .*thread.*"x"'),
            ('a time', HEADER + row.replace('10:', '24:'), r'in:2:3: .*time'),
            ('a short time', HEADER + row.replace('.000001', '.1'), r'in:2:3: .*time'),
            ('a minute', HEADER + row.replace(':00:', ':60:'), r'in:2:3: .*time'),
            ('an action', HEADER + row.replace('allocate', 'Allocate'), r'in:2:19: "allocate"'),
            ('a pointer', HEADER + row.replace('0x7f00', '0x7g00'), r'in:2:28: a pointer'),
            ('a long pointer', HEADER + row.replace('0x7f00', '0x' + 'f' * 17), 'a pointer'),
            ('no pointer', HEADER + row.replace('0x7f00', ''), 'a pointer'),
            ('a size', HEADER + row.replace('1000', '-1'), r'in:2:35: a size.*"-1"'),
            ('a large size', HEADER + row.replace('1000', str(2**53)), 'a size'),
            ('a stream', HEADER + row.replace(',0x0', ',zero'), r'in:2:40: a stream')):
        refused('rmm: ' + name, text, pattern)


def test_minimalloc() -> None:
    wanted = [alloc(1, 4, t=0), alloc('b', 8, t=2), free(1, t=3), alloc(3, 16, t=3),
              free('b', t=5), free(3, t=9)]
    rows = '1,0,3,4\nb,2,5,8\n3,3,9,16\n'
    expect('minimalloc: frees go first', 'id,lower,upper,size\n' + rows, wanted)
    expect('minimalloc: other names', 'buffer_id,start,upper,size\n' + rows, wanted)
    expect('minimalloc: "end" is inclusive', 'buffer,begin,end,size\n1,0,2,4\nb,2,4,8\n3,3,8,16\n',
           wanted)
    expect('minimalloc: any order of columns, CRLF', 'size,upper,id,lower\r\n4,3,1,0\r\n8,5,b,2\r\n'
           '16,9,3,3\r\n', wanted)
    expect('minimalloc: an empty line ends it', 'id,lower,upper,size\n' + rows + '\nwhatever\n',
           wanted)
    expect('minimalloc: what a trace has no place for',
           'id,lower,upper,size,alignment,hint,gaps,offset\n1,0,3,4,8,-1,1-2,0\n',
           [alloc(1, 4, t=0), free(1, t=3)], 'alignments of 1 ', 'gaps of 1 ', '"offset"')
    expect('minimalloc: times below 0, and a life of no time', 'id,lower,upper,size\n1,-5,-5,4\n',
           [alloc(1, 4, t=-5), free(1, t=-5)])
    expect('minimalloc: 01 is no number', 'id,lower,upper,size\n01,0,1,4\n',
           [alloc('01', 4, t=0), free('01', t=1)])
    for name, text, pattern in (
            ('no rows', 'id,lower,upper,size\n', 'no rows'),
            ('a column twice', 'id,lower,upper,size,buffer\n1,2,3,4,5\n', r'in:1:21: .*"buffer".*more than once'),
            ('a column missing', 'id,lower,size\n1,2,3\n', r'in:1:1: column "upper" is missing'),
            ('a column unknown', 'id,lower,upper,size,colour\n', r'in:1:21: unknown column "colour"'),
            ('too few fields', 'id,lower,upper,size\n1,2,3\n', r'in:2:1: 3 fields, but 4 columns'),
            ('too many fields', 'id,lower,upper,size\n1,2,3,4,5\n', r'in:2:1: 5 fields'),
            ('a time', 'id,lower,upper,size\n1,2.5,3,4\n', r'in:2:3: a time.*"2.5"'),
            ('a size', 'id,lower,upper,size\n1,2,3,-4\n', r'in:2:7: a size.*"-4"'),
            ('an end before the beginning', 'id,lower,upper,size\n1,5,3,4\n', r'in:2:5: the end, 3'),
            ('no id', 'id,lower,upper,size\n,1,3,4\n', r'in:2:1: an empty id'),
            ('an id that is no text', b'id,lower,upper,size\n\xff,1,3,4\n', r'in:2:1: .*no text'),
            ('an id that is live', 'id,lower,upper,size\n1,0,3,4\n1,2,5,4\n',
             r'in: line 3: event 1: alloc of id 1, which is live since event 0')):
        refused('minimalloc: ' + name, text, pattern)


# Every op and every member; texts with all kinds of characters; times in many ways.
FULL = '''{"format":"fragsim-trace","version":1,"devices":[{"name":"a\\u00e9\\"b","total_bytes":6442450944,"context_bytes":7,"other_bytes":8,"granularity_bytes":1},{"total_bytes":0}],"meta":{"source": "x \\ud83d\\ude00", "n":[1,{}]}}
{"op":"alloc","id":1,"size":0}
{"op":"alloc","id":"1","size":9007199254740991,"stream":3,"pool":"p\\n","device":1,"t":12.5,"tag":"a\\"b\\\\\\u0001\\u00e9"}
{"op":"alloc","id":9007199254740991,"size":5,"stream":"","pool":9007199254740991,"t":1.25e1,"tag":""}
{"op":"record_stream","id":"1","stream":"side","t":-0.5}
{"op":"mark","name":"\\u0000","t":0.1}
{"op":"mark","name":"","t":-0}
{"op":"free","id":"1","pending":true,"t":4395452468149.796}
{"op":"free","id":9007199254740991,"pending":false,"t":1e300,"tag":"why"}
{"op":"complete","id":"1","t":100.0}
{"op":"sync","stream":"side","device":1}
{"op":"sync"}
{"op":"empty_cache","device":0}
{"op":"set_fraction","value":0.30000000000000004,"t":123456789012345.6}
{"op":"set_fraction","value":1}
{"op":"configure","value":"max_split_size_mb:128","t":0.000001}
{"op":"configure","value":""}
'''


def content(path: object) -> str:
    done = fragsim('run', '-q', '-p', 'direct', '--json', '-', path)
    return json.loads(done.stdout)['trace'].get('content') if done.stdout else done.stderr


def many_events() -> str:
    """More than two blocks of the binary form, with blocks that live across them."""
    lines = ['{"format":"fragsim-trace","version":1}']
    for i in range(40000):
        lines.append(f'{{"op":"alloc","id":{i},"size":{i * 7919 % 100000},"stream":{i % 3},'
                     f'"t":{i * 3},"tag":"tag {i % 50}"}}')
        if i >= 1000:
            lines.append(f'{{"op":"free","id":{i - 1000},"t":{i * 3 + 1}.5}}')
    return '\n'.join(lines) + '\n'


def test_round_trips() -> None:
    for title, text in (('every op and member', FULL), ('many events', many_events()),
                        ('no events', '{"format":"fragsim-trace","version":1,"events":[]}')):
        write('a.in', text)
        fragsim('trace', 'convert', 'a.in', 'a.ndjson')
        faults = []
        if title != 'no events' and Path('a.ndjson').read_bytes() != text.encode():
            faults.append('lines to lines differ')
        told = {content('a.in')}
        previous = 'a.in'
        if title == 'no events':        # the lines form cannot say that
            names = ['b.json', 'b.fsb', 'c.json']
        else:
            names = ['b.json', 'b.fsb', 'b.ndjson.gz', 'b.fsb.gz', 'b.json.zst', 'c.fsb',
                     'c.ndjson']
        for name in names:
            done = fragsim('trace', 'convert', '-q', previous, name)
            if done.returncode or done.stderr:
                faults.append(f'{previous} to {name}: {done.returncode} {done.stderr!r}')
            told.add(content(name))
            previous = name
        if title != 'no events' and Path('c.ndjson').read_bytes() != text.encode():
            faults.append('lines come back other than they went')
        if title != 'no events' and Path('b.fsb').read_bytes() != Path('c.fsb').read_bytes():
            faults.append('two binary files of one trace differ')
        if title == 'no events' and Path('b.json').read_bytes() != Path('c.json').read_bytes():
            faults.append('objects come back other than they went')
        if len(told) != 1:
            faults.append(f'content: {told}')
        report(f'there and back: {title}', faults)
    meta = {'from': [1, 'b']}
    late = json.dumps({'format': 'fragsim-trace', 'version': 1, 'device': {'total_bytes': 9},
                       'events': [alloc(1, 5)], 'meta': meta})
    head, got, told = events(late)
    faults = [] if (head.get('meta'), got, told) == (meta, [alloc(1, 5)], '') else [head, got, told]
    for name in ('late.fsb', 'late.json.gz', 'late.ndjson'):
        fragsim('trace', 'convert', 'in', name)
        if f'meta: {json.dumps(meta)}' not in fragsim('trace', 'info', name).stdout.decode():
            faults.append(f'{name} has lost it')
    head = json.loads(fragsim('trace', 'convert', '-', '-', stdin=late.encode()).stdout.splitlines()[0])
    if 'meta' in head:
        faults.append(f'of a pipe: {head}')
    report('a meta behind the events is kept, of a file', faults)
    gz = Path('b.ndjson.gz').read_bytes()
    report('gzip without a time and a name', [] if gz[3:8] == b'\0' * 5 else [gz[:12]])
    size = len(Path('c.fsb').read_bytes())
    small = len(gzip.compress(many_events().encode(), 9))
    report('the binary form is smaller than the lines with gzip',
           [] if size < small else [f'{size} and {small}'])
    with open('c.fsb', 'rb') as f:
        done = subprocess.run(f'cat | {PROGRAM} trace convert - -', shell=True, stdin=f,
                              capture_output=True, check=False)
    report('the binary form out of a pipe',
           [] if done.stdout.decode() == many_events() else [done.stderr])


def varint(data: bytes, at: int) -> tuple:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def blocks(data: bytes) -> list:
    assert data[:8] == b'\x8ffsb\r\n\x1a\n'
    at, found = 8, []
    while at < len(data):
        kind, index, size, packed, crc = struct.unpack_from('<4sIIII', data, at)
        stored = data[at + 20:at + 20 + packed]
        assert index == len(found) and zlib.crc32(data[at:at + 16] + stored) == crc
        payload = subprocess.run(['zstd', '-dcq'], input=stored, capture_output=True,
                                 check=True).stdout
        assert len(payload) == size
        found.append((kind, payload))
        at += 20 + packed
    return found


OPS = ('alloc free complete record_stream sync empty_cache set_fraction configure mark '
       'release_pool begin_pool end_pool').split()
MEMBERS = 'op id size stream t tag device pool pending value name'.split()


class Decoder:
    """Events of the binary form, as fragsim-binary(5) says."""

    def __init__(self) -> None:
        self.texts, self.shapes, self.events = [], [], []

    def take(self) -> int:
        value, self.at = varint(self.data, self.at)
        return value

    def block(self, data: bytes) -> None:
        self.data, self.at = data, 0
        count = self.take()
        lengths = [self.take() for _ in range(self.take())]
        for n in lengths:
            self.texts.append(data[self.at:self.at + n].decode())
            self.at += n
        for _ in range(self.take()):
            self.shapes.append([self.take() for _ in range(8)] + [0])
        self.unit, first, heads = 10 ** self.take(), self.take(), []
        for _ in range(6):
            heads.append((self.take(), self.take()))
        self.columns = []
        for width, n in heads:
            cells = data[self.at:self.at + n]
            self.columns.append([int.from_bytes(cells[i:i + width], 'little')
                                 for i in range(0, n, width)] if width else None)
            self.at += n
        assert self.at == len(data)
        self.last = first >> 1 ^ -(first & 1)
        for _ in range(count):
            self.event()
        assert not any(self.columns)

    def cell(self, which: int) -> int:
        column = self.columns[which]
        return column.pop(0) if column is not None else 0

    def double(self) -> float:
        return struct.unpack('<d', struct.pack('<Q', self.cell(5)))[0]

    def event(self) -> None:
        shape = self.shapes[self.cell(0)]
        op, members, time, texts, pending, stream, pool, device = shape[:8]
        has = {name for i, name in enumerate(MEMBERS) if members >> i & 1}
        event = {'op': OPS[op]}
        if op == 6:
            event['value'] = self.double()
        if texts & 8:
            event['name' if 'name' in has else 'value'] = self.texts[self.cell(4)]
        if 'id' in has:
            change = self.cell(1)
            shape[8] = shape[8] + (change >> 1 ^ -(change & 1)) & (1 << 64) - 1
            event['id'] = self.texts[shape[8]] if texts & 1 else shape[8]
        if 'size' in has:
            event['size'] = self.cell(2)
        if time == 1:
            change = self.cell(3)
            self.last += change >> 1 ^ -(change & 1)
            event['t'] = self.last / self.unit
        elif time:
            event['t'] = self.double()
            if time == 3:
                assert float(self.texts[self.cell(4)]) == event['t']
        if 'tag' in has:
            event['tag'] = self.texts[self.cell(4)]
        if 'stream' in has:
            event['stream'] = self.texts[stream] if texts & 2 else stream
        if 'pool' in has:
            event['pool'] = self.texts[pool] if texts & 4 else pool
        if 'device' in has:
            event['device'] = device
        if 'pending' in has:
            event['pending'] = bool(pending)
        self.events.append(event)


def test_binary() -> None:
    for title, text in (('every op and member', FULL), ('many events', many_events())):
        fragsim('trace', 'convert', write('a.in', text), 'a.fsb')
        found = blocks(Path('a.fsb').read_bytes())
        decoder, faults = Decoder(), []
        if [kind for kind, _ in found] != [b'HEAD'] + [b'EVTS'] * (len(found) - 2) + [b'DONE']:
            faults.append([kind for kind, _ in found])
        for kind, payload in found:
            if kind == b'EVTS':
                decoder.block(payload)
        wanted = [json.loads(line) for line in text.splitlines()[1:]]
        if varint(found[-1][1], 0)[0] != len(wanted):
            faults.append('the number of events at the end')
        if decoder.events != wanted:
            faults += [f'{a}, wanted {b}' for a, b in zip(decoder.events, wanted) if a != b]
            faults.append(f'{len(decoder.events)} events, wanted {len(wanted)}')
        report(f'fragsim-binary(5) decodes it: {title}', faults)


def block_of(places: list, at: int) -> int:
    return max(i for i, place in enumerate(places) if place <= at)


def test_damage() -> None:
    text = '\n'.join(FULL.splitlines()[:9]) + '\n'
    fragsim('trace', 'convert', write('a.in', text), 'a.fsb')
    data = Path('a.fsb').read_bytes()
    places, at = [], 8
    while at < len(data):
        places.append(at)
        at += 20 + struct.unpack_from('<I', data, at + 12)[0]
    faults = []
    for at in range(8, len(data), 37 if SAN else 3):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        done = fragsim('run', '-q', write('b.fsb', bytes(changed)))
        block = block_of(places, at)
        if done.returncode != 4 or f'block {block} at byte {places[block]}: ' not in \
                done.stderr.decode():
            faults.append(f'byte {at}: {done.returncode} {done.stderr!r}')
    report('damage is told with its block', faults)
    faults = []
    for at in range(9, len(data), 41 if SAN else 5):
        done = fragsim('run', '-q', write('b.fsb', data[:at]))
        if done.returncode != 4 or b'truncated' not in done.stderr:
            faults.append(f'{at} bytes: {done.returncode} {done.stderr!r}')
    report('a file that is cut short is told so', faults)
    refused('fsb: bytes after the end', data + b'x', f'byte {len(data)}: bytes after the last')
    refused('fsb: a block twice', data[:places[1]] + data[places[0]:], 'block 1 .* is numbered 0')

    def block(kind: bytes, index: int, payload: bytes) -> bytes:
        packed = subprocess.run(['zstd', '-qc'], input=payload, capture_output=True,
                                check=True).stdout
        head = struct.pack('<4sIII', kind, index, len(payload), len(packed))
        return head + struct.pack('<I', zlib.crc32(head + packed)) + packed

    magic, header = data[:8], b'\x02\x01\0\0\0\0\x01\0'
    good = [(b'HEAD', header), (b'DONE', b'\0')]
    shape = bytes([1, 0, 3, 0, 0, 0, 0, 0, 0])      # one, of alloc: op and id, no size
    one = b'\x01\0' + shape + b'\0\0'                # one event, no texts, no times

    def made(*list_: tuple) -> bytes:
        return magic + b''.join(block(k, i, p) for i, (k, p) in enumerate(list_))

    _, got, told = events(made(*good))
    report('fsb: made by hand, without events', [] if got == [] else [told])
    _, got, told = events(made(good[0], (b'noTE', b'anything'), good[1]))
    report('fsb: a block that may be passed over', [] if got == [] else [told])
    for name, text, pattern in (
            ('a kind that has to be known', made(good[0], (b'NEWS', b'x'), good[1]),
             'block 1 .*a kind, 0x5357454e'),
            ('a later version', made((b'HEAD', b'\x04' + header[1:]), good[1]), 'version 4'),
            ('no devices', made((b'HEAD', b'\x02\0\0'), good[1]), '0 devices'),
            ('no header', made((b'DONE', b'\0')), 'the header is expected'),
            ('two headers', made(good[0], good[0], good[1]), 'a second header'),
            ('meta that is no JSON', made((b'HEAD', header[:-1] + b'\x03{x'), good[1]), 'header'),
            ('another number of events', made(good[0], (b'DONE', b'\x01')), '1 event in all'),
            ('an event without its size', made(good[0], (b'EVTS', one + b'\0\0\x01\x01' + b'\0' * 8
                                                         + b'\x02'), (b'DONE', b'\x01')),
             '"size" is missing'),
            ('a column too long', made(good[0], (b'EVTS', b'\0\0\0\0\0\x01\x09' + b'\0' * 10),
                                       good[1]), 'column'),
            ('a column too wide', made(good[0], (b'EVTS', b'\0\0\0\0\0\x09\0' + b'\0' * 10),
                                       good[1]), 'column'),
            ('a shape that is not there', made(good[0], (b'EVTS', b'\x01\0\0\0\0\x01\x01' + b'\0' * 10
                                                         + b'\0'), (b'DONE', b'\x01')),
             'event 1 of it'),
            ('a text that is no UTF-8', made(good[0], (b'EVTS', b'\0\x01\x01\xff\0\0\0' + b'\0' * 12),
                                             good[1]), 'no UTF-8'),
            ('cells that nobody reads', made(good[0], (b'EVTS', one + b'\0\0\x01\x02' + b'\0' * 8
                                                       + b'\x02\x02'), (b'DONE', b'\x01')),
             'size')):
        refused('fsb: ' + name, text, pattern)


def test_convert() -> None:
    lines = ('{"op":"alloc","id":"x","size":1000,"stream":2,"t":5}\n'
             '{"op":"alloc","id":7,"size":24,"pool":1,"tag":"g"}\n{"op":"mark","name":"m"}\n'
             '{"op":"free","id":"x","t":86400000007}\n')
    write('a.ndjson', lines)
    done = fragsim('trace', 'convert', '--to', 'rmm', 'a.ndjson', '-')
    wanted = HEADER + ('0,00:00:00.000005,allocate,0x100,1000,0x2\n'
                       '0,00:00:00.000005,allocate,0x200,24,0x0\n'
                       '0,00:00:00.000007,free,0x100,1000,0x0\n')
    faults = [] if done.stdout.decode() == wanted else [done.stdout]
    for loss in ('2 names of blocks', '1 pool', '1 tag', '1 mark'):
        if loss not in done.stderr.decode():
            faults.append(f'{loss} not in {done.stderr!r}')
    report('to rmm', faults)
    done = fragsim('trace', 'convert', '-t', 'minimalloc', 'a.ndjson', '-')
    wanted = 'id,lower,upper,size\n1,0,3,1000\n2,1,4,24\n'
    faults = [] if done.stdout.decode() == wanted else [done.stdout]
    for loss in ('1 stream', '1 pool', '2 times', '1 tag', '1 mark'):
        if loss not in done.stderr.decode():
            faults.append(f'{loss} not in {done.stderr!r}')
    report('to minimalloc', faults)
    # longer than what is read or written at once
    write('place.ndjson', ''.join(f'{{"op":"alloc","id":{i},"size":{i % 999}}}\n'
                                  for i in range(40000)))
    fragsim('trace', 'convert', 'place.ndjson', 'other.ndjson')
    done = fragsim('trace', 'convert', 'place.ndjson', 'place.ndjson')
    report('a trace in its own place', [] if not done.stderr and done.returncode == 0 and Path(
        'place.ndjson').read_bytes() == Path('other.ndjson').read_bytes() else [done.stderr])
    for form in ('rmm', 'minimalloc'):
        # the first time, times begin at 0, and steps lose what is no alloc and no free
        fragsim('trace', 'convert', '-q', '-t', form, 'a.ndjson', 'a.csv')
        fragsim('trace', 'convert', '-q', '-t', form, 'a.csv', 'b.csv')
        first = Path('b.csv').read_bytes()
        done = fragsim('trace', 'convert', '-t', form, 'b.csv', 'c.csv')
        report(f'{form} there and back', [] if Path('c.csv').read_bytes() == first else [done.stderr])
    faults = []
    write('two', '{"format":"fragsim-trace","version":1,"devices":[{},{}]}\n{"op":"sync"}\n')
    for args, status, pattern in (
            (('a.ndjson', 'x.csv'), 2, r'x.csv: no format .*--to'),
            (('a.ndjson',), 2, 'IN and OUT'), (('a', 'b', 'c'), 2, 'too many'),
            (('--to', 'xml', 'a.ndjson', 'x'), 2, '--to xml: use lines'),
            (('--to', 'rmm', 'two', 'x.csv'), 2, r'two: .*one device.* 2'),
            (('nowhere', 'x.json'), 4, 'nowhere: No such file'),
            (('a.ndjson', 'no/x.json'), 6, 'no/x.json')):
        done = fragsim('trace', 'convert', *args)
        if done.returncode != status or not re.search(pattern, done.stderr.decode()):
            faults.append(f'{args}: {done.returncode} {done.stderr!r}')
        if Path('x.csv').exists() or Path('x.json').exists():
            faults.append(f'{args}: left a file')
    report('wrong usage', faults)
    write('bad', lines + '{"op":"free","id":99}\n')
    done = fragsim('trace', 'convert', 'bad', 'x.json')
    report('a bad trace leaves no file', [] if done.returncode == 4 and not Path('x.json').exists()
           else [done])
    done = fragsim('trace', 'convert', '--lenient', 'bad', '-')
    report('--lenient leaves the event out', [] if done.stdout.decode().endswith(lines)
           and b'left out 1 event' in done.stderr else [done])


def bins(values: list) -> list:
    """Of (value, bytes): a line for each power of two."""
    found = {}
    for value, size in values:
        first = 1 << value.bit_length() - 1 if value else 0
        blocks, size_sum = found.get(first, (0, 0))
        found[first] = blocks + 1, size_sum + size
    return [{'from': k, 'blocks': n, 'bytes': b} for k, (n, b) in sorted(found.items())]


def survey(list_: list) -> dict:
    """What info should say, of a trace of one device without pending frees."""
    ops, live, lives, peak, times, now = {}, {}, [], (0, 0, 0), [], 0
    for step, event in enumerate(list_):
        ops[event['op']] = ops.get(event['op'], 0) + 1
        if 't' in event:
            times.append(event['t'])
        if event['op'] == 'alloc':
            live[event['id']] = step, event['size']
            now += event['size']
            peak = max(peak, (now, len(live), step), key=lambda p: p[0])
        elif event['op'] == 'free':
            birth, size = live.pop(event['id'])
            now -= size
            lives.append((step - birth, size))
    sizes = [e['size'] for e in list_ if e['op'] == 'alloc']
    return {'events': len(list_), 'left_out': 0, 'ops': {op: ops.get(op, 0) for op in OPS},
            'different_sizes': len(set(sizes)), 'times': len(times),
            'duration': times[-1] - times[0] if times else None,
            'sizes': bins([(s, s) for s in sizes]), 'lives': bins(lives),
            'never_freed': len(live), 'freed_at_once': sum(n == 1 for n, _ in lives),
            'of_no_bytes': sizes.count(0),
            'times_backwards': sum(b < a for a, b in zip(times, times[1:])),
            'marks': [{'step': i, 'name': e['name']} for i, e in enumerate(list_)
                      if e['op'] == 'mark'][:10],
            'peak': dict(zip(('peak_live_bytes', 'peak_live_blocks', 'peak_step'), peak))}


def test_info() -> None:
    odd = [alloc('a', 0, t=5), alloc(2, 1, t=4), free('a', t=4), free(2, t=9.5), alloc(2, 3),
           alloc(3, 1023), mark('here'), free(3), alloc(4, 1024), free(4)]
    traces = [('odd', '\n'.join(map(json.dumps, odd))), ('nothing', '{"op":"sync"}')]
    recorded = os.path.join(os.environ.get('TRACES', ''), 'moe_train_dispatch.ndjson.gz')
    if os.path.exists(recorded):
        traces.append(('recorded', gzip.open(recorded, 'rt').read()))
    for name, text in traces:
        done = fragsim('trace', 'info', '-q', '--json', '-', write('a.ndjson', text))
        got = json.loads(done.stdout)
        list_ = [json.loads(line) for line in text.splitlines()]
        wanted = survey([e for e in list_ if 'op' in e])
        peak = wanted.pop('peak')
        faults = [f'{k}: {got.get(k)}, wanted {v}' for k, v in wanted.items() if got.get(k) != v]
        faults += [f'{k}: {got["devices"][0][k]}, wanted {v}' for k, v in peak.items()
                   if got['devices'][0][k] != v]
        if got['content'] != content('a.ndjson'):
            faults.append('content')
        report(f'info: {name}', faults)
    text = FULL.replace('"t":-0.5', '"t":12.5')
    got = json.loads(fragsim('trace', 'info', '-q', '--json', '-', write('a.ndjson', text)).stdout)
    faults = [f'{k}: {got[k]}' for k, v in (('streams', 3), ('pools', 3), ('waiting_frees', 1),
                                            ('meta', json.loads(text.splitlines()[0])['meta']))
              if got[k] != v]
    if [d['allocs'] for d in got['devices']] != [2, 1] or got['devices'][0]['context_bytes'] != 7:
        faults.append(got['devices'])
    report('info: streams, pools, devices, meta', faults)
    # in the unit that a person would take, three digits of it
    faults = []
    for first, last, words in ((0, 9, '9.00 us'), (1, 1.012, '12 ns'), (5, 2500005, '2.50 s'),
                               (12.5, 1012.5, '1.00 ms'), (7, 7, '0 ns'), (9, 0, '-9.00 us'),
                               (0, 3.6e9, '3600 s'), (0, 1e300, '1e+294 s')):
        text = '\n'.join(json.dumps({'op': 'sync', 't': t}) for t in (first, last))
        got = fragsim('trace', 'info', '-q', write('a.ndjson', text)).stdout.decode()
        if f'\ntime: {words} from the first to the last of 2 times\n' not in got:
            faults.append(f'{first} to {last}: {got}')
    report('info: the time that a trace takes', faults)
    done = fragsim('trace', 'info', write('bad', '{"op":"alloc","id":1}\n'))
    report('info: a bad trace', [] if done.returncode == 4 and not done.stdout else [done])


COLUMNS = 'op id size requested allocated active blocks'.split()


def rows(path: str) -> list:
    """What depends on the trace alone: under direct each block has a segment of its own."""
    done = fragsim('run', '-q', '-p', 'direct', '--steps', 'rows.ndjson', path)
    assert done.returncode == 0, done.stderr
    return [[row['step'], *(row[c] for c in COLUMNS)] for row in
            map(json.loads, Path('rows.ndjson').read_text().splitlines())]


PENDING = [
    alloc(1, 10, stream=1), alloc(2, 20, stream=1), alloc(3, 30, stream=1), alloc(4, 40),
    {'op': 'record_stream', 'id': 1, 'stream': 2}, {'op': 'record_stream', 'id': 1, 'stream': 3},
    {'op': 'record_stream', 'id': 2, 'stream': 'x'}, free(1), free(2, pending=True), alloc(1, 11),
    {'op': 'sync', 'stream': 2}, free(4), free(1, pending=True), alloc(1, 12),
    {'op': 'sync', 'stream': 'x'}, {'op': 'sync', 'stream': 3}, {'op': 'complete', 'id': 2},
    {'op': 'complete', 'id': 1}, free(3), free(1)]


def test_slice() -> None:
    write('pending.ndjson', '\n'.join(map(json.dumps, PENDING)))
    write('random.ndjson', fragsim('trace', 'gen', 'random', '--events', 3000, '--live', 60, '--streams', 4,
                                   '--shared', 30).stdout)
    for name, cuts in (('pending', [(a, b) for a in range(20) for b in range(a + 1, 21, 3)]),
                       ('random', [(0, 10), (1, 3000), (777, 1500), (2500, 2501), (2999, 9999)])):
        whole, faults = rows(f'{name}.ndjson'), []
        for first, last in cuts if not SAN else cuts[::11]:
            done = fragsim('trace', 'slice', '--from-step', first, '--to-step', last, f'{name}.ndjson',
                           'cut.ndjson')
            if done.returncode or done.stderr:
                faults.append(f'{first} to {last}: {done.stderr!r}')
                continue
            wanted = [row[1:] for row in whole if first <= row[0] < last]
            got = [row[1:] for row in rows('cut.ndjson')]
            if got[-len(wanted):] != wanted:
                faults.append(f'{first} to {last}: {got}, wanted {wanted}')
        report(f'slice: every step as in the whole trace: {name}', faults)
    list_ = [{'op': 'set_fraction', 'value': 0.5}, {'op': 'set_fraction', 'value': 0.75},
             {'op': 'configure', 'value': 'c'}, alloc('a', 1, t=1.5, tag='g', pool=2),
             alloc('b', 2, device=1), mark('m', t=7), alloc('c', 3, t=8), mark('m', t=8.5),
             {'op': 'sync', 't': 9}, free('b', device=1, t=10), mark('n')]
    text = '{"format":"fragsim-trace","version":1,"devices":[{"name":"x"},{"name":"y"}]}\n' + \
        '\n'.join(map(json.dumps, list_))
    write('a.ndjson', text)

    def sliced(name: str, args: str, wanted: list, header: str = '') -> None:
        done = fragsim('trace', 'slice', *args.split(), 'a.ndjson', '-')
        got = [json.loads(line) for line in done.stdout.splitlines()]
        faults = [] if got[1:] == wanted else [f'{got[1:]}, wanted {wanted}', done.stderr]
        if header and json.dumps(header) not in done.stdout.decode():
            faults.append(got[0])
        report('slice: ' + name, faults)

    carried = [{**list_[1], 't': 7}, {**list_[2], 't': 7}, {**list_[3], 't': 7},
               {**list_[4], 't': 7}]
    sliced('marks', '--from-mark m --to-mark m', [*carried, *list_[5:7]])
    sliced('times', '--from-time 7 --to-time 8.5', [*carried, *list_[5:7]])
    sliced('all', '', list_)
    sliced('from the first step', '--from-step 0 --to-step 2', list_[:2])
    sliced('a device', '--only-device 1 --from-step 5',
           [carried[0], carried[1], {'op': 'alloc', 'id': 'b', 'size': 2, 't': 7}, list_[5],
            list_[7], list_[8], {'op': 'free', 'id': 'b', 't': 10}, list_[10]], 'y')
    faults = []
    for args, pattern in (
            ('--from-mark z', 'from-mark: no mark "z"'), ('--to-mark m --from-step 8', 'after'),
            ('--from-step 11', 'from-step 11'), ('--from-time 11', 'from-time 11'),
            ('--from-time x', 'a time in'), ('--from-step -1', 'a number'),
            ('--from-step 1 --from-mark m', 'two beginnings: one of --from-step, '),
            ('--only-device 2', 'has 2 devices, numbered from 0'),
            ('--from-step 5 --to-step 5', 'to-step 5 is not after --from-step 5'),
            ('--to-step 0 --from-step 3', 'to-step 0 is not after --from-step 3'),
            ('--from-time 8 --to-time 7.5', 'to-time 7.5 is not after --from-time 8')):
        done = fragsim('trace', 'slice', *args.split(), 'a.ndjson', 'x.json')
        if done.returncode != 2 or not re.search(pattern, done.stderr.decode()) or \
                Path('x.json').exists():
            faults.append(f'{args}: {done.returncode} {done.stderr!r}')
    report('slice: wrong usage', faults)

    list_ = [alloc(1, 5, pool='p'), alloc(2, 6, device=1, pool='p'),
             {'op': 'release_pool', 'pool': 'p'}, {'op': 'release_pool', 'pool': 'p', 'device': 1},
             {'op': 'release_pool', 'pool': 'p'}, mark('m'), free(1), free(2)]
    write('a.ndjson', '{"format":"fragsim-trace","version":1,"devices":[{},{}]}\n'
          + '\n'.join(map(json.dumps, list_)))
    sliced('pools that were released, once each, behind their blocks', '--from-mark m',
           [*list_[:4], *list_[5:]])
    sliced('each by its device', '--from-mark m --only-device 1',
           [alloc(2, 6, pool='p'), {'op': 'release_pool', 'pool': 'p'}, mark('m'), free(2)])


def test_anonymize() -> None:
    write('a.ndjson', FULL)
    done = fragsim('trace', 'anonymize', '-q', 'a.ndjson', 'b.ndjson')
    text = Path('b.ndjson').read_text()
    got = [json.loads(line) for line in text.splitlines()]
    wanted = [json.loads(line) for line in FULL.splitlines()]
    del wanted[0]['meta'], wanted[0]['devices'][0]['name']
    words = {}
    for event in wanted[1:]:
        for key, kind in (('tag', 'tag'), ('id', 'id'), ('stream', 'stream'), ('pool', 'pool'),
                          ('name', 'mark')):
            if isinstance(event.get(key), str):
                known = words.setdefault(kind, {})
                event[key] = f'{kind} {known.setdefault(event[key], len(known) + 1)}'
    faults = [f'{a}, wanted {b}' for a, b in zip(got, wanted) if a != b]
    report('anonymize', faults if len(got) == len(wanted) else [done.stderr, text])
    faults = []
    for policy in ('bestfit', 'pytorch'):
        fragsim('run', '-q', '-p', policy, '--placements', 'p1', 'a.ndjson')
        fragsim('run', '-q', '-p', policy, '--placements', 'p2', 'b.ndjson')
        keys = ('step', 'device', 'segment', 'offset', 'bytes')
        first, second = ([[json.loads(line).get(key) for key in keys]
                          for line in Path(p).read_text().splitlines()] for p in ('p1', 'p2'))
        if first != second or not first:
            faults.append(policy)
    report('anonymize: every policy does the same', faults)


def test_merge() -> None:
    write('pending.ndjson', '\n'.join(map(json.dumps, PENDING)))
    write('random.ndjson', fragsim('trace', 'gen', 'random', '--events', 500, '--live', 60, '--streams', 4,
                                   '--shared', 30).stdout)
    write('two.ndjson', '{"format":"fragsim-trace","version":1,"devices":[{"name":"a"},{}]}\n' +
          '\n'.join(map(json.dumps, [
              alloc('x', 5, t=1), alloc(2**53 - 1, 7, device=1, t=2), {'op': 'empty_cache', 't': 9},
              free('x', t=10), free(2**53 - 1), {'op': 'mark', 'name': 'm', 'device': 1}])))
    done = fragsim('trace', 'merge', 'two.ndjson', 'pending.ndjson', 'random.ndjson', 'all.fsb')
    faults = [done.stderr] if done.returncode or done.stderr else []
    # each rank's rows are what they are alone; those for all devices are one a device already
    rows('all.fsb')
    merged = [json.loads(line) for line in Path('rows.ndjson').read_text().splitlines()]
    first = 0
    for name, devices in (('two', 2), ('pending', 1), ('random', 1)):
        rows(f'{name}.ndjson')
        alone = [json.loads(line) for line in Path('rows.ndjson').read_text().splitlines()]
        columns = [c for c in COLUMNS if c != 'id']
        for d in range(devices):
            one = [[row[c] for c in columns] for row in alone if row['device'] == d]
            two = [[row[c] for c in columns] for row in merged if row['device'] == first + d]
            if one != two or not one:
                faults.append(f'{name}, device {d}: {two}, wanted {one}')
        first += devices
    report('merge: every device as in its own trace', faults)
    got = [json.loads(line) for line in fragsim('trace', 'merge', 'two.ndjson', 'two.ndjson', '-')
           .stdout.splitlines()]
    wanted = [alloc('0:x', 5, device=0, t=1), alloc('1:x', 5, device=2, t=1),
              alloc(f'0#{2**53 - 1}', 7, device=1, t=2), alloc(f'1#{2**53 - 1}', 7, device=3, t=2),
              *({'op': 'empty_cache', 'device': d, 't': 9} for d in range(4)),
              *(event for r in (0, 1) for event in (
                  free(f'{r}:x', device=2 * r, t=10), free(f'{r}#{2**53 - 1}', device=2 * r + 1),
                  {'op': 'mark', 'name': 'm', 'device': 2 * r + 1}))]
    report('merge: times, ids, devices', [] if got[1:] == wanted else
           [f'{a}, wanted {b}' for a, b in zip(got[1:], wanted) if a != b])
    faults = []
    for args, status, pattern in (('x.json', 2, 'are required'), ('-t rmm a.ndjson x', 2, 'one device'),
                                  ('two.ndjson nowhere x.json', 4, 'nowhere')):
        done = fragsim('trace', 'merge', *args.split())
        if done.returncode != status or not re.search(pattern, done.stderr.decode()):
            faults.append(f'{args}: {done.returncode} {done.stderr!r}')
    report('merge: wrong usage', faults)


def test_merge_order() -> None:
    """Many ranks with times that are equal, missing and backward: of all, the least is next."""
    draw, ranks = random.Random(3), []
    for rank in range(41):
        t, mine = 0.0, []
        for number in range(draw.randrange(1, 60)):
            t += draw.choice((0, 0, 0.5, 1, 2, -1))
            mine.append(alloc(number, 1) if draw.random() < 0.3 else alloc(number, 1, t=t))
        write(f'rank{rank}.ndjson', '\n'.join(map(json.dumps, mine)))
        ranks.append(mine)
    wanted, at, now = [], [0] * len(ranks), [-math.inf] * len(ranks)
    for _ in range(sum(map(len, ranks))):
        left = [r for r, mine in enumerate(ranks) if at[r] < len(mine)]
        for r in left:
            now[r] = ranks[r][at[r]].get('t', now[r])
        first = min(left, key=lambda r: now[r])
        wanted.append(ranks[first][at[first]]['id'] * len(ranks) + first)
        at[first] += 1
    done = fragsim('trace', 'merge', '-q', *(f'rank{r}.ndjson' for r in range(len(ranks))), '-')
    got = [json.loads(line)['id'] for line in done.stdout.splitlines()[1:]]
    report('merge: of many ranks, the order', [] if got == wanted else [f'{got}, wanted {wanted}'])


def fails(policy: str, path: object) -> bool:
    done = fragsim('run', '-q', '-p', policy, path)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode == 3


def test_shrink() -> None:
    write('random.ndjson', fragsim('trace', 'gen', 'random', '--events', 400, '--live', 40, '--streams', 2,
                                   '--shared', 20, '--min-size', '100KiB', '--max-size', '2MiB').stdout)
    for policy, device in (('bestfit', '12MiB'), ('buddy', '12MiB'), ('pytorch', '24MiB')):
        done = fragsim('trace', 'shrink', '--keep', 'oom', '-p', policy, '--device-bytes', device,
                       'random.ndjson', 'least.ndjson')
        if done.returncode or done.stderr:
            report(f'shrink: {policy}', [done.stderr])
            continue
        lines = Path('least.ndjson').read_text().splitlines()
        list_ = [json.loads(line) for line in lines[1:]]
        original = set(Path('random.ndjson').read_text().splitlines()[1:])
        faults = [] if fails(policy, 'least.ndjson') else ['no out-of-memory']
        faults += [f'{line} is new' for line in lines[1:] if line not in original]
        # ids of gen random are used once: a block is all the events of its id
        parts = {event.get('id', -1 - i) for i, event in enumerate(list_)}
        for part in sorted(parts):
            rest = [line for i, (line, event) in enumerate(zip(lines[1:], list_))
                    if event.get('id', -1 - i) != part]
            text = lines[0][:-1] + ',"events":[' + ','.join(rest) + ']}'
            if fails(policy, write('rest.json', text)):
                faults.append(f'{part} is not needed')
        report(f'shrink: nothing is left that could go: {policy}, {len(list_)} of 400', faults)
    faults = []
    for args, status, pattern in (
            ('random.ndjson x.json', 2, 'no out-of-memory under bestfit'),
            ('--keep all random.ndjson x.json', 2, '--keep all: use oom'),
            ('--tries x random.ndjson x.json', 2, 'a number'),
            ('-p none random.ndjson x.json', 2, 'none'),
            ('-t rmm random.ndjson x.json', 2, 'lines, object or fsb'),
            ('--time soon random.ndjson x.json', 2, '--time'),
            ('--device-bytes 12MiB --tries 3 random.ndjson -', 0,
             'ended after 3 simulations of [0-9]+ events .*a larger --tries ')):
        done = fragsim('trace', 'shrink', *args.split())
        if done.returncode != status or not re.search(pattern, done.stderr.decode()):
            faults.append(f'{args}: {done.returncode} {done.stderr!r}')
    report('shrink: wrong usage, and few tries', faults)


def test_shrink_time() -> None:
    """All blocks are needed, so that 16,000 simulations of as many events would be made."""
    count, size = 16000, 2 << 20
    blocks = [{'op': 'alloc', 'id': i, 'size': size} for i in range(count)]
    write('all.ndjson', '\n'.join(json.dumps(line) for line in [
        {'format': 'fragsim-trace', 'version': 1, 'device': {'total_bytes': (count - 1) * size}},
        {'op': 'mark', 'name': 'goes'}, *blocks, {'op': 'free', 'id': 0}]))
    done = fragsim('trace', 'shrink', '--time', 1, 'all.ndjson', 'least.ndjson')
    left = Path('least.ndjson').read_text().splitlines()
    faults = [] if fails('bestfit', 'least.ndjson') else ['no out-of-memory']
    if done.returncode or b'a larger --time continues' not in done.stderr:
        faults.append(f'{done.returncode} {done.stderr!r}')
    # the header, and all blocks but none of the other events
    if len(left) != 1 + count:
        faults.append(f'{len(left)} lines')
    report('shrink: the time is over, and the smallest trace so far is written', faults)


def main() -> int:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        test_kineto()
        test_timeline()
        test_hlo()
        test_rmm()
        test_minimalloc()
        test_round_trips()
        test_binary()
        test_damage()
        test_convert()
        test_info()
        test_slice()
        test_anonymize()
        test_merge()
        test_merge_order()
        test_shrink()
        test_shrink_time()
    finally:
        os.chdir('/')
        shutil.rmtree(folder)
    return TAP.finish()


sys.exit(main())
