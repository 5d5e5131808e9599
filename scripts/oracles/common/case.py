"""case.py - a trace with the keys of the policy that it runs under, and how it is written.

A case is a fragsim trace (fragsim-lines(5)) of one device. The keys stand in the header's `meta`,
as `keys`: {"initial": 1048576}. An allocator whose settings are others has a class of its own.
"""
import gzip
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

SUFFIXES = {'K': 10, 'M': 20, 'G': 30, 'T': 40}
MIB = 1 << 20
GRANULARITY = 2 * MIB


class OracleError(Exception):
    """The allocator could not run, or contradicts itself."""


def compact(value) -> str:
    """JSON as fragsim writes it."""
    return json.dumps(value, separators=(',', ':'))


def bytes_of(value) -> int:
    """A size of a trace: an integer, or a string with a suffix."""
    if isinstance(value, int):
        return value
    text = value.removesuffix('iB')
    return int(text[:-1]) << SUFFIXES[text[-1]] if text[-1] in SUFFIXES else int(text)


@dataclass
class Case:
    """One trace, its device and the policy's keys."""
    events: list[dict]
    total: int = 0              # 0: unlimited
    context: int = 0
    other: int = 0
    granularity: int = GRANULARITY
    keys: dict = field(default_factory=dict)
    meta: dict = field(default_factory=dict)

    real: ClassVar[str] = 'real'        # the allocator, in a table beside fragsim
    # shrink.py tries these in place of a size, and rounds it down to these units
    plain_sizes: ClassVar[tuple] = (256, 512, 1024, MIB, 2 * MIB, 8 * MIB)
    plain_units: ClassVar[tuple] = (2 * MIB, MIB, 512, 256)

    @classmethod
    def read(cls, path: Path, total: str | None = None) -> 'Case':
        """A trace of lines; `total`, where given, goes before what its header says."""
        lines = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
        head = {} if 'op' in lines[0] else lines.pop(0)
        device = head.get('device', {})
        case = cls(events=lines,
                   total=bytes_of(device.get('total_bytes', 0) if total is None else total),
                   context=bytes_of(device.get('context_bytes', 0)),
                   other=bytes_of(device.get('other_bytes', 0)),
                   granularity=bytes_of(device.get('granularity_bytes', GRANULARITY)),
                   meta=dict(head.get('meta', {})))
        case.take_settings()
        return case

    def take_settings(self) -> None:
        """Moves them out of `meta`."""
        self.keys = self.meta.pop('keys', {})

    def settings(self) -> dict:
        """As `meta` has them."""
        return {'keys': self.keys} if self.keys else {}

    def set_keys(self, words: list[str]) -> None:
        """KEY=VALUE, as on the command line."""
        for word in words:
            key, _, value = word.partition('=')
            self.keys[key] = (value == 'true' if value in ('true', 'false') else bytes_of(value)
                              if value[0].isdigit() and '.' not in value else value)

    def options(self, policy: str) -> list[str]:
        """The options of fragsim for these settings: NAME:key=value,key=value."""
        words = ['%s=%s' % (key, str(value).lower()) for key, value in self.keys.items()]
        return ['--policy', policy + (':' + ','.join(words) if words else '')]

    def plainer_settings(self) -> Iterator['Case']:
        for key in self.keys:
            yield replace(self, keys={name: value for name, value in self.keys.items()
                                      if name != key})

    def plainer_totals(self) -> tuple:
        return 0, 80 << 30, self.total // MIB * MIB

    def plainer_members(self, event: dict) -> Iterator[dict]:
        """The event with less in it, other than its size."""
        for member in ('stream', 'pending'):
            if event.get(member) and event['op'] in ('alloc', 'free'):
                yield {key: value for key, value in event.items() if key != member}

    def room(self) -> int:
        """What the device has for the allocator."""
        return self.total - self.context - self.other if self.total else 1 << 60

    def booked(self, size: int) -> int:
        """What a segment takes of it."""
        return -(-size // self.granularity) * self.granularity

    def header(self) -> dict:
        device = {'total_bytes': self.total} if self.total else {}
        for name, value, plain in (('context_bytes', self.context, 0),
                                   ('other_bytes', self.other, 0),
                                   ('granularity_bytes', self.granularity, GRANULARITY)):
            if value != plain:
                device[name] = value
        meta = {**self.meta, **self.settings()}
        return {'format': 'fragsim-trace', 'version': 1, **({'device': device} if device else {}),
                **({'meta': meta} if meta else {})}

    def text(self) -> str:
        """The trace as NDJSON."""
        return ''.join(compact(line) + '\n' for line in (self.header(), *self.events))


def read_text(path: Path) -> str:
    data = path.read_bytes()
    if data[:2] == b'\x1f\x8b':
        data = gzip.decompress(data)
    elif data[:6] == b'\xfd7zXZ\0':
        data = lzma.decompress(data)
    return data.decode()
