#!/usr/bin/python3
"""run.py - doc/site/table.md and table.csv are what scripts/table.py makes of the traces; prints TAP.

    run.py PROGRAM

One small program is simulated anew, under every setting. Two measurements come from elsewhere: the description of pull request 193400 of
PyTorch has what its allocator reserved, and `run` says whether a device of a size fits that `fit` found.
"""
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'tests' / 'support'), str(ROOT / 'scripts')]
import table                    # noqa: E402
from program import call, document      # noqa: E402
from tap import Tap             # noqa: E402

TAP = Tap()
MIB = 1 << 20
SMALL = 'resnet50_train_bs32_fp32'
MOST_BYTES = 6_000_000
FAMILIES = 10
# MiB that were allocated and reserved after these cycles, on a card of 16 GiB
PUBLISHED = {0: (66, 220), 20: (106, 2980), 40: (146, 5760), 60: (186, 8520), 80: (226, 11300), 100: (266, 14060)}


def test_lists(page: str, rows: list[dict[str, str]]) -> None:
    files = sorted([*table.TRACES.glob('*.ndjson.gz'), *(table.TRACES / 'programs').glob('*.fsb')])
    there = {path.name.partition('.')[0] for path in files}
    listed = table.programs()
    TAP.same('the READMEs have a row for each trace', {x.name for x in listed}, there)
    rows_of_page = page.partition('## All rows')[2]
    TAP.same('the page lists the traces, and no other', set(re.findall(r'^\| (\w+)(?:\\\*)? \|', rows_of_page, re.M)) - {'program'}, there)
    TAP.same('so does the CSV', {row['program'] for row in rows}, there)
    recorded = re.findall(r"^    '(\w+)': P\(", (table.TRACES / 'programs/programs.py').read_text(encoding='utf-8'), re.M)
    TAP.same('each program of programs.py is recorded', set(recorded), {x.stem for x in files if x.suffix == '.fsb'})
    families = {x.family for x in listed}
    TAP.ok(len(there) >= 30 and len(families) >= FAMILIES, 'at least 30 programs, of ten families', len(there), sorted(families))
    size = sum(path.stat().st_size for path in files)
    TAP.ok(size < MOST_BYTES, f'all together have less than {MOST_BYTES} bytes', size)


def test_again(program: str, page: str, text: str) -> None:
    done = subprocess.run([sys.executable, '-B', ROOT / 'scripts/table.py', program, '--only', SMALL, '--lines'],
                          capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    TAP.ok(done.returncode == 0 and len(lines) > len(table.SETTINGS), f'{SMALL} is simulated again', done.stderr)
    both = [line for line in [*page.splitlines(), *text.splitlines()] if line.startswith((f'| {SMALL}', f'{SMALL},'))]
    TAP.same('its rows are those of the page and of the CSV (if not: make table)', lines, both)


def test_published(folder: Path) -> None:
    """A = 91 MiB and B = 45.5 MiB, then 2 MiB that stay alive, beside the 64 MiB that are there before; A and B are freed."""
    lines: list[dict[str, object]] = [{'format': 'fragsim-trace', 'version': 1}, {'op': 'alloc', 'id': 0, 'size': 64 * MIB}]
    for cycle in range(101):
        first = 1 + 3 * cycle
        lines += [{'op': 'alloc', 'id': first + i, 'size': size} for i, size in enumerate((91 * MIB, 91 * MIB // 2, 2 * MIB))]
        lines += [{'op': 'free', 'id': first}, {'op': 'free', 'id': first + 1}, {'op': 'mark', 'name': f'cycle {cycle}'}]
    trace = folder / 'cycles.ndjson'
    trace.write_text('\n'.join(map(json.dumps, lines)) + '\n', encoding='ascii')
    done = document('run', '-q', '--device-bytes', '16GiB', '-p', 'pytorch:max_split_size_mb=128,expandable_segments=true', trace)
    marks = {mark['name']: mark for mark in done['runs'][0]['marks']}
    got = {cycle: (marks[f'cycle {cycle}']['allocated'], marks[f'cycle {cycle}']['reserved']) for cycle in PUBLISHED}
    TAP.same('pytorch#193400: the six figures, to the byte', got,
             {cycle: (allocated * MIB, reserved * MIB) for cycle, (allocated, reserved) in PUBLISHED.items()})


def test_two_measures(rows: list[dict[str, str]]) -> None:
    """More fragmentation and a smaller device: `run` fits at the size, and not 2 MiB below."""
    name = 'gpt2_small_train_bs16_varlen_ckpt'
    split, usual = (next(row for row in rows if (row['program'], row['setting'], row['pytorch']) == (name, setting, '2.15'))
                    for setting in (table.SPLIT, table.DEFAULT))
    TAP.ok(float(split['fragmentation']) > 4 * float(usual['fragmentation'])
           and int(split['reliable_bytes']) < int(usual['reliable_bytes']), 'the two measures disagree on GPT-2', split, usual)
    for row in (split, usual):
        size = int(row['reliable_bytes'])
        found = [call('run', '-q', '-p', table.policy(row['setting'], '2.15'), '--device-bytes', str(at),
                      table.TRACES / f'{name}.ndjson.gz')[0] for at in (size, size - 2 * MIB)]
        TAP.same(f'{row["setting"]}: {size >> 20} MiB fit, 2 MiB less do not', found, [0, 3])


def main(program: str) -> int:
    page, text = ((table.SITE / name).read_text(encoding='utf-8') for name in ('table.md', 'table.csv'))
    rows = list(csv.DictReader(text.splitlines()))
    test_lists(page, rows)
    test_again(program, page, text)
    with tempfile.TemporaryDirectory(prefix='table-') as folder:
        test_published(Path(folder))
    test_two_measures(rows)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
