#!/usr/bin/env python3
"""tune_tomorrow.py - how well a setting that was tuned on one run of a program does on another.

    tune_tomorrow.py [options] GROUP...

A GROUP is several runs of one program: a folder of traces, as of record_torch.py with several
--seed, or a scenario of fragsim gen, `gen:training --jitter 40`, which is made with each of
--seeds. The setting that fragsim tune finds on each trace is tried on each other one of its group,
and so is the one that it finds on all others together. Printed is how much more device it needs
there than the best that tune finds for that trace itself, and how often a device that is larger
than the tuned trace needs by so much does for the other. There is no clock and no chance in it:
the same traces give the same tables.
"""
import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

EXPANDABLE = "expandable_segments:True"
HEADROOMS = (0, 5, 10)          # percent


@dataclass
class Table:
    """Percent above a trace's own best, one figure for each pair of traces."""
    default: list[float] = field(default_factory=list)
    expandable: list[float] = field(default_factory=list)
    one: list[float] = field(default_factory=list)
    several: list[float] = field(default_factory=list)
    survived: dict[int, list[bool]] = field(
        default_factory=lambda: {x: [] for x in HEADROOMS})


class Fragsim:
    """The program, with the grid that it tunes over."""

    def __init__(self, path: str, grid: str) -> None:
        self.path = path
        self.grid = grid

    def answer(self, *args: object) -> dict:
        done = subprocess.run([self.path, *map(str, args), "-q", "--threads", "1", "--json", "-"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"tune_tomorrow.py: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def tune(self, *traces: Path) -> dict:
        return self.answer("tune", "--grid", self.grid, *traces)

    def smallest(self, trace: Path, setting: str) -> int:
        return self.answer("fit", "--alloc-conf", setting, trace)["fits"][0]["smallest"]

    def survives(self, trace: Path, setting: str, total: int) -> bool:
        done = subprocess.run([self.path, "run", "-q", "--alloc-conf", setting, "--device-bytes",
                               f"{total}B", str(trace)], check=False)
        if done.returncode not in (0, 3):
            sys.exit("tune_tomorrow.py: fragsim run failed")
        return done.returncode == 0

    def generate(self, scenario: str, seed: int, to: Path) -> None:
        subprocess.run([self.path, "gen", *shlex.split(scenario), "--seed", str(seed), "-o",
                        str(to)], check=True)


def above(smallest: int, best: int) -> float:
    return 100 * (smallest / best - 1)


def plain_expandable(tuned: dict) -> int | None:
    for point in tuned["points"]:
        if point["alloc_conf"] == EXPANDABLE:
            return point["smallest"]
    return None


def measure(fragsim: Fragsim, traces: list[Path], table: Table) -> None:
    """All ordered pairs of a group, and each trace with all the others."""
    others = [[x for x in traces if x != t] for t in traces]
    pairs = [(i, k) for i in range(len(traces)) for k in range(len(traces)) if i != k]
    with ThreadPoolExecutor() as pool:
        alone = list(pool.map(fragsim.tune, traces))
        joint = list(pool.map(lambda rest: fragsim.tune(*rest), others))
        needs = list(pool.map(
            lambda p: fragsim.smallest(traces[p[1]], alone[p[0]]["best"]["alloc_conf"]), pairs))
        several = list(pool.map(
            lambda i: fragsim.smallest(traces[i], joint[i]["best"]["alloc_conf"]),
            range(len(traces))))
    for (i, k), smallest in zip(pairs, needs):
        best = alone[k]["best"]["smallest"]
        table.one.append(above(smallest, best))
        table.default.append(above(alone[k]["default"]["smallest"], best))
        expandable = plain_expandable(alone[k])
        if expandable:
            table.expandable.append(above(expandable, best))
        for percent, survived in table.survived.items():
            total = alone[i]["best"]["smallest"] * (100 + percent) // 100
            survived.append(fragsim.survives(traces[k], alone[i]["best"]["alloc_conf"], total))
    for i, smallest in enumerate(several):
        table.several.append(above(smallest, alone[i]["best"]["smallest"]))


def rank(values: list[float], percent: int) -> float:
    """The nearest rank."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def show(table: Table, groups: int) -> None:
    print(f"{groups} programs, {len(table.one)} ordered pairs of their runs")
    print("percent above the other run's own best   median     90 %     most")
    for name, values in (("default", table.default), (EXPANDABLE, table.expandable),
                         ("tuned on one run", table.one),
                         ("tuned on all but one", table.several)):
        if values:
            figures = (rank(values, 50), rank(values, 90), max(values))
            print(f"{name:38}" + "".join(f"{x:9.1f}" for x in figures))
    print()
    print("a device above what the tuned run needs    the other run survives")
    for percent, survived in table.survived.items():
        share = 100 * sum(survived) / len(survived)
        print(f"{percent:>4} %{share:43.0f} %")


def traces_of(group: str, seeds: list[int], fragsim: Fragsim, folder: Path) -> list[Path]:
    if not group.startswith("gen:"):
        return sorted(x for x in Path(group).iterdir() if x.is_file() and x.name[0] != ".")
    out = []
    for seed in seeds:
        out.append(folder / f"{len(list(folder.iterdir()))}-seed{seed}.fsb")
        fragsim.generate(group.removeprefix("gen:"), seed, out[-1])
    return out


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tune_tomorrow.py",
                                     description=(__doc__ or "").partition(" - ")[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", metavar="GROUP",
                        help="a folder of traces of one program, or gen:SCENARIO [options]")
    parser.add_argument("--fragsim", default="build/fragsim", metavar="PROGRAM",
                        help="the program (build/fragsim)")
    parser.add_argument("--grid", default="default", help="as fragsim tune takes it (default)")
    parser.add_argument("--seeds", type=int, default=4, metavar="N",
                        help="runs of each scenario, with seeds from 1 to N (4)")
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    fragsim = Fragsim(args.fragsim, args.grid)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        for group in args.groups:
            traces = traces_of(group, list(range(1, args.seeds + 1)), fragsim, Path(folder))
            if len(traces) < 2:
                sys.exit(f"tune_tomorrow.py: {group}: two traces or more are required")
            measure(fragsim, traces, table)
            print(f"{group}: done", file=sys.stderr)
    show(table, len(args.groups))
    return 0


if __name__ == "__main__":
    sys.exit(main())
