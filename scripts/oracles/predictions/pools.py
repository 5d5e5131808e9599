"""pools.py - what a block that is allocated and freed first in each private pool brings in PyTorch.

    torch-run VERSION pools.py FOLDER

Writes FOLDER/pools.pickle, the history of a program with two torch.cuda.MemPool, and FOLDER/pools.json: the
peak of reserved bytes of the same program with such a block, by its MiB (0: without it).
tests/commands/predict/recordings has both, the history as lines.
"""
import json
import os
import random
import sys
from pathlib import Path

import torch

MIB = 1 << 20


def program(block: int, history: Path) -> int:
    """Returns the peak of reserved bytes; writes the history of the program without a block."""
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks='python')
    rng = random.Random(3)
    weights = torch.empty(30 * MIB, dtype=torch.uint8, device='cuda')
    pools = [torch.cuda.MemPool(), torch.cuda.MemPool()]
    primed = set()
    other = torch.cuda.Stream()
    for _ in range(12):
        pool = rng.choice(pools)
        with torch.cuda.use_mem_pool(pool):
            if block and pool not in primed:
                torch.empty(block, dtype=torch.uint8, device='cuda')
            primed.add(pool)
            live: list[torch.Tensor] = []
            for _ in range(30):
                size = int(2 ** rng.uniform(8, 25.5))
                if live and rng.random() < 0.45:
                    live.pop(rng.randrange(len(live)))
                elif live and rng.random() < 0.2:
                    with torch.cuda.stream(other):
                        live.append(torch.empty(size, dtype=torch.uint8, device='cuda'))
                else:
                    live.append(torch.empty(size, dtype=torch.uint8, device='cuda'))
            live.clear()
        torch.empty(rng.randrange(16 * MIB), dtype=torch.uint8, device='cuda')
    del weights
    if not block:
        torch.cuda.memory._dump_snapshot(str(history))
    return torch.cuda.memory_stats()['reserved_bytes.all.peak']


def main() -> None:
    folder = Path(sys.argv[1])
    peaks = {}
    # each runs in a process of its own, whose pools are its first
    for mib in (0, 2, 10, 20, *range(40, 80, 2), 128, 250):
        source, target = os.pipe()
        if not os.fork():
            os.write(target, str(program(mib * MIB, folder / 'pools.pickle')).encode())
            os._exit(0)
        peaks[mib] = int(os.read(source, 99))
        os.wait()
    (folder / 'pools.json').write_text(json.dumps(peaks) + '\n')


main()
