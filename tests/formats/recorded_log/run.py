#!/usr/bin/python3
"""run.py - a recording is compared with its own log, and a change of settings is found there.

usage: run.py PROGRAM

program.py recorded the snapshots here, under real PyTorch on a fake runtime; what it reserved, and
the device on which it completes, is what PyTorch printed:

    roundup      2.15.0  3 roundup_power2_divisions:4 Adam
    expandable   2.9.1   3 roundup_power2_divisions:4 SGD   after expandable_segments:True
    unknown      2.15.0  3 roundup_power2_divisions:8 SGD   after max_split_size_mb:21,
                                                            roundup_power2_divisions:64
"""
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from program import call  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
M = 1 << 20
ok, same = TAP.ok, TAP.same
AGREES = {"agrees": True, "differs_from": None, "differences": 0}


def document(*args):
    rc, out, err = call(*args, "--json", "-", "-q")
    return json.loads(out) if rc == 0 else {"failed": err}


def found(trace):
    return {key: trace["recorded_log"][key] for key in AGREES}


def changed(name, reserved, smallest, before):
    """PyTorch's own reserved bytes, and the device on which it completed and 2 MiB less failed."""
    path = str(HERE / f"{name}.pickle.gz")
    after = "roundup_power2_divisions:4"
    run = document("run", path)
    log = run["trace"]["recorded_log"]
    same(f"{name}: run agrees", found(run["trace"]), AGREES)
    ok(log["settings_changed_to"].startswith(after) and log["settings_changed_at"],
       f"{name}: the change is found", log)
    same(f"{name}: run reserves what PyTorch reserved",
         [run["runs"][0]["peak"]["reserved"], run["runs"][0]["last"]["reserved"]], [reserved] * 2)
    ok("in which the settings change at event" in run["runs"][0]["evidence"]
       and "exact" not in run["runs"][0]["evidence"], f"{name}: the evidence says so", run)
    same(f"{name}: the smallest device",
         [f["smallest"] for f in document("fit", path)["fits"] if f["alloc_conf"] == before],
         [smallest])
    same(f"{name}: verify", call("verify", path, "-q")[0], 0)
    for form in "lines", "fsb":
        call("trace", "convert", "-q", "-t", form, path, "copy")
        same(f"{name}: run of it in form {form}",
             document("run", "copy")["runs"][0]["peak"]["reserved"], reserved)
    by_others(name, path, reserved)
    for command in "explain", "leaks", "fit":
        got = document(command, *(("--at", "peak") if command == "explain" else ()), path)
        trace = got.get("trace") or got.get("traces", [{}])[0]
        same(f"{name}: {command} has it", trace.get("recorded_log"), log, got)


def by_others(name, path, reserved):
    """Commands that read many files find the change too."""
    rc, _, err = call("trace", "merge", "-q", path, path, "merged.ndjson")
    peaks = [r["peak"]["reserved"] for r in document("run", "merged.ndjson")["runs"]]
    same(f"{name}: merged", [rc, peaks], [0, [reserved] * 2], err)
    got = document("ranks", path, path)
    same(f"{name}: ranks", [r["reserved"] for r in got["ranks"]], [reserved] * 2, got)
    given = "pytorch:version=" + ("2.15" if name == "roundup" else "2.9")
    given += ",expandable_segments=true" if name == "expandable" else ""
    got = document("diff", "-p", given, "-p", "bestfit", path)
    same(f"{name}: diff of policies", got["traces"][0]["runs"][0]["figures"]["peak.reserved"]["value"],
         reserved)
    rc, _, err = call("sweep", "-q", "-p", given, "-o", "swept-" + name, path)
    run = json.loads(Path("swept-" + name, "shard-0-of-1.ndjson").read_text())
    same(f"{name}: sweep", [rc, run["runs"][0]["peak"]["reserved"]], [0, reserved], err)


def unknown():
    """Nobody can guess the settings before: the answer does not claim more than it knows."""
    path = str(HERE / "unknown.pickle.gz")
    run = document("run", path)
    log = run["trace"]["recorded_log"]
    same("unknown: it differs", [log["agrees"], log["settings_changed_at"]], [False, None])
    evidence = run["runs"][0]["evidence"]
    ok(f"differs from the recorded log from event {log['differs_from']} on" in evidence
       and "exact" not in evidence, "unknown: the evidence says so", evidence)
    out = call("trace", "info", path)[1]
    ok(f"recorded log: differs from event {log['differs_from']} on, in {log['differences']} of"
       f" {log['decisions']} decisions" in out, "unknown: info says so", out)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    changed("roundup", 192937984, 170 * M, "")
    changed("expandable", 155189248, 142 * M, "expandable_segments:True")
    unknown()
    os.chdir(HERE)
sys.exit(TAP.finish())
