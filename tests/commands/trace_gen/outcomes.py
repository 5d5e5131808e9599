"""outcomes.py - what `fragsim trace gen SCENARIO | fragsim run` shows of each published case.

    outcomes.py PROGRAM

Prints TAP.  The figures are those of the project's table of classic cases: arithmetic on segments and
blocks, confirmed on the allocator that torch 2.15 ships.
"""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import HEAVY, PROGRAM, SAN  # noqa: E402
from tap import Tap  # noqa: E402

MIB = 1 << 20
GIB = 1 << 30
TENSOR, SEGMENT = 960000000, 960495616    # 458 pages of 2 MiB
AVAILABLE = 6 * GIB - 446 * MIB - 976811459    # of the 6 GiB device
EXPANDABLE = 'pytorch:expandable_segments=true'

# name, options of gen, options of run, status, what the run has: a path and its value; `long` cases
# have millions of events
CASES = [
    ('min-block', '', '', 0,
     {'last.requested': 4194304 * 516, 'last.allocated': 4 * GIB, 'last.reserved': 4 * GIB,
      'last.segments': 2048, 'last.internal': 49.6094}, 'long'),
    ('min-block', '--then 1GiB', '--device-bytes 4608MiB', 3,
     {'oom.0.step': 4194304, 'oom.0.size': GIB, 'last.requested': 2164260864,
      'last.allocated': 4 * GIB}, 'long'),
    ('one-float', '', '', 0, {'last.requested': 33554432, 'last.allocated': 4 * GIB}, 'long'),
    # 2 MiB hold 4096 floats of 512 bytes; 4608 MiB hold 2304 such segments
    ('one-float', '--count 541065216', '--device-bytes 4608MiB', 3,
     {'oom.0.step': 2304 * 4096, 'last.reserved': 4608 * MIB}, 'long'),
    ('two-mib', '', '', 0,
     {'last.allocated': 4294967296, 'last.reserved': 4299161600, 'last.segments': 205}, ''),
    ('mib-plus-one', '', '', 0,
     {'last.allocated': 2259688960, 'last.reserved': 2264924160, 'last.segments': 108}, ''),
    ('six-tensors', '', '', 3,
     {'oom.0.step': 5, 'oom.0.message':
      'CUDA out of memory. Tried to allocate 916.00 MiB (GPU 0; 6.00 GiB total capacity; '
      '4.47 GiB already allocated; 186.44 MiB free; 4.47 GiB reserved in total by PyTorch)'}, ''),
    ('rebind', '', '', 0,
     {'peak.reserved': 2 * SEGMENT, 'peak.process_used': 2278 * MIB, 'last.reserved': 0}, ''),
    ('rebind', '--delete-first', '', 0, {'peak.reserved': SEGMENT, 'last.reserved': 0}, ''),
    ('tiny', '', '', 0, {'last.process_used': 448 * MIB, 'last.reserved': 2097152}, ''),
    ('one-tensor', '', '', 0, {'last.process_used': 1362 * MIB, 'last.reserved': SEGMENT}, ''),
    ('small-after-large', '', '', 0,
     {'last.process_used': 1364 * MIB, 'last.reserved': 962592768}, ''),
    ('grow', '', '', 0, {'last.process_used': 3422 * MIB, 'last.reserved': 3120562176}, ''),
    # 96000000 bytes are 46 pages less 468992 bytes, too few to be split off
    ('append-leak', '', '', 3, {'oom.0.step': AVAILABLE // (92 * MIB)}, ''),
    ('append-leak', '--size 20971520 --steps 300', '', 3, {'oom.0.step': AVAILABLE // (20 * MIB)}, ''),
    ('alternating', '', '', 0, {'peak.reserved': 121634816, 'last.reserved': 121634816}, ''),
]

# shape, options of gen, policy under which it fails with enough bytes free, options of gen and policy
# under which it does not fail
SHAPES = [
    ('qkv', '', 'bestfit', '', 'direct'),
    ('checkpointing', '', 'bestfit', '', 'direct'),
    ('uneven-pipeline', '', 'bestfit', '', 'direct'),
    ('multitask', '', 'bestfit', '--isolate', 'bestfit'),
    ('qkv', '', 'pytorch', '', EXPANDABLE),
    ('checkpointing', '', 'pytorch', '', EXPANDABLE),
    ('uneven-pipeline', '', 'pytorch', '', EXPANDABLE),
    ('multitask', '', 'pytorch', '', EXPANDABLE),
    ('multitask', '', 'pytorch', '--isolate', 'pytorch'),
]

TAP = Tap()
report = TAP.result


def piped(gen: str, run: str) -> tuple:
    """fragsim trace gen GEN | fragsim run RUN -: both statuses, complaints, standard output."""
    with subprocess.Popen([PROGRAM, 'trace', 'gen', *gen.split()], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as writer:
        done = subprocess.run([PROGRAM, 'run', *run.split(), '-'], stdin=writer.stdout,
                              capture_output=True, check=False)
        writer.stdout.close()
        complaint = writer.stderr.read() + done.stderr
        return writer.wait(), done.returncode, complaint.decode(), done.stdout.decode()


def runs(gen: str, run: str, wanted: int) -> tuple:
    """The runs of the result, and what is wrong so far."""
    wrote, status, complaint, text = piped(gen, f'--on-oom stop --json - {run}')
    faults = [] if (wrote, status, complaint) == (0, wanted, '') else [
        f'statuses {wrote} and {status}, wanted 0 and {wanted}; {complaint}']
    try:
        return json.loads(text)['runs'], faults
    except ValueError:
        return [], [*faults, 'no result']


def look_up(run: dict, path: str) -> object:
    value = run
    for key in path.split('.'):
        value = value[int(key)] if isinstance(value, list) and int(key) < len(value) else (
            value.get(key) if isinstance(value, dict) else None)
    return value


def judge_case(name: str, gen: str, run: str, status: int, wanted: dict) -> None:
    found, faults = runs(f'{name} {gen}', f'--policy pytorch {run}', status)
    for path, value in wanted.items():
        got = look_up(found[0], path) if found else None
        if got != value:
            faults.append(f'{path}: {got}, wanted {value}')
    report(' '.join(f'{name} {gen} {run}: the published figures'.split()), faults)


def free_bytes(run: dict) -> int:
    return run['last']['free'] + run['last']['device_free']


def judge_shape(name: str, gen: str, fails: str, other_gen: str, passes: str) -> None:
    found, faults = runs(f'{name} {gen}', f'--policy {fails}', 3)
    broken = [r for r in found if r['status'] == 'oom']
    for run in broken:
        device = run['device']
        room = device['total_bytes'] - device['context_bytes'] - device['other_bytes']
        free = free_bytes(run)
        if run['oom'][0]['cause'] != 'fragmentation' or free < run['oom'][0]['size']:
            faults.append(f'not for fragmentation: {run["oom"][0]}')
        if name == 'qkv' and not (free >= 0.4 * room and run['fi_device']['last'] > 70):
            faults.append(f'{free} of {room} free, fi_device {run["fi_device"]["last"]}')
    if not broken:
        faults.append('no run had an out-of-memory')
    found, more = runs(f'{name} {other_gen}', f'--policy {passes}', 0)
    words = f'{name}: fails under {fails}, not {other_gen or "under"} {other_gen and "under "}{passes}'
    report(' '.join(words.split()), faults + more)


def steps(gen: str, policy: str) -> list:
    _, _, _, text = piped(gen, f'--policy {policy} --steps -')
    return list(csv.DictReader(io.StringIO(text)))


def check_steps() -> None:
    """Where the table says when, not only how much."""
    reserved = [int(r['reserved']) for r in steps('alternating', 'pytorch')]
    report('alternating: the first round reserves all that there ever is',
           [] if reserved == [100663296] + 39 * [121634816] else [reserved])
    used = [int(r['process_used']) // MIB for r in steps('rebind', 'pytorch')]
    report('rebind: two segments stay until empty_cache',
           [] if used == [1362] + 11 * [2278] + [446] else [used])


def main() -> int:
    for name, gen, run, status, wanted, length in CASES:
        if length and (SAN or not HEAVY and (name, gen) != ('min-block', '')):
            TAP.skip(f'{name} {gen}'.strip(), 'too long under sanitizers' if SAN else 'HEAVY=1 runs it')
        else:
            judge_case(name, gen, run, status, wanted)
    for shape in SHAPES:
        judge_shape(*shape)
    check_steps()
    return TAP.finish()


sys.exit(main())
