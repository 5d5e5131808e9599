#!/usr/bin/python3 -B
# compare.py - runs fragsim and the naive model on random traces and compares all that they write
#
# Each seed stands for a trace, policies and options. The steps and the placements have to agree
# byte for byte, the result value for value, and the exit status. The output is TAP, for prove.
"""compare.py FRAGSIM FIRST_SEED COUNT: do program and naive model agree?"""

import argparse
import json
import multiprocessing
import os
import random
import shlex
import subprocess
import sys
import tempfile
import traceback

import naive
from random_policies import (random_on_oom, random_options, random_overrides, random_policies)
from random_trace import random_trace

TIME_LIMIT = 60     # seconds for a run of the program


class Difference(Exception):
    """The first difference that was found, as lines for a person."""


def random_columns(seed):
    """None: those that every row has; or all of them, or some in any order."""
    rng = random.Random("columns %d" % seed)
    some = rng.sample(naive.ALL_COLUMNS, rng.randint(1, len(naive.ALL_COLUMNS)))
    return rng.choice([None, naive.ALL_COLUMNS, some])


def read(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8")


def run_program(program, seed, trace, folder):
    """The exit status, steps, placements and result of the program."""
    names = {kind: os.path.join(folder, kind) for kind in ("steps.csv", "places.ndjson", "result")}
    path = os.path.join(folder, "trace")
    with open(path, "wb") as file:
        file.write(trace)
    columns = random_columns(seed)
    command = [program, "run", "--quiet", *random_options(seed), "--steps", names["steps.csv"],
               "--placements", names["places.ndjson"], "--json", names["result"],
               *(["--columns", "all" if columns == naive.ALL_COLUMNS else ",".join(columns)]
                 if columns else []), path]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=TIME_LIMIT, check=False)
    if done.returncode not in (0, 3) or done.stderr or done.stdout:
        said = (done.stderr + done.stdout).decode("utf-8", "replace").splitlines()
        raise Difference("\n".join(["exit status %d, output:" % done.returncode] + said[:10]))
    result = json.loads(read(names["result"]))
    return done.returncode, read(names["steps.csv"]), read(names["places.ndjson"]), result


def compare_lines(what, program, model):
    """Byte for byte; says which line is the first that differs, with the columns for a CSV."""
    if program == model:
        return
    left, right = program.split("\n"), model.split("\n")
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else "(end)"
        two = right[number] if number < len(right) else "(end)"
        if one != two:
            head = [right[0]] if what == "steps" else []
            raise Difference("\n".join(["%s differ in line %d" % (what, number + 1)] + head
                                       + ["program: " + one, "naive:   " + two]))
    raise Difference("%s differ" % what)


def same(program, model):
    """Integers, strings and null exactly; numbers with a fraction to four decimals."""
    if isinstance(model, float):
        is_number = isinstance(program, (int, float)) and not isinstance(program, bool)
        return is_number and "%.4f" % program == "%.4f" % model
    return type(program) is type(model) and program == model


def compare_values(path, program, model):
    """Everything that the model has; the program may say more."""
    if isinstance(model, dict):
        if not isinstance(program, dict):
            raise Difference("%s: program: %r, naive: an object" % (path, program))
        for key in model:
            if key not in program:
                raise Difference("%s.%s: the program has no such member" % (path, key))
            compare_values("%s.%s" % (path, key), program[key], model[key])
    elif isinstance(model, list):
        if not isinstance(program, list) or len(program) != len(model):
            raise Difference("%s: program: %r, naive: %r" % (path, program, model))
        for number, (left, right) in enumerate(zip(program, model)):
            compare_values("%s[%d]" % (path, number), left, right)
    elif path.endswith(".message"):     # the second sentence is the program's own
        if not isinstance(program, str) or not program.startswith(model):
            raise Difference("%s: program: %r, naive: %r" % (path, program, model))
    elif not same(program, model):
        raise Difference("%s: program: %r, naive: %r" % (path, program, model))


def flat_marks(result):
    """A mark's metrics may stand beside its name or in a member of their own."""
    for run in result["runs"]:
        run["marks"] = [{**mark, **mark.get("metrics", {})} for mark in run["marks"]]
    return result


def compare_seed(program, seed, folder):
    trace = random_trace(seed)
    steps, places, result = naive.simulate(trace, random_policies(seed),
                                           random_on_oom(seed) == "continue",
                                           random_overrides(seed), random_columns(seed))
    result = json.loads(json.dumps(result))     # plain integers instead of those with their text
    out = run_program(program, seed, trace, folder)
    compare_lines("steps", out[1], steps)
    compare_lines("placements", out[2], places)
    compare_values("result", flat_marks(out[3]), result)
    wanted = 3 if any(run["counts"]["ooms"] for run in result["runs"]) else 0
    if out[0] != wanted:
        raise Difference("exit status: program %d, naive %d" % (out[0], wanted))


def try_seed(program, seed):
    """None, or what differs and how to see it again."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            compare_seed(program, seed, folder)
        return None
    except Difference as difference:
        said = str(difference)
    except Exception:       # a seed that fails in any way must not hide the others
        said = traceback.format_exc()
    again = "random_trace.py %d -o T; %s run %s T" % (seed, program,
                                                      shlex.join(random_options(seed)))
    return "seed %d: %s\n%s" % (seed, again, said)


def try_block(job):
    program, seeds = job
    return [said for said in (try_seed(program, seed) for seed in seeds) if said]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", metavar="FRAGSIM")
    parser.add_argument("first", type=int, metavar="FIRST_SEED")
    parser.add_argument("count", type=int, metavar="COUNT")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="processes (default 2)")
    parser.add_argument("--block", type=int, default=50, metavar="N", help="seeds a test line")
    args = parser.parse_args()
    end = args.first + args.count
    blocks = [range(seed, min(end, seed + args.block))
              for seed in range(args.first, end, args.block)]
    print("1..%d" % len(blocks))
    failed = 0
    with multiprocessing.Pool(args.j) as pool:
        jobs = [(args.program, block) for block in blocks]
        for number, differences in enumerate(pool.imap(try_block, jobs), 1):
            seeds = blocks[number - 1]
            print("%s %d - seeds %d to %d agree with the naive model"
                  % ("not ok" if differences else "ok", number, seeds[0], seeds[-1]))
            for said in differences:
                print("\n".join("# " + line for line in said.splitlines()))
            sys.stdout.flush()
            failed += len(differences)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
