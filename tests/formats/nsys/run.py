"""run.py - the database that Nsight Systems exports, as a trace.

    run.py PROGRAM

Prints TAP.  What a database of databases.py means is written out by hand, event by event; beside.py
tests one beside a snapshot.
"""

import gzip
import json
import os
import re
import resource
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
import beside  # noqa: E402
from databases import EVENTS, SCHEMA, TID, call, database, event, gpid, span  # noqa: E402
from program import SAN, fragsim  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
report = TAP.result

def alloc(id_: object, size: int, t: float, **more: object) -> dict:
    return {'op': 'alloc', 'id': id_, 'size': size, 't': t, **more}


def free(id_: object, t: float, **more: object) -> dict:
    return {'op': 'free', 'id': id_, 't': t, **more}


def compare(name: str, path: object, wanted: list, *warnings: str, header: object = None,
            stdin: bytes = b'') -> None:
    done = fragsim('trace', 'convert', path, '-', stdin=stdin)
    told = done.stderr.decode()
    lines = [json.loads(line) for line in done.stdout.splitlines()] or [None]
    faults = [] if done.returncode == 0 else [f'status {done.returncode}']
    if lines[1:] != wanted:
        faults.append(f'got {lines[1:]}, wanted {wanted}')
    if header is not None:      # tests/formats/scope is about the scope
        lines[0].get('meta', {}).pop('scope', None)
        if not lines[0].get('meta', True):
            del lines[0]['meta']
    if header is not None and lines[0] != header:
        faults.append(f'header {lines[0]}, wanted {header}')
    if len(told.splitlines()) != len(warnings):
        faults.append(f'messages: {told!r}')
    faults += [f'no {w!r} in {told!r}' for w in warnings if not re.search(w, told)]
    report(name, faults)


def refused(name: str, path: object, pattern: str, command: tuple = ('trace', 'convert', '-q')) -> None:
    words = (path, '-') if 'convert' in command else (path,)
    done = fragsim(*command, *words)
    told = done.stderr.decode()
    faults = [] if done.returncode == 4 else [f'status {done.returncode}']
    if told.count('\n') != 1 or not re.search(pattern, told):
        faults.append(f'{told!r} where {pattern!r} is required')
    report(f'refused: {name}', faults)


PLAIN = [event(1500, 0x7f0000000000, 512), event(2250, 0x7f0000000000, 512, True)]
WANTED = [alloc(0, 512, 1.5), free(0, 2.25)]


def test_events() -> None:
    compare('an allocation and its free', database('a.sqlite', PLAIN), WANTED)
    data = Path('a.sqlite').read_bytes()
    form = json.loads(fragsim('trace', 'info', '-q', '--json', '-', 'a.sqlite').stdout)['form']
    report('its name is nsys', [form] * (form != 'nsys'))
    compare('from standard input', '-', WANTED, stdin=data)
    Path('packed').write_bytes(gzip.compress(data))
    compare('compressed', 'packed', WANTED)
    odd = shutil.copy('a.sqlite', 'a ?#%41é.sqlite')
    compare('a name with the signs of a URI', odd, WANTED)
    compare('an absolute name', Path('a.sqlite').absolute(), WANTED)
    compare('the header of a database in WAL mode, as none may be written',
            database('wal', PLAIN, after='PRAGMA journal_mode = WAL'), WANTED)
    before = set(os.listdir())
    os.chmod('a.sqlite', 0o444)
    fragsim('trace', 'info', 'a.sqlite')
    report('nothing is written beside it', [
        str(x) for x in set(os.listdir()) ^ before]
        + (['it has changed'] if Path('a.sqlite').read_bytes() != data else []))
    compare('in the order of time, and at equal times of the rows', database('b', [
        event(5000, 0x300, 3), event(1000, 0x100, 1), event(5000, 0x300, 3, True),
        event(2000, 0x100, 1, True)]),
        [alloc(0, 1, 1), free(0, 2), alloc(1, 3, 5), free(1, 5)])
    compare('times before the start of the capture', database('b', [
        event(-3000, 0x100, 1), event(1000, 0x100, 1, True)]), [alloc(0, 1, 0), free(0, 4)])
    compare('streams', database('b', [
        event(0, 0x100, 1, streamId=7), event(0, 0x200, 1, streamId=13),
        event(0, 0x300, 1, streamId=7, contextId=2)]),
        [alloc(0, 1, 0, stream=7), alloc(1, 1, 0, stream=13), alloc(2, 1, 0, stream=7 | 1 << 32)])
    compare('two processes may have the same addresses', database('b', [
        event(0, 0x100, 1), event(1000, 0x100, 2, globalPid=gpid(9)), event(2000, 0x100, 1, True),
        event(3000, 0x100, 2, True, globalPid=gpid(9))]),
        [alloc(0, 1, 0), alloc(1, 2, 1), free(0, 2), free(1, 3)])
    compare('a free without its allocation', database('b', [event(1000, 0x100, 64, True)]),
            [alloc(0, 64, 1), free(0, 1)], '1 free, 64 bytes in all')
    compare('an allocation without its free', database('b', [
        event(0, 0x100, 1), event(1000, 0x100, 2)]),
        [alloc(0, 1, 0), free(0, 1), alloc(1, 2, 1)], '1 free missing')
    compare('addresses of all 64 bits', database('b', [
        event(0, -4096, 8), event(1000, -4096, 8, True)]), [alloc(0, 8, 0), free(0, 1)])
    kinds = [event(0, 0x100 + i, 8, memKind=i) for i in range(8)]
    compare('memory of other kinds is left out and counted', database('b', kinds),
            [alloc(0, 8, 0), alloc(1, 8, 0)],
            '6 events .* left out: 1 pageable, 1 pinned, 1 array, 1 managed, 1 managed static,'
            ' 1 unknown')
    compare('pools of cudaMallocAsync are counted', database('b', [
        event(0, 0x100, 8, localMemoryPoolAddress=0x5000, localMemoryPoolSize=4096)]),
        [alloc(0, 8, 0)], '1 allocation from pools of cudaMallocAsync')


