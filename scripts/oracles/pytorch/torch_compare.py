"""torch_compare.py - what PyTorch adds to the comparison of fragsim with a real allocator.

Compared are too, at the end, the peaks, the counts of refusals and PyTorch's own statistics as far
as the result object has them.

Not compared: the peaks and sums of `inactive_split` where blocks are pending. When PyTorch frees
several of them at once, it goes through the streams in the order of a hash table of their
addresses; where the blocks end up does not depend on that, but how many there are in between does.

In 2.12 it does: of two neighbours the one that is freed last gives the joined block its place among
equals. There a case agrees if it does for one of several sets of addresses.
"""
from dataclasses import dataclass, field, replace

from books import Expected
from case import Case
from compare import Comparer, Difference, describe, run_fragsim
from torch_case import BY_CREATION

SPREADS = (3, 5, 7, 9, 11, 13, 17, 19, 23, 29, 31, 37)  # addresses of streams, other orders
METRICS = ('requested', 'allocated', 'active', 'reserved', 'free', 'largest_free', 'releasable',
           'non_releasable', 'waste', 'device_free', 'process_used', 'segments', 'blocks')
LOOSE = ('active', 'free', 'largest_free', 'releasable', 'non_releasable')
PEAKS = {'allocated': 'allocated_bytes.all', 'active': 'active_bytes.all',
         'reserved': 'reserved_bytes.all'}
SLOTS = ('current', 'peak', 'allocated', 'freed')


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


@dataclass
class TorchExpected(Expected):
    """What fragsim should say."""
    statistics: dict = field(default_factory=dict)
    broken: int | None = None   # the step at which PyTorch spoils its heap
    why: str = ''
    columns = (*METRICS, 'retries', 'ooms')

    def fault(self) -> str:
        return '' if self.broken is None else 'PyTorch spoils its heap at step %d: %s' % (
            self.broken, self.why)

    def finals(self, case: Case, run: dict) -> list[tuple]:
        theirs = self.statistics
        pairs = [('counts.retries', run['counts']['retries'], theirs['num_alloc_retries']),
                 ('counts.ooms', run['counts']['ooms'],
                  sum(row.status == 'oom' for row in self.rows))]
        unsure = {name for row in self.rows for name in row.unsure}
        pairs += [('peak.' + name, run['peak'][name], theirs[key][1])
                  for name, key in PEAKS.items() if name not in unsure]
        if unsure:
            return pairs
        ours = flatten(run.get('pytorch', {}))
        for name, value in theirs.items():
            values = {name: value} if isinstance(value, int) else {
                '%s.%s' % (name, slot): value[index] for index, slot in enumerate(SLOTS)}
            pairs += [(key, ours[key], number) for key, number in values.items()
                      if key in ours and comparable(key, case)]
        return pairs


class TorchComparer(Comparer):
    """Tries several addresses of streams, and stops where PyTorch has spoilt its heap."""

    def must_stop(self, case: Case, expected: TorchExpected) -> Difference | None:
        """Where PyTorch spoils its heap, fragsim has to stop and say so."""
        output = run_fragsim(self.program, self.allocator.policy,
                             until(case, expected.broken + 1), self.folder)
        if output.status in (0, 3) or output.status < 0 or not output.said:
            return describe(case, expected.broken, 'a heap that PyTorch spoils',
                            'exit status %d' % output.status, expected.why)
        return None

    def compare(self, case: Case) -> tuple[TorchExpected, Difference | None]:
        first = self.compare_spread(case, 1)
        if first[1] is None or first[1].stopped or case.version != BY_CREATION or not waits(case):
            return first
        others = (self.compare_spread(case, spread) for spread in SPREADS)
        return next((other for other in others if other[1] is None), first)

    def compare_spread(self, case: Case, spread: int) -> tuple[TorchExpected, Difference | None]:
        """The same with the streams at certain addresses."""
        expected = self.allocator.expect(case, spread)
        if expected.broken is None:
            return expected, self.difference(case, expected)
        before = until(case, expected.broken)
        expected.statistics = self.allocator.expect(before, spread).statistics
        return expected, self.difference(before, expected) or self.must_stop(case, expected)


def until(case: Case, steps: int) -> Case:
    return replace(case, events=case.events[:steps])
