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

from . import trace
from ._commands import (cards, diff, explain, explain_message, fit, leaks, plan, policies, predict,
                        ranks, run, settings, sweep, verify)
from ._documents import Document, Record, Results, Run, Scope
from ._program import ConditionError, FragsimError, example_trace, program
from ._traces import Trace

__version__: str

if TYPE_CHECKING:
    from . import callbacks
    from ._watching import watch
    from .recording import record

__all__ = ["ConditionError", "Document", "FragsimError", "Record", "Results", "Run", "Scope",
           "Trace", "callbacks", "cards", "diff", "example_trace", "explain", "explain_message", "fit",
           "leaks", "plan", "policies", "predict", "program", "ranks", "record", "run",
           "settings", "sweep", "trace", "verify", "watch"]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        """Loads the recorders and the program's version at their first use."""
        if name == "record":
            from .recording import record
            return record
        if name == "watch":
            from ._watching import watch
            return watch
        if name == "callbacks":
            from importlib import import_module
            return import_module(".callbacks", __name__)
        if name == "__version__":
            from ._program import call
            return call(["--version"]).output.split()[1]
        raise AttributeError(f"module 'fragsim' has no attribute {name!r}")
