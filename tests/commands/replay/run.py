#!/usr/bin/python3 -B
# run.py - fragsim replay on a stand-in for CUDA
"""run.py PROGRAM: test `fragsim replay`; prints TAP

PROGRAM-standin beside it is the same program, linked to GPUs made of host memory
(tests/support/standin.h). That ends with status 99 where something was not given back, or was
done that no honest user of CUDA does."""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPO / 'tests' / 'support'))
from schemas import schema as schema_of  # noqa: E402
from program import times  # noqa: E402

RANDOM_TRACE = REPO / 'tests' / 'property' / 'random_trace.py'
MIB = 1 << 20
SAN = bool(os.environ.get('SAN'))
POOL = ['--allocator', 'cuda-async']    # the driver's own
POLICIES = ['bestfit', 'bestfit:pool=3MiB,release=false', 'firstfit:segment=64KiB,align=1',
            'nextfit:segment=1MiB', 'worstfit:segment=300000', 'buddy', 'buddy:min=64,pool=1MiB',
            'sizeclass', 'sizeclass:slab=64KiB,segment=64KiB,max_small=16KiB', 'tlsf', 'direct',
            'bfc', 'bfc:allow_growth=false,memory_limit=64MiB', 'plan',
            'pytorch', 'pytorch:max_split_size_mb=21', 'pytorch:expandable_segments=True']
TESTS = []
PROGRAM = ''


class Outcome:
    def __init__(self, done):
        self.status, self.out = done.returncode, done.stdout.decode()
        self.err = done.stderr.decode()

    def __repr__(self):
        return f'status {self.status}, {self.err[-600:]!r}'


def test(function):
    TESTS.append(function)
    return function


def run(*arguments, program=None, **standin):
    """The program with these arguments; keywords are fields of the stand-in."""
    env = dict(os.environ, FRAGSIM_STANDIN=' '.join(f'{k}={v}' for k, v in standin.items()))
    return Outcome(subprocess.run([program or PROGRAM + '-standin', *map(str, arguments)],
                                  stdin=subprocess.DEVNULL, capture_output=True, env=env,
                                  timeout=120))


def replay(*arguments, **standin):
    return run('replay', *arguments, **standin)


def write_trace(path, *events, devices=None):
    head = {'format': 'fragsim-trace', 'version': 1}
    if devices:
        head['devices'] = [{}] * devices
    path.write_text(''.join(json.dumps(line) + '\n' for line in [head, *events]))
    return path


def alloc(name, size, **more):
    return {'op': 'alloc', 'id': name, 'size': size, **more}


def free(name, **more):
    return {'op': 'free', 'id': name, **more}


def usual_trace(path):
    """Two streams, a pending block, a segment that goes and one that comes."""
    return write_trace(path, alloc(1, 3 * MIB), alloc(2, 1000, stream=1), free(1),
                       alloc(3, 5 * MIB, stream=1), {'op': 'record_stream', 'id': 2, 'stream': 2},
                       free(2), {'op': 'sync', 'stream': 2}, alloc('four', 700000),
                       {'op': 'empty_cache'}, {'op': 'mark', 'name': 'm'}, free(3, pending=True),
                       {'op': 'complete', 'id': 3}, alloc(5, 30 * MIB))


def small_trace(path):
    """The same in few bytes, so that it can be replayed often."""
    return write_trace(path, alloc(1, 3000), alloc(2, 1000, stream=1), free(1),
                       {'op': 'record_stream', 'id': 2, 'stream': 2}, free(2), {'op': 'sync'},
                       alloc('four', 700), {'op': 'empty_cache'}, free('four', pending=True),
                       {'op': 'complete', 'id': 'four'}, {'op': 'empty_cache'}, alloc(5, 2 * MIB))


def expect(outcome, status, *patterns):
    assert outcome.status == status, f'status {status} was expected: {outcome}'
    for pattern in patterns:
        assert re.search(pattern, outcome.err + outcome.out), f'{pattern!r} is not in {outcome}'


# ---- what is there

@test
def no_driver(folder):
    """a machine without a driver gets status 5 and one line"""
    got = replay(usual_trace(folder / 't'), driver=0)
    expect(got, 5, r'^fragsim: no NVIDIA driver was found on this machine')
    assert got.err.count('\n') == 1 and not got.out, got


@test
def old_driver(folder):
    """an old driver gets status 5, and both versions"""
    expect(replay(usual_trace(folder / 't'), driver=12020), 5,
           r'the NVIDIA driver is for CUDA 12\.2, older than the 13\.0')


@test
def no_gpu(folder):
    """a machine without a GPU, or with too few, gets status 5"""
    trace = usual_trace(folder / 't')
    expect(replay(trace, gpus=0), 5, r'no GPU that CUDA can use was found')
    expect(replay('--device', 2, trace, gpus=2), 5, r'there is no GPU 2: this machine has 2')
    two = write_trace(folder / 'two', alloc(1, 1000, device=1), devices=2)
    expect(replay(two, gpus=1), 5, r'there is no GPU 1: this machine has 1')


