"""worlds.py - random traces, policies and options for fit and tune, and each capacity by brute force.

A world stands for its seed. Its traces are small, its pages so large that there are some hundred
capacities to try; each of them is a `run`, on a trace whose header says that capacity.
"""

import json
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
SECONDS = 120

# keys of policies that suit small requests, and large ones
SMALL = {
    'bestfit': ['segment=4KiB,align=64', 'segment=1KiB,pool=16KiB', 'segment=8KiB,release=false',
                'segment=1,align=1'],
    'firstfit': ['segment=4KiB,min_split=1KiB', 'segment=1,align=8'],
    'nextfit': ['segment=4KiB,align=64', 'segment=16KiB'],
    'worstfit': ['segment=4KiB,align=64', 'segment=6KiB'],
    'buddy': ['min=64,segment=4KiB', 'min=512,segment=8KiB,pool=32KiB'],
    'sizeclass': ['quantum=64,max_small=1KiB,slab=4KiB,segment=2KiB', 'slab=8KiB,max_small=2KiB'],
    'tlsf': ['segment=4KiB', 'sl_log2=2,segment=1KiB,pool=16KiB'],
    'direct': [''],
    'plan': [''],
    'bfc': ['', 'garbage_collection=true', 'memory_limit=300KiB',
            'memory_limit=100KiB,allow_growth=false', 'fragmentation_fraction=0.01'],
    'pytorch': ['', 'expandable_segments=true'],
    'compact': ['over=bestfit,segment=4KiB,align=64', 'over=bestfit,segment=1KiB,block_cost=1'],
}
LARGE = {
    'bestfit': ['', 'segment=20MiB', 'pool=32MiB', 'release=false'],
    'firstfit': ['', 'min_split=1MiB,segment=8MiB'],
    'nextfit': ['', 'segment=20MiB'],
    'worstfit': ['', 'segment=10MiB'],
    'buddy': ['', 'segment=16MiB'],
    'sizeclass': ['', 'slab=4MiB'],
    'tlsf': ['', 'sl_log2=2,segment=20MiB'],
    'direct': [''],
    'plan': [''],
    'bfc': ['', 'garbage_collection=true', 'allow_growth=false,memory_limit=600MiB', 'memory_limit=400MiB',
            'memory_limit=2GiB,garbage_collection=true', 'fragmentation_fraction=0.1'],
    'pytorch': [''],
    'compact': ['', 'over=bestfit,segment=20MiB', 'expandable_segments=true'],
}

# added by a draw of their own, so that a seed stays what it was
POOLS = {
    'cupy': ['', 'limit=40KiB', 'limit=300MiB'],
    'rmm': ['', 'initial=8KiB', 'initial=4KiB,maximum=64KiB', 'maximum=300MiB'],
}


def settings(rng: random.Random) -> str:
    """Of pytorch, as a policy's keys; every combination that its own checks allow."""
    keys = {}
    if rng.random() < 0.5:
        keys['expandable_segments'] = 'true'
        if rng.random() < 0.2:
            keys['expandable_segments_reserve'] = rng.choice(['32', '64'])
    if rng.random() < 0.3:
        keys['large_segment_size_mb'] = rng.choice(['24', '32', '64'])
    if rng.random() < 0.4:
        keys['max_split_size_mb'] = rng.choice(['64', '100', '256'])
        if 'large_segment_size_mb' not in keys and rng.random() < 0.5:
            keys['max_split_size_mb'] = rng.choice(['20', '21', '32'])
    if rng.random() < 0.3:
        keys['roundup_power2_divisions'] = rng.choice(['2', '4', '8', '16'])
    if rng.random() < 0.35:
        keys['garbage_collection_threshold'] = rng.choice(['0.3', '0.6', '0.8', '0.95'])
        if rng.random() < 0.7:
            keys['per_process_memory_fraction'] = rng.choice(['0.99', '0.9', '0.7'])
    elif rng.random() < 0.15:
        keys['per_process_memory_fraction'] = rng.choice(['0.5', '0.83'])
    if rng.random() < 0.1:
        keys['throw_on_cudamalloc_oom'] = 'true'
    return ','.join(f'{key}={value}' for key, value in keys.items())


CONFIGURED = ('max_split_size_mb:64', 'garbage_collection_threshold:0.6',
              'roundup_power2_divisions:8', 'max_split_size_mb:200,garbage_collection_threshold:0.5')


