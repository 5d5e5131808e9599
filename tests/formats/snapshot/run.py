#!/usr/bin/python3
"""run.py - small PyTorch snapshots, in every protocol and layout, and malicious ones.

usage: run.py PROGRAM

The expectations are arithmetic on the snapshots, which are written for the purpose.
"""
import gzip
import json
import os
import pickle
import re
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../..", "support")]
from snaps import (BASE, FRAMES, K, LARGE, M, SMALL, Jit, Log, basic, block, hole, page, pickled,
                   pinned, segment, snapshot)
from tap import Tap

PROGRAM = sys.argv[1]
SAN = os.environ.get("SAN")
FOLDER = tempfile.TemporaryDirectory()
NAME = os.path.join(FOLDER.name, "s")
MEMORY = 1 << 30
CORPUS = os.path.join(HERE, "../..", "oracles", "corpus")
SECONDS = 60
TAP = Tap()
ok, same = TAP.ok, TAP.same


def bound():
    if not SAN:             # a sanitizer's shadow is larger than any bound
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def call(*args, data=None, name=NAME):
    if data is not None:
        with open(name, "wb") as f:
            f.write(data)
    p = subprocess.run([PROGRAM, *args, name], capture_output=True, timeout=SECONDS,
                       preexec_fn=bound)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def run(value, *args, policy="pytorch"):
    """Result, rows of steps and the warnings of a run of the snapshot."""
    data = value if isinstance(value, bytes) else pickled(value)
    steps = NAME + ".steps.ndjson"
    rc, out, err = call("run", "-p", policy, "--json", "-", "--steps", steps, *args, data=data)
    if rc not in (0, 3):
        return None, [], err
    with open(steps) as f:
        rows = [json.loads(line) for line in f]
    return json.loads(out), rows, err


def verify(value, *args):
    """What it prints of the snapshot, and the same of a complete binary file of it."""
    done = call("verify", *args, data=value if isinstance(value, bytes) else pickled(value))
    path = os.path.join(FOLDER.name, "complete.fsb")
    rc, _, err = call("trace", "convert", "-q", "--complete", NAME, name=path)
    if rc:
        same("what cannot be converted cannot be verified", (rc, done[0]), (4, 4), err)
    else:
        again = [x.replace(path, NAME) if isinstance(x, str) else x
                 for x in call("verify", *args, name=path)]
        same("verify of the complete file", again, list(done))
    return done


def ops(rows):
    return [(r["op"], r["id"], r["size"]) for r in rows]


# Forms ------------------------------------------------------------------------
def forms():
    value = basic()
    known = None
    cases = [(f"protocol {p}", pickled(value, p)) for p in range(2, 6)]
    cases += [("the pickler of C++", Jit().data(value)), ("JSON", json.dumps(value).encode()),
              ("JSON with white space first", b"\n  " + json.dumps(value, indent=1).encode()),
              ("a viewer's page", page(pickled(value))), ("gzip", gzip.compress(pickled(value))),
              ("bytes behind the end", pickled(value) + b"junk")]
    for title, data in cases:
        result, rows, err = run(data)
        content = result and result["trace"]["content"]
        known = known or content
        ok(content and content == known and len(rows) == 6, f"{title}: the same six events", err)
        rc, out, err = verify(data)
        ok(rc == 0 and "4 of 4 addresses, 1 of 1 device allocations agree" in out,
           f"{title}: verified", out, err)
    wide = basic(frames=[{"name": "f", "line": 3, "filename": 'a "b"\\c\u00e9.py'}] * 2)
    known_wide = (run(wide)[0] or {}).get("trace", {}).get("content")
    ok(known_wide and known_wide == run(json.dumps(wide).encode())[0]["trace"]["content"] != known,
       "JSON with escapes")
    wide = basic()
    wide["segments"][0]["stream"] = 0
    wide["unknown"] = [[[None, 1.5, (), True]]] * 3
    wide["device_traces"].append([])
    result, rows, err = run(wide)
    same("unknown members and empty traces say nothing", result and result["trace"]["content"],
         known, err)
    big = basic()
    big["unknown"] = (1 << 63) + 5         # nine bytes
    same("an integer of 64 bits", (run(big)[0] or {}).get("trace", {}).get("content"), known)