@test
def real_program(folder):
    """the program itself needs no library of CUDA, and says what it lacks"""
    got = run('replay', usual_trace(folder / 't'), program=PROGRAM)
    if got.status != 5:
        expect(got, 0)          # a machine with a GPU
    else:
        expect(got, 5, r'^fragsim: [^\n]+\n$')
    libraries = subprocess.run(['ldd', PROGRAM], capture_output=True, text=True).stdout
    assert 'cuda' not in libraries.lower(), libraries


@test
def usage(folder):
    """wrong usage is refused"""
    trace = usual_trace(folder / 't')
    # of the trace's device: which GPU that is, --device says
    expect(replay('--limit', '100TiB', '--device', '1', trace, gpus=2), 2,
           r'--limit 109951162777600: only \d+ bytes are free on the GPU of device 0')
    for arguments in [('--limit', 'much'), ('--limit', '100TiB'), ('--pace', '0'),
                      ('--pace', 'fast'), ('--repeat', '0'), ('--device', 'a'),
                      ('--device', '0', '--device', '0'), ('--device', '0', '--device', '1'),
                      ('--device-bytes', '1G')]:
        got = replay(*arguments, trace, gpus=2)
        expect(got, 2, r'^fragsim: ')
        assert got.err.count('\n') == 1, got
    expect(replay('--repeat', '2', '-'), 2, 'standard input can be read once')


# ---- the same decisions

GRANULARITY, CONTEXT, TOTAL = 65536, 10 * MIB, 300 * MIB


def like_run(trace, limit, policy, *more):
    """Placements and rows of run on the figures that the stand-in has."""
    return [run(command, '-p', policy, '--on-oom', 'continue', *more, '--placements',
                trace.parent / command, '--steps', trace.parent / (command + '.csv'), trace,
                program=program, total=TOTAL, context=CONTEXT, granularity=GRANULARITY, gpus=3,
                ceiling=limit)
            for command, program, more in
            [('run', PROGRAM, [*more, '--device-bytes', TOTAL, '--context-bytes', CONTEXT,
                               '--other-bytes', TOTAL - CONTEXT - limit, '--granularity',
                               GRANULARITY]),
             ('replay', None, [*more, '--limit', limit])]]


def same_as_run(folder, policy, seeds):
    for seed in seeds:
        trace = folder / 'trace'
        subprocess.run([RANDOM_TRACE, str(seed), '--events', '250', '-o', trace], check=True)
        for limit in (200 * MIB, 24 * MIB):
            one, other = like_run(trace, limit, policy)
            where = f'seed {seed}, limit {limit}, {policy}: {one}, {other}'
            # 4: the trace configures what pytorch does not take
            assert one.status == other.status and one.status in (0, 3, 4), where
            if one.status == 4:
                continue
            for name in ('', '.csv'):
                a, b = [(folder / (command + name)).read_bytes() for command in ('run', 'replay')]
                assert a == b, where


for number, policy in enumerate(POLICIES):
    def one(folder, policy=policy, number=number):
        same_as_run(folder, policy, range(10 * number, 10 * number + (2 if SAN else 4)))
    one.__doc__ = f'replay places every block where run does: {policy}'
    test(one)


@test
def recorded(folder):
    """the same for a recorded trace, several policies one after the other"""
    trace = REPO / 'traces' / 'resnet50_train_bs32_fp32.ndjson.gz'
    options = [x for p in ('bestfit', 'pytorch', 'direct') for x in ('-p', p)]
    limit = 3 << 30
    figures = {'total': 4 << 30, 'context': CONTEXT}
    a = run('run', *options, '--device-bytes', 4 << 30, '--context-bytes', CONTEXT,
            '--other-bytes', (1 << 30) - CONTEXT, '--placements', '-', trace, program=PROGRAM)
    b = replay(*options, '--limit', limit, '--placements', '-', trace, ceiling=limit, **figures)
    assert a.status == b.status and a.out == b.out and a.out.count('\n') > 1000, (a.status, b)
    result = replay(*options, '--limit', limit, '--json', '-', trace, **figures)
    for one in json.loads(result.out)['runs']:
        found = one['prediction']
        assert not found['differs'] and found['error_bytes'] == 0, found
        assert found['steps'] == one['steps'] and found['used_measured'] > 0, found


# ---- what goes wrong

