"""watched.py SCENE - a program that watches itself where the environment has WATCH, the arguments of
fragsim.watch() as JSON. Its scenes are those of record_torch, and some of failures."""
import json
import os
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'record_torch'))
import client as recorded  # noqa: E402
from client import TRACE, alloc, work  # noqa: E402


def scene_thread_fails():
    """The main thread goes on, and ends as it would."""
    thread = threading.Thread(target=scene_oom, name='worker')
    thread.start()
    thread.join()


def scene_oom():
    work()
    alloc(100)


def scene_chained():
    """What is seen last is another error, that the out-of-memory is the cause of."""
    try:
        scene_oom()
    except RuntimeError as error:
        raise ValueError('the batch does not fit') from error


def scene_hidden():
    """The traceback shows no out-of-memory."""
    try:
        scene_oom()
    except RuntimeError:
        raise ValueError('of the program') from None


def scene_caught_and_failed():
    """A failure that is caught, and later one that is not: of another size."""
    import torch
    work()
    try:
        alloc(90)
    except torch.OutOfMemoryError:
        alloc(9)
    alloc(100)


def scene_hook():
    """The program's own hook prints and leaves by itself."""
    def hook(_kind, error, _trace):
        sys.stderr.write(f'mine: {error}\n')
    sys.excepthook = hook
    watch()
    scene_oom()


def scene_nested():
    watch()
    watch()
    scene_oom()


def scene_trainer():
    """The trainer of the environment's TRAINER, a stand-in: it calls what it is given as the real one does."""
    from fragsim import callbacks
    given = getattr(callbacks, os.environ['TRAINER'])(TRACE)
    for name in ('setup', 'on_init_end'):
        call = getattr(given, name, None)
        if call:
            call(None, None, None)
    scene_oom()


def scene_leak():
    """1 MiB more at each of many iterations, of which none fails."""
    from torch.cuda import memory
    from torch.optim import Optimizer
    optimizer = Optimizer()
    work()
    for _ in range(18):
        activation = alloc(2)
        gradient = alloc(3)
        alloc(1)
        memory.free(gradient)
        memory.free(activation)
        optimizer.step()


def scene_steady():
    from torch.cuda import memory
    from torch.optim import Optimizer
    optimizer = Optimizer()
    for _ in range(24):
        block = alloc(1)
        optimizer.step()
        memory.free(block)


def scene_child_fails():
    import multiprocessing
    child = multiprocessing.get_context('spawn').Process(target=scene_oom)
    child.start()
    child.join()
    sys.exit(child.exitcode)


def scene_both_ranks():
    """A launcher of two ranks that fail; a third one goes on."""
    import subprocess
    scenes = ('oom', 'oom', 'return')
    ranks = [subprocess.Popen([sys.executable, '-B', __file__, scene], env={**os.environ, 'RANK': str(n)})
             for n, scene in enumerate(scenes)]
    sys.exit(sum(rank.wait() for rank in ranks))


def watch():
    options = os.environ.get('WATCH')
    if options:
        import fragsim
        import fragsim._watching
        fragsim._watching.SECONDS = int(os.environ.get('SECONDS', 60))
        fragsim._watching.MEMORY = int(os.environ.get('MEMORY', 1 << 30))
        fragsim.watch(TRACE, **json.loads(options))


if __name__ == '__main__':
    scene = f'scene_{sys.argv[1]}'
    if scene not in ('scene_hook', 'scene_both_ranks'):
        watch()
    (globals().get(scene) or getattr(recorded, scene))()
    if 'WATCH' in os.environ and 'fragsim._watching' in sys.modules:
        from fragsim import recording
        looking = getattr(recording.current, 'looking', None)
        if looking:
            looking.join()      # what a program that goes on would see
