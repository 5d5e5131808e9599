#!/usr/bin/python3
"""run.py - whole stacks: in the report, in the binary form, and in a snapshot that is written.

usage: run.py PROGRAM

Prints TAP. What is expected are the frames that the snapshots were made of, and those that
Python's pickle reads from real ones of recorded snapshots where there are some beside the project.
"""
import copy
import gzip
import itertools
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "snapshot"), str(HERE.parents[1] / "support")]
from snaps import FRAMES, LARGE, M, Log, block, hole, pickled, segment, snapshot  # noqa: E402
from program import call  # noqa: E402
from tap import Tap  # noqa: E402

REAL = HERE.parents[3] / "shared" / "snapshots"
EVAL = FRAMES[:3] + [{"name": "<module>", "filename": "/home/me/eval.py", "line": 3}]
TAP = Tap()
ok, same = TAP.ok, TAP.same


def write(name, data):
    Path(name).write_bytes(data if isinstance(data, bytes) else pickled(data))
    return name


def keys(frames):
    return [(f["filename"], f["line"], f["name"]) for f in frames]


# The report ---------------------------------------------------------------------
def full():
    """Three blocks of one tag on two different stacks, one of them twice, then 32 MiB."""
    log = Log(frames=FRAMES).segment(LARGE, 20 * M).alloc(LARGE, 5 * M)
    log.alloc(LARGE + 5 * M, 2 * M, frames=EVAL)
    log.alloc(LARGE + 7 * M, 3 * M, frames=copy.deepcopy(FRAMES))
    log.alloc(LARGE + 10 * M, 4 * M, frames=[])
    log.segment(LARGE + 64 * M, 32 * M).alloc(LARGE + 64 * M, 32 * M)
    log.free(LARGE + 64 * M, 32 * M).add("segment_free", LARGE + 64 * M, 32 * M)
    return snapshot([segment(LARGE, block(LARGE, 5 * M), block(LARGE + 5 * M, 2 * M),
                             block(LARGE + 7 * M, 3 * M), block(LARGE + 10 * M, 4 * M),
                             hole(LARGE + 14 * M, 6 * M))], log)


def held(name, *args):
    rc, out, err = call("run", "-p", "pytorch", "--device-bytes", "21MiB", *args, name)
    lines = out.splitlines()
    first = [i for i, line in enumerate(lines) if line.startswith("  top tags  ")]
    lines = lines[first[0]:] if first else []
    end = lines.index('') if '' in lines else len(lines)
    return lines[:end] if rc == 3 and first else [err]


