"""_progress.py - how far the program is, told while a function waits for it."""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

VARIABLE = "FRAGSIM_PROGRESS_FD"        # fragsim-python(7)
EVERY = 10.0            # seconds between two lines of a log

# done, total, and what is counted; a total that is not known is None
Step = Callable[[int, Optional[int], str], object]
Progress = Union[bool, Step, None]


class _Lines:
    """On standard error, where tqdm is not installed: one line that changes, or in a log a line now and then."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.shown = 0

    def __call__(self, done: int, total: int | None, what: str) -> None:
        ends = done == total
        text = f"fragsim: {done:,} of {total:,} {what}" if total else f"fragsim: {done:,} {what}"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text:{self.shown}}" + "\n" * ends)
            self.shown = 0 if ends else len(text)
        elif ends or time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\n")


class _Bars:
    """A bar of tqdm for each thing that is counted."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.what = tqdm, ""
        self.bar: Any = None

    def __call__(self, done: int, total: int | None, what: str) -> None:
        if self.bar is None or what != self.what or self.bar.total not in (None, total) or done < self.bar.n:
            self.close()
            self.what = what
            self.bar = self.tqdm(total=total, desc="fragsim", unit=f" {what}", unit_scale=what == "bytes")
        self.bar.total = total
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


class Listener:
    """Reads what the program tells, and calls a function with it, in the thread that calls hear().

    Once the program has ended well, end() tells that all is done.
    """

    def __init__(self, progress: Progress) -> None:
        self.tell: Any = progress
        if progress is True:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
                self.tell = _Bars(tqdm)
            except ImportError:
                self.tell = _Lines()
        self.rest = b""
        self.done, self.total, self.what = 0, 0, ""
        self.read, self.write = os.pipe()
        os.set_blocking(self.write, False)      # the program does not wait for a slow function

    def environment(self) -> Mapping[str, str]:
        return {**os.environ, VARIABLE: str(self.write)}

    def started(self) -> None:
        """The program has the end that is written to, and this process no more."""
        os.close(self.write)
        self.write = -1

    def hear(self, wait: bool = False) -> None:
        """Tell what there is; wait: until the program has closed its end."""
        os.set_blocking(self.read, wait)
        while True:
            try:
                data = os.read(self.read, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                done, total, what = line.decode(errors="replace").split(" ", 2)
                self._tell(int(done), int(total), what)

    def _tell(self, done: int, total: int, what: str) -> None:
        if what != self.what or self.total not in (0, total) or done < self.done:
            self.end()
        self.done, self.total, self.what = done, total, what
        self.tell(done, total or None, what)

    def end(self) -> None:
        """What is counted is over, at its total."""
        if self.what and (not self.total or self.done < self.total):
            self.done = self.total = self.total or self.done
            self.tell(self.done, self.total, self.what)

    def close(self) -> None:
        for descriptor in (self.read, self.write):
            if descriptor >= 0:
                os.close(descriptor)
        self.read = self.write = -1
        if isinstance(self.tell, (_Bars, _Lines)):
            self.tell.close()
