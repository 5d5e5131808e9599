#!/usr/bin/env python3
"""table.py PROGRAM - simulate every trace of traces/ under every setting, and write doc/site/table.md and doc/site/table.csv

    table.py build/fragsim                        both files (`make table`)
    table.py build/fragsim --only NAME --lines    what they have of one program, on standard output

Each figure is a simulation's, so that two runs write the same bytes. The families and remarks of the programs are those of
traces/README.md and traces/programs/README.md; doc/site/table.head.md has the prose, with the figures as {names}.
"""
import argparse
import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TRACES, SITE = ROOT / 'traces', ROOT / 'doc/site'
VERSIONS = ('2.4', '2.8', '2.12', '2.15')
DEFAULT, EXPANDABLE, RECOMMENDED, PLAN = 'default', 'expandable_segments:True', 'recommended', 'static plan'
SPLIT = 'max_split_size_mb:128'
SETTINGS = (DEFAULT, EXPANDABLE, SPLIT, 'max_split_size_mb:512', 'garbage_collection_threshold:0.8',
            'roundup_power2_divisions:8', 'large_segment_size_mb:200')
SINCE = {'large_segment_size_mb:200': '2.12'}   # the first of VERSIONS that has it
OTHERS = ('bfc', 'rmm', 'cupy', 'tlsf', 'bestfit')
SEARCH = ('-q', '--threads', 1, '--time', '60m')     # a search that time ends would not be the same twice
HEADING = ('program', 'family', 'convolutions', 'setting', 'pytorch', 'chosen', 'fragmentation', 'above_bound', 'driver_calls', 'retries',
           'reliable_bytes', 'lower_bound_bytes', 'peak_requested', 'peak_allocated', 'peak_active', 'peak_reserved')


class Program(NamedTuple):
    name: str
    path: Path
    family: str
    convolutions: str       # '', native or none: which kernels the recording has of them


class Row(NamedTuple):
    program: Program
    setting: str
    version: str            # of PyTorch; '' where the row is another allocator's
    chosen: str             # the setting that the row `recommended` has
    peak: dict[str, int]    # on a device without limits
    fit: dict[str, Any]     # what `fit` says
    bound: int

    @property
    def fragmentation(self) -> float:
        return 100 * (1 - self.peak['requested'] / self.peak['reserved'])

    @property
    def above(self) -> float | None:
        reliable = self.fit['reliable']
        return None if reliable is None else 100 * (reliable / self.bound - 1)


def programs() -> list[Program]:
    """The traces, as the tables of their READMEs list them."""
    found = []
    for folder in (TRACES, TRACES / 'programs'):
        for line in (folder / 'README.md').read_text(encoding='utf-8').splitlines():
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            if line.startswith('| `') and len(cells) == 5:
                name = cells[0].strip('`')
                paths = sorted(folder.glob(f'{name}.*'))
                if len(paths) != 1:
                    sys.exit(f'table.py: {folder}/README.md has a row for {name}, but the folder has {len(paths)} files of the name')
                found.append(Program(name, paths[0], cells[2], '' if cells[4] == '-' else cells[4]))
    return sorted(found, key=lambda program: (program.family, program.name))


def policy(setting: str, version: str) -> str:
    """The policy of a version of PyTorch with these settings."""
    keys = [] if setting == DEFAULT else [pair.replace(':', '=') for pair in setting.split(',')]
    return 'pytorch:' + ','.join([f'version={version}', *keys])


def fragsim(tool: str, *words: object) -> dict[str, Any]:
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f'table.py: {" ".join(map(str, done.args))}: status {done.returncode}\n{done.stderr}')
    return json.loads(done.stdout)


def simulate(tool: str, program: Program, wanted: list[tuple[str, str, str, str]]) -> Iterator[Row]:
    """A row for each (setting, version, chosen, policy)."""
    policies = list(dict.fromkeys(text for *_, text in wanted))
    words = [word for text in policies for word in ('-p', text)]
    runs = fragsim(tool, 'run', '-q', '--json', '-', *words, program.path)['runs']
    fit = fragsim(tool, 'fit', *SEARCH, '--settings', 'none', '--json', '-', *words, program.path)
    found = dict(zip(policies, zip(runs, fit['fits'], strict=True), strict=True))
    for setting, version, chosen, text in wanted:
        run, fits = found[text]
        yield Row(program, setting, version, chosen, run['peak'], fits, fit['lower_bound'])


