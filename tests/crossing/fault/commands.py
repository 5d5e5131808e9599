"""commands.py - what run.py makes fail: runs of every command, and their ends where a call does."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'support'))
import samples  # noqa: E402

OUTPUTS = {'--steps': 's.csv', '--placements': 'p.ndjson', '--json': 'r.json'}
# a bit of everything: strings, streams, pools, pending blocks, devices, an OOM, marks, times
TRACE = '''{"format":"fragsim-trace","version":1,"devices":[{"name":"a","total_bytes":"8MiB"},{}]}
{"op":"alloc","id":"x","size":"3MiB","tag":"weights","stream":"copy"}
{"op":"alloc","id":2,"size":1000,"pool":"graph","device":1}
{"op":"record_stream","id":"x","stream":4}
{"op":"mark","name":"middle"}
{"op":"free","id":"x"}
{"op":"alloc","id":3,"size":"6MiB","tag":"input"}
{"op":"sync"}
{"op":"alloc","id":4,"size":5000}
{"op":"free","id":2,"pending":true}
{"op":"complete","id":2}
{"op":"empty_cache"}
'''
# 2 MiB of 3 MiB are free, but not in one piece; whose block is in the way has a tag
HOLES = '''{"format":"fragsim-trace","version":1,"device":{"total_bytes":"3MiB"}}
{"op":"alloc","id":1,"size":"1MiB","tag":"weights"}
{"op":"alloc","id":2,"size":"2MiB"}
'''
# a block in each of two segments keeps 1 MiB of 2 from serving what comes then
PINNED = '''{"format":"fragsim-trace","version":1,"device":{"total_bytes":"6MiB"}}
{"op":"alloc","id":1,"size":"512KiB","tag":"weights"}
{"op":"alloc","id":"two","size":"1536KiB"}
{"op":"alloc","id":3,"size":"512KiB","pool":0,"tag":"state"}
{"op":"alloc","id":4,"size":"1536KiB"}
{"op":"alloc","id":"w","size":"64KiB","pool":"own"}
{"op":"record_stream","id":"w","stream":"side"}
{"op":"mark","name":"it 1"}
{"op":"free","id":"w"}
{"op":"free","id":"two"}
{"op":"free","id":4}
{"op":"mark","name":"it 2"}
{"op":"alloc","id":5,"size":"2MiB","tag":"input"}
{"op":"free","id":5}
'''
# what the forms of other people can hold
SIMPLE = '''{"op":"alloc","id":1,"size":4096,"t":1}
{"op":"alloc","id":2,"size":512,"t":2}
{"op":"free","id":1,"t":3}
{"op":"free","id":2,"t":4}
'''
LOG = '''x
CUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total capacity; 8.77 GiB already
allocated; 19.75 MiB free; 13.71 GiB reserved in total by PyTorch)
RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes.
'''

NOMEM = ('out of host memory', 'Cannot allocate memory')
# call: the end where it fails, and what is said
ENDS = {'alloc': (6, NOMEM), 'read': (4, ('Input/output error',)), 'write': (6, ('No space left',)),
        'open': (6, ('Too many open files',)), 'rename': (6, ('Permission denied',)),
        'sync': (6, ('Input/output error',)),
        'thread': (3, ()), 'shrink': (4, ('',)), 'garble': (4, ('',)),
        'once': (130, ()), 'twice': (130, ())}
# what happens to the input, not to the program
SPOILS = ('trace', 'shrink', 'garble')
# the second SIGINT ends the program by itself
SIGNALS = {'once': (130,), 'twice': (130, -2)}
EVERY = ('bestfit', 'firstfit', 'nextfit', 'worstfit', 'buddy', 'sizeclass', 'tlsf',
         'direct', 'bfc', 'cupy', 'rmm', 'pytorch', 'compact')


@dataclass(frozen=True)
class Scene:
    name: str
    call: str               # what fails
    command: tuple
    files: tuple = ()       # that it writes
    fine: int = 0           # the end of a run without a fault
    all: bool = False       # the later calls fail, too
    status: int | None = None       # the end with one, if not that of ENDS
    words: tuple = ()
    timed: bool = False     # what it writes tells times, and is never twice the same
    folder: str = ''        # that it makes; a fault may leave the beginning of its files there
    dense: bool = False     # the last calls fail one by one, too: there the outputs are printed
    every: bool = False     # calls fail evenly, in all of the run

    @property
    def end(self) -> int:
        return ENDS[self.call][0] if self.status is None else self.status

    @property
    def said(self) -> tuple:
        return self.words or ENDS[self.call][1]


def run(name: str, call: str, *args, policies=('bestfit',), outputs=('--steps', '--placements'),
        trace='trace.ndjson', threads=1, fine=3, **more) -> Scene:
    """A run; several threads would allocate in any order, and read while others write."""
    words = [word for policy in policies for word in ('-p', policy)]
    words += [word for option in outputs for word in (option, OUTPUTS[option])]
    return Scene(name, call, ('run', '--threads', str(threads), '--on-oom', 'continue', *words,
                              *args, trace), tuple(OUTPUTS[x] for x in outputs), fine, **more)


def diff(name: str, call: str, *args, file='o.txt') -> Scene:
    return Scene(name, call, ('diff', '--threads', '1', *args), (file,), dense=call == 'alloc')


RUNS = [
    *[run(f'allocation under {name}', 'alloc', policies=(name,)) for name in EVERY],
    run('allocation of three policies', 'alloc', policies=EVERY[3:6], dense=True),
    run('allocation and all later ones', 'alloc', all=True, outputs=('--steps',)),
    run('allocation for the result', 'alloc', outputs=('--json',), dense=True),
    run('allocation for gzip', 'alloc', trace='trace.gz'),
    run('allocation for zstd', 'alloc', trace='trace.zst'),
    run('allocation for an object', 'alloc', trace='object.json'),
    run('allocation with --lenient', 'alloc', '-q', '--lenient', trace='flawed.ndjson'),
    run('allocation with --check', 'alloc', '--check'),
    run('allocation for the report', 'alloc', '--summary', 'pytorch', outputs=(),
        policies=('bestfit', 'pytorch')),
    run('read', 'read'),
    run('read of gzip', 'read', trace='trace.gz'),
    run('read of a long trace', 'read', trace='long.ndjson', outputs=('--json',), fine=0),
    run('write', 'write'),
    run('write of long outputs', 'write', trace='long.ndjson', fine=0),
    run('write and all later ones', 'write', all=True),
    run('write or spool of two policies', 'write', policies=('bestfit', 'buddy')),
    run('write of all outputs', 'write', outputs=tuple(OUTPUTS)),
    run('file beside an output', 'open', policies=('bestfit', 'buddy'), outputs=tuple(OUTPUTS)),
    run('rename', 'rename', outputs=tuple(OUTPUTS)),
    run('sync of all outputs', 'sync', outputs=tuple(OUTPUTS)),
    # without them the first thread does all the work; a short trace starts none
    run('start of a thread', 'thread', policies=EVERY, trace='long.ndjson', threads=7, fine=0),
    run('start of a thread that unpacks', 'thread', trace='long.gz', threads=2, fine=0),
    diff('allocation in diff of policies', 'alloc', '-p', 'bestfit', '-p', 'pytorch',
         'trace.ndjson', 'trace.gz', '-q', '-o', 'o.txt'),
    diff('allocation in diff of a run that ends by fragmentation', 'alloc', '-p', 'bestfit',
         'holes.ndjson', '-q', '-o', 'o.csv', file='o.csv'),
    *[diff(f'allocation in diff as {name}', 'alloc', '-p', 'bestfit', 'trace.ndjson', '-q', '-o',
           f'o.{name}', file=f'o.{name}') for name in ('md', 'json', 'xml', 'csv')],
    diff('allocation in diff of results', 'alloc', 'base.json', 'new.json', '-o', 'o.txt',
         '--allow-missing', '--allow-partial', '--fail-if', 'peak.reserved < 1'),
    diff('allocation in diff of a baseline', 'alloc', '-b', 'base.json', '-q', '-o', 'o.csv', file='o.csv'),
    diff('allocation for a baseline', 'alloc', '-b', 'made.json', '--update-baseline', '-p',
         'pytorch', '-q', 'trace.ndjson', file='made.json'),
    diff('read of a result', 'read', 'base.json', 'new.json', '-q', '-o', 'o.csv', file='o.csv'),
]


def each(command: tuple, calls: str, files: tuple = (), name: str = '', **more) -> list:
    """The same command for several calls."""
    return [Scene(f'{call} in {name or " ".join(command)}', call, command, files,
                  dense=call == 'alloc', **more)
            for call in calls.split()]


FILES = 'alloc read write sync open rename'
# what is in the folder, done
SWEPT = ('-p', 'buddy', '-p', 'pytorch:max_split_size_mb=20', '--device-bytes', '0,64MiB', 'simple.ndjson',
         'trace.ndjson')
COMMANDS = [
    *[scene for form in ('lines', 'object', 'fsb')
      for scene in each(('trace', 'convert', '-q', '-t', form, 'trace.ndjson', 'o.out'), FILES, ('o.out',))],
    *[scene for form in ('rmm', 'minimalloc')
      for scene in each(('trace', 'convert', '-q', '-t', form, 'simple.ndjson', 'o.out'), FILES,
                        ('o.out',))],
    *[scene for packed in ('o.ndjson.gz', 'o.ndjson.zst', 'o.fsb')
      for scene in each(('trace', 'convert', '-q', 'trace.ndjson', packed), 'alloc write', (packed,))],
    *[scene for source in ('trace.fsb', 'rmm.csv', 'mini.csv', 'kineto.json', 'xla.hlo.pb',
                           'snap.pickle', 'snap.json', 'snap.html', 'timeline.json')
      for scene in each(('trace', 'convert', '-q', source, 'o.ndjson'), 'alloc read', ('o.ndjson',))],
    *[scene for form, policy in (('snapshot', 'pytorch'), ('perfetto', 'buddy'))
      for scene in each(('trace', 'convert', '-q', '-t', form, '-p', policy, '--on-oom', 'continue',
                         'trace.ndjson', 'o.out'), 'alloc write open rename', ('o.out',))],
    # SQLite writes by pwrite()
    *each(('trace', 'convert', '-q', '-t', 'sqlite', '-p', 'direct', '--on-oom', 'continue', 'trace.ndjson',
           'o.out'), 'alloc open rename', ('o.out',)),
    *each(('trace', 'slice', '-q', '--from-step', '3', '--to-step', '8', 'trace.ndjson', 'o.ndjson'), FILES,
          ('o.ndjson',)),
    *each(('trace', 'slice', '-q', '--from-mark', 'middle', '--only-device', '1', 'trace.ndjson', 'o.fsb'),
          'alloc write', ('o.fsb',)),
    *each(('predict', '-q', '--threads', '1', '--at', '5', '--largest', '--device-bytes', '64MiB',
           '--up-to', '6', '--json', 'o.json', '--trace', 'o.ndjson', 'trace.ndjson=2', 'trace.ndjson=4'),
          FILES, ('o.json', 'o.ndjson'), 'predict numbers'),
    *each(('predict', '-q', '--threads', '1', '--at', '4', '-p', 'bestfit', '--json', 'o.json', '--trace',
           'o.ndjson', 'rows1.ndjson=1', 'rows2.ndjson=2'), FILES, ('o.json', 'o.ndjson'),
          'predict insertions'),
    *each(('predict', '-q', '--threads', '1', '-p', 'bestfit', '--scale-batch', '1/2', '--json', 'o.json',
           'rows2.ndjson'), 'alloc', ('o.json',), 'predict classes'),
    *each(('predict', '-q', '--threads', '1', '-p', 'bestfit', '--isolate', 'by=life', '--hoist',
           '--warmup', 'middle', '--scale', '1/2', '--of', '*', '--split', '1000', '--isolate',
           'by=tag', '--preallocate', '4K', '--prime-pool', '4K', '--json',
           'o.json', '--trace', 'o.ndjson', 'trace.ndjson'),
          FILES, ('o.json', 'o.ndjson'), 'predict changes'),
    *each(('ranks', '-q', '--threads', '1', '--json', 'o.json', 'trace.ndjson', 'simple.ndjson',
           'trace.ndjson', 'again.ndjson'), 'alloc read open rename', ('o.json',)),
    *each(('leaks', '-q', '--json', 'o.json', 'again.ndjson'), 'alloc read open rename', ('o.json',)),
    *each(('plan', '-q', '--threads', '1', '--json', 'o.json', '--plan', 'o.plan', 'trace.ndjson'),
          FILES, ('o.json', 'o.plan')),
    *each(('run', '-q', '-p', 'bestfit', '-o', 'o.html', 'simple.ndjson'),
          'alloc read sync open rename', ('o.html',)),
    *each(('run', '-q', '--threads', '1', '-p', 'pytorch', '-o', 'o.html', '--svg', 'o.svg',
           'trace.ndjson'), 'alloc sync open rename', ('o.html', 'o.svg'), 'a page and its picture', fine=3),
    *each(('trace', 'anonymize', '-q', 'trace.ndjson', 'o.ndjson'), FILES, ('o.ndjson',)),
    *each(('trace', 'merge', '-q', 'trace.ndjson', 'simple.ndjson', 'o.ndjson'), FILES, ('o.ndjson',)),
    *each(('trace', 'shrink', '-q', 'trace.ndjson', 'o.ndjson'), FILES, ('o.ndjson',)),
    *each(('fit', '-q', '--map', '--threads', '1', '-p', 'bestfit', '-p',
           'pytorch:expandable_segments=true', '--json', 'o.json', 'trace.ndjson', 'simple.ndjson'),
          'alloc read sync open rename', ('o.json',), 'fit'),
    *each(('fit', '-q', '--together', '--threads', '1', '-p', 'bestfit', '--json', 'o.json',
           'again.ndjson', 'simple.ndjson'), 'alloc', ('o.json',), 'fit --together'),
    *each(('explain', '-q', '--threads', '1', '-p', 'bestfit:segment=2MiB', '--json', 'o.json',
           '--folded', 'o.txt', 'pinned.ndjson'), 'alloc read sync open rename', ('o.json', 'o.txt'), 'explain'),
    *each(('explain', '--threads', '1', '-p', 'pytorch', 'trace.ndjson'), 'alloc read',
          name='explain for people'),
    *each(('fit', '-q', '--threads', '1', '--settings', 'lines', '--test', 'simple.ndjson', '-o',
           'o.json', 'trace.ndjson'), 'alloc read sync open rename', ('o.json',), 'fit of settings'),
    *each(('fit', '-q', '--threads', '1', '--settings', 'lines', '--device-bytes', '64MiB', '-o',
           'o.csv', 'trace.ndjson'), 'alloc', ('o.csv',), 'fit on a device'),
    *each(('fit', '-q', '--threads', '1', '--settings', 'lines', '-o', 'o.json', 'again.ndjson'),
          'alloc', ('o.json',), 'fit of a trace again'),
    *[scene for name, *words in (
        ('explain', '-p', 'bestfit:segment=2MiB', 'pinned.ndjson'),
        ('fit', '-p', 'bestfit', '-p', 'buddy', 'trace.ndjson'),
        ('fit', '--settings', 'lines', '--device-bytes', '64MiB', 'trace.ndjson'),
        ('diff', '-p', 'bestfit', '-p', 'buddy', 'holes.ndjson'))
      for scene in each((name, '-q', '--threads', '1', '-o', 'o.html', *words),
                        'alloc read sync open rename', ('o.html',), f'{name}, a page')],
    *[scene for name, *words in (
        ('fit', '-p', 'bestfit', '-p', 'buddy', '--map', 'trace.ndjson'),
        ('fit', '--settings', 'lines', 'trace.ndjson'),
        ('diff', '-p', 'bestfit', '-p', 'buddy', 'holes.ndjson'),
        ('leaks', 'again.ndjson'), ('plan', 'trace.ndjson'), ('predict', '--hoist', 'trace.ndjson'),
        ('ranks', 'trace.ndjson', 'trace.ndjson'),
        ('predict', '--at', '5', 'trace.ndjson=2', 'trace.ndjson=4'))
      for scene in each((name, *words), 'alloc', name=f'{name} for people')],
    *each(('sweep', '-q', '--merge', '.'), FILES, ('merged.ndjson',)),
    *each(('sweep', '-q', '--resume', '-o', '.', '--threads', '1'), 'alloc read'),
    *each(('sweep', '-q', '-p', 'buddy', '-p', 'pytorch', '-o', 'fresh', '--threads', '1', 'simple.ndjson',
           'trace.ndjson'), 'alloc read write sync open', name='sweep', folder='fresh'),
    *each(('sweep', *SWEPT, '-q', '--plan', 'parallel', '-o', '.'), 'alloc read',
          name='the plan of a sweep'),
    *each(('trace', 'info', 'trace.ndjson'), 'alloc read'),
    *each(('trace', 'info', '-q', '--json', 'o.json', 'trace.ndjson'), FILES, ('o.json',)),
    *each(('verify', '-q', 'snap.pickle'), 'alloc read'),
    *each(('explain', 'log'), 'alloc read'),
    *each(('explain', '-q', '--json', 'o.json', 'log'), FILES, ('o.json',)),
    *each(('list', 'policies', '--json', 'o.json'), 'alloc write open rename', ('o.json',)),
    *each(('trace', 'gen', 'pipeline', '--layers', '2', '--stages', '2', '--iterations', '1', '-o',
           'o.ndjson'), 'alloc write open rename',
          ('o.ndjson',)),
    *each(('trace', 'gen', 'training', '--layers', '1', '--iterations', '1', '--object'), 'alloc write'),
    *each(('replay', '-q', '--verify', '-p', 'pytorch', '--steps', 's.csv', '--placements',
           'p.ndjson', '--json', 'r.json', '-d', '0', '-d', '1', 'trace.ndjson'),
          'alloc read write open rename',
          ('s.csv', 'p.ndjson', 'r.json'), 'replay', timed=True),
    *each(('diff', '-q', '-o', 'o.csv', '-o', 'o.json', '-b', 'made.json',
           '--update-baseline', '-p', 'bestfit', 'trace.ndjson'), 'rename',
          ('o.csv', 'o.json', 'made.json'), 'diff with outputs and a baseline'),
    *each(('replay', '-p', 'bestfit', '--repeat', '2', 'simple.ndjson'), 'alloc read', timed=True),
    *each(('run', '-q', '--stacks', 'all', '-p', 'pytorch', '--placements', 'p.ndjson',
           'snap.pickle'),
          'alloc', ('p.ndjson',)),
]
# long.ndjson is read in pieces; a snapshot, and what is behind an object's events, before all else
SPOILED = [
    *[scene for source in ('long.ndjson', 'long.gz', 'object.json', 'trace.ndjson', 'trace.fsb',
                           'mini.csv', 'kineto.json', 'snap.pickle', 'snap.json', 'snap.html', 'timeline.json')
      for scene in each(('trace', 'convert', '-q', source, 'o.ndjson'), 'shrink garble', ('o.ndjson',))],
    # half a log of RMM is a log
    *each(('trace', 'convert', '-q', 'rmm.csv', 'o.ndjson'), 'garble', ('o.ndjson',)),
    *each(('run', '-q', '-p', 'buddy', '--steps', 's.csv', '--json', 'r.json', 'long.ndjson'),
          'shrink garble', ('s.csv', 'r.json')),
    *each(('diff', '-q', '-p', 'buddy', '-o', 'o.txt', 'long.ndjson', 'object.json'),
          'shrink garble', ('o.txt',)),
    *each(('diff', '-q', '-o', 'o.txt', 'base.json', 'new.json'), 'shrink garble',
          ('o.txt',)),
    *each(('trace', 'merge', '-q', 'long.ndjson', 'trace.ndjson', 'o.ndjson'), 'shrink garble',
          ('o.ndjson',)),
    *each(('trace', 'shrink', '-q', 'trace.ndjson', 'o.ndjson'), 'shrink garble', ('o.ndjson',)),
]
# a run writes what there is; what makes a file makes the whole of it, or nothing
INTERRUPTED = [
    *each(('trace', 'convert', '-q', 'long.ndjson', 'o.ndjson'), 'once twice', ('o.ndjson',)),
    *each(('trace', 'convert', '-q', 'snap.pickle', 'o.fsb'), 'once twice', ('o.fsb',)),
    *each(('trace', 'slice', '-q', '--from-step', '20000', 'long.ndjson', 'o.ndjson'), 'once twice',
          ('o.ndjson',)),
    *each(('trace', 'anonymize', '-q', 'long.ndjson', 'o.ndjson'), 'once twice', ('o.ndjson',)),
    *each(('trace', 'merge', '-q', 'trace.ndjson', 'long.ndjson', 'o.ndjson'), 'once twice', ('o.ndjson',)),
    *each(('trace', 'shrink', '-q', 'trace.ndjson', 'o.ndjson'), 'once twice', ('o.ndjson',)),
    *each(('predict', '-q', '--at', '5', '--trace', 'o.ndjson', 'long.ndjson=2', 'long.ndjson=3'),
          'once twice', ('o.ndjson',)),
    *each(('predict', '-q', '--hoist', '--trace', 'o.ndjson', 'long.ndjson'), 'once twice',
          ('o.ndjson',)),
    *each(('trace', 'info', '-q', '--json', 'o.json', 'long.ndjson'), 'once twice', ('o.json',)),
    *each(('trace', 'gen', 'training', '--layers', '1', '--iterations', '5', '-o', 'o.ndjson'),
          'once twice', ('o.ndjson',)),
    *each(('diff', '-b', 'made.json', '--update-baseline', '-p', 'buddy', '-q', 'long.ndjson',
           'object.json'), 'once twice', ('made.json',)),
]


def of_form(source: str) -> list:
    """Each allocation of the reader, of tags and stacks, and of the largest answers."""
    rest = ('--threads', '1', source)
    scenes = [Scene(f'allocation in convert of {source}', 'alloc',
                    ('trace', 'convert', '-q', '--stacks', 'all', source, 'o.fsb'), ('o.fsb',), every=True)]
    if source.endswith('.sqlite'):
        return scenes           # SQLite makes thousands, the same ones for each command
    return scenes + [Scene(f'allocation in {command[0]} of {source}', 'alloc', command, (output,), fine, every=True)
                     for command, output, fine in (
        (('run', '-q', '-p', 'bestfit', '--on-oom', 'continue', '--stacks', 'all', '--json', 'o.json', *rest),
         'o.json', samples.STATUS.get(source, 0)),
        (('trace', 'info', '-q', '--json', 'o.json', source), 'o.json', 0),
        (('explain', '-q', '--json', 'o.json', *rest), 'o.json', 0),
        (('run', '-q', '-o', 'o.html', *rest), 'o.html', samples.STATUS.get(source, 0)))]


FORMS = [scene for source in samples.NAMES for scene in of_form(source)]
# what is read besides traces: texts, folders of ranks, a state at the beginning, plans
FORMS += [Scene(f'allocation in {name}', 'alloc', command, (output,), every=True)
          for name, output, command in (
    ('explain of a log', 'o.json', ('explain', '-q', '--json', 'o.json', 'log')),
    ('explain of a folder of ranks', 'o.json', ('explain', '-q', '--threads', '1', '--json', 'o.json', 'ranks')),
    ('ranks of a folder', 'o.json', ('ranks', '-q', '--threads', '1', '--json', 'o.json', 'ranks')),
    ('convert of a beginning', 'o.fsb', ('trace', 'convert', '-q', 'begun.ndjson', 'o.fsb')),
    ('slice of a beginning', 'o.ndjson', ('trace', 'slice', '-q', '--only-device', '0', 'begun.fsb', 'o.ndjson')),
    ('merge of beginnings', 'o.ndjson', ('trace', 'merge', '-q', 'begun.ndjson', 'begun.fsb', 'o.ndjson')),
    ('anonymize of a beginning', 'o.ndjson', ('trace', 'anonymize', '-q', 'begun.fsb', 'o.ndjson')),
    ('a check of a plan', 'o.json', ('plan', '-q', '--check', 'done.plan', '--json', 'o.json', 'trace.ndjson')),
    ('a check of a plan in CSV', 'o.json',
     ('plan', '-q', '--check', 'done.csv', '--json', 'o.json', 'simple.ndjson')))]
SCENES = RUNS + COMMANDS + FORMS + SPOILED + INTERRUPTED


def write_inputs(folder: Path, program: str) -> None:
    """All traces but the compressed ones."""
    samples.write(folder, program)
    for name, text in (
            ('trace.ndjson', TRACE), ('holes.ndjson', HOLES), ('simple.ndjson', SIMPLE),
            ('again.ndjson', ''.join(f'{{"op":"mark","name":"step {i}"}}\n'
                                     f'{{"op":"alloc","id":{i},"size":9,"tag":"x"}}\n'
                                     for i in range(9))),
            *((f'rows{n}.ndjson', ''.join(
                f'{{"op":"alloc","id":{i},"size":{262144 * n},"tag":"ACTIVATION"}}\n'
                f'{{"op":"alloc","id":"s{i}","size":512,"tag":"GRADIENT"}}\n'
                + f'{{"op":"alloc","id":"w","size":9,"tag":"ACTIVATION"}}\n{{"op":"free","id":"w"}}\n'
                * (n > 1 and i == 3) + f'{{"op":"free","id":{i}}}\n' for i in range(9)))
              for n in (1, 2)),
            ('log', LOG), ('pinned.ndjson', PINNED),
            ('long.ndjson', ''.join(f'{{"op":"alloc","id":{i},"size":{i}}}\n'
                                    for i in range(30000))),
            ('lines', 'expandable_segments:True\n'),
            ('flawed.ndjson', TRACE + '{"op":"free","id":99}\n')):
        (folder / name).write_text(text, encoding='ascii')
    (folder / 'ranks').mkdir()
    for rank in range(2):
        shutil.copy(folder / 'snap.pickle', folder / 'ranks' / f'rank{rank}.pickle')
    for words in (('trace', 'convert', 'snap.pickle', 'begun.ndjson'), ('trace', 'convert', 'snap.pickle', 'begun.fsb'),
                  ('plan', '--plan', 'done.plan', 'trace.ndjson'), ('plan', '--plan', 'done.csv', 'simple.ndjson')):
        subprocess.run([program, *words, '-q'], cwd=folder, check=True)
