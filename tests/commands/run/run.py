#!/usr/bin/python3
"""run.py - the answers of `fragsim run`: the member `answer` of the result, and the report's rows.

usage: run.py PROGRAM

The traces are small and written for the purpose; what is expected of them is arithmetic on paper,
which stands beside each.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'support'), str(HERE.parents[1] / 'formats' / 'snapshot')]
from snaps import FRAMES, LARGE, Log, block, hole, pickled, segment, snapshot  # noqa: E402
from program import PATIENCE, PROGRAM, call  # noqa: E402
from tap import Tap                                     # noqa: E402
from terminal import Terminal                           # noqa: E402

M = 1 << 20
TAP = Tap()
same = TAP.same


def alloc(name, mib, tag=None, **more):
    tagged = {'tag': tag} if tag else {}
    return {'op': 'alloc', 'id': name, 'size': int(mib * M), **tagged, **more}


def free(name):
    return {'op': 'free', 'id': name}


def write(name, device, *events, devices=None):
    """device: MiB, 0 for an unlimited one; or several of them."""
    head = {'format': 'fragsim-trace', 'version': 1,
            'devices': [{'total_bytes': mib * M} for mib in devices or [device]]}
    Path(name).write_text(''.join(json.dumps(x) + '\n' for x in (head, *events)))


def results(name, *args):
    """The runs, and the report beside them."""
    rc, out, err = call('run', '--json', 'r.json', *args, name)
    TAP.ok(rc in (0, 3) and not err, f'{name} {" ".join(args)}: it runs', err)
    return json.loads(Path('r.json').read_text())['runs'], out


def answer(name, *args):
    return results(name, *args)[0][0]['answer']


def row(report, label):
    """What a row of the report says; None where there is none."""
    found = [line[12:] for line in report.splitlines() if line.startswith(f'  {label:<10}')]
    return found[0] if found else None


# Failures -----------------------------------------------------------------------------
# Two segments of 2 MiB, each half free, and 2 of 6 MiB left: 3 MiB need a segment of 4.
PINNED = (alloc(1, 1, 'gone'), alloc(2, 1, 'stays'), alloc(3, 1, 'gone'), alloc(4, 1, 'stays'),
          free(1), free(3), alloc(5, 3, 'big'))


def fails():
    """It takes 8 MiB: the two segments and that of 4. Requested are 1 + 1 + 3."""
    write('fails', 6, *PINNED)
    same('a failure', answer('fails', '-p', 'bestfit'), {
        'verdict': 'does not fit', 'cause': 'fragmentation',
        'needs': {'requested': 5 * M, 'allocated': 5 * M, 'without_fragmentation': 5 * M,
                  'smallest': 8 * M, 'reliable': 8 * M, 'more_than': None},
        'hopeless': False, 'nearly_full': False, 'wasted': None, 'cached': None,
        # either segment would have done, given back: the first
        'pinned': [{'tag': 'stays', 'bytes': M, 'blocks': 1, 'free': M, 'places': 1,
                    'alone': True}],
        'held': [{'tag': 'stays', 'bytes': 2 * M, 'blocks': 2, 'oldest': 1}],
        'try': None, 'tried': 0})


def hopeless():
    """The peak of the requested bytes is more than the device."""
    write('hopeless', 6, alloc(1, 4), alloc(2, 3))
    a = answer('hopeless', '-p', 'bestfit')
    same('hopeless: the cause', (a['cause'], a['hopeless'], a['nearly_full']), ('capacity', True, False))
    # the second takes a segment of 4 MiB
    same('hopeless: what it needs', (a['needs']['without_fragmentation'], a['needs']['smallest']),
         (7 * M, 8 * M))


def tight():
    """7 MiB live, and a device of 7.25 MiB, in pages of 2 MiB."""
    write('tight', 0, alloc(1, 4), alloc(2, 3))
    a = answer('tight', '-p', 'bestfit', '--device-bytes', f'{29 * M // 4}B')
    same('tight', (a['nearly_full'], a['hopeless'], a['cause']), (True, False, 'fragmentation'))


def limit():
    """Half of 8 MiB is 4, of which 2 are taken."""
    write('limit', 8, {'op': 'set_fraction', 'value': 0.5}, alloc(1, 2), alloc(2, 3))
    runs, report = results('limit', '-p', 'bestfit')
    same('a limit is the cause', (runs[0]['answer']['cause'], row(report, 'verdict')[:6]),
         ('limit', 'limit:'))
    same('and the cause of its out-of-memory is as ever', runs[0]['oom'][0]['cause'],
         'fragmentation')


# Fits ---------------------------------------------------------------------------------
# The same on a device without a limit: 8 MiB are reserved and 5 requested, nothing can go.
FITS = {
    'verdict': 'no limit', 'cause': None,
    'needs': {'requested': 5 * M, 'allocated': 5 * M, 'without_fragmentation': 5 * M,
              'smallest': None, 'reliable': None, 'more_than': None},
    'hopeless': False, 'nearly_full': False, 'wasted': {'bytes': 3 * M, 'most': 3 * M}, 'cached': 0,
    'pinned': [{'tag': 'stays', 'bytes': 2 * M, 'blocks': 2, 'free': 2 * M, 'places': 2,
                'alone': True},
               {'tag': 'big', 'bytes': 3 * M, 'blocks': 1, 'free': M, 'places': 1, 'alone': True}],
    'held': [{'tag': 'big', 'bytes': 3 * M, 'blocks': 1, 'oldest': 6},
             {'tag': 'stays', 'bytes': 2 * M, 'blocks': 2, 'oldest': 1}],
    'try': None, 'tried': 0}


def fits():
    write('ends', 0, *PINNED)
    same('the peak is the end', answer('ends', '-p', 'bestfit'), FITS)
    write('goes-on', 0, *PINNED, free(5), alloc(6, 1, 'late'))
    same('the peak is not the end', answer('goes-on', '-p', 'bestfit'), FITS)
    write('enough', 10, *PINNED)
    same('a device that is large enough', answer('enough', '-p', 'bestfit'),
         {**FITS, 'verdict': 'fits'})


def cached():
    """A segment of 4 MiB that nobody uses any more, beside one that holds 2."""
    write('cached', 0, alloc(1, 4), free(1), alloc(2, 5), alloc(3, 2))
    a = answer('cached', '-p', 'bestfit')
    # 4 cached and split for the 2, 6 for the 5: 10 reserved, 7 requested
    same('cached: nothing, as the next request splits it', (a['cached'], a['wasted']['bytes']),
         (0, 3 * M))
    write('cached', 0, alloc(1, 4), free(1), alloc(2, 5))
    a = answer('cached', '-p', 'bestfit')
    same('cached', (a['cached'], a['wasted']['bytes'], a['pinned'][0]['free']), (4 * M, M, M))


def several_runs():
    """Each run has its own, though the report has those of a single one that fits only."""
    write('several', 0, *PINNED)
    runs, report = results('several', '-p', 'bestfit', '-p', 'direct')
    same('several runs: the first', runs[0]['answer'], FITS)
    # each request takes pages of 2 MiB: 8 are reserved by the first four already
    same('several runs: the second', [(h['tag'], h['bytes']) for h in runs[1]['answer']['held']],
         [('gone', 4 * M), ('stays', 4 * M)])
    same('several runs: the report', row(report, 'top tags'), None)


def several_devices():
    """The peaks of the devices are at different steps, the second one's first."""
    write('devices', 0, alloc(1, 3, 'late', device=1), alloc(2, 1, 'a'), free(1),
          alloc(3, 6, 'b'), free(3), alloc(4, 1, 'c', device=1), devices=(0, 0))
    runs, _ = results('devices', '-p', 'bestfit')
    same('several devices', [[(h['tag'], h['bytes']) for h in run['answer']['held']]
                             for run in runs], [[('b', 6 * M), ('a', M)], [('late', 3 * M)]])