def test_devices() -> None:
    gpus = [{'vmId': 0, 'id': i, 'name': f'GPU {i}', 'totalMemory': 1 << 34 + i} for i in range(2)]
    compare('names and sizes of the devices', database(
        'b', [event(0, 0x100, 1), event(1000, 0x200, 2, deviceId=1)], TARGET_INFO_GPU=gpus),
        [alloc(0, 1, 0, device=0), alloc(1, 2, 1, device=1)],
        header={'format': 'fragsim-trace', 'version': 1, 'devices': [
            {'name': 'GPU 0', 'total_bytes': 1 << 34}, {'name': 'GPU 1', 'total_bytes': 1 << 35}]})
    # each process sees one device, as under CUDA_VISIBLE_DEVICES
    seen = [{'gpuId': 1, 'cudaId': 0, 'pid': 5}, {'gpuId': 0, 'cudaId': 0, 'pid': 6}]
    compare('devices by the process that names them', database(
        'b', [event(0, 0x100, 1, globalPid=gpid(5)), event(1000, 0x100, 2, globalPid=gpid(6))],
        TARGET_INFO_CUDA_DEVICE=seen),
        [alloc(0, 1, 0, device=1), alloc(1, 2, 1, device=0)])


STRINGS = ('', 'cudaMalloc_v3020', 'ncclCommInitRank', '/usr/lib/libnccl.so.2.26', 'cudaMalloc',
           '/usr/local/cuda/lib64/libcudart.so.12', 'main', '/home/me/train', 'forward')
CHAIN = [{'id': 3, 'symbol': s, 'module': m, 'stackDepth': d, 'unresolved': 0}
         for d, (s, m) in enumerate(((4, 5), (2, 3), (6, 7)))]


