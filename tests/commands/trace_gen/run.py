"""run.py - what `fragsim trace gen` writes: bytes, arithmetic, and traces that every policy takes.

    run.py PROGRAM

Prints TAP.  Expectations are counts and sums from the shapes that fragsim-trace(1) describes, and a
second, plain implementation of its random walk.  What the allocators make of the published cases is
outcomes.sh's.
"""

import collections
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

PROGRAM = sys.argv[1]
SAN = bool(os.environ.get('SAN'))
MASK = (1 << 64) - 1
MIB = 1 << 20

SCENARIOS = '''alternating append-leak checkpointing grow inference mib-plus-one min-block multitask
one-float one-tensor pipeline qkv random rebind six-tensors small-after-large tiny training two-mib
uneven-pipeline'''.split()
# small enough to be read by a person, or by json.loads a few dozen times
SMALL = {
    'min-block': '--count 3000', 'one-float': '--count 3000', 'two-mib': '--count 300',
    'mib-plus-one': '--count 300', 'random': '--events 3000 --live 100',
    'training': '--layers 3 --iterations 2', 'checkpointing': '--layers 3 --iterations 2',
    'inference': '--requests 5 --layers 2 --words 9', 'qkv': '--batches 5',
    'pipeline': '--layers 6 --iterations 2', 'uneven-pipeline': '--layers 6 --iterations 2',
    'multitask': '--layers 2 --iterations 2 --requests 6',
}
POLICIES = ('bestfit', 'firstfit:align=256', 'nextfit', 'worstfit', 'buddy', 'sizeclass', 'tlsf',
            'direct', 'bfc', 'plan', 'pytorch', 'pytorch:expandable_segments=true', 'compact')

TAP = Tap()
report = TAP.result


def equal(what: str, got: object, wanted: object) -> list:
    return [] if got == wanted else [f'{what}: {got}, wanted {wanted}']


def gen(*words: str, status: int = 0) -> bytes:
    args = ' '.join(words).split()
    done = subprocess.run([PROGRAM, 'trace', 'gen', *args], capture_output=True, check=False)
    if done.returncode != status:
        raise RuntimeError(f'gen {" ".join(words)}: status {done.returncode}: {done.stderr!r}')
    return done.stdout


def events_of(*words: str) -> list:
    return [json.loads(line) for line in gen(*words).splitlines()[1:]]


def small(name: str) -> str:
    return f'{name} {SMALL.get(name, "")}'


# bytes ----------------------------------------------------------------------------------------------

def check_list() -> None:
    lines = gen('--list').decode().splitlines()
    names = [line.split()[0] for line in lines]
    report('all scenarios are listed, each with a summary',
           equal('names', names, SCENARIOS) + [li for li in lines if len(li.split()) < 3])


def check_forms() -> None:
    """Twice the same bytes; the header's own words make them again; both forms say the same."""
    for name in SCENARIOS:
        lines = gen(small(name))
        faults = [] if gen(small(name)) == lines else ['a second time other bytes']
        header, *events = [json.loads(line) for line in lines.splitlines()]
        source = header['meta']['source']
        if not source.startswith(f'fragsim trace gen {name}') or gen(source[len('fragsim trace gen '):]) != lines:
            faults.append(f'meta.source does not make the same trace: {source}')
        whole = json.loads(gen(small(name), '--object'))
        faults += equal('events of the object form', whole.pop('events') == events, True)
        faults += equal('header of the object form', whole, header)
        report(f'{name}: the same bytes again, from its own words, in both forms', faults)


def check_seeds() -> None:
    seeded = [n for n in SCENARIOS if b'--seed' in gen(n, '-h')]
    faults = equal('scenarios with --seed', seeded,
                   ['checkpointing', 'inference', 'multitask', 'pipeline', 'qkv', 'random',
                    'training', 'uneven-pipeline'])
    for name in seeded:
        if name in ('training', 'pipeline', 'multitask'):
            extra = '--jitter 20'
        else:
            extra = ''
        one, two = (gen(small(name), extra, f'--seed {n}').splitlines()[1:] for n in (1, 2))
        faults += equal(f'{name}: seeds 1 and 2 are the same', one == two, False)
    report('another seed makes another trace', faults)


