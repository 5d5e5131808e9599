"""programs.py OUT NAME: records one of the programs below, under PyTorch 2.15.0 on a fake GPU."""
import asyncio
import os
import sys

import torch
import torch.nn as nn
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../support'))
from recorded_snapshot import keep  # noqa: E402


def mlp():
    return nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(256, 256), nn.ReLU())]).cuda()


def rnd(n=256, d=256):
    return torch.randn(n, d, device='cuda')


def serve_log_every_4():        # a leak of each fourth request
    net, log = mlp(), []
    with torch.no_grad():
        for i in range(40):
            x = rnd(300)
            y = net(x)
            if i % 4 == 0:
                log.append(y.softmax(-1))
            del x, y


def asyncio_serving():          # none
    net = mlp()

    async def one(i):
        with torch.no_grad():
            y = net(rnd(64 + i % 7))
            await asyncio.sleep(0)
            return y.cpu()

    async def main():
        for i in range(30):
            await one(i)
    asyncio.run(main())


def kv_static_then_cat():       # one block that is larger each time
    net, kv = mlp(), None
    with torch.no_grad():
        for _ in range(40):
            k = net(rnd(128))
            kv = k if kv is None else torch.cat([kv, k])


def plain_functions_clean():    # none: no module, only functions
    w = [rnd(512, 512) for _ in range(4)]

    def layer(x, k):
        return torch.relu(x @ w[k])

    def model(x):
        for k in range(4):
            x = layer(x, k)
        return x
    for _ in range(20):
        y = model(rnd(512, 512))
        y.sum().cpu()


def main():
    out, name = sys.argv[1:]
    torch.cuda.memory._record_memory_history(max_entries=10**6, stacks='python')
    torch.zeros(1, device='cuda')
    globals()[name]()
    snapshot = torch.cuda.memory._snapshot()
    keep(snapshot, os.path.join(out, name + '.pickle.gz'), __file__)


if __name__ == '__main__':
    main()
