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
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bad_plugins  # noqa: E402
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import times  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
TRACES = ('moe_train_dispatch', 'bert_base_infer_varlen')
SOURCES = {             # of a policy, and what it takes besides; compact needs forks of the
                        # heap, and plan the reader of plans
    'bestfit': ['anyfit'], 'firstfit': ['anyfit'], 'nextfit': ['anyfit'], 'worstfit': ['anyfit'],
    'bfc': ['bfc', 'pytorch_settings', '../base/parse', '../base/format'],
    'buddy': ['buddy'], 'sizeclass': ['sizeclass'], 'tlsf': ['tlsf'], 'direct': ['direct'],
    'pytorch': ['pytorch', 'pytorch_expandable', 'pytorch_settings', 'pytorch_stats',
                '../base/parse', '../base/format'],
}
SETTINGS = [            # each policy, and keys where they lead to other verbs
    'bestfit', 'bestfit:align=4096,pool=64MiB', 'firstfit', 'nextfit:min_split=1MiB', 'worstfit',
    'buddy:min=1024', 'sizeclass:slab=4MiB', 'tlsf:sl_log2=3', 'direct', 'pytorch', 'bfc',
    'bfc:garbage_collection=true,fragmentation_fraction=0.1',
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
    # a plug-in was compared with nothing yet, and no version says which settings it has, so that
    # another one may be recommended
    text = re.sub('\t*"evidence":.*\n', '', text)
    text = re.sub(r'\t*"(?:fix|try)":\s*\{[^{}]*\}(?=,?\n)', '', text)
    text = re.sub('\t*"tried":.*\n', '', text)
    return text.replace('by my-pytorch)', 'by PyTorch)').replace('my-', '').split('\n')


def check_equal(tap: Tap, bench: Bench) -> None:
    for policy in SOURCES:
        more = [str(ROOT / 'src' / 'policy' / f'{name}.c') for name in SOURCES[policy][1:]]
        bench.compile(f'my-{policy}', built_in(policy), '-DFRAG_AS_PLUGIN', '-DNDEBUG', '-I',
                      str(ROOT / 'src'), *more)
    for number, setting in enumerate(SETTINGS[::times(2, 1, 3)]):
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
    schema = schema_of('result')
    status, text, error = bench.run('-p', './my-pytorch.so', '-p', './my-bestfit.so', '--json', '-',
                                    events='{"op":"alloc","id":1,"size":5}\n')
    faults = list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text)))
    tap.result('the schema takes results of plug-ins, with statistics and without',
               status and error, *(x.message for x in faults),
               '"pytorch":' not in text and 'there are no statistics')


def moments(bench: Bench, policy: str, *options: str) -> object:
    """What explain says of a run, or why it says nothing; paths of plug-ins apart."""
    done = subprocess.run([str(bench.program), 'explain', '-q', '--json', '-', '-p', policy, *options],
                          cwd=bench.folder, capture_output=True, text=True, check=False, timeout=100)
    if done.returncode:
        return done.stderr
    found = json.loads(done.stdout)['moments']
    for moment in found:
        moment['survivors'] = []        # others than the policy itself
    return found


