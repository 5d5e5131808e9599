"""wheel.py - the wheel, as those who install it meet it; prints TAP.

    wheel.py FOLDER     the wheels in it: that of this machine, and what the others hold

It is installed into an environment of its own. pytest and pandas, and macholib, which reads
programs of macOS, come with it where an index can be reached; the rest needs no network.
CHROOTS=1: in bare roots of Debian's releases too, which mmdebstrap makes, in some minutes.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
sys.path.insert(0, str(ROOT / 'tests' / 'crossing' / 'ci'))
import play  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
MOST_BYTES = 5_000_000
GLIBC = (2, 28)
TAG = r'-py3-none-((many|musl)linux_(2_28|1_2)_(x86_64|aarch64)|macosx_11_0_(arm64|x86_64))\.whl$'
SYSTEM = ('libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'librt.so.1')
TRACE = 'share/fragsim/traces/gpt2_small_train_bs8_seq1024.ndjson.gz'


def run(*words, **more):
    """In an environment of nothing, but for what is given."""
    env = {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', **more.pop('env', {})}
    return subprocess.run([str(x) for x in words], env=env, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=600, **more)


def test_file(wheel):
    size = wheel.stat().st_size
    print(f'# {wheel.name}: {size} bytes')
    TAP.ok(size < MOST_BYTES, f'the wheel has less than {MOST_BYTES} bytes', size)
    TAP.ok(re.search(TAG, wheel.name), 'its tag', wheel.name)


def test_licences(wheel):
    """What the Makefile links is named, with its text, where indexes and scanners look."""
    linked = re.search('^LIBS = (.*)', (ROOT / 'Makefile').read_text(encoding='utf-8'), re.M)[1]
    # of zig comes what a compiler adds; the C library is the system's
    wanted = {'zig'} | {{'z': 'zlib', 'zstd': 'libzstd'}.get(x, x)
                        for x in re.findall(r'-l(\w+)', linked) if x != 'm'}
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        texts = {re.search(r'(\w+)\.txt', x)[1]: archive.read(x) for x in names
                 if '.dist-info/licenses/licenses/' in x}
        about = archive.read(next(x for x in names if x.endswith('/METADATA'))).decode()
        [program] = [archive.read(x) for x in names if x.endswith('/scripts/fragsim')]
    if b'libcuda.so.1' in program:      # which CUDA's runtime loads
        wanted.add('cuda')
    said = set(re.findall(r'^License-File: licenses/(\w+)\.txt', about, re.M))
    TAP.ok(set(texts) == said == wanted and all(len(x) > 200 for x in texts.values()),
           f'{wheel.name}: the licences of what is linked', wanted, said, sorted(texts))


def test_macos(wheel, python, folder):
    """As far as it can be seen elsewhere: what it loads, for which macOS and which processor."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [x for x in archive.namelist() if x.endswith('/scripts/fragsim')]
        path = folder / 'macho'
        path.write_bytes(archive.read(name))
    said = run(python, '-c', f"""
from macholib.MachO import MachO
[head] = MachO({str(path)!r}).headers
print(head.header.cputype, *(x.minos >> 16 for _, x, _ in head.commands if hasattr(x, 'minos')))
print(*(data.rstrip(b'\\0').decode() for load, _, data in head.commands if load.cmd == 12))""")
    cpu = 0x100000c if 'arm64' in wheel.name else 0x1000007     # as Mach-O numbers them
    TAP.ok(said.stdout.splitlines() == [f'{cpu} 11', '/usr/lib/libSystem.B.dylib'],
           f'{wheel.name}: loads what every macOS 11 has', said)