# Settings -----------------------------------------------------------------------------
# PyTorch holds two segments of 16 MiB with 5 live in each, and 16 of 48 are left: 18 do not fit.
# An expandable range grows by pages of 20: 5 live, 11 free, 5 live, and 19 behind them.
SPLIT = (alloc(1, 15), free(1), alloc(2, 5), alloc(3, 15), free(3), alloc(4, 11), alloc(5, 5),
         free(4), alloc(6, 18))


def settings():
    write('split', 48, *SPLIT)
    runs, report = results('split', '-p', 'pytorch')
    same('try', runs[0]['answer']['try'], {
        'alloc_conf': 'expandable_segments:True', 'requested': 28 * M, 'reserved': 40 * M,
        'wasted': 12 * M})
    same('try: of at most 12', 1 <= runs[0]['answer']['tried'] < 12, True)
    same('try: the same in the report', row(report, 'set'),
         'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (simulated: fits, 8.00 MiB left)')
    both, report = results('split', '--alloc-conf', '', '--alloc-conf', 'expandable_segments:True')
    same('try: not in the report where a run fits', row(report, 'set'), None)
    same('try: in the result it does not depend on other runs',
         both[0]['answer'], runs[0]['answer'])


def plain_settings():
    """A key that follows from another one is not spelt out."""
    write('keys', 0, alloc(1, 1))
    runs, _ = results('keys', '--alloc-conf', 'large_segment_size_mb:64', '--alloc-conf',
                      'max_non_split_rounding_mb:30')
    same('settings as keys', [run['policy']['text'] for run in runs],
         ['pytorch:large_segment_size_mb=64', 'pytorch:max_non_split_rounding_mb=30'])


