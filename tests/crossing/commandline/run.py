"""run.py - each option with each form, and random command lines; and what the program makes of them.

    run.py PROGRAM [--lines N | --minutes M] [--seed N] [--only LINE]      prints TAP

Commands, options and the words that options take are asked of the program itself (words.py), so
that new ones join by themselves; the exit statuses that are right stand in the manual. First comes
each option of each command on a sample of each form that is read (crossings.py): all of them under
a sanitizer or with HEAVY=1, else one in SPREAD. Values are good and bad, files of all kinds, among them all that fragsim writes. Each line
depends on the seed and its number alone; --only runs one again and shows all of it. With
--minutes the seed is another one each time, unless it is given.

Whatever the line: a status that is documented for its command, and no crash or sanitizer's report;
where it is 2, 4, 5 or 6 one line on standard error that names something, and a folder that is as it
was before; else nothing comes or changes in it but what the line names, and an end in good time.
"""

import argparse
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
sys.path.insert(0, str(ROOT / 'tests' / 'crossing' / 'commandline'))
import crossings                        # noqa: E402
import samples                          # noqa: E402
from program import HEAVY               # noqa: E402
from tap import Tap                     # noqa: E402
from words import PATIENCE, Command, Option, commands_of, words_of     # noqa: E402

snaps = samples.snaps

LINES = 600 if os.environ.get('SAN') else 800   # of `make check`
BATCH = 50              # lines a test of the TAP
SPREAD = 1 if os.environ.get('SAN') or HEAVY else 8     # one crossing in so many is tried


# Files --------------------------------------------------------------------------

HEAD = ('{"format":"fragsim-trace","version":1,"device":{"name":"a \\"quoted\\" \\\\ name",'
        '"total_bytes":67108864},"meta":{"source":"x\\ty"}}\n')
EVENTS = ''.join(json.dumps(x) + '\n' for x in [
    {'op': 'mark', 'name': 'begin "1"\n', 't': 0},
    {'op': 'alloc', 'id': 1, 'size': '20MiB', 'tag': 'a\\b', 't': 1},
    {'op': 'alloc', 'id': 'two', 'size': 3000, 'stream': 's', 'tag': 'ü', 't': 2},
    {'op': 'record_stream', 'id': 'two', 'stream': 7, 't': 3}, {'op': 'free', 'id': 'two', 't': 4},
    {'op': 'alloc', 'id': 3, 'size': '20MiB', 't': 5}, {'op': 'free', 'id': 1, 't': 6},
    {'op': 'sync', 't': 7}, {'op': 'empty_cache', 't': 8},
    {'op': 'configure', 'value': 'max_split_size_mb:32', 't': 9},
    {'op': 'mark', 'name': 'end', 't': 10}, {'op': 'alloc', 'id': 4, 'size': '30MiB', 't': 11}])
OOM = '{"op":"alloc","id":5,"size":"40MiB","tag":"last"}\n'
# the second request finds 1 MiB in its segment and 1 MiB on the device: fragmentation
SPLIT = ('{"format":"fragsim-trace","version":1,"device":{"total_bytes":3145728}}\n'
         '{"op":"alloc","id":1,"size":"1MiB","tag":"x"}\n{"op":"mark","name":"m"}\n'
         '{"op":"alloc","id":2,"size":"2MiB","tag":"y"}\n')
TWO = ('{"format":"fragsim-trace","version":1,"devices":[{},{"total_bytes":4194304}]}\n'
       '{"op":"alloc","id":1,"size":100}\n{"op":"alloc","id":2,"size":"3MiB","device":1}\n'
       '{"op":"mark","name":"m"}\n{"op":"alloc","id":3,"size":"2MiB","device":1}\n')
STEPS = ''.join(f'{{"op":"mark","name":"s {i}"}}\n{{"op":"alloc","id":{i},"size":{i + 1}}}\n'
                for i in range(9))
