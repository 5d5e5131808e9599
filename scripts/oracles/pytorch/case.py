"""case.py - a trace with the settings it runs under, and how it is written to a file.

A case is a fragsim trace (fragsim-trace(5)) of one device. The settings stand in the header's `meta`:
`alloc_conf`, PyTorch's own string, `addresses`, where the fake device puts new segments, and
`torch`, where it is not the newest, the N of the version 2.N whose rules it is held against.
"""
import gzip
import json
import lzma
from dataclasses import dataclass, field
from pathlib import Path

ADDRESSES = ('rise', 'fall', 'reuse')
NEWEST = 15                     # the N of the version 2.N whose rules are the default
BY_ADDRESS = 11                 # up to this version, equal blocks are told apart by their address
BY_CREATION = 12                # in this version, by when they came to be
SUFFIXES = {'K': 10, 'M': 20, 'G': 30, 'T': 40}


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
    """One trace, its device and its settings."""
    events: list[dict]
    total: int = 80 << 30
    context: int = 0
    other: int = 0
    granularity: int = 2 << 20
    conf: str = ''
    addresses: str = 'rise'
    meta: dict = field(default_factory=dict)
    version: int = NEWEST

    def header(self) -> dict:
        device = {'total_bytes': self.total}
        if self.context:
            device['context_bytes'] = self.context
        if self.other:
            device['other_bytes'] = self.other
        if self.granularity != 2 << 20:
            device['granularity_bytes'] = self.granularity
        meta = dict(self.meta, alloc_conf=self.conf)
        if self.addresses != 'rise':
            meta['addresses'] = self.addresses
        if self.version != NEWEST:
            meta['torch'] = self.version
        return {'format': 'fragsim-trace', 'version': 1, 'device': device, 'meta': meta}

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


def read_case(path: Path, conf: str | None = None, total: str | None = None) -> Case:
    """A trace of lines; `conf` and `total`, where given, go before what its header says."""
    lines = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
    head = {} if 'op' in lines[0] else lines.pop(0)
    device, meta = head.get('device', {}), dict(head.get('meta', {}))
    known = meta.pop('alloc_conf', '')
    size = bytes_of(total if total is not None else device.get('total_bytes', 0))
    return Case(events=lines, total=size or 80 << 30,
                context=bytes_of(device.get('context_bytes', 0)),
                other=bytes_of(device.get('other_bytes', 0)),
                granularity=bytes_of(device.get('granularity_bytes', 2 << 20)),
                conf=known if conf is None else conf,
                addresses=meta.pop('addresses', 'rise'), meta=meta,
                version=meta.pop('torch', NEWEST))
