"""sameness.py - what must not make a difference: form, compression, threads, company, length."""

import gzip
import json
import shutil
import subprocess
from pathlib import Path

from harness import (HEADER, SAN, TRACES, Skip, cases, ended, equal, feed, run, started, test,
                     write)

POLICIES = ('bestfit', 'firstfit', 'nextfit', 'worstfit', 'buddy', 'sizeclass',
            'tlsf', 'direct', 'bfc', 'plan', 'pytorch', 'compact', 'bestfit:align=256,segment=20MiB')
EVENTS = [
    '{"op":"mark","name":"be\\u0067in","t":1.5}',
    '{"op":"alloc","id":1,"size":"2MiB","tag":"a \\"tag\\"","t":2}',
    '{"op":"alloc","id":"0x7f","size":3000,"stream":"copy","device":1}',
    '{"op":"alloc","id":2,"size":0,"pool":"graph"}',
    '{"op":"record_stream","id":"0x7f","stream":3}',
    '{"op":"free","id":"0x7f"}',
    '{"op":"free","id":1,"pending":true}',
    '{"op":"set_fraction","value":0.5}',
    '{"op":"configure","value":"x:1"}',
    '{"op":"sync","device":1}',
    '{"op":"complete","id":1}',
    '{"op":"empty_cache"}',
]
DEVICES = '"devices":[{"name":"a","total_bytes":"1GiB"},{}]'
HEAD = '"format":"fragsim-trace","version":1'
LINES = f'{{{HEAD},{DEVICES}}}\n' + '\n'.join(EVENTS) + '\n'
OBJECT = f'{{{HEAD},{DEVICES},"events":[{",".join(EVENTS)}]}}'


def swapped(event: str) -> str:
    """The same event, its members the other way round."""
    members = list(json.loads(event).items())
    return json.dumps(dict(reversed(members)))


def zstd(data: bytes) -> bytes:
    if not shutil.which('zstd'):
        raise Skip('needs the zstd command')
    return subprocess.run(['zstd', '-qc'], input=data, capture_output=True, check=True).stdout


FORMS = {
    'lines': lambda: LINES.encode(),
    'lines without the last end': lambda: LINES.rstrip().encode(),
    'lines with CRLF and blank lines': lambda: LINES.replace('\n', '\r\n\r\n').encode(),
    'an object': lambda: OBJECT.encode(),
    'an object over many lines':
        lambda: json.dumps(json.loads(OBJECT), indent=4).encode(),
    'an object with its events first':
        lambda: f'{{"events":[{",".join(EVENTS)}],{DEVICES},{HEAD}}}'.encode(),
    'members in another order': lambda: (f'{{{DEVICES},{HEAD}}}\n' + '\n'.join(
        map(swapped, EVENTS))).encode(),
    'gzip': lambda: gzip.compress(LINES.encode()),
    'gzip of an object': lambda: gzip.compress(OBJECT.encode()),
    'gzip in three members': lambda: b''.join(
        gzip.compress(part) for part in (LINES[:70].encode(), b'', LINES[70:].encode())),
    'zstd': lambda: zstd(LINES.encode()),
    'zstd in two frames': lambda: zstd(LINES[:90].encode()) + zstd(LINES[90:].encode()),
}


def result_of(folder: Path, *args, **how) -> tuple:
    """The result but for the trace's path, the rows and the placements."""
    out = run(folder, 'run', '-q', '-p', 'bestfit', '-p', 'sizeclass', '--json', 'r.json',
              '--steps', 's.csv', '--placements', 'p.ndjson', *args, **how)
    equal((out.status, out.err), (0, b''), 'status and errors')
    result = json.loads((folder / 'r.json').read_text(encoding='ascii'))
    del result['trace']['path']
    return result, (folder / 's.csv').read_bytes(), (folder / 'p.ndjson').read_bytes()


@cases(*FORMS)
def forms(folder, name):
    """one trace, whatever its form, and whether it is a file, standard input or a pipe"""
    write(folder, wanted=LINES)
    data = FORMS[name]()
    (folder / 'misleading.csv').write_bytes(data)
    wanted = result_of(folder, 'wanted.ndjson')
    equal(wanted[0]['trace']['events'], len(EVENTS), 'events')
    equal(result_of(folder, 'misleading.csv'), wanted, 'what comes of a file')
    with open(folder / 'misleading.csv', 'rb') as file:
        equal(result_of(folder, '-', stdin=file), wanted, 'what comes of standard input')
    if name != 'an object with its events first':
        equal(result_of(folder, '-', input=data), wanted, 'what comes of a pipe')
        return
    out = run(folder, 'run', '-', input=data)
    equal(out.status, 4, 'status of a pipe')
    assert 'events' in out.lines[0], out.err