# the one for a person
MESSAGE = ('x\nCUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total capacity; 8.77 GiB already '
           'allocated; 19.75 MiB free; 13.71 GiB reserved in total by PyTorch)\n')
RANDOM = [f'random{i}.ndjson' for i in range(24)]
WRITTEN = 'new1 new2.ndjson new3.json new4.csv new5.fsb new6.ndjson.gz new7.pickle folder/new8'.split()


def random_trace(rng: random.Random) -> str:
    """Some events of every op, in an order that fragsim takes, on devices that are small."""
    devices = [{'total_bytes': rng.choice([1, 3, 8, 64, 400]) << 20,
                **({'granularity_bytes': rng.choice([1, 4096, 1 << 21])} if rng.random() < 0.3 else {})}
               if rng.random() < 0.8 else {} for _ in range(rng.choice([1, 1, 1, 3]))]
    lines: list[dict] = [{'format': 'fragsim-trace', 'version': 1, 'devices': devices}]
    live: dict[object, bool] = {}           # id: freed, and pending
    pool: list[object] = [3]                # one that is released is never used again

    def add(op: str, **more: object) -> None:
        lines.append({'op': op, **more})

    def alloc() -> None:
        key = rng.choice([len(lines), f'b{len(lines)}'])
        live[key] = False
        more: dict[str, object] = {k: v for k, v in (
            ('tag', rng.choice(['a', 'weights | fwd', ''])), ('stream', rng.choice([0, 7, 's'])),
            ('pool', pool[-1]), ('device', rng.randrange(len(devices))))
            if rng.random() < (1 if k == 'device' else 0.3)}
        add('alloc', id=key, size=rng.choice([0, 1, 511, 513, 1 << 20, (1 << 20) + 1,
                                              rng.randrange(30 << 20)]), **more)

    def release() -> None:
        key = rng.choice(list(live))
        if live[key] or rng.random() < 0.7:
            add('complete' if live.pop(key) else 'free', id=key)
        else:
            add('free', id=key, pending=True)
            live[key] = True

    for _ in range(rng.choice([5, 40, 120])):
        kind = rng.random()
        if live and kind < 0.35:
            release()
        elif kind < 0.75:
            alloc()
        elif any(not x for x in live.values()) and kind < 0.8:
            add('record_stream', id=rng.choice([k for k, x in live.items() if not x]), stream=4)
        else:
            op, more = rng.choice([
                ('mark', {'name': rng.choice(['it 1', 'it', ''])}), ('sync', {}), ('sync', {'stream': 7}),
                ('empty_cache', {}), ('release_pool', {'pool': pool[-1]}),
                ('set_fraction', {'value': rng.choice([0.01, 0.5, 1])}),
                ('configure', {'value': rng.choice(SETTINGS[0])})])
            if op == 'release_pool':
                pool.append(f'graph {len(lines)}')
            add(op, **more)
    return ''.join(json.dumps(x) + '\n' for x in lines)