# The first state ------------------------------------------------------------------
def states():
    result, rows, err = run(basic())
    same("the block from before comes first", ops(rows), [
        ("alloc", 0, 100), ("alloc", 1, 300 * K), ("alloc", 2, 6 * M), ("alloc", 3, 3 * M),
        ("free", 2, None), ("alloc", 4, 2 * M + 1)], err)
    path = os.path.join(FOLDER.name, "basic.fsb")
    call("trace", "convert", "-q", NAME, name=path)
    rc, out, told = call("run", "-q", "--json", "-", name=path)
    same("the binary form of it is the same trace", rc or json.loads(out)["trace"]["content"],
         result["trace"]["content"], told)
    one = result["runs"][0]
    same("its segment is there before the first step",
         [r["reserved"] for r in rows], [2 * M, 2 * M, 22 * M, 22 * M, 22 * M, 22 * M])
    same("peak of what was requested", one["peak"]["requested"], 100 + 300 * K + 9 * M)
    same("segments obtained", one["counts"]["segment_allocs"], 2)
    same("times are the log's", [r["t"] for r in rows], [1000, 1000, 1002, 1003, 1004, 1006])
    ok("begins in mid-run: 1 segment of 2.00 MiB with 1 live block was allocated before it" in err,
       "a history that begins in mid-run is told", err)
    result, rows, err = run(basic(), policy="bestfit")
    same("another policy places it as any request", rows[0]["reserved"], 2 * M, err)

    # a block freed in the history was there before; its neighbour to the end
    log = Log().free(LARGE, 3 * M).alloc(LARGE, 2 * M)
    value = snapshot([segment(LARGE, block(LARGE, 2 * M), hole(LARGE + 2 * M, M),
                              block(LARGE + 3 * M, 5 * M), hole(LARGE + 8 * M, 12 * M))], log)
    result, rows, err = run(value)
    same("what the history frees was there before", ops(rows),
         [("alloc", 0, 3 * M), ("alloc", 1, 5 * M), ("free", 0, None), ("alloc", 2, 2 * M)], err)
    same("largest free block at the start", rows[1]["largest_free"], 12 * M)
    rc, out, err = verify(value)
    ok(rc == 0 and "1 of 1 addresses, 0 of 0 device allocations agree" in out,
       "and the first state lies where it lay", out, err)

    # a segment that the history gives back was there before, and so on
    log = Log().add("segment_free", LARGE, 20 * M).segment(LARGE + 32 * M, 12 * M)
    log.alloc(LARGE + 32 * M, 11 * M - 512)
    value = snapshot([segment(LARGE + 32 * M, block(LARGE + 32 * M, 11 * M - 512),
                              hole(LARGE + 43 * M - 512, M + 512))], log)
    result, rows, err = run(value)
    same("memory given back that nothing forced is an empty_cache", [r["op"] for r in rows],
         ["empty_cache", "alloc"], err)
    same("and the segment was there", [r["reserved"] for r in rows], [0, 12 * M])
    for whose, frames, wanted in (("the request", FRAMES, ["alloc"]),
                                  ("another line", FRAMES[1:], ["empty_cache", "alloc"])):
        log.events[0]["frames"], log.events[2]["frames"] = frames, FRAMES
        result, rows, err = run(snapshot(value["segments"], log))
        same(f"memory given back with the stack of {whose}", [r["op"] for r in rows], wanted, err)
    for event in log.events:
        event.pop("frames", None)
    rc, out, err = verify(value)
    ok(rc == 0 and "1 of 1 device frees agree" in out, "the device's free agrees", out, err)

    # segments only: a state
    for title, data in (("a dict", {"segments": basic()["segments"]}),
                        ("a list", basic()["segments"])):
        result, rows, err = run(data)
        same(f"segments only, {title}: the state is where the run begins",
             [(r["op"], r["size"], r["reserved"]) for r in rows],
             [("alloc", 100, 22 * M), ("alloc", 300 * K, 22 * M), ("alloc", 2 * M + 1, 22 * M),
              ("alloc", 3 * M, 22 * M)], err)
        ok("no history" in err, f"segments only, {title}: it says so", err)
        same(f"segments only, {title}: free memory",
             (rows[-1]["free"], rows[-1]["largest_free"]),
             (22 * M - 512 - 300 * K - (5 * M + 512), 11 * M))
        rc, out, err = verify(data)
        ok(rc == 4 and "no history to compare" in err, f"segments only, {title}: no verdict", err)


def pending():
    # the second free waits for a stream; it is over only before the last alloc
    log = Log().segment(LARGE, 20 * M).alloc(LARGE, 5 * M).alloc(LARGE + 5 * M, 5 * M)
    log.add("free_requested", LARGE, 5 * M).alloc(LARGE + 10 * M, 5 * M)
    log.add("free_completed", LARGE, 5 * M).alloc(LARGE, 4 * M)
    value = snapshot([segment(LARGE, block(LARGE, 4 * M), hole(LARGE + 4 * M, M),
                              block(LARGE + 5 * M, 5 * M), block(LARGE + 10 * M, 5 * M),
                              hole(LARGE + 15 * M, 5 * M))], log)
    result, rows, err = run(value)
    same("a free that waits: pending and complete", [r["op"] for r in rows],
         ["alloc", "alloc", "free", "alloc", "complete", "alloc"], err)
    same("pending memory is active, not allocated", [r["active"] - r["allocated"] for r in rows],
         [0, 0, 5 * M, 5 * M, 0, 0])
    rc, out, err = verify(value)
    ok(rc == 0 and "4 of 4 addresses" in out, "and verified", out, err)

    # still pending at the end, and pending at the beginning
    log = Log().add("free_completed", LARGE, 5 * M).add("free_requested", LARGE + 5 * M, 5 * M)
    log.alloc(LARGE, 3 * M)
    value = snapshot([segment(LARGE, block(LARGE, 3 * M), hole(LARGE + 3 * M, 2 * M),
                              block(LARGE + 5 * M, 5 * M, state="active_pending_free"),
                              hole(LARGE + 10 * M, 10 * M))], log)
    result, rows, err = run(value)
    same("pending at the beginning and at the end", ops(rows), [
        ("alloc", 0, 5 * M), ("alloc", 1, 5 * M), ("free", 0, None), ("complete", 0, None),
        ("free", 1, None), ("alloc", 2, 3 * M)], err)
    same("the one at the end stays", rows[-1]["active"] - rows[-1]["allocated"], 5 * M)
    rc, out, err = verify(value)
    ok(rc == 0, "and verified", out, err)

    # a log that has one of the two frees only
    for action in ("free_requested", "free_completed"):
        log = Log().segment(LARGE, 20 * M).alloc(LARGE, 5 * M).add(action, LARGE, 5 * M)
        value = snapshot([segment(LARGE, hole(LARGE, 20 * M))], log)
        result, rows, err = run(value)
        same(f"{action} alone is a free", ops(rows),
             [("alloc", 0, 5 * M), ("free", 0, None)], err)


