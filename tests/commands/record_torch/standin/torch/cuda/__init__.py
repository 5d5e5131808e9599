"""Starts late, as the real one; a child of a process in which it has started cannot use it."""
import os
import threading

from . import memory
from .memory import OutOfMemoryError, memory_stats  # noqa: F401

_queued_calls = []
_started_in = 0
_starting = False
_lock = threading.Lock()


def is_initialized():
    return _started_in == os.getpid() and not _starting


def init():
    global _started_in, _starting
    if _started_in == os.getpid():
        return
    if _started_in:
        raise RuntimeError('Cannot re-initialize CUDA in forked subprocess')
    _started_in, _starting = os.getpid(), True
    for call in _queued_calls:
        call()
    _starting = False


def _lazy_call(call):
    with _lock:
        if is_initialized():
            call()
        else:
            _queued_calls.append(call)


def device_count():
    return memory.DEVICES


def mem_get_info(device=0):
    return memory.TOTAL - memory.used(memory.devices[device]), memory.TOTAL
