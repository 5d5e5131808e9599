"""recount.py - what a written snapshot shows, step by step, against what `run` says of the same run.

The events of each device are consumed in the order of the steps. From them alone come the bytes
requested, allocated, active and reserved after each step, and where each block lies; the rows of
--steps and the lines of --placements are what they are held against.
"""

import bisect
import json
import math
import pickletools

# what PyTorch's viewer of 2.0 to 2.15 understands
OPCODES = set("""PROTO EMPTY_DICT EMPTY_LIST MARK SETITEMS APPENDS BINUNICODE BINPUT LONG_BINPUT
BINGET LONG_BINGET BININT BININT1 BININT2 LONG1 BINFLOAT NEWTRUE NEWFALSE TUPLE2 STOP""".split())


class Fault(Exception):
    pass


def need(good, *why):
    if not good:
        raise Fault(" ".join(map(str, why)))


def equal(what, got, wanted):
    need(got == wanted, f"{what}: {got} where {wanted} is required")


def frames_of(tag):
    """The frames that fragsim-formats(5) makes of a tag."""
    frames = []
    for part in tag.split(" < ") if tag else []:
        file, line, name = "tag", 0, part
        head, space, rest = part.partition(" ")
        path, colon, number = head.rpartition(":")
        if space and path and number.isascii() and number.isdigit() and len(number) < 10 \
                and int(number):
            file, line, name = path, int(number), rest
        frames.append({"filename": file, "line": line, "name": name})
    return frames


def opcodes(data):
    """No opcode that a viewer lacks, and no memo number that a short file cannot have."""
    batch = 0
    for op, arg, at in pickletools.genops(data):
        need(op.name in OPCODES, f"byte {at}: opcode {op.name}")
        if "PUT" in op.name:
            need(arg <= at, f"byte {at}: memo number {arg}")
            batch = max(batch, arg)
    need(batch < 64 + 4096, f"{batch} memo numbers")


