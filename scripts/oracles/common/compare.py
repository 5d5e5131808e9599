"""compare.py - fragsim's policy against what the real allocator does with the same case.

Compared are every line of the placements (segment, offset and size of each block, what was obtained
and released), the metrics of every step, and at the end how often the device was asked.
"""
import csv
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from books import Expected
from case import Case, OracleError

TIME_LIMIT = 300        # seconds for one run of fragsim


@dataclass
class Difference:
    """The first one."""
    step: int           # the last step that it takes to see it
    text: str
    stopped: bool = False       # fragsim did not come to its end

    def __str__(self) -> str:
        return self.text


@dataclass
class Output:
    """What fragsim wrote."""
    status: int
    said: str
    placements: list[str]
    rows: list[dict]
    run: dict


def run_fragsim(program: Path, policy: str, case: Case, folder: Path) -> Output:
    trace, places, steps, result = (folder / name for name in (
        'trace.ndjson', 'placements.ndjson', 'steps.csv', 'result.json'))
    for old in (places, steps, result):
        old.unlink(missing_ok=True)
    trace.write_text(case.text())
    command = [program, 'run', '--quiet', '--check', '--on-oom', 'continue', *case.options(policy),
               '--steps', steps, '--placements', places, '--json', result, trace]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIME_LIMIT, check=False)
    whole = done.returncode in (0, 3) and result.exists()
    return Output(done.returncode, (done.stderr + done.stdout).strip(),
                  places.read_text().splitlines() if whole else [],
                  list(csv.DictReader(steps.open(newline=''))) if whole else [],
                  json.loads(result.read_text())['runs'][0] if whole else {})


def describe(case: Case, step: int, what: str, ours, theirs) -> Difference:
    event = case.events[step] if step < len(case.events) else 'the end'
    return Difference(step, 'step %d %s\n  %s\n  fragsim: %s\n  %-8s %s' % (
        step, event, what, ours, case.real + ':', theirs))


def compare_placements(case: Case, output: Output, expected: Expected) -> Difference | None:
    for index in range(max(len(output.placements), len(expected.placements))):
        pair = [lines[index] if index < len(lines) else None
                for lines in (output.placements, expected.placements)]
        if pair[0] != pair[1]:
            step = min(json.loads(line)['step'] for line in pair if line)
            return describe(case, step, 'placements', *(line or 'no line' for line in pair))
    return None


def compare_rows(case: Case, output: Output, expected: Expected) -> Difference | None:
    for step, (ours, theirs) in enumerate(zip(output.rows, expected.rows)):
        if ours['status'] != theirs.status:
            return describe(case, step, 'status', ours['status'], theirs.status)
        names = [name for name, value in theirs.metrics.items()
                 if ours[name] != str(value) and name not in theirs.unsure]
        if names:
            return describe(case, step, ', '.join(names),
                            ' '.join(ours[name] for name in names),
                            ' '.join(str(theirs.metrics[name]) for name in names))
    if len(output.rows) != len(expected.rows):
        return describe(case, len(expected.rows), 'rows', len(output.rows), len(expected.rows))
    return None


def compare_end(case: Case, output: Output, expected: Expected) -> Difference | None:
    for name, ours, theirs in expected.finals(case, output.run):
        if ours != theirs:
            return describe(case, len(case.events), name, ours, theirs)
    return None


def first_difference(case: Case, output: Output, expected: Expected) -> Difference | None:
    """Of a run that came to its end, the difference with the lowest step."""
    found = [difference for difference in (
        compare_placements(case, output, expected), compare_rows(case, output, expected))
        if difference]
    if found:
        return min(found, key=lambda difference: difference.step)
    return compare_end(case, output, expected)


class Comparer:
    """Runs both sides, in a folder of its own."""

    def __init__(self, allocator, program: Path) -> None:
        if not program.exists():
            raise OracleError('%s: no fragsim; `make` builds it' % program)
        self.allocator, self.program = allocator, program
        self.scratch = tempfile.TemporaryDirectory(
            prefix='oracle-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.folder = Path(self.scratch.name)

    def difference(self, case: Case, expected: Expected) -> Difference | None:
        """The first one between fragsim and what is expected."""
        output = run_fragsim(self.program, self.allocator.policy, case, self.folder)
        if output.status not in (0, 3) or output.said:
            return Difference(len(case.events), 'fragsim: exit status %d: %s' % (
                output.status, output.said), stopped=True)
        return first_difference(case, output, expected)

    def compare(self, case: Case) -> tuple[Expected, Difference | None]:
        """What the real one does with a case, and where fragsim differs."""
        expected = self.allocator.expect(case)
        return expected, self.difference(case, expected)
