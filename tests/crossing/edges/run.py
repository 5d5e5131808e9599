"""run.py - numbers and names at their edges: every output is whole, and is read back.

    run.py PROGRAM      prints TAP

Times up to the largest double, sums beyond 2^53 and 2^64, names that are no text or no characters
of XML: each goes through every command that writes, strict readers of JSON, XML and CSV read what
it wrote, and so does the program. What a figure should be comes from Python's integers and
fractions.
"""

import csv
import json
import os
import pickle
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from tap import Tap  # noqa: E402

TAP = Tap()
PROGRAM = ''
MOST = 2**53 - 1
ENDING = {'text': 'txt', 'markdown': 'md', 'json': 'json', 'junit': 'xml', 'csv': 'csv'}


class Wrong(Exception):
    """What was written is not what it should be."""


def refuse(word: str):
    raise Wrong(f'{word} is no JSON')


def run(*args, statuses: tuple = (0, 3)) -> subprocess.CompletedProcess:
    done = subprocess.run([os.fsencode(PROGRAM), *map(os.fsencode, args)], capture_output=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=100)
    if done.returncode not in statuses:
        raise Wrong(f'{args}: status {done.returncode}: {done.stderr[-300:]!r}')
    return done


def strict(data: bytes):
    return json.loads(data.decode('utf-8'), parse_constant=refuse)


def document(path: str):
    return strict(Path(path).read_bytes())


def lines(path: str) -> list:
    return [strict(line) for line in Path(path).read_bytes().splitlines()]


def same(what: str, got, wanted) -> None:
    if got != wanted:
        raise Wrong(f'{what} is {got!r}, not {wanted!r}')


def alloc(number, size, **more):
    return {'op': 'alloc', 'id': number, 'size': size, **more}


def free(number, **more):
    return {'op': 'free', 'id': number, **more}


def mark(name, **more):
    return {'op': 'mark', 'name': name, **more}


HUGE = [alloc(1, 1000, t=-1.7e308), alloc(2, 10**6, t=0), mark('m', t=1e308),
        free(1, t=1.2e308), mark('back', t=-1.7e308), free(2, t=1.7e308)]
NAMES = ['\uffff', '\ufffe\ufdd0', 'a"b\\c\n\t', '\x01\x1f\x7f\x85', '<&>\'"]]>', '', '\u2028',
         '\U0001f600', '::x::', '%41']
# name: events, figures of the device
TRACES = {
    'times near the largest double': (HUGE, {}),
    'times beyond 2^53 and 2^64': (
        [alloc(1, 1000, t=1), mark('before', t=2.0**53), mark('m', t=1.8e19),
         free(1, t=2.0**64), mark('n', t=1e300)], {}),
    'sums beyond 2^53': (
        [alloc(i, MOST - i, t=i) for i in range(5)] + [free(i, t=9) for i in range(5)], {}),
    'sums beyond 2^64': (
        [alloc(i, MOST) for i in range(2100)] + [free(i) for i in range(2100)], {}),
    'a device that owes more than 2^53': (
        [mark('m'), alloc(1, 0), free(1)],
        {'total_bytes': 1, 'context_bytes': MOST, 'other_bytes': MOST}),
    'names': ([mark(name, t=i) for i, name in enumerate(NAMES)]
              + [alloc(name, 1000, tag=name, stream=name, pool=name, t=20) for name in NAMES]
              + [alloc('large', 10**10, tag=NAMES[0])]
              + [free(name, t=30) for name in NAMES], {'name': NAMES[2], 'total_bytes': 2**26}),
}
PATHS = (b'\xff\xfe.ndjson', '\uffff.ndjson'.encode(), b'\xed\xa0\x80.ndjson',
         b'<&">\x01\x1b[0m.ndjson', '\U0001f600.ndjson'.encode())
POLICIES = ('-p', 'bestfit', '-p', 'pytorch', '-p', 'bestfit')


def write(path: str | bytes, events: list, device: dict) -> None:
    head = {'format': 'fragsim-trace', 'version': 1, 'device': device}
    Path(os.fsdecode(path)).write_text(''.join(json.dumps(x) + '\n' for x in [head, *events]),
                                       encoding='ascii')


