"""run.py - the bench works, and the pages have its tables; prints TAP.

    run.py PROGRAM

$BUILD/bench is there too (`make build/bench`). No time is judged here. A bench of next to nothing makes the tables anew, in copies of the pages:
they have to have the rows and columns that stand in the pages now, and nothing else may change.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / 'support'))
import counts  # noqa: E402
import growth  # noqa: E402
import tables  # noqa: E402
from tap import Tap  # noqa: E402

BUILD = Path(os.environ.get('BUILD', 'build')).resolve()
MARK = re.compile(r'<!-- make bench-tables: (\S+) -->')
PYTHON = [sys.executable, '-B']

# Three functions in two files of ours and one of a library; one line is of a header that is
# inlined, and one call's cost of 1000 counts where it is spent.
CALLGRIND = """\
version: 1
events: Ir
fl=(1) ./src/engine/engine.c
fn=(1) feed
10 5
+2 7
fi=(2) ./src/heap/inside.h
44 30
fe=(1)
20 1
cfi=(3) ./src/heap/block.c
cfn=(2) take
calls=3 50
21 1000
22 2

fl=(3)
fn=(2)
50 400
-3 600
fl=(4) /build/glibc/string/memcpy.c
fn=(3) memcpy
* 9

totals: 1054
"""


def run(folder: Path, *words: object) -> str:
    """What went wrong, or nothing."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, 'BUILD': str(folder), 'MALLOC_PERTURB_': '0'},
                          check=False)
    return f'{words}: {done.returncode} {done.stderr}' if done.returncode else ''


def counts_of_nothing() -> dict:
    """As counts.py has them, which needs valgrind; of each room a number of its own."""
    rooms = ('input', 'trace', 'events', 'base', 'other', 'engine', 'device', 'policy', 'heap',
             'metrics')
    return {'run': 'tiny', 'rows': [
        {'shape': shape, 'live': live, 'events': 1, **{
            part: {room: 10 ** i for i, room in enumerate(rooms)} for part in tables.PARTS}}
        for shape, live in counts.SHAPES]}


def outside(text: str) -> str:
    """A page without its tables."""
    parts = MARK.split(text)
    # by turns text and a name; a table is behind a name that is not end
    return ''.join(part for i, part in enumerate(parts)
                   if i % 2 == 0 and (i == 0 or parts[i - 1] == 'end'))


def skeletons(text: str) -> dict[str, list[str]]:
    """Of each table the heads of columns and rows."""
    parts = MARK.split(text)
    out = {}
    for name, part in zip(parts[1::2], parts[2::2]):
        lines = [line for line in part.splitlines() if line.startswith('|')]
        if name != 'end':
            out[name] = lines[:1] + [line.split('|')[1].strip() for line in lines[1:]]
    return out


def check_pages(tap: Tap) -> None:
    for page in sorted({page for page, _ in tables.TABLES.values()}):
        names = MARK.findall((ROOT / page).read_text(encoding='utf-8'))
        wanted = [name for name, (of, _) in tables.TABLES.items() if of == page]
        tap.ok(names == [x for name in wanted for x in (name, 'end')], f'{page}: marks of tables',
               f'{names}, wanted {wanted}')


def check_anchors(tap: Tap) -> None:
    """Each row of the page's table of anchors is one that the script prints."""
    done = subprocess.run([*PYTHON, ROOT / 'scripts/performance.py', '--list'], capture_output=True, text=True, check=True)
    text = (ROOT / 'doc/performance.md').read_text(encoding='utf-8').partition('<!-- scripts/performance.py -->')[2]
    rows = [' | '.join(x.strip() for x in line.split('|')[1:3])
            for line in text.partition('\n## ')[0].splitlines() if line.startswith('|')][2:]
    tap.result('doc/performance.md: scripts/performance.py prints its rows', len(rows) < 5 and f'only {len(rows)}',
               [row for row in rows if row not in done.stdout.splitlines()])


def check_made(tap: Tap, program: str, folder: Path) -> None:
    """The recorded traces are all there, as each has a row."""
    tap.result('a bench of next to nothing', run(folder, BUILD / 'bench', '--tiny'))
    os.environ['FRAGSIM'] = program
    tap.result('growth of next to nothing', run(folder, *PYTHON, HERE / 'growth.py', '--tiny',
                                                'live'))
    tap.result('what is counted', *(
        run(folder, BUILD / 'bench', '--count', 'training', 20, 1000, 'bestfit', level,
            folder / 'count.ndjson') for level in ('reading', 'peaks')))
    (folder / 'bench-counts.json').write_text(json.dumps(counts_of_nothing()), encoding='utf-8')
    pages = {name: (ROOT / name).read_text(encoding='utf-8')
             for name in ('doc/performance.md',)}
    (folder / 'doc').mkdir()
    for name in pages:
        shutil.copy(ROOT / name, folder / name)
    make = (*PYTHON, HERE / 'tables.py', '--root', folder)
    tap.ok('--any' in run(folder, *make), 'tables of next to nothing are refused')
    fault = run(folder, *make, '--any')
    for name, text in pages.items():
        made = (folder / name).read_text(encoding='utf-8')
        tap.ok(outside(made) == outside(text), f'{name}: nothing but the tables is written')
        had, have = skeletons(text), skeletons(made)
        tap.result(f'{name}: tables have the rows of `make bench-tables`', fault, [
            f'{table}: {sorted(set(had.get(table, [])) ^ set(have[table]))}'
            for table in have if had.get(table) != have[table]])
    page = folder / 'doc' / 'performance.md'
    made = page.read_text(encoding='utf-8')
    tap.result('made twice is made once', run(folder, *make, '--any'), [] if made == (
        page.read_text(encoding='utf-8')) else 'it differs')
    check_refused(tap, folder, make)


def check_refused(tap: Tap, folder: Path, make: tuple) -> None:
    """A page that lacks a mark: nothing is written."""
    page = folder / 'doc' / 'performance.md'
    text = (ROOT / 'doc' / page.name).read_text(encoding='utf-8')
    page.write_text(text.replace('bench-tables: growth', 'bench-tables: grown'), encoding='utf-8')
    before = page.read_bytes()
    tap.result('a page without a mark is refused', [] if 'performance.md' in run(
        folder, *make, '--any') else 'it is not', [] if before == page.read_bytes() else 'written')


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    check_pages(tap)
    check_anchors(tap)
    found = dict(counts.rooms_of(CALLGRIND))
    tap.ok(found == {'engine': 15, 'heap': 1030, 'other': 9}, 'instructions by room', str(found))
    tap.ok(abs(growth.limit([10 ** 4, 10 ** 5, 10 ** 6]) - 3) < 1e-9, 'what may grow: 1.5 and caches')
    tap.ok(abs(growth.limit([10, 100, 1000]) - 6) < 1e-9, 'what may grow: 3 and caches')
    thousand = re.search(r'^([\d,]+) simulations, (\d+) traces under (\d+) settings',
                         (ROOT / 'doc' / 'performance.md').read_text(encoding='utf-8'), re.M)
    traces = len(list((ROOT / 'traces').glob('*.gz')))
    tap.ok(thousand and thousand.groups() == (f'{traces * 125:,}', str(traces), '125'),
           'doc/performance.md: all traces under 125 settings', str(thousand and thousand[0]))
    with tempfile.TemporaryDirectory() as folder:
        check_made(tap, str(Path(argv[1]).resolve()), Path(folder))
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
