#!/usr/bin/python3
"""run.py - what scripts/record_torch.py calls a request: its operator, and the line that asked.

usage: run.py PROGRAM

Prints TAP. torch is a stand-in of this folder: the frames are what counts, and they are real.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support"), str(HERE.parents[2] / "scripts")]
import record_torch                                     # noqa: E402
import torch                                            # noqa: E402
from tap import Tap                                     # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
TAP = Tap()


def source(path, text):
    """A function `ask` of a file that lies elsewhere; its line 2 calls what it is given."""
    names = {}
    exec(compile(text, path, "exec"), names)            # pylint: disable=exec-used
    return names["ask"]


CALL = "def ask(inner, *args):\n    return inner(*args)\n"
LIBRARY = os.path.dirname(os.__file__)


def tags(ask):
    """The tags of a recording of what ask does."""
    with record_torch.record("t.ndjson") as recorder:
        recorder.mark("fwd")
        kept = ask()
        del kept
    lines = Path("t.ndjson").read_text(encoding="ascii").splitlines()
    return [e["tag"] for e in map(json.loads, lines[1:]) if e["op"] == "alloc"]


def check(title, files, wanted):
    """Files call each other, the outermost first, and the last one asks torch for a tensor."""
    calls = [source(name, CALL) for name in files]

    def ask():
        return calls[0](*calls[1:], torch.empty, 64)

    got = tags(ask)
    TAP.ok(got == [wanted], title, f"got    {got}", f"wanted {[wanted]}")


def main():
    op, phase = "aten.empty.default", "| fwd"
    check("the line that asked", ["/home/me/model.py"], f"{op} model.py:2 {phase}")
    check("the innermost outside torch", ["/home/me/train.py", "/home/me/model.py",
                                          "/x/site-packages/torch/nn/linear.py"],
          f"{op} model.py:2 {phase}")
    check("a model's own package", ["/home/me/train.py",
                                    f"{LIBRARY}/site-packages/transformers/gpt2.py"],
          f"{op} gpt2.py:2 {phase}")
    check("none of Python itself", ["/home/me/train.py", f"{LIBRARY}/contextlib.py",
                                    "<frozen importlib>", "<eval_with_key>.7"],
          f"{op} train.py:2 {phase}")
    check("the standard input", ["<stdin>"], f"{op} <stdin>:2 {phase}")
    check("a model inside the recorder", [record_torch.__file__], f"{op} record_torch.py:2 {phase}")

    done = subprocess.run([PROGRAM, "run", "-q", "--json", "-", "t.ndjson"], capture_output=True,
                          text=True, check=False)
    TAP.ok(done.returncode == 0 and json.loads(done.stdout)["runs"][0]["policy"]["name"]
           == "pytorch", "the trace runs under pytorch", done.stderr)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
sys.exit(TAP.finish())