def test_musl(wheel, folder):
    """By Debian's own musl, whose loader runs a program of another system's."""
    loader = Path(f'/lib/ld-musl-{os.uname().machine}.so.1')
    if os.uname().machine not in wheel.name or not loader.exists():
        TAP.skip(f'{wheel.name}: run it', 'for another processor' if os.uname().machine
                 not in wheel.name else f'no {loader}: apt-get install musl')
        return
    with zipfile.ZipFile(wheel) as archive:
        place = Path(archive.extract(next(
            x for x in archive.namelist() if x.endswith('/scripts/fragsim')), folder))
    done = run(loader, place, 'run', '-p', 'bestfit', ROOT / TRACE.replace('share/fragsim/', ''))
    TAP.ok(done.returncode == 0 and 'bestfit' in done.stdout, f'{wheel.name}: musl runs it',
           done.stderr)
    done = run(loader, place, 'record', '--', '/bin/true')
    TAP.ok(done.returncode == 2 and 'record there' in done.stderr,
           f'{wheel.name}: record says where to', done.stderr)


def binaries(place):
    found = [place / 'bin/fragsim', *(place / 'lib').glob('libfragsim.so.*'),
             *(place / 'lib/fragsim').glob('*.so*')]
    return [x for x in found if x.exists()]


def test_symbols(place):
    """objdump's words, where the build has readelf's."""
    paths = binaries(place)
    TAP.ok(len(paths) >= 3, 'program, library and recorder are there', paths)
    for path in paths:
        told = run('objdump', '-T', path).stdout
        newer = sorted({x for x in re.findall(r'GLIBC_([\d.]+)', told)
                        if tuple(map(int, x.split('.')))[:2] > GLIBC})
        needed = re.findall(r'NEEDED +(\S+)', run('objdump', '-p', path).stdout)
        other = [x for x in needed if x not in SYSTEM and not x.startswith('ld-linux')]
        TAP.result(f'{path.name} needs nothing newer than glibc {GLIBC[0]}.{GLIBC[1]}',
                   [f'GLIBC_{x}' for x in newer], other, [] if 'GLIBC_' in told else ['no symbols'])


def test_contents(place):
    pages = {x.name.removesuffix('.in') for end in ('', '.in') for x in (ROOT / 'man').glob(f'*.[1-8]{end}')}
    there = {x.name for x in (place / 'share/man').glob('man?/*')}
    TAP.result('all pages of the manual', sorted(pages ^ there))
    TAP.result('completions, schemas, a trace', [x for x in (
        'share/bash-completion/completions/fragsim', 'share/zsh/site-functions/_fragsim',
        'share/fish/vendor_completions.d/fragsim.fish', 'share/fragsim/fragsim-result.schema.json',
        'share/fragsim/record_torch.py', TRACE)
        if not (place / x).exists() or not (place / x).read_bytes()])
    found = run('man', '-w', 'fragsim-run', env={'PATH': f'{place}/bin:/usr/bin:/bin'})
    TAP.ok(str(place) in found.stdout or not shutil.which('man'), 'man finds them', found.stderr)
    package = next((place / 'lib').glob('python3*/site-packages/fragsim'))
    TAP.ok((package / 'py.typed').exists() and {x.name for x in package.glob('*.py')} == {
        x.name for x in (ROOT / 'python/fragsim').glob('*.py')}, 'the module, with its types')


def test_program(place):
    program = place / 'bin/fragsim'
    version = run(program, '--version')
    header = (ROOT / 'include/fragsim/version.h').read_text(encoding='ascii')
    TAP.ok(re.search('FRAG_VERSION "(.*)"', header)[1] in version.stdout, 'it runs', version.stderr)
    module = run(place / 'bin/python', '-m', 'fragsim', '--version')
    TAP.ok(module.stdout == version.stdout, 'python -m fragsim is the same', module.stderr)
    cuda = any(place.rglob('licenses/licenses/cuda.txt'))
    TAP.ok(('no CUDA' not in version.stdout) == cuda, f'replay {"is" if cuda else "is not"} in it, as the'
           ' licences say', version.stdout)
    with tempfile.TemporaryDirectory() as folder:
        done = run(program, 'record', '-o', f'{folder}/trace.zst', '--', '/bin/true')
        TAP.ok(done.returncode == 0 and 'preload' not in done.stderr, 'record has its library',
               done.stderr)
        if shutil.which('cc'):
            built = run('cc', '-std=c11', '-fPIC', '-shared', f'-I{place}/include', '-o',
                        f'{folder}/snug.so', ROOT / 'tests/examples/snug.c')
            done = run(program, 'run', '-q', '-p', f'{folder}/snug.so', place / TRACE)
            TAP.ok(built.returncode + done.returncode == 0, 'a plug-in is compiled and loaded',
                   built.stderr, done.stderr)