def make_files(program: str, at: Path) -> None:
    """Traces good and bad, all that fragsim makes of one, and what is no file."""
    texts = {
        'small.ndjson': HEAD + EVENTS, 'steps.ndjson': HEAD + STEPS, 'oom.ndjson': HEAD + EVENTS + OOM, 'two.ndjson': TWO,
        'split.ndjson': SPLIT,
        'bad.ndjson': HEAD + EVENTS + '{"op":"free","id":"never"}\n{"op":"nosuch"}\n',
        'settings.ndjson': HEAD + EVENTS + '{"op":"configure","value":"nokey:1"}\n',
        'cut.ndjson': (HEAD + EVENTS)[:-30], 'header.ndjson': HEAD, 'empty': '',
        'bare.ndjson': '{"op":"alloc","id":1,"size":1}\n', 'text.txt': 'no trace\n',
        'no.json': '{"format":"fragsim-result","version":1}\n', 'list.json': '[1,2]\n',
        'odd name ü;\n.ndjson': HEAD + EVENTS, '-dash.ndjson': HEAD + EVENTS,
        'max.ndjson': '{"op":"alloc","id":0,"size":9007199254740991}\n',
        'plug.so': 'no library\n',
    }
    texts |= {name: random_trace(random.Random(name)) for name in RANDOM}
    texts['message.log'] = MESSAGE
    for name, text in texts.items():
        (at / name).write_text(text, encoding='utf-8')
    samples.write(at, program)
    snapshot = snaps.basic(frames=snaps.FRAMES)
    (at / 'basic.pickle').write_bytes(snaps.pickled(snapshot))
    (at / 'folder').mkdir()
    (at / 'folder' / 'old').write_text('old\n', encoding='ascii')
    (at / 'link').symlink_to('small.ndjson')
    (at / 'dangling').symlink_to('nowhere')
    (at / 'loop').symlink_to('loop')
    (at / 'bytes').write_bytes(bytes(range(256)) * 8)
    (at / 'two.gz').write_bytes(gzip.compress(TWO.encode(), mtime=0))
    (at / 'torn.gz').write_bytes(gzip.compress(TWO.encode(), mtime=0)[:-9])
    makes = [['trace', 'convert', '-q', '-t', form, 'oom.ndjson', f'of.{form}'] for form in
             ('lines', 'object', 'fsb', 'minimalloc', 'rmm', 'snapshot', 'perfetto', 'sqlite')]
    makes += [['run', '-q', '-p', 'bestfit', '-p', 'pytorch', '--json', 'result.json', '--steps',
               'rows.csv', '--placements', 'places.ndjson', 'oom.ndjson'],
              ['run', '-q', '-p', 'buddy', '--json', 'other.json', 'oom.ndjson'],
              ['run', '-q', '--json', 'two.json', 'two.ndjson'],
              ['diff', '-q', '-b', 'baseline.json', '--update-baseline', '-p', 'pytorch',
               'oom.ndjson', 'two.ndjson'],
              ['trace', 'info', '--json', 'info.json', 'oom.ndjson'],
              ['list', 'policies', '--json', 'policies.json'],
              ['plan', '-q', '--plan', 'of.plan', 'oom.ndjson'],
              ['sweep', '-q', '-p', 'buddy', '-p', 'pytorch', '-o', 'swept', 'small.ndjson', 'two.ndjson'],
              ['trace', 'convert', '-q', '-t', 'object', 'two.ndjson', 'two.json.zst']]
    makes += [['diff', '-q', '-p', 'bestfit', '-p', 'buddy', '-o', f'diff.{form}', 'oom.ndjson']
              for form in ('txt', 'md', 'json', 'csv', 'xml', 'html')]
    for args in makes:
        done = subprocess.run([program, *args], cwd=at, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=PATIENCE)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f'Bail out! {args}: status {done.returncode}: {done.stderr.decode()}')


def state_of(folder: Path) -> dict:
    """Every name below the folder, with what shows that it was touched."""
    seen = {}
    for path in sorted(folder.rglob('*')):
        at = path.lstat()
        name = str(path.relative_to(folder))
        if path.is_symlink():
            seen[name] = os.readlink(path)
        elif path.is_dir():
            seen[name] = at.st_mode
        else:
            seen[name] = (at.st_mode, path.read_bytes())
    return seen


# Lines ---------------------------------------------------------------------------

# of each kind those that are good mostly, and those that are not
SIZES = ('0 512 4096 1MiB 2MiB 4.5MiB 50MiB 64MiB 6GiB 1T 9007199254740991'.split(),
         ['1', '9007199254740992', '-1', '1e3', '0.3K', '1k', '5B', '0x10', '', ' 1', '1 ',
          '18446744073709551616', '9' * 40])
COUNTS = ('0 1 2 3 7 20'.split(), ['-1', '1.5', '+1', '1e1', '0x1', 'abc', '4294967296', '',
                                   '18446744073709551616'])
