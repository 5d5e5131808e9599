#!/usr/bin/python3 -B
# naive.py - the slow and obvious second implementation of the manual pages, the judge of the property tests
#
# Lists of segments, lists of blocks, linear searches; every metric is recomputed by a walk over all
# blocks after every step. Nothing here is clever or kept up to date, because its only virtue is to
# be obviously right. It expects a valid trace; it knows every policy but `pytorch`.
"""naive.py [options] TRACE: simulate a valid trace as the manual pages say and write what fragsim writes"""

import argparse
import json
import sys

from naive_policies import (ALLOCATED, FREE, PENDING, POLICIES, Device, OutOfMemory, parse_policy,
                            round_up)
from naive_trace import read_trace, resolve

# fragsim-policies(7) says that "that policy's run" stops at an OOM, and fragsim-result(5) that a run is one policy on one
# device. Taken literally, the other devices of the policy go on. True: they stop with it.
OOM_STOPS_ALL_DEVICES = False

BYTE_METRICS = ["requested", "allocated", "active", "reserved", "free", "largest_free",
                "releasable", "non_releasable", "waste", "device_free", "process_used"]
PERCENTAGES = ["fi", "fi_device", "internal", "utilization"]
COUNT_METRICS = ["segments", "blocks"]
LATER_METRICS = ["holes", "wasted"]       # in rows only where they are asked for
STEP_COLUMNS = (["step", "t", "device", "op", "id", "size", "status"]
                + BYTE_METRICS + PERCENTAGES + COUNT_METRICS)
ALL_COLUMNS = STEP_COLUMNS + LATER_METRICS


# ---- the metrics (fragsim-result(5), Metrics) -----------------------------------------------------------------------

def one_minus(a, b):
    """100 x (1 - a / b) in doubles; 0 when b is 0."""
    return 100.0 * (1.0 - float(a) / float(b)) if b else 0.0


def measure(policy):
    """Every metric of a policy on its device, by a walk over all segments and blocks."""
    blocks = [block for segment in policy.segments for block in segment.blocks]
    allocated = [block for block in blocks if block.state == ALLOCATED]
    free = [block.bytes for block in blocks if block.state == FREE]
    m = {}
    m["requested"] = sum(block.requested for block in allocated)
    m["allocated"] = sum(block.bytes for block in allocated)
    m["active"] = m["allocated"] + sum(block.bytes for block in blocks if block.state == PENDING)
    m["reserved"] = policy.reserved()
    m["free"] = sum(free)
    m["largest_free"] = max(free, default=0)
    m["releasable"] = sum(segment.bytes for segment in policy.segments if segment.releasable())
    m["non_releasable"] = max(0, m["free"] - m["releasable"])
    m["waste"] = m["reserved"] - m["active"] - m["free"]
    m["device_free"] = policy.device.free()
    m["process_used"] = policy.device.process_used()
    m["fi"] = one_minus(m["largest_free"], m["free"])
    outside = max(0, m["device_free"] or 0)
    in_one_piece = min(outside + m["releasable"], m["free"] + outside)
    m["fi_device"] = one_minus(max(m["largest_free"], in_one_piece), m["free"] + outside)
    m["internal"] = one_minus(m["requested"], m["allocated"])
    m["utilization"] = 100.0
    if m["reserved"]:
        m["utilization"] = 100.0 * float(m["allocated"]) / float(m["reserved"])
    m["segments"] = len(policy.segments)
    m["blocks"] = len(allocated)
    m["holes"] = len(free)
    m["wasted"] = max(0, m["reserved"] - m["requested"] - m["releasable"])
    return m


def check(policy):
    """What holds for every policy (fragsim-policies(7), What holds for all): blocks tile their segment and hold their request."""
    for segment in policy.segments:
        end = 0
        for block in segment.blocks:
            assert block.offset == end and block.bytes > 0 and block.segment is segment
            assert block.state == FREE or block.bytes >= block.requested
            end += block.bytes
        assert end == segment.bytes or (segment.slab and end <= segment.bytes)


