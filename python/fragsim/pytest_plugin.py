"""pytest_plugin.py - tests that say how much GPU memory they may take.

    @pytest.mark.gpu_memory("peak.reserved < 14GiB", policy="pytorch")
    def test_training_step(): ...

What the test allocates is recorded with fragsim.record and simulated; or the test gives a trace
itself, and needs no GPU:

    @pytest.mark.gpu_memory("peak.reserved < 14GiB", device="16GiB")
    def test_recorded(gpu_memory_trace):
        gpu_memory_trace("traces/step.ndjson.gz")

--fragsim-baseline FILE holds each marked test to what it took when --fragsim-update-baseline wrote
FILE. fragsim-python(7) has the rest.
"""
from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

import pytest

from ._commands import compare_in, on_device, run_source
from ._documents import Results, _size
from ._program import ConditionError, FragsimError
from ._traces import Source, Trace
from .recording import create_beside

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
CONDITION = re.compile(r"(.*?)(<=|>=|==|!=|<|>)(.*)")
# values of the program's message, of metrics that are bytes
BYTES = re.compile(r"(peak|last)\.(?!segments|blocks|streams)")
VALUE = re.compile(r"(?<![\w.'])\d{4,}(?![\w.%'])")


class Given:
    """What gpu_memory_trace is: called with the trace of the test."""

    def __init__(self) -> None:
        self.source: Source | None = None

    def __call__(self, trace: Trace) -> None:
        self.source = Source(trace)


# This trace has times and a device size, as a recording does, so metrics have values.
LEAST = (b'{"format":"fragsim-trace","version":1,"device":{"total_bytes":"1024TiB"}}\n'
         b'{"op":"alloc","id":1,"size":1,"t":1}\n{"op":"free","id":1,"t":2}\n')
LONGEST_NAME = 200      # bytes, of a file
SUFFIX = ".trace"
HASHED = re.compile(r".{161}-[0-9a-f]{32}\.trace")


def name_of(test: str) -> str:
    """The name of a test's trace: reversible, or with a hash where it would be too long."""
    name = quote(test, safe="[]", errors="surrogatepass")
    if len(name) + len(SUFFIX) > LONGEST_NAME:
        digest = hashlib.sha256(test.encode(errors="surrogatepass")).hexdigest()[:32]
        name = f"{name[:LONGEST_NAME - len(SUFFIX) - len(digest) - 1]}-{digest}"
    return name + SUFFIX


def entries(path: str) -> tuple[int, dict[str, str]]:
    """The version of a baseline, and the text of each trace by its path, as the file has it.

    The file may be in any layout of JSON. Raises FragsimError (4) where it is no baseline.
    """
    out = {}
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        document = json.loads(text)
        at = text.index("[", text.index('"traces"')) + 1
        for trace in document["traces"]:
            at += len(re.match(r"[\s,]*", text[at:])[0])   # type: ignore[index]
            end = json.JSONDecoder().raw_decode(text, at)[1]
            out[trace["path"]] = text[at:end]
            at = end
        return document["version"], out
    except OSError as error:
        raise FragsimError(f"{path}: {error.strerror}", 4) from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FragsimError(f"{path}: not a baseline: {type(error).__name__}: {error}; mend it, or"
                           " remove it and update all tests", 4) from None