@dataclass
class Trace:
    devices: list                       # members of the header
    events: list
    peaks: list                         # of what is requested at once, by arithmetic

    def limits_splits(self, policy: str) -> bool:
        """Does PyTorch's allocator not split large blocks, by the keys or on the way?"""
        return 'max_split_size' in policy or (
            policy.split(':')[0] in ('pytorch', 'compact')
            and self.configures('max_split_size'))

    def configures(self, key: str) -> bool:
        return any(key in x['value'] for x in self.events if x['op'] == 'configure')

    def gives_back_when_refused(self, policy: str) -> bool:
        """Is an alloc that gives memory back sure to have been refused by the device before?"""
        return (policy.split(':')[0] == 'pytorch' and 'garbage_collection' not in policy
                and 'fraction' not in policy and not self.configures('garbage_collection')
                and all(x['op'] != 'set_fraction' for x in self.events))

    def text(self, device: int = 0, total: int = 0, other: int = 0,
             overrides: dict | None = None) -> str:
        """With this capacity of one device, and no limit of the rest."""
        head = [{**x, **(overrides or {})} for x in self.devices]
        if total:
            head[device]['total_bytes'] = total
            head[device]['other_bytes'] = head[device].get('other_bytes', 0) + other
        return '\n'.join(json.dumps(x) for x in (
            {'format': 'fragsim-trace', 'version': 1, 'devices': head}, *self.events)) + '\n'


class Maker:
    """Events that are valid, and what they request."""

    def __init__(self, rng: random.Random, large: bool, devices: int) -> None:
        self.rng = rng
        self.large = large
        self.live = {}
        self.pending = []
        self.events = []
        self.next = 0
        self.now = [0] * devices
        self.peaks = [0] * devices
        self.target = rng.choice([4, 8, 15, 25])
        self.pools = rng.choice([[0], [0], [0, 1], [0, 'graph', 2]])
        self.streams = rng.choice([[0], [0], [0, 1], [0, 'side', 3]])
        self.few = [self.draw() for _ in range(rng.randint(2, 7))]
        self.chance = rng.choice([0, 0.05, 0.3])        # of all that is not alloc or free
        self.usual = rng.random() < 0.6                 # few sizes, as in a model
        self.fractions = rng.random() < 0.3
        self.settings = rng.random() < 0.3

    def draw(self) -> int:
        rng = self.rng
        if not self.large:
            return rng.choice([rng.randint(1, 600), rng.randint(1, 9000), 512 << rng.randint(0, 6)])
        return rng.choice([rng.randint(1, MIB), rng.randint(MIB, 10 * MIB),
                           rng.randint(10 * MIB, 40 * MIB), 512 << rng.randint(0, 16),
                           rng.choice([2, 4, 12, 20, 21, 64]) * MIB])

    def size(self) -> int:
        if self.rng.random() < 0.03:
            return 0
        return self.rng.choice(self.few) if self.usual else self.draw()

    def add(self, **event: object) -> None:
        self.events.append(event)

    def alloc(self) -> None:
        rng, size = self.rng, self.size()
        device, pool, stream = rng.randrange(len(self.now)), rng.choice(self.pools), rng.choice(
            self.streams)
        self.next += 1
        self.live[self.next] = device, size, stream
        self.now[device] += size
        self.peaks[device] = max(self.peaks[device], self.now[device])
        self.add(op='alloc', id=self.next, size=size, device=device, pool=pool, stream=stream)

    def free(self) -> None:
        rng = self.rng
        name = rng.choice([*self.live][-6:] if rng.random() < 0.5 else [*self.live])
        device, size, _ = self.live.pop(name)
        self.now[device] -= size
        if rng.random() < self.chance / 2:
            self.pending.append(name)
            self.add(op='free', id=name, pending=True)
        else:
            self.add(op='free', id=name)

    def other(self) -> None:
        rng = self.rng
        ops = ['sync', 'empty_cache', 'mark']
        ops += ['complete'] * 3 * bool(self.pending)
        ops += ['record_stream'] * 3 * bool(self.live and len(self.streams) > 1)
        ops += ['set_fraction'] * self.fractions + ['configure'] * self.settings
        op = rng.choice(ops)
        where = {'device': rng.randrange(len(self.now))} if rng.random() < 0.3 else {}
        if op == 'complete':
            self.add(op=op, id=self.pending.pop(0))
        elif op == 'record_stream':
            self.add(op=op, id=rng.choice([*self.live]), stream=rng.choice(self.streams))
        elif op == 'sync':
            self.add(op=op, **where, **({'stream': rng.choice(self.streams)}
                                        if rng.random() < 0.5 else {}))
        elif op == 'set_fraction':
            self.add(op=op, value=rng.choice([0.3, 0.7, 0.9, 0.99, 1, rng.random()]), **where)
        elif op == 'configure':
            self.add(op=op, value=rng.choice(CONFIGURED))
        else:
            self.add(op=op, **({'name': 'm'} if op == 'mark' else where))

    def make(self, count: int) -> None:
        rng = self.rng
        while len(self.events) < count:
            if rng.random() < self.chance:
                self.other()
            elif self.live and rng.random() < (0.35 if len(self.live) < self.target else 0.65):
                self.free()
            else:
                self.alloc()