def check_explained(tap: Tap, bench: Bench) -> None:
    trace = str(ROOT / 'traces' / 'bert_base_infer_varlen.ndjson.gz')
    for name in ('bestfit', 'buddy', 'sizeclass', 'direct', 'pytorch'):
        mine, theirs = (moments(bench, p, '--device-bytes', '900MiB', trace)
                        for p in (f'./my-{name}.so', name))
        tap.result(f'{name} is explained the same as a plug-in', mine != theirs and [str(mine)[:300]])
    # 1 MiB, of which 100 KiB are asked for again; nobody, or a liar, says where
    (bench.folder / 'full.ndjson').write_text(
        '{"format":"fragsim-trace","version":1,"device":{"total_bytes":"1MiB","granularity_bytes":1}}\n'
        + ''.join(f'{{"op":"alloc","id":{i},"size":{size}}}\n'
                  for i, size in enumerate((500000, 80000, 400000, 100000))), encoding='ascii')
    seek = ('static struct frag_sought my_seek(const struct frag_policy *p, const struct frag_request *rq)\n'
            '{ (void)p; (void)rq; return (struct frag_sought){ .list = 12345 }; }\n')
    for what, text in (('without a word', bad_plugins.policy(NAME='"my-mute"')),
                       ('by a lie', bad_plugins.policy(NAME='"my-liar"').replace(
                           'const struct frag_policy_ops my_ops;', seek + 'const struct frag_policy_ops my_ops;', 1)
                        .replace('.free = my_free,', '.free = my_free, .seek = my_seek,'))):
        bench.compile('sought', text + bad_plugins.EXPORT)
        found = moments(bench, './sought.so', 'full.ndjson')
        tap.result(f'where a request is looked for, {what}',
                   not isinstance(found, list) and found,
                   isinstance(found, list) and found[0]['need'] != 100000 and str(found[0]['need']))
        (bench.folder / 'sought.so').unlink()


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
        ('my-bestfit.so', 2, 'no policy "my-bestfit.so"; valid values: bestfit, '),
        ('my-bestfit.so', 2, 'a plug-in needs a path: ./NAME.so'),
        ('./my-bestfit.so:', 2, 'policy my-bestfit has no key ""; its keys are: align, segment'),
        ('./my-bestfit.so:algn=1', 2, 'policy my-bestfit has no key "algn"; did you mean align? its keys are: align'),
        ('./my-bestfit.so:align=3', 2, 'policy my-bestfit: align=3 is not a power of two, from 1'),
        ('./my-bestfit.so:align=8,align=8', 2, 'policy my-bestfit: align is specified more than once'),
        ('./my-buddy.so:min=4MiB', 2, 'min=4194304 is larger than segment=2097152'),
        ('./' + 600 * 'x', 2, "a plug-in's path has more than 511 characters"),
        ('./my-pytorch.so:max_split_size_mb=1', 2, 'max_split_size_mb'),
    ]
    for policy, status, words in cases:
        got, out, error = bench.run('-p', policy, events='{"op":"alloc","id":1,"size":5}\n')
        tap.result(f'{policy[:60]} is refused: {words[:60]}',
                   got != status and f'status {got}, not {status}', out,
                   words not in error and error, error.count('\n') != 1 and error)


def check_reach(tap: Tap, bench: Bench) -> None:
    """Policies that sort free blocks, use both ends, and read a file, as plug-ins."""
    for name in ('twolevel', 'twoended'):
        source = (ROOT / 'tests' / 'support' / f'policy_{name}.c').read_text(encoding='utf-8')
        bench.compile(name, source.replace('fragsim/policy.h', 'fragsim/plugin.h')
                      + f'FRAG_PLUGIN(policy_{name});\n')
    trace = str(ROOT / 'traces' / 'resnet50_train_bs32_fp32.ndjson.gz')
    for policy in ('./twolevel.so:steps=16', './twoended.so:large=1MiB'):
        for limit in ([], ['--device-bytes', '1GiB', '--on-oom', 'continue']):
            status, text, error = bench.run('-p', policy, '-p', 'bestfit', '--check', '--json', '-', *limit, trace=trace)
            mine, theirs = json.loads(text or '{"runs":[0,0]}')['runs']
            tap.result(f'{policy} {" ".join(limit)}'.strip() + ' is sound at every step',
                       status not in (0, 3) and error, not mine and 'no result',
                       mine and mine['steps'] != theirs['steps'] and f'{mine["steps"]} steps')

    # 1000 and 3000 bytes are small, but for the list; a segment has 2 MiB
    events = ''.join(f'{{"op":"alloc","id":{i},"size":{size}}}\n'
                     for i, size in enumerate((1000, 3000, 70000, 1000)))
    (bench.folder / 'sizes').write_text('5\n1000\n', encoding='utf-8')
    for keys, want in (('', [0, 1024, 2097152 - 70144, 4096]),
                       (':list=sizes', [2097152 - 1024, 0, 2097152 - 1024 - 70144,
                                        2097152 - 1024 - 70144 - 1024])):
        status, text, error = bench.run('-p', f'./twoended.so{keys}', '--placements', '-', '--check',
                                        events=events)
        got = [json.loads(line)['offset'] for line in text.splitlines()]
        tap.result(f'./twoended.so{keys} has the two ends filled as its file says',
                   status and error, got != want and f'{got}, not {want}')
    status, text, error = bench.run(*'-p ./twoended.so:list=sizes -p ./twoended.so -p'
                                    ' ./twoended.so:list=./sizes,align=8 --threads 3 --json -'.split(), events=events)
    got = [run['policy']['params']['list'] for run in json.loads(text or '{"runs":[]}')['runs']]
    tap.result('results show the path of a file', status and error, got != ['sizes', '', './sizes'] and got)
    check_files(tap, bench, events)


