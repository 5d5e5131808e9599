"""oracle.py - what PyTorch's own allocator does with a case, in fragsim's terms.

`expect(case)` runs the oracle and turns its columns into the placements and the rows of metrics
that fragsim should print (fragsim-result(5)). Two things PyTorch has no word for are translated:

  free with `pending`   a record_stream on a stream that the case does not use otherwise, then the
                        free; `complete` is the end of the work on that stream. PyTorch notices it
                        at the next allocation only, so up to there the metrics that know pending
                        blocks are not compared (`Row.unsure`).
  sync of all streams   ends each stream of the trace, but not those that stand for `pending`.

Some settings make PyTorch 2.15 spoil its own heap (it releases a part of a split segment). That is
seen by its books: reserved bytes that no segment has, or an error of cudaFree. The step is
`TorchExpected.broken`, and the rows end before it.
"""
import os
import re
import subprocess
from pathlib import Path

from books import Row, placement
from case import OracleError, bytes_of, compact
from torch_case import BY_ADDRESS, TorchCase
from torch_compare import LOOSE, TorchExpected

PENDING_STREAM = 1 << 20        # from here on: streams that stand for a free with `pending`
STRING_STREAM = 1 << 19         # from here on: streams that the trace names by a string
COLUMNS = ('allocated', 'reserved', 'active', 'inactive_split', 'requested', 'segments', 'retries',
           'ooms', 'free', 'largest_free', 'releasable', 'blocks')
CALL = re.compile(r'([+-])([SV]\d+):(\d+)|R(V\d+):(\d+)|X(V\d+)|([mu])(V\d+)\+(\d+):(\d+)')


class BadSettings(OracleError):
    """PyTorch refuses the settings."""


class Translator:
    """Events of a trace to lines of the oracle."""

    def __init__(self, case: TorchCase, spread: int = 1) -> None:
        self.spread = spread
        self.ids: dict = {}
        self.strings: dict = {}
        self.pools: dict = {(int, 0): 0}
        self.pending: dict = {}
        self.next_pending = PENDING_STREAM
        self.sync_all = ['s']
        if any(event.get('pending') for event in case.events):
            streams = {self.stream(event) for event in case.events}
            self.sync_all = ['s %d' % number for number in sorted(streams)]

    def id(self, event: dict) -> int:
        key = (type(event['id']), event['id'])
        return self.ids.setdefault(key, len(self.ids))

    def stream(self, event: dict) -> int:
        name = event.get('stream', 0)
        if not isinstance(name, int):
            name = self.strings.setdefault(name, STRING_STREAM + len(self.strings))
        return name * self.spread

    def pool(self, event: dict) -> int:
        """0, or the private pools by who comes first."""
        name = event.get('pool', 0)
        return self.pools.setdefault((type(name), name), len(self.pools)) if name else 0

    def free(self, event: dict) -> list[str]:
        number = self.id(event)
        if not event.get('pending'):
            return ['f %d' % number]
        stream = self.next_pending * self.spread
        self.next_pending += 1
        self.pending.setdefault(number, []).append(stream)
        return ['r %d %d' % (number, stream), 'f %d' % number]

    def lines(self, event: dict) -> list[str]:
        """The lines of one step; none for a mark."""
        op = event['op']
        if event.get('device', 0) != 0:
            raise OracleError('further devices are not covered')
        if op == 'alloc':
            line = 'a %d %d %d' % (self.id(event), bytes_of(event['size']), self.stream(event))
            pool = self.pool(event)
            return ['%s %d' % (line, pool) if pool else line]
        if op == 'release_pool':
            return ['l %d' % self.pool(event)]
        if op == 'begin_pool':
            stream = ' %d' % self.stream(event) if 'stream' in event else ''
            return ['b %d%s' % (self.pool(event), stream)]
        if op == 'end_pool':
            return ['x %d' % self.pool(event)]
        if op == 'free':
            return self.free(event)
        if op == 'complete':
            return ['s %d' % self.pending[self.id(event)].pop(0)]
        if op == 'record_stream':
            return ['r %d %d' % (self.id(event), self.stream(event))]
        if op == 'sync':
            return ['s %d' % self.stream(event)] if 'stream' in event else self.sync_all
        if op == 'empty_cache':
            return ['e']
        if op == 'set_fraction':
            return ['fraction %r' % event['value']]
        if op == 'configure':
            return ['conf ' + event['value']]
        if op == 'mark':
            return []
        raise OracleError('an unknown op: %s' % op)


