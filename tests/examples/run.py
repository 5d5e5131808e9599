#!/usr/bin/python3
"""run.py - the library as others use it: from an installed copy, through pkg-config.

usage: run.py PROGRAM

`make check` has installed into BUILD/stage. The examples are compiled with the command that
fragsim(3) gives, against the shared and against the static library, and run; what they print is
arithmetic (below), or what the program itself says of the same trace. The library shows what the
public headers declare and nothing else, and the pages show the examples as they are.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from tap import Tap  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MIB = 1 << 20
STRICT = ['-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']


class Stage:
    """The installed copy."""

    def __init__(self, build: Path) -> None:
        self.root = build / 'stage'
        self.pc = next(self.root.rglob('fragsim.pc'))
        self.lib = self.pc.parent.parent
        self.include = next(self.root.rglob('plugin.h')).parent
        self.env = {**os.environ, 'PKG_CONFIG_PATH': str(self.pc.parent), 'LC_ALL': 'C',
                    'PKG_CONFIG_SYSROOT_DIR': str(self.root), 'LD_LIBRARY_PATH': str(self.lib)}

    def flags(self, *options: str) -> list[str]:
        return self.run('pkg-config', *options, 'fragsim').stdout.split()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False,
                              timeout=100)


def compiler() -> list[str]:
    sanitizers = os.environ.get('SAN')
    return [*(os.environ.get('CC') or 'cc').split(),
            *([f'-fsanitize={sanitizers}'] if sanitizers else []),
            *(['--coverage'] if os.environ.get('COVERAGE') else [])]


def declared(stage: Stage) -> set[str]:
    """The functions and objects of the installed headers, plugin.h apart: that is for plug-ins."""
    names: set[str] = set()
    for path in stage.include.glob('*.h'):
        if path.name == 'plugin.h':
            continue
        text = re.sub(r'/\*.*?\*/|^\s*#.*?[^\\]$', '', path.read_text(encoding='utf-8'),
                      flags=re.S | re.M)
        depth = 0               # what stands in braces is a structure
        top = ''.join(';' if c == '}' else c for c in text
                      if (depth := depth + (c == '{') - (c == '}')) == 0)
        for statement in top.split(';'):
            if 'typedef' in statement or 'static inline' in statement:
                continue
            found = re.search(r'\b(frag_\w+)\s*\(', statement) \
                or re.search(r'extern [^(]*\b(frag_\w+)\s*$', statement)
            if found:
                names.add(found[1])
    return names


def check_exports(tap: Tap, stage: Stage) -> None:
    version = re.search(r'FRAG_ABI (\d+)', (stage.include / 'version.h').read_text())[1]
    shared = stage.lib / f'libfragsim.so.{version}'
    shown = stage.run('nm', '-D', '--defined-only', str(shared)).stdout.split('\n')
    names = {line.split()[2].split('@')[0] for line in shown if line and ' A ' not in line}
    tags = {line.split('@@')[1] for line in shown if '@@' in line}
    wanted = declared(stage)
    tap.result('the library shows what the headers declare, and nothing else',
               len(wanted) < 50 and f'only {len(wanted)} names in the headers',
               [f'not in scripts/exports.map: {x}' for x in sorted(wanted - names)],
               [f'in no header: {x}' for x in sorted(names - wanted)])
    dynamic = stage.run('readelf', '-d', str(shared)).stdout
    tap.result('its name and the version of its names are those of version.h',
               f'Library soname: [{shared.name}]' not in dynamic and dynamic,
               tags != {f'FRAGSIM_{version}'} and tags,
               os.readlink(stage.lib / 'libfragsim.so') != shared.name and 'another link')


def show(path: Path) -> str:
    """A page's text with its literal blocks as they are written."""
    text = re.sub(r'^\\&', '', path.read_text(encoding='utf-8'), flags=re.M)
    return text.replace('\\e', '\\')


def check_pages(tap: Tap) -> None:
    peaks = (HERE / 'peaks.c').read_text(encoding='utf-8').split('\n', 1)[1].strip('\n')
    tap.result('fragsim(3) shows peaks.c as it is',
               peaks.expandtabs(8) not in show(ROOT / 'man' / 'fragsim.3') and 'it does not')
    for page, name, first in (('fragsim.3', 'own_events.c', '/* A log'),
                              ('fragsim-plugin.7', 'snug.c', '#include')):
        blocks = re.findall(r'^\.Bd -literal\n(.*?)^\.Ed$', show(ROOT / 'man' / page),
                            flags=re.S | re.M)
        source = (HERE / name).read_text(encoding='utf-8').expandtabs(8)
        parts = [b for b in blocks if b.rstrip('\n') in source]
        lines = {line for b in parts for line in b.split('\n')}
        whole = source[source.index(first):]
        missing = [line for line in whole.split('\n') if line not in lines]
        # of own_events.c the page leaves out how a program begins and ends
        most = 0 if name == 'snug.c' else len(whole.split('\n')) // 3
        tap.result(f'{page} goes through {name}', len(missing) > most and '\n'.join(missing))


def command_of_page() -> list[str]:
    found = re.search(r'^\.Li (cc .*)$', (ROOT / 'man' / 'fragsim.3').read_text(), flags=re.M)
    return found[1].split() if found else []


