"""run.py - what other people's CI runs: action.yml and scripts/ci, played in a bare folder.

    run.py PROGRAM      prints TAP

pip is a stand-in that notes what it is told and puts the program in place, except where the action's
supply is tested; make check-wheel plays the action with the real wheel. The folder has traces and nothing of our sources.
"""
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'support'), str(HERE)]
import play  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
GIB = 1 << 30


def write_trace(path, size):
    """One block: every policy reserves at least that, and `direct` just that."""
    path.write_text(json.dumps({'format': 'fragsim-trace', 'version': 1}) + '\n' + json.dumps(
        {'op': 'alloc', 'id': 1, 'size': size}) + '\n', encoding='ascii')


def stand_ins(program, folder):
    """python3 -m venv, pip and pipx: each installs by a link, where the real one would."""
    here = folder / 'stand-ins'
    here.mkdir()
    pip = (f'#!/bin/sh\necho "$0 $*" >>{folder}/installed\n'
           f'ln -sf {program} "${{0%/*}}/fragsim"\n')
    for name in ('pip', 'pipx'):
        (here / name).write_text(pip, encoding='utf-8')
    (here / 'python3').write_text('#!/bin/sh\n[ "$1 $2" = "-m venv" ] || exit 9\n'
                                  f'mkdir -p "$3/bin" && cp {here}/pip "$3/bin/pip"\n',
                                  encoding='utf-8')
    for path in here.iterdir():
        path.chmod(0o755)
    return play.path_of(here)


def bare(folder, name):
    """A repository of someone else: two traces, one with a blank in its name, and a baseline."""
    place = folder / name
    (place / 'my traces').mkdir(parents=True)
    write_trace(place / 'my traces' / 'a b.ndjson', 3 * GIB)
    write_trace(place / 'my traces' / 'c.ndjson', GIB)
    return place


def update(program, place):
    subprocess.run([program, 'diff', '-q', '-b', 'base.json', '--update-baseline', '-p', 'direct',
                    'my traces/a b.ndjson', 'my traces/c.ndjson'], cwd=place, check=True)


def faults(played, status, *words, absent=(), warned=False):
    said = played.output + played.report
    wrong = ['a warning'] * ('warning: ' in played.output and not warned)
    wrong += [f'status {played.status}, not {status}'] * (played.status != status)
    wrong += ['no report was written'] * (not played.report)
    wrong += [f'{x!r} is missing' for x in words if x not in said]
    wrong += [f'{x!r} is there' for x in absent if x in said]
    return [*wrong, played.output] if wrong else []


def test_conditions(way, call, folder, env):
    place = bare(folder, f'{way} conditions')
    both = 'my traces/*.ndjson'
    TAP.result(f'{way}: without a condition, all fits', faults(
        call(place, env, trace=both), 0))
    TAP.result(f'{way}: it does not', faults(
        call(place, env, trace=both, device='2GiB'), 1, 'a b.ndjson', 'oom > 0'))
    TAP.result(f'{way}: a card has room', faults(
        call(place, env, trace=both, device='rtx-4090'), 0))
    TAP.result(f'{way}: a condition that is true', faults(
        call(place, env, trace=both, policy='direct', conditions='peak.segments > 7\n'
             'peak.reserved > 2GiB\n'), 1, 'a b.ndjson', "'peak.reserved > 2GiB'",
        absent=("fails 'peak.segments",)))
    TAP.result(f'{way}: one trace by its name', faults(
        call(place, env, trace='my traces/c.ndjson\n', policy='direct\nbestfit',
             conditions='peak.reserved > 2GiB'), 0, absent=('a b.ndjson',)))
    change = call(place, env, trace=both, policy='direct', conditions='peak.reserved > +5%')
    TAP.ok(change.status == 2 and 'a change, which needs a baseline' in change.output,
           f'{way}: a change without a baseline is no gate', change)
    missing = call(place, env, trace='none/*.ndjson')
    TAP.ok(missing.status and 'none/*.ndjson: No such file' in missing.output,
           f'{way}: a pattern without a file', missing)