def layouts():
    # before 2.1: no addresses of blocks, and a history each
    old = {"segments": [{"device": 0, "address": LARGE, "total_size": 20 * M, "stream": 0,
                         "segment_type": "large", "allocated_size": 6 * M, "active_size": 6 * M,
                         "blocks": [
        {"size": 6 * M, "state": "active_allocated",
         "history": [{"addr": LARGE, "real_size": 6 * M - 7, "frames": FRAMES}]},
        {"size": 14 * M, "state": "inactive"}]}], "device_traces": []}
    result, rows, err = run(old)
    same("the layout of 2022", [(r["size"], r["allocated"], r["free"]) for r in rows],
         [(6 * M - 7, 6 * M, 14 * M)], err)

    value = basic(times=False)
    result, rows, err = run(value)
    same("without times", [r["t"] for r in rows], [None] * 6, err)

    # two devices, by their times; and a third that is only named
    logs = [Log(), Log()]
    logs[0].segment(LARGE, 20 * M).alloc(LARGE, 5 * M)
    logs[1].add("segment_alloc", LARGE, 20 * M, time_us=999).add("alloc", LARGE, 2 * M, time_us=1000)
    value = snapshot([segment(LARGE, block(LARGE, 5 * M), hole(LARGE + 5 * M, 15 * M)),
                      segment(LARGE, block(LARGE, 2 * M), hole(LARGE + 2 * M, 18 * M), device=1)],
                     *logs)
    result, rows, err = run(value)
    same("devices by their times", [(r["device"], r["size"]) for r in rows],
         [(1, 2 * M), (0, 5 * M)], err)
    rc, out, err = verify(value)
    ok(rc == 0 and "2 of 2 addresses, 2 of 2 device allocations" in out, "both verified", out, err)

    # private pools never share, and count apart
    log = Log().segment(LARGE, 20 * M).alloc(LARGE, 2 * M)
    log.add("segment_alloc", LARGE + 32 * M, 20 * M, pool_id=(0, 1))
    log.add("alloc", LARGE + 32 * M, 2 * M, pool_id=(0, 1))
    value = snapshot([segment(LARGE, block(LARGE, 2 * M), hole(LARGE + 2 * M, 18 * M)),
                      segment(LARGE + 32 * M, block(LARGE + 32 * M, 2 * M),
                              hole(LARGE + 34 * M, 18 * M), pool=(0, 1))], log)
    result, rows, err = run(value)
    same("a private pool has segments of its own", rows[-1]["reserved"], 40 * M, err)
    rc, out, err = verify(value)
    ok(rc == 0 and out.count("1 of 1 addresses, 1 of 1 device allocations agree") == 2
       and "private pools" in out, "and is counted apart", out, err)
    for e in value["device_traces"][0]:
        e.pop("pool_id", None)
    rc, out, err = verify(value)
    ok(rc == 0 and out.count("1 of 1 addresses, 1 of 1 device allocations agree") == 2,
       "an old log's pools come from the last state", out, err)

    # what a private pool gives back the program had released before: asked for another time,
    # device by device, and only where nothing is allocated there later
    log = Log(pool=(0, 0)).add("segment_alloc", LARGE, 20 * M, pool_id=(0, 1))
    log.alloc(LARGE, 2 * M, pool_id=(0, 1)).add("free_requested", LARGE, 2 * M, pool_id=(0, 1))
    log.add("free_completed", LARGE, 2 * M, pool_id=(0, 1))
    log.add("segment_free", LARGE, 20 * M, pool_id=(0, 1))
    log.segment(LARGE + 32 * M, 20 * M).alloc(LARGE + 32 * M, 2 * M)
    value = snapshot([segment(LARGE + 32 * M, block(LARGE + 32 * M, 2 * M),
                              hole(LARGE + 34 * M, 18 * M))], log)
    result, rows, err = run(value)
    same("a private pool's memory goes back after its release", [r["op"] for r in rows],
         ["alloc", "free", "release_pool", "empty_cache", "alloc"], err)
    same("and is away then", [r["reserved"] for r in rows], [20 * M, 20 * M, 20 * M, 0, 20 * M], err)
    log.add("segment_alloc", LARGE, 20 * M, pool_id=(0, 1)).alloc(LARGE, 2 * M, pool_id=(0, 1))
    value = snapshot([segment(LARGE, block(LARGE, 2 * M), hole(LARGE + 2 * M, 18 * M), pool=(0, 1)),
                      segment(LARGE + 32 * M, block(LARGE + 32 * M, 2 * M),
                              hole(LARGE + 34 * M, 18 * M))], log)
    result, rows, err = run(value)
    same("a pool that is used later was not released", [r["op"] for r in rows],
         ["alloc", "free", "empty_cache", "alloc", "alloc"], err)

    # expandable: one range, grown by a page; the hole is used first
    log = Log().add("segment_map", LARGE, 20 * M).alloc(LARGE, 15 * M)
    log.add("segment_map", LARGE + 20 * M, 20 * M).alloc(LARGE + 15 * M, 10 * M)
    value = snapshot([segment(LARGE, block(LARGE, 15 * M), block(LARGE + 15 * M, 10 * M),
                              hole(LARGE + 25 * M, 15 * M), expandable=True)], log,
                     settings="expandable_segments:True")
    rc, out, err = verify(value)
    ok(rc == 0 and "2 of 2 addresses, 2 of 2 device allocations agree" in out,
       "an expandable range", out, err)
    value["device_traces"][0] = value["device_traces"][0][2:]
    rc, out, err = verify(value)
    ok(rc == 0 and "1 of 1 addresses, 1 of 1 device allocations agree" in out,
       "an expandable range that was there before", out, err)
    value["allocator_settings"].update(PYTORCH_CUDA_ALLOC_CONF="", expandable_segments=True)
    rc, out, err = verify(value)
    ok(rc == 0, "settings from the values, where there is no string", out, err)


