#!/usr/bin/python3
"""run.py - what PyTorch recorded, run again: the default policy and the answers that depend on it.

usage: run.py PROGRAM

The expectations are arithmetic on small snapshots, which are written for the purpose.
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "snapshot"), str(HERE.parents[1] / "support")]
from snaps import (K, LARGE, M, SMALL, Log, basic, block, hole, pickled, segment,  # noqa: E402
                   snapshot)
from program import call  # noqa: E402
from tap import Tap                                     # noqa: E402

TAP = Tap()
ok, same = TAP.ok, TAP.same


def write(name, value):
    Path(name).write_bytes(value if isinstance(value, bytes) else
                           value.encode() if isinstance(value, str) else pickled(value))


def result(name, *args):
    rc, out, err = call("run", "-q", "--json", "-", *args, name)
    ok(rc in (0, 3), f"{name}: it runs", err)
    return json.loads(out)["runs"] if rc in (0, 3) else []


def policy(name, *args):
    return result(name, *args)[0]["policy"]


def travels():
    """The release of the trace is that of every run which nobody gave a policy."""
    names = {"pinned_num_register_threads": 1}
    value = basic()
    value["torch_version"] = "2.8.0+cu128"
    write("exact", value)
    value = basic()
    value["allocator_settings"].update(names)
    write("range", value)
    call("trace", "convert", "exact", "exact.ndjson")
    call("trace", "convert", "range", "range.ndjson")
    for name, title in (("exact", "2.8"), ("range", "2.1 to 2.8")):
        for path in (name, f"{name}.ndjson"):
            for args, row in (((), ""), (("--alloc-conf", "max_split_size_mb:64"),
                                         " max_split_size_mb:64")):
                same(f"{path}, {args}: the rules", policy(path, *args)["params"]["version"], "2.8")
                for command in ("run", "fit"):
                    _, out, err = call(command, *args, path)
                    ok(re.search(f"^(fits|ok|) *pytorch {title}{row}  " if command == "run"
                                 else f"^  evidence  PyTorch {title}[,:]", out, re.M),
                       f"{command} {path}, {args}: the table names the release", out, err)
        meta = json.loads(Path(f"{name}.ndjson").read_text().splitlines()[0])["meta"]
        same(f"{name}: what is written names it", meta["pytorch"], title)
    for args in (("run",), ("fit",), ("explain",), ("plan",), ("ranks",), ("predict",)):
        rc, _, err = call(*args, "--alloc-conf", "large_segment_size_mb:32", "exact",
                          *(["--scale", "2"] if args == ("predict",) else []))
        ok(rc == 2 and "PyTorch 2.8: Unrecognized CachingAllocator option" in err,
           f"{args[0]}: a setting that the release refuses", rc, err)
    same("a policy that is given keeps its own rules",
         policy("exact", "-p", "pytorch", "--alloc-conf", "large_segment_size_mb:32")["params"]
         .get("version", "2.15"), "2.15")
    value["torch_version"] = "2.15.0"
    write("other", value)
    for both, wanted in ((("exact", "range"), "2.8"), (("exact", "other"), None),
                         (("other", "other"), "2.15")):
        _, _, err = call("trace", "merge", *both, "both.ndjson")
        meta = json.loads(Path("both.ndjson").read_text().splitlines()[0])["meta"]
        same(f"of {both} what all allow is left", meta.get("pytorch"), wanted)
        same("a contradiction is told", "different releases of PyTorch" in err, wanted is None)
    for text in ("2.9 to", "2.9 to 2.8", "2.9 to x", " to 2.9", "2.9to2.10"):
        write("odd.ndjson", HEADER % json.dumps({"recorder": "torch.cuda.memory",
                                                 "pytorch": text}) + LINES)
        ok("PyTorch: 2" not in call("trace", "info", "odd.ndjson")[1], f"\"{text}\" is no release")


# The default policy -----------------------------------------------------------------
LINES = '{"op":"alloc","id":1,"size":4096}\n'
HEADER = '{"format":"fragsim-trace","version":1,"meta":%s}\n'
PROFILE = json.dumps({"schemaVersion": 1, "traceEvents": [
    {"ph": "i", "name": "[memory]", "tid": 1, "ts": 11.5,
     "args": {"Bytes": 1024, "Addr": 4096, "Device Type": 1, "Device Id": 0}}]})


def tied(where):
    """Two equal free blocks of 12 MiB, of which one is taken: of the first segment or the second."""
    low, high = LARGE, LARGE + 32 * M
    first, second, taken = {"lower": (high, low, low), "older": (high, low, high),
                            "first": (low, high, low)}[where]
    log = Log().segment(first, 12 * M).alloc(first, 12 * M).segment(second, 12 * M)
    log.alloc(second, 12 * M).free(low, 12 * M).free(high, 12 * M).alloc(taken, 12 * M)
    other = high if taken == low else low
    return snapshot([segment(taken, block(taken, 12 * M)), segment(other, hole(other, 12 * M))],
                    log)


def created():
    """The 9 MiB at the front of the older, lower segment came to be last: split, and joined."""
    one, two = LARGE, LARGE + 32 * M
    log = Log().segment(one, 20 * M).alloc(one, 9 * M).alloc(one + 9 * M, 9 * M)
    log.segment(two, 20 * M).alloc(two, 9 * M).alloc(two + 9 * M, 9 * M)
    log.free(one, 9 * M).alloc(one, 4 * M).free(one, 4 * M).free(two, 9 * M).alloc(two, 9 * M)
    return snapshot([
        segment(one, hole(one, 9 * M), block(one + 9 * M, 9 * M), hole(one + 18 * M, 2 * M)),
        segment(two, block(two, 9 * M), block(two + 9 * M, 9 * M), hole(two + 18 * M, 2 * M))],
        log)


def last_segment(name, *args):
    """Where a run puts the last block."""
    rc, out, err = call("run", "-q", *args, "--placements", "-", name)
    ok(rc == 0, "it runs", err)
    return json.loads(out.splitlines()[-1])["segment"]


def versions():
    """What tells with which PyTorch a snapshot was recorded, and that it is simulated."""
    names = {"pinned_num_register_threads": 1}
    cases = [("2.8", {"torch_version": "2.8.0+cu128"}, {}, "its torch_version is 2.8.0+cu128"),
             ("2.15 or newer", {"torch_version": "3.1"}, {}, "its torch_version is 3.1"),
             ("2.1 to 2.8", {}, names, "its settings lack graph_capture_record_stream_reuse"),
             ("2.15", {}, {"fragsim": {"version": "9.8"}, **names}, "")]
    names = {**names, "graph_capture_record_stream_reuse": False}
    cases += [("2.9 to 2.14", {}, names, "its settings have graph_capture_record_stream_reuse,"
                                         " not max_round_threshold"),
              ("2.13 to 2.15", {}, {**names, "max_round_threshold": 0},
               "its settings have max_round_threshold")]
    for version, more, settings, why in cases:
        value = basic()
        value.update(more)
        value["allocator_settings"].update(settings)
        write("v", value)
        same(f"a snapshot of {version}: the newest of them is simulated",
             policy("v")["params"].get("version", "2.15"),
             "2.15" if "newer" in version else version.split()[-1])
        line = f"PyTorch: {version}, as {why}\n" if why else ""
        out = call("trace", "info", "v")[1]
        ok(line in out and ("PyTorch: 2" in out) == bool(why), "info says why", out)
        told = json.loads(call("trace", "info", "-q", "--json", "-", "v")[1])["recording"]["pytorch"]
        same("as JSON", told, {"version": version, "why": why} if why else None)
    for title, value, version in (("the lower", tied("lower"), "2.11"),
                                  ("the older", tied("older"), "2.15"),
                                  ("the one created first", created(), "2.12")):
        write("t", value)
        same(f"of equal blocks {title}", policy("t")["params"].get("version", "2.15"), version)
        same("verify agrees", call("verify", "t")[0], 0)
        same("and says by which rule", title in call("verify", "t")[1], True)
    same("--ties creation is that of 2.12",
         [call("verify", "--ties", ties, "t")[0] for ties in ("address", "age", "creation")],
         [1, 1, 0])
    write("lower", tied("lower"))
    same("a run takes the block that was taken", [last_segment("lower"),
                                                  last_segment("lower", "-p", "pytorch")], [1, 0])
    value = tied("first")
    value["torch_version"] = "2.8.0"
    write("first", value)
    same("by the addresses of the log, not of the model", last_segment("first"), 0)
    call("trace", "convert", "first", "first.ndjson")
    same("what is converted says it, and runs by it",
         (json.loads(Path("first.ndjson").read_text().splitlines()[0])["meta"]["pytorch"],
          policy("first.ndjson")["params"].get("version", "2.15"), last_segment("first.ndjson")),
         ("2.8", "2.8", 0))
    ok('PyTorch: 2.8, as its "meta" says\n' in call("trace", "info", "first.ndjson")[1], "info, too")
    write("lower", tied("lower"))
    for args in (("trace", "convert"), ("trace", "slice", "--to-step", "3"), ("trace", "anonymize")):
        rc, out, err = call(*args, "lower", "kept.ndjson")
        same(f"{args[0]} of what its log tells", (rc, policy("kept.ndjson")["params"].get("version", "2.15")),
             (0, "2.11"), err)
    same("which a trace has too", last_segment("first.ndjson", "-p", "pytorch:version=2.8"), 0)
    # where 2.8 would refuse what the snapshot was recorded with, the values beside it count
    value["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "large_segment_size_mb:32"
    write("odd", value)
    ok("Unrecognized CachingAllocator option: large_segment_size_mb" in call("run", "odd")[2],
       "a setting that the release does not know", call("run", "odd")[2])


def defaults():
    write("snap", basic())
    got = policy("snap")
    same("a snapshot runs under pytorch", (got["name"], got["text"]), ("pytorch", "pytorch"))
    value = basic()
    value["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = \
        "expandable_segments:True,garbage_collection_threshold:0.5"
    write("set", value)
    got = policy("set")
    same("with the settings that it names",
         (got["params"]["expandable_segments"], got["params"]["garbage_collection_threshold"]),
         (True, 0.5))
    same("spelt out", got["text"],
         "pytorch:expandable_segments=true,garbage_collection_threshold=0.5")
    value["allocator_settings"].update(PYTORCH_CUDA_ALLOC_CONF="", max_split_size=64 * M)
    write("values", value)
    same("or with their values", policy("values")["params"]["max_split_size_mb"], 64)
    value["allocator_settings"].update(PYTORCH_CUDA_ALLOC_CONF="no_such:1")
    write("odd", value)
    same("or with their values, where the string is not understood",
         policy("odd")["params"]["max_split_size_mb"], 64)
    _, _, err = call("run", "odd")
    ok("own settings are not understood" in err, "which is told", err)
    same("a policy that is given counts", policy("set", "-p", "buddy")["name"], "buddy")
    got = policy("set", "--alloc-conf", "max_split_size_mb:128")
    same("and so do settings, in place of the snapshot's",
         (got["name"], got["params"]["expandable_segments"], got["params"]["max_split_size_mb"]),
         ("pytorch", False, 128))

    write("profile", PROFILE)
    same("a profile runs under pytorch", policy("profile")["text"], "pytorch")
    write("ours", HEADER % '{"source":"x","recorder":"record_torch.py"}' + LINES)
    same("and so does what record_torch.py recorded", policy("ours")["text"], "pytorch")
    call("trace", "convert", "ours", "ours.fsb")
    same("in the binary form too", policy("ours.fsb")["text"], "pytorch")
    for meta in ('{"recorder":"another"}', '{"recorder":5}', '{"source":"record_torch.py"}'):
        write("other", HEADER % meta + LINES)
        same(f"a trace of {meta} runs under bestfit", policy("other")["text"], "bestfit")
    write("bare", LINES)
    same("a trace without a header runs under bestfit", policy("bare")["text"], "bestfit")

    conf = HEADER % '{"recorder":"record_torch.py"}' + '{"op":"configure","value":"no_such:1"}\n'
    write("conf", conf + LINES)
    rc, _, err = call("run", "conf")
    ok(rc == 4 and "no_such" in err, "settings in such a trace are checked for pytorch", err)


def first_line(name):
    """Without the scope, which is no word of the recorder."""
    head = json.loads(Path(name).read_text(encoding="ascii").splitlines()[0])
    head.get("meta", {}).pop("scope", None)
    return head


def kept():
    """What is written from a recording of PyTorch's has its default policy, too."""
    spelt = "pytorch:expandable_segments=true,garbage_collection_threshold=0.5"
    conf = "expandable_segments:True,garbage_collection_threshold:0.5"
    ways = {
        "in the binary form": ("trace", "convert", "set", "k.fsb"),
        "as lines": ("trace", "convert", "set", "k.ndjson"),
        "as one piece of JSON": ("trace", "convert", "set", "k.json"),
        "written twice": ("trace", "convert", "k.fsb", "k2.ndjson"),
        "a stretch of it": ("trace", "slice", "--from-step", "1", "set", "k3.fsb"),
        "without its words": ("trace", "anonymize", "set", "k4.ndjson"),
        "without the words of what was written": ("trace", "anonymize", "k.fsb", "k5.ndjson"),
        "two ranks": ("trace", "merge", "set", "set", "k6.fsb"),
        "what still fails": ("trace", "shrink", "--device-bytes", "8MiB", "set", "k7.fsb"),
    }
    for title, (command, *files) in ways.items():
        rc, _, err = call(command, *files)
        same(f"a snapshot {title} runs as it was recorded", (rc, policy(files[-1])["text"]),
             (0, spelt), err)
    same("the header says why", first_line("k.ndjson")["meta"],
         {"recorder": "torch.cuda.memory", "alloc_conf": conf})
    same("and of the anonymous", first_line("k4.ndjson")["meta"], first_line("k.ndjson")["meta"])
    # 100 bytes and 300 KiB, 6 + 3 MiB, then 2 MiB and a byte for the 6: the most is 9 MiB and those
    peaks = [[run["peak"][key] for key in ("requested", "reserved")]
             for run in result("set") + result("k.fsb") + result("k2.ndjson")]
    same("both forms give the same answer", peaks[1:], peaks[:1] * 2)
    same("which is what was requested", peaks[0][0], 100 + 300 * K + 9 * M)

    for name, meta in (("snap", {"recorder": "torch.cuda.memory"}),
                       ("values", {"recorder": "torch.cuda.memory",
                                   "alloc_conf": "max_split_size_mb:64"}),
                       ("profile", {"recorder": "torch.profiler"}),
                       ("ours", {"source": "x", "recorder": "record_torch.py"}),
                       ("bare", None)):
        call("trace", "convert", name, "k.ndjson")
        same(f"of {name}", first_line("k.ndjson").get("meta"), meta)
    call("trace", "anonymize", "ours", "k.ndjson")
    same("of ours, without its words", first_line("k.ndjson")["meta"],
         {"recorder": "record_torch.py"})
    for form in ("minimalloc", "rmm"):
        rc, _, err = call("trace", "convert", "snap", "k.csv.gz", "--to", form)
        ok(rc == 0 and '"meta"' not in err, f"{form}, which has no header, has lost none", err)

    rc, _, err = call("trace", "merge", "set", "values", "k.ndjson")
    ok(rc == 0 and "recorded under different settings" in err, "ranks that differ are told", err)
    same("and get PyTorch's defaults", policy("k.ndjson")["text"], "pytorch")
    call("trace", "merge", "set", "bare", "k.ndjson")
    same("a rank that PyTorch did not record", policy("k.ndjson")["text"], "bestfit")

    write("odd.ndjson", HEADER % '{"recorder":"torch.cuda.memory","alloc_conf":"no_such:1"}'
          + LINES)
    rc, _, err = call("run", "odd.ndjson")
    ok(rc == 0 and "\"meta\" are not understood" in err, "settings that are none are told", err)
    same("and defaults taken", policy("odd.ndjson")["text"], "pytorch")
    write("strange", HEADER % '{"alloc_conf":"expandable_segments:True"}' + LINES)
    same("settings without a recorder are nobody's", policy("strange")["text"], "bestfit")


