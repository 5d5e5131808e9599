"""case_text.py - what the tables of cases are built with: a case, and texts, packing, facts."""

import gzip
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

MAX = 2**53 - 1
FORMAT = '"format":"fragsim-trace","version":1'
HEAD = '{' + FORMAT + '}'
DEVICES = FORMAT + ',"devices":[{},{"total_bytes":"8GiB"}]'     # a header with two
ALLOC = '{"op":"alloc","id":1,"size":1000}'
FREE = '{"op":"free","id":1}'
PENDING = '{"op":"free","id":1,"pending":true}'
MARK = '{"op":"mark","name":"m"}'


@dataclass(frozen=True)
class Case:
    """One run of the program: its input, and what has to come of it."""

    name: str
    kind: str                           # bad: status 4; good: status 0; lenient: --lenient, 0
    data: bytes | Callable[[], bytes | None] | None     # None: cannot be made here, skip
    wants: tuple[str, ...] = ()         # bad: facts in the one line; else: one per line of stderr
    step: int | None = None             # bad: the step that the line has to name
    place: tuple[bytes, int, int] | None = None     # bad: plain text, first and last byte to blame
    pipe: bool = False                  # through a pipe on standard input
    file: str = 'a-file'                # what the file is called
    special: str = ''                   # missing, directory, unreadable: not a file with data
    args: tuple[str, ...] = ()
    rows: int | None = None             # good, lenient: rows of --steps
    last: dict[str, str] = field(default_factory=dict)     # columns of the last of them
    or_refused: str = ''                # good: or else status 4 with a line like this


def to_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def lines(*events: str | bytes, head: str | bytes = HEAD, end: bytes = b'\n') -> bytes:
    return b''.join(to_bytes(x) + end for x in (head, *events))


def document(*events: str | bytes, members: str | bytes = FORMAT) -> bytes:
    """The object form, in one line."""
    body = b','.join(to_bytes(x) for x in events)
    return b'{' + to_bytes(members) + b',"events":[' + body + b']}\n'


def label(value: str) -> str:
    """A JSON text as part of a case's name."""
    return re.sub(r'[^\w.+-]', lambda m: f'%{ord(m[0]):02x}', value)[:24] or 'nothing'


def nested(depth: int) -> str:
    return '[' * depth + ']' * depth


def many_events(n: int) -> list[str]:
    """Allocations with tags of every length, so that tokens fall on every border of a buffer."""
    return [f'{{"op":"alloc","id":{1000 + i},"size":64,"tag":"' + 'é\\u00e9' * (i % 3) +
            'z' * (i % 997) + '"}' for i in range(n)]


