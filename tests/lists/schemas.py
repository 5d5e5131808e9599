"""schemas.py - a definition that several schemas of man/ have under one name is the same in all.

A schema stands alone, so that a user needs one file; what documents have in common is copied.
DIFFERENT are the names that mean something else in each document: none may be added.
"""
import json
from collections import defaultdict

import tree
from tap import Tap

DIFFERENT = {'count_or_null', 'device', 'number', 'policy', 'run', 'trace'}


def meanings(schemas: dict[str, str]) -> dict[str, dict[str, list[str]]]:
    """Of each name that several schemas define, its definitions and the files of each."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, text in schemas.items():
        for name, body in json.loads(text).get('$defs', {}).items():
            found[name][json.dumps(body, sort_keys=True)].append(path)
    return {name: bodies for name, bodies in found.items() if sum(map(len, bodies.values())) > 1}


def apart(schemas: dict[str, str]) -> list[str]:
    """What is defined in several ways, though its name is not among DIFFERENT."""
    return [f'{name}: ' + ' and '.join(paths[0] for paths in bodies.values())
            + ' define it otherwise: copy one to the other'
            for name, bodies in sorted(meanings(schemas).items())
            if len(bodies) > 1 and name not in DIFFERENT]


def check(tap: Tap) -> None:
    schemas = {path: tree.text(path) for path in tree.files('man/*.schema.json')}
    tap.result('schemas: a definition of one name is the same in all', apart(schemas))
    tap.result('schemas: what differs on purpose does', [
        f'{name} is the same in all schemas that have it: take it out of DIFFERENT'
        for name in sorted(DIFFERENT) if len(meanings(schemas).get(name, {})) < 2])
    changed = {**schemas, 'man/fragsim-tune.schema.json': schemas['man/fragsim-tune.schema.json']
               .replace('"const": "fragsim"', '"const": "fragment"')}
    tap.result('schemas: a changed copy is seen',
               not any(x.startswith('tool: ') for x in apart(changed)) and 'tool')
