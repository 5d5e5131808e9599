"""tool.py - the command line that the oracles share; each has a run.py of its own.

An allocator is an object with

  name, policy          what it is called, and fragsim's policy
  unit                  what it rounds requests up to
  releases_in_any_order its calls that give back have no order that a rule could follow
  add_build(parser)     options of `build`
  build(arguments)      makes what `talk` needs in arguments.folder, and returns a text about it
  start(folder)         before the first case; OracleError where it is not built
  talk(case)            the conversation with its driver (books.py says what they say)
  draw_keys(rng, scale) random keys of the policy for a device or trace of about that many bytes
"""
import argparse
import collections
import multiprocessing
import os
import sys
import time
from pathlib import Path

from books import METRICS, Expected, expect
from case import Case, OracleError, read_case
from compare import Comparer
from generate import random_case
from shrink import Shrinker, golden, renumbered

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def features(case: Case, expected: Expected) -> collections.Counter:
    """What a case was like: a fuzzer that never runs out of memory proves little."""
    counts = expected.counts
    return collections.Counter({
        'cases': 1, 'steps': len(expected.rows), **counts,
        'cases with keys': bool(case.keys), 'cases with an OOM': counts['ooms'] > 0,
        'cases with a refusal': counts['refused'] > 0,
        'cases with a release': counts['released'] > 0,
        'cases with several streams': len({event.get('stream', 0) for event in case.events
                                           if event['op'] == 'alloc'}) > 1,
        'cases with pending blocks': any(row.metrics['active'] != row.metrics['allocated']
                                         for row in expected.rows)})


class Tool:
    """The commands."""

    def __init__(self, allocator, arguments: argparse.Namespace) -> None:
        self.allocator, self.arguments = allocator, arguments

    def build(self) -> int:
        self.arguments.folder.mkdir(parents=True, exist_ok=True)
        print(self.allocator.build(self.arguments))
        return 0

    def comparer(self) -> Comparer:
        self.allocator.start(self.arguments.folder)
        return Comparer(self.allocator, self.arguments.fragsim)

    def given(self, path: Path | None) -> Case:
        arguments = self.arguments
        if path is None:
            return random_case(self.allocator, arguments.seed, arguments.steps)
        return read_case(path, arguments.key, arguments.device_bytes)

    def write(self, files: dict[str, str]) -> None:
        for file, text in files.items():
            if self.arguments.write:
                self.arguments.write.mkdir(parents=True, exist_ok=True)
                (self.arguments.write / file).write_text(text)

    def report_shrunk(self, comparer: Comparer, case: Case, name: str) -> None:
        shrinker = Shrinker(comparer, case, say)
        shrinker.shrink()
        print(shrinker.difference)
        files = golden(name, self.allocator.policy, self.allocator.policy, shrinker.case,
                       shrinker.expected)
        self.write(files)
        for file, text in files.items():
            print('--- %s\n%s' % (file, text), end='')
        sys.stdout.flush()

    def fuzz(self) -> int:
        arguments = self.arguments
        self.comparer()
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
                self.report_shrunk(self.comparer(), random_case(
                    self.allocator, seed, arguments.steps), 'seed-%d' % seed)
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
        expected = expect(self.allocator, self.given(self.arguments.trace))
        if self.arguments.metrics:
            print('step,status,%s' % ','.join(METRICS))
            for step, row in enumerate(expected.rows):
                print(step, row.status, *(row.metrics[name] for name in METRICS), sep=',')
        else:
            print('\n'.join(expected.placements))
        return 0

    def show(self) -> int:
        print(self.given(None).text(), end='')
        return 0

    def goldens(self) -> int:
        """Short cases, each of which has the most that those before it have seldom."""
        self.allocator.start(self.arguments.folder)
        drawn = {}
        for seed in range(self.arguments.first, self.arguments.first + 40 * self.arguments.count):
            case = random_case(self.allocator, seed, self.arguments.steps or 24)
            case.events = renumbered(case.events)
            try:
                expected = expect(self.allocator, case)
            except OracleError:         # of the judge of an allocator: not one for a golden
                continue
            drawn[seed] = case, expected, features(case, expected)
        seen = collections.Counter()
        for number in range(1, self.arguments.count + 1):
            seed = max(drawn, key=lambda one: sum(
                min(count, 3) / (1 + seen[name]) for name, count in drawn[one][2].items()
                if name not in ('cases', 'steps')))
            case, expected, counts = drawn.pop(seed)
            seen += counts
            self.write(golden('real-%02d' % number, self.allocator.policy,
                              self.allocator.policy, case, expected))
        print(dict(seen))
        return 0


worker: Comparer
worker_steps: int | None


def start_worker(allocator, arguments: argparse.Namespace) -> None:
    global worker, worker_steps
    allocator.start(arguments.folder)
    worker, worker_steps = Comparer(allocator, arguments.fragsim), arguments.steps


def compare_seed(seed: int) -> tuple[int, collections.Counter, str]:
    case = random_case(worker.allocator, seed, worker_steps)
    try:
        expected, difference = worker.compare(case)
    except OracleError as error:
        return seed, collections.Counter(cases=1), '%s: %s' % (type(error).__name__, error)
    return seed, features(case, expected), str(difference or '')


def parse(allocator, about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='run.py', description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--folder', type=Path,
                        default=ROOT / 'build' / ('%s-oracle' % allocator.policy),
                        help='where the oracle is built (build/%s-oracle)' % allocator.policy)
    parser.add_argument('--fragsim', type=Path, default=ROOT / 'build/fragsim')
    commands = parser.add_subparsers(dest='command', required=True)

    def command(name: str, **more) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, **more)
        sub.set_defaults(seed=None, steps=None, key=None, device_bytes=None, write=None)
        return sub

    def settings(sub: argparse.ArgumentParser) -> None:
        sub.add_argument('--key', action='append', metavar='KEY=VALUE', help='of the policy')
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
    one(sub)
    sub = command('show', help='a random case as a trace')
    sub.add_argument('--seed', type=int, required=True)
    sub.add_argument('--steps', type=int)
    arguments = parser.parse_args()
    if arguments.command in ('shrink', 'expect') and (
            (arguments.trace is None) == (arguments.seed is None)):
        parser.error('a trace, or --seed N')
    return arguments


def main(allocator, about: str) -> int:
    arguments = parse(allocator, about)
    tool = Tool(allocator, arguments)
    try:
        return getattr(tool, arguments.command)()
    except (OracleError, OSError) as error:
        say('%s-oracle: %s' % (allocator.policy, error))
        return 2