class SplitMix64:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        x = self.state
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
        x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
        return x ^ x >> 31

    def below(self, n: int) -> int:
        while True:
            x = self.next()
            if x >= 2 ** 64 % n:
                return x % n

    def magnitude(self, least: int, most: int) -> int:
        powers = range(least.bit_length() - 1, most.bit_length())
        if not any(least <= 2 ** k and 2 ** (k + 1) - 1 <= most for k in powers):
            return least + self.below(most - least + 1)
        while True:
            power = 2 ** (powers[0] + self.below(len(powers)))
            x = power + self.below(power)
            if least <= x <= most:
                return x


def walk(events: int, live: int, sizes: str, least: int, most: int, streams: int, shared: int,
         seed: int) -> list:
    """The random walk of fragsim-trace(1), as plainly as can be."""
    rng, out, alive, share, ids = SplitMix64(seed), [], [], None, 0
    border = min(max(least, MIB), most)
    while len(out) < events:
        if share is not None:
            other = (share + 1 + rng.below(streams - 1)) % streams
            out.append({'op': 'record_stream', 'id': ids, 'stream': other})
            share = None
        elif shared and rng.below(64) == 0:
            out.append({'op': 'sync'})
        elif rng.below(2 * live) < len(alive):
            at = rng.below(len(alive))
            out.append({'op': 'free', 'id': alive[at]})
            alive[at] = alive[-1]
            alive.pop()
        else:
            stream = rng.below(streams)
            if sizes == 'uniform':
                size = least + rng.below(most - least + 1)
            elif sizes == 'log':
                size = rng.magnitude(least, most)
            else:
                is_small = rng.below(10) != 0
                size = rng.magnitude(least, border) if is_small else rng.magnitude(border, most)
            ids += 1
            alive.append(ids)
            out.append({'op': 'alloc', 'id': ids, 'size': size, 'stream': stream})
            if not stream:
                del out[-1]['stream']
            if shared and rng.below(100) < shared:
                share = stream
    return out