class Step(dict):
    """One line of the oracle's output: its columns by name, and where, bytes, calls, message."""

    def __init__(self, line: str) -> None:
        text, _, message = line.partition(' # ')
        words = text.split()
        super().__init__(zip(COLUMNS, map(int, words[3:15])))
        self.where = words[1]
        self.bytes = int(words[2])
        self.calls = [] if words[15] == '-' else words[15].split(',')
        self.message = message


class TorchBooks:
    """Segments and live blocks, kept from what the oracle prints."""

    def __init__(self, case: TorchCase) -> None:
        self.case = case
        self.ordinals: dict[str, int] = {}
        self.held: dict[int, int] = {}      # ordinal -> bytes; of a range, the mapped ones
        self.used = 0                       # of the device
        self.live: dict = {}                # id -> (asked, bytes), None where the allocation failed
        self.lost: dict = {}                # id -> for each free with pending: was it skipped?
        self.requested = self.allocated = self.count = 0
        self.loose = False

    def obtain(self, name: str, size: int, mapped: bool) -> int:
        ordinal = self.ordinals[name] = len(self.ordinals)
        self.held[ordinal] = size if mapped else 0
        return ordinal

    def call(self, text: str, changes: dict) -> None:
        """Books one call of the device; a refused one (!) changes nothing."""
        if text[0] == '!':
            return
        match = CALL.fullmatch(text)
        sign, name, size, new, reserved, gone, way, area, offset, run = match.groups()
        if sign == '+':
            ordinal = self.obtain(name, int(size), True)
            self.used += self.case.booked(int(size))
            changes['new'].append({'segment': ordinal, 'bytes': int(size)})
        elif sign == '-':
            changes['released'].append(self.ordinals[name])
            self.used -= self.case.booked(self.held.pop(self.ordinals[name]))
        elif new:
            ordinal = self.obtain(new, int(reserved), False)
            changes['new'].append({'segment': ordinal, 'bytes': int(reserved), 'expandable': True})
        elif gone:
            changes['released'].append(self.ordinals[gone])
            self.held.pop(self.ordinals[gone])
        else:
            ordinal, sign = self.ordinals[area], 1 if way == 'm' else -1
            self.held[ordinal] += sign * int(run)
            self.used += sign * int(run)
            changes['mapped' if way == 'm' else 'unmapped'].append(
                {'segment': ordinal, 'offset': int(offset), 'bytes': int(run)})

    def calls(self, step: Step) -> dict:
        changes = {'new': [], 'mapped': [], 'unmapped': [], 'released': []}
        for text in step.calls:
            self.call(text, changes)
        return {key: value for key, value in changes.items() if value}

    def alloc(self, event: dict, step: Step) -> tuple[str, dict]:
        if step.where == 'OOM':
            self.live[event['id']] = None
            self.loose = False
            return 'oom', {'oom': True}
        asked, size = bytes_of(event['size']), step.bytes
        self.live[event['id']] = (asked, size)
        self.requested += asked
        self.allocated += size
        self.count += size > 0
        if step.where == 'NULL':
            return 'ok', {'bytes': 0}
        self.loose = False
        name, offset = step.where.split('+')
        return 'ok', {'segment': self.ordinals[name], 'offset': int(offset), 'bytes': size}

    def free(self, event: dict) -> str:
        block = self.live.pop(event['id'])
        if event.get('pending'):
            self.lost.setdefault(event['id'], []).append(block is None)
        if block is None:
            return 'skipped'
        self.requested -= block[0]
        self.allocated -= block[1]
        self.count -= block[1] > 0
        return 'ok'

    def apply(self, event: dict, step: Step) -> tuple[str, dict | None]:
        """The status of a step, and its line of the placements where it has one."""
        op, changes = event['op'], self.calls(step)
        status, place = 'ok', {}
        if op == 'alloc':
            status, place = self.alloc(event, step)
        elif op == 'free':
            status = self.free(event)
        elif op == 'record_stream':
            status = 'ok' if self.live[event['id']] else 'skipped'
        elif op == 'complete':
            status = 'skipped' if self.lost[event['id']].pop(0) else 'ok'
            self.loose = self.loose or status == 'ok'
        elif op == 'empty_cache':
            self.loose = False
        return status, placement(event, status, place, changes)

    def metrics(self, step: Step) -> dict:
        case = self.case
        free, releasable = step['free'], step['releasable']
        return {'requested': self.requested, 'allocated': step['allocated'],
                'active': step['active'], 'reserved': step['reserved'], 'free': free,
                'largest_free': step['largest_free'], 'releasable': releasable,
                'non_releasable': max(0, free - releasable), 'waste': 0,
                'device_free': case.room() - self.used,
                'process_used': case.context + self.used, 'segments': len(self.held),
                'blocks': step['blocks']}

    def trouble(self, step: Step) -> str:
        """Says what is wrong when PyTorch has spoilt its heap."""
        if step['reserved'] != sum(self.held.values()):
            return 'PyTorch has %d bytes reserved, but holds %d' % (
                step['reserved'], sum(self.held.values()))
        if step['reserved'] != step['active'] + step['free']:
            return 'the blocks do not fill the segments'
        return ''

    def check(self, step: Step) -> None:
        """The oracle's figures against ours: a difference is a bug of this tool."""
        ranges = sum(name[0] == 'V' and ordinal in self.held
                     for name, ordinal in self.ordinals.items())
        if (step['allocated'], step['blocks'], step['segments'] + ranges) != (
                self.allocated, self.count, len(self.held)):
            raise OracleError('the oracle contradicts itself: %s' % dict(step))
        if not ranges and step['inactive_split'] != step['free'] - step['releasable']:
            raise OracleError('inactive split bytes that are not non_releasable: %s' % dict(step))


