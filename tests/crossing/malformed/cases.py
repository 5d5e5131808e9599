"""cases.py - all the traces that run.py tries: malformed, odd but valid, and half-bad.

The tables are in cases_bad.py and cases_good.py.  A row is the bad event or document and the facts
that the one line on standard error must state, as regular expressions; the builders of case_text.py
wrap it in both forms of a trace and work out where the error is and at which step.

    cases.py            list the cases
    cases.py DIR        write the bytes of each case to a file in DIR, as a corpus for fuzzing
"""

import sys
from dataclasses import replace
from pathlib import Path

from case_text import Case
from cases_bad import bad_cases
from cases_good import good_cases, lenient_cases


def all_cases() -> list[Case]:
    out, seen = [], {}
    for case in bad_cases() + good_cases() + lenient_cases():
        prefix = '' if case.name.startswith('lenient') else case.kind + '-'
        name = prefix + case.name
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name += f'~{seen[name]}'
        out.append(replace(case, name=name))
    return out


def main(argv: list[str]) -> int:
    if len(argv) > 2 or argv[1:2] in (['-h'], ['--help']):
        print(__doc__, file=sys.stderr)
        return 2
    for case in all_cases():
        if len(argv) == 1:
            print(case.kind, case.name)
        elif not case.special:
            data = case.data() if callable(case.data) else case.data
            if data is not None:
                Path(argv[1], case.name.replace('/', '-')).write_bytes(data)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