def test_alone(place):
    """A root with the program, its trace, and the libraries of glibc."""
    if os.geteuid() != 0:
        TAP.skip('a root with nothing else', 'only root may')
        return
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        program = place / 'bin/fragsim'
        for path in re.findall(r'(/\S+) \(0x', run('ldd', program).stdout):
            (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / path[1:])
        shutil.copy(program, root)
        shutil.copy(place / TRACE, root / 'trace.gz')
        names = sorted(x.name for x in root.rglob('*.so*'))
        TAP.ok(all(x in SYSTEM or x.startswith('ld-linux') for x in names), 'it loads glibc alone',
               names)
        done = run('chroot', root, '/fragsim', 'run', '-p', 'bestfit', '/trace.gz',
                   env={'PATH': '/usr/sbin:/usr/bin'})
        TAP.ok(done.returncode == 0 and 'bestfit' in done.stdout, 'it runs in a root with nothing'
               ' else', done.stderr)


IN_ROOT = f"""set -ex
ldd --version | sed -n 1p
python3 -m venv /env
/env/bin/pip install -q --no-index /fragsim-*.whl
PATH=/env/bin:$PATH
trace=/env/{TRACE}
status=0
fragsim run --device-bytes 16GiB --context-bytes 450MiB $trace >/run.txt || status=$?
test $status = 3
grep -q 'OOM: pytorch failed to allocate 1.53 GiB at event 3116 of 7142' /run.txt
fragsim explain --device-bytes 16GiB --context-bytes 450MiB $trace | grep -q expandable_segments:True
fragsim record -o /trace.zst -- /bin/true
fragsim trace convert $trace /run.sqlite
python -c 'import fragsim, sqlite3
assert fragsim.run(fragsim.example_trace())[0].status == "fits"
assert [*sqlite3.connect("/run.sqlite").execute("SELECT count(*) FROM events")] == [(7142,)]'
"""


