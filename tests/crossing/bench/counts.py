"""counts.py - how many instructions an event takes, and in which room they are.

    counts.py [--quick | --tiny] [--json FILE]

Callgrind (of valgrind) counts within the reading of a trace, and within a run from a tape, of
which each room of src/ has the lines that are written in its files, wherever they are inlined.
$BUILD/bench is the program; there is no clock in it, so it may run beside anything.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

BUILD = Path(os.environ.get('BUILD', 'build')).resolve()
SHAPES = (('random', 2000), ('random', 50000), ('training', 2000), ('training', 50000))
LEVELS = ('all', 'peaks', 'survive')
ROOM = re.compile(r'(?:^|/)src/(\w+)/')
NAME = re.compile(r'\((\d+)\)(?: (.*))?$')


def rooms_of(text: str) -> Counter[str]:
    """Costs of callgrind's file by room; `other` is what is not ours: libraries."""
    out: Counter[str] = Counter()
    names: dict[str, str] = {}
    file, called = '', False
    for line in text.splitlines():
        key, equals, value = line.partition('=')
        if equals and key in ('fl', 'fi', 'fe'):
            found = NAME.match(value)
            if found and found[2] is not None:
                names[found[1]] = found[2]
            file = names[found[1]] if found else value
        elif equals and key in ('cfi', 'cfl'):
            found = NAME.match(value)
            if found and found[2] is not None:
                names[found[1]] = found[2]
        elif key == 'calls':
            called = True               # the line behind it is what the called one took
        elif re.match(r'[+\-*\d]', line):
            if not called:
                room = ROOM.search(file)
                out[room[1] if room else 'other'] += int(line.split()[1])
            called = False
    return out


def count(function: str, shape: str, live: int, events: int, level: str) -> dict[str, float]:
    out = BUILD / 'bench-callgrind.out'
    done = subprocess.run(
        ['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}',
         f'--toggle-collect={function}', str(BUILD / 'bench'), '--count', shape, str(live),
         str(events), 'bestfit', level, str(BUILD / 'bench-count.ndjson')],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f'counts.py: {done.args}: {done.returncode} {done.stderr!r}')
    rooms = rooms_of(out.read_text(encoding='utf-8'))
    out.unlink()
    return {room: cost / events for room, cost in sorted(rooms.items())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--tiny', action='store_true')
    parser.add_argument('--json', default=str(BUILD / 'bench-counts.json'))
    options = parser.parse_args()
    run = 'tiny' if options.tiny else 'quick' if options.quick else 'full'
    events = {'tiny': 5000, 'quick': 50000, 'full': 200000}[run]
    if not shutil.which('valgrind'):
        sys.exit('counts.py: valgrind is missing (a Debian package of that name)')
    rows = []
    for shape, live in SHAPES:
        print(f'\ninstructions an event, {shape} {live}, {events} events', flush=True)
        row = {'shape': shape, 'live': live, 'events': events,
               'reading': count('frag_trace_next', shape, live, events, 'reading')}
        for level in LEVELS:
            row[level] = count('frag_sim_play', shape, live, events, level)
        for part in ('reading', *LEVELS):
            print(f'{part:10}{sum(row[part].values()):8.0f}  '
                  + ', '.join(f'{room} {cost:.0f}' for room, cost in row[part].items()))
        rows.append(row)
    with open(options.json, 'w', encoding='utf-8') as file:
        json.dump({'run': run, 'rows': rows}, file, indent='\t')
        file.write('\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
