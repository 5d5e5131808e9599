#!/usr/bin/env python3
"""record_messages.py - let PyTorch run out of memory under each setting, and print its own message.

    record_messages.py PYTHON... > FILE

Each PYTHON is an interpreter, or a command that starts one, with torch and a device of 8 GiB (real,
or a stand-in of the CUDA runtime). A record has a line `=== VERSION | SETTING`, then the message. Of
tests/commands/explain_messages/releases.txt this made all; it is read back there. Its stand-in of
the runtime could not run 2.7.1, which needs cuDeviceGetAttribute of the driver, nor cudaMallocAsync;
other releases were not tried.
"""
import os
import shlex
import subprocess
import sys

SETTINGS = ('', 'expandable_segments:True', 'max_split_size_mb:64', 'garbage_collection_threshold:0.8',
            'fraction', 'expandable_segments:True,max_split_size_mb:64')

PROGRAM = '''
import os, torch
MIB = 1 << 20
if os.environ.get('FRACTION'):
    torch.cuda.set_per_process_memory_fraction(0.5)
kept = []
try:
    kept = [torch.empty(4 * MIB, dtype=torch.uint8, device='cuda') for _ in range(900)][::2]
    kept.append(torch.empty(int(os.environ['ASKED']) << 20, dtype=torch.uint8, device='cuda'))
    print('|', 'no message')
except RuntimeError as error:
    print('=== %s |' % torch.__version__.split('+')[0], os.environ['SETTING'] or 'default')
    print(str(error).strip())
'''


def record(python: str, setting: str) -> str:
    name = '' if setting == 'fraction' else setting
    env = {**os.environ, 'SETTING': setting, 'FAKE_TOTAL': '8G', 'PYTORCH_CUDA_ALLOC_CONF': name,
           'FRACTION': '1' if setting == 'fraction' else '',
           'ASKED': '5120'}
    done = subprocess.run([*shlex.split(python), '-c', PROGRAM], env=env, capture_output=True, text=True,
                          check=False)
    if not done.stdout.startswith('===') or 'out of memory' not in done.stdout:
        sys.stderr.write(f'{python} {setting}: {done.stdout[-200:]}{done.stderr[-400:]}\n')
        return ''
    return done.stdout


def main() -> int:
    for python in sys.argv[1:]:
        for setting in SETTINGS:
            sys.stdout.write(record(python, setting))
    return 0


if __name__ == '__main__':
    sys.exit(main())
