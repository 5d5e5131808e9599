"""tap.py - results of tests as TAP, each with its faults; one without a fault is good."""

FAULTS_MAX = 10        # shown of one test
LENGTH_MAX = 2000      # characters of each


def flat(faults: tuple) -> list:
    """Each is a list of faults, or one fault that may be false or empty: then it is none."""
    return [x for part in faults for x in (part if isinstance(part, list) else [part] if part
                                           else [])]


class Tap:
    def __init__(self) -> None:
        self.number = self.failed = 0

    def result(self, name: str, *faults: object) -> None:
        wrong = flat(faults)
        self.number += 1
        self.failed += bool(wrong)
        # a # would begin a directive
        print(f'{"not " if wrong else ""}ok {self.number} - {name.replace("#", "")}', flush=True)
        for x in wrong[:FAULTS_MAX]:
            print('#   ' + str(x).strip()[:LENGTH_MAX].replace('\n', '\n#   '))

    def ok(self, good: object, name: str, *why: object) -> None:
        """The same where it is known already; why: what to show where it is not good."""
        self.result(name, *([] if good else [flat(why) or 'it is not so']))

    def same(self, name: str, got: object, wanted: object, *why: object) -> None:
        self.ok(got == wanted, name, f'got    {got!r}', f'wanted {wanted!r}', *why)

    def skip(self, name: str, why: str) -> None:
        self.number += 1
        print(f'ok {self.number} - {name} # SKIP {why}')

    def finish(self) -> int:
        """Says how many they were; the exit status."""
        print(f'1..{self.number}')
        return 1 if self.failed else 0
