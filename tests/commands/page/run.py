"""run.py - what the page of a run says, against --steps and --placements of the same run.

    run.py PROGRAM

Prints TAP. Programs are random; who was where, and for how long, is worked out here once more from
the lines of the trace and of --placements, by the definitions of the manual.
"""
import csv
import gzip
import html
import io
import json
import os
import pickle
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from reading import FIGURES, read  # noqa: E402
from program import times  # noqa: E402
from tap import Tap  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
HEADER = {'format': 'fragsim-trace', 'version': 1}
TRACES = Path(os.environ.get('TRACES') or Path(__file__).resolve().parents[3] / 'traces')
CORPUS = Path(__file__).resolve().parents[2] / 'oracles/corpus'
SEEDS = times(8, 30, 6)
POLICIES = ('bestfit', 'pytorch', 'pytorch:expandable_segments=true', 'direct', 'buddy', 'firstfit')
CSP = ("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
       " img-src data:")
TAP = Tap()


def fragsim(*args: object) -> bytes:
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, check=False)
    assert done.returncode == 0, f'{args}: {done.returncode} {done.stderr.decode()}'
    return done.stdout


def write(path: str, events: list) -> str:
    Path(path).write_text('\n'.join(json.dumps(x) for x in [HEADER, *events]) + '\n')
    return path


def program(seed: int) -> list[dict]:
    """Blocks of some tags, some used on a second stream, some never freed; marks between."""
    rng = random.Random(seed)
    events: list[dict] = []
    live: list[int] = []
    tags = [f'tag {i}' for i in range(rng.randrange(1, 9))] + [None]
    many = rng.choice([60, 700, 5000])
    for i in range(many):
        if live and rng.random() < (0.3 if len(events) < many else 0.55):
            block = live.pop(rng.randrange(len(live)))
            if rng.random() < 0.15:
                events.append({'op': 'record_stream', 'id': block, 'stream': 1})
            events.append({'op': 'free', 'id': block})
        else:
            big = rng.random() < 0.3
            event = {'op': 'alloc', 'id': i, 'stream': 0, 'tag': rng.choice(tags),
                     'size': rng.randrange(1 << 20, 40 << 20) if big else rng.randrange(1, 9000)}
            events.append({k: v for k, v in event.items() if v is not None})
            live.append(i)
        if rng.random() < 0.03:
            events.append({'op': 'sync', 'stream': 1})
        if rng.random() < 0.02:
            events.append({'op': 'empty_cache'})
        if rng.random() < 0.02:
            events.append({'op': 'mark', 'name': f'step {i}'})
        while live and len(live) > 80:
            events.append({'op': 'free', 'id': live.pop(rng.randrange(len(live)))})
    return events


class Floor:
    """Segments first fit above each other; ranges each in the lowest free lane."""

    def __init__(self) -> None:
        self.at: dict[int, tuple[int, int, int]] = {}  # ordinal -> lane, y, bytes

    def add(self, ordinal: int, size: int, expandable: bool) -> None:
        if expandable:
            taken = {lane for lane, _, _ in self.at.values()}
            self.at[ordinal] = (min(set(range(1, len(taken) + 2)) - taken), 0, 0)
            return
        y = 0
        for low, high in sorted((y, y + size) for lane, y, size in self.at.values() if not lane):
            if low - y >= size:
                break
            y = max(y, high)
        self.at[ordinal] = (0, y, size)


def expected(events: list[dict], placements: list[dict], end: int,
             policy: str) -> tuple[list, list, dict]:
    """
    PyTorch looks for what has been waited for when it allocates, and before it empties its cache it
    waits for all that is pending. Blocks as (birth, freed, end, lane, y, bytes, tag), reserved pieces,
    heights by lane.
    """
    floor = Floor()
    done = []
    live: dict[int, list] = {}
    waits: dict[int, set] = defaultdict(set)
    pending: list[int] = []
    ready: list[int] = []
    placed = {x['step']: x for x in placements}
    pages: dict[tuple, tuple] = {}
    reserved: list[tuple] = []
    heights: dict[int, int] = defaultdict(int)

    def ends(block: int, step: int) -> None:
        birth, freed, *rest = live.pop(block)
        done.append((birth, step if freed is None else freed, step, *rest))

    def unmap(ordinal: int, low: int, high: int, step: int) -> None:
        for key in [k for k in pages if k[0] == ordinal and k[1] < high and low < k[1] + k[2]]:
            birth, lane, y = pages.pop(key)
            first, last = key[1], key[1] + key[2]
            from_, to = max(first, low), min(last, high)
            reserved.append((birth, step, lane, y + from_, to - from_))
            for a, b in ((first, from_), (to, last)):
                if a < b:
                    pages[ordinal, a, b - a] = (birth, lane, y)

    for step, event in enumerate(events):
        place = placed.get(step, {})
        for new in place.get('new', []):
            floor.add(new['segment'], new['bytes'], new.get('expandable', False))
            lane, y, size = floor.at[new['segment']]
            if not lane:
                pages[new['segment'], 0, size] = (step, lane, y)
        for new in place.get('mapped', []):
            lane, y, _ = floor.at[new['segment']]
            pages[new['segment'], new['offset'], new['bytes']] = (step, lane, y)
        for old in place.get('unmapped', []):
            unmap(old['segment'], old['offset'], old['offset'] + old['bytes'], step)
        for old in place.get('released', []):
            unmap(old, 0, 1 << 60, step)
            del floor.at[old]
        if event['op'] == 'alloc':
            for block in ready:
                ends(block, step)
            ready = []
        if event['op'] == 'alloc' and 'segment' in place:
            lane, y, _ = floor.at[place['segment']]
            live[event['id']] = [step, None, lane, y + place['offset'], place['bytes'],
                                 event.get('tag', '')]
        elif event['op'] == 'record_stream':
            waits[event['id']].add(event['stream'])
        elif event['op'] == 'free' and waits[event['id']]:
            live[event['id']][1] = step
            pending.append(event['id'])
        elif event['op'] == 'free':
            ends(event['id'], step)
        elif event['op'] == 'sync' and 'pytorch' in policy:
            ready += pending
            pending = []
        elif event['op'] == 'sync' or (event['op'] == 'empty_cache' and 'pytorch' in policy):
            for block in ready + pending:
                ends(block, step)
            ready, pending = [], []
    for block in list(live):
        ends(block, end)
    for key in list(pages):
        unmap(key[0], key[1], key[1] + key[2], end)
    for _, _, lane, y, size in reserved:
        heights[lane] = max(heights[lane], y + size)
    return done, reserved, heights