def words():
    value = snapshot([segment(LARGE, block(LARGE, 5 * M), block(LARGE + 5 * M, 2 * M),
                              hole(LARGE + 7 * M, 13 * M))],
                     Log(frames=FRAMES).segment(LARGE, 20 * M).alloc(LARGE, 5 * M)
                     .alloc(LARGE + 5 * M, 2 * M, user_metadata="epoch 3", frames=FRAMES[:1]))
    value["external_annotations"] = [
        {"name": "step", "stage": "START", "device": 0, "time_us": 1001},
        {"name": "step", "stage": "END", "device": 0, "time_us": 5000}]
    result, rows, err = run(value)
    same("annotations are marks", [(m["name"], m["step"]) for m in result["runs"][0]["marks"]],
         [("step (start)", 0), ("step (end)", 3)], err)

    def held(*args):
        rc, out, err = call("run", "-p", "pytorch", "--device-bytes", "21MiB", *args,
                            data=pickled(oom))
        return [line.strip() for line in out.splitlines() if "block" in line and "MiB in" in line]

    oom = snapshot([segment(LARGE, block(LARGE, 5 * M), hole(LARGE + 5 * M, 15 * M))],
                   Log(frames=FRAMES).segment(LARGE, 20 * M).alloc(LARGE, 5 * M)
                   .segment(LARGE + 64 * M, 32 * M).alloc(LARGE + 64 * M, 32 * M)
                   .free(LARGE + 64 * M, 32 * M).add("segment_free", LARGE + 64 * M, 32 * M))
    same("the innermost frame that is not the framework's own",
         held(), ['top tags  5.00 MiB in 1 block of "model.py:42 forward"'])
    same("--stacks none", held("--stacks", "none"),
         ["top tags  5.00 MiB in 1 block without a tag"])

    log = Log().segment(LARGE, 20 * M).alloc(LARGE, 5 * M).add("oom", 3 * M, 30 * M)
    log.free(LARGE, 5 * M).alloc(LARGE, 2 * M).free(LARGE, 2 * M)
    value = snapshot([segment(LARGE, hole(LARGE, 20 * M))], log)
    result, rows, err = run(value, "--on-oom", "continue")
    ok("1 out-of-memory, the first for 30.00 MiB with 3.00 MiB free" in err,
       "a recorded out-of-memory is told", err)
    same("and happens again on a device of that size",
         [(r["op"], r["status"]) for r in rows],
         [("alloc", "ok"), ("alloc", "oom"), ("free", "skipped"), ("free", "ok"),
          ("alloc", "ok"), ("free", "ok")])
    same("whose capacity it tells", result["runs"][0]["device"]["total_bytes"], 23 * M)
    rc, out, err = verify(value)
    ok(rc == 0 and "2 of 2 addresses" in out and "1 of 1 out-of-memory agree" in out,
       "and verified", out, err)


# What PyTorch 2.15 writes besides ------------------------------------------------
def written(value):
    """The value in every protocol and form: name, bytes."""
    return [*((f"protocol {n}", pickled(value, n)) for n in range(2, 6)),
            ("the pickler of C++", Jit().data(value)), ("JSON", json.dumps(value).encode())]


def ring():
    value = basic()
    content = run(value)[0]["trace"]["content"]
    value["allocator_settings"].update(trace_alloc_overflowed=True, trace_alloc_max_entries=7)
    for form, data in written(value):
        result, rows, err = run(data)
        ok("the ring buffer of the recording, which holds 7 per device, overflowed" in err
           and "peaks before it are unknown" in err, f"a ring that overflowed, {form}", err)
        same(f"and the trace is the same, {form}", result["trace"]["content"], content)
    ok("overflowed" in call("trace", "info")[2], "info tells it too")
    rc, out, err = verify(value)
    ok(rc == 0 and "4 of 4 addresses" in out and "overflowed" in err, "so does verify", out, err)
    del value["allocator_settings"]["trace_alloc_max_entries"]
    ok("the ring buffer of the recording overflowed:" in run(value)[2], "a ring of unknown size")

    # 1024 events, as many as a ring may have: a hint, unless the file says what happened
    log = Log()
    for _ in range(341):
        log.alloc(LARGE + M, 4 * K).free(LARGE + M, 4 * K)
    log.add("free_completed", LARGE, 512)
    hint = "a number of events as round as this"
    for flag, told in ((None, False), (False, False), (True, True)):
        value = snapshot([segment(LARGE, hole(LARGE, 20 * M))], log)
        if flag is not None:
            value["allocator_settings"]["trace_alloc_overflowed"] = flag
        err = run(value)[2]
        ok(("overflowed" in err) == told and (hint in err) == (flag is None),
           f"1024 events and overflowed {flag}", len(log.events), err)


def with_host():
    """
    Beside basic(), of pinned memory: 4 MiB that stay, 2 MiB that were there and are freed; 8 MiB
    twice in the same place, at the end still in use on a stream; and 1 MiB.
    """
    at = BASE + 512 * M
    log = Log(pool=(0, 0)).segment(at, 8 * M).alloc(at, 8 * M).free(at, 8 * M).alloc(at, 8 * M)
    log.segment(at + 16 * M, M).alloc(at + 16 * M, M).free(at + 48 * M, 2 * M)
    log.add("free_requested", at, 8 * M)
    segments = [pinned(at, 8 * M, "active_pending_free"), pinned(at + 16 * M, M),
                pinned(at + 48 * M, 2 * M, "inactive"), pinned(at + 32 * M, 4 * M)]
    return {**basic(), "host_segments": segments, "host_traces": log.events}


TOLD = ["pinned host memory: 10 events outside the trace, which run --host simulates",
        "  at most 15.00 MiB live", "  at the end 5.00 MiB live, in 2 blocks"]


def told():
    lines = call("trace", "info")[1].splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("pinned host memory")]
    return lines[at[0]:at[0] + 3] if at else lines


