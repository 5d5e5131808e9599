"""tool.py - the command line that the oracles share; each has a run.py of its own."""
import argparse
import collections
import multiprocessing
import os
import sys
import time
from pathlib import Path

from allocator import Allocator
from books import Expected
from case import Case, OracleError
from compare import Comparer
from shrink import Shrinker, golden, renumbered

ROOT = Path(__file__).resolve().parent.parent.parent.parent
COMMANDS = """
  run.py fuzz 2000                  compare 2,000 random cases; the ones that differ are shrunk
  run.py compare TRACE...           compare traces
  run.py shrink TRACE | --seed N    the shortest case that differs, as a golden test has it
  run.py expect TRACE               what the real one does: the placements, or with --metrics the
                                    rows
  run.py show --seed N              the random case itself, as a trace
  run.py goldens 20 --write FOLDER  short cases, as golden tests

The exit status is 0 where all agree, 1 where something differs, 2 where the work cannot be done.
README.md tells more.
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Tool:
    """The commands."""

    def __init__(self, allocator: Allocator, arguments: argparse.Namespace) -> None:
        self.allocator, self.arguments = allocator, arguments

    def build(self) -> int:
        self.arguments.folder.mkdir(parents=True, exist_ok=True)
        print(self.allocator.build(self.arguments))
        return 0

    def comparer(self) -> Comparer:
        return start_comparer(self.allocator, self.arguments)

    def given(self, path: Path | None) -> Case:
        arguments = self.arguments
        if path is None:
            return self.allocator.random_case(arguments.seed, arguments.steps)
        case = self.allocator.case.read(path, arguments.device_bytes)
        self.allocator.set_case(case, arguments)
        return case

    def write(self, files: dict[str, str]) -> None:
        for file, text in files.items():
            if self.arguments.write:
                self.arguments.write.mkdir(parents=True, exist_ok=True)
                (self.arguments.write / file).write_text(text)

    def report_shrunk(self, comparer: Comparer, case: Case, name: str) -> None:
        shrinker = Shrinker(comparer, case, say)
        shrinker.shrink()
        print(shrinker.difference)
        files = golden(name, self.allocator.policy, shrinker.case, shrinker.expected)
        self.write(files)
        for file, text in files.items():
            print('--- %s\n%s' % (file, text), end='')
        sys.stdout.flush()

    def fuzz(self) -> int:
        arguments = self.arguments
        comparer = self.comparer()
        counts, failed, began = collections.Counter(), [], time.monotonic()
        seeds = range(arguments.first, arguments.first + arguments.count)
        with multiprocessing.Pool(arguments.jobs, start_worker,
                                  (self.allocator, arguments)) as pool:
            for seed, more, text in pool.imap_unordered(compare_seed, seeds, chunksize=4):
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
                self.report_shrunk(comparer, self.allocator.random_case(seed, arguments.steps),
                                   'seed-%d' % seed)
            except (ValueError, OracleError) as error:
                say(str(error))
        for name, number in counts.items():
            print('%10d %s' % (number, name))
        print('%10d cases differ; %.0f seconds' % (len(failed), time.monotonic() - began))
        return 1 if failed else 0

    def compare(self) -> int:
        comparer, status = self.comparer(), 0
        for path in self.arguments.trace:
            expected, difference = comparer.compare(self.given(path))
            print('%s: %s' % (path, difference or 'equal, %d steps' % len(expected.rows)))
            if expected.fault():
                print('  ' + expected.fault())
            status = 1 if difference else status
        return status

    def shrink(self) -> int:
        path = self.arguments.trace
        name = path.name.split('.')[0] if path else 'seed-%d' % self.arguments.seed
        try:
            self.report_shrunk(self.comparer(), self.given(path), name)
        except ValueError as error:
            say(str(error))
            return 0
        return 1

    def expect(self) -> int:
        self.allocator.start(self.arguments.folder)
        expected = self.allocator.expect(self.given(self.arguments.trace))
        self.print_expected(expected)
        if expected.fault():
            say(expected.fault())
        return 1 if expected.fault() else 0

    def print_expected(self, expected: Expected) -> None:
        if not self.arguments.metrics:
            print('\n'.join(expected.placements))
            return
        print('step,status,%s' % ','.join(expected.columns))
        for step, row in enumerate(expected.rows):
            values = {**row.metrics, **row.beside}
            print(step, row.status, *(values[name] for name in expected.columns), sep=',')

    def show(self) -> int:
        print(self.given(None).text(), end='')
        return 0

    def goldens(self) -> int:
        """Short cases, each of which has the most that those before it have seldom."""
        self.allocator.start(self.arguments.folder)
        drawn = {}
        for seed in range(self.arguments.first, self.arguments.first + 40 * self.arguments.count):
            case = self.allocator.random_case(seed, self.arguments.steps or 24)
            case.events = renumbered(case.events)
            try:
                expected = self.allocator.expect(case)
            except OracleError:         # of the judge of an allocator: not one for a golden
                continue
            if not expected.fault():
                drawn[seed] = case, expected, self.allocator.features(case, expected)
        seen = collections.Counter()
        for number in range(1, self.arguments.count + 1):
            seed = max(drawn, key=lambda one: sum(
                min(count, 3) / (1 + seen[name]) for name, count in drawn[one][2].items()
                if name not in ('cases', 'steps')))
            case, expected, counts = drawn.pop(seed)
            seen += counts
            self.write(golden('real-%02d' % number, self.allocator.policy, case, expected))
        print(dict(seen))
        return 0


def start_comparer(allocator: Allocator, arguments: argparse.Namespace) -> Comparer:
    allocator.start(arguments.folder)
    return allocator.comparer(allocator, arguments.fragsim)


worker: Comparer
worker_steps: int | None


def start_worker(allocator: Allocator, arguments: argparse.Namespace) -> None:
    global worker, worker_steps
    worker, worker_steps = start_comparer(allocator, arguments), arguments.steps


def compare_seed(seed: int) -> tuple[int, collections.Counter, str]:
    allocator = worker.allocator
    case = allocator.random_case(seed, worker_steps)
    try:
        expected, difference = worker.compare(case)
    except OracleError as error:
        return seed, collections.Counter(cases=1), '%s: %s' % (type(error).__name__, error)
    return seed, allocator.features(case, expected), str(difference or '')


def parse(allocator: Allocator, about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='run.py', description=about.rstrip() + COMMANDS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    allocator.add_options(parser)
    parser.add_argument('--folder', type=Path, help='where the oracle is built'
                        ' (build/%s-oracle)' % allocator.policy)
    parser.add_argument('--fragsim', type=Path, default=ROOT / 'build/fragsim')
    commands = parser.add_subparsers(dest='command', required=True)

    def command(name: str, **more) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, **more)
        sub.set_defaults(seed=None, steps=None, write=None)
        allocator.add_options(sub, default=argparse.SUPPRESS)
        return sub

    def settings(sub: argparse.ArgumentParser) -> None:
        allocator.add_settings(sub)
        sub.add_argument('--device-bytes', metavar='SIZE', help="in place of the header's")

    def one(sub: argparse.ArgumentParser) -> None:
        sub.add_argument('trace', type=Path, nargs='?')
        sub.add_argument('--seed', type=int)
        sub.add_argument('--steps', type=int)
        settings(sub)

    allocator.add_build(command('build', help='make the oracle'))
    for name, text in (('fuzz', 'compare random cases'),
                       ('goldens', 'write short cases as golden tests')):
        sub = command(name, help=text)
        sub.add_argument('count', type=int, help='how many')
        sub.add_argument('--first', type=int, default=1, help='the first seed (1)')
        sub.add_argument('--steps', type=int, help='length of each trace (varies)')
        sub.add_argument('--write', type=Path, metavar='FOLDER', help='write golden cases there')
        if name == 'fuzz':
            sub.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes')
            sub.add_argument('--most', type=int, default=20,
                             help='stop after so many that differ (20)')
            sub.add_argument('--shrink', type=int, default=2,
                             help='how many of them to shrink (2)')
    sub = command('compare', help='compare traces')
    sub.add_argument('trace', type=Path, nargs='+')
    settings(sub)
    sub = command('shrink', help='the shortest case that differs')
    sub.add_argument('--write', type=Path, metavar='FOLDER', help='write a golden case there')
    one(sub)
    sub = command('expect', help='what the real one does with a trace')
    sub.add_argument('--metrics', action='store_true')
    allocator.add_expect(sub)
    one(sub)
    sub = command('show', help='a random case as a trace')
    sub.add_argument('--seed', type=int, required=True)
    sub.add_argument('--steps', type=int)
    allocator.add_commands(command)
    arguments = parser.parse_args()
    folder = allocator.take_options(arguments)
    arguments.folder = arguments.folder or ROOT / 'build' / folder
    if arguments.command in ('shrink', 'expect') and (
            (arguments.trace is None) == (arguments.seed is None)):
        parser.error('a trace, or --seed N')
    return arguments


def main(allocator: Allocator, about: str, tool: type[Tool] = Tool) -> int:
    arguments = parse(allocator, about)
    try:
        return getattr(tool(allocator, arguments), arguments.command)()
    except (OracleError, OSError) as error:
        say('%s-oracle: %s' % (allocator.policy, error))
        return 2
