"""run.py - tests of scripts/oracles that need none of the allocators.

    run.py PROGRAM

Prints TAP. What an allocator answers is written by hand here.
"""
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'scripts/oracles/common'), str(ROOT / 'scripts/oracles/cupy')]

from allocator import Allocator                             # noqa: E402
from books import expect                                    # noqa: E402
from case import Case, OracleError                          # noqa: E402
from compare import Comparer, first_difference, run_fragsim  # noqa: E402
from pools import Rule                                      # noqa: E402
from shrink import Shrinker, golden, renumbered, valid      # noqa: E402

PROGRAM = Path(sys.argv[1]).resolve()
MIB = 1 << 20
BASE = 1 << 40


class Spoken(Allocator):
    """An allocator that says what it is given, and notes what it was asked."""
    policy = 'bestfit'

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = answers, []

    def talk(self, case: Case):
        answer = self.answers[0]
        for following in self.answers[1:]:
            self.asked.append((yield answer))
            answer = following
        self.asked.append((yield answer))

    def draw_keys(self, rng, scale: int) -> dict:
        return {'segment': rng.choice((512, 4096))}


class Pages(Allocator):
    """A bestfit of segments of one page, each request a segment: easy to say by hand."""
    policy = 'direct'
    wrong = False       # does it say something else than fragsim?

    def talk(self, case: Case):
        answer, at, live = 'i', BASE, {}
        while True:
            op, *words = (yield answer).split()
            calls = ''
            if op == 'a':
                size = -(-int(words[1]) // case.granularity) * case.granularity
                live[words[0]], calls = at, ' %d %d +%d:%d' % (at, size, at, size)
                at += size * 2
            elif op == 'f':
                calls = ' -%d' % live.pop(words[0])
                if self.wrong and words[0] == '3':
                    calls = ''
            answer = op + (' ' + words[0] if words else '') + calls


def same(ours, theirs) -> None:
    if ours != theirs:
        raise AssertionError('%r is not %r' % (ours, theirs))


def alloc(number: int, size: int, **more) -> dict:
    return {'op': 'alloc', 'id': number, 'size': size, **more}


def free(number: int, **more) -> dict:
    return {'op': 'free', 'id': number, **more}


def test_answers_become_placements() -> None:
    """Two segments, a refusal, a block that waits, and what goes back."""
    it = Spoken('i +%d:4096' % BASE, 'a 0 %d 1024' % BASE,
                'a 1 %d 512 +%d:512' % (BASE + MIB, BASE + MIB), 'a 2 OOM !9216 -%d' % (BASE + MIB),
                'f 0', 'e -%d' % BASE)
    case = Case([alloc(7, 700), alloc('8', 512, stream=3), alloc(9, 9000), alloc(1, 0), free(9),
                 free(7, pending=True), {'op': 'mark', 'name': 'x'}, {'op': 'complete', 'id': 7},
                 {'op': 'empty_cache'}], total=8 * MIB, granularity=512)
    expected = expect(it, case)
    same(it.asked, ['a 0 700 0', 'a 1 512 3', 'a 2 9000 0', 'f 0', 'e'])
    same([json.loads(line) for line in expected.placements], [
        {'step': 0, 'op': 'alloc', 'id': 7, 'segment': 0, 'offset': 0, 'bytes': 1024},
        {'step': 1, 'op': 'alloc', 'id': '8', 'segment': 1, 'offset': 0, 'bytes': 512,
         'new': [{'segment': 1, 'bytes': 512}]},
        {'step': 2, 'op': 'alloc', 'id': 9, 'oom': True, 'released': [1]},
        {'step': 3, 'op': 'alloc', 'id': 1, 'bytes': 0},
        {'step': 5, 'op': 'free', 'id': 7},
        {'step': 8, 'op': 'empty_cache', 'released': [0]}])
    same([row.status for row in expected.rows],
         ['ok', 'ok', 'oom', 'ok', 'skipped', 'ok', 'ok', 'ok', 'ok'])
    same([(row.metrics['allocated'], row.metrics['active'], row.metrics['free'])
          for row in expected.rows[4:8]],
         [(1536, 1536, 2560), (512, 1536, 2560), (512, 1536, 2560), (512, 512, 3584)])
    same(expected.rows[0].metrics['device_free'], 8 * MIB - 4096)
    same(expected.counts, {'obtained': 2, 'refused': 1, 'released': 2, 'ooms': 1})


def test_streams_end_what_waits() -> None:
    """A recorded stream counts where it is another one, until it is synchronised after the free."""
    it = Spoken('i', 'a 0 %d 512 +%d:512' % (BASE, BASE), 'f 0')
    sync, record = {'op': 'sync'}, {'op': 'record_stream', 'id': 1}
    events = [alloc(1, 1, stream=1), {**record, 'stream': 1}, {**record, 'stream': '1'},
              {**sync, 'stream': '1'}, free(1), {**sync, 'stream': 1}, sync]
    rows = expect(it, Case(events)).rows
    same([row.metrics['active'] for row in rows], [512] * 6 + [0])
    same(it.asked[-1], 'f 0')


def test_what_is_obtained_first_may_be_refused() -> None:
    expected = expect(Spoken('i OOM !4096'), Case([alloc(1, 5), free(1)], total=100))
    same([row.status for row in expected.rows], ['oom'])
    same(json.loads(expected.placements[0]), {'step': 0, 'op': 'alloc', 'id': 1, 'oom': True})


def test_a_driver_that_is_wrong_is_no_expectation() -> None:
    for answers in (('i', 'f 0'), ('i', 'a 0 %d 512' % BASE)):
        try:
            expect(Spoken(*answers), Case([alloc(1, 5)]))
        except OracleError:
            continue
        raise AssertionError('%r was believed' % (answers,))


def test_agreement_and_difference() -> None:
    """fragsim's `direct` is what Pages does; and is not when that goes wrong."""
    pages = Pages()
    comparer = Comparer(pages, PROGRAM)
    case = Case([event for number in range(1, 9) for event in (
        alloc(number, number * 3 * MIB), *([free(number - 1)] if number % 2 == 0 else []))])
    same(comparer.compare(case)[1], None)
    pages.wrong = True
    # the block that the driver calls 3 is the fourth, id 4: it is never freed, so nothing differs
    same(comparer.compare(case)[1], None)
    case = replace(case, events=case.events + [free(4)])
    difference = comparer.compare(case)[1]
    same(difference.step, len(case.events) - 1)
    shrinker = Shrinker(comparer, case, lambda text: None)
    shrinker.shrink()
    same([event['op'] for event in shrinker.case.events], ['alloc'] * 4 + ['free'])


def test_each_kind_of_difference_is_seen() -> None:
    case = Case([alloc(1, MIB), alloc(2, MIB), free(1)], total=64 * MIB)
    with tempfile.TemporaryDirectory() as folder:
        output = run_fragsim(PROGRAM, 'direct', case, Path(folder))
    expected = expect(Pages(), case)
    same(first_difference(case, output, expected), None)
    changes = ((output.placements, 1, output.placements[1].replace('"offset":0', '"offset":512')),
               (output.rows, 2, dict(output.rows[2], status='oom')),
               (output.rows, 0, dict(output.rows[0], device_free='7')))
    for where, at, value in changes:
        kept, where[at] = where[at], value
        same(first_difference(case, output, expected).step, at)
        where[at] = kept
    output.run['counts']['segment_frees'] += 1
    same(first_difference(case, output, expected).step, 3)


def test_random_cases_are_valid() -> None:
    """The same seed, the same case; and nothing in it that speaks of what is not there."""
    ooms = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, 41):
            case = Spoken('i').random_case(seed, 60)
            same(case.text(), Spoken('i').random_case(seed, 60).text())
            same(valid(case.events), case.events)
            output = run_fragsim(PROGRAM, 'bestfit', case, Path(folder))
            same((output.status in (0, 3), output.said), (True, ''))
            ooms += output.status == 3
            path = Path(folder, 'again.ndjson')
            path.write_text(case.text())
            same(Case.read(path), case)
    if not 4 < ooms < 36:
        raise AssertionError('%d of 40 cases run out of memory' % ooms)


