#!/usr/bin/python3 -B
# run.py - holds the naive model of the policy tlsf against a real TLSF
"""run.py build [--source FILE]: builds LVGL's copy of M. Conte's TLSF, fetched or a file
run.py fuzz N [--seed S]: N random traces through it and through the model of tests/property

A real TLSF keeps 8 bytes of each block for itself, in the memory that it gives out: so its blocks
lie elsewhere than those of the policy, whose records are not on the device. The model has the
header as a figure, 8 here, and 0 where tests/property/compare.py holds the policy against it."""

import argparse
import io
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build" / "oracle-tlsf"
INDEX = "https://pypi.org/simple/lvgl/"
ARCHIVE = "lvgl-0.1.1b0.tar.gz"
MEMBER = "misc/lv_tlsf.c"

sys.path.insert(0, str(ROOT / "tests" / "property"))
from naive_policies import Device, OutOfMemory, Tlsf    # noqa: E402


class Real(Tlsf):
    """With the figures of a 64-bit machine."""

    UNIT, HEADER, LEAST = 8, 8, 24


def fetch():
    """The text of the source, out of the archive that PyPI names."""
    with urllib.request.urlopen(INDEX) as answer:
        url = re.search('href="([^"#]*/%s)' % re.escape(ARCHIVE), answer.read().decode())[1]
    with urllib.request.urlopen(url) as answer:
        archive = tarfile.open(fileobj=io.BytesIO(answer.read()))
    member = next(name for name in archive.getnames() if name.endswith(MEMBER))
    return archive.extractfile(member).read().decode()


def build(source):
    """A driver for each number of second-level lists; the source fixes it in an enum."""
    text = pathlib.Path(source).read_text() if source else fetch()
    misc = BUILD / "src" / "misc"
    misc.mkdir(parents=True, exist_ok=True)
    for name in ("../lv_conf_internal.h", "lv_tlsf.h", "lv_mem.h", "lv_log.h", "lv_assert.h"):
        (misc / name).write_text("")
    for sl_log2 in range(1, 6):
        own, count = re.subn(r"SL_INDEX_COUNT_LOG2( *)= 5", r"SL_INDEX_COUNT_LOG2\1= %d" % sl_log2,
                             text)
        if count != 1:
            sys.exit("run.py: the source does not say SL_INDEX_COUNT_LOG2 = 5")
        (misc / "lv_tlsf.c").write_text(own)
        subprocess.run(["cc", "-O2", "-w", "-I", HERE, "-include", HERE / "lvgl.h", "-o",
                        BUILD / ("driver%d" % sl_log2), HERE / "driver.c", misc / "lv_tlsf.c"],
                       check=True)


def random_case(seed):
    """The lines for the driver, and what the model says that it answers."""
    rng = random.Random(seed)
    sl_log2 = rng.randint(1, 5)
    model = Real("tlsf", {"sl_log2": sl_log2, "segment": rng.choice([64, 4096, 1 << 20, 2 << 20])},
                 Device(0, {"total_bytes": rng.choice([0, 1 << 20, 8 << 20, 64 << 20]),
                            "granularity_bytes": 8}))
    few = [rng.randint(1, 3 << 20) for _ in range(4)]
    live, lines, want = {}, [], []
    for number in range(rng.choice([50, 300])):
        if live and rng.random() < 0.48:
            gone = rng.choice(list(live))
            model.free(live.pop(gone))
            lines.append("free %d" % gone)
            continue
        size = rng.choice(few + [rng.randint(1, 2000), int(2 ** rng.uniform(0, 22))])
        lines.append("alloc %d %d" % (number, size))
        model.begin_step()
        try:
            block = model.alloc(size, 0)
        except OutOfMemory:
            block = None
        if model.new or model.released or not block:
            want.append("%d none" % number)
        lines += ["drop %d" % ordinal for ordinal in model.released]
        if not block:
            continue
        for segment in model.new:
            lines += ["pool %d %d" % (segment.ordinal, segment.bytes + Real.HEADER),
                      "alloc %d %d" % (number, size)]
        want.append("%d %d %d" % (number, block.segment.ordinal, block.offset))
        live[number] = block
    return sl_log2, lines, want


def fuzz(count, seed):
    answers = refused = 0
    for n in range(seed, seed + count):
        sl_log2, lines, want = random_case(n)
        done = subprocess.run([BUILD / ("driver%d" % sl_log2)], input="\n".join(lines) + "\n",
                              capture_output=True, text=True, check=False)
        got = done.stdout.split("\n")[:-1]
        if done.returncode or got != want:
            at = next((i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]),
                      min(len(got), len(want)))
            sys.exit("seed %d, answer %d: the real one says %s, the model %s (status %d)%s"
                     % (n, at, got[at:at + 1], want[at:at + 1], done.returncode, done.stderr))
        answers += len(want)
        refused += sum(line.endswith("none") for line in want)
    print("%d traces, %d answers, %d of them none: no difference" % (count, answers, refused))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build").add_argument("--source")
    fuzzer = verbs.add_parser("fuzz")
    fuzzer.add_argument("count", type=int)
    fuzzer.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.verb == "build":
        build(given.source)
    else:
        fuzz(given.count, given.seed)


if __name__ == "__main__":
    main()