class Baseline:
    """The file, and what there is of this session to be written to it."""

    def __init__(self, path: str, update: bool, root: str) -> None:
        self.path = os.path.abspath(path)
        self.update = update
        self.root = root
        self.folder = tempfile.TemporaryDirectory(prefix="fragsim-baseline-")
        self.names: dict[str, None] = {}
        self.policies: list[str] = []
        self.collected: set[str] = set()        # names of all marked tests, also deselected ones
        self.files: set[str] = set()            # that were collected as a whole
        self.unknown: list[str] = []            # tests without a baseline
        self.known = set(entries(self.path)[1]) if os.path.exists(self.path) else set()

    def take(self, test: str, source: Source, policies: list[str]) -> None:
        """A trace is known in the file by its test; that of a repeated test replaces the first."""
        name = name_of(test)
        path = os.path.join(self.folder.name, name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if source.word == "-":
            source.save(path)
        else:
            os.symlink(os.path.abspath(source.word), path)
        if self.update:
            self.names[name] = None
            self.policies += [x for x in policies if x not in self.policies]
            return
        if name not in self.known and test not in self.unknown:
            self.unknown.append(test)
        try:
            compare_in(self.folder.name, [name], policy=policies, baseline=self.path, gate=True,
                       allow_new_traces=True, allow_missing=True)    # those of other tests
        except ConditionError as error:
            if name in self.known:
                raise fail("\n".join(in_units(x["message"]) for x in error.result["gate"]["broken"])
                           ) from None
        except FragsimError as error:
            raise fail(str(error)) from None
        finally:
            os.unlink(path)

    def is_gone(self, name: str) -> bool:
        """No such test exists any more: of its file all tests were seen, or the file is away."""
        file, found, _ = unquote(name, errors="surrogatepass").partition("::")
        # a hashed name may contain only a part of the file's name: such an entry stays
        if name in self.collected or (HASHED.fullmatch(name) and not found):
            return False
        return file in self.files or not os.path.exists(os.path.join(self.root, file))

    def write(self) -> None:
        """The tests of this session, and of the file what they do not replace."""
        new = os.path.join(self.folder.name, "new.json")
        if self.names:
            compare_in(self.folder.name, list(self.names), policy=self.policies, baseline=new,
                       update_baseline=True)
        elif not self.known:
            return
        version, taken = entries(new) if self.names else (0, {})
        before, old = entries(self.path) if os.path.exists(self.path) else (version, {})
        merged = {k: taken.get(k, v) for k, v in old.items() if k in taken or not self.is_gone(k)}
        merged.update(taken)
        if taken and len(merged) > len(taken) and before != version:
            raise FragsimError(f"{self.path}: version {before}, but entries of version {version}"
                               " cannot be added to it; remove it and update all tests", 4)
        if merged == old:
            return
        with open(new if taken else self.path, encoding="utf-8") as file:
            head = file.read().partition("[")[0]
        part = None
        try:
            file, part = create_beside(self.path)
            with file:
                file.write((f"{head}[\n  " + ",\n  ".join(merged.values()) + "\n ]}\n").encode())
            os.replace(part, self.path)
        except OSError as error:
            if part:
                with contextlib.suppress(OSError):
                    os.unlink(part)
            raise FragsimError(f"{self.path}: {error.strerror}", 6) from None


def fail(message: str) -> BaseException:
    return pytest.fail.Exception(f"gpu_memory: {message}", pytrace=False)


def negated(condition: str) -> str:
    """The program is asked whether the opposite holds."""
    parts = CONDITION.fullmatch(condition)
    if not parts:
        raise fail(f"{condition!r} is no condition, such as 'peak.reserved < 14GiB'")
    return f"{parts[1].strip()} {OPPOSITE[parts[2]]} {parts[3].strip()}"


def readable(message: str, conditions: tuple[str, ...]) -> str:
    for condition in conditions:
        message = message.replace(f"which fails '{negated(condition)}'", f"not as in {condition!r}")
    return "\n".join(map(in_units, message.replace("which fails 'oom > 0'", "out of memory").splitlines()))


def in_units(line: str) -> str:
    """6442450944 as 6.00 GiB (6,442,450,944 bytes)."""
    if not BYTES.search(line):
        return line
    return VALUE.sub(lambda x: f"{_size(int(x[0]))} ({int(x[0]):,} bytes)", line)


def judge(source: Source, mark: Any) -> Results:
    """The runs of the trace; pytest's failure where they are not as the mark says."""
    options = dict(mark.kwargs)
    unlike = [negated(x) for x in mark.args]
    if not any(x.startswith("oom ") for x in unlike):
        unlike.append("oom > 0")        # peaks of a run that did not end say nothing
    try:
        where = on_device(options.pop("device", None), options.pop("context", None))
        # the mark is about the test, which is a part of the process
        return run_source(source, {**where, "fail_if": unlike, "allow_partial": True, **options})
    except ConditionError as error:
        raise fail(f"{readable(str(error), mark.args)}\n\n{error.result}") from None
    except FragsimError as error:
        raise fail(str(error)) from None


def check_mark(item: Any) -> None:
    """A word of the mark that is wrong is an error also where nothing can be measured."""
    least = Source(LEAST)
    for mark in item.iter_markers("gpu_memory"):
        options = {k: v for k, v in mark.kwargs.items() if k not in ("device", "context")}
        try:
            run_source(least, {**on_device(mark.kwargs.get("device"), mark.kwargs.get("context")),
                               "fail_if": [negated(x) for x in mark.args], **options})
        except ConditionError:
            pass
        except FragsimError as error:
            raise fail(str(error)) from None


def recorded(item: Any, test: Callable[[], None], folder: str) -> Source:
    check_mark(item)
    if importlib.util.find_spec("torch"):
        import torch
        if torch.cuda.is_available():
            from .recording import record
            with record(os.path.join(folder, "test")) as recording:
                test()
            if recording.path:
                return Source(recording.path)
            return pytest.skip("gpu_memory: passed, but nothing was recorded")
    test()
    return pytest.skip("gpu_memory: passed, but not measured: torch has no CUDA here, and the"
                       " test gave gpu_memory_trace nothing")


def measured(item: Any, test: Callable[[], None], baseline: Baseline | None) -> None:
    """Run the test, then judge the trace that it gave, or that was recorded of it."""
    given = item.funcargs.get("gpu_memory_trace")
    with tempfile.TemporaryDirectory(prefix="fragsim-") as folder:
        if given is None:
            source = recorded(item, test, folder)
        else:
            test()
            source = given.source
        if source is None:
            raise fail("the test has gpu_memory_trace, but gave it no trace")
        policies: list[str] = []
        for mark in item.iter_markers("gpu_memory"):
            results = judge(source, mark)
            item.add_report_section("call", "gpu memory", str(results))
            item.user_properties += [("gpu_memory.peak.reserved", x.peak.reserved)
                                     for x in results]
            policy = mark.kwargs.get("policy") or []
            policies += [policy] if isinstance(policy, str) else policy
        if baseline:
            baseline.take(item.nodeid, source, policies or ["pytorch"])


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("fragsim")
    group.addoption("--fragsim-baseline", metavar="FILE",
                    help="hold tests marked gpu_memory to what they took when FILE was written")
    group.addoption("--fragsim-update-baseline", action="store_true",
                    help="write what they take now to the FILE of --fragsim-baseline instead")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line(
        "markers", "gpu_memory(*conditions, **options): simulate what the test allocates, and"
        " fail where a condition (\"peak.reserved < 14GiB\") does not hold; options are those of"
        " fragsim.run: policy, device, ...")
    path = config.getoption("--fragsim-baseline")
    update = config.getoption("--fragsim-update-baseline")
    if update and not path:
        raise pytest.UsageError("--fragsim-update-baseline: --fragsim-baseline requires a file")
    if update and hasattr(config, "workerinput"):
        raise pytest.UsageError("--fragsim-update-baseline: one process must run all tests")
    try:
        config._fragsim_baseline = Baseline(path, update, str(config.rootpath)) if path else None
    except FragsimError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture
def gpu_memory_trace() -> Iterator[Given]:
    """Call it with the trace of the test: a path, bytes, a snapshot, or events.

    For tests marked gpu_memory, which are judged by it when they have passed.
    """
    yield Given()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Before -k and -m take items away: what there is decides which entries are kept."""
    baseline = config._fragsim_baseline
    marked = [x for x in items if x.get_closest_marker("gpu_memory")]
    for item in marked:
        item.runtest = lambda item=item, test=item.runtest: measured(item, test, baseline)
    if not baseline:
        return
    names = [name_of(x.nodeid) for x in marked]
    if len(set(names)) < len(names):
        twice = next(x.nodeid for x, name in zip(marked, names) if names.count(name) > 1)
        raise pytest.UsageError(f"--fragsim-baseline: two tests are called {twice}; a baseline"
                                " knows a test by its name")
    baseline.collected = set(names)
    # an argument FILE::TEST collects a part of its file
    parts = {os.path.relpath(os.path.join(config.invocation_params.dir, x.partition("::")[0]),
                             config.rootpath).replace(os.sep, "/")
             for x in config.args if "::" in x}
    baseline.files = {x.nodeid.partition("::")[0] for x in items} - parts


def pytest_sessionfinish(session: Any) -> None:
    baseline = session.config._fragsim_baseline
    if baseline and baseline.update:
        try:
            baseline.write()
        except FragsimError as error:
            pytest.exit(str(error), pytest.ExitCode.USAGE_ERROR)


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    baseline = config._fragsim_baseline
    if not baseline or not baseline.unknown:
        return
    terminalreporter.section("gpu_memory: tests without a baseline")
    for test in baseline.unknown:
        terminalreporter.line(test)
    terminalreporter.line("--fragsim-update-baseline adds them")