def host():
    plain, plain_rows, _ = run(basic())
    value = with_host()
    for form, data in written(value):
        result, rows, err = run(data)
        same(f"the host's memory is no part of a run, {form}", (result["runs"], rows),
             (plain["runs"], plain_rows), err)
        same(f"info tells of it, {form}", told(), TOLD)
        result, rows, err = run(data, "--host", "--check", "--device-bytes", "100MiB",
                                "--granularity", "1MiB")
        runs = result["runs"]
        same(f"--host: a device of its own, {form}",
             [(r["device"]["ordinal"], r["device"]["name"], r["device"]["total_bytes"],
               r["device"]["granularity_bytes"]) for r in runs],
             [(0, None, 100 * M, M), (1, "pinned host memory", 0, 4 * K)], err)
        same(f"--host: what it was requested, {form}",
             [(r["op"], r["size"]) for r in rows if r["device"] == 1],
             [("alloc", 4 * M), ("alloc", 2 * M), ("alloc", 8 * M), ("free", None),
              ("alloc", 8 * M), ("alloc", M), ("free", None), ("free", None)])
        # to the 6 MiB that were there come a segment of 20 MiB and one of 2
        same(f"--host: its figures, {form}",
             [[r[m] for m in ("requested", "reserved", "active")] for r in rows
              if r["device"] == 1][1::6], [[6 * M, 6 * M, 6 * M], [5 * M, 28 * M, 13 * M]])
        same(f"--host: its peak, {form}", runs[1]["peak"]["requested"], 15 * M)
        same(f"--host: the GPU is as it was, {form}",
             [(r["op"], r["size"], r["reserved"], r["largest_free"]) for r in rows
              if r["device"] == 0],
             [(r["op"], r["size"], r["reserved"], r["largest_free"]) for r in plain_rows])
    same("verify does not count it", verify(value)[:2], verify(basic())[:2])
    rc, out, err = call("trace", "info", "--json", "-", data=pickled(value))
    same("info --json", json.loads(out).get("host"),
         {"events": 10, "peak_live_bytes": 15 * M, "last_live_bytes": 5 * M,
          "last_live_blocks": 2}, err)
    rc, out, err = call("trace", "info", "--json", "-", data=pickled(basic()))
    ok("host" not in json.loads(out), "and nothing where there is none", out)
    for policy in ("bestfit", "buddy", "sizeclass", "direct", "pytorch:expandable_segments=true"):
        result, rows, err = run(value, "--host", "--check", policy=policy)
        same(f"--host under {policy}", result and result["runs"][1]["peak"]["requested"], 15 * M,
             err)


def host_alone():
    value = with_host()
    value.update(segments=[], device_traces=[[]])
    result, rows, err = run(value, "--host")
    same("pinned memory alone: all of it is on device 1", {r["device"] for r in rows}, {1}, err)
    same("pinned memory alone: nothing without --host", run(value)[1], [])
    value = {**basic(), "host_traces": with_host()["host_traces"]}
    rc, out, err = call("trace", "info", "--json", "-", data=pickled(value))
    # without the 4 MiB, which no event names
    same("a log without segments", json.loads(out)["host"],
         {"events": 10, "peak_live_bytes": 11 * M, "last_live_bytes": M, "last_live_blocks": 1},
         err)
    same("a log without segments, simulated",
         run(value, "--host")[0]["runs"][1]["peak"]["requested"], 11 * M)
    value = {**basic(), "host_segments": with_host()["host_segments"], "host_traces": []}
    call("trace", "info", data=pickled(value))
    same("segments without a log", told(),
         [TOLD[0].replace("10 ", "0 "), "  at most 5.00 MiB live", TOLD[2]])
    err = run(basic(), "--host")[2]
    ok("--host: the trace has no pinned host memory" in err, "none there, which is told",
       err)
    value = with_host()
    value["host_traces"][1].pop("size")
    rc, out, err = call("run", "-q", "--host", data=pickled(value))
    ok(rc == 4 and 'host_traces[1]: member "size" is missing' in err, "a bad event is named", err)
    ok(call("run", "-q")[0] == 0, "and does no harm where it is not asked for")
    most = (1 << 53) - 1
    value = with_host()
    value["host_traces"] = Log().alloc(LARGE, most).events * 4096
    value["host_segments"] = [pinned(LARGE, most)] * 4096
    rc, out, err = call("trace", "info", "--json", "-", data=pickled(value))
    same("sizes that no sum holds", json.loads(out)["host"]["peak_live_bytes"], (1 << 64) - 1, err)
    one = [block(LARGE, 512)] * 20000
    value["host_segments"] = [{**pinned(LARGE, 512), "blocks": one}] * 20000
    call("trace", "info", data=pickled(value))
    ok(call("trace", "info", "-q")[0] == 0, "blocks that are there many thousand times")


