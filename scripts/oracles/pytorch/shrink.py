"""shrink.py - the shortest case that still differs, and how a golden test would have it.

First everything after the difference goes, then delta debugging takes events away (what loses its
allocation goes with it), then the settings, the streams and the sizes are made plainer, as long
as a difference stays. Not necessarily the same difference: any is a bug. But a run that fragsim
refuses counts only where the first case was refused too.
"""
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from case import Case, bytes_of, compact
from compare import Comparer, Difference, settings_of
from oracle import BadSettings, Expected, OracleError

MIB = 1 << 20
PLAIN = (512, MIB, 2 * MIB, 10 * MIB, 20 * MIB)     # sizes that are tried first


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
        except (BadSettings, OracleError):
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
        for part in split_settings(case.conf):
            yield replace(case, conf=without(case.conf, part))
        yield replace(case, context=0)
        yield replace(case, other=0)
        yield replace(case, addresses='rise')
        yield replace(case, granularity=2 * MIB)
        for total in (80 << 30, case.total // MIB * MIB, case.total // (100 * MIB) * 100 * MIB):
            if total and digits(total) < digits(case.total):
                yield replace(case, total=total)

    def plainer_event(self, step: int) -> Iterator[Case]:
        """The plainest first."""
        case, event = self.case, self.case.events[step]
        if event['op'] == 'configure':
            parts = split_settings(event['value'])
            for part in parts if len(parts) > 1 else ():
                yield with_event(case, step, dict(event, value=without(event['value'], part)))
        for member in ('stream', 'pending'):
            if event.get(member) and event['op'] in ('alloc', 'free'):
                yield with_event(case, step, {
                    key: value for key, value in event.items() if key != member})
        if event['op'] == 'alloc':
            size = bytes_of(event['size'])
            rounded = [size // unit * unit for unit in (20 * MIB, 2 * MIB, MIB, 512)]
            for plain in (*PLAIN, *rounded):
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

    def renumber(self) -> None:
        """Ids from 1 in the order of the allocations; an id that came back gets a new one."""
        names, events, waiting = {}, [], {}
        for event in self.case.events:
            event = dict(event)
            old = event.get('id')
            if event['op'] == 'alloc':
                names[old] = event['id'] = 1 + sum(one['op'] == 'alloc' for one in events)
            elif event['op'] == 'complete':
                event['id'] = waiting[old].pop(0)
            elif 'id' in event:
                event['id'] = names[old]
                if event.get('pending'):
                    waiting.setdefault(old, []).append(names[old])
            events.append(event)
        self.with_events(events)

    def shrink(self) -> None:
        self.cut()
        changed = True
        while changed and self.tries < self.most_tries:
            changed = self.remove_events()
            self.say('%d events after %d tries' % (len(self.case.events), self.tries))
            changed = self.make_plainer() or changed
        self.renumber()


def digits(value: int) -> int:
    """How long a number is to a person: its binary digits up to the last that is set."""
    return len(bin(value).rstrip('0'))


def with_event(case: Case, step: int, event: dict) -> Case:
    return replace(case, events=[*case.events[:step], event, *case.events[step + 1:]])


def without(conf: str, part: str) -> str:
    return ','.join(other for other in split_settings(conf) if other != part)


def split_settings(conf: str) -> list[str]:
    """KEY:VALUE,KEY:[a:b,c:d] at the commas outside brackets."""
    parts, depth = [], 0
    for letter in conf:
        depth += (letter == '[') - (letter == ']')
        if not parts or (letter == ',' and depth == 0):
            parts.append('')
        if letter != ',' or depth:
            parts[-1] += letter
    return parts


def golden(name: str, case: Case, expected: Expected) -> dict[str, str]:
    """The files of tests/golden for a case: its script, its output by PyTorch, its status."""
    options = shlex.join([*settings_of(replace(case, meta={})), '--on-oom', 'continue'])
    script = ["# %s.sh - found by scripts/oracles/pytorch; the output is PyTorch's." % name,
              'exec "$FRAGSIM" run %s --placements - - <<\'EOF\'' % options,
              *(compact(line) for line in ({**case.header(), 'meta': {}}, *case.events)), 'EOF']
    script = [line.replace(',"meta":{}', '') for line in script]
    files = {name + '.sh': '\n'.join(script) + '\n',
             name + '.stdout.exact': ''.join(line + '\n' for line in expected.placements)}
    if any(row.status == 'oom' for row in expected.rows):
        files[name + '.exit'] = '3\n'
    return files