def check_random() -> None:
    cases = [(1, 1, 'log', 1, 1, 1, 0, 0), (5000, 50, 'log', 512, 32 * MIB, 1, 0, 1),
             (5000, 500, 'uniform', 1, 2 ** 53 - 1, 7, 0, 2 ** 53 - 1),
             (5000, 20, 'mixed', 100, 80 * MIB, 3, 40, 5), (3000, 9, 'log', 1000, 1000, 2, 100, 6),
             (3000, 9, 'mixed', 3 * MIB, 4 * MIB, 1, 0, 7), (3000, 9, 'log', 700, 900, 1, 0, 8),
             (3000, 9, 'mixed', 5, MIB // 3, 1, 0, 9)]
    for events, live, sizes, least, most, streams, shared, seed in cases:
        words = (f'--events {events} --live {live} --sizes {sizes} --min-size {least} '
                 f'--max-size {most} --streams {streams} --shared {shared} --seed {seed}')
        got = events_of('random', words)
        wanted = walk(events, live, sizes, least, most, streams, shared, seed)
        bad = [f'event {i}: {g}, wanted {w}' for i, (g, w) in enumerate(zip(got, wanted)) if g != w]
        report(f'random {words}: as the plain walk',
               equal('events', len(got), len(wanted)) + bad)


# arithmetic -----------------------------------------------------------------------------------------

def totals(events: list) -> tuple:
    """Allocs, bytes that they ask for together, bytes live at the end, tags of these."""
    live, asked, allocs, tags = {}, 0, 0, collections.Counter()
    for e in events:
        if e['op'] == 'alloc':
            live[e['id']] = e
            asked += e['size']
            allocs += 1
        elif e['op'] == 'free':
            del live[e['id']]
    for e in live.values():
        tags[e.get('tag')] += 1
    return allocs, asked, sum(e['size'] for e in live.values()), dict(tags)


def check_equals() -> None:
    for name, count, size in (('min-block', 4194304, 516), ('one-float', 8388608, 4),
                              ('two-mib', 2048, 2097152), ('mib-plus-one', 2048, 1048580)):
        pipe = subprocess.Popen([PROGRAM, 'trace', 'gen', name, '--then', '1GiB'], stdout=subprocess.PIPE)
        header, seen, wrong = pipe.stdout.readline(), 0, 0
        tail = b''
        for tail in pipe.stdout:
            seen += 1
            if f',"size":{size}}}\n'.encode() != tail[tail.index(b',"size"'):]:
                wrong += 1
        last = {'op': 'alloc', 'id': count + 1, 'size': 1 << 30, 'tag': 'then'}
        report(f'{name}: {count} x {size}, then one more',
               equal('status', pipe.wait(), 0) + equal('events', seen, count + 1)
               + equal('other sizes', wrong, 1) + equal('last', json.loads(tail), last)
               + equal('a device', b'device' in header, False))


SIX_GIB = {'total_bytes': 6 << 30, 'context_bytes': 446 << 20,
           'other_bytes': round(931.56 * MIB)}


def check_typed() -> None:
    """The few tensors that a person types: every event, from the case's own words."""
    t, new, old = 960000000, 'alloc', 'free'
    rebind = [(new, 1, t)] + [e for i in range(2, 7) for e in ((new, i, t), (old, i - 1))]
    first = [(new, 1, t)] + [e for i in range(2, 7) for e in ((old, i - 1), (new, i, t))]
    end = [(old, 6), ('empty_cache',)]
    rounds = [e for i in range(1, 21, 2) for e in
              ((new, i, 100000000), (new, i + 1, 4000000), (old, i), (old, i + 1))]
    cases = {
        'six-tensors': [(new, i, t) for i in range(1, 7)], 'rebind': rebind + end,
        'rebind --delete-first': first + end, 'tiny': [(new, 1, 24)], 'one-tensor': [(new, 1, t)],
        'small-after-large': [(new, 1, t), (old, 1), (new, 2, 240000)],
        'grow': [(new, 1, t), (old, 1), (new, 2, 2160000000)],
        'append-leak': [(new, i, 96000000) for i in range(1, 101)], 'alternating': rounds,
    }
    for words, wanted in cases.items():
        header, *events = [json.loads(line) for line in gen(words).splitlines()]
        got = [tuple(e[k] for k in ('op', 'id', 'size') if k in e) for e in events]
        report(f'{words}: event for event', equal('events', got, wanted)
               + equal('device', header.get('device'),
                       None if words == 'alternating' else SIX_GIB))


# A layer's forward pass: 12 parts of which 9 are kept and 3 freed; with fused attention (0 heads) 10,
# 8 and 2.  Backward frees a gradient and a kept part for each that it makes.
def forward(heads: int) -> int:
    return 15 if heads else 12


def kept(heads: int) -> int:
    return 9 if heads else 8


def training_events(layers: int, iterations: int, checkpoint: int, heads: int) -> int:
    a_layer = forward(heads) + 3 * kept(heads) + 5 + 5 + 10    # + weight gradients, update
    if checkpoint:
        a_layer += forward(heads) + kept(heads)    # once more; what it kept goes
    # mark, words 2, embedded 2, loss 10, the embedding's gradient 2
    return (1 + 5 * layers + iterations * (17 + layers * a_layer)    # weights
            + 10 * layers + 2)    # optimiser states


def check_training() -> None:
    for layers, iterations, checkpoint, heads, hidden, vocab, jitter in (
            (1, 1, 0, 1, 8, 10, 0), (3, 4, 0, 12, 96, 1000, 30), (7, 3, 1, 0, 64, 500, 50),
            (7, 3, 3, 4, 64, 500, 99), (5, 2, 9, 4, 64, 500, 0)):
        words = (f'--layers {layers} --iterations {iterations} --checkpoint {checkpoint} '
                 f'--heads {heads} --hidden {hidden} --vocab {vocab} --jitter {jitter}')
        events = events_of('training', words)
        _, _, bytes_left, tags = totals(events)
        stays = 3 * 4 * (vocab * hidden + layers * (12 * hidden * hidden + 4 * hidden))
        marks = [e['name'] for e in events if e['op'] == 'mark']
        report(f'training {words}: counts and what stays',
               equal('events', len(events), training_events(layers, iterations, checkpoint, heads))
               + equal('bytes that stay', bytes_left, stays)
               + equal('tags', tags, {'weight': 1 + 5 * layers,
                                      'optimiser state': 2 + 10 * layers})
               + equal('marks', marks, [f'iteration {i}' for i in range(iterations)])
               + lengths_within(events, 512, jitter, 8))


def lengths_within(events: list, length: int, jitter: int, batch: int) -> list:
    spread = length * jitter // 100
    words = {e['size'] // (8 * batch) for e in events if e.get('tag') == 'words'}
    least, most = max(1, length - spread), length + spread
    return [f'a length of {n}' for n in words if not least <= n <= most]


def check_checkpointing() -> None:
    """Peak of what is kept for backward, batch 1: all layers' parts, or one layer's and the inputs."""
    layers, rows, scores = 6, 2 * 128 * 64, 2 * 4 * 128 * 128    # BLH and B*heads*LL of 2 bytes
    # norm1 1, qkv 3, context 1, residual 1, norm2 1, up 4, gelu 4, output 1: 16 BLH; probabilities
    a_layer = 16 * rows + scores
    faults = []
    for checkpoint, wanted in ((0, rows + layers * a_layer), (1, (layers + 1) * rows + a_layer)):
        live, peak = {}, 0
        for e in events_of('training', '--iterations 1 --batch 1 --length 128 --hidden 64',
                           f'--heads 4 --layers {layers} --checkpoint {checkpoint}'):
            if e['op'] == 'alloc' and e['tag'] in (
                    'embedded', 'norm1', 'qkv', 'probabilities', 'context', 'residual', 'norm2',
                    'up', 'gelu', 'output'):
                live[e['id']] = e['size']
                peak = max(peak, sum(live.values()))
            elif e['op'] == 'free':
                live.pop(e['id'], 0)
        if checkpoint:    # the stretch's output is there too, before the loss frees it
            wanted -= rows
        faults += equal(f'peak with --checkpoint {checkpoint}', peak, wanted)
    report('training --checkpoint keeps one layer and the inputs', faults)
    again = [0]    # layers computed again, from one gradient to the next
    tags = [e.get('tag') for e in events_of('training --iterations 1 --layers 7 --checkpoint 3')]
    for tag in tags[tags.index('loss'):]:
        if tag == 'gradient' and again[-1]:
            again.append(0)
        again[-1] += tag == 'norm1'
    report('training --checkpoint 3: of 7 layers the last stretch is the short one',
           equal('layers computed again', again, [1, 3, 3, 0]))


def shares(stages: int, layers: int, uneven: int) -> list:
    """Layers of each stage: 100 + uneven at the first, 100 - uneven at the last, a line between."""
    done, out, so_far = 0, [], 0
    whole = 100 * max(stages - 1, 1)
    for s in range(stages):
        so_far += whole + (uneven * (stages - 1 - 2 * s) if stages > 1 else 0)
        out.append(layers * so_far // (whole * stages) - done)
        done += out[-1]
    return out


def check_pipeline() -> None:
    for stages, layers, uneven, micro, heads in ((1, 3, 50, 2, 4), (4, 24, 60, 8, 0),
                                                 (3, 7, 0, 2, 4), (4, 5, 100, 3, 4)):
        words = (f'--stages {stages} --layers {layers} --uneven {uneven} --micro-batches {micro} '
                 f'--heads {heads} --iterations 2 --jitter 50 --hidden 32 --vocab 100')
        events = events_of('pipeline', words)
        # each micro-batch: input and gradient of each stage, the loss's 10 at the last
        a_step = 1 + micro * (2 * stages + layers * (forward(heads) + 3 * kept(heads))
                              + 2 * (stages - 1) + 10) + 20 * layers
        faults = equal('events', len(events), 15 * layers + 2 * a_step)
        weights, inputs, under_way = collections.Counter(), {}, collections.Counter()
        most = collections.Counter()
        for e in events:
            device = e.get('device', 0)
            if e['op'] == 'alloc' and e['tag'] == 'weight':
                weights[device] += 1
            elif e['op'] == 'alloc' and e['tag'] in ('words', 'received'):
                inputs[e['id']] = device
                under_way[device] += 1
                most[device] = max(most[device], under_way[device])
            elif e['op'] == 'free' and e['id'] in inputs:
                under_way[inputs.pop(e['id'])] -= 1
        faults += equal('layers', [weights[s] // 5 for s in range(stages)],
                        shares(stages, layers, uneven))
        faults += equal('micro-batches under way', [most[s] for s in range(stages)],
                        [min(micro, stages - s) for s in range(stages)])
        left = totals(events)[2]
        faults += equal('bytes that stay', left, 3 * 4 * layers * (12 * 32 * 32 + 4 * 32))
        report(f'pipeline {words}: schedule and counts', faults)


def check_inference() -> None:
    layers, hidden, concurrent, prompt, answer, grow, requests = 3, 16, 4, 50, 20, 6, 40
    events = events_of(f'inference --layers {layers} --hidden {hidden} --concurrent {concurrent}',
                       f'--prompt {prompt} --words {answer} --grow {grow} --requests {requests}')
    _, _, left, tags = totals(events)
    faults = equal('bytes that stay', left, layers * 12 * hidden * hidden * 2)
    faults += equal('tags', tags, {'weight': 4 * layers})
    caches, peak, first = {}, 0, 0
    for e in events:
        if e['op'] == 'alloc' and e['tag'] in ('keys', 'values'):
            caches[e['id']] = e['size']
            peak = max(peak, len(caches))
            words, rest = divmod(e['size'], 2 * hidden)
            first += words <= prompt
            if rest or words > prompt + answer + grow:
                faults.append(f'a cache of {e["size"]}')
        elif e['op'] == 'free':
            caches.pop(e['id'], 0)
    # while a cache grows, both are there
    faults += equal('most caches', peak, concurrent * 2 * layers + 1)
    faults += equal('requests', first >= requests * 2 * layers, True)
    report('inference: caches, and what stays', faults)


def check_multitask() -> None:
    plain = events_of(small('multitask'))
    isolated = events_of(small('multitask'), '--isolate')
    faults, pools, serving = [], {}, ('keys', 'values')
    for e in isolated:
        if e['op'] == 'alloc':
            pools.setdefault(e['tag'], set()).add(e.pop('pool'))
    faults += equal('events without pools', isolated == plain, True)
    faults += equal('pools of caches', [pools[t] for t in serving], [{2}, {2}])
    faults += equal('pool of gradients', pools['gradient'] | pools['weight gradient'], {1})
    faults += equal('pools of the weights of both', pools['weight'], {1, 2})
    report('multitask --isolate changes nothing but pools', faults)


def check_qkv() -> None:
    batches, layers, batch, length, jitter, hidden, compress = 9, 4, 2, 100, 40, 8, 7
    events = events_of(f'qkv --batches {batches} --layers {layers} --batch {batch} '
                       f'--length {length} --jitter {jitter} --hidden {hidden} '
                       f'--compress {compress}')
    word, faults, small_bytes = batch * hidden * 2, [], 0
    for large, little in zip(*[iter([e for e in events if e['op'] == 'alloc'])] * 2):
        words, rest = divmod(large['size'], 3 * word)
        if rest or not 60 <= words <= 140:
            faults.append(f'large: {large}')
        faults += equal('small', little['size'], 2 * word * -(-words // compress))
        small_bytes += little['size']
    faults += equal('what stays', totals(events)[2:],
                    (small_bytes, {'kept keys and values': batches * layers}))
    faults += equal('events', len(events), batches * (1 + 3 * layers))
    report('qkv: large ones pass, small ones stay', faults)


# manners --------------------------------------------------------------------------------------------

def check_reader_gone() -> None:
    for how in ('one-float --count 541065216', 'random --events 1000000000 --object',
                'inference --requests 1000000000'):
        with subprocess.Popen([PROGRAM, 'trace', 'gen', *how.split()], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as pipe:
            pipe.stdout.read(100000)
            pipe.stdout.close()
            faults = equal('complaint', pipe.stderr.read(), b'')
            faults += equal('status', pipe.wait(), 0)
        report(f'gen {how}: ends quietly when its reader has gone', faults)
    full = os.open('/dev/full', os.O_WRONLY)
    done = subprocess.run([PROGRAM, 'trace', 'gen', 'random'], stdout=full, stderr=subprocess.PIPE, check=False)
    os.close(full)
    report('a full disk is an error', equal('status', done.returncode, 6)
           + equal('a line', done.stderr.count(b'\n'), 1))


def check_interrupt() -> None:
    with subprocess.Popen([PROGRAM, 'trace', 'gen', 'one-float', '--count', '541065216'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as pipe:
        pipe.stdout.read(100000)
        pipe.send_signal(2)
        while pipe.stdout.read(1 << 20):
            pass
        report('an interrupt ends it', equal('status', pipe.wait(), 130)
               + equal('complaint', pipe.stderr.read(), b''))


def check_memory() -> None:
    """Half a gigabyte of trace within 64 MiB of address space."""
    if SAN:
        TAP.skip('a long trace in little memory', 'sanitizers take all addresses')
        return
    for how in ('one-float --count 16000000', 'random --events 10000000'):
        done = subprocess.run(
            [PROGRAM, 'trace', 'gen', *how.split(), '-o', '/dev/null'], capture_output=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (64 * MIB, 64 * MIB)))
        report(f'gen {how} in 64 MiB',
               equal('status', (done.returncode, done.stderr), (0, b'')))


def check_output(folder: Path) -> None:
    path = folder / 'trace'
    faults = equal('standard output', gen('rebind -o', str(path)), b'')
    faults += equal('the file', path.read_bytes() == gen('rebind'), True)
    path.write_text('precious')
    gen('random --max-size 5 --min-size 6 -o', str(path), status=2)
    faults += equal('after a failure', path.read_text(), 'precious')
    faults += equal('no other file', [p.name for p in folder.iterdir()], ['trace'])
    gen('-o', str(path), 'tiny')
    faults += equal('options first', path.read_bytes() == gen('tiny'), True)
    report('-o replaces a file only by a whole trace', faults)


def check_usage() -> None:
    cases = {
        '': 'missing argument: SCENARIO', 'nosuch': 'no scenario "nosuch"', 'random training': 'too many',
        '--list tiny': 'too many', 'random --sizes square': 'log, uniform or mixed is required',
        'random --live 0': 'a number from 1 to 10000000 is required', 'random --events 1.5': 'a number',
        'random --min-size 1.5': 'a size from 1 to 2^53-1 is required', 'tiny --count 3': '--count',
        'random --shared 5': '--streams', 'random --min-size 2K --max-size 1K': '--min-size',
        'pipeline --stages 65': 'a number from 1 to 64', 'random --seed': 'requires a value',
        'training --jitter 100': 'a number from 0 to 99',
    }
    for words, wanted in cases.items():
        done = subprocess.run([PROGRAM, 'trace', 'gen', *words.split()], capture_output=True, check=False)
        text = done.stderr.decode()
        report(f'gen {words}: wrong usage', equal('status', done.returncode, 2)
               + equal('output', done.stdout, b'') + equal('lines', text.count('\n'), 1)
               + ([] if wanted in text else [text]))


# every policy takes them ----------------------------------------------------------------------------

def random_value(rng: random.Random, name: str, kind: str) -> str:
    if kind == 'WORD':
        return rng.choice(('log', 'uniform', 'mixed'))
    if kind == 'SIZE':
        return str(rng.randrange(1, 40 * MIB))
    most = {'events': 2000, 'count': 500, 'seed': 2 ** 53, 'shared': 100, 'jitter': 99, 'uneven': 100,
            'length': 300, 'hidden': 200, 'vocab': 5000, 'live': 300, 'stages': 6, 'prompt': 300,
            'checkpoint': 5, 'heads': 8, 'micro-batches': 6, 'steps': 4, 'rounds': 30}.get(name, 5)
    least = name not in ('seed', 'shared', 'jitter', 'uneven', 'checkpoint', 'heads')
    return str(rng.randrange(least, most + 1))


def random_words(rng: random.Random, name: str) -> str:
    """The scenario with a random value for each of its options, taken from its own help."""
    chosen = {}
    for option, kind in re.findall(r'^ +--(\S+)( [A-Z]+)?  ', gen(name, '-h').decode(), re.M):
        if option in ('object', 'help'):
            continue
        if kind:
            chosen[option] = random_value(rng, option, kind.strip())
        elif rng.random() < 0.5:
            chosen[option] = ''
    if int(chosen.get('min-size', 0)) > int(chosen.get('max-size', 0)):
        chosen['min-size'], chosen['max-size'] = chosen['max-size'], chosen['min-size']
    if int(chosen.get('streams', 2)) < 2:
        chosen['shared'] = '0'
    return name + ''.join(f' --{k} {v}' for k, v in chosen.items())


def check_policies(folder: Path) -> None:
    path = folder / 'fuzzed'
    for name in SCENARIOS:
        faults, rng = [], random.Random(f'gen {name}')
        for _ in range(2 if SAN else 6):
            words = random_words(rng, name)
            form = rng.choice(('', '--object'))
            gen(words, form, '-o', str(path))
            policies = rng.sample(POLICIES, 3)
            args = [a for p in policies for a in ('--policy', p)]
            done = subprocess.run([PROGRAM, 'run', '--quiet', '--check', *args, str(path)],
                                  capture_output=True, check=False)
            if done.returncode not in (0, 3) or done.stderr:
                faults.append(f'{words} {form} under {policies}: {done.returncode} {done.stderr}')
        report(f'{name} with random options passes run --check', faults)


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix='fragsim-gen.'))
    try:
        for check in (check_list, check_forms, check_seeds, check_random, check_equals, check_typed,
                      check_training, check_checkpointing, check_pipeline, check_inference,
                      check_multitask, check_qkv, check_reader_gone, check_interrupt, check_memory,
                      check_usage):
            check()
        check_output(folder)
        check_policies(folder)
    finally:
        shutil.rmtree(folder)
    return TAP.finish()


sys.exit(main())
