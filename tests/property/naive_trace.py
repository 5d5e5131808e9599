# naive_trace.py - reads a valid trace and says what its ids mean (fragsim(1) and fragsim-lines(5)), for naive.py
"""Nothing here knows a policy: whether an event is valid depends on the trace alone."""

import gzip
import json
import re
from fractions import Fraction


def parse_size(value):
    """Bytes of an integer or of a string with a suffix (fragsim(1), Sizes)."""
    if not isinstance(value, str):
        return int(value)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:([KMGT])(?:iB)?)?", value)
    if not match:
        raise ValueError("bad size %r" % value)
    power = 0 if match.group(2) is None else "KMGT".index(match.group(2)) + 1
    size = Fraction(match.group(1)) * 1024 ** power
    if size.denominator != 1:
        raise ValueError("size %r is no whole number of bytes" % value)
    return int(size)


class Whole(int):
    """An integer that remembers how it was written, because `t` is printed as written (fragsim-result(5))."""


class Real(float):
    """A number with a fraction or an exponent that remembers how it was written."""


def as_written(kind, text):
    number = kind(text)
    number.text = text
    return number


def decode(text):
    return json.loads(text, parse_int=lambda s: as_written(Whole, s),
                      parse_float=lambda s: as_written(Real, s))


def read_trace(data):
    """The header and the list of events of a trace in either form, plain or gzip."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("utf-8")
    try:
        document = decode(text)
    except ValueError:          # more than one line of JSON: the lines form
        document = {}
    if "events" in document and "op" not in document:
        return document, document["events"]
    lines = [decode(line) for line in text.split("\n") if line.strip(" \t\r")]
    if "op" in lines[0]:
        return {}, lines
    return lines[0], lines[1:]


class Allocation:
    """One `alloc` event; the same for all policies. What became of it, each run keeps itself."""

    def __init__(self, event, device):
        self.size = parse_size(event["size"])
        self.stream = event.get("stream", 0)
        self.pool = event.get("pool", 0)
        self.device = device


class Step:
    """One event with what its ids mean: which allocation, and which devices get a row."""

    def __init__(self, number, event, devices, allocation):
        self.number = number
        self.event = event
        self.op = event["op"]
        self.devices = devices
        self.allocation = allocation
        has_id = self.op in ("alloc", "free", "complete", "record_stream")
        self.id = event["id"] if has_id else None
        self.size = allocation.size if self.op == "alloc" else None
        self.t = event.get("t")


def named(pool):
    """1 and "1" are two pools."""
    return type(pool), pool


def resolve(events, device_count):
    """Events as Steps. Fails where an id is used against fragsim-lines(5), which no policy can change."""
    live = {}           # id -> Allocation
    pending = {}        # id -> Allocations that wait for `complete`, the oldest first
    released = set()    # pools that the program is done with, by device
    steps = []
    for number, event in enumerate(events):
        op, name = event["op"], event.get("id")
        allocation = None
        if op == "alloc":
            if name in live:
                raise ValueError("step %d: alloc of the live id %r" % (number, name))
            if (event.get("device", 0), *named(event.get("pool", 0))) in released:
                raise ValueError("step %d: alloc into a released pool" % number)
            allocation = live[name] = Allocation(event, event.get("device", 0))
        elif op == "free":
            allocation = live.pop(name)
            if event.get("pending", False):
                pending.setdefault(name, []).append(allocation)
        elif op == "complete":
            allocation = pending[name].pop(0)
        elif op == "record_stream":
            allocation = live[name]
        elif op == "release_pool":
            released.add((event.get("device", 0), *named(event["pool"])))
        elif op not in ("sync", "empty_cache", "set_fraction", "configure", "mark"):
            raise ValueError("step %d: unknown op %r" % (number, op))
        if allocation:
            devices = [allocation.device]
            if event.get("device", allocation.device) != allocation.device:
                raise ValueError("step %d: the block is on another device" % number)
        elif "device" in event or op == "release_pool":
            devices = [event.get("device", 0)]
        else:
            devices = list(range(device_count))
        if max(devices) >= device_count:
            raise ValueError("step %d: no such device" % number)
        steps.append(Step(number, event, devices, allocation))
    return steps
