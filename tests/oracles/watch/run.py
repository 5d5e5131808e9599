"""run.py - fragsim.watch() in programs of the real PyTorch; prints TAP.

    run.py PROGRAM

The programs are those of ../corpus, on the fake device of scripts/torch-run (TORCH_RUN says where
that is); where it is not set up, all but the recorded table is skipped. A program that fails says
what `fragsim explain` says of the snapshot that it left, and ends as without. One that does not
fail prints the same bytes. ACCEPT=1 writes recorded.json, what the programs that fail said.
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from program import HEAVY  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
PROGRAM = os.path.abspath(sys.argv[1])
RUNTIME = Path(os.environ.get('TORCH_RUN') or Path.home() / '.cache' / 'torch-run')
RECORDED = HERE / 'recorded.json'
VERSIONS = ('2.15.0', '2.9.1')
SECONDS = 3             # of processor time, for the snapshot and its answer
# a device of about 0.8 of the peak
FAIL = (('mlp_adamw adamw 2048 8', '180M'), ('gpt_accumulate none python', '180M'), ('gpt_checkpoint', '380M'),
        ('amp_master master', '300M'), ('eval_grad', '150M'), ('gan', '300M'), ('lora', '110M'), ('late begin', '200M'))
SAME = ('mlp_adamw sgd 1536 7', 'mlp_adamw momentum 1024 6', 'gpt_accumulate zero all', 'gpt_checkpoint',
        'amp_master autocast', 'kv_decode', 'leak_losses graph', 'leak_losses repaired', 'leak_hook', 'one_step forward',
        'one_step step', 'eval_grad', 'oom fragmentation', 'oom capacity', 'two_streams', 'late begin', 'late ring', 'lora',
        'gan', 'raw_sgd', 'post_accumulate', 'maml', 'leak_grads', 'shards ddp_view')
# scene, status, answers, tracebacks; of two ranks the answer is that of all
SCENES = (('nested', 1, 1, 1), ('ranks', 1, 1, 2), ('workers', 1, 1, 1), ('second', 1, 2, 2), ('fork', 0, 1, 1))
RANKS = ('rank 1 is out of memory; ', 'OOM: 2 of 2 ranks fail', '\nrank 0: OOM: ', 'snapshots of 2 ranks\n')
CAUGHT = {'oom fragmentation': '1300M', 'oom capacity': '2G'}       # an out-of-memory that the program catches


def some(cases):
    return cases if HEAVY else cases[:2]


def case_of(folder, text, total, watched, threads=True):
    name, *words = text.split()
    how = 'watched' if watched else 'plain'
    stem = f'{folder}/{text.replace(" ", "_")}.{total}.{how}'
    return {'program': str(ROOT / 'tests/oracles/corpus/programs' / f'{name}.py'), 'words': words, 'output': stem,
            'env': {'FAKE_TOTAL': total, 'FRAGSIM': PROGRAM}, 'threads': threads,
            'watch': {'name': stem} if watched else None}


def play(version, cases, *first):
    """How each ended: status and seconds, with out and err, the bytes that it printed. first: modules
    that are imported before."""
    env = {**os.environ, 'TORCH_RUN': str(RUNTIME), 'PYTHONPATH': str(ROOT / 'python'), 'PYTHONHASHSEED': '0'}
    for name in ('RANK', 'SLURM_PROCID', 'OMPI_COMM_WORLD_RANK', 'PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'):
        env.pop(name, None)
    done = subprocess.run([ROOT / 'scripts/torch-run/torch-run', version, HERE / 'play.py', *first], input=json.dumps(cases),
                          env=env, capture_output=True, text=True, check=False)
    ends = [json.loads(x) for x in done.stdout.splitlines()]
    if len(ends) < len(cases):
        raise RuntimeError(f'{version}: {done.stderr[-1000:]}')
    for end, case in zip(ends, cases):
        end['out'] = Path(f'{case["output"]}.out').read_bytes()
        lines = Path(f'{case["output"]}.err').read_bytes().splitlines(keepends=True)
        end['err'] = b''.join(x for x in lines if not x.startswith(b'[fake]'))      # the device's
    return ends


def explained(path):
    return subprocess.run([PROGRAM, 'explain', '--color', 'never', path], capture_output=True, text=True, check=False).stdout


def last_line(data):
    return data.decode().splitlines()[-1]


def check_failures(version, folder):
    """Per program the faults, and what is said: for the recorded table."""
    pairs = [[case_of(folder, text, total, watched) for watched in (False, True)] for text, total in some(FAIL)]
    ends = play(version, [case for pair in pairs for case in pair])
    for i, (text, total) in enumerate(some(FAIL)):
        bare, watched = ends[2 * i:2 * i + 2]
        path = Path(f'{pairs[i][1]["output"]}.pickle')
        answer = explained(path) if path.exists() else 'no file'
        wanted = f'{answer}fragsim: {path} is the snapshot\n'
        error = watched['err'].decode()
        more = watched['seconds'] - bare['seconds']
        faults = [f'status {watched["status"]} for {bare["status"]}'] * (watched['status'] != bare['status']
                                                                       or bare['status'] != 1)
        faults += [f'{error}\n-- for --\n{wanted}'] * (not error.startswith(wanted) or not answer.startswith('OOM: '))
        faults += [last_line(watched['err']), last_line(bare['err'])] * (last_line(watched['err']) != last_line(bare['err']))
        faults += ['the traceback'] * (error.count('\n  File ') != bare['err'].decode().count('\n  File '))
        faults += ['output'] * (watched['out'] != bare['out'])
        faults += [f'{more:.1f} s more'] * (more > SECONDS)
        head, verdict = [*answer.splitlines(), '', ''][:2]
        yield f'{version}: {text} on {total}: explained as the command line does, and ends as without', faults, {
            f'{version} {text} {total}': {'first': head, 'verdict': verdict.strip(), 'error': last_line(bare['err'])}}, more


def check_same(version, folder):
    """Half of the programs each version: an import of the compiler is no part of this. A backward in a thread of
    its own races with the frees of the main one: two runs differ, watched or not."""
    mine = some(SAME[VERSIONS.index(version)::len(VERSIONS)])
    pairs = [[case_of(folder, text, CAUGHT.get(text, '80G'), watched, threads=False) for watched in (False, True)] for text in mine]
    ends = play(version, [case for pair in pairs for case in pair], 'torch._dynamo')
    for i, text in enumerate(mine):
        bare, watched = ends[2 * i:2 * i + 2]
        yield f'{version}: {text}: the same bytes as without', [
            *(f'{x}: {watched[x]!r} for {bare[x]!r}' for x in ('status', 'out', 'err') if watched[x] != bare[x]),
            *[f'status {bare["status"]}: {bare["err"]}'] * (bare['status'] != 0),
            *['a file'] * (text not in CAUGHT and Path(f'{pairs[i][1]["output"]}.pickle').exists())], {}, None


def check_scenes(version, folder):
    """What ends otherwise than by one error of one process: status, answers and tracebacks, from scenes.py."""
    for scene, status, answers, tracebacks in SCENES if HEAVY else SCENES[:1]:
        env = {**os.environ, 'TORCH_RUN': str(RUNTIME), 'PYTHONPATH': str(ROOT / 'python'), 'FRAGSIM': PROGRAM, 'WATCHED': '1'}
        done = subprocess.run([ROOT / 'scripts/torch-run/torch-run', version, HERE / 'scenes.py', scene, f'{folder}/{scene}'],
                              env=env, capture_output=True, text=True, check=False)
        got = done.returncode, done.stderr.count('\nOOM: ') + done.stderr.startswith('OOM: '), done.stderr.count('Traceback ')
        lacks = [x for x in RANKS if scene == 'ranks' and done.stderr.count(x) != 1]
        yield f'{version}: {scene}', [f'{got}, {lacks}: {done.stdout}{done.stderr}'] * (
            got != (status, answers, tracebacks) or bool(lacks)), {}, None


def in_folder(check, version):
    with tempfile.TemporaryDirectory(prefix='watch-') as folder:
        return list(check(version, folder))


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    there = [x for x in VERSIONS if (RUNTIME / x / 'venv').exists()]
    for version in VERSIONS:
        if version not in there:
            TAP.skip(f'programs of PyTorch {version}', f'{RUNTIME}/{version} is not there: scripts/torch-run/setup.sh'
                     f' {version} makes it')
    said, times = {}, []
    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(lambda x: in_folder(*x), [(c, v) for c in (check_failures, check_same, check_scenes) for v in there]):
            for name, faults, what, more in results:
                TAP.result(name, faults)
                said |= what
                times += [more] * (more is not None)
    if times:
        print(f'# an explanation took {min(times):.2f} to {max(times):.2f} s of processor time')
    if os.environ.get('ACCEPT'):
        RECORDED.write_text(json.dumps(said, indent=1, sort_keys=True) + '\n', encoding='utf-8')
    recorded = json.loads(RECORDED.read_text(encoding='utf-8'))
    TAP.result('what was said is what is recorded', [f'{key}: {value} for {recorded[key]}' for key, value in said.items()
                                                     if recorded.get(key, value) != value])
    known = {f'{version} {text} {total}' for version in VERSIONS for text, total in FAIL}
    TAP.result(f'the table has {len(recorded)} of {len(known)} failures, each a request of a program', sorted(recorded.keys() - known), [
        key for key, x in recorded.items()
        if not (x['first'].startswith('OOM: ') and x['verdict'].startswith('verdict ') and x['error'].startswith('torch.OutOfMemory'))])
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
