#!/usr/bin/python3 -B
# random_trace.py - writes a random valid trace; the same seed gives the same bytes
#
# What a trace looks like (its form, spacing, ids, sizes, devices, which ops it has) is drawn once a
# trace, not once an event, so that every seed is a different kind of trace and some are extreme.
"""random_trace.py SEED [--events N] [-o FILE]: write a random valid trace (fragsim-lines(5))"""

import argparse
import gzip
import json
import random
import sys

KIB, MIB = 1024, 1024 * 1024
ODD_STRINGS = ["conv1.weight", "a,b", 'say "x"', "back\\slash", "gr\u00fc\u00dfe", "\u5f20\u91cf",
               "\U0001f600", "tab\there", "line\nbreak", " spaces ", "{\"op\":\"free\"}", "]", "1"]


class Live:
    """What a free, a complete or a record_stream needs to know of a live allocation."""

    def __init__(self, device, stream):
        self.device = device
        self.stream = stream


class Generator:
    def __init__(self, seed, events):
        self.rng = rng = random.Random("trace %d" % seed)
        self.events = events or int(2 ** rng.uniform(1, 10))
        self.live = {}              # id -> Live
        self.pending = {}           # id -> devices of the blocks that wait for complete, in order
        self.freed_ids = []
        self.next_id = rng.choice([0, 1, 1000, 2 ** 53 - 1 - 100000])
        self.now = rng.choice([0, 12.5, 1e6, -50])
        self.draw_sizes()
        self.draw_devices()
        self.draw_habits()

    def maybe(self, chance):
        return self.rng.random() < chance

    # ---- what is drawn once a trace

    def draw_sizes(self):
        rng = self.rng
        self.largest = rng.choice([2000, 16 * KIB, 300 * KIB, 3 * MIB, 64 * MIB])
        self.target = int(2 ** rng.uniform(0, 6.5))     # about so many blocks live at once
        self.size_kind = rng.choice(["few", "log", "borders", "powers", "one", "even"])
        self.few = [self.log_size() for _ in range(rng.randint(2, 6))]
        self.zero_chance = rng.choice([0, 0, 0.01, 0.1])
        self.string_size_chance = rng.choice([0, 0, 0.1, 0.7])

    def log_size(self):
        return max(1, int(self.largest ** self.rng.random()))

    def size(self):
        rng = self.rng
        if self.maybe(self.zero_chance):
            return 0
        if self.size_kind == "few":
            return rng.choice(self.few)
        if self.size_kind == "one":
            return self.few[0]
        if self.size_kind == "log":
            return self.log_size()
        if self.size_kind == "even":
            return rng.randint(1, self.largest)
        power = 2 ** rng.randint(0, self.largest.bit_length() - 1)
        if self.size_kind == "powers":
            return power
        # near a border of a size class: a multiple of an eighth of a power of two
        return max(1, power + power // 8 * rng.randint(0, 8) + rng.randint(-1, 1))

    def draw_devices(self):
        count = self.rng.choice([1, 1, 1, 1, 2, 3])
        self.devices = [self.device(ordinal) for ordinal in range(count)]

    def device(self, ordinal):
        """Roomy, tight or unlimited, set against about what will be live at once."""
        rng = self.rng
        figures = {}
        room = sum(self.size() for _ in range(self.target)) + self.largest // 2
        granularity = rng.choice([None, 1, 512, 4096, 65536, 2 * MIB, 1000, 3, 12345])
        if rng.random() < 0.75:
            total = int(room * rng.uniform(0.2, 3)) + rng.choice([0, 0, 4 * MIB, 20 * MIB])
            for key in ("context_bytes", "other_bytes"):
                if self.maybe(0.4):
                    figures[key] = rng.choice([0, 1, total // 10, 300 * KIB])
            if self.maybe(0.4):     # so many whole segments of a usual size, to the byte
                granularity = rng.choice([1, 512, 4096])
                unit = rng.choice([4 * KIB, 64 * KIB, MIB, 2 * MIB])
                total = unit * max(1, total // unit) - rng.choice([0, 0, 1])
            figures["total_bytes"] = total + sum(figures.values())
            if self.maybe(0.02):    # more is taken than there is
                figures["other_bytes"] = figures["total_bytes"] + 1000
        elif self.maybe(0.5):
            figures["total_bytes"] = 0
        elif self.maybe(0.5):
            figures["context_bytes"] = 467664896
        if granularity:
            figures["granularity_bytes"] = granularity
        if self.maybe(0.5):
            figures["name"] = "GPU \u00fc%d" % ordinal
        return figures

    def draw_habits(self):
        rng = self.rng
        self.form = rng.choice(["object", "lines", "lines"])
        self.bare = rng.random() < 0.1 and self.form == "lines"     # no header at all
        if self.bare:
            self.devices = [{}]
        self.several = len(self.devices) > 1
        self.space = rng.choice(["", "", " ", "wild"])
        self.shuffle = rng.random() < 0.5
        self.newline = rng.choice(["\n", "\n", "\n", "\r\n"])
        self.ascii = rng.random() < 0.5
        self.escape_chance = rng.choice([0, 0, 0, 0.05])
        self.id_kind = rng.choice(["int", "int", "string", "both", "reused", "odd"])
        self.streams = rng.choice([[0], [0], [0, 1], [0, 1, "1", "side"], [5, "0", 0]])
        self.pools = rng.choice([[0], [0], [0], [0, 1], [0, "0", 1, "graph"], [7]])
        self.time = rng.choice(["none", "all", "all", "fractions", "some", "backwards", "still",
                                "written"])
        self.tags = rng.random() < 0.3
        self.unknown = rng.random() < 0.2
        heavy = rng.choice([0, 0.3, 1])     # how much there is beside alloc and free
        self.weights = {"record_stream": 20 * heavy * (len(self.streams) > 1),
                        "sync": 8 * heavy, "complete": 12 * heavy,
                        "empty_cache": rng.choice([0, 2, 10]) * heavy, "mark": 3 * heavy,
                        "configure": 1 * heavy, "set_fraction": rng.choice([0, 2, 10]) * heavy}
        if len(self.pools) > 2:
            self.weights["release_pool"] = 3 * heavy
        self.released = set()
        self.pending_chance = rng.choice([0, 0, 0.1, 0.5]) if heavy else 0
        self.order = rng.choice(["random", "random", "stack", "queue"])
        self.phases = rng.random() < 0.3    # now and then nearly everything is freed
        self.shrinking = False

    # ---- events: each is a dict of members in usual order

    def new_id(self):
        rng = self.rng
        if self.freed_ids and self.maybe(0.9 if self.id_kind == "reused" else 0.2):
            name = rng.choice(self.freed_ids[-5:])
            if name not in self.live:
                return name
        self.next_id += 1
        number = self.next_id
        if self.id_kind == "string":
            return "0x%012x" % (number * 512)
        if self.id_kind == "both":      # 1 and "1" are different ids, and often live at once
            name = rng.randint(0, 30)
            while name in self.live:
                name = str(name) if isinstance(name, int) else int(name) + 1
            return name
        if self.id_kind == "odd":
            return "%s %d" % (rng.choice(ODD_STRINGS), number)
        return number

    def with_device(self, event, device, needed):
        """Device 0 is the default of an alloc; a free needs none, but may name its own."""
        if (needed and device != 0) or self.maybe(0.2):
            event["device"] = device
        return event

    def alloc(self):
        name, stream = self.new_id(), self.rng.choice(self.streams)
        device = self.rng.randrange(len(self.devices))
        pool = self.rng.choice([pool for pool in self.pools
                                if (device, type(pool), pool) not in self.released])
        self.live[name] = Live(device, stream)
        event = {"op": "alloc", "id": name, "size": self.size()}
        if pool != 0 or self.maybe(0.1):
            event["pool"] = pool
        if stream != 0 or self.maybe(0.1):
            event["stream"] = stream
        return self.with_device(event, device, True)

    def free(self):
        names = list(self.live)
        name = {"stack": names[-1], "queue": names[0], "random": self.rng.choice(names)}[self.order]
        live = self.live.pop(name)
        self.freed_ids = self.freed_ids[-20:] + [name]
        event = {"op": "free", "id": name}
        if self.maybe(self.pending_chance):
            event["pending"] = True
            self.pending.setdefault(name, []).append(live.device)
        elif self.maybe(0.05):
            event["pending"] = False
        return self.with_device(event, live.device, False)

    def complete(self):
        name = self.rng.choice(list(self.pending))
        device = self.pending[name].pop(0)
        if not self.pending[name]:
            del self.pending[name]
        return self.with_device({"op": "complete", "id": name}, device, False)

    def record_stream(self):
        name = self.rng.choice(list(self.live))
        live = self.live[name]
        event = {"op": "record_stream", "id": name, "stream": self.rng.choice(self.streams)}
        return self.with_device(event, live.device, False)

    def release_pool(self):
        """Nothing is allocated there from now on; pool 0 stays."""
        device = self.rng.randrange(len(self.devices))
        pool = self.rng.choice([pool for pool in self.pools if pool != 0])
        self.released.add((device, type(pool), pool))
        return self.with_device({"op": "release_pool", "pool": pool}, device, True)

    def other(self, op):
        """An op that holds for one device or for all."""
        rng = self.rng
        event = {"op": op}
        if op == "sync" and self.maybe(0.6):
            event["stream"] = rng.choice(self.streams)
        if op == "mark":
            event["name"] = rng.choice(["iteration %d" % rng.randint(0, 9), *ODD_STRINGS])
        if op == "configure":
            event["value"] = rng.choice(["", "max_split_size_mb:128", "nonsense"])
        if op == "set_fraction":
            event["value"] = self.fraction()
        if self.maybe(0.4):
            event["device"] = rng.randrange(len(self.devices))
        return event

    def fraction(self):
        rng = self.rng
        total = rng.choice(self.devices).get("total_bytes", 0)
        if total and self.maybe(0.5):   # just at, below or above so many whole pages
            page = rng.choice([4 * KIB, 64 * KIB, MIB])
            pages = rng.randint(0, total // page)
            return min(1, max(0, (pages * page + rng.choice([0, 0.5, -0.5])) / total))
        return rng.choice([0, 1, 1.0, 0.5, round(rng.random(), 3), rng.random()])

    def event(self):
        rng = self.rng
        if self.phases and self.maybe(0.03):
            self.shrinking = not self.shrinking
        target = self.target / 8 if self.shrinking else self.target
        grow = 50 if len(self.live) < target else 30
        weights = {"alloc": 10 if self.shrinking else grow, "free": 80 - grow, **self.weights}
        if not self.live:
            weights["free"] = weights["record_stream"] = 0
        if not self.pending:
            weights["complete"] = 0
        elif not weights["complete"]:
            weights["complete"] = 5
        op = rng.choices(list(weights), list(weights.values()))[0]
        if op in ("alloc", "free", "complete", "record_stream", "release_pool"):
            event = getattr(self, op)()
        else:
            event = self.other(op)
        return self.decorate(event)

    def decorate(self, event):
        """The members that matter little: time, tags, and what a reader has to ignore."""
        t = self.next_time()
        if t is not None:
            event["t"] = t
        if self.tags and self.maybe(0.6):
            event["tag"] = self.rng.choice(ODD_STRINGS)
        if self.unknown and self.maybe(0.2):
            event["x"] = self.rng.choice([None, [], {}, [{"op": "free", "id": 1}], -1.5e-3, True,
                                          {"events": [1, [2, {"a": "}"}]]}])
        return event

    def next_time(self):
        rng = self.rng
        if self.time == "none" or (self.time == "some" and self.maybe(0.2)):
            return None
        if self.time == "still":
            return 5
        self.now += rng.choice([0, 1, rng.randint(0, 1000)])
        if self.time == "fractions":
            self.now = round(self.now + rng.random(), 3)
        if self.time == "backwards" and self.maybe(0.2):
            self.now -= rng.randint(0, 500)
        if self.time == "written":      # numbers whose digits a reader might change
            now = int(self.now)
            return Written(rng.choice(["%d", "%d.0", "%d.50", "%dE0", "%d.25e+1", "%d.0e-2"]) % now)
        return self.now

    # ---- bytes

    def gap(self):
        if self.space == "wild":
            return self.rng.choice(["", "", " ", "  ", "\t"])
        return self.space

    def string(self, text):
        if text and self.maybe(self.escape_chance):     # any character may be written as an escape
            units = text.encode("utf-16-be").hex()
            return '"' + "".join("\\u" + units[i:i + 4] for i in range(0, len(units), 4)) + '"'
        return json.dumps(text, ensure_ascii=self.ascii)

    def value(self, key, value):
        if isinstance(value, Written):
            return value.text
        if key == "size" and value and self.maybe(self.string_size_chance):
            return self.string(self.with_suffix(value))
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, dict):
            return self.object(value)
        if isinstance(value, list):
            return self.array([self.value(None, item) for item in value])
        return json.dumps(value)

    def with_suffix(self, size):
        """512KiB, where the size is so many whole units; else the plain number's nearest."""
        for unit, letter in ((MIB, "M"), (KIB, "K")):
            if size % unit == 0:
                return "%d%s" % (size // unit, letter + self.rng.choice(["", "iB"]))
        return "%dKiB" % (size // KIB + 1)

    def array(self, items):
        return "[" + ("," + self.gap()).join(items) + self.gap() + "]"

    def object(self, members):
        keys = list(members)
        if self.shuffle:
            self.rng.shuffle(keys)
        return self.joined((key, self.value(key, members[key])) for key in keys)

    def joined(self, pairs):
        """An object of members whose values are written already."""
        pieces = [self.gap() + self.string(key) + self.gap() + ":" + self.gap() + text + self.gap()
                  for key, text in pairs]
        return "{" + ",".join(pieces) + "}"

    def header(self):
        header = {"format": "fragsim-trace", "version": 1}
        if len(self.devices) > 1 or self.maybe(0.2):
            header["devices"] = self.devices
        elif self.devices[0] or self.maybe(0.5):
            header["device"] = self.devices[0]
        if self.maybe(0.3):
            header["meta"] = {"source": "random", "events": [], "list": [1, {"a": None}]}
        return header

    def text(self):
        events = [self.object(self.event()) for _ in range(self.events)]
        if self.form == "lines":
            lines = events if self.bare else [self.object(self.header())] + events
            if self.maybe(0.1):
                lines = [line for pair in lines for line in (pair, self.gap())]
            return self.newline.join(lines) + (self.newline if self.maybe(0.8) else "")
        header = self.header()
        pairs = [(key, self.value(key, header[key])) for key in header]
        if self.maybe(0.3):
            events = [self.newline + event for event in events]
        pairs.append(("events", self.array(events)))
        if self.shuffle:
            self.rng.shuffle(pairs)
        return self.joined(pairs) + (self.newline if self.maybe(0.7) else "")

    def bytes(self):
        data = self.text().encode("utf-8")
        if self.maybe(0.15):
            # several gzip members in a row are one stream
            cut = self.rng.randint(0, len(data))
            parts = [data[:cut], data[cut:]] if self.maybe(0.5) else [data]
            data = b"".join(gzip.compress(part, mtime=0) for part in parts)
        return data


class Written:
    """A number as it is to stand in the trace."""

    def __init__(self, text):
        self.text = text


def random_trace(seed, events=None):
    """The bytes of the trace of a seed."""
    return Generator(seed, events).bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int, metavar="SEED")
    parser.add_argument("--events", type=int, metavar="N", help="how many (default: by the seed)")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    args = parser.parse_args()
    data = random_trace(args.seed, args.events)
    if args.output:
        with open(args.output, "wb") as file:
            file.write(data)
    else:
        sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main()
