"""run.py - the pytorch policy on 25 traces on which PyTorch's own allocator was run.

    run.py PROGRAM

Prints TAP. README.md says what the files are. Every line of the placements, and allocated, active
and reserved of every step, have to be the same.
"""
import csv
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIME_LIMIT = 300        # seconds; a sanitizer build on a busy machine takes a while


class Difference(Exception):
    """The first one of a golden."""


def stored(name: str) -> list[str]:
    return lzma.decompress((HERE / (name + '.xz')).read_bytes()).decode().splitlines()


def expected_rows(events: list[dict], places: list[str], metrics: list[str]) -> list[tuple]:
    """(allocated, active, reserved) of each step; allocated follows from the placements."""
    place_of = {place['step']: place for place in map(json.loads, places)}
    live, allocated, rows = {}, 0, []
    for step, (event, line) in enumerate(zip(events, metrics, strict=True)):
        if event['op'] == 'alloc':
            live[event['id']] = place_of[step].get('bytes', 0)
            allocated += live[event['id']]
        elif event['op'] == 'free':
            allocated -= live.pop(event['id'])
        pending, reserved, *_ = map(int, line.split(','))
        rows.append((allocated, allocated + pending, reserved))
    return rows


def run(program: str, golden: dict, events: list[str], folder: Path) -> None:
    head = {'format': 'fragsim-trace', 'version': 1,
            'device': {'total_bytes': golden['total_bytes']}}
    (folder / 'trace').write_text('\n'.join([json.dumps(head), *events]) + '\n')
    command = [program, 'run', '--quiet', '--policy', 'pytorch', '--on-oom', 'continue',
               '--alloc-conf', golden['alloc_conf'], '--placements', folder / 'placements',
               '--steps', folder / 'steps', '--json', folder / 'result', folder / 'trace']
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIME_LIMIT, check=False)
    if done.returncode not in (0, 3) or done.stderr or done.stdout:
        raise Difference('exit status %d: %s' % (done.returncode, done.stderr + done.stdout))


def same_lines(what: str, ours: list, theirs: list) -> None:
    for number, pair in enumerate(zip(ours, theirs)):
        if pair[0] != pair[1]:
            raise Difference('%s %d\nfragsim: %s\nPyTorch: %s' % (what, number, *pair))
    if len(ours) != len(theirs):
        raise Difference('%d of %s, PyTorch has %d' % (len(ours), what, len(theirs)))


def check(program: str, golden: dict) -> None:
    """Raises what differs."""
    lines = stored(golden['trace'] + '.trace')
    places = stored(golden['name'] + '.placements')
    metrics = stored(golden['name'] + '.metrics')[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(program, golden, lines, folder)
        same_lines('placement', (folder / 'placements').read_text().splitlines(), places)
        with (folder / 'steps').open(newline='') as file:
            rows = [(int(row['allocated']), int(row['active']), int(row['reserved']))
                    for row in csv.DictReader(file)]
        same_lines('step', rows, expected_rows([json.loads(line) for line in lines], places,
                                               metrics))
        result = json.loads((folder / 'result').read_text())['runs'][0]
    retries, ooms = map(int, metrics[-1].split(',')[2:])
    same_lines('count', [result['counts']['retries'], result['pytorch']['num_ooms']],
               [retries, ooms])


def main(program: str) -> int:
    listed = subprocess.run([program, 'list', 'policies'], capture_output=True, text=True, check=True)
    if '\npytorch:' not in listed.stdout:
        print('1..0 # SKIP this fragsim has no policy pytorch')
        return 0
    goldens = json.loads((HERE / 'INDEX.json').read_text())
    failed = 0
    print('1..%d' % len(goldens))
    for number, golden in enumerate(goldens, 1):
        try:
            check(program, golden)
            print('ok %d - %s: %s' % (number, golden['name'], golden['what']), flush=True)
        except (Difference, subprocess.TimeoutExpired) as error:
            failed += 1
            print('not ok %d - %s: %s' % (number, golden['name'], golden['what']))
            print('\n'.join('# ' + line for line in str(error).splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