def report():
    write("full", full())
    plain = ['  top tags  10.00 MiB in 3 blocks of "model.py:42 forward"',
             "            4.00 MiB in 1 block without a tag"]
    text = ["                torch::unwind::unwind()",
            "                /opt/site-packages/torch/functional.py:7 empty",
            "                /home/me/model.py:42 forward"]
    whole = [plain[0], "              8.00 MiB in 2 blocks, the oldest from event 0:", *text,
             "                /home/me/train.py:9 <module>",
             "              2.00 MiB in 1 block, the oldest from event 1:", *text,
             "                /home/me/eval.py:3 <module>", plain[1]]
    same("the innermost own frame, as ever", held("full"), plain)
    same("--stacks all: who called it, of equal stacks once", held("full", "--stacks", "all"), whole)
    own = [plain[0], "              8.00 MiB in 2 blocks, the oldest from event 0:", text[2],
           "                /home/me/train.py:9 <module>",
           "              2.00 MiB in 1 block, the oldest from event 1:", text[2],
           "                /home/me/eval.py:3 <module>", plain[1]]
    same("--stacks python: the program's own frames", held("full", "--stacks", "python"), own)
    same("which are the default where stacks are shown", [line for line in held("full", "-v")
         if line in (own[2], own[3], own[6])], own[2:4] + own[5:7])
    ok("14.00 MiB in 4 blocks without a tag"
       in held("full", "--stacks", "none")[0], "--stacks none", held("full", "--stacks", "none"))
    outputs = [call("run", "-q", "-p", "pytorch", "--device-bytes", "21MiB", "--json", "-",
                    "--stacks", stacks, "full")[1] for stacks in ("top", "all")]
    runs = [json.loads(output)["runs"][0] for output in outputs]
    holder = runs[1]["oom"][0]["holders"][0]
    lines = [line.strip() for line in text]
    same("the result object has them too", [holder.pop("all_stacks"), holder.pop("stacks")],
         [2, [{"frames": [*lines, "/home/me/train.py:9 <module>"], "bytes": 8 * M, "blocks": 2,
               "oldest": 0},
              {"frames": [*lines, "/home/me/eval.py:3 <module>"], "bytes": 2 * M, "blocks": 1,
               "oldest": 1}]])
    same("and beside who holds memory depends on none", runs[0], runs[1])
    default, python = ([json.loads(call("run", "-q", "-p", "pytorch", "--device-bytes", "21MiB",
                                        "--json", "-", *args, "full")[1])["runs"]]
                       for args in ((), ("--stacks", "python")))
    same("the result has the program's own frames by default", default, python)
    same("and they are there", [stack["frames"] for stack in
                                default[0][0]["oom"][0]["holders"][0]["stacks"]],
         [[lines[2], "/home/me/train.py:9 <module>"], [lines[2], "/home/me/eval.py:3 <module>"]])

    call("trace", "convert", "-q", "--stacks", "all", "full", "full.fsb")
    same("the binary form has them", held("full.fsb", "--stacks", "all"), whole)
    same("and passes over them", held("full.fsb"), plain)
    same("or over all but the program's own", held("full.fsb", "--stacks", "python"), own)
    call("trace", "convert", "-q", "--stacks", "python", "full", "own.fsb")
    same("it has no others where none were requested", held("own.fsb", "--stacks", "all"), own)
    call("trace", "convert", "-q", "full", "top.fsb")
    same("it has none where none were requested", held("top.fsb", "--stacks", "all"), plain)

    one = snapshot([segment(LARGE, block(LARGE, 20 * M))],
                   Log(frames=[{"name": 'f "x"\n', "filename": "a\tb.py", "line": 2},
                               {"name": "g", "filename": "/lib/libg.so", "line": 0}, {}])
                   .segment(LARGE, 20 * M).alloc(LARGE, 20 * M).alloc(LARGE + 64 * M, 20 * M))
    same("one stack of all blocks has no figures of its own; odd frames",
         held(write("one", one), "--stacks", "all"),
         ['  top tags  20.00 MiB in 1 block of "a\\tb.py:2 f \\"x\\"\\n"',
          '                a\\tb.py:2 f \\"x\\"\\n', "                g (libg.so)", "                "])
    output = call("run", "-q", "-p", "pytorch", "--device-bytes", "21MiB", "--json", "-",
                  "--stacks", "all", "one")[1]
    same("odd frames in the result object",
         json.loads(output)["runs"][0]["oom"][0]["holders"][0]["stacks"][0]["frames"],
         ['a\tb.py:2 f "x"\n', "g (libg.so)", ""])


def frame(filename, line=1, name="f"):
    return {"filename": filename, "line": line, "name": name}