def total(values):
    """The plain sum in order of steps; sum() of a later Python would compensate for rounding."""
    result = 0.0
    for value in values:
        result += value
    return result


def percentile(values, percent):
    """Nearest rank: the least value such that `percent` of all values are at most that."""
    ordered = sorted(values)
    rank = max(1, -(-percent * len(ordered) // 100))
    return ordered[rank - 1]


def weighted_mean(values, times):
    """Each value weighs the time until the next event of the run; None where that makes no mean."""
    if any(t is None for t in times):
        return None
    weights = [max(0.0, float(after) - float(t)) for t, after in zip(times, times[1:])]
    if total(weights) == 0.0:   # the last has no next event: its weight is 0
        return None
    return total(v * w for v, w in zip(values, weights)) / total(weights)


def distribution(values, times):
    if not values:
        return {"min": None, "mean": None, "p50": None, "p95": None, "p99": None, "max": None,
                "last": None, "time_weighted_mean": None, "severe_steps": 0}
    rounded = [round(v, 2) for v in values]
    return {"min": min(values), "mean": total(values) / len(values),
            "p50": percentile(rounded, 50), "p95": percentile(rounded, 95),
            "p99": percentile(rounded, 99), "max": max(values), "last": values[-1],
            "time_weighted_mean": weighted_mean(values, times),
            "severe_steps": len([v for v in values if v > 70.0])}


# ---- one run: a policy on a device --------------------------------------------------------------

def format_size(size):
    """As PyTorch prints sizes (fragsim-result(5), Result)."""
    if size <= 1024:
        return "%d bytes" % size
    if size <= 1 << 20:
        return "%.2f KiB" % (size / 1024.0)
    if size <= 1 << 30:
        return "%.2f MiB" % (size / 1048576.0)
    return "%.2f GiB" % (size / 1073741824.0)


def oom_message(policy, m):
    """The first sentence of fragsim-result(5), Result."""
    device = policy.device
    figures = ["GPU %d" % device.ordinal]
    if device.total:
        figures.append("%s total capacity" % format_size(device.total))
    figures.append("%s already allocated" % format_size(m["allocated"]))
    if device.total:
        figures.append("%s free" % format_size(max(0, m["device_free"])))
    figures.append("%s reserved in total by %s" % (format_size(m["reserved"]), policy.name))
    return "CUDA out of memory. Tried to allocate %s (%s)" % (format_size(policy.asked),
                                                              "; ".join(figures))


class Pending:
    """A block freed by the program and still in use (fragsim-lines(5))."""

    def __init__(self, allocation, until_complete, streams):
        self.allocation = allocation
        self.until_complete = until_complete
        self.streams = streams          # those not synchronised since the free

    def ended(self):
        return not self.until_complete and not self.streams


class Run:
    def __init__(self, policy_text, device, on_oom_continue):
        name, params = parse_policy(policy_text)
        self.policy = POLICIES[name][0](name, params, device)
        self.device = device
        self.on_oom_continue = on_oom_continue
        self.blocks = {}        # Allocation -> Block; None for size 0; absent where it failed
        self.live = {}          # Allocation -> step and tag; of a block, until it is freed
        self.recorded = {}      # Allocation -> streams recorded
        self.pending = []       # in the order of their free
        self.rows = []          # (step, metrics) of every step
        self.ooms = []
        self.marks = []
        self.stopped = False
        self.started = True
        try:
            self.policy.obtain_initial_pool()
        except OutOfMemory:
            self.started = False
            self.record_oom(0, None, self.policy.begins_with())
        self.at_start = measure(self.policy)

    def record_oom(self, step, name, size, pool=None):
        """Without a pool it is the initial one."""
        m = measure(self.policy)
        enough = m["free"] + (m["device_free"] or 0) >= self.policy.asked
        self.policy.counts["ooms"] += 1
        if len(self.ooms) < 100:
            self.ooms.append({"step": step, "id": name, "size": size,
                              "message": oom_message(self.policy, m),
                              "cause": "fragmentation" if enough else "capacity",
                              "tried": self.policy.asked, "limit": self.limit(),
                              "metrics": m, "holders": self.holders(lambda block: True),
                              "hole": self.hole(size, pool, m) if enough and pool is not None
                              else None})

    def limit(self):
        """Of set_fraction and of the policy's own, the lower; None: there is none."""
        limits = [self.device.limit(), self.policy.own_limit()]
        return min((limit for limit in limits if limit is not None), default=None)

    def holders(self, counts):
        """Who holds those of the blocks that count, by tag."""
        shares = {}
        for allocation, (born, tag) in self.live.items():
            block = self.blocks[allocation]
            if counts(block):
                share = shares.setdefault(tag, {"tag": tag, "bytes": 0, "blocks": 0,
                                                "oldest": born})
                share["bytes"] += block.bytes
                share["blocks"] += 1
        return sorted(shares.values(), key=lambda share: (-share["bytes"], share["oldest"]))[:5]

    def hole(self, size, pool, m):
        """Of all runs of neighbours, and of all segments that could be given back, the one with
        the fewest bytes to free."""
        tried, granularity = self.policy.asked, self.device.granularity
        rooms = [self.device.free(),
                 None if self.limit() is None else self.limit() - self.device.used()]
        rooms = [room for room in rooms if room is not None]
        if not rooms:           # the device had it, but a limit of the policy's
            return None
        left = max(0, min(rooms)) + m["releasable"]
        if left >= tried:
            return None
        found = []
        for segment in self.policy.segments:
            blocks = segment.blocks
            runs = [(False, i, k) for k in range(len(blocks)) for i in range(k, -1, -1)
                    if self.policy.looks_at(segment, size, pool)
                    and sum(block.bytes for block in blocks[i:k + 1]) >= size]
            if (not segment.initial and round_up(segment.bytes, granularity)
                    >= round_up(tried, granularity) - left):
                runs.append((True, 0, len(blocks) - 1))
            for whole, first, last in runs:
                run = blocks[first:last + 1]
                live = sum(block.bytes for block in run if block.state != FREE)
                found.append((live, whole, segment.ordinal, last, -first, segment, run))
        if not found or min(found)[0] == 0:
            return None
        live, whole, ordinal, _, _, segment, run = min(found)
        return {"segment": ordinal, "offset": run[0].offset, "whole": whole, "live": live,
                "bytes": segment.bytes if whole else sum(block.bytes for block in run),
                "holders": self.holders(lambda block: any(block is other for other in run))}

    def step(self, step):
        """Do one event. Gives (status, metrics, placement line without policy or None)."""
        self.policy.begin_step()
        if not self.started:    # the initial pool was refused: all ends at step 0 (fragsim-policies(7), bestfit)
            status, self.stopped = "oom", True
        elif step.op in ("free", "complete", "record_stream") and self.failed(step):
            status = "skipped"
            self.policy.counts["skipped"] += 1
        else:
            status = getattr(self, step.op)(step)
        check(self.policy)
        m = measure(self.policy)
        if step.op == "mark" and status == "ok" and len(self.marks) < 10000:
            self.marks.append({"name": step.event["name"], "step": step.number, **m})
        self.rows.append((step, m))
        return status, m, self.placement(step, status)

    def failed(self, step):
        return step.allocation not in self.blocks

    def alloc(self, step):
        size = step.size
        self.policy.counts["allocs"] += 1
        try:
            block = self.policy.alloc(size, step.allocation.pool,
                                      step.allocation.stream) if size else None
        except OutOfMemory:
            self.record_oom(step.number, step.id, size, step.allocation.pool)
            self.stopped = not self.on_oom_continue
            return "oom"
        self.blocks[step.allocation] = block
        if block:
            self.live[step.allocation] = (step.number, step.event.get("tag"))
        self.recorded[step.allocation] = set()
        if not self.policy.new:
            self.policy.counts["hits"] += 1
        return "ok"

    def free(self, step):
        self.policy.counts["frees"] += 1
        allocation = step.allocation
        until_complete = step.event.get("pending", False)
        pending = Pending(allocation, until_complete, self.recorded[allocation])
        if self.blocks[allocation]:
            self.blocks[allocation].state = PENDING
        self.pending.append(pending)
        self.free_what_ended()
        return "ok"

    def complete(self, step):
        for pending in self.pending:
            if pending.allocation is step.allocation:
                pending.until_complete = False
        self.free_what_ended()
        return "ok"

    def record_stream(self, step):
        if step.event["stream"] != step.allocation.stream:
            self.recorded[step.allocation].add(step.event["stream"])
        return "ok"

    def sync(self, step):
        for pending in self.pending:
            if "stream" in step.event:
                pending.streams.discard(step.event["stream"])
            else:
                pending.streams.clear()
        self.free_what_ended()
        return "ok"

    def free_what_ended(self):
        for pending in [pending for pending in self.pending if pending.ended()]:
            self.pending.remove(pending)
            self.live.pop(pending.allocation, None)
            if self.blocks[pending.allocation]:
                self.policy.free(self.blocks[pending.allocation])

    def empty_cache(self, _step):
        self.policy.empty_cache()
        return "ok"

    def set_fraction(self, step):
        self.device.fraction = float(step.event["value"])
        return "ok"

    def configure(self, _step):
        return "ok"

    def mark(self, _step):
        return "ok"

    def release_pool(self, _step):
        return "ok"

    def placement(self, step, status):
        """The line of fragsim-result(5) as an ordered dict, or None where there is none."""
        policy = self.policy
        if status == "skipped":
            return None
        if step.op not in ("alloc", "free") and not policy.new and not policy.released:
            return None
        line = {"step": step.number, "device": self.device.ordinal, "op": step.op}
        if step.id is not None:
            line["id"] = step.id
        if status == "oom":
            line["oom"] = True
        elif step.op == "alloc":
            block = self.blocks[step.allocation]
            if block:
                line["segment"], line["offset"] = block.address()
            line["bytes"] = block.bytes if block else 0
        if policy.new:
            line["new"] = [{"segment": s.ordinal, "bytes": s.bytes} for s in policy.new]
        if policy.released:
            line["released"] = policy.released
        return line

    def peaks(self):
        series = [m for _, m in self.rows] or [self.at_start]
        peak = {}
        for name in BYTE_METRICS + COUNT_METRICS + LATER_METRICS:
            values = [m[name] for m in series]
            peak[name] = None if values[0] is None else max(values)
        for name, high in self.policy.high.items():
            peak[name] = max(peak[name], high)
        return peak

    def result(self):
        """RUN of fragsim-result(5)."""
        peak = self.peaks()
        times = [step.t for step, _ in self.rows]
        device = self.device
        run = {"policy": {"name": self.policy.name, "params": self.policy.params},
               "device": {"ordinal": device.ordinal, "total_bytes": device.total,
                          "context_bytes": device.context, "other_bytes": device.other,
                          "granularity_bytes": device.granularity},
               "status": "oom" if self.policy.counts["ooms"] else "fits",
               "steps": len(self.rows), "peak": peak,
               "last": self.rows[-1][1] if self.rows else self.at_start}
        for name in PERCENTAGES:
            run[name] = distribution([m[name] for _, m in self.rows], times)
        run["lower_bound"] = peak["requested"]
        run["overhead_bytes"] = peak["reserved"] - peak["requested"]
        run["counts"] = self.policy.counts
        run["oom"] = self.ooms
        run["marks"] = self.marks
        return run


# ---- all policies over all devices, and the files (fragsim-result(5)) --------------------------------------

def csv_field(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return "%.4f" % value
    text = str(value)
    if any(c in text for c in "\",\r\n"):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_row(policy_text, columns, step, device, status, m):
    row = {"step": step.number, "t": None if step.t is None else step.t.text, "device": device,
           "op": step.op, "id": step.id, "size": step.size, "status": status, **m}
    fields = [] if policy_text is None else [policy_text]
    fields += [row[name] for name in columns]
    return ",".join(csv_field(field) for field in fields) + "\n"


def placement_row(policy_text, line, several_devices):
    line = dict(line)
    if not several_devices:
        del line["device"]
    if policy_text is not None:
        line = {"policy": policy_text, **line}
    return json.dumps(line, separators=(",", ":")) + "\n"


def simulate_policy(text, column, columns, steps, figures, on_oom_continue):
    """One policy on every device: its runs, rows and placement lines."""
    runs = [Run(text, Device(n, f), on_oom_continue) for n, f in enumerate(figures)]
    rows, lines = [], []
    for step in steps:
        for run in [runs[n] for n in step.devices]:
            if run.stopped or (not run.started and step.number > 0):
                continue
            status, m, line = run.step(step)
            rows.append(csv_row(column, columns, step, run.device.ordinal, status, m))
            if line:
                lines.append(placement_row(column, line, len(runs) > 1))
        if OOM_STOPS_ALL_DEVICES and any(run.stopped or not run.started for run in runs):
            for run in runs:
                run.stopped = True
    return [run.result() for run in runs], rows, lines


def simulate(data, policies, on_oom_continue=False, overrides=None, columns=None):
    """Everything `fragsim run` would write of a trace, which is given as the bytes of its file.

    Gives the steps as CSV, the placements, and the result with the runs, policy by policy and for
    each in the order of its devices. `overrides` replaces members of every device; `columns` are those
    of the steps, in their order.
    """
    header, events = read_trace(data)
    figures = [{**device, **(overrides or {})}
               for device in header.get("devices") or [header.get("device", {})]]
    steps = resolve(events, len(figures))
    several = len(policies) > 1
    columns = columns or STEP_COLUMNS
    header_row = ",".join((["policy"] if several else []) + columns) + "\n"
    runs, rows, lines = [], [header_row], []
    for text in policies:
        more = simulate_policy(text, text if several else None, columns, steps, figures,
                               on_oom_continue)
        for whole, part in zip((runs, rows, lines), more):
            whole += part
    trace = {"events": len(steps), "allocs": len([s for s in steps if s.op == "alloc"]),
             "frees": len([s for s in steps if s.op == "free"])}
    return "".join(rows), "".join(lines), {"trace": trace, "runs": runs}


def four_decimals(value):
    """A result with every double as it is written (fragsim-result(5))."""
    if isinstance(value, dict):
        return {key: four_decimals(item) for key, item in value.items()}
    if isinstance(value, list):
        return [four_decimals(item) for item in value]
    return float("%.4f" % value) if isinstance(value, float) else value


def write(path, text):
    if path == "-":
        sys.stdout.write(text)
    elif path:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on-oom", choices=["stop", "continue"], default="stop")
    parser.add_argument("--policy", action="append", metavar="P")
    for name in ("steps", "placements", "json"):
        parser.add_argument("--" + name, metavar="FILE")
    for name in ("device-bytes", "context-bytes", "other-bytes", "granularity"):
        parser.add_argument("--" + name, metavar="N")
    parser.add_argument("--columns", metavar="NAME,...", help="of the steps; all of them: all")
    parser.add_argument("trace", metavar="TRACE")
    args = parser.parse_args()
    overrides = {"total_bytes": args.device_bytes, "context_bytes": args.context_bytes,
                 "other_bytes": args.other_bytes, "granularity_bytes": args.granularity}
    overrides = {key: value for key, value in overrides.items() if value is not None}
    columns = args.columns and (ALL_COLUMNS if args.columns == "all"
                                else args.columns.split(","))
    with open(args.trace, "rb") as file:
        data = file.read()
    steps, placements, result = simulate(data, args.policy or ["bestfit"],
                                         args.on_oom == "continue", overrides, columns)
    write(args.steps, steps)
    write(args.placements, placements)
    write(args.json, json.dumps(four_decimals(result), indent=1, ensure_ascii=False) + "\n")
    return 3 if any(run["counts"]["ooms"] for run in result["runs"]) else 0


if __name__ == "__main__":
    sys.exit(main())
