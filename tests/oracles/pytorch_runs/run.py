"""run.py - tests of scripts/oracles/pytorch that need no torch wheel.

    run.py PROGRAM

Prints TAP. The oracle's output is written by hand here, or is fragsim's with a difference in it.
"""
import copy
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'scripts/oracles' / name) for name in ('common', 'pytorch')]

import next_release                                         # noqa: E402
import oracle                                               # noqa: E402
from books import Row                                       # noqa: E402
from compare import Difference, Output, compare_end, first_difference, run_fragsim  # noqa: E402
from oracle import expect                                   # noqa: E402
from settings import random_settings                        # noqa: E402
from shrink import Shrinker, golden, valid                  # noqa: E402
from torch_allocator import Torch                           # noqa: E402
from torch_case import TorchCase as Case, policy_of, split_settings     # noqa: E402
from torch_compare import METRICS, SLOTS, flatten           # noqa: E402
from torch_compare import TorchComparer as Comparer, TorchExpected as Expected  # noqa: E402

PROGRAM = Path(sys.argv[1]).resolve()
MIB = 1 << 20
FOLDER = tempfile.TemporaryDirectory()


def alloc(number: int, size: int, **more) -> dict:
    return {'op': 'alloc', 'id': number, 'size': size, **more}


def free(number: int, **more) -> dict:
    return {'op': 'free', 'id': number, **more}


def fake(lines: list[str]):
    """The oracle says `lines`, whatever it is asked; what it was asked is in the mock."""
    return mock.patch.object(oracle, 'run_oracle', return_value=(0, lines, ''))


def same(ours, theirs) -> None:
    if ours != theirs:
        raise AssertionError('%r is not %r' % (ours, theirs))


# columns: allocated reserved active inactive_split requested segments retries ooms free
# largest_free releasable blocks calls
SMALL = ['a S0+0 1024 1024 2097152 1024 2096128 700 1 0 0 2096128 2096128 0 1 +S0:2097152',
         'r - 0 1024 2097152 1024 2096128 700 1 0 0 2096128 2096128 0 1 -',
         'f S0+0 -1024 0 2097152 1024 2096128 700 1 0 0 2096128 2096128 0 0 -',
         's - 0 0 2097152 1024 2096128 700 1 0 0 2096128 2096128 0 0 -',
         'a OOM 0 0 0 0 0 0 0 1 1 0 0 0 0 !41943040,-S0:2097152,!41943040 # no memory']
SMALL_EVENTS = [alloc(7, 700), free(7, pending=True), {'op': 'complete', 'id': 7},
                {'op': 'mark', 'name': 'x'}, alloc('8', 40 * MIB), free('8')]


def test_translation() -> None:
    """A pending free is two lines; the OOM's free is skipped; marks have no line."""
    with fake([*SMALL, 'f SKIP 0 0 0 0 0 0 0 1 1 0 0 0 0 -']) as run:
        expected = expect(Path('x'), Case(events=SMALL_EVENTS, total=32 * MIB, context=5))
    same(run.call_args[0][2], ['a 0 700 0', 'r 0 1048576', 'f 0', 's 1048576',
                               'a 1 41943040 0', 'f 1'])
    same(expected.placements, [
        '{"step":0,"op":"alloc","id":7,"segment":0,"offset":0,"bytes":1024,'
        '"new":[{"segment":0,"bytes":2097152}]}',
        '{"step":1,"op":"free","id":7}',
        '{"step":4,"op":"alloc","id":"8","oom":true,"released":[0]}'])
    same([row.status for row in expected.rows], ['ok', 'ok', 'ok', 'ok', 'oom', 'skipped'])
    same([bool(row.unsure) for row in expected.rows], [False, False, True, True, False, False])
    same([row.metrics['process_used'] for row in expected.rows],
         [5 + 2 * MIB] * 4 + [5, 5])
    same(expected.rows[0].metrics, {
        'requested': 700, 'allocated': 1024, 'active': 1024, 'reserved': 2097152,
        'free': 2096128, 'largest_free': 2096128, 'releasable': 0, 'non_releasable': 2096128,
        'waste': 0, 'device_free': 30 * MIB - 5, 'process_used': 5 + 2 * MIB, 'segments': 1,
        'blocks': 1})


def test_spread() -> None:
    """Each stream gets another address but the one that is none."""
    case = Case(events=[alloc(1, 5, stream=3), {'op': 'record_stream', 'id': 1, 'stream': 'x'},
                        free(1, pending=True), {'op': 'complete', 'id': 1}, alloc(2, 5),
                        {'op': 'sync', 'stream': 3}, {'op': 'sync'}])
    translate = oracle.Translator(case, 5)
    same([line for event in case.events for line in translate.lines(event)],
         ['a 0 5 15', 'r 0 2621440', 'r 0 5242880', 'f 0', 's 5242880', 'a 1 5 0', 's 15',
          's 0', 's 15', 's 2621440'])