def check_files(tap: Tap, bench: Bench, events: str) -> None:
    """A file that cannot be used is one line."""
    (bench.folder / 'bad').write_text('5\n-3\n', encoding='utf-8')
    (bench.folder / 'empty').touch()
    with open(bench.folder / 'large', 'wb') as file:
        file.truncate((256 << 20) + 1)
    os.mkfifo(bench.folder / 'pipe')
    for path, status, words in (
            ('none', 2, 'No such file or directory'), ('.', 2, 'not a regular file'),
            ('pipe', 2, 'not a regular file'), ('bad', 4, 'line 2 is no size in bytes'),
            ('large', 2, '268435457 bytes; at most 268435456 are read'),
            ('empty', 0, ''), ('', 0, '')):
        got, out, error = bench.run('-p', f'./twoended.so:list={path}', '-q', events=events)
        tap.result(f'a key that names the file "{path}"', got != status and f'status {got}', out,
                   error != (words and f'fragsim: policy twoended: list={path}: {words}\n') and error)
    got, out, error = bench.run('-p', './twoended.so:list=sizes,list=sizes', '-q', events=events)
    tap.result('a file that is named twice is refused', got != 2 and f'status {got}', 'is specified more than once' not in error and error)
    done = subprocess.run([str(bench.program), 'list', 'policies', './twoended.so'], cwd=bench.folder, capture_output=True,
                          text=True, check=False, timeout=100)
    tap.result('the list of its keys has the file', '    list= ' not in done.stdout and done.stdout + done.stderr)


def check_listed(tap: Tap, bench: Bench) -> None:
    """A plug-in's keys are shown as those of the policy that it copies, and JSON is the same."""
    def ask(*words: str) -> tuple[int, str, str]:
        done = subprocess.run([str(bench.program), 'list', 'policies', *words], cwd=bench.folder,
                              capture_output=True, text=True, check=False, timeout=100)
        return done.returncode, done.stdout, done.stderr

    for policy in ('bestfit', 'pytorch', 'direct'):
        for words in ((), ('--json', '-')):
            status, mine, error = ask(*words, f'./my-{policy}.so')
            _, theirs, _ = ask(*words, policy)
            tap.result(f'policies {" ".join(words)} ./my-{policy}.so lists its keys',
                       status and error, len(theirs) < 100 and theirs,
                       mine.replace(f'my-{policy}', policy) != theirs and mine)
    bench.compile('picky', '#include "fragsim/plugin.h"\nstatic int picky(const uint64_t *param, struct frag_error *err)\n'
                  '{ return param ? frag_fail(err, FRAG_EUSAGE, "a key is required") : 0; }\n'
                  + bad_plugins.policy(SLOT='my_alloc, .check = picky') + bad_plugins.EXPORT)
    status, mine, error = ask('./picky.so')
    tap.result('a policy that does not go without keys is listed', status and error, '    key=0 ' not in mine and mine)
    both = json.loads(ask('--json', '-', './my-buddy.so', 'direct')[1])['policies']
    tap.result('those that are named are listed in their order',
               [x['name'] for x in both] != ['my-buddy', 'direct'] and str(both))
    whole = json.loads(ask('--json', '-')[1])
    one = json.loads(ask('--json', '-', 'sizeclass')[1])
    tap.result('one of them is as in the list of all', one['policies'] !=
               [x for x in whole['policies'] if x['name'] == 'sizeclass'] and str(one))
    for words, status, said in ((('./none.so',), 4, 'plug-in ./none.so: No such file'),
                                (('bestfi',), 2, 'did you mean bestfit?'),
                                (('bestfit:align=8',), 2, 'the name alone')):
        got, out, error = ask(*words)
        tap.result(f'policies {words[0]} is refused', got != status and f'status {got}', out,
                   said not in error and error)


