#!/usr/bin/python3
"""run.py - runs written as PyTorch snapshots and as Chrome traces, read back by others.

usage: run.py PROGRAM

Prints TAP. What is written is held against what `fragsim run` says of the same run, as
recount.py does; snapshots of policy pytorch go through `fragsim verify`; and where
FRAGSIM_MEMORY_VIZ names PyTorch's _memory_viz.py, or python3 has torch, that reads them too.
"""

import gzip
import importlib.util
import json
import lzma
import os
import pickle
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "property"), str(HERE.parents[1] / "support")]

from random_policies import random_options              # noqa: E402
from random_trace import random_trace                   # noqa: E402
from recount import opcodes, recount                    # noqa: E402
from program import PROGRAM, SAN, fragsim, times  # noqa: E402
from tap import Tap                                     # noqa: E402

TRACES = Path(os.environ.get("TRACES") or HERE.parents[2] / "traces")
GOLDENS = HERE.parents[1] / "oracles" / "pytorch"
SEEDS = times(10, 40, 20)

TAP = Tap()
report = TAP.result


def parse(text):
    """All lines of JSON at once, which takes half the time."""
    return json.loads(f"[{','.join(text.splitlines())}]")


def lines_of(path):
    return parse(Path(path).read_text())


def unpickled(path):
    return pickle.loads(Path(path).read_bytes())


def trace_events(path):
    """The trace's events, in the simplest form."""
    done = fragsim("trace", "convert", "-q", "--to", "lines", path, "-")
    return parse(done.stdout.decode())[1:]


def ran(path, policy, *options):
    """Rows and placements of a run, or None where it fails."""
    done = fragsim("run", "-q", "-p", policy, "--steps", "s.ndjson", "--placements", "p.ndjson",
                   *options, path)
    return None if done.returncode not in (0, 3) else (lines_of("s.ndjson"), lines_of("p.ndjson"))


def compare_snapshot(path, policy, *options):
    """The faults of the snapshot of a run; None where the run itself fails."""
    truth = ran(path, policy, *options)
    done = fragsim("trace", "convert", "-q", "-p", policy, *options, path, "o.pickle")
    if truth is None:
        return None if done.returncode else ["written, though run fails"]
    if done.returncode or done.stderr:
        return [f"status {done.returncode}: {done.stderr.decode()}"]
    faults = recount(unpickled("o.pickle"), trace_events(path), *truth,
                     slabs=policy.startswith("sizeclass"))
    return faults or check_opcodes("o.pickle")


def check_opcodes(path):
    try:
        opcodes(Path(path).read_bytes())
    except Exception as fault:          # also of pickletools
        return [fault]
    return []


def compare_perfetto(path, policy, *options):
    """The counters, as they change, against the rows."""
    truth = ran(path, policy, *options)
    done = fragsim("trace", "convert", "-q", "--to", "perfetto", "-p", policy, *options, path, "o.json")
    if truth is None:
        return None if done.returncode else ["written, though run fails"]
    if done.returncode or done.stderr:
        return [f"status {done.returncode}: {done.stderr.decode()}"]
    return judge_perfetto(json.loads(Path("o.json").read_text()), truth[0], trace_events(path))


def judge_perfetto(file, rows, events):
    tracks = {"reserved": ("reserved", "bytes"), "allocated": ("allocated", "bytes"),
              "largest free": ("largest_free", "bytes"), "fi": ("fi", "percent"),
              "fi_device": ("fi_device", "percent")}
    by_time = bool(rows) and rows[0]["t"] is not None
    wanted = {(r["device"] + 1, name): [] for r in rows for name in tracks}
    instants, last, seen = [], 0, {}
    for r in sorted(rows, key=lambda r: (r["step"], r["device"])):
        last = r["t"] if r["t"] is not None else last
        ts = last if by_time else r["step"]
        for name, (metric, _) in tracks.items():
            place = (r["device"] + 1, name)
            if seen.get(place) != r[metric]:
                seen[place] = r[metric]
                wanted[place].append((ts, r[metric]))
        if r["status"] == "oom":
            instants.append((ts, r["device"] + 1, "oom", "out of memory", r["step"]))
        elif r["op"] == "mark":
            instants.append((ts, r["device"] + 1, "mark", events[r["step"]]["name"], r["step"]))
    got = {place: [] for place in wanted}
    happened = []
    for e in file["traceEvents"]:
        if e["ph"] == "C":
            unit = tracks[e["name"]][1]
            value = (e["ts"], e["args"][unit])
            got.setdefault((e["pid"], e["name"]), []).append(value)
        elif e["ph"] == "i":
            happened.append((e["ts"], e["pid"], e["cat"], e["name"], e["args"]["step"]))
    faults = [f"{place}: {a} where {b} is required" for place in wanted
              for a, b in [next(((a, b) for a, b in zip(got[place] + [None], wanted[place] + [None])
                                 if a != b), (None, None))] if a != b]
    if set(got) != set(wanted):
        faults.append(f"tracks {sorted(got)}")
    if happened != instants:
        faults.append(f"instants {happened[:3]} where {instants[:3]} are required")
    if file["otherData"]["time"].startswith("t ") != by_time and rows:
        faults.append(f'time {file["otherData"]["time"]}')
    return faults