def exports():
    for name, wanted in (("set", "pytorch:expandable_segments=true,garbage_collection_threshold=0.5"),
                         ("bare", "bestfit")):
        rc, _, err = call("trace", "convert", name, "o.pickle")
        ok(rc == 0 and f"fragsim: exported a run under {wanted}\n" in err,
           f"an export of {name} names its policy", err)
        rc, _, err = call("trace", "convert", "--to", "perfetto", name, "o.json")
        other = json.loads(Path("o.json").read_text())["otherData"]
        same("and the file does", other["policy"], wanted.split(":")[0], err)
    rc, _, err = call("trace", "convert", "--alloc-conf", "max_split_size_mb:64", "bare", "o.pickle")
    same("settings that are given are told", err,
         "fragsim: exported a run under pytorch:max_split_size_mb=64\n")
    rc, _, err = call("trace", "convert", "-p", "buddy:min=4KiB", "bare", "o.pickle")
    same("a policy as it was written", err, "fragsim: exported a run under buddy:min=4KiB\n")
    rc, _, err = call("trace", "convert", "-q", "set", "o.pickle")
    same("nothing with -q", (rc, err), (0, ""))
    rc, _, err = call("trace", "convert", "bare", "o.fsb")
    same("nothing where a trace is written", (rc, err), (0, ""))

    # 8 MiB: a segment of 20 for 3 MiB under pytorch, of 4 under bestfit
    write("big", HEADER % '{"recorder":"record_torch.py"}' + LINES
          + '{"op":"alloc","id":2,"size":3145728}\n')
    rc, _, err = call("trace", "shrink", "--device-bytes", "8MiB", "big", "less.fsb")
    ok(rc == 0 and err.startswith("fragsim: shrunk under pytorch\n"),
       "shrink has the same default, and says it", rc, err)
    rc, _, err = call("trace", "shrink", "-p", "bestfit", "--device-bytes", "8MiB", "big", "less.fsb")
    ok(rc == 2 and "no out-of-memory under bestfit" in err, "or the policy that is given", err)


