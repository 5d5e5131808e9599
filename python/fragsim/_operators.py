"""_operators.py - records what the operators of PyTorch allocate, as a fragsim trace.

A dispatch hook sees each operator. A storage that an operator creates is an `alloc`, the end of the
storage a `free`. A mark names a point of the program and is part of the tags after it. A tag is the
operator, the innermost line of code outside torch, and the mark.

Sizes are those that the program requests, before an allocator rounds them. Workspaces inside
kernels (cuBLAS, cuDNN, reductions), compiled graphs, CUDA graphs and the program's own threads are
not visible here. A storage from before the recording counts from its first use.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import json
import os
import platform
import sys
import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if __package__:
    from .recording import create_beside
else:
    from recording import create_beside

Mark = Callable[[str], None]


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """What a model's parameters are created in."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Output:
    """A file that is written beside its destination and takes its place only when whole. A forked
    process, such as a worker of a data loader, inherits it but writes nothing."""

    def __init__(self, path: str):
        self.path = Path(path)
        # zlib's own gzip header has no time and no name: the same events are the same bytes
        self.gzip = zlib.compressobj(9, zlib.DEFLATED, 31) if path.endswith(".gz") else None
        self.owner = os.getpid()
        self.file, beside = create_beside(path)
        self.beside = Path(beside)

    def write(self, text: str) -> None:
        if os.getpid() != self.owner:
            return
        data = text.encode()
        try:
            self.file.write(self.gzip.compress(data) if self.gzip else data)
            self.file.flush()
        except OSError:
            self.close(keep=False)  # events are lost: every later write must fail too
            raise

    def close(self, keep: bool) -> None:
        if os.getpid() != self.owner:
            return
        try:
            if keep:
                with self.file:
                    self.file.write(self.gzip.flush() if self.gzip else b"")
                os.replace(self.beside, self.path)
        finally:
            with contextlib.suppress(OSError):
                self.file.close()
            self.beside.unlink(missing_ok=True)


class Live(NamedTuple):
    """A storage that the trace holds as allocated."""

    ident: int
    size: int  # of the event
    nbytes: int  # of the storage, which is larger where the program shards it
    place: dict[str, int]  # the event's `device`, where there are several
    streams: dict[tuple[int, int], Any]  # other streams that use it, by GPU and number
    death: weakref.finalize