def test_names() -> None:
    events = [event(1000, 0x100, 1, correlationId=10), event(2000, 0x200, 2, correlationId=11),
              event(3000, 0x300, 3, correlationId=12), event(9000, 0x400, 4, correlationId=10),
              event(9500, 0x500, 5, name='weights', memKind=5), event(9600, 0x600, 6)]
    rows = {'CUPTI_ACTIVITY_KIND_RUNTIME': [call(10, 1), call(11, 1, 3), call(12, 1, tid=99),
                                            call(11, 6, tid=7)],
            'CUDA_CALLCHAINS': CHAIN,
            'NVTX_EVENTS': [span(500, 8000, 'step'), span(900, 1100, None, textId=8),
                            span(500, 9999, 'a mark', eventType=34), span(1200, 1300, 'over'),
                            span(2500, None, 'never ends')]}
    wanted = [alloc(0, 1, 1, tag='cudaMalloc_v3020 | forward'),
              alloc(1, 2, 2, tag='ncclCommInitRank (libnccl.so.2.26) | step'),
              alloc(2, 3, 3, tag='cudaMalloc_v3020'), alloc(3, 4, 9, tag='cudaMalloc_v3020'),
              alloc(4, 5, 9.5, tag='weights'), alloc(5, 6, 9.6)]
    path = database('names.sqlite', events, strings=STRINGS, **rows)
    compare('tags: variable, caller or call, and the NVTX range around', path, wanted)
    done = fragsim('explain', '--at', 'peak', '--folded', '-', path)
    got = dict(line.rsplit(' ', 1) for line in done.stdout.decode().splitlines())
    stack = [x for x in got if 'ncclCommInitRank' in x]
    report('the stack, from the outermost frame', [] if len(stack) == 1 and re.search(
        r'main.*;.*ncclCommInitRank.*;.*cudaMalloc', stack[0])
        else [f'{done.returncode} {got} {done.stderr!r}'])
    for name, sql in (('StringIds', 'DELETE FROM StringIds'), ('the table of strings', 'DROP TABLE StringIds')):
        database('b', events, strings=STRINGS, after=sql, **rows)
        names = [re.sub('cuda.*3020|nccl.*26.', '', x.get('tag', '')).strip('| ') for x in wanted]
        names[0] = 'step'       # the innermost range had its text there
        compare(f'tags without {name}', 'b', [
            {**{k: v for k, v in x.items() if k != 'tag'}, **({'tag': y} if y else {})}
            for x, y in zip(wanted, names)])


def test_schemas() -> None:
    least = f'CREATE TABLE {EVENTS} (start, address, bytes, memoryOperationType)'
    rows = [{'start': 1500, 'address': 1, 'bytes': 512, 'memoryOperationType': 0},
            {'start': 2250, 'address': 1, 'bytes': 512, 'memoryOperationType': 1}]
    compare('the least columns, without kinds', database('b', rows, schema=least), WANTED,
            'names no kinds of memory')
    old = re.sub(r'correlationId INTEGER, streamId.*?Size INTEGER,.*?Id INTEGER\);',
                 'filler INTEGER);', SCHEMA, flags=re.S)
    old = re.sub(r'name TEXT,\s+filler', 'filler', old)
    assert 'importedMemoryPool' not in old
    compare('an export without calls, names and streams', database('b', PLAIN, schema=old), WANTED)
    wide = SCHEMA.replace('pc INTEGER NOT NULL,', 'pc INTEGER NOT NULL, numaNode TEXT, flags BLOB,')
    compare('columns that nobody knows yet', database('b', PLAIN, schema=wide), WANTED)
    compare('other numbers for kinds and operations', database(
        'b', [event(1500, 1, 512, memKind=73, memoryOperationType=14),
              event(2250, 1, 512, memKind=73, memoryOperationType=15)],
        after="UPDATE ENUM_CUDA_MEM_KIND SET id = 73 WHERE id = 2;"
              "UPDATE ENUM_CUDA_DEV_MEM_EVENT_OPER SET id = id + 14"), WANTED)
    compare('the least tables', database('b', PLAIN, schema=re.search(
        rf'CREATE TABLE {EVENTS}.*?;', SCHEMA, re.S)[0]), WANTED)


