"""crossings.py - command lines of each option of each command with a sample of each form that is read."""
import re
from collections.abc import Callable
from dataclasses import dataclass

import samples
from words import Command, Option

# operands of commands for which the sample alone is not enough
OPERANDS: dict[str, Callable[[str], list[str]]] = {
    'predict': lambda x: [x, '--hoist'], 'sweep': lambda x: ['-p', 'buddy', '-o', 'sweep1', x],
    'diff': lambda x: [x, x], 'ranks': lambda x: [x, x], 'trace merge': lambda x: [x, x, 'new2.ndjson'],
}
# these read no trace
OTHERS = ('trace gen', 'list policies', 'list cards', 'list settings', 'complete')


@dataclass
class Line:
    command: Command
    args: list[str]


def operands(command: Command, sample: str) -> list[str]:
    plain = [sample, 'new2.ndjson'] if command.writes else [sample]
    return OPERANDS.get(command.name, lambda x: plain)(sample)


def without(words: list[str], option: Option) -> list[str]:
    """The operands without an option that is on the line by itself."""
    if option.name not in words or not option.arg:
        return words
    at = words.index(option.name)
    return words[:at] + words[at + 2:]


def lines(command: Command, maker, dice) -> list[Line]:
    """By option, then by form; the value is another one for each form."""
    found = []
    for option in (o for o in command.options if o.name.startswith('--') and o.name != '--help'):
        for sample in samples.NAMES if command.name not in OTHERS else ():
            rng = dice(f'{command.name} {option.name} {sample}')
            rng.normal = True
            found.append(Line(command, [*command.name.split(), *without(operands(command, sample), option),
                                        option.name, *maker.values(rng, option, False)]))
    return found


def completed(command: Command, args: list[str], refusal: str,
              values: Callable[[Option], list[str]]) -> list[str]:
    """The line with one of the options that its refusal names, if it lacks one; else none."""
    known = {o.name: o for o in command.options}
    for name in re.findall(r'(?<![\w-])--?[a-z][\w-]*', refusal):
        if name in known and name not in args:
            return [*args, name, *values(known[name])]
    return []
