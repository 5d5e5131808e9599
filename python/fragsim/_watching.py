"""_watching.py - an out-of-memory that explains itself.

    fragsim.watch()                 # python -m fragsim.watch train.py; fragsim record --torch --explain

The history is recorded as recording.py does, in a shorter ring, and nothing is written or printed
until a request fails. The snapshot is written there and then, while the memory is as it was. The
answer of `fragsim explain` is printed only once the error ends the program or a thread, before its
traceback: an error that the program catches is the program's own affair.

The answer is made by a child, so that neither its memory nor its faults are the program's.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback

try:
    from . import recording
except ImportError:             # beside the recorder of `fragsim record --torch`, without the package
    import fragsim_recording as recording       # type: ignore[import-not-found, no-redef]

MAX_ENTRIES = 100_000           # about 40 MB of the program's memory once the ring is full
SECONDS = 60                    # that an answer may take
MEMORY = 1 << 30                # bytes, besides eight times the file, that an answer may take
OTHER_RANKS = 1.0               # seconds in which the other ranks of a job fail, too
# who ends a child by an error without a hook: by print_exc(), and by format_exc() for the parent
ENDING = (("multiprocessing.process", "_bootstrap"), ("torch.multiprocessing.spawn", "_wrap"))


def program():
    """The path of fragsim; where the package is not at hand, the one that `record` is."""
    given = os.environ.get("FRAGSIM_TORCH_PROGRAM")
    if given:
        return given
    from ._program import program
    return program()


def resident(pid):
    """Bytes of host memory that a process uses; 0: not known."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def start_of(pid):
    """When a process began, in ns; None: not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/uptime", "rb") as file:
            up = float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return time.time_ns() - int((up - ticks / os.sysconf("SC_CLK_TCK")) * 1e9)


def answer(words, size):
    """What `fragsim WORDS` prints, of a file of `size` bytes. RuntimeError: there is no answer."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([program(), *words], stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        until = time.monotonic() + SECONDS
        why = None
        try:
            while child.poll() is None and not why:
                if resident(child.pid) > MEMORY + 8 * size:
                    why = "the answer takes too much memory"
                elif time.monotonic() > until:
                    why = f"no answer after {SECONDS} seconds"
                else:
                    time.sleep(0.01)
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
        output.seek(0)
        errors.seek(0)
        text = output.read().decode(errors="replace")
        said = errors.read().decode(errors="replace").splitlines()
    if why or not text:
        raise RuntimeError(why or (said[-1].replace("fragsim: ", "", 1) if said else "no answer"))
    return text


