"""run.py - the scope of a recording: which part of a program's run it contains.

    run.py PROGRAM      prints TAP

A small allocator here makes snapshots of programs whose recording is known: from the start, late,
without a history, with a ring buffer that was full, to an out-of-memory. What it knows is held
against what the readers find, what a written trace keeps, and what each document says.
"""

import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import times  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PROGRAM = ''
MIB = 1 << 20
FRAME = [{'filename': '/job/train.py', 'line': 7, 'name': 'step'}]


def run(*args: str, status: int = 0) -> str:
    done = subprocess.run([PROGRAM, *args], capture_output=True, check=False, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, (args, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


class Machine:
    """Segments of one block each, as those of large requests are; events while it records."""

    def __init__(self, stacks: bool) -> None:
        self.live: dict[int, tuple[int, bool]] = {}
        self.events: list[dict] = []
        self.at = 1 << 40
        self.recording, self.stacks, self.done = False, stacks, 0

    def note(self, action: str, addr: int, size: int) -> None:
        self.done += self.recording
        if self.recording:
            self.events.append({'action': action, 'addr': addr, 'size': size, 'stream': 0,
                                'time_us': self.done, 'frames': FRAME if self.stacks else []})

    def alloc(self, size: int) -> int:
        self.at += 64 * MIB
        self.note('segment_alloc', self.at, size)
        self.note('alloc', self.at, size)
        self.live[self.at] = size, self.recording and self.stacks
        return self.at

    def free(self, addr: int) -> None:
        size, _ = self.live.pop(addr)
        self.note('free_requested', addr, size)
        self.note('free_completed', addr, size)
        self.note('segment_free', addr, size)

    def oom(self, size: int) -> None:
        self.note('oom', 0, size)
        self.events[-1].update(device_free=MIB)
        del self.events[-1]['addr']

    def snapshot(self, ring: int = 0) -> dict:
        segments = [{'address': a, 'total_size': n, 'allocated_size': n, 'active_size': n,
                     'device': 0, 'stream': 0, 'segment_type': 'large',
                     'frames': FRAME if framed else [],
                     'blocks': [{'address': a, 'size': n, 'requested_size': n,
                                 'state': 'active_allocated', 'frames': FRAME if framed else []}]}
                    for a, (n, framed) in sorted(self.live.items())]
        return {'segments': segments, 'device_traces': [self.events[-ring:]]}


def churn(m: Machine, draw: random.Random, steps: int) -> None:
    for _ in range(steps):
        if m.live and draw.random() < 0.45:
            m.free(draw.choice(sorted(m.live)))
        else:
            m.alloc(draw.randrange(2, 30) * 2 * MIB)


def before(m: Machine) -> dict | None:
    total = sum(n for n, _ in m.live.values())
    return {'active': total, 'reserved': total}


def write(name: str, what: dict) -> str:
    Path(name).write_bytes(pickle.dumps(what))
    return name


def scope_of(path: str) -> dict:
    return json.loads(run('trace', 'info', '--json', '-', '-q', path))['scope']


def scope(begins: str, ends: str, there: dict | None = None, lost: int | None = None) -> dict:
    return {'begins': begins, 'ends': ends, 'before': there, 'lost': lost, 'grows': None}


def recordings(draw: random.Random) -> dict[str, tuple[dict, dict]]:
    """By name: a snapshot, and its scope."""
    found = {}
    for stacks in (True, False):
        m, name = Machine(stacks), 'stacks' if stacks else 'bare'
        m.recording = True
        churn(m, draw, draw.randrange(20, 60))
        found['start ' + name] = m.snapshot(), scope('start', 'end')
        m.oom(512 * MIB)
        found['oom ' + name] = m.snapshot(), scope('start', 'oom')
        for a in sorted(m.live)[:2]:
            m.free(a)
        found['oom, cleaned up ' + name] = m.snapshot(), scope('start', 'oom')
        m.alloc(2 * MIB)
        found['oom, gone on ' + name] = m.snapshot(), scope('start', 'end')
        m = Machine(stacks)
        churn(m, draw, 20)
        m.alloc(4 * MIB)
        there = before(m)
        found['state ' + name] = m.snapshot(), scope('state', 'end', there)
        m.recording = True
        churn(m, draw, draw.randrange(20, 60))
        m.alloc(4 * MIB)
        found['late ' + name] = m.snapshot(), scope('late', 'end', there)
    return found


def ring(draw: random.Random) -> tuple[dict, dict]:
    """The last events of a recording from its start. What is lost that the file shows: blocks and
    segments with stacks, alive at the end, without their events."""
    m = Machine(True)
    m.recording = True
    kept = [m.alloc(4 * MIB)]
    churn(m, draw, 80)
    while kept[0] not in m.live:
        kept = [m.alloc(4 * MIB)]
    churn(m, draw, 30)
    if kept[0] not in m.live:
        return ring(draw)
    size = draw.randrange(5, 40)
    part = m.events[-size:]
    while part and part[0]['action'] != 'segment_alloc':    # no event is cut in two
        part = part[1:]
    if not part:
        return ring(draw)
    made = {e['addr'] for e in part if e['action'] == 'alloc'}
    old = [a for a in m.live if a not in made]
    gone = {e['addr']: e['size'] for e in part
            if e['action'] == 'free_requested' and e['addr'] not in made}
    total = sum(m.live[a][0] for a in old) + sum(gone.values())
    shot = m.snapshot(len(part))
    if not made:
        return shot, scope('state', 'end', {'active': total, 'reserved': total})
    return shot, scope('late', 'cut', {'active': total, 'reserved': total}, 2 * len(old))


def check_found() -> None:
    draw = random.Random(49)
    faults, kept, count = [], [], 0
    for _ in range(times(6, 15)):
        cases = recordings(draw)
        cases.update({f'ring {i}': ring(draw) for i in range(8)})
        for name, (shot, truth) in cases.items():
            count += 1
            write('x.pickle', shot)
            said = scope_of('x.pickle')
            if said != truth:
                faults.append((name, said, truth))
            for form in ('ndjson', 'json', 'fsb'):
                run('trace', 'convert', '-q', 'x.pickle', 'y.' + form)
                run('trace', 'convert', '-q', 'y.' + form, 'z.' + form)
                for path in ('y.' + form, 'z.' + form):
                    if scope_of(path) != truth:
                        kept.append((name, path, scope_of(path), truth))
    TAP.ok(not faults, f'what {count} recordings contain is found', *map(str, faults[:3]))
    TAP.ok(not kept, 'and is kept by lines, object and fsb', *map(str, kept[:3]))


# each of them from the same beginning
EVERY = tuple(word for name in ('pytorch', 'pytorch:version=2.8', 'pytorch:expandable_segments=true',
                                'bestfit', 'sizeclass', 'buddy', 'direct', 'bfc', 'tlsf', 'rmm', 'cupy',
                                'compact') for word in ('-p', name))
# of a snapshot alone: stacks, what follows from them, and a log that a run can be compared with
FROM_STACKS = {'stacks', 'all_stacks', 'evidence', 'class', 'main_cause', 'frames', 'frames_at', 'larger',
               'requested_by', 'grows', 'accumulation', 'failed_attempt', 'recorded_log', 'recorded_ooms'}
# lists of explain that are cut where its document is large, with whatever else is in it
CUT = {'holders', 'blocking_blocks', 'more'}
# what says which file it is
OF_FILES = {'trace', 'traces', 'path', 'form'}


def figures(path: str, *options: str, command: str = 'run') -> object:
    done = subprocess.run([PROGRAM, command, '-q', '--json', '-', *options, path], check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 1, 3), (path, options, done.stderr)
    document = json.loads(done.stdout)
    for moment in document.get('moments', []):      # from stacks too, where there are any
        if moment['verdict'] in ('accumulation', 'fragmentation'):
            del moment['verdict'], moment['nearly_full']
    return without(document, FROM_STACKS | OF_FILES | (CUT if command == 'explain' else set()))


def without(x: object, members: set) -> object:
    if isinstance(x, dict):
        return {k: without(v, members) for k, v in x.items() if k not in members}
    return [without(v, members) for v in x] if isinstance(x, list) else x


def expandable() -> dict:
    """Two ranges of one stream each, whose mapped parts have gaps; blocks, and what is pending."""
    def block(addr: int, size: int, state: str) -> dict:
        return {'address': addr, 'size': size, 'requested_size': size, 'state': state}
    base, segments = 1 << 40, []
    for stream, at in ((0, base), (7, base + (1 << 36))):
        for part in range(3):
            addr = at + part * 60 * MIB
            segments.append({
                'address': addr, 'total_size': 40 * MIB, 'allocated_size': 0, 'active_size': 0,
                'device': 0, 'stream': stream, 'segment_type': 'large', 'is_expandable': True,
                'segment_pool_id': (0, part == 2),
                'blocks': [block(addr, 12 * MIB, 'active_allocated'),
                           block(addr + 12 * MIB, 18 * MIB, 'inactive'),
                           block(addr + 30 * MIB, 10 * MIB, 'active_pending_free')]})
    events = [{'action': 'alloc', 'addr': base + 12 * MIB, 'size': 18 * MIB, 'stream': 0,
               'frames': [], 'time_us': 1},
              {'action': 'free_requested', 'addr': base + 12 * MIB, 'size': 18 * MIB, 'stream': 0,
               'frames': [], 'time_us': 2},
              {'action': 'free_completed', 'addr': base + 12 * MIB, 'size': 18 * MIB, 'stream': 0,
               'frames': [], 'time_us': 2}]
    return {'segments': segments, 'device_traces': [events]}


def check_corpus() -> None:
    """Recordings of real programs: the smallest of them."""
    files = sorted((Path(__file__).parents[2] / 'oracles' / 'corpus').glob('*.pickle.gz'), key=lambda p: p.stat().st_size)[:times(5, 20)]
    unlike = []
    for path in files:
        questions = [('run', *EVERY), ('explain',), ('explain', '-p', 'buddy'), ('fit', '-p', 'pytorch', '-p', 'tlsf')]
        answers = [figures(str(path), *options, command=name) for name, *options in questions]
        for form in ('ndjson', 'fsb'):
            run('trace', 'convert', '-q', str(path), 'y.' + form)
            unlike += [(path.name, form, question) for question, answer in zip(questions, answers)
                       if figures('y.' + form, *question[1:], command=question[0]) != answer]
    TAP.ok(not unlike, f'so do recordings of {len(files)} real programs', *map(str, unlike[:4]))


def peaks(path: str) -> list:
    return [(x['policy']['name'], x['peak']) for x in figures(path, *EVERY)['runs']]


def steps(path: str) -> list[str]:
    """A row of metrics each, under a policy that begins in the middle and one that does not."""
    subprocess.run([PROGRAM, 'run', '-q', '-p', 'pytorch', '-p', 'bestfit', '--steps', 's.csv', path],
                   capture_output=True, check=False)
    return Path('s.csv').read_text().splitlines()


def beginning_of(path: str) -> dict | None:
    with open(path, encoding='utf-8') as lines:
        return json.loads(lines.readline()).get('beginning')


def late(draw: random.Random) -> dict:
    m = Machine(False)
    churn(m, draw, 20)
    m.alloc(4 * MIB)
    m.recording = True
    churn(m, draw, 40)
    return m.snapshot()


def on_device(shot: dict, device: int) -> list[dict]:
    """Its segments there, at other addresses."""
    base = device << 44
    return [{**s, 'device': device, 'address': s['address'] + base,
             'blocks': [{**b, 'address': b['address'] + base} for b in s['blocks']]}
            for s in shot['segments']]


def pair(first: dict, second: dict) -> dict:
    """Two devices of one program."""
    return {'segments': [x for i, shot in enumerate((first, second)) for x in on_device(shot, i)],
            'device_traces': [[{**e, 'addr': e['addr'] + (i << 44)} for e in shot['device_traces'][0]]
                              for i, shot in enumerate((first, second))]}


def check_kept() -> None:
    """A part that begins with the trace, a device of it, and a merged trace have the beginning."""
    draw = random.Random(5)
    faults = []
    for _ in range(times(4, 15)):
        shots = late(draw), expandable() if draw.random() < 0.3 else late(draw)
        for i, shot in enumerate(shots):
            write(f'{i}.pickle', shot)
        whole = steps('0.pickle')
        for form in ('ndjson', 'fsb'):
            end = draw.randrange(30, 50)
            run('trace', 'slice', '-q', '--to-step', str(end), '0.pickle', 'y.' + form)
            part = steps('y.' + form)
            if len(part) != 2 * end + 1 or part != [*whole[:1], *(
                    x for x in whole[1:] if int(x.split(',')[1]) < end)]:
                faults.append(('slice --to-step', end, form))
            run('trace', 'merge', '-q', '0.pickle', '1.pickle', 'y.' + form)
            write('x.pickle', pair(*shots))
            for path in ('y.' + form, 'x.pickle'):
                merged = peaks(path)
                alone = peaks('0.pickle'), peaks('1.pickle')
                if merged[::2] != alone[0] or merged[1::2] != alone[1]:
                    faults.append(('merge', path))
            for i in range(2):
                run('trace', 'slice', '-q', '--only-device', str(i), 'x.pickle', 'y.' + form)
                if peaks('y.' + form) != peaks(f'{i}.pickle'):
                    faults.append(('slice --only-device', i, form))
    TAP.ok(not faults, 'what begins with the trace, a device, and merged traces keep the beginning',
           *map(str, faults[:4]))


def check_dropped() -> None:
    """Where it is not true any more, it is not written, and one line says so."""
    write('x.pickle', late(random.Random(6)))
    run('trace', 'convert', '-q', 'x.pickle', 'x.ndjson')
    state, faults = beginning_of('x.ndjson'), []
    words = (f'warning: x.ndjson: the state at its beginning ({len(state["segments"])} segments,'
             f' {len(state["blocks"])} blocks) is not written: ')
    for args in (('trace', 'slice', '--from-step', '9'), ('trace', 'slice', '--to-step', '1'), ('predict', '--hoist'),
                 ('trace', 'shrink', '--device-bytes', '100MiB', '--tries', '20'), ('predict', '--at', '3')):
        files = (['x.ndjson=1', 'x.ndjson=2', '--trace', 'y.ndjson'] if '--at' in args else
                 ['x.ndjson', '--trace', 'y.ndjson'] if '--hoist' in args else ['x.ndjson', 'y.ndjson'])
        done = subprocess.run([PROGRAM, *args, *files], capture_output=True, text=True, check=False)
        if done.stderr.count(words) != 1 or beginning_of('y.ndjson'):
            faults.append((args, done.returncode, done.stderr))
    done = subprocess.run([PROGRAM, 'trace', 'convert', 'x.ndjson', '-t', 'rmm', 'y.csv'], capture_output=True,
                          text=True, check=False)
    if 'has no place for' not in done.stderr or 'the state at the beginning' not in done.stderr:
        faults.append(('convert to rmm', done.stderr))
    TAP.ok(not faults, 'it is left out where it is not true any more, and a line says so',
           *map(str, faults[:4]))
    faults.clear()
    lines = Path('x.ndjson').read_text().splitlines()
    for bad, status in ((1, 4), (len(state['blocks']) + 1, 0)):
        Path('z.ndjson').write_text('\n'.join([*lines[:bad], '{"op":"nothing"}', *lines[bad:]]) + '\n')
        done = subprocess.run([PROGRAM, 'trace', 'convert', '-q', '--lenient', 'z.ndjson', 'y.ndjson'],
                              capture_output=True, text=True, check=False)
        if done.returncode != status or done.stderr.count('\n') != (status != 0) or (
                not status and peaks('y.ndjson') != peaks('x.ndjson')):
            faults.append((bad, done.returncode, done.stderr))
    TAP.ok(not faults, '--lenient skips no event before the last block of the beginning',
           *map(str, faults[:4]))


def check_beginning() -> None:
    draw = random.Random(48)
    # older releases write the sizes of blocks, not of requests
    shots = [expandable(), without(late(random.Random(3)), {'requested_size'}), *(x for _ in range(times(2, 20))
                             for x, _ in recordings(draw).values())]
    questions = [('run', *EVERY), ('run', '--alloc-conf', 'expandable_segments:True'),
                 ('explain',), ('explain', '-p', 'sizeclass'), ('fit', '-p', 'pytorch', '-p', 'buddy')]
    unlike, again = [], []
    for shot in shots:
        write('x.pickle', shot)
        answers = [figures('x.pickle', *options, command=name) for name, *options in questions]
        for form in ('ndjson', 'json', 'fsb'):
            run('trace', 'convert', '-q', 'x.pickle', 'y.' + form)
            run('trace', 'convert', '-q', 'y.' + form, 'z.' + form)
            if Path('y.' + form).read_bytes() != Path('z.' + form).read_bytes():
                again.append(form)
            unlike += [(form, question) for question, answer in zip(questions, answers)
                       if figures('y.' + form, *question[1:], command=question[0]) != answer]
        run('trace', 'anonymize', '-q', 'x.pickle', 'a.ndjson')
        if peaks('x.pickle') != peaks('a.ndjson'):
            unlike.append('anonymize')
    TAP.ok(not unlike, f'{len(shots)} converted recordings give the same answer', *unlike[:3])
    TAP.ok(not again, 'converted again they are the same bytes', *again[:3])
    write('x.pickle', expandable())
    run('trace', 'convert', '-q', 'x.pickle', 'y.ndjson')
    lines = Path('y.ndjson').read_text().splitlines()
    faults = []
    for where, value in ((('segments', 0, 'device'), 1), (('segments', 0, 'bytes'), 0),
                         (('segments', 0, 'large'), 1), (('segments', 0, 'mapped', 0), [5]),
                         (('segments', 0, 'mapped', 1), [0, 1]), (('segments', 0), 3),
                         (('segments',), {}), (('blocks', 0, 'segment'), 9),
                         (('blocks', 1, 'event'), 0), (('blocks', 1, 'offset'), 0),
                         (('blocks', 0, 'space'), 1 << 52), (('blocks', 0, 'requested'), -1),
                         (('blocks', 0, 'requested'), 7), (('blocks', 0, 'bytes'), 'x'),
                         (('order',), [[0, 0]]), (('order',), [[1]]), (('order',), [[], []])):
        head = json.loads(lines[0])
        at = head['beginning']
        for key in where[:-1]:
            at = at[key]
        at[where[-1]] = value
        Path('bad.ndjson').write_text('\n'.join([json.dumps(head), *lines[1:]]) + '\n')
        done = subprocess.run([PROGRAM, 'run', '-q', 'bad.ndjson'], capture_output=True, text=True,
                              check=False)
        if done.returncode != 4 or '"beginning"' not in done.stderr or done.stderr.count('\n') != 1:
            faults.append((where, value, done.returncode, done.stderr))
    TAP.ok(not faults, 'a beginning that contradicts itself or the events is refused',
           *map(str, faults[:4]))


LATE = {'begins': 'late', 'ends': 'cut', 'before': {'active': 5, 'reserved': 9}, 'lost': 3}


def trace(name: str, meta: object, *events: dict) -> str:
    head = {'format': 'fragsim-trace', 'version': 1, 'meta': meta}
    Path(name).write_text('\n'.join(json.dumps(x) for x in [head, *events]) + '\n')
    return name


ALLOCS = [{'op': 'alloc', 'id': i, 'size': 1000 + i} for i in range(3)]


def check_meta() -> None:
    said = scope_of(trace('t', {'scope': LATE, 'x': 1}, *ALLOCS))
    TAP.ok(said == LATE | {'grows': None}, 'a header says the scope', str(said))
    said = scope_of(trace('t', {'x': {'scope': LATE}}, *ALLOCS))
    TAP.ok(said == scope('start', 'end'), 'an inner member of that name is none', str(said))
    said = scope_of(trace('t', {'scope': 'all'}, *ALLOCS))
    TAP.ok(said == scope('start', 'end'), 'nor is a text', str(said))
    oom = {'begins': 'start', 'ends': 'oom', 'before': None, 'lost': None}
    at = {'recorder': 'torch.cuda.memory', 'ends_at_oom': {'step': 2, 'size': 1002}}
    for name, meta, events, ends in (
            ('the last request failed', {'scope': oom}, ALLOCS, 'oom'),
            ('so it did where the header names it', {'scope': oom} | at, ALLOCS, 'oom'),
            ('a trace that was cut before it', {'scope': oom} | at, ALLOCS[:2], 'cut'),
            ('one that goes on', {'scope': oom} | at, [*ALLOCS, {**ALLOCS[0], 'id': 9}], 'end')):
        said = scope_of(trace('t', meta, *events))
        TAP.ok(said['ends'] == ends, name, str(said))
    for wrong, word in (({'begins': 'early'}, 'begins'), ({'ends': 3}, 'ends'),
                        ({'before': 7}, 'before'), ({'before': {'active': -1}}, 'before'),
                        ({'lost': 'x'}, 'lost')):
        said = run('trace', 'info', trace('t', {'scope': LATE | wrong}, *ALLOCS), status=4)
        TAP.ok(f'"scope" in "meta": member "{word}"' in said and said.count('\n') == 1,
               f'{wrong} is refused', said)
    for meta in ({'scope': LATE}, {'a': 1, 'scope': LATE}, {'scope': LATE, 'b': [{}, '}"']}, {}):
        run('trace', 'convert', trace('t', meta, *ALLOCS), 'u.ndjson')
        head = json.loads(Path('u.ndjson').read_text().split('\n')[0])
        TAP.ok(head.get('meta') == meta, f'written again: {json.dumps(meta)}', str(head))


RMM = 'Thread,Time,Action,Pointer,Size,Stream\n'


def rmm(*rows: tuple) -> str:
    Path('log.csv').write_text(RMM + ''.join(
        f'1,10:00:00.{i:06},{action},{pointer:#x},{size},0\n'
        for i, (action, pointer, size) in enumerate(rows)))
    return 'log.csv'


def check_others() -> None:
    """Logs of calls: what an address shows, and a request that failed."""
    whole = [('allocate', 16, 1000), ('free', 16, 1000)]
    for name, rows, truth in (
            ('whole', whole, scope('start', 'end')),
            ('late', [*whole, ('free', 32, 500)],
             scope('late', 'end', {'active': 500, 'reserved': 500})),
            ('lost', [whole[0], ('allocate', 16, 8)], scope('start', 'cut', None, 1)),
            ('oom', [*whole, ('allocate failure', 0, 77)], scope('start', 'oom')),
            ('oom, cleaned up', [whole[0], ('allocate failure', 0, 77), whole[1]],
             scope('start', 'oom')),
            ('oom, gone on', [*whole, ('allocate failure', 0, 77), *whole],
             scope('start', 'end'))):
        said = scope_of(rmm(*rows))
        TAP.ok(said == truth, f'a log of RMM: {name}', str(said))
        run('trace', 'convert', '-q', 'log.csv', 'log.ndjson')
        said = scope_of('log.ndjson')
        TAP.ok(said == truth, 'and as lines', str(said))
    run('trace', 'slice', '--from-step', '1', '--to-step', '2', trace('t', {}, *ALLOCS), 'part.ndjson')
    said = scope_of('part.ndjson')
    TAP.ok((said['begins'], said['ends']) == ('late', 'cut'), 'a slice is late and cut', str(said))
    run('trace', 'merge', 'part.ndjson', 't', 'both.ndjson')
    said = scope_of('both.ndjson')
    TAP.ok((said['begins'], said['ends']) == ('late', 'cut'), 'so is what it is merged into',
           str(said))


def check_documents() -> None:
    draw = random.Random(3)
    shot, truth = recordings(draw)['late stacks']
    path = write('late.pickle', shot)
    other = write('whole.pickle', recordings(draw)['start stacks'][0])
    for args in (('run', '--policy', 'bestfit'), ('fit',), ('plan',), ('explain',),
                 ('predict', '--hoist')):
        said = json.loads(run(args[0], '-q', '--json', '-', path, *args[1:]))
        TAP.ok(said['scope'] == truth, f'{args[0]} says it', str(said.get('scope')))
    said = json.loads(run('fit', '-q', '--json', '-', path, other))
    TAP.ok(said['scope'] == [truth, scope('start', 'end')], 'fit of two traces has a list',
           str(said['scope']))
    said = json.loads(run('diff', '-q', '--json', '-', path, other))
    TAP.ok(said['old']['scope'] == truth, 'diff has that of both', str(said['old']['scope']))


def main() -> int:
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix='fragsim-scope.') as work:
        os.chdir(work)
        check_found()
        check_meta()
        check_beginning()
        check_corpus()
        check_kept()
        check_dropped()
        check_others()
        check_documents()
        os.chdir('/')
    return TAP.finish()


sys.exit(main())
