"""snaps.py - small PyTorch snapshots written by hand, and ways to write them down."""
import base64
import json
import pickle
import struct

K, M = 1 << 10, 1 << 20
BASE = 0x7f0000000000
SMALL, LARGE = BASE, BASE + 64 * M      # where the examples' first segments lie

FRAMES = [
    {"name": "torch::unwind::unwind()", "filename": "??", "line": 0},
    {"name": "empty", "filename": "/opt/site-packages/torch/functional.py", "line": 7},
    {"name": "forward", "filename": "/home/me/model.py", "line": 42},
    {"name": "<module>", "filename": "/home/me/train.py", "line": 9},
]


class Log:
    """The history of one device. Times are 1000, 1001, ... microseconds."""

    def __init__(self, times=True, frames=None, pool=None):
        self.events, self.times, self.frames, self.pool = [], times, frames, pool

    def add(self, action, addr, size, stream=0, **more):
        event = {"action": action, "addr": addr, "size": size, "stream": stream}
        if action == "oom":
            event["device_free"] = event.pop("addr")
        if self.times:
            event["time_us"] = 1000 + len(self.events)
        if self.frames is not None:
            event["frames"] = self.frames
        if self.pool:
            event["pool_id"] = self.pool
        event.update(more)
        self.events.append(event)
        return self

    def segment(self, addr, size, stream=0):
        return self.add("segment_alloc", addr, size, stream)

    def alloc(self, addr, size, stream=0, **more):
        return self.add("alloc", addr, size, stream, **more)

    def free(self, addr, size, stream=0):
        self.add("free_requested", addr, size, stream)
        return self.add("free_completed", addr, size, stream)


def block(addr, size, asked=None, state="active_allocated", frames=()):
    return {"address": addr, "size": size, "requested_size": asked or size, "state": state,
            "frames": list(frames)}


def hole(addr, size):
    return block(addr, size, 0, "inactive")


def segment(addr, *blocks, stream=0, device=0, pool=(0, 0), expandable=False, small=None):
    total = sum(b["size"] for b in blocks)
    small = total == 2 * M if small is None else small
    return {"device": device, "address": addr, "total_size": total,
            "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
            "active_size": sum(b["size"] for b in blocks if b["state"] != "inactive"),
            "stream": stream, "segment_type": "small" if small else "large",
            "segment_pool_id": pool, "is_expandable": expandable, "frames": [],
            "blocks": list(blocks)}


def pinned(addr, size, state="active_allocated", pool=(0, 0)):
    """A segment of pinned host memory as PyTorch 2.15 has it: of no device, one block, and small."""
    return {**segment(addr, block(addr, size, state=state), device=-1, pool=pool, small=True),
            "requested_size": size}


def snapshot(segments, *logs, settings="", annotations=(), **more):
    whole = {"segments": list(segments), "device_traces": [log.events for log in logs],
             "allocator_settings": {
                 "PYTORCH_CUDA_ALLOC_CONF": settings, "max_split_size": -1,
                 "garbage_collection_threshold": 0.0, "expandable_segments": False,
                 "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}},
             "external_annotations": list(annotations)}
    whole.update(more)
    return whole


def basic(**log):
    """
    100 bytes that were there before, 300 KiB beside them, and a segment of 20 MiB, where
    a hole of 6 MiB is used again.
    """
    h = Log(**log).alloc(SMALL + 512, 300 * K)
    h.segment(LARGE, 20 * M).alloc(LARGE, 6 * M).alloc(LARGE + 6 * M, 3 * M)
    h.free(LARGE, 6 * M).alloc(LARGE, 2 * M + 1)
    return snapshot([
        segment(SMALL, block(SMALL, 512, 100), block(SMALL + 512, 300 * K),
                hole(SMALL + 512 + 300 * K, 2 * M - 512 - 300 * K)),
        segment(LARGE, block(LARGE, 2 * M + 512, 2 * M + 1),
                hole(LARGE + 2 * M + 512, 4 * M - 512), block(LARGE + 6 * M, 3 * M),
                hole(LARGE + 9 * M, 11 * M)),
    ], h)


def page(data):
    """As PyTorch's own viewer keeps it: padded to a multiple of 3."""
    data += b"\0" * (3 - len(data) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}])
    return (f"<!DOCTYPE html>\n<html><body>\n<script type=\"module\">\nconst local_files = {files}\n"
            "</script></body></html>\n").encode()


class Jit:
    """What the pickler of torch's C++ side writes: protocol 2, every container in one batch."""

    def __init__(self):
        self.out, self.memo = bytearray(b"\x80\x02"), {}

    def put(self, key):
        n = len(self.memo)
        self.memo[key] = n
        self.out += b"q" + bytes([n]) if n < 256 else b"r" + struct.pack("<I", n)

    def write(self, value):
        if isinstance(value, str):
            if value in self.memo:
                n = self.memo[value]
                self.out += b"h" + bytes([n]) if n < 256 else b"j" + struct.pack("<I", n)
                return
            self.out += b"X" + struct.pack("<I", len(value.encode())) + value.encode()
            self.put(value)
        elif value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, int):
            if -1 << 31 <= value < 1 << 31:
                self.out += b"J" + struct.pack("<i", value)
            else:
                self.out += b"\x8a\x08" + struct.pack("<q", value)
        elif isinstance(value, dict):
            self.out += b"}"
            self.put(id(value))
            self.out += b"("
            for name, item in value.items():
                self.write(name)
                self.write(item)
            self.out += b"u"
        elif isinstance(value, tuple):
            self.out += b"("
            for item in value:
                self.write(item)
            self.out += b"t"
        else:
            self.out += b"]"
            self.put(id(value))
            self.out += b"("
            for item in value:
                self.write(item)
            self.out += b"e"

    def data(self, value):
        self.write(value)
        return bytes(self.out + b".")


def pickled(value, protocol=4):
    return pickle.dumps(value, protocol=protocol)