def test_chroots(wheel, folder):
    """In roots with what Debian calls essential, and python3-venv."""
    lacks = ('CHROOTS=1 makes them' if not os.environ.get('CHROOTS') else 'only root may'
             if os.geteuid() != 0 else not shutil.which('mmdebstrap') and 'apt-get install mmdebstrap')
    if lacks:
        TAP.skip('bare roots of Debian', lacks)
        return
    for suite in ('bullseye', 'bookworm', 'trixie'):
        root = folder / suite
        made = run('mmdebstrap', '--variant=essential', '--include=python3-venv', suite, root,
                   env={**os.environ, 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'})
        if made.returncode:
            TAP.ok(False, f'a root of {suite}', made.stderr[-1000:])
            continue
        shutil.copy(wheel, root)
        done = run('unshare', '--pid', '--fork', f'--mount-proc={root}/proc', 'chroot', root, 'sh',
                   '-c', IN_ROOT, env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'})
        TAP.ok(done.returncode == 0 and 'preload' not in done.stderr,
               f'a bare root of {suite}: {done.stdout.partition(chr(10))[0]}', done.stderr)
        shutil.rmtree(root)


def test_elsewhere(wheel, python, folder):
    """pip install --target puts program and module elsewhere than an environment does."""
    target = folder / 'target'
    done = run(python, '-m', 'pip', 'install', '-q', '--no-index', '--target', target, wheel)
    said = run('/usr/bin/python3', '-B', '-c', 'import fragsim; print(fragsim.program());'
               ' print(fragsim.run(fragsim.example_trace())[0].status)',
               env={'PYTHONPATH': str(target), 'PATH': '/nowhere'})
    TAP.ok(said.stdout == f'{target}/bin/fragsim\nfits\n', 'pip install --target', done.stderr,
           said.stdout, said.stderr)


def test_action(wheel, folder):
    """The action of other people's CI, with this wheel and a real pip."""
    place = folder / 'repository'
    place.mkdir()
    (place / 'trace.ndjson').write_text(
        '{"format":"fragsim-trace","version":1}\n{"op":"alloc","id":1,"size":4294967296}\n',
        encoding='ascii')
    env = {k: v for k, v in os.environ.items() if k.startswith('PIP_') or k == 'HOME'}
    release = play.release(folder / 'release', [Path(wheel)])
    good = play.action(place, env, release=release, trace='*.ndjson', device='rtx-4090')
    bad = play.action(place, env, release=release, trace='*.ndjson', device='2GiB')
    TAP.ok((good.status, bad.status) == (0, 1) and 'trace.ndjson' in bad.report,
           'the action installs it and uses it', good, bad)


def relay(name, done):
    """Another test's results as one."""
    wrong = re.findall(r'^(?:not ok.*\n(?:#.*\n)*)', done.stdout, re.M)
    count = len(re.findall('^ok', done.stdout, re.M))
    skipped = re.findall('# SKIP.*', done.stdout)
    TAP.result(f'{name} ({count} tests{", one skipped" if skipped else ""})', wrong,
               [] if count and done.returncode == 0 else [done.stderr[-1000:] or 'it failed'])


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    wheels = sorted(Path(argv[1]).resolve().glob('*.whl'))
    mine = [x for x in wheels if f'manylinux_2_28_{os.uname().machine}' in x.name]
    if not mine:
        print(f'Bail out! there is no wheel of this machine in {argv[1]}')
        return 1
    [wheel] = mine
    for each in wheels:
        test_file(each)
        test_licences(each)
    with tempfile.TemporaryDirectory(prefix='wheel-') as name:
        folder, place = Path(name), Path(name, 'env')
        python = place / 'bin/python'
        subprocess.run(['/usr/bin/python3', '-m', 'venv', place], check=True)
        done = run(python, '-m', 'pip', 'install', '-q', '--no-index', wheel)
        TAP.ok(done.returncode == 0, 'pip install', done.stderr)
        has_macholib = not run(python, '-m', 'pip', 'install', '-q', 'macholib', env={
            **os.environ, 'PATH': '/usr/bin:/bin'}).returncode
        for each in wheels:
            if 'macosx' in each.name and has_macholib:
                test_macos(each, python, folder)
            if 'musllinux' in each.name:
                test_musl(each, folder)
        test_symbols(place)
        test_contents(place)
        test_program(place)
        test_alone(place)
        test_chroots(wheel, folder)
        test_elsewhere(wheel, python, folder)
        test_action(wheel, folder)
        shared = dict(cwd=ROOT, env={**os.environ, 'PYTHONPATH': ''})
        relay('the commands of README.md', run(
            '/usr/bin/python3', '-B', 'tests/crossing/doc/run.py', place / 'bin/fragsim', 'README.md', **shared))
        subprocess.run([python, '-m', 'pip', 'install', '-q', 'pytest', 'pandas'], check=False,
                       capture_output=True)
        relay('the module, its examples and its plugin', run(
            python, '-B', 'tests/crossing/python/run.py', place / 'bin/fragsim', 'installed', **shared))
        done = run(python, '-m', 'pip', 'uninstall', '-q', '-y', 'fragsim')
        TAP.result('pip uninstall leaves nothing', done.stderr, [
            str(x) for x in place.rglob('*') if 'fragsim' in x.name])
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
