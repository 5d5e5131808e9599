#!/usr/bin/env python3
"""record_torch.py - record what a PyTorch program allocates, as a fragsim trace.

A dispatch hook sees every operator. A storage that an operator makes is an `alloc`, its death is a
`free`; a mark names a point of the program and is part of the tags that follow it. A tag is the
operator, the innermost line of code outside torch, and the mark. Three ways in:

  record_torch.py run -o out.ndjson.gz train.py --epochs 1     a program of your own, really run
  record_torch.py model resnet50_train_bs32_fp32 -o FILE       a full-size model on fake tensors
  from record_torch import record, mark                        a part of your program:
      with record("out.ndjson.gz", device="cuda"):
          for step in range(3):
              mark(f"step{step}")
              train()

Sizes are what the program asks for, before any allocator rounds them. Not seen: workspaces inside
kernels (cuBLAS, cuDNN, reductions), the inside of compiled graphs and of CUDA graphs, threads of
the program's own. What was born before the recording counts from its first use.
"""
import argparse
import contextlib
import functools
import importlib
import inspect
import itertools
import json
import os
import platform
import random
import runpy
import sys
import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
except ModuleNotFoundError:  # --help and --list do without; main() names what is missing
    if __name__ != "__main__":
        raise
    torch, TorchDispatchMode = None, object

Mark = Callable[[str], None]


class Output:
    """A file that is written beside its destination and takes its place only when whole. A forked
    process, such as a worker of a data loader, inherits it but writes nothing."""

    def __init__(self, path: str):
        self.path = Path(path)
        self.beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        # zlib's own gzip header has no time and no name: the same events are the same bytes
        self.gzip = zlib.compressobj(9, zlib.DEFLATED, 31) if path.endswith(".gz") else None
        self.owner = os.getpid()
        self.file = open(self.beside, "wb")

    def write(self, text: str) -> None:
        if os.getpid() != self.owner:
            return
        data = text.encode()
        try:
            self.file.write(self.gzip.compress(data) if self.gzip else data)
            self.file.flush()
        except OSError:
            self.close(keep=False)  # events are lost: every later write must fail too
            raise

    def close(self, keep: bool) -> None:
        if os.getpid() != self.owner:
            return
        try:
            if keep:
                with self.file:
                    self.file.write(self.gzip.flush() if self.gzip else b"")
                os.replace(self.beside, self.path)
        finally:
            with contextlib.suppress(OSError):
                self.file.close()
            self.beside.unlink(missing_ok=True)


class Live(NamedTuple):
    """A storage that the trace holds as allocated."""

    ident: int
    size: int
    place: dict[str, int]  # the event's `device`, where there are several
    streams: dict[tuple[int, int], Any]  # other streams that use it, by GPU and number
    death: weakref.finalize


