"""run.py - fragsim record, of programs that call a stand-in of the driver; prints TAP.

    run.py PROGRAM

The stand-in (libcuda.c) writes down what it was asked. From that, by the contract of the trace,
comes what the recording has to hold, event by event; client.c finds the driver in each of the ways
that programs have, does each thing that can be recorded, and ends in each way.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
import endings  # noqa: E402
import hostile  # noqa: E402
from tap import Tap  # noqa: E402

HERE = Path(__file__).resolve().parent
CC = os.environ.get('CC', 'cc').split()
WAYS = ('linked', 'library', 'dlsym', 'dlvsym', 'address', 'address2', 'suffixed')
SCENES = ('sync', 'async', 'vmm', 'failed')
# how the program ends, and with which status
ENDS = {'return': 0, 'threads': 0, 'fork': 0, 'exec': 0, 'exit': 7, '_exit': 8,
        'kill': -signal.SIGKILL}
ALLOCS = ('cuMemAlloc_v2', 'cuMemAllocPitch_v2', 'cuMemAllocManaged', 'cuMemAllocAsync',
          'cuMemAllocAsync_ptsz', 'cuMemAllocFromPoolAsync', 'cuMemCreate')
LAST = 4242             # the size of the block that is requested just before a SIGKILL

TAP = Tap()


def build(folder: Path) -> None:
    """The stand-in, a library that is linked to it, the clients, and another preloaded library."""
    (folder / 'small').mkdir()
    (folder / 'versions').write_text('STANDIN_1 { global: *; };\n', encoding='ascii')
    shared = ['-g', '-fPIC', '-shared']
    linked = [f'-L{folder}', '-lcuda']
    for name, words in (
            ('libcuda.so.1', [*shared, '-Wl,-Bsymbolic', '-Wl,-soname,libcuda.so.1',
                              f'-Wl,--version-script={folder}/versions', HERE / 'libcuda.c']),
            ('libplug.so', [*shared, '-DPLUG', HERE / 'client.c', *linked]),
            ('libnested.so', [*shared, HERE / 'nested.c']),
            ('client', ['-g', '-rdynamic', HERE / 'client.c']),
            ('hostile', ['-g', HERE / 'hostile.c', *linked]),
            ('linked', ['-g', '-DLINKED', HERE / 'client.c', *linked]),
            ('small/libcuda.so', [*shared, '-DDRIVER', HERE / 'heap.c']),
            ('heap', ['-g', HERE / 'heap.c', f'-L{folder}/small', '-lcuda', f'-Wl,-rpath,{folder}/small'])):
        subprocess.run([*CC, '-Wall', '-Wextra', '-pthread', *map(str, words), '-ldl', '-o',
                        str(folder / name)], check=True)
        if name == 'libcuda.so.1':
            (folder / 'libcuda.so').symlink_to(name)


@dataclass
class Call:
    """A line of the stand-in's log."""
    thread: int
    name: str
    rc: int
    device: int
    key: int
    size: int
    stream: int
    pool: int


def read_log(path: Path) -> list[list[Call]]:
    """The calls of a process; one list for each program that it became."""
    programs: list[list[Call]] = []
    for line in path.read_text(encoding='ascii').splitlines():
        thread, name, *numbers = line.split()
        if name == '(begin)':
            programs.append([])
        else:
            programs[-1].append(Call(int(thread), name, *map(int, numbers)))
    return programs


@dataclass
class Block:
    number: int
    size: int
    stream: int
    device: int
    pool: int
    holders: int = 1
    maps: int = 0