@test
def every_call_fails(folder):
    """each call failing in its turn ends in status 5, and leaks nothing"""
    trace = small_trace(folder / 't')
    for policy in (['-p', 'bestfit'], ['-p', 'direct'],
                   ['-p', 'pytorch:expandable_segments=True'], POOL):
        options = ['-q', '--verify', '--probe', 4, *policy, trace]
        calls = int(re.search(r'(\d+) calls', replay(*options, print=1).err)[1])
        assert calls > 60, calls
        step = times(5, 1, 5)

        def one(k, options=options):
            for error, sticky in ((999, 0), (700, 1))[k % 2:][:1 + (k % 10 == 0)]:
                got = replay(*options, fail_at=k, error=error, sticky=sticky)
                # the names of things may be missing, all else may not; a failure in closing
                # is one too
                good = got.status == 5 and re.search(r'^fragsim: \S', got.err)
                tolerated = got.status == 0 and k in tolerant
                assert good or tolerated, f'{policy}, call {k}, error {error}: {got}'

        tolerant = tolerated_calls(options)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, range(1, calls + 1, step)))


def tolerated_calls(options):
    """The calls while a GPU is opened that it can do without: versions, name, page size."""
    found = set()
    for k in range(1, 16):
        if replay(*options, fail_at=k).status == 0:
            found.add(k)
    assert len(found) <= 6, found
    return found


@test
def every_refusal(folder):
    """each call refused for lack of memory in its turn leaks nothing"""
    trace = small_trace(folder / 't')
    for policy in (['-p', 'bestfit'], ['-p', 'pytorch:expandable_segments=True'], POOL):
        options = ['-q', *policy, '--on-oom', 'continue', trace]
        calls = int(re.search(r'(\d+) calls', replay(*options, print=1).err)[1])
        statuses = [replay(*options, fail_at=k, error=2).status for k in range(1, calls + 1)]
        assert set(statuses) <= {0, 3, 5} and {0, 5} <= set(statuses), statuses


@test
def interrupted(folder):
    """Ctrl-C at any call gives everything back, with what was measured so far"""
    trace = usual_trace(folder / 't')
    for policy in (['-p', 'bestfit'], ['-p', 'pytorch:expandable_segments=True'], POOL):
        calls = int(re.search(r'(\d+) calls', replay(*policy, trace, print=1).err)[1])
        seen = 0
        for k in range(1, calls + 1, 3):
            out = folder / 'result'
            out.unlink(missing_ok=True)
            got = replay('-q', *policy, '--json', out, trace, interrupt_at=k)
            assert got.status in (0, 130), f'call {k}: {got}'
            if got.status == 130 and out.exists():
                seen += json.loads(out.read_text())['runs'][0]['status'] == 'interrupted'
        assert seen > 5, seen


@test
def leak_is_seen(folder):
    """the stand-in does notice what is not given back"""
    got = replay(usual_trace(folder / 't'), ceiling=1)
    expect(got, 99, 'more was taken than the ceiling')


@test
def lying_gpu(folder):
    """where the GPU refuses what was promised, decisions differ, and it says where"""
    # of 320 MiB that are free 448 are told, of which 90 % are 403.2: 10 blocks fit, not 12
    figures = {'total': 512 * MIB, 'context': 64 * MIB, 'other': 128 * MIB, 'lie': 128 * MIB}
    trace = write_trace(folder / 't', *[alloc(i, 32 * MIB) for i in range(10)])
    expect(replay(trace, **figures), 0, 'decisions identical in all 10 events')
    trace = write_trace(folder / 't', *[alloc(i, 32 * MIB) for i in range(12)])
    got = replay('-p', 'direct', '--json', folder / 'r', trace, **figures)
    expect(got, 3)
    found = json.loads((folder / 'r').read_text())['runs'][0]['prediction']
    assert found['differs'] and found['first_difference'] == 10, found
    assert found['oom_step_measured'] == 10 and found['oom_step_predicted'] is None, found
    assert found['used_measured'] == 320 * MIB and found['used_predicted'] == 384 * MIB, found
    assert found['error_percent'] == 20, found
    # what was cut is a least, and how far it is off nobody can say
    rows = [x.split() for x in got.out.splitlines() if 'at most' in x]
    assert ['reserved', 'at', 'most', '384.00', 'MiB', '>=320.00', 'MiB', '-'] in rows, rows
    expect(replay('-q', '-p', 'direct', '--fail-if', 'prediction.error_percent > 19', trace,
                  **figures), 1, 'prediction.error_percent')
    expect(replay('-q', '-p', 'direct', '--fail-if', 'prediction.error_percent > 20', trace,
                  **figures), 3)


@test
def limit_holds(folder):
    """the limit is never passed, by default 90 % of what is free"""
    trace = write_trace(folder / 't', *[alloc(i, 7 * MIB) for i in range(100)])
    for policy in POLICIES:
        # 1 GiB less 224 MiB of context: 800 free, 720 ours
        got = replay('-q', '-p', policy, trace, total=1024 * MIB, context=224 * MIB,
                     ceiling=720 * MIB)
        assert got.status in (0, 3), f'{policy}: {got}'
        expect(replay('-q', '-p', policy, '--limit', '100MiB', trace, total=1024 * MIB,
                      ceiling=100 * MIB), 3)


