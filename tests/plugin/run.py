#!/usr/bin/python3
"""run.py - policies as plug-ins: like the built-in ones, or refused, or caught.

usage: run.py PROGRAM

The sources of src/policy are compiled as plug-ins under other names and give the same bytes as
the program's own; files that are no plug-in, or one that does not fit, are refused with status 4
before the first step; plug-ins that lie to the heap are stopped with their name.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bad_plugins  # noqa: E402
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'support'))
from tap import Tap  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
TRACES = ('moe_train_dispatch', 'bert_base_infer_varlen')
SOURCES = {             # of a policy, and what it takes besides
    'bestfit': ['fit'], 'firstfit': ['fit'], 'nextfit': ['fit'], 'worstfit': ['fit'],
    'buddy': ['buddy', 'fit'], 'sizeclass': ['sizeclass', 'fit'], 'direct': ['direct'],
    'pytorch': ['pytorch', 'pytorch_plant', 'pytorch_settings', 'pytorch_stats', '../base/near',
                '../base/parse'],
}
SETTINGS = [            # each policy, and keys where they lead to other verbs
    'bestfit', 'bestfit:align=4096,pool=64MiB', 'firstfit', 'nextfit:min_split=1MiB', 'worstfit',
    'buddy:min=1024', 'sizeclass:slab=4MiB', 'direct', 'pytorch',
    'pytorch:expandable_segments=True', 'pytorch:max_split_size_mb=64,roundup_power2_divisions=4',
]


class Bench:
    """A folder with plug-ins, and the program that loads them."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.include = next((program.parent / 'stage').rglob('plugin.h')).parent.parent

    def compile(self, name: str, text: str, *flags: str) -> None:
        """The plug-in NAME.so; what is not a warning of strict compilers is not one here."""
        source = self.folder / f'{name}.c'
        source.write_text(text, encoding='utf-8')
        cc = (os.environ.get('CC') or 'cc').split()
        done = subprocess.run([*cc, '-std=c11', '-D_XOPEN_SOURCE=700', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror',
                               '-fPIC', '-shared', '-I', str(self.include), *flags,
                               '-o', str(self.folder / f'{name}.so'), str(source)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f'Bail out! {name}: {done.stderr}')

    def run(self, *arguments: str, trace: str = '-', events: str = '') -> tuple[int, str, str]:
        done = subprocess.run([str(self.program), 'run', *arguments, trace], cwd=self.folder,
                              input=events, capture_output=True, text=True, check=False, timeout=100)
        return done.returncode, done.stdout, done.stderr


def built_in(policy: str) -> str:
    """The source of a policy of src/policy as a plug-in, called my-NAME."""
    first = (ROOT / 'src' / 'policy' / f'{SOURCES[policy][0]}.c').read_text(encoding='utf-8')
    renamed, count = re.subn(f'\\.name = "{policy}",', f'.name = "my-{policy}",', first)
    if count != 1:
        raise SystemExit(f'Bail out! the name of {policy} is not found')
    return '#include "fragsim/plugin.h"\n' + renamed \
        + f'FRAG_PLUGIN(frag_policy_{policy});\n'


def outputs(bench: Bench, policy: str, trace: str, limit: list[str]) -> list[str]:
    """Every line that a run writes, with the plug-in called as the policy that it copies."""
    files = [bench.folder / x for x in ('result.json', 'steps.csv', 'placements.ndjson')]
    status, text, error = bench.run('-p', policy, '--json', str(files[0]), '--steps', str(files[1]),
                                    '--placements', str(files[2]), *limit, trace=trace)
    text = '\n'.join([f'status {status}, {error}', *(x.read_text() for x in files)])
    text = re.sub(r'\./my-(\w+)\.so', r'\1', text)
    # an OOM of pytorch speaks of PyTorch
    return text.replace('by my-pytorch)', 'by PyTorch)').replace('my-', '').split('\n')


def check_equal(tap: Tap, bench: Bench) -> None:
    for policy in SOURCES:
        more = [str(ROOT / 'src' / 'policy' / f'{name}.c') for name in SOURCES[policy][1:]]
        bench.compile(f'my-{policy}', built_in(policy), '-I', str(ROOT / 'src'), *more)
    for number, setting in enumerate(SETTINGS[::3 if os.environ.get('SAN') else 1]):
        name, _, keys = setting.partition(':')
        trace = str(ROOT / 'traces' / f'{TRACES[number % 2]}.ndjson.gz')
        other = f'./my-{name}.so' + (f':{keys}' if keys else '')
        for limit in ([], ['--device-bytes', '1400MiB', '--on-oom', 'continue']):
            mine, theirs = (outputs(bench, p, trace, limit) for p in (other, setting))
            where = [f'{a[:300]}\nis not: {b[:300]}'
                     for a, b in zip(mine, theirs, strict=False) if a != b]
            tap.result(f'{setting} {" ".join(limit)}'.strip() + ' gives the same as a plug-in',
                       *where[:3], len(mine) != len(theirs) and 'another number of lines',
                       len(mine) < 10000 and f'only {len(mine)} lines were compared')
    status, text, error = bench.run('-p', './my-bestfit.so', '-p', 'bestfit', '-p',
                                    './my-bestfit.so:align=1024', '--threads', '3', '--check',
                                    '--json', '-', events='{"op":"alloc","id":1,"size":5}\n')
    tap.result('one plug-in twice beside a built-in policy',
               status and error, text.count('"my-bestfit"') < 2 and text)
    schema = json.loads((ROOT / 'man' / 'fragsim-result.schema.json').read_text(encoding='utf-8'))
    status, text, error = bench.run('-p', './my-pytorch.so', '-p', './my-bestfit.so', '--json', '-',
                                    events='{"op":"alloc","id":1,"size":5}\n')
    faults = list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text)))
    tap.result('the schema takes results of plug-ins, with statistics and without',
               status and error, *(x.message for x in faults),
               '"pytorch":' not in text and 'there are no statistics')