@dataclass
class Model:
    """What a recording of these calls says, by the manual."""
    events: list = field(default_factory=list)
    live: dict = field(default_factory=dict)
    handles: dict = field(default_factory=dict)
    mapped: dict = field(default_factory=dict)
    streams: dict = field(default_factory=dict)
    stream_device: dict = field(default_factory=dict)
    pools: dict = field(default_factory=dict)
    marked: dict = field(default_factory=dict)  # events of the driver
    waits: dict = field(default_factory=Counter)
    count: int = 0

    def say(self, op: str, **members) -> None:
        self.events.append({'op': op, **members})

    def stream(self, call: Call, device: int) -> int:
        key = call.stream
        if key == 2 or (key == 0 and call.name.endswith('_ptsz')):
            key = ('thread', call.thread)
        if key in (0, 1):
            return 0
        number = self.streams.setdefault(key, len(self.streams) + 1)
        self.stream_device.setdefault(number, device)
        return number

    def begin(self, table: dict, key: int, block: Block) -> None:
        if key in table:
            self.end(table, key)
        self.count += 1
        block.number = self.count
        table[key] = block
        more = {'stream': block.stream} if block.stream else {}
        if block.pool:
            more['pool'] = block.pool
        self.say('alloc', id=block.number, size=block.size, device=block.device, **more)

    def end(self, table: dict, key: int) -> None:
        self.say('free', id=table.pop(key).number)

    def request(self, call: Call) -> None:
        if call.name == 'cuMemCreate' and call.pool:    # the host's
            return
        if call.rc:
            memory = ' (out of memory)' if call.rc == 2 else ''
            self.say('mark', name=f'{call.name} failed: {call.size} bytes on device'
                     f' {call.device}, error {call.rc}{memory}', device=call.device)
            return
        stream = self.stream(call, call.device)
        pool = self.pools.setdefault(call.pool, len(self.pools) + 1) if call.pool else 0
        table = self.handles if call.name == 'cuMemCreate' else self.live
        self.begin(table, call.key, Block(0, call.size, stream, call.device, pool))

    def free(self, call: Call) -> None:
        block = self.live.get(call.key)
        if not block:
            return
        if 'Async' in call.name:
            stream = self.stream(call, block.device)
            if stream != block.stream:
                self.say('record_stream', id=block.number, stream=stream)
                self.waits[stream] += 1
        self.end(self.live, call.key)
        if call.rc:
            self.begin(self.live, call.key, block)

    def physical(self, handle: int, holders: int, maps: int) -> None:
        block = self.handles.get(handle)
        if not block:
            return
        block.holders += holders
        block.maps += maps
        if not block.holders and not block.maps:
            self.end(self.handles, handle)

    def sync(self, device: int, stream: int | None) -> None:
        if stream is None:
            self.say('sync', device=device)
        else:
            self.say('sync', stream=stream, device=self.stream_device.get(stream, device))

    def add(self, call: Call) -> None:
        if call.name in ALLOCS:
            self.request(call)
        elif call.name.startswith('cuMemFree'):
            self.free(call)
        elif call.name == 'cuMemRelease':
            self.physical(call.key, -1, 0)
        elif call.name == 'cuMemRetainAllocationHandle':
            self.physical(call.key, 1, 0)
        elif call.name == 'cuMemMap':
            self.mapped[call.key] = (call.stream, call.size)
            self.physical(call.stream, 0, 1)
        elif call.name == 'cuMemUnmap':
            for at in sorted(self.mapped):
                if call.key <= at < call.key + call.size:
                    self.physical(self.mapped.pop(at)[0], 0, -1)
        elif call.name.startswith('cuStreamSynchronize'):
            self.sync(call.device, self.stream(call, call.device))
        elif call.name == 'cuCtxSynchronize':
            self.sync(call.device, None)
        elif call.name == 'cuEventRecord':
            stream = self.stream(call, call.device)
            self.marked[call.key] = (stream, self.waits[stream])
        elif call.name == 'cuEventSynchronize':
            stream, waits = self.marked[call.key]
            if waits == self.waits[stream]:
                self.sync(call.device, stream)
        elif call.name == 'cuMemPoolDestroy' and call.key in self.pools:
            self.say('release_pool', pool=self.pools[call.key], device=call.device)
            self.pools[('gone', len(self.pools))] = self.pools.pop(call.key)    # a number once
        elif call.name == 'cuDevicePrimaryCtxReset_v2':
            for table in (self.live, self.handles):
                for key in [k for k, b in table.items() if b.device == call.key]:
                    self.end(table, key)


def expected(calls: list[Call]) -> list[dict]:
    model = Model()
    for call in calls:
        model.add(call)
    return model.events


def read_trace(path: Path) -> tuple[dict, list[dict]]:
    """The header, and events without times and tags; a torn last line is left out."""
    data = path.read_bytes()
    if data.startswith(b'\x28\xb5\x2f\xfd'):
        data = subprocess.run(['zstd', '-qdc'], input=data, stdout=subprocess.PIPE,
                              check=True).stdout
    head, *lines = data.decode('ascii').split('\n')
    assert lines.pop() == '', 'a torn line'
    events = [json.loads(line) for line in lines]
    times = [e.pop('t') for e in events]
    assert times == sorted(times), 'times run backwards'
    for e in events:
        assert ('tag' in e) == (e['op'] == 'alloc'), e
        e.pop('tag', None)
    return json.loads(head), events