def rows_of(tool: str, program: Program) -> list[Row]:
    wanted = []
    for version in VERSIONS:
        wanted += [(setting, version, '', policy(setting, version)) for setting in SETTINGS
                   if VERSIONS.index(version) >= VERSIONS.index(SINCE.get(setting, VERSIONS[0]))]
        found = fragsim(tool, 'fit', *SEARCH, '--json', '-', '-p', policy(DEFAULT, version), program.path)
        chosen = found['recommended']['alloc_conf'] or DEFAULT
        wanted.append((RECOMMENDED, version, chosen, policy(chosen, version)))
    wanted += [(name, '', '', name) for name in OTHERS]
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / 'plan.json'
        fragsim(tool, 'plan', *SEARCH, '--json', '-', '--plan', plan, program.path)
        wanted.append((PLAN, '', '', f'plan:file={plan}'))
        return list(simulate(tool, program, wanted))


def cells(row: Row) -> list[object]:
    """A row of the CSV."""
    return [row.program.name, row.program.family, row.program.convolutions, row.setting, row.version, row.chosen,
            f'{row.fragmentation:.2f}', '' if row.above is None else f'{row.above:.2f}',
            row.fit['at_reliable']['calls'] if row.fit['at_reliable'] else '',
            row.fit['at_reliable']['retries'] if row.fit['at_reliable'] else '',
            row.fit['reliable'] or '', row.bound, row.peak['requested'], row.peak['allocated'], row.peak['active'], row.peak['reserved']]