# Differences ------------------------------------------------------------------------
def differences():
    for title, at, member, change, what in (
            ("a block's address", 6, "addr", 512, "3 of 4 addresses, 1 of 1 device"),
            ("a segment's size", 1, "size", 2 * M, "4 of 4 addresses, 0 of 1 device")):
        value = basic()
        value["device_traces"][0][at][member] += change
        if at == 6:
            value["segments"][1]["blocks"][0:2] = [
                hole(LARGE, 512), block(LARGE + 512, 2 * M + 512, 2 * M + 1),
                hole(LARGE + 2 * M + K, 4 * M - K)]
        else:
            value["segments"][1]["blocks"][-1]["size"] += change
            value["segments"][1]["total_size"] += change
        rc, out, err = verify(value)
        ok(rc == 1 and what in out and "difference 1" in out and "recorded" in out,
           f"another place of {title} is seen", out, err)
        ok(call("verify", "-q")[:2] == (1, ""), f"{title}: -q says it by the status")
    # the log has a segment more
    value = basic()
    value["device_traces"][0].insert(3, {"action": "segment_alloc", "addr": BASE + 512 * M, "size": 2 * M,
                                         "stream": 0, "time_us": 1002})
    rc, out, err = verify(value)
    ok(rc == 1 and "1 of 2 device allocations" in out and "simulated nothing" in out,
       "a segment that only the log has", out, err)
    # the cache was emptied, but one segment was kept
    log = Log().segment(LARGE, 20 * M).alloc(LARGE, 5 * M).free(LARGE, 5 * M)
    log.segment(LARGE + 32 * M, 12 * M).alloc(LARGE + 32 * M, 12 * M, 5)
    log.free(LARGE + 32 * M, 12 * M, 5).add("segment_free", LARGE, 20 * M).alloc(
        LARGE + 32 * M, 12 * M, 5)
    log.events[5]["stream"] = 5
    value = snapshot([segment(LARGE + 32 * M, block(LARGE + 32 * M, 12 * M), stream=5)], log)
    rc, out, err = verify(value)
    ok(rc == 1 and "difference 1: a segment released" in out, "a segment that only we give back",
       out, err)
    # equal blocks: by address the lower, by age the older
    log = Log().segment(LARGE + 32 * M, 12 * M).alloc(LARGE + 32 * M, 12 * M)
    log.segment(LARGE, 12 * M).alloc(LARGE, 12 * M)
    log.free(LARGE, 12 * M).free(LARGE + 32 * M, 12 * M)
    for title, addr, ties, wrong in (("lower", LARGE, "address", "age"),
                                     ("older", LARGE + 32 * M, "age", "address")):
        events = Log()
        events.events = log.events + [{"action": "alloc", "addr": addr, "size": 12 * M, "stream": 0,
                                       "time_us": 2000}]
        other = LARGE + 32 * M if addr == LARGE else LARGE
        value = snapshot([segment(addr, block(addr, 12 * M)),
                          segment(other, hole(other, 12 * M))], events)
        rc, out, err = verify(value)
        ok(rc == 0 and f"the {title} segment first" in out, f"of equal blocks the {title} one", out)
        same(f"--ties {ties} and {wrong}", [verify(value, "--ties", t)[0] for t in (ties, wrong)],
             [0, 1])
    # segments from before the history: the upper one is the older
    events = Log()
    events.events = [{"action": "alloc", "addr": LARGE + 32 * M, "size": 12 * M, "stream": 0,
                      "time_us": 2000}]
    value = snapshot([segment(LARGE, hole(LARGE, 12 * M)),
                      segment(LARGE + 32 * M, block(LARGE + 32 * M, 12 * M))], events)
    rc, out, err = verify(value)
    ok(rc == 0 and "age of 1 segment" in out, "an age that a block tells", out, err)
    # nothing to compare with
    log = Log().alloc(LARGE, 5 * M)
    rc, out, err = verify(snapshot([], log))
    ok(rc == 4 and "none of its 1 allocations is in a segment" in err, "no segments at all", err)
    rc, out, err = call("verify", data=b'{"op":"alloc","id":1,"size":5}\n')
    ok(rc == 4 and "no snapshot of PyTorch" in err, "a trace of another form", err)


# The snapshot in a binary file ----------------------------------------------------------
def frame(payload):
    """A zstd frame of one raw block, RFC 8878."""
    size = len(payload)
    return (b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little")
            + (size << 3 | 1).to_bytes(3, "little") + payload)


def fsb(*blocks):
    """A file of these kinds and payloads, by fragsim-binary(5)."""
    out = b"\x8ffsb\r\n\x1a\n"
    for number, (kind, payload) in enumerate(blocks):
        packed = frame(payload)
        head = kind + b"".join(n.to_bytes(4, "little") for n in (number, len(payload), len(packed)))
        out += head + zlib.crc32(head + packed).to_bytes(4, "little") + packed
    return out


def complete_files():
    plain, path = (os.path.join(FOLDER.name, name) for name in ("plain.fsb", "complete.fsb"))
    data = pickled(basic())
    end = ((b"HEAD", bytes([2, 1, 0, 0, 0, 0, 1, 0])), (b"DONE", b"\0"))
    outputs = [call(*words, data=data) for words in (("run",), ("explain",), ("verify",))]
    for title, blocks in (("in one block", [data]), ("in three", [data[:9], data[9:50], data[50:]])):
        made = fsb(*((b"snap", x) for x in blocks), *end)
        same(f"a snapshot {title}", [call(*words, data=made) for words in (("run",), ("explain",), ("verify",))],
             outputs)
    with open(NAME, "wb") as f:
        f.write(data)
    same("what is written", [call("trace", "convert", "-q", *more, NAME, name=to)[0] for more, to in
                             ((["--complete"], path), ([], plain))], [0, 0])
    whole, events = (open(x, "rb").read() for x in (path, plain))
    same("its first block", whole[8:12], b"snap")
    ok(b"snap" not in events[:12], "without --complete there is none")
    rc, _, err = call("verify", name=plain)
    ok(rc == 4 and err.count("\n") == 1 and "--complete" in err, "verify names the option", err)
    again = path + ".fsb"
    same("a complete file is converted to itself", (call("trace", "convert", "-q", "--complete", path, name=again)[0],
                                                    open(again, "rb").read() == whole), (0, True))
    for title, bad in (("cut", whole[:60]), ("cut before its end", whole[:-1]), ("damaged", whole[:60] + b"x" + whole[61:]),
                       ("no snapshot", fsb((b"snap", b'{"op":"alloc","id":1,"size":5}\n'), *end)),
                       ("itself", fsb((b"snap", whole), *end)), ("empty", fsb((b"snap", b""), *end)),
                       ("only a snapshot", fsb((b"snap", data)))):
        rc, _, err = call("run", "-q", data=bad)
        # what is after the header is not read
        ok((rc == 0) == (title == "cut before its end") and rc in (0, 4)
           and err.count("\n") == (rc != 0), f"{title}: refused in one line", rc, err)
    with open(NAME, "wb") as f:
        f.write(data)
    for words, status in ((("--to", "lines"), 2), (("--to", "object"), 2), (("--to", "perfetto"), 2)):
        rc, _, err = call("trace", "convert", "--complete", *words, NAME, name=again)
        ok(rc == status and "--complete" in err, f"--complete {words}", err)
    rc, _, err = call("trace", "convert", "--complete", plain, name=again)
    ok(rc == 4 and "no snapshot" in err, "events alone cannot be complete", err)
    same("and the file is as it was", open(again, "rb").read() == whole, True)


# Bad and malicious files ----------------------------------------------------------------
def refused(title, data, *words):
    try:
        rc, out, err = call("run", "-q", data=data)
    except subprocess.TimeoutExpired:
        rc, out, err = "it took too long", "", ""
    ok(rc == 4 and out == "" and err.count("\n") == 1 and all(w in err for w in words),
       f"refused: {title}", rc, err[:500])


class Call:
    def __reduce__(self):
        return os.system, ("echo pwned",)


