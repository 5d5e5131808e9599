"""growth_cases.py - what growth.py gives the commands: files of n things, and the arguments.

Each case makes its files in the folder that it stands in, and returns the arguments of the
program. The things are what its name says; n of them, or n / `per` where one is large.
"""
import copy
import json
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

MIB = 1 << 20


@dataclass
class Case:
    name: str               # COMMAND, things
    make: Callable[[str, int], tuple[str, ...]]     # of the program's path, and n
    per: int = 1
    known: str = ''         # why it grows by more than n log n, where it has to


def alloc(name: object, size: int = MIB, more: str = '') -> str:
    return f'{{"op":"alloc","id":{name},"size":{size}{more}}}\n'


def free(name: object, more: str = '') -> str:
    return f'{{"op":"free","id":{name}{more}}}\n'


def op(name: str, more: str = '') -> str:
    return f'{{"op":"{name}"{more}}}\n'


def trace(events: Iterable[str], device_bytes: int = 0, name: str = 't') -> str:
    with open(name, 'w', encoding='utf-8') as file:
        file.write('{"format":"fragsim-trace","version":1,"device":{"total_bytes":%d}}\n'
                   % device_bytes)
        file.writelines(events)
    return name


def sizes(seed: int = 1) -> Iterator[int]:
    """512 B to 8 MiB, as many in each doubling."""
    draw = random.Random(seed).random
    while True:
        yield int(512 * 2 ** (14 * draw()))


