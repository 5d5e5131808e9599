#!/usr/bin/python3
"""run.py - each rule of PyTorch's allocator in a trace of its own.

usage: run.py PROGRAM

The expectations are arithmetic on the rules as they were measured on the shipped
binary of torch 2.15.0 (fragsim-policies(7) tells them), not this program's output.

A case is a title, settings or a policy, the device's size in MiB (0: unlimited) and lines
"EVENT = WHAT HAPPENS". Events: a ID SIZE [STREAM] [POOL], f ID, r ID STREAM,
s [STREAM], c ID (complete), fp ID (free, pending), e (empty_cache), x VALUE
(set_fraction), k STRING (configure), l POOL (release_pool). What happens: the place SEGMENT+OFFSET:BYTES
or OOM, then the device's calls: new N:BYTES or new N:BYTES! (a range), map
N+OFFSET:BYTES, unmap N+OFFSET:BYTES, release N.
"""
import json
import os
import subprocess
import sys
import tempfile

K, M = 1 << 10, 1 << 20

CASES = [
    ("1: size 0 takes nothing", "", 0, ["a 1 0 = :0", "f 1 ="]),
    ("2: below 512 is 512, else multiples of 512", "", 0, [
        f"a 1 1 = 0+0:512 new 0:{2 * M}", "a 2 511 = 0+512:512", "a 3 512 = 0+1024:512",
        "a 4 513 = 0+1536:1024", "a 5 1200 = 0+2560:1536"]),
    ("2: divisions of 4 round 5,000,000 to 5,242,880 but leave 1,200 alone",
     "roundup_power2_divisions:4", 0, [
         f"a 1 5000000 = 0+0:5242880 new 0:{20 * M}", f"a 2 1200 = 1+0:1536 new 1:{2 * M}",
         "a 3 3000 = 1+1536:3072", "a 4 4194304 = 0+5242880:4194304"]),
    ("2: in a list the first key speaks for all below it, > for all above",
     "roundup_power2_divisions:[2:4,8:2,>:1]", 0, [
         # 5000 = 4096 + 904, in quarters of 4096: 5120
         f"a 1 5000 = 0+0:5120 new 0:{2 * M}",
         # 4 MiB to 8 MiB is named by no key: multiples of 512
         f"a 2 {5 * M + 1} = 1+0:{5 * M + 512} new 1:{20 * M}",
         # 8 MiB to 16 MiB in halves: 16 MiB
         f"a 3 {13 * M} = 2+0:{16 * M} new 2:{16 * M}",
         # above: no rounding but to 512; the segment is 18 MiB and its rest is just 1 MiB
         f"a 4 {17 * M + 1} = 3+0:{18 * M} new 3:{18 * M}"]),
    ("2: a lone > leaves sizes below 2 MiB alone", "roundup_power2_divisions:[>:4]", 0, [
        f"a 1 5000 = 0+0:5120 new 0:{2 * M}", f"a 2 {5 * M + 1} = 1+0:{6 * M} new 1:{20 * M}"]),
    ("3: 1 MiB is small, one unit more is large; they never share", "", 0, [
        f"a 1 {M} = 0+0:{M} new 0:{2 * M}", f"a 2 {M + 1} = 1+0:{M + 512} new 1:{20 * M}",
        f"a 3 {M - 511} = 0+{M}:{M}"]),
    ("4: 10485248 bytes come from 20 MiB, one byte more has a segment of 10 MiB", "", 0, [
        f"a 1 10485248 = 0+0:10485248 new 0:{20 * M}",
        f"a 2 10485249 1 = 1+0:{10 * M} new 1:{10 * M}"]),
    ("4, 7: the worked sizes of large requests", "", 0, [
        "a 1 11000000 = 0+0:11000320 new 0:12582912", "a 2 12000000 = 1+0:12582912 new 1:12582912"]),
    ("4: large_segment_size_mb", "large_segment_size_mb:64", 0, [
        f"a 1 {2 * M} = 0+0:{2 * M} new 0:{64 * M}", f"a 2 {10 * M} = 0+{2 * M}:{10 * M}",
        f"a 3 {60 * M} = 1+0:{60 * M} new 1:{60 * M}"]),
    ("5: the smallest block, of equals that of the oldest segment, whenever it was freed", "", 0, [
        f"a 1 {12 * M} = 0+0:{12 * M} new 0:{12 * M}", f"a 2 {12 * M} = 1+0:{12 * M} new 1:{12 * M}",
        f"a 3 {14 * M} = 2+0:{14 * M} new 2:{14 * M}", "f 3 =", "f 2 =", "f 1 =",
        f"a 4 {11 * M} = 0+0:{12 * M}", f"a 5 {11 * M} = 1+0:{12 * M}"]),
    ("6: a request below max_split_size takes no block above it", "max_split_size_mb:32", 0, [
        f"a 1 {40 * M} = 0+0:{40 * M} new 0:{40 * M}", "f 1 =",
        f"a 2 {30 * M} = 1+0:{30 * M} new 1:{30 * M}"]),
    ("6: one above takes no block that is 20 MiB larger", "max_split_size_mb:32", 0, [
        f"a 1 {60 * M} = 0+0:{60 * M} new 0:{60 * M}", "f 1 =",
        f"a 2 {40 * M} = 1+0:{40 * M} new 1:{40 * M}", f"a 3 {40 * M + 512} = 0+0:{60 * M}"]),
    ("6: max_non_split_rounding_mb", "max_split_size_mb:32,max_non_split_rounding_mb:25", 0, [
        f"a 1 {60 * M} = 0+0:{60 * M} new 0:{60 * M}", "f 1 =", f"a 2 {36 * M} = 0+0:{60 * M}"]),
    ("7: a rest of exactly 1 MiB stays, one unit more is split off", "", 0, [
        f"a 1 {11 * M} = 0+0:{12 * M} new 0:{12 * M}",
        f"a 2 {11 * M - 512} = 1+0:{11 * M - 512} new 1:{12 * M}"]),
    ("7: small blocks leave any rest", "", 0, [
        f"a 1 {M - 512} = 0+0:{M - 512} new 0:{2 * M}", f"a 2 {M} = 0+{M - 512}:{M}",
        f"a 3 512 = 0+{2 * M - 512}:512", f"a 4 512 = 1+0:512 new 1:{2 * M}"]),
    ("8: a free block merges with both neighbours at once", "", 0, [
        f"a 1 {6 * M} = 0+0:{6 * M} new 0:{20 * M}", f"a 2 {6 * M} = 0+{6 * M}:{6 * M}",
        f"a 3 {7 * M} = 0+{12 * M}:{8 * M}", "f 1 =", "f 3 =", "f 2 =",
        f"a 4 {20 * M} = 0+0:{20 * M}"]),
    ("9: no stream takes another's block", "", 0, [
        f"a 1 512 0 = 0+0:512 new 0:{2 * M}", "f 1 =", f"a 2 512 1 = 1+0:512 new 1:{2 * M}"]),
    ("10: the end of a stream is noticed at the next request", "", 0, [
        f"a 1 {2 * M} = 0+0:{2 * M} new 0:{20 * M}", "r 1 7 =", "f 1 =",
        f"a 2 {2 * M} = 0+{2 * M}:{2 * M}", "s 7 =", f"a 3 {2 * M} = 0+0:{2 * M}"]),
    ("10: complete is the noticing", "", 0, [
        f"a 1 {2 * M} = 0+0:{2 * M} new 0:{20 * M}", "fp 1 =", f"a 2 {M + 1} = 0+{2 * M}:{M + 512}",
        "c 1 =", f"a 3 {2 * M} = 0+0:{2 * M}"]),
    ("10: empty_cache waits for all", "", 0, [
        f"a 1 {2 * M} = 0+0:{2 * M} new 0:{20 * M}", "r 1 7 =", "f 1 =", "e = release 0", "s ="]),
    ("11: a refusal flushes everything, then tries again", "", 100, [
        f"a 1 {40 * M} = 0+0:{40 * M} new 0:{40 * M}", f"a 2 {M} = 1+0:{M} new 1:{2 * M}",
        f"a 3 {50 * M} = 2+0:{50 * M} new 2:{50 * M}", "f 1 =", "f 2 =",
        f"a 4 {48 * M} = 3+0:{48 * M} new 3:{48 * M} release 0 release 1"]),
    ("12: with max_split_size one sufficient block is released, not all", "max_split_size_mb:20",
     100, [
         f"a 1 {30 * M} = 0+0:{30 * M} new 0:{30 * M}", f"a 2 {60 * M} = 1+0:{60 * M} new 1:{60 * M}",
         "f 1 =", "f 2 =", f"a 3 {24 * M} = 0+0:{30 * M}", "f 3 =",
         f"a 4 {35 * M} = 2+0:{36 * M} new 2:{36 * M} release 1"]),
    ("12: or several, from the largest down", "max_split_size_mb:20", 100, [
        f"a 1 {20 * M} = 0+0:{20 * M} new 0:{20 * M}", f"a 2 {24 * M} = 1+0:{24 * M} new 1:{24 * M}",
        f"a 3 {28 * M} = 2+0:{28 * M} new 2:{28 * M}", "f 1 =", "f 2 =", "f 3 =",
        f"a 4 {50 * M} = 3+0:{50 * M} new 3:{50 * M} release 2 release 1"]),
    ("13: large before small, then by stream, size and age", "", 0, [
        f"a 1 512 = 0+0:512 new 0:{2 * M}", f"a 2 {14 * M} 5 = 1+0:{14 * M} new 1:{14 * M}",
        f"a 3 {14 * M} 2 = 2+0:{14 * M} new 2:{14 * M}",
        f"a 4 {12 * M} 5 = 3+0:{12 * M} new 3:{12 * M}", "f 1 =", "f 2 =", "f 3 =", "f 4 =",
        "e = release 2 release 3 release 1 release 0"]),
    ("13: partly used segments stay", "", 0, [
        f"a 1 {2 * M} = 0+0:{2 * M} new 0:{20 * M}", f"a 2 {2 * M} = 0+{2 * M}:{2 * M}", "f 1 =",
        "e ="]),
    ("13: a private pool keeps its memory until the program is done with it", "", 0, [
        f"a 1 {2 * M} 0 7 = 0+0:{2 * M} new 0:{20 * M}", f"a 2 {2 * M} = 1+0:{2 * M} new 1:{20 * M}",
        "f 1 =", "f 2 =", "e = release 1", "l 7 =", "e = release 0"]),
    ("13: also where a request is refused for it", "", 100, [
        f"a 1 {60 * M} 0 7 = 0+0:{60 * M} new 0:{60 * M}", "f 1 =", f"a 2 {50 * M} = OOM", "l 7 =",
        f"a 3 {50 * M} = 1+0:{50 * M} new 1:{50 * M} release 0"]),
    ("13: released pools come last, small before large; live blocks stay", "", 0, [
        f"a 1 {M} 0 7 = 0+0:{M} new 0:{2 * M}", f"a 2 {2 * M} 0 7 = 1+0:{2 * M} new 1:{20 * M}",
        f"a 3 {2 * M} = 2+0:{2 * M} new 2:{20 * M}", f"a 4 {M} 0 8 = 3+0:{M} new 3:{2 * M}",
        f"a 5 {30 * M} 0 7 = 4+0:{30 * M} new 4:{30 * M}", "l 7 =", "l 8 =", "l 8 =",
        "f 1 =", "f 2 =", "f 3 =", "f 4 =", "e = release 2 release 0 release 1 release 3",
        "f 5 =", "e = release 4"]),
    ("13, 23: pages of a private pool too", "expandable_segments:True", 160, [
        f"a 1 {2 * M} 0 7 = 0+0:{2 * M} new 0:{180 * M}! map 0+0:{20 * M}", "f 1 =", "e =", "l 7 =",
        f"e = unmap 0+0:{20 * M} release 0"]),
    ("14: the fraction is checked before the device is asked", "", 100, [
        "x 0.5 =", f"a 1 {30 * M} = 0+0:{30 * M} new 0:{30 * M}", f"a 2 {20 * M} = 1+0:{20 * M} new 1:{20 * M}",
        f"a 3 512 = OOM", "f 2 =", f"a 4 512 = 2+0:512 new 2:{2 * M} release 1"]),
    ("14: as a setting", "per_process_memory_fraction:0.5", 100, [
        f"a 1 {52 * M} = OOM", f"a 2 {50 * M} = 0+0:{50 * M} new 0:{50 * M}"]),
    # ages 3, 1 and 1: only the range is as old as the mean, so nothing goes before the flush
    ("15: a range that is one free block counts in the mean age",
     "expandable_segments:True,expandable_segments_reserve:0.2", 100, [
         f"a 1 {20 * M} = 0+0:{20 * M} new 0:{20 * M}! map 0+0:{20 * M}", "f 1 =", "x 0.9 =",
         "k expandable_segments:False,garbage_collection_threshold:0.5 =",
         f"a 2 {20 * M} = 1+0:{20 * M} new 1:{20 * M}", f"a 3 {30 * M} = 2+0:{30 * M} new 2:{30 * M}",
         "f 2 =", "f 3 =", f"a 4 {40 * M} = 3+0:{40 * M} new 3:{40 * M} unmap 0+0:{20 * M} "
         "release 1 release 2 release 0"]),
    ("15: collection releases what is as old as the average, of large segments",
     "garbage_collection_threshold:0.4", 1000, [
         "x 0.1 =", f"a 1 {16 * M} = 0+0:{16 * M} new 0:{16 * M}",
         f"a 2 {18 * M} = 1+0:{18 * M} new 1:{18 * M}", f"a 3 {20 * M} = 2+0:{20 * M} new 2:{20 * M}",
         "f 1 =", f"a 4 {10 * M} = 0+0:{10 * M}", f"a 5 {19 * M + 512} = 3+0:{20 * M} new 3:{20 * M}",
         "f 2 =", f"a 6 {M + 1} = 0+{10 * M}:{M + 512}", "f 3 =",
         # 74 MiB are reserved, and 40 of the limit's 100 may stay. In searches the two blocks are
         # 2 and 1 old: the first is as old as the average; then the other one is its own
         f"a 7 {24 * M} = 4+0:{24 * M} new 4:{24 * M} release 1 release 2"]),
    ("16: throw_on_cudamalloc_oom fails at once and keeps what is cached",
     "throw_on_cudamalloc_oom:True", 100, [
         f"a 1 {80 * M} = 0+0:{80 * M} new 0:{80 * M}", "f 1 =", f"a 2 {90 * M} = OOM",
         f"a 3 {80 * M} = 0+0:{80 * M}"]),
    ("19: settings in mid-run reset splitting, and keep expandable segments",
     "max_split_size_mb:32,expandable_segments:True", 80, [
         "k roundup_power2_divisions:2 =",
         f"a 1 {48 * M} = 0+0:{48 * M} new 0:{100 * M}! map 0+0:{60 * M}", "f 1 =",
         f"a 2 {24 * M} = 0+0:{24 * M}"]),
    ("20: pages of 2 and 20 MiB in ranges of nine eighths of the device",
     "expandable_segments:True", 160, [
         f"a 1 1 = 0+0:512 new 0:{180 * M}! map 0+0:{2 * M}",
         f"a 2 12000000 = 1+0:12000256 new 1:{180 * M}! map 1+0:{20 * M}"]),
    ("20: expandable_segments_reserve", "expandable_segments:True,expandable_segments_reserve:0.5",
     160, [f"a 1 1 = 0+0:512 new 0:{80 * M}! map 0+0:{2 * M}"]),
    ("21: a hole goes before the end that can grow", "expandable_segments:True", 160, [
        f"a 1 {8 * M} = 0+0:{8 * M} new 0:{180 * M}! map 0+0:{20 * M}",
        f"a 2 {6 * M} = 0+{8 * M}:{6 * M}", "f 1 =",
        # free: 8 MiB at 0, and 6 MiB at 14 MiB with addresses behind it
        f"a 3 {5 * M} = 0+0:{5 * M}"]),
    ("22: growth begins in the free block before the gap", "expandable_segments:True", 160, [
        f"a 1 {8 * M} = 0+0:{8 * M} new 0:{180 * M}! map 0+0:{20 * M}",
        f"a 2 {30 * M} = 0+{8 * M}:{30 * M} map 0+{20 * M}:{20 * M}"]),
    ("22: what is larger than a range misses, and the range goes again",
     "expandable_segments:True,expandable_segments_reserve:0.25", 160, [
         f"a 1 {41 * M} = OOM new 0:{40 * M}! new 1:{40 * M}! release 0 release 1"]),
    ("23: whole pages go back, ragged ends stay", "expandable_segments:True", 160, [
        f"a 1 {10 * M} = 0+0:{10 * M} new 0:{180 * M}! map 0+0:{20 * M}",
        f"a 2 {60 * M} = 0+{10 * M}:{60 * M} map 0+{20 * M}:{60 * M}",
        f"a 3 {2 * M} = 0+{70 * M}:{2 * M}", "f 2 =", f"e = unmap 0+{20 * M}:{40 * M}",
        "f 1 =", "f 3 =", f"e = unmap 0+0:{20 * M} unmap 0+{60 * M}:{20 * M} release 0"]),
    # 10 MiB are pending in a segment of 20 MiB that has a live block too
    ("11: a flush ends what is pending, which only search_after_flush finds", "", 30, [
        f"a 1 {9 * M} = 0+0:{9 * M} new 0:{20 * M}", f"a 2 {9 * M} = 0+{9 * M}:{9 * M}", "r 1 7 =",
        "f 1 =", f"a 3 {9 * M} = OOM", f"a 4 {9 * M} = 0+0:{9 * M}"]),
    ("open: search_after_flush", "pytorch:search_after_flush=True", 30, [
        f"a 1 {9 * M} = 0+0:{9 * M} new 0:{20 * M}", f"a 2 {9 * M} = 0+{9 * M}:{9 * M}", "r 1 7 =",
        "f 1 =", f"a 3 {9 * M} = 0+0:{9 * M}", f"a 4 {9 * M} = OOM"]),
    # as in the description of the pull request: two blocks that are freed and merge, a live one behind
    ("6: max_split_size_mb limits searches in expandable segments too",
     "expandable_segments:True,max_split_size_mb:128", 400, [
         f"a 1 {100 * M} = 0+0:{100 * M} new 0:{460 * M}! map 0+0:{100 * M}",
         f"a 2 {40 * M} = 0+{100 * M}:{40 * M} map 0+{100 * M}:{40 * M}",
         f"a 3 {20 * M} = 0+{140 * M}:{20 * M} map 0+{140 * M}:{20 * M}", "f 1 =", "f 2 =",
         f"a 4 {100 * M} = 0+{160 * M}:{100 * M} map 0+{160 * M}:{100 * M}"]),
    ("open: reuse_oversize", "pytorch:expandable_segments=True,max_split_size_mb=128,reuse_oversize=True",
     400, [
         f"a 1 {100 * M} = 0+0:{100 * M} new 0:{460 * M}! map 0+0:{100 * M}",
         f"a 2 {40 * M} = 0+{100 * M}:{40 * M} map 0+{100 * M}:{40 * M}",
         f"a 3 {20 * M} = 0+{140 * M}:{20 * M} map 0+{140 * M}:{20 * M}", "f 1 =", "f 2 =",
         f"a 4 {100 * M} = 0+0:{100 * M}"]),
    ("a private pool has lists of its own", "", 0, [
        f"a 1 {2 * M} 0 0 = 0+0:{2 * M} new 0:{20 * M}", "f 1 =",
        f"a 2 {2 * M} 0 9 = 1+0:{2 * M} new 1:{20 * M}"]),
]


