"""_documents.py - what the program found: its JSON, with attributes, tables and rows."""
from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _showing

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

    from ._types import Result, RunMembers, ScopeMembers


class Record(dict[str, Any]):
    """A dict whose members are attributes too: record.peak.reserved is record["peak"]["reserved"].

    A member with the name of a method of dict is reached by its key alone. Bytes and counts are
    exact ints, percentages floats.
    """

    __slots__ = ()

    if not TYPE_CHECKING:       # which knows the members
        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError:
                near = get_close_matches(name, self, 1)
                raise AttributeError(f"there is no {name} here" + (
                    f"; did you mean {near[0]}?" if near else "; there are " + ", ".join(self))) \
                    from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]


if not TYPE_CHECKING:       # their members are known by _types.pyi
    RunMembers = ScopeMembers = Record


class Scope(ScopeMembers):
    """Which part of its program's run a recording contains: fragsim-lines(5)."""

    __slots__ = ()

    @property
    def is_whole(self) -> bool:
        """Nothing shows that the recording is a part: answers about it are about the program."""
        return self.begins == "start" and self.ends == "end"


class Document(Record):
    """What one command wrote, and what it printed meanwhile.

    The command's page, fragsim-result(5) and the JSON Schemas say what the members are.
    """

    __slots__ = ("exit_status", "report", "warnings")

    report: str
    """The text that the command prints; empty with quiet=True."""
    warnings: list[str]
    """Without "fragsim: ", a line each."""
    exit_status: int
    """3 where a run was out of memory; 1 where fit found nothing."""

    def __str__(self) -> str:
        return self.report or dict.__repr__(self)

    def __repr__(self) -> str:
        return f"<{self.get('format', 'fragsim')}: {_first_line(self.report)}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as json.loads() has them."""
        return cast("dict[str, Any]", json.loads(json.dumps(self)))

    def _repr_html_(self) -> str:
        return _showing.answer_html(str(self))

    def frame(self, *path: str | int) -> Any:
        """Rows of a list of the document: frame("fits"), frame("moments", 0, "holders").

        A pandas.DataFrame, in which peak.reserved is a column; a list of dicts where pandas is not
        installed. Raises KeyError where there is no such list.
        """
        rows: Any = self
        try:
            for key in path:
                rows = rows[key]
        except (IndexError, TypeError):
            rows = None
        if not isinstance(rows, list) or any(not isinstance(x, dict) for x in rows):
            raise KeyError(f"{'.'.join(map(str, path))}: not a list of objects")
        return _showing.frame(rows)


class Run(RunMembers):
    """One policy on one device: a member of `runs` of fragsim-result(5)."""

    __slots__ = ("_rows",)

    _rows: Callable[[], list[Record]]

    # the member of that name, their number, is reached by its key
    def steps(self) -> pandas.DataFrame | list[Record]:     # type: ignore[override]
        """The metrics after each event, by simulating this run again.

        A pandas.DataFrame with a row per event, indexed from 0, and the columns of
        fragsim-result(5): bytes, counts, and percentages (fi, fi_device, internal, utilization);
        a list of dicts where pandas is not installed. Raises FragsimError as run() does, also
        where the trace's file has changed into something else.
        """
        rows = self._rows()
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw the bytes requested, allocated and reserved after each event, with matplotlib."""
        return _showing.plot([self], ax)

    def __repr__(self) -> str:
        return f"<{self.policy.text} on device {self.device.ordinal}: {self.status}, {_size(self.peak.reserved)} reserved>"

    def _repr_html_(self) -> str:
        return _table([self])


class Results(list[Run]):
    """The runs, in the order of the policies given, for each its devices by ordinal.

    `document` is the whole result object, `report` the text that `fragsim run` prints.
    """

    def __init__(self, document: Result, runs: Iterable[Run]) -> None:
        super().__init__(runs)
        self.document = document
        self.report = document.report
        self.warnings = document.warnings
        self.exit_status = document.exit_status

    def __str__(self) -> str:
        return self.report or list.__repr__(self)

    def __repr__(self) -> str:
        return f"<{len(self)} run{'s' * (len(self) != 1)}: {_first_line(self.report)}>"

    def frame(self) -> Any:
        """A row per run, as Document.frame()."""
        return _showing.frame(self)

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw the bytes that each run reserves after each event, with matplotlib."""
        return _showing.plot(self, ax)

    def _repr_html_(self) -> str:
        return _table(self)


def _first_line(report: str) -> str:
    """The headline of an answer; without one, of a function with quiet=True, nothing."""
    return report.partition("\n")[0] or "no text"


def _size(count: Any) -> str:
    if not isinstance(count, int):
        return "-"
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.2f} {unit}" if unit != "B" else f"{count} B"


def _table(runs: Iterable[Run]) -> str:
    """For notebooks: what `fragsim run` has in its rows."""
    names = ("policy", "device", "status", "requested", "reserved", "wasted", "fi_device max")
    head = "".join(f"<th>{x}</th>" for x in names)
    rows = []
    for run in runs:
        peak, worst = run.peak, run.fi_device["max"]
        cells = (run.policy.text, run.device.ordinal, run.status, _size(peak.requested),
                 _size(peak.reserved), _size(peak.get("wasted")),
                 "-" if worst is None else f"{worst:.1f} %")
        rows.append("<tr>" + "".join(f"<td>{escape(str(x))}</td>" for x in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _record(members: dict[str, Any]) -> Record:
    return Scope(members) if members.keys() >= {"begins", "ends", "before"} else Record(members)


def read(path: Path) -> Document:
    """Record all the way down, Document at the top."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    return Document(json.loads(text, object_hook=_record))