class Device:
    def __init__(self, snapshot, ordinal, events):
        self.ordinal = ordinal
        self.log = snapshot["device_traces"][ordinal]
        self.at = 0
        self.events = events            # the trace's own, by step
        self.last = [s for s in snapshot["segments"] if s["device"] == ordinal]
        self.live = {}                  # id -> (addr, bytes, asked)
        self.pending = {}               # addr -> (bytes, asked)
        self.taken = []                 # (addr, end) of both, sorted
        self.bases = {}                 # ordinal of a segment -> its address
        self.mapped = {}                # start -> end of what has memory, runs apart
        self.ranges = set()
        self.times = []                 # (step, time)
        self.pools = {}                 # addr -> pool of its block
        self.numbers = {}               # of pools, by their names
        announced = {e["addr"] for e in self.log if e["action"] == "segment_alloc"}
        mapped = [(e["addr"], e["addr"] + e["size"]) for e in self.log
                  if e["action"] == "segment_map"]
        for s in sorted(self.last, key=lambda s: s["address"]):
            if s["address"] not in announced \
                    and not any(a <= s["address"] < b for a, b in mapped):
                self.bases[len(self.bases)] = s["address"]      # the policy's own pool
                self.mapped[s["address"]] = s["address"] + s["total_size"]
        self.allocated = self.active = self.requested = 0
        self.reserved = sum(b - a for a, b in self.mapped.items())

    def next(self):
        return self.log[self.at] if self.at < len(self.log) else {"action": "the end"}

    def take(self, row, action, **wanted):
        e = self.next()
        equal(f"step {row['step']}: action", e["action"], action)
        for key, value in wanted.items():
            equal(f"step {row['step']}: {action} {key}", e.get(key), value)
        self.at += 1
        self.times.append((row["step"], e["time_us"]))
        return e

    def pool_of(self, event):
        """The default pool is (0, 0), the others are numbered as the trace names them."""
        if event.get("pool", 0) == 0:
            return (0, 0)
        if not self.numbers:
            for e in self.events:
                if e["op"] in ("alloc", "release_pool") and e.get("pool", 0) != 0:
                    self.numbers.setdefault(key(e["pool"]), len(self.numbers) + 1)
        return (0, self.numbers[key(event["pool"])])

    def put(self, addr, size):
        i = bisect.bisect(self.taken, (addr, addr))
        need(i == 0 or self.taken[i - 1][1] <= addr, f"{addr:#x} lies in a block")
        need(i == len(self.taken) or addr + size <= self.taken[i][0], f"{addr:#x} reaches a block")
        self.taken.insert(i, (addr, addr + size))
        at = addr
        while at is not None and at < addr + size:      # over runs that touch
            at = next((b for a, b in self.mapped.items() if a <= at < b), None)
        need(at is not None, f"{addr:#x} of {size} bytes lies in no memory")

    def drop(self, addr, size):
        self.taken.remove((addr, addr + size))

    def complete(self, row):
        """Completions come as many as the step's active bytes want."""
        while self.active > row["active"]:
            addr = self.next().get("addr")
            need(addr in self.pending, f"step {row['step']}: {self.next()} where a pending block"
                 f" should be completed: active {self.active}, wanted {row['active']}")
            size, asked = self.pending.pop(addr)
            self.take(row, "free_completed", size=asked, pool_id=self.pools[addr])
            self.active -= size
            self.drop(addr, size)

    def obtain(self, start, size):
        need(not any(a < start + size and start < b for a, b in self.mapped.items()),
             f"{start:#x} has memory already")
        need(start % (2 << 20) == 0, f"{start:#x} begins inside a page")
        self.mapped[start] = start + size
        self.reserved += size

    def lose(self, start, size):
        end = start + size
        left = size
        for a, b in list(self.mapped.items()):
            if a < end and start < b:
                del self.mapped[a]
                if a < start:
                    self.mapped[a] = start
                if end < b:
                    self.mapped[end] = b
                left -= min(b, end) - max(a, start)
        equal(f"bytes taken from {start:#x}: without memory", left, 0)
        need(not any(a < end and start < b for a, b in self.taken), f"{start:#x}: live blocks")
        self.reserved -= size

    def call(self, row, where):
        """One device call; where it belongs in the placements, and as what."""
        e = self.next()
        kind = e["action"]
        name = {"segment_alloc": "new", "segment_free": "released", "segment_map": "mapped",
                "segment_unmap": "unmapped"}.get(kind)
        need(where.get(name), f"step {row['step']}: {e} where {where} are to come")
        addr, size = e["addr"], e["size"]
        if kind == "segment_alloc":
            ordinal, wanted = where["new"].pop(0)
            equal("segment", size, wanted)
            need(ordinal not in self.bases, f"segment {ordinal} twice")
            self.bases[ordinal] = addr
            self.obtain(addr, size)
        elif kind == "segment_free":
            ordinal = where["released"].pop(0)
            equal(f"segment {ordinal} given back", addr, self.bases[ordinal])
            equal("its bytes", {addr: addr + size}.items() <= self.mapped.items(), True)
            self.lose(addr, size)
        else:
            ordinal, offset, wanted = where[name].pop(0)
            equal(name, size, wanted)
            equal(f"range {ordinal}", self.bases.setdefault(ordinal, addr - offset), addr - offset)
            (self.obtain if kind == "segment_map" else self.lose)(addr, size)
        self.take(row, kind)

    def calls(self, row, place):
        where = {"new": [], "released": [], "mapped": [], "unmapped": []}
        for c in place.get("new", ()):
            if c.get("expandable"):
                self.ranges.add(c["segment"])
            else:
                where["new"].append((c["segment"], c["bytes"]))
        where["released"] = [s for s in place.get("released", ()) if s not in self.ranges]
        for name in ("mapped", "unmapped"):
            where[name] = [(c["segment"], c["offset"], c["bytes"]) for c in place.get(name, ())]
        while any(where.values()):
            self.call(row, where)

    def allocate(self, row, place, event):
        if not event["size"]:
            return
        base = self.bases.setdefault(place["segment"], None)
        e = self.take(row, "alloc", size=row["size"], frames=frames_of(event.get("tag", "")))
        equal(f"step {row['step']}: address", e["addr"], base + place["offset"])
        if isinstance(event.get("stream", 0), int):
            equal("stream", e["stream"], event.get("stream", 0))
        equal("pool", e["pool_id"], self.pool_of(event))
        self.pools[e["addr"]] = e["pool_id"]
        self.put(e["addr"], place["bytes"])
        self.live[key(row["id"])] = (e["addr"], place["bytes"], row["size"])
        self.allocated += place["bytes"]
        self.active += place["bytes"]
        self.requested += row["size"]

    def release(self, row):
        block = self.live.pop(key(row["id"]), None)
        if not block:
            return
        addr, size, asked = block
        self.take(row, "free_requested", addr=addr, size=asked, pool_id=self.pools[addr])
        self.allocated -= size
        self.requested -= asked
        self.pending[addr] = (size, asked)

    def step(self, row, place):
        op, status = row["op"], row["status"]
        event = self.events[row["step"]]
        if op == "free" and status == "ok":
            self.release(row)
        if op == "alloc" and status == "ok" and event["size"]:
            # of the step's active bytes, those of the block come last in the log
            self.complete(dict(row, active=row["active"] - place["bytes"]))
        else:
            self.complete(row)
        self.calls(row, place)
        if op == "alloc" and status == "ok":
            self.allocate(row, place, event)
        elif op == "mark":      # also where the initial pool was refused, at the first event
            self.take(row, "annotate", addr=0, user_metadata=event["name"])
        if status == "oom":
            free = row["device_free"]
            self.take(row, "oom", device_free=max(0, free) if free is not None else 0,
                      pool_id=self.pool_of(event))
        for name in ("requested", "allocated", "active", "reserved"):
            equal(f"step {row['step']}: {name}", getattr(self, name), row[name])

    def final(self, row, tags):
        """The last state, against the events and the last row."""
        equal("events that no step explains", self.log[self.at:self.at + 3], [])
        found = {"active_allocated": {}, "active_pending_free": {}}
        free, before = [], 0
        for s in self.last:
            addr = s["address"]
            need(before <= addr, f"segments out of order at {addr:#x}")
            need(s["is_expandable"] or {addr: addr + s["total_size"]}.items() <= self.mapped.items(),
                 f"{addr:#x} was never obtained")
            sums = {"active_allocated": 0, "active_pending_free": 0, "inactive": 0}
            asked = 0
            for b in s["blocks"]:
                equal("a block's address", b["address"], addr)
                addr += b["size"]
                sums[b["state"]] += b["size"]
                if b["state"] == "inactive":
                    free.append(b["size"])
                    continue
                found[b["state"]][b["address"]] = (b["size"], b["requested_size"])
                asked += b["requested_size"]
                if b["state"] == "active_allocated":
                    equal("frames of a block", b["frames"], frames_of(tags[b["address"]]))
            before = addr
            equal("blocks of a segment", addr, s["address"] + s["total_size"])
            equal("allocated_size", s["allocated_size"], sums["active_allocated"])
            equal("active_size", s["active_size"],
                  sums["active_allocated"] + sums["active_pending_free"])
            equal("requested_size", s["requested_size"], asked)
        equal("live blocks", found["active_allocated"],
              {addr: (size, asked) for addr, size, asked in self.live.values()})
        equal("pending blocks", found["active_pending_free"], self.pending)
        total = sum(s["total_size"] for s in self.last)
        equal("total_size", total, row["reserved"])
        equal("inactive bytes", sum(free), row["free"] + row["waste"])
        if not self.slabs:
            equal("largest inactive block", max(free, default=0), row["largest_free"])
        return found

    slabs = False