def test_orders_of_streams() -> None:
    """Only a case of 2.12 in which something waits has several right answers."""
    class Ordered(Comparer):
        """Agrees where the addresses are the right ones."""

        def compare_spread(self, case: Case, spread: int) -> tuple[Expected, Difference | None]:
            return Expected(), None if spread == self.right else Difference(0, 'different')

    waiting = [alloc(1, 5), {'op': 'record_stream', 'id': 1, 'stream': 3}, free(1)]
    ordered = Ordered(Torch(), PROGRAM)
    for version, events, right, agrees in ((12, waiting, 7, True), (12, waiting, 0, False),
                                           (12, waiting[:1], 7, False), (15, waiting, 7, False),
                                           (15, waiting, 1, True)):
        ordered.right = right
        same(ordered.compare(Case(events=events, version=version))[1] is None, agrees)


def test_pools() -> None:
    """Private pools are numbered from 1 by who comes first; 1 and "1" are two."""
    case = Case(events=[{**alloc(1, 5), 'pool': name} for name in (0, 1, '1', 1)])
    translate = oracle.Translator(case)
    lines = [translate.lines(event)[0] for event in case.events]
    same([line.split()[4:] for line in lines], [[], ['1'], ['2'], ['1']])
    same(translate.lines({'op': 'release_pool', 'pool': '1'}), ['l 2'])


def test_ranges() -> None:
    """Ranges and segments share the ordinals; only mapped pages are reserved."""
    lines = ['a V0+0 512 512 2097152 512 0 100 0 0 0 2096640 2096640 0 1 RV0:4194304,mV0+0:2097152',
             'a S0+0 20971520 20972032 23068672 20972032 0 20971620 1 0 0 2096640 2096640 0 2'
             ' +S0:20971520',
             'f V0+0 -512 20971520 23068672 20971520 0 20971520 1 0 0 2097152 2097152 2097152 1 -',
             'e - 0 20971520 20971520 20971520 0 20971520 1 0 0 0 0 0 1 uV0+0:2097152,XV0']
    with fake(lines):
        expected = expect(Path('x'), Case(events=[alloc(1, 100), alloc(2, 20 * MIB), free(1),
                                                  {'op': 'empty_cache'}]))
    same(expected.placements[0], '{"step":0,"op":"alloc","id":1,"segment":0,"offset":0,"bytes":512,'
         '"new":[{"segment":0,"bytes":4194304,"expandable":true}],'
         '"mapped":[{"segment":0,"offset":0,"bytes":2097152}]}')
    same(expected.placements[1][:48], '{"step":1,"op":"alloc","id":2,"segment":1,"offse')
    same(expected.placements[3], '{"step":3,"op":"empty_cache",'
         '"unmapped":[{"segment":0,"offset":0,"bytes":2097152}],"released":[0]}')
    same([row.metrics['segments'] for row in expected.rows], [1, 2, 2, 1])


def test_spoilt_heap() -> None:
    """Reserved bytes that no segment has, an error, an early end: the step is named."""
    wrong = SMALL[-1].replace('a OOM 0 0 0', 'a OOM 0 0 512')
    for last in ([wrong], [SMALL[-1].replace('OOM', 'ERR')], []):
        with fake([*SMALL[:-1], *last]):
            same(expect(Path('x'), Case(events=SMALL_EVENTS)).broken, 4)


def test_cases() -> None:
    """The same seed, the same case; every case is a valid trace with settings that are taken."""
    for seed in range(1, 31):
        case = Torch().random_case(seed, 100)
        same(case.text(), Torch().random_case(seed, 100).text())
        same(valid(case.events), case.events)
        output = run_fragsim(PROGRAM, 'pytorch', case, Path(FOLDER.name))
        if 'PyTorch itself goes wrong here' in output.said:
            continue
        same((output.status in (0, 3), output.said), (True, ''))
    same(random_settings(5), random_settings(5))


def test_settings_as_keys() -> None:
    same(policy_of('expandable_segments:True,roundup_power2_divisions:[1:8,>:2]'),
         'pytorch:expandable_segments=true,roundup_power2_divisions=[1:8,>:2]')
    same(split_settings('a:1,b:[1:2,>:3],c:4'), ['a:1', 'b:[1:2,>:3]', 'c:4'])


def as_expected(case: Case, output: Output) -> Expected:
    """fragsim's own output in PyTorch's place."""
    rows = [Row(row['status'], {name: int(row[name]) for name in METRICS})
            for row in output.rows]
    numbers = flatten(output.run['pytorch'])
    statistics = {}
    for name, value in numbers.items():
        stem, _, slot = name.rpartition('.')
        if slot in SLOTS:
            statistics.setdefault(stem, [0] * 4)[SLOTS.index(slot)] = value
        else:
            statistics[name] = value
    return Expected(rows, list(output.placements), statistics=statistics)


def plain_case() -> Case:
    """Without pending blocks: then every statistic is compared."""
    return Case(events=[alloc(1, 5 * MIB), alloc(2, 700), free(1), alloc(3, 40 * MIB),
                        {'op': 'empty_cache'}, alloc(4, 30 * MIB)], total=64 * MIB)


