"""run.py - threads: who reads and simulates at the same time makes the same bytes; prints TAP.

    run.py PROGRAM

Made-up traces of some 20 batches, more than are read ahead, with all that an event can borrow: ids
and tags that are texts, times as they were written, stacks, marks, pending blocks. What one thread
makes of them, which reads and simulates in turns, is held against several; what it makes itself,
against sums of our own. Under the thread sanitizer (make check-san) a race is a line and a status
that nobody expects.
"""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'support'))
sys.path.insert(0, str(HERE.parents[1] / 'formats' / 'snapshot'))
import snaps  # noqa: E402
from program import times  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PROGRAM = ''
SAN = os.environ.get('SAN', '')
PATIENCE = 300 if SAN else 60   # seconds
EVENTS = 20000
SEVERAL = ('3', '2', '8')[:times(1, 3, 1)]     # threads
OUTPUTS = ('--steps', 's.csv', '--placements', 'p.ndjson', '--json', 'r.json')
FILES = OUTPUTS[1::2]
POLICIES = ('bestfit', 'pytorch', 'buddy', 'direct', 'bfc', 'cupy', 'rmm', 'plan', 'nextfit',
            'sizeclass', 'tlsf', 'firstfit',
            'worstfit', 'pytorch:expandable_segments=True', 'compact')
HEADER = {'format': 'fragsim-trace', 'version': 1,
          'device': {'total_bytes': '3GiB', 'context_bytes': '100MiB'}}


def make_events(seed: int, count: int = EVENTS) -> list:
    """Valid ones; tags come and go, so that their numbers are used again."""
    rng = random.Random(seed)
    events, live, pending, number = [], [], [], 0
    for step in range(count):
        t = {'t': step * 3} if step % 3 else {'t': float(step * 3) + 0.25}
        what = rng.random()
        if what < 0.01:
            events.append({'op': 'mark', 'name': f'm\u00e4rk "{step}"', **t})
        elif what < 0.02:
            events.append({'op': 'sync', **t})
        elif what < 0.03 and pending:
            events.append({'op': 'complete', 'id': pending.pop(0), **t})
        elif live and (what < 0.5 or len(live) > 300):
            block = live.pop(rng.randrange(len(live)))
            wait = rng.random() < 0.03
            events.append({'op': 'free', 'id': block, **({'pending': True} if wait else {}), **t})
            if wait:
                pending.append(block)
        else:
            number += 1
            block = number if number % 3 else f'b\\{number}'
            live.append(block)
            size = rng.choice((512, 70000, 3 << 20, rng.randrange(1, 1 << 22)))
            events.append({'op': 'alloc', 'id': block, 'size': size, 'stream': number % 3,
                           'tag': f'layer {number // 7} \u00fc', **t})
    return events


def lines(events: list, header: dict | None = None) -> bytes:
    return ''.join(json.dumps(x) + '\n' for x in [header or HEADER, *events]).encode()