# On a terminal ------------------------------------------------------------------------
def seen(*args, columns=80, **env):
    """The lines that a terminal of so many columns shows of standard output and errors."""
    with Terminal(columns) as terminal:
        subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=terminal.fd,
                       stderr=terminal.fd, env={**os.environ, 'TERM': 'xterm', **env},
                       timeout=PATIENCE, check=False)
    return terminal.shown().decode().splitlines()


def words(lines):
    return ' '.join(lines).split()


# Whoever is asked is in site-packages, and the tensors are 5 and 10 of 20 MiB; 16 do not fit.
def oom_snapshot():
    package = {'name': 'einsum', 'filename': '/v/site-packages/einops/_backends.py', 'line': 288}
    log = Log(frames=[*FRAMES[:2], package, *FRAMES[2:]]).segment(LARGE, 20 * M)
    log.alloc(LARGE, 5 * M).alloc(LARGE + 5 * M, 10 * M).alloc(LARGE + 15 * M, 5 * M)
    log.free(LARGE + 5 * M, 10 * M).add('oom', 8 * M, 16 * M)
    return pickled(snapshot([segment(LARGE, block(LARGE, 5 * M), hole(LARGE + 5 * M, 10 * M),
                                     block(LARGE + 15 * M, 5 * M))], log))


def terminal():
    path = 'a_snapshot_with_a_name_as_long_as_people_give_them.pickle'
    Path(path).write_bytes(oom_snapshot())
    write('hopeless', 6, alloc(1, 4), alloc(2, 3))
    write('split', 48, *SPLIT)
    write('devices', 0, alloc(1, 30, 'w'), alloc(2, 30, 'w', device=1), alloc(3, 30, 'a'),
          alloc(4, 30, 'a', device=1), devices=(80, 40))
    policies = [word for name in ('bestfit', 'buddy', 'pytorch') for word in ('-p', name)]
    for title, args, most in (
            ('a snapshot that ends at its out-of-memory', (path,), 24),
            ('one that fits', ('--device-bytes', '64MiB', path), 24),
            ('an unlimited device', ('--device-bytes', '0', path), 24),
            ('a trace that no setting helps', ('-p', 'pytorch', 'hopeless'), 24),
            ('a trace that a setting helps', ('-p', 'pytorch', 'split'), 24),
            ('several devices', ('-p', 'pytorch', 'devices'), 24),
            ('settings side by side', ('--alloc-conf', '', '--alloc-conf',
                                       'expandable_segments:True', 'split'), 24),
            ('several policies', (*policies, 'split'), 60)):
        plain = seen('run', *args, columns=1000, NO_COLOR='1')
        lines = seen('run', *args, NO_COLOR='1')
        wide = [line for line in lines if len(line) > 80]
        # warnings may scroll away; what follows them, and the next prompt, may not
        report = [line for line in lines if not line.startswith('fragsim: ')]
        while report[0].startswith(' '):
            del report[0]
        TAP.result(f'80 columns: {title}', [f'wider: {line}' for line in wide],
                   [] if len(report) < most else f'{len(report)} lines',
                   [] if words(lines) == words(plain) else 'a word is cut')
        coloured = seen('run', *args)
        same(f'the same in colour: {title}',
             [re.sub(r'\033\[\d*m', '', line) for line in coloured], lines)
        same(f'none where the terminal is dumb: {title}', seen('run', *args, TERM='dumb'), lines)
    lines = seen('run', '-p', 'pytorch', 'hopeless', NO_COLOR='1')
    same('what no setting helps is said first', [line[:12].strip() for line in lines[1:] if line[:12].strip()][:3],
         ['next', 'verdict', 'device'])


