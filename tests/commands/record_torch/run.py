"""run.py - fragsim record --torch, of programs that use a stand-in of PyTorch; prints TAP.

    run.py PROGRAM

client.py has a scene for each way in which a program can use CUDA and end. It is recorded from
outside, and where that is the same thing by itself, from within (`with record(...)`). What a file
has to hold is known from what the scene requests; what each command says of it, by arithmetic.
"""
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PYTHON = '/usr/bin/python3'     # one that has no torch
MIB = 1 << 20
TAP = Tap()
PROGRAM = ''

WORK = ['segment_alloc', 'alloc', 'segment_alloc', 'alloc', 'free_requested', 'free_completed',
        'segment_alloc', 'alloc']
MORE = ['segment_alloc', 'alloc']
# With nothing cached but the 4 MiB segment of the freed block, which a request that fails releases.
OOM = ['segment_free', 'oom']
# scene: status, the files' names and events, how many files were written (None: any number)
SCENES = {
    'return': (0, {'': WORK}, 1),
    'status': (3, {'': WORK}, 1),
    'exception': (1, {'': WORK}, 1),
    'oom': (1, {'': WORK + OOM}, 1),
    'caught': (0, {'': WORK + OOM + MORE}, 2),
    'many': (0, {'': WORK + OOM + ['oom'] * 49}, None),
    'oom_killed': (-signal.SIGKILL, {'': WORK + OOM}, 1),
    'os_exit': (4, {'': WORK}, 1),
    'usr1': (-signal.SIGKILL, {'': WORK}, 1),
    'usr1_own': (11, {'': WORK}, 2),
    'term': (-signal.SIGTERM, {'': WORK}, 1),
    'term_waiting': (-signal.SIGTERM, {'': WORK}, 1),
    'term_own': (5, {'': WORK}, 1),
    'term_later': (5, {'': WORK}, 1),
    'term_wakeup': (-signal.SIGTERM, {'': WORK}, 1),
    'ignored': (0, {'': WORK}, 1),
    'interrupt': (-signal.SIGINT, {'': WORK}, 1),
    'fork': (0, {'': WORK}, 1),
    'fork_first': (0, {'.PID': WORK}, 1),
    'spawn': (0, {'': WORK, '.PID': WORK, '.PID+': WORK}, 3),
    'exec': (1, {'': WORK, '.2': WORK + OOM}, 2),
    'ranks': (1, {'.rank0': WORK, '.rank1': WORK + OOM}, 2),
    'one_rank': (0, {'.rank2': WORK, '.rank2.PID': WORK}, 2),
    'group': (0, {'.rank3': WORK}, 1),
    'thread': (0, {'': WORK}, 1),
    'own_history': (0, {'': WORK}, 1),
    'looked': (0, {'': WORK}, 1),
}
# Not of a block in the parent: what it records is its own process.
OUTSIDE = ('fork_first', 'spawn', 'exec', 'ranks', 'one_rank')


class Stage:
    """A folder to write to, and what of the environment programs see."""

    def __init__(self, folder, **more):
        self.folder = folder
        self.trace = folder / 'out' / 'trace'
        self.trace.parent.mkdir(parents=True)
        known = {k: v for k, v in os.environ.items()
                 if not k.endswith('SAN_OPTIONS') and k not in ('RANK', 'PYTHONPATH')}
        paths = f'{HERE}/standin:{ROOT}/python/fragsim'
        self.env = {**known, 'TRACE': str(self.trace), 'PYTHONPATH': paths, **more}

    def call(self, *words, **more):
        return subprocess.run([*map(str, words)], cwd=self.folder, env={**self.env, **more},
                              capture_output=True, text=True, check=False, timeout=120)

    def record(self, scene, *options, **more):
        return self.call(PROGRAM, 'record', '--torch', '-o', self.trace, *options, '--', PYTHON,
                         '-B', HERE / 'client.py', scene, **more)

    def block(self, scene, **more):
        return self.call(PYTHON, '-B', HERE / 'client.py', scene, BLOCK=str(self.trace), **more)

    def files(self):
        """By what follows the name; a number that is a process's is PID, of the second PID+."""
        found = {}
        for path in sorted(self.trace.parent.iterdir()):
            key = re.sub(r'\.\d\d+', '.PID', path.name[len('trace'):].replace('.pickle', ''))
            found[key.replace('PID', 'PID+') if key in found else key] = path
        return found


def load(path):
    with open(path, 'rb') as file:
        return pickle.load(file)


def actions(path, device=0):
    return [e['action'] for e in load(path)['device_traces'][device]]