@test
def loose_packing(folder):
    """the limit holds where the driver packs small segments worse than the figures"""
    # pairs of 1 MiB share pages, which half stay in use: 25 pages where 13 would do; of 60 MiB
    # 5 pages are left for what is larger, or for 9 more: the tenth might need a page of its own
    events = [alloc(i, MIB) for i in range(50)] + [free(i) for i in range(0, 50, 2)]
    for more, ooms in [([alloc(100 + i, MIB) for i in range(20)], 11),
                       ([alloc(100, 10 * MIB)], 0), ([alloc(100, 12 * MIB)], 1)]:
        trace = write_trace(folder / 't', *events, *more)
        got = replay('-p', 'direct', '--limit', '60MiB', '--on-oom', 'continue', '--json',
                     folder / 'r', trace, small=512, ceiling=60 * MIB)
        expect(got, 3 if ooms else 0)
        one = json.loads((folder / 'r').read_text())['runs'][0]
        assert one['counts']['ooms'] == ooms, (ooms, one['counts'], one['prediction'])
        assert one['prediction']['oom_step_predicted'] is None, one['prediction']


# ---- streams, patterns

@test
def waits(folder):
    """before bytes are handed out again, whoever used them has been waited for"""
    # the use of block 1 on stream 2 is queued there; without a wait it lands in block 2, when
    # that is written (block 3 makes its stream go on) and block 4 makes stream 2 go on
    trace = write_trace(folder / 't', alloc(1, 2 * MIB, stream=1),
                        {'op': 'record_stream', 'id': 1, 'stream': 2}, free(1),
                        {'op': 'sync', 'stream': 2}, alloc(2, 2 * MIB), alloc(3, 1000),
                        free(3), alloc(4, 1000, stream=2), free(4), free(2))
    for policy in ('bestfit', 'buddy', 'sizeclass'):
        expect(replay('--verify', '-p', policy, trace), 0)


@test
def sync(folder):
    """a sync of the trace waits for the real stream, a mark for nothing"""
    def calls(*events):
        # the free leaves a mark on stream 1, so that there is a stream to wait for
        trace = write_trace(folder / 't', alloc(1, 1000, stream=1), free(1), *events)
        got = replay('-q', '--verify', trace, print=1)
        expect(got, 0)
        return int(re.search(r'(\d+) calls', got.err)[1])

    none = calls({'op': 'mark', 'name': 'm'})
    # choose the GPU, and wait
    assert calls({'op': 'sync'}) == none + 2
    assert calls({'op': 'sync', 'stream': 1}) == none + 2
    # nothing was queued on this one
    assert calls({'op': 'sync', 'stream': 5}) == none


@test
def initial(folder):
    """blocks that were there when the trace began have a pattern as others"""
    sys.path.insert(0, str(REPO / 'tests' / 'formats' / 'snapshot'))
    import snaps
    (folder / 't').write_text(json.dumps(snaps.basic()))
    options = ['-p', 'pytorch', '--verify', folder / 't']
    got = replay(*options)
    expect(got, 0, 'decisions identical in all')
    # 6 MiB are freed and looked at in 8 places; at the end comes the block of 100 bytes that
    # was there at the beginning
    expect(replay(*options, corrupt_at=9), 5, 'corruption on device 0: the block of id [^,]*, '
           'allocated at event 0, holds [0-9a-f]* at byte 0 of 512')


@test
def verify(folder):
    """--verify passes where nothing is wrong, under every policy"""
    trace = folder / 'trace'
    for number, policy in enumerate(POLICIES):
        subprocess.run([RANDOM_TRACE, str(500 + number), '--events', '200', '-o', trace],
                       check=True)
        got = replay('-q', '--verify', '-p', policy, '--on-oom', 'continue', '--limit', '40MiB',
                     trace, total=TOTAL, context=CONTEXT, granularity=GRANULARITY, gpus=3)
        # 4: the trace configures what pytorch does not take
        assert got.status in (0, 3, 4), f'{policy}: {got}'


@test
def corruption(folder):
    """--verify finds a byte that changed, names the block, and gives everything back"""
    trace = write_trace(folder / 't', alloc(1, 3 * MIB), alloc('two', 1000), free(1), free('two'))
    for copy in range(1, 10):
        got = replay('--verify', trace, corrupt_at=copy)
        who = 'id 1, allocated at event 0' if copy < 9 else 'id "two", allocated at event 1'
        expect(got, 5, 'corruption on device 0: the block of ' + who, 'no live block')
    expect(replay(trace, corrupt_at=1), 0)


@test
def overlapping(folder):
    """--verify names both blocks where two segments are the same memory"""
    trace = write_trace(folder / 't', alloc(7, 2 * MIB), alloc('x', 2 * MIB), free(7))
    # the first 4 cudaMallocs are those that measure the granularities
    got = replay('--verify', '-p', 'direct', trace, alias_at=6)
    expect(got, 5, 'the block of id 7, allocated at event 0', 'id "x", allocated at event 1')
    expect(replay('-p', 'direct', trace, alias_at=6), 0)