def gz(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def gz_fancy(data: bytes) -> bytes:
    """A gzip member with every optional header field."""
    head = b'\x1f\x8b\x08\x1e' + bytes(4) + b'\x00\x03'
    head += struct.pack('<H', 4) + b'AB\x00\x00' + b'name.json\0' + b'a comment\0'
    head += struct.pack('<H', zlib.crc32(head) & 0xffff)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    return head + body + struct.pack('<II', zlib.crc32(data), len(data))


def zst_raw(data: bytes) -> bytes:
    """A zstd frame of uncompressed blocks, made without zstd."""
    out = b'\x28\xb5\x2f\xfd\xa0' + struct.pack('<I', len(data))
    pieces = [data[i:i + 100_000] for i in range(0, len(data), 100_000)] or [b'']
    for i, piece in enumerate(pieces):
        last = i == len(pieces) - 1
        out += (len(piece) << 3 | last).to_bytes(3, 'little') + piece
    return out


def zst_skippable(junk: bytes) -> bytes:
    return b'\x50\x2a\x4d\x18' + struct.pack('<I', len(junk)) + junk


def zst(data: bytes) -> bytes | None:
    """Truly compressed, with a checksum: needs the zstd command."""
    if not shutil.which('zstd'):
        return None
    done = subprocess.run(['zstd', '-q', '-c', '--check'], input=data, capture_output=True,
                          check=False)
    return done.stdout if done.returncode == 0 else None


def zst_damaged(data: bytes, damage: Callable[[bytes], bytes]) -> Callable[[], bytes | None]:
    def build() -> bytes | None:
        whole = zst(data)
        return whole and damage(whole)
    return build


def flip(data: bytes, at: int) -> bytes:
    out = bytearray(data)
    out[at] ^= 0x55
    return bytes(out)


NO_EVENTS = r'no events|empty|nothing'
TRUNCATED = r'truncat|\bends?\b|incomplete|unterminated|unclosed|not closed|EOF'
TRAILING = r'after|trailing|extra|garbage'
UTF8 = r'(?i)utf-?8'
SURROGATE = r'surrogate'
CONTROL = r'control'
DEPTH = r'64|deep|nest'
DAMAGED = (r'(?i)gzip|zstd|zlib|compress|corrupt|damage|truncat|checksum|crc|inflate|'
           r'\bdata\b|\bends?\b')
SAYS_MISSING = r'missing|lacks?\b|without|needs?\b|requires?|no\b|not there'
SAYS_REPEATED = r'repeat|duplicate|twice|again|more than once'
SAYS_UNKNOWN = r'unknown|no such|not an? op|unsupported|invalid|bad'
NEVER = r'never'
LIVE = r'\blive\b|allocated'
NOT_LIVE = r'not (?:a )?live|never|no live'


def missing(member: str) -> tuple[str, ...]:
    return rf'\b{member}\b', SAYS_MISSING


def repeated(member: str) -> tuple[str, ...]:
    return rf'\b{member}\b', SAYS_REPEATED


def bad_value(member: str, json_text: str = '') -> tuple[str, ...]:
    """The member; and the value as written, if it is a number or a string that is not empty."""
    value = json_text.strip('"')
    if re.fullmatch(r'-?[0-9][-+.0-9eE]*', json_text) or (json_text.startswith('"') and value):
        return rf'\b{member}\b', re.escape(value)
    return (rf'\b{member}\b',)


def number(n: int) -> str:
    return rf'(?<![\w.-]){n}(?!\w|\.\d)'


def at_step(n: int) -> str:
    return rf'(?:step|event) {n}\b'


def bad_event(name: str, event: str | bytes, *wants: str, before: Iterable[str] = (ALLOC,),
              after: Iterable[str] = (MARK,), reach: str = 'event', header: str = FORMAT,
              pipe: bool = False, args: tuple[str, ...] = ()) -> list[Case]:
    """The same bad event in the lines form and in the object form.

    reach: how far behind its beginning the error may be reported: in the event, or up to the end
    (then in the object form the step may be the next, or none).
    """
    before, after, event = list(before), list(after), to_bytes(event)
    out = []
    for form, text, prefix in (
            ('lines', lines(*before, event, *after, head='{' + header + '}'),
             lines(*before, head='{' + header + '}')),
            ('object', document(*before, event, *after, members=header),
             document(*before, members=header)[:-3] + (b',' if before else b''))):
        start = len(prefix)
        assert text[start:start + len(event)] == event, name
        stop = len(text) if reach == 'end' else start + len(event)
        step = None if form == 'object' and reach == 'end' else len(before)
        out.append(Case(f'{name}/{form}', 'bad', text, wants, step, (text, start, stop),
                        pipe=pipe, args=args))
    return out


def bad_text(name: str, text: str | bytes, *wants: str, blame: str | bytes = b'',
             step: int | None = None, **more) -> Case:
    """A whole document that is bad; blame: the part that the error's place has to lie in."""
    text, blame = to_bytes(text), to_bytes(blame)
    place = None
    if blame:
        start = text.rindex(blame)
        place = (text, start, start + len(blame))
    return Case(name, 'bad', text, wants, step, place, **more)


def good(name: str, data: bytes | Callable[[], bytes | None], rows: int, **more) -> Case:
    return Case(name, 'good', data, rows=rows, **more)
