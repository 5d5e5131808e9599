"""run.py - a program whose locale writes 0,5 reads and writes 0.5 through the library.

    run.py PROGRAM      prints TAP

comma.c sets the locale, which is made here: a machine may have none. Each command
then has to do byte for byte what it does without. And no source prints or reads a
number with a fraction in the locale of the program.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1] / 'support'))
sys.path.insert(0, str(HERE.parents[1] / 'formats' / 'snapshot'))
import snaps  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
LOCALE = 'de_DE.UTF-8'
# a number with an exponent, or of more than 15 digits, is none that is read by a table
TRACE = '''{"op":"alloc","id":1,"size":3000001,"t":1.5}
{"op":"alloc","id":"b","size":70000,"t":2.25e0,"tag":"x"}
{"op":"mark","name":"m","t":2.718281828459045235}
{"op":"set_fraction","value":7.5e-1,"t":3.0000000000000001}
{"op":"configure","value":"garbage_collection_threshold:0.625","t":4.125}
{"op":"free","id":1,"t":0.5e1}
{"op":"alloc","id":3,"size":26000000,"t":3.5}
'''
KINETO = '''{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":1,"tid":7,"ts":0.25e0,"dur":9.5},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":1.5e0,
 "args":{"Bytes":512,"Addr":4096,"Device Type":1,"Device Id":0}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":0.25e1,
 "args":{"Bytes":-512,"Addr":4096,"Device Type":1,"Device Id":0}}]}
'''
CONF = 'garbage_collection_threshold:0.8,per_process_memory_fraction:0.95'
RMM = '''Thread,Time,Action,Pointer,Size,Stream
1,10:00:00.000001,allocate,0x7f00,1000,0x0
1,10:00:00.000002,free,0x7f00,1000,0x0
'''
# the commands, one after the other in one folder
COMMANDS = (
    'run t -p bestfit -p pytorch:garbage_collection_threshold=0.75 -p pytorch --steps s.csv'
    ' --placements p.ndjson --json r.json --summary pytorch --device-bytes 24MiB'
    ' --on-oom continue',
    f'run t --alloc-conf {CONF} --steps s.ndjson --json r2.json --device-bytes 32.5MiB',
    'run t -q --fail-if fi.mean>0.5e0 --device-bytes 64MiB',
    'run t -q --fail-if fi.mean>1,5',
    'trace info t', 'trace info --json i.json t', 'trace info k.json', 'trace info --json k.info k.json', 'trace info r.csv',
    'diff -p bestfit -p buddy t', 'diff r.json r2.json', 'diff --format json r.json r2.json',
    'diff --format markdown r.json r2.json', 'diff --format csv r.json r2.json',
    'diff --format junit r.json r2.json', 'diff --format github r.json r2.json',
    f'diff -b b.json --update-baseline -p pytorch --alloc-conf {CONF} t',
    f'diff -b b.json --fail-if fi.mean>+0.5% --gate -p pytorch --alloc-conf {CONF} t',
    'trace convert t -q t.fsb', 'trace convert t.fsb -q back.ndjson', 'trace convert -q --to rmm t t.csv',
    'trace convert -q --to perfetto t perfetto.json', 'trace convert -q --to snapshot t made.pickle',
    'trace convert k.json -q k.ndjson', 'trace convert s.pickle -q s.ndjson', 'verify s.pickle',
    'trace slice --from-time 2.2e0 --to-time 4.5 -q t sliced.json', 'trace merge -q t sliced.json merged.json',
    'trace gen training -o gen', 'list policies',
)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*')
            if path.is_file()}


def fill(folder: Path) -> Path:
    folder.mkdir()
    (folder / 't').write_text(TRACE)
    (folder / 'k.json').write_text(KINETO)
    (folder / 'r.csv').write_text(RMM)
    snapshot = snaps.basic()
    snapshot['allocator_settings']['garbage_collection_threshold'] = 0.8
    (folder / 's.pickle').write_bytes(snaps.pickled(snapshot))
    return folder


def make_locale(folder: Path) -> str:
    """Why it could not be made, or nothing."""
    if not shutil.which('localedef'):
        return 'no localedef'
    done = subprocess.run(['localedef', '--no-archive', '-i', 'de_DE', '-f', 'UTF-8',
                           str(folder / LOCALE)], capture_output=True, text=True, check=False)
    return '' if (folder / LOCALE / 'LC_NUMERIC').exists() else \
        f'no definition of {LOCALE} to make it from ({done.stderr.strip()[:80]})'


def make_library(folder: Path) -> Path | None:
    compiler = next(filter(shutil.which, ('cc', 'gcc', 'clang')), None)
    if not compiler:
        return None
    library = folder / 'comma.so'
    subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', str(library),
                    str(HERE / 'comma.c')], check=True)
    return library


def compare(program: str, folder: Path, library: Path) -> None:
    plain, comma = fill(folder / 'plain'), fill(folder / 'comma')
    # a sanitizer wants to be the first library
    asan = os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
    env = {**os.environ, 'LOCPATH': str(folder), 'LD_PRELOAD': str(library), 'ASAN_OPTIONS': asan}
    told: set[str] = set()
    for line in COMMANDS:
        ends = [subprocess.run([program, *line.split(' ')], cwd=where, env=have, check=False,
                               capture_output=True, stdin=subprocess.DEVNULL, timeout=100)
                for where, have in ((plain, os.environ), (comma, env))]
        a, b = ((end.returncode, end.stdout, end.stderr) for end in ends)
        made = [files(where) for where in (plain, comma)]
        differ = {name for name in made[0].keys() | made[1].keys()
                  if made[0].get(name) != made[1].get(name)} - told
        told |= differ
        TAP.result(f'fragsim {line}', a != b and f'{a} without, {b} with',
                   a[0] not in (0, 1, 3) and ',5' not in line and f'it did not run: {a}',
                   [f'{name}: {made[0].get(name)!r} without, {made[1].get(name)!r} with'
                    for name in sorted(differ)])


def calls(text: str):
    """Each call of printf and its like: its line, and all of it."""
    for found in re.finditer(r'(?<!\w)(?:sn|f)?printf\s*\(', text):
        depth, end = 1, found.end()
        while depth:
            depth += {'(': 1, ')': -1}.get(text[end], 0)
            end += 1
        yield text.count('\n', 0, found.start()) + 1, text[found.start():end]


def sources() -> list[str]:
    fraction = re.compile(r'%[-+ #0]*[\d*]*(?:\.[\d*]*)?L?[aefgAEFG]')
    return [f'{path.relative_to(ROOT)}:{line}: prints a fraction without base/format.h'
            for path in sorted((ROOT / 'src').glob('*/*.[ch]')) if path.stem != 'print'
            for line, call in calls(path.read_text()) if fraction.search(call)]


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    TAP.result('what prints a fraction does so through base/format.h', sources())
    with tempfile.TemporaryDirectory(prefix='fragsim-locale-') as name:
        folder = Path(name)
        why, library = make_locale(folder), make_library(folder)
        if why or not library:
            TAP.skip('the program in a locale with commas', why or 'no compiler')
        else:
            compare(os.path.abspath(argv[1]), folder, library)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
