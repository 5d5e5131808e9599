"""beside.py - fragsim explain --beside: a database beside a snapshot of the same process.

The snapshots are real recordings and small ones written by hand. A database is made from the
segments that the snapshot's own log allocates and frees, at the times of that log, and from
allocations of others; what is live at the explained step is counted here from those lists.
"""
import gzip
import json
import pickle
import random
import re
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / 'support'), str(TESTS / 'formats' / 'snapshot')]
from databases import EVENTS, SCHEMA, TID, call, database, event, gpid, span  # noqa: E402
from program import fragsim, times  # noqa: E402
from snaps import LARGE, M, Log, block, hole, pickled, segment, snapshot  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

STRINGS = ('', 'cudaMalloc_v3020', 'ncclCommInitRank', '/lib/libnccl.so.2.26', 'cudnnCreate',
           '/lib/libcudnn.so.9', 'cudaMalloc', '/lib/libcudart.so.12')
CHAINS = [{'id': chain, 'symbol': s, 'module': m, 'stackDepth': depth, 'unresolved': 0}
          for chain, symbol in ((1, 2), (2, 4))
          for depth, (s, m) in enumerate(((6, 7), (symbol, symbol + 1)))]
NCCL, CUDNN, PLAIN = 'ncclCommInitRank (libnccl.so.2.26)', 'cudnnCreate (libcudnn.so.9)', \
    'cudaMalloc_v3020'
CALLS = {NCCL: 10, CUDNN: 11, PLAIN: 12}        # correlation ids
RUNTIME = [call(10, 1, 1), call(11, 1, 2), call(12, 1)]
ELSEWHERE = 0x600000000000      # where no segment is
CLOCK = 777_000_000_000         # ns of the database at the first time of the log


def segments_of(snap: dict) -> list:
    """(time_us, address, bytes, is it freed), the first state at the time of the first event."""
    log = snap['device_traces'][0]
    first = log[0]['time_us']
    calls = [(x['time_us'], x['addr'], x['size'], x['action'] == 'segment_free')
             for x in log if x['action'] in ('segment_alloc', 'segment_free')]
    state = {x['address']: x['total_size'] for x in snap['segments']}
    for _, addr, size, freed in reversed(calls):
        if freed:
            state[addr] = size
        else:
            state.pop(addr)
    return [(first - 1, addr, size, False) for addr, size in state.items()] + calls


def as_events(rows: list, first: float, **more: object) -> list:
    return [event(CLOCK + round((t - first) * 1000), addr, size, freed, **more)
            for t, addr, size, freed in rows]


def live(rows: list, t: float) -> dict:
    """What is live at the time, which includes what happens at it: address to bytes."""
    state: dict = {}
    for when, addr, size, freed, *rest in sorted(rows, key=lambda x: x[0]):
        if when <= t and freed:
            state.pop(addr, None)
        elif when <= t:
            state[addr] = (size, *rest)
    return state


def explained(path: object, beside: object, *more: str) -> tuple:
    done = fragsim('explain', '-q', '--json', '-', '--top', 'all', '--beside', beside, *more, path)
    if done.returncode:
        return {}, 0, done.stderr.decode()
    moment = json.loads(done.stdout)['moments'][0]
    return moment['outside_pytorch'], moment['step'], done.stderr.decode()


def others(rng: random.Random, first: float, last: float) -> list:
    """Allocations of others, some of which are freed: (time, address, bytes, is it freed, tag)."""
    rows = []
    for i in range(60):
        born = rng.uniform(first - 1e6, last + 1e6)
        row = (ELSEWHERE + i * (1 << 32), rng.randrange(1, 1 << 28), False,
               rng.choice(sorted(CALLS)))
        rows.append((born, *row))
        if rng.random() < 0.5:
            rows.append((rng.uniform(born, last + 2e6), *row[:2], True, row[3]))
    return rows


def with_others(rows: list, first: float) -> list:
    return [event(CLOCK + round((t - first) * 1000), addr, size, freed,
                  correlationId=None if freed else CALLS[tag]) for t, addr, size, freed, tag in rows]