def check_caught(tap: Tap, bench: Bench) -> None:
    events = ''.join(f'{{"op":"{op}","id":{i}{more}}}\n' for op, i, more in (
        ('alloc', 1, ',"size":1000'), ('alloc', 2, ',"size":3000'), ('free', 1, ''),
        ('alloc', 3, ',"size":500'), ('free', 2, ''), ('free', 3, '')))
    for name, body, words in bad_plugins.LIARS:
        bench.compile(f'liar-{name}', bad_plugins.liar(body))
        got, out, error = bench.run('-p', f'./liar-{name}.so', '--json', '-', events=events)
        tap.result(f'a plug-in that lies: {name}', got != 4 and f'status {got}', out and 'it wrote a result',
                   f'fragsim: policy ./liar-{name}.so: {words}\n' != error and error)
    trace = ('{"format":"fragsim-trace","version":1,"devices":[{},{}]}\n'
             '{"op":"alloc","id":"a\\"b","size":1000,"device":1}\n')
    got, out, error = bench.run('-p', './liar-takes none.so', events=trace)
    tap.result('its device and an id that is a string are named', got != 4 and f'status {got}',
               error != 'fragsim: policy ./liar-takes none.so: device 1, event 0 (alloc id "a\\"b"):'
               ' frag_heap_take: FRAG_NO_BLOCK is no block\n' and error)
    bench.compile('keeper', bad_plugins.liar(bad_plugins.KEEPER))
    got, out, error = bench.run('-p', './keeper.so', '--check', '--json', '-', events=events)
    tap.result('a plug-in that keeps a block in its hand, under --check',
               got != 1 and f'status {got}', out and 'it wrote a result',
               bad_plugins.KEEPER_SAID not in error and error)
    bench.compile('honest', bad_plugins.liar(''))
    got, out, error = bench.run('-p', './honest.so', '--check', '--json', '-', events=events)
    tap.result('and the same without its lie does not', got and f'status {got}', error,
               '"my-liar"' not in out and out)


def crash_of(bench: Bench, name: str, *arguments: str) -> tuple[int, str, list[str], list[str]]:
    """Status, output, lines of error, and files that were not there before."""
    there = set(os.listdir(bench.folder))
    events = ''.join(f'{{"op":"{op}","id":{i}{more}}}\n' for op, i, more in (
        ('alloc', 1, ',"size":1000'), ('alloc', 2, ',"size":3000'), ('free', 1, '')))
    status, out, error = bench.run('-p', f'./{name}.so', *arguments, '--json', 'left.json',
                                   '--steps', 'left.csv', events=events)
    return status, out, error.split('\n'), sorted(set(os.listdir(bench.folder)) - there)


def check_crashes(tap: Tap, bench: Bench) -> None:
    """The process dies of the signal, or of what a sanitizer does about it, but not in silence."""
    for number, (name, body, before, when, signal_name) in enumerate(bad_plugins.CRASHES):
        file = f'crash-{number}'
        bench.compile(file, bad_plugins.INCLUDES + before + bad_plugins.liar(body), '-Wno-unknown-warning-option',
                      '-Wno-infinite-recursion')
        dies = -getattr(signal, signal_name)
        # alone, in the first thread; with others, in one of several
        for threads in ((), ('-p', 'bestfit', '-p', f'./{file}.so:key=1', '--threads', '3')):
            status, out, lines, left = crash_of(bench, file, *threads)
            texts = {f'fragsim: plug-in ./{file}.so{key}: {when}crashed with {signal_name}'
                     for key in ('', ':key=1')}
            tap.result(f'a plug-in that {name}, {"among others" if threads else "alone"}, is named',
                       status not in (dies, -signal.SIGABRT if os.environ.get('SAN') else dies)
                       and f'status {status}',
                       lines[0] not in texts and lines,
                       not os.environ.get('SAN') and len(lines) > (3 if threads else 2) and lines,
                       out, left)


def check_names(tap: Tap, bench: Bench) -> None:
    """A path that would steer a terminal is printed escaped, also by the handler of a crash."""
    odd = 'a\x1b[1m\nb'
    shown = r'./a\u001b[1m\nb.so'
    # the compiler's own messages need a plain name
    for name, body in (('honest-name', ''), ('crash-name', 'FREE:abort();')):
        bench.compile(name, bad_plugins.INCLUDES + bad_plugins.liar(body))
        os.replace(bench.folder / f'{name}.so', bench.folder / f'{odd}.so')
        status, out, lines, _ = crash_of(bench, odd)
        if body:
            tap.result('a crash in a plug-in with an odd name is one line',
                       lines[0] != f'fragsim: plug-in {shown}: event 2: crashed with SIGABRT' and lines)
        else:
            status, out, error = bench.run('-p', f'./{odd}.so', events='{"op":"alloc","id":1,"size":1}\n')
            tap.result('a report of a plug-in with an odd name', status and f'status {status}', error,
                       f'NO LIMIT: {shown} reserves' not in out and out, '\x1b' in out and out)


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='plugin-') as folder:
        bench = Bench(Path(argv[1]).absolute(), Path(folder))
        check_equal(tap, bench)
        check_explained(tap, bench)
        check_refused(tap, bench)
        check_reach(tap, bench)
        check_listed(tap, bench)
        check_caught(tap, bench)
        check_crashes(tap, bench)
        check_names(tap, bench)
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