def anonymous(events: list[dict]) -> Counter:
    """Events without the numbers that the order of threads decides."""
    sizes = {e['id']: e['size'] for e in events if e['op'] == 'alloc'}
    return Counter((e['op'], e.get('size', sizes.get(e.get('id'))), e.get('device'),
                    'stream' in e, 'pool' in e, e.get('name')) for e in events)


def lives(events: list[dict]) -> dict:
    """Of each size that one thread alone has: what happened to blocks of it, in order."""
    sizes = {e['id']: e['size'] for e in events if e['op'] == 'alloc'}
    out: dict = {}
    for e in events:
        if 'id' in e:
            out.setdefault(sizes[e['id']], []).append(e['op'])
    return out


class Stage:
    """The built things and a folder for each run."""

    def __init__(self, folder: Path, program: Path):
        self.folder, self.program, self.count = folder, program, 0

    def environment(self, folder: Path, **more) -> dict:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(('FRAGSIM_', 'LD_'))}
        # with another library before it, a sanitizer of the program would give up
        asan = f'{os.environ.get("ASAN_OPTIONS", "")}:verify_asan_link_order=0'.strip(':')
        return {**kept, 'ASAN_OPTIONS': asan, 'LD_LIBRARY_PATH': str(self.folder),
                'STANDIN_LOG': str(folder / 'log'), **more}

    def client(self, way: str, scene: str, end: str) -> list[str]:
        name = 'linked' if way == 'linked' else 'client'
        return [str(self.folder / name), way, scene, end]

    def play(self, folder: Path, *words, **more) -> subprocess.CompletedProcess:
        folder.mkdir(exist_ok=True)
        return subprocess.run([str(x) for x in words], cwd=folder, capture_output=True, check=False,
                              text=True, timeout=100, env=self.environment(folder, **more))

    def fragsim(self, folder: Path, *words, **more) -> subprocess.CompletedProcess:
        return self.play(folder, self.program, *words, **more)

    def record(self, folder: Path, *words, **more) -> subprocess.CompletedProcess:
        return self.fragsim(folder, 'record', *words, **more)

    def simulated(self, folder: Path, path: Path) -> str:
        """Every trace is one that the other commands read."""
        for words in (('trace', 'info', '-q'), ('run', '-q', '--check', '-p', 'pytorch', '-p', 'bestfit')):
            done = self.fragsim(folder, *words, path.name)
            if done.returncode or done.stderr:
                return f'{words[0]}: {done.returncode} {done.stderr}'
        return ''


def difference(got: list, wanted: list) -> str:
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a != b:
            return f'event {i}: {a}, expected {b}'
    return '' if len(got) == len(wanted) else f'{len(got)} events, expected {len(wanted)}'


def compare(scene: str, end: str, got: list, calls: list[Call]) -> str:
    wanted = expected(calls)
    if end == 'threads':
        a, b = anonymous(got), anonymous(wanted)
        if a != b:
            return f'too many {a - b}, too few {b - a}'
        # in vmm all blocks are of one size
        return '' if scene == 'vmm' or lives(got) == lives(wanted) else 'the order within a thread'
    if end == 'kill':
        # what came in the last 100 ms may be lost, and nothing else
        return difference(got, wanted[:max(len(got), len(wanted) - 1)])
    return difference(got, wanted)


def check_run(stage: Stage, number: int, way: str, scene: str, end: str) -> str:
    """One of the matrix; what is wrong."""
    folder = stage.folder / f'run{number}'
    name = 't.ndjson.zst' if number % 2 else 't.ndjson'
    done = stage.record(folder, '-o', name, '--', *stage.client(way, scene, end))
    if done.returncode != ENDS[end] or done.stdout or done.stderr:
        return f'{done.returncode} {done.stdout}{done.stderr}'
    traces = {}
    for path in folder.glob('t.*'):
        head, events = read_trace(path)
        traces.setdefault(head['meta']['process'], []).append((path, head, events))
        wrong = stage.simulated(folder, path)
        if wrong:
            return f'{path.name}: {wrong}'
    logs = {int(p.suffix[1:]): read_log(p) for p in folder.glob('log.*')}
    if sorted(traces) != sorted(logs) or not (folder / name).exists():
        return f'files {[p.name for p in folder.iterdir()]}'
    for process, programs in logs.items():
        # of one process, the first program has the shorter name
        files = sorted(traces[process], key=lambda x: len(x[0].name))
        if len(files) != len(programs):
            return f'{len(files)} files, {len(programs)} programs'
        for (path, head, events), calls in zip(files, programs):
            wrong = compare(scene, end, events, calls) or check_header(head, calls)
            if wrong:
                return f'{path.name}: {wrong}'
    return ''