def check_format(name: str, path: str) -> None:
    data = Path(path).read_bytes()
    text = data.decode('utf-8', 'strict' if name in ('json', 'junit') else 'surrogateescape')
    if name == 'json':
        strict(data)
    elif name == 'junit':
        # Python's parser takes U+FFFF, which XML has no place for
        if set(text) & {'\ufffe', '\uffff'}:
            raise Wrong(f'no characters of XML: {text!r}')
        xml.etree.ElementTree.fromstring(data)
    elif name == 'csv':
        rows = list(csv.reader(text.splitlines(keepends=True)))
        same('fields of each row', {len(row) for row in rows}, {len(rows[0])})
        fields = {field.strip('-') for row in rows for field in row}
        if fields & {'inf', 'nan'}:
            raise Wrong(f'no number: {text[:500]}')


def check_diff(*what) -> None:
    """Every format of a comparison, one alone and all at once."""
    run('diff', '-q', *(word for ending in ENDING.values() for word in ('-o', f'all.{ending}')), *what)
    for name, ending in ENDING.items():
        check_format(name, f'all.{ending}')
    run('diff', '--format', 'github', *what)


def check_outputs(path) -> None:
    """A run's outputs, and that a result and a baseline are what they came from."""
    run('run', '-q', *POLICIES, '--json', 'r.json', '--steps', 's.ndjson', '--placements', 'p.ndjson',
        path)
    result = document('r.json')
    lines('s.ndjson'), lines('p.ndjson')
    run('run', '-q', '--steps', 's.csv', path)
    count = len(result['runs'])
    done = run('diff', 'r.json', 'r.json')
    if f'{count} runs compared: {count} same\n' not in done.stdout.decode():
        raise Wrong(f'a result with itself: {done.stdout!r}')
    check_diff('r.json', 'r.json')
    check_diff(*POLICIES, path)
    Path('b.json').unlink(missing_ok=True)
    run('diff', '-q', '-b', 'b.json', '--update-baseline', *POLICIES[:4], path)
    document('b.json')
    before = Path('b.json').read_bytes()
    run('diff', '-q', '-b', 'b.json', '--update-baseline')
    same('the baseline of the baseline', Path('b.json').read_bytes(), before)
    done = run('diff', '-b', 'b.json', '--gate')
    if ' same\n' not in done.stdout.decode() or b'missing' in done.stdout:
        raise Wrong(f'a baseline with what it came from: {done.stdout!r}')
    check_diff('-b', 'b.json')


def check_forms(path) -> None:
    for form in ('lines', 'object', 'fsb'):
        run('trace', 'convert', '-q', '-t', form, path, f'again.{form}')
    for form in ('object', 'fsb'):
        run('trace', 'convert', '-q', '-t', 'lines', f'again.{form}', 'again')
        same(f'there and back as {form}', lines('again')[1:], lines('again.lines')[1:])
    run('trace', 'convert', '-q', '-t', 'perfetto', path, 'again.perfetto')
    document('again.perfetto')
    run('trace', 'convert', '-q', '-t', 'snapshot', '-p', 'pytorch', '--on-oom', 'continue', path,
        'again.pickle', statuses=(0, 3, 6))
    if Path('again.pickle').exists():
        run('trace', 'info', '--json', 'i.json', 'again.pickle')
        document('i.json')


def check(folder: Path, name: str, events: list, device: dict) -> None:
    os.chdir(folder)
    write('t', events, device)
    for what, how in (('outputs', check_outputs), ('forms', check_forms)):
        try:
            how('t')
            TAP.result(f'{name}: {what}')
        except (Wrong, ValueError, xml.etree.ElementTree.ParseError) as error:
            TAP.result(f'{name}: {what}', repr(error))


def attempt(name: str, how, *args) -> None:
    try:
        how(*args)
        TAP.result(name)
    except (Wrong, ValueError, KeyError, xml.etree.ElementTree.ParseError) as error:
        TAP.result(name, repr(error))


