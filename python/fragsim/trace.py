"""trace.py - fragsim.trace: traces from traces, as `fragsim trace VERB`.

    fragsim.trace.slice("long.ndjson.zst", "short.fsb", from_step=1000, to_step=2000)

Each function but info() writes one trace, in the form that its name's ending says, and returns
that path.
"""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ._commands import Option, described, write
from ._traces import Trace

if TYPE_CHECKING:
    from ._types import Info

__all__ = ["anonymize", "convert", "gen", "info", "merge", "shrink", "slice"]


def __dir__() -> list[str]:
    return __all__


def info(trace: Trace, **options: Option) -> Info:
    """Describe a trace: events, devices, sizes, lives and marks."""
    return described(trace, options)


def convert(trace: Trace, output: str | os.PathLike[str], **options: Option) -> str:
    """Write it, or a run of it, in another form: to="fsb", "perfetto", "sqlite" and others."""
    return write("trace convert", [], [trace], output, options)


def merge(*traces: Trace, output: str | os.PathLike[str], **options: Option) -> str:
    """Write several as one, side by side on one device or one after the other."""
    return write("trace merge", [], traces, output, options)


def slice(trace: Trace, output: str | os.PathLike[str], **options: Option) -> str:
    """Write a part: a range of events, between marks, one device."""
    return write("trace slice", [], [trace], output, options)


def shrink(trace: Trace, output: str | os.PathLike[str], **options: Option) -> str:
    """Write a smaller trace that still runs out of memory."""
    return write("trace shrink", [], [trace], output, options)


def anonymize(trace: Trace, output: str | os.PathLike[str], **options: Option) -> str:
    """Write it without the names of files, functions and marks."""
    return write("trace anonymize", [], [trace], output, options)


def gen(scenario: str, output: str | os.PathLike[str], **options: Option) -> str:
    """Write the trace of a scenario: "training", "serving" and others."""
    return write("trace gen", [scenario], [], output, options)
