import sys, torch
out, at, conf, opt = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
from torch import nn
torch.backends.cudnn.enabled=False
torch.cuda.memory._record_memory_history(context=None)
def change(c):
    try: torch._C._accelerator_setAllocatorSettings(c)
    except AttributeError: torch.cuda.memory._set_allocator_settings(c)
m=nn.Sequential(nn.Linear(700,1500),nn.ReLU(),nn.Linear(1500,1900),nn.GELU(),nn.Linear(1900,333)).cuda()
o=getattr(torch.optim,opt)(m.parameters(),lr=1e-3)
for i in range(8):
    if i==at: change(conf)
    x=torch.randn(300+77*i,700,device='cuda'); y=m(x).square().mean(); y.backward(); o.step(); o.zero_grad()
    keep=[torch.empty(1300*1024*(j+1)//3,device='cuda') for j in range(i)]
s=torch.cuda.memory_stats()
print(out, s['reserved_bytes.all.peak'], s['reserved_bytes.all.current'], s['allocated_bytes.all.peak'])
torch.cuda.memory._dump_snapshot(out)
