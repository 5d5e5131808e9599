"""run.py - retired words of our prose only become fewer; prints TAP.

scripts/english/terms.tsv has the words and what to write instead, max.txt how many hits each kind
of text may have. A number there is lowered whenever a text is rewritten, and never raised.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from tap import Tap  # noqa: E402

CHECK = [sys.executable, '-B', str(ROOT / 'scripts/english/check_english.py')]
TEXTS = ('README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'skills', 'doc/site', 'man', 'src',
         'include')


def check(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([*CHECK, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def git(*words: str, cwd: object = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run(['git', '-c', 'user.name=x', '-c', 'user.email=x@x', *words], cwd=cwd,
                          capture_output=True, text=True, check=False)


def check_new(tap: Tap) -> None:
    """The last commit and what is not committed add no retired word, where git knows the files."""
    tracked = git('ls-files', '--error-unmatch', 'Makefile').returncode == 0
    if not tracked or git('rev-parse', '--verify', '-q', 'HEAD^').returncode:
        tap.skip('no new line has a retired word', 'no history of git')
    else:
        done = check('--since', 'HEAD^', *TEXTS)
        tap.result('no new line has a retired word', done.returncode and done.stdout.splitlines())
    if not shutil.which('git'):
        return
    with tempfile.TemporaryDirectory() as folder:
        text, other = Path(folder, 'README.md'), Path(folder, 'other.md')
        text.write_text('The old request finds no memory.\nIt is short.\n', encoding='ascii')
        git('init', '-q', cwd=folder)
        git('add', '.', cwd=folder)
        git('commit', '-q', '-m', 'x', cwd=folder)
        other.write_text('The old request finds no memory.\n', encoding='ascii')
        text.write_text('It is short.\n', encoding='ascii')
        git('add', '-N', '.', cwd=folder)
        found = [subprocess.run([*CHECK, '--since', 'HEAD', 'README.md', 'other.md'], cwd=folder,
                                capture_output=True, text=True, check=False).returncode]
        other.write_text('The new request finds no memory.\n', encoding='ascii')
        found.append(subprocess.run([*CHECK, '--since', 'HEAD', 'README.md', 'other.md'],
                                    cwd=folder, capture_output=True, text=True,
                                    check=False).returncode)
        tap.same('a moved line is not new, a changed one is', found, [0, 1])


def check_steps(tap: Tap, folder: Path) -> None:
    """What the simulation counts is an event; a step is one of an optimizer, or a machine name."""
    wrong = {'a.md': 'It fails at step 5 of 6.\n', 'b.1': 'The metrics after each step.\n',
             'c.c': 'x("OOM at step %" PRIu64 " of %" PRIu64, a, b);\n',
             'd.js': 'say(`OOM at step ${number(5)}`);\n', 'e.c': 'x("before the first step");\n'}
    right = {'a.md': 'It fails at event 5 of 6; `step` 5 is its name.\n',
             'b.1': 'Since the last step of an optimizer.\n', 'c.c': 'x("--steps %d", a);\n',
             'd.js': 'say(`in steps of ${number(5)}`);\n'}
    for texts, status in (wrong, 1), (right, 0):
        for name, text in texts.items():
            (folder / name).write_text(text, encoding='ascii')
            (folder / 'steps.txt').write_text('strings 0\nman 0\na.md 0\n', encoding='ascii')
            done = check('--max', str(folder / 'steps.txt'), str(folder / name))
            tap.same(f'{text.strip()}: {"refused" if status else "taken"}', done.returncode, status)


def main() -> int:
    tap = Tap()
    done = check('--max', 'scripts/english/max.txt', *TEXTS)
    tap.result('no text has more retired words than it had', done.returncode and [
        *done.stderr.splitlines(), 'scripts/english/check_english.py PATH... names each'])
    counts = {k: int(n.split()[0]) for k, n in
              (x.split(': ') for x in done.stderr.splitlines() if x.endswith(' hits'))}
    allowed = dict(x.split() for x in (ROOT / 'scripts/english/max.txt').read_text().splitlines())
    tap.result('max.txt is as low as the texts', [
        f'{k}: {counts.get(k, 0)} hits, max.txt allows {n}'
        for k, n in allowed.items() if counts.get(k, 0) < int(n)])
    check_new(tap)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, 'README.md')
        text.write_text('The request finds no memory beside it.\n', encoding='ascii')
        limit = Path(folder, 'max.txt')
        limit.write_text('README.md 0\n', encoding='ascii')
        done = check('--max', str(limit), str(text))
        tap.result('a retired word is found', done.returncode != 1 and [done.stderr])
        check_steps(tap, Path(folder))
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main())