# A recording that ends at its out-of-memory -----------------------------------------
def ends():
    """5 MiB of 20 are live, 30 are refused with 3 free: the device has 23."""
    def log():
        return Log().segment(LARGE, 20 * M).alloc(LARGE, 5 * M).add("oom", 3 * M, 30 * M)

    def steps(name, *args):
        rc, out, err = call("run", "-v", "--steps", "s.ndjson", *args, name)
        with open("s.ndjson", encoding="ascii") as f:
            rows = [json.loads(line) for line in f]
        return rc, out, [(r["op"], r["status"], r["requested"]) for r in rows]

    told = "recording ends here: at its own out-of-memory, 30.00 MiB at event 1\n"
    live = segment(LARGE, block(LARGE, 5 * M), hole(LARGE + 5 * M, 15 * M))
    write("end", snapshot([live], log()))
    rc, out, rows = steps("end")
    same("a snapshot that ends at its out-of-memory has one", (rc, rows),
         (3, [("alloc", "ok", 5 * M), ("alloc", "oom", 5 * M)]))
    ok(told in out, "and its report says that it ends", out)
    rc, out, rows = steps("end", "--device-bytes", "1GiB")
    same("a device that holds the request still holds it at the end", (rc, rows),
         (0, [("alloc", "ok", 5 * M), ("alloc", "ok", 35 * M)]))
    ok(told in out, "which is where the recording ends all the same", out)
    ok(out.startswith("FITS UP TO THE RECORDED OOM: pytorch reserves "), "and its verdict promises no more", out)
    _, out, _ = call("run", "--device-bytes", "0", "end")
    ok(out.startswith("NO LIMIT: "), "an unlimited device promises nothing", out)
    _, out, _ = call("run", "-p", "pytorch", "-p", "direct", "--device-bytes", "1GiB", "end")
    ok(out.startswith("FITS UP TO THE RECORDED OOM: all 2 runs; "),
       "nor do two policies", out)
    # a segment of 20 MiB for the 5, and one of 30
    _, out, err = call("run", "--device-bytes", "40MiB", "end")
    ok("\n  smallest  50 MiB device up to the recorded OOM; lower bound 36.00 MiB; " in out,
       "what it needs is told as far", out)
    _, _, err = call("run", "end")
    ok(err.count("23.00 MiB is taken as its capacity") == 1, "and where the capacity is from", err)
    _, _, err = call("explain", "end")
    ok(err.count("23.00 MiB is taken as its capacity") == 1, "explain says so too", err)
    for args in (("run", "end"), ("diff", "-p", "direct", "end"), ("verify", "end"),
                 ("explain", "end"), ("leaks", "end"), ("ranks", "end"),
                 ("run", "end", "-o", "o.html"), ("explain", "end", "-o", "o.html"),
                 ("diff", "-p", "direct", "end", "-o", "o.html"),
                 ("sweep", "-p", "direct", "end", "-o", "given"),
                 ("trace", "convert", "--to", "perfetto", "end", "o.json"),
                 ("trace", "convert", "--to", "sqlite", "end", "o.sqlite")):
        _, _, err = call(*args, "--device-bytes", "1GiB")
        ok("the recording has 1 out-of-memory, the first for 30.00 MiB with 3.00 MiB free on the"
           " device\n" in err and "capacity" not in err, f"unless {args[0]} is given one", err)
    _, _, err = call("sweep", "-p", "direct", "end", "-o", "swept")
    ok(err.count("23.00 MiB is taken as its capacity") == 1, "sweep says so too", err)
    for args in (("fit", "end"), ("plan", "end"), ("fit", "--settings", "short", "end"),
                 ("predict", "end=1", "end=2", "--at", "3"), ("predict", "--hoist", "end")):
        _, _, err = call(*args)
        ok("the recording has 1 out-of-memory" in err and "capacity" not in err,
           f"{args[0]} looks for one", err)
    for name, wanted in (("end", {"step": 1, "size": 30 * M}), ("set", None)):
        _, out, err = call("run", "-q", "--json", "-", name)
        same(f"the result of {name}", json.loads(out)["trace"].get("ends_at_oom"), wanted, err)
    same("35 MiB are the least that a policy must reserve",
         result("end", "--device-bytes", "0", "-p", "direct")[0]["lower_bound"], 35 * M)
    rc, out, err = call("verify", "end")
    ok(rc == 0 and "1 of 1 addresses, 1 of 1 device allocations agree" in out
       and "1 of 1 out-of-memory agree" in out, "verify agrees", out, err)

    for form in ("fsb", "ndjson", "json"):
        call("trace", "convert", "end", f"end.{form}")
        _, out, _ = steps(f"end.{form}", "--device-bytes", "1GiB")
        ok(told in out, f"so does what it becomes as {form}", out)
    call("trace", "anonymize", "end.fsb", "end2.ndjson")
    ok(told in steps("end2.ndjson")[1], "and without its words")
    same("the header has it", first_line("end2.ndjson")["meta"],
         {"recorder": "torch.cuda.memory", "ends_at_oom": {"step": 1, "size": 30 * M}})
    for title, line in (("that goes on", '{"op":"alloc","id":"z","size":1}\n'),
                        ("that asks for as much", '{"op":"alloc","id":"z","size":31457280}\n')):
        write("more", Path("end.ndjson").read_text(encoding="ascii") + line)
        ok(told not in steps("more")[1], f"a trace {title} does not end there")
    write("less", "".join(Path("end.ndjson").read_text(encoding="ascii").splitlines(True)[:2]))
    ok("recording ends" not in steps("less")[1], "nor one that is cut before it")

    # the stack unwinds: blocks go, none comes
    write("unwinds", snapshot([segment(LARGE, hole(LARGE, 20 * M))], log().free(LARGE, 5 * M)))
    rc, out, rows = steps("unwinds", "--device-bytes", "1GiB")
    same("frees behind it are no going on", (rc, rows[1:], told in out),
         (0, [("alloc", "ok", 35 * M), ("free", "ok", 30 * M)], True))

    # the program goes on without it, with a smaller request
    write("goes", snapshot([segment(LARGE, block(LARGE, 5 * M), block(LARGE + 5 * M, 6 * M),
                                    hole(LARGE + 11 * M, 9 * M))],
                           log().alloc(LARGE + 5 * M, 6 * M)))
    rc, out, rows = steps("goes", "--device-bytes", "1GiB")
    same("a program that asks again went on without the block", (rc, rows[1:], told in out),
         (0, [("alloc", "ok", 35 * M), ("free", "ok", 5 * M), ("alloc", "ok", 11 * M)], False))
    rc, out, err = call("verify", "goes")
    ok(rc == 0 and "2 of 2 addresses" in out, "and verify agrees", out, err)

    # twice the same: the first try is over when the second comes
    write("twice", snapshot([live], log().add("oom", 3 * M, 30 * M)))
    rc, out, rows = steps("twice", "--device-bytes", "1GiB")
    same("of two tries one is held", (rc, rows[1:], told.replace("event 1", "event 3") in out),
         (0, [("alloc", "ok", 35 * M), ("free", "ok", 5 * M), ("alloc", "ok", 35 * M)], True))

    # a second device goes on
    other = segment(LARGE + 96 * M, block(LARGE + 96 * M, 4 * M), hole(LARGE + 100 * M, 16 * M),
                    device=1)
    late = Log()
    for event in Log().segment(LARGE + 96 * M, 20 * M).alloc(LARGE + 96 * M, 4 * M).events:
        late.events.append({**event, "time_us": event["time_us"] + 100})
    write("two", snapshot([live, other], log(), late))
    rc, out, rows = steps("two", "--device-bytes", "1GiB")
    same("each device ends by itself", (rc, len(rows), told in out), (0, 3, True), out)