def areas_of(run: dict, name: str) -> list[tuple]:
    a = run[name]
    return list(zip(a['birth'], a['life'], a['pending'], a['y'], a['bytes'], a['who']))


def line_faults(run: dict, rows: list[dict]) -> list[str]:
    """Each bucket has the least and the most of its steps."""
    faults = []
    shift = run['line']['shift']
    for name in FIGURES:
        least, most = run['line'][f'{name}_least'], run['line'][f'{name}_most']
        for i in range(-(-len(rows) >> shift) if not len(rows) % (1 << shift)
                       else (len(rows) >> shift) + 1):
            of = [int(row[name]) for row in rows[i << shift:(i + 1) << shift]]
            if (least[i], most[i]) != (min(of), max(of)):
                faults.append(f'{name}, bucket {i}: {least[i]} to {most[i]}, not {min(of)} to'
                              f' {max(of)}')
    if len(run['line']['reserved_most']) > 2048 or (shift and len(rows) <= 2048):
        faults.append(f'{len(run["line"]["reserved_most"])} buckets of 2^{shift} steps')
    return faults


def window_faults(run: dict, rows: list[dict]) -> list[str]:
    """Each step around the peak, as --steps has it."""
    faults = []
    non_releasable = [int(row['non_releasable']) for row in rows]
    worst = [m['at'] for m in run['moments'] if m['what'] == 'worst']
    if worst != [non_releasable.index(max(non_releasable))][:max(non_releasable) > 0]:
        faults.append(f'most is non_releasable at {worst}')
    allocated = [int(row['allocated']) for row in rows]
    if run['live_step'] != allocated.index(max(allocated)):
        faults.append(f'most is allocated at {run["live_step"]}')
    for m in run['moments']:
        if m['at'] not in m['step']:
            faults.append(f'{m["at"]} is not in its own window')
        for name in FIGURES:
            wanted = [int(rows[step][name]) for step in m['step']]
            if m[name] != wanted:
                faults.append(f'{m["what"]}: {name} is {m[name][:5]}..., not {wanted[:5]}...')
    return faults


def holder_faults(run: dict, who: dict, blocks: list[tuple]) -> list[str]:
    """Bytes by tag, of the blocks that are there after the step of the peak."""
    faults = []
    for m in run['moments']:
        if m['what'] == 'worst':
            continue
        wanted: dict[str, list] = defaultdict(lambda: [0, 0])
        for birth, _, end, _, _, size, tag in blocks:
            if birth <= m['at'] < end:
                wanted[tag][0] += size
                wanted[tag][1] += 1
        got = {who['tags'][who['share_tag'][s]]: [b, n]
               for s, b, n in zip(m['share'], m['held'], m['blocks'])}
        if got != dict(wanted):
            faults.append(f'{m["what"]}: {got}, not {dict(wanted)}')
    return faults