def has_oom(error):
    """Is an out-of-memory among the errors that the traceback will show?"""
    known, waiting = set(), [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in known:
            continue
        if recording.is_oom(one):
            return True
        known.add(id(one))
        waiting.append(one.__cause__ or (None if one.__suppress_context__ else one.__context__))
        waiting.extend(getattr(one, "exceptions", ()))
    return False


class Watching(recording.Recording):
    """The history of one process, of which something is written where memory runs out.

    caught: a line at each failure, also of one that the program catches. every: a look after so
    many steps of an optimizer whether memory grows; 0: none.
    """

    def __init__(self, name, caught=False, every=0, max_entries=MAX_ENTRIES, start_ns=0):
        super().__init__(name, every, max_entries, start_ns)
        self.caught = caught
        self.failures = 0           # of requests of this process
        self.lines = []             # what is to say of the file
        self.explained = None       # the error that was explained last
        self.turn = threading.Lock()        # one explanation after the other
        self.looking = None         # the thread that asks whether memory grows
        self.reserved = None        # the socket that this rank holds as the one that explains

    def watch_ends(self):
        """Nothing is written where the program ends by itself."""
        import atexit

        def at_exit():
            self.stop(at_exit=True)
        atexit.register(at_exit)
        self.ends.append(lambda: atexit.unregister(at_exit))

        def before(real):
            def hook(kind, error, trace):
                self.explain(error)
                real(kind, error, trace)
            return hook

        def before_thread(real):
            def hook(args):
                self.explain(args.exc_value)
                real(args)
            return hook
        self.replace(sys, "excepthook", before)
        self.replace(threading, "excepthook", before_thread)

        def before_child(real):
            def call(*args, **kwargs):
                caller = sys._getframe(1)
                if (caller.f_globals.get("__name__"), caller.f_code.co_name) in ENDING:
                    self.explain(sys.exc_info()[1])
                return real(*args, **kwargs)
            return call
        self.replace(traceback, "print_exc", before_child)
        self.replace(traceback, "format_exc", before_child)

    def keep_history(self, memory):
        """A program that records a history of its own has what it asked for; only its end is not
        ours."""
        def make(real):
            def call(enabled="all", *args, **kwargs):
                if enabled is not None:
                    real(enabled, *args, **kwargs)
            return call
        self.replace(memory, "_record_memory_history", make)

    def tell_written(self, lines, why):
        """Said with the answer, if there is one."""
        self.lines = lines

    def out_of_memory(self):
        self.failures += 1
        super().out_of_memory()
        if self.caught and self.last_oom:
            self.say_answer(self.one_line)

    def explain(self, error):
        """Before the traceback of an error that nothing caught."""
        try:
            # the error may be a child's, which has said it
            if not self.on or os.getpid() != self.pid or not self.failures or not has_oom(error):
                return
            with self.turn:
                if self.explained is error:
                    return
                self.explained = error
                if not self.last_oom:       # one of many failures, or the program went on after it
                    self.dump(at_oom=True)
                if self.path:
                    self.say_answer(self.whole if recording.rank() is None else self.of_ranks)
        except KeyboardInterrupt:
            raise
        except BaseException as why:        # the program's error is what must be seen
            recording.say(f"{self.path}: {why}")

    def say_answer(self, make):
        try:
            text = make()
        except (RuntimeError, OSError, ImportError) as why:
            text = f"fragsim: {self.path}: {why}; fragsim explain {self.path} tries again\n"
        except Exception as why:            # FragsimError: there is no program
            text = f"fragsim: {self.path}: {why}\n"
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except Exception:
            pass

    def text(self):
        return answer(["explain", "--color", "never", self.path], os.path.getsize(self.path))

    def whole(self):
        lost = "".join(f"fragsim: {self.path}: {x}\n" for x in self.lines[1:])
        return f"{self.text()}fragsim: {self.path} is the snapshot\n{lost}"

    def one_line(self):
        """The first row, the verdict and the setting."""
        head, *rows = self.text().splitlines()
        known = [x.split(None, 1) for x in rows]
        told = [head] + [x[1] if x[0] == "verdict" else " ".join(x) for x in known
                         if len(x) == 2 and x[0] in ("verdict", "set")]
        return f"fragsim: {'; '.join(told)}; {self.path}\n"

    # Several ranks

    def of_ranks(self):
        """One rank explains all: rank 0 where it fails too, else the first to fail."""
        number = recording.rank()
        time.sleep(0 if number == 0 else OTHER_RANKS / 2)
        if not self.is_speaker():
            return f"fragsim: rank {number} is out of memory; {self.path} is the snapshot\n"
        time.sleep(OTHER_RANKS)
        files = sorted(self.files_of_ranks())
        if len(files) < 2:
            return f"rank {number}: {self.whole()}"
        size = sum(map(os.path.getsize, files))
        return (answer(["ranks", "--color", "never", *files], size) + f"rank {number}: {self.text()}"
                + f"fragsim: {os.path.dirname(self.path)}: snapshots of {len(files)} ranks\n")

    def is_speaker(self):
        """Is this the first of the job's ranks on this machine to ask? A name of the kernel's, which
        ends with the process, is the claim: no file is left behind."""
        import socket
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0fragsim-watch-{os.getppid()}-{os.path.dirname(self.path)}"[:100])
        except OSError:
            claim.close()
            return False
        self.reserved = claim
        return True

    def files_of_ranks(self):
        """Made since the launcher of the job began; another rank may have failed before this one
        began to watch."""
        folder, base = os.path.split(self.name)
        since = min(self.start_ns, start_of(os.getppid()) or self.start_ns)
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry)
            if entry.startswith(f"{base}.rank") and entry.endswith(recording.SUFFIX) \
                    and recording.made_since(path, since):
                yield path

    # Growth

    def count_step(self, optimizer, _args, _kwargs):
        if not self.on or self.over:
            return
        self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
        if self.counts[optimizer] % self.steps or (self.looking and self.looking.is_alive()):
            return
        try:
            import pickle
            file = tempfile.NamedTemporaryFile(prefix="fragsim-", suffix=recording.SUFFIX)
            pickle.dump(self.snapshot(), file, protocol=4)
            file.flush()
            total = self.torch.cuda.mem_get_info()[1]
        except Exception as error:
            recording.say(f"whether memory grows is not known: {error}")
            return
        self.looking = threading.Thread(target=self.look, args=(file, total, self.counts[optimizer]),
                                        name="fragsim", daemon=True)
        self.looking.start()

    def look(self, file, total, steps):
        """A line where memory grows; nothing where it does not, or where that is not known."""
        import json
        try:
            with file:
                found = json.loads(answer(["leaks", "-q", "--json", "-", "--device-bytes", str(total), file.name],
                                          os.path.getsize(file.name)))
        except Exception:
            return
        for device in found["devices"]:
            if device["verdict"] in ("leak", "grows"):
                recording.say(growth(device, found["rising"], steps))