# What it is held against --------------------------------------------------------------
# Two free blocks of 12 MiB are equal: a neighbour of the first goes later, and the request of 24
# fits there if the second was taken. The binary of 2.8 reserves 36 MiB where addresses fall, and 60
# where they rise; CuPy's pool has no order at all.
EQUALS = (alloc(1, 24), free(1), alloc(2, 12), alloc(3, 12), alloc(4, 12), free(2), free(4),
          alloc(5, 2), free(3), alloc(6, 24))


def evidence():
    old = 'PyTorch 2.8: exact on the released binary; order of new segments'
    equal = 'CuPy 14.2: exact on the released pool; order of equal blocks'
    span = 'peak reserved 36.00 MiB to 60.00 MiB'
    write('equals', 0, *EQUALS)
    for args, wanted in (
            (('-p', 'pytorch:version=2.8'), f'{old} unknown (2.11 and older): {span}'),
            (('-p', 'pytorch:version=2.8', '--device-bytes', '40MiB'),
             f'{old} unknown (2.11 and older): fits as simulated, OOM in the other one'),
            (('-p', 'cupy'), f'{equal} unknown: {span}'),
            (('-p', 'cupy', '--device-bytes', '40MiB'),
             f'{equal} unknown: OOM as simulated, fits in the other one'),
            (('-p', 'pytorch:version=2.12'), 'PyTorch 2.12: exact on the released binary'),
            (('-p', 'bestfit'), 'exact on a naive model of its rules')):
        runs, report = results('equals', *args)
        same(f'evidence: {" ".join(args)}', (runs[0]['evidence'], row(report, 'evidence')),
             (wanted, wanted))
    write('equals', 0, *EQUALS[:4])
    for policy, wanted in (('pytorch:version=2.8', f'{old} assumed (2.11 and older)'),
                           ('cupy', f'{equal} assumed')):
        same(f'evidence: no equals, {policy}', row(results('equals', '-p', policy)[1], 'evidence'),
             wanted)


# Before the recording -----------------------------------------------------------------
def before():
    """A segment of 20 MiB is there when the log begins with a free: 3 MiB fit in, 22 do not."""
    free_end = hole(LARGE + 3 * M, 17 * M)
    for mib, segments in (
            (3, [segment(LARGE, block(LARGE, 3 * M), free_end)]),
            (22, [segment(LARGE, hole(LARGE, 20 * M)),
                  segment(LARGE + 64 * M, block(LARGE + 64 * M, 22 * M))])):
        log = Log().free(LARGE, 12 * M)
        if mib == 22:
            log.segment(LARGE + 64 * M, 22 * M)
        log.alloc(segments[-1]['address'], mib * M)
        Path('late.pickle').write_bytes(pickled(snapshot(segments, log)))
        _, out, _ = call('run', 'late.pickle')
        same(f'{mib} MiB later: the peak was before the recording', (row(out, 'peak') or '')[:43],
             'before the recording, of at least 20.00 MiB' if mib == 3 else '')
        same('and most was live then', 'before the recording began' in call('explain', 'late.pickle')[1],
             mib == 3)


