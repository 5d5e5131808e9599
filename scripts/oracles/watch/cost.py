"""cost.py - what fragsim.watch() costs while nothing fails: processor time an allocation, and memory.

    torch-run VERSION cost.py

Each row is of a process of its own, forked before CUDA starts. An allocation is torch.empty() of a new
size class and its end, in a function DEPTH calls below the program. The difference of two rows is
the history's; the table of fragsim-python(7) is made by this.
"""
import os
import sys
import tempfile
import time

import torch

COUNT = 100_000         # allocations, twice the events of the ring


def resident():
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def below(depth):
    if depth:
        below(depth - 1)
        return
    for _ in range(COUNT):
        torch.empty(1 << 20, dtype=torch.uint8, device='cuda')


def measure(depth, watched, place):
    if watched:
        import fragsim
        fragsim.watch(os.path.join(place, 'oom'))
    torch.empty(1 << 20, device='cuda')
    before, begun = resident(), time.process_time_ns()
    below(depth)
    used = time.process_time_ns() - begun
    print(f'depth {depth:2} {"watched" if watched else "bare   "} {used / COUNT:8.0f} ns an allocation'
          f' {(resident() - before) / 1e6:7.1f} MB', flush=True)


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        for case in [(d, w) for d in (1, 10, 30) for w in (False, True)]:
            if not os.fork():
                measure(*case, folder)
                sys.stdout.flush()
                os._exit(0)
            os.wait()
