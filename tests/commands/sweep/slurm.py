"""slurm.py - the script of fragsim sweep --plan slurm, submitted to a real Slurm of this machine.

    slurm.py PROGRAM

Prints TAP; skipped without root and without slurmctld, slurmd and munged (Debian's slurm-wlm and
munge). The daemons are started here, in a folder and on ports of their own, and stopped at the end.
A task is killed in the middle; what is missing is submitted again, and the merged runs are held
against those of one process.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
TREE = Path(__file__).resolve().parents[3]
TRACES = Path(os.environ.get('TRACES') or TREE / 'traces')
TOOLS = ('slurmctld', 'slurmd', 'munged', 'sbatch', 'squeue', 'scontrol', 'scancel')
PATIENCE = 240          # seconds
TASKS = 6
WHAT = ('-p', 'bestfit', '--settings', 'all', '--device-bytes', '0,6GiB,16GiB')
NAMES = ('moe_train_dispatch', 'bert_base_infer_varlen', 'resnet50_train_bs32_fp32')
CONF = """\
ClusterName=fragsim
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
ReturnToService=2
MinJobAge=600
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
TAP = Tap()


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(('127.0.0.1', 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def call(*args: object, status: int | None = 0) -> str:
    done = subprocess.run([str(x) for x in args], capture_output=True, text=True, check=False)
    assert status is None or done.returncode == status, \
        f'{args}: {done.returncode} {done.stdout} {done.stderr}'
    return done.stdout


def wait(what: str, good: object) -> None:
    until = time.monotonic() + PATIENCE
    while not good():
        assert time.monotonic() < until, f'{what}: not after {PATIENCE} s'
        time.sleep(0.1)


class Slurm:
    """munged, slurmctld and slurmd, in the foreground as children."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.children = folder, []
        host = socket.gethostname().split('.')[0]
        for name in ('state', 'spool'):
            (folder / name).mkdir()
        (folder / 'slurm.conf').write_text(CONF.format(host=host, folder=folder,
                                                       ports=free_ports(2)))
        (folder / 'munge.key').write_bytes(os.urandom(128))
        (folder / 'munge.key').chmod(0o600)
        os.environ['SLURM_CONF'] = str(folder / 'slurm.conf')

    def start(self, *args: object) -> None:
        log = (self.folder / f'{Path(str(args[0])).name}.out').open('wb')
        with log:
            self.children.append(subprocess.Popen([str(x) for x in args], stdout=log, stderr=log))

    def __enter__(self) -> 'Slurm':
        f = self.folder
        self.start('munged', '--foreground', '--force', f'--socket={f}/munge.socket',
                   f'--key-file={f}/munge.key', f'--pid-file={f}/munge.pid',
                   f'--log-file={f}/munge.log', f'--seed-file={f}/munge.seed')
        wait('munged', (f / 'munge.socket').exists)
        self.start('slurmctld', '-D')
        self.start('slurmd', '-D')
        wait('slurmd', lambda: 'idle' in call('sinfo', '-h', '-o', '%T', status=None))
        return self

    def __exit__(self, *_: object) -> None:
        call('scancel', '--state=PENDING', '--user=root', status=None)
        call('scancel', '--user=root', status=None)
        for child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def submit(*more: str) -> tuple[str, str]:
    said = call('sh', 'script', *more)
    array, merge = re.match(r'submitted: array (\d+), merge (\d+);', said).groups()
    return array, merge


def jobs_left() -> str:
    return call('squeue', '-h', '-r', '-o', '%i %T')


def kill_one(array: str) -> int:
    """The process of a task that has written a line, and has not written all."""
    found = []

    def look() -> bool:
        for line in jobs_left().splitlines():
            name, state = line.split()
            job, _, task = name.partition('_')
            path = Path(f'many/shard-{task}-of-{TASKS}.ndjson')
            if job == array and state == 'RUNNING' and path.exists() and path.stat().st_size:
                found.append((name, int(task)))
                return True
        assert jobs_left(), 'all was done before a task could be killed'
        return False

    wait('a running task', look)
    name, task = found[0]
    call('scancel', '--signal=KILL', '--full', name)
    return task


def check() -> None:
    traces = [TRACES / f'{x}.ndjson.gz' for x in NAMES]
    Path('script').write_text(call(PROGRAM, 'sweep', *WHAT, *traces, '-o', 'many', '--plan', 'slurm',
                                   '--tasks', TASKS))
    TAP.result('the script prints, and submits nothing', jobs_left())
    array, merge = submit()
    task = kill_one(array)
    wait('the array', lambda: not jobs_left())
    said = Path('many/slurm-merge.out').read_text()
    missing = re.search(r'^--array=(\S+)$', said, re.M)
    TAP.result(f'task {task} is killed, and the merge after it says so',
               [said] if not missing or missing[1] != str(task) else [])
    lines = Path(f'many/shard-{task}-of-{TASKS}.ndjson').read_bytes().count(b'\n')
    submit(call(PROGRAM, 'sweep', '--merge', 'many', '--tasks', TASKS, status=1).strip())
    wait('the second array', lambda: not jobs_left())
    again = Path('many').glob(f'slurm-*_{task}.out')
    TAP.result('it goes on where it was', not any(f'{lines} before' in x.read_text() for x in again)
               and f'{lines}: {[x.read_text() for x in Path("many").glob("slurm-*")]}')
    TAP.result('each task took its shard from the scheduler', [
        f'{x}: {x.read_text()}' for x in Path('many').glob('slurm-*_*.out')
        if f'of {TASKS}, as SLURM_ARRAY_TASK_ID says' not in x.read_text()])
    call(PROGRAM, 'sweep', '-q', *WHAT, *traces, '-o', 'one')
    call(PROGRAM, 'sweep', '-q', '--merge', 'one')
    TAP.result('what is merged is what one process makes', [
        Path('many/slurm-merge.out').read_text()] if not Path('many/merged.ndjson').exists()
        or Path('many/merged.ndjson').read_bytes() != Path('one/merged.ndjson').read_bytes() else [])


def main() -> int:
    lacking = [x for x in TOOLS if not shutil.which(x)] + (['root'] if os.getuid() else [])
    if lacking:
        TAP.skip('a sweep on Slurm', f'without {", ".join(lacking)}')
        return TAP.finish()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'work').mkdir()
        os.chdir(folder / 'work')
        try:
            with Slurm(folder):
                check()
        except AssertionError as e:
            logs = [f'{x.name}: {x.read_text()[-1500:]}' for x in sorted(folder.glob('*.*'))
                    if x.suffix in ('.log', '.out')]
            TAP.result('a sweep on Slurm', str(e), logs)
        os.chdir('/')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