def event(text):
    op, *rest = text.split()
    if op == "a":
        e = {"op": "alloc", "id": int(rest[0]), "size": int(rest[1])}
        if len(rest) > 2:
            e["stream"] = int(rest[2])
        if len(rest) > 3:
            e["pool"] = int(rest[3])
        return e
    if op in ("f", "fp"):
        return {"op": "free", "id": int(rest[0]), "pending": op == "fp"}
    if op == "r":
        return {"op": "record_stream", "id": int(rest[0]), "stream": int(rest[1])}
    if op == "s":
        return {"op": "sync", **({"stream": int(rest[0])} if rest else {})}
    if op == "l":
        return {"op": "release_pool", "pool": int(rest[0])}
    if op == "x":
        return {"op": "set_fraction", "value": float(rest[0])}
    if op == "k":
        return {"op": "configure", "value": rest[0]}
    return {"op": "complete", "id": int(rest[0])} if op == "c" else {"op": "empty_cache"}


def happened(line):
    """A line of the placements in the words of the cases."""
    words = []
    if line.get("oom"):
        words.append("OOM")
    elif "segment" in line:
        words.append(f"{line['segment']}+{line['offset']}:{line['bytes']}")
    elif "bytes" in line:
        words.append(f":{line['bytes']}")
    for new in line.get("new", []):
        words += ["new", f"{new['segment']}:{new['bytes']}" + "!" * new.get("expandable", False)]
    for name, member in (("map", "mapped"), ("unmap", "unmapped")):
        for run in line.get(member, []):
            words += [name, f"{run['segment']}+{run['offset']}:{run['bytes']}"]
    for ordinal in line.get("released", []):
        words += ["release", str(ordinal)]
    return " ".join(words)