class Recorder(TorchDispatchMode):
    """The hook. Births are seen in operators, deaths wherever Python's collector runs: even inside
    a write. So both only append to a queue, and operators drain it to the file."""

    BATCH = 4096

    def __init__(self, path: str, device: str, timed: bool):
        super().__init__()
        self.timed = timed
        self.kind, self.ordinals = device_ordinals(device)
        self.phase = "init"
        self.live: dict[int, Live] = {}  # by id() of the storage
        self.queue: deque[tuple[int, dict]] = deque()  # (change of live bytes, event)
        self.idents = itertools.count()
        self.lock = threading.RLock()  # autograd runs backward in a thread for each GPU
        self.numbers: dict[tuple[int, int], int] = {}  # of streams, by GPU and torch's id
        self.waiting: dict[tuple[int, int], tuple] = {}  # streams that hold freed storages
        self.bytes = self.peak = self.clock = 0
        self.counts = dict.fromkeys(("alloc", "free", "mark"), 0)
        self.start_ns = time.perf_counter_ns()
        self.output = Output(path)

    def mark(self, name: str) -> None:
        self.phase = name
        self._poll()
        self._event(0, op="mark", name=name)

    def empty_cache(self) -> None:
        self._poll()
        self._event(0, op="empty_cache")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        op = str(func)
        if self.timed:  # a real program may have begun before us; fake tensors cannot
            self._see((args, kwargs), f"{op} input")
        if op == "aten.record_stream.default":
            self._use(*args)
        result = func(*args, **(kwargs or {}))
        self._see(result, op)
        return result

    def drain(self, at_least: int = 1) -> None:
        """Write the queue to the file, if it holds that many events."""
        if len(self.queue) < at_least:
            return
        lines = []
        while self.queue:
            change, event = self.queue.popleft()
            self.bytes += change
            self.peak = max(self.peak, self.bytes)
            if event["op"] in self.counts:
                self.counts[event["op"]] += 1
            if self.timed:  # two threads may have queued out of turn
                event["t"] = self.clock = max(self.clock, event["t"])
            lines.append(json.dumps(event, separators=(",", ":")) + "\n")
        self.output.write("".join(lines))

    def finish(self) -> None:
        """Write what is left; storages that outlive the recording stay allocated in it."""
        self._poll()
        for block in list(self.live.values()):
            block.death.detach()
        self.drain()

    def summary(self) -> str:
        counts = ", ".join(f"{n} {op}s" for op, n in self.counts.items())
        return f"{self.output.path}: {counts}, peak {self.peak} bytes, {self.bytes} live at the end"

    def _event(self, change: int, **event) -> None:
        if self.timed:
            event["t"] = (time.perf_counter_ns() - self.start_ns) // 1000
        self.queue.append((change, event))

    def _see(self, values: Any, op: str) -> None:
        with self.lock:
            for value in tree_leaves(values):
                if isinstance(value, torch.Tensor) and value.device.type == self.kind:
                    self._see_tensor(value, op)
            self.drain(self.BATCH)

    def _see_tensor(self, tensor, op: str) -> None:
        index = tensor.device.index or 0
        storage = storage_of(tensor) if index in self.ordinals else None
        if storage is None:
            return
        size, old = storage.nbytes(), self.live.get(id(storage))
        if old and old.size != size:  # resized in place: the old bytes go, new ones come
            old.death.detach()
            self._died(id(storage))
            old = None
        if not old and size:
            self._born(storage, size, index, op)

    def _born(self, storage, size: int, index: int, op: str) -> None:
        self._poll()
        place = {"device": self.ordinals[index]} if len(self.ordinals) > 1 else {}
        event = {"op": "alloc", "id": next(self.idents), "size": size, **place}
        if self.kind == "cuda":
            event["stream"] = self._stream(index, torch.cuda.current_stream(index))
        death = weakref.finalize(storage, self._died, id(storage))
        death.atexit = False
        self.live[id(storage)] = Live(event["id"], size, place, {}, death)
        self._event(size, **event, tag=f"{op}{source_line()} | {self.phase}")

    def _died(self, key: int) -> None:
        block = self.live.pop(key)
        self._event(-block.size, op="free", id=block.ident)
        for where, stream in block.streams.items():
            self.waiting[where] = stream, block.place

    def _stream(self, index: int, stream) -> int:
        """The default stream is 0, the others are numbered as they come."""
        if not stream.stream_id:
            return 0
        return self.numbers.setdefault((index, stream.stream_id), len(self.numbers) + 1)

    def _use(self, tensor, stream) -> None:
        block = self.live.get(id(storage_of(tensor)))
        if block:
            index = tensor.device.index
            number = self._stream(index, stream)
            block.streams[index, number] = stream
            self._event(0, op="record_stream", id=block.ident, stream=number)

    def _poll(self) -> None:
        """As the caching allocator does: before an allocation, ask which streams have caught up."""
        if not self.waiting or torch.cuda.is_current_stream_capturing():
            return
        for where, (stream, place) in list(self.waiting.items()):
            if stream.query():
                del self.waiting[where]
                self._event(0, op="sync", stream=where[1], **place)


@functools.cache
def is_program(path: str) -> bool:
    """Is a file a program's or a model's, and neither torch's nor Python's own?"""
    folders = path.split("/")[:-1]
    if path.startswith(("<frozen", "<eval_with_key")) \
            or not {"torch", "functorch", "torchgen", "triton"}.isdisjoint(folders):
        return False
    library = os.path.dirname(os.__file__) + "/"
    return not path.startswith(library) or "site-packages" in folders or "dist-packages" in folders


def source_line() -> str:
    """" model.py:42", the innermost line outside torch and the hook; "" where there is none, as
    in a thread of autograd's own."""
    frame = sys._getframe(1)
    while frame:
        code = frame.f_code
        if is_program(code.co_filename) and code not in HOOK:
            return f" {os.path.basename(code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


HOOK = {getattr(member, "__code__", None) for member in vars(Recorder).values()}