def run_oracle(binary: Path, case: TorchCase, lines: list[str]) -> tuple[int, list[str], str]:
    """The exit status, the lines and what was said on standard error."""
    environment = {'PATH': os.environ.get('PATH', ''), 'LC_ALL': 'C',
                   'FAKE_TOTAL': str(case.total), 'FAKE_USED': str(case.context + case.other),
                   'FAKE_GRAN': str(case.granularity), 'FAKE_ADDRESS': case.addresses,
                   'FAKE_RANGES': 'fall' if case.version <= BY_ADDRESS else 'rise'}
    if case.conf:
        environment['PYTORCH_CUDA_ALLOC_CONF'] = case.conf
    done = subprocess.run([binary], input='\n'.join(lines) + '\n', capture_output=True, text=True,
                          env=environment, timeout=300, check=False)
    return done.returncode, done.stdout.splitlines()[1:], done.stderr


def statistics_of(lines: list[str]) -> dict:
    """`allocated_bytes.all` -> [current, peak, allocated, freed]; counters have one number."""
    table = {}
    for line in lines:
        name, *values = line[2:].split()
        table[name] = int(values[0]) if len(values) == 1 else [int(value) for value in values]
    return table


def join_steps(rows: list[str]) -> Step:
    """Of the several lines of one step: the last, with the calls of all."""
    steps = [Step(row) for row in rows]
    last = steps[-1]
    last.calls = [call for step in steps for call in step.calls]
    errors = [step for step in steps if step.where == 'ERR']
    return errors[0] if errors else last


def expect(binary: Path, case: TorchCase, spread: int = 1) -> TorchExpected:
    """Runs the oracle on a case; `spread` puts the addresses of the streams elsewhere."""
    translator, books, expected = Translator(case, spread), TorchBooks(case), TorchExpected()
    groups = [translator.lines(event) for event in case.events]
    status, out, said = run_oracle(binary, case, [line for group in groups for line in group])
    if status == 3:
        raise BadSettings(said.strip())
    if status == 2:
        raise OracleError(said.strip())
    rows = [line for line in out if not line.startswith('Z ')]
    expected.statistics = statistics_of(out[len(rows):])
    step = Step('- - 0' + ' 0' * len(COLUMNS) + ' -')
    at = 0
    for number, (event, group) in enumerate(zip(case.events, groups)):
        if at + len(group) > len(rows):
            expected.broken, expected.why = number, 'PyTorch crashed %s' % said.strip()
            return expected
        if group:
            step = join_steps(rows[at:at + len(group)])
            at += len(group)
        elif step.calls:
            step.calls = []
        expected.why = step.message if step.where == 'ERR' else ''
        if not expected.why:
            kind, line = books.apply(event, step)
            expected.why = books.trouble(step)
        if expected.why:
            expected.broken = number
            return expected
        books.check(step)
        if line:
            expected.placements.append(compact({'step': number, **line}))
        expected.rows.append(Row(kind, books.metrics(step), LOOSE if books.loose else (),
                                 {name: step[name] for name in ('retries', 'ooms')}))
    return expected
