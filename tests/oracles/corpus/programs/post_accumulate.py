"""Each parameter has an optimizer of its own, which runs in backward as soon as its gradient is there."""
import torch
import torch.nn.functional as F

from nets import GPT
from truth import Truth

t = Truth(__file__, what='optimizers in post-accumulate hooks')
t.record()
net = GPT(d=192, layers=2, heads=3).cuda()
optimizers = {p: torch.optim.AdamW([p], foreach=False) for p in net.parameters()}
ids = []
t.track(net, list(optimizers.values()), inputs=ids)


def hook(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(hook)
for i in range(8):
    t.iteration('training step')
    ids[:] = [torch.randint(0, 5000, (4, 129), device='cuda')]
    t.at('forward')
    loss = F.cross_entropy(net(ids[0][:, :-1]).flatten(0, 1), ids[0][:, 1:].flatten())
    t.at('backward', 'before_backward' if i == 7 else None)
    loss.backward()
    t.at('idle')
t.done()