def test_baseline(way, call, program, folder, env):
    place = bare(folder, f'{way} baseline')
    update(program, place)
    TAP.result(f'{way}: as in the baseline', faults(call(place, env, baseline='base.json'), 0))
    write_trace(place / 'my traces' / 'c.ndjson', 2 * GIB)
    TAP.result(f'{way}: worse than the baseline', faults(
        call(place, env, baseline='base.json'), 1, 'c.ndjson', "'peak.reserved > +0%'"))
    TAP.result(f'{way}: a subset that has it', faults(
        call(place, env, baseline='base.json', trace='my traces/c*'), 1, 'c.ndjson',
        absent=('a b.ndjson, direct: peak',)))
    TAP.result(f'{way}: a trace of the baseline that is missing', faults(
        call(place, env, baseline='base.json', trace='my traces/a*'), 1, 'c.ndjson, direct'))
    TAP.result(f'{way}: one that may be', faults(
        call(place, env, baseline='base.json', trace='my traces/a*', allow_missing='true'), 0))
    write_trace(place / 'my traces' / 'new.ndjson', 5 * GIB)
    TAP.result(f'{way}: a trace that the baseline does not have', faults(
        call(place, env, baseline='base.json', trace='my traces/new.ndjson'), 1, 'new.ndjson'))
    missing = call(place, env, baseline='none.json', trace='my traces/*')
    TAP.ok(missing.status == 4 and 'none.json' in missing.output,
           f'{way}: a baseline that is not there', missing)


def test_before(folder, env):
    """Two folders of ranks, as `before` and `trace`: the new one lacks the rank that died."""
    place = bare(folder, 'before')
    for side, size in (('old', 2 * GIB), ('new', GIB)):
        (place / side).mkdir()
        for rank in range(3):
            write_trace(place / side / f'rank{rank}.ndjson', size)
    TAP.result('action.yml: two folders of ranks', faults(
        play.action(place, env, before='old', trace='new'), 0, 'passed: 3 runs'))
    (place / 'new' / 'rank1.ndjson').unlink()
    TAP.result('action.yml: a rank is missing', faults(
        play.action(place, env, before='old', trace='new'), 1, 'old/rank1.ndjson: cannot be judged',
        warned=True))
    (place / 'new' / 'rank1.ndjson').write_text('', encoding='ascii')
    TAP.ok(play.action(place, env, before='old', trace='new').status == 4,
           'action.yml: a rank that wrote nothing')


def make_wheel(path, program, build=''):
    """A wheel of the version of the sources, whose program is that which is tested."""
    text = (play.ROOT / 'include/fragsim/version.h').read_text(encoding='utf-8')
    version = re.search('FRAG_VERSION "(.*)"', text)[1]
    wheel = path / f'fragsim-{version}{build}-py3-none-any.whl'
    with zipfile.ZipFile(wheel, 'w') as z:
        info = f'fragsim-{version}.dist-info/'
        z.writestr(info + 'METADATA', f'Metadata-Version: 2.1\nName: fragsim\nVersion: {version}\n')
        z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        script = zipfile.ZipInfo(f'fragsim-{version}.data/scripts/fragsim')
        script.external_attr = 0o100755 << 16
        z.writestr(script, f'#!/bin/sh\nexec {program} "$@"\n')
        z.writestr(info + 'RECORD', '')
    return wheel


