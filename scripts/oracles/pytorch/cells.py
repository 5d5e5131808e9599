#!/usr/bin/env python3
"""cells.py PROGRAM [COUNT [SEED]] - hold cells of the table of settings (doc/site/table.csv) to the real allocator

The oracle of 2.15, and that of 2.8 where it is built, runs the trace on a device of the size that the table has, where every request must
succeed, and on one that is 2 MiB smaller, where one must fail. Cells are drawn at random, of traces with few
events, because the oracle adds up its heap after each; status 1: one was wrong.
"""
import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ORACLES = {'2.15': ROOT / 'build/pytorch-oracle/oracle', '2.8': ROOT / 'build/pytorch-oracle-2.8/oracle'}
MIB = 1 << 20
MOST_EVENTS = 20_000


def events(program: str, trace: Path) -> str:
    """The trace as lines of the oracle."""
    done = subprocess.run([program, 'trace', 'convert', '-q', '-t', 'lines', trace, '-'], capture_output=True, text=True, check=True)
    lines = []
    for event in map(json.loads, done.stdout.splitlines()[1:]):
        if event['op'] == 'alloc':
            lines.append(f'a {event["id"]} {event["size"]} {event.get("stream", 0)}')
        elif event['op'] == 'free':
            lines.append(f'f {event["id"]}')
        elif event['op'] != 'mark':
            raise SystemExit(f'cells.py: {trace.name}: an event that the oracle is not told of here: {event}')
    return '\n'.join(lines) + '\n'


def failures(version: str, setting: str, size: int, text: str, recorded: bool) -> int:
    """How many requests of the trace run out of memory. Up to 2.11 the addresses of segments decide: in a recording they rise, as on the
    fake device that it was made on, and in a trace without addresses each lies below the others."""
    way = 'fall' if version == '2.8' and not recorded else 'rise'
    done = subprocess.run([ORACLES[version]], input=text, capture_output=True, text=True, check=True,
                          env={**os.environ, 'PYTORCH_CUDA_ALLOC_CONF': setting, 'FAKE_TOTAL': str(size),
                               'FAKE_ADDRESS': way, 'FAKE_RANGES': way})
    rows = [line.split() for line in done.stdout.splitlines()]
    assert sum(row[0] == 'a' for row in rows) == sum(line.startswith('a') for line in text.splitlines()), done.stderr
    return sum(row[:2] == ['a', 'OOM'] for row in rows)


def main(program: str, count: int = 10, seed: int = 1) -> int:
    with open(ROOT / 'doc/site/table.csv', encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['pytorch'] in ORACLES and ORACLES[row['pytorch']].exists()
                and row['setting'] != 'recommended']
    wrong = done = 0
    random.Random(seed).shuffle(rows)
    for row in rows:
        [trace] = [path for folder in ('traces', 'traces/programs') for path in (ROOT / folder).glob(f'{row["program"]}.*')]
        size, setting = int(row['reliable_bytes']), '' if row['setting'] == 'default' else row['setting']
        text = events(program, trace)
        if text.count('\n') > MOST_EVENTS:
            continue
        done += 1
        at, below = (failures(row['pytorch'], setting, bytes_, text, trace.suffix == '.fsb') for bytes_ in (size, size - 2 * MIB))
        good = at == 0 and below > 0
        wrong += not good
        print(f'{"ok" if good else "WRONG"}: {row["program"]}, {row["setting"]}, PyTorch {row["pytorch"]}: {size // MIB} MiB: '
              f'{at} requests fail, 2 MiB below {below}', flush=True)
        if done == count:
            break
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
