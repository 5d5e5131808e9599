"""plans.py - how far plans are from their bound, beside two orders that allocators and compilers use.

    plans.py [--quick | --tiny] [TRACE | FOLDER]...

A folder has traces and minimalloc's CSV; the name of a CSV may end in .CAPACITY.csv, which is then
the goal. Each plan is checked here: no two buffers overlap, and the height is the highest end.
Exit status 1 where one is wrong.
"""
import bisect
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = str(Path(os.environ.get('BUILD', 'build')) / 'fragsim')


def apart(rows: list[tuple[int, int, int, int]]) -> bool:
    """No two of (birth, end, offset, size) share a byte and a time: a sweep over births."""
    live: list[tuple[int, int, int, int]] = []
    for row in sorted(rows):
        live = [x for x in live if x[1] > row[0]]
        if any(x[2] < row[2] + row[3] and row[2] < x[2] + x[3] for x in live):
            return False
        live.append(row)
    return True


def greedy(rows: list[tuple[int, int, int, int]], by_size: bool) -> int | None:
    """The height of TensorFlow Lite's greedy by size, which takes the smallest gap, or of first fit in the order of
    allocation; None for more than 8,000 buffers, as both are quadratic."""
    if len(rows) > 8000:
        return None
    placed: list[tuple[int, int, int, int]] = []
    for birth, end, _, size in sorted(rows, key=lambda x: (-x[3] * by_size, x[0])):
        top, best, gap = 0, -1, -1
        for at, after, _, _ in [x for x in placed if x[2] < end and birth < x[3]]:
            if at - top >= size and (gap < 0 or (by_size and at - top < gap)):
                best, gap = top, at - top
            top = max(top, after)
        at = best if gap >= 0 else top
        bisect.insort(placed, (at, at + size, birth, end))
    return max(x[1] for x in placed)


def pct(height: int | None, bound: int) -> str:
    return '-' if height is None else f'{100 * (height / bound - 1):.3f} %'


def plan(path: Path, seconds: str) -> bool:
    parts = path.name.split('.')
    goal = parts[-2] if path.suffix == '.csv' and len(parts) > 2 and parts[-2].isdigit() else ''
    words = ['--align', '1'] * (path.suffix == '.csv') + ['--capacity', f'{goal}B'] * bool(goal)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'plan.csv'
        begun = time.monotonic()
        done = subprocess.run([PROGRAM, 'plan', '--alone', '--time', seconds, '--threads', '1', *words,
                               '--json', '-', '-o', out, path], capture_output=True, check=False)
        took = time.monotonic() - begun
        if done.returncode not in (0, 1):
            print(f'{path.name:44} {done.stderr.decode().strip()}')
            return 'has room for one' in done.stderr.decode()
        with out.open() as f:
            rows = [tuple(int(x[k]) for k in ('lower', 'upper', 'offset', 'size')) for x in csv.DictReader(f)]
    said = json.loads(done.stdout)
    sound = apart(rows) and max(x[2] + x[3] for x in rows) == said['height']
    bound = said['bound']
    print(f'{path.name:44} {len(rows):8} {bound:14} {goal or "":>10} {said["height"]:14} '
          f'{pct(said["height"], bound):>9} {pct(greedy(rows, True), bound):>9} '
          f'{pct(greedy(rows, False), bound):>9} {took:7.2f} '
          f'{said["verdict"]}{"" if sound else ", WRONG"}')
    return sound


def main(words: list[str]) -> int:
    small = any(word in ('--quick', '--tiny') for word in words)
    roots = [Path(word) for word in words if not word.startswith('-')] or [Path('traces')]
    paths = [x for root in roots for x in (sorted(root.iterdir()) if root.is_dir() else [root])]
    paths = [x for x in paths if x.name.endswith(('.ndjson.gz', '.csv', '.ndjson', '.fsb'))]
    print(f'\n{"plan":44} {"buffers":>8} {"bound":>14} {"capacity":>10} {"height":>14} {"above":>9} '
          f'{"TFLite":>9} {"birth":>9} {"seconds":>7}')
    good = [plan(path, '1s' if small else '10s') for path in paths[:2 if small else None]]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