NUMBERS = ('8 2,4,16 0 3,3 100'.split(), ['', '1,', ',', '-1', '1.5', '2;3', '16777216'])
FOLDERS = ('sweep1 sweep2 sweep3 swept'.split(), ['', 'small.ndjson', 'no/such', '.'])
SHARDS = ('0/1 0/2 1/2 2/3 auto/2'.split(), ['1/1', 'auto', '0/0', '', '-1/2', '1'])
SMALL = ('1 2 3 7 20 60'.split(), ['0', '-1', '1.5', 'abc', ''])
REALS = ('0 1 0.5 2.5 11'.split(), ['-1', '1e300', '1e999', 'nan', 'inf', 'x', ''])
TIMES = ('0 10ms 0.1s 1s'.split(), ['', '-1s', '1', 'x', '1e9m', '5w'])
GRIDS = ('lines short full nosuch'.split(), ['', '-', 'folder'])
COLUMNS = ('reserved fi,active all default'.split(), ['', ',', 'nosuch', 'fi,fi'])
PATHS = ('peak.reserved fi.mean fi_device.max counts.retries oom any steps lower_bound last.free '
         'internal.p95'.split(), ['prediction.error_percent', 'modelled.driver_ns', 'nosuch', 'peak.fi'])
BOUNDS = (['1', '70', '1e5', '2MiB', '0'], ['+2%', '-5', '+0', '+', '', '1k'])
RELATIONS = ('> >= < <= == !='.split(), ['=', '=>', ''])
SETTINGS = ('max_split_size_mb:32 expandable_segments:True roundup_power2_divisions:4 '
            'garbage_collection_threshold:0.8 roundup_power2_divisions:[256:1,512:2,>:4]'.split(),
            ['nokey:1', 'max_split_size_mb:x', 'backend:cudaMallocAsync', 'a', ',', ''])
NAMES = (['end', 'begin "1"\n'], ['nosuch', '', 'x' * 300, '\x1b[1m'])
FACTORS = ('1 0.5 2 1/3 1.25 7/1000'.split(), ['0', '1/0', '-1', '.5', '5.', '', '9' * 40])
GLOBS = (['*', 'a*', '?*', '[a-z]*'], ['nosuch', '[', '', '\\'])
ISOLATIONS = ('by=life by=tag by=tag:* by=size:1MiB by=size:1K,1M'.split(),
              ['by=', 'by=tag:', 'by=size:', 'by=size:2K,1K', 'life', ''])
NORMAL = 0.6            # so many lines have good values only; they may not go together all the same
DAMAGED = 0.15          # so many lines read a file of which bytes were changed
JUNK = ('', '-', '--', '--nosuch', '-Z', '--=', '-p', '--json=', 'nosuch', '=', ':', 'ü', '\x1b',
        'a\nb', '%s%n', '..', '/', '/dev/null', 'x' * 5000)


class Dice(random.Random):
    """What falls for one line."""
    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.normal = self.random() < NORMAL

    def pick(self, kinds: tuple[list, list]):
        return self.choice(kinds[0] if self.normal or self.random() < 0.5 else kinds[1])


