"""stage.py - a folder, the program, and the results of a test."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60.0


class Stage:
    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.program = folder, program
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ('NO_COLOR', 'CLICOLOR_FORCE', 'COLUMNS')}

    def run(self, *args: str, statuses: tuple = (0,)) -> subprocess.CompletedProcess:
        """What the program did; another status than these is an error of the test."""
        done = subprocess.run([str(self.program), *args], cwd=self.folder, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=PATIENCE)
        if done.returncode not in statuses:
            raise SystemExit(f'Bail out! {" ".join(args)[:300]}: exit status {done.returncode}: '
                             f'{done.stderr[:500]}')
        return done

    def json(self, command: str, *args: str) -> dict:
        """What `run --json -` or `diff --format json` says."""
        how = ('--json', '-') if command == 'run' else ('--format', 'json')
        return json.loads(self.run(command, *how, *args, statuses=(0, 1, 3)).stdout)

    def trace(self, name: str, events: list[dict], device: dict | None = None,
              devices: list[dict] | None = None) -> str:
        """Writes a trace; its name."""
        head: dict = {'format': 'fragsim-trace', 'version': 1}
        if device:
            head['device'] = device
        if devices:
            head['devices'] = devices
        (self.folder / name).write_text(
            ''.join(json.dumps(x) + '\n' for x in [head, *events]), encoding='utf-8')
        return name

    def write(self, name: str, document: object) -> str:
        (self.folder / name).write_text(json.dumps(document), encoding='utf-8')
        return name

    def read(self, name: str) -> dict:
        return json.loads((self.folder / name).read_text(encoding='utf-8'))
