"""models.py - records a model that no program trains yet: its configuration is enough.

    python -m fragsim.models --model CONFIG.json --batch 8 --length 4096 -o t.ndjson

The model of a transformers configuration runs at full size on fake tensors: true shapes, no data,
no weights, no GPU, no network. It trains or generates, and _operators.py records what that
allocates. `fragsim record --model` and `fragsim fit --model` run this module.

Fake tensors are tensors of the CPU. Where PyTorch allocates something else on CUDA, the functions
of CUDA are called instead: attention, dropout and autocast. WORKSPACES has what the kernels of CUDA
allocate from PyTorch's allocator and free before they return.
"""
from __future__ import annotations

import argparse
import contextlib
import difflib
import functools
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

BAD_USAGE, BAD_INPUT, BAD_OUTPUT, NOT_FOUND = 2, 4, 6, 127
INSTALL = "pip install 'fragsim[models]'"


class Failure(Exception):
    """A line for the user, and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def no_network() -> None:
    """Set before transformers is imported: nothing is looked up or sent."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ[name] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"


no_network()
try:
    import torch
    import transformers
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.nn import functional as F
    if __package__:
        from ._operators import HOOK, Output, Recorder, codes, default_dtype, recording
        from ._shards import Shards
    else:
        from _operators import HOOK, Output, Recorder, codes, default_dtype, recording
        from _shards import Shards
except ModuleNotFoundError as missing:
    sys.stderr.write(f"fragsim: --model requires a Python with PyTorch and transformers, and"
                     f" {sys.executable} has no module {missing.name}: {INSTALL}\n")
    sys.exit(NOT_FOUND)

aten = torch.ops.aten
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
          "amp": torch.float32}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW, "adam": torch.optim.Adam,
    "sgd": lambda params, **o: torch.optim.SGD(params, lr=0.1, **o),
    "momentum": lambda params, **o: torch.optim.SGD(params, lr=0.1, momentum=0.9, **o),
}


# What CUDA does and the CPU does not.

