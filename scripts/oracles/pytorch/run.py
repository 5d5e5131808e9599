#!/usr/bin/python3 -B
"""run.py - holds fragsim's pytorch policy against PyTorch's own allocator.

  run.py build                      download the torch wheel (540 MB), unpack two of its libraries
                                    and build the oracle with them; WHEEL or a folder: no download.
                                    Here and below, --torch 2.8 is about another release
  run.py fuzz 2000                  compare 2,000 random cases; the ones that differ are shrunk
  run.py compare TRACE...           compare traces; --alloc-conf and --device-bytes as of fragsim
  run.py shrink TRACE | --seed N    the shortest case that differs, as a golden test has it
  run.py expect TRACE               what PyTorch does: the placements, or with --metrics the rows
  run.py show --seed N              the random case itself, as a trace
  run.py settings 2000              does fragsim refuse each settings string that PyTorch refuses?

The exit status is 0 where all agree, 1 where something differs, 2 where the work cannot be done.
README.md tells more.
"""
import argparse
import collections
import json
import multiprocessing
import os
import re
import sys
import time
from pathlib import Path

import build
from case import Case, read_case
from compare import Comparer
from generate import random_case
from oracle import METRICS, BadSettings, Expected, OracleError, expect
from settings import compare_settings, random_settings
from shrink import Shrinker, golden

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def find_oracle(arguments: argparse.Namespace) -> Path:
    program = arguments.folder / 'oracle'
    if not program.exists():
        raise OracleError('%s: no oracle; `run.py build` makes one' % program)
    return program


def comparer_of(arguments: argparse.Namespace) -> Comparer:
    if not arguments.fragsim.exists():
        raise OracleError('%s: no fragsim; `make` builds it' % arguments.fragsim)
    return Comparer(find_oracle(arguments), arguments.fragsim)


def given_case(arguments: argparse.Namespace, path: Path | None) -> Case:
    if path is None:
        return random_case(arguments.seed, arguments.steps, arguments.version)
    case = read_case(path, arguments.alloc_conf, arguments.device_bytes)
    case.version = arguments.version
    return case


def report_shrunk(comparer: Comparer, case: Case, name: str, into: Path | None) -> None:
    shrinker = Shrinker(comparer, case, say)
    shrinker.shrink()
    print(shrinker.difference)
    for file, text in golden(name, shrinker.case, shrinker.expected).items():
        if into:
            into.mkdir(parents=True, exist_ok=True)
            (into / file).write_text(text)
        print('--- %s\n%s' % (file, text), end='')
    sys.stdout.flush()


def count(counts: collections.Counter, expected: Expected) -> None:
    """What the cases were like: a fuzzer that never runs out of memory proves little."""
    counts['steps'] += len(expected.rows)
    counts['ooms'] += sum(row.status == 'oom' for row in expected.rows)
    counts['retries'] += expected.rows[-1].retries if expected.rows else 0
    counts['cases with an OOM'] += any(row.status == 'oom' for row in expected.rows)
    counts['cases with expandable ranges'] += any(
        '"expandable"' in line for line in expected.placements)
    counts['cases with pages unmapped'] += any(
        '"unmapped"' in line for line in expected.placements)
    counts['cases where PyTorch spoils its heap'] += expected.broken is not None


worker: Comparer


def start_worker(oracle: Path, program: Path) -> None:
    global worker
    worker = Comparer(oracle, program)


def compare_seed(job: tuple[int, int | None, int]) -> tuple[int, collections.Counter, str]:
    seed, steps, version = job
    case = random_case(seed, steps, version)
    counts = collections.Counter(cases=1)
    try:
        expected, difference = worker.compare(case)
    except (BadSettings, OracleError) as error:
        return seed, counts, '%s: %s' % (type(error).__name__, error)
    count(counts, expected)
    counts['cases with private pools'] += any('pool' in event for event in case.events)
    counts['cases with a change of settings'] += any(
        event['op'] == 'configure' for event in case.events)
    return seed, counts, str(difference or '')


def fuzz(arguments: argparse.Namespace) -> int:
    comparer = comparer_of(arguments)
    seeds = range(arguments.first, arguments.first + arguments.count)
    counts, failed = collections.Counter(), []
    began = time.monotonic()
    with multiprocessing.Pool(arguments.jobs, start_worker,
                              (comparer.oracle, comparer.program)) as pool:
        jobs = ((seed, arguments.steps, arguments.version) for seed in seeds)
        for seed, more, text in pool.imap_unordered(compare_seed, jobs, chunksize=4):
            counts += more
            if text:
                failed.append(seed)
                print('seed %d: %s' % (seed, text), flush=True)
            if len(failed) >= arguments.most:
                pool.terminate()
                break
    for seed in sorted(failed)[:arguments.shrink]:
        say('shrinking seed %d' % seed)
        try:
            report_shrunk(comparer, random_case(seed, arguments.steps, arguments.version),
                          'seed-%d' % seed, arguments.write)
        except (ValueError, OracleError, BadSettings) as error:
            say(str(error))
    for name, number in counts.items():
        print('%10d %s' % (number, name))
    print('%10d cases differ; %.0f seconds' % (len(failed), time.monotonic() - began))
    return 1 if failed else 0


def compare_traces(arguments: argparse.Namespace) -> int:
    comparer, status = comparer_of(arguments), 0
    for path in arguments.trace:
        expected, difference = comparer.compare(given_case(arguments, path))
        print('%s: %s' % (path, difference or 'equal, %d steps' % len(expected.rows)))
        if expected.broken is not None:
            print('  PyTorch spoils its heap at step %d: %s' % (expected.broken, expected.why))
        status = 1 if difference else status
    return status