def growth(device, rising, steps):
    """A device of the document of `fragsim leaks` as a sentence."""
    where = [x["tag"] for x in rising if x["device"] == device["ordinal"]]
    text = f"after {steps} optimizer steps: +{size_text(device['growth'])} per iteration"
    if where:
        text += f" at {where[0]}"
    full = device["full_in_iterations"]
    if full is not None:
        text += f"; full in about {full:,} iterations"
    return text


def size_text(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.2f} {unit}"


def watch(name: str | os.PathLike[str] = "oom", *, caught: bool = False, every: int | None = None,
          max_entries: int = MAX_ENTRIES) -> None:
    """Explain an out-of-memory where it happens, on standard error before the traceback.

    From here on the last `max_entries` events of each device are kept. Where a request fails, they
    are written to NAME.pickle (NAME.rankN.pickle in a job), which the next failure replaces; where
    nothing catches the error, `fragsim explain` says why, and what to set. caught: a line at
    each failure, also of one that the program catches. every: after so many steps of an optimizer
    a line if memory grows from iteration to iteration. The error, its traceback and the exit
    status stay as they are. Call it before the program allocates; again it does nothing. OSError:
    no file can be made there.
    """
    for what, value in (("every", every), ("max_entries", max_entries)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ValueError(f"watch: {what} must be a whole number above 0")
    running = getattr(sys.modules.get("fragsim_recording"), "current", None) or recording.current
    if running and not running.over:
        return
    name = os.path.abspath(os.fspath(name))
    name = name[:-len(recording.SUFFIX)] if name.endswith(recording.SUFFIX) else name
    recording.try_folder(name)
    mine = Watching(name, caught, every or 0, max_entries)
    process = sys.modules.get("multiprocessing.process")
    # children of one program may fail at once; a spawned one is not yet a child while it imports the program
    mine.owner = not (process and (process.parent_process() or hasattr(process.current_process(), "_inheriting")))
    try:
        import torch
    except ModuleNotFoundError:
        mine.tell("this Python has no torch: nothing is watched")
        return
    recording.current = mine
    recording.follow_forks()
    mine.attach(torch)


def main() -> None:
    """python -m fragsim.watch PROGRAM.py: as `fragsim record --torch --explain`."""
    from ._program import FragsimError
    try:
        path = program()
        os.execv(path, ["fragsim", "record", "--torch", "--explain", "--", sys.executable, *sys.argv[1:]])
    except FragsimError as error:
        sys.exit(f"fragsim: {error}")
    except OSError as error:
        sys.exit(f"fragsim: {path}: {error.strerror}")
