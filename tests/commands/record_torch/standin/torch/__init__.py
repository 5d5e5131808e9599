"""A stand-in of PyTorch: as much of it as a recorder of its memory history meets.

Its allocator gives each request a segment of its own, or one of the same size that is free. The
environment says what it is: STANDIN=cpu, built without CUDA; STANDIN=old, which knows no history.
"""
import os

__version__ = '9.9'
KIND = os.environ.get('STANDIN', '')


class _C:
    observers = []


if KIND != 'cpu':
    _C._cuda_attach_out_of_memory_observer = _C.observers.append

from . import cuda, distributed, optim  # noqa: E402,F401

OutOfMemoryError = cuda.OutOfMemoryError
