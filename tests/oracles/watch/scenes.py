"""scenes.py SCENE FILE - programs of several processes or threads, or of a trainer, that run out of memory.

Those of a trainer need lightning, transformers and accelerate.
"""
import os
import sys
import threading

import torch

torch.backends.cudnn.enabled = False        # there is none on the fake device
MIB = 1 << 20


def allocate(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device='cuda')


def fail(*_):
    kept = allocate(5), allocate(7)
    allocate(1 << 20)
    return kept


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return {'x': torch.full((4,), float(i))}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x):
        fail()
        return {'loss': self.layer(x).mean()}


def scene_nested():
    watch()
    watch()
    fail()


def scene_spawn():
    torch.multiprocessing.spawn(fail, nprocs=2)


def rank(number, both):
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE='2')
    if WATCHED:
        import fragsim
        fragsim.watch(sys.argv[2])
    kept = allocate(5 + number)
    both.wait()
    fail()
    return kept


def scene_ranks():
    """Two ranks of a job on one machine fail at once."""
    torch.multiprocessing.spawn(rank, args=(torch.multiprocessing.get_context('spawn').Barrier(2),), nprocs=2)


def scene_workers():
    for batch in torch.utils.data.DataLoader(Numbers(), num_workers=2, batch_size=4):
        batch['x'].cuda()
    fail()


def scene_fork():
    """The child of a process that has not used CUDA fails; its parent goes on."""
    child = os.fork()
    if not child:
        fail()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def scene_second():
    """Another thread fails while the first error is explained."""
    first = threading.Thread(target=fail)
    first.start()
    fail()


def scene_grows():
    net = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.SGD(net.parameters())
    kept = []
    for _ in range(24):
        kept.append(allocate(2))
        net(torch.empty(8, 64, device='cuda')).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    from fragsim import recording
    if recording.current and recording.current.looking:
        recording.current.looking.join()


def scene_lightning():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, _):
            return self.net(batch['x'])['loss']

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters())
    lightning.Trainer(accelerator='gpu', devices=1, max_steps=2, logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False, **watched('lightning')).fit(
                          Module(), torch.utils.data.DataLoader(Numbers()))


def scene_transformers():
    import transformers
    options = transformers.TrainingArguments(output_dir=os.path.dirname(sys.argv[2]), max_steps=2, report_to=[],
                                             disable_tqdm=True, save_strategy='no')
    transformers.Trainer(Net(), options, train_dataset=Numbers(), **watched('transformers')).train()


def scene_accelerate():
    from accelerate import Accelerator
    more = {'log_with': watched('accelerate')['callbacks']} if WATCHED else {}
    accelerator = Accelerator(**more)
    net = Net()
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters()))
    accelerator.init_trackers('run')
    accelerator.backward(net(torch.zeros(2, 4, device='cuda'))['loss'])
    optimizer.step()


def watched(trainer):
    if not WATCHED:
        return {}
    from fragsim import callbacks
    return {'callbacks': [getattr(callbacks, trainer)(sys.argv[2])]}


def watch():
    if WATCHED:
        import fragsim
        fragsim.watch(sys.argv[2], every=12 if sys.argv[1] == 'grows' else None)


WATCHED = os.environ.get('WATCHED')
if sys.argv[1] not in ('ranks', 'lightning', 'transformers', 'accelerate'):
    watch()
if __name__ == '__main__':
    globals()[f'scene_{sys.argv[1]}']()