# ---------------------------------------------------------------- random runs

def test_random():
    """Every kind of trace under every policy: streams, pools, devices, refusals."""
    runs = {"snapshot": 0, "perfetto": 0}
    faults = {"snapshot": [], "perfetto": []}
    for seed in range(SEEDS):
        Path("t").write_bytes(random_trace(seed, 300 if seed % 3 else None))
        options = random_options(seed)
        at = [i for i, o in enumerate(options) if o == "--policy"]
        policies = [options[i + 1] for i in at]
        rest = [o for i, o in enumerate(options) if i not in at and i - 1 not in at]
        policies.append(["pytorch", "pytorch:expandable_segments=true",
                         "pytorch:max_split_size_mb=20"][seed % 3])
        for policy in policies:
            for form, compare in (("snapshot", compare_snapshot), ("perfetto", compare_perfetto)):
                if form == "perfetto" and seed % 3:
                    continue
                found = compare("t", policy, *rest)
                runs[form] += found is not None
                faults[form] += [f"seed {seed}, {policy} {rest}: {f}" for f in found or []]
    for form in runs:
        if runs[form] < SEEDS // 2:
            faults[form].append(f"only {runs[form]} runs")
        report(f"{form}: {runs[form]} random runs, event by event", faults[form])


# ---------------------------------------------------------------- real traces

def test_real():
    policies = ["bestfit", "sizeclass", "buddy", "direct", "worstfit:segment=20MiB",
                "pytorch", "pytorch:expandable_segments=true",
                "pytorch:roundup_power2_divisions=4", "bfc"]
    names = ["resnet50_train_bs32_fp32", "gpt2_small_train_bs8_seq1024_ckpt"]
    for name in names[:times(1, 2, 1)]:
        trace = TRACES / f"{name}.ndjson.gz"
        if not trace.exists():
            TAP.skip(name, f"no {trace}")
            continue
        for policy in policies:
            faults = compare_snapshot(trace, policy, "--device-bytes", "12GiB") or []
            if policy.startswith("pytorch"):
                faults += verified("o.pickle")
            faults += compare_perfetto(trace, policy, "--device-bytes", "12GiB") or []
            report(f"{name} under {policy}", faults)


def verified(path, *options):
    done = fragsim("verify", *options, path)
    out = done.stdout.decode()
    if done.returncode or " addresses, " not in out:
        return [f"verify: status {done.returncode}: {out} {done.stderr.decode()}"]
    return []


def test_verify():
    """verify simulates pytorch again and compares every address and call of the device."""
    faults, runs = [], 0
    for golden in json.loads((GOLDENS / "INDEX.json").read_text()):
        # the settings are changed in mid-run, which no snapshot tells
        if golden["name"][:3] in ("g16", "g21"):
            continue
        if SAN and golden["name"][:3] not in ("g03", "g09", "g13", "g18"):
            continue
        trace = lzma.open(GOLDENS / f'{golden["trace"]}.trace.xz').read()
        Path("t").write_bytes(trace)
        done = fragsim("trace", "convert", "-q", "--device-bytes", golden["total_bytes"], "--on-oom",
                       "continue", "--alloc-conf", golden["alloc_conf"], "t", "o.pickle")
        found = verified("o.pickle", "--device-bytes", golden["total_bytes"])
        if done.returncode:
            found.append(done.stderr.decode())
        settings = unpickled("o.pickle")["allocator_settings"]
        if not golden["alloc_conf"] and settings["PYTORCH_CUDA_ALLOC_CONF"]:
            found.append(settings)
        faults += [f'{golden["name"]}: {f}' for f in found]
        runs += 1
    report(f"verify agrees on {runs} runs of policy pytorch", faults)
    # and it can tell: one block put elsewhere
    snapshot = unpickled("o.pickle")
    entry = next(e for e in snapshot["device_traces"][0] if e["action"] == "alloc")
    entry["addr"] += 512
    Path("x.pickle").write_bytes(pickle.dumps(snapshot))
    done = fragsim("verify", "x.pickle")
    report("verify sees a block that is moved", [] if done.returncode == 1 else [done.stdout])


