"""_showing.py - what people see of a document: a notebook's page, DataFrames, plots.

pandas and matplotlib are used where they are installed, and needed by nothing else.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.axes

    from ._documents import Run

LABEL = slice(2, 12)    # of a row of an answer, after its first line
DRAWN = ("requested", "allocated", "reserved")
GIB = 1 << 30


def answer_html(text: str) -> str:
    """The first screen: the headline, and the rows up to a blank line, each beside its label. A text of
    another form as it is."""
    head, *rows = text.partition("\n\n")[0].splitlines() or [""]
    if any(not row.startswith("  ") for row in rows):
        return f"<pre>{escape(text)}</pre>"
    left = 'style="text-align:left'
    body = "".join(f'<tr><th {left}">{escape(row[LABEL].strip())}</th>'
                   f'<td {left};white-space:pre-wrap">{escape(row[LABEL.stop:])}</td></tr>' for row in rows)
    table = f"<table><tbody>{body}</tbody></table>" if body else ""
    return f"<p><b>{escape(head)}</b></p>{table}"


def flat(row: dict[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """peak.reserved of {"peak": {"reserved": ...}}; a list stays a value."""
    for key, value in row.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{before}{key}.")
        else:
            yield before + key, value


def frame(rows: Iterable[dict[str, Any]]) -> Any:
    """Rows of any list of a document as a pandas.DataFrame; of an object in a row each member is a column,
    as `peak.reserved`. Where pandas is not installed, a list of dicts with these keys."""
    table = [dict(flat(row)) for row in rows]
    try:
        import pandas
    except ImportError:
        return table
    return pandas.DataFrame(table)


def plot(runs: Sequence[Run], ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
    """Bytes after each event: of one run what is requested, allocated and reserved, of several what
    each reserves. Simulates the runs again. ImportError where matplotlib is not installed."""
    if ax is None:
        from matplotlib import pyplot
        ax = pyplot.subplots()[1]
    for run in runs:
        rows: Any = run.steps()
        for name in DRAWN if len(runs) == 1 else DRAWN[-1:]:
            values = [x[name] for x in rows] if isinstance(rows, list) else rows[name]
            ax.step(range(len(rows)), [x / GIB for x in values], where="post",
                    label=name if len(runs) == 1 else f"{run.policy.text} on device {run.device.ordinal}")
    ax.set_xlabel("event")
    ax.set_ylabel("GiB" if len(runs) == 1 else "reserved, GiB")
    ax.legend()
    return ax
