"""books.py - what an allocator does with a case, in fragsim's terms.

`translate` turns the events of a trace into lines for an allocator's driver, and `expect` turns what
the driver answers into the placements and metrics that fragsim should print (fragsim-result(5)).

  line to the driver             its answer
  a NUMBER BYTES STREAM          a NUMBER ADDRESS BYTES CALL... (BYTES: of the block)
                                 a NUMBER OOM CALL...
  f NUMBER                       f NUMBER CALL...
  e         give back what is unused
  c BYTES   the most that the device gives from now on; -1: no limit

One line answers each; before them comes `i CALL...`: what was obtained first, or `i OOM CALL...`. A
CALL is +ADDRESS:BYTES (obtained), !BYTES (refused) or -ADDRESS (given back), in their order.

The allocators know no pending blocks: one is freed at the step that ends it. Requests of nothing, and
what has to do with a failed one, never reach the driver.
"""
from dataclasses import dataclass, field
from typing import ClassVar

from case import Case, OracleError, bytes_of, compact

METRICS = ('requested', 'allocated', 'active', 'reserved', 'free', 'waste', 'device_free',
           'process_used', 'segments', 'blocks')


@dataclass
class Row:
    """What is true after a step."""
    status: str
    metrics: dict
    unsure: tuple = ()      # metrics that are not compared
    beside: dict = field(default_factory=dict)      # what fragsim does not say of a step


@dataclass
class Expected:
    """What fragsim should say."""
    rows: list[Row] = field(default_factory=list)
    placements: list[str] = field(default_factory=list)
    counts: dict = field(default_factory=lambda: dict.fromkeys(
        ('obtained', 'refused', 'released', 'ooms'), 0))
    columns: ClassVar[tuple] = METRICS

    def finals(self, _case: Case, run: dict) -> list[tuple]:
        """(name, fragsim's value, the real one's) of the whole run."""
        return [('counts.' + name, run['counts'][name], self.counts[kind]) for name, kind in (
            ('segment_allocs', 'obtained'), ('segment_frees', 'released'), ('ooms', 'ooms'))]

    def fault(self) -> str:
        """Says where the real one itself goes wrong; its rows end there."""
        return ''


@dataclass
class Buffer:
    """An allocation of the trace."""
    number: int
    requested: int
    bytes: int          # of its block; 0 where it failed or takes nothing
    address: int
    failed: bool
    stream: object
    streams: set = field(default_factory=set)   # recorded, and not waited for since the free
    marked: bool = False                        # freed with `pending`


class Driver:
    """A conversation with the driver: lines go in one by one, and so do the answers come."""

    def __init__(self, allocator, case: Case) -> None:
        self.talk = allocator.talk(case)
        self.first = self.words(next(self.talk), 'i')

    def words(self, answer: str, op: str) -> list[str]:
        words = answer.split()
        if words[:1] != [op]:
            raise OracleError('the driver answered %r to %s' % (answer, op))
        return words[1:]

    def ask(self, op: str, *words) -> list[str]:
        return self.words(self.talk.send(' '.join(map(str, (op, *words)))), op)


def placement(event: dict, status: str, place: dict, changes: dict) -> dict | None:
    """The line of a step, where it has one."""
    if status == 'skipped' or not (event['op'] in ('alloc', 'free') or changes):
        return None
    name = {'id': event['id']} if 'id' in event else {}
    return {'op': event['op'], **name, **place, **changes}