# ---------------------------------------------------------------- by hand

SMALL = """{"format":"fragsim-trace","version":1,"device":{"total_bytes":8388608,"name":"A \\"G\\""}}
{"op":"mark","name":"epoch (start)","t":5}
{"op":"alloc","id":"w","size":1000,"t":10.75,"tag":"net.py:42 forward < train.py:7 <module>"}
{"op":"alloc","id":2,"size":0,"t":11}
{"op":"alloc","id":"x","size":3145728,"stream":3,"t":12,"tag":"conv1.weight"}
{"op":"free","id":"w","pending":true,"t":13}
{"op":"alloc","id":"y","size":6291456,"t":14,"tag":"conv1.weight"}
{"op":"complete","id":"w"}
{"op":"mark","name":"caf\\u00e9","t":16}
"""


def dicts(snapshot):
    keys = ("action", "addr", "device_free", "size", "stream", "time_us")
    return [tuple(e[k] for k in keys if k in e) for e in snapshot["device_traces"][0]]


def test_by_hand():
    """Each number from paper: bestfit takes 2 MiB for 1000 bytes, 4 MiB for 3 MiB, and has none
    of the 6 MiB that come then."""
    base, mib = 1 << 44, 1 << 20
    Path("small").write_text(SMALL)
    done = fragsim("trace", "convert", "-p", "bestfit", "small", "o.pickle")
    got = dicts(unpickled("o.pickle"))
    wanted = [("annotate", 0, 0, 0, 5),
              ("segment_alloc", base, 2 * mib, 0, 10), ("alloc", base, 1000, 0, 10),
              ("segment_alloc", base + 2 * mib, 4 * mib, 3, 12),
              ("alloc", base + 2 * mib, 3 * mib, 3, 12),
              ("free_requested", base, 1000, 0, 13),
              ("oom", 2 * mib, 6 * mib, 0, 14)]
    told = done.stderr.decode()
    faults = [f"got {got}", f"wanted {wanted}"] if got != wanted else []
    if "OOM at event 5 on device 0" not in told or told.count("\n") != 2:
        faults.append(told)
    report("snapshot: a run by hand, to its out-of-memory", faults)

    done = fragsim("trace", "convert", "-q", "-p", "bestfit", "--on-oom", "continue", "small", "o.pickle")
    snapshot = unpickled("o.pickle")
    wanted += [("free_completed", base, 1000, 0, 14), ("annotate", 0, 0, 0, 16)]
    got = dicts(snapshot)
    report("snapshot: and behind it", [f"got {got}", f"wanted {wanted}"] if got != wanted else [])

    stack = [{"filename": "net.py", "line": 42, "name": "forward"},
             {"filename": "train.py", "line": 7, "name": "<module>"}]
    log = snapshot["device_traces"][0]
    last = [{"device": 0, "address": base, "total_size": 2 * mib, "allocated_size": 0,
             "active_size": 0, "requested_size": 0, "stream": 0, "segment_type": "small",
             "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
             "blocks": [{"address": base, "size": 2 * mib, "requested_size": 0,
                         "state": "inactive", "frames": []}]},
            {"device": 0, "address": base + 2 * mib, "total_size": 4 * mib,
             "allocated_size": 3 * mib, "active_size": 3 * mib, "requested_size": 3 * mib,
             "stream": 3, "segment_type": "large", "segment_pool_id": (0, 0),
             "is_expandable": False, "frames": [],
             "blocks": [{"address": base + 2 * mib, "size": 3 * mib, "requested_size": 3 * mib,
                         "state": "active_allocated",
                         "frames": [{"filename": "tag", "line": 0, "name": "conv1.weight"}]},
                        {"address": base + 5 * mib, "size": mib, "requested_size": 0,
                         "state": "inactive", "frames": []}]}]
    notes = [{"name": "epoch", "stage": "START", "device": 0, "time_us": 5},
             {"name": "caf\u00e9", "device": 0, "time_us": 16}]
    origin = {"version": snapshot["allocator_settings"]["fragsim"]["version"],
              "policy": "bestfit",
              "params": {"align": "512", "segment": str(2 * mib), "pool": "0", "min_split": "512",
                         "release": "true"}, "time": "t",
              "devices": [{"name": 'A "G"', "total_bytes": 8 * mib, "context_bytes": 0,
                           "other_bytes": 0, "granularity_bytes": 2 * mib}]}
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "fragsim": origin}
    faults = []
    for what, got, wanted in (("segments", snapshot["segments"], last),
                              ("annotations", snapshot["external_annotations"], notes),
                              ("settings", snapshot["allocator_settings"], settings),
                              ("frames", [log[2]["frames"], log[5]["frames"]], [stack, stack]),
                              ("note", log[0]["user_metadata"], "epoch (start)"),
                              ("keys", set(snapshot), {"segments", "device_traces",
                                                       "allocator_settings",
                                                       "external_annotations"})):
        if got != wanted:
            faults.append(f"{what}: {got} where {wanted} is required")
    report("snapshot: the last state, stacks, marks and settings", faults)
    done = fragsim("run", "-p", "bestfit", "--on-oom", "continue", "--device-bytes", "8MiB", "-q",
                   "--json", "-", "o.pickle")
    run = json.loads(done.stdout)["runs"][0]
    faults = [] if run["peak"]["reserved"] == 6 * mib and run["counts"]["ooms"] == 1 \
        and [m["name"] for m in run["marks"]] == ["epoch (start)", "caf\u00e9"] else [run]
    tags = [e.get("tag") for e in trace_events("o.pickle") if e["op"] == "alloc"]
    if tags != ["net.py:42 forward", "conv1.weight", "conv1.weight"]:
        faults.append(tags)
    report("snapshot: it is a trace again", faults)


