#!/usr/bin/env python3
"""changes_table.py - what each change of fragsim predict brings on each of some traces.

    changes_table.py [--fragsim PATH] [-p POLICY] [--figure NAME] TRACE...

Prints a table in Markdown: of each trace the smallest device under the policy as it is, and below
it how far each change moves that. MARK is the mark of the iteration that requests most at once,
and PEAK what the trace requests at once. There is no clock and no chance in it: the same traces
give the same table.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

CHANGES = (
    ("--scale", "1/2"), ("--scale", "1/2", "--life", "long"),
    ("--scale", "1/2", "--life", "short"), ("--scale", "1/2", "--min-bytes", "1MiB"),
    ("--scale", "1/2", "--tag", "*| init"), ("--split", "20MiB"), ("--split", "2MiB"),
    ("--shard", "8"), ("--isolate", "by=life"), ("--isolate", "by=size:1MiB"),
    ("--isolate", "by=size:1MiB,20MiB"), ("--isolate", "by=tag:*| init"), ("--isolate", "by=tag"),
    ("--hoist",), ("--warmup", "MARK"), ("--preallocate", "PEAK"), ("--drop", "*| init"),
    ("--isolate", "by=life", "--split", "20MiB"), ("--hoist", "--warmup", "MARK"),
)


class Fragsim:
    def __init__(self, path: str, policy: str) -> None:
        self.path = path
        self.policy = policy

    def lines(self, *args: object) -> list[str]:
        done = subprocess.run([self.path, *map(str, args)], capture_output=True, text=True,
                              check=False)
        if done.returncode not in (0, 1) or not done.stdout:
            sys.exit(f"changes_table.py: {done.stderr.strip()}")
        return done.stdout.splitlines()

    def answer(self, trace: str, *changes: object) -> dict:
        return json.loads("\n".join(self.lines("predict", "-q", "-p", self.policy, "--json", "-",
                                               trace, *changes)))


def largest_iteration(fragsim: Fragsim, trace: str) -> str:
    """The mark of the kind that repeats first after which most is live at a time."""
    events = [json.loads(x) for x in fragsim.lines("trace", "convert", "-q", trace, "-")]
    names = [ev["name"] for ev in events if ev.get("op") == "mark"]
    kinds = [re.sub("[0-9]+", "#", x) for x in names]
    own = next((x for x in kinds if kinds.count(x) > 1), None)
    live: dict = {}
    peaks: dict = {}
    total, at = 0, None
    for ev in events:
        if ev.get("op") == "mark" and re.sub("[0-9]+", "#", ev["name"]) == own:
            at = ev["name"]
        elif ev.get("op") == "alloc":
            live[repr(ev["id"])] = ev["size"]
            total += ev["size"]
        elif ev.get("op") == "free":
            total -= live.pop(repr(ev["id"]))
        if at:
            peaks[at] = max(peaks.get(at, 0), total)
    return max(peaks, key=peaks.get) if peaks else ""


def shift(before: int | None, after: int | None) -> str:
    if not before or after is None:
        return "-"
    percent = f"{(after - before) / before * 100:+.1f} %"
    return "0" if float(percent[:-2]) == 0 else percent


def main() -> None:
    parser = argparse.ArgumentParser(prog="changes_table.py",
                                     description=__doc__.splitlines()[0].split(" - ")[1])
    parser.add_argument("--fragsim", default="build/fragsim", metavar="PATH")
    parser.add_argument("-p", "--policy", default="pytorch")
    parser.add_argument("--figure", default="smallest", choices=("smallest", "safe", "reserved"))
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    args = parser.parse_args()
    fragsim = Fragsim(args.fragsim, args.policy)
    columns = []
    for trace in args.traces:
        words = {"MARK": largest_iteration(fragsim, trace)}
        column = []
        for change in CHANGES:
            if "MARK" in change and not words["MARK"]:
                column.append("-")
                continue
            found = fragsim.answer(trace, *(words.get(x, x) for x in change if x != "PEAK"),
                                   *[words[x] for x in change if x == "PEAK"])
            before = found["as_it_is"]["fits"][0][args.figure]
            words["PEAK"] = f'{found["as_it_is"]["requested"]}B'
            column.append(shift(before, found["changed"]["fits"][0][args.figure]))
        columns.append([f"{before / 2**20:,.0f} MiB" if before else "-", *column])
    names = [Path(x).name.split(".")[0] for x in args.traces]
    print("| change |", " | ".join(names), "|")
    print("|---|" + "--:|" * len(names))
    for i, change in enumerate(["as it is", *CHANGES]):
        name = change if isinstance(change, str) else "`" + " ".join(
            f"'{x}'" if re.search("[*| ]", x) else x for x in change) + "`"
        print(f"| {name.replace('|', chr(92) + '|')} |", " | ".join(c[i] for c in columns), "|")


main()