def raster_faults(areas: dict, dropped: list[tuple]) -> list[str]:
    """How much of each cell those cover that are not drawn by themselves."""
    if areas['dropped'] != len(dropped):
        return [f'{areas["dropped"]} summed up, not {len(dropped)}']
    width, height = 1 << areas['column_shift'], 1 << areas['row_shift']
    wanted: dict[tuple, float] = defaultdict(float)
    for birth, end, y, size in dropped:
        if end == birth:
            continue
        for r in range(y // height, (y + size - 1) // height + 1):
            high = min(y + size, (r + 1) * height) - max(y, r * height)
            for i in range(birth // width, (end - 1) // width + 1):
                wide = min(end, (i + 1) * width) - max(birth, i * width)
                wanted[r, i] += high * wide / width / height
    got = {}
    for part in areas['raster']:
        if part['base'] % height:
            return [f'a lane begins at {part["base"]}, in the middle of a row of {height}']
        for at, shade in enumerate(part['cells']):
            if shade:
                got[part['base'] // height + at // 512, at % 512] = shade
    faults = [f'cell {k} is {got.get(k, 0)}, not {255 * wanted[k]}' for k in wanted
              if abs(got.get(k, 0) - max(1, 255 * wanted[k])) > 0.51]
    return faults + [f'cell {k} is {got[k]}, not 0' for k in got if k not in wanted]


def area_faults(run: dict, blocks: list[tuple], reserved: list[tuple], heights: dict, who: dict) -> list[str]:
    """All are there, as they were."""
    base = {lane: x['base'] for lane, x in enumerate(run['lanes'])}
    faults = [f'lane {lane} is {run["lanes"][lane]["height"]} high, not {high}'
              for lane, high in heights.items() if run['lanes'][lane]['height'] != high]
    wanted = [(birth, gone - birth, gone - freed, base[lane] + y, size, tag)
              for birth, freed, gone, lane, y, size, tag in blocks]
    got = [(*x[:5], who['tags'][who['share_tag'][x[5]]]) for x in areas_of(run, 'blocks')]
    faults += [f'{x} is not there' for x in set(wanted) - set(got)]
    faults += [f'{x} should not be there' for x in set(got) - set(wanted)]
    faults += [f'{x} were dropped' for x in (run['blocks']['dropped'], run['segments']['dropped']) if x]
    pieces = [(birth, gone - birth, base[lane] + y, size) for birth, gone, lane, y, size in reserved]
    got = [(x[0], x[1], x[3], x[4]) for x in areas_of(run, 'segments')]
    if sorted(got) != sorted(pieces):
        faults.append(f'reserved: {sorted(set(got) ^ set(pieces))[:4]} differ')
    return faults


def check_programs(folder: Path) -> None:
    """Random programs under all policies: everything that is drawn."""
    faults = []
    for seed in range(SEEDS):
        events = program(seed)
        trace = write(f'{folder}/x.ndjson', events)
        policy = POLICIES[seed % len(POLICIES)]
        fragsim('run', '-q', '-p', policy, trace, '--steps', f'{folder}/s.csv',
                '--placements', f'{folder}/p.ndjson')
        tool('run', '-q', '-p', policy, trace, '-o', f'{folder}/r.html')
        section = read(Path(f'{folder}/r.html').read_text())['sections'][0]
        run, who = section['runs'][0], section['who'][0]
        rows = list(csv.DictReader(io.StringIO(Path(f'{folder}/s.csv').read_text())))
        placements = [json.loads(x) for x in Path(f'{folder}/p.ndjson').read_text().splitlines()]
        blocks, reserved, heights = expected(events, placements, len(rows), policy)
        wrong = [*line_faults(run, rows), *window_faults(run, rows),
                 *holder_faults(run, who, blocks),
                 *area_faults(run, blocks, reserved, heights, who)]
        marks = [(i, x['name']) for i, x in enumerate(events) if x['op'] == 'mark']
        if list(zip(run['mark_step'], run['mark_names'])) != marks:
            wrong.append('marks differ')
        faults += [f'seed {seed}, {policy}: {x}' for x in wrong]
    TAP.result(f'{SEEDS} random programs: timeline, map, holders, marks', faults)


def check_hostile(folder: Path) -> None:
    """Tags and marks that would end the script, or fill the page."""
    evil = ['</script><script>alert(1)</script>', '<!--<script>', '\u2028\u2029', '&lt;"\'\\',
            'x' * (1 << 20), '\u00e9' * (1 << 19), '{{facts}}', '\x01\x7f']
    events = [{'op': 'alloc', 'id': i, 'size': 1000 + i, 'tag': tag} for i, tag in enumerate(evil)]
    events += [{'op': 'mark', 'name': evil[i % len(evil)] if i < 8 else f'mark {i}'}
               for i in range(100000)]
    trace = write(f'{folder}/evil.ndjson', events)
    tool('run', '-q', trace, '-o', f'{folder}/evil.html', '--svg', f'{folder}/evil.svg')
    text = Path(f'{folder}/evil.html').read_text()
    section = read(text)['sections'][0]
    tags = section['who'][0]['tags'][2:]
    faults = [f'{got[:40]!r} is not how {tag[:40]!r} begins' for got, tag in zip(tags, evil)
              if not got or not tag.startswith(got) or (got != tag and len(got.encode()) < 230)]
    faults += [len(tags) != len(evil) and f'{len(tags)} tags', len(text) > 400000
               and f'{len(text)} bytes', text.count('<script') != 2 and 'a script more',
               text.count('</script') != 2 and 'a script ends early',
               ('\u2028' in text or '\u2029' in text) and 'a line separator',
               'alert(1)<' in text and 'a tag in the text',
               section['runs'][0]['mark_names'][:4] != evil[:4] and 'the names of marks',
               section['runs'][0]['marks'] != 10000 and f'{section["runs"][0]["marks"]} marks']
    TAP.result('a hostile trace is harmless, and its page small', *faults)


def check_page(folder: Path) -> None:
    """What the page is allowed, and that the same input gives the same bytes."""
    trace = write(f'{folder}/x.ndjson', program(3))
    pages = []
    for threads in 1, 3:
        tool('run', '-q', trace, '-p', 'bestfit', '-p', 'pytorch', '-o', f'{folder}/a.html',
                '--threads', threads, '--svg', f'{folder}/a.svg')
        text = Path(f'{folder}/a.html').read_text().replace(f'--threads {threads}', '')
        pages.append(text)
    faults = [pages[0] != pages[1] and 'the same trace gave other bytes',
              f'content="{CSP}"' not in pages[0] and 'the policy of security is another one',
              [f'{x} is in it' for x in ('http://', 'https://', 'innerHTML', 'eval(', ' src=')
               if x in pages[0].replace('http://www.w3.org/2000/svg', '')],
              Path(f'{folder}/a.svg').read_text() not in pages[0] and 'the picture is another one']
    TAP.result('the page asks nobody, and is the same each time', *faults)


def check_run(folder: Path) -> None:
    """A page on standard output is the one in a file, but for the command that it names."""
    trace = write(f'{folder}/x.ndjson', program(2))
    for first in ('run', 'fit', 'explain', 'leaks', 'plan --alone', 'predict --hoist', 'diff -p bestfit'):
        sides = []
        for option in ('-o', f'{folder}/x.html'), ('--format', 'html'):
            words = (*first.split(), *(('-q',) if option[0] == '-o' else ()), trace, *option)
            done = subprocess.run([PROGRAM, *words], check=False, capture_output=True, text=True)
            text = Path(option[1]).read_text() if option[0] == '-o' else done.stdout
            command = 'fragsim ' + ' '.join(Path(x).name for x in words)
            sides.append((text.replace(command, ''), command in text, done.returncode))
        TAP.result(f'{first} --format html is its -o FILE.html', sides[0][0] != sides[1][0] and 'it differs',
                   [f'status {status}, its command: {there}' for _, there, status in sides if not there])


def check_proof(folder: Path) -> None:
    """The command that the page gives runs, and the program fits then."""
    trace = TRACES / 'gpt2_small_train_bs8_seq1024.ndjson.gz'
    tool('run', '-q', '-p', 'pytorch', '--device-bytes', '16GiB', '--context-bytes', '450MiB',
            trace, '-o', f'{folder}/r.html')
    text = html.unescape(Path(f'{folder}/r.html').read_text())
    found = re.findall(r'<div class="row">  proof     fragsim (.*?)</div>', text, re.M)
    words = shlex.split(found[0]) if found else []
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False,
                          cwd=TRACES)
    TAP.result('the command that proves what is to be tried', len(found) != 1 and f'{found}',
               (done.returncode or not done.stdout.startswith('FITS'))
               and f'{words}: {done.returncode} {done.stdout[:300]} {done.stderr}')


def size_text(bytes_: int) -> str:
    """As people read it, with two decimals."""
    units = iter(('bytes', 'KiB', 'MiB', 'GiB'))
    value, unit = bytes_, next(units)
    while value >= 1024:
        value, unit = value / 1024, next(units)
    return f'{value} bytes' if unit == 'bytes' else f'{value:.2f} {unit}'


def result_of(trace: object, *options: object) -> dict:
    """The one run of a result."""
    return json.loads(tool('run', '-q', *options, '--json', '-', trace).stdout)['runs'][0]


def wanted_numbers(command: str, trace: Path, device: str, setting: str | None) -> list[int]:
    """The three numbers of a page, from other commands than the one that writes it."""
    run = result_of(trace, '-p', 'pytorch', '--device-bytes', device)
    whole = result_of(trace, '-p', 'pytorch')['peak']['requested']
    if run['status'] == 'fits':
        peak = run['peak']
        return [peak['reserved'], peak['requested'], peak['reserved'] - peak['requested']]
    moment = json.loads(tool('explain', '-p', 'pytorch', '--device-bytes', device, '--json', '-', '-q',
                             trace).stdout)['moments'][0]
    usable = int(device[:-3]) << 20
    second = usable if whole > usable else moment['largest_after_flush']
    if setting:
        third = result_of(trace, '--alloc-conf', setting, '--device-bytes', device)['peak']['reserved']
    elif command == 'explain':
        third = whole
    else:
        third = json.loads(tool('fit', '-q', '-p', 'pytorch', '--json', '-',
                                trace).stdout)['fits'][0]['reliable']
    return [moment['size'], second, third]


def cured_faults(cured: list, trace: Path, device: str, setting: str | None,
                 folder: Path) -> list[str]:
    """Beside the run is the one with the setting of the page, and it fits."""
    if not setting or len(cured) != 1:
        return [f'{len(cured)} runs beside it'] if len(cured) != bool(setting) else []
    fragsim('run', '-q', '--alloc-conf', setting, '--device-bytes', device, '--steps',
            f'{folder}/s.csv', trace)
    rows = list(csv.DictReader(io.StringIO(Path(f'{folder}/s.csv').read_text())))
    faults = line_faults(cured[0], rows)[:3]
    if (cured[0]['setting'], cured[0]['status'], cured[0]['end']) != (setting, 'fits', len(rows)):
        faults.append(f'beside it is {cured[0]["setting"]}, {cured[0]["status"]}')
    return faults


def check_first_screen(folder: Path) -> None:
    """Three numbers, the line to paste or what was tried, and the run that the line cures."""
    faults = []
    for name, device, cured in (('gpt2_small_train_bs16_varlen_ckpt', '12288MiB', True),
                                ('gpt2_small_train_bs8_seq1024', '15300MiB', False),
                                ('gpt2_small_train_bs8_seq1024', '13700MiB', False),
                                ('resnet50_train_bs32_fp32', '3072MiB', None)):
        trace = TRACES / f'{name}.ndjson.gz'
        for words in ('run', '-o'), ('explain', '-o'):
            tool(words[0], '-q', '-p', 'pytorch', '--device-bytes', device, trace, words[1],
                 f'{folder}/r.html')
            text = html.unescape(Path(f'{folder}/r.html').read_text())
            setting, = re.findall('<code>PYTORCH_CUDA_ALLOC_CONF=(.*?)</code>', text) or [None]
            tried = re.findall(r'no setting helps \(([1-9][0-9]*) simulated\)', text)
            numbers = re.findall('<p><b>(.*?)</b>', text)
            wanted = wanted_numbers(words[0], trace, device, setting)
            wrong = [cured is not None and bool(setting) != cured and f'the setting is {setting}',
                     numbers != [size_text(x) for x in wanted] and f'{numbers}, not {wanted}',
                     bool(tried) != (device == '15300MiB') and f'tried: {tried}']
            wrong += cured_faults(read(Path(f'{folder}/r.html').read_text())['sections'][0]['cured'],
                                  trace, device, setting, folder)
            faults += [f'{words[0]} {name} {device}: {x}' for x in wrong if x]
    TAP.result('three numbers, a line to paste, and the run that it cures', *faults)


def check_several(folder: Path) -> None:
    """A section a trace, the worst first."""
    good = write(f'{folder}/good.ndjson', [{'op': 'alloc', 'id': 1, 'size': 1 << 20}])
    bad = write(f'{folder}/bad.ndjson', [{'op': 'alloc', 'id': i, 'size': 1 << 22}
                                         for i in range(9)])
    tool('diff', '-q', '-p', 'bestfit', '-p', 'buddy', good, bad, '--device-bytes', '20MiB', '-o', f'{folder}/r.html')
    sections = read(Path(f'{folder}/r.html').read_text())['sections']
    oom = sections[0]['runs'][0]['ooms'][0]
    TAP.result('two traces, the one that fails first',
               [x['path'] for x in sections] != ['bad.ndjson', 'good.ndjson'] and 'their order',
               oom['step'] != 5 and f'the OOM is at step {oom["step"]}',
               sections[0]['runs'][0]['moments'][1]['at'] != 5 and 'who held memory at the OOM',
               str(folder) in Path(f'{folder}/r.html').read_text() and 'it names a folder')


def check_nothing(folder: Path) -> None:
    """The first request is refused: a range is there, and nothing of it is mapped."""
    trace = write(f'{folder}/x.ndjson', [{'op': 'alloc', 'id': 1, 'size': 1 << 33}])
    tool('run', '-q', trace, '-p', 'pytorch:expandable_segments=true', '--device-bytes',
            '1GiB', '-o', f'{folder}/r.html')
    run = read(Path(f'{folder}/r.html').read_text())['sections'][0]['runs'][0]
    TAP.result('a run that never had memory', run['height'] and f'it is {run["height"]} high',
               run['blocks']['birth'] and 'it has blocks',
               [m['what'] for m in run['moments']] != ['peak', 'oom'] and 'its moments')


def check_huge(folder: Path) -> None:
    """Segments that come to more than any addresses there are: 300 of 8 PiB."""
    size = (1 << 53) - 1
    faults = []
    for count in 1, 4, 300:
        trace = write(f'{folder}/huge.ndjson', [{'op': 'alloc', 'id': i, 'size': size}
                                                for i in range(count)])
        tool('run', '-q', '-p', 'direct', trace, '-o', f'{folder}/r.html')
        run = read(Path(f'{folder}/r.html').read_text())['sections'][0]['runs'][0]
        if run['moments'][0]['blocks'] != [count] or run['moments'][0]['held'] != [count << 53]:
            faults.append(f'{count}: {run["moments"][0]["blocks"]} at the peak')
    TAP.result('segments that no address space has room for', faults)


def answers(trace: object, device: str) -> dict[str, tuple]:
    """Each command that draws its answer."""
    return {'run': ('run', '--device-bytes', device, trace),
            'diff': ('diff', '-p', 'pytorch', '-p', 'bestfit', '--device-bytes', device, trace),
            'fit': ('fit', '-p', 'pytorch', '-p', 'bestfit', trace),
            'tune': ('fit', '--settings', 'short', trace),
            'explain': ('explain', '-p', 'pytorch', '--device-bytes', device, trace)}


def tool(*args: object) -> subprocess.CompletedProcess:
    """One that may answer no, with 1, or that memory ran out, with 3."""
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 3), f'{args}: {done.returncode} {done.stderr}'
    return done


def answer_faults(name: str, words: tuple, folder: Path) -> list[str]:
    """What is printed is what the page begins with; its runs are those of `run`."""
    printed = tool(*words).stdout
    both = tool(*words, '-o', f'{folder}/a.html').stdout
    text = Path(f'{folder}/a.html').read_text()
    said = html.unescape(re.sub('<[^>]*>', '', re.sub('</div>|</pre>|</h2>', '\n', re.search(
        '<section class="verdict.*?</section>', text, re.S).group(0))))
    printed_names = printed.replace(f'{words[-1].parent}/', '')
    lost = [line for line in printed_names.splitlines()
            if line.strip() and line not in said.splitlines()]
    faults = [printed != both and 'with a page it prints something else']
    if name != 'run':
        faults += [f'not in the page: {line}' for line in lost]
    faults += [f'{x} is in it' for x in ('http://', 'https://', ' src=')
               if x in text.replace('http://www.w3.org/2000/svg', '')]
    section, trace = read(text)['sections'][0], words[-1]
    for run in section['runs']:
        tool('run', '-q', '-p', run['policy'], '--device-bytes', run['total'], trace, '--json',
             f'{folder}/r.json')
        result = json.loads(Path(f'{folder}/r.json').read_text())['runs'][0]
        if (run['peak_reserved'], run['status']) != (result['peak']['reserved'], result['status']):
            faults.append(f'{run["policy"]} on {run["total"]}: {run["peak_reserved"]}')
    return [f'{name}: {x}' for x in faults if x]


def check_answers(folder: Path) -> None:
    """diff, tune, fit and explain draw the runs that show what they say."""
    trace = TRACES / 'moe_train_dispatch.ndjson.gz'
    faults, pages = [], {}
    for name, words in answers(trace, '2400MiB').items():
        faults += answer_faults(name, words, folder)
        pages[name] = read(Path(f'{folder}/a.html').read_text())['sections'][0]
    fit = json.loads(tool('fit', '-p', 'pytorch', '-p', 'bestfit', '--map', '--json', '-',
                          trace).stdout)['fits']
    for drawn, run, one in zip(pages['fit']['fits'], pages['fit']['runs'], fit):
        alive = [(a, b or 1 << 62) for a, b, survives in drawn['capacities'] if survives]
        dead = [(a, b or 1 << 62) for a, b, survives in drawn['capacities'] if not survives]
        for part in one['map']:
            middle = (part['least'] + (part['beyond'] or 1 << 50)) // 2
            among = alive if part['status'] == 'fits' else dead
            if not any(a <= middle < b for a, b in among):
                faults.append(f'fit: {middle} is not among those that end {part["status"]}')
        faults.append(drawn['smallest'] != one['smallest'] and 'fit: another smallest device')
        faults.append(run['total'] != one['smallest'] and 'fit: drawn on another device')
    tuned = [run['status'] for run in pages['tune']['runs']]
    faults.append(tuned[0] != 'fits' and f'tune: the best is {tuned}')
    explained = json.loads(tool('explain', '-p', 'pytorch', '--device-bytes', '2400MiB', '--json',
                                '-', trace).stdout)['moments'][0]['step']
    look = [m['at'] for m in pages['explain']['runs'][0]['moments'] if m['what'] == 'look']
    faults.append((pages['explain']['look'], look) != (explained, [explained])
                  and f'explain: it looks at {pages["explain"]["look"]}, {look}, not {explained}')
    TAP.result('diff, tune, fit and explain are drawn', *[x for x in faults if x])


def check_names(folder: Path) -> None:
    """A page of an answer alone has the names of its traces too, and no folder."""
    inner = folder / 'secret'
    inner.mkdir()
    paths = [write(f'{inner}/{name}.ndjson', [
        {'op': 'mark', 'name': 'step'} if i % 2 else {'op': 'alloc', 'id': i, 'size': 1 << 20}
        for i in range(24)]) for name in ('one', 'two')]
    faults = []
    for words, title in ((('leaks', paths[0]), 'one.ndjson'), (('ranks', *paths), 'one.ndjson and 1 more'),
                         (('predict', paths[0], '--empty-cache', 'every-iteration'), 'one.ndjson')):
        tool(words[0], '-q', *words[1:], '-o', f'{folder}/n.html')
        text = Path(f'{folder}/n.html').read_text()
        faults += [f'<h1>{title}</h1>' not in text and f'{words[0]}: another title',
                   'secret' in text and f'{words[0]}: a folder']
    tool('explain', '-q', '-p', 'pytorch', '--device-bytes', '6MiB', '--at', '2', paths[0], '-o',
         f'{folder}/n.html')
    faults.append('"numbers"' in Path(f'{folder}/n.html').read_text() and 'numbers of another step')
    TAP.result('titles, no folders, and no numbers of another step', *[x for x in faults if x])


def check_hostile_answers(folder: Path) -> None:
    """No answer lets a tag or a mark out of its place."""
    evil = '</script><script>alert(1)</script>\u2028<!--'
    events = [{'op': 'alloc', 'id': i, 'size': 3 << 20, 'tag': evil + 'x' * (i << 18)}
              for i in range(4)]
    events += [{'op': 'mark', 'name': evil}, {'op': 'free', 'id': 1},
               {'op': 'alloc', 'id': 9, 'size': 30 << 20, 'tag': evil}]
    events += [{'op': 'mark', 'name': f'mark {i}'} for i in range(100000)]
    trace = write(f'{folder}/evil.ndjson', events)
    faults = []
    for name, words in answers(trace, '48MiB').items():
        tool(*words[:1], '-q', *words[1:], '-o', f'{folder}/evil.html')
        text = Path(f'{folder}/evil.html').read_text()
        faults += [text.count('<script') != 2 and f'{name}: a script more',
                   text.count('</script') != 2 and f'{name}: a script ends early',
                   '\u2028' in text and f'{name}: a line separator',
                   'alert(1)<' in text and f'{name}: a tag in the text',
                   len(text) > 400000 and f'{name}: {len(text)} bytes',
                   not read(text)['sections'] and f'{name}: nothing is drawn']
    TAP.result('a hostile trace is harmless in every page', *[x for x in faults if x])


def check_size(folder: Path) -> None:
    """All blocks of six policies of one of the longest traces can be mailed."""
    policies = [word for name in POLICIES for word in ('-p', name)]
    tool('run', '-q', *policies, TRACES / 'gpt2_medium_train_bs8_varlen_amp.ndjson.gz', '-o',
            f'{folder}/six.html')
    size = len(Path(f'{folder}/six.html').read_bytes())
    TAP.result('six policies', size > 1 << 20 and f'{size} bytes',
               [r['blocks']['dropped'] for r in read(Path(f'{folder}/six.html').read_text())['sections'][0]['runs'] if r['blocks']['dropped']])


def check_refusals(folder: Path) -> None:
    """Command lines that are none."""
    trace = write(f'{folder}/x.ndjson', [{'op': 'alloc', 'id': 1, 'size': 1}])
    faults = []
    for args, said in ((('-o', 'x.html'), 'missing argument: TRACE'),
                       ((trace, '--svg', trace), 'would replace the trace'),
                       ((trace, '-o', f'{folder}/q.html', '--svg', f'{folder}/q.html'), 'two outputs')):
        done = subprocess.run([PROGRAM, 'run', *args], capture_output=True, text=True,
                              check=False)
        if done.returncode != 2 or said not in done.stderr:
            faults.append(f'{args}: {done.returncode} {done.stderr}')
    TAP.result('command lines that are none', faults)


def check_part(folder: Path) -> None:
    """Of a recording that is a part of its program no device is said to fit the program."""
    events = [{'op': 'alloc', 'id': i, 'size': 64 << 20} for i in range(20)]
    head = HEADER | {'meta': {'scope': {'begins': 'start', 'ends': 'cut'}}}
    trace, page = folder / 'part.ndjson', folder / 'part.html'
    trace.write_text('\n'.join(map(json.dumps, [head, *events])) + '\n')
    found = json.loads(tool('fit', '-p', 'direct', '--json', '-', '-o', page, trace).stdout)
    drawn = read(page.read_text())['sections'][0]
    TAP.same('a page of a part has its claim and its bound', (drawn['claim'], drawn['fits'][0]['at_least']),
             ('fits the recorded part', found['at_least']))
    tool('run', '-p', 'direct', '--device-bytes', '1GiB', '-o', page, trace)
    text = page.read_text()
    TAP.ok('smallest device that fits the recorded part<' in text and 'device that fits<' not in text,
           'and so have its numbers')
    trace.write_text('\n'.join(map(json.dumps, [HEADER, *events])) + '\n')
    tool('fit', '-p', 'direct', '-o', page, trace)
    drawn = read(page.read_text())['sections'][0]
    TAP.same('that of a whole recording has none', (drawn['claim'], drawn['fits'][0].get('at_least')),
             ('fits', None))


class Plain(pickle.Unpickler):
    """Of our own corpus, and still no code of a pickle is run."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f'{module}.{name}')


def frames_as_said(frames: list[dict]) -> list[str]:
    """As a page has them: of a package from its name on, of a home from there on."""
    said = []
    for f in frames:
        file = re.sub(r'^.*(?:site|dist)-packages/', '', f['filename'])
        node = [f[x] for x in ('fx_node_name', 'fx_node_op', 'fx_node_target', 'fx_original_trace') if x in f]
        said.append(f'{re.sub("^/(?:home|Users)/[^/]*", "~", file)}:{f["line"]} {f["name"]}'
                    + (f' {{{" ".join(node[:3])}; {node[3]}}}'.replace('\n', ' ') if node else ''))
    return said


def stack_faults(section: dict, trace: list[dict]) -> list[str]:
    """The whole stack of each allocation, and of its free, as the log has them."""
    blocks, faults = section['runs'][0]['blocks'], []
    allocs = [i for i, e in enumerate(trace) if e['action'] == 'alloc']
    skipped = len(blocks['made_by']) - len(allocs)
    for nth, i in enumerate(allocs):
        free = next((e for e in trace[i:] if e['action'] == 'free_requested' and e['addr'] == trace[i]['addr']), None)
        context = trace[i]['compile_context']
        wanted = [frames_as_said(trace[i]['frames']), frames_as_said(free['frames']) if free else [],
                  [context.replace('N/A', ''), *trace[i].get('forward_frames', [])]]
        numbers = [int(blocks[name][skipped + nth]) for name in ('made_by', 'freed_by', 'origin')]
        found = [section['stacks'][number - 1] if number else [] for number in numbers[:2]]
        found.append(section['origins'][numbers[2] - 1] if numbers[2] else [''])
        faults += [f'alloc {nth}: {x}, not {y}' for x, y in zip(found, wanted) if x != y]
    return faults[:2]


def check_stacks(folder: Path) -> None:
    """Who allocated and freed, which compilation and node it was, and the settings, as the file has them."""
    faults = []
    for name in ('two_streams', 'lora'):
        with gzip.open(CORPUS / f'{name}.pickle.gz') as file:
            snapshot = Plain(file).load()
        trace = max(snapshot['device_traces'], key=len)
        for i, event in enumerate(trace):
            event['compile_context'] = ('N/A', '0/0', '1/0_2')[i // 9 % 3]
            if i % 7 == 0 and event['action'] == 'alloc' and event['frames']:
                event['frames'] = [event['frames'][0] | {'fx_node_name': f'relu_{i}', 'fx_node_op': 'call_function', 'fx_node_target': 'torch.relu',
                                                         'fx_original_trace': 'File "m.py", line 3, in forward\n    x = relu(x)'}]
            if i % 5 == 0:
                event['forward_frames'] = [f'  File "/m.py", line {i // 50}, in <f>\n', '    x & y\n']
        Path(f'{folder}/s.pickle').write_bytes(pickle.dumps(snapshot, 4))
        done = subprocess.run([PROGRAM, 'run', '-q', f'{folder}/s.pickle', '-o', f'{folder}/s.html'], capture_output=True, check=False)
        assert done.returncode in (0, 3), done.stderr
        section = read(Path(f'{folder}/s.html').read_text())['sections'][0]
        faults += [f'{name}: {x}' for x in stack_faults(section, trace)]
        faults += [f'{name}: settings' for _ in [0] if section['allocator_settings'] != snapshot['allocator_settings']]
        faults += [f'{name}: {len(set(map(tuple, section["stacks"])))} of {len(section["stacks"])} stacks differ' for _ in [0]
                   if len(set(map(tuple, section['stacks']))) != len(section['stacks'])]
    TAP.result('stacks of frees too, compilations and settings of a snapshot', faults)


def check_recorded(folder: Path) -> None:
    """Of a snapshot: request, stream, pool, address and time of each block, as the file has them of its allocs."""
    faults, compared = [], 0
    for name in ('kv_decode', 'two_streams', 'oom_fragmentation', 'late_ring', 'lora'):
        path = CORPUS / f'{name}.pickle.gz'
        with gzip.open(path) as file:
            snapshot = Plain(file).load()
        done = subprocess.run([PROGRAM, 'run', '-q', path, '-o', f'{folder}/s.html'], capture_output=True, check=False)
        assert done.returncode in (0, 3), done.stderr
        section = read(Path(f'{folder}/s.html').read_text())['sections'][0]
        blocks, classes = section['runs'][0]['blocks'], section['classes']
        trace = max(snapshot['device_traces'], key=len)
        pools = {s['address']: tuple(s.get('segment_pool_id', (0, 0))) for s in snapshot['segments']}
        wanted = [(e['size'], e['stream'], e['addr'], e.get('time_us')) for e in trace if e['action'] == 'alloc']
        found = [(size - rounding, section['queues'][int(queue)][0] or 0, address, at)
                 for size, rounding, queue, address, at in zip(blocks['bytes'], blocks['rounding'], blocks['queue'], blocks['address'], blocks['time'])]
        # the blocks of the first state come before, and no event of the file says their place in this order
        found = found[len(found) - len(wanted):]
        first = min(e['time_us'] for t in (*snapshot['device_traces'], snapshot.get('external_annotations', [])) for e in t if 'time_us' in e)
        wanted = [(size, stream, address, (us - first) // 1000) for size, stream, address, us in wanted]
        differ = [(x, y) for x, y in zip(found, wanted) if x != y]
        faults += [f'{name}: {x}, not {y}' for x, y in differ[:2]] + [f'{name}: {len(found)} blocks' for _ in [0] if len(found) != len(wanted)]
        faults += [f'{name}: class {x}' for x in blocks['life_class'] if not 0 <= x < len(classes)]
        if any(pool != (0, 0) for pool in pools.values()) and len(section['queues']) < 2:
            faults.append(f'{name}: queues {section["queues"]}')
        compared += len(wanted)
    TAP.result('what a snapshot says of its blocks', *faults, compared < 1000 and f'only {compared} blocks')


def check_no_device(folder: Path) -> None:
    """Where no device is large enough nothing is drawn, and the page still says so."""
    trace = write(f'{folder}/none.ndjson', [{'op': 'alloc', 'id': 1, 'size': 1000}])
    page = folder / 'none.html'
    for policies in ([], ['-p', 'plan'], ['-p', 'rmm', '-p', 'direct']):
        done = tool('fit', '-q', *policies, '--context-bytes', 2**53 - 1, '-o', page, trace)
        text = page.read_text()
        page.unlink()
        TAP.same(f'no device is large enough: {policies}',
                 (done.returncode, 'SMALLEST DEVICE: none' in text, read(text)['sections'][0]['runs']),
                 (1, True, []))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_programs, check_hostile, check_page, check_run, check_proof,
                      check_first_screen, check_several, check_nothing, check_huge, check_answers, check_names,
                      check_hostile_answers, check_size, check_refusals, check_part, check_no_device, check_recorded, check_stacks):
            check(Path(folder))
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
