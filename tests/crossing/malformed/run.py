"""run.py - feed malformed, odd and half-bad traces to the program, and judge what it says.

    run.py PROGRAM [PATTERN]        PATTERN: only the cases whose names match it

Prints TAP, for instance for `prove --exec '/usr/bin/python3 -B' tests/crossing/malformed/run.py :: PROGRAM`.
Each case of cases.py runs in a folder of its own as

    PROGRAM run --policy bestfit --steps OUT.csv [more options] TRACE

bad        exit status 4 within the time limit; nothing on standard output; one line on standard
           error, which names the file, the line and column (or byte offset), the step, and states
           every fact that the case lists; no file comes, goes or changes.  Every other case has an
           OUT.csv beforehand, which has to stay as it is.
good       exit status 0; the expected lines on standard error, as a rule none; the expected rows
           of OUT.csv, and values in the last of them.
lenient    as good, with --lenient: one line on standard error for each kind of bad event.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
from cases import Case, all_cases   # noqa: E402

TIME_LIMIT = 5.0        # seconds
OLD = b'what stood here before\n'
LINE_COLUMN = re.compile(r'(?:\bline |:)(\d+)(?::|, (?:column |col ))(\d+)')
OFFSET = re.compile(r'(?:byte|offset)[ a-z:]{0,12}(\d+)')


@dataclass(frozen=True)
class Outcome:
    status: int | None          # None: had to be stopped
    stdout: bytes
    stderr: bytes
    before: dict[str, tuple]    # files of the folder: name -> what may not change
    after: dict[str, tuple]
    rows: list[dict[str, str]] | None       # OUT.csv, unless it is the old one


class Skip(Exception):
    """The case cannot be tried here."""


def files(folder: Path) -> dict[str, tuple]:
    """Every file below the folder, with what shows that it was touched."""
    out = {}
    for path in sorted(folder.rglob('*')):
        at = path.lstat()
        content = b''
        if path.is_file() and os.access(path, os.R_OK):
            content = path.read_bytes() if at.st_size < 100_000 else at.st_size
        out[str(path.relative_to(folder))] = (at.st_ino, at.st_mtime_ns, at.st_mode, content)
    return out


def place_input(case: Case, folder: Path) -> tuple[str, bytes | None]:
    """Make what the case reads; returns the argument and what goes through the pipe."""
    data = case.data() if callable(case.data) else case.data
    if data is None:
        raise Skip('needs the zstd command')
    if case.pipe:
        return '-', data
    path = folder / case.file
    if case.special == 'missing':
        return case.file, None
    if case.special == 'directory':
        path.mkdir()
        return case.file, None
    path.write_bytes(data)
    if case.special == 'below':
        return case.file + '/trace', None
    if case.special == 'unreadable':
        path.chmod(0)
        if os.access(path, os.R_OK):
            raise Skip('this user may read everything')
    return case.file, None


def run(program: str, case: Case, old: bool) -> Outcome:
    with tempfile.TemporaryDirectory(prefix='malformed-') as name:
        folder = Path(name)
        argument, piped = place_input(case, folder)
        out = folder / 'OUT.csv'
        if old:
            out.write_bytes(OLD)
        before = files(folder)
        command = [program, 'run', '--policy', 'bestfit', '--steps', 'OUT.csv', *case.args,
                   argument]
        source = {'stdin': subprocess.DEVNULL} if piped is None else {'input': piped}
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False,
                                  timeout=TIME_LIMIT, **source)
            status, stdout, stderr = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            status, stdout, stderr = None, late.stdout or b'', late.stderr or b''
        rows = None
        if out.exists() and out.read_bytes() != OLD:
            with out.open(newline='', encoding='utf-8', errors='replace') as text:
                rows = list(csv.DictReader(text))
        return Outcome(status, stdout, stderr, before, files(folder), rows)


def judge_status(out: Outcome, wanted: int) -> list[str]:
    if out.status is None:
        return [f'still running after {TIME_LIMIT:g} s']
    if out.status < 0:
        return [f'killed by signal {-out.status}']
    return [] if out.status == wanted else [f'exit status {out.status}, not {wanted}']


def split_lines(out: Outcome) -> tuple[list[str], list[str]]:
    """The lines of standard error, and what is wrong with them as text for a person."""
    faults = []
    try:
        text = out.stderr.decode()
    except UnicodeDecodeError:
        text = out.stderr.decode(errors='replace')
        faults.append('standard error is not UTF-8')
    if re.search(r'[\x00-\x09\x0b-\x1f\x7f]', text):
        faults.append('standard error has raw control characters')
    if text and not text.endswith('\n'):
        faults.append('the last line on standard error has no end')
    return text.split('\n')[:-1] if text.endswith('\n') else text.split('\n'), faults


def judge_place(line: str, place: tuple[bytes, int, int]) -> list[str]:
    """Whether the line says where the error is; a byte too far to either side is no matter."""
    text, first, last = place
    found = LINE_COLUMN.search(line)
    if found:
        row, column = int(found[1]), int(found[2])
        starts = [0] + [m.end() for m in re.finditer(rb'\n', text)]
        if not 1 <= row <= len(starts):
            return [f'line {row} of {len(starts)}']
        at = starts[row - 1] + column - 1
    elif text.rstrip().count(b'\n') == 0 and OFFSET.search(line):
        at = int(OFFSET.search(line)[1])
    else:
        return ['no line and column']
    if not first - 1 <= at <= last + 1:
        return [f'blames byte {at}, not one of {first} to {last}']
    return []


def judge_facts(line: str, case: Case) -> list[str]:
    faults = []
    if case.pipe:
        named = re.search(r'standard input|\bstdin\b|(?<!\S)<?-[:>]|(?<!\S)-(?!\S)', line)
    else:
        named = case.file in line
    if not named:
        faults.append('does not name the file')
    if case.place:
        faults += judge_place(line.replace(case.file, 'FILE', 1), case.place)
    if case.step is not None and not re.search(rf'\b(?:step|event) {case.step}\b', line):
        faults.append(f'does not name event {case.step}')
    rest = LINE_COLUMN.sub(' ', line.replace(case.file, 'FILE', 1), count=1)
    return faults + [f'nothing like /{want}/' for want in case.wants if not re.search(want, rest)]


def judge_bad(case: Case, out: Outcome) -> list[str]:
    faults = judge_status(out, 4)
    told, unclean = split_lines(out)
    faults += unclean
    if out.stdout:
        faults.append('something on standard output')
    for name in out.before.keys() | out.after.keys():
        if out.before.get(name) != out.after.get(name):
            how = 'left behind' if name not in out.before else 'changed or gone'
            faults.append(f'file {name} {how}')
    told = [line for line in told if line]
    if '--lenient' in case.args:        # what was skipped before may be reported, too
        told = told[-1:]
    if len(told) != 1:
        return faults + [f'{len(told)} lines on standard error, not one']
    return faults + judge_facts(told[0], case)


def judge_good(case: Case, out: Outcome) -> list[str]:
    faults = judge_status(out, 0)
    told, unclean = split_lines(out)
    faults += unclean
    told = [LINE_COLUMN.sub(' ', line) for line in told if line]
    if len(told) != len(case.wants):
        faults.append(f'{len(told)} lines on standard error, not {len(case.wants)}')
    for want in case.wants:
        match = next((line for line in told if re.search(want, line)), None)
        if match is None:
            faults.append(f'no line on standard error like /{want}/')
        else:
            told.remove(match)
    expected = {'OUT.csv'} | out.before.keys()
    if out.after.keys() != expected:
        faults.append(f'files {sorted(out.after)}, not {sorted(expected)}')
    rows = out.rows
    if rows is None:
        return faults + ['no rows of steps']
    if case.rows is not None and len(rows) != case.rows:
        faults.append(f'{len(rows)} rows, not {case.rows}')
    for column, value in case.last.items():
        got = rows[-1].get(column) if rows else None
        if got != value:
            faults.append(f'last row: {column} is {got}, not {value}')
    return faults


def judge(case: Case, out: Outcome) -> list[str]:
    if case.kind == 'bad':
        return judge_bad(case, out)
    if case.or_refused and out.status == 4:
        return judge_bad(Case(case.name, 'bad', case.data, (case.or_refused,), pipe=case.pipe), out)
    return judge_good(case, out)


def report(number: int, case: Case, old: bool, program: str) -> tuple[bool, str]:
    try:
        out = run(program, case, old)
    except Skip as why:
        return True, f'ok {number} - {case.name} # SKIP {why}'
    faults = judge(case, out)
    if not faults:
        return True, f'ok {number} - {case.name}'
    shown = out.stderr.decode(errors='backslashreplace')[:300]
    notes = [f'# {fault}' for fault in faults] + [f'# it said: {shown!r}']
    return False, '\n'.join([f'not ok {number} - {case.name}', *notes])


def main(argv: list[str]) -> int:
    if len(argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(argv[1])
    if not os.access(program, os.X_OK):
        print(f'Bail out! {argv[1]} is not a program')
        return 1
    chosen = [c for c in all_cases() if len(argv) == 2 or re.search(argv[2], c.name)]
    print(f'1..{len(chosen)}' if chosen else '1..0 # SKIP no case of that name')
    failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [pool.submit(report, i + 1, c, i % 2 == 1, program) for i, c in enumerate(chosen)]
        for job in jobs:
            fine, text = job.result()
            failed += not fine
            print(text, flush=True)
    if failed:
        print(f'# {failed} of {len(chosen)} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
