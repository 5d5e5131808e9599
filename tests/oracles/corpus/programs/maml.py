"""Meta-learning: an inner step whose gradients are part of the graph of the outer loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from truth import Truth

t = Truth(__file__, what='gradients of gradients')
t.record(stacks='all')
net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
opt = torch.optim.Adam(net.parameters())
xy = []
t.track(net, opt, inputs=xy)
for i in range(8):
    t.iteration('training step')
    xy[:] = [torch.randn(64, 512, device='cuda'), torch.randint(0, 10, (64,), device='cuda')]
    t.at('forward')
    p = dict(net.named_parameters())
    inner = F.cross_entropy(torch.func.functional_call(net, p, xy[0]), xy[1])
    grads = torch.autograd.grad(inner, list(p.values()), create_graph=True)
    p = {k: v - 0.1 * g for (k, v), g in zip(p.items(), grads)}
    loss = F.cross_entropy(torch.func.functional_call(net, p, xy[0]), xy[1])
    del inner, grads, p
    t.at('backward', 'before_backward' if i == 7 else None)
    loss.backward()
    t.at('step', 'after_backward' if i == 7 else None)
    opt.step()
    t.at('idle')
    opt.zero_grad()
    del loss
t.done()
