#!/usr/bin/python3
"""run.py - run, explain, fit and the page recommend one setting, and it completes the trace.

    run.py PROGRAM [FILE...]        prints TAP; FILE: other recordings than those of the repository

Every recording here that runs out of memory, on its own device and on smaller ones: devices between
its lower bound and the smallest one of its own settings. The named setting is simulated by `run`; and
where none is, no setting of the whole grid is reliable there. The ranking of a few settings on a few
traces is done again here, from a fit of each.
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
from program import times  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PARTS = (0.9, 0.3)[:times(1, 2)]        # of the way from the lower bound to the smallest device
LARGE = times(90_000, 300_000)          # bytes of a file: its devices are not tried
SMALL = 20_000          # the whole grid is tried
# where memory grows on, the best setting is named with what it leaves
LINE = re.compile(r'<code>PYTORCH_CUDA_ALLOC_CONF=([^<]+)</code>|no setting [a-z ]+: (\S+) leaves')


def call(*args: object) -> tuple:
    done = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True,
                          timeout=1200, check=False)
    return done.returncode, done.stdout, done.stderr


def document(*args: object) -> dict:
    return json.loads(call(*args, '--json', '-')[1])


def fit_document(*args: object) -> dict:
    """Of a search that a busy machine does not cut short."""
    return document('fit', '--time', 3600, *args)


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


def of_fit(path: Path, where: tuple) -> str | None:
    size = () if where else ('--device-bytes', f'{capacity(path)}B')
    said = fit_document(*size, *where, path)['recommended']
    return said and said['alloc_conf']


def capacity(path: Path) -> int:
    """That of a recording's own device."""
    return document('run', path)['runs'][0]['device']['total_bytes']


def reliable(path: Path, where: tuple) -> list:
    """The settings of the whole grid that fit the device, and all from their smallest up to it."""
    size = () if where else ('--device-bytes', f'{capacity(path)}B')
    said = fit_document('--settings', 'all', '--exact', *size, *where, path)['settings']
    return [x['alloc_conf'] for x in said if x['status'] == 'fits' and x['reliable']
            and x['smallest'] == x['reliable']]


def check(path: Path, where: tuple, folder: str) -> list:
    """The faults of the answers about one out-of-memory."""
    named = {'run': of_run(path, where), 'explain': of_explain(path, where),
             'fit': of_fit(path, where), 'page': of_page(path, where, folder)}
    setting = named['run']
    faults = [f'{path.name} {where}: {named}'] if len(set(named.values())) > 1 else []
    if setting and call('run', '-q', '--alloc-conf', setting, *where, path)[0]:
        faults.append(f'{path.name} {where}: {setting} does not complete it')
    if not setting and path.stat().st_size < SMALL and reliable(path, where):
        faults.append(f'{path.name} {where}: none is named of {reliable(path, where)}')
    return faults


def devices_of(path: Path) -> list:
    """The recorded one, and some on which the own settings fail."""
    fit = fit_document('-p', 'pytorch', path)
    if len(fit['fits']) != 1 or not fit['fits'][0]['smallest']:
        return []
    low, page = fit['lower_bound'], fit['granularity']
    span = fit['fits'][0]['smallest'] - low
    sizes = {low + int(span * part) // page * page for part in PARTS}
    return [('--device-bytes', str(x), '--context-bytes', 0) for x in sorted(sizes)]


LINES = ('expandable_segments:True', 'max_split_size_mb:64', 'max_split_size_mb:32,'
         'roundup_power2_divisions:8', 'roundup_power2_divisions:4')
EQUAL = 0.02


def ranked(fits: dict) -> str:
    """The rule without a device, on the reliable size and the calls of each setting."""
    able = {x: f for x, f in fits.items() if f['reliable']}
    least = min(f['reliable'] for f in able.values())
    near = [x for x, f in able.items() if f['reliable'] < least + least * EQUAL]
    keys = {x: len(list(filter(None, x.split(',')))) for x in near}
    few = [x for x in near if keys[x] == min(keys.values())]
    return min(few, key=lambda x: (able[x]['calls'], list(fits).index(x)))


def fit_of(path: Path, line: str) -> dict:
    """One setting alone."""
    fit, = fit_document('--settings', 'none', '--alloc-conf', line, path)['fits']
    return {'smallest': fit['smallest'], 'reliable': fit['reliable'],
            'calls': fit['at_reliable'] and fit['at_reliable']['calls']}


def check_rule(path: Path, folder: str) -> list:
    """The ranking of LINES, without a device: what is recommended, and each setting's figures."""
    grid = Path(f'{folder}/grid')
    grid.write_text(''.join(f'{x}\n' for x in LINES), encoding='ascii')
    fits = {x: fit_of(path, x) for x in ('', *LINES)}
    said = fit_document('--settings', grid, '--exact', '--alloc-conf', '', path)
    rows = {x['alloc_conf']: x for x in said['settings']}
    faults = [f'{path.name}: {x}: {rows[x]}, not {fits[x]}' for x in fits
              if rows[x]['status'] != 'skipped'
              and any(rows[x][k] != fits[x][k] for k in ('smallest', 'reliable'))]
    for more in ('--exact',), ():
        got = fit_document('--settings', grid, *more, '--alloc-conf', '', path)['recommended']
        wanted = ranked(fits)
        if (got and (got['alloc_conf'] or '')) != wanted:
            faults.append(f'{path.name}{more}: {got} is recommended, not {wanted}')
    return faults


def single(path: Path) -> bool:
    """One device, whose memory is PyTorch's; what it needs can be found."""
    fits = fit_document('--settings', 'none', '--alloc-conf', '', path)['fits']
    return len(fits) == 1 and fits[0]['reliable'] is not None


def main() -> int:
    files = [Path(x) for x in sys.argv[2:]] or [
        *sorted((ROOT / 'tests').glob('**/*.pickle.gz')), *sorted((ROOT / 'traces').glob('*.gz'))]
    seen = found = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            size = path.stat().st_size
            if sys.argv[2:] or (path.parent.name == 'traces' and size < LARGE) or size < SMALL / 4:
                if single(path):
                    TAP.result(f'the rule: {path.parent.name}/{path.name}', check_rule(path, folder))
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
    TAP.ok(sys.argv[2:] or (seen > len(files) / 3 and found > seen / 5), f'{seen} failures, {found} with a setting')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
