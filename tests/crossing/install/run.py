"""run.py - make install and make uninstall: all of it, where it was told, and nothing else;
and what make help lists.

    run.py PROGRAM      prints TAP

What `make check` built is installed again, into stages of this test's own.
"""

import os
import re
import stat
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
PREFIX = 'opt/some-where'
# what each file of the installation is a copy of; a pattern stands for one at least
COPIES = {
    'bin/fragsim': 'build:fragsim',
    'lib/libfragsim.a': 'build:libfragsim.a',
    'lib/fragsim/libfragsim-record.so': 'build:libfragsim-record.so',
    'include/fragsim': 'include/fragsim/*.h',
    'share/man/man1': 'man/*.1',
    'share/man/man3': 'man/*.3',
    'share/man/man5': 'man/*.5',
    'share/man/man5/fragsim-documents.5': 'build:documents/fragsim-documents.5',
    'share/man/man7': 'man/*.7',
    'share/fragsim/skills/fragsim/SKILL.md': 'skills/fragsim/SKILL.md',
    'share/fragsim/record_torch.py': 'scripts/record_torch.py',
    **{f'share/fragsim/python/{x}.py': f'python/fragsim/{x}.py'
       for x in ('recording', '_watching', 'models', '_operators', '_shards')},
    'share/fragsim/python/recorder/sitecustomize.py': 'python/fragsim/recorder/sitecustomize.py',
    'share/fragsim/examples': 'tests/examples/*.c',
    'share/fragsim/traces': 'traces/*',
    'share/bash-completion/completions/fragsim': 'scripts/completion/fragsim.bash',
    'share/zsh/site-functions/_fragsim': 'scripts/completion/_fragsim',
    'share/fish/vendor_completions.d/fragsim.fish': 'scripts/completion/fragsim.fish',
}

# the libraries that a build may lack
ISAL = ('libisal',) if b'libisal.so' in Path(sys.argv[1]).read_bytes() else ()
SQLITE = () if b'no SQLite' in subprocess.run([sys.argv[1], '--version'], capture_output=True,
                                              check=True).stdout else ('sqlite3',)

TAP = Tap()
report = TAP.result


def make(build: Path, target: str, *settings: str) -> None:
    """Nothing is built: `all` counts as done."""
    sanitizers = os.environ.get('SAN', '')
    base = build.parent if sanitizers else build
    env = {k: v for k, v in os.environ.items() if not k.startswith(('MAKE', 'MFLAGS', 'BUILD'))}
    done = subprocess.run(['make', '-s', '-o', 'all', target, f'BUILD={base}', f'SAN={sanitizers}',
                           *settings], cwd=ROOT, env=env, capture_output=True, text=True,
                          check=False, timeout=100)
    assert done.returncode == 0 and not done.stdout, (target, done.stdout, done.stderr)


def found(folder: Path) -> dict[str, bytes]:
    """What is there, by its path; of a link, where it leads."""
    return {str(p.relative_to(folder)): os.fsencode(os.readlink(p)) if p.is_symlink()
            else p.read_bytes() for p in folder.rglob('*') if p.is_symlink() or p.is_file()}


def expected(build: Path) -> dict[str, bytes]:
    out = {}
    for place, source in COPIES.items():
        if source.startswith('build:'):
            out[place] = (build / source[6:]).read_bytes()
            continue
        sources = sorted(ROOT.glob(source))
        assert sources, source
        for path in sources:
            if path.is_file():
                out[f'{place}/{path.name}' if '*' in source else place] = path.read_bytes()
    shared = next(build.glob('libfragsim.so.*'))
    out[f'lib/{shared.name}'] = shared.read_bytes()
    out['lib/libfragsim.so'] = shared.name.encode()
    for path in (build / 'documents').glob('*.schema.json'):
        out[f'share/fragsim/{path.name}'] = path.read_bytes()
    return out


def check_install(build: Path, stage: Path) -> None:
    make(build, 'install', f'DESTDIR={stage}', f'prefix=/{PREFIX}')
    got = found(stage / PREFIX)
    package = got.pop('lib/pkgconfig/fragsim.pc', b'').decode()
    wanted = expected(build)
    report('every file of the project that a user needs is installed', [
        f'{"missing" if x in wanted else "too many"}: {x}' for x in sorted(wanted.keys() ^ got.keys())])
    report('each is the one it should be',
           [x for x in wanted if got.get(x, wanted[x]) != wanted[x]])
    report('nothing lies outside the prefix', [
        x for x in found(stage) if not x.startswith(PREFIX + '/')])
    report('pkg-config is told the prefix, not the stage', [
        x for x in (f'prefix=/{PREFIX}', f'libdir=/{PREFIX}/lib') if x not in package.splitlines()]
        + ['the stage'] * (str(stage) in package) + re.findall('@.*@', package))
    report('programs can be run, all else is only read', [
        f'{p.name}: {stat.S_IMODE(p.stat().st_mode):o}' for p in stage.rglob('*')
        if p.is_file() and not p.is_symlink()
        and stat.S_IMODE(p.stat().st_mode) != (0o755 if p.name in ('fragsim', 'record_torch.py')
                                               and p.parent.name != 'completions' else 0o644)])


def check_uninstall(build: Path, stage: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != 'PYTHONDONTWRITEBYTECODE'}
    subprocess.run([stage / PREFIX / 'bin/fragsim', 'record', '--torch', '-o', stage / 'none',
                    sys.executable, '-c', ''], check=True, capture_output=True, env=environment)
    report('Python programs are recorded from there', [] if list(
        stage.glob(f'{PREFIX}/share/fragsim/python/__pycache__/recording.*.pyc')) else ['no'])
    make(build, 'uninstall', f'DESTDIR={stage}', f'prefix=/{PREFIX}')
    report('uninstall leaves nothing', [str(x) for x in stage.iterdir()])


