#!/usr/bin/python3
"""run.py - run, explain, explain of a message and the HTML report name one cause of each OOM.

    run.py PROGRAM [TRACE...]       prints TAP

Each trace runs under every policy on devices around its peak. The cause of `run`, `explain`, the
first verdict of the report and, of PyTorch's message, the word that its values allow are compared.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import times  # noqa: E402
from tap import Tap     # noqa: E402

TAP = Tap()
ROOT = Path(__file__).resolve().parents[3]
POLICIES = ('pytorch', 'pytorch:expandable_segments=true', 'pytorch:version=2.8',
            'pytorch:version=2.12', 'bestfit', 'firstfit', 'nextfit',
            'worstfit', 'buddy', 'plan', 'tlsf', 'sizeclass', 'bfc', 'cupy', 'rmm', 'direct',
            'compact')
CAUSES = ('request_too_large', 'failed_attempt', 'accumulation', 'leak', 'capacity', 'transient', 'limit',
          'pending', 'fragmentation')
MIB = 1 << 20
HAND = 'hand.ndjson'
HEAD = {'format': 'fragsim-trace', 'version': 1}


def alloc(name, mib, **more):
    return {'op': 'alloc', 'id': name, 'size': f'{mib}MiB', **more}


def free(name, **more):
    return {'op': 'free', 'id': name, **more}


# each on a device of so many MiB, with the cause that arithmetic gives under bestfit
BY_HAND = {
    'too large': (6, [alloc('r', 7)], 'request_too_large'),
    'later too much': (10, [alloc('a', 4), alloc('x', 1), alloc('b', 4), free('x'), alloc('c', 3),
                            alloc('d', 9)], 'capacity'),
    'full': (8, [alloc('a', 6), alloc('b', 4)], 'capacity'),
    'a stream uses it': (8, [alloc('a', 6), free('a', pending=True), alloc('b', 6)], 'pending'),
    'half allowed': (16, [{'op': 'set_fraction', 'value': 0.5}, alloc('a', 6), alloc('b', 4)],
                     'limit'),
    'in pieces': (6, [alloc('a', 1), alloc('b', 1), alloc('c', 1), alloc('d', 1), free('a'),
                      free('c'), alloc('r', 3)], 'fragmentation'),
}


def call(program, *args):
    done = subprocess.run([program, *args], capture_output=True, text=True, check=False,
                          timeout=200)
    return done.returncode, done.stdout, done.stderr


def causes(program, trace, policy, device):
    """The cause that each command names, or None where the run fits."""
    status, out, err = call(program, 'run', '-p', policy, *device, '--json', 'run.json',
                            '-o', 'run.html', trace)
    if status == 0:
        return None
    if status != 3:
        return {'run': f'status {status}: {err}'}
    answer = json.loads(Path('run.json').read_text(encoding='utf-8'))['runs'][0]['answer']
    words = {'run --json': (answer['cause'], answer['nearly_full'])}
    report = Path('run.html').read_text(encoding='utf-8')
    for name, text in (('run', out), ('report', report)):
        found = re.search(r'\bverdict\b(?:</?[a-z][^>]*>|\s)*([a-z_]+)(, nearly full)?:', text)
        words[name] = (found[1], found[2] is not None) if found else ('no verdict', False)
    if re.search(r'^FITS', out):
        words['first line'] = (out.splitlines()[0], False)
    status, out, err = call(program, 'explain', '-q', '-p', policy, *device, '--moves', '0',
                            '--json', '-', trace)
    moment = json.loads(out)['moments'][0] if status == 0 else {'verdict': err, 'nearly_full': 0}
    words['explain'] = (moment['verdict'], moment['nearly_full'])
    if policy.startswith('pytorch') and trace != HAND:    # PyTorch's segments are larger than these
        words['message'] = of_message(program, moment, words['explain'])
    if moment['verdict'] == 'capacity' and answer['hopeless'] and moment.get('survivors'):
        words['explain'] = ('something fits', False)
    return words


def of_message(program, moment, word):
    """The cause, where the message of the run allows it.

    Of later requests a message knows nothing: where only they are too much, it is fragmentation.
    Free memory that is less than a page of 20 MiB counts as free in a message."""
    if word[0] in ('accumulation', 'failed_attempt', 'leak'):
        return word     # a message knows nothing of what the program did before
    text = json.loads(Path('run.json').read_text(encoding='utf-8'))['runs'][0]['oom'][0]['message']
    _, out, err = call(program, 'explain', '--json', '-', text)
    said = json.loads(out)['messages'][0] if out else {'verdict': err, 'also_possible': []}
    allowed = {said['verdict'], *said['also_possible']}
    if word[0] == 'capacity' and moment['device_free'] + moment['free'] >= moment['need']:
        allowed |= {'capacity'} if 'fragmentation' in allowed else set()
    if moment['device_free'] - moment['need'] < 20 * MIB and 'transient' in allowed:
        allowed.add('fragmentation')
    return word if word[0] in allowed else (f'{said["verdict"]}: {text}', False)


def compare(program, trace, policy, device, wanted=None):
    words = causes(program, trace, policy, device)
    if words is None:
        return [] if wanted is None else ['it fits'], False
    faults = [f'{words}'] if len(set(words.values())) > 1 else []
    cause = next(iter(words.values()))[0]
    if cause not in CAUSES:
        faults.append(f'{cause} is no cause')
    if wanted and cause != wanted:
        faults.append(f'{cause}, by hand {wanted}')
    return faults, True


def check_by_hand(program):
    for name, (mib, events, wanted) in BY_HAND.items():
        head = {**HEAD, 'device': {'total_bytes': f'{mib}MiB'}}
        Path(HAND).write_text(''.join(json.dumps(x) + '\n' for x in (head, *events)),
                                       encoding='ascii')
        for policy in POLICIES:
            faults, _ = compare(program, HAND, policy, (),
                                wanted if policy == 'bestfit' else None)
            TAP.result(f'{name}, {policy}', faults)


def check_traces(program, traces):
    seen = 0
    for number, trace in enumerate(traces):
        _, out, _ = call(program, 'run', '-q', '-p', 'direct', '--device-bytes', '0', '--json', '-',
                         str(trace))
        peak = json.loads(out)['runs'][0]['peak']['requested']
        for share, policies in ((0.9, ('pytorch', 'bestfit')), (1.01, POLICIES)):
            device = '--device-bytes', f'{int(peak * share) // MIB + 1}MiB'
            for policy in policies[number % 3::times(3, 1)] if share > 1 else policies:
                faults, failed = compare(program, str(trace), policy, device)
                seen += failed
                TAP.result(f'{trace.name} on {share} of its peak, {policy}', faults)
    TAP.ok(not traces or seen > 1, f'{seen} of them fail')


def main():
    program = str(Path(sys.argv[1]).resolve())
    traces = [Path(x).resolve() for x in sys.argv[2:]] \
        or [*sorted((ROOT / 'tests/oracles/corpus').glob('oom_*.gz')),
            *sorted((ROOT / 'traces').glob('*.ndjson.gz'))]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_by_hand(program)
        check_traces(program, traces)
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