class Recorder(TorchDispatchMode):
    """The hook. Births are seen in operators, deaths wherever Python's collector runs: even inside
    a write. So both only append to a queue, and operators drain it to the file."""

    BATCH = 4096
    name = "record_torch.py"

    def __init__(self, output: Output, device: str, timed: bool):
        super().__init__()
        self.timed = timed
        self.share = 1  # of what is allocated from here on, this rank has one part of so many
        self.kind, self.ordinals = device_ordinals(device)
        self.phase = "init"
        self.live: dict[int, Live] = {}  # by id() of the storage
        self.queue: deque[tuple[int, dict]] = deque()  # (change of live bytes, event)
        self.idents = itertools.count()
        self.lock = threading.RLock()  # autograd runs backward in a thread for each GPU
        self.numbers: dict[tuple[int, int], int] = {}  # of streams, by GPU and torch's id
        self.waiting: dict[tuple[int, int], tuple] = {}  # streams that hold freed storages
        self.bytes = self.peak = self.clock = 0
        self.counts = dict.fromkeys(("alloc", "free", "mark"), 0)
        self.start_ns = time.perf_counter_ns()
        self.output = output

    def mark(self, name: str) -> None:
        self.phase = name
        self._poll()
        self._event(0, op="mark", name=name)

    def empty_cache(self) -> None:
        self._poll()
        self._event(0, op="empty_cache")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        op = str(func)
        if self.timed:  # a real program may have begun before us; fake tensors cannot
            self._see((args, kwargs), f"{op} input")
        if op == "aten.record_stream.default":
            self._use(*args)
        result = func(*args, **(kwargs or {}))
        self._see(result, op)
        return result

    def begin(self, head: dict[str, Any]) -> None:
        self.output.write(json.dumps(head, separators=(",", ":")) + "\n")

    def drain(self, at_least: int = 1) -> None:
        """Write the queue to the file, if it holds that many events."""
        if len(self.queue) < at_least:
            return
        lines = []
        while self.queue:
            change, event = self.queue.popleft()
            self.bytes += change
            self.peak = max(self.peak, self.bytes)
            if event["op"] in self.counts:
                self.counts[event["op"]] += 1
            if self.timed:  # two threads may have queued out of turn
                event["t"] = self.clock = max(self.clock, event["t"])
            lines.append(json.dumps(event, separators=(",", ":")) + "\n")
        self.output.write("".join(lines))

    def finish(self) -> None:
        """Write what is left; storages that outlive the recording stay allocated in it."""
        self._poll()
        for block in list(self.live.values()):
            block.death.detach()
        self.drain()

    def summary(self) -> str:
        counts = ", ".join(f"{n} {op}s" for op, n in self.counts.items())
        return f"{self.output.path}: {counts}, peak {self.peak} bytes, {self.bytes} live at the end"

    def _event(self, change: int, **event) -> None:
        if self.timed:
            event["t"] = (time.perf_counter_ns() - self.start_ns) // 1000
        self.queue.append((change, event))

    def _see(self, values: Any, op: str) -> None:
        with self.lock:
            for value in tree_leaves(values):
                if isinstance(value, torch.Tensor) and value.device.type == self.kind:
                    self._see_tensor(value, op)
            self.drain(self.BATCH)

    def _see_tensor(self, tensor, op: str) -> None:
        index = tensor.device.index or 0
        storage = storage_of(tensor) if index in self.ordinals else None
        if storage is None:
            return
        size, old = storage.nbytes(), self.live.get(id(storage))
        if old and old.nbytes != size:  # resized in place: the old bytes go, new ones come
            old.death.detach()
            self._died(id(storage))
            old = None
        if not old and size:
            self._born(storage, size, index, op + source_line())

    def _born(self, storage, nbytes: int, index: int, name: str) -> None:
        self._poll()
        size = -(-nbytes // self.share)
        place = {"device": self.ordinals[index]} if len(self.ordinals) > 1 else {}
        event = {"op": "alloc", "id": next(self.idents), "size": size, **place}
        if self.kind == "cuda":
            event["stream"] = self._stream(index, torch.cuda.current_stream(index))
        death = weakref.finalize(storage, self._died, id(storage))
        death.atexit = False
        self.live[id(storage)] = Live(event["id"], size, nbytes, place, {}, death)
        self._event(size, **event, tag=f"{name} | {self.phase}")

    def _died(self, key: int) -> None:
        block = self.live.pop(key)
        self._event(-block.size, op="free", id=block.ident)
        for where, stream in block.streams.items():
            self.waiting[where] = stream, block.place

    def _stream(self, index: int, stream) -> int:
        """The default stream is 0, the others are numbered as they come."""
        if not stream.stream_id:
            return 0
        return self.numbers.setdefault((index, stream.stream_id), len(self.numbers) + 1)

    def _use(self, tensor, stream) -> None:
        block = self.live.get(id(storage_of(tensor)))
        if block:
            index = tensor.device.index
            number = self._stream(index, stream)
            block.streams[index, number] = stream
            self._event(0, op="record_stream", id=block.ident, stream=number)

    def _poll(self) -> None:
        """As the caching allocator does: before an allocation, ask which streams have caught up."""
        if not self.waiting or torch.cuda.is_current_stream_capturing():
            return
        for where, (stream, place) in list(self.waiting.items()):
            if stream.query():
                del self.waiting[where]
                self._event(0, op="sync", stream=where[1], **place)


@functools.cache
def is_program(path: str) -> bool:
    """Is a file a program's or a model's, and neither torch's nor Python's own?"""
    folders = path.split("/")[:-1]
    if path.startswith(("<frozen", "<eval_with_key")) \
            or not {"torch", "functorch", "torchgen", "triton"}.isdisjoint(folders):
        return False
    library = os.path.dirname(os.__file__) + "/"
    return not path.startswith(library) or "site-packages" in folders or "dist-packages" in folders


def source_line() -> str:
    """" model.py:42", the innermost line outside torch and the hook; "" where there is none, as
    in a thread of autograd's own."""
    frame = sys._getframe(1)
    while frame:
        code = frame.f_code
        if is_program(code.co_filename) and code not in HOOK:
            return f" {os.path.basename(code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def codes(cls: type) -> set[Any]:
    """Of the methods of a class; torch may wrap them."""
    return {getattr(inspect.unwrap(x), "__code__", None) for x in vars(cls).values() if callable(x)}


HOOK = codes(Recorder)


def storage_of(tensor):
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None  # sparse tensors and wrappers have none; the tensors inside them do


def device_ordinals(device: str) -> tuple[str, dict[int, int]]:
    """The kind of device, and which of its indexes are which ordinals of the trace."""
    where = torch.device(device)
    if where.type != "cuda":
        return where.type, {0: 0}
    every = range(torch.cuda.device_count()) if where.index is None else [where.index]
    return where.type, {index: ordinal for ordinal, index in enumerate(every)}


def gpu_figures(index: int) -> dict[str, Any]:
    """What the driver has taken beyond this program's tensors is the context; other processes on
    the device would count as context too, because the driver does not tell them apart."""
    torch.empty(1, device=f"cuda:{index}")  # makes the context
    free, total = torch.cuda.mem_get_info(index)
    return {
        "name": torch.cuda.get_device_name(index),
        "total_bytes": total,
        "context_bytes": total - free - torch.cuda.memory_reserved(index),
    }


def header(source: str, recorder: Recorder, fake: bool, meta: dict[str, Any]) -> dict[str, Any]:
    top: dict[str, Any] = {"format": "fragsim-trace", "version": 1}
    if recorder.kind == "cuda":
        figures = [gpu_figures(index) for index in recorder.ordinals]
        top |= {"devices": figures} if len(figures) > 1 else {"device": figures[0]}
    packages = ("torch", "torchvision", "transformers", "diffusers")
    top["meta"] = {
        "source": source,
        "recorder": recorder.name,
        "ran_on": "fake tensors, no t" if fake else recorder.kind,
        "python": platform.python_version(),
        **{p: str(sys.modules[p].__version__) for p in packages if p in sys.modules},
        **meta,
    }
    return top


active: Recorder | None = None


def mark(name: str) -> None:
    """Name this point of the program. Does nothing while nobody records."""
    if active:
        active.mark(name)


@contextlib.contextmanager
def record(path: str, device: str = "cpu", source: str = "", fake: bool = False
           ) -> Iterator[Recorder]:
    """Record what is allocated on `device` ("cpu", "cuda" for all GPUs, "cuda:1" for one) into
    `path`, compressed where that ends in .gz. A program that fails has its trace kept up to there,
    because an out-of-memory error is what one wants to look at; a fake one has not."""
    if active:
        raise RuntimeError("record_torch: a recording is under way already")
    with recording(Recorder(Output(path), device, timed=not fake), source) as recorder:
        yield recorder


@contextlib.contextmanager
def recording(recorder: Recorder, source: str, **meta: Any) -> Iterator[Recorder]:
    """Records what the block does; meta goes into the header of the trace."""
    global active
    keep, keep_at_end, fake = False, True, not recorder.timed
    try:
        recorder.begin(header(source, recorder, fake, meta))
        active = recorder
        with watch_empty_cache(recorder), recorder:
            try:
                yield recorder
            except BaseException as error:
                if getattr(error, "code", error):  # sys.exit(0) is no failure
                    recorder.mark(f"interrupted: {type(error).__name__}")
                    keep_at_end = not fake
                raise
            finally:
                recorder.finish()
                keep = keep_at_end  # now that all of it is written
    finally:
        active = None
        recorder.output.close(keep)


@contextlib.contextmanager
def watch_empty_cache(recorder: Recorder) -> Iterator[None]:
    """torch.cuda.empty_cache() is no operator, so no dispatch hook sees it."""
    real = torch.cuda.empty_cache

    def empty_cache() -> None:
        real()
        recorder.empty_cache()

    with mock.patch.object(torch.cuda, "empty_cache", empty_cache):
        yield