def test_hole():
    """A range of three pages, of which the middle one is given back."""
    base, page = 1 << 44, 20 << 20
    events = [*({"op": "alloc", "id": i, "size": page} for i in range(3)),
              {"op": "free", "id": 1}, {"op": "empty_cache"}]
    Path("t").write_text("".join(json.dumps(e) + "\n" for e in events))
    done = fragsim("trace", "convert", "-q", "--alloc-conf", "expandable_segments:True", "t", "o.pickle")
    snapshot = unpickled("o.pickle")
    got = dicts(snapshot)
    wanted = []
    for i in range(3):
        wanted += [("segment_map", base + i * page, page, 0, i),
                   ("alloc", base + i * page, page, 0, i)]
    wanted += [(f"free_{what}", base + page, page, 0, 3) for what in ("requested", "completed")]
    wanted += [("segment_unmap", base + page, page, 0, 4)]
    faults = [f"got {got}", f"wanted {wanted}"] if got != wanted else []
    got = [(s["address"], s["total_size"], s["is_expandable"], len(s["blocks"]))
           for s in snapshot["segments"]]
    wanted = [(base, page, True, 1), (base + 2 * page, page, True, 1)]
    faults += [f"got {got}", f"wanted {wanted}"] if got != wanted else []
    if done.stderr or "expandable_segments:True" != \
            snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"]:
        faults.append(done.stderr)
    report("snapshot: the hole in a range", faults + verified("o.pickle"))