def written(done):
    """Not at the start of a line alone: another rank's traceback, in pieces, is on the same pipe."""
    return len(re.findall(r'fragsim: \S+\.pickle: [\d,]+ events? of', done.stderr))


def differences(stage, done, wanted):
    status, files, writes = wanted
    found = stage.files()
    wrong = [f'status {done.returncode}: {done.stderr[-600:]}'] * (done.returncode != status)
    wrong += [f'file {x!r}' for x in sorted(found.keys() ^ files.keys())]
    wrong += [f'{key!r}: {actions(path)}' for key, path in found.items()
              if key in files and actions(path) != files[key]]
    if writes is not None and written(done) != writes:
        wrong.append(f'{written(done)} files were written: {done.stderr[-600:]}')
    return wrong


def read_back(stage):
    """Each file by three commands: 5 and 7 MiB live, with a failed request of 100 MiB after them."""
    wrong = []
    for path in stage.files().values():
        failed = actions(path)[-1] == 'oom'
        info = stage.call(PROGRAM, 'trace', 'info', path)
        run = stage.call(PROGRAM, 'run', '-p', 'direct', '--json', '-', path)
        explain = stage.call(PROGRAM, 'explain', '-p', 'direct', path)
        if (info.returncode, run.returncode, explain.returncode) != (0, 3 if failed else 0, 0):
            wrong.append(f'{path.name}: {info.stderr}{run.stderr}{explain.stderr}')
            continue
        result = json.loads(run.stdout)['runs'][0]
        if result['peak']['requested'] != 12 * MIB:
            wrong.append(f"{path.name}: peak {result['peak']['requested']}")
        if [o['size'] for o in result['oom']] != [100 * MIB] * failed:
            wrong.append(f"{path.name}: {result['oom']}")
        if explain.stdout.startswith('OOM: 100.00 MiB requested by client.py:') != failed:
            wrong.append(f'{path.name}: {explain.stdout}')
    return wrong


def check_scene(scene, within):
    with tempfile.TemporaryDirectory(prefix='record-torch-') as place:
        stage = Stage(Path(place))
        done = stage.block(scene) if within else stage.record(scene)
        wrong = differences(stage, done, SCENES[scene])
        return wrong or ([] if scene in ('caught', 'many') else read_back(stage))


def check_scenes():
    cases = [(scene, within) for scene in SCENES for within in (False, True)
             if not within or scene not in OUTSIDE]
    with ThreadPoolExecutor(4) as pool:
        for (scene, within), wrong in zip(cases, pool.map(lambda c: check_scene(*c), cases)):
            TAP.result(f"{scene}, {'by itself' if within else 'from outside'}", wrong)


def staged(check):
    with tempfile.TemporaryDirectory(prefix='record-torch-') as place:
        TAP.result(check.__doc__, check(Stage(Path(place))))


def check_steps(stage):
    """--iterations N: the recording ends after N steps of an optimizer, and the program goes on"""
    first = stage.record('steps', '--iterations', 2)
    wrong = differences(stage, first, (0, {'': WORK + 2 * MORE}, 1))
    second = stage.block('steps', steps='3')
    wrong += differences(stage, second, (0, {'': WORK + 3 * MORE}, 1))
    return wrong + [] if 'after 2 optimizer steps' in first.stderr else [first.stderr]


def check_few_steps(stage):
    """--iterations N of a program that takes fewer: all of it"""
    return differences(stage, stage.record('steps', '--iterations', 6), (0, {'': WORK + 5 * MORE}, 1))


def check_full(stage):
    """--max-entries N: the last N events, and how many allocations are not among them"""
    done = stage.record('return', '--max-entries', 3)
    wrong = differences(stage, done, (0, {'': WORK[-3:]}, 1))
    # of three allocations only the last has an event
    if 'device 0: the ring was full: the first 2 of its allocations' not in done.stderr:
        wrong.append(done.stderr)
    snapshot = load(stage.trace.with_suffix('.pickle'))
    if (snapshot['trace_alloc_overflowed'], snapshot['trace_alloc_max_entries']) != (True, 3):
        wrong.append('not noted')
    run = stage.call(PROGRAM, 'run', '-p', 'direct', stage.trace.with_suffix('.pickle'))
    if 'which holds 3 per device, overflowed: older events were dropped with the first 2 allo' \
            not in run.stderr:
        wrong.append(run.stderr)
    info = stage.call(PROGRAM, 'trace', 'info', stage.trace.with_suffix('.pickle'))
    if 'overflowed: older events are missing, with the first 2 allocations\n' not in info.stdout:
        wrong.append(info.stdout)
    return wrong


