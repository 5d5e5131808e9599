"""run.py - fragsim sweep: the same bytes from however many shards, and from what was killed.

    run.py PROGRAM

Prints TAP. Runs are numbered here once more, by their definition; their figures are held against
those of fragsim run --json, one run at a time.
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    import yaml
except ImportError:
    yaml = None
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import times, until  # noqa: E402
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
TREE = Path(__file__).resolve().parents[3]
KILLS = times(20, 50, 10)
TAP = Tap()
HEADER = {'format': 'fragsim-trace', 'version': 1}
TRACES = ('short.ndjson', 'long.ndjson', 'two devices.ndjson')
POLICIES = ('pytorch', 'bestfit', 'bestfit:min_split=1024', 'buddy')
TOTALS = ('0', '40MiB', '1GiB')
RUNS = len(TRACES) * len(POLICIES) * len(TOTALS)
WHAT = [word for name in POLICIES for word in ('-p', name)] + ['--device-bytes', ','.join(TOTALS)]
VARIABLES = re.compile('^(SLURM_|PBS_|LSB_|SGE_|AWS_BATCH_|BATCH_|JOB_)')
ENV = {k: v for k, v in os.environ.items() if not VARIABLES.match(k)}


def fragsim(*args: object, status: int | None = 0, **env: str) -> subprocess.CompletedProcess:
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, check=False,
                          env=ENV | env, text=True)
    assert status is None or done.returncode == status, f'{args}: {done.returncode} {done.stderr}'
    return done


def write(path: str, count: int, devices: int) -> None:
    rng, live, lines = random.Random(path), [], [HEADER]
    for i in range(count):
        if live and rng.random() < 0.48:
            lines.append({'op': 'free', 'id': live.pop(rng.randrange(len(live)))})
        else:
            lines.append({'op': 'alloc', 'id': i, 'size': rng.choice([500, 5000, 3 << 20, 9 << 20]),
                          **({'device': rng.randrange(devices)} if devices > 1 else {})})
            live.append(i)
    if devices > 1:
        lines[0] = HEADER | {'devices': [{'ordinal': d} for d in range(devices)]}
    Path(path).write_text('\n'.join(map(json.dumps, lines)) + '\n')


def lines_of(path: str) -> list[dict]:
    return [json.loads(x) for x in Path(path).read_text().splitlines()]


def refused(name: str, done: subprocess.CompletedProcess, status: int, *words: str) -> None:
    TAP.result(name, [f'{done.returncode} {done.stdout!r} {done.stderr!r}']
               if done.returncode != status or done.stderr.count('\n') != 1
               or not all(x in done.stderr for x in words) else [])


def check_one() -> bytes:
    fragsim('sweep', *WHAT, *TRACES, '-o', 'one')
    manifest = json.loads(Path('one/manifest.json').read_text())
    TAP.result('the manifest says what was asked for', [f'{manifest}'] if [
        [x['path'] for x in manifest['traces']], manifest['policies'], manifest['device_bytes'],
        manifest['runs']] != [list(TRACES), list(POLICIES), [0, 40 << 20, 1 << 30], RUNS] else [])
    fragsim('sweep', '--merge', 'one')
    merged = lines_of('one/merged.ndjson')
    wrong = []
    for k, line in enumerate(merged):
        trace, rest = divmod(k, len(POLICIES) * len(TOTALS))
        policy, total = divmod(rest, len(TOTALS))
        done = fragsim('run', '-q', '-p', POLICIES[policy], '--device-bytes', TOTALS[total], '--json',
                       '-', TRACES[trace], status=None)
        result = json.loads(done.stdout)
        if line['run'] != k or line['content'] != result['trace']['content']:
            wrong.append(f'{k}: {line["run"]} {line["path"]}')
        for run, other in zip(line['runs'], result['runs'], strict=True):
            for key in ('status', 'steps', 'lower_bound', 'counts', 'policy'):
                if run[key] != other[key]:
                    wrong.append(f'{k}: {key} {run[key]} {other[key]}')
            for key in ('peak', 'last'):
                wrong += [f'{k}: {key}.{x}' for x, y in run[key].items() if other[key][x] != y]
            wrong += [f'{k}: {x}' for x in run['device'] if run['device'][x] != other['device'][x]]
    TAP.result('every run is what fragsim run says of it', len(merged) != RUNS and 'count' or wrong)
    statuses = {run['status'] for line in merged for run in line['runs']}
    TAP.result('and some run out of memory', statuses != {'fits', 'oom'} and f'{statuses}')
    return Path('one/merged.ndjson').read_bytes()


def check_shards(wanted: bytes) -> None:
    rng = random.Random(7)
    for count in (2, 7, RUNS, RUNS + 5):
        order = rng.sample(range(count), count)
        folder = f'in {count}'
        fragsim('sweep', *WHAT, *TRACES, '-o', folder, '--shard', f'{order[0]}/{count}')
        for i in order[1:]:             # who comes later needs no more than the folder
            fragsim('sweep', '-q', '-o', folder, '--shard', f'{i}/{count}')
        fragsim('sweep', '--merge', folder)
        TAP.result(f'{count} shards are the same bytes',
                   Path(folder, 'merged.ndjson').read_bytes() != wanted and 'they differ')
    numbers = [x['run'] for x in lines_of('in 7/shard-3-of-7.ndjson')]
    TAP.result('a shard has every Nth run', sorted(numbers) != list(range(3, RUNS, 7))
               and f'{numbers}')
    fragsim('sweep', *WHAT, *TRACES, '-o', 'threads', '--threads', 5)
    fragsim('sweep', '--merge', 'threads')
    TAP.result('and so are they of five threads',
               Path('threads/merged.ndjson').read_bytes() != wanted and 'they differ')


def check_scheduler(wanted: bytes) -> None:
    for name, more, index, count in (
            ('SLURM_ARRAY_TASK_ID', {'SLURM_ARRAY_TASK_MIN': '5', 'SLURM_ARRAY_TASK_MAX': '8',
                                     'SLURM_ARRAY_TASK_COUNT': '4'}, 5, 4),
            ('LSB_JOBINDEX', {'LSB_JOBINDEX_END': '3'}, 1, 3),
            ('SGE_TASK_ID', {'SGE_TASK_FIRST': '1', 'SGE_TASK_LAST': '2',
                             'SGE_TASK_STEPSIZE': '1'}, 1, 2),
            ('AWS_BATCH_JOB_ARRAY_INDEX', {'AWS_BATCH_JOB_ARRAY_SIZE': '3'}, 0, 3),
            ('BATCH_TASK_INDEX', {'BATCH_TASK_COUNT': '2'}, 0, 2)):
        for i in range(count):
            done = fragsim('sweep', *WHAT, *TRACES, '-o', name, '--shard', 'auto',
                           **more, **{name: str(index + i)})
            TAP.result(f'{name} says shard {i} of {count}',
                       f'shard {i} of {count}, as {name} says' not in done.stderr and done.stderr)
        fragsim('sweep', '--merge', name)
        TAP.result(f'the shards of {name} are all',
                   Path(name, 'merged.ndjson').read_bytes() != wanted and 'they differ')
    for i in range(1, 4):               # from 1 on, without a count
        fragsim('sweep', *WHAT, *TRACES, '-o', 'pbs', '--shard', 'auto/3', PBS_ARRAY_INDEX=str(i))
    fragsim('sweep', '--merge', 'pbs')
    TAP.result('the number is taken modulo N', Path('pbs/merged.ndjson').read_bytes() != wanted
               and 'they differ')
    refused('PBS says no count', fragsim('sweep', '-o', 'pbs', '--shard', 'auto', status=None,
                                         PBS_ARRAY_INDEX='1'), 2, 'PBS_ARRAY_INDEX', 'auto/N')
    refused('Kubernetes says no count', fragsim('sweep', '-o', 'pbs', '--shard', 'auto', status=None,
                                                JOB_COMPLETION_INDEX='1'), 2, 'JOB_COMPLETION_INDEX',
            'auto/N')
    refused('an index above its count', fragsim(
        'sweep', '-o', 'pbs', '--shard', 'auto', status=None, BATCH_TASK_INDEX='2',
        BATCH_TASK_COUNT='2'), 2, 'BATCH_TASK_INDEX')
    refused('an array with gaps', fragsim(
        'sweep', '-o', 'pbs', '--shard', 'auto', status=None, SLURM_ARRAY_TASK_ID='3',
        SLURM_ARRAY_TASK_MIN='3', SLURM_ARRAY_TASK_MAX='9', SLURM_ARRAY_TASK_COUNT='2'), 2,
        'has gaps')
    refused('no scheduler', fragsim('sweep', '-o', 'pbs', '--shard', 'auto', status=None,
                                    SGE_TASK_ID='undefined'), 2, 'no task of an array')
    for name, value in (('SLURM_ARRAY_TASK_ID', str(1 << 64)), ('SLURM_ARRAY_TASK_ID', 'first'),
                        ('SGE_TASK_ID', '-1'), ('SLURM_ARRAY_TASK_COUNT', '9' * 30)):
        refused(f'{name}={value}', fragsim(
            'sweep', '-o', 'pbs', '--shard', 'auto', status=None,
            **{'SLURM_ARRAY_TASK_ID' if 'SLURM' in name else name: '0', name: value}), 2, name,
            value)
    for text in ('3/3', '1', 'x/2', '1/0', 'auto/0', '1/', '/2', '-1/2'):
        refused(f'--shard {text}', fragsim('sweep', '-o', 'pbs', '--shard', text, status=None), 2,
                'I/N is required')


def check_kills(wanted: bytes) -> None:
    """Wherever it is killed, nothing is lost that was there, and nothing is done twice."""
    rng = random.Random(1)
    began = time.monotonic()
    fragsim('sweep', *WHAT, *TRACES, '-o', 'timed', '--threads', 1)
    whole = time.monotonic() - began
    wrong, ended = [], 0
    for i in range(KILLS):
        folder = f'killed {i}'
        count = rng.choice([1, 1, 2])
        for shard in range(count):
            args = [PROGRAM, 'sweep', '-q', *WHAT, *TRACES, '-o', folder, '--threads', '1',
                    '--shard', f'{shard}/{count}']
            with subprocess.Popen(args, env=ENV, stderr=subprocess.DEVNULL) as child:
                time.sleep(rng.random() * whole * 1.2 / count)
                child.kill()
            ended += child.returncode != -signal.SIGKILL
        made = Path(folder, 'manifest.json').exists()
        left = [p.read_bytes() for p in Path(folder).glob('shard-*') if Path(folder).is_dir()]
        if left and rng.random() < 0.5:         # a line that was torn, too
            path = next(iter(Path(folder).glob('shard-*')))
            path.write_bytes(path.read_bytes()[:-rng.randrange(1, 200)])
        other = rng.choice([1, 2, 3])           # shards of the second time
        for shard in range(other):
            fragsim('sweep', '--resume', '-q', *([] if made else [*WHAT, *TRACES]), '-o', folder,
                    '--shard', f'{shard}/{other}')
        fragsim('sweep', '--merge', folder)
        if Path(folder, 'merged.ndjson').read_bytes() != wanted:
            wrong.append(folder)
        lines = sum(p.read_bytes().count(b'\n') for p in Path(folder).glob('shard-*'))
        if lines != RUNS:
            wrong.append(f'{folder}: {lines} lines')
    TAP.result(f'killed at {KILLS} moments, resumed, merged: the same bytes', wrong)
    TAP.result('and most were killed before their end', ended > KILLS and f'{ended}')


def check_term(wanted: bytes) -> None:
    write('large.ndjson', 60000, 1)
    args = ['sweep', *WHAT, 'large.ndjson', '-o', 'term']
    with subprocess.Popen([PROGRAM, *args, '--threads', '1'], env=ENV, stdout=subprocess.PIPE,
                          text=True) as child:
        path = Path('term/shard-0-of-1.ndjson')
        until(lambda: child.poll() is not None or path.exists() and path.stat().st_size,
              'it has written a line')
        child.terminate()
        said = child.communicate()[0]
    done = len(lines_of(str(path)))
    TAP.result('SIGTERM: 130, with the lines at hand whole', [f'{child.returncode} {done} {said}']
               if child.returncode != 130 or not 0 < done < 12
               or f'{done} of 12 runs: {done} now' not in said else [])
    said = fragsim('sweep', '--resume', '-o', 'term').stdout
    TAP.result('the rest is done later', f'12 of 12 runs: {12 - done} now, {done} before' not in said
               and said)
    fragsim('sweep', '--merge', 'term')
    fragsim('sweep', *args[1:-1], 'at once')
    fragsim('sweep', '--merge', 'at once')
    TAP.result('as if nothing had been', Path('term/merged.ndjson').read_bytes()
               != Path('at once/merged.ndjson').read_bytes() and 'they differ')
    assert wanted


def copy(folder: str) -> str:
    for x in Path(folder).glob('*'):
        x.unlink()
    Path(folder).mkdir(exist_ok=True)
    for x in Path('in 2').glob('*'):
        if x.name != 'merged.ndjson':
            Path(folder, x.name).write_bytes(x.read_bytes())
    return folder


def change(path: str, find: bytes, to: bytes) -> None:
    data = Path(path).read_bytes()
    assert find in data, f'{path}: {find!r}'
    Path(path).write_bytes(data.replace(find, to, 1))


def check_refused() -> None:
    zero, one = 'bad/shard-0-of-2.ndjson', 'bad/shard-1-of-2.ndjson'
    both = (('--merge', 'bad'), ('--resume', '-o', 'bad', '--shard', '0/2'))
    rng = random.Random(3)
    for words in both:
        copy('bad')
        change('bad/manifest.json', b'"version":\t"', b'"version":\t"9')
        refused(f'{words[0]}: a manifest of another version', fragsim('sweep', *words, status=None), 4,
                'bad/manifest.json', 'was begun by fragsim 9')
        copy('bad')
        change('bad/manifest.json', b'min_split=1024', b'min_split=2048')
        refused(f'{words[0]}: another manifest', fragsim('sweep', *words, status=None), 4,
                f'{zero}:1: ', 'another sweep')
        copy('bad')
        change(zero, b'"status": "fits"', b'"status": "oo"')
        refused(f'{words[0]}: a damaged line', fragsim('sweep', *words, status=None), 4, f'{zero}:',
                'damaged')
        copy('bad')
        line = Path(one).read_bytes().splitlines()[4]
        Path(one).write_bytes(Path(one).read_bytes() + line[:-30] + b'\n' + line + b'\n')
        refused(f'{words[0]}: half a line within', fragsim('sweep', *words, status=None), 4,
                f'{one}:{RUNS // 2 + 1}: ', 'damaged')
    wrong = []
    for _ in range(60):
        copy('bad')
        data = bytearray(Path(zero).read_bytes())
        at = rng.randrange(len(data) - 1)
        data[at] ^= 1 << rng.randrange(8)
        Path(zero).write_bytes(data)
        done = fragsim('sweep', '--merge', 'bad', status=None)
        # the last line end is the only byte that may be missing
        if done.returncode != 4 or done.stderr.count('\n') != 1:
            wrong.append(f'byte {at}: {done.returncode} {done.stderr}')
    TAP.result('any bit of any line', wrong)

    copy('bad')
    Path(one).write_bytes(Path(one).read_bytes() + Path(zero).read_bytes())
    fragsim('sweep', '--merge', 'bad')
    TAP.result('a run that is there twice, equally', Path('bad/merged.ndjson').read_bytes()
               != Path('one/merged.ndjson').read_bytes() and 'it differs')
    other = json.loads(Path(zero).read_text().splitlines()[0])
    text = Path(zero).read_bytes().splitlines()[0].partition(b', "check"')[0]
    text = text.replace(b'"status": "fits"', b'"status": "oom"')
    Path('bad/shard-9-of-10.ndjson').write_bytes(
        text + b', "check": "%016x"}\n' % content_hash(text))
    refused('two shards that say different things of a run',
            fragsim('sweep', '--merge', 'bad', status=None), 4, f'run {other["run"]} is in',
            'bad/shard-9-of-10.ndjson:1', zero)
    number = b'{"run": %d,' % RUNS + text.partition(b',')[2]
    copy('bad')
    Path(one).write_bytes(Path(one).read_bytes() + number + b', "check": "%016x"}\n'
                          % content_hash(number))
    refused('a run that the manifest does not have', fragsim('sweep', '--merge', 'bad', status=None),
            4, 'no run of this number')


def check_foreign() -> None:
    """What no sweep wrote stays as it is; a pipe is not waited for."""
    zero = Path('bad/shard-0-of-2.ndjson')
    for text in (b'notes of mine', b'notes\nof mine', b'{"run" : 1'):
        for before in (b'', zero.read_bytes()):
            copy('bad')
            zero.write_bytes(before + text)
            done = fragsim('sweep', '-q', '--resume', '-o', 'bad', '--shard', '0/2', status=None)
            refused(f'{text!r} behind {len(before)} bytes is no run', done, 4, str(zero))
            TAP.result('and stays', zero.read_bytes() != before + text and 'it is changed')
            copy('bad')
    for name in ('manifest.json', 'shard-1-of-2.ndjson'):
        copy('bad')
        Path('bad', name).unlink()
        os.mkfifo(f'bad/{name}')
        for words in (('--merge', 'bad'), ('--resume', '-o', 'bad', '--shard', '0/2')):
            refused(f'{words[0]}: {name} is a pipe', fragsim('sweep', *words, status=None), 4, name)
    copy('bad')


def check_race() -> None:
    """Of two first shards with other policies one is refused, whoever comes first."""
    wrong = []
    for i in range(20):
        both = [subprocess.Popen([PROGRAM, 'sweep', '-q', '-p', name, 'short.ndjson', '-o',
                                  f'race {i}', '--shard', shard], env=ENV,
                                 stderr=subprocess.PIPE, text=True)
                for name, shard in (('buddy', '0/2'), ('bestfit', '1/2'))]
        said = [x.communicate()[1] for x in both]
        ends = sorted(x.returncode for x in both)
        if ends != [0, 2] or sum('another sweep' in x for x in said) != 1:
            wrong.append(f'{i}: {ends} {said}')
    TAP.result('two first shards of different sweeps', wrong)


def content_hash(data: bytes) -> int:
    """As fragsim-sweep(1) has it."""
    mask = (1 << 64) - 1
    x = len(data) * 0x9e3779b97f4a7c15 & mask
    for i in range(0, len(data) - len(data) % 8, 8):
        x = (x ^ int.from_bytes(data[i:i + 8], 'little')) * 0xff51afd7ed558ccd & mask
        x ^= x >> 32
    x = (x ^ int.from_bytes(data[len(data) - len(data) % 8:], 'little')) * 0xff51afd7ed558ccd & mask
    return x ^ x >> 29


def check_missing() -> None:
    copy('bad')
    Path('bad/shard-1-of-2.ndjson').unlink()
    data = Path('bad/shard-0-of-2.ndjson').read_bytes().splitlines(keepends=True)
    keep = [x for x in data if json.loads(x)['run'] in (0, 2, 4, 8)]
    Path('bad/shard-0-of-2.ndjson').write_bytes(b''.join(keep))
    done = fragsim('sweep', '--merge', 'bad', status=1)
    TAP.result('the missing ones are told', done.stdout != f'--array=1,3,5-7,9-{RUNS - 1}\n'
               and done.stdout)
    TAP.result('and how many', f'{RUNS - 4} of {RUNS} runs are missing' not in done.stderr
               and done.stderr)
    done = fragsim('sweep', '--merge', 'bad', '--tasks', '12', status=1)
    TAP.result('by shard', done.stdout != '--array=0-11\n' and done.stdout)
    copy('bad')
    data = Path('bad/shard-1-of-2.ndjson').read_bytes().splitlines(keepends=True)
    Path('bad/shard-1-of-2.ndjson').write_bytes(b''.join(
        x for x in data if json.loads(x)['run'] not in (5, 11)))
    done = fragsim('sweep', '--merge', 'bad', '--tasks', '6', status=1)
    TAP.result('by six shards', done.stdout != '--array=5\n' and done.stdout)
    TAP.result('nothing is merged', Path('bad/merged.ndjson').exists() and 'it is there')


def check_others() -> None:
    refused('runs that are there', fragsim('sweep', *WHAT, *TRACES, '-o', 'one', status=None), 2,
            'one/shard-0-of-1.ndjson', '--resume')
    refused('a folder of another sweep', fragsim('sweep', '-p', 'buddy', *TRACES, '-o', 'one',
                                                 status=None), 2, 'another sweep')
    Path('moved').mkdir()
    for x in ('manifest.json',):
        Path('moved', x).write_bytes(Path('one', x).read_bytes())
    whole = Path('short.ndjson').read_bytes()
    Path('short.ndjson').write_bytes(whole.replace(b'500', b'501', 1))
    refused('a trace that has changed', fragsim('sweep', '-q', '-o', 'moved', status=None), 4,
            'short.ndjson', 'not the trace of the manifest')
    Path('short.ndjson').write_bytes(whole)
    refused('a trace twice', fragsim('sweep', '-p', 'buddy', 'short.ndjson', 'short.ndjson', '-o', 'x',
                                     status=None), 2, 'specified more than once')
    refused('standard input', fragsim('sweep', '-p', 'buddy', '-', '-o', 'x', status=None), 2,
            'standard input')
    for args, word in ((('-o', 'x', 'short.ndjson'), 'missing option: -p'),
                       (('-p', 'buddy', 'short.ndjson'), 'missing option: -o'),
                       (('-p', 'buddy', '-o', 'x'), 'missing argument: TRACE'),
                       (('--merge', 'one', '-o', 'x'), 'nothing else'),
                       (('-o', 'one', '--tasks', '3'), '--tasks'),
                       (('-o', 'one', '--plan', 'slurm', '--resume'), '--plan')):
        refused(' '.join(args), fragsim('sweep', *args, status=None), 2, word)
    with subprocess.Popen([PROGRAM, 'sweep', '-q', *WHAT, 'large.ndjson', '-o', 'locked', '--threads',
                           '1'], env=ENV) as child:
        path = Path('locked/shard-0-of-1.ndjson')
        until(lambda: child.poll() is not None or path.exists() and path.stat().st_size,
              'it has written a line')
        refused('a shard that another one writes', fragsim('sweep', '-q', '--resume', '-o', 'locked',
                                                           status=None), 2, 'writes this shard now')
        child.wait()


def check_grid() -> None:
    fragsim('sweep', '-q', '-p', 'buddy', '-p', 'pytorch', '--settings', 'short', 'short.ndjson', '-o',
            'grid')
    names = json.loads(Path('grid/manifest.json').read_text())['policies']
    TAP.result('a grid is policies, each once', [f'{names}'] if len(names) != 8
               or names[0] != 'pytorch' or names[-1] != 'buddy' or len(set(names)) != 8 else [])
    Path('lines').write_text('max_split_size_mb:64 # as usual\n\nexpandable_segments:True\n')
    fragsim('sweep', '-q', '--settings', 'lines', 'short.ndjson', '-o', 'file')
    names = json.loads(Path('file/manifest.json').read_text())['policies']
    TAP.result('a file of them too', names != ['pytorch', 'pytorch:max_split_size_mb=64',
                                               'pytorch:expandable_segments=true'] and f'{names}')
    fragsim('sweep', '-q', '--settings', 'all', 'short.ndjson', '-o', 'whole')
    names = json.loads(Path('whole/manifest.json').read_text())['policies']
    TAP.result('and the whole of one', len(names) != 108 and f'{len(names)}')


def check_readers() -> None:
    done = fragsim('diff', 'one/merged.ndjson', 'in 7/merged.ndjson')
    runs = sum(len(x['runs']) for x in lines_of('one/merged.ndjson'))
    TAP.result('diff reads two of them', f'{runs} runs compared: {runs} same' not in done.stdout
               and done.stdout)
    fragsim('sweep', '-q', *WHAT[:-2], *TRACES, '-o', 'plain')
    fragsim('sweep', '--merge', 'plain')
    done = fragsim('diff', *WHAT[:-2], '-b', 'plain/merged.ndjson', *TRACES, '--gate')
    TAP.result('and one as a baseline', [done.stdout] if ' same' not in done.stdout
               or 'worse' in done.stdout or 'better' in done.stdout else [])
    change('plain/merged.ndjson', b'"steps": ', b'"steps": 1')
    refused('but no damaged one', fragsim('diff', 'one/merged.ndjson', 'plain/merged.ndjson',
                                          status=None), 4, 'plain/merged.ndjson:1', 'damaged')


def check_schemas() -> None:
    """What is written is what the schemas say, and nothing may be missing or be more."""
    if jsonschema is None:
        TAP.skip('what is written is what the schemas say', 'no python3-jsonschema')
        return
    for name, documents in (('sweep', [json.loads(Path('one/manifest.json').read_text())]),
                            ('sweep-run', lines_of('one/merged.ndjson'))):
        schema = schema_of(name)
        check = jsonschema.Draft202012Validator(schema)
        TAP.result(f'fragsim-{name}.schema.json has what is written', [
            f'{e.json_path}: {e.message}' for x in documents for e in check.iter_errors(x)])
        whole, passed = documents[0], []
        for key in whole:
            less = {k: v for k, v in whole.items() if k != key}
            wrong = whole | {key: 1.5}
            passed += [f'{key} {what}' for what, x in (('missing', less), ('wrong', wrong))
                       if check.is_valid(x)]
        TAP.result('and nothing else', passed, check.is_valid(whole | {'more': 1}) and 'more')


def check_parallel(wanted: bytes) -> None:
    if not shutil.which('parallel') or b'GNU' not in subprocess.run(
            ['parallel', '--version'], capture_output=True, check=False).stdout:
        TAP.skip('a sweep under GNU parallel', 'it is not installed')
        return
    folder = "it's a $folder"
    script = fragsim('sweep', *WHAT, *TRACES, '-o', folder, '--plan', 'parallel', '--tasks',
                     '3').stdout
    TAP.result('a plan makes the manifest and no more', os.listdir(folder) != ['manifest.json']
               and f'{os.listdir(folder)}')
    Path('script').write_text(script)
    done = subprocess.run(['sh', 'script'], capture_output=True, check=False, text=True, env=ENV)
    TAP.result('GNU parallel does it', done.returncode and f'{done.stdout} {done.stderr}',
               Path(folder, 'merged.ndjson').read_bytes() != wanted and 'they differ')
    again = subprocess.run(['sh', 'script'], capture_output=True, check=False, text=True, env=ENV)
    TAP.result('and does nothing twice', again.returncode and again.stderr,
               'now' in again.stdout and again.stdout)


def job_of(manifest: str) -> dict:
    """The members of an Indexed Job that decide what runs; by their lines, where YAML is not there."""
    if yaml:
        job = yaml.safe_load(manifest)
        pod = job['spec']['template']['spec']
        (container,), (volume,) = pod['containers'], pod['volumes']
        (mount,) = container['volumeMounts']
        assert mount['name'] == volume['name'], manifest
        return {'kind': (job['apiVersion'], job['kind'], job['spec']['completionMode'],
                         pod['restartPolicy']),
                'completions': job['spec']['completions'], 'parallelism': job['spec']['parallelism'],
                'command': container['command'], 'work': container['workingDir'],
                'mount': mount['mountPath']}
    found = {k: v for k, v in re.findall(r'^[ -]*(\w+): (\S.*)$', manifest, re.M)}
    command = re.search(r'command: (\[.*?\])$', manifest, re.M | re.S)[1]
    return {'kind': tuple(found[k] for k in ('apiVersion', 'kind', 'completionMode', 'restartPolicy')),
            'completions': int(found['completions']), 'parallelism': int(found['parallelism']),
            'command': json.loads(command), 'work': json.loads(found['workingDir']),
            'mount': json.loads(found['mountPath'])}


def check_kubernetes(wanted: bytes) -> None:
    """The manifest, and its command for each index as Kubernetes calls it."""
    folder = 'its "own" $(HOME) \\ folder: x'
    for tasks in (3, 20):
        manifest = fragsim('sweep', *WHAT, *TRACES, '-o', folder, '--plan', 'kubernetes', '--tasks',
                           tasks).stdout
        job, n = job_of(manifest), min(tasks, RUNS)
        TAP.result(f'an Indexed Job of {tasks} tasks', [
            f'{key}: {job[key]!r}, not {value!r}' for key, value in {
                'kind': ('batch/v1', 'Job', 'Indexed', 'Never'), 'completions': n,
                'parallelism': min(n, 16), 'work': os.getcwd(), 'mount': os.getcwd()}.items()
            if job[key] != value],
            f'in {n} tasks' not in manifest.splitlines()[0] and manifest.splitlines()[0])
    # $$ is an escaped $ in a command of Kubernetes
    program, *words = (x.replace('$$', '$') for x in job['command'])
    TAP.result('its command is fragsim', program != 'fragsim' and program)
    for i in range(job['completions']):
        fragsim(*words, JOB_COMPLETION_INDEX=str(i))
    fragsim('sweep', '--merge', folder)
    TAP.result('its pods do all runs', Path(folder, 'merged.ndjson').read_bytes() != wanted
               and 'they differ')


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, count, devices in zip(TRACES, (300, 2000, 900), (1, 1, 2), strict=True):
            write(name, count, devices)
        wanted = check_one()
        check_shards(wanted)
        check_scheduler(wanted)
        check_kills(wanted)
        check_term(wanted)
        check_refused()
        check_foreign()
        check_race()
        check_missing()
        check_others()
        check_grid()
        check_readers()
        check_schemas()
        check_parallel(wanted)
        check_kubernetes(wanted)
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