# Where it is looked for ---------------------------------------------------------------
def looked_for():
    write('where', 0, *PINNED)
    _, out, _ = call('run', '--json', '-', '-p', 'bestfit', 'where')
    same('a result instead of a report has it', json.loads(out)['runs'][0]['answer'], FITS)
    with open('where', 'rb') as trace:
        producer = subprocess.Popen(['cat'], stdin=trace, stdout=subprocess.PIPE)
        done = subprocess.run([PROGRAM, 'run', '--json', '-', '-p', 'bestfit', '-'], check=False,
                              stdin=producer.stdout, capture_output=True, timeout=PATIENCE)
        producer.stdout.close()
        producer.wait(PATIENCE)
    same('a pipe is not read on for it', json.loads(done.stdout)['runs'][0]['answer'], None)
    _, out, _ = call('run', '-q', '--json', '-', '-p', 'bestfit', 'where')
    same('with -q nothing is looked for', json.loads(out)['runs'][0]['answer'], None)
    _, out, _ = call('run', '--json', '-', '-p', 'bestfit', 'where')
    members = list(json.loads(out)['runs'][0])
    at = members.index('answer')
    same('it is before oom and marks', members[at:at + 3], ['answer', 'oom', 'marks'])


# How much of it is shown ----------------------------------------------------------------
LARGE_ANSWER = 12 << 10


def cut_faults(whole, part, top, where='document'):
    """What the document with lists of `top` rows has else than the whole one, by the manual."""
    if not isinstance(whole, dict):
        return [] if whole == part else [f'{where}: {part!r:.80}, not {whole!r:.80}']
    more, faults = part.get('more', {}), []
    if set(part) - {'more'} != set(whole):
        return [f'{where} has {sorted(part)}, not {sorted(whole)}']
    for key, value in whole.items():
        found, name = part[key], f'{where}.{key}'
        if isinstance(value, list):
            rows = value
            if key in more:
                if len(found) != top or len(value) - top != more[key]:
                    faults.append(f'{name}: {len(found)} and {more[key]} more of {len(value)}')
                if key == 'blocking_blocks':
                    largest = sorted(range(len(value)), key=lambda i: -value[i]['bytes'])[:top]
                    rows = [value[i] for i in sorted(largest)]
            elif len(found) != len(value):
                faults.append(f'{name}: {len(found)} of {len(value)}, and no word of it')
            for i, (one, other) in enumerate(zip(rows, found)):
                faults += cut_faults(one, other, top, f'{name}[{i}]')
        else:
            faults += cut_faults(value, found, top, name)
    return faults


def long_answers():
    """Sixty segments that thirty blocks of different sizes keep, and messages of as many OOMs."""
    blocks = 60 * 30
    events = [alloc(i, (64 + i % 7) / 1024, f'tag {i % 40}') for i in range(2 * blocks)]
    write('long', 0, *events, *(free(i) for i in range(0, 2 * blocks, 2)))
    Path('log').write_text(''.join(f'CUDA out of memory. Tried to allocate {i}.00 GiB (GPU 0; 15.78 GiB '
                                   'total capacity; 12.10 GiB already allocated; 1.20 GiB free; 14.10 GiB '
                                   'reserved in total by PyTorch)\n' for i in range(2, 62)))
    commands = {'explain': ('explain', '--at', str(3 * blocks - 1), 'long'), 'peak': ('explain', 'long'),
                'fit': ('fit', '--map', 'long'), 'tune': ('fit', '--settings', 'short', 'long'),
                'plan': ('plan', 'long'), 'diff': ('diff', 'long', 'long'),
                'ranks': ('ranks', 'long', 'where'), 'messages': ('explain', 'log')}
    for name, words in commands.items():
        def document(*args):
            return call(*words, '--json', '-', *args)[1]    # noqa: B023 (called in its round)
        whole = json.loads(document('--top', 'all'))
        TAP.ok('"more"' not in document('--top', 'all'), f'{name}: --top all leaves nothing out')
        for top in (1, 3):
            part = json.loads(document('--top', str(top)))
            TAP.result(f'{name}: --top {top}', cut_faults(whole, part, top))
        text = document()
        TAP.ok(len(text) <= LARGE_ANSWER, f'{name}: {len(text)} bytes by default')
        tops = [len(inner) for cut, inner in lists_of(json.loads(text)) if cut]
        TAP.result(f'{name}: by default lists have one length',
                   cut_faults(whole, json.loads(text), tops[0] if tops else None))
    TAP.ok('more' in json.loads(call('explain', '--json', '-', 'long')[1])['moments'][0],
           'there was something to leave out')
    same('a small answer is whole', call('explain', '--json', '-', 'where')[1],
         call('explain', '--json', '-', '--top', 'all', 'where')[1])
    for bad in ('-1', 'x', '', '4294967296'):
        rc, _, err = call('explain', '--top', bad, 'long')
        TAP.ok(rc == 2 and bad in err and err.count('\n') == 1, f'--top {bad} is refused', err)