def test_perfetto_by_hand():
    mib = 1 << 20
    Path("small").write_text(SMALL)
    fragsim("trace", "convert", "-q", "--to", "perfetto", "--on-oom", "continue", "small", "o.json")
    file = json.loads(Path("o.json").read_text())
    got = [(e["name"], e["ts"], *e["args"].values()) for e in file["traceEvents"]
           if e["ph"] == "C" and e["name"] in ("reserved", "largest free", "fi_device")]
    # of 8 MiB nothing is taken first; fi_device knows one piece only until 3 MiB pin 1 MiB down
    wanted = [("reserved", 5, 0), ("largest free", 5, 0), ("fi_device", 5, 0),
              ("reserved", 10.75, 2 * mib), ("largest free", 10.75, 2 * mib - 1024),
              # 6 MiB of the device, 2 MiB less 1024 bytes of our own
              ("fi_device", 10.75, round(100 * (1 - 6 * mib / (8 * mib - 1024)), 4)),
              ("reserved", 12, 6 * mib),
              ("fi_device", 12, round(100 * (1 - 2 * mib / (5 * mib - 1024)), 4)),
              # freed: 2 MiB whole, 2 MiB of the device; 1 MiB is non_releasable
              ("largest free", 14, 2 * mib), ("fi_device", 14, 20.0)]
    faults = [f"got {got}", f"wanted {wanted}"] if got != wanted else []
    report("perfetto: counters by hand", faults)
    faults = []
    oom = [e for e in file["traceEvents"] if e.get("cat") == "oom"]
    if oom != [{"ph": "i", "pid": 1, "tid": 0, "ts": 14, "s": "p", "cat": "oom",
                "name": "out of memory", "args": {"step": 5, "id": "y", "size": 6 * mib,
                                                  "tried": 6 * mib, "device_free": 2 * mib}}]:
        faults.append(oom)
    names = [e["args"]["name"] for e in file["traceEvents"] if e["ph"] == "M"]
    if names != ['device 0: A "G"']:
        faults.append(names)
    if file["otherData"]["policy"] != "bestfit" \
            or file["otherData"]["params"]["segment"] != str(2 * mib):
        faults.append(file["otherData"])
    report("perfetto: what happened, on which device, under what", faults)


def test_shapes():
    """Traces of no steps, of many tags, of huge ranges; names of files."""
    Path("empty").write_text('{"format":"fragsim-trace","version":1,"events":[]}')
    done = fragsim("trace", "convert", "empty", "o.pickle")
    snapshot = unpickled("o.pickle")
    faults = [] if done.returncode == 0 and snapshot["device_traces"] == [[]] \
        and snapshot["segments"] == [] and snapshot["external_annotations"] == [] else [snapshot]
    done = fragsim("trace", "convert", "--to", "perfetto", "empty", "o.json")
    if "time" not in json.loads(Path("o.json").read_text())["otherData"]:
        faults.append(done.stderr)
    report("a trace of no steps", faults)

    # more stacks than have a number at once, each used again in the same order: none is known
    tags = [f"layer{i}" for i in range(6000)]
    with open("t", "w") as f:
        for turn in range(2):
            for i, tag in enumerate(tags):
                f.write(json.dumps({"op": "alloc", "id": f"{turn} {i}", "size": 512,
                                    "tag": tag}) + "\n")
        f.write(json.dumps({"op": "alloc", "id": 1, "size": 512, "tag": "y" * 100000}) + "\n")
        f.write(json.dumps({"op": "alloc", "id": 2, "size": 512, "tag": "y" * 100000}) + "\n")
        f.write(json.dumps({"op": "alloc", "id": 3, "size": 512, "tag": "a:0 b < c:1 < :2 d < e:3 "}))
    report("more tags than memo numbers", compare_snapshot("t", "bestfit"))

    for name, opener in (("o.pickle.gz", gzip.decompress), ("o.pickle", bytes)):
        fragsim("trace", "convert", "empty", name)
        faults = [] if pickle.loads(opener(Path(name).read_bytes())) == snapshot else [name]
        report(f"the name {name} says it all", faults)
    done = fragsim("trace", "convert", "--to", "snapshot", "empty", "-")
    faults = [] if pickle.loads(done.stdout) == snapshot else [done.stderr]
    fragsim("trace", "convert", "--to", "perfetto", "empty", "o.json.zst")
    if Path("o.json.zst").read_bytes()[:4] != b"\x28\xb5\x2f\xfd":
        faults.append("no zstd")
    report("standard output, and zstd", faults)

    # 1 TiB that is mapped page by page of an unlimited device, and more than a range has
    Path("t").write_text('{"op":"alloc","id":1,"size":"80T"}')
    done = fragsim("trace", "convert", "-p", "pytorch:expandable_segments=true", "t", "no.pickle")
    told = done.stderr.decode()
    report("a range that is too large for its addresses",
           [] if done.returncode == 6 and "64 TiB" in told and told.count("\n") == 1
           and not Path("no.pickle").exists() else [told])
    with open("t", "w") as f:
        for i in range(600):
            f.write('{"op":"alloc","id":%d,"size":%d}\n{"op":"free","id":%d}\n'
                    % (i, 2**53 - 2**30, i))
    done = fragsim("trace", "convert", "-p", "direct", "t", "no.pickle")
    told = done.stderr.decode()
    report("no addresses left", [] if done.returncode == 6 and "no addresses left" in told
           and told.count("\n") == 1 and not Path("no.pickle").exists() else [told])