def check_header(head: dict, calls: list[Call]) -> str:
    """The stand-in's devices; the context is measured where memory was requested."""
    asked = {c.device for c in calls if c.name in ALLOCS and c.name != 'cuMemCreate'}
    asked |= {0} if any(c.name == 'cuMemCreate' for c in calls) else set()
    wanted = [{'name': f'Stand-in ?{i}?', 'total_bytes': 1 << 30,
               'context_bytes': (200 if i else 300) << 20 if i in asked else 0} for i in (0, 1)]
    return '' if head['devices'] == wanted else f'devices {head["devices"]}'


def check_matrix(stage: Stage) -> None:
    cases = [(way, scene, end) for way in WAYS for scene in SCENES for end in ENDS]
    with ThreadPoolExecutor(4) as pool:
        wrong = list(pool.map(lambda x: check_run(stage, x[0], *x[1]), enumerate(cases)))
    for way in WAYS:
        TAP.result(f'found by {way}: what is recorded is what the driver was asked',
                   [f'{scene}, {end}: {text}' for (w, scene, end), text in zip(cases, wrong)
                    if w == way and text])


def check_many(stage: Stage) -> None:
    """More than fits into the tables and rings that there are at first."""
    for number, end in ((1000, 'return'), (1001, 'threads'), (1002, 'exec')):
        wrong = check_run(stage, number, 'dlsym', 'many', end)
        TAP.result(f'thousands of blocks, {end}', wrong)


def tags(path: Path) -> list[str]:
    return [json.loads(x)['tag'] for x in path.read_text(encoding='ascii').splitlines()
            if '"tag"' in x]


def check_tags(stage: Stage) -> None:
    folder = stage.folder / 'tags'
    stage.record(folder, '-o', 'a', *stage.client('dlsym', 'sync', 'return'))
    TAP.result('a tag names the module and function of the caller', [
        x for x in set(tags(folder / 'a')) ^ {'client:scene_sync'}])
    stage.record(folder, '-o', 'b', '--stacks', *stage.client('dlsym', 'sync', 'return'))
    TAP.result('--stacks: the functions that led there, the innermost first', [
        x for x in tags(folder / 'b')
        if not re.fullmatch(r'client:scene_sync < client\+0x[0-9a-f]+ < client:main < libc.*', x)])
    stage.record(folder, '-o', 'c', *stage.client('linked', 'sync', 'return'))
    TAP.result('where a function has no name, the tag is an offset in its module', [
        x for x in tags(folder / 'c') if not re.fullmatch(r'linked\+0x[0-9a-f]+', x)])


def check_nested(stage: Stage) -> None:
    folder = stage.folder / 'nested'
    other, ours = stage.folder / 'libnested.so', stage.program.parent / 'libfragsim-record.so'
    client = stage.client('linked', 'sync', 'return')
    requests = 12       # cuMemAlloc_v2 in the scene
    for name, words, more in (
            ('behind', ('record', '-o', 'behind', '--', *client), {'LD_PRELOAD': str(other)}),
            ('before', client, {'LD_PRELOAD': f'{other}:{ours}',
                                'FRAGSIM_RECORD_FILE': str(folder / 'before')})):
        words = [stage.program, *words] if name == 'behind' else words
        done = stage.play(folder, *words, NESTED=str(folder / 'count'), **more)
        calls = read_log(next(folder.glob('log.*')))[0]
        wrong = difference(read_trace(folder / name)[1], expected(calls))
        TAP.result(f'another preloaded library {name} it sees the same', [
            x for x in (wrong, done.stderr, (folder / 'count').read_text(encoding='ascii')
                        if done.returncode else '') if x],
            int((folder / 'count').read_text(encoding='ascii')) != requests and 'other calls')
        for path in folder.glob('log.*'):
            path.unlink()


def check_off(stage: Stage) -> None:
    folder = stage.folder / 'off'
    library = stage.program.parent / 'libfragsim-record.so'
    client = stage.client('dlsym', 'sync', 'own')
    on = stage.record(folder, '-o', 't', '--', *client).stdout.strip()
    (folder / 't').unlink()
    off = stage.play(folder, *client, LD_PRELOAD=str(library)).stdout.strip()
    TAP.result('switched off, the program gets the driver\'s own functions', [
        x for x in (on, off) if not (x == on and x.endswith('libfragsim-record.so')
                                     or x == off and x.endswith('libcuda.so.1'))],
        any(folder.glob('t*')) and 'a file')