def check_just_full(stage):
    """a ring that is full, and has lost nothing"""
    done = stage.block('return', max_entries='8')
    wrong = differences(stage, done, (0, {'': WORK}, 1))
    if 'ring' in done.stderr or load(stage.trace.with_suffix('.pickle'))['trace_alloc_overflowed']:
        wrong.append(done.stderr)
    return wrong


def check_devices(stage):
    """two devices in one file"""
    done = stage.record('devices')
    wrong = differences(stage, done, (0, {'': WORK}, 1))
    return wrong + [] if actions(stage.trace.with_suffix('.pickle'), 1) == MORE \
        and '10 events of 2 devices' in done.stderr else [done.stderr]


def only_line(done, words):
    """The program ran, and one line says why there is no file."""
    lines = [x for x in done.stderr.splitlines() if x.startswith('fragsim: ')]
    return [done.stderr] * (done.returncode != 0 or len(lines) != 1 or words not in lines[0])


def check_nothing(stage):
    """nothing to record: one line, and the program's own status"""
    bare = f'{ROOT}/python/fragsim'
    return [wrong for within in (False, True) for wrong in (
        only_line((stage.block if within else stage.record)(scene, **more), words)
        for scene, more, words in (
            ('without', {'PYTHONPATH': bare}, 'this Python has no torch'),
            ('work_on_cpu', {'STANDIN': 'cpu'}, 'torch 9.9 is built without CUDA'),
            ('unused', {}, 'did not start CUDA' if within else 'started CUDA'),
            ('return', {'STANDIN': 'old'}, 'torch 9.9 cannot be recorded: 2.1 or newer is required'))) if wrong] \
        + [str(x) for x in stage.trace.parent.iterdir()]


def check_other_program(stage):
    """a program that is no Python runs as it would"""
    done = stage.call(PROGRAM, 'record', '--torch', '-o', stage.trace, '--', 'sh', '-c', 'exit 7')
    return [done.stderr] * ((done.returncode, done.stderr) != (7, ''))


def check_one_after_another(stage):
    """a script of two programs leaves two files, and a second recording replaces them"""
    wrong = []
    for scenes, files in ((('return', 'oom'), {'': WORK, '.2': WORK + OOM}),
                          (('oom', 'return'), {'': WORK + OOM, '.2': WORK})):
        script = '; '.join(f'{PYTHON} -B {HERE}/client.py {scene}' for scene in scenes)
        done = stage.call(PROGRAM, 'record', '--torch', '-o', stage.trace, '--', 'sh', '-c',
                          f'{script}; true')
        wrong += differences(stage, done, (0, files, 2))
    return wrong


def check_path(stage):
    """the program's own sitecustomize, sys.path and arguments"""
    (stage.folder / 'mine').mkdir()
    (stage.folder / 'mine' / 'sitecustomize.py').write_text('WHO = "mine"\n', encoding='ascii')
    done = stage.record('path', PYTHONPATH=f'{stage.folder}/mine:{HERE}/standin')
    wanted = f"mine False ['{HERE}/client.py', 'path']\n"
    return [done.stdout + done.stderr] * (done.stdout != wanted)


def check_within(stage):
    """a block in a program that is recorded already leaves its file to it"""
    done = stage.record('return', BLOCK=str(stage.folder / 'out' / 'mine'))
    return differences(stage, done, (0, {'': WORK}, 1)) \
        + [done.stderr] * ('is recorded already' not in done.stderr)