def run(folder: Path, *args: str, command: str = 'run', **how) -> dict:
    """All that a run makes."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    if 'input' not in how:
        how.setdefault('stdin', subprocess.DEVNULL)
    done = subprocess.run([*how.pop('before', ()), PROGRAM, *command.split(), *args], cwd=folder,
                          capture_output=True, check=False, timeout=PATIENCE, **how)
    made = {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}
    return {'status': done.returncode, 'out': done.stdout, 'err': done.stderr, **made}


def differences(got: dict, wanted: dict) -> list:
    return [f'{key}: {str(got.get(key))[-600:]}\nwanted: {str(wanted.get(key))[-600:]}'
            for key in sorted(got.keys() | wanted.keys()) if got.get(key) != wanted.get(key)]


def choices(count: int) -> list:
    return [word for name in POLICIES[:count] for word in ('-p', name)]


def check_same(folder: Path, name: str, trace: str, *args: str, status: tuple = (0, 3),
               threads: tuple = SEVERAL, outputs: tuple = OUTPUTS, **how) -> dict:
    """The same with so many threads as with one, which reads and simulates in turns."""
    one = run(folder, '--threads', '1', *outputs, *args, trace, **how)
    faults = [] if one['status'] in status else [f'one thread: {one["status"]} {one["err"]}']
    for n in threads:
        faults += differences(run(folder, '--threads', n, *outputs, *args, trace, **how), one)
    TAP.result(name, faults)
    return one


def check_sums(one: dict, events: list) -> None:
    """Of a run with room for all: rows, and what is requested at the end, from the events."""
    sizes, live = {}, 0
    for x in events:
        if x['op'] == 'alloc':
            sizes[x['id']] = x['size']
            live += x['size']
        elif x['op'] == 'free':
            live -= sizes[x['id']]
    result = json.loads(one['r.json'])
    rows = one['s.csv'].decode().splitlines()
    TAP.result('and one thread makes of it what the events say',
               [] if len(rows) == 1 + len(events) else [f'{len(rows)} rows'],
               [] if result['trace']['events'] == len(events) else [result['trace']],
               [] if result['runs'][0]['last']['requested'] == live else
               [f'{result["runs"][0]["last"]["requested"]} requested, not {live}'])


def check_forms(folder: Path) -> None:
    events = make_events(1)
    plain = lines(events)
    (folder / 'it.ndjson').write_bytes(plain)
    (folder / 'it.gz').write_bytes(gzip.compress(plain, 1))
    subprocess.run(['zstd', '-q', 'it.ndjson', '-o', 'it.zst'], cwd=folder, check=True)
    one = check_same(folder, 'one policy', 'it.ndjson', '-p', 'bestfit', '--device-bytes', '64GiB')
    check_sums(one, events)
    for count in (1, 3, 9) if SAN else (1, 2, 3, 9):
        for file in ('it.ndjson', 'it.gz', 'it.zst'):
            check_same(folder, f'{count} policies, {file}', file, *choices(count), '--on-oom',
                       'continue')
    check_same(folder, 'runs that end out of memory', 'it.gz', *choices(3), '--device-bytes',
               '700MiB')
    check_same(folder, 'with a report, its answers and no files', 'it.ndjson', '-p', 'pytorch',
               '--device-bytes', '700MiB', outputs=())
    check_same(folder, 'with every invariant checked', 'it.gz', '-q', '--check', *choices(2),
               '--on-oom', 'continue', threads=SEVERAL[:1])
    # in a pipe batches are as the pipe has them, but rows are not
    for form in ('it.ndjson', 'it.gz'):
        check_same(folder, f'through a pipe, {form}', '-', *choices(2), '--on-oom', 'continue',
                   input=(folder / form).read_bytes())


def check_stacks(folder: Path) -> None:
    """Frames are looked at by simulations while more come in."""
    frames = [[{'filename': f'm{i // 9}.py', 'line': i % 50 + 1, 'name': f'f{i % 7}'},
               {'filename': '/opt/torch/nn.py', 'line': i // 400 + 1, 'name': 'forward'},
               {'filename': 'train.py', 'line': 3, 'name': 'main'}] for i in range(2000)]
    # 100 blocks live in turn in 101 places; the rest of 2 MiB is never used
    places, last = 101, 8999
    at = [snaps.SMALL + i * 4096 for i in range(places)]
    log = snaps.Log().segment(snaps.SMALL, 2 << 20)
    for i in range(last + 1):
        if i >= places - 1:
            log.free(at[(i - places + 1) % places], 4096)
        log.alloc(at[i % places], 4096, frames=frames[i % 2000])
    hole = (last + 1) % places
    rest = (2 << 20) - places * 4096
    live = [snaps.hole(x, 4096) if i == hole else snaps.block(x, 4096, frames=frames[0])
            for i, x in enumerate(at)]
    live.append(snaps.hole(at[-1] + 4096, rest))
    snapshot = snaps.snapshot([snaps.segment(snaps.SMALL, *live)], log)
    (folder / 'snap.pickle').write_bytes(snaps.pickled(snapshot))
    done = run(folder, '-q', '--stacks', 'all', 'snap.pickle', 'it.fsb', command='trace convert')
    TAP.ok(done['status'] == 0, 'a binary trace with stacks', done['err'])
    for file in ('snap.pickle', 'it.fsb'):
        for stacks in ('all', 'python') if file == 'snap.pickle' else ('all',):
            check_same(folder, f'{file} with --stacks {stacks}', file, *choices(2), '--stacks',
                       stacks, '--device-bytes', '300KiB', '--granularity', '4KiB', '--on-oom',
                       'continue')


def check_errors(folder: Path) -> None:
    """A bad event is told when all that precedes it has been simulated, and nothing later is."""
    events = make_events(2)
    for at in (EVENTS // 2, EVENTS - 1):
        broken = [*events]
        broken[at] = {'op': 'free', 'id': 'nobody'}
        (folder / 'bad.ndjson').write_bytes(lines(broken))
        (folder / 'bad.gz').write_bytes(gzip.compress(lines(broken), 1))
        for file in ('bad.ndjson', 'bad.gz'):
            one = check_same(folder, f'a bad event at step {at}, {file}', file, *choices(2),
                             '--on-oom', 'continue', status=(4,))
            said = f'event {at}: free of id "nobody", which was never allocated'
            TAP.ok(said.encode() in one['err'], 'and the message', one['err'])
    go_on = ('--on-oom', 'continue')
    check_same(folder, 'left out with --lenient', 'bad.gz', *choices(2), *go_on, '--lenient')
    # two warnings late in the trace, and something of each kind that is left out
    odd = [*events]
    odd[15000] = {'op': 'mark', 'name': 'back', 't': 1}
    odd[17000] = {'op': 'alloc', 'id': 5, 'size': 'many'}
    (folder / 'odd.ndjson').write_bytes(lines(odd))
    one = check_same(folder, 'warnings', 'odd.ndjson', *choices(2), *go_on, '--lenient')
    TAP.ok(len(one['err'].splitlines()) > 1, 'and there are some', one['err'])
    cut = gzip.compress(lines(events), 1)
    (folder / 'cut.gz').write_bytes(cut[:len(cut) * 3 // 4])
    check_same(folder, 'a damaged file', 'cut.gz', *choices(2), *go_on, status=(4,))
    if not os.access('/dev/full', os.W_OK):
        TAP.skip('an output that is full', 'there is no /dev/full')
        return
    # it is full long before the warnings: nobody hears of them
    one = check_same(folder, 'an output that is full', 'odd.ndjson', *choices(1), *go_on,
                     '--lenient', '--steps', '/dev/full', outputs=(), status=(6,))
    TAP.ok(b'backwards' not in one['err'] and b'/dev/full' in one['err'],
           'and nothing else is told', one['err'])


def check_settings(folder: Path) -> None:
    """Settings are tried by who reads, and taken by who simulates."""
    events = make_events(3)
    for i, value in enumerate(('max_split_size_mb:64', 'roundup_power2_divisions:4',
                               'max_split_size_mb:no')):
        events[9000 + i * 4000] = {'op': 'configure', 'value': value}
    (folder / 'set.ndjson').write_bytes(lines(events))
    both = ('-p', 'pytorch', '-p', 'bestfit', '--on-oom', 'continue')
    check_same(folder, 'settings that no policy takes', 'set.ndjson', *both, status=(4,))
    check_same(folder, 'settings that are left out', 'set.ndjson', *both, '--lenient')


def check_diff(folder: Path) -> None:
    """Runs of one trace are compared batch by batch, several traces at once."""
    for i in range(4):
        (folder / f'd{i}.gz').write_bytes(gzip.compress(lines(make_events(10 + i)), 1))
    traces = [f'd{i}.gz' for i in range(4)]
    for names in (traces[:1], traces):
        for count in (1, 3):
            words = [*choices(count), '--format', 'json', *names]
            one = run(folder, '--threads', '1', *words, command='diff')
            faults = [] if one['status'] == 0 else [one['err']]
            for n in SEVERAL:
                faults += differences(run(folder, '--threads', n, *words, command='diff'), one)
            TAP.result(f'diff: {len(names)} traces, {count} policies', faults)
    words = ['-p', 'bestfit', '--format', 'json', *traces, *traces]
    one = run(folder, '--threads', '1', *words, command='ranks')
    faults = [] if one['status'] == 0 else [one['err']]
    for n in SEVERAL:
        faults += differences(run(folder, '--threads', n, *words, command='ranks'), one)
    TAP.result('ranks: eight, with tags that others have too', faults)
    one = None
    for n in (('taskset', '-c', '0'), ()):
        got = run(folder, '-q', '--to', 'perfetto', '-p', 'bestfit', '--on-oom', 'continue',
                  'd0.gz', 'r.json', command='trace convert', before=n)
        TAP.result('a run that is exported', differences(got, one or got))
        one = got


def threads_of(process: subprocess.Popen) -> int:
    status = Path(f'/proc/{process.pid}/status').read_text(encoding='ascii')
    return int(status.split('Threads:')[1].split()[0])


def asleep(process: subprocess.Popen) -> bool:
    """All its threads are."""
    stats = Path(f'/proc/{process.pid}/task').glob('*/stat')
    return all(x.read_text(encoding='ascii').rpartition(')')[2].split()[0] == 'S' for x in stats)


def settle(process: subprocess.Popen) -> None:
    """It has done what there was to do, and waits for more."""
    until = time.monotonic() + PATIENCE
    calm = 0
    while calm < 5 and process.poll() is None and time.monotonic() < until:
        calm = calm + 1 if asleep(process) else 0
        time.sleep(0.02)


def fed(folder: Path, *args: str, events: list, header: dict | None = None,
        before: tuple = ()) -> subprocess.Popen:
    """A run that has had these events through a pipe, which stays open."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    process = subprocess.Popen([*before, PROGRAM, 'run', *OUTPUTS, *args, '-'], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        process.stdin.write(lines(events, header))
        process.stdin.flush()
    except BrokenPipeError:
        pass
    settle(process)
    return process


