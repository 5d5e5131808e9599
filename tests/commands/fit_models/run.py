#!/usr/bin/python3
"""run.py - fragsim record --model and fit --model: small models, without a GPU, weights and network.

usage: run.py PROGRAM

Prints TAP. The recordings need a python that has torch and transformers: $FRAGSIM_TORCH_PYTHON,
this one, the PATH's; without one they are skipped. The sizes are arithmetic on the configuration.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "support")]

from tap import Tap                                     # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
SECONDS = 900
TAP = Tap()
WIDTH, LAYERS, WORDS, PLACES = 64, 2, 1000, 128
WORKSPACE = 2 * 4096 * 1024 + 8 * 16 * 1024     # of cuBLAS
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": WIDTH,
        "n_layer": LAYERS, "n_head": 4, "vocab_size": WORDS, "n_positions": PLACES}
# in the order of the model: words, places; norm, attention in and out, norm, two linear ones; norm
BLOCK = [WIDTH] * 2 + [3 * WIDTH**2, 3 * WIDTH, WIDTH**2, WIDTH] + [WIDTH] * 2 + \
    [4 * WIDTH**2, 4 * WIDTH, 4 * WIDTH**2, WIDTH]
SHAPES = [WORDS * WIDTH, PLACES * WIDTH] + LAYERS * BLOCK + [WIDTH] * 2


def call(*words, python=None):
    env = {k: v for k, v in os.environ.items() if not k.endswith("SAN_OPTIONS")}
    if python:
        env["FRAGSIM_TORCH_PYTHON"] = python
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=SECONDS, env={**env, "MALLOC_PERTURB_": "0"})


def refused(title, status, line, *words, python=None):
    done = call(*words, python=python)
    TAP.ok(done.returncode == status and line in done.stderr and done.stderr.count("\n") == 1,
           title, f"status {done.returncode}: {done.stderr}", f"wanted {status}: {line}")


def find_python():
    for python in (os.environ.get("FRAGSIM_TORCH_PYTHON"), sys.executable, shutil.which("python3")):
        if python and subprocess.run([python, "-c", "import torch, transformers"], check=False,
                                     capture_output=True, timeout=SECONDS).returncode == 0:
            return python
    return None


def test_usage():
    refused("an option of a model requires --model", 2, "--batch is for --model", "record",
            "--batch", "3", "--", "true")
    refused("a stage requires --shard", 2, "--stage requires --shard", "record", "--model", "gpt2",
            "--stage", "2")
    refused("generation has no optimizer", 2, "--generate is without --lora", "record", "--model",
            "gpt2", "--generate", "3", "--lora", "4")
    refused("a model has no program", 2, "--model is without a program", "record", "--model", "gpt2",
            "--", "true")
    refused("a model is not recorded in CUDA", 2, "--model is without --torch", "record", "--model",
            "gpt2", "--torch")
    refused("an optimizer that is none", 2, "optimizer", "record", "--model", "gpt2", "--optimizer",
            "adamx")
    refused("no python", 127, "FRAGSIM_TORCH_PYTHON", "record", "--model", "gpt2",
            python="/no/python")
    refused("fit: an option of a model requires --model", 2, "--lora is for --model", "fit",
            "--lora", "3", "x")
    refused("fit: steps are of a model", 2, "--iterations is for --model", "fit", "--iterations", "3", "x")
    refused("fit: a model has no trace", 2, "--model is without a TRACE", "fit", "--model", "gpt2",
            "x")
    refused("fit: no python", 127, "FRAGSIM_TORCH_PYTHON", "fit", "--model", "gpt2",
            python="/no/python")
    Path("bare").write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    Path("bare").chmod(0o755)
    refused("a python without torch", 127, "has no module torch: pip install", "record", "--model",
            "gpt2", python=str(Path("bare").resolve()))


def events(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()][1:]


def head(path):
    return json.loads(Path(path).read_text().partition("\n")[0])["meta"]


def held(path):
    """Workspaces of cuBLAS that the two threads keep: up to PyTorch 2.14."""
    version = [int(n) for n in head(path)["torch"].split(".")[:2]]
    return 2 * WORKSPACE if version < [2, 15] else 0


def live_at(trace, name):
    """Bytes in blocks at a mark, without constants that nothing frees and that have no tag of ours."""
    live = {}
    for e in trace:
        if e["op"] == "mark" and e["name"] == name:
            return sum(live.values())
        if e["op"] == "alloc":
            live[e["id"]] = e["size"]
        elif e["op"] == "free":
            del live[e["id"]]
    return None


def recorded(python, title, path, *words):
    done = call("record", "--model", "gpt2.json", "--batch", 2, "--length", 32, "-o", path, *words,
                python=python)
    if done.returncode:
        TAP.ok(False, title, done.stderr)
        return []
    run = call("run", "-q", "-p", "pytorch", "--json", "-", path)
    TAP.ok(run.returncode == 0, f"{title}: the trace runs", run.stderr)
    return events(path)


def test_sizes(python):
    inputs = 8 * 2 * 32
    params = 2 * sum(SHAPES)
    trace = recorded(python, "training", "t.ndjson", "--iterations", 2)
    if trace:
        got = [live_at(trace, f"step{i} fwd") for i in range(2)]
        # two of the optimizer's for each parameter, its counts of steps, cuBLAS twice, constants
        more = 2 * params + 4 * len(SHAPES) + held("t.ndjson")
        TAP.ok(got[0] == params + inputs, "parameters and input", got[0], params + inputs)
        TAP.ok(0 <= got[1] - got[0] - more < 4096, "the optimizer's state", got[1] - got[0], more)
        full = live_at(trace, "step0 opt")
        TAP.ok(0 <= full - got[0] - params - (more - 2 * params - 4 * len(SHAPES)) < 4096,
               "the gradients", full - got[0], params)
    parts = sum(-(-2 * n // 4) for n in SHAPES)
    trace = recorded(python, "one rank of four", "s.ndjson", "--iterations", 2, "--shard", 4)
    if trace:
        got = [live_at(trace, f"step{i} fwd") for i in range(2)]
        more = 2 * parts + len(SHAPES) + held("s.ndjson")
        TAP.ok(got[0] == parts + inputs, "a quarter of the parameters", got[0], parts + inputs)
        TAP.ok(0 <= got[1] - got[0] - more < 4096, "a quarter of the optimizer's state",
               got[1] - got[0], more)
        gathered = sum(e["size"] for e in trace if e["op"] == "alloc" and "transformer.h.0 |"
                       in e.get("tag", "") and e["tag"].startswith("gathered"))
        TAP.ok(gathered == 2 * 2 * 2 * sum(BLOCK), "a layer is gathered forward and backward",
               gathered, 2 * 2 * 2 * sum(BLOCK))
    trace = recorded(python, "generation", "g.ndjson", "--generate", 3)
    if trace:
        # keys and values of 2 x (32 + 3) places in each layer, at the end
        cache = sum(e["size"] for e in trace if e["op"] == "alloc" and "aten.cat" in e["tag"]
                    and e["size"] == 2 * 2 * (32 + 3) * WIDTH)
        TAP.ok(cache == LAYERS * 2 * 2 * 2 * (32 + 3) * WIDTH, "the cache grows", cache)


def test_workspaces(python):
    """Up to 2.14 of two threads, which keep them; since 2.15 of each product, which frees its own."""
    trace = recorded(python, "workspaces", "w.ndjson", "--iterations", 1)
    freed = {e["id"] for e in trace if e["op"] == "free"}
    sizes = {}
    for e in trace:
        if e["op"] == "alloc" and e["tag"].startswith("cuBLAS workspace"):
            sizes.setdefault(e["size"], []).append(e["id"] in freed)
    if held("w.ndjson"):
        wanted = {WORKSPACE: [False] * 2}
    else:
        # four linear layers with a bias in each layer, forward; two products each backward, and
        # those of the words' layer without a bias: one forward, two backward
        wanted = {1 << 20: [True] * 4 * LAYERS, WORKSPACE: [True] * (8 * LAYERS + 3)}
    TAP.ok(sizes == wanted, "workspaces of cuBLAS", sizes, wanted)


def test_eager(python):
    """An architecture that has no scaled_dot_product_attention()."""
    Path("bloom.json").write_text(json.dumps({"model_type": "bloom", "n_layer": 1, "n_head": 2,
                                              "hidden_size": 32, "vocab_size": WORDS}))
    done = call("record", "--model", "bloom.json", "--batch", 2, "--length", 16, "--iterations", 1,
                "-o", "b.ndjson", python=python)
    TAP.ok(done.returncode == 0, "a model without sdpa is recorded", done.stderr)
    scores = [e for e in events("b.ndjson") if e["op"] == "alloc" and "softmax" in e["tag"]
              and e["size"] in (2 * 2 * 16 * 16 * 2, 2 * 2 * 16 * 16 * 4)]
    TAP.ok(scores, "its scores of attention are blocks")
    product = [e["size"] for e in events("b.ndjson") if e["op"] == "alloc"
               and e["tag"].startswith("aten._softmax_backward_data.default workspace")]
    TAP.ok(product and product[0] in (e["size"] for e in scores), "a backward pass multiplies them", product)
    # a tag has the program's line, or transformers', not one of the recorder
    ours = [e["tag"] for e in scores if e["tag"].endswith("fwd")]
    TAP.ok(ours and all("modeling_bloom.py:" in tag for tag in ours), "the line is the model's", ours)


# what the kernels of PyTorch 2.15 and 2.9 took: type, width of a head, batch, heads, queries, keys; bytes
KERNELS = [("float32", 64, 2, 4, 512, 512, 1049600), ("float32", 72, 2, 4, 512, 512, 2098176),
           ("float32", 160, 2, 4, 512, 512, 3147264), ("bfloat16", 64, 2, 4, 512, 512, 1049600),
           ("bfloat16", 128, 2, 4, 512, 512, 2097664), ("bfloat16", 160, 2, 4, 512, 512, 11535872),
           ("float16", 256, 2, 4, 512, 512, 12584960), ("float16", 320, 2, 4, 512, 512, 17828352)]


def test_kernels(python):
    """Workspaces of the attention that saves memory, against those of the real kernels."""
    program = ("import json, sys, torch; sys.path.insert(0, sys.argv[1]); from fragsim import models\n"
               "print(json.dumps([models.efficient_backward(None, *(torch.empty(b, h, x, w, device='meta',"
               " dtype=getattr(torch, t)) for x in (m, n, n)))[1] for t, w, b, h, m, n, _ in"
               " json.loads(sys.argv[2])]))")
    done = subprocess.run([python, "-c", program, HERE.parents[2] / "python", json.dumps(KERNELS)],
                          capture_output=True, text=True, check=False, timeout=SECONDS)
    TAP.ok(done.stdout and json.loads(done.stdout) == [x[-1] for x in KERNELS], "workspaces of attention",
           done.stdout, done.stderr)


def test_fit(python):
    """Smallest devices are above what the model keeps; the largest batch is below what is free."""
    done = call("fit", "--model", "gpt2.json", "--length", 32, "--iterations", 1, "-p", "pytorch",
                "--json", "fit.json", "--device-bytes", "200MiB", python=python)
    TAP.ok(done.returncode == 0 and "LARGEST NUMBER: " in done.stdout, "fit --model", done.stderr,
           done.stdout)
    if done.returncode == 0:
        fit = json.loads(Path("fit.json").read_text())
        least = 2 * sum(SHAPES) * 4 + (48 << 20)
        TAP.ok(least < fit["fits"][0]["smallest"] < least + (120 << 20), "the smallest device",
               fit["fits"][0]["smallest"], least)
        # the logits; and keys and values where the peak is behind the backward pass
        logits, cache = 32 * WORDS * 2, LAYERS * 2 * (32 * WIDTH) * 2
        kept = fit["outside"][-1]["bytes"]
        TAP.ok(kept in (logits, logits + cache) and
               [(x["bytes"], x["counted"]) for x in fit["outside"][:-1]]
               == [(48 << 20, True), (None, False)], "what is outside", fit["outside"], logits)
        TAP.ok(f"if the loop keeps the outputs: + {kept / 1024:.2f} KiB, not counted" in done.stdout,
               "the row of outputs", done.stdout)


def test_input(python):
    refused("a name that is none", 2, "--model gpt22: neither a file nor a model of transformers",
            "record", "--model", "gpt22", python=python)
    refused("a file that is not there", 4, "no.json: No such file", "record", "--model", "no.json",
            python=python)
    Path("bad.json").write_text("{")
    refused("a file that is no JSON", 4, "bad.json: not JSON", "record", "--model", "bad.json",
            python=python)
    Path("odd.json").write_text('{"model_type": "nothing"}')
    refused("a model that transformers lacks", 4, 'no model of the type "nothing"', "record",
            "--model", "odd.json", python=python)
    refused("more tokens than places", 2, "has 128 positions", "record", "--model", "gpt2.json",
            "--length", "129", python=python)
    Path("kept.ndjson").write_text("mine")
    refused("an existing file stays", 2, "has 128 positions", "record", "--model", "gpt2.json",
            "--length", "129", "-o", "kept.ndjson", python=python)
    TAP.ok(Path("kept.ndjson").read_text() == "mine", "it is unchanged")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("gpt2.json").write_text(json.dumps(GPT2))
        test_usage()
        python = find_python()
        if python:
            test_sizes(python)
            test_workspaces(python)
            test_eager(python)
            test_kernels(python)
            test_input(python)
            test_fit(python)
        else:
            TAP.skip("recordings of models", "no python with torch and transformers;"
                     " FRAGSIM_TORCH_PYTHON may name one")
        os.chdir("/")
    return TAP.finish()


sys.exit(main())
