"""_commands.py - the commands as functions."""
from __future__ import annotations

import functools
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, cast

from ._documents import Document, Record, Results, Run, read
from ._program import ConditionError, FragsimError, call
from ._program import folder as temporary
from ._traces import Source, Trace, given

if TYPE_CHECKING:
    from ._types import Comparison, Explain, Fit, Leaks, Message, Predict, Ranks, Result

Option = Union[str, int, float, bool, None, "os.PathLike[str]", Sequence[Any]]
OUT_OF_MEMORY = 3
SIZE = re.compile(r"\d+(\.\d*)?\s*([kKMGTPE]i?)?B?")


def _words(options: Mapping[str, Option]) -> list[str]:
    """Options of the command line: fail_if=["a", "b"] is --fail-if=a --fail-if=b.

    Raises FragsimError (2) for those that take the place of the document that a function returns.
    """
    out = []
    for key, value in options.items():
        if key in ("json", "help"):
            raise FragsimError(f"{key}={value!r}: not an option of a function: it"
                               " returns the document", 2)
        name = "--" + key.replace("_", "-")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                out.append(name)
            elif each is not None and each is not False:
                out.append(f"{name}={os.fspath(each) if isinstance(each, os.PathLike) else each}")
    return out


def _bytes(size: str | int | None) -> str | None:
    """A number is bytes; the program asks of one that looks like a slip."""
    return size if size is None or isinstance(size, str) else f"{index(size)}B"


def on_device(device: str | int | None, context: str | int | None) -> dict[str, Option]:
    is_card = isinstance(device, str) and not SIZE.fullmatch(device.strip())
    return {"device" if is_card else "device_bytes": _bytes(device),
            "context_bytes": _bytes(context)}


def _without_timeout(options: Mapping[str, Option]) -> tuple[dict[str, Option], float | None]:
    """The options of the program, and the seconds that it has. Raises FragsimError (2)."""
    rest = dict(options)
    given = rest.pop("timeout", None)
    if given is None:
        return rest, None
    try:
        seconds = float(given)      # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise FragsimError(f"timeout={given!r}: not a number of seconds above 0 and up to"
                           f" {threading.TIMEOUT_MAX:.0f}", 2)
    return rest, seconds


# Their documents show a part of each list unless --top all is given.
LISTING = ("diff", "explain", "fit", "leaks", "predict", "ranks")


def _ask(command: str, words: list[str], chunks: Iterable[bytes] | None,
         options: Mapping[str, Option], json_option: str = "--json={}",
         where: str | None = None) -> Document:
    """The document that the command writes, with what it printed.

    Status 1 is an error where conditions were given, else an answer: no device is large enough.
    """
    options, timeout = _without_timeout(options)
    if command in LISTING:
        options = {"top": "all", **options}
    with temporary() as folder:
        path = Path(folder, "document")
        done = call([*command.split(), json_option.format(path), *_words(options), "--", *words], chunks,
                    (0, 1, OUT_OF_MEMORY), where, timeout)
        if not path.exists():
            raise FragsimError(f"{command}: these options leave no document", 2)
        document = read(path)
    document.report, document.warnings = done.output, done.messages
    document.exit_status = done.status
    if done.status == 1 and (options.get("fail_if") or options.get("gate")):
        raise ConditionError("\n".join(done.messages) or "the gate is broken", document)
    return document


def _many(command: str, traces: Sequence[Trace], options: Mapping[str, Option],
          json_option: str = "--json={}") -> Document:
    with temporary() as folder:
        words, chunks = given(traces, folder)
        return _ask(command, words, chunks, options, json_option)


def _rows(source: Source, options: Mapping[str, Option], ordinal: int) -> list[Record]:
    options, timeout = _without_timeout(options)
    with temporary() as folder:
        path = Path(folder, "steps.ndjson")
        call(["run", "--quiet", f"--steps={path}", "--columns=all", *_words(options), "--",
              source.word], source.chunks(), (0, OUT_OF_MEMORY), None, timeout)
        with open(path, encoding="utf-8", errors="surrogateescape") as lines:
            rows = (json.loads(line, object_hook=Record) for line in lines)
            return [row for row in rows if row.device == ordinal]


def _runs(document: Result, source: Source, options: Mapping[str, Option]) -> Iterator[Run]:
    """Each knows how to be simulated alone: a run's text is what --policy takes.

    The keys of one alloc_conf alone are not in that text, those of several are.
    """
    shared = {k: v for k, v in options.items() if k not in ("policy", "alloc_conf", "fail_if")}
    settings = options.get("alloc_conf")
    several = isinstance(settings, (list, tuple)) and len(settings) > 1
    for members in document.runs:
        run = Run(members)
        alone = {**shared, "policy": run.policy.text}
        if run.policy.name == "pytorch" and not several:
            alone["alloc_conf"] = settings
        run._rows = functools.partial(_rows, source, alone, run.device.ordinal)
        yield run


def run_source(source: Source, options: Mapping[str, Option]) -> Results:
    try:
        document = cast("Result", _ask("run", [source.word], source.chunks(), options))
    except ConditionError as error:
        error.result = Results(error.result, _runs(error.result, source, options))
        raise
    return Results(document, _runs(document, source, options))