def lists_of(value):
    """Each list, and whether rows of it are left out."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, list):
            yield isinstance(value, dict) and key in value.get('more', {}), inner
        if isinstance(inner, (dict, list)):
            yield from lists_of(inner)


def long_tables():
    """A hundred tags leak; with --top 7 the Markdown has seven of them."""
    events = []
    for step in range(12):
        events.append({'op': 'mark', 'name': f'step {step}'})
        events += [alloc(f'{step}.{i}', 100000, f'leak {i}') for i in range(100)]
    write('leaking', 0, *events)

    def table(*args):
        out = call('leaks', '--format', 'markdown', *args, 'leaking')[1]
        return out, [line for line in out.splitlines() if 'leak ' in line]
    out, rows = table('--top', '7')
    same('rows of a table', (len(rows), out.splitlines()[-1]), (7, '93 more: --top all'))
    same('all', len(table('--top', 'all')[1]), 100)
    csv = call('leaks', '--top', '7', '--format', 'csv', 'leaking')[1]
    same('CSV has all', len(csv.splitlines()), 101)
    shown = json.loads(call('leaks', '--top', '7', '--json', '-', 'leaking')[1])
    same('JSON', (len(shown['leaks']), shown['more']), (7, {'rising': 93, 'leaks': 93}))


def goes_wrong():
    """A second attempt at which PyTorch itself goes wrong is none that succeeds: the limit of splits was lowered, and the
    block of 40 MiB counts as a whole segment of 60."""
    write('wrong', 80, alloc(1, 60, stream=0), free(1), alloc(2, 40, stream=0), alloc(3, 20, stream=0),
          {'op': 'configure', 'value': 'max_split_size_mb:30'}, {'op': 'record_stream', 'id': 2, 'stream': 1},
          free(2), alloc(4, 42, stream=0))
    found = answer('wrong', '-p', 'pytorch')
    rc, out, err = call('explain', '-p', 'pytorch', '--json', '-', 'wrong')
    same('a second attempt that goes wrong', (found['cause'], rc, err), ('fragmentation', 0, ''))
    same('and explain agrees', json.loads(out)['moments'][0]['verdict'], 'fragmentation')


def unlimited():
    """A threshold that compares with the capacity leaves an unlimited device unlimited."""
    write('endless', 0, alloc(1, 100), free(1))
    found = results('endless', '-p', 'pytorch:expandable_segments=True,garbage_collection_threshold=0.8,'
                    'per_process_memory_fraction=0.5')[0][0]
    same('no limit, whatever is compared with it', (found['status'], found['counts']['ooms']), ('fits', 0))


def main():
    with tempfile.TemporaryDirectory(prefix='answers-') as folder:
        os.chdir(folder)
        for part in (fails, hopeless, tight, limit, fits, cached, several_runs, several_devices,
                     settings, plain_settings, terminal, evidence, before, looked_for, long_answers,
                     long_tables, goes_wrong, unlimited):
            part()
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