def end(process: subprocess.Popen) -> tuple:
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, err


def check_streams(folder: Path) -> None:
    """What came through a pipe is simulated and written, whatever is still to come."""
    events = make_events(4)
    for count, quiet in ((1, ['-q']), (3, ['-q']), (1, []), (3, [])):
        # with a report, all is kept for its answers too
        process = fed(folder, *choices(count), '--threads', '3', '--on-oom', 'continue', *quiet,
                      events=events)
        process.send_signal(signal.SIGINT)
        status = end(process)
        result = json.loads((folder / 'r.json').read_bytes())
        rows = (folder / 's.csv').read_bytes().splitlines()
        TAP.result(f'interrupted in a pipe, {count} policies, {"no" if quiet else "a"} report',
                   [] if status[::2] == (130, b'') else [status],
                   [] if bool(status[1]) != bool(quiet) else [status[1]],
                   [] if result['trace']['events'] == EVENTS else [result['trace']],
                   [] if {x['steps'] for x in result['runs']} == {EVENTS} else ['steps'],
                   [] if len(rows) == 1 + count * EVENTS else [f'{len(rows)} rows'])
    # 64 MiB is not enough, and nobody closes the pipe
    small = {**HEADER, 'device': {'total_bytes': '164MiB', 'context_bytes': '100MiB'}}
    full = [{'op': 'alloc', 'id': i, 'size': 4096} for i in range(17000)]
    for count in (1, 3):
        process = fed(folder, '-q', *choices(count), '--threads', '3', events=full, header=small)
        status = end(process) if process.poll() is not None else ('it waits for more',)
        process.kill()
        runs = []
        if (folder / 'r.json').exists():
            runs = json.loads((folder / 'r.json').read_bytes())['runs']
        TAP.result(f'all have stopped and the pipe is open, {count} policies',
                   [] if status == (3, b'', b'') else [status],
                   [] if [x['status'] for x in runs] == ['oom'] * count else [runs])