# A device that is smaller than what the recording begins with --------------------------
def begins():
    """Three segments of 20 MiB, in each a live block of 12 MiB, and 1 MiB asked for later."""
    starts = [LARGE + i * 64 * M for i in range(3)]
    segments = [segment(s, block(s, 12 * M), hole(s + 12 * M, 8 * M)) for s in starts[:2]]
    segments.append(segment(starts[2], block(starts[2], 12 * M),
                            block(starts[2] + 12 * M, 2 * M), hole(starts[2] + 14 * M, 6 * M)))
    write("begun", snapshot(segments, Log().alloc(starts[2] + 12 * M, 2 * M)))

    def run(device, *args):
        rc, out, err = call("run", "--device-bytes", device, "--json", "-", *args, "begun")
        return rc, json.loads(out)["runs"], err

    rc, runs, err = run("60MiB")
    same("a device with room for the segments begins with them",
         (rc, runs[0]["peak"]["reserved"], "begins with segments" in err), (0, 60 * M, False))
    # each block has a segment of 12 MiB; the 2 MiB have one of 20 where that fits
    rc, runs, err = run("58MiB")
    same("one without has the blocks as requests",
         (rc, runs[0]["peak"]["reserved"], runs[0]["counts"]["ooms"]), (0, 56 * M, 0))
    ok("warning: policy pytorch, device 0: the recording begins with segments of 60.00 MiB"
       " (36.00 MiB live), and the device has 58.00 MiB for them: the live blocks are"
       " ordinary requests here" in err, "and says so", err)
    got = [{k: r.get("beginning") for r in result("begun", *args)} for k, args in (
        ("fits", ("--device-bytes", "60MiB")), ("not", ("--device-bytes", "58MiB")),
        ("other", ("--device-bytes", "60MiB", "-p", "direct")))]
    same("the result object has it", got, [
        {k: {"segments": 60 * M, "live": 36 * M, "as_requests": anew}}
        for k, anew in (("fits", False), ("not", True), ("other", True))])
    ok("beginning" not in result("bare")[0], "but of no trace without a beginning")
    rc, out, err = call("run", "--device-bytes", "58MiB", "begun")
    ok("\n  policy pytorch, device 0: the recording begins with segments of 60.00 MiB"
       " (36.00 MiB live), " in out and "ordinary requests" not in err,
       "the report has it in place of a warning", out, err)
    rc, out, err = call("run", "--device-bytes", "32MiB", "begun")
    ok("\n  device 0: 36.00 MiB are live before the recording begins, " in out
       and "no setting" not in err, "and why nothing can fit", out, err)
    rc, _, err = call("trace", "convert", "--device-bytes", "58MiB", "begun", "o.pickle")
    ok(rc == 0 and "ordinary requests here" in err, "an export says it too", err)
    rc, out, err = call("run", "o.pickle")
    ok(rc == 0 and "begins in mid-run" not in err, "whose history begins with nothing", err)
    rc, out, err = call("verify", "o.pickle")
    ok(rc == 0 and "4 of 4 addresses" in out, "and is verified", out, err)

    # 36 MiB in 32: the third block fails; the second where pages are of 20 MiB
    words = ("warning: device 0: 36.00 MiB are live before the recording begins, in segments of"
             " 60.00 MiB, and the device has 32.00 MiB for them: no setting makes that fit")
    rc, runs, err = run("42MiB", "--context-bytes", "10MiB", "-p", "pytorch", "-p", "bestfit",
                        "-p", "pytorch:expandable_segments=true")
    same("a device that cannot hold the blocks fails at one of them",
         [(r["oom"][0]["step"], r["oom"][0]["cause"]) for r in runs], [(2, "capacity"), (2, "capacity"), (1, "fragmentation")])
    ok("24.00 MiB already allocated" in runs[0]["oom"][0]["message"],
       "with those before it allocated", runs[0]["oom"])
    ok(err.count(words) == 1 and "ordinary requests" not in err,
       "and the reason is told once", err)
    rc, runs, err = run("0", "-p", "pytorch:per_process_memory_fraction=0.5")
    ok(rc == 0 and "begins with" not in err, "a fraction of an unlimited device is none", err)
    rc, runs, err = run("100MiB", "-p", "pytorch:per_process_memory_fraction=0.5")
    ok(runs[0]["oom"][0]["step"] == 3 and "and the policy does not take that number of bytes" in err,
       "a limit of the policy's own is told as that", err, runs[0]["oom"])


