#!/usr/bin/env python3
"""python_types.py - the members of documents as types, of the JSON Schemas that the program prints.

    python_types.py [FOLDER] > python/fragsim/_types.pyi

FOLDER (build/documents) has the schemas. `ACCEPT=1 tests/crossing/schema/run.py` writes the file too.
A class for each object; two objects with equal members have one, and two that share many have one of
those. A member whose name is none of Python, or a method of dict, is reached by its key alone and is a
comment here.
"""
import json
import keyword
import re
import sys
from collections.abc import Iterable
from pathlib import Path

HEAD = '''# Members of documents, for type checkers; written by scripts/python_types.py from the tables of the program.
from typing import Any, Literal

from ._documents import Document, Record, Run, Scope
'''
NAMES = {'integer': 'int', 'number': 'float', 'boolean': 'bool', 'string': 'str', 'null': 'None',
         'object': 'Record'}
WIDE = 16       # members that are not written twice
# Objects to which _documents.py adds methods, and its classes for them.
WITH_METHODS = {'Scope': 'Scope', 'ResultRuns': 'Run'}


def name_of(key: str) -> str:
    """AsItIs of as_it_is."""
    return re.sub(r'[^A-Za-z0-9]', '', key.title())


def is_attribute(key: str) -> bool:
    """Can record.KEY be written, and is it the member?"""
    return key.isidentifier() and not keyword.iskeyword(key) and not hasattr(dict, key)


class Types:
    """The classes so far."""

    def __init__(self, documents: Iterable[str]) -> None:
        self.names = {*map(name_of, documents), *WITH_METHODS.values()}
        self.of: dict[tuple[str, ...], str] = {}
        self.classes: list[tuple[str, str, tuple[str, ...]]] = []      # name, base, members of its own

    def add(self, name: str, base: str, lines: tuple[str, ...]) -> None:
        """A class; what it shares with one that is there becomes a class before that."""
        shared = {}
        for i, (other, _, members) in enumerate(self.classes):
            common = tuple(x for x in members if x in lines)
            if len(common) >= WIDE and len(common) > len(shared.get('common', ())):
                shared = {'i': i, 'other': other, 'common': common}
        if shared and base == 'Record':
            i, other, common = shared.values()
            own = self.classes[i]
            base = other
            if common != own[2]:
                base = f'{other}Common'
                self.names.add(base)
                self.classes[i] = (other, base, tuple(x for x in own[2] if x not in common))
                self.classes.insert(i, (base, own[1], common))
            lines = tuple(x for x in lines if x not in common)
        self.classes.append((name, base, lines))

    def text(self) -> str:
        return HEAD + ''.join(f'\nclass {name}({base}):\n' + '\n'.join(lines or ('    ...',)) + '\n'
                              for name, base, lines in self.classes)

    def object(self, body: dict, key: str, parent: str, base: str = 'Record') -> str:
        """The class of an object: named after its member, or where another has that name after its place."""
        place = parent + name_of(key)
        members = dict(body.get('properties', {}))
        for of_op in body.get('allOf', ()):
            members |= of_op['then']['properties']
        lines = tuple(f'    {"" if is_attribute(key) else "# "}{key}:'
                      f' {self.annotation(inner, key, place)}'
                      for key, inner in members.items() if inner is not False)
        if lines in self.of:
            return self.of[lines]
        name = name_of(key) if parent and name_of(key) not in self.names else place
        shown = WITH_METHODS.get(name_of(key), WITH_METHODS.get(place))
        if shown and shown not in self.of.values():
            name = shown + 'Members'
        else:
            shown = name
        self.names.add(name)
        self.of[lines] = shown
        self.add(name, base, lines)
        return shown

    def annotation(self, body: dict, key: str, parent: str) -> str:
        """The type of a value."""
        if 'anyOf' in body:
            return ' | '.join(self.annotation(x, key, parent) for x in body['anyOf'])
        if 'const' in body:
            return f'Literal[{body["const"]!r}]'
        if 'enum' in body:
            return f'Literal[{", ".join(map(repr, body["enum"]))}]'
        kinds = body.get('type', [])
        out = []
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if kind == 'object' and 'properties' in body:
                out.append(self.object(body, key, parent))
            elif kind == 'array':
                inner = body.get('prefixItems') or [body.get('items') or {}]
                of = dict.fromkeys(self.annotation(x, key, parent) for x in inner)
                out.append(f'list[{" | ".join(of)}]')
            else:
                out.append(NAMES[kind])
        return ' | '.join(out) or 'Any'


def types(folder: Path) -> str:
    """All of them; those of a document stand before it."""
    schemas = {path.name.removeprefix('fragsim-').removesuffix('.schema.json'): json.loads(path.read_text('utf-8'))
               for path in sorted(folder.glob('*.schema.json'))}
    made = Types(schemas)
    # a result first: others have parts of it
    for document, schema in sorted(schemas.items(), key=lambda x: (x[0] != 'result', x[0])):
        for name, body in schema.get('$defs', {}).items():
            made.object(body, name, name_of(document))
        made.object(schema, document, '', 'Document')
    return made.text()


if __name__ == '__main__':
    print(types(Path(sys.argv[1] if len(sys.argv) > 1 else 'build/documents')), end='')