def real(tap: Tap, name: str, at: str, seed: int) -> None:
    """The recording, at a moment of it; afterwards the process goes on and ends."""
    path = TESTS / 'oracles' / 'corpus' / f'{name}.pickle.gz'
    with gzip.open(path) as f:
        snap = pickle.load(f)
    rng = random.Random(f'{name} {at} {seed}')
    log = snap['device_traces'][0]
    first, last = log[0]['time_us'], log[-1]['time_us']
    segments, outside = segments_of(snap), others(rng, first, last)
    kept = live(segments, last)
    # the process ends, and a program that runs again has the same segments
    after = [(last + 3e6, addr, size, True) for addr, (size,) in kept.items()]
    after += [(last + 4e6, addr, size, False) for addr, (size,) in list(kept.items())[:-1]]
    database('b', as_events(segments + after, first) + with_others(outside, first),
             strings=STRINGS, CUPTI_ACTIVITY_KIND_RUNTIME=RUNTIME, CUDA_CALLCHAINS=CHAINS)
    got, step, told = explained(path, 'b', '--at', at)
    lines = fragsim('trace', 'convert', '-q', path, '-').stdout.splitlines()
    now = json.loads(lines[1 + step])['t'] if step + 1 < len(lines) else last
    there, wanted = live(segments, now), Counter()
    count: Counter = Counter()
    for size, tag in live(outside, now).values():
        wanted[tag] += size
        count[tag] += 1
    tags = {x['tag']: (x['bytes'], x['allocations'], x['stack']) for x in got.get('tags', ())}
    tap.result(f'{name} at {at}, {seed}', not got and told, [
        f'{what}: {got.get(what)}, wanted {value}' for what, value in (
            ('bytes', sum(wanted.values())), ('allocations', sum(count.values())),
            ('segments', len(there)), ('matched', len(there)), ('timed', True))
        if got.get(what) != value],
        [f'tags {tags}'] * (tags != {x: (wanted[x], count[x], x != PLAIN) for x in wanted}))


def oom(free: int = 100 * M, times_too: bool = True, **more: object) -> dict:
    """Two segments of 20 MiB, and a request of 300 MiB that fails at 1005 microseconds."""
    log = Log(times=times_too).segment(LARGE, 20 * M).alloc(LARGE, 20 * M)
    log.segment(LARGE + 32 * M, 20 * M).alloc(LARGE + 32 * M, 15 * M)
    log.alloc(LARGE + 47 * M, 2 * M).add('oom', free, 300 * M)
    return snapshot([segment(LARGE, block(LARGE, 20 * M), **more),
                     segment(LARGE + 32 * M, block(LARGE + 32 * M, 15 * M),
                             block(LARGE + 47 * M, 2 * M), hole(LARGE + 49 * M, 3 * M), **more)], log)


def small_events() -> list:
    """The segments of oom() at 1 ms and 3 ms; NCCL before the failure, cuDNN after it."""
    return [event(1000_000, LARGE, 20 * M), event(1002_000, LARGE + 32 * M, 20 * M),
            event(500, ELSEWHERE, 512 * M, correlationId=10),
            event(1004_500, ELSEWHERE + (1 << 30), 64 * M, correlationId=12),
            event(1006_000, ELSEWHERE + (2 << 30), 96 * M, correlationId=11),
            event(2002_000, LARGE, 20 * M, True)]


GPU = {'TARGET_INFO_GPU': [{'vmId': 0, 'id': 0, 'name': 'GPU', 'totalMemory': 1024 * M}]}
ROWS = {'strings': STRINGS, 'CUPTI_ACTIVITY_KIND_RUNTIME': RUNTIME, 'CUDA_CALLCHAINS': CHAINS,
        'NVTX_EVENTS': [span(0, 9000, 'init', tid=TID)]}


