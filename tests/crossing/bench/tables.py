"""tables.py - the tables of doc/performance.md, from what `make bench` measured.

    tables.py [--any] [--from FOLDER] [--root FOLDER]

Reads bench.json, bench-growth.json and bench-counts.json in FOLDER ($BUILD), and writes what
stands between two lines of a page anew:

    <!-- make bench-tables: NAME -->
    <!-- make bench-tables: end -->

Figures of --quick and --tiny are refused, but for --any. Exit status 1: nothing was written.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
BEGIN = re.compile(r'^<!-- make bench-tables: (?!end -->)(\S+) -->$', re.M)
END = '<!-- make bench-tables: end -->'
# a row: of which measure, which of its figures
SPEED = (
    ('finding the line ends', 'bound: find line ends', 'ns_least'),
    ('copying the bytes out of the kernel', 'just read the bytes', 'ns_least'),
    ('decoding', 'decode', 'ns_least'),
    ('decoding the binary form', 'decode the binary form', 'ns_least'),
    ('decoding lines and resolving ids', 'decode, ids', 'ns_least'),
    ('`bestfit` with all metrics, events ready resolved', 'bestfit', 'ns_least'),
    ('`bestfit`, only its peaks', 'bestfit, peaks', 'ns_least'),
    ('`bestfit`, only whether it survives', 'bestfit, survive', 'ns_least'),
    ('`pytorch` with all metrics', 'pytorch', 'ns_least'),
    ('`pytorch`, only whether it survives', 'pytorch, survive', 'ns_least'),
    ('`buddy` with all metrics', 'buddy', 'ns_least'),
    ('a whole `run` of NDJSON, in one thread', 'one policy, 1 thread', 'ns_least'),
    ('in two threads', 'one policy, 2 threads', 'ns_least'),
    ('of two policies, in two threads', 'two policies, 2 threads', 'ns_least'),
    ('a row of `--steps` more', 'bestfit, --steps CSV', 'ns_row'),
)
# what is counted, and the row of its sum; before it those of its rooms
PARTS = {'reading': 'a trace of lines read, in all', 'all': 'a run from a tape, in all',
         'peaks': 'the same for its peaks only', 'survive': 'for whether it survives only'}
ROOMS = (('reading', 'decoding: `input`, `trace`', ('input', 'trace')),
         ('reading', 'checking, ids: `events`', ('events',)),
         ('reading', 'hashes, libraries', ('base', 'other')),
         ('all', 'reading the tape: `events`', ('events',)),
         ('all', '`engine`, `device`', ('engine', 'device')),
         ('all', '`policy`', ('policy',)),
         ('all', '`heap`', ('heap',)),
         ('all', '`metrics`', ('metrics',)),
         ('all', '`base`, libraries', ('base', 'other')))

Rows = list[list[str]]


class Missing(Exception):
    """A figure that a table needs was not measured."""


def markdown(head: list[str], rows: Rows) -> str:
    lines = [f'| {" | ".join(line)} |' for line in (head, *rows)]
    return '\n'.join([lines[0], '|---' + '|---:' * (len(head) - 1) + '|', *lines[1:]])


def prose(text: str) -> str:
    return textwrap.fill(text, 136, break_long_words=False, break_on_hyphens=False)


def number(x: float) -> str:
    """Three figures, and thousands apart."""
    return f'{x:,.0f}' if x >= 99.95 else f'{x:.1f}'


def million(events: int) -> str:
    return f'{events / 1e6:g} million'


def commit() -> str:
    done = subprocess.run(['git', '-C', str(ROOT), 'rev-parse', '--short', 'HEAD'],
                          capture_output=True, text=True, check=False)
    return f', at commit {done.stdout.strip()}' if done.returncode == 0 else ''


def machine(bench: dict[str, Any]) -> str:
    compiler = re.match(r'\S+ [\d.]+', bench['compiler'])
    return (f'{bench["processors"]} processors ({bench["processor"]}), '
            f'{compiler[0] if compiler else bench["compiler"]}{commit()}')


def measured(case: dict[str, Any], name: str, key: str) -> float:
    for measure in case['measures']:
        if measure['name'] == name and key in measure:
            return float(measure[key])
    raise Missing(f'{case["name"]}: {name}, {key}')


def speed(data: dict[str, Any]) -> str:
    """Cases by events: the shorter ones have all measures, the longer ones show the memory."""
    bench = data['bench']
    counts = sorted({case['events'] for case in bench['cases']})
    short = [c for c in bench['cases'] if c['events'] == counts[0]]
    long = [c for c in bench['cases'] if c['events'] == counts[-1]]
    if not short or len(short) != len(long) or counts[0] * 10 != counts[-1]:
        raise Missing('events of short and of long traces')
    rows = [[label, *(number(measured(case, name, key)) for case in short)]
            for label, name, key in SPEED]
    rows.append(['most memory of a run of ten times the events, MiB', *(
        number(measured(c, 'end to end, lines', 'peak_memory_bytes') / 2 ** 20) for c in long)])
    return (f'Nanoseconds an event, {million(counts[0])} events; {machine(bench)}:\n\n'
            + markdown(['', *(f'{c["name"].split()[0]}, {c["blocks"]:,} live' for c in short)], rows))


def reruns(data: dict[str, Any]) -> str:
    bench = data['bench']
    if not bench['recorded'] or not bench['sweep']['ns_all']:
        raise Missing('recorded traces')
    rows = [[f'`{r["name"].split(".")[0]}`', f'{r["events"]:,}', number(r['ns_read'] / 1e6),
             *(number(1e9 / r[f'ns_{level}']) for level in ('all', 'peaks', 'survive')),
             f'{r["live"]:,}', number((r['ns_copy'] + r['ns_del']) / 1e3)]
            for r in bench['recorded']]
    sweep = bench['sweep']
    seconds = [f'{sweep[key] / 1e9:.1f}' for key in ('ns_read', 'ns_all', 'ns_peaks', 'ns_survive')]
    return (markdown(['', 'events', 'read, ms', 'runs a second', 'only peaks', 'only survival',
                      'live half way', 'fork, µs'], rows)
            + '\n\n' + prose(
                f'{sweep["traces"] * sweep["settings"]:,} simulations, {sweep["traces"]} traces '
                f'under {sweep["settings"]} settings, take {seconds[0]} s of reading and then '
                f'{seconds[1]} s with all metrics, {seconds[2]} s with only peaks and '
                f'{seconds[3]} s with only survival, in {sweep["threads"]} threads.'))


def instructions(data: dict[str, Any]) -> str:
    counts = data['counts']
    rows = []
    for part, whole in PARTS.items():
        for of, label, rooms in ROOMS:
            if of == part:
                rows.append([label, *(f'{sum(c[part].get(room, 0) for room in rooms):.0f}'
                                      for c in counts)])
        rows.append([whole, *(f'{sum(c[part].values()):,.0f}' for c in counts)])
    return markdown(['', *(f'{c["shape"]}, {c["live"]:,} live' for c in counts)], rows)


def things(sizes: Iterable[int]) -> str:
    words = [f'{size:,}' for size in sizes]
    return ', '.join(words[:-1]) + ' and ' + words[-1]


def growth(data: dict[str, Any]) -> str:
    table, commands = data['bench'].get('growth'), data['growth']['rows']
    if not table or not table['rows'] or not commands:
        raise Missing('growth')
    kinds = list(dict.fromkeys(r['things'] for r in table['rows'] if 'policy' in r))
    cells: dict[str, list[str]] = {}
    for row in table['rows']:
        text = ', '.join('-' if ns < 0 else number(ns) for ns in row['ns'])
        label = f'`{row["policy"]}`' if 'policy' in row else 'a step to a place of memory'
        cells.setdefault(label, []).append(text + (' (bad)' if row['bad'] else ''))
    rows = [[label, *(texts * len(kinds) if len(texts) == 1 else texts)]
            for label, texts in cells.items()]
    known = [f'{r["name"]} ({r["known"]})' for r in commands if r['known']]
    bad = [f'{r["name"]} ({"given up" if r["ratio"] is None else format(r["ratio"], ".1f")})'
           for r in commands if r['bad']]
    worst = max((r['ratio'] for r in commands if not r['known'] and not r['bad']), default=0)
    return (f'Nanoseconds an event while there are {things(table["sizes"])} blocks:\n\n'
            + markdown(['', *kinds], rows)
            + '\n\n' + prose(
                f'Of {len(commands)} commands and things that `make bench` lists, each of a '
                f'hundred times as many takes at most {worst:.1f} times as long'
                + (f', but for these: {"; ".join(known + bad)}.' if known + bad else '.')))


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    'speed': ('doc/performance.md', speed), 'reruns': ('doc/performance.md', reruns),
    'instructions': ('doc/performance.md', instructions), 'growth': ('doc/performance.md', growth),
}


def names_in(text: str) -> list[str]:
    return BEGIN.findall(text)


def put(text: str, name: str, table: str, page: str) -> str:
    """The page with this table between the two lines of that name."""
    begin = f'<!-- make bench-tables: {name} -->\n'
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(END)
    if not found or not ended or begin in after:
        raise Missing(f'{page}: one {begin.strip()} with its end')
    return f'{before}{begin}\n{table}\n\n{END}{after}'


def read(folder: Path, any_run: bool) -> dict[str, Any]:
    data = {}
    for name, file in (('bench', 'bench.json'), ('growth', 'bench-growth.json'),
                       ('counts', 'bench-counts.json')):
        data[name] = json.loads((folder / file).read_text(encoding='utf-8'))
        if not any_run and data[name]['run'] != 'full':
            raise Missing(f'{file}: all figures; these are of {data[name]["run"]} (--any)')
    data['counts'] = data['counts']['rows']
    return data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--any', action='store_true')
    parser.add_argument('--from', dest='folder', default=os.environ.get('BUILD', 'build'))
    parser.add_argument('--root', default=str(ROOT))
    options = parser.parse_args()
    pages: dict[Path, str] = {}
    try:
        data = read(Path(options.folder), options.any)
        for name, (file, make) in TABLES.items():
            page = Path(options.root) / file
            text = pages.get(page) or page.read_text(encoding='utf-8')
            pages[page] = put(text, name, make(data), file)
    except (OSError, ValueError, KeyError) as error:
        print(f'tables.py: {error!r}', file=sys.stderr)
        return 1
    except Missing as error:
        print(f'tables.py: missing: {error}', file=sys.stderr)
        return 1
    for page, text in pages.items():
        page.write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