def check(program, folder, settings, mib, script):
    """None, or what differs."""
    trace, placements = os.path.join(folder, "t.ndjson"), os.path.join(folder, "p.ndjson")
    wanted = [line.split("=", 1)[1].strip() for line in script]
    with open(trace, "w", encoding="utf-8") as f:
        head = {"format": "fragsim-trace", "version": 1, "device": {"total_bytes": mib * M}}
        for item in [head] + [event(line.split("=", 1)[0]) for line in script]:
            f.write(json.dumps(item) + "\n")
    policy = ["-p", settings] if settings.startswith("pytorch:") else ["--alloc-conf", settings]
    done = subprocess.run([program, "run", "-q", "--check", "--on-oom", "continue", *policy,
                           "--placements", placements, trace],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        return [done.stderr.strip()]
    got = [""] * len(script)
    with open(placements, encoding="utf-8") as f:
        for line in map(json.loads, f):
            got[line["step"]] = happened(line)
    return [f"{script[i].split('=')[0].strip()}: {want or 'nothing'} was expected, got "
            f"{have or 'nothing'}" for i, (want, have) in enumerate(zip(wanted, got)) if want != have]


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    with tempfile.TemporaryDirectory() as folder:
        for n, (title, settings, mib, script) in enumerate(CASES, 1):
            wrong = check(sys.argv[1], folder, settings, mib, script)
            print(f"{'not ' if wrong else ''}ok {n} - rule {title}")
            for line in wrong:
                print(f"#   {line}")
            failed += bool(wrong)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