@dataclass
class World:
    seed: int
    policies: list = field(default_factory=list)
    traces: list = field(default_factory=list)
    options: list = field(default_factory=list)         # of fit
    overrides: dict = field(default_factory=dict)       # what the options say of devices
    up_to: int = 0
    runs: int = 10000

    def figures(self, trace: Trace, device: int) -> tuple:
        """Context and others together, and the page."""
        figures = {'context_bytes': 0, 'other_bytes': 0, 'granularity_bytes': 2 * MIB,
                   **trace.devices[device], **self.overrides}
        return (figures['context_bytes'] + figures['other_bytes'], figures['granularity_bytes'])

    def device_options(self) -> list:
        return [word for key, value in self.overrides.items()
                for word in (OPTION[key], f'{value}B')]


OPTION = {'context_bytes': '--context-bytes', 'other_bytes': '--other-bytes',
          'granularity_bytes': '--granularity'}


def granularity(rng: random.Random, peak: int) -> int:
    """So that there are some hundred capacities up to the peak."""
    about = max(1, peak // rng.randint(20, 80))
    if rng.random() < 0.6:
        return 1 << about.bit_length()
    return about + rng.randint(0, about)


def make_trace(rng: random.Random, large: bool, devices: int, page: int = 0) -> Trace:
    maker = Maker(rng, large, devices)
    maker.make(rng.randint(30, 180))
    figures = []
    for peak in maker.peaks:
        page = page or granularity(rng, max(peak, 1000))
        some = {'granularity_bytes': page}
        for key in ('context_bytes', 'other_bytes'):
            if rng.random() < 0.3:
                some[key] = rng.choice([1, peak // 7, page, 3 * page, 4097])
        figures.append(some)
    return Trace(figures, maker.events, maker.peaks)


def policies(rng: random.Random, large: bool) -> list:
    """Some of all, with keys or without; pytorch the most."""
    table = LARGE if large else SMALL
    drawn = [f'{name}:{keys}'.rstrip(':') for name in table for keys in [rng.choice(table[name])]]
    if large:
        drawn += [f'pytorch:{settings(rng)}'.rstrip(':') for _ in range(6)]
    return list(dict.fromkeys(rng.sample(drawn, 4)))


def added_policies(seed: int) -> list:
    """One of the pools in most worlds."""
    rng = random.Random(f'fit {seed}, a pool')
    name = rng.choice(sorted(POOLS))
    return [f'{name}:{rng.choice(POOLS[name])}'.rstrip(':')] if rng.random() < 0.7 else []


def world(seed: int) -> World:
    rng = random.Random(f'fit {seed}')
    large = seed % 3 != 0
    devices = rng.choice([1, 1, 1, 1, 2])
    w = World(seed, policies(rng, large) + added_policies(seed))
    w.traces.append(make_trace(rng, large, devices))
    page = w.traces[0].devices[0]['granularity_bytes']
    if rng.random() < 0.3:
        w.traces += [make_trace(rng, large, rng.choice([1, devices]), page)
                     for _ in range(rng.randint(1, 2))]
    peak = max(w.traces[0].peaks)
    if rng.random() < 0.15:
        w.overrides['context_bytes'] = rng.choice([0, page, peak // 5 + 3])
    if rng.random() < 0.1:
        w.overrides['other_bytes'] = rng.choice([0, 5 * page, 12345])
    if rng.random() < 0.1:
        w.overrides['granularity_bytes'] = granularity(rng, max(peak, 1000))
    if rng.random() < 0.3:
        w.up_to = max(1, rng.choice([peak, peak * 3, peak + peak // 3, peak // 2, page * 40]))
        w.options += ['--up-to', f'{w.up_to}B']
    if rng.random() < 0.2:
        w.runs = rng.choice([1, 2, 3, 7, 20])
        w.options += ['--runs', str(w.runs)]
    w.options += w.device_options()
    return w


@dataclass(frozen=True)
class End:
    """What one policy's run on one device came to."""
    survives: bool
    step: int | None                    # of the out-of-memory
    calls: int
    retries: int
    peak_reserved: int
    peak_requested: int
    steps: int
    gave: int                           # allocs that gave memory back


SMALL_PAGE = 2 * MIB


class Counter:
    """Calls to the driver, from the lines of the placements."""

    def __init__(self, large_page: int) -> None:
        self.calls = 0
        self.gave = 0
        self.large_page = large_page
        self.ranges = {}                # ordinal: bytes of a page; None before the first

    def pages(self, part: dict) -> int:
        page = self.ranges[part['segment']]
        if page is None:
            # small requests take one page of 2 MiB at a time
            page = SMALL_PAGE if part['bytes'] == SMALL_PAGE else self.large_page
            self.ranges[part['segment']] = page
        assert part['bytes'] % page == 0, f'{part} is no whole number of pages of {page}'
        return part['bytes'] // page

    def add(self, line: dict) -> None:
        for new in line.get('new', ()):
            if new.get('expandable'):
                self.ranges[new['segment']] = None
            else:
                self.calls += 1
        self.gave += line['op'] == 'alloc' and ('released' in line or 'unmapped' in line)
        self.calls += sum(map(self.pages, line.get('mapped', ())))
        self.calls += sum(map(self.pages, line.get('unmapped', ())))
        self.calls += sum(x not in self.ranges for x in line.get('released', ()))


def large_page(policy: dict) -> int:
    return policy['params'].get('large_segment_size_mb', 20) * MIB


def run_at(program: str, folder: Path, names: list, text: str) -> dict:
    """By policy and device, what `fragsim run` says of this trace."""
    path = folder / 'brute.ndjson'
    path.write_text(text, encoding='ascii')
    words = [word for name in names for word in ('-p', name)]
    done = subprocess.run([program, 'run', '-q', '--threads', '1', '--json', 'brute.json',
                           '--placements', '-', *words, path.name], capture_output=True,
                          cwd=folder, timeout=SECONDS, check=False)
    assert done.returncode in (0, 3), f'run: status {done.returncode}, {done.stderr.decode()}'
    result = json.loads((folder / 'brute.json').read_bytes())
    runs = result['runs']
    per = len(runs) // len(names)
    counters = {(i // per, run['device']['ordinal']): Counter(large_page(run['policy']))
                for i, run in enumerate(runs)}
    index = {runs[i * per]['policy']['text']: i for i in range(len(names))}
    for line in map(json.loads, done.stdout.splitlines()):
        which = index[line['policy']] if 'policy' in line else 0
        counters[which, line.get('device', 0)].add(line)
    ends = {}
    for (which, device), run in zip(counters, runs, strict=True):
        params = run['policy']['params']
        first = params.get('pool') or params.get('initial')
        pool = 1 if first and run['counts']['segment_allocs'] else 0
        ends[which, device] = End(
            run['status'] == 'fits', run['oom'][0]['step'] if run['oom'] else None,
            counters[which, device].calls + pool, run['counts']['retries'],
            run['peak']['reserved'], run['lower_bound'], run['steps'],
            counters[which, device].gave)
    return ends


class Brute:
    """Every capacity of a trace's device, each simulated once and for all policies together."""

    def __init__(self, program: str, folder: Path, w: World, trace: Trace, device: int) -> None:
        self.program, self.folder, self.world = program, folder, w
        self.trace, self.device = trace, device
        self.taken, self.page = w.figures(trace, device)
        self.known = {}                 # capacity: what each policy came to
        peak = trace.peaks[device]
        self.floor = self.lattice(self.taken + peak)

    def lattice(self, capacity: int) -> int:
        """The least capacity of the lattice that is not below."""
        return self.taken + max(0, -(-(capacity - self.taken) // self.page)) * self.page

    def at(self, capacity: int, policy: int, other: int = 0) -> End:
        key = capacity, other
        if key not in self.known:
            # a capacity of 0 would be no limit
            text = self.trace.text(self.device, capacity or 1, other, self.world.overrides)
            ends = run_at(self.program, self.folder, self.world.policies, text)
            self.known[key] = [ends[i, self.device] for i in range(len(self.world.policies))]
        return self.known[key][policy]