def shrink(arguments: argparse.Namespace) -> int:
    case = given_case(arguments, arguments.trace)
    name = arguments.trace.name.split('.')[0] if arguments.trace else 'seed-%d' % arguments.seed
    try:
        report_shrunk(comparer_of(arguments), case, name, arguments.write)
    except ValueError as error:
        say(str(error))
        return 0
    return 1


def print_expected(arguments: argparse.Namespace) -> int:
    expected = expect(find_oracle(arguments), given_case(arguments, arguments.trace))
    if arguments.metrics:
        print('step,status,%s,retries,ooms' % ','.join(METRICS))
        for step, row in enumerate(expected.rows):
            values = [row.metrics[name] for name in METRICS]
            print(step, row.status, *values, row.retries, row.ooms, sep=',')
    elif arguments.statistics:
        print(json.dumps(expected.statistics, indent=1))
    else:
        print('\n'.join(expected.placements))
    if expected.broken is not None:
        say('PyTorch spoils its heap at step %d: %s' % (expected.broken, expected.why))
        return 1
    return 0


def show(arguments: argparse.Namespace) -> int:
    print(given_case(arguments, None).text(), end='')
    return 0


def compare_strings(arguments: argparse.Namespace) -> int:
    comparer, wrong = comparer_of(arguments), 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        bad, text = compare_settings(comparer.oracle, comparer.program, random_settings(seed),
                                     arguments.version)
        wrong += bad
        if text and (bad or arguments.stricter):
            print('seed %d: %s' % (seed, text), flush=True)
    print('%10d settings\n%10d that only PyTorch refuses' % (arguments.count, wrong))
    return 1 if wrong else 0


def make(arguments: argparse.Namespace) -> int:
    print(build.build(arguments.folder, arguments.wheel, arguments.torch,
                      arguments.cuda_include))
    return 0


def release(text: str) -> str:
    if not re.fullmatch(r'2\.\d+', text):
        raise argparse.ArgumentTypeError('not a release such as 2.8: %s' % text)
    return text


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='run.py', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--torch', metavar='2.N', type=release, default=build.NEWEST,
                        help='whose allocator (%(default)s)')
    parser.add_argument('--folder', type=Path, help='where the oracle is built'
                        ' (build/pytorch-oracle; of another version, build/pytorch-oracle-2.N)')
    parser.add_argument('--fragsim', type=Path, default=ROOT / 'build/fragsim')
    commands = parser.add_subparsers(dest='command', required=True)

    def command(name: str, action, **more) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, **more)
        sub.add_argument('--torch', metavar='2.N', type=release, default=argparse.SUPPRESS,
                         help='whose allocator (%s)' % build.NEWEST)
        sub.set_defaults(action=action, seed=None, steps=None, alloc_conf=None, device_bytes=None)
        return sub

    def settings(sub: argparse.ArgumentParser) -> None:
        sub.add_argument('--alloc-conf', metavar='STRING', help="in place of the header's")
        sub.add_argument('--device-bytes', metavar='SIZE', help="in place of the header's")

    sub = command('build', make, help='make the oracle')
    sub.add_argument('wheel', type=Path, nargs='?', help='a torch wheel, or a folder with one')
    sub.add_argument('--cuda-include', metavar='FOLDER',
                     help='the headers of CUDA 13, of which 2.11 and later are')
    sub = command('fuzz', fuzz, help='compare random cases')
    sub.add_argument('count', type=int, help='how many seeds')
    sub.add_argument('--first', type=int, default=1, help='the first seed (1)')
    sub.add_argument('--steps', type=int, help='length of each trace (varies)')
    sub.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
    sub.add_argument('--most', type=int, default=20, help='stop after so many that differ (20)')
    sub.add_argument('--shrink', type=int, default=2, help='how many of them to shrink (2)')
    sub.add_argument('--write', type=Path, metavar='FOLDER', help='write golden cases there')
    sub = command('compare', compare_traces, help='compare traces')
    sub.add_argument('trace', type=Path, nargs='+')
    settings(sub)
    sub = command('shrink', shrink, help='the shortest case that differs')
    sub.add_argument('trace', type=Path, nargs='?')
    sub.add_argument('--seed', type=int)
    sub.add_argument('--steps', type=int)
    sub.add_argument('--write', type=Path, metavar='FOLDER', help='write a golden case there')
    settings(sub)
    sub = command('expect', print_expected, help='what PyTorch does with a trace')
    sub.add_argument('trace', type=Path, nargs='?')
    sub.add_argument('--seed', type=int)
    sub.add_argument('--metrics', action='store_true')
    sub.add_argument('--statistics', action='store_true')
    settings(sub)
    sub = command('show', show, help='a random case as a trace')
    sub.add_argument('--seed', type=int, required=True)
    sub.add_argument('--steps', type=int)
    sub = command('settings', compare_strings, help='compare what settings are refused')
    sub.add_argument('count', type=int, help='how many seeds')
    sub.add_argument('--first', type=int, default=1, help='the first seed (1)')
    sub.add_argument('--stricter', action='store_true', help='list what only fragsim refuses, too')
    arguments = parser.parse_args()
    arguments.version = int(arguments.torch.partition('.')[2])
    if arguments.folder is None:
        name = 'pytorch-oracle'
        if arguments.torch != build.NEWEST:
            name += '-' + arguments.torch
        arguments.folder = ROOT / 'build' / name
    if arguments.command in ('shrink', 'expect') and (
            (arguments.trace is None) == (arguments.seed is None)):
        parser.error('a trace, or --seed N')
    return arguments


def main() -> int:
    arguments = parse()
    try:
        return arguments.action(arguments)
    except (OracleError, build.BuildError, OSError) as error:
        say('pytorch-oracle: %s' % error)
        return 2


if __name__ == '__main__':
    sys.exit(main())