def churn(n: int, name: Callable[[int], object] = lambda i: i, more: str = '') -> Iterator[str]:
    """n live blocks; then by turns one of them goes, at random, and another one comes."""
    size, draw, live = sizes(), random.Random(2).random, list(range(n))
    for i in range(n):
        yield alloc(name(i), next(size), more)
    for i in range(n, n + n // 2):
        k = int(n * draw())
        yield free(name(live[k]))
        yield alloc(name(i), next(size), more)
        live[k] = i


def holes(n: int, size: int = 12 * MIB, more: str = '') -> Iterator[str]:
    """n free blocks between live ones."""
    yield from (alloc(i, size, more) for i in range(2 * n))
    yield from (free(i) for i in range(0, 2 * n, 2))


def info_numbers(_: str, n: int) -> tuple[str, ...]:
    return 'trace', 'info', trace(churn(n))


def info_addresses(_: str, n: int) -> tuple[str, ...]:
    """As a log of pointers has them: far apart, and in no order."""
    return 'trace', 'info', trace(churn(n, lambda i: (i * 2654435761 % (1 << 32)) * 512))


def info_words(_: str, n: int) -> tuple[str, ...]:
    return 'trace', 'info', trace(churn(n, lambda i: f'"block {i}"'))


def info_tags(_: str, n: int) -> tuple[str, ...]:
    return 'trace', 'info', trace(alloc(i, MIB, f',"tag":"t{i}"') for i in range(n))


def run_tags(_: str, n: int) -> tuple[str, ...]:
    """All of them hold memory where it runs out."""
    return 'run', '-q', trace([*(alloc(i, MIB, f',"tag":"t{i}"') for i in range(n)),
                               alloc(n, n * MIB)], (n + 2) * MIB)


def run_pools(_: str, n: int) -> tuple[str, ...]:
    return 'run', '-q', '-p', 'pytorch', trace(
        alloc(i, MIB, f',"pool":"p{i}","stream":{i}') for i in range(n))


def run_ooms(policy: str) -> Callable[[str, int], tuple[str, ...]]:
    """Each request is refused, while there are as many holes, none of which is large enough."""
    def make(_: str, n: int) -> tuple[str, ...]:
        refused = (alloc(2 * n + i, n * MIB) for i in range(n))
        return ('run', '-q', '--on-oom', 'continue', '-p', policy,
                trace([*holes(n, MIB // 2), *refused], (n + 4) * MIB))
    return make


def run_pending(_: str, n: int) -> tuple[str, ...]:
    """Each block is in use on a stream of its own, of which one after the other is done."""
    def events() -> Iterator[str]:
        for i in range(n):
            yield alloc(i)
            yield op('record_stream', f',"id":{i},"stream":{i + 1}')
            yield free(i)
        for i in range(n):
            yield op('sync', f',"stream":{i + 1}')
    return 'run', '-q', '-p', 'pytorch', trace(events())


def run_empty(policy: str) -> Callable[[str, int], tuple[str, ...]]:
    """By turns a cached segment is given back, and there are as many that cannot be."""
    def make(_: str, n: int) -> tuple[str, ...]:
        def events() -> Iterator[str]:
            yield from holes(n, MIB // 2)
            for i in range(n):
                yield alloc(2 * n + i, 30 * MIB)
                yield free(2 * n + i)
                yield op('empty_cache')
        return 'run', '-q', '-p', policy, trace(events())
    return make


def run_collect(_: str, n: int) -> tuple[str, ...]:
    """Beyond the threshold, with holes that no collection gives back; no request fits one."""
    def events() -> Iterator[str]:
        for i in range(n):
            yield alloc(2 * i, 4 * MIB)
            yield alloc(2 * i + 1, 4 * MIB)
            yield free(2 * i)
        for i in range(n):
            yield alloc(2 * n + i, 30 * MIB)
            yield free(2 * n + i)
            yield alloc(3 * n + i, 100 * MIB)
            yield free(3 * n + i)
    return ('run', '-q', '-p', 'pytorch:garbage_collection_threshold=0.1,max_split_size_mb=20,'
            'per_process_memory_fraction=0.99', trace(events(), (n + 100) * 12 * MIB))


def run_marks(_: str, n: int) -> tuple[str, ...]:
    def events() -> Iterator[str]:
        for i in range(n):
            yield alloc(i)
            yield op('mark', f',"name":"m{i}"')
    return 'run', '-q', '--json', 'o.json', trace(events())


def run_rows(_: str, n: int) -> tuple[str, ...]:
    return 'run', '-q', '--steps', 'o.csv', '--placements', 'o.ndjson', trace(churn(n))


def run_report(_: str, n: int) -> tuple[str, ...]:
    return 'run', '-v', trace(churn(n))


def report(*policies: str) -> Callable[[str, int], tuple[str, ...]]:
    def make(_: str, n: int) -> tuple[str, ...]:
        words = [word for name in policies for word in ('-p', name)]
        return ('run', '-q', *words, '-o', 'o.html', trace(churn(n)))
    return make


def report_tags(_: str, n: int) -> tuple[str, ...]:
    """A tag and a mark of its own for every block."""
    events = (line for i in range(n)
              for line in (alloc(i, 4096, f',"tag":"tag {i}"'), op('mark', f',"name":"mark {i}"')))
    return 'run', '-q', '-o', 'o.html', trace(events)


def report_pending(_: str, n: int) -> tuple[str, ...]:
    """All blocks wait for a stream at once."""
    def events() -> Iterator[str]:
        for i in range(n):
            yield alloc(i) + op('record_stream', f',"id":{i},"stream":7') + free(i)
        yield op('sync')
        yield alloc(n)
    return 'run', '-q', '-o', 'o.html', trace(events())


def plan(_: str, n: int) -> tuple[str, ...]:
    return 'plan', '-q', '--alone', trace(churn(n))


def fit(_: str, n: int) -> tuple[str, ...]:
    return 'fit', '-q', '-p', 'pytorch', '--runs', '20', trace(churn(n))


def fit_all(_: str, n: int) -> tuple[str, ...]:
    """As many runs as it takes."""
    return 'fit', '-q', '-p', 'pytorch', trace(churn(n))


def fit_each(what: str) -> Callable[[str, int], tuple[str, ...]]:
    """n blocks, each of another pool, stream, or tag."""
    def make(_: str, n: int) -> tuple[str, ...]:
        name = '"tag %d"' if what == 'tag' else '%d'
        return 'fit', '-q', trace(alloc(i, MIB, f',"{what}":{name % i}') for i in range(n))
    return make


def fit_marks(_: str, n: int) -> tuple[str, ...]:
    return 'fit', '-q', trace(op('mark', f',"name":"mark {i}"') + alloc(i) for i in range(n))


def on_devices(*arguments: str) -> Callable[[str, int], tuple[str, ...]]:
    """n devices, each with a block."""
    def make(_: str, n: int) -> tuple[str, ...]:
        devices = ','.join(['{"total_bytes":1073741824}'] * n)
        with open('t', 'w', encoding='utf-8') as file:
            file.write('{"format":"fragsim-trace","version":1,"devices":[%s]}\n' % devices)
            file.writelines(alloc(i, MIB, f',"device":{i}') for i in range(n))
        return *arguments, 't'
    return make


def settings(_: str, n: int) -> tuple[str, ...]:
    return 'fit', '-q', '--settings', 'short', trace(churn(n))


def settings_steps(_: str, n: int) -> tuple[str, ...]:
    """The same again and again, so the devices that differ are as many."""
    def events() -> Iterator[str]:
        for first in range(0, n, 100):
            size = sizes()
            yield from (alloc(first + i, next(size)) for i in range(100))
            yield from (free(first + i) for i in reversed(range(100)))
    return 'fit', '-q', '--settings', 'short', trace(events())


def predict_numbers(_: str, n: int) -> tuple[str, ...]:
    def recording(times: int) -> Iterator[str]:
        size = sizes()
        for i in range(n):
            yield alloc(i, next(size) * times)
        for i in range(n):
            yield free(i)
    return ('predict', '-q', '-p', 'pytorch', '--runs', '5', '--at', '3',
            trace(recording(1), name='t1') + '=1', trace(recording(2), name='t2') + '=2')


def predict_changes(_: str, n: int) -> tuple[str, ...]:
    """All stages that hold records; nothing is simulated."""
    def events() -> Iterator[str]:
        size = sizes()
        yield op('mark', ',"name":"step 1"')
        for i in range(n):
            yield alloc(i, next(size))
            if i % 2:
                yield free(i)
        yield op('mark', ',"name":"step 2"')
    return ('predict', '-q', '--hoist', '--warmup', 'step 1', '--isolate', 'by=life', '--split',
            '2MiB', trace(events()), '--trace', 'out.ndjson')


def predict_tags(_: str, n: int) -> tuple[str, ...]:
    """A pool for each."""
    return ('predict', '-q', '--isolate', 'by=tag',
            trace(alloc(i, 8, f',"tag":"tag {i}"') for i in range(n)),
            '--trace', 'out.ndjson')


def result_of(program: str, policies: list[str], name: str) -> str:
    """A result of that many runs, which are all alike but for their policies' names."""
    subprocess.run([program, 'run', '-q', '--json', 'one.json', trace([alloc(1), free(1)])],
                   check=True)
    with open('one.json', encoding='utf-8') as file:
        document = json.load(file)
    one = document['runs'][0]
    document['runs'] = []
    for policy in policies:
        run = copy.deepcopy(one)
        run['policy']['text'] = policy
        run['policy']['params']['align'] = policy
        document['runs'].append(run)
    with open(name, 'w', encoding='utf-8') as file:
        json.dump(document, file)
    return name


def diff_same(program: str, n: int) -> tuple[str, ...]:
    name = result_of(program, [f'p{i}' for i in range(n)], 'p.json')
    return 'diff', '-q', name, name


def diff_other(program: str, n: int) -> tuple[str, ...]:
    return ('diff', '-q', result_of(program, [f'p{i}' for i in range(n)], 'p.json'),
            result_of(program, [f'q{i}' for i in range(n)], 'q.json'))


def ranks_files(_: str, n: int) -> tuple[str, ...]:
    """Half of them are not as the others."""
    return 'ranks', '-q', '--floor', '0', '--json', 'o.json', *(
        trace((alloc(j, MIB * (1 + (k % 2 and k)), f',"tag":"t{j + k}"') for j in range(100)),
              name=f't{k}') for k in range(n))


def ranks_tags(_: str, n: int) -> tuple[str, ...]:
    return 'ranks', '-q', '--json', 'o.json', *(
        trace((alloc(i, MIB + k // 3, f',"tag":"t{i + k}"') for i in range(n // 4)), name=f't{k}')
        for k in range(4))


def diff_blocks(_: str, n: int) -> tuple[str, ...]:
    return 'diff', '-q', '-p', 'bestfit', '-p', 'firstfit', trace(churn(n))


def slice_blocks(_: str, n: int) -> tuple[str, ...]:
    """All of them live where it begins."""
    return 'trace', 'slice', '-q', '--from-step', str(n), trace(churn(n)), 'o.ndjson'


def slice_pending(_: str, n: int) -> tuple[str, ...]:
    def events() -> Iterator[str]:
        for i in range(n):
            yield alloc(i)
            yield op('record_stream', f',"id":{i},"stream":{i % 7 + 1}')
        for i in range(n):
            yield free(i)
        yield op('sync')
    return 'trace', 'slice', '-q', '--from-step', str(3 * n), trace(events()), 'o.ndjson'


def merge_blocks(_: str, n: int) -> tuple[str, ...]:
    files = [trace(churn(n // 4, more=',"t":%d' % k), name=f't{k}') for k in range(4)]
    return 'trace', 'merge', '-q', *files, 'o.ndjson'


def merge_ranks(_: str, n: int) -> tuple[str, ...]:
    files = [trace((alloc(j, MIB, f',"t":{j}') for j in range(1000)), name=f't{k}')
             for k in range(n)]
    return 'trace', 'merge', '-q', *files, 'o.ndjson'


def shrink_over(_: str, n: int) -> tuple[str, ...]:
    """33 blocks of 2 MiB fill the device; 32 of them stay, and the last request needs two."""
    def events() -> Iterator[str]:
        for i in range(32):
            yield alloc(2 * i, 2 * MIB) + alloc(2 * i + 1, 2 * MIB) + free(2 * i)
        for i in range(64, 64 + n):
            yield alloc(i) + free(i)
        yield alloc(64 + n, 4 * MIB)
    return 'trace', 'shrink', '-q', trace(events(), 66 * MIB), 'o.ndjson'


def shrink_all(_: str, n: int) -> tuple[str, ...]:
    return 'trace', 'shrink', '-q', '--tries', '1000000', trace(
        (alloc(i, 2 * MIB) for i in range(n)), (n - 1) * 2 * MIB), 'o.ndjson'


def anonymize(_: str, n: int) -> tuple[str, ...]:
    def events() -> Iterator[str]:
        for i, event in enumerate(churn(n, lambda i: f'"block {i}"')):
            yield event.replace('}', f',"tag":"layer {i}"}}') if 'alloc' in event else event
    return 'trace', 'anonymize', '-q', trace(events()), 'o.ndjson'


def convert(form: str) -> Callable[[str, int], tuple[str, ...]]:
    def make(_: str, n: int) -> tuple[str, ...]:
        return 'trace', 'convert', '-q', '--to', form, trace(churn(n)), 'o'
    return make


def convert_from(form: str) -> Callable[[str, int], tuple[str, ...]]:
    def make(program: str, n: int) -> tuple[str, ...]:
        subprocess.run([program, *convert(form)(program, n)], check=True)
        return 'trace', 'convert', '-q', '--to', 'lines', 'o', 'o.ndjson'
    return make


def export(form: str, events: Callable[[int], Iterable[str]]
           ) -> Callable[[str, int], tuple[str, ...]]:
    def make(_: str, n: int) -> tuple[str, ...]:
        return 'trace', 'convert', '-q', '-p', 'pytorch', '--to', form, trace(events(n)), 'o'
    return make


def tagged(n: int) -> Iterator[str]:
    return (alloc(i, MIB, f',"tag":"layer {i}"') for i in range(n))


def of_snapshot(words: str, events: Callable[[int], Iterable[str]]
                ) -> Callable[[str, int], tuple[str, ...]]:
    def make(program: str, n: int) -> tuple[str, ...]:
        subprocess.run([program, *export('snapshot', events)(program, n)], check=True)
        return (*words.split(), 'o')
    return make


EXPANDABLE = 'pytorch:expandable_segments=true'
CASES = (
    Case('info, ids that are numbers', info_numbers),
    Case('info, ids that are addresses', info_addresses),
    Case('info, ids that are words', info_words),
    Case('info, tags', info_tags),
    Case('run, tags that hold memory', run_tags),
    Case('run, pools and streams', run_pools),
    Case('run, OOMs, bestfit', run_ooms('bestfit')),
    Case('run, OOMs, pytorch', run_ooms('pytorch')),
    Case('run, OOMs, expandable segments', run_ooms(EXPANDABLE)),
    Case('run, pending blocks', run_pending),
    Case('run, caches emptied, bestfit', run_empty('bestfit')),
    Case('run, caches emptied, pytorch', run_empty('pytorch')),
    Case('run, caches emptied, expandable', run_empty(EXPANDABLE)),
    Case('run, collections in vain', run_collect),
    Case('run, marks', run_marks),
    Case('run, rows and placements', run_rows),
    Case('run, the whole report', run_report),
    Case('report, blocks', report('pytorch')),
    Case('report, segments', report('direct')),
    Case('report, a range', report(EXPANDABLE)),
    Case('report, tags and marks', report_tags),
    Case('report, pending blocks', report_pending),
    Case('fit, blocks', fit),
    Case('fit to its end, blocks', fit_all, per=10, known='with each, one capacity more is simulated'),
    Case('fit, pools', fit_each('pool'), per=1000, known='with each, one capacity more is simulated'),
    Case('fit, streams', fit_each('stream'), per=1000, known='with each, one capacity more is simulated'),
    Case('fit, tags', fit_each('tag'), per=100, known='with each, one capacity more is simulated'),
    Case('fit, marks', fit_marks, per=100, known='with each, one capacity more is simulated'),
    Case('fit, devices', on_devices('fit', '-q'), per=100,
         known='the tape is passed through for each'),
    Case('explain, devices', on_devices('explain', '-q', '--at', 'peak', '--json', 'o'), per=100,
         known='lives of blocks are looked for in the tape for each'),
    Case('plan, blocks', plan),
    Case('fit of settings, steps of a training', settings_steps),
    Case('fit of settings, live blocks', settings, per=100, known='more devices differ, and each is tried'),
    Case('predict, blocks at a number', predict_numbers, per=10),
    Case('predict, blocks changed', predict_changes),
    Case('predict, tags', predict_tags),
    Case('diff, the same runs', diff_same, per=50),
    Case('diff, other runs', diff_other, per=50),
    Case('diff, blocks', diff_blocks),
    Case('ranks, files', ranks_files, per=500),
    Case('ranks, tags', ranks_tags),
    Case('slice, live blocks', slice_blocks),
    Case('slice, pending blocks', slice_pending),
    Case('merge, blocks', merge_blocks),
    Case('merge, ranks', merge_ranks, per=1000),
    Case('shrink, little is needed', shrink_over, per=10),
    Case('shrink, all is needed', shrink_all, per=1000, known='each block is tried alone'),
    Case('anonymize, ids and tags', anonymize),
    Case('convert to lines', convert('lines')),
    Case('convert to the binary form', convert('fsb')),
    Case('convert to minimalloc', convert('minimalloc')),
    Case('convert to rmm', convert('rmm')),
    Case('convert from the binary form', convert_from('fsb')),
    Case('convert from minimalloc', convert_from('minimalloc')),
    Case('convert from rmm', convert_from('rmm')),
    Case('convert to perfetto, blocks', export('perfetto', churn)),
    Case('convert to sqlite, blocks', export('sqlite', churn)),
    Case('snapshot written, live blocks', export('snapshot', churn)),
    Case('snapshot written, free blocks', export('snapshot', holes)),
    Case('snapshot written, tags', export('snapshot', tagged)),
    Case('snapshot read, live blocks', of_snapshot('trace info', churn)),
    Case('snapshot read, free blocks', of_snapshot('trace info', holes)),
    Case('snapshot read, frames', of_snapshot('trace info', tagged)),
    Case('snapshot run, live blocks', of_snapshot('run -q', churn)),
    Case('verify, live blocks', of_snapshot('verify -q', churn)),
    Case('verify, free blocks', of_snapshot('verify -q', holes)),
)