@test
def other_events(folder):
    """content tells traces apart by one size, one tag, one time or the order"""
    seen = {}
    for name, old, new in (('same', 'x', 'x'), ('size', '3000', '3001'), ('tag', 'tag\\', 'tug\\'),
                           ('time', '"t":2', '"t":3'), ('id', '"0x7f"', '"0x7e"'),
                           ('op', '"op":"empty_cache"', '"op":"mark","name":"x"'),
                           ('pending', ',"pending":true', ''), ('mark', 'be\\', 'bu\\')):
        text = LINES.replace(old, new)
        if name == 'pending':
            text = text.replace('{"op":"complete","id":1}\n', '')
        write(folder, it=text)
        content = result_of(folder, 'it.ndjson')[0]['trace']['content']
        assert content not in seen, f'{name} has the content of {seen.get(content)}'
        seen[content] = name


def outputs_of(folder: Path, trace, *args) -> dict:
    """All bytes that a run makes."""
    out = run(folder, 'run', '--steps', 's.csv', '--placements', 'p.ndjson', '--json', 'r.json',
              '--device-bytes', '3GiB', '--on-oom', 'continue', *args, trace)
    assert out.status in (0, 3) and out.err == b'', out
    files = {name: (folder / name).read_bytes() for name in ('s.csv', 'p.ndjson', 'r.json')}
    return files | {'report': out.out, 'status': out.status}


def same(got: dict, wanted: dict, what: str) -> None:
    for key, value in wanted.items():
        assert got[key] == value, f'{what}: {key} differs'


@test
def determinism(folder):
    """the same bytes twice, and whatever the number of threads"""
    trace = TRACES / 'resnet50_train_bs32_fp32.ndjson.gz'
    chosen = [word for name in POLICIES for word in ('-p', name)]
    wanted = outputs_of(folder, trace, *chosen, '--threads', '1')
    same(outputs_of(folder, trace, *chosen, '--threads', '1'), wanted, 'a second time')
    for threads in ('2', '7', '100', '0'):
        same(outputs_of(folder, trace, *chosen, '--threads', threads), wanted, f'{threads} threads')
    same(outputs_of(folder, trace, *chosen), wanted, 'without --threads')


@test
def company(folder):
    """a policy does alone what it does beside others"""
    trace = TRACES / 'resnet50_train_bs32_fp32.ndjson.gz'
    together = outputs_of(folder, trace, *[word for name in POLICIES for word in ('-p', name)])
    header, *rows = together['s.csv'].decode().splitlines(keepends=True)
    runs = json.loads(together['r.json'])['runs']
    equal(len(runs), len(POLICIES), 'number of runs')
    steps, placements = '', ''
    for name, one in zip(POLICIES, runs):
        alone = outputs_of(folder, trace, '-p', name)
        equal(json.loads(alone['r.json'])['runs'], [one], f'run of {name}')
        first, *more = alone['s.csv'].decode().splitlines(keepends=True)
        equal(header, 'policy,' + first, 'header')
        # a name with commas is quoted as RFC 4180 requires it
        quoted = f'"{name}"' if ',' in name else name
        steps += ''.join(f'{quoted},{row}' for row in more)
        placements += ''.join(f'{{"policy":"{name}",{line[1:]}\n'
                              for line in alone['p.ndjson'].decode().splitlines())
    equal(''.join(rows) == steps, True, 'the rows being the same')
    equal(together['p.ndjson'].decode() == placements, True, 'the placements being the same')


def peak_of(folder: Path, events: int) -> int:
    """The most KiB that a run over a pipe of this many events has held, live blocks constant."""
    with started(folder, 'run', '-q', '-p', 'bestfit', '-p', 'sizeclass', '--json', 'r.json',
                 '-') as process:
        process.stdin.write(HEADER.encode() % b'')
        for first in range(0, events, 20000):
            # ids and tags never come again; 2,000 blocks live
            process.stdin.write(''.join(
                f'{{"op":"alloc","id":{i},"size":{512 + i * 7919 % 65536},"t":{i},"tag":"t{i}"}}\n'
                + (f'{{"op":"free","id":{i - 2000}}}\n' if i >= 2000 else '')
                for i in range(first // 2, first // 2 + 10000)).encode())
        feed(process, '')
        status = Path(f'/proc/{process.pid}/status').read_text(encoding='ascii')
        equal(ended(process).status, 0, 'status')
    return int(status.split('VmHWM:')[1].split()[0])


@test
def memory(folder):
    """memory does not grow with the number of events"""
    if SAN:
        raise Skip('a sanitizer keeps what was freed')
    short, long = peak_of(folder, 200_000), peak_of(folder, 2_000_000)
    assert long < 64 * 1024, f'{long} KiB at most'
    assert long - short < 1024, f'{short} KiB at most, then {long} KiB'
