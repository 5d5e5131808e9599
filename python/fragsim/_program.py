"""_program.py - finds the program, runs it, and says what went wrong."""
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._progress import Listener, Progress

PIECE = 1 << 20         # bytes that are written before the next look at how far it is
INTERRUPTED = 130       # as the program ends at SIGINT
SECONDS_TO_END = 5      # that an interrupted program has before it is killed


class FragsimError(Exception):
    """The program failed, or cannot be found.

    str(error) is its one line, without the "fragsim: " before it. `status` is its exit status:
    2 wrong usage, 4 bad input, 5 no usable device, 6 output or host memory, 130 interrupted,
    127 no program; below 0 the signal that ended it, negated.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ConditionError(FragsimError):
    """A condition of `fail_if` or `gate` holds; `status` is 1, and `result` is what was found.

    str(error) has a line for each condition that holds.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message, 1)
        self.result = result


@dataclass(frozen=True)
class Done:
    status: int
    output: str                 # what it printed
    messages: list[str]         # lines of standard error, without "fragsim: "


def _places() -> Iterable[Path]:
    """Where an installation may have put it: this Python's, the user's, pip --target's."""
    yield Path(sysconfig.get_path("scripts"))
    with contextlib.suppress(KeyError):
        yield Path(sysconfig.get_path("scripts", f"{os.name}_user"))
    yield Path(__file__).resolve().parents[1] / "bin"


def program() -> str:
    """The path of the program that this module runs.

    It is the environment's FRAGSIM, else the one that was installed with this module, else the
    one on the PATH. Raises FragsimError (127) where there is none.
    """
    given = os.environ.get("FRAGSIM")
    if given:
        return os.path.abspath(given) if "/" in given else given
    for folder in _places():
        path = folder / "fragsim"
        # a script of that name would be one that calls this function
        if os.access(path, os.X_OK) and path.read_bytes()[:4] == b"\x7fELF":
            return str(path)
    found = shutil.which("fragsim")
    if not found:
        raise FragsimError("the program fragsim is neither installed with this module nor on the"
                           " PATH; the environment's FRAGSIM may name it", 127)
    return found


def example_trace() -> str:
    """The path of a small recorded trace: three training steps of GPT-2 small.

    7,142 events, 14.88 GiB requested at the peak. Raises FragsimError (127) where the
    installation has no traces.
    """
    name = "gpt2_small_train_bs8_seq1024.ndjson.gz"
    here = Path(program()).resolve().parent
    # installed, or built in a folder of the sources
    for folder in (here.parent / "share" / "fragsim" / "traces",
                   *(x / "traces" for x in here.parents)):
        if (folder / name).exists():
            return str(folder / name)
    raise FragsimError(f"{name} is not in {here.parent}/share/fragsim/traces", 127)


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """A temporary folder. Raises FragsimError (6) where there can be none."""
    try:
        place = tempfile.TemporaryDirectory(prefix="fragsim-")
    except OSError as error:
        raise FragsimError(f"{error.filename or tempfile.gettempdir()}: {error.strerror}; TMPDIR"
                           " may name another folder", 6) from None
    with place as name:
        yield name


def _end(child: subprocess.Popen[bytes]) -> None:
    """No program stays behind: it is interrupted, and where that does not help, killed."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        child.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    except BaseException:       # a second Ctrl-C
        child.kill()
        child.wait()
        raise


def _pieces(chunks: Iterable[bytes], listener: Listener | None) -> Iterator[bytes | memoryview]:
    for chunk in chunks:
        if listener is None:
            yield chunk
            continue
        for at in range(0, len(chunk), PIECE):
            yield memoryview(chunk)[at:at + PIECE]
            listener.hear()


def _feed(child: subprocess.Popen[bytes], chunks: Iterable[bytes], listener: Listener | None) -> None:
    """A program that ends before it has read all says itself why."""
    assert child.stdin
    try:
        with child.stdin as pipe:
            for piece in _pieces(chunks, listener):
                pipe.write(piece)
    except BrokenPipeError:
        pass


def _lines(text: str) -> list[str]:
    return [x.removeprefix("fragsim: ") for x in text.splitlines()]


def call(words: Sequence[str], chunks: Iterable[bytes] | None = None,
         good: Sequence[int] = (0,), where: str | None = None,
         timeout: float | None = None, progress: Progress = None) -> Done:
    """Run `fragsim WORDS` in the folder `where`, with what `chunks` gives as its standard input.

    Raises FragsimError where the exit status is none of `good`, where the words cannot be given
    to a program, and after `timeout` seconds; and whatever `chunks` or `progress` raises. At any
    exception, KeyboardInterrupt too, the program is ended first.
    """
    listener = Listener(progress) if progress else None
    try:
        return _call(words, chunks, good, where, timeout, listener)
    finally:
        if listener:
            listener.close()


def _call(words: Sequence[str], chunks: Iterable[bytes] | None, good: Sequence[int], where: str | None,
          timeout: float | None, listener: Listener | None) -> Done:
    late = threading.Event()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                [program(), *words], stdout=output, stderr=errors,
                stdin=subprocess.DEVNULL if chunks is None else subprocess.PIPE, cwd=where,
                env=listener.environment() if listener else None,
                pass_fds=[listener.write] if listener else [])
        except OSError as error:
            raise FragsimError(f"{error.filename}: {error.strerror}", 127) from None
        except ValueError as error:     # a NUL, or a character that no file name can have
            raise FragsimError(f"{ascii(' '.join(words))}: {error}", 2) from None

        def end_late() -> None:
            late.set()
            _end(child)

        timer = threading.Timer(timeout or 0, end_late)
        if timeout:
            timer.start()
        try:
            if listener:
                listener.started()
            if chunks is not None:
                _feed(child, chunks, listener)
            if listener:
                listener.hear(wait=True)
            status = child.wait()
            if listener and status in good and not late.is_set():
                listener.end()
        except BaseException:
            _end(child)
            raise
        finally:
            timer.cancel()
        if late.is_set():
            raise FragsimError(f"not done after {timeout:g} seconds", INTERRUPTED)
        output.seek(0)
        errors.seek(0)
        done = Done(status, output.read().decode(errors="replace"),
                    _lines(errors.read().decode(errors="replace")))
    if status not in good:
        last = done.messages[-1] if done.messages else f"ended by signal {-status}" \
            if status < 0 else f"exit status {status}"
        raise FragsimError(last, status)
    return done
