#!/usr/bin/python3
"""run.py - run, explain and the page recommend one setting, and it completes the trace.

    run.py PROGRAM [FILE...]        prints TAP; FILE: other recordings than those of the repository

Every recording here that runs out of memory, on its own device and on smaller ones: devices between
its lower bound and the smallest one of its own settings. The named setting is simulated by `run`.
"""

import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from tap import Tap  # noqa: E402

TAP = Tap()
PARTS = (0.3, 0.9)      # of the way from the lower bound to the smallest device
LARGE = 400_000         # bytes of a file: its devices are not tried
# where memory grows on, the best setting is named with what it leaves
LINE = re.compile(r'<code>PYTORCH_CUDA_ALLOC_CONF=([^<]+)</code>|no setting [a-z ]+: (\S+) leaves')


def call(*args: object) -> tuple:
    done = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def document(*args: object) -> dict:
    return json.loads(call(*args, '--json', '-')[1])


def of_run(path: Path, where: tuple) -> str | None:
    run, = document('run', *where, path)['runs']
    fix = run['answer']['try']
    return fix and fix['alloc_conf']


def of_explain(path: Path, where: tuple) -> str | None:
    moment, = document('explain', *where, path)['moments']
    return moment['survivors'][0]['alloc_conf'] if moment['setting_leaves'] is not None else None


def of_page(path: Path, where: tuple, folder: str) -> str | None:
    call('run', '-q', *where, '-o', f'{folder}/page.html', path)
    text = html.unescape(Path(f'{folder}/page.html').read_text(encoding='utf-8'))
    found = LINE.findall(text)
    return ''.join(found[0]) if found else None


def check(path: Path, where: tuple, folder: str) -> list:
    """The faults of the answers about one out-of-memory."""
    named = {'run': of_run(path, where), 'explain': of_explain(path, where),
             'page': of_page(path, where, folder)}
    setting = named['run']
    faults = [f'{path.name} {where}: {named}'] if len(set(named.values())) > 1 else []
    if setting and call('run', '-q', '--alloc-conf', setting, *where, path)[0]:
        faults.append(f'{path.name} {where}: {setting} does not complete it')
    return faults


def devices_of(path: Path) -> list:
    """The recorded one, and some on which the own settings fail."""
    fit = document('fit', '-p', 'pytorch', path)
    if len(fit['fits']) != 1 or not fit['fits'][0]['smallest']:
        return []
    low, page = fit['lower_bound'], fit['granularity']
    span = fit['fits'][0]['smallest'] - low
    sizes = {low + int(span * part) // page * page for part in PARTS}
    return [('--device-bytes', str(x), '--context-bytes', 0) for x in sorted(sizes)]


def main() -> int:
    files = [Path(x) for x in sys.argv[2:]] or [
        *sorted((ROOT / 'tests').glob('**/*.pickle.gz')), *sorted((ROOT / 'traces').glob('*.gz'))]
    seen = found = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            places = [(), *(devices_of(path) if path.stat().st_size < LARGE else [])]
            # the recorded settings and release, as with no option of a policy
            faults = []
            for where in places:
                if call('run', '-q', *where, path)[0] != 3:
                    continue
                seen += 1
                if len(document('run', *where, path)['runs']) == 1:
                    faults += check(path, where, folder)
                    found += of_run(path, where) is not None
            TAP.result(f'one setting, which completes it: {path.parent.name}/{path.name}', faults)
    TAP.ok(seen > len(files) / 2 and found > seen / 4, f'{seen} failures, {found} with a setting')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
