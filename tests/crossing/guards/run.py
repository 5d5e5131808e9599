"""run.py - what is added as CONTRIBUTING.md says passes the lists, limits and names of the house.

    run.py PROGRAM      prints TAP

A policy, a metric and a field are added in a copy of the tree, each just as its recipe says. The
copy is built, tests/lists and tests/crossing/metrics run there, and the field is looked for where a
line of its table has to bring it.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from program import SAN  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PATIENCE = 1800
MAKE = ('make', '-s', 'CFLAGS=-O0', 'WERROR=', 'BUILD=build')


class Copy:
    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ('FRAGSIM', 'BUILD', 'MAKEFLAGS', 'MAKELEVEL')}

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding='utf-8')

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding='utf-8')

    def after(self, name: str, line: str, added: str) -> None:
        """Adds text behind the first place of another."""
        text = self.text(name)
        assert line in text, f'{name} has no {line!r}'
        self.write(name, text.replace(line, line + added, 1))

    def does(self, *words: object, **env: str) -> str:
        done = subprocess.run([*map(str, words)], cwd=self.root, env={**self.env, **env},
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode in (0, 1), f'{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}'
        return done.stdout

    def build(self) -> None:
        done = subprocess.run([*MAKE, f'-j{os.cpu_count()}', 'all'], cwd=self.root, env=self.env, check=False,
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr[-3000:]

    def test(self, name: str, what: str) -> None:
        """All results of one test of the copy."""
        said = self.does('/usr/bin/python3', '-B', f'tests/{name}/run.py', 'build/fragsim',
                         FRAGSIM=str(self.root / 'build/fragsim'), BUILD=str(self.root / 'build'))
        failed = re.findall(r'^not ok .*(?:\n#.*)*', said, re.M)
        TAP.result(what, failed if '1..' in said else [said[-2000:] or 'nothing was said'])


def copied(folder: Path) -> Copy:
    shutil.copytree(ROOT, folder, symlinks=True, ignore=lambda where, names: [
        x for x in names if where == str(ROOT) and (x.startswith('build') or x == '.git')])
    return Copy(folder)


def add_policy(c: Copy) -> None:
    """Add a policy: `direct` under another name."""
    code = c.text('src/policy/direct.c').replace('direct', 'dummy')
    c.write('src/policy/dummy.c', code)
    c.after('scripts/modules.txt', ' direct', ' dummy')
    c.after('src/policy/policies.h', 'frag_policy_direct;',
            '\nextern const struct frag_policy_ops frag_policy_dummy;')
    c.after('src/policy/policy.c', '&frag_policy_direct,', '\n\t&frag_policy_dummy,')
    c.after('tests/property/naive_policies.py', '"direct": (Direct, {}),',
            '\n    "dummy": (Direct, {}),')
    c.after('tests/property/random_policies.py', '("direct", lambda rng: {}),',
            ' ("dummy", lambda rng: {}),')
    for name in ('segments.sh', 'segments.stdout.exact'):
        c.write(f'tests/golden/dummy/{name}',
                c.text(f'tests/golden/direct/{name}').replace('direct', 'dummy'))
    c.after('man/fragsim-policies.7', '.Ss direct\n', 'Every request is a segment.\n.Ss dummy\n')
    c.write('CHANGELOG.md', c.text('CHANGELOG.md') + '\nThe policy dummy.\n')


def name_in_lists(c: Copy) -> None:
    """Step 4: tests/lists names the lists that lack it."""
    said = c.does('/usr/bin/python3', '-B', 'tests/lists/run.py', 'build/fragsim',
                  FRAGSIM=str(c.root / 'build/fragsim'), BUILD=str(c.root / 'build'))
    named = re.search(r'^#\s+(.*): all of .* but dummy', said, re.M)
    for file in named[1].split(', ') if named else ():
        text = c.text(file)
        more = re.sub(r'''(['"]?)(-p )?\bdirect\b\1,?(?= ?)''',
                      lambda m: f'{m[0].rstrip(",")}{"," if m[1] else ""} {m[1]}{m[2] or ""}dummy{m[1]}'
                                + (',' if m[0].endswith(',') else ''), text)
        c.write(file, more)


def add_metric(c: Copy) -> None:
    """Add a metric: pending bytes, by the sums that are there."""
    table = c.text('include/fragsim/metrics.h')
    last = re.search(r'"reserved, neither requested nor releasable"\)', table)
    assert last, 'the table has another end'
    c.write('include/fragsim/metrics.h', table[:last.end()]
            + '  \\\n\tX(pending, BYTES, 3, STEP, HIDDEN, ASKED, FIGURE, "active, not allocated")'
            + table[last.end():])
    c.after('src/metrics/run_metrics.h', 'D(wasted, b->reserved, b->requested + b->releasable)',
            ' \\\n\tD(pending, b->active, b->allocated)')
    c.write('tests/property/naive.py', c.text('tests/property/naive.py').replace(
        '"holes", "wasted"]', '"holes", "wasted", "pending"]').replace(
        '    m["wasted"] =', '    m["pending"] = m["active"] - m["allocated"]\n    m["wasted"] ='))
    c.write('tests/crossing/metrics/run.py', c.text('tests/crossing/metrics/run.py').replace(
        "LATER = ['holes', 'wasted']", "LATER = ['holes', 'wasted', 'pending']"))
    for page in ('man/fragsim-result.5', 'man/fragsim-diff.1'):
        text = c.text(page).replace('.It peak.holes , peak.wasted',
                                    '.It peak.holes , peak.wasted , peak.pending')
        c.write(page, text.replace('.It Li wasted\n', '.It Li pending\nActive, not allocated.\n.It Li wasted\n', 1)
                .replace('holes , wasted .', 'holes , wasted , pending .').replace('.Li wasted .', '.Li wasted , pending .'))


def update_baseline(c: Copy) -> None:
    names = [x['name'] for x in json.loads(c.does('build/fragsim', *LIST))['policies']]
    policies = [x for name in names for x in ('-p', name)]
    c.does('build/fragsim', 'diff', '-q', '-b', 'traces/baseline.json', '--update-baseline', *policies)


LIST = ('list', 'policies', '--json', '-')


def add_field(c: Copy) -> None:
    """Add a field: one line, and the names of all members are noted anew."""
    first = '"the number of the rank", "rank", "rank" },'
    c.after('src/answers/ranks_answer.c', first,
            '\n\t{ "seat", FRAG_TYPE_COUNT, AT(number), "the rank again", "seat", "seat" },')


def check_field(c: Copy) -> None:
    events = [{'format': 'fragsim-trace', 'version': 1}, {'op': 'alloc', 'id': 1, 'size': 5000}]
    for rank in range(2):
        c.write(f'job/rank{rank}.ndjson', ''.join(json.dumps(x) + '\n' for x in events))
    def says(form: str) -> str:
        return c.does('build/fragsim', 'ranks', '-q', '--format', form, 'job/rank0.ndjson', 'job/rank1.ndjson')
    schema = json.loads(c.text('build/documents/fragsim-ranks.schema.json'))
    TAP.result('a field is a line of its table: JSON, CSV, Markdown, schema and manual have it', [x for x in (
        [r.get('seat') for r in json.loads(says('json'))['ranks']] != [0, 1] and 'JSON lacks it',
        'seat' not in says('csv').split('\n')[0].split(',') and 'CSV lacks it',
        '| seat' not in says('markdown') and 'Markdown lacks it',
        'seat' not in schema['properties']['ranks']['items']['properties'] and 'the schema lacks it',
        'seat' not in c.text('build/documents/fragsim-documents.5') and 'the manual lacks it') if x])


def main() -> int:
    if SAN:
        TAP.skip('what is added passes', 'the copy is built without sanitizers')
        return TAP.finish()
    with tempfile.TemporaryDirectory(prefix='fragsim-guards-') as folder:
        c = copied(Path(folder) / 'fragsim')
        add_policy(c)
        add_metric(c)
        add_field(c)
        c.build()
        name_in_lists(c)
        update_baseline(c)
        check_field(c)
        c.does('/usr/bin/python3', '-B', 'tests/crossing/schema/run.py', 'build/fragsim', ACCEPT='1')
        TAP.ok('\n    seat: int\n' in c.text('python/fragsim/_types.pyi'), 'the types of Python have the field')
        c.test('lists', 'a policy and a metric pass the lists')
        c.test('crossing/metrics', 'and the metric is wherever metrics are')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