def test_again():
    """A snapshot's own run, written again: the state that it begins with is not made up."""
    Path("small").write_text("".join(json.dumps(e) + "\n" for e in (
        {"op": "alloc", "id": 1, "size": 5000, "stream": 7, "tag": "old"},
        {"op": "alloc", "id": 2, "size": 30 << 20, "tag": "large"},
        {"op": "alloc", "id": 3, "size": 700, "pool": "graph"},
        {"op": "free", "id": 1}, {"op": "alloc", "id": 4, "size": 9000, "stream": 7},
        {"op": "free", "id": 2}, {"op": "alloc", "id": 5, "size": 20 << 20})))
    fragsim("trace", "convert", "-q", "-p", "pytorch", "small", "a.pickle")
    first = unpickled("a.pickle")
    # the first three requests and their segments become what was there before
    first["device_traces"][0] = first["device_traces"][0][6:]
    Path("b.pickle").write_bytes(pickle.dumps(first, 4))
    done = fragsim("trace", "convert", "-q", "-p", "pytorch", "b.pickle", "c.pickle")
    second = unpickled("c.pickle")

    def told(snapshot):
        return [(e["action"], e["addr"], e["size"], e["stream"])
                for e in snapshot["device_traces"][0]]

    def last(snapshot):
        return [(s["address"], s["total_size"], s["stream"], s["segment_type"],
                 s["segment_pool_id"], [(b["address"], b["state"]) for b in s["blocks"]])
                for s in snapshot["segments"]]

    faults = [f"got {a}, wanted {b}" for a, b in ((told(second), told(first)),
                                                  (last(second), last(first))) if a != b]
    faults += verified("c.pickle")
    if done.stderr:
        faults.append(done.stderr)
    report("a history that begins in mid-run does so again", faults)


# ---------------------------------------------------------------- refusals

def test_wrong_use():
    Path("small").write_text(SMALL)
    for what, args in (
            ("a form that does not exist", ("--to", "xml", "small", "o")),
            ("a name of no form", ("small", "o.svg")),
            ("two policies", ("-p", "buddy", "-p", "direct", "small", "o.pickle")),
            ("a policy for a form of the trace", ("-p", "buddy", "small", "o.ndjson")),
            ("a capacity for a form of the trace", ("--device-bytes", "1G", "small", "o.fsb")),
            ("a policy that does not exist", ("-p", "best", "small", "o.pickle")),
            ("settings for another policy", ("-p", "buddy", "--alloc-conf", "x:1", "small",
                                             "o.pickle")),
            ("a size that is none", ("--device-bytes", "much", "small", "o.pickle"))):
        done = fragsim("trace", "convert", *args)
        told = done.stderr.decode()
        report(f"wrong use: {what}", [] if done.returncode == 2 and told.count("\n") == 1
               and told.startswith("fragsim: ") else [f"{done.returncode}: {told!r}"])