def test_planted_differences() -> None:
    """Each is found, and at its step."""
    case = plain_case()
    output = run_fragsim(PROGRAM, 'pytorch', case, Path(FOLDER.name))
    truth = as_expected(case, output)
    same(first_difference(case, output, truth), None)
    for index, line in enumerate(truth.placements):
        changed = copy.deepcopy(truth)
        changed.placements[index] = line.replace('"op"', '"OP"')
        same(first_difference(case, output, changed).step, json.loads(line)['step'])
    for step, row in enumerate(truth.rows):
        for name in METRICS:
            changed = copy.deepcopy(truth)
            changed.rows[step].metrics[name] += 512
            same(first_difference(case, output, changed).step, step)
    changed = copy.deepcopy(truth)
    changed.rows[5].status = 'skipped'
    same(first_difference(case, output, changed).step, 5)
    for name, value in truth.statistics.items():
        changed = copy.deepcopy(truth)
        changed.statistics[name] = value + 1 if isinstance(value, int) else [
            number + 1 for number in value]
        same(compare_end(case, output, changed) is None, False)
    changed = copy.deepcopy(truth)
    changed.placements.pop()
    changed.rows.pop()
    same(first_difference(case, output, changed) is None, False)


class Pretender(Comparer):
    """Says that a case differs where some rule holds."""

    def __init__(self, rule: Callable[[Case], int | None]) -> None:
        super().__init__(Torch(), PROGRAM)
        self.rule = rule

    def compare(self, case: Case) -> tuple[Expected, Difference | None]:
        step = self.rule(case)
        return Expected(), None if step is None else Difference(step, 'different')


def test_shrink() -> None:
    """Two events matter, and one setting: they are all that is left."""
    def rule(case: Case) -> int | None:
        seen = False
        for step, event in enumerate(case.events):
            seen = seen or event['op'] == 'empty_cache'
            if seen and event.get('size', 0) >= 11 * MIB + 7 and 'large' in case.conf:
                return step
        return None

    events = [*Torch().random_case(3, 300).events, {'op': 'empty_cache'},
              alloc(10 ** 6, 77 * MIB + 5)]
    case = Case(events=events, total=123456789, context=7, addresses='fall',
                conf='max_split_size_mb:40,large_segment_size_mb:32')
    shrinker = Shrinker(Pretender(rule), case, lambda text: None)
    shrinker.shrink()
    same(shrinker.case.events, [{'op': 'empty_cache'}, alloc(1, 20 * MIB)])
    same((shrinker.case.conf, shrinker.case.context, shrinker.case.addresses),
         ('large_segment_size_mb:32', 0, 'rise'))
    try:
        Shrinker(Pretender(rule), replace(case, conf=''), print)
    except ValueError:
        return
    raise AssertionError('a case that does not differ was taken')


def test_golden() -> None:
    """The files of a golden case, of which the script runs."""
    files = golden('x', 'pytorch', Case(events=[alloc(1, 5)], conf='expandable_segments:True'),
                   Expected([Row('oom', {})], ['{"step":0}']))
    same(sorted(files), ['x.exit', 'x.sh', 'x.stdout.exact'])
    same((files['x.exit'], files['x.stdout.exact']), ('3\n', '{"step":0}\n'))
    same(files['x.sh'].splitlines()[1:], [
        'exec "$FRAGSIM" run --policy pytorch --alloc-conf expandable_segments:True'
        " --on-oom continue --placements - - <<'EOF'",
        '{"format":"fragsim-trace","version":1,"device":{"total_bytes":85899345920}}',
        '{"op":"alloc","id":1,"size":5}', 'EOF'])


def test_next_release() -> None:
    """A word next to known names of its kind is new; one that is far, or known, is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for library, names in next_release.NAMES.items():
            (folder / library).write_bytes(b'\0far_away\0' + b'\0' * 4000 + b'\0%s\0new_key_mb\0NotAWord\0' % names[0].encode())
        same(next_release.new_words(folder), dict.fromkeys(next_release.NAMES, ['new_key_mb']))
        with mock.patch.object(sys, 'argv', ['x', '--libraries', name]), mock.patch('builtins.print'):
            same(next_release.main(), 1)
        (folder / 'known').write_text('new_key_mb\n%s\n' % '\n'.join(x for y in next_release.NAMES.values() for x in y))
        with mock.patch.object(next_release, 'KNOWN', folder / 'known'):
            same(next_release.new_words(folder), dict.fromkeys(next_release.NAMES, []))


def main() -> int:
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith('test_')]
    failed = 0
    print('1..%d' % len(tests))
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print('ok %d - %s' % (number, name[5:].replace('_', ' ')))
        except Exception as error:      # a test that cannot run has failed, too
            failed += 1
            print('not ok %d - %s' % (number, name[5:].replace('_', ' ')))
            print('\n'.join('# ' + line for line in repr(error).split('\n')))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