def text(s):
    return b"\x8c" + bytes([len(s)]) + s.encode()


def malicious():
    refused("a pickle that calls", pickle.dumps({"segments": [Call()]}, 4), "STACK_GLOBAL")
    refused("a pickle that calls, protocol 2", pickle.dumps({"segments": [Call()]}, 2), "GLOBAL",
            "byte ")
    for opcode, name, rest in ((b"c", "GLOBAL", b"os\nsystem\n"), (b"\x93", "STACK_GLOBAL", b""),
                               (b"R", "REDUCE", b""), (b"i", "INST", b"os\nsystem\n"),
                               (b"o", "OBJ", b""), (b"\x81", "NEWOBJ", b""),
                               (b"\x92", "NEWOBJ_EX", b""), (b"b", "BUILD", b""),
                               (b"\x82", "EXT1", b"\1"), (b"\x83", "EXT2", b"\1\0"),
                               (b"\x84", "EXT4", b"\1\0\0\0"), (b"P", "PERSID", b"x\n"),
                               (b"Q", "BINPERSID", b"")):
        refused(name, b"\x80\x04}(" + text("os") + text("system") + opcode + rest + b".",
                f"byte 16: opcode {name} ", "could name a class or call a function")
    refused("an opcode of other data", b"\x80\x04}C\x01x.", "opcode SHORT_BINBYTES")
    refused("no opcode at all", b"\x80\x04}\xff.", "0xff")
    refused("no snapshot", pickled({"hello": 1}), "neither")
    refused("a number", pickled(5), "neither")

    refused("deep lists", b"\x80\x04" + b"]" * 200000 + b"a" * 199999 + b".", "nested deeper")
    refused("deep marks", b"\x80\x04" + b"(" * 200000 + b".", "nested deeper")
    refused("deep tuples", b"\x80\x04)" + b"\x85" * 200000 + b".", "nested deeper")
    refused("deep JSON", b'{"segments":' + b"[" * 200000, "nested deeper")
    refused("a memo number out of nowhere", b"\x80\x04]r\xff\xff\xff\x7f.", "memo number")
    refused("a memo number never given", b"\x80\x04]q\x01h\x00.", "never given")
    refused("a huge string", b"\x80\x04X\xff\xff\xff\xff.", "truncated")
    refused("a huge string of 8 bytes", b"\x80\x04\x8d" + b"\xff" * 8, "truncated")
    refused("a huge frame", b"\x80\x04\x95" + b"\xff" * 8 + b"].", "truncated")
    refused("a huge integer", b"\x80\x04\x8a\xff" + b"\1" * 255 + b".", "64 bits")
    refused("members for a list", b"\x80\x04](K\1K\2u.", "no dict")
    refused("a key without a value", b"\x80\x04}(K\1u.", "key")
    refused("items beyond a mark", b"\x80\x04](a.", "too little")
    refused("an empty stack", b"\x80\x04.", "other than one object")
    refused("two objects", b"\x80\x04]].", "other than one object")

    # lists of lists, each twice in the next: 2^60 in the end, if they were expanded
    bomb = b"\x80\x04}(" + text("x") + b"(]q\0" + b"](h\0h\0eq\0" * 60 + b"t"
    refused("lists that double", bomb + text("segments") + b"h\0u.", "segments[0]")
    # one list of blocks in many segments, and one trace on many devices
    blocks = [block(BASE, 512)] * 1000
    refused("a segment that is there a thousand times",
            pickled([segment(BASE, *blocks[:1])] * 100000 + [1]), "segments[")
    one = Log().alloc(LARGE, 512).events * 1000
    refused("a trace on a thousand devices",
            pickled({"segments": [], "device_traces": [one] * 1024}), "a list is shared")
    refused("a trace on too many devices",
            pickled({"segments": [], "device_traces": [[]] * 2000 + [one]}), "1024")
    refused("many empty lists", b"\x80\x04" + b"]" * 3000000, "truncated")
    refused("many references", b"\x80\x04]q\0" + b"h\0" * 3000000, "truncated")

    value = basic()
    for change, words in (
            (lambda v: v["segments"][0].pop("address"), ('segments[0]', '"address" is missing')),
            (lambda v: v["segments"][0].update(total_size=-1), ("segments[0]", "total_size")),
            (lambda v: v["segments"][1]["blocks"][0].update(size=99 * M), ("segments[1]", "outside")),
            (lambda v: v["segments"][1]["blocks"][0].update(state="odd"), ("segments[1]", "state")),
            (lambda v: v["segments"].append(5), ("segments[2]",)),
            (lambda v: v["device_traces"][0][1].pop("size"), ("device_traces[0][1]", '"size"')),
            (lambda v: v["device_traces"][0][1].update(addr="x"), ("device_traces[0][1]", '"addr"')),
            (lambda v: v["device_traces"][0].append({}), ("device_traces[0][7]", "action")),
            (lambda v: v["segments"][0].update(device=5000), ("segments[0]", "device"))):
        value = basic()
        change(value)
        refused(" ".join(words), pickled(value), *words)
    refused("a page without a snapshot", b"<html></html>", "base64")
    refused("a page with bad base64", b'<html>"base64": "gAS$"', "base64")
    refused("a page cut short", page(pickled(basic()))[:-60], "truncated")


def flattened(value):
    """The frames as torch_npu and some viewers write them."""
    if isinstance(value, list):
        return [flattened(x) for x in value]
    if not isinstance(value, dict):
        return value
    return {key: [f"{f['filename']}:{f['line']}:{f['name']}" for f in part] if key == "frames"
            else flattened(part) for key, part in value.items()}


