"""programs.py OUT NAME: records one of the programs below, under PyTorch 2.15.0 on a fake GPU."""
import asyncio
import gzip
import os
import pickle
import sys

import torch
import torch.nn as nn


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
    folders = {os.path.dirname(os.path.dirname(torch.__file__)): '/opt/lib/python3/site-packages',
               os.path.dirname(os.path.dirname(os.__file__)): '/usr/lib',
               os.path.dirname(os.path.abspath(__file__)): '/home/user/project'}
    for entry in snapshot['device_traces'][0]:
        for f in entry.get('frames', []):
            for folder, name_of in folders.items():
                f['filename'] = f['filename'].replace(folder, name_of)
    with gzip.open(os.path.join(out, name + '.pickle.gz'), 'wb', 6) as f:
        pickle.dump(snapshot, f)


if __name__ == '__main__':
    main()
