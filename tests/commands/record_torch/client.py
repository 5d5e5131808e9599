"""client.py SCENE - a program that is recorded, or records itself where the environment has
BLOCK, the name of the recording. What each scene does is in its function."""
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

MIB = 1 << 20
TRACE = Path(os.environ.get('TRACE', 'none'))       # without its suffix


def alloc(mib, device=0):
    from torch.cuda import memory
    return memory.alloc(mib * MIB, device)


def work():
    """Eight events: three segments, three allocations, a free. 12 MiB live at the end."""
    from torch.cuda import memory
    first = alloc(3)
    alloc(5)
    memory.free(first)
    alloc(7)


def wait_for(path):
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    sys.exit(f'there is no {path}')


def pickles():
    return sorted(p.name for p in TRACE.parent.glob('*.pickle'))


def scene_return():
    work()


def scene_status():
    work()
    sys.exit(3)


def scene_exception():
    work()
    raise ValueError('of the program')


def scene_oom():
    work()
    alloc(100)


def scene_caught():
    """An out-of-memory after which the program goes on."""
    import torch
    work()
    try:
        alloc(100)
    except torch.OutOfMemoryError:
        alloc(9)


def scene_many():
    """A search for what fits: not a file for each failure."""
    import torch
    work()
    for _ in range(50):
        try:
            alloc(100)
        except torch.OutOfMemoryError:
            pass


def scene_oom_killed():
    import torch
    work()
    try:
        alloc(100)
    except torch.OutOfMemoryError:
        os.kill(os.getpid(), signal.SIGKILL)


def scene_os_exit():
    work()
    os._exit(4)


def scene_usr1():
    """The file is there while the program runs."""
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
    wait_for(TRACE.with_suffix('.pickle'))
    os.kill(os.getpid(), signal.SIGKILL)


def scene_usr1_own():
    """The program's own handler is called as well."""
    called = []
    signal.signal(signal.SIGUSR1, lambda *_: called.append(1))
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
    wait_for(TRACE.with_suffix('.pickle'))
    os._exit(10 + len(called))


def scene_term():
    work()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def scene_term_waiting():
    """The main thread waits where it does not hear of signals, as it does for a GPU."""
    work()
    mutex = ctypes.create_string_buffer(64)
    libc = ctypes.CDLL(None)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    for _ in range(2):
        libc.pthread_mutex_lock(mutex)


def scene_term_own():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    work()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def scene_term_later():
    """A handler that comes after ours takes its place."""
    work()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def scene_term_wakeup():
    """The program takes the wakeup file for itself, as asyncio does."""
    work()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def scene_ignored():
    """What is ignored stays so."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    work()
    os.kill(os.getpid(), signal.SIGHUP)


def scene_interrupt():
    work()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)


def scene_steps():
    """Two optimizers, as of two models that learn from each other: 1 MiB more at each iteration."""
    from torch.optim import Optimizer
    work()
    pair = Optimizer(), Optimizer()
    for _ in range(5):
        alloc(1)
        for optimizer in pair:
            optimizer.step()


def scene_fork():
    """Children of a process that uses CUDA: they write nothing, and what ends them does not end
    their parent."""
    work()
    for leave in (sys.exit, os._exit):
        child = os.fork()
        if not child:
            leave(0)
        os.waitpid(child, 0)
    child = os.fork()
    if not child:
        time.sleep(60)
    time.sleep(0.3)
    os.kill(child, signal.SIGTERM)
    if os.waitpid(child, 0)[1] != signal.SIGTERM:
        sys.exit(9)
    if pickles():
        sys.exit(8)


def scene_fork_first():
    """Only the child uses CUDA."""
    import torch  # noqa: F401
    child = multiprocessing.get_context('fork').Process(target=work)
    child.start()
    child.join()


def scene_spawn():
    work()
    children = [multiprocessing.get_context('spawn').Process(target=work) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()


def scene_exec():
    work()
    os.execv(sys.executable, [sys.executable, '-B', __file__, 'oom'])


def scene_ranks():
    """A launcher, which uses no CUDA itself."""
    import torch  # noqa: F401
    ranks = [subprocess.Popen([sys.executable, '-B', __file__, scene],
                              env={**os.environ, 'RANK': str(n), 'LOCAL_RANK': str(n)})
             for n, scene in enumerate(('return', 'oom'))]
    sys.exit(sum(rank.wait() for rank in ranks))


def scene_one_rank():
    """A child of a rank has its number too."""
    os.environ['RANK'] = '2'
    import torch  # noqa: F401
    child = multiprocessing.get_context('spawn').Process(target=work)
    child.start()
    child.join()
    work()


def scene_group():
    """The rank is known to torch alone."""
    import torch
    work()
    torch.distributed.rank = 3


def scene_thread():
    """CUDA starts in another thread than the main one."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def scene_devices():
    work()
    alloc(11, 1)


def scene_own_history():
    """The program has its own history, which would end this one."""
    from torch.cuda import memory
    memory._record_memory_history(max_entries=2)
    work()
    memory._record_memory_history(None)


def scene_spoilt():
    """A file that cannot be written leaves the one before it."""
    from torch.cuda import memory
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
    wait_for(TRACE.with_suffix('.pickle'))
    memory.spoilt = True


def scene_gone():
    """Nothing can be written where it should be."""
    work()
    os.rename(TRACE.parent, TRACE.parent.with_name('elsewhere'))


def scene_work_on_cpu():
    """torch is there, and has no GPU to use."""
    import torch  # noqa: F401


def scene_twice():
    """Two blocks one after the other; the second has nothing of the first."""
    from recording import record
    import torch  # noqa: F401
    for name, amount in (('first', 3), ('second', 9)):
        with record(TRACE.with_name(name)) as recorded:
            alloc(amount)
        print(Path(recorded.path).name)
    alloc(11)


def scene_unused():
    import torch  # noqa: F401


def scene_looked():
    """The program asks whether there is a torch before it imports it."""
    from importlib import util
    if not util.find_spec('torch'):
        sys.exit(9)
    work()


def scene_without():
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        return
    sys.exit(9)


def scene_path():
    """sys.path and sitecustomize are the program's own."""
    import sitecustomize
    print(sitecustomize.WHO, any('recorder' in place for place in sys.path), sys.argv)


def block():
    """The recording of the scene, where the program records itself."""
    name = os.environ.get('BLOCK')
    if not name:
        return nullcontext()
    from recording import record
    options = {k: int(os.environ[k]) for k in ('steps', 'max_entries') if k in os.environ}
    return record(name, **options)


if __name__ == '__main__':
    with block():
        globals()[f'scene_{sys.argv[1]}']()
