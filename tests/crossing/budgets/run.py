"""run.py - small traces of extreme shape: every search ends in time, with results that are true.

    run.py PROGRAM      prints TAP

With HEAVY=1 there are more of them. Each trace has few bytes and very many pools, streams, devices, tags, marks or settings, or sizes of
up to 2^53 - 1 bytes. Each command has a generous limit of its own. The bounds of a search that
--time ends are compared with the result of the whole search, and a device of a trace with the
same device alone.
"""

import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from program import times  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PROGRAM = ''
LIMIT = 60
MOST = 2**53 - 1
MANY = times(1200, 2500)
MIB = 1 << 20
SEARCHES = ('fit', 'predict', 'predict numbers', 'explain')


def alloc(name: int, size: int = 1000000, **more: object) -> dict:
    return {'op': 'alloc', 'id': name, 'size': size, **more}


def trace(name: str, events: list, **head: object) -> str:
    lines = [{'format': 'fragsim-trace', 'version': 1, **head}, *events]
    Path(name).write_text(''.join(json.dumps(line) + '\n' for line in lines), encoding='utf-8')
    return name


def run(*args: str) -> subprocess.CompletedProcess | None:
    """None: it was not over in time."""
    try:
        return subprocess.run([PROGRAM, *args], capture_output=True, check=False, text=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None


def make_traces() -> list[str]:
    small = {'device': {'total_bytes': 8 * MIB}}
    configured = [{'op': 'configure', 'value': f'garbage_collection_threshold:0.{i + 10}'}
                  for i in range(90)]
    return [
        trace('pools', [alloc(i, pool=i) for i in range(MANY)]),
        trace('streams', [alloc(i, stream=i) for i in range(MANY)]),
        trace('devices', [alloc(i, device=i) for i in range(1024)],
              devices=[{'total_bytes': 2 * MIB}] * 1024),
        trace('tags', [alloc(i, tag=f'tag {i}') for i in range(MANY)]),
        trace('marks', [event for i in range(MANY // 2)
                        for event in ({'op': 'mark', 'name': f'mark {i}'}, alloc(i))]),
        trace('settings', [event for i, one in enumerate(configured)
                           for event in (one, alloc(i, 3 * MIB))], **small),
        trace('huge', [configured[0], alloc(1, MOST)], **small),
        trace('hugest', [event for i, one in enumerate(configured)
                         for event in (one, alloc(i, MOST))], **small),
    ]


def commands(name: str) -> list[tuple[str, ...]]:
    short = ('--time', '200ms')
    return [
        ('run', name), ('run', '-p', 'compact', '--device-bytes', '8MiB', name),
        ('run', '-p', 'pytorch', '--device-bytes', '8MiB', name),
        ('explain', *short, '--at', 'peak', name),
        ('explain', *short, '-p', 'compact', '--device-bytes', '8MiB', name),
        ('fit', *short, name),
        ('fit', *short, '--device-bytes', '1GiB', name),
        ('predict', *short, '--scale', '2', name), ('predict', *short, '--split', '512', name),
        ('predict', *short, f'{name}=1', f'{name}=2', '--at', '4'),
        ('trace', 'shrink', *short, '-p', 'pytorch', '--device-bytes', '8MiB', name, 'out.ndjson'),
        ('trace', 'info', name), ('leaks', name),
    ]


def check_ends() -> None:
    for name in make_traces():
        late = []
        for command in commands(name):
            done = run(*command)
            if done is None or done.returncode not in range(5):
                late.append(f'{" ".join(command)}: {done and done.returncode}')
        TAP.ok(not late, f'{name}: every command ends', '\n'.join(late))


def usage_of(*command: str) -> resource.struct_rusage:
    """What the process used, where filled memory is not all touched."""
    env = {key: value for key, value in os.environ.items() if key != 'MALLOC_PERTURB_'}
    with subprocess.Popen([PROGRAM, *command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=env) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return usage


def kilobytes(*command: str) -> int:
    return usage_of(*command).ru_maxrss


def check_copies() -> None:
    """Thousands of copies of a simulation with many pools: each reuses the memory of the one before it."""
    dice = random.Random(1)
    events, live = [], []
    for i in range(3000):
        if live and dice.random() < .45:
            events.append({'op': 'free', 'id': live.pop(dice.randrange(len(live)))})
        else:
            events.append(alloc(i, dice.choice((512, 70000, 3000000, 11000000)), pool=dice.randrange(4000)))
            live.append(i)
    faults = usage_of('fit', '--threads', '1', '--time', '20s', trace('copies', events)).ru_minflt
    TAP.ok(faults < 20000, 'fit of a trace with many pools: page faults', faults)


def check_json() -> None:
    """JSON that is no snapshot, whatever its values are: at most ten times its text."""
    for name, item in (('numbers', b'0,'), ('lists', b'[],'), ('objects', b'{},')):
        # in parts: a child's peak counts what this process had when it made the child
        with gzip.open('values.json.gz', 'wb', 1) as file:
            file.write(b'{"segments":[],"device_traces":[[')
            for _ in range(6000):
                file.write(item * 1000)
            file.write(item[:-1] + b']]}')
        took = kilobytes('trace', 'info', 'values.json.gz')
        TAP.ok(took * 1024 < 10 * 6000000 * len(item), f'JSON of {name}: memory', f'{took} KB')


def check_memory() -> None:
    """A run of a device keeps what it counted, not room for all that it could count."""
    name = trace('devices', [alloc(i, device=i) for i in range(1024)],
                 devices=[{'total_bytes': MIB // 2}] * 1024)
    four = [word for policy in ('bestfit', 'buddy', 'pytorch', 'bfc') for word in ('-p', policy)]
    for command in (('run', '-q', *four, name), ('sweep', '-q', *four, '-o', 'runs', name)):
        took = kilobytes(*command)
        TAP.ok(took < 500 * 1024, f'{command[0]}: memory of 4096 small runs', f'{took} KB')


def check_events() -> None:
    """A command that keeps the events keeps 16 bytes of each, where no two blocks are alike: a tenth more is pages."""
    took: dict[str, list[int]] = {'leaks': [], 'explain --at peak': []}
    for count in (500000, 2000000):
        run('trace', 'gen', 'random', '--events', str(count), '--live', '500', '-o', 'random.ndjson')
        for command, kept in took.items():
            kept.append(kilobytes(*command.split(), '--threads', '1', 'random.ndjson')
                        if command != 'leaks' else kilobytes('leaks', 'random.ndjson'))
    for command, (less, more) in took.items():
        TAP.ok((more - less) * 1024 < 18 * 1500000, f'{command}: memory of an event', f'{less}, {more} KB')


def fits_of(*args: str) -> tuple[bool, list[dict]]:
    done = run('fit', '-q', '--json', '-', '-p', 'pytorch', '-p', 'bestfit', *args)
    said = json.loads(done.stdout) if done and done.stdout else {'complete': None, 'fits': []}
    return said['complete'], said['fits']


def is_true(part: dict, whole: dict) -> bool:
    """Is the part, of a search that has ended early, proven by the whole one?"""
    smallest = whole['smallest']
    if part['smallest'] is not None:
        return part['smallest'] == smallest and part['at_most'] is None
    return ((part['at_most'] is None or part['at_most'] >= smallest)
            and (part['examined_to'] or 0) <= smallest)


def check_bounds() -> None:
    name = trace('some', [alloc(i, pool=i) for i in range(600)])
    complete, whole = fits_of(name)
    TAP.ok(complete is True and len(whole) == 2
           and all(one['smallest'] and one['at_most'] is None for one in whole),
           'a search to its end is complete')
    wrong = []
    for milliseconds in (0, 5, 10, 20, 40, 80, 160):
        complete, parts = fits_of('--time', f'{milliseconds}ms', name)
        wrong += [(milliseconds, part) for part, one in zip(parts, whole) if not is_true(part, one)]
        wrong += [milliseconds] if not milliseconds and complete is not False else []
    TAP.ok(not wrong, 'what --time leaves of a search is true', f'{wrong}')


def check_words() -> None:
    trace('lone', [alloc(i, 30 * MIB) for i in range(3)], device={'total_bytes': 80 * MIB})
    extra = {'predict': ('--scale', '2'), 'predict numbers': ('--at', '4')}
    for name in SEARCHES:
        operands = ('lone=1', 'lone=2') if name == 'predict numbers' else ('lone',)
        args, search = (*operands, *extra.get(name, ())), name.split()[0]
        text, document = run(search, '--time', '0s', *args), run(search, '--time', '0s', '-q',
                                                                 '--json', '-', *args)
        TAP.ok('the time was up (--time)' in text.stdout, f'{search}: the text says so',
               text.stdout + text.stderr)
        TAP.ok(json.loads(document.stdout)['complete'] is False, f'{search}: JSON says so')
        TAP.ok(text.returncode == (search != 'explain'), f'{search}: nothing is proven')
        document = run(search, '-q', '--json', '-', *args)
        TAP.ok(json.loads(document.stdout)['complete'] is True, f'{search}: and else not')
        wrong = run(search, '--time', 'soon', *args)
        TAP.ok(wrong.returncode == 2 and '--time soon' in wrong.stderr, f'{search}: a wrong time')
    done = run('fit', '-q', '--time', '0s', '--fail-if', 'smallest > 1TiB', 'lone')
    TAP.ok(done.returncode == 1 and 'smallest' in done.stderr, 'a gate does not pass unproven',
           done.stderr)
    done = run('trace', 'shrink', '--time', '0s', '-p', 'bestfit', 'lone', 'less.ndjson')
    TAP.ok(done.returncode == 0 and 'larger --time' in done.stderr, 'shrink: a warning says so',
           done.stderr)
    TAP.ok(run('run', '-q', '-p', 'bestfit', 'less.ndjson').returncode == 3, 'shrink: the rest still fails')
    blocks = trace('blocks', [alloc(i, 65536 * 512) for i in range(20)])
    done = run('predict', '--split', '512', blocks)
    TAP.ok(done.returncode == 2 and '1048576 pieces' in done.stderr, 'pieces of all blocks',
           done.stderr)


def device_events(draw: random.Random, first: int) -> list[dict]:
    """Of one device; ids from `first` on."""
    events, live = [], []
    for i in range(first, first + 60):
        if live and draw.random() < .4:
            events.append({'op': 'free', 'id': live.pop(draw.randrange(len(live)))})
        events.append(alloc(i, draw.choice((1000, 300000, 3 * MIB, draw.randrange(1, 20 * MIB))),
                            stream=draw.randrange(2), pool=draw.randrange(2)))
        live.append(i)
    return events


def check_devices() -> None:
    """A device of several, and the same events as the only device."""
    differ = []
    for seed in range(8):
        draw = random.Random(seed)
        parts = [device_events(draw, 1000 * device) for device in range(3)]
        order = [device for device in range(3) for _ in parts[device]]
        draw.shuffle(order)
        turns = [iter(part) for part in parts]
        both = []
        for device in order:
            event = next(turns[device])
            both.append({**event, 'device': device} if event['op'] == 'alloc' else event)
        trace('both', both, devices=[{'total_bytes': 90 * MIB}] * 3)
        together = {(one['policy']['name'], one['device']['ordinal']): one
                    for one in fits_of('both')[1]}
        for device, part in enumerate(parts):
            trace('alone', part, device={'total_bytes': 90 * MIB})
            for one in fits_of('alone')[1]:
                other = together[one['policy']['name'], device]
                differ += [(seed, device, key) for key in
                           ('smallest', 'reliable', 'failing_ranges', 'examined_to', 'at_smallest', 'runs')
                           if one[key] != other[key]]
    TAP.ok(not differ, 'a device of several is as alone', f'{differ}')


def main() -> int:
    global PROGRAM
    PROGRAM = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_ends()
        check_bounds()
        check_words()
        check_devices()
        if not os.environ.get('SAN'):
            check_memory()
            check_json()
            check_copies()
            check_events()
        os.chdir(ROOT)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