def storage_of(tensor):
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None  # sparse tensors and wrappers have none; the tensors inside them do


def device_ordinals(device: str) -> tuple[str, dict[int, int]]:
    """The kind of device, and which of its indexes are which ordinals of the trace."""
    where = torch.device(device)
    if where.type != "cuda":
        return where.type, {0: 0}
    every = range(torch.cuda.device_count()) if where.index is None else [where.index]
    return where.type, {index: ordinal for ordinal, index in enumerate(every)}


def gpu_figures(index: int) -> dict[str, Any]:
    """What the driver has taken beyond this program's tensors is the context; other processes on
    the device would count as context too, because the driver does not tell them apart."""
    torch.empty(1, device=f"cuda:{index}")  # makes the context
    free, total = torch.cuda.mem_get_info(index)
    return {
        "name": torch.cuda.get_device_name(index),
        "total_bytes": total,
        "context_bytes": total - free - torch.cuda.memory_reserved(index),
    }


def header(source: str, recorder: Recorder, fake: bool) -> str:
    top: dict[str, Any] = {"format": "fragsim-trace", "version": 1}
    if recorder.kind == "cuda":
        figures = [gpu_figures(index) for index in recorder.ordinals]
        top |= {"devices": figures} if len(figures) > 1 else {"device": figures[0]}
    packages = ("torch", "torchvision", "transformers", "diffusers")
    top["meta"] = {
        "source": source,
        "recorder": "record_torch.py",
        "ran_on": "fake tensors, no t" if fake else recorder.kind,
        "python": platform.python_version(),
        **{p: str(sys.modules[p].__version__) for p in packages if p in sys.modules},
    }
    return json.dumps(top, separators=(",", ":")) + "\n"


active: Recorder | None = None


def mark(name: str) -> None:
    """Name this point of the program. Does nothing while nobody records."""
    if active:
        active.mark(name)


@contextlib.contextmanager
def record(path: str, device: str = "cpu", source: str = "", fake: bool = False
           ) -> Iterator[Recorder]:
    """Record what is allocated on `device` ("cpu", "cuda" for all GPUs, "cuda:1" for one) into
    `path`, compressed where that ends in .gz. A program that fails has its trace kept up to there,
    because an out-of-memory error is what one wants to look at; a fake one has not."""
    global active
    if active:
        raise RuntimeError("record_torch: a recording is under way already")
    recorder = Recorder(path, device, timed=not fake)
    keep, keep_at_end = False, True
    try:
        recorder.output.write(header(source, recorder, fake))
        active = recorder
        with watch_empty_cache(recorder), recorder:
            try:
                yield recorder
            except BaseException as error:
                if getattr(error, "code", error):  # sys.exit(0) is no failure
                    recorder.mark(f"interrupted: {type(error).__name__}")
                    keep_at_end = not fake
                raise
            finally:
                recorder.finish()
                keep = keep_at_end  # now that all of it is written
    finally:
        active = None
        recorder.output.close(keep)


@contextlib.contextmanager
def watch_empty_cache(recorder: Recorder) -> Iterator[None]:
    """torch.cuda.empty_cache() is no operator, so no dispatch hook sees it."""
    real = torch.cuda.empty_cache

    def empty_cache() -> None:
        real()
        recorder.empty_cache()

    with mock.patch.object(torch.cuda, "empty_cache", empty_cache):
        yield


# Models. Only their configurations matter: no weights, no data. Optimisers are built with
# foreach=True, which is what CUDA has by default.

def learn(loss, optimizer, mark: Mark, step: int) -> None:
    mark(f"step{step} bwd")
    loss.backward()
    mark(f"step{step} opt")
    optimizer.step()
    optimizer.zero_grad()


def autocast(device: str, enabled: bool):
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=enabled)


def placed(model, device: str):
    """The model on the device. Where nothing has to move, .to() would still swap each parameter
    with itself, which fake ones refuse."""
    return model if torch.device(device).type == "cpu" else model.to(device)