def test_failures():
    Path("small").write_text(SMALL)
    Path("bad").write_text(SMALL + '{"op":"free","id":"w"}\n')
    for form in ("snapshot", "perfetto"):
        Path("kept").write_text("as it was")
        before = sorted(os.listdir("."))
        done = fragsim("trace", "convert", "--to", form, "--on-oom", "continue", "bad", "kept")
        faults = [] if done.returncode == 4 and b"event 8" in done.stderr else [done.stderr]
        if Path("kept").read_text() != "as it was" or sorted(os.listdir(".")) != before:
            faults.append("a file was touched, or left")
        report(f"{form}: a bad trace leaves the old file", faults)
        done = fragsim("trace", "convert", "--to", form, "small", "no/where")
        report(f"{form}: a folder that is not there",
               [] if done.returncode == 6 and done.stderr.count(b"\n") == 1 else [done.stderr])
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, "trace", "convert", "-q", "--to", form, "small", "-"],
                                      stdout=full, stderr=subprocess.PIPE, check=False)
            report(f"{form}: a full disk", [] if done.returncode == 6
                   and done.stderr.count(b"\n") == 1 else [done.stderr])

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    Path("t").write_text("".join('{"op":"alloc","id":%d,"size":512,"device":%d}\n' % (i, i % 2)
                                 for i in range(20000)).replace(
        '{"op"', '{"format":"fragsim-trace","version":1,"devices":[{},{}]}\n{"op"', 1))
    for form in ("snapshot", "perfetto"):
        before = sorted(os.listdir("."))
        done = fragsim("trace", "convert", "--to", form, "t", "new", preexec_fn=limit)
        report(f"{form}: no room for the file or its parts",
               [] if done.returncode == 6 and sorted(os.listdir(".")) == before
               else [done.returncode, done.stderr, set(os.listdir(".")) - set(before)])


def test_same():
    """The same trace gives the same bytes."""
    Path("t").write_bytes(random_trace(4, 400))
    faults = []
    for form in ("snapshot", "perfetto"):
        for name in ("1", "2"):
            fragsim("trace", "convert", "-q", "--to", form, "-p", "sizeclass", "t", form + name)
        if Path(form + "1").read_bytes() != Path(form + "2").read_bytes():
            faults.append(form)
    report("the same trace gives the same bytes", faults)


# ---------------------------------------------------------------- PyTorch's own reader

def find_viewer():
    path = os.environ.get("FRAGSIM_MEMORY_VIZ")
    if not path:
        torch = importlib.util.find_spec("torch")
        path = torch and torch.origin and str(Path(torch.origin).parent / "cuda/_memory_viz.py")
    return path if path and os.path.exists(path) else None


def test_viewer():
    path = find_viewer()
    name = "PyTorch's _memory_viz.py reads it"
    if not path:
        TAP.skip(name, "no torch, and FRAGSIM_MEMORY_VIZ does not name the file")
        return
    spec = importlib.util.spec_from_file_location("_memory_viz", path)
    viewer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(viewer)
    trace = TRACES / "resnet50_train_bs32_fp32.ndjson.gz"
    for policy in ("bestfit", "sizeclass", "pytorch", "pytorch:expandable_segments=true"):
        fragsim("trace", "convert", "-q", "-p", policy, trace, "o.pickle")
        snapshot = unpickled("o.pickle")
        rows, _ = ran(trace, policy)
        report(f"{name}: {policy}", look(viewer, snapshot, rows))


def look(viewer, snapshot, rows):
    faults = []
    stats = viewer.segsum(snapshot)
    for line in (f'total_reserved: {viewer._format_size(rows[-1]["reserved"])}',
                 f'total_allocated: {viewer._format_size(rows[-1]["requested"])}'):
        if line not in stats:
            faults.append(f"{line} is not in {stats}")
    text = viewer.trace(snapshot)
    marks = [a["name"] for a in snapshot["external_annotations"]]
    if [line for line in text.splitlines() if line.startswith("# annotate")] \
            != [f"# annotate 0: {name}" for name in marks]:
        faults.append("trace: other marks")
    if text.count(" = cudaMalloc(") != sum(e["action"] == "segment_alloc"
                                           for e in snapshot["device_traces"][0]):
        faults.append("trace: other calls of cudaMalloc")
    for flame in (viewer.segments, viewer.memory):
        lines = flame(snapshot, format_flamegraph=lambda lines: lines).splitlines()
        if sum(int(line.rsplit(" ", 1)[1]) for line in lines) != rows[-1]["reserved"]:
            faults.append(f"{flame.__name__}: other bytes than are reserved")
    Path("page.html").write_text(viewer.trace_plot(snapshot))
    done = fragsim("trace", "info", "page.html")
    if done.returncode or b"PyTorch snapshot" not in done.stdout:
        faults.append(done.stderr or done.stdout)
    return faults


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        test_by_hand()
        test_hole()
        test_perfetto_by_hand()
        test_shapes()
        test_again()
        test_same()
        test_wrong_use()
        test_failures()
        test_real()
        test_verify()
        test_viewer()
        test_random()
        os.chdir("/")
    sys.exit(TAP.finish())


main()
