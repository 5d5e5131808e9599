"""Tensors without a module, and a step that the program writes itself: only autograd says what is what."""
import torch
import torch.nn.functional as F

from truth import Truth

t = Truth(__file__, what='weights without modules, SGD by hand')
t.record()
xy = []
w = [torch.randn(a, b, device='cuda').mul_(0.02).requires_grad_() for a, b in ((512, 2048), (2048, 2048), (2048, 10))]
t.track(weights=w, gradients=lambda: [x.grad for x in w if x.grad is not None], inputs=xy)
for i in range(8):
    t.iteration('training step')
    xy[:] = [torch.randn(64, 512, device='cuda'), torch.randint(0, 10, (64,), device='cuda')]
    t.at('forward')
    y = xy[0]
    for x in w:
        y = torch.tanh(y @ x)
    loss = F.cross_entropy(y, xy[1])
    t.at('backward', 'before_backward' if i == 7 else None)
    loss.backward()
    t.at('step', 'after_backward' if i == 7 else None)
    with torch.no_grad():
        for x in w:
            x -= 0.1 * x.grad
            x.grad = None
    t.at('idle')
t.done()
