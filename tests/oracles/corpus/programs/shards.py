"""Data parallel training of one of two ranks, whose collectives do nothing: OUT ddp_copy|ddp_view|fsdp

The buckets of DDP are gradients here, and the parameters that FSDP gathers are weights.
"""
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.testing._internal.distributed.fake_pg import FakeStore

from nets import GPT
from truth import Truth

kind = sys.argv[2]
t = Truth(__file__, what='data parallel training: ' + kind, variant=kind)
nn.parallel.distributed._verify_param_shape_across_processes = lambda *a, **k: None     # gathers values, which are not there
dist.init_process_group('fake', rank=0, world_size=2, store=FakeStore())
t.record()
net = GPT(vocab=3000, d=256, layers=2).cuda()
ids, buckets, state = [], {}, {}


def ddp():
    model = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=kind == 'ddp_view', bucket_cap_mb=2)

    def hook(_, bucket):
        buckets[bucket.index()] = bucket.buffer()
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    model.register_comm_hook(None, hook)
    reducer = model.reducer

    class Reducer:              # to make buckets anew needs values, too
        def __getattr__(self, name):
            return getattr(reducer, name)

        def _rebuild_buckets(self):
            return False

    model.reducer = Reducer()
    opt = torch.optim.AdamW(model.parameters())
    t.track(net, opt, gradients=buckets, inputs=ids)
    return model, opt


def fsdp():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh('cuda', (2,))
    for b in [*net.blocks, net]:
        fully_shard(b, mesh=mesh)
    opt = torch.optim.AdamW(net.parameters())
    groups = [m._get_fsdp_state()._fsdp_param_group for m in [*net.blocks, net]]
    params = [p for g in groups for p in g.fsdp_params]

    def gathered():
        for g in groups:        # flat, before each parameter is copied out, and until the next one is gathered
            for x in (g._all_gather_result, getattr(g.comm_ctx.all_gather_state, 'all_gather_result', None)):
                if x is not None:
                    yield x.all_gather_output
        for p in params:
            for x in [*getattr(p, 'all_gather_outputs', ()), getattr(p, '_unsharded_param', None)]:
                if x is not None and x.untyped_storage().size():
                    yield x

    def local(x):
        return getattr(x, '_local_tensor', x)

    for b in net.blocks:        # also within the passes
        b.mlp.register_forward_pre_hook(lambda m, x: (t.note(), x[0].register_hook(lambda g: t.note())) and None)
    t.track(None, lambda: [local(v) for s in opt.state.values() for v in s.values() if torch.is_tensor(v)],
            weights=lambda: [*[p.sharded_param._local_tensor for p in params], *gathered()],
            gradients=lambda: [local(p.sharded_param.grad) for p in params if p.sharded_param.grad is not None], inputs=ids)
    return net, opt


model, opt = fsdp() if kind == 'fsdp' else ddp()
for i in range(5):
    t.iteration('training step')
    ids[:] = [torch.randint(0, 3000, (4, 129), device='cuda')]
    t.at('forward')
    loss = F.cross_entropy(model(ids[0][:, :-1]).flatten(0, 1), ids[0][:, 1:].flatten())
    t.at('backward', 'before_backward' if i == 4 else None)
    loss.backward()
    t.at('step', 'after_backward' if i == 4 else None)
    opt.step()
    t.at('idle', 'after_step' if i == 4 else None)
    opt.zero_grad()
    del loss
    t.at('idle')
t.done()
