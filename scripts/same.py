#!/usr/bin/python3 -B
"""same.py - do two builds print and write the same? All commands in all forms are compared.

usage: scripts/same.py OLD NEW [REGEX]

OLD and NEW are two fragsim programs; REGEX chooses command lines. Each line runs in a folder of its
own with traces/ and tests/oracles/corpus; compared are the exit status, both outputs and the files. Prints
what differs; the exit status is 1 where anything does. A change of form alone must show nothing.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
R = 'resnet50_train_bs32_fp32.ndjson.gz'
M = 'moe_train_dispatch.ndjson.gz'
G = 'gpt2_small_train_bs8_seq1024.ndjson.gz'
SNAPSHOTS = ('leak_hook', 'oom_fragmentation', 'gpt_checkpoint')
TWO = 'gpt2_batch2.ndjson.gz=2 gpt2_batch4.ndjson.gz=4'
FORMATS = ('text', 'markdown', 'json', 'csv')
POLICIES = ('bestfit', 'firstfit', 'buddy', 'sizeclass', 'tlsf', 'bfc', 'rmm', 'cupy', 'compact', 'direct')
ANSWERS = (f'fit {R}', f'fit {R} {M}', f'fit --settings short {R}', f'plan {M} -p buddy',
           f'plan --alone {M}', f'ranks {R} {G} --device-bytes 2GiB', f"predict {G} --drop '*'",
           f'predict --shard 2 {R}', 'leaks leak_hook.pickle.gz', f'leaks {R}',
           f'predict {TWO} --at 16', f'predict {TWO} --largest --device-bytes 8GiB',
           f'diff -p bestfit -p buddy {R} {M}', f'run {R}', f'run --device-bytes 3GiB {R}',
           f'explain --device-bytes 3GiB {R}', 'explain oom_fragmentation.pickle.gz', f'trace info {R}',
           'list policies', 'list cards', 'list settings', 'list policies --json -', 'list cards --json -')
SINGLE = (f'fit {R}', f'fit --settings short {R}', f'plan --alone {R}', f'leaks {R}', f'run {R}',
          f'predict --shard 2 {R}', f'explain --device-bytes 2GiB {R}')
OPTIONS = ('--json -', '-q --json x.json', '--device-bytes 0', '--device h100-80gb',
           '--alloc-conf nonsense:1', '--alloc-conf expandable_segments:True', '--format nope',
           "--fail-if 'peak.reserved > 1GiB'", '--bogus', '--threads x',
           *(f'-o x.{ending}' for ending in ('json', 'csv', 'md', 'txt', 'html')))
OF_SNAPSHOTS = ('run', 'explain', 'explain --at peak', 'leaks', 'trace info', 'trace info --json -', 'verify',
                'run -o x.html', 'run --json - -v', 'explain --json -', 'explain -v', 'trace convert -o x.ndjson')


def lines(commands: list[str]) -> list[str]:
    """Every command line that is compared."""
    out = [f'{c} {w}'.rstrip() for c in commands for w in ('-h', '', 'nofile', f'--bogus {R}')]
    out += [f'{a} --format {f}' for a in ANSWERS for f in FORMATS]
    out += [f'{a} {o}' for a in SINGLE for o in OPTIONS]
    out += [f'{o} {s}.pickle.gz' for s in SNAPSHOTS for o in OF_SNAPSHOTS]
    for p in POLICIES:
        out += [f'run -p {p} {M} --json -', f'run -p {p} -v {R}',
                f'run -p {p} --device-bytes 2GiB {M} --steps x.csv --placements y.ndjson']
    out += [f'trace convert {M} -t {form} x.out' for form in ('lines', 'object', 'fsb', 'minimalloc', 'rmm',
                                                        'snapshot', 'perfetto')]
    out += [f'{w} {R} x.ndjson' for w in ('trace anonymize', 'trace slice --from-step 10 --to-step 500',
                                          'trace shrink --device-bytes 2GiB', f'trace merge {M}')]
    return [*out, f'diff -b baseline.json {R} -p pytorch', f'sweep {R} -p bestfit -o x.swept',
            f'run {R} --svg x.svg', 'trace gen --list', 'trace gen random --events 500', 'help nothing',
            "complete -- run ''"]


def play(program: str, line: str, inputs: list[Path]) -> dict[str, bytes]:
    """All that a run shows; the name of the program and its version's line are left alone."""
    with tempfile.TemporaryDirectory() as folder:
        for path in inputs:
            os.symlink(path, Path(folder, path.name))
        done = subprocess.run([program, *shlex.split(line)], cwd=folder, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=600)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob('*'))
                 if p.is_file() and not p.is_symlink()}
    return {'status': b'%d' % done.returncode, 'stdout': done.stdout, 'stderr': done.stderr, **files}


def main(argv: list[str]) -> int:
    if len(argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    programs = [str(Path(x).resolve()) for x in argv[1:3]]
    inputs = [*ROOT.glob('traces/*'), *ROOT.glob('tests/oracles/corpus/*.gz'),
              *ROOT.glob('tests/commands/predict/recordings/*.gz')]
    help_ = subprocess.run([programs[0], '--help'], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r'^  ([a-z-]+)  ', help_, re.M)
    chosen = [x for x in lines(commands) if re.search(argv[3] if len(argv) > 3 else '.', x)]

    def differing(line: str) -> list[str]:
        old, new = (play(program, line, inputs) for program in programs)
        return sorted(x for x in old.keys() | new.keys() if old.get(x) != new.get(x))

    bad = 0
    with ThreadPoolExecutor(2) as pool:
        for line, parts in zip(chosen, pool.map(differing, chosen)):
            bad += bool(parts)
            if parts:
                print(f'{line}: {", ".join(parts)}')
    print(f'{len(chosen)} command lines, {bad} differ')
    return 1 if bad or not chosen else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