def check_refused(tap: Tap, bench: Bench) -> None:
    for name, text, flags in bad_plugins.MISFITS:
        bench.compile(name, text, *flags)
    whole = (bench.folder / 'my-bestfit.so').read_bytes()
    for part in (0, 3, 40, 100, 5000, len(whole) - 1):
        (bench.folder / f'cut-{part}.so').write_bytes(whole[:part])
    (bench.folder / 'colon:in.so').write_bytes(whole)
    os.mkfifo(bench.folder / 'pipe.so')
    (bench.folder / 'link.so').symlink_to('nowhere')
    cases = [(f'./{n}.so', 4, words) for n, words in bad_plugins.WHY.items()]
    cases += [(f'./cut-{n}.so', 4, 'not a shared object' if n < 64 else 'cut short')
              for n in (0, 3, 40, 100, 5000, len(whole) - 1)]
    cases += [
        ('./none.so', 4, 'plug-in ./none.so: No such file or directory'),
        ('./link.so', 4, 'plug-in ./link.so: No such file or directory'),
        ('./pipe.so', 4, 'plug-in ./pipe.so: not a regular file'),
        ('./', 4, 'plug-in ./: not a regular file'),
        ('/dev/null', 4, 'plug-in /dev/null: not a regular file'),
        ('./my-bestfit.c', 4, 'plug-in ./my-bestfit.c: not a shared object'),
        ('./colon:in.so', 4, 'plug-in ./colon: No such file or directory'),
        (str(bench.program), 4, 'cannot dynamically load'),
        ('my-bestfit.so', 2, 'no policy "my-bestfit.so"; there are: bestfit, '),
        ('my-bestfit.so', 2, 'a plug-in needs a path: ./NAME.so'),
        ('./my-bestfit.so:', 2, 'policy my-bestfit has no key ""; its keys are: align, segment'),
        ('./my-bestfit.so:algn=1', 2, 'policy my-bestfit has no key "algn"; did you mean align? its keys are: align'),
        ('./my-bestfit.so:align=3', 2, 'policy my-bestfit: align=3 is not a power of two, from 1'),
        ('./my-bestfit.so:align=8,align=8', 2, 'policy my-bestfit: align is given twice'),
        ('./my-buddy.so:min=4MiB', 2, 'min=4194304 is larger than segment=2097152'),
        ('./' + 600 * 'x', 2, "a plug-in's path has more than 511 characters"),
        ('./my-pytorch.so:max_split_size_mb=1', 2, 'max_split_size_mb'),
    ]
    for policy, status, words in cases:
        got, out, error = bench.run('-p', policy, events='{"op":"alloc","id":1,"size":5}\n')
        tap.result(f'{policy[:60]} is refused: {words[:60]}',
                   got != status and f'status {got}, not {status}', out,
                   words not in error and error, error.count('\n') != 1 and error)


def check_caught(tap: Tap, bench: Bench) -> None:
    events = ''.join(f'{{"op":"{op}","id":{i}{more}}}\n' for op, i, more in (
        ('alloc', 1, ',"size":1000'), ('alloc', 2, ',"size":3000'), ('free', 1, ''),
        ('alloc', 3, ',"size":500'), ('free', 2, ''), ('free', 3, '')))
    for name, body, words in bad_plugins.LIARS:
        bench.compile(f'liar-{name}', bad_plugins.liar(body))
        got, out, error = bench.run('-p', f'./liar-{name}.so', '--json', '-', events=events)
        tap.result(f'a plug-in that lies: {name}', got != 4 and f'status {got}', out and 'it wrote a result',
                   f'fragsim: {words}\n' != error and error)
    bench.compile('keeper', bad_plugins.liar(bad_plugins.KEEPER))
    got, out, error = bench.run('-p', './keeper.so', '--check', '--json', '-', events=events)
    tap.result('a plug-in that keeps a block in its hand, under --check',
               got != 1 and f'status {got}', out and 'it wrote a result',
               bad_plugins.KEEPER_SAID not in error and error)
    bench.compile('honest', bad_plugins.liar(''))
    got, out, error = bench.run('-p', './honest.so', '--check', '--json', '-', events=events)
    tap.result('and the same without its lie does not', got and f'status {got}', error,
               '"my-liar"' not in out and out)


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='plugin-') as folder:
        bench = Bench(Path(argv[1]).absolute(), Path(folder))
        check_equal(tap, bench)
        check_refused(tap, bench)
        check_caught(tap, bench)
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
