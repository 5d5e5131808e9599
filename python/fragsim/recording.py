"""recording.py - record what a PyTorch program does with GPU memory, as PyTorch's own snapshots.

    with record("trace"):           # leaves trace.pickle
        train()

PyTorch keeps a history of its allocator's events once it is told to; this module tells it as soon
as CUDA starts, and writes the snapshot: at the end, at an out-of-memory, on SIGUSR1, before the
process becomes another program or is ended by SIGTERM or SIGHUP, and after a number of optimizer
steps. A file is written beside its name and takes its place only when whole.

`fragsim record --torch` runs begin() in every Python process of a program (sitecustomize.py). A
process that does not use CUDA writes nothing. Nothing here may make a program fail: what goes
wrong is one line on standard error.
"""
from __future__ import annotations

import os
import sys
import time

MAX_ENTRIES = 1_000_000
SUFFIX = ".pickle"
# of the environment: the first process of all, that of those with torch, and that of a rank
FIRST, OWNER, RANK_OWNER = (f"FRAGSIM_TORCH_{who}" for who in ("FIRST", "OWNER", "RANK_OWNER"))

current = None      # the Recording of this process


def say(text):
    """A line on standard error, if there is one."""
    try:
        sys.stderr.write(f"fragsim: {text}\n")
        sys.stderr.flush()
    except Exception:
        pass