@test
def devices(folder):
    """several GPUs, in any order, each with its own result"""
    trace = write_trace(folder / 't', alloc(1, 3 * MIB), alloc(2, 9 * MIB, device=1),
                        {'op': 'empty_cache'}, free(1), {'op': 'sync'}, devices=2)
    got = replay('--json', '-', '-d', 2, '-d', 0, trace, gpus=3)
    expect(got, 0)
    runs = json.loads(got.out)['runs']
    assert [r['device']['name'] for r in runs] == ['stand-in 2', 'stand-in 0'], runs
    assert [r['prediction']['used_measured'] for r in runs] == [4 * MIB, 10 * MIB], runs
    assert runs[0]['device']['context_bytes'] == 256 * MIB, runs


# ---- figures

@test
def costs(folder):
    """each call is counted in its class; predicted and real memory of segments agree"""
    trace = write_trace(folder / 't', alloc(1, 1000), alloc(2, 3 * MIB), free(1), free(2),
                        alloc(3, 3 * MIB))
    got = replay('--json', '-', '-p', 'direct', '--repeat', 3, trace, slow_us=50)
    expect(got, 0)
    driver = json.loads(got.out)['runs'][0]['driver']
    calls = [(c['call'], c['up_to_bytes'], c['count'], c['refused']) for c in driver['calls']]
    # direct asks in pages of 2 MiB; what is live at the end is given back unseen
    assert calls == [('cudaMalloc', 2 * MIB, 3, 0), ('cudaMalloc', 4 * MIB, 6, 0),
                     ('cudaFree', 2 * MIB, 3, 0), ('cudaFree', 4 * MIB, 3, 0)], calls
    for c in driver['calls']:
        assert 50000 <= c['min_ns'] <= c['p50_ns'] <= c['p95_ns'] <= c['p99_ns'] <= c['max_ns'], c
        assert c['min_ns'] * c['count'] <= c['total_ns'] <= c['max_ns'] * c['count'], c
    assert driver['segments'] == [
        {'up_to_bytes': 2 * MIB, 'count': 3, 'asked': 6 * MIB, 'predicted': 6 * MIB,
         'taken': 6 * MIB},
        {'up_to_bytes': 4 * MIB, 'count': 6, 'asked': 24 * MIB, 'predicted': 24 * MIB,
         'taken': 24 * MIB}], driver['segments']