# A device that was full ------------------------------------------------------------------
def fulls():
    """20 MiB stay, 20 MiB are given back, and 30 MiB obtained: at most 50 MiB."""
    def warned(log, **settings):
        value = snapshot([segment(LARGE, block(LARGE, 20 * M)),
                          segment(LARGE + 64 * M, block(LARGE + 64 * M, 30 * M))], log)
        value["allocator_settings"].update(settings)
        write("full", value)
        return call("run", "full", *more)[2]

    def log():
        said = Log().segment(LARGE, 20 * M).alloc(LARGE, 20 * M)
        said.segment(LARGE + 32 * M, 20 * M).alloc(LARGE + 32 * M, 20 * M)
        said.free(LARGE + 32 * M, 20 * M).add("segment_free", LARGE + 32 * M, 20 * M)
        return said.segment(LARGE + 64 * M, 30 * M).alloc(LARGE + 64 * M, 30 * M)

    words = ("device 0: requests released memory before they reserved more, so the device was full"
             f" then; its size is not in the file: --device-bytes {50 * M}, the most that was"
             " reserved, takes it for as large")
    more = []
    ok(words in warned(log()), "a full device is told", warned(log()))
    ok("was full" not in warned(log(), garbage_collection_threshold=0.8),
       "not where old blocks are collected")
    more = ["--device-bytes", "60MiB"]
    ok("was full" not in warned(log()), "nor where its size is given")
    more = []
    plain = Log().segment(LARGE, 20 * M).alloc(LARGE, 20 * M)
    plain.segment(LARGE + 64 * M, 30 * M).alloc(LARGE + 64 * M, 30 * M)
    ok("was full" not in warned(plain), "nor where nothing was given back")