def check_twice(stage):
    """two blocks in one program: each has its own events"""
    done = stage.call(PYTHON, '-B', HERE / 'client.py', 'twice')
    sizes = {p.name: [e['size'] // MIB for e in load(p)['device_traces'][0]]
             for p in stage.trace.parent.iterdir()}
    # a segment is a multiple of 2 MiB
    wanted = {'first.pickle': [4, 3], 'second.pickle': [10, 9]}
    return [f'{done.stdout} {done.stderr} {sizes}'] * (
        sizes != wanted or done.stdout != 'first.pickle\nsecond.pickle\n')


def check_spoilt(stage):
    """what cannot be written leaves the file before it, and nothing else"""
    done = stage.record('spoilt')
    return differences(stage, done, (0, {'': WORK}, 1)) \
        + [done.stderr] * ('trace.pickle: cannot be written: ' not in done.stderr)


def check_gone(stage):
    """a folder that goes meanwhile: a line, and the program's own status"""
    done = stage.record('gone')
    return only_line(done, 'trace.pickle: cannot be written: ')


def check_planted(stage):
    """a link that waits where a temporary file could be is not followed"""
    wrong = []
    block = [PYTHON, '-B', HERE / 'client.py', 'return']
    outside = [PROGRAM, 'record', '--torch', '-o', stage.trace, '--', *block]
    for kind, link, words, more in (('outside', 'ln -s', outside, {}), ('outside', 'ln', outside, {}),
                                    ('block', 'ln -s', block, {'BLOCK': str(stage.trace)})):
        victim = stage.folder / 'victim'
        victim.write_text('mine')
        # the process that writes has the number of this shell
        done = stage.call('sh', '-c', f'{link} "$0" "{stage.trace.parent}/.trace.pickle.$$.tmp"; exec "$@"',
                          victim, *words, **more)
        if victim.read_bytes() != b'mine' or actions(stage.trace.with_suffix('.pickle')) != WORK:
            wrong.append(f'{kind}, {link}: {victim.read_bytes()[:20]} {done.stderr[-300:]}')
        for path in stage.trace.parent.iterdir():
            path.unlink()
    return wrong


def check_refused(stage):
    """where nothing can be written, the program is not started"""
    file = stage.folder / 'file'
    file.write_text('')
    wrong = []
    for words, status, message in (
            (('-o', stage.folder / 'none' / 'trace'), 6, 'none/trace.pickle: No such file'),
            (('-o', file / 'trace'), 6, 'file/trace.pickle: Not a directory'),
            (('-o', '/proc/trace.pickle'), 6, '/proc/trace.pickle: No such file'),
            (('-o', '-'), 2, "standard output is the program's"),
            (('-o', f'{stage.folder}/'), 2, 'a name is required'),
            (('-o', stage.trace, '--iterations', '0'), 2, '--iterations'),
            (('-o', stage.trace, '--stacks'), 2, '--stacks is not for --torch')):
        done = stage.call(PROGRAM, 'record', '--torch', *words, '--', 'echo', 'started')
        if done.returncode != status or message not in done.stderr or done.stdout:
            wrong.append(f'{words}: {done.returncode} {done.stderr}')
    done = stage.call(PROGRAM, 'record', '--iterations', '3', '--', 'echo', 'started')
    if done.returncode != 2 or '--iterations is for --torch' not in done.stderr:
        wrong.append(done.stderr)
    for name in ('none/trace', 'file/trace'):
        done = stage.call(PYTHON, '-B', HERE / 'client.py', 'return', BLOCK=name)
        if done.returncode != 1 or 'Error: [Errno ' not in done.stderr:
            wrong.append(done.stderr)
    return wrong


def check_names(stage):
    """NAME.pickle and NAME are the same; trace.pickle where none is given"""
    client = (PYTHON, '-B', HERE / 'client.py', 'return')
    for words in (('-o', 'a.pickle'), ('-o', 'b'), ('--output=c.d',), ()):
        stage.call(PROGRAM, 'record', '--torch', *words, '--', *client)
    found = sorted(p.name for p in stage.folder.glob('*.pickle'))
    return [str(found)] * (found != ['a.pickle', 'b.pickle', 'c.d.pickle', 'trace.pickle'])


def check_ranks(stage):
    """`fragsim ranks` reads what a job leaves"""
    stage.record('ranks')
    files = list(stage.files().values())
    ranks = stage.call(PROGRAM, 'ranks', '-p', 'direct', *files)
    rows = re.findall(r'^ +(\d) .* (\w+) +(\S+)$', ranks.stdout, re.M)
    return [ranks.stdout + ranks.stderr] * (
        rows != [('0', 'fits', 'trace.rank0.pickle'), ('1', 'OOM', 'trace.rank1.pickle')])


def check_tag(stage):
    """an allocation is tagged with the program's own line"""
    stage.record('return')
    done = stage.call(PROGRAM, 'trace', 'convert', stage.trace.with_suffix('.pickle'), '-', '--to', 'lines')
    tags = Counter(e.get('tag', '').split(':')[0] for e in map(json.loads, done.stdout.splitlines())
                   if e.get('op') == 'alloc')
    return [f'{tags} {done.stderr}'] * (tags != {'client.py': 3})


def main(argv):
    global PROGRAM
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    PROGRAM = str(Path(argv[1]).resolve())
    check_scenes()
    for check in (check_steps, check_few_steps, check_full, check_just_full, check_devices,
                  check_nothing, check_other_program, check_one_after_another, check_path,
                  check_within, check_twice, check_spoilt, check_gone, check_planted, check_refused,
                  check_names, check_ranks,
                  check_tag):
        staged(check)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