def test_supply(program, folder, env):
    """What pip is told, and what a real one does: the file of the release with that checksum, or none."""
    told = (folder / 'installed').read_text(encoding='utf-8').splitlines()
    page = f'{play.GITHUB["server_url"]}/someone/fragsim/releases/expanded_assets/v'
    words = ('--isolated install', '--no-index', '--require-hashes', '--no-deps', f'--find-links {page}')
    TAP.ok(all(x in told[0] for x in words), 'the action looks in its own release alone', told[0])
    (folder / 'made').mkdir()
    wheel = make_wheel(folder / 'made', program)
    real = {'PATH': play.path_of(Path(sys.executable).parent)['PATH'], 'HOME': str(folder)}
    place = bare(folder, 'supply')
    good = play.release(folder / 'good', [wheel])
    TAP.result('the wheel of the release is installed', faults(
        play.action(place, real, trace='my traces/*', release=good), 0, 'passed'))
    other = make_wheel(Path(play.release(folder / 'other', [wheel])), f'{program} ')
    TAP.ok(other.read_bytes() != wheel.read_bytes(), 'another file of that name')
    done = play.action(bare(folder, 'supply 2'), real, trace='my traces/*', release=str(folder / 'other'))
    TAP.ok(done.status and 'HASHES' in done.output.upper() and not done.report, 'is not', done)
    (folder / 'empty').mkdir()
    done = play.action(bare(folder, 'supply 3'), real, trace='my traces/*', release=str(folder / 'empty'))
    TAP.ok(done.status and not done.report, 'nor is one of an index, where the release has none', done)
    (Path(play.GITHUB['action_path']) / 'action.sha256').unlink()
    done = play.action(bare(folder, 'supply 4'), real, trace='my traces/*', release=good)
    TAP.ok(done.status == 1 and 'action.sha256 is missing' in done.output,
           'a commit without checksums installs nothing', done)


def test_pins():
    """Workflows and templates name what they use of others by what cannot change."""
    for path in (*play.ROOT.glob('.github/workflows/*.yml'), *play.ROOT.glob('scripts/ci/*.yml')):
        text = path.read_text(encoding='utf-8')
        loose = [x for x in re.findall(r'uses: (\S+)', text) if not re.fullmatch(r'[\w./-]+@[0-9a-f]{40}', x)]
        TAP.result(f'{path.name}: actions by commit', loose)


def test_record(way, call, folder, env):
    place = bare(folder, f'{way} record')
    command = "fragsim trace gen random --seed 1 >made.ndjson\nmv made.ndjson 'my own.ndjson'"
    TAP.result(f'{way}: traces are made first', faults(
        call(place, env, record=command, trace='my own.ndjson', conditions='peak.reserved > 1'), 1,
        'my own.ndjson'))
    failed = call(place, env, record='false; true\nfalse', trace='my own.ndjson')
    TAP.ok(failed.status == 1, f'{way}: a command that fails fails the job', failed)


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    program = Path(argv[1]).resolve()

    def by_action(place, env, **given):
        return play.action(place, env, **{k.replace('_', '-'): v for k, v in given.items()})

    def by_gitlab(place, env, **given):
        return play.gitlab('scripts/ci/gitlab.yml', place, env, **{
            f'FRAGSIM_{k.upper()}': v for k, v in given.items()})

    with tempfile.TemporaryDirectory(prefix='ci-') as name:
        folder = Path(name)
        env = stand_ins(program, folder)
        (folder / 'first').mkdir()
        play.release(folder / 'release', [make_wheel(folder / 'first', program)])
        for way, call in (('action.yml', by_action), ('gitlab.yml', by_gitlab)):
            test_conditions(way, call, folder, env)
            test_baseline(way, call, program, folder, env)
            test_record(way, call, folder, env)
        test_before(folder, env)
        test_pins()
        place = bare(folder, 'bash')
        TAP.result('gitlab.yml: the same under bash', faults(play.gitlab(
            'scripts/ci/gitlab.yml', place, env, 'bash', FRAGSIM_TRACE='my traces/*',
            FRAGSIM_CONDITIONS='peak.reserved > 2GiB'), 1, 'a b.ndjson'))
        place = bare(folder, 'workflow')
        (place / 'traces').mkdir()
        update(program, place)
        (place / 'base.json').rename(place / 'traces/baseline.json')
        TAP.result('github.yml', faults(play.workflow('scripts/ci/github.yml', place, env), 0))
        write_trace(place / 'my traces' / 'c.ndjson', 2 * GIB)
        TAP.result('github.yml: worse than the baseline', faults(
            play.workflow('scripts/ci/github.yml', place, env), 1, 'c.ndjson',
            "'peak.reserved > +0%'"))
        test_supply(program, folder, env)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