def rounded(n: int, to: int) -> int:
    return -(-n // to) * to


def flash_backward(grad_out, query, key, value, *_: Any) -> list[int]:
    """The sums of FlashAttention 2 in fp32, and what each query head adds where heads share keys."""
    batch, heads, length, dim = query.shape
    rows = rounded(length, 128)
    width = rounded(dim, 32) if dim <= 192 else 256
    sizes = [4 * batch * heads * rows, 4 * batch * heads * rows * width]
    if key.size(1) != heads:
        sizes += [2 * batch * heads * key.size(2) * dim] * 2
    return sizes


def efficient_backward(grad_out, query, key, value, *_: Any) -> list[int]:
    """The rows' sums of gradient times output, and partial gradients of tiles in fp32.

    The tiles are those of the kernels for Ampere and later: rows of queries, and columns. Wide heads
    of 16 bits do not fit the registers: each split of the keys has gradients of keys and values
    too. PyTorch limits the splits to about 200 blocks. Source: Params::workspace_size() of
    aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_backward.h.
    """
    batch, heads, length, dim = query.shape
    widest, half = max(dim, value.size(-1)), query.element_size() == 2
    rows, columns = (64, 64) if widest <= 64 else (128, 128) if half and widest <= 128 else (128, 64)
    numbers = -(-length // rows) * -(-dim // columns) * (4 + rows * columns)    # 4: a lock, and padding
    if half and widest > 128:
        splits = max(min(-(-key.size(2) // columns), 200 // (batch * heads)), 1)
        numbers += splits * columns * (rounded(dim, rows) + rounded(value.size(-1), rows))
    return [4 * batch * heads * length, 4 * batch * heads * numbers]


def softmax_backward(grad_out, output, *_: Any) -> list[int]:
    """The product of both, which is summed: softmax_backward_cuda_out() of SoftMax.cu."""
    return [grad_out.numel() * max(grad_out.element_size(), output.element_size())]


MULTIPROCESSORS, THREADS_OF_ONE = 108, 2048  # of an A100


def column_sums(tensor, dims=None, *_: Any) -> list[int]:
    """The sums over the rows, as of a bias's gradient: partial sums of thread blocks, in fp32.

    PyTorch splits the rows until the blocks fill the multiprocessors.
    """
    rank = tensor.dim()
    over = sorted(d % rank for d in dims or range(rank)) if rank else []
    columns = tensor.size(-1) if rank else 0
    if not columns or over != list(range(rank - 1)):
        return []
    vector = next(n for n in (4, 2, 1) if columns % n == 0)
    rows, across = tensor.numel() // columns, columns // vector
    width = min(power_below(across), 32)
    height = min(power_below(rows), 512 // vector // width)
    width = min(power_below(across), 512 // vector // height)
    values, grid = -(-rows // height), -(-across // width)
    target = MULTIPROCESSORS * (THREADS_OF_ONE // (width * height))
    if values < 256 or grid > target:
        return []
    splits = max(min(-(-target // grid), -(-values // 16)), -(-values // 256))
    return [4 * columns * splits * width * vector] if splits > 1 else []


def power_below(n: int) -> int:
    return 1 << (n.bit_length() - 1)


# The size of all cards up to Ampere: https://discuss.pytorch.org/t/178671. Up to PyTorch 2.14 the
# first matrix multiplication of a thread allocates the workspace, and the thread keeps it; autograd
# runs backward in a thread of its own. Since 2.15 each multiplication allocates its own and frees it.
CUBLAS_WORKSPACE = 2 * 4096 * 1024 + 8 * 16 * 1024
CUBLASLT_WORKSPACE = 1 << 20        # of multiplications that add a bias
KEEPS_WORKSPACES = [int(n) for n in torch.__version__.split(".")[:2]] < [2, 15]
MULTIPLICATIONS = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}


def is_biased(func, bias, left=None, right=None, **scales: Any) -> bool:
    """Does PyTorch multiply through cuBLASLt, which adds a vector?"""
    return func is aten.addmm.default and bias.dim() == 1 and bias.is_contiguous() and not scales \
        and min(*left.shape, *right.shape) > 1

WORKSPACES: dict[Any, Callable[..., list[int]]] = {
    aten._scaled_dot_product_flash_attention_backward.default: flash_backward,
    aten._scaled_dot_product_efficient_attention_backward.default: efficient_backward,
    aten._softmax_backward_data.default: softmax_backward,
    aten.sum.dim_IntList: column_sums,
}


@functools.cache
def shares_heads() -> bool:
    """Does the efficient kernel of this PyTorch take fewer heads of keys than of queries?"""
    query, key = (torch.empty(1, heads, 16, 8, device="meta") for heads in (2, 1))
    sums, seed = torch.empty(1, 2, 32, device="meta"), torch.empty((), device="meta", dtype=torch.int64)
    gradients = aten._scaled_dot_product_efficient_attention_backward(
        query, query, key, key, None, query, sums, seed, seed, 0.0, [True, True, True, False])
    return gradients[1].size(1) == key.size(1)


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):
    """As torch.nn.functional.scaled_dot_product_attention chooses on CUDA: flash, efficient, math."""
    dim = query.size(-1)
    scale = 1 / math.sqrt(dim) if scale is None else scale
    half = query.dtype in (torch.bfloat16, torch.float16)
    if half and attn_mask is None and value.size(-1) == dim <= 256:
        padded = [F.pad(x, (0, -dim % 8)) if dim % 8 else x for x in (query, key, value)]
        out = aten._scaled_dot_product_flash_attention(*padded, dropout_p, is_causal, scale=scale)
        return out[0][..., :dim]
    if not enable_gqa or query.size(1) == key.size(1) or shares_heads():
        if attn_mask is not None:
            if attn_mask.dtype == torch.bool:
                attn_mask = torch.where(attn_mask, 0.0, float("-inf")).to(query.dtype)
            columns = attn_mask.size(-1)
            if columns % 16:
                attn_mask = F.pad(attn_mask, (0, -columns % 16))[..., :columns]
            attn_mask = attn_mask.expand(query.size(0), query.size(1), query.size(2), columns)
        gradient = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
        return aten._scaled_dot_product_efficient_attention(
            query, key, value, attn_mask, gradient, dropout_p, is_causal, scale=scale)[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]


def dropout(input, p=0.5, training=True, inplace=False):
    """CUDA keeps a mask of one byte an element."""
    if not training or not p:
        return input
    return torch.native_dropout(input, p, True)[0]


def uses(tensor: torch.Tensor) -> tuple[int, int]:
    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


@functools.cache
def uses_of_sum() -> tuple[int, int] | None:
    """What uses() gives for a gradient that only autograd refers to; None: this PyTorch cannot tell."""
    found = []

    class Adds(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.add.Tensor:
                found.append(uses(args[0]))
            return func(*args, **kwargs or {})
    with contextlib.suppress(AttributeError), FakeTensorMode():
        leaf = torch.zeros(2, requires_grad=True) * 1
        total = torch.cat([leaf * 2, leaf * 3])
        with Adds():
            total.backward(torch.ones(4))
    return found[0] if len(found) == 1 else None


def adds_in_place(total, gradient=None, **scale: Any) -> bool:
    """
    Does autograd add to a gradient that nothing else refers to? Then it does so in place, but never
    for fake tensors: can_accumulate_inplace() of torch/csrc/autograd/input_buffer.cpp.
    """
    return torch._C._current_graph_task_id() != -1 \
        and not torch.is_grad_enabled() and not scale and isinstance(gradient, torch.Tensor) \
        and total.shape == gradient.shape and total.dtype == gradient.dtype \
        and total.untyped_storage().nbytes() == total.numel() * total.element_size() \
        and uses(total) == uses_of_sum()


# The operators that autocast runs in fp32 on CUDA, and not on the CPU.
FP32 = ("pow.Tensor_Scalar", "layer_norm", "softmax.int", "log_softmax.int", "nll_loss", "sum",
        "sum.dim_IntList", "cross_entropy_loss", "rsqrt", "exp", "log", "cumsum", "mse_loss",
        "binary_cross_entropy_with_logits", "group_norm", "softplus")


def cast_to_fp32(name: str) -> Callable[..., Any]:
    base, _, overload = name.partition(".")
    op = getattr(getattr(aten, base), overload or "default")

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch._C._DisableAutocast():
            cast = [x.float() if isinstance(x, torch.Tensor) and x.dtype == torch.bfloat16 else x
                    for x in args]
            return op(*cast, **kwargs)
    return call


def one_sequence() -> contextlib.AbstractContextManager[Any]:
    """
    Positions count up in these programs. transformers looks at their values to see it, which a
    fake tensor has not: it would make a mask for several sequences, and copy keys and values.
    """
    masks = getattr(transformers, "masking_utils", None)
    find = getattr(masks, "find_packed_sequence_indices", None)
    if not find:
        return contextlib.nullcontext()

    def found(position_ids: Any) -> None:
        find(position_ids)      # for its temporaries
    return mock.patch.object(masks, "find_packed_sequence_indices", found)


def keep_values(tensor: torch.Tensor, *_: Any, **_named: Any) -> torch.Tensor:
    """In the place of an initialization that looks at its values."""
    return tensor


@contextlib.contextmanager
def as_on_cuda() -> Iterator[None]:
    """Fake tensors of the CPU, as CUDA would have them."""
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # torch's, that an operator is overridden
        for name in FP32:
            library.impl(name, cast_to_fp32(name), "AutocastCPU", allow_override=True)
    with mock.patch.object(F, "scaled_dot_product_attention", attention), \
            mock.patch.object(F, "dropout", dropout), one_sequence(), FakeTensorMode(), \
            mock.patch.object(torch.nn.init, "_no_grad_trunc_normal_", keep_values):
        yield
    library._destroy()


class ModelRecorder(Recorder):
    """A recorder of fake tensors: what existed before, workspaces, and the shards of a rank."""

    name = "fragsim.models"

    def __init__(self, output: Output, hold_head: bool) -> None:
        super().__init__(output, "cpu", timed=False)
        self.hold_head = hold_head          # to the end
        self.in_place = uses_of_sum() is not None
        self.has_cublas: set[bool] = set()  # the thread of the program, and that of autograd
        self.now = self.most = 0            # live bytes, and the highest
        self.kept = self.most_kept = 0      # outputs of a step; the highest if the loop keeps them
        self.head: dict[str, Any] | None = None     # until it is written

    def adopt(self, tensor, name: str) -> None:
        """What was there before the recording began, in the order of the calls."""
        storage = tensor.untyped_storage()
        if id(storage) not in self.live and storage.nbytes():
            self._born(storage, storage.nbytes(), 0, name)

    def begin(self, head: dict[str, Any]) -> None:
        """The head of a training has what only its end shows."""
        if self.hold_head:
            self.head = head
        else:
            super().begin(head)

    def drain(self, at_least: int = 1) -> None:
        if not self.head:
            super().drain(at_least)

    def finish(self) -> None:
        if self.head:
            self.head["meta"]["kept_outputs_bytes"] = self.most_kept - self.most
            super().begin(self.head)
            self.head = None
        super().finish()

    def _event(self, change: int, **event: Any) -> None:
        super()._event(change, **event)
        self.now += change
        self.most = max(self.most, self.now)
        self.most_kept = max(self.most_kept, self.now + self.kept)

    @contextlib.contextmanager
    def dropping(self) -> Iterator[None]:
        """The program drops its outputs, which a loop that keeps them has until the next ones."""
        before = self.now
        yield
        self.kept = before - self.now

    def allocate(self, size: int, name: str) -> int:
        ident = next(self.idents)
        self._event(size, op="alloc", id=ident, size=size, tag=f"{name} | {self.phase}")
        return ident

    def free(self, ident: int, size: int) -> None:
        self._event(-size, op="free", id=ident)

    def reduce(self, tensor, parts: int, name: str) -> None:
        """One part of a tensor takes the place of the whole one."""
        storage = tensor.untyped_storage()
        block = self.live[id(storage)]
        part = self.allocate(-(-block.nbytes // parts), name)
        self._event(-block.size, op="free", id=block.ident)
        self.live[id(storage)] = block._replace(ident=part, size=-(-block.nbytes // parts))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.in_place and func is aten.add.Tensor and adds_in_place(*args, **kwargs or {}):
            return args[0]
        result = super().__torch_dispatch__(func, types, args, kwargs)
        backward = torch._C._current_graph_task_id() != -1
        if func in MULTIPLICATIONS and not KEEPS_WORKSPACES:
            size = CUBLASLT_WORKSPACE if is_biased(func, *args, **kwargs or {}) else CUBLAS_WORKSPACE
            self.free(self.allocate(size, "cuBLAS workspace"), size)
        elif func in MULTIPLICATIONS and backward not in self.has_cublas:
            self.has_cublas.add(backward)
            self.allocate(CUBLAS_WORKSPACE, "cuBLAS workspace")
        if func in WORKSPACES:
            sizes = WORKSPACES[func](*args)
            blocks = [(self.allocate(size, f"{func} workspace"), size) for size in sizes]
            for block in blocks:
                self.free(*block)
        return result


HOOK.update(codes(ModelRecorder))


# The model.

def config_of(word: str) -> Any:
    """The configuration in a file, or the default one of a model that transformers has."""
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    path = Path(word, "config.json") if os.path.isdir(word) else Path(word)
    if not path.exists() and not word.endswith(".json") and "/" not in word:
        return named_config(word, known)
    try:
        members = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", BAD_INPUT) from None
    except ValueError as error:
        raise Failure(f"{path}: not JSON: {error}", BAD_INPUT) from None
    if not isinstance(members, dict) or not isinstance(members.get("model_type"), str):
        raise Failure(f"{path}: not a configuration of transformers: it has no \"model_type\"",
                      BAD_INPUT)
    kind = members["model_type"]
    if kind not in known:
        raise Failure(f"{path}: transformers {transformers.__version__} has no model of the type"
                      f" \"{kind}\"", BAD_INPUT)
    try:
        return known[kind].from_dict(members)
    except Exception as error:
        raise Failure(f"{path}: {one_line(error)}", BAD_INPUT) from None


def named_config(word: str, known: Any) -> Any:
    kinds = {kind.replace("-", "_"): kind for kind in known}
    kind = kinds.get(word.lower().replace("-", "_"))
    named = getattr(transformers, word, None)
    if kind:
        return known[kind]()
    if isinstance(named, type) and getattr(named, "config_class", None):
        config = named.config_class()
        config.architectures = [word]
        return config
    near = difflib.get_close_matches(word.lower(), kinds, 3)
    raise Failure(f"--model {word}: neither a file nor a model of transformers"
                  f" {transformers.__version__}" + (f"; near: {', '.join(near)}" if near else ""),
                  BAD_USAGE)


def model_class(config: Any) -> Any:
    """The architecture that the configuration names, or the usual one with a loss."""
    for name in config.architectures or []:
        named = getattr(transformers, name, None)
        if named is not None:
            return named
    auto = transformers.models.auto.modeling_auto
    for mapping in ("MODEL_FOR_CAUSAL_LM_MAPPING", "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
                    "MODEL_FOR_MASKED_LM_MAPPING", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING"):
        named = getattr(auto, mapping).get(type(config), None)
        if named is not None:
            return named[0] if isinstance(named, tuple) else named
    raise Failure(f"a model of the type \"{config.model_type}\" cannot be trained here: language"
                  " models and image classifiers can", BAD_INPUT)


def make_model(config: Any, args: argparse.Namespace, device: str) -> Any:
    if args.generate or args.checkpoint:    # else a training has what the configuration says
        config.use_cache = bool(args.generate)
    with torch.device(device), default_dtype(DTYPES[args.dtype]):
        # transformers chooses: sdpa, or else eager, as in a program that names neither
        model = model_class(config)._from_config(config, dtype=DTYPES[args.dtype])
    if args.lora:
        model = with_lora(model, args.lora, device)
    if args.checkpoint:
        if not getattr(model, "supports_gradient_checkpointing", True):
            raise Failure(f"--checkpoint: {type(model).__name__} has no checkpointing", BAD_USAGE)
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.eval() if args.generate else model.train()


def with_lora(model: Any, rank: int, device: str) -> Any:
    """Adapters of that rank where peft puts them for the model, else at all linear layers."""
    try:
        import peft
    except ModuleNotFoundError as error:
        raise Failure(f"--lora requires the package peft, and {sys.executable} has no module"
                      f" {error.name}: {INSTALL}", NOT_FOUND) from None
    known = peft.utils.constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    targets = known.get(model.config.model_type, "all-linear")
    with torch.device(device):
        return peft.get_peft_model(model, peft.LoraConfig(r=rank, target_modules=targets))


def inputs_of(model: Any, batch: int, length: int, device: str) -> dict[str, Any]:
    config = model.config
    if getattr(model, "main_input_name", "input_ids") == "pixel_values":
        size = config.image_size
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        return {"pixel_values": torch.zeros(batch, config.num_channels, height, width,
                                            dtype=model.dtype, device=device),
                "labels": torch.zeros(batch, dtype=torch.long, device=device)}
    tokens = torch.zeros(batch, length, dtype=torch.long, device=device)
    return {"input_ids": tokens, "labels": tokens}


# The programs.

class Unrecorded:
    """In the place of a recorder, for the same program without one."""

    def mark(self, name: str) -> None:
        pass

    def dropping(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def train(model: Any, args: argparse.Namespace, batch: int, device: str,
          recorder: ModelRecorder | Unrecorded, shards: Any) -> None:
    mark = recorder.mark
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = OPTIMIZERS[args.optimizer](params, foreach=True)
    for step in range(args.steps):
        inputs = inputs_of(model, batch, args.length, device)
        mark(f"step{step} fwd")
        with torch.autocast(device, dtype=torch.bfloat16, enabled=args.dtype == "amp"):
            outputs = model(**inputs)
        loss = outputs.loss
        with recorder.dropping():
            del outputs
        mark(f"step{step} bwd")
        loss.backward()
        shards.end_backward()
        mark(f"step{step} opt")
        with shards.share(1):
            optimizer.step()
        optimizer.zero_grad()
        del loss, inputs


@torch.no_grad()
def generate(model: Any, args: argparse.Namespace, batch: int, device: str,
             recorder: ModelRecorder | Unrecorded, shards: Any) -> None:
    """The prompt, then a token at a time; the cache grows in each layer."""
    mark = recorder.mark
    mark(f"prefill {batch}x{args.length}")
    tokens = torch.zeros(batch, args.length, dtype=torch.long, device=device)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=args.dtype == "amp"):
        out = model(input_ids=tokens, use_cache=True, logits_to_keep=1)
        mark(f"decode {args.generate}")
        for _ in range(args.generate):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            cache = out.past_key_values
            del out
            out = model(input_ids=token, past_key_values=cache, use_cache=True)


# The recording.

class Converted(Output):
    """A trace of the form that its name says, which `fragsim trace convert` writes."""

    def __init__(self, path: str):
        program = os.environ.get("FRAGSIM", "fragsim")
        self.path = Path(path)
        form = ["--to", "lines"] if path.startswith("/dev/") else []  # a name without an ending
        try:
            self.child = subprocess.Popen([program, "trace", "convert", "-q", *form, "--", "-", path],
                                          stdin=subprocess.PIPE, close_fds=False)
        except OSError as error:
            raise Failure(f"{program}: {error.strerror}", NOT_FOUND) from None

    def write(self, text: str) -> None:
        assert self.child.stdin
        try:
            self.child.stdin.write(text.encode())
        except BrokenPipeError:
            sys.exit(self.child.wait())

    def close(self, keep: bool) -> None:
        assert self.child.stdin
        if not keep:
            self.child.terminate()
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        status = self.child.wait()
        if keep and status:
            sys.exit(status)


def one_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def adopt_model(recorder: ModelRecorder, model: Any, shards: Shards) -> None:
    with shards.share(3):
        for name, param in model.named_parameters():
            recorder.adopt(param, f"parameter {name}")
    for name, buffer in model.named_buffers():
        recorder.adopt(buffer, f"buffer {name}")


def description(model: Any, args: argparse.Namespace, batch: int) -> str:
    what = f"generation of {args.generate} tokens" if args.generate else \
        f"{args.steps} training steps, {args.optimizer}"
    parts = [f"{type(model).__name__}, {what}, batch {batch}, length {args.length}, {args.dtype}"]
    parts += ["checkpointing"] if args.checkpoint else []
    parts += [f"LoRA rank {args.lora}"] if args.lora else []
    parts += [f"one of {args.shard} ranks, stage {args.stage}"] if args.shard > 1 else []
    return ", ".join(parts)


def record_fake(config: Any, args: argparse.Namespace, batch: int, path: str) -> None:
    with as_on_cuda():
        model = make_model(config, args, "cpu")
        recorder = ModelRecorder(Converted(path), hold_head=not args.generate)
        with recording(recorder, description(model, args, batch)):
            shards = Shards(recorder, model, args.shard, args.stage)
            adopt_model(recorder, model, shards)
            (generate if args.generate else train)(model, args, batch, "cpu", recorder, shards)
            recorder.mark("end")


def record_cuda(config: Any, args: argparse.Namespace, batch: int, path: str) -> None:
    """The same program on a GPU, as PyTorch's own snapshot: what a recording is compared with."""
    model = make_model(config, args, "cuda")
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=10**6)
    (generate if args.generate else train)(model, args, batch, "cuda", Unrecorded(),
                                           Shards(None, model, 1, 0))
    torch.cuda.memory._dump_snapshot(path)
    stats = torch.cuda.memory_stats()
    print(json.dumps({"requested": stats["requested_bytes.all.peak"],
                      "reserved": stats["reserved_bytes.all.peak"]}))


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number above 0 is required")
    return int(text)


def numbers(text: str) -> list[int]:
    return [positive(x) for x in text.split(",")]


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"fragsim: {message}\n")
        sys.exit(BAD_USAGE)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = Parser(prog="fragsim.models", description="records a model on fake tensors")
    parser.add_argument("--model", required=True, metavar="CONFIG")
    parser.add_argument("--batch", type=numbers, default=[1], metavar="N[,N]...")
    parser.add_argument("--length", type=positive)
    parser.add_argument("--steps", type=positive, default=3)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--lora", type=positive, metavar="RANK")
    parser.add_argument("--shard", type=positive, default=1, metavar="RANKS")
    parser.add_argument("--stage", type=int, choices=(1, 2, 3))
    parser.add_argument("--generate", type=positive, default=0, metavar="TOKENS")
    parser.add_argument("--device", choices=("fake", "cuda"), default="fake")
    parser.add_argument("-o", "--output", action="append", required=True, metavar="FILE")
    args = parser.parse_args(words)
    if len(args.output) != len(args.batch):
        parser.error("as many of -o FILE as of --batch are required")
    if (args.shard > 1) != (args.stage is not None):
        parser.error("--shard N and --stage S go together")
    return args


def check_length(config: Any, args: argparse.Namespace) -> None:
    most = getattr(config.get_text_config(), "max_position_embeddings", None)
    if args.length is None:
        args.length = min(1024, most or 1024)
    if most and args.length + args.generate > most:
        raise Failure(f"--length {args.length}: {config.model_type} has {most} positions",
                      BAD_USAGE)


def main(words: Sequence[str]) -> int:
    args = parse(words)
    config = config_of(args.model)
    check_length(config, args)
    for batch, path in zip(args.batch, args.output):
        try:
            (record_cuda if args.device == "cuda" else record_fake)(config, args, batch, path)
        except (Failure, SystemExit):
            raise
        except Exception as error:
            if os.environ.get("FRAGSIM_TRACEBACK"):
                raise
            raise Failure(f"{args.model} cannot be recorded: {one_line(error)}",
                          BAD_INPUT) from error
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.stderr.write(f"fragsim: {failure}\n")
        sys.exit(failure.status)
    except KeyboardInterrupt:
        sys.exit(130)