def origins():
    """Of one stack at a time, what is left of it: the program's, packages', PyTorch's, or all."""
    program = [frame("/home/me/lib/model.py", 2), frame("train.py", 3), frame("<stdin>", 4),
               frame("/srv/python3.11/x.py", 5), frame("/home/me/my_record_torch.py", 6)]
    package = [frame("/v/lib/python3.11/site-packages/transformers/m.py"),
               frame("/usr/lib/python3/dist-packages/n.py"), frame("/usr/lib64/python3.12/runpy.py"),
               frame("/home/me/record_torch.py"), frame("python3.10/runpy.py")]
    torch = [frame("/v/site-packages/torch/nn/linear.py"), frame("/home/me/triton/k.py")]
    native = [frame("??", 0), frame("libtorch.so", 0), frame("<frozen-runpy>", 8)]
    for title, frames, wanted in (
            ("the program's", [*native, *torch, *program, *package], program),
            ("packages', where there are none", [*torch, package[0], *native, *package[1:]], package),
            ("PyTorch's, where there are none either", [*native, *torch], torch),
            ("all, where all are native", native, native)):
        log = Log(frames=frames).segment(LARGE, 20 * M).alloc(LARGE, 20 * M)
        write("one", snapshot([segment(LARGE, block(LARGE, 20 * M))],
                              log.alloc(LARGE + 64 * M, 20 * M)))
        output = call("run", "-q", "-p", "pytorch", "--device-bytes", "21MiB", "--json", "-",
                      "--stacks", "python", "one")[1]
        stack = json.loads(output)["runs"][0]["oom"][0]["holders"][0]["stacks"][0]["frames"]
        same(f"frames of {title}", [line.split(" ")[0].split(":")[0] for line in stack],
             [f["filename"] if f["line"] else f["name"] for f in wanted])


def tags():
    """The innermost of the program's own frames, and what that called of a package."""
    own, outer = frame("/home/me/model.py", 22, "forward"), frame("/home/me/train.py", 9, "main")
    einops = frame("/v/lib/python3.13/site-packages/einops/_backends.py", 288, "einsum")
    inside = frame("/v/site-packages/einops/einops.py", 900, "reduce")
    library = frame("/usr/lib/python3.12/contextlib.py", 81, "inner")
    torch = frame("/v/site-packages/torch/nn/linear.py", 114, "forward")
    native = frame("??", 0, "at::empty")
    for frames, wanted in (
            ([native, torch, einops, inside, own, outer],
             "model.py:22 forward > _backends.py:288 einsum"),
            ([native, torch, library, own, outer], "model.py:22 forward"),
            ([native, own, einops, outer], "model.py:22 forward"),
            ([native, torch, library, einops, library, outer],
             "train.py:9 main > _backends.py:288 einsum"),
            ([native, torch, library, einops, inside], "_backends.py:288 einsum"),
            ([native, torch, library], "contextlib.py:81 inner"),
            ([native, torch], "linear.py:114 forward"),
            ([native], "at::empty")):
        log = Log(frames=frames).segment(LARGE, 20 * M).alloc(LARGE, 20 * M)
        write("one", snapshot([segment(LARGE, block(LARGE, 20 * M))],
                              log.alloc(LARGE + 64 * M, 20 * M)))
        same(f"the tag {wanted}", held("one")[:1], [f'  top tags  20.00 MiB in 1 block of "{wanted}"'])


def many():
    """Five stacks of one tag: three are told, and how much the others hold."""
    log, blocks = Log().segment(LARGE, 20 * M), []
    for i in range(5):
        addr, size = LARGE + 4 * i * M, (i + 4) * M // 2
        log.alloc(addr, size, frames=FRAMES[2:3] + [
            {"name": f"caller{i}", "filename": "c.py", "line": 1 + i}])
        blocks += [block(addr, size), hole(addr + size, 4 * M - size)]
    log.alloc(LARGE + 64 * M, 32 * M)
    lines = held(write("many", snapshot([segment(LARGE, *blocks[:-1])], log)),
                 "--stacks", "all")
    same("of many stacks the largest three, and the sum of the others",
         [line.strip() for line in lines if " in " in line],
         ['top tags  15.00 MiB in 5 blocks of "model.py:42 forward"',
          "4.00 MiB in 1 block, the oldest from event 4:",
          "3.50 MiB in 1 block, the oldest from event 3:",
          "3.00 MiB in 1 block, the oldest from event 2:",
          "4.50 MiB in 2 blocks of other stacks, 5 in all"])
    same("their callers", [line.strip() for line in lines if "caller" in line],
         ["c.py:5 caller4", "c.py:4 caller3", "c.py:3 caller2"])


# The binary form ------------------------------------------------------------------
def unpacked(data):
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout


def blocks_of(path):
    data, at, found = Path(path).read_bytes(), 8, []
    while at < len(data):
        kind, index, size, packed, crc = struct.unpack_from("<4sIIII", data, at)
        stored = data[at + 20:at + 20 + packed]
        assert index == len(found) and zlib.crc32(data[at:at + 16] + stored) == crc
        found.append((kind, unpacked(stored)))
        assert len(found[-1][1]) == size
        at += 20 + packed
    return found


def file_of(blocks):
    data = b"\x8ffsb\r\n\x1a\n"
    for i, (kind, payload) in enumerate(blocks):
        stored = subprocess.run(["zstd", "-qc"], input=payload, capture_output=True,
                                check=True).stdout
        head = struct.pack("<4sIII", kind, i, len(payload), len(stored))
        data += head + struct.pack("<I", zlib.crc32(head + stored)) + stored
    return data


class Stacks:
    """Of each alloc its frames, as fragsim-binary(5) says."""

    def __init__(self, blocks):
        self.texts, self.frames, self.stacks, self.allocs = [""], [None], [(0, 0)], []
        for i, (kind, payload) in enumerate(blocks):
            if kind == b"stks":
                assert blocks[i + 1][0] == b"EVTS"
                self.block(payload)

    def block(self, data):
        n = struct.unpack_from("<4I", data)
        cells = iter(struct.unpack_from(f"<{n[0] + 3 * n[1] + 2 * n[2] + n[3]}I", data, 16))

        def take(k):
            return list(itertools.islice(cells, k))

        lengths = take(n[0])
        at = len(data) - sum(lengths)
        assert at == 16 + 4 * (n[0] + 3 * n[1] + 2 * n[2] + n[3])
        for length in lengths:
            self.texts.append(data[at:at + length].decode())
            at += length
        files, lines, names = take(n[1]), take(n[1]), take(n[1])
        for f, line, name in zip(files, lines, names):
            self.frames.append((self.texts[f], line, self.texts[name]))
        for frame, distance in zip(take(n[2]), take(n[2])):
            self.stacks.append((frame, len(self.stacks) - distance if distance else 0))
        self.allocs += [self.whole(number) for number in take(n[3])]

    def whole(self, number):
        frames = []
        while number:
            frame, number = self.stacks[number]
            frames.append(self.frames[frame])
        return frames


def binary():
    stacks = Stacks(blocks_of("full.fsb"))
    same("fragsim-binary(5) decodes them", stacks.allocs,
         [keys(FRAMES), keys(EVAL), keys(FRAMES), [], keys(FRAMES)])
    same("each text, frame and common end once",
         [len(set(x)) == len(x) for x in (stacks.texts, stacks.frames, stacks.stacks)]
         + [len(stacks.frames), len(stacks.stacks)], [True] * 3 + [1 + 5, 1 + 8])
    call("trace", "convert", "-q", "--stacks", "all", "full.fsb", "again.fsb")
    same("there and back", Path("again.fsb").read_bytes(), Path("full.fsb").read_bytes())
    call("trace", "convert", "-q", "full.fsb", "again.fsb")
    same("left out, the file is that without", Path("again.fsb").read_bytes(),
         Path("top.fsb").read_bytes())
    for form in ("lines", "minimalloc"):
        rc, out, err = call("trace", "convert", "--stacks", "all", "--to", form, "full", "out")
        ok(rc == 0 and "4 stacks" in err, f"{form} has no place for stacks, and says so", err)
        rc, out, err = call("trace", "convert", "--to", form, "full", "out")
        ok(rc == 0 and "stack" not in err, f"{form} without --stacks loses none", err)
    call("trace", "anonymize", "full.fsb", "anon.fsb")
    ok(b"stks" not in Path("anon.fsb").read_bytes(), "anonymize leaves none behind")


def payload(texts, frames, stacks, allocs):
    """A block of stacks: texts are bytes, frames triples, stacks pairs."""
    cells = [len(texts), len(frames), len(stacks), len(allocs), *map(len, texts)]
    for rows in (frames, stacks):
        cells += itertools.chain.from_iterable(zip(*rows))
    return struct.pack(f"<{len(cells) + len(allocs)}I", *cells, *allocs) + b"".join(texts)