def test_hostile() -> None:
    def bad(name: str, pattern: str, **changed: object) -> None:
        loose = SCHEMA.replace(' NOT NULL', '')
        database('b', [PLAIN[0], {**PLAIN[1], **changed}], schema=loose)
        refused(name, 'b', pattern)

    bad('bytes below 0', 'row 2 of .*bytes is -5', bytes=-5)
    bad('bytes that are text', 'row 2 of .*bytes is text', bytes='many')
    bad('bytes that are NULL', 'row 2 of .*bytes is NULL', bytes=None)
    bad('bytes that are a real number', 'row 2 of .*a real number', bytes=1.5)
    bad('an address that is a blob', 'address is a blob', address=b'\0')
    bad('no start', 'start is NULL', start=None)
    bad('a device below 0', 'deviceId is -1', deviceId=-1)
    bad('a device beyond all', 'device 1024', deviceId=1024)
    bad('a device that is text', 'deviceId is text', deviceId='x')
    bad('an operation that is none', 'row 2 of .*neither', memoryOperationType=7)
    bad('no operation', 'row 2 of .*neither', memoryOperationType=None)
    flag = 'no table CUDA_GPU_MEMORY_USAGE_EVENTS: .*--cuda-memory-usage=true'
    other = SCHEMA.replace(f'CREATE TABLE {EVENTS}', 'CREATE TABLE other')
    refused('no memory events', database('b', [], schema=other), flag)
    for command in ('trace info', 'run', 'explain', 'fit'):
        refused(f'no memory events ({command})', 'b', flag, tuple(command.split()))
    endless = 'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)'
    refused('a view named like the table', database('b', [], schema=other, after=(
        f'CREATE VIEW {EVENTS} AS {endless} SELECT n AS start, n AS address, n AS bytes, 0 AS'
        ' memoryOperationType FROM x')), flag)
    compare('a view named like a table of names is not read', database(
        'b', PLAIN, after=f'DROP TABLE StringIds; CREATE VIEW StringIds AS {endless}'
        ' SELECT n AS id, n AS value FROM x'), WANTED)
    compare('triggers do not run', database('b', PLAIN, after=(
        f'CREATE TRIGGER x AFTER INSERT ON {EVENTS} BEGIN DELETE FROM StringIds; END')),
        WANTED)
    refused('a column that is computed', database('b', PLAIN, after=(
        f"ALTER TABLE {EVENTS} ADD COLUMN much AS (printf('%.*c', 9999999, 'x'))")), 'is computed')
    refused('no rows', database('b', []), 'no event')
    refused('rows of the host alone', database('b', [event(0, 1, 1, memKind=1)]), 'no event')
    refused('no column of addresses', database('b', [], schema=(
        f'CREATE TABLE {EVENTS} (start, bytes, memoryOperationType)')), 'no column address')
    many = [event(i, 0x1000 + i, 8) for i in range(2000)]
    data = database('b', many).read_bytes()
    for length in (17, 100, 512, 4096, 5000, len(data) // 2):
        Path('cut').write_bytes(data[:length])
        refused(f'cut after {length} bytes', 'cut', 'cut: ')
    Path('name').write_bytes(data)
    text = data.replace(b'CREATE TABLE StringIds', b'CREATE TABEL \x1b[31m\nIds', 1)
    Path('name').write_bytes(text)
    refused('a schema that is none', 'name', 'malformed')
    done = fragsim('trace', 'info', 'name')
    report('and its signs do not reach the terminal', [f'{done.stderr!r}'] * (b'\x1b' in done.stderr))
    faults = []
    for number in range(1, len(data) // 4096):
        if data[4096 * number] != 5:
            continue
        page = bytearray(data)
        cells = int.from_bytes(page[4096 * number + 3:4096 * number + 5], 'big')
        for i in range(cells):
            at = 4096 * number + int.from_bytes(page[4096 * number + 12 + 2 * i:][:2], 'big')
            page[at:at + 4] = (number + 1).to_bytes(4, 'big')
        Path('loop').write_bytes(page)
        done = fragsim('trace', 'info', 'loop')
        if done.returncode != 4 or done.stderr.count(b'\n') != 1:
            faults.append(f'page {number + 1}: {done.returncode} {done.stderr!r}')
    report('pages that are their own children', faults)


def test_size() -> None:
    """A million rows in bounded memory: rows are 48 bytes each, and live blocks are few."""
    count = 1_000_000
    Path('large').unlink(missing_ok=True)
    db = sqlite3.connect('large')
    db.executescript(SCHEMA)
    db.executemany(f'INSERT INTO {EVENTS} VALUES (?, ?, 0, 1, ?, 0, 64, 2, ?, NULL, ?, NULL, NULL,'
                   ' NULL, NULL, NULL, NULL, NULL)',
                   ((i, gpid(), 0x1000 + i // 2 % 1000, i % 2, i) for i in range(count)))
    db.executemany('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, 0, ?, ?, 1, 0, NULL)',
                   ((gpid() | TID, i // 1000) for i in range(count)))
    db.execute("INSERT INTO StringIds VALUES (1, 'cudaMalloc')")
    db.commit()
    db.close()
    done = fragsim('trace', 'info', 'large', preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_AS, (400 << 20, 400 << 20)))
    text = done.stdout.decode()
    report('a million rows in 400 MiB', [] if done.returncode == 0 and re.search(
        r'1,?000,?000 events', text) else [f'{done.returncode} {text} {done.stderr!r}'])


def main() -> int:
    if b'no SQLite' in fragsim('--version').stdout:
        database('/tmp/none', PLAIN)
        refused('a build without SQLite', '/tmp/none', 'built without SQLite')
        beside.without_sqlite(TAP, '/tmp/none')
        return TAP.finish()
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        test_events()
        test_devices()
        test_names()
        test_schemas()
        test_hostile()
        beside.check(TAP)
        if not SAN:
            test_size()
    finally:
        os.chdir('/')
        shutil.rmtree(folder)
    return TAP.finish()


sys.exit(main())