def check_foreign(build: Path, stage: Path) -> None:
    foreign = ['share/fragsim/traces/mine.ndjson', 'include/fragsim/mine.h', 'bin/other']
    make(build, 'install', f'DESTDIR={stage}', f'prefix=/{PREFIX}')
    for name in foreign:
        (stage / PREFIX / name).write_text('mine\n', encoding='ascii')
    (stage / PREFIX / 'bin' / 'folder').mkdir()
    make(build, 'uninstall', f'DESTDIR={stage}', f'prefix=/{PREFIX}')
    got = found(stage / PREFIX)
    report('uninstall leaves what is another\'s', [
        f'{"gone" if x in foreign else "left"}: {x}' for x in sorted(got.keys() ^ set(foreign))])
    report('also an empty folder', [] if (stage / PREFIX / 'bin' / 'folder').is_dir() else ['gone'])


def check_real_prefix(build: Path, prefix: Path) -> None:
    """Without DESTDIR, where bin, lib and share are the system's."""
    for name in ('bin', 'lib', 'share/man/man1'):
        (prefix / name).mkdir(parents=True)
    make(build, 'install', f'prefix={prefix}', 'DESTDIR=')
    before = {p for p in prefix.rglob('*') if p.is_dir() and 'fragsim' not in str(p.relative_to(prefix))}
    make(build, 'uninstall', f'prefix={prefix}', 'DESTDIR=')
    report('without a stage, the system\'s folders stay', [
        f'differs: {x}' for x in sorted(map(str, before ^ set(prefix.rglob('*'))))])


def check_static(build: Path, stage: Path) -> None:
    """A static program needs the libraries below, by the names that pkg-config has for them."""
    make(build, 'install', f'DESTDIR={stage}', f'prefix=/{PREFIX}')
    folder = stage / PREFIX / 'lib' / 'pkgconfig'

    def ask(*words: str) -> list[str]:
        done = subprocess.run(['pkg-config', *words], capture_output=True, text=True, check=False,
                              env={**os.environ, 'PKG_CONFIG_PATH': str(folder)})
        return done.stdout.split() if done.returncode == 0 else [done.stderr]

    report('pkg-config knows what the library stands on',
           [f'{x} is missing' for x in ('libcjson', 'libzstd', 'zlib', *ISAL, *SQLITE)
            if x not in ask('--print-requires-private', 'fragsim')])
    own = [f'-L/{PREFIX}/lib', '-lfragsim']
    report('the shared library alone names none of it', [str(x) for x in (
        ask('--libs', 'fragsim'),) if x != own])
    static = ask('--static', '--libs', 'fragsim')
    report('a static one gets all of it', [
        f'{x} is not in {static}' for x in (*own, *ask('--static', '--libs', 'libcjson', 'libzstd', 'zlib', *ISAL, *SQLITE),
                                            '-lm', '-pthread') if x not in static])


def check_help() -> None:
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8').replace('\\\n', ' ')
    targets = re.search(r'^\.PHONY: (.*)$', makefile, re.M)[1].split()
    shown = subprocess.run(['make', '-s', 'help'], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout
    listed = re.findall(r'^  ([a-z][a-z-]*) {2,}', shown, re.M)
    report('make help lists every target', [x for x in targets if x != 'FORCE' and x not in listed])


def check_packages(build: Path) -> None:
    """Each file goes into one of the Debian packages; else they cannot be built."""
    folder = ROOT / 'debian'
    if not folder.exists():         # a release of the sources has none
        TAP.skip('Debian packages', 'no debian/')
        return
    patterns = [line for path in folder.glob('*.install')
                for line in path.read_text(encoding='ascii').split()]
    # in Debian zsh looks elsewhere, and libraries that are linked lie below the architecture
    files = [re.sub('zsh/site-functions', 'zsh/vendor-completions', re.sub('^lib/(?!fragsim/)', 'lib/any/', x))
             for x in [*expected(build), 'lib/pkgconfig/fragsim.pc']]
    taken = {x: [p for p in patterns if fnmatch(f'usr/{x}', p) or fnmatch(f'usr/{x}', f'{p}/*')]
             for x in files}
    report('each file belongs to one Debian package',
           [f'{x}: {p}' for x, p in taken.items() if len(p) != 1])
    report('debian names no file that there is not', [
        p for p in patterns if [p] not in taken.values()])
    header = (ROOT / 'include/fragsim/version.h').read_text(encoding='ascii')
    version = re.search('FRAG_VERSION "(.*)"', header)[1]
    first = (folder / 'changelog').read_text(encoding='utf-8').splitlines()[0]
    shared = f'libfragsim.so.{re.search("FRAG_ABI (.*)", header)[1]}'
    report('version and soname are those of debian', [
        x for x, good in (
            (first, first.startswith(f'fragsim ({version}-')),
            (shared, (folder / f'libfragsim{shared[14:]}.symbols').exists()
             and (build / shared).exists())) if not good])


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(argv[1]).resolve().parent
    for check in (check_install, check_foreign, check_real_prefix, check_static):
        with tempfile.TemporaryDirectory(prefix='install-') as place:
            check(build, Path(place))
            if check is check_install:
                check_uninstall(build, Path(place))
    check_packages(build)
    check_help()
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