def damage():
    blocks = blocks_of("full.fsb")
    at = [kind for kind, _ in blocks].index(b"stks")
    texts, frames, stacks, allocs = [b"a.py", b"f"], [(1, 7, 2), (0, 0, 2)], [(1, 0), (2, 1)], [2] * 5

    def made(data, *more):
        return write("bad.fsb", file_of(blocks[:at] + [(b"stks", data), *more]
                                        + blocks[at + 1:]))

    good = payload(texts, frames, stacks, allocs)
    rc, out, err = call("run", "-q", "--stacks", "all", made(good))
    ok(rc == 0, "stacks made by hand", err)
    same("are read so", Stacks(blocks_of("bad.fsb")).allocs,
         [[("", 0, "f"), ("a.py", 7, "f")]] * 5)
    for title, data in (
            ("cut short", good[:-1]), ("too long", good + b"x"), ("no counts", good[:15]),
            ("one text more than there is", struct.pack("<I", 3) + good[4:]),
            ("as many texts as can be", struct.pack("<I", 0xffffffff) + good[4:]),
            ("as many allocs as can be", good[:12] + struct.pack("<I", 0xffffffff) + good[16:]),
            ("a text that is no UTF-8", payload([b"a.py", b"\xff"], frames, stacks, allocs)),
            ("an empty text", payload([b"a.py", b"f", b""], frames, stacks, allocs)),
            ("a text twice", payload([b"a.py", b"f", b"f"], frames, stacks, allocs)),
            ("a file that is not there", payload(texts, [(3, 7, 2), (0, 0, 2)], stacks, allocs)),
            ("a name that is not there", payload(texts, [(1, 7, 3), (0, 0, 2)], stacks, allocs)),
            ("a frame twice", payload(texts, [(1, 7, 2), (1, 7, 2)], stacks, allocs)),
            ("a stack of no frame", payload(texts, frames, [(1, 0), (0, 1)], allocs)),
            ("a frame that is not there", payload(texts, frames, [(1, 0), (3, 1)], allocs)),
            ("a stack on one that is not there", payload(texts, frames, [(1, 1), (2, 1)], allocs)),
            ("a stack on none, far off", payload(texts, frames, [(1, 0), (2, 2)], allocs)),
            ("a stack twice", payload(texts, frames, [(1, 0), (1, 0)], [1] * 5)),
            ("an alloc's stack that is not there", payload(texts, frames, stacks, [3] * 5)),
            ("an alloc too many", payload(texts, frames, stacks, [2] * 6))):
        # what is there twice is seen in the table, which is made where stacks are asked for
        for asked in ("all", "none") if "twice" not in title else ("all",):
            rc, out, err = call("run", "-q", "--stacks", asked, made(data))
            ok(rc == 4 and err.count("\n") == 1 and ("block 1 " in err or "too many" in title
                                                     and "block 2 " in err) and "stacks" in err,
               f"refused with --stacks {asked}: {title}", rc, err)
    rc, out, err = call("run", "-q", "--stacks", "all", made(good, (b"stks", good)))
    ok(rc == 4 and "events are expected after" in err, "refused: stacks of no events", err)
    rc, out, err = call("run", "-q", made(good, (b"stks", good)))
    ok(rc == 4 and "events are expected after" in err, "refused, where none are asked for", err)
    rc, out, err = call("run", "-q", "--stacks", "all", made(payload(texts, frames, stacks, [2])))
    ok(rc == 0, "the last allocs may have none", err)