# What info tells of a snapshot ----------------------------------------------------------
def informs():
    def info(value):
        write("i", value)
        rc, out, err = call("trace", "info", "i")
        ok(rc == 0, "info", err)
        return out, json.loads(call("trace", "info", "-q", "--json", "-", "i")[1]).get("recording")

    # 512 bytes, 300 KiB, 6 MiB and 3 MiB at the most; 2 MiB and 512 for the 6 at the end
    value = basic()
    value["allocator_settings"].update(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64",
                                       trace_alloc_overflowed=True, trace_alloc_max_entries=7,
                                       fragsim={"version": "9.8"})
    value["torch_version"] = "2.15.0"
    peak, end = 512 + 300 * K + 9 * M, 512 + 300 * K + 2 * M + 512 + 3 * M
    out, recording = info(value)
    for line in ("torch_version: 2.15.0\n", "fragsim: 9.8\n", "settings: max_split_size_mb:64\n",
                 "ring buffer: capacity 7 events per device, overflowed: older events are missing\n",
                 "  recorded: at most 22.00 MiB reserved, at the end 22.00 MiB\n",
                 "  recorded: at most 9.29 MiB allocated, at the end 5.29 MiB\n",
                 "  history: 7 events, which begin in mid-run with 1 segment of 2.00 MiB and 1 live"
                 " block\n"):
        ok(line in out, f"info: {line.strip()}", out)
    same("the same as JSON", recording, {
        "settings": "max_split_size_mb:64", "versions": {"torch_version": "2.15.0",
                                                         "fragsim": "9.8"},
        "pytorch": {"version": "2.15", "why": "its torch_version is 2.15.0"},
        "history": True, "overflowed": True, "max_entries": 7, "devices": [{
            "peak_reserved_bytes": 22 * M, "last_reserved_bytes": 22 * M,
            "peak_allocated_bytes": peak, "last_allocated_bytes": end, "history_events": 7,
            "contradictions": 0, "first_segments": 1, "first_segment_bytes": 2 * M,
            "first_live_blocks": 1, "ooms": 0, "first_oom": None, "ends_at_oom": False}]})

    out, recording = info(basic())
    ok("settings: default\n" in out and "ring buffer" not in out and "version" not in out,
       "what the file does not say is not told", out)
    value = basic()
    value["allocator_settings"]["expandable_segments"] = True
    out, recording = info(value)
    same("values tell the settings where no string does", recording["settings"],
         "expandable_segments:True")
    del value["allocator_settings"]
    out, recording = info(value)
    ok("settings: not in the file\n" in out and recording["settings"] is None,
       "settings that are not in the file", out)

    # a segment that came and went, and a pending block
    log = Log().segment(LARGE, 20 * M).alloc(LARGE, 15 * M)
    log.add("free_requested", LARGE, 15 * M).segment(LARGE + 64 * M, 12 * M)
    log.alloc(LARGE + 64 * M, 12 * M).add("free_completed", LARGE, 15 * M)
    log.add("segment_free", LARGE, 20 * M).add("oom", M, 40 * M)
    out, recording = info(snapshot([segment(LARGE + 64 * M, block(LARGE + 64 * M, 12 * M))], log))
    got = recording["devices"][0]
    same("memory that comes and goes",
         [got[f"{when}_{what}_bytes"] for what in ("reserved", "allocated")
          for when in ("peak", "last")], [32 * M, 12 * M, 15 * M, 12 * M])
    same("an out-of-memory", (got["ooms"], got["first_oom"], got["ends_at_oom"]),
         (1, {"size": 40 * M, "device_free": M}, True))
    ok("  1 out-of-memory, the first for 40.00 MiB with 1.00 MiB free on the device, where the"
       " recording ends\n" in out, "in words", out)
    # 11.5 MiB get a segment of 12 MiB, and half a MiB is not split off: the block has 12 MiB
    half = 23 * M // 2
    log = Log().segment(LARGE, 12 * M).alloc(LARGE, half).add("free_requested", LARGE, half)
    log.add("free_completed", LARGE, half)
    out, recording = info(snapshot([segment(LARGE, hole(LARGE, 12 * M))], log))
    ok("  recorded: at most 12.00 MiB allocated, at the end 0 bytes\n" in out,
       "a block that is larger than its request", out)
    value = basic()
    value["device_traces"] = []
    out, recording = info(value)
    ok("  history: none, only the state at the end\n" in out and not recording["history"],
       "no history", out)
    write("i", LINES)
    ok("recorded" not in call("trace", "info", "i")[1], "nothing of it for other traces")


