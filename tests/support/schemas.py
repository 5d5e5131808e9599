"""schemas.py - the JSON Schemas of documents, as the build folder has them: the program prints them."""
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRINTED = Path(os.environ.get('BUILD', ROOT / 'build')) / 'documents'
FOLDERS = (PRINTED, ROOT / 'man')


def files() -> list[Path]:
    """One for each document, and that of traces."""
    return sorted(path for folder in FOLDERS for path in folder.glob('*.schema.json'))


def schema(document: str) -> dict:
    """The schema of `ranks`, `fit`, ..."""
    name = f'fragsim-{document}.schema.json'
    return next(json.loads(path.read_text(encoding='utf-8')) for path in files() if path.name == name)