def check_file_interrupted(folder: Path) -> None:
    """Interrupted anywhere in a file, all policies are at the same step, and the files say it."""
    plain = lines(make_events(5, 3 * EVENTS))
    (folder / 'long.ndjson').write_bytes(plain)
    args = (*choices(3), '-q', '--on-oom', 'continue', 'long.ndjson')
    whole = run(folder, *OUTPUTS, *args)
    first = [x for x in whole['p.ndjson'].splitlines() if b'"bestfit"' in x]
    faults, hits = [], 0
    for i in range(8):
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        threads = ('--threads', '1' if i % 4 == 3 else '3')
        process = subprocess.Popen([PROGRAM, 'run', *OUTPUTS, *threads, *args], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        time.sleep((0.02 + 0.03 * i) * (10 if SAN else 1))
        process.send_signal(signal.SIGINT)
        status = end(process)[0]
        if status != 130 or not (folder / 'r.json').exists():
            faults += [] if status in (130, 0, 3, -2) else [status]
            continue
        hits += 1
        result = json.loads((folder / 'r.json').read_bytes())
        steps = {x['steps'] for x in result['runs']} | {result['trace']['events']}
        rows = (folder / 's.csv').read_bytes().splitlines()
        placed = [x for x in (folder / 'p.ndjson').read_bytes().splitlines() if b'"bestfit"' in x]
        faults += [] if len(steps) == 1 else [f'at different steps: {steps}']
        faults += [] if len(rows) == 1 + 3 * min(steps) else [f'{len(rows)} rows of {steps}']
        faults += [] if placed == first[:len(placed)] else ['other placements']
    TAP.result(f'interrupted in a file ({hits} times in the middle)', faults)


def check_count(folder: Path) -> None:
    """Threads start where there is work for them and a processor, or where they are asked for."""
    events = make_events(6)
    one = ('taskset', '-c', '0')
    tools = 'thread' in SAN         # the sanitizer has one of its own, where there are others
    for name, args, count, before, wanted in (
            ('a hundred events', (), 100, (), 1),
            ('20,000 events', ('--threads', '8'), EVENTS, (), 2),
            ('20,000 events, three policies', ('--threads', '8', *choices(3)[2:]), EVENTS, (), 4),
            ('20,000 events, --threads 1', ('--threads', '1'), EVENTS, (), 1),
            ('20,000 events on one processor', (), EVENTS, one, 1)):
        process = fed(folder, '-q', '-p', 'bestfit', '--on-oom', 'continue', *args,
                      events=events[:count], before=before)
        there = threads_of(process)
        there -= tools and there > 1
        process.stdin.close()
        process.stdin = None
        status = end(process)[0]
        TAP.ok((there, status) == (wanted, 0) or (there, status) == (wanted, 3), f'threads: {name}',
               f'{there}, not {wanted}; status {status}')


def main(argv: list) -> int:
    global PROGRAM      # pylint: disable=global-statement
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    PROGRAM = os.path.abspath(argv[1])
    for check in (check_forms, check_stacks, check_errors, check_settings, check_diff,
                  check_streams, check_file_interrupted, check_count):
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