def other_devices():
    """Advice in the words of the device; all else is as of a twin on CUDA."""
    with gzip.open(os.path.join(CORPUS, "oom_fragmentation.pickle.gz")) as f:
        value = pickle.load(f)
    del value["allocator_settings"]

    def under(folder):
        wrap = {"name": "wrap", "line": 12, "filename": f"/usr/lib/python3/dist-packages/{folder}/a.py"}
        return {**value, "device_traces": [[{**e, "frames": [wrap, *e["frames"]]} if "frames" in e else e
                                            for e in log] for log in value["device_traces"]]}

    for device, variable, module, other, twin in (
            ("HIP", "PYTORCH_HIP_ALLOC_CONF", "torch.cuda", {**value, "torch_version": "2.12.1+rocm7.0"},
             {**value, "torch_version": "2.12.1+cu130"}),
            ("XPU", "PYTORCH_ALLOC_CONF", "torch.xpu",
             {**value, "allocator_settings": {"PYTORCH_ALLOC_CONF": ""}}, value),
            ("XPU", "PYTORCH_ALLOC_CONF", "torch.xpu", {**value, "torch_version": "2.12.1+xpu"},
             {**value, "torch_version": "2.12.1+cu130"}),
            ("torch_npu", "PYTORCH_NPU_ALLOC_CONF", "torch.npu", flattened(under("torch_npu")),
             under("torch_gpu"))):
        for args in (("run", "-p", "pytorch"), ("fit",), ("explain", "-v"), ("leaks",)):
            if args[0] == "explain" and device == "torch_npu":
                continue            # one setting less is simulated
            ours, theirs = (call(*args, data=pickle.dumps(x)) for x in (other, twin))
            wanted = [x if isinstance(x, int) else
                      x.replace("PYTORCH_CUDA_ALLOC_CONF", variable).replace("torch.cuda.e", module + ".e")
                      for x in theirs]
            wanted = [x if isinstance(x, int) else
                      re.sub(r"(  evidence  [^;\n]*PyTorch[^;\n]*)",
                             rf"\1 for CUDA; not compared with the allocator of {device}", x)
                      for x in wanted]
            # a setting that the device lacks is none of the candidates, so another one may be named
            ours, wanted = ([x if isinstance(x, int) else re.sub(
                r"^(AT LEAST|  set |  also |setting |result |OOM  |fits  |default  |[a-z_]+:).*\n", "", x, flags=re.M)
                for x in both] for both in (ours, wanted))
            same(f"{device}: {args[0]} in its words", ours, wanted)
        call("trace", "info", data=pickle.dumps(other))
        call("trace", "convert", "-q", NAME, name=NAME + ".ndjson")
        rc, out, err = call("run", "--device-bytes", "1300MiB", name=NAME + ".ndjson")
        ok(f"{variable}=" in out or device == "HIP", f"{device}: of a trace made from it", out, err)
        rc, out, err = call("fit", "--settings", "short", "--json", "-", data=pickle.dumps(other))
        found = json.loads(out)
        conf = [x["alloc_conf"] for x in found["settings"] if x["status"] != "skipped"]
        lacking = [x for x in conf for word in ("large_segment", "fraction", *(
            ("roundup", "True,", ",expandable") if device == "torch_npu" else ())) if word in x]
        same(f"{device}: no setting that it lacks", [len(conf) > 1, lacking],
             [True, lacking if device == "HIP" else []], conf)


def string_frames():
    """A snapshot whose frames are strings is its twin with dicts, in every answer."""
    for name in ("gpt_checkpoint", "oom_fragmentation", "two_streams"):
        with gzip.open(os.path.join(CORPUS, f"{name}.pickle.gz")) as f:
            value = pickle.load(f)
        twins = [value, flattened(value)]
        for args in (("trace", "info"), ("leaks",), ("explain", "--at", "peak", "--json", "-"),
                     ("run", "-v", "-p", "pytorch")):
            dicts, strings = (call(*args, data=pickle.dumps(x)) for x in twins)
            same(f"string frames: {args[0]} of {name}", strings, dicts)
    odd = [["one.py"], ["a:b::c"], ["C:\\x.py:7:f:8:g"], [""], [":3:"], ["x.py:99999999999999999999:f"]]
    for frames in odd:
        log = Log(frames=frames).segment(LARGE, 20 * M).alloc(LARGE, 2 * M)
        value = snapshot([segment(LARGE, block(LARGE, 2 * M), hole(LARGE + 2 * M, 18 * M))], log)
        call("trace", "info", data=pickled(value))
        rc, out, err = call("trace", "convert", "-q", NAME, name="-")
        tag = [json.loads(line).get("tag") for line in out.splitlines()][-1]
        same(f"string frames: the tag of {frames[0]!r}", tag,
             {"C:\\x.py:7:f:8:g": "C:\\x.py:7 f:8:g", "": None, ":3:": None}.get(frames[0], frames[0]))


def cut_short():
    """A run is cheap, but not free: every byte of the smallest, and of a larger one some."""
    wrong = []
    for data, step in ((pickled({"segments": [], "device_traces": [Log().alloc(1, 2).events]}), 1),
                       (pickled(basic(), 2), 97), (json.dumps(basic()).encode(), 211)):
        for n in range(0, len(data), step):
            rc, out, err = call("run", "-q", data=data[:n])
            if rc != 4 or err.count("\n") != 1:
                wrong.append((n, rc, err))
    ok(not wrong, "refused: cut short at every byte", wrong[:3])


def scrambled():
    """Events in any order contradict each other, and still make a trace."""
    wrong, value = [], basic()
    events = value["device_traces"][0]
    for i in range(len(events)):
        for j in range(len(events)):
            mixed = list(events)
            mixed.insert(j, mixed.pop(i))
            if (i + j) % 3 == 0:
                mixed = mixed[:j] + mixed[j + 1:]
            value["device_traces"][0] = mixed
            rc, out, err = call("run", "-p", "pytorch", "-q", "--check", data=pickled(value))
            if rc:
                wrong.append((i, j, rc, err))
    ok(not wrong, "events that contradict each other still make a trace", wrong[:3])


for part in (forms, states, pending, layouts, words, ring, host, host_alone, differences, complete_files,
             malicious, string_frames, other_devices,
             cut_short, scrambled):
    part()
FOLDER.cleanup()
sys.exit(TAP.finish())
