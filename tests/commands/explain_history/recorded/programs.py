"""programs.py OUT NAME: the programs that this folder has recordings of, under PyTorch 2.15.0 and 2.9.1
on a fake GPU of 900 MiB.

Each but the last three fails by what it does, and not by its size.
"""
import contextlib
import os
import sys

import torch
from torch import nn
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../support'))
from recorded_snapshot import keep  # noqa: E402

WIDTH = 1024
LARGE = 40960           # rows that a device of 900 MiB does not hold; a third it does


def data(rows):
    return torch.randn(rows, WIDTH, device='cuda')


def trained(steps=6):
    net = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(WIDTH, WIDTH), nn.GELU())]).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(rows):
        x = data(rows)
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    for _ in range(steps):
        step(512)
    return net, step


def retry_with_log():
    """The log keeps each exception, and with it the frames of the attempt."""
    _, step = trained()
    log, rows = [], LARGE
    while rows > 64:
        try:
            step(rows)
            break
        except torch.OutOfMemoryError as e:
            log.append(e)
        rows = rows * 3 // 4


def retry_in_handler():
    """Within the except block the exception is alive."""
    _, step = trained()
    try:
        step(LARGE)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        step(LARGE // 2)


def suspended_generator():
    """A generator that nothing finishes keeps its locals."""
    net, _ = trained()

    def passes(rows):
        made = [data(rows)]
        for layer in net:
            made.append(layer(made[-1]))
            yield made[-1].sum()
    first = passes(LARGE // 3)
    kept = [next(first) for _ in range(4)]
    with contextlib.suppress(torch.OutOfMemoryError):
        second = passes(LARGE // 2)
        for _ in second:
            pass
    for _ in passes(LARGE // 2):
        pass
    return kept


def validation_without_no_grad():
    """Predictions keep the graph of each batch."""
    net, step = trained()
    with torch.no_grad():
        for _ in range(3):
            net(data(512))
    predictions = []
    while True:
        predictions.append(net(data(512)).softmax(-1))


def retry_when_released():
    """After the except block nothing of the attempt is alive: a smaller batch runs, and then one is too large."""
    _, step = trained()
    rows = 4 * LARGE
    while rows > 256:
        failed = False
        try:
            step(rows)
        except torch.OutOfMemoryError:
            failed = True
        if not failed:
            break
        rows //= 4
    torch.empty(880 << 20, dtype=torch.uint8, device='cuda')


def load():
    """Weights, layer by layer."""
    layers = nn.ModuleList()
    while True:
        layer = nn.Linear(WIDTH, WIDTH, bias=False, device='cuda')
        layer.weight.data.copy_(torch.zeros(WIDTH, WIDTH))
        layers.append(layer)


def first_step():
    """The first batch is too large."""
    _, step = trained(0)
    step(LARGE)


def main():
    out, name = sys.argv[1:]
    torch.backends.cudnn.enabled = False
    torch.cuda.memory._record_memory_history(max_entries=10**6, stacks='python')
    torch.zeros(1, device='cuda')
    last = {}
    torch._C._cuda_attach_out_of_memory_observer(
        lambda *_: last.update(torch.cuda.memory._snapshot()))
    with contextlib.suppress(torch.OutOfMemoryError):
        globals()[name]()
    keep(last, out, __file__)


if __name__ == '__main__':
    main()