def large():
    """More stacks than one block of events has: numbers go on in the next one."""
    log, at, blocks = Log(times=False), LARGE, []
    log.segment(LARGE, 64 * M)
    for i in range(40000):
        log.alloc(LARGE, 512, frames=[{"name": f"f{i % 7}", "filename": "a.py", "line": 1 + i % 9000},
                                      FRAMES[3]])
        log.free(LARGE, 512)
    write("large", snapshot([segment(LARGE, hole(LARGE, 64 * M))], log))
    call("trace", "convert", "-q", "--stacks", "all", "large", "large.fsb")
    found = blocks_of("large.fsb")
    wanted = [keys(e["frames"]) for e in log.events if e["action"] == "alloc"]
    same("stacks over several blocks", Stacks(found).allocs == wanted, True)
    ok(sum(kind == b"stks" for kind, _ in found) > 1, "of which there are several")
    rc, out, err = call("trace", "convert", "-q", "--stacks", "all", "large.fsb", "again.fsb")
    same("and back", Path("again.fsb").read_bytes() == Path("large.fsb").read_bytes(), True, err)


# A snapshot that is written --------------------------------------------------------
def exported():
    value = full()
    value["device_traces"][0][1]["user_metadata"] = "epoch {3}"
    write("full", value)
    call("trace", "convert", "-q", "-p", "pytorch", "--stacks", "all", "full", "o.pickle")
    with open("o.pickle", "rb") as f:
        out = pickle.load(f)
    log = out["device_traces"][0]
    allocs = [e for e in log if e["action"] == "alloc"]
    same("a snapshot of the run has the frames as they were",
         [e["frames"] for e in allocs], [FRAMES, EVAL, FRAMES, [], FRAMES])
    same("of segments too", [e["frames"] for e in log if e["action"] == "segment_alloc"],
         [FRAMES, FRAMES])
    same("and of the blocks at the end",
         [b["frames"] for s in out["segments"] for b in s["blocks"]
          if b["state"] == "active_allocated"], [FRAMES, EVAL, FRAMES, []])
    same("and what the program attached", [e.get("user_metadata") for e in allocs],
         ["epoch {3}", None, None, None, None])
    tags = [json.loads(line).get("tag") for line in
            call("trace", "convert", "-q", "--to", "lines", "o.pickle", "-")[1].splitlines()[1:]]
    same("so it is the same trace again", [t for t in tags if t],
         ["model.py:42 forward {epoch {3}}"] + ["model.py:42 forward"] * 3)
    deep = [{"name": f"f{i}", "filename": "a.py", "line": i + 1} for i in range(3000)]
    value = snapshot([segment(LARGE, block(LARGE, 20 * M))],
                     Log(frames=deep).segment(LARGE, 20 * M).alloc(LARGE, 20 * M))
    call("trace", "convert", "-q", "-p", "pytorch", "--stacks", "all", write("deep", value), "o.pickle")
    with open("o.pickle", "rb") as f:
        same("of a deep stack the innermost 1024",
             pickle.load(f)["device_traces"][0][1]["frames"], deep[:1024])


def hostile():
    """Thousands of deep stacks, each its own: more than the table may take is not told."""
    frames = [{"name": f"f{i}", "filename": "a.py", "line": 1 + i} for i in range(1500)]
    log = Log(times=False)
    for i in range(1000):
        log.alloc(LARGE + 512 * i, 512, frames=frames[i % 400:])
    rc, _, err = call("run", "-q", "-p", "direct", "--stacks", "all",
                      write("hostile", snapshot([], log)))
    ok(rc == 0, "many deep stacks", err)


# Real ones --------------------------------------------------------------------
def real():
    names = sorted(REAL.glob("*.pickle.gz")) if REAL.is_dir() else []
    if not names:
        TAP.skip("the frames of real snapshots", "there are none")
    for name in names:
        with gzip.open(name) as f:
            value = pickle.load(f)
        logs = value.get("device_traces") or []
        if sum(map(bool, logs)) != 1:
            continue
        wanted = [keys(e.get("frames") or []) for log in logs for e in log
                  if e["action"] == "alloc"]
        call("trace", "convert", "-q", "--stacks", "all", name, "real.fsb")
        got = Stacks(blocks_of("real.fsb")).allocs
        ok(got[len(got) - len(wanted):] == wanted, f"every frame of {name.name}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (report, origins, tags, many, binary, damage, large, exported, hostile, real):
        part()
    os.chdir("/")
sys.exit(TAP.finish())
