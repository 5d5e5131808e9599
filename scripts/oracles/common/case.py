"""case.py - a trace with the keys of the policy that it runs under, and how it is written.

A case is a fragsim trace (fragsim-trace(5)) of one device. The keys stand in the header's `meta`,
as `keys`: {"initial": 1048576}.
"""
import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

SUFFIXES = {'K': 10, 'M': 20, 'G': 30, 'T': 40}
GRANULARITY = 2 << 20


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

    def room(self) -> int:
        """What the device has for the allocator."""
        return self.total - self.context - self.other if self.total else 1 << 60

    def booked(self, size: int) -> int:
        """What a segment takes of it."""
        return -(-size // self.granularity) * self.granularity

    def policy(self, name: str) -> str:
        """As one writes it: NAME:key=value,key=value."""
        words = ['%s=%s' % (key, str(value).lower()) for key, value in self.keys.items()]
        return name + (':' + ','.join(words) if words else '')

    def header(self) -> dict:
        device = {'total_bytes': self.total} if self.total else {}
        for name, value, plain in (('context_bytes', self.context, 0),
                                   ('other_bytes', self.other, 0),
                                   ('granularity_bytes', self.granularity, GRANULARITY)):
            if value != plain:
                device[name] = value
        meta = dict(self.meta, **({'keys': self.keys} if self.keys else {}))
        return {'format': 'fragsim-trace', 'version': 1, **({'device': device} if device else {}),
                **({'meta': meta} if meta else {})}

    def text(self) -> str:
        """The trace as NDJSON."""
        return ''.join(compact(line) + '\n' for line in (self.header(), *self.events))


def read_text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data).decode()


def read_case(path: Path, keys: list[str] | None = None, total: str | None = None) -> Case:
    """A trace of lines; KEY=VALUE and `total`, where given, go before what its header says."""
    lines = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
    head = {} if 'op' in lines[0] else lines.pop(0)
    device, meta = head.get('device', {}), dict(head.get('meta', {}))
    known = dict(meta.pop('keys', {}))
    for word in keys or ():
        key, _, value = word.partition('=')
        known[key] = (value == 'true' if value in ('true', 'false')
                      else bytes_of(value) if value[0].isdigit() and '.' not in value else value)
    return Case(events=lines,
                total=bytes_of(total if total is not None else device.get('total_bytes', 0)),
                context=bytes_of(device.get('context_bytes', 0)),
                other=bytes_of(device.get('other_bytes', 0)),
                granularity=bytes_of(device.get('granularity_bytes', GRANULARITY)),
                keys=known, meta=meta)