def check_example(tap: Tap, stage: Stage, folder: Path, name: str,
                  runs: list[tuple[list[str], int, str, str]]) -> None:
    """runs: arguments, status, standard output, and a part of standard error."""
    source = str(stage.root / next(stage.root.rglob(f'{name}.c')).relative_to(stage.root))
    ways = {
        'shared': stage.flags('--cflags', '--libs'),
        'static': [*stage.flags('--cflags'), str(stage.lib / 'libfragsim.a'),
                   *[x for x in stage.flags('--static', '--libs') if x != '-lfragsim']],
    }
    for way, flags in ways.items():
        program = str(folder / f'{name}-{way}')
        made = stage.run(*compiler(), *STRICT, '-o', program, source, *flags)
        tap.result(f'{name}.c with the {way} library: compiles', made.returncode and made.stderr)
        needs = stage.run('readelf', '-d', program).stdout
        tap.result(f'{name}.c with the {way} library: needs libfragsim.so or does not',
                   ('libfragsim.so' in needs) != (way == 'shared') and needs)
        for arguments, status, out, error in runs:
            done = stage.run(program, *arguments)
            tap.result(f'{name} {" ".join(arguments)}, {way}',
                       done.returncode != status and f'status {done.returncode}',
                       done.stdout != out and f'printed {done.stdout!r}, not {out!r}',
                       error not in done.stderr and done.stderr)


def peaks_of(program: str, trace: str) -> str:
    """What peaks.c has to say of a trace, by what the program says."""
    policies = ('bestfit', 'pytorch:expandable_segments=True')
    done = subprocess.run([program, 'run', '-q', '--json', '-', *(f'-p{p}' for p in policies), trace],
                          capture_output=True, check=True)
    runs = json.loads(done.stdout)['runs']
    return ''.join(f'{p} reserved {run["peak"]["reserved"]} bytes\n'
                   for p, run in zip(policies, runs, strict=True))


def smallest_of(program: str, trace: str) -> str:
    """What smallest.c says: on that device the program survives, and on a page less it does not."""
    def status(total: int) -> int:
        return subprocess.run([program, 'run', '-q', '-p', 'pytorch', '--context-bytes', '0',
                               '--device-bytes', str(total), trace], check=False).returncode
    total = 2 * MIB
    while status(2 * total):
        total *= 2
    # in this trace what survives grows with the device, so halves find it
    low, high = total // (2 * MIB), total // MIB
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if status(middle * 2 * MIB) else (low, middle)
    return f'pytorch survives on {high * 2 * MIB} bytes ('


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    program = Path(argv[1]).absolute()
    tap = Tap()
    stage = Stage(program.parent)
    trace = str(ROOT / 'traces' / 'moe_train_dispatch.ndjson.gz')
    check_exports(tap, stage)
    check_pages(tap)
    tap.result('fragsim(3) tells this command', command_of_page() != [
        'cc', 'program.c', '$(pkg-config', '--cflags', '--libs', 'fragsim)'] and command_of_page())
    with tempfile.TemporaryDirectory(prefix='examples-') as place:
        folder = Path(place)
        small = folder / 'small.ndjson'
        # bestfit: one segment of 3 MiB rounded up to 4, whose rest serves the other; pytorch maps
        # 20 MiB pages for what is larger than 1 MiB and 2 MiB pages for what is not
        small.write_text(f'{{"op":"alloc","id":1,"size":{3 * MIB}}}\n'
                         f'{{"op":"alloc","id":2,"size":{MIB}}}\n')
        check_example(tap, stage, folder, 'peaks', [
            ([str(small)], 0, f'bestfit reserved {4 * MIB} bytes\n'
             f'pytorch:expandable_segments=True reserved {22 * MIB} bytes\n', ''),
            ([trace], 0, peaks_of(str(program), trace), ''),
            ([str(folder / 'none')], 4, '', 'No such file'),
        ])
        # 3 and 1 MiB live, then 1 and 2: bestfit fills one segment of 4 MiB and then the 3 MiB
        # that were freed; direct holds 4 + 2 MiB in pages of 2, then 2 + 2
        # bestfit asks for 4 MiB, direct for 4 and then for 2 beside them: each refusal says what
        # to try next
        check_example(tap, stage, folder, 'smallest', [
            ([str(small)], 0, f'bestfit survives on {4 * MIB} bytes (2 runs)\n', ''),
            ([str(small), 'direct'], 0, f'direct survives on {6 * MIB} bytes (3 runs)\n', ''),
            ([str(folder / 'none')], 4, '', 'No such file'),
            ([str(small), 'nofit'], 2, '', 'nofit'),
        ])
        found = stage.run(str(folder / 'smallest-static'), trace, 'pytorch').stdout
        tap.result('smallest finds what halving finds',
                   not found.startswith(smallest_of(str(program), trace)) and found)
        check_example(tap, stage, folder, 'own_events', [
            ([], 0, f'bestfit reserved {4 * MIB} bytes\n', ''),
            (['direct'], 0, f'direct reserved {6 * MIB} bytes\n', ''),
            (['buddy:min=7'], 2, '', 'min=7 is not a power of two'),
        ])
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