def mean(rows: list, name: str) -> float:
    """Each value by the time until the next event; a time that runs back counts 0."""
    times = [Fraction(row['t']) for row in rows]
    weights = [max(b - a, 0) for a, b in zip(times, times[1:])]
    total = sum(Fraction(row[name]) * w for row, w in zip(rows, weights))
    return float(total / sum(weights))


def times(folder: Path) -> None:
    """The mean over time is what fractions say it is, whatever the times."""
    os.chdir(folder)
    for factor in (1, 1.0e-7, 1e-288):
        write('t', [{**event, 't': event['t'] * factor} for event in HUGE], {})
        run('run', '-q', '--json', 'r.json', '--steps', 's.ndjson', 't')
        rows, result = lines('s.ndjson'), document('r.json')['runs'][0]
        for name in ('fi', 'fi_device', 'internal', 'utilization'):
            got, wanted = result[name]['time_weighted_mean'], mean(rows, name)
            if abs(got - wanted) > 0.0002:      # rows have four digits
                raise Wrong(f'{name} by time x {factor} is {got}, not {wanted}')
    write('t', HUGE, {})
    run('trace', 'info', '--json', 'i.json', 't')
    same('a span that no double holds', document('i.json')['duration'], None)
    shown = run('trace', 'info', 't').stdout.decode()
    if 'time: 3.4e+302 s from' not in shown:
        raise Wrong(shown)


def exact(folder: Path) -> None:
    """Sums are the integers that they are."""
    os.chdir(folder)
    write('t', *TRACES['sums beyond 2^53'])
    wanted = sum(MOST - i for i in range(5))
    run('run', '-q', '-p', 'direct', '--json', 'r.json', 't')
    document_of = document('r.json')['runs'][0]
    same('lower_bound', document_of['lower_bound'], wanted)
    said = run('run', '-q', '-p', 'direct', '--fail-if', 'lower_bound > 1', 't', statuses=(1,)).stderr
    if f' is {int(float(wanted))},' not in said.decode():
        raise Wrong(f'a condition says {said!r}')
    write('more', *TRACES['sums beyond 2^64'])
    run('trace', 'info', '--json', 'i.json', 'more')
    info = document('i.json')
    same('peak_live_bytes', info['devices'][0]['peak_live_bytes'], 2100 * MOST)
    same('last_live_bytes', info['devices'][0]['last_live_bytes'], 0)
    same('bytes of the sizes', [x['bytes'] for x in info['sizes']], [2100 * MOST])
    same('bytes of the lives', sum(x['bytes'] for x in info['lives']), 2100 * MOST)
    if f'at most {2100 * MOST / 2**50:.2f} PiB live' not in run('trace', 'info', 'more').stdout.decode():
        raise Wrong('the text of info')


def one_byte_more(folder: Path) -> None:
    """Integers are read exactly, up to 2^63-1."""
    os.chdir(folder)
    write('t', *TRACES['sums beyond 2^53'])
    run('run', '-q', '--json', 'a.json', 't')
    text = Path('a.json').read_text(encoding='ascii')
    for number, status in ((2**63 - 1, 0), (2**63, 4), (2**64, 4), (10**30, 4), ('1e18', 4)):
        Path('b.json').write_text(text.replace(
            f'"lower_bound":\t{document("a.json")["runs"][0]["lower_bound"]}',
            f'"lower_bound":\t{number}'), encoding='ascii')
        same(f'status of {number}', run('diff', 'a.json', 'b.json', statuses=(0, 4)).returncode,
             status)
    write('t', [mark('m')], {})
    run('run', '-q', '--json', 'r.json', 't')
    result, sums = document('r.json'), (2**62, 2**62 + 1)
    for name, number in zip('ab', sums):
        result['runs'][0]['marks'][0]['reserved'] = number
        Path(f'{name}.json').write_text(json.dumps(result), encoding='ascii')
    compared = strict(run('diff', '--format', 'json', 'a.json', 'b.json').stdout)
    first = compared['traces'][0]['runs'][0]['first']
    same('the first difference', (first['base_reserved'], first['reserved']), sums)


