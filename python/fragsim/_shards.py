"""_shards.py - one rank of several that share what a model keeps (FSDP, ZeRO).

Stage 1 shares the optimizer's state, stage 2 the gradients too, stage 3 the parameters too. The model
runs whole, on fake tensors; the recorder writes a rank's part of each shared block instead of
the block, and the blocks that PyTorch's fully_shard() of each layer adds:

  stage 3   each layer's parameters are gathered into one buffer, and copied out of it to their own
            blocks, before its forward and its backward pass. Forward frees the buffer at the next
            layer's copy, backward at once, and fetches the next layer's buffer early.
  stage 2   each layer's gradients are copied into one buffer, which their parts replace; the
            buffer ends with the next layer's.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

Block = tuple[int, int]  # id and size


class Layer:
    """A module that is gathered as one, with the parameters that no other layer has."""

    def __init__(self, name: str, params: list[Any]) -> None:
        self.name = name or "root"
        self.params = params
        self.trained = [p for p in params if p.requires_grad]
        self.accumulated = 0
        self.buffer: Block | None = None
        self.gathered: list[Block] = []


class Shards:
    """The part of one rank; of one rank alone there is nothing to do."""

    def __init__(self, recorder: Any, model: Any, ranks: int, stage: int) -> None:
        self.recorder, self.ranks, self.stage = recorder, ranks, stage if ranks > 1 else 0
        self.buffer: Block | None = None  # of the last gathered layer in forward
        self.input: Block | None = None  # of the last reduced gradients
        self.order: list[Layer] = []  # as forward reached them
        self.root = Layer("", [])
        if self.stage >= 2:
            self.hook(model)

    def hook(self, model: Any) -> None:
        kinds = set(getattr(model, "_no_split_modules", None) or ())
        seen: set[int] = set()
        for name, module in model.named_modules():
            if type(module).__name__ in kinds:
                own = [p for p in module.parameters() if id(p) not in seen]
                seen.update(map(id, own))
                self.hook_layer(module, Layer(name, own))
        self.root = Layer("", [p for p in model.parameters() if id(p) not in seen])
        self.hook_layer(model, self.root)

    def hook_layer(self, module: Any, layer: Layer) -> None:
        for param in layer.trained:
            param.register_post_accumulate_grad_hook(lambda _p, a=layer: self.accumulated(a))
        if self.stage == 3:
            module.register_forward_pre_hook(lambda *_: self.before(layer))
            module.register_forward_hook(lambda _m, _args, out: self.after(layer, out))

    # The blocks of layers

    def bytes_of(self, params: list[Any]) -> int:
        return sum(p.nbytes for p in params)

    def allocate(self, size: int, name: str) -> Block:
        return self.recorder.allocate(size, name), size

    def free(self, block: Block | None) -> None:
        if block:
            self.recorder.free(*block)

    def fetch(self, layer: Layer) -> None:
        """The collective operation begins."""
        if not layer.buffer and not layer.gathered and layer.params:
            layer.buffer = self.allocate(self.bytes_of(layer.params), f"all-gather {layer.name}")

    def gather(self, layer: Layer, backward: bool) -> None:
        """Afterwards the layer has its whole parameters."""
        if layer.gathered or not layer.params:
            return
        self.fetch(layer)
        self.free(self.buffer)
        self.buffer = None
        layer.gathered = [self.allocate(p.nbytes, f"gathered {layer.name}") for p in layer.params]
        if backward:
            self.free(layer.buffer)
        else:
            self.buffer = layer.buffer
        layer.buffer = None

    def release(self, layer: Layer) -> None:
        for block in layer.gathered:
            self.free(block)
        layer.gathered = []

    # What the hooks call

    def before(self, layer: Layer) -> None:
        self.gather(layer, in_backward())
        if not in_backward() and layer not in self.order:
            self.order.append(layer)

    def after(self, layer: Layer, out: Any) -> None:
        if in_backward():  # computed again
            return
        if layer is not self.root or not torch.is_grad_enabled():
            self.release(layer)
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                tensor.register_hook(lambda _gradient: self.before_backward(layer))

    def before_backward(self, layer: Layer) -> None:
        for other in self.order:
            if other.gathered and not other.trained and other not in (layer, self.root):
                self.release(other)
        self.gather(layer, True)
        at = self.order.index(layer)
        if layer is not self.root and at > 0 and self.order[at - 1] is not self.root:
            self.fetch(self.order[at - 1])

    def accumulated(self, layer: Layer) -> None:
        """One more parameter has its gradient; after the last one they are reduced."""
        layer.accumulated += 1
        if layer.accumulated < len(layer.trained):
            return
        layer.accumulated = 0
        self.release(layer)
        self.free(self.input)
        self.input = self.allocate(self.bytes_of(layer.trained), f"reduce-scatter {layer.name}")
        for param in layer.trained:
            self.recorder.reduce(param.grad, self.ranks, f"gradient part {layer.name}")

    # What the program calls

    @contextlib.contextmanager
    def share(self, stage: int) -> Iterator[None]:
        """What is allocated within has a part on each rank from that stage on."""
        if self.stage >= stage:
            self.recorder.share = self.ranks
        yield
        if self.stage >= stage:
            self.recorder.share = 1

    def end_backward(self) -> None:
        self.free(self.input)
        self.free(self.buffer)
        self.input = self.buffer = None
        for layer in self.order:
            self.free(layer.buffer)
            layer.buffer = None
            self.release(layer)


def in_backward() -> bool:
    return torch._C._current_graph_task_id() != -1
