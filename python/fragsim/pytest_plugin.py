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

import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ._commands import compare_in, on_device, run_source
from ._documents import Results
from ._program import ConditionError, FragsimError
from ._traces import Source, Trace

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
CONDITION = re.compile(r"(.*?)(<=|>=|==|!=|<|>)(.*)")


class Given:
    """What gpu_memory_trace is: called with the trace of the test."""

    def __init__(self) -> None:
        self.source: Source | None = None

    def __call__(self, trace: Trace) -> None:
        self.source = Source(trace)


class Baseline:
    """The file, and what there is of this session to be written to it."""

    def __init__(self, path: str, update: bool) -> None:
        self.path = os.path.abspath(path)
        self.update = update
        self.folder = tempfile.TemporaryDirectory(prefix="fragsim-baseline-")
        self.names: list[str] = []
        self.policies: list[str] = []

    def take(self, test: str, source: Source, policies: list[str]) -> None:
        """A trace is known in the file by its test."""
        name = re.sub(r"[^\w.\[\]-]+", "_", test) + ".trace"
        path = os.path.join(self.folder.name, name)
        if source.word == "-":
            source.save(path)
        else:
            os.symlink(os.path.abspath(source.word), path)
        if self.update:
            self.names.append(name)
            self.policies += [x for x in policies if x not in self.policies]
            return
        try:
            compare_in(self.folder.name, [name], policy=policies, baseline=self.path, gate=True,
                       allow_new_traces=True)
        except ConditionError as error:
            raise fail("\n".join(x["message"] for x in error.result["gate"]["broken"])) from None
        finally:
            os.unlink(path)

    def write(self) -> None:
        if self.names:
            compare_in(self.folder.name, self.names, policy=self.policies, baseline=self.path,
                       update_baseline=True)


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
    return message.replace("which fails 'oom > 0'", "out of memory")


def judge(source: Source, mark: Any) -> Results:
    """The runs of the trace; pytest's failure where they are not as the mark says."""
    options = dict(mark.kwargs)
    unlike = [negated(x) for x in mark.args]
    if not any(x.startswith("oom ") for x in unlike):
        unlike.append("oom > 0")        # peaks of a run that did not end say nothing
    try:
        where = on_device(options.pop("device", None), options.pop("context", None))
        return run_source(source, {**where, "fail_if": unlike, **options})
    except ConditionError as error:
        raise fail(f"{readable(str(error), mark.args)}\n\n{error.result}") from None
    except FragsimError as error:
        raise fail(str(error)) from None


def recorded(test: Callable[[], None], folder: str) -> Source:
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
            source = recorded(test, folder)
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
        raise pytest.UsageError("--fragsim-update-baseline: --fragsim-baseline has to name a file")
    if update and hasattr(config, "workerinput"):
        raise pytest.UsageError("--fragsim-update-baseline: one process has to run all tests")
    config._fragsim_baseline = Baseline(path, update) if path else None


@pytest.fixture
def gpu_memory_trace() -> Iterator[Given]:
    """Call it with the trace of the test: a path, bytes, a snapshot, or events.

    For tests marked gpu_memory, which are judged by it when they have passed.
    """
    yield Given()


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    for item in items:
        if item.get_closest_marker("gpu_memory"):
            item.runtest = lambda item=item, test=item.runtest: measured(
                item, test, config._fragsim_baseline)


def pytest_sessionfinish(session: Any) -> None:
    baseline = session.config._fragsim_baseline
    if baseline and baseline.update:
        baseline.write()
