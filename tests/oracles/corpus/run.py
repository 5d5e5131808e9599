"""run.py - what fragsim says of real programs whose truth is known: no sentence is wrong.

    run.py PROGRAM      prints TAP

judge.py compares each sentence of info, leaks, run, verify and explain with the truth that the
programs themselves noted while they were recorded; README.md explains the files, and programs/make.sh
records them anew.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'support'))
sys.path.insert(0, str(HERE))
from judge import Report, judge  # noqa: E402
from tap import Tap  # noqa: E402

CLASSES_MIN = 0.9           # of the sentences on classes, and of bytes, those that are no "unknown"


def main() -> int:
    program = str(Path(sys.argv[1]).resolve())
    tap = Tap()
    truths = sorted(HERE.glob('*.truth.json'))
    reports = [Report(None) for _ in truths]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda x: judge(x[0], program, [str(x[1])]), zip(reports, truths)))
    said = {'right': 0, 'withheld': 0}
    for rep, path in zip(reports, truths):
        name = path.name[:-len('.truth.json')]
        tap.result(f'{name}: {len(rep.rows["right"])} sentences', rep.rows['wrong'],
                   not rep.rows['right'] and 'nothing was said')
        for how in said:
            said[how] += rep.kinds.get('class', {}).get(how, 0)
    share = 1 - sum(x.unknown for x in reports) / sum(x.bytes for x in reports)
    tap.result(f'most classes are known: of {share:.1%} of the bytes',
               said['right'] < CLASSES_MIN * sum(said.values()) and str(said),
               share < CLASSES_MIN and 'too few')
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main())
