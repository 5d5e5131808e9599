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
import importlib
import inspect
import os
import random
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
# in the sources, and where `make install` puts it
sys.path += [str(HERE.parent / "python" / "fragsim"), str(HERE / "python")]
try:
    import torch

    from _operators import default_dtype
    from _operators import Mark, mark, record  # noqa: F401 (programs import mark from here)
except ModuleNotFoundError:  # --help and --list do without; main() names what is missing
    if __name__ != "__main__":
        raise
    torch = Mark = None


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
