"""compare.py - fragsim's pytorch policy against what the oracle says of the same case.

Compared are: every line of the placements (segment, offset, size of the block; what was obtained,
mapped, unmapped and released, each in its order), the metrics of every step, and at the end the
peaks, the counts of refusals and PyTorch's own statistics as far as the result object has them.

Not compared: the peaks and sums of `inactive_split` where blocks are pending. When PyTorch frees
several of them at once, it goes through the streams in the order of a hash table of their
addresses; where the blocks end up does not depend on that, but how many there are in between does.

In 2.12 it does: of two neighbours the one that is freed last gives the joined block its place among
equals. There a case agrees if it does for one of several sets of addresses.
"""
import csv
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from case import BY_CREATION, NEWEST, Case
from oracle import LOOSE, METRICS, Expected, expect

TIME_LIMIT = 120        # seconds for one run of fragsim
SPREADS = (3, 5, 7, 9, 11, 13, 17, 19, 23, 29, 31, 37)  # addresses of streams, other orders
PEAKS = {'allocated': 'allocated_bytes.all', 'active': 'active_bytes.all',
         'reserved': 'reserved_bytes.all'}
SLOTS = ('current', 'peak', 'allocated', 'freed')


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


def policy_of(conf: str, version: int = NEWEST) -> str:
    """A settings string as keys of the policy."""
    keys = conf.replace(':True', ':true').replace(':False', ':false')
    parts, depth = [''], 0
    for letter in keys:
        depth += (letter == '[') - (letter == ']')
        if letter == ',' and depth == 0:
            parts.append('')
        else:
            parts[-1] += letter
    named = ['version=2.%d' % version] if version != NEWEST else []
    named += [part.replace(':', '=', 1) for part in parts if part]
    return 'pytorch' + ':' * bool(named) + ','.join(named)


def settings_of(case: Case) -> list[str]:
    """The options for a case's settings; the cases of odd seeds name them as keys."""
    if case.conf and case.meta.get('seed', 0) % 2:
        return ['--policy', policy_of(case.conf, case.version)]
    return ['--policy', policy_of('', case.version), *(['--alloc-conf', case.conf] if case.conf else [])]


def run_fragsim(program: Path, case: Case, folder: Path) -> Output:
    trace, places, steps, result = (folder / name for name in (
        'trace.ndjson', 'placements.ndjson', 'steps.csv', 'result.json'))
    for old in (places, steps, result):
        old.unlink(missing_ok=True)
    trace.write_text(case.text())
    command = [program, 'run', '--quiet', '--on-oom', 'continue', *settings_of(case), '--steps',
               steps, '--placements', places, '--json', result, trace]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIME_LIMIT, check=False)
    whole = done.returncode in (0, 3) and result.exists()
    return Output(done.returncode, (done.stderr + done.stdout).strip(),
                  places.read_text().splitlines() if whole else [],
                  list(csv.DictReader(steps.open(newline=''))) if whole else [],
                  json.loads(result.read_text())['runs'][0] if whole else {})


def describe(case: Case, step: int, what: str, ours, theirs) -> Difference:
    event = case.events[step] if step < len(case.events) else 'the end'
    return Difference(step, 'step %d %s\n  %s\n  fragsim: %s\n  PyTorch: %s' % (
        step, event, what, ours, theirs))


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
        names = [name for name in METRICS
                 if ours[name] != str(theirs.metrics[name])
                 and not (theirs.loose and name in LOOSE)]
        if names:
            return describe(case, step, ', '.join(names),
                            ' '.join(ours[name] for name in names),
                            ' '.join(str(theirs.metrics[name]) for name in names))
    if len(output.rows) != len(expected.rows):
        return describe(case, len(expected.rows), 'rows', len(output.rows), len(expected.rows))
    return None


def flatten(value, path: str = '') -> dict:
    """The plain values of a JSON object, by their paths."""
    if not isinstance(value, dict):
        return {path: value}
    flat = {}
    for key, inner in value.items():
        flat.update(flatten(inner, '%s.%s' % (path, key) if path else key))
    return flat


def waits(case: Case) -> bool:
    """Can a block wait for a stream?"""
    return any(event['op'] == 'record_stream' or event.get('pending') for event in case.events)


def comparable(name: str, case: Case) -> bool:
    """Is this figure of the whole run the same whatever the addresses of the streams?"""
    return not waits(case) or not name.startswith('inactive_split') or name.endswith('.current')


def final_pairs(case: Case, run: dict, expected: Expected) -> list[tuple]:
    """(name, ours, PyTorch's) of the figures of the whole run."""
    theirs = expected.statistics
    pairs = [('counts.retries', run['counts']['retries'], theirs['num_alloc_retries']),
             ('counts.ooms', run['counts']['ooms'],
              sum(row.status == 'oom' for row in expected.rows))]
    was_loose = any(row.loose for row in expected.rows)
    for name, key in PEAKS.items():
        if not (was_loose and name in LOOSE):
            pairs.append(('peak.' + name, run['peak'][name], theirs[key][1]))
    if was_loose:
        return pairs
    ours = flatten(run.get('pytorch', {}))
    for name, value in theirs.items():
        values = {name: value} if isinstance(value, int) else {
            '%s.%s' % (name, slot): value[index] for index, slot in enumerate(SLOTS)}
        pairs += [(key, ours[key], number) for key, number in values.items()
                  if key in ours and comparable(key, case)]
    return pairs


def compare_end(case: Case, output: Output, expected: Expected) -> Difference | None:
    for name, ours, theirs in final_pairs(case, output.run, expected):
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

    def __init__(self, oracle: Path, program: Path) -> None:
        self.oracle, self.program = oracle, program
        self.scratch = tempfile.TemporaryDirectory(
            prefix='pytorch-oracle-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.folder = Path(self.scratch.name)

    def until(self, case: Case, steps: int) -> Case:
        return Case(**{**case.__dict__, 'events': case.events[:steps]})

    def must_stop(self, case: Case, expected: Expected) -> Difference | None:
        """Where PyTorch spoils its heap, fragsim has to stop and say so."""
        output = run_fragsim(self.program, self.until(case, expected.broken + 1), self.folder)
        if output.status in (0, 3) or output.status < 0 or not output.said:
            return describe(case, expected.broken, 'a heap that PyTorch spoils',
                            'exit status %d' % output.status, expected.why)
        return None

    def compare(self, case: Case) -> tuple[Expected, Difference | None]:
        """What PyTorch does with a case, and where fragsim differs."""
        first = self.compare_spread(case, 1)
        if first[1] is None or first[1].stopped or case.version != BY_CREATION or not waits(case):
            return first
        others = (self.compare_spread(case, spread) for spread in SPREADS)
        return next((other for other in others if other[1] is None), first)

    def compare_spread(self, case: Case, spread: int) -> tuple[Expected, Difference | None]:
        """The same with the streams at certain addresses."""
        expected = expect(self.oracle, case, spread)
        whole = case
        if expected.broken is not None:
            case = self.until(case, expected.broken)
            expected.statistics = expect(self.oracle, case, spread).statistics
        output = run_fragsim(self.program, case, self.folder)
        if output.status not in (0, 3) or output.said:
            return expected, Difference(len(case.events), 'fragsim: exit status %d: %s' % (
                output.status, output.said), stopped=True)
        difference = first_difference(case, output, expected)
        if difference is None and expected.broken is not None:
            difference = self.must_stop(whole, expected)
        return expected, difference