def pairs(folder: Path) -> None:
    """Runs that are alike belong together in their order."""
    os.chdir(folder)
    write('t', [alloc(1, 1000)], {})
    run('run', '-q', '-p', 'bestfit', '-p', 'buddy', '-p', 'bestfit', '--json', 'r.json', 't')
    result = document('r.json')
    for i in (0, 2):
        result['runs'][i]['counts']['retries'] = i
    Path('r.json').write_text(json.dumps(result), encoding='ascii')
    compared = strict(run('diff', '--format', 'json', 'r.json', 'r.json').stdout)
    found = [(x['figures']['counts.retries']['base'], x['figures']['counts.retries']['value'])
             for x in compared['traces'][0]['runs']]
    same('retries', found, [(0, 0), (0, 0), (2, 2)])


def export_times(folder: Path) -> None:
    """A snapshot's times are whole numbers from 0 to 2^53-1, the nearest to those of the trace."""
    os.chdir(folder)
    events = [mark('a', t=-5), alloc(1, 1000, t=1.9), mark('b', t=2**53 - 2), free(1, t=2.0**53),
              mark('c', t=1.8e19), mark('d', t=1e300)]
    write('t', events, {})
    run('trace', 'convert', '-q', '-t', 'snapshot', 't', 't.pickle')
    with open('t.pickle', 'rb') as file:
        notes = pickle.load(file)['external_annotations']
    same('times', [(x['name'], x['time_us']) for x in notes],
         [('a', 0), ('b', 2**53 - 2), ('c', MOST), ('d', MOST)])
    same('marks read back', [x['t'] for x in lines_of_marks('t.pickle')],
         [0, 2**53 - 2, MOST, MOST])


def lines_of_marks(path: str) -> list:
    run('trace', 'convert', '-q', '-t', 'lines', path, 'marks')
    return [x for x in lines('marks') if x.get('op') == 'mark']


def private_pool(folder: Path) -> None:
    """An out-of-memory of a private pool is one when the export is verified: the default pool
    has a hole that it would fit."""
    os.chdir(folder)
    write('t', [alloc(1, 2 << 20), alloc(2, 9 << 20, pool='p'), alloc(3, 3 << 20), free(1)],
          {'total_bytes': 24 << 20})
    for oom in ('stop', 'continue'):
        run('trace', 'convert', '-q', '-t', 'snapshot', '-p', 'pytorch', '--on-oom', oom, 't', 't.pickle')
        run('verify', '-q', 't.pickle', statuses=(0,))


def paths(folder: Path, path: bytes) -> None:
    """A path of any bytes."""
    os.chdir(folder)
    write(path, [alloc(1, 1000), mark('m')], {})
    check_outputs(path)
    check_forms(path)
    baseline = document('b.json')['traces'][0]
    try:
        same('path', (baseline['path'], 'path_bytes' in baseline), (path.decode(), False))
    except UnicodeDecodeError:
        same('path_bytes', bytes.fromhex(baseline['path_bytes']), path)
        for wrong in ('', 'f', 'fg', '00', 'FF', path.hex() + '0'):
            text = Path('b.json').read_text(encoding='ascii')
            Path('bad.json').write_text(text.replace(path.hex(), wrong), encoding='ascii')
            run('diff', '-b', 'bad.json', statuses=(4,))


def main(argv: list[str]) -> int:
    global PROGRAM
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    PROGRAM = os.path.abspath(argv[1])
    with tempfile.TemporaryDirectory(prefix='fragsim-edges-') as name:
        number = 0

        def folder() -> Path:
            nonlocal number
            number += 1
            made = Path(name) / str(number)
            made.mkdir()
            return made

        for title, (events, device) in TRACES.items():
            check(folder(), title, events, device)
        for how in (times, exact, one_byte_more, pairs, export_times, private_pool):
            attempt(' '.join(how.__doc__.split()).rstrip('.'), how, folder())
        for path in PATHS:
            attempt(f'a path such as {path!r}', paths, folder(), path)
        os.chdir(ROOT)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