@test
def probes(folder):
    """--probe finds the largest piece at marks or every N events, within the limit"""
    mark = {'op': 'mark', 'name': 'a "b"'}
    trace = write_trace(folder / 't', alloc(1, 3 * MIB), mark, alloc(2, 20 * MIB), free(1), mark,
                        alloc(3, MIB))
    options = ['-p', 'direct', '--limit', '101MiB', '--json', folder / 'r']

    def probed(*more, **standin):
        got = replay(*options, *more, trace, ceiling=101 * MIB, **standin)
        expect(got, 0)
        return json.loads((folder / 'r').read_text())['runs'][0], got.out

    # 4 MiB are held at the first mark, 20 at the second; of 97 and 81 MiB whole pages count
    one, out = probed('--probe', 'marks')
    assert one['probes'] == [
        {'step': 1, 'mark': 'a "b"', 'free_bytes': 96 * MIB, 'largest_bytes': 96 * MIB, 'fi': 0},
        {'step': 4, 'mark': 'a "b"', 'free_bytes': 80 * MIB, 'largest_bytes': 80 * MIB, 'fi': 0}
    ], one['probes']
    plain, _ = probed()
    assert 'probes' not in plain and plain['prediction'] == one['prediction'], plain
    assert [c['count'] for c in plain['driver']['calls']] == [
        c['count'] for c in one['driver']['calls']]
    # after steps 1, 3 and 5; never more than 24 MiB in one piece
    one, out = probed('--probe', 2, '--repeat', 2, piece=24 * MIB)
    assert [(p['step'], p['mark'], p['free_bytes'] // MIB, p['largest_bytes'] // MIB, p['fi'])
            for p in one['probes']] == [(1, 'a "b"', 96, 24, 75), (3, None, 80, 24, 70),
                                        (5, None, 78, 24, 69.2308)], one['probes']
    assert re.search(r'probes +event +free +in one piece +index, % +mark\n'
                     r' +1 +96\.00 MiB +24\.00 MiB +75\.00  "a ', out), out
    # the GPU says that 101 MiB are free, and has 61; 22 are held at the end
    one, out = probed('--probe', 6, total=(256 + 61) * MIB, lie=40 * MIB)
    assert one['probes'] == [{'step': 5, 'mark': None, 'free_bytes': 78 * MIB,
                              'largest_bytes': 38 * MIB, 'fi': 51.2821}], one['probes']
    for value in ('0', 'mark', '-1', '1.5'):
        expect(replay('--probe', value, trace), 2, '--probe')


@test
def small_requests(folder):
    """small requests that share pages: measured, predicted, and simulated under direct"""
    # 3 of 512 bytes share a page; 1.5 MiB have one of their own
    trace = write_trace(folder / 't', alloc(1, 100), alloc(2, 512), alloc(3, 3 * MIB // 2),
                        alloc(4, 300), free(2))
    got = replay('-v', '-p', 'direct', '--json', folder / 'r', '--placements', folder / 'p', trace,
                 small=512)
    expect(got, 0, r'granularity 2\.00 MiB, up to 1\.00 MiB in steps of 512 bytes',
           'decisions identical in all 5 events')
    one = json.loads((folder / 'r').read_text())['runs'][0]
    assert one['device']['small_granularity_bytes'] == 512, one['device']
    assert one['device']['small_most_bytes'] == MIB, one['device']
    assert one['peak']['reserved'] == 3 * 512 + 2 * MIB, one['peak']
    assert one['prediction']['used_predicted'] == 4 * MIB, one['prediction']
    assert one['prediction']['used_measured'] == 4 * MIB, one['prediction']
    assert one['driver']['segments'] == [
        {'up_to_bytes': MIB, 'count': 3, 'asked': 1536, 'predicted': 2 * MIB, 'taken': 2 * MIB},
        {'up_to_bytes': 2 * MIB, 'count': 1, 'asked': 2 * MIB, 'predicted': 2 * MIB,
         'taken': 2 * MIB}], one['driver']
    # where the driver does not use freed room again, it takes more than was predicted: of four
    # of 1 MiB two pages, then one of each is freed, and the next two have a page of their own
    trace = write_trace(folder / 't', *[alloc(i, MIB) for i in range(4)], free(0), free(2),
                        alloc(5, MIB), alloc(6, MIB))
    got = replay('-p', 'direct', '--json', folder / 'r', trace, small=512)
    expect(got, 0)
    found = json.loads((folder / 'r').read_text())['runs'][0]['prediction']
    assert found['used_predicted'] == 4 * MIB and found['used_measured'] == 6 * MIB, found


def pool_rows(folder, events, *options, **standin):
    """requested, allocated, reserved (MiB) of each step in the driver's own pool"""
    trace = write_trace(folder / 't', *events)
    got = replay('-q', *options, '--steps', folder / 's.csv', '--columns', 'all', trace, **standin)
    expect(got, 0)
    head, *rows = [line.split(',') for line in (folder / 's.csv').read_text().splitlines()]
    return [[round(int(row[head.index(name)]) / MIB, 2)
             for name in ('requested', 'allocated', 'reserved')] for row in rows], rows, head


@test
def pool(folder):
    """--allocator cuda-async: reserved and used are what the driver's pool says"""
    events = [alloc(1, 3 * MIB), alloc(2, 20 * MIB, stream=1), free(1), free(2),
              {'op': 'sync', 'stream': 1}, alloc(3, MIB), {'op': 'mark', 'name': 'm'}, free(3),
              {'op': 'empty_cache'}]
    # the stand-in's pool takes chunks of 8 MiB: 3 MiB one, 23 three; a wait leaves the threshold
    wanted = [[3, 3, 8], [23, 23, 24], [20, 20, 24], [0, 0, 24], [0, 0, 0], [1, 1, 8], [1, 1, 8],
              [0, 0, 8], [0, 0, 0]]
    got, rows, head = pool_rows(folder, events, *POOL)
    assert got == wanted, got
    for name in ('largest_free', 'releasable', 'non_releasable', 'fi', 'fi_device', 'holes', 'wasted'):
        assert {row[head.index(name)] for row in rows} == {''}, name
    got, _, _ = pool_rows(folder, events, '--allocator', 'cuda-async:release_threshold=16MiB')
    wanted[4:8] = [[0, 0, 16], [1, 1, 16], [1, 1, 16], [0, 0, 16]]
    assert got == wanted, got
    # a block that is used on another stream goes back when that is over
    got, _, _ = pool_rows(folder, [
        alloc(1, 3 * MIB), {'op': 'record_stream', 'id': 1, 'stream': 2}, free(1),
        {'op': 'sync', 'stream': 2}], '--verify', *POOL)
    assert got == [[3, 3, 8], [3, 3, 8], [0, 3, 8], [0, 0, 8]], got


@test
def pool_result(folder):
    """its result beside that of a policy, which diff and the schema take too"""
    trace = usual_trace(folder / 't')
    text = replay('-v', '-p', 'bestfit', *POOL, '--allocator', 'cuda-async:allow_opportunistic=false',
                  '--json', folder / 'r', '--repeat', 2, '--write-profile', folder / 'p', trace)
    expect(text, 0, "the driver's own pool: nothing predicts it",
           r'cuda-async +- +- +- +- +- +- +- +- +0\n', r'cudaMallocAsync +4 MiB +2 ')
    result = json.loads((folder / 'r').read_text())
    import jsonschema
    rules = schema_of('result')
    jsonschema.Draft202012Validator(rules).validate(result)
    policy, one, other = result['runs']
    assert policy['prediction'] and 'prediction' not in one, one
    assert one['policy']['params'] == {
        'release_threshold': 0, 'follow_event_dependencies': True, 'allow_opportunistic': True,
        'allow_internal_dependencies': True}, one['policy']
    assert other['policy']['params']['allow_opportunistic'] is False, other['policy']
    # at the end live 700000 bytes, in steps of 512, and 30 MiB; of chunks of 8 MiB these are 4
    assert one['peak']['requested'] == 700000 + 30 * MIB, one['peak']
    assert one['peak']['allocated'] == 1368 * 512 + 30 * MIB, one['peak']
    assert one['peak']['reserved'] == 32 * MIB and one['peak']['largest_free'] is None, one['peak']
    assert one['last']['fi'] is None and one['marks'][0]['fi_device'] is None, one
    assert one['counts']['segment_allocs'] == 5 and one['counts']['ooms'] == 0, one['counts']
    calls = {(c['call'], c['up_to_bytes'] // MIB): c['count'] for c in one['driver']['calls']}
    # twice each; what lives to the end is given back unseen
    assert calls == {('cudaMallocAsync', 1): 4, ('cudaMallocAsync', 4): 2,
                     ('cudaMallocAsync', 8): 2, ('cudaMallocAsync', 32): 2,
                     ('cudaFreeAsync', 1): 2, ('cudaFreeAsync', 4): 2, ('cudaFreeAsync', 8): 2
                     }, calls
    expect(run('diff', folder / 'r', folder / 'r', program=PROGRAM), 0, '3 runs compared: 3 same')
    expect(run('run', '-q', '--profile', folder / 'p', trace, program=PROGRAM), 0)


@test
def pool_bounds(folder):
    """the pool stays below the limit too; corruption in it is found; its words"""
    # of 20 MiB two chunks of 8 fit: 12 MiB do, 18 do not
    trace = write_trace(folder / 't', alloc(1, 12 * MIB), free(1), alloc(2, 18 * MIB),
                        alloc(3, MIB))
    got = replay('-v', *POOL, '--limit', '20MiB', '--on-oom', 'continue', '--json', folder / 'r', trace,
                 ceiling=20 * MIB)
    expect(got, 3, 'is reserved by cuda-async but unallocated', "its layout there is unknown")
    result = json.loads((folder / 'r').read_text())
    import jsonschema
    rules = schema_of('result')
    jsonschema.Draft202012Validator(rules).validate(result)
    one = result['runs'][0]
    assert one['counts']['ooms'] == 1 and one['peak']['reserved'] == 16 * MIB, one
    metrics = one['oom'][0]['metrics']
    assert [metrics[x] for x in ('non_releasable', 'holes', 'wasted')] == [None] * 3, one
    assert one['oom'][0]['hole'] is None, one
    assert one['oom'][0]['holders'] == [], one
    trace = usual_trace(folder / 't')
    expect(replay('--verify', *POOL, trace), 0)
    expect(replay('--verify', *POOL, trace, corrupt_at=1), 5, 'corruption on device 0')
    two = write_trace(folder / 'two', alloc(1, 3 * MIB), alloc(2, 9 * MIB, device=1),
                      {'op': 'empty_cache'}, free(1), {'op': 'sync'}, devices=2)
    got = replay(*POOL, '--json', '-', two, gpus=2)
    assert [r['peak']['reserved'] for r in json.loads(got.out)['runs']] == [8 * MIB, 16 * MIB], got
    for arguments, words in [
            ([*POOL, '--placements', '-'], 'does not report where it places a block'),
            (['--allocator', 'pytorch'], 'there is only cuda-async'),
            (['--allocator', 'cuda-async:pool=1'], 'has no key "pool"; its keys are: release_thr'),
            (['-p', 'compact'], 'moves live blocks, which replay does not'),
            (['-p', 'cuda-async'], 'exists only in fragsim replay --allocator cuda-async')]:
        expect(replay(*arguments, trace), 2, words)
    for arguments in ('run', *POOL), ('run', '-p', 'cuda-async:release_threshold=1'), \
                     ('diff', '-p', 'bestfit', *POOL):
        expect(run(*arguments, trace, program=PROGRAM), 2,
               'exists only in fragsim replay --allocator cuda-async')


@test
def profile(folder):
    """--write-profile says what was learned; run --profile then simulates that GPU"""
    trace = write_trace(folder / 't', alloc(1, 1000), alloc(2, 3 * MIB), free(1), free(2),
                        alloc(3, 3 * MIB))
    path = folder / 'p'
    got = replay('-q', '-p', 'direct', '-p', 'bestfit', '--repeat', 2, '--write-profile', path,
                 trace, slow_us=50, small=512)
    expect(got, 0)
    written = json.loads(path.read_text())
    import jsonschema
    rules = schema_of('profile')
    jsonschema.Draft202012Validator(rules).validate(written)
    assert written['device'] == {
        'name': 'stand-in 0', 'total_bytes': 4 << 30, 'context_bytes': 256 * MIB,
        'granularity_bytes': 2 * MIB, 'small_granularity_bytes': 512, 'small_most_bytes': MIB,
        'page_bytes': 2 * MIB, 'driver_version': 13000, 'runtime_version': 13000}, written
    # of each policy twice: direct asks for 512 bytes and twice for 4 MiB and gives the first two
    # back; bestfit asks for 2 and 4 MiB
    calls = {(c['call'], c['up_to_bytes']): c for c in written['calls']}
    assert {key: c['count'] for key, c in calls.items()} == {
        ('cudaMalloc', MIB): 2, ('cudaMalloc', 2 * MIB): 2, ('cudaMalloc', 4 * MIB): 6,
        ('cudaFree', MIB): 2, ('cudaFree', 4 * MIB): 2}, calls
    assert all(c['min_ns'] >= 50000 for c in calls.values()), calls
    a, b = [run(command, '-p', 'direct', '--placements', '-', *more, trace, program=program,
                small=512)
            for command, program, more in [('run', PROGRAM, ('--profile', path)),
                                           ('replay', None, ())]]
    assert a.out == b.out and a.out, (a, b)
    got = run('run', '-p', 'direct', '--json', '-', '--profile', path, trace, program=PROGRAM)
    model = json.loads(got.out)['runs'][0]['modelled']
    assert model['calls'] == 5 and model['unmeasured_calls'] == 0, model
    mean = {key: c['total_ns'] / c['count'] for key, c in calls.items()}
    wanted = (mean['cudaMalloc', MIB] + 2 * mean['cudaMalloc', 4 * MIB] + mean['cudaFree', MIB]
              + mean['cudaFree', 4 * MIB])
    assert abs(model['driver_ns'] - wanted) <= 5, (model, wanted)   # each is rounded


@test
def profile_refused(folder):
    """a profile is of one GPU, and a file of its own; a failed replay leaves none"""
    two = write_trace(folder / 'two', alloc(1, 1000, device=1), devices=2)
    expect(replay('--write-profile', folder / 'p', two, gpus=2), 2,
           '--write-profile is for one GPU')
    trace = usual_trace(folder / 't')
    expect(replay('-q', '--write-profile', folder / 'p', '--json', folder / 'p', trace), 2,
           'two outputs to one file')
    expect(replay('--write-profile', '-', '--json', '-', trace), 2,
           'two outputs to standard output')
    expect(replay('-q', '--write-profile', folder / 'p', trace, fail_at=70), 5)
    assert not (folder / 'p').exists()
    got = replay('--write-profile', '-', trace)
    assert json.loads(got.out)['format'] == 'fragsim-profile', got


@test
def schema(folder):
    """the result object is what the schema says"""
    try:
        import jsonschema
    except ImportError:
        return
    rules = schema_of('result')
    for options, standin in [(('-p', 'pytorch', '-p', 'direct'), {}), (('--limit', '8MiB'), {}),
                             ((), {'small': 512}), (('--probe', '1'), {})]:
        got = replay('--json', '-', *options, usual_trace(folder / 't'), **standin)
        jsonschema.Draft202012Validator(rules).validate(json.loads(got.out))


@test
def pages(folder):
    """expandable ranges map and unmap real pages"""
    trace = write_trace(folder / 't', alloc(1, 30 * MIB), free(1), {'op': 'empty_cache'})
    got = replay('--json', '-', '-p', 'pytorch:expandable_segments=True', trace)
    calls = [(c['call'], c['count']) for c in json.loads(got.out)['runs'][0]['driver']['calls']]
    assert calls == [('map', 1), ('unmap', 1)], calls
    expect(replay('-p', 'pytorch:expandable_segments=True', trace, pages=0), 5,
           'an expandable range failed: operation not supported')


@test
def text(folder):
    """the report shows prediction and measurement side by side"""
    got = replay('-v', usual_trace(folder / 't'))
    expect(got, 0, 'prediction +simulated +on the GPU', 'decisions identical in all 13 events',
           r'cudaMalloc +32 MiB +1 ', r'device 0: stand-in 0, 4\.00 GiB, context 256\.00 MiB')


def judge(function):
    with tempfile.TemporaryDirectory(prefix='fragsim-replay-') as folder:
        try:
            function(Path(folder))
        except Exception as problem:    # whatever it is, it is this test's failure
            return f'{type(problem).__name__}: {problem}'
    return ''


def main(argv):
    global PROGRAM
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    PROGRAM = os.path.abspath(argv[1])
    print(f'1..{len(TESTS)}')
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for number, (function, problem) in enumerate(zip(TESTS, pool.map(judge, TESTS)), 1):
            print(f'{"not ok" if problem else "ok"} {number} - {function.__doc__}')
            if problem:
                print('\n'.join('#   ' + line for line in problem.splitlines()))
            failed += bool(problem)
            sys.stdout.flush()
    return failed > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
