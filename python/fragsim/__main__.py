"""__main__.py - python -m fragsim: becomes the program."""
from __future__ import annotations

import os
import sys

from ._program import FragsimError, program

try:
    path = program()
    os.execv(path, ["fragsim", *sys.argv[1:]])
except FragsimError as error:
    sys.exit(f"fragsim: {error}")
except OSError as error:
    sys.exit(f"fragsim: {path}: {error.strerror}")
