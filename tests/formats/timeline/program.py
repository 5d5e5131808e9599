"""program.py - writes all that PyTorch records of the memory of one short training, in the folder given.

    torch-run VERSION program.py FOLDER

Profile and history end at the same moment, after a backward pass whose gradients no optimizer has used.
"""
import gzip
import json
import os
import pickle
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

os.chdir(sys.argv[1])
torch.cuda.init()
torch.cuda.memory._record_memory_history(stacks='python')
net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.LayerNorm(1024), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.Adam(net.parameters())
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, record_shapes=True,
             with_stack=True) as p:
    for i in range(4):
        x = torch.randn(128, 256, device='cuda')
        net(x).pow(2).mean().backward()
        if i < 3:
            optimizer.step()
            optimizer.zero_grad()
            p.step()
snapshot = torch.cuda.memory._snapshot()
site = os.path.dirname(os.path.dirname(torch.__file__))
for event in snapshot['device_traces'][0] + [b for s in snapshot['segments'] for b in [s, *s['blocks']]]:
    for frame in event.get('frames', ()):       # no paths of the machine
        frame['filename'] = frame['filename'].replace(site, '/opt/venv').replace(os.path.dirname(__file__), '/home/user')
with gzip.GzipFile('snapshot.pickle.gz', 'wb', 9, mtime=0) as f:
    pickle.dump(snapshot, f)
for name in ('timeline.json.gz', 'timeline.raw.json.gz'):
    p.export_memory_timeline(name, device='cuda:0')
p.export_chrome_trace('all.json')
with open('all.json') as f:                     # without Python's calls and arguments, which are most of it
    events = [e for e in json.load(f)['traceEvents'] if e.get('cat') in ('cpu_op', 'user_annotation', 'cpu_instant_event')]
for e in events:
    if e['ph'] == 'X':
        e['args'] = {k: v for k, v in e.get('args', {}).items() if k == 'Sequence number'}
    for name in ('pid', 's'):
        e.pop(name, None)
with gzip.GzipFile('kineto.json.gz', 'wb', 9, mtime=0) as f:
    f.write(json.dumps({'schemaVersion': 1, 'traceEvents': events}).encode())
os.unlink('all.json')
