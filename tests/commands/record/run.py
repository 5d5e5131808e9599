#!/usr/bin/python3
"""run.py - small models of each kind, recorded without a GPU by scripts/record_torch.py.

usage: run.py PROGRAM

Prints TAP. It takes the first python that has torch: $FRAGSIM_TORCH_PYTHON, this one, the PATH's.
What lives when a model's first step begins is known from elsewhere: its published number of
parameters, or arithmetic on its shape, and its inputs.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parents[1] / "support")]

from tap import Tap                                     # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
SECONDS = 600
TAP = Tap()
report = TAP.result


def gpt2_tiny(length):
    """Embeddings of words and of 1,024 places; four blocks of 12 width^2 weights; the input."""
    width = 256
    block = 12 * width**2 + 13 * width
    return 4 * ((8192 + 1024) * width + 4 * block + 2 * width) + 8 * length


def llama(width, kv_width, inner):
    """One layer in fp16, words in and out; the frequencies of its heads of 4, twice, in fp32."""
    layer = 2 * width**2 + 2 * width * kv_width + 3 * width * inner + 2 * width
    return 2 * (2 * 32000 * width + layer + width) + 2 * 2 * 4


def moe(width, experts):
    expert = width * 4 * width + 4 * width + 4 * width * width + width
    return 4 * (width * experts + experts + experts * expert)


def lengths(seed):
    rng = random.Random(seed)
    return [rng.randrange(128, 161, 8) for _ in range(4)]


def sides(seed):
    rng = random.Random(seed)
    return [rng.randrange(512, 769, 64) for _ in range(2)]


# NAME: package that it needs, options, bytes live at the first mark, marks
KINDS = {
    "resnet50_train_bs32_fp32": (
        # 26,560 channels are normalised in 53 places: mean, variance and a count of batches
        "torchvision", {"steps": 1, "batch": 2},
        4 * 25557032 + 4 * 2 * 26560 + 8 * 53 + 4 * 2 * 3 * 224 * 224 + 8 * 2, 4),
    "gpt2_small_train_bs16_varlen_ckpt": (
        "transformers", {"size": "tiny", "batch": 1, "length": 160, "steps": 4},
        gpt2_tiny(lengths(0)[0]), 13),
    "bert_base_infer_varlen": (
        # and the numbers and kinds of 512 places
        "transformers", {"batches": 4, "longest": 64}, 4 * 109482240 + 2 * 8 * 512, 5),
    "llama1b_serve_24req_dyncache": (
        "transformers", {"requests": 2, "layers": 1, "hidden": 128, "inner": 64, "prompt": 20,
                         "new": 8}, llama(128, 32, 64), 5),
    "sd15_unet_vae_infer_multires": (
        "diffusers", {"steps": 1, "pixels": [64]},
        2 * (859520964 + 83653863 + 4 * 8 * 8 + 2 * 77 * 768), 3),
    "sd15_unet_vae_infer_varres": (
        "diffusers", {"steps": 1, "pixels": [0, 0]},
        2 * (859520964 + 83653863 + 4 * (sides(0)[0] // 8)**2 + 2 * 77 * 768), 5),
    "moe_train_dispatch": (
        "", {"steps": 1, "tokens": 64, "width": 16, "experts": 2, "layers": 1}, moe(16, 2), 4),
}
VARYING = [name for name in KINDS if "var" in name or "serve" in name]


def find_python():
    """One that has torch, and which packages it has besides."""
    wanted = sorted({package for package, *_ in KINDS.values() if package})
    ask = ("import importlib.util, torch; print(torch.__version__,"
           f" *[p for p in {wanted} if importlib.util.find_spec(p)])")
    for python in (os.environ.get("FRAGSIM_TORCH_PYTHON"), sys.executable, shutil.which("python3")):
        if not python:
            continue
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False,
                              timeout=SECONDS)
        if done.returncode == 0:
            return python, done.stdout.split()
    return None, []


def record(python, cases):
    """What failed, by file."""
    # a sanitizer's settings are not for a program that was built without one
    env = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
    done = subprocess.run([python, "-B", HERE / "small.py", ROOT / "scripts", json.dumps(cases)],
                          capture_output=True, text=True, check=False, timeout=SECONDS,
                          env={**env, "MALLOC_PERTURB_": "0"})
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {path: done.stderr[-2000:] for *_, path in cases}


def events(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()][1:]


def marks(path):
    return [e["name"] for e in events(path) if e["op"] == "mark"]


def live_at_first_mark(trace):
    """Without what outlives the program's own objects: constants that a library keeps."""
    freed = {e["id"] for e in trace if e["op"] == "free"}
    first = next(i for i, e in enumerate(trace) if e["op"] == "mark")
    live = {e["id"]: e["size"] for e in trace[:first] if e["op"] == "alloc"}
    for e in trace[:first]:
        if e["op"] == "free":
            del live[e["id"]]
    return sum(size for ident, size in live.items() if ident in freed)