class Maker:
    def __init__(self, program: str, commands: list[Command], files: list[str]) -> None:
        self.commands, self.files = commands, files
        self.policies = words_of(program, 'run', '-p')
        self.keys = {x: words_of(program, 'run', '-p', x + ':') for x in self.policies}

    def policy(self, rng: Dice) -> str:
        name = rng.pick((self.policies, ['nosuch', './plug.so', '/nowhere.so', 'bestfit:']))
        if rng.random() < 0.6 or not self.keys.get(name):
            return name
        keys = [rng.choice(self.keys[name]) + rng.choice([rng.pick(SIZES), 'true', '0.5', '4'])
                for _ in range(rng.randint(1, 2))]
        return ','.join([keys[0], *(x.split(':', 1)[1] for x in keys[1:])])

    def condition(self, rng: Dice) -> str:
        blank = rng.choice(['', ' '])
        return (rng.pick(PATHS) + blank + rng.pick(RELATIONS) + blank + rng.pick(BOUNDS))

    def file(self, rng: Dice) -> str:
        return rng.choice(rng.pick(([self.files, WRITTEN, ['-']],
                                    [['nosuch', 'folder/nosuch/x', '']])))

    def values(self, rng: Dice, option: Option, small: bool) -> list[str]:
        return [self.value(rng, option, arg, small) for arg in option.arg.split()]

    def value(self, rng: Dice, option: Option, arg: str, small: bool) -> str:
        if option.words and option.arg != 'NAME' and (rng.normal or rng.random() < 0.8):
            word = rng.choice(option.words)
            return word + self.file(rng) if word.endswith(':') else word
        kinds = {
            'SIZE': SIZES, 'N': SMALL if small else COUNTS, 'T': REALS, 'FACTOR': REALS,
            'STRING': SETTINGS, 'NAME': NAMES, 'NUMBERS': NUMBERS, 'MARK': NAMES,
            'F': FACTORS, 'GLOB': GLOBS, 'HOW': ISOLATIONS, 'K': COUNTS,
            'LIST': SIZES, 'DIR': FOLDERS, 'SHARD': SHARDS, 'TIME': TIMES, 'S': REALS, 'RANK': COUNTS,
            'PERCENT': REALS, 'SETTING': SETTINGS, 'GRID': GRIDS, 'COLUMNS': COLUMNS,
        }
        if option.name in ('-p', '--policy'):
            return self.policy(rng)
        if arg in ('FILE', 'TRACE'):
            return self.file(rng)
        if arg == 'CONDITION':
            return self.condition(rng)
        if arg in kinds and (rng.normal or rng.random() < 0.9):
            return rng.pick(kinds[arg])
        return rng.choice(JUNK)

    def options(self, rng: Dice, options: list[Option], most: int, small: bool) -> list[str]:
        out = []
        for _ in range(rng.randint(0, most)):
            o = rng.choice(options)
            if not o.arg:
                # what asks for help does nothing else
                if o.name not in ('-h', '--help', '-l', '--list') or rng.random() < 0.1:
                    out.append(o.name)
            elif not o.name.startswith('--') or ' ' in o.arg or rng.random() < 0.5:
                out += [o.name, *self.values(rng, o, small)]
            else:
                out.append(f'{o.name}={self.values(rng, o, small)[0]}')
        return out

    def operands(self, rng: Dice, command: Command) -> list[str]:
        least = 2 if command.writes else 1
        count = least if rng.normal or rng.random() < 0.85 else rng.randint(0, 4)
        if command.name == 'diff' and rng.random() < 0.4:
            return [rng.pick((['result.json', 'other.json', 'two.json', 'baseline.json'],
                              self.files)) for _ in range(2)]
        if command.name == 'predict' and rng.random() < 0.5:
            # most often a recording and itself, as others have other events
            file = self.operands(rng, replace(command, name='run'))[:1]
            files = [file[0] if file and rng.random() < 0.9 else self.file(rng)
                     for _ in range(rng.choice([2, 2, 3]))]
            at = rng.sample(range(9), len(files))
            return ['--at', rng.pick(NUMBERS), *(f'{x}={n}' for x, n in zip(files, at))]
        if command.name == 'predict' and (rng.normal or rng.random() < 0.8):
            return [*self.operands(rng, replace(command, name='run'))[:1], '--hoist']
        if command.name == 'ranks':
            count = rng.randint(1, 5)
        if command.name == 'sweep' and rng.random() < 0.9:
            return ['-p', 'buddy', '-o', rng.choice(FOLDERS[0]),
                    rng.choice(['small.ndjson', 'oom.ndjson', 'two.ndjson', 'of.fsb'])]
        out = [self.file(rng) for _ in range(count)]
        if out and (rng.normal or rng.random() < 0.6):
            out[0] = rng.choice(['small.ndjson', 'oom.ndjson', 'split.ndjson', 'two.ndjson', 'of.fsb',
                                 'of.snapshot', 'basic.pickle', 'snap.pickle', *rng.sample(RANDOM, 4)])
        if command.name == 'leaks' and out and rng.random() < 0.7:
            out[0] = 'steps.ndjson'
        if command.writes and out and rng.random() < 0.7:
            out[-1] = rng.choice([*WRITTEN, '-'])
        return out

    def line(self, rng: Dice) -> list[str]:
        command = rng.choice(self.commands)
        options, words = command.options, []
        if command.scenarios:
            scenario = rng.pick((list(command.scenarios), ['nosuch']))
            options = command.scenarios.get(scenario, options)
            words = [scenario]
            # some scenarios are long by themselves
            if any(o.name == '--events' for o in options):
                words += ['--events', '50']
        elif command.name == 'complete':
            words = ['--', *self.line(rng)] if rng.random() < 0.7 else []
        elif command.name not in ('list policies', 'list settings'):
            words = self.operands(rng, command)
        if command.name == 'sweep' and rng.normal:
            # what goes with each other; --merge goes with nothing
            options = [o for o in options if o.name not in ('--merge', '--tasks', '--plan')]
        words += self.options(rng, options, 3 if rng.normal else 6, bool(command.scenarios))
        if any(o.name == '--policy' for o in options) and rng.random() < 0.5:
            words += [x for _ in range(rng.choice([1, 1, 1, 2, 4])) for x in ('-p', self.policy(rng))]
        while not rng.normal and rng.random() < 0.2:
            words.insert(rng.randint(0, len(words)), rng.choice(JUNK))
        name = command.name if rng.normal or rng.random() < 0.97 else rng.choice(JUNK)
        return [x.replace('\0', '') for x in [*name.split(' ', 1), *words]]


