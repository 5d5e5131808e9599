"""run.py - a run as an SQLite database: what SQL finds in it is what fragsim reports.

    run.py PROGRAM

Prints TAP.
"""

import csv
import gzip
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import fragsim  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
report = TAP.result
TRACE = Path(os.environ.get('TRACES') or Path(__file__).resolve().parents[3] / 'traces')
REAL = TRACE / 'gpt2_small_train_bs8_seq1024.ndjson.gz'
ALIVE = 'b.step <= :at AND (b.free_step IS NULL OR b.free_step > :at)'

LINES = [
    {'format': 'fragsim-trace', 'version': 1,
     'devices': [{'name': 'first', 'total_bytes': 1 << 30}, {'total_bytes': 0}]},
    {'op': 'alloc', 'id': 1, 'size': 1000, 'tag': 'a "quoted" tag', 't': 0.5},
    {'op': 'alloc', 'id': 'two', 'size': 3 << 20, 'tag': 'b', 'stream': 7, 't': 1},
    {'op': 'alloc', 'id': 3, 'size': 0, 't': 2},
    {'op': 'alloc', 'id': 4, 'size': 5000, 'device': 1, 't': 2},
    {'op': 'free', 'id': 1, 'pending': True, 't': 3},
    {'op': 'mark', 'name': 'half', 't': 4},
    {'op': 'alloc', 'id': 5, 'size': 77, 'tag': 'b', 't': 5},
    {'op': 'complete', 'id': 1, 't': 6},
    {'op': 'free', 'id': 'two', 't': 7},
    {'op': 'empty_cache', 't': 8},
    {'op': 'alloc', 'id': 6, 'size': 2 << 30, 'tag': 'too large', 't': 9},
]


def write(name: str, lines: list) -> Path:
    Path(name).write_text('\n'.join(map(json.dumps, lines)) + '\n', encoding='utf-8')
    return Path(name)


def ask(name: object, sql: str, **values: object) -> list:
    db = sqlite3.connect(name)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def convert(trace: object, *options: object, to: str = 'o.sqlite') -> str:
    return fragsim('trace', 'convert', '-q', *options, trace, to, statuses=(0,)).stderr.decode()


def value(text: str) -> object:
    return float(text) if text else None