class Books:
    """Plays a case with a driver and keeps what fragsim should print."""

    def __init__(self, allocator, case: Case) -> None:
        self.case, self.allocator = case, allocator
        self.expected = Expected()
        self.ordinals: dict[int, int] = {}      # address of a segment held -> its number
        self.held: dict[int, int] = {}          # address -> bytes
        self.obtained = 0
        self.live: dict = {}
        self.pending: list[Buffer] = []
        self.waiting: dict = {}                 # id -> freed with pending, in their order
        self.next = 0
        self.streams: dict = {}
        self.sums = dict.fromkeys(('requested', 'allocated', 'active', 'used', 'blocks'), 0)

    # calls of the device

    def call(self, text: str, changes: dict) -> None:
        kind, counts = text[0], self.expected.counts
        if kind == '!':
            counts['refused'] += 1
        elif kind == '+':
            address, size = map(int, text[1:].split(':'))
            self.ordinals[address], self.held[address] = self.obtained, size
            changes['new'].append({'segment': self.obtained, 'bytes': size})
            self.obtained += 1
            self.sums['used'] += self.case.booked(size)
            counts['obtained'] += 1
        else:
            address = int(text[1:])
            changes['released'].append(self.ordinals.pop(address))
            self.sums['used'] -= self.case.booked(self.held.pop(address))
            counts['released'] += 1

    def calls(self, words: list[str], changes: dict) -> None:
        for word in words:
            self.call(word, changes)

    def place(self, address: int, size: int) -> dict:
        """Segment and offset of an address."""
        base = max((start for start in self.held if start <= address), default=None)
        if base is None or address + size > base + self.held[base]:
            raise OracleError('a block of %d at %d is in no segment' % (size, address))
        return {'segment': self.ordinals[base], 'offset': address - base, 'bytes': size}

    # events

    def stream(self, name) -> int:
        """Integers as they are, strings as numbers that nobody else has."""
        return name if isinstance(name, int) else self.streams.setdefault(
            name, (1 << 20) + len(self.streams))

    def alloc(self, event: dict, changes: dict) -> tuple[str, dict]:
        size, number = bytes_of(event['size']), self.next
        self.next += 1
        stream = event.get('stream', 0)
        new = self.live[event['id']] = Buffer(number, size, 0, 0, False, stream)
        if size == 0:
            return 'ok', {'bytes': 0}
        where, *rest = self.driver.ask('a', number, size, self.stream(stream))[1:]
        if where == 'OOM':
            self.calls(rest, changes)
            new.failed = True
            self.expected.counts['ooms'] += 1
            return 'oom', {'oom': True}
        self.calls(rest[1:], changes)
        new.address, new.bytes = int(where), int(rest[0])
        for name, value in (('requested', size), ('allocated', new.bytes), ('active', new.bytes),
                            ('blocks', 1)):
            self.sums[name] += value
        return 'ok', self.place(new.address, new.bytes)

    def end(self, old: Buffer, changes: dict) -> None:
        """Nothing uses it any more."""
        if not old.bytes:
            return
        self.sums['active'] -= old.bytes
        self.calls(self.driver.ask('f', old.number)[1:], changes)

    def free(self, event: dict, changes: dict) -> str:
        old = self.live.pop(event['id'])
        old.marked = bool(event.get('pending'))
        if old.marked:
            self.waiting.setdefault(event['id'], []).append(old)
        if old.failed:
            return 'skipped'
        if old.bytes:
            self.sums['requested'] -= old.requested
            self.sums['allocated'] -= old.bytes
            self.sums['blocks'] -= 1
        if old.marked or old.streams:
            self.pending.append(old)
        else:
            self.end(old, changes)
        return 'ok'

    def end_all(self, changes: dict) -> None:
        """Those that wait for nothing any more, in the order of their free."""
        over = [old for old in self.pending if not (old.marked or old.streams)]
        self.pending = [old for old in self.pending if old.marked or old.streams]
        for old in over:
            self.end(old, changes)

    def complete(self, event: dict, changes: dict) -> str:
        old = self.waiting[event['id']].pop(0)
        old.marked = False
        self.end_all(changes)
        return 'skipped' if old.failed else 'ok'

    def record(self, event: dict) -> str:
        it = self.live[event['id']]
        if it.failed:
            return 'skipped'
        if event['stream'] != it.stream or isinstance(event['stream'], str) != isinstance(
                it.stream, str):
            it.streams.add(event['stream'])
        return 'ok'

    def sync(self, event: dict, changes: dict) -> None:
        for old in self.pending:
            if 'stream' in event:
                old.streams.discard(event['stream'])
            else:
                old.streams.clear()
        self.end_all(changes)

    def fraction(self, event: dict) -> None:
        if self.case.total:
            value = event['value']
            self.driver.ask('c', int(value * self.case.total) if value < 1 else -1)

    def apply(self, event: dict) -> tuple[str, dict | None]:
        """The status of a step, and its line of the placements where it has one."""
        op, status, place = event['op'], 'ok', {}
        changes = {'new': [], 'released': []}
        if event.get('device', 0) != 0 or event.get('pool', 0) != 0:
            raise OracleError('further devices, and pools, are not covered')
        if op == 'alloc':
            status, place = self.alloc(event, changes)
        elif op == 'free':
            status = self.free(event, changes)
        elif op == 'complete':
            status = self.complete(event, changes)
        elif op == 'record_stream':
            status = self.record(event)
        elif op == 'sync':
            self.sync(event, changes)
        elif op == 'set_fraction':
            self.fraction(event)
        elif op == 'empty_cache':
            self.calls(self.driver.ask('e'), changes)
        changes = {key: value for key, value in changes.items() if value}
        if 'released' in changes and self.allocator.releases_in_any_order:
            changes['released'].sort()
        return status, placement(event, status, place, changes)

    def metrics(self) -> dict:
        sums, case = self.sums, self.case
        reserved = sum(self.held.values())
        return {'requested': sums['requested'], 'allocated': sums['allocated'],
                'active': sums['active'], 'reserved': reserved,
                'free': reserved - sums['active'], 'waste': 0,
                'device_free': case.room() - sums['used'] if case.total else '',
                'process_used': case.context + sums['used'], 'segments': len(self.held),
                'blocks': sums['blocks']}

    def play(self) -> Expected:
        self.driver = Driver(self.allocator, self.case)
        first = self.driver.first
        if first[:1] == ['OOM']:        # what is obtained first ends the run where it is refused
            event = self.case.events[0]
            self.expected.counts['ooms'] = 1
            if event['op'] == 'alloc':
                self.expected.placements.append(compact(
                    {'step': 0, 'op': 'alloc', 'id': event['id'], 'oom': True}))
            self.expected.rows.append(Row('oom', self.metrics()))
            return self.expected
        self.calls(first, {'new': [], 'released': []})
        for number, event in enumerate(self.case.events):
            status, line = self.apply(event)
            if line:
                self.expected.placements.append(compact({'step': number, **line}))
            self.expected.rows.append(Row(status, self.metrics()))
        return self.expected


def expect(allocator, case: Case) -> Expected:
    """Runs the real allocator on a case."""
    return Books(allocator, case).play()
