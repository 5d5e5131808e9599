"""A leak: the gradients of every step are kept in a list."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from truth import Truth, line_of

t = Truth(__file__, what='gradients kept in a list')
t.record(stacks='all')
net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
log, xy = [], []
t.track(net, opt, inputs=xy, leak=log)
for i in range(14):
    t.iteration('training step')
    xy[:] = [torch.randn(64, 512, device='cuda'), torch.randint(0, 10, (64,), device='cuda')]
    t.at('forward')
    loss = F.cross_entropy(net(xy[0]), xy[1])
    t.at('backward')
    loss.backward()     # allocates
    t.at('step')
    opt.step()
    t.at('idle')
    log.append([p.grad for p in net.parameters()])      # keeps
    opt.zero_grad()
    del loss
t.done(leak={'kept_at': line_of(__file__, 'keeps'), 'allocated_at': [line_of(__file__, 'allocates')], 'first_iteration': 0})