def small(tap: Tap) -> None:
    Path('s').write_bytes(pickled(oom()))
    database('b', small_events(), **ROWS, **GPU)
    done = fragsim('explain', '--beside', 'b', 's')
    text = done.stdout.decode()
    at = text.find('  outside')
    # 1024 MiB in all - 100 free - 40 in segments - 576 of others = 308
    tap.same('the text', text[at:text.find('  evidence')].splitlines(), [
        "  outside   576.00 MiB in 2 allocations outside PyTorch, by b, which has 2 of PyTorch's"
        ' 2 segments',
        f'            512.00 MiB in 1 of {NCCL} | init',
        f'            64.00 MiB in 1 of {PLAIN}: no call stack was recorded',
        '            308.00 MiB in use on the device beyond that: the CUDA context, other processes,'
        ' or memory that Nsight Systems does not record'], text, done.stderr)
    got, _, told = explained('s', 'b')
    tap.same('the JSON', got, {
        'segments': 2, 'matched': 2, 'timed': True, 'bytes': 576 * M, 'allocations': 2,
        'unknown': 308 * M, 'tags': [
            {'tag': f'{NCCL} | init', 'bytes': 512 * M, 'allocations': 1, 'stack': True},
            {'tag': PLAIN, 'bytes': 64 * M, 'allocations': 1, 'stack': False}]}, told)
    schema = schema_of('explain')
    if jsonschema:
        whole = fragsim('explain', '-q', '--json', '-', '--top', '1', '--beside', 'b', 's').stdout
        tap.result('its schema', [x.message for x in jsonschema.Draft202012Validator(
            schema).iter_errors(json.loads(whole))])
    Path('packed').write_bytes(gzip.compress(Path('b').read_bytes()))
    tap.same('a compressed database', explained('s', 'packed')[0], got)
    got, _, told = explained('s', 'b', '--at', '0')
    tap.same('at the first step one segment is there, and one allocation', [
        got.get(x) for x in ('segments', 'matched', 'bytes', 'unknown')], [1, 1, 512 * M, None], told)

    Path('s').write_bytes(pickled(oom(times_too=False)))
    got, _, told = explained('s', 'b')
    tap.same('without times, what is there before the next call of PyTorch', [
        got.get(x) for x in ('timed', 'bytes')], [False, 672 * M], told)
    text = fragsim('explain', '--beside', 'b', 's').stdout.decode()
    tap.result('and the text says so', 'without a time' not in text and text)

    Path('s').write_bytes(pickled(oom()))
    rows = small_events()
    database('b', rows[1:], **ROWS)
    got, _, told = explained('s', 'b')
    tap.same('a segment from before the recording that is freed in it', [
        got.get(x) for x in ('segments', 'matched', 'bytes')], [2, 2, 576 * M], told)
    database('b', rows[1:-1], **ROWS)
    got, _, told = explained('s', 'b')
    tap.same('one that the database does not have', [
        got.get(x) for x in ('segments', 'matched', 'bytes')], [2, 1, 576 * M], told)
    others_too = [{**x, 'globalPid': gpid(99)} for x in rows[:1]] + [
        event(700, ELSEWHERE, 7 * M, globalPid=gpid(99)), event(700, ELSEWHERE, 9 * M, deviceId=1)]
    database('b', rows + others_too, **ROWS)
    got, _, told = explained('s', 'b')
    tap.same('another process, and another device', [
        got.get(x) for x in ('segments', 'matched', 'bytes')], [2, 2, 576 * M], told)
    database('b', rows[:2], **ROWS)
    text = fragsim('explain', '--beside', 'b', 's').stdout.decode()
    tap.result('nothing outside', '0 bytes in 0 allocations outside PyTorch' not in text and text)
    state = oom()
    state['device_traces'] = []
    Path('s').write_bytes(pickled(state))
    database('b', small_events(), **ROWS)
    got, _, told = explained('s', 'b')
    tap.same('a snapshot without a history', [got.get(x) for x in (
        'segments', 'matched', 'bytes', 'timed')], [2, 2, 672 * M, False], told)


def refused(tap: Tap, name: str, words: tuple, pattern: str, status: int = 4) -> None:
    done = fragsim('explain', '-q', *words)
    told = done.stderr.decode()
    tap.result(f'refused: {name}', done.returncode != status and f'status {done.returncode}',
               done.stdout.decode(), not re.search(pattern, told) and told,
               told.count('\n') != 1 and status == 4 and told)


def bad(tap: Tap) -> None:
    Path('s').write_bytes(pickled(oom()))
    database('b', small_events(), **ROWS)
    moved = [{**x, 'address': x['address'] + (1 << 20)} for x in small_events()]
    refused(tap, 'another process', ('--beside', database('c', moved, **ROWS), 's'),
            'c: not of the process of the snapshot: it has none of its 2 segments')
    refused(tap, 'no database', ('--beside', 's', 's'), 's: no SQLite database')
    refused(tap, 'no file', ('--beside', 'none', 's'), 'none: No such file')
    Path('empty').write_bytes(b'')
    refused(tap, 'an empty file', ('--beside', 'empty', 's'), 'empty: no SQLite database')
    other = SCHEMA.replace(f'CREATE TABLE {EVENTS}', 'CREATE TABLE other')
    refused(tap, 'no table', ('--beside', database('c', [], schema=other), 's'), f'no table {EVENTS}')
    refused(tap, 'no snapshot', ('--beside', 'b', 'b'), 'b: no snapshot of PyTorch')
    log = Log().add('segment_map', LARGE, 20 * M).alloc(LARGE, 20 * M)
    Path('e').write_bytes(pickled(snapshot([segment(LARGE, block(LARGE, 20 * M), expandable=True)],
                                           log)))
    refused(tap, 'expandable segments alone', ('--beside', 'b', 'e'), 'without expandable_segments')
    Path('text').write_text('all is well\n', encoding='ascii')
    refused(tap, 'a message', ('--beside', 'b', 'text'), '--beside is for a trace', 2)
    before = Path('b').read_bytes()
    refused(tap, 'an output that would replace it', ('--beside', 'b', '--json', 'b', 's'),
            'would replace the database', 2)
    tap.result('and it is unharmed', Path('b').read_bytes() != before and 'it has changed')


def without_sqlite(tap: Tap, path: str) -> None:
    Path('/tmp/none.pickle').write_bytes(pickled(oom()))
    refused(tap, 'beside, without SQLite', ('--beside', path, '/tmp/none.pickle'),
            'built without SQLite')


def check(tap: Tap) -> None:
    for seed in range(times(1, 10)):
        for name in ('oom_fragmentation', 'oom_capacity', 'gan', 'two_streams', 'leak_hook'):
            for at in ('oom', 'peak', '40'):
                real(tap, name, at, seed)
    small(tap)
    bad(tap)
