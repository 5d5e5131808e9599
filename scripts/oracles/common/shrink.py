"""shrink.py - the shortest case that still differs, and how a golden test has a case.

First everything after the difference goes, then delta debugging takes events away (what loses its
allocation goes with it), then device, keys, streams and sizes are made plainer, as long as a
difference stays. Not necessarily the same difference: any is a bug. But a run that fragsim refuses
counts only where the first case was refused too.
"""
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from books import Expected
from case import MIB, Case, OracleError, bytes_of, compact
from compare import Comparer, Difference


def valid(events: list[dict]) -> list[dict]:
    """Without the events that no longer have what they speak of.

    Requests of a context's stream go to its pool, and its pool has no others.
    """
    live, pending, kept = set(), {}, []
    contexts, open_pools = {e['pool'] for e in events if e['op'] == 'begin_pool'}, {}
    for event in events:
        op, name = event['op'], event.get('id')
        if op == 'alloc':
            if name in live:
                continue
            wanted = next((pool for pool, stream in open_pools.items()
                           if stream in (None, event.get('stream', 0))), None)
            if wanted != event.get('pool') and contexts & {wanted, event.get('pool')}:
                continue
            live.add(name)
        elif op == 'begin_pool':
            if event['pool'] in open_pools:
                continue
            open_pools[event['pool']] = event.get('stream')
        elif op == 'end_pool':
            if event['pool'] not in open_pools:
                continue
            del open_pools[event['pool']]
        elif op in ('free', 'record_stream') and name not in live:
            continue
        elif op == 'free':
            live.remove(name)
            if event.get('pending'):
                pending[name] = pending.get(name, 0) + 1
        elif op == 'complete':
            if not pending.get(name):
                continue
            pending[name] -= 1
        kept.append(event)
    return kept


class Shrinker:
    """Holds the shortest case so far that differs."""

    def __init__(self, comparer: Comparer, case: Case, say: Callable[[str], None],
                 most_tries: int = 3000) -> None:
        self.comparer, self.say = comparer, say
        self.case = case
        self.expected: Expected | None = None
        self.difference: Difference | None = None
        self.tries, self.most_tries = 0, most_tries
        if not self.differs(case):
            raise ValueError('the case does not differ')

    def differs(self, case: Case) -> bool:
        """Tries a case, and keeps it when it differs."""
        self.tries += 1
        case = replace(case, events=valid(case.events))
        if not case.events:
            return False
        try:
            expected, difference = self.comparer.compare(case)
        except OracleError:
            return False
        if difference is None:
            return False
        if difference.stopped and self.difference and not self.difference.stopped:
            return False
        self.case, self.expected, self.difference = case, expected, difference
        return True

    def with_events(self, events: list[dict]) -> bool:
        return self.differs(replace(self.case, events=events))

    def cut(self) -> None:
        step = self.difference.step
        if step + 1 < len(self.case.events):
            self.with_events(self.case.events[:step + 1])

    def remove_events(self) -> bool:
        """Delta debugging: ever smaller parts; says whether any could go."""
        before = len(self.case.events)
        size = max(1, before // 2)
        while True:
            at = 0
            while at < len(self.case.events) and self.tries < self.most_tries:
                events = self.case.events
                if not self.with_events(events[:at] + events[at + size:]):
                    at += size
            if size == 1:
                return len(self.case.events) < before
            size = max(1, size // 2)

    def plainer_device(self) -> Iterator[Case]:
        case = self.case
        yield from case.plainer_settings()
        yield replace(case, context=0)
        yield replace(case, other=0)
        yield replace(case, granularity=2 * MIB)
        for total in case.plainer_totals():
            if digits(total) < digits(case.total):
                yield replace(case, total=total)

    def plainer_event(self, step: int) -> Iterator[Case]:
        """The plainest first."""
        case, event = self.case, self.case.events[step]
        for plain in case.plainer_members(event):
            yield with_event(case, step, plain)
        if event['op'] == 'alloc':
            size = bytes_of(event['size'])
            rounded = [size // unit * unit for unit in case.plain_units]
            for plain in (*case.plain_sizes, *rounded):
                if 0 < plain <= size and digits(plain) < digits(size):
                    yield with_event(case, step, dict(event, size=plain))

    def take(self, candidates: Callable[[], Iterator[Case]]) -> bool:
        """Takes plainer cases that still differ, until there is none; says whether any was."""
        changed, again = False, True
        while again and self.tries < self.most_tries:
            again = any(case != self.case and self.differs(case) for case in candidates())
            changed = changed or again
        return changed

    def make_plainer(self) -> bool:
        changed = self.take(self.plainer_device)
        for step in range(len(self.case.events)):
            if step < len(self.case.events):    # a case can lose events at its end
                changed = self.take(partial(self.plainer_event, step)) or changed
        return changed

    def shrink(self) -> None:
        self.cut()
        changed = True
        while changed and self.tries < self.most_tries:
            changed = self.remove_events()
            self.say('%d events after %d tries' % (len(self.case.events), self.tries))
            changed = self.make_plainer() or changed
        self.with_events(renumbered(self.case.events))


def renumbered(old_events: list[dict]) -> list[dict]:
    """Ids from 1 in the order of the allocations; an id that came back gets a new one."""
    names, events, waiting, count = {}, [], {}, 0
    for event in old_events:
        event = dict(event)
        old = event.get('id')
        if event['op'] == 'alloc':
            count += 1
            names[old] = event['id'] = count
        elif event['op'] == 'complete':
            event['id'] = waiting[old].pop(0)
        elif 'id' in event:
            event['id'] = names[old]
            if event.get('pending'):
                waiting.setdefault(old, []).append(names[old])
        events.append(event)
    return events


def digits(value: int) -> int:
    """How long a number is to a person: its binary digits up to the last that is set."""
    return len(bin(value).rstrip('0'))


def with_event(case: Case, step: int, event: dict) -> Case:
    return replace(case, events=[*case.events[:step], event, *case.events[step + 1:]])


def golden(name: str, policy: str, case: Case, expected: Expected) -> dict[str, str]:
    """The files of tests/golden for a case: its script, what the real one does, its status."""
    case = replace(case, meta={})
    header = case.header()
    header.pop('meta', None)
    lines = [*([header] if 'device' in header else []), *case.events]
    script = ['# %s.sh - found by scripts/oracles/%s; the output is that of the real one.' % (
        name, policy), 'exec "$FRAGSIM" run %s --placements - - <<\'EOF\'' % shlex.join(
            [*case.options(policy), '--on-oom', 'continue']), *map(compact, lines), 'EOF']
    files = {name + '.sh': '\n'.join(script) + '\n',
             name + '.stdout.exact': ''.join(line + '\n' for line in expected.placements)}
    if any(row.status == 'oom' for row in expected.rows):
        files[name + '.exit'] = '3\n'
    return files
