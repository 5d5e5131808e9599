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
from typing import TYPE_CHECKING, Any, NamedTuple, Union, cast

from ._documents import Document, Record, Results, Run, read
from ._program import ConditionError, Done, FragsimError, call
from ._program import folder as temporary
from ._progress import Progress, Step
from ._traces import Source, Trace, as_file, given

if TYPE_CHECKING:
    from ._types import (Cards, Comparison, Explain, Fit, Info, Leaks, Message, Placement, Policies, Predict, Ranks,
                         Result, Settings)

Option = Union[str, int, float, bool, None, "os.PathLike[str]", Sequence[Any], Step]
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


class Own(NamedTuple):
    """What a function takes for itself: the seconds that the program has, and who is told how far it is."""
    timeout: float | None
    progress: Progress


def _without_own(options: Mapping[str, Option]) -> tuple[dict[str, Option], Own]:
    """The options of the program, and the function's own. Raises FragsimError (2)."""
    rest = dict(options)
    given, progress = rest.pop("timeout", None), rest.pop("progress", None)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise FragsimError(f"progress={progress!r}: neither True nor a function of done, total and what", 2)
    if given is None:
        return rest, Own(None, progress)
    try:
        seconds = float(given)      # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise FragsimError(f"timeout={given!r}: not a number of seconds above 0 and up to"
                           f" {threading.TIMEOUT_MAX:.0f}", 2)
    return rest, Own(seconds, progress)


# Their documents show a part of each list unless --top all is given.
LISTING = ("diff", "explain", "fit", "leaks", "predict", "ranks")


def _ask(command: str, words: list[str], chunks: Iterable[bytes] | None,
         options: Mapping[str, Option], json_option: str = "--json={}",
         where: str | None = None) -> Document:
    """The document that the command writes, with what it printed.

    Status 1 is an error where conditions were given, else an answer: no device is large enough.
    """
    options, own = _without_own(options)
    if command in LISTING:
        options = {"top": "all", **options}
    with temporary() as folder:
        path = Path(folder, "document")
        done = call([*command.split(), json_option.format(path), *_words(options), "--", *words], chunks,
                    (0, 1, OUT_OF_MEMORY), where, *own)
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
    options, own = _without_own(options)
    with temporary() as folder:
        path = Path(folder, "steps.ndjson")
        call(["run", "--quiet", f"--steps={path}", "--columns=all", *_words(options), "--",
              source.word], source.chunks(), (0, OUT_OF_MEMORY), None, *own)
        with open(path, encoding="utf-8", errors="surrogateescape") as lines:
            rows = (json.loads(line, object_hook=Record) for line in lines)
            return [row for row in rows if row["device"] == ordinal]


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
    function here, ends the program and raises FragsimError with status 130; progress=True, of each
    too, shows how far it is, or progress=function calls it with what is done, the total and the
    name of what is counted.

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

    Of two texts with memory values, as logs of servers, the document has `changes`, each with `who`, `old`, `new` and
    `change` in bytes.

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

    at="peak", "worst", an event or a mark looks at another moment than the first out-of-memory.
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


def plan(trace: Trace, **options: Option) -> Placement:
    """Place all blocks in advance, in as few bytes as can be found: `fragsim plan`."""
    return cast("Placement", _many("plan", [trace], options))


def verify(snapshot: Trace, **options: Option) -> Document:
    """Compare a snapshot's recorded decisions with the simulation's: `fragsim verify`.

    The document has no members, a `report`, and an `exit_status`, 0 where they are the same.
    """
    options, own = _without_own(options)
    with temporary() as folder:
        words, chunks = given([snapshot], folder)
        return _printed(call(["verify", *_words(options), "--", *words], chunks, (0, 1), None, *own))


def sweep(*traces: Trace, output: str | os.PathLike[str], policy: str | Sequence[str] | None = None,
          **options: Option) -> list[Record]:
    """Simulate each trace under each policy, setting and capacity: `fragsim sweep`.

    Writes a manifest and the runs into the folder `output`, and returns the runs, each a dict.
    """
    options, own = _without_own({"policy": policy, **options})
    with temporary() as folder:
        words = [as_file(x, os.path.join(folder, f"trace{i}")) for i, x in enumerate(traces)]
        call(["sweep", f"--output={os.fspath(output)}", *_words(options), "--", *words], None, (0,), None, *own)
    rows: list[Record] = []
    for path in sorted(Path(output).glob("shard-*.ndjson")):
        with open(path, encoding="utf-8", errors="surrogateescape") as lines:
            rows.extend(json.loads(line, object_hook=Record) for line in lines)
    return rows


def cards(*names: str) -> Cards:
    """The GPUs and slices that `device` may name, with their bytes: `fragsim list cards`.

    Of those that are named also the published values, and their sources.
    """
    return cast("Cards", _ask("list cards", [*names], None, {}))


def policies(*names: str) -> Policies:
    """The policies, or those that are named, and the keys of each: `fragsim list policies`."""
    return cast("Policies", _ask("list policies", [*names], None, {}))


def settings() -> Settings:
    """The keys of PYTORCH_CUDA_ALLOC_CONF, with values and versions: `fragsim list settings`."""
    return cast("Settings", _ask("list settings", [], None, {}))


def _printed(done: Done) -> Document:
    document = Document()
    document.report, document.warnings, document.exit_status = done.output, done.messages, done.status
    return document


def described(trace: Trace, options: Mapping[str, Option]) -> Info:
    return cast("Info", _many("trace info", [trace], options))


def write(command: str, words: Sequence[str], traces: Sequence[Trace], output: str | os.PathLike[str],
          options: Mapping[str, Option]) -> str:
    """Run a command whose product is the file `output`, and return that path.

    words: what stands before the traces.
    """
    options, own = _without_own(options)
    path = os.path.abspath(os.fspath(output))
    with temporary() as folder:
        names, chunks = given(traces, folder)
        places = ["--", *words, *names, path] if traces else [f"--output={path}", "--", *words]
        call([*command.split(), *_words(options), *places], chunks, (0,), None, *own)
    return path