def grown():
    """An old log names no pool: a range of a private pool that grew is in that pool as a whole."""
    log = Log().add("segment_map", LARGE, 20 * M).alloc(LARGE, 20 * M)
    log.add("segment_map", LARGE + 20 * M, 20 * M).alloc(LARGE + 20 * M, 15 * M)
    value = snapshot([segment(LARGE, block(LARGE, 20 * M), block(LARGE + 20 * M, 15 * M),
                              hole(LARGE + 35 * M, 5 * M), pool=(0, 1), expandable=True)],
                     log, settings="expandable_segments:True")
    value["allocator_settings"]["expandable_segments"] = True
    write("i", value)
    same("the recorded log agrees", call("verify", "i")[0], 0)
    call("trace", "convert", "-q", "i", "i.ndjson")
    pools = [event.get("pool") for event in map(json.loads, Path("i.ndjson").read_text().splitlines()[1:])
             if event["op"] == "alloc"]
    ok(len(pools) == 2 and pools[0] and pools[0] == pools[1], "both blocks are in the private pool", pools)


def names():
    """A name of a newer release is told once a kind; a form that is older than all rules, too."""
    value = basic()
    value["allocator_settings"] |= {"bigger_pages": 1, "other": 2}
    value["device_traces"][0][0]["lane"] = 3
    value["device_traces"][0] += [{"action": "defrag", "addr": 0, "size": 1}] * 2
    write("i", value)
    err = call("trace", "info", "i")[2]
    same("unknown names", [line.split(": ", 2)[2] for line in err.splitlines() if "unknown" in line], [
        'allocator_settings: unknown name "bigger_pages" and 1 other, which is ignored',
        'device_traces: unknown name "lane", which is ignored',
        'device_traces: 2 events with an unknown action, the first "defrag", which are ignored'])
    value["allocator_settings"] |= {"pinned_num_register_threads": 1, "max_round_threshold": 0}
    write("i", value)
    ok("\nPyTorch: 2.13 or newer, as its settings have max_round_threshold\n" in call("trace", "info", "i")[1],
       "the release may be a newer one")
    row = "PyTorch 2.13 or newer, rules of 2.15 assumed"
    ok(row in call("run", "i")[1], "the row says which rules are assumed", call("run", "i")[1])
    call("trace", "convert", "-q", "i", "i.ndjson")
    ok(row in call("run", "i.ndjson")[1], "and in lines")
    write("i", basic())
    ok("unknown" not in call("trace", "info", "i")[2], "none in what PyTorch writes")
    old = basic()
    for part in old["segments"]:
        part["blocks"] = [{k: v for k, v in b.items() if k != "address"} for b in part["blocks"]]
    write("i", {"segments": old["segments"], "device_traces": []})
    same("an older form", [line for line in call("trace", "info", "i")[1].splitlines() if "PyTorch:" in line],
         ["PyTorch: 2.0 or older, as its blocks have no address"])
    out = call("run", "i")[1]
    ok("PyTorch 2.0 or older by its form; rules of 2.1 assumed" in out and "exact" not in out,
       "an older form runs under the oldest rules", out)
    call("trace", "convert", "-q", "i", "i.ndjson")
    ok("rules of 2.1 assumed" in call("run", "i.ndjson")[1], "and in lines")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (defaults, versions, travels, kept, exports, ends, begins, fulls, informs,
                 grown, names):
        part()
    os.chdir(HERE)
sys.exit(TAP.finish())