def lines_of(rows: list[Row]) -> list[str]:
    """Rows of the page: versions of PyTorch with the same figures share one."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        name, _, convolutions, setting, version, chosen, fragmentation, above, calls, retries = map(str, cells(row)[:10])
        label = f'{RECOMMENDED}: {chosen}' if chosen else setting
        key = (name + ('\\*' if convolutions else ''), row.program.family, f'`{label}`' if version else label,
               f'{float(fragmentation):.1f}', f'{float(above):.1f}' if above else 'none', calls, retries)
        lines.setdefault(key, []).append(version)
    order = [*SETTINGS, RECOMMENDED, *OTHERS, PLAN]
    ranked = sorted(lines.items(), key=lambda line: order.index(line[0][2].strip('`').partition(f'{RECOMMENDED}: ')[0] or RECOMMENDED))
    return [f'| {" | ".join([*key[:3], ", ".join(versions) or "-", *key[3:]])} |' for key, versions in ranked]


def csv_of(rows: list[Row]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(cells(row) for row in rows)
    return text.getvalue()


def efficiency(rows: list[Row]) -> list[str]:
    """What papers print, 1 - allocated / reserved of the two peaks: a line for each family, the mean of its programs."""
    columns = [(DEFAULT, '2.15'), (EXPANDABLE, '2.15'), (SPLIT, '2.15'), ('garbage_collection_threshold:0.8', '2.15'), (PLAN, '')]
    lines = []
    families = sorted({row.program.family for row in rows})
    for family in [*families, 'all']:
        means = []
        for setting, version in columns:
            chosen = [row for row in rows if (row.setting, row.version) == (setting, version)
                      and row.program.family in (family, row.program.family if family == 'all' else '')]
            means.append(statistics.mean(100 * (1 - row.peak['allocated'] / row.peak['reserved']) for row in chosen))
        lines.append(f'| {family} | {len({row.program.name for row in chosen})} | ' + ' | '.join(f'{mean:.1f}' for mean in means) + ' |')
    return lines


def facts(rows: list[Row]) -> dict[str, object]:
    """The figures of the prose, over the programs without convolutions, under PyTorch 2.15 except where a name says otherwise."""
    plain = {(row.program.name, row.setting, row.version): row for row in rows if not row.program.convolutions}
    names = sorted({name for name, _, _ in plain})

    def above(name: str, setting: str, version: str = '2.15') -> float:
        value = plain[name, setting, version].above
        return float('inf') if value is None else value

    def median(setting: str, version: str = '2.15') -> str:
        return f'{statistics.median(above(name, setting, version) for name in names):.1f}'

    def smaller(setting: str, other: str) -> list[str]:
        return [name for name in names if above(name, setting) < above(name, other)]

    def worse(setting: str) -> list[str]:
        return [name for name in names if plain[name, setting, '2.15'].fragmentation > plain[name, DEFAULT, '2.15'].fragmentation + 0.05]

    split, split_smaller = worse(SPLIT), smaller(SPLIT, DEFAULT)
    changed = [name for name in names if above(name, DEFAULT, '2.4') != above(name, DEFAULT)]
    proof = plain['gpt2_small_train_bs16_varlen_ckpt', SPLIT, '2.15'], plain['gpt2_small_train_bs16_varlen_ckpt', DEFAULT, '2.15']
    calls = [plain[name, EXPANDABLE, '2.15'].fit['at_reliable']['calls'] / plain[name, DEFAULT, '2.15'].fit['at_reliable']['calls'] for name in names]
    gc = 'garbage_collection_threshold:0.8'
    return {
        'programs': len({row.program.name for row in rows}), 'plain': len(names), 'families': len({row.program.family for row in rows}),
        'default_median': median(DEFAULT), 'expandable_median': median(EXPANDABLE), 'plan_median': median(PLAN, ''),
        'split_median': median(SPLIT),
        'expandable_smaller': len(smaller(EXPANDABLE, DEFAULT)), 'expandable_larger': len(smaller(DEFAULT, EXPANDABLE)),
        'expandable_calls': f'{statistics.median(calls):.1f}',
        'split_worse': len(split), 'split_both': len(set(split) & set(split_smaller)),
        'proof_fragmentation': f'{proof[0].fragmentation:.1f}', 'proof_default_fragmentation': f'{proof[1].fragmentation:.1f}',
        'proof_mib': f'{proof[0].fit["reliable"] >> 20:,}', 'proof_default_mib': f'{proof[1].fit["reliable"] >> 20:,}',
        'gc_changes': sum(above(name, gc) != above(name, DEFAULT) for name in names),
        'round_larger': len(smaller(DEFAULT, 'roundup_power2_divisions:8')), 'round_smaller': len(smaller('roundup_power2_divisions:8', DEFAULT)),
        'plan_within': sum(above(name, PLAN, '') < 1 for name in names),
        'versions_changed': len(changed),
        'versions_most': f'{max((abs(above(name, DEFAULT, "2.4") - above(name, DEFAULT)) for name in names), default=0):.1f}',
    }


def write(rows: list[Row], folder: Path) -> None:
    by_program: dict[str, list[Row]] = {}
    for row in rows:
        by_program.setdefault(row.program.name, []).append(row)
    text = (SITE / 'table.head.md.in').read_text(encoding='utf-8')
    values = {**facts(rows), 'efficiency': '\n'.join(efficiency(rows)),
              'rows': '\n'.join(line for some in by_program.values() for line in lines_of(some))}
    (folder / 'table.md').write_text(text.format_map(values), encoding='utf-8')
    (folder / 'table.csv').write_text(','.join(HEADING) + '\n' + csv_of(rows), encoding='utf-8')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tool', metavar='PROGRAM')
    parser.add_argument('--only', metavar='NAME', help='this trace alone')
    parser.add_argument('--lines', action='store_true', help='print rows, of the page and of the CSV, and write no file')
    parser.add_argument('--output', metavar='FOLDER', type=Path, default=SITE, help='where the files go (doc/site)')
    words = parser.parse_args()
    some = [program for program in programs() if words.only in (None, program.name)]
    if not some or words.only and not words.lines:
        parser.error(f'--only {words.only}: ' + ('needs --lines' if some else 'no trace of this name'))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = [row for part in pool.map(lambda program: rows_of(words.tool, program), some) for row in part]
    if words.lines:
        print('\n'.join(lines_of(rows)), csv_of(rows), sep='\n', end='')
    else:
        write(rows, words.output)


if __name__ == '__main__':
    main()