def run(trace: Trace, *, policy: str | Sequence[str] | None = None,
        alloc_conf: str | Sequence[str] | None = None, device: str | int | None = None,
        context: str | int | None = None, fail_if: str | Sequence[str] | None = None,
        **options: Option) -> Results:
    """Simulate a trace under one policy or several: `fragsim run`.

    policy: "pytorch", "bestfit:align=256", ...; alloc_conf: as in PYTORCH_ALLOC_CONF. Without
    either the trace says it. device: its bytes (24 * 2**30 or "24GiB"; 0 is unlimited) or a card
    ("h100-80gb", see `fragsim list cards`); context: bytes that the CUDA context takes of it.
    Any other option of fragsim-run(1) by its name, with _ for -: on_oom="continue", quiet=True
    (no report, and no answer in the document, which is quicker). timeout=SECONDS, of each
    function here, ends the program and raises FragsimError with status 130.

    Returns a list of runs, one for each policy and device. A run that is out of memory is a
    result, with status "oom". Raises ConditionError where a condition of fail_if holds
    ("peak.reserved > 14GiB"; its `result` is what would have been returned), FragsimError where
    a trace, option or policy is wrong, TypeError where `trace` is of no kind that can be one.
    """
    return run_source(Source(trace), {
        **on_device(device, context), "policy": policy, "alloc_conf": alloc_conf,
        "fail_if": fail_if, **options})


def diff(*traces: Trace, policy: str | Sequence[str] | None = None,
         baseline: str | os.PathLike[str] | None = None, gate: bool = False,
         device: str | int | None = None, context: str | int | None = None,
         **options: Option) -> Document:
    """Compare two traces, policies on traces, two results, or a simulation with a baseline.

    `fragsim diff`: diff(old, new) of two traces or folders of ranks returns why new reserves more:
    its `parts` add up to `reserved`, in bytes. With `policy`, the first is the base of the others. With `baseline`, a file
    that update_baseline=True wrote, and no trace, those it has are simulated. gate=True and
    fail_if="peak.reserved > +2%" raise ConditionError where it got worse.

    Returns the comparison, whose `traces` have `runs` of figures; of two traces the change. There
    fail_if is about its parts: "reserved.fragmentation > 1GiB".
    """
    options = {**on_device(device, context), "policy": policy, "baseline": baseline, "gate": gate,
               **options}
    return _many("diff", traces, options, "--json={}")


def compare_in(folder: str, names: list[str], **options: Option) -> Comparison:
    """diff() of files in a folder, by their names in it: those are what a baseline knows."""
    return cast("Comparison", _ask("diff", names, None, options, "--json={}", folder))


def fit(*traces: Trace, policy: str | Sequence[str] | None = None,
        alloc_conf: str | Sequence[str] | None = None, device: str | int | None = None,
        context: str | int | None = None, **options: Option) -> Fit:
    """Find the smallest device, in bytes, and the setting to use: `fragsim fit`.

    Returns a document whose `fits` has, for each trace and policy, `smallest` and `reliable` (from
    there on every larger one fits too); null, with exit_status 1, where none was found. Its
    `recommended` has the `alloc_conf` to set (null: the default is as good) and, with a device,
    the bytes that it has `left`. settings="all" tries many settings, "none" none.
    """
    return cast("Fit", _many("fit", traces, {**on_device(device, context), "policy": policy,
                                             "alloc_conf": alloc_conf, **options}))


def explain(trace: Trace, *, policy: str | None = None, device: str | int | None = None,
            context: str | int | None = None, **options: Option) -> Explain:
    """Explain an OOM: cause, tags and fix: `fragsim explain`.

    at="peak", "worst", a step or a mark looks at another moment than the first out-of-memory.
    """
    return cast("Explain", _many("explain", [trace], {**on_device(device, context), "policy": policy, **options}))


def explain_message(text: str, **options: Option) -> Message:
    """Explain out-of-memory messages of a text or a log.

    `fragsim explain`. Returns a document with `messages`. Raises FragsimError (4)
    where the text has none, and (2) where it is none: a lone surrogate is no character.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise FragsimError(f"{ascii(text[error.start])}: not a character, at {error.start} of the text",
                           2) from None
    return cast("Message", _ask("explain", ["-"], [data], options))


def leaks(trace: Trace, *, device: str | int | None = None, context: str | int | None = None,
          **options: Option) -> Leaks:
    """Report memory that each iteration leaks: `fragsim leaks`.

    Raises FragsimError (4) where no iterations are to be seen.
    """
    return cast("Leaks", _many("leaks", [trace], {**on_device(device, context), **options}))


def predict(traces: Trace | Mapping[int, Trace], *, at: int | Sequence[int] | None = None,
            policy: str | Sequence[str] | None = None, device: str | int | None = None,
            context: str | int | None = None, **options: Option) -> Predict:
    """Find what a program needs as it was not recorded: `fragsim predict`.

    traces: recordings of one program by their numbers (batch size, length), two or more:
    {8: "bs8.ndjson", 16: "bs16.ndjson"}. at: the numbers to predict; largest=True, with a
    device, looks for the largest that fits. Or one trace, and changes as options:
    scale_batch="1/2", hoist=True.
    """
    numbers = [at] if isinstance(at, int) else at
    options = {**on_device(device, context), "policy": policy,
               "at": ",".join(map(str, numbers)) if numbers else None, **options}
    if not isinstance(traces, Mapping):
        return cast("Predict", _many("predict", [traces], options))
    with temporary() as folder:
        words, chunks = given(traces.values(), folder)
        return cast("Predict", _ask("predict", [f"{w}={n}" for w, n in zip(words, traces)], chunks, options))


def ranks(*traces: Trace, policy: str | None = None, device: str | int | None = None,
          context: str | int | None = None, **options: Option) -> Ranks:
    """Say which ranks of a distributed job stand out, and in what: `fragsim ranks`."""
    return cast("Ranks", _many("ranks", traces, {**on_device(device, context), "policy": policy, **options}))


def info(trace: Trace, **options: Option) -> Document:
    """Describe a trace: events, devices, sizes, lives and marks: `fragsim trace info`."""
    return _many("trace info", [trace], options)
