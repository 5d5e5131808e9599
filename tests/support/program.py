"""program.py - runs the program under test: the one place for its path, its patience, its status.

A test is started as `run.py PROGRAM`: PROGRAM is absolute, so that a test may change its folder.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ''
PATIENCE = 120.0        # seconds until a run counts as hanging
SAN = bool(os.environ.get('SAN'))
HEAVY = bool(os.environ.get('HEAVY'))


def times(few: int, many: int, sanitized: int | None = None) -> int:
    """How often to repeat: `few` by default; with HEAVY=1 `many`, under a sanitizer `sanitized`."""
    if not HEAVY:
        return few if sanitized is None or not SAN else min(few, sanitized)
    return many if sanitized is None or not SAN else sanitized


def until(condition: Callable[[], object], what: str) -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f'waited in vain until {what}'
        time.sleep(0.005)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used; that of an ended one is endless."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8') as stat:
            words = stat.read().rpartition(') ')[2].split()
    except OSError:
        return float('inf')
    ended = words[0] in 'ZX'
    return float('inf') if ended else sum(map(int, words[11:13])) / os.sysconf('SC_CLK_TCK')


def until_cpu(process: subprocess.Popen, seconds: float) -> None:
    """Waits until the process has computed for so long, however busy the machine is."""
    until(lambda: cpu_seconds(process.pid) >= seconds, f'it has computed for {seconds} s')


def fragsim(*args: object, stdin: bytes = b'', statuses: tuple | None = None,
            **how: object) -> subprocess.CompletedProcess:
    """One run, its output as bytes; another status than `statuses` is an AssertionError."""
    done = subprocess.run([PROGRAM, *map(str, args)], input=stdin, capture_output=True,
                          check=False, timeout=PATIENCE, **how)
    assert statuses is None or done.returncode in statuses, (
        f'{args}: status {done.returncode}: {done.stderr.decode(errors="replace")[:500]}')
    return done


def call(*args: object, **how: object) -> tuple[int, str, str]:
    """The status and both outputs of a run, as text."""
    done = fragsim(*args, **how)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def document(*args: object, statuses: tuple = (0,)) -> dict:
    """The JSON that a command prints with `--json -`."""
    return json.loads(fragsim(*args, '--json', '-', statuses=statuses).stdout)
