"""fragsim - GPU memory allocators, simulated on recorded traces.

>>> import fragsim
>>> pytorch, expandable = fragsim.run(
...     fragsim.example_trace(), alloc_conf=["", "expandable_segments:True"],
...     device="16GiB", context="450MiB")
>>> pytorch.status, expandable.status
('oom', 'fits')

Each function runs the program `fragsim` and returns the JSON that it writes; fragsim-python(7)
and the pages of the commands say what is in it.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._commands import (diff, explain, explain_message, fit, info, leaks, predict, ranks, run)
from ._documents import Document, Record, Results, Run, Scope
from ._program import ConditionError, FragsimError, example_trace, program
from ._traces import Trace

if TYPE_CHECKING:
    from .recording import record

__all__ = ["ConditionError", "Document", "FragsimError", "Record", "Results", "Run", "Scope",
           "Trace", "diff", "example_trace", "explain", "explain_message", "fit", "info",
           "leaks", "predict", "program", "ranks", "record", "run"]


def __getattr__(name: str) -> Any:
    """Loads the recorder and the program's version at their first use."""
    if name == "record":
        from .recording import record
        return record
    if name == "__version__":
        from ._program import call
        return call(["--version"]).output.split()[1]
    raise AttributeError(f"module 'fragsim' has no attribute {name!r}")