def create_beside(path):
    """A new file in the folder of `path`, and its name, which is random: no link can wait there."""
    folder, base = os.path.split(path)
    beside = os.path.join(folder, f".{base}.{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(beside, flags, 0o666), "wb"), beside


def counted(n, word):
    return f"{n:,} {word}" + "s" * (n != 1)


def rank():
    """The number of this process among those of a job; None: it has none."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank()
    except Exception:
        pass
    names = ["RANK", "OMPI_COMM_WORLD_RANK"]
    if os.environ.get("SLURM_NTASKS", "1") != "1":
        names.append("SLURM_PROCID")
    for name in names:
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name])
    return None


def is_first(name):
    """Is this the first process that asks so? Children learn of it by their environment."""
    pid = str(os.getpid())
    return os.environ.setdefault(name, pid) == pid


def made_since(path, start_ns):
    try:
        return os.stat(path).st_mtime_ns >= start_ns
    except OSError:
        return False


def is_oom(error):
    torch = sys.modules.get("torch")
    kind = getattr(getattr(torch, "cuda", None), "OutOfMemoryError", None)
    return isinstance(kind, type) and isinstance(error, kind)


class Recording:
    """The history of one process, and the file that it goes to.

    name: absolute, without the suffix. start_ns: when the recording of all processes began; what
    was written since is never replaced by another one.
    """

    def __init__(self, name, steps=0, max_entries=MAX_ENTRIES, start_ns=0):
        self.name = name
        self.steps = steps
        self.max_entries = max_entries
        self.owner = True           # the file has the name alone; others add their number
        self.start_ns = start_ns or time.time_ns()
        self.torch = None
        self.missing = False        # torch was asked for, and is not there
        self.told = False           # something is recorded, or why not was said
        self.on = self.over = False
        self.pid = 0
        self.path = None            # of the file, once there is one
        self.last_oom = False       # the file ends with the failed request
        self.quiet_until = 0.0      # at an out-of-memory
        self.history_off = None
        self.ends = []              # what undoes our changes to the program
        self.lock = None
        self.busy = False
        self.before = {}            # by device: allocations before the history began
        self.counts = None          # by optimizer: steps

    # The beginning

    def attach(self, torch):
        """torch is imported: the history begins as soon as CUDA does, which is now where it runs
        already. Before that nothing may touch CUDA: a process that did can no longer fork."""
        self.torch = torch
        version = getattr(torch, "__version__", "")
        if not hasattr(torch._C, "_cuda_attach_out_of_memory_observer"):
            self.tell(f"torch {version} is built without CUDA: nothing is recorded")
            return
        if not hasattr(torch.cuda, "_lazy_call"):
            self.tell(f"torch {version} cannot be recorded: 2.1 or newer is required")
            return
        if torch.cuda.is_initialized():
            self.turn_on()
        else:
            torch.cuda._lazy_call(self.turn_on)

    def tell(self, why):
        """Why there will be nothing: said by one process of all."""
        if self.owner and not self.told:
            say(why)
        self.told = True

    def turn_on(self):
        """CUDA has started in this process, perhaps a child of the one that imported torch."""
        if self.over or self.on:
            return
        try:
            self.record()
        except Exception as error:
            self.tell(f"torch {self.torch.__version__} cannot be recorded:"
                      f" {str(error).partition(chr(10))[0]}")
            self.stop()

    def record(self):
        import threading
        memory = self.torch.cuda.memory
        real = memory._record_memory_history
        options = {"context": "alloc", "stacks": "python", "max_entries": self.max_entries}
        try:
            real("all", clear_history=True, **options)
        except TypeError:           # clear_history, which 2.1 to 2.4 do not know
            try:
                real("all", **options)
            except TypeError:
                raise RuntimeError("2.1 or newer is required") from None
        self.history_off = lambda: real(None)
        self.before = {d: self.allocations(d) or 0 for d in range(self.torch.cuda.device_count())}
        self.path, self.last_oom = None, False
        self.lock = threading.RLock()
        self.pid = os.getpid()
        self.on = self.told = True
        self.keep_history(memory)
        self.watch_steps()
        self.watch_ends()
        observe(self.torch)

    def keep_history(self, memory):
        """The program's own calls would end this history, or make it shorter."""
        self.replace(memory, "_record_memory_history", lambda real: lambda *_, **__: None)

    def replace(self, place, name, make):
        """place.name becomes make(what it was), until the recording ends."""
        real = getattr(place, name)
        ours = make(real)
        setattr(place, name, ours)

        def undo():
            if getattr(place, name) is ours:
                setattr(place, name, real)
        self.ends.append(undo)

    def watch_steps(self):
        if not self.steps:
            return
        import weakref
        try:
            from torch.optim.optimizer import register_optimizer_step_post_hook
        except ImportError:
            say(f"torch {self.torch.__version__} does not tell its optimizers' steps: all of the"
                " program is recorded")
            return
        self.counts = weakref.WeakKeyDictionary()
        self.ends.append(register_optimizer_step_post_hook(self.count_step).remove)

    def watch_ends(self):
        """All ways out of a process that Python knows: its own end, os._exit(), which children
        made by multiprocessing take, and exec. And signals."""
        import atexit

        def first_dump(real):
            def call(*args, **kwargs):
                self.dump()
                return real(*args, **kwargs)
            return call
        for name in ("_exit", "execv", "execve"):
            self.replace(os, name, first_dump)
        atexit.register(self.at_exit)
        self.ends.append(lambda: atexit.unregister(self.at_exit))
        watcher = watch_signals(self)
        if watcher:
            self.ends.append(watcher.close)

    # The end

    def at_exit(self):
        # After an uncaught out-of-memory the file ends with the failed request, and stays so.
        if not (self.last_oom and is_oom(getattr(sys, "last_value", None))):
            self.dump()
        self.stop(at_exit=True)     # signals do what they did: no thread of ours runs from now on

    def stop(self, at_exit=False):
        """No more is recorded; the program goes on. A child after a fork asks nothing of torch:
        a lock there may be held by a thread that the child does not have. Nor does a process that
        ends: torch warns where another thread turned the history on."""
        if os.getpid() == self.pid:
            with self.lock:         # another thread may be writing
                self.on = False
            if not at_exit:
                self.ends.append(self.history_off)
        self.on, self.over = False, True
        while self.ends:
            try:
                self.ends.pop()()
            except Exception:
                pass

    def in_child(self):
        """After a fork. Where the parent has used CUDA a child cannot, and has nothing to record;
        else it may be the one that does."""
        self.owner = False
        if self.on:
            self.stop()

    # In between

    def count_step(self, optimizer, _args, _kwargs):
        """The steps of one optimizer: where there are several, each takes one in an iteration."""
        if not self.on or self.over:
            return
        self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
        if self.counts[optimizer] >= self.steps:
            self.dump(f", after {counted(self.steps, 'optimizer step')}, where the recording ends")
            self.stop()

    def out_of_memory(self):
        """A program that goes on after each of many of them is not to wait for a file each time;
        the next file has them too."""
        if time.monotonic() >= self.quiet_until:
            self.dump(at_oom=True)
        else:
            self.last_oom = False

    def dump(self, why="", at_oom=False):
        """Writes all that is known by now. What goes wrong is said, and is no error of the
        program's."""
        if not self.on or os.getpid() != self.pid:
            return
        with self.lock:
            if self.busy or not self.on:    # this thread is at it, or another one has ended it
                return
            self.busy = True
            began = time.monotonic()
            try:
                self.write(why)
                self.last_oom = at_oom
            except Exception as error:
                say(f"{self.path or self.name + SUFFIX}: cannot be written: {error}")
            finally:
                self.busy = False
                now = time.monotonic()
                self.quiet_until = now + 10 * (now - began)

    def write(self, why):
        import gc
        import pickle
        collecting = gc.isenabled()
        gc.disable()                # millions of new objects, and none of them garbage
        beside = None
        try:
            snapshot = self.snapshot()
            lines = self.describe(snapshot)
            path = self.path or self.choose()
            file, beside = create_beside(path)
            with file:
                pickle.dump(snapshot, file, protocol=4)
            os.replace(beside, path)
            beside, self.path = None, path
        finally:
            if collecting:
                gc.enable()
            if beside:
                try:
                    os.unlink(beside)
                except OSError:
                    pass
        self.tell_written(lines, why)

    def snapshot(self):
        """What PyTorch knows. It asks whether torch has an _inductor, which torch answers by importing
        800 modules for 5 seconds; one that the program has not imported compiled nothing of it."""
        import threading
        names, mine = vars(self.torch), threading.get_ident()
        real = names.get("__getattr__")
        if not real:
            return self.torch.cuda.memory._snapshot()

        def ours(name):
            if name == "_inductor" and threading.get_ident() == mine:
                raise AttributeError(name)
            return real(name)
        names["__getattr__"] = ours
        try:
            return self.torch.cuda.memory._snapshot()
        finally:
            if names["__getattr__"] is ours:
                names["__getattr__"] = real

    def tell_written(self, lines, why):
        say(f"{self.path}: {lines[0]}{why}")
        for line in lines[1:]:
            say(f"{self.path}: {line}")

    def choose(self):
        number = rank()
        stem = self.name
        if number is not None:
            stem += f".rank{number}"
        if not (self.owner if number is None else is_first(RANK_OWNER)):
            stem += f".{self.pid}"
        path, again = stem + SUFFIX, 1
        while made_since(path, self.start_ns):
            again += 1
            path = f"{stem}.{again}{SUFFIX}"
        return path

    # What the file holds

    def allocations(self, device):
        """How many there were on the device since the process began; None: not known."""
        return self.torch.cuda.memory_stats(device).get("allocation.all.allocated")

    def lost(self, device, trace):
        """Of how many allocations of the history the ring holds no event any more. None: not
        known, as where the program reset its counters."""
        if len(trace) < self.max_entries:
            return 0
        total = self.allocations(device)
        if total is None:
            return None
        lost = total - self.before.get(device, 0) - sum(e["action"] == "alloc" for e in trace)
        return lost if lost >= 0 else None

    def describe(self, snapshot):
        """What to say of the snapshot, by lines; what of it is lost is noted in it as well."""
        traces = snapshot.get("device_traces", [])
        used = sum(1 for trace in traces if trace)
        ooms = sum(e["action"] == "oom" for trace in traces for e in trace)
        lines = [f"{counted(sum(map(len, traces)), 'event')} of {counted(used, 'device')}"
                 + (f", {counted(ooms, 'out-of-memory')}" if ooms else "")]
        overflowed = False
        missing = []
        for device, trace in enumerate(traces):
            lost = self.lost(device, trace)
            missing.append(lost)
            if lost == 0:
                continue
            overflowed = True
            which = "an unknown number" if lost is None else f"the first {lost:,}"
            lines.append(f"device {device}: the ring was full: {which} of its allocations and the"
                         " events around them are not in the file (--max-entries makes it larger)")
        snapshot["trace_alloc_max_entries"] = self.max_entries
        snapshot["trace_alloc_overflowed"] = overflowed
        if overflowed and None not in missing:
            snapshot["trace_alloc_lost"] = sum(missing)
        return lines


observed = False


def observe(torch):
    """An observer cannot be taken away again: one is enough, for every recording."""
    global observed
    if observed:
        return
    observed = True

    def tell(*_figures):
        try:
            if current:
                current.out_of_memory()
        except KeyboardInterrupt:   # it would become the program's error in the place of the OOM
            import _thread
            _thread.interrupt_main()
        except BaseException:
            pass
    torch._C._cuda_attach_out_of_memory_observer(tell)


forks = False


def follow_forks():
    global forks
    if forks:
        return
    forks = True

    def in_child():
        if current:
            current.in_child()
    os.register_at_fork(after_in_child=in_child)


class Watcher:
    """SIGUSR1 dumps; SIGTERM and SIGHUP, where the program leaves them alone, dump and then end it
    as they would have.

    A thread of its own does so: the main thread, in which Python runs handlers, may be waiting for
    a GPU or for another rank. It learns of a signal at once by the wakeup file, and where the
    program has taken that for itself, by the handler.
    """

    HANDLER = 128                   # added to the number by the handler

    def __init__(self, recording):
        import signal
        import threading
        self.signal = signal
        self.recording = recording
        self.pid = os.getpid()
        self.old = {}
        self.seen = {}
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
            old = signal.getsignal(number)
            if old is signal.SIG_DFL or (number == signal.SIGUSR1 and callable(old)):
                self.old[int(number)] = old
                signal.signal(number, self.handle)
        before = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before)
        self.thread = threading.Thread(target=self.run, name="fragsim", daemon=True)
        self.thread.start()

    def handle(self, number, frame):
        if os.getpid() != self.pid:     # a child of which Python knows nothing
            self.signal.signal(number, self.old[number])
            os.kill(os.getpid(), number)
            return
        try:
            os.write(self.writer, bytes([number + self.HANDLER]))
        except OSError:
            pass
        if callable(self.old[number]):
            self.old[number](number, frame)

    def run(self):
        while True:
            byte = os.read(self.reader, 1)
            number = byte[0] % self.HANDLER if byte else 0
            if not number:
                break
            if number not in self.old or self.signal.getsignal(number) != self.handle:
                continue                # the program handles it itself by now
            if byte[0] < self.HANDLER:
                self.seen[number] = self.seen.get(number, 0) + 1
            elif self.seen.get(number):
                self.seen[number] -= 1      # the wakeup file told it before
                continue
            self.recording.dump()
            if number != self.signal.SIGUSR1:
                self.end(number)
        os.close(self.reader)

    def end(self, number):
        """As the signal does by itself. Only the main thread could set that by Python's means."""
        import ctypes
        ctypes.CDLL(None).signal(ctypes.c_int(number), ctypes.c_void_p(0))
        os.kill(os.getpid(), number)

    def close(self):
        """Of another thread than the main one the handlers stay, and do as before."""
        child = os.getpid() != self.pid
        try:
            for number, old in self.old.items():
                if self.signal.getsignal(number) == self.handle:
                    self.signal.signal(number, old)
            before = self.signal.set_wakeup_fd(-1)
        except ValueError:
            return
        if before not in (-1, self.writer):
            self.signal.set_wakeup_fd(before)
        if child:
            os.close(self.reader)
        else:
            os.write(self.writer, b"\0")
            self.thread.join()
        os.close(self.writer)