def check_command(stage: Stage) -> None:
    folder = stage.folder / 'command'
    folder.mkdir()
    (folder / 'plain').write_text('no program\n', encoding='ascii')
    client = stage.client('dlsym', 'sync', 'return')
    for words, status, said in (
            ((), 2, 'missing argument: PROGRAM'), (('--stacks', '--'), 2, 'missing argument: PROGRAM'),
            (('--what', '--', 'true'), 2, 'unknown option --what'),
            (('-o', '-', 'true'), 2, 'needs a file'),
            (('-o', '/dev/null', 'true'), 6, 'not a regular file'),
            (('-o', 'none/t', 'true'), 6, 'No such file'),
            (('./none',), 127, './none: No such file'),
            (('./plain',), 126, './plain: Permission denied'),
            (('sh', '-c', 'exit 41'), 41, 'trace.ndjson.zst: not written: no CUDA call was recorded\n'),
            (('sh', '-c', 'rm -r away; "$@"', 'sh', *client), 0, None)):
        if said is None:
            (folder / 'away').mkdir()
            words = ('-o', 'away/t', *words)
            said = 'nothing is recorded from here on'
        done = stage.record(folder, *words)
        TAP.result(f'record {" ".join(map(str, words[:3]))}', [
            f'{done.returncode} {done.stdout}{done.stderr}'] if done.returncode != status
            or said not in done.stderr or not 1 <= done.stderr.count('\n') <= 1 + ('rm' in str(words))
            or done.stdout else [])
    TAP.result('a program that does not call the driver leaves no file',
               [x.name for x in folder.iterdir() if x.name not in ('plain',)
                and not x.name.startswith('log')])
    done = stage.record(folder, 'true', FRAGSIM_RECORD_LIBRARY=str(folder / 'none.so'))
    TAP.result('a library that is not there', done.returncode != 2 and str(done))
    done = stage.record(folder, 'sh', '-c', 'echo $LD_PRELOAD', LD_PRELOAD=str(stage.folder / 'libnested.so'))
    TAP.result('what was preloaded before is so still, behind the recorder',
               [] if re.fullmatch(r'\S*/libfragsim-record\.so:\S*/libnested\.so\n', done.stdout)
               else [str(done)])


def check_merge(stage: Stage) -> None:
    folder = stage.folder / 'merge'
    stage.record(folder, '-o', 't', '--', *stage.client('address2', 'sync', 'fork'))
    parts = sorted(p.name for p in folder.glob('t*'))
    done = stage.fragsim(folder, 'trace', 'merge', '-q', *parts, 'all.ndjson')
    _, events = read_trace(folder / 'all.ndjson') if not done.returncode else ({}, [])
    counts = [len(read_trace(folder / p)[1]) for p in parts]
    TAP.result('merge puts the processes together', [
        f'{done.returncode} {done.stderr} {parts} {counts} {len(events)}']
        if len(parts) != 2 or len(events) != sum(counts)
        or stage.simulated(folder, folder / 'all.ndjson') else [])


def check_exports(stage: Stage) -> None:
    """What the library shows is what it wraps: a name more could take the program's own place."""
    library = stage.program.parent / 'libfragsim-record.so'
    shown = subprocess.run(['nm', '-D', '--defined-only', str(library)], capture_output=True,
                           text=True, check=True).stdout.split('\n')
    names = {line.split()[2] for line in shown if line}
    calls = (HERE.parents[2] / 'src/recorder/driver_calls.h').read_text(encoding='ascii')
    wrapped = set(re.findall(r'^\tX\((\w+),', calls, re.M))
    rest = {'dlsym', 'dlvsym', '_exit', '_Exit', 'quick_exit', 'execve', 'execv', 'execvp',
            'execvpe', 'fexecve', 'execl', 'execlp', 'execle', 'abort'}
    TAP.result('the library shows the wrappers alone', sorted(names ^ (wrapped | rest)))
    needs = subprocess.run(['readelf', '-d', str(library)], capture_output=True, text=True,
                           check=True).stdout
    TAP.result('and needs the C library alone', [
        x for x in re.findall(r'NEEDED.*\[(.*)\]', needs) if not re.match(r'lib(c|dl|pthread)\.so|ld-', x)])


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix='record-') as place:
        stage = Stage(Path(place), Path(argv[1]).resolve())
        build(stage.folder)
        for check in (check_matrix, check_many, check_tags, check_nested, check_off, check_command, check_merge,
                      check_exports):
            check(stage)
        hostile.check(TAP, stage, read_trace)
        endings.check(TAP, stage, CC, read_trace)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