def test_goldens() -> None:
    """The script is a run of the case, ids count, and the status is there where it is not 0."""
    case = Case([alloc(5, MIB), alloc(3, MIB), free(5), alloc(5, 2)], total=MIB, granularity=MIB,
                keys={'align': 64})
    it = Spoken('i', 'a 0 %d 1048576 +%d:1048576' % (BASE, BASE), 'a 1 OOM !1048576', 'f 0',
                'a 2 %d 64' % BASE)
    case.events = renumbered(case.events)
    same([event['id'] for event in case.events], [1, 2, 1, 3])
    files = golden('some', 'bestfit', case, expect(it, case))
    same(sorted(files), ['some.exit', 'some.sh', 'some.stdout.exact'])
    same("run --policy bestfit:align=64 --on-oom continue --placements - - <<'EOF'"
         in files['some.sh'], True)
    same(files['some.stdout.exact'].count('\n'), 4)


def test_the_rule_of_cupy() -> None:
    """A choice among equals is taken over; any other is not; and it is noted."""
    def blocks() -> tuple[Rule, list[int]]:
        rule = Rule(Case([], granularity=512))
        held = [rule.alloc(1024, 0) for _ in range(3)]
        rule.free(held[0])
        rule.free(held[2])
        return rule, held

    rule, held = blocks()
    same((rule.alloc(600, 0, held[2]), rule.elsewhere), (held[2], 1))
    rule, held = blocks()
    same((rule.alloc(600, 0, held[1]), rule.elsewhere), (held[0], 0))
    rule, held = blocks()
    same((rule.alloc(600, 1) in held, rule.alloc(600, 0)), (False, held[0]))
    rule.release()
    same(rule.device.told()[-1], '-%d' % held[2])


def main() -> int:
    tests = [(name, test) for name, test in globals().items() if name.startswith('test_')]
    print('1..%d' % len(tests))
    status = 0
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print('ok %d - %s' % (number, name[5:].replace('_', ' ')), flush=True)
        except Exception as error:      # pylint: disable=broad-except
            status = 1
            print('not ok %d - %s\n# %s: %s' % (number, name[5:].replace('_', ' '),
                                                 type(error).__name__, error), flush=True)
    return status


if __name__ == '__main__':
    sys.exit(main())
