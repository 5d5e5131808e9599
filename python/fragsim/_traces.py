"""_traces.py - what may be given as a trace, as words and bytes for the program."""
from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Any, Union

Trace = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes], Mapping[str, Any],
              Iterable[Mapping[str, Any]]]
"""A path; the bytes of a trace or snapshot in any form that fragsim reads, or an open file of
them; what torch.cuda.memory._snapshot() returns; or events, one dict each."""

HEADER = {"format": "fragsim-trace", "version": 1}
CHUNK = 1 << 20         # bytes


def _number(value: Any) -> Any:
    """Of numpy and the like, which json does not know."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"an event has a {type(value).__name__}, which JSON does not have")


def _line(event: Mapping[str, Any]) -> bytes:
    return json.dumps(event, default=_number, separators=(",", ":")).encode() + b"\n"


def _of_events(events: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """As lines; a header is put before them where there is none."""
    held: list[bytes] = []
    size = 0
    for number, event in enumerate(events):
        if not isinstance(event, Mapping):
            raise TypeError(f"event {number} is a {type(event).__name__}, not a dict")
        if not number and "format" not in event:
            held.append(_line(HEADER))
        held.append(_line(event))
        size += len(held[-1])
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held) if held else _line(HEADER)


def _of_file(file: Any) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk if isinstance(chunk, bytes) else chunk.encode(errors="surrogateescape")


class Source:
    """A trace as the program is given it: `word`, and `chunks()` where that is "-".

    What can be gone through only once is kept in a file without a name meanwhile, so that it can
    be given again.
    """

    def __init__(self, trace: Trace) -> None:
        self.word = "-"
        self._copy: IO[bytes] | None = None
        self._bytes: bytes | None = None
        self._fresh: Iterator[bytes] | None = None
        if isinstance(trace, (str, os.PathLike)):
            path = os.fspath(trace)
            # not standard input, and not an option
            self.word = f"./{path}" if path.startswith("-") else path
        elif isinstance(trace, (bytes, bytearray, memoryview)):
            self._bytes = bytes(trace)
        elif isinstance(trace, Mapping):
            self._bytes = _of_mapping(trace)
        elif hasattr(trace, "read"):
            self._fresh = _of_file(trace)
        elif isinstance(trace, Iterable):
            self._fresh = _of_events(trace)
        else:
            raise TypeError(f"a trace is a path, bytes, a file, a snapshot or events, not a"
                            f" {type(trace).__name__}")

    def chunks(self) -> Iterator[bytes] | None:
        if self._bytes is not None:
            return iter((self._bytes,))
        if self._fresh is not None:
            fresh, self._fresh = self._fresh, None
            return self._kept(fresh)
        if self._copy is not None:
            self._copy.seek(0)
            return _of_file(self._copy)
        return None

    def _kept(self, fresh: Iterator[bytes]) -> Iterator[bytes]:
        self._copy = tempfile.TemporaryFile()
        for chunk in fresh:
            self._copy.write(chunk)
            yield chunk
        self._copy.flush()

    def save(self, path: str) -> None:
        """Into a file of its own: a command has one standard input."""
        with open(path, "wb") as file:
            file.writelines(self.chunks() or ())
        self.word = path


def _of_mapping(trace: Mapping[str, Any]) -> bytes:
    if "segments" in trace or "device_traces" in trace:
        return pickle.dumps(dict(trace), protocol=4)
    if trace.get("format") == HEADER["format"]:
        return json.dumps(trace, default=_number).encode()
    raise TypeError("a dict is a trace where it is a memory snapshot, with segments and"
                    " device_traces, or one of fragsim's own, with format and events")


def given(traces: Iterable[Trace], folder: str) -> tuple[list[str], Iterator[bytes] | None]:
    """The words of a command line, and what its standard input is."""
    words: list[str] = []
    fed: Iterator[bytes] | None = None
    for number, source in enumerate(map(Source, chain(traces))):
        if source.word == "-" and fed is None:
            fed = source.chunks()
        elif source.word == "-":
            source.save(os.path.join(folder, f"trace{number}"))
        words.append(source.word)
    return words, fed


def as_file(trace: Trace, path: str) -> str:
    """The path of a file of it; one is made where it is none."""
    source = Source(trace)
    if source.word == "-":
        source.save(path)
    return source.word
