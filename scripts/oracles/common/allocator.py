"""allocator.py - what the frame must know of an allocator; each derives a class from this.

Most have a driver that holds the conversation of books.py, and settings that are keys of the
policy. PyTorch has neither, and overrides more.
"""
import argparse
import collections
import random
from collections.abc import Callable, Generator as Conversation
from pathlib import Path

import books
from books import Expected
from case import Case, OracleError
from compare import Comparer
from generate import Generator


class Allocator:
    """A real one."""
    policy = ''                     # fragsim's
    unit = 512                      # requests are rounded up to multiples of it
    releases_in_any_order = False   # what goes back at once has no order that a rule could follow
    program = 'driver'              # what `build` leaves in the folder
    case, comparer, generator = Case, Comparer, Generator
    folder: Path

    # the command line

    def add_options(self, parser: argparse.ArgumentParser, **more) -> None:
        """Options of each command; `more` is about their default."""

    def add_build(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('wheels', type=Path, nargs='?',
                            help='a folder with the wheels; else pip downloads them')

    def add_settings(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('--key', action='append', metavar='KEY=VALUE', help='of the policy')

    def add_expect(self, parser: argparse.ArgumentParser) -> None:
        """Options of `expect`."""

    def add_commands(self, command: Callable[..., argparse.ArgumentParser]) -> None:
        """Further commands, which a Tool of its own has."""

    def take_options(self, _arguments: argparse.Namespace) -> str:
        """Takes what `add_options` added, and returns the name of the folder in build/."""
        return '%s-oracle' % self.policy

    def set_case(self, case: Case, arguments: argparse.Namespace) -> None:
        """What `add_settings` added goes before what the header of a trace says."""
        case.set_keys(arguments.key or ())

    # the allocator

    def build(self, arguments: argparse.Namespace) -> str:
        """Makes what `start` needs in arguments.folder, and returns a text about it."""
        raise NotImplementedError

    def start(self, folder: Path) -> None:
        """Before the first case."""
        self.folder = folder
        if not (folder / self.program).exists():
            raise OracleError('%s: not there; `run.py build` makes it' % (folder / self.program))

    def talk(self, case: Case) -> Conversation[str, str, None]:
        """The conversation with its driver."""
        raise NotImplementedError

    def expect(self, case: Case) -> Expected:
        """What it does with a case."""
        return books.expect(self, case)

    # random cases

    def draw_keys(self, rng: random.Random, scale: int) -> dict:
        """Random keys of the policy for a device or trace of about that many bytes."""
        raise NotImplementedError

    def random_case(self, seed: int, steps: int | None = None) -> Case:
        """The same seed gives the same case."""
        return self.generator(self, seed, steps).case()

    def features(self, case: Case, expected: Expected) -> collections.Counter:
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