def judge(path, wanted, mark_count):
    trace = events(path)
    faults = []
    live = live_at_first_mark(trace)
    if live != wanted:
        faults.append(f"{live} bytes live at the first mark, not {wanted}")
    if len(marks(path)) != mark_count:
        faults.append(f"marks {marks(path)}")
    done = subprocess.run([PROGRAM, "run", "-q", "-p", "pytorch", "--json", "-", path],
                          capture_output=True, text=True, check=False)
    if done.returncode or json.loads(done.stdout)["trace"]["events"] != len(trace):
        faults.append(f"fragsim run: status {done.returncode}: {done.stderr}")
    return faults


def test_models(python, has):
    there = {name: kind for name, kind in KINDS.items() if not kind[0] or kind[0] in has}
    cases = [(name, kind[1], None, name) for name, kind in there.items()]
    for name in VARYING:
        if name in there:
            cases += [(name, KINDS[name][1], seed, f"{name} {seed}") for seed in (7, 8)]
    failed = record(python, cases)
    for name, (package, _, wanted, mark_count) in KINDS.items():
        if name not in there:
            TAP.skip(name, f"torch {has[0]} has no {package} beside it")
            continue
        report(f"{name}, torch {has[0]}",
               failed.get(name) or judge(name, wanted, mark_count))
    for name in VARYING:
        if name not in there or any(p.startswith(name) for p in failed):
            continue
        runs = [marks(p) for p in (name, f"{name} 7", f"{name} 8")]
        report(f"{name}: --seed changes the lengths",
               [] if all(a != b for a, b in zip(runs, runs[1:] + runs[:1])) else runs)
    name = "gpt2_small_train_bs16_varlen_ckpt"
    if name in there and not failed:
        got = [[int(m.split("len")[1]) for m in marks(p) if "len" in m] for p in (name, f"{name} 7")]
        report("the lengths are those that the seed draws",
               [] if got == [lengths(0), lengths(7)] else got)


def test_numbers(python, has):
    """--batch and --length take the place of the model's own: two sequences of 128."""
    if "transformers" not in has:
        TAP.skip("--batch and --length", f"torch {has[0]} has no transformers beside it")
        return
    script = ROOT / "scripts" / "record_torch.py"
    done = subprocess.run([python, "-B", script, "model", "gpt2_tiny_train_bs4_seq256", "--device",
                           "fake", "--batch", "2", "--length", "128", "-o", "numbers"],
                          capture_output=True, text=True, check=False, timeout=SECONDS)
    report("--batch and --length",
           done.stderr[-2000:] if done.returncode else judge("numbers", gpt2_tiny(2 * 128), 10))
    done = subprocess.run([python, "-B", script, "model", "moe_train_dispatch", "--batch", "2"],
                          capture_output=True, text=True, check=False, timeout=SECONDS)
    report("a model that has no batch refuses --batch",
           [] if done.returncode == 1 and "has no --batch" in done.stderr else done.stderr)


def main():
    python, has = find_python()
    if not python:
        print("1..0 # SKIP no python with torch; FRAGSIM_TORCH_PYTHON may name one")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        test_models(python, has)
        test_numbers(python, has)
        os.chdir(ROOT)
    return TAP.finish()


sys.exit(main())