@contextlib.contextmanager
def default_dtype(dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def resnet50(device: str, mark: Mark, steps=3, batch=32, amp=False) -> None:
    import torchvision

    model = placed(torchvision.models.resnet50(), device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for step in range(steps):
        images = torch.empty(batch, 3, 224, 224, device=device)
        labels = torch.zeros(batch, dtype=torch.long, device=device)
        mark(f"step{step} fwd")
        with autocast(device, amp):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        learn(loss, optimizer, mark, step)
        del loss, images, labels


GPT2_SIZES = {
    "tiny": {"n_embd": 256, "n_layer": 4, "n_head": 4, "vocab_size": 8192},
    "small": {},
    "medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
}


def gpt2(device: str, mark: Mark, steps=3, batch=8, length=1024, size="small",
         checkpoint=False, vary=False, amp=False, attention="sdpa") -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(**GPT2_SIZES[size])
    config._attn_implementation = attention
    config.use_cache = False
    # the CPU's flash attention, which saves what the GPU's does, has no dropout
    config.attn_pdrop = 0.1 if attention == "eager" else 0.0
    model = placed(GPT2LMHeadModel(config), device).train()
    if checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    rng = random.Random(torch.initial_seed())
    for step in range(steps):
        longest = rng.randrange(128, length + 1, 8) if vary else length
        tokens = torch.zeros(batch, longest, dtype=torch.long, device=device)
        mark(f"step{step} fwd len{longest}")
        with autocast(device, amp):
            loss = model(input_ids=tokens, labels=tokens).loss
        learn(loss, optimizer, mark, step)
        del loss, tokens


def llama(device: str, mark: Mark, requests=1, prompt=512, new=256, batch=4, layers=32,
          hidden=4096, kv_heads=32, inner=11008) -> None:
    """Prefill, then a token at a time with a cache that grows by torch.cat in every layer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=32,
        num_key_value_heads=kv_heads, intermediate_size=inner, vocab_size=32000,
        max_position_embeddings=8192)
    config._attn_implementation = "sdpa"
    with default_dtype(torch.float16):
        model = placed(LlamaForCausalLM(config), device).eval()
    rng = random.Random(torch.initial_seed())
    for request in range(requests):
        length = prompt if requests == 1 else rng.randrange(16, 2 * prompt)
        count = new if requests == 1 else rng.randrange(8, 2 * new)
        mark(f"req{request} prefill {batch}x{length}")
        tokens = torch.zeros(batch, length, dtype=torch.long, device=device)
        out = model(input_ids=tokens, use_cache=True, logits_to_keep=1)
        del tokens
        mark(f"req{request} decode {count}")
        for _ in range(count):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
        del out, token


def bert(device: str, mark: Mark, batches=150, longest=512) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig()
    config._attn_implementation = "sdpa"
    model = placed(BertModel(config), device).eval()
    rng = random.Random(torch.initial_seed())
    results = []
    for number in range(batches):
        length = min(longest, max(8, int(rng.lognormvariate(4.6, 0.8))))
        batch = rng.choice([1, 4, 8, 16, 32])
        mark(f"batch{number} {batch}x{length}")
        tokens = torch.zeros(batch, length, dtype=torch.long, device=device)
        mask = torch.ones(batch, length, dtype=torch.long, device=device)
        out = model(input_ids=tokens, attention_mask=mask).last_hidden_state[:, 0].clone()
        results.append(out)
        if len(results) > 16:  # a client that collects its results out of order
            results.pop(rng.randrange(len(results)))
        del tokens, mask, out


def stable_diffusion(device: str, mark: Mark, steps=4, pixels=(512, 768, 640), vary=False
                     ) -> None:
    from diffusers import AutoencoderKL, UNet2DConditionModel

    rng = random.Random(torch.initial_seed())
    if vary:
        pixels = [rng.randrange(512, 769, 64) for _ in pixels]
    with default_dtype(torch.float16):
        unet = placed(UNet2DConditionModel(
            cross_attention_dim=768, attention_head_dim=8,
            block_out_channels=(320, 640, 1280, 1280)), device).eval()
        vae = placed(AutoencoderKL(
            block_out_channels=(128, 256, 512, 512), latent_channels=4, layers_per_block=2,
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4), device).eval()
        for side in pixels:
            latent = torch.zeros(1, 4, side // 8, side // 8, device=device)
            context = torch.zeros(2, 77, 768, device=device)
            for step in range(steps):
                mark(f"{side}px denoise{step}")
                noise = unet(torch.cat([latent] * 2), torch.tensor(500, device=device),
                             encoder_hidden_states=context).sample
                plain, guided = noise.chunk(2)
                latent = latent - 0.1 * (plain + 7.5 * (guided - plain))
                del noise, plain, guided
            mark(f"{side}px vae")
            image = vae.decode(latent).sample
            del image, latent, context


def moe(device: str, mark: Mark, steps=4, tokens=8192, width=512, experts=8, layers=4) -> None:
    """Top 2 of the experts for each token: how many an expert gets depends on the data."""
    nn = torch.nn

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(width, experts)
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                for _ in range(experts))

        def forward(self, x):
            weight, choice = self.gate(x).softmax(-1).topk(2, -1)
            out = torch.zeros_like(x)
            for number, expert in enumerate(self.experts):
                row, rank = (choice == number).nonzero(as_tuple=True)
                if row.numel():
                    out = out.index_add(0, row, expert(x[row]) * weight[row, rank, None])
            return x + out

    model = placed(nn.Sequential(*[Mixture() for _ in range(layers)]), device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for step in range(steps):
        mark(f"step{step} fwd")
        loss = model(torch.randn(tokens, width, device=device)).pow(2).mean()
        learn(loss, optimizer, mark, step)
        del loss


class Model(NamedTuple):
    source: str
    needs: str  # a package besides torch, or ""
    build: Callable[..., None]
    options: dict[str, Any] = {}
    grad: bool = True
    device: str = "fake"
    seed: int = 0  # where --seed gives none


MODELS = {
    "resnet50_train_bs32_fp32": Model(
        "ResNet-50 training, batch 32, fp32, 3 SGD steps", "torchvision", resnet50),
    "resnet50_train_bs64_amp": Model(
        "ResNet-50 training, batch 64, bf16 autocast, 3 SGD steps", "torchvision", resnet50,
        {"batch": 64, "amp": True}),
    "gpt2_tiny_train_bs4_seq256": Model(
        "a tiny GPT-2, small enough to run really on a CPU", "transformers", gpt2,
        {"size": "tiny", "batch": 4, "length": 256}, device="cpu"),
    "gpt2_small_train_bs8_seq1024": Model(
        "GPT-2 small training, batch 8, sequence 1024, AdamW", "transformers", gpt2),
    "gpt2_small_train_bs8_seq1024_ckpt": Model(
        "GPT-2 small training with activation checkpointing", "transformers", gpt2,
        {"checkpoint": True}),
    "gpt2_small_train_bs8_seq1024_eager_amp": Model(
        "GPT-2 small training, attention by hand, bf16 autocast", "transformers", gpt2,
        {"attention": "eager", "amp": True}),
    "gpt2_small_train_bs16_varlen_ckpt": Model(
        "GPT-2 small training, 16 steps, sequence length 128 to 1024, activation checkpointing",
        "transformers", gpt2, {"batch": 16, "vary": True, "checkpoint": True, "steps": 16}),
    "gpt2_medium_train_bs8_varlen_amp": Model(
        "GPT-2 medium training, 12 steps, varying sequence length, bf16 autocast",
        "transformers", gpt2, {"size": "medium", "vary": True, "steps": 12, "amp": True}),
    "bert_base_infer_varlen": Model(
        "BERT base inference, 150 batches of random size and length", "transformers", bert,
        grad=False, seed=1),
    "llama7b_generate_bs4_512_256": Model(
        "LLaMA 7B generation, batch 4, 512 + 256 tokens, growing KV cache", "transformers",
        llama, grad=False),
    "llama1b_serve_24req_dyncache": Model(
        "LLaMA 1B serving, 24 requests of random length, growing KV cache", "transformers", llama,
        {"layers": 16, "hidden": 2048, "kv_heads": 8, "inner": 8192, "new": 48, "batch": 2,
         "requests": 24}, grad=False),
    "sd15_unet_vae_infer_multires": Model(
        "Stable Diffusion 1.5 UNet and VAE inference, 512 to 768 to 640 pixels, fp16",
        "diffusers", stable_diffusion, grad=False),
    "sd15_unet_vae_infer_varres": Model(
        "Stable Diffusion 1.5 UNet and VAE inference, six images of 512 to 768 pixels, fp16",
        "diffusers", stable_diffusion, {"pixels": [0] * 6, "vary": True}, grad=False),
    "moe_train_dispatch": Model(
        "mixture-of-experts training, top 2, data-dependent expert sizes", "", moe,
        device="cpu"),
}


def need(package: str, what: str) -> None:
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        sys.exit(f"record_torch.py: {what} needs a package that is not installed: {error.name}")


def check(device: str, output: str) -> None:
    """Say in a line what would else be a traceback."""
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        sys.exit(f"record_torch.py: device {device}: {str(error).splitlines()[0]}")
    if not os.access(os.path.dirname(output) or ".", os.W_OK):
        sys.exit(f"record_torch.py: cannot write {output}")


def seed(number: int) -> None:
    random.seed(number)
    torch.manual_seed(number)


def asked_for(model: Model, args: argparse.Namespace) -> Model:
    """The model, at another batch size, length or count of requests where one was asked for."""
    for option in ("batch", "length", "requests"):
        value = getattr(args, option)
        if value is None:
            continue
        if option not in inspect.signature(model.build).parameters:
            sys.exit(f"record_torch.py: {args.name} has no --{option}")
        model = model._replace(source=f"{model.source}; --{option} {value}",
                               options={**model.options, option: value})
    return model


def model_command(args: argparse.Namespace) -> None:
    if args.list:
        print("\n".join(f"{name:40}{model.source}" for name, model in MODELS.items()))
        return
    if args.name not in MODELS:
        sys.exit(f"record_torch.py: no model of the name {args.name}; `model --list` shows them")
    model = asked_for(MODELS[args.name], args)
    need("torch", "recording")
    if model.needs:
        need(model.needs, args.name)
    device = args.device or model.device
    fake = device == "fake"
    # A fake CPU: fake GPU tensors want a driver, and sizes are the same on either.
    device = "cpu" if fake else device
    seed(model.seed if args.seed is None else args.seed)
    from torch._subclasses.fake_tensor import FakeTensorMode
    world = FakeTensorMode() if fake else contextlib.nullcontext()
    output = args.output or f"{args.name}.ndjson.gz"
    check(device, output)
    with world, torch.set_grad_enabled(model.grad), \
            record(output, device, model.source, fake) as recorder:
        model.build(device, recorder.mark, **model.options)
        recorder.mark("end")
    print(recorder.summary(), file=sys.stderr)


def run_command(args: argparse.Namespace) -> None:
    need("torch", "recording")
    if not os.path.isfile(args.script):
        sys.exit(f"record_torch.py: there is no program {args.script}")
    output = args.output or f"{Path(args.script).stem}.ndjson.gz"
    device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if args.seed is not None:
        seed(args.seed)
    sys.modules["record_torch"] = sys.modules[__name__]  # for the program's own marks
    sys.argv = [args.script, *args.args]
    sys.path[0] = os.path.dirname(os.path.abspath(args.script))
    check(device, output)
    recorder = None
    try:
        with record(output, device, f"a run of {Path(args.script).name}") as recorder:
            runpy.run_path(args.script, run_name="__main__")
    finally:
        if recorder:
            print(recorder.summary(), file=sys.stderr)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number above 0")
    return int(text)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="record_torch.py", description=__doc__.partition(" - ")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="run|model")

    run = commands.add_parser("run", help="record a program of your own while it really runs")
    run.add_argument("--device", help='"cpu", "cuda" (every GPU) or "cuda:N" '
                     "(default: cuda where there is one)")
    run.add_argument("--seed", type=int, help="seed random and torch before the program starts")
    run.add_argument("script", help="the Python program")
    run.add_argument("args", nargs=argparse.REMAINDER, help="its own arguments")
    run.set_defaults(command=run_command)

    model = commands.add_parser("model", help="record a well-known model at its full size")
    model.add_argument("name", nargs="?", default="", help="one of --list")
    model.add_argument("--list", action="store_true", help="list the models")
    model.add_argument("--device", metavar="fake|cpu|cuda", help="fake: true shapes, no data, no "
                       "GPU (the default, but for the models that the data steers: cpu)")
    model.add_argument("--batch", type=positive, metavar="N", help="another batch size than the "
                       "name says, where the model has one")
    model.add_argument("--length", type=positive, metavar="N", help="likewise another length")
    model.add_argument("--requests", type=positive, metavar="N", help="and so many requests")
    model.add_argument("--seed", type=int, help="of random lengths, batches and weights (default: "
                       "the model's own, which makes the same trace each time)")
    model.set_defaults(command=model_command)

    for command in (run, model):
        command.add_argument("-o", "--output", metavar="FILE", help="the trace; gzip where it ends "
                             "in .gz (default: the name with .ndjson.gz, in this directory)")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_args()
    arguments.command(arguments)