def check_rows(name: str, trace: object, *options: object) -> None:
    """Every figure of --steps, and the bytes of blocks and segments at each step."""
    convert(trace, *options)
    fragsim('run', '-q', '--steps', 's.csv', '--placements', 'p.ndjson', *options, trace,
            statuses=(0, 3))
    with open('s.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    metrics = list(rows[0])[7:]
    got = {(x[0], x[1]): x[2:] for x in ask('o.sqlite', f'SELECT step, device, {", ".join(metrics)} FROM steps')}
    faults = [] if len(got) == len(rows) else [f'{len(got)} rows, not {len(rows)}']
    for row in rows:
        have = got.get((int(row['step']), int(row['device'])), ())
        want = [value(row[x]) for x in metrics]
        if len(have) != len(want) or any(
                (x is None) != (y is None) or (x is not None and abs(x - y) > 6e-5)
                for x, y in zip(have, want)):
            faults.append(f'{row}: {have}')
    if 'expandable' not in ' '.join(map(str, options)):
        sums = f'''SELECT s.step, s.device, s.allocated, (SELECT coalesce(sum(b.bytes), 0) FROM blocks AS b
            WHERE b.device = s.device AND {ALIVE.replace(':at', 's.step')}), s.active,
            (SELECT coalesce(sum(b.bytes), 0) FROM blocks AS b WHERE b.device = s.device AND
            b.step <= s.step AND (b.end_step IS NULL OR b.end_step > s.step)), s.reserved,
            (SELECT coalesce(sum(g.bytes), 0) FROM segments AS g WHERE g.device = s.device AND
            coalesce(g.step, 0) <= s.step AND (g.release_step IS NULL OR g.release_step > s.step))
            FROM steps AS s WHERE s.step % :every = 0 ORDER BY s.step'''
        for step, device, *pairs in ask('o.sqlite', sums, every=max(1, len(rows) // 100)):
            faults += [f'step {step}, device {device}: {pairs}'
                       for i in (0, 2, 4) if pairs[i] != pairs[i + 1]]
    places = {}
    for line in Path('p.ndjson').read_text(encoding='utf-8').splitlines():
        place = json.loads(line)
        if place['op'] == 'alloc' and not place.get('oom'):
            places[place['step']] = tuple(place.get(x) for x in ('segment', 'offset', 'bytes'))
    blocks = {x[0]: x[1:] for x in ask('o.sqlite', 'SELECT step, segment, offset, bytes FROM blocks')}
    if blocks != places:
        faults.append(f'blocks {len(blocks)}, placements {len(places)}')
    faults += [str(x) for x in ask('o.sqlite', 'PRAGMA integrity_check') if x != ('ok',)]
    report(name, faults[:5])


def test_small() -> None:
    write('small', LINES)
    for policy in ('bestfit', 'direct', 'pytorch', 'buddy'):
        check_rows(f'every figure of a small trace: {policy}', 'small', '-p', policy, '--on-oom', 'continue')
    convert('small', '-p', 'bestfit')
    events = [(i, x['op'], x.get('t'), x.get('id'), x.get('size'), x.get('name'))
              for i, x in enumerate(LINES[1:])]
    got = ask('o.sqlite', 'SELECT step, op, t, id, size, text FROM events ORDER BY step')
    report('the events are those of the trace', [f'{got}'] * (got != events))
    got = ask('o.sqlite', 'SELECT step, id, requested, free_step, end_step, text FROM blocks'
              ' LEFT JOIN tags USING (tag) ORDER BY step')
    # worked out by hand; block 1 is pending from step 4 to its complete at step 7
    want = [(0, 1, 1000, 4, 7, 'a "quoted" tag'), (1, 'two', 3 << 20, 8, 8, 'b'),
            (2, 3, 0, None, None, None), (3, 4, 5000, None, None, None), (6, 5, 77, None, None, 'b')]
    report('blocks from their allocation to their end', [f'{got}'] * (got != want))
    got = ask('o.sqlite', 'SELECT device, name, total_bytes FROM devices')
    report('the devices', [f'{got}'] * (got != [(0, 'first', 1 << 30), (1, None, None)]))
    got = ask('o.sqlite', "SELECT step, size FROM events WHERE status = 'oom'")
    report('the request that failed', [f'{got}'] * (got != [(10, 2 << 30)]))
    got = dict(ask('o.sqlite', 'SELECT key, value FROM info'))
    report('what the file is of', [f'{got}'] * (got.get('policy') != 'bestfit'
                                                or got.get('t') != 'microseconds'))


def test_real() -> None:
    check_rows('every figure of a recorded model: pytorch', REAL, '-p', 'pytorch')
    peak, = ask('o.sqlite', 'SELECT max(allocated), max(reserved) FROM steps')
    result = json.loads(fragsim('run', '-q', '-p', 'pytorch', '--json', '-', REAL).stdout)['runs'][0]
    want = tuple(result['peak'][x] for x in ('allocated', 'reserved'))
    report('the peaks are those of the result', [f'{peak} {want}'] * (peak != want))
    at, = ask('o.sqlite', 'SELECT step FROM steps ORDER BY allocated DESC, step LIMIT 1')[0]
    got = dict(ask('o.sqlite', "SELECT coalesce(t.text, '(no tag)'), sum(b.bytes) FROM blocks AS b LEFT"
                   f' JOIN tags AS t USING (tag) WHERE {ALIVE} GROUP BY 1', at=at))
    done = fragsim('explain', '-q', '-p', 'pytorch', '--at', 'peak', '--folded', '-', REAL)
    want = {x.rsplit(' ', 1)[0]: int(x.rsplit(' ', 1)[1]) for x in done.stdout.decode().splitlines()}
    report('memory by tag at the peak is that of explain', [f'{at} {got} {want}'[:600]] * (got != want))
    check_rows('expandable segments', REAL, '-p', 'pytorch', '--alloc-conf', 'expandable_segments:True')


def test_long_lives() -> None:
    """Blocks wait for their ends, 32768 at most: these outlive more, or are named by texts."""
    lines: list[dict[str, object]] = [{'format': 'fragsim-trace', 'version': 1}]
    want = {}
    kept = (0, 3)
    for i in range(40000):
        name: object = f'block {i}' if i % 9973 == 0 else i
        last = i and i - 1 not in kept
        lines.append({'op': 'alloc', 'id': name, 'size': 512})
        want[2 * i] = [name, None, None]
        before = lines[2 * i - 1]['id'] if i else 0
        lines.append({'op': 'free', 'id': before, **({'pending': True} if i % 100 == 7 else {})} if last
                     else {'op': 'mark', 'name': 'none'})
        if last:
            want[2 * i - 2][1:] = [2 * i + 1, None if i % 100 == 7 else 2 * i + 1]
    for place, step in ((0, 80000), (3, 80001), (39999, 80002)):
        lines.append({'op': 'free', 'id': want[2 * place][0]})
        want[2 * place][1:] = [step, step]
    for row in want.values():
        if row[1] is not None and row[2] is None:
            row[2] = len(lines) - 1
            lines.append({'op': 'complete', 'id': row[0]})
    Path('long').write_text(''.join(json.dumps(x) + '\n' for x in lines), encoding='utf-8')
    convert('long', '-p', 'bestfit')
    got = ask('o.sqlite', 'SELECT step, id, free_step, end_step FROM blocks ORDER BY step')
    report('when blocks end, of those that outlive many others too', [
        f'{a} {b}' for a, b in zip(got, [(step, *row) for step, row in want.items()]) if a != b][:5]
        + [f'{len(got)} rows'] * (len(got) != len(want)))


def test_files() -> None:
    good = write('good', LINES)
    bad = Path('bad')
    bad.write_text(good.read_text(encoding='utf-8') + '{"op":"free","id":99}\n', encoding='utf-8')
    old = b'an old file'
    Path('old.sqlite').write_bytes(old)
    before = sorted(os.listdir())
    done = fragsim('trace', 'convert', '-q', '-p', 'direct', '--on-oom', 'continue', 'bad', 'old.sqlite')
    report('bad input leaves the old file', [
        *([f'status {done.returncode}'] if done.returncode != 4 else []),
        *(['it has changed'] if Path('old.sqlite').read_bytes() != old else []),
        *([f'{os.listdir()}'] if sorted(os.listdir()) != before else [])])
    done = fragsim('trace', 'convert', '-q', '-t', 'sqlite', 'good', '/dev/full')
    report('a full disk', [f'{done.returncode} {done.stderr!r}'] * (done.returncode != 6))
    dump = {}
    convert('good', '-p', 'bestfit', to='old.sqlite')
    convert('good', '-p', 'bestfit', to='packed.sqlite.gz')
    Path('unpacked').write_bytes(gzip.decompress(Path('packed.sqlite.gz').read_bytes()))
    done = fragsim('trace', 'convert', '-q', '-t', 'sqlite', '-p', 'bestfit', 'good', '-')
    Path('piped').write_bytes(done.stdout)
    for name in ('old.sqlite', 'unpacked', 'piped'):
        db = sqlite3.connect(name)
        dump[name] = list(db.iterdump())
        db.close()
    report('the same in a file, compressed and through a pipe', [
        x for x in dump if dump[x] != dump['old.sqlite'] or len(dump[x]) < 30])
    left = [x for x in os.listdir() if 'journal' in x or '-wal' in x]
    report('no journal is left', left)


def test_duckdb() -> None:
    # pip install duckdb==1.5.5 duckdb-extension-sqlite-scanner
    try:
        import duckdb  # pylint: disable=import-outside-toplevel
        import duckdb_extension_sqlite_scanner as package  # pylint: disable=import-outside-toplevel
        db = duckdb.connect()
        db.execute(f"LOAD '{next(Path(package.__path__[0]).rglob('*.duckdb_extension'))}'")
    except Exception as reason:  # pylint: disable=broad-exception-caught
        TAP.skip('duckdb opens it', f'no duckdb with its sqlite extension: {str(reason).splitlines()[0]}')
        return
    convert('small', '-p', 'bestfit')
    db.execute("ATTACH 'o.sqlite' AS run (TYPE sqlite)")
    for table in ('events', 'blocks', 'segments', 'steps', 'tags', 'stacks'):
        columns = '* REPLACE (id::VARCHAR AS id)' if table in ('events', 'blocks') else '*'
        got = db.execute(f'SELECT {columns} FROM run.{table}').fetchall()
        want = ask('o.sqlite', f'SELECT * FROM {table}')
        at = {'events': 4, 'blocks': 2}.get(table)      # of the id: an integer or a string
        want = [tuple(str(x) if i == at and x is not None else x for i, x in enumerate(row))
                for row in want]
        report(f'duckdb reads {table}', [f'{got} {want}'] * ([*got] != [*want]))


def main() -> int:
    if b'no SQLite' in fragsim('--version').stdout:
        done = fragsim('trace', 'convert', REAL, '/tmp/none.sqlite')
        report('a build without SQLite', [f'{done.stderr!r}'] * (
            done.returncode != 2 or b'built without SQLite' not in done.stderr))
        return TAP.finish()
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        test_small()
        test_real()
        test_long_lives()
        test_files()
        test_duckdb()
    finally:
        os.chdir('/')
        shutil.rmtree(folder)
    return TAP.finish()


sys.exit(main())
