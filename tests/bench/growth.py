"""growth.py - how the time of commands grows with what they are given.

Each case is made of n things and of 4 n, and run by turns; the processor's time of
both stands beside their ratio: 4 is linear, and 16 what shrink takes where all is
needed, as each block is tried alone. Only ratios of one run can be compared.
$FRAGSIM is the program; files go to a folder of their own in $BUILD.
"""
import copy
import json
import os
import subprocess
import sys

PROGRAM = os.path.abspath(os.environ.get('FRAGSIM', 'build/fragsim'))
FOLDER = os.path.abspath(os.path.join(os.environ.get('BUILD', 'build'), 'bench-growth'))
MIB = 1 << 20
REPEATS = 3


def write(name, events, device_bytes=0):
    with open(name, 'w', encoding='utf-8') as file:
        for line in ({'format': 'fragsim-trace', 'version': 1,
                      'device': {'total_bytes': device_bytes}}, *events):
            file.write(json.dumps(line) + '\n')
    return name


def alloc(name, size=MIB, **more):
    return {'op': 'alloc', 'id': name, 'size': size, **more}


def free(name):
    return {'op': 'free', 'id': name}


def shrink_over(n):
    """33 blocks of 2 MiB fill the device; 32 of them stay, and the last request needs two."""
    pairs = [event for i in range(32) for event in (
        alloc(2 * i, 2 * MIB), alloc(2 * i + 1, 2 * MIB), free(2 * i))]
    passing = [event for i in range(n) for event in (alloc(f'x{i}'), free(f'x{i}'))]
    return 'shrink', write('t', [*pairs, *passing, alloc('z', 4 * MIB)], 66 * MIB), 'o.ndjson'


def shrink_all(n):
    """Every block is needed, and tried alone."""
    return 'shrink', '--tries', '1000000', write(
        't', (alloc(i, 2 * MIB) for i in range(n // 16)), (n // 16 - 1) * 2 * MIB), 'o.ndjson'


def result_of(policies):
    subprocess.run([PROGRAM, 'run', '-q', '--json', 'one.json',
                    write('t', [alloc(1), free(1)])], check=True)
    with open('one.json', encoding='utf-8') as file:
        document = json.load(file)
    one = document['runs'][0]
    document['runs'] = []
    for policy in policies:
        run = copy.deepcopy(one)
        run['policy']['text'] = policy
        run['policy']['params']['align'] = policy
        document['runs'].append(run)
    name = f'{policies[0]}.json'
    with open(name, 'w', encoding='utf-8') as file:
        json.dump(document, file)
    return name


def diff_same(n):
    name = result_of([f'p{i}' for i in range(n // 4)])
    return 'diff', '-q', name, name


def diff_other(n):
    return ('diff', '-q', result_of([f'p{i}' for i in range(n // 4)]),
            result_of([f'q{i}' for i in range(n // 4)]))


def run_ooms(n):
    blocks = [alloc(i, MIB // 2) for i in range(n)] + [free(i) for i in range(0, n, 2)]
    return ('run', '-q', '--on-oom', 'continue', write(
        't', [*blocks, *(alloc(f'x{i}', n * MIB) for i in range(n))], (n // 2 + 2) * MIB))


def run_pools(n):
    return 'run', '-q', '-p', 'pytorch', write(
        't', (alloc(i, pool=f'p{i}', stream=i) for i in range(n)))


def run_tags(n):
    return 'run', '-q', write('t', [*(alloc(i, tag=f't{i}') for i in range(n)), alloc('z', n * MIB)],
                              (n + 2) * MIB)


def merge(n):
    files = [write(f't{i}', [alloc(j, t=j) for j in range(16)]) for i in range(n // 16)]
    return 'merge', '-q', *files, 'o.ndjson'


CASES = (
    ('shrink, little is needed', shrink_over, 40000), ('shrink, all is needed', shrink_all, 8000),
    ('diff, the same runs', diff_same, 10000), ('diff, other runs', diff_other, 10000),
    ('run, out of memory', run_ooms, 20000), ('run, pools and streams', run_pools, 20000),
    ('run, tags', run_tags, 20000), ('merge, ranks', merge, 4000),
)


def measure(arguments):
    before = os.times()
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    after = os.times()
    if done.returncode not in (0, 3):
        sys.exit(f'growth.py: {arguments}: {done.returncode} {done.stderr!r}')
    return (after.children_user - before.children_user
            + after.children_system - before.children_system)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    os.chdir(FOLDER)
    print('\ngrowth, seconds of the processor, least of', REPEATS, 'repetitions')
    print(f'{"":26}{"n":>10}{"4 n":>10}{"ratio":>10}')
    for name, make, n in CASES:
        times = []
        for count in (n, 4 * n):
            arguments = make(count)
            times.append(min(measure(arguments) for _ in range(REPEATS)))
        print(f'{name:26}{times[0]:10.2f}{times[1]:10.2f}{times[1] / max(times[0], 0.005):10.1f}',
              flush=True)
    for name in os.listdir('.'):
        os.unlink(name)
    os.chdir('..')
    os.rmdir(FOLDER)


main()
