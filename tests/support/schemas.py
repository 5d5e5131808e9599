"""schemas.py - the JSON Schemas of documents, as the build folder has them: the program prints them."""
import json
import os
from pathlib import Path

PRINTED = Path(os.environ.get('BUILD', Path(__file__).resolve().parents[2] / 'build')) / 'documents'


def schema(document: str) -> dict:
    """The schema of `ranks`, `fit`, ..."""
    return json.loads((PRINTED / f'fragsim-{document}.schema.json').read_text(encoding='utf-8'))