def watch_signals(recording):
    try:
        return Watcher(recording)
    except (ValueError, OSError):   # not in the main thread: signals do what they did
        return None


# fragsim record --torch

class Finder:
    """Calls back once torch has been imported. It stands before the other finders, which do the
    work."""

    def __init__(self, recording):
        self.recording = recording
        self.asking = False

    def find_spec(self, name, _path=None, _target=None):
        if name != "torch" or self.asking:
            return None
        from importlib import util
        self.asking = True
        try:
            spec = util.find_spec(name)
        finally:
            self.asking = False
        self.recording.missing = spec is None
        if spec is None or spec.loader is None:
            return None
        loader, real = spec.loader, spec.loader.exec_module

        def exec_module(module):        # not for a program that only asks whether there is a torch
            del loader.exec_module
            real(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            try:
                self.recording.owner = is_first(OWNER)
                if rank() is not None:
                    is_first(RANK_OWNER)    # a rank's children have its number too
                self.recording.attach(module)
            except Exception as error:
                say(f"nothing is recorded: {error}")
        loader.exec_module = exec_module
        return spec


def tell_nothing(recording):
    """At the end of the first process: if none wrote a file, why."""
    if recording.path or recording.told or not is_first(FIRST):
        return
    folder, base = os.path.split(recording.name)
    try:
        names = [x for x in os.listdir(folder) if x.startswith(base) and x.endswith(SUFFIX)]
    except OSError:
        names = []
    if any(made_since(os.path.join(folder, x), recording.start_ns) for x in names):
        return
    say("this Python has no torch: nothing is recorded" if recording.missing
        else "no process of the program started CUDA by torch: nothing is recorded")


def load_beside(name):
    """A module of this folder, which is no package here."""
    from importlib import util
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = util.spec_from_file_location("fragsim" + name, path)
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def begin():
    """In each Python process of a program that `fragsim record --torch` runs."""
    global current
    name = os.environ.get("FRAGSIM_TORCH_FILE")
    if not name or current:
        return
    entries = int(os.environ.get("FRAGSIM_TORCH_ENTRIES") or 0)
    start_ns = int(os.environ.get("FRAGSIM_TORCH_START") or 0)
    explains = os.environ.get("FRAGSIM_TORCH_EXPLAIN")
    if explains:
        watching = load_beside("_watching")
        current = watching.Watching(name, max_entries=entries or watching.MAX_ENTRIES, start_ns=start_ns)
    else:
        current = Recording(name, int(os.environ.get("FRAGSIM_TORCH_STEPS") or 0), entries or MAX_ENTRIES,
                            start_ns)
    follow_forks()
    sys.meta_path.insert(0, Finder(current))
    if is_first(FIRST) and not explains:
        import atexit
        atexit.register(tell_nothing, current)


# From Python

class record:
    """Records the block into NAME.pickle, or NAME.rankN.pickle in a job of several ranks:

        with fragsim.record("trace"):
            train()

    name: a path; ".pickle" at its end may be there or not. steps: end the recording after so many
    steps of an optimizer. max_entries: events that are kept for each device, the last ones.
    `path` is the file's, once it is written. Without torch, or without CUDA, the block runs all
    the same, and a line on standard error says so; so does a block within a program that is
    recorded already. OSError: no file can be made there.
    """

    def __init__(self, name: str | os.PathLike[str] = "trace", *, steps: int | None = None,
                 max_entries: int = MAX_ENTRIES) -> None:
        for what, value in (("steps", steps), ("max_entries", max_entries)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"record: {what} must be a whole number above 0")
        name = os.path.abspath(os.fspath(name))
        if name.endswith(SUFFIX):
            name = name[:-len(SUFFIX)]
        self._options = name, steps or 0, max_entries
        self._recording = None

    @property
    def path(self) -> str | None:
        return self._recording.path if self._recording else None

    def __enter__(self) -> record:
        global current
        mine = self._recording = Recording(*self._options)
        running = getattr(sys.modules.get("fragsim_recording"), "current", None) or current
        if running and not running.over:
            say(f"{mine.name}{SUFFIX}: not written: the program is recorded already, into"
                f" {running.name}{SUFFIX}")
            return self
        try_folder(mine.name)
        try:
            import torch
        except ModuleNotFoundError:
            mine.tell("this Python has no torch: nothing is recorded")
            return self
        current = mine
        follow_forks()
        mine.attach(torch)
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        global current
        mine = self._recording
        if current is not mine:
            return
        if not (mine.last_oom and is_oom(error)):
            mine.dump()
        if not mine.on and not mine.over and not mine.path:
            mine.tell("the block did not start CUDA: nothing is recorded")
        mine.stop()
        current = None


def try_folder(name):
    """OSError where no file can be made beside the name."""
    file, path = create_beside(name + SUFFIX)
    file.close()
    os.unlink(path)
