"""tap.py - results of tests as TAP, each with its faults; one without a fault is good."""


class Tap:
    def __init__(self) -> None:
        self.number = self.failed = 0

    def result(self, name: str, *faults: object) -> None:
        wrong = [x for x in faults if x]
        self.number += 1
        self.failed += bool(wrong)
        print(f'{"not " if wrong else ""}ok {self.number} - {name}')
        for x in wrong:
            print('#   ' + str(x).strip().replace('\n', '\n#   '))