def damage(rng: Dice, folder: Path, args: list[str]) -> bool:
    """Changes bytes of a file that the line names. Is there one?"""
    names = {x for word in args for x in (word, *re.split('[=:]', word)) if 0 < len(x) < 100 and '/' not in x}
    paths = [p for p in sorted(folder / x for x in names) if p.is_file() and not p.is_symlink()]
    data = bytearray(rng.choice(paths).read_bytes()) if paths else b''
    if not data:
        return False
    path = next(p for p in paths if p.read_bytes() == data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at, n = rng.randrange(len(data) + 1), rng.choice([1, 1, 4, 30])
        data[at:at + rng.choice([0, n])] = rng.choice([
            rng.randbytes(n), b'\0' * n, b'9' * n, b'-', b'', bytes(data[:n]), b'"', b'{', b'\n'])
        data = data or bytearray(b'x')
    path.write_bytes(data)
    return True


# Judgement -----------------------------------------------------------------------

# through a link its target is written
LINKS = {'small.ndjson': 'link', 'nowhere': 'dangling'}


def named_by(args: list[str], name: str) -> bool:
    """May a run of this line write a file of this name?"""
    names = [name, LINKS.get(name, name)]
    # a sweep has a folder, which is made where it is not there
    if args[0] == 'sweep' and name.split('/')[-1].startswith(('manifest.', 'shard-', 'merged.')):
        names.append(name.rpartition('/')[0] or '.')
    if args[0] == 'sweep' and name.startswith('sweep'):
        return True
    return any(x in (y, x[:2] + y) or x.endswith(('=' + y, ':' + y)) for x in args for y in names)


def tells(args: list[str], status: int, line: str) -> bool:
    """Does the line say what it is about: a word of the command line, or of the usage?"""
    if status == 6 or 'usage: ' in line or 'lists' in line or 'which command?' in line:
        return True
    words = [w for x in args for w in (x, x.partition('=')[2], *re.split(r'[=:,]', x))
             if w.strip('-')]
    shown = [x for w in words for x in (json.dumps(w, ensure_ascii=False)[1:-1], w, w.replace('\n', '\\n'))]
    return ('standard input' in line or line.startswith('fragsim: -:') or any(w[:40] in line for w in shown)
            or any(x in line for x in ('--', 'driver', 'CUDA', 'policy', '\\u003a', '""', 'two outputs',
                                      ' is required')))


def judge(command: Command | None, args: list[str], status: int, err: bytes, before: dict,
          after: dict) -> list[str]:
    faults = []
    text = err.decode('utf-8', 'replace')
    allowed = command.statuses if command else {0, 2}
    if status not in allowed:
        faults.append(f'status {status}, and documented are {sorted(allowed)}: {text[:1500]}')
    notes = tuple(f'fragsim: {x}' for x in ('warning: ', 'exported a run under ', 'shrunk under ',
                                            'passed: '))
    errors = [x for x in text.split('\n')[:-1] if not x.startswith(notes)]
    changed = sorted(x for x in before.keys() | after.keys() if before.get(x) != after.get(x))
    if status in (2, 4, 5, 6):
        if len(errors) != 1 or not errors[0].startswith('fragsim: ') or len(errors[0]) < 20:
            faults.append(f'status {status}, and on standard error {text[:600]!r}')
        elif not tells(args, status, errors[0]):
            faults.append(f'status {status} by a line that names nothing: {errors[0]!r}')
        faults += [f'status {status}, and {x} is not as it was' for x in changed]
        return faults
    # a condition that holds and a baseline that is not kept say so on a line each
    if status in (0, 3) and errors:
        faults.append(f'status {status}, and on standard error {text[:600]!r}')
    faults += [f'{x} changed, and the line does not name it' for x in changed
               if not named_by(args, x)]
    return faults


class Runner:
    def __init__(self, program: str, seed: int, root: Path) -> None:
        self.program, self.seed = program, seed
        self.master = root / 'master'
        self.master.mkdir()
        make_files(program, self.master)
        commands = commands_of(program)
        self.by_name = {c.name: c for c in commands}
        names = sorted(x for x in state_of(self.master))
        self.maker = Maker(program, commands, names)
        self.state = state_of(self.master)
        self.env = {**os.environ, 'COLUMNS': '100'}
        self.seen: dict[tuple, int] = {}

    def folder(self, root: Path) -> Path:
        shutil.copytree(self.master, root, symlinks=True)
        return root

    def lacking(self) -> set[str]:
        """The commands of which no line did what it says, or no line was refused."""
        good = {c for c, status in self.seen if status in (0, 1, 3)} | {'replay'}  # no GPU here
        bad = {c for c, status in self.seen if status in (2, 4, 5)} | {'complete'}
        return set(self.by_name) - (good & bad)

    def command_of(self, number: int) -> str:
        return self.maker.line(Dice(f'{self.seed}:{number}'))[0]

    def one(self, number: int, folder: Path, show: bool = False) -> list[str]:
        rng = Dice(f'{self.seed}:{number}')
        args = self.maker.line(rng)
        before = self.state
        if rng.random() < DAMAGED and damage(rng, folder, args[1:]):
            before = state_of(folder)
        return self.play(f'seed {self.seed}, line {number}', rng, args, folder, before, show)[0]

    def cross(self, line: 'crossings.Line', folder: Path) -> list[str]:
        """The line, and again with the options that a refusal names."""
        args, faults = line.args, []
        for _ in range(3):
            rng = Dice('|'.join(args))
            rng.normal = True
            more, said = self.play('crossing', rng, args, folder, self.state)
            faults += more
            args = crossings.completed(line.command, args, said, lambda o: self.maker.values(rng, o, False))
            if not args:
                break
        return faults

    def play(self, name: str, rng: Dice, args: list[str], folder: Path, before: dict,
             show: bool = False) -> tuple[list[str], str]:
        stdin = rng.choice(['small.ndjson', 'oom.ndjson', 'empty', 'result.json', 'of.fsb'])
        with open(self.master / stdin, 'rb') as given:
            try:
                done = subprocess.run([self.program, *args], cwd=folder, stdin=given,
                                      capture_output=True, check=False, timeout=PATIENCE,
                                      env=self.env)
            except subprocess.TimeoutExpired:
                return [f'{name}: {args}: no end after {PATIENCE:g} s'], ''
        after = state_of(folder)
        if after != self.state:
            shutil.rmtree(folder)
            self.folder(folder)
        command = self.by_name.get(args[0], self.by_name.get(' '.join(args[:2])))
        if not command and os.path.exists(os.path.join(self.master, args[0])):
            command = self.by_name['explain']       # of a file alone
        if show:
            print(f'# {args}\n# < {stdin}: status {done.returncode}\n{done.stdout.decode()[:2000]}'
                  f'{done.stderr.decode()}')
        key = (command.name if command else '', done.returncode)
        self.seen[key] = self.seen.get(key, 0) + 1
        said = done.stderr.decode('utf-8', 'replace') if done.returncode == 2 else ''
        return [f'{name}: {args}: {x}' for x in
                judge(command, args, done.returncode, done.stderr, before, after)], said


def cross_all(runner: Runner, folders: list[Path], pool: ThreadPoolExecutor, tap: Tap) -> None:
    """A test a command; what is left out of its lines is another part of each option's."""
    for command in runner.by_name.values():
        lines = crossings.lines(command, runner.maker, Dice)[len(command.name) % SPREAD::SPREAD]
        halves = [pool.submit(lambda h=h, f=f: [x for line in h for x in runner.cross(line, f)])
                  for h, f in ((lines[i::2], folders[i]) for i in range(2))]
        if lines:
            tap.result(f'each option of {command.name} on each form: {len(lines)} lines',
                       [x for job in halves for x in job.result()])


def main() -> int:
    parse = argparse.ArgumentParser(usage=__doc__)
    parse.add_argument('program', type=os.path.abspath)
    parse.add_argument('--lines', type=int, default=LINES)
    parse.add_argument('--minutes', type=float)
    parse.add_argument('--seed', type=int)
    parse.add_argument('--only', type=int)
    args = parse.parse_args()
    if args.seed is None:
        args.seed = int(time.time()) if args.minutes else 1
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='fragsim-lines-') as root, \
            ThreadPoolExecutor(2) as pool:
        runner = Runner(args.program, args.seed, Path(root))
        if args.only is not None:
            tap.result('one line', runner.one(args.only, runner.folder(Path(root) / 'o'), True))
            return tap.finish()
        folders = [runner.folder(Path(root) / str(i)) for i in range(2)]
        if not args.minutes:
            cross_all(runner, folders, pool, tap)
        end = time.monotonic() + 60 * args.minutes if args.minutes else None
        first = 0
        while time.monotonic() < end if end else first < args.lines:
            halves = [range(first + i, first + BATCH, 2) for i in range(2)]
            jobs = [pool.submit(lambda h=h, f=f: [x for n in h for x in runner.one(n, f)])
                    for h, f in zip(halves, folders)]
            tap.result(f'command lines {first} to {first + BATCH - 1} of seed {args.seed}',
                       [x for job in jobs for x in job.result()])
            first += BATCH
        faults: list[str] = []
        while runner.lacking() and first < 4 * args.lines:
            if runner.command_of(first) in runner.lacking():
                faults += runner.one(first, folders[0])
            first += 1
        tap.result('of each command some lines do what they say, and some are refused', faults + [
            f'{c}: {sorted(runner.seen.items())}' for c in runner.lacking()])
        for (command, status), count in sorted(runner.seen.items()):
            print(f'# {command or "(none)"}: status {status}: {count}')
        return tap.finish()


if __name__ == '__main__':
    sys.exit(main())