def key(identity):
    return json.dumps(identity)


def recount(snapshot, events, rows, places, slabs=False):
    """The faults of a snapshot, [] where all agrees."""
    places = {(p["step"], p.get("device", 0)): p for p in places}
    by_time = bool(rows) and rows[0]["t"] is not None
    try:
        for ordinal in range(len(snapshot["device_traces"])):
            d = Device(snapshot, ordinal, events)
            d.slabs = slabs
            tags, own = {}, [r for r in rows if r["device"] == ordinal]
            for row in own:
                d.step(row, places.get((row["step"], ordinal), {}))
                block = d.live.get(key(row["id"]))
                if row["op"] == "alloc" and block:
                    tags[block[0]] = events[row["step"]].get("tag", "")
            if own:
                d.final(own[-1], tags)
            check_times(d, rows, by_time)
        check_annotations(snapshot, events, rows, by_time)
    except Fault as fault:
        return [f"device {ordinal}: {fault}"]
    return []


def time_of(row, rows, by_time, cache):
    """The last time that the trace gave, as a whole number; or the step."""
    if not by_time:
        return row["step"]
    if not cache:
        last = 0
        for r in sorted(rows, key=lambda r: r["step"]):
            last = r["t"] if r["t"] is not None else last
            cache[r["step"]] = max(0, math.floor(last))
    return cache[row["step"]]


def check_times(d, rows, by_time):
    cache = {}
    for step, t in d.times:
        equal(f"time of step {step}", t, time_of({"step": step}, rows, by_time, cache))


def check_annotations(snapshot, events, rows, by_time):
    wanted, cache = [], {}
    for r in sorted(rows, key=lambda r: (r["step"], r["device"])):
        if r["op"] != "mark":
            continue
        name = events[r["step"]]["name"]
        note = {"name": name, "device": r["device"],
                "time_us": time_of(r, rows, by_time, cache)}
        for end, stage in ((" (start)", "START"), (" (end)", "END")):
            if name.endswith(end) and name != end:
                note.update(name=name.removesuffix(end), stage=stage)
        wanted.append(note)
    equal("annotations", snapshot["external_annotations"], wanted)
