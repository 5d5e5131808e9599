"""schemas.py - the JSON Schemas of documents, as the build folder has them: the program prints them."""
import json
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRINTED = Path(os.environ.get('BUILD', ROOT / 'build')) / 'documents'
FOLDERS = (PRINTED, ROOT / 'man')


def files() -> list[Path]:
    """One for each document, and that of traces."""
    return sorted(path for folder in FOLDERS for path in folder.glob('*.schema.json'))


def members(of: dict, place: str = '') -> Iterator[str]:
    """A line for each member of a schema that the program prints: where it is, and its type."""
    for name, body in of.get('properties', {}).items():
        if 'anyOf' in body:             # one of the list's elements, or the list
            body = body['anyOf'][1]
        items = body.get('items') or {}
        kind = body.get('type') or body.get('enum') or [body['const']]
        yield (f'{place}{name} ' + ' '.join(map(str, [kind] if isinstance(kind, str) else kind))
               + (' of ' + str(items.get('type', items.get('enum'))) if items else ''))
        yield from members(body, f'{place}{name}.')
        yield from members(items, f'{place}{name}[].')


def schema(document: str) -> dict:
    """The schema of `ranks`, `fit`, ..."""
    name = f'fragsim-{document}.schema.json'
    return next(json.loads(path.read_text(encoding='utf-8')) for path in files() if path.name == name)
