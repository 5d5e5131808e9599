#!/usr/bin/env python3
"""programs.py NAME SNAPSHOT - run one of these programs on a GPU, or on a fake one, and write PyTorch's memory snapshot of it

programs.py --list names them. Only allocations matter: there are no weights and no data, and each random number is drawn on the host from
a fixed seed, so that a recording is the same each time.
"""
import pickle
import random
import sys
from typing import NamedTuple

import nets
import torch
import torch.nn.functional as F

CUDA = 'cuda'
torch.backends.cudnn.enabled = False  # the fake device has no cuDNN: convolutions run PyTorch's own kernels


def at(name):
    """A phase of the program: a mark of the trace."""
    return torch.profiler.record_function(name)


def ids(*shape):
    return torch.zeros(*shape, dtype=torch.long, device=CUDA)


def on_gpu(build, *words, dtype=torch.float32, **options):
    """A network that is made on the device, in this type."""
    torch.set_default_dtype(dtype)
    with torch.device(CUDA):
        net = build(*words, **options)
    torch.set_default_dtype(torch.float32)
    return net


def adapted(kind, rank, **options):
    return nets.with_adapters(kind(**options), rank) if rank else kind(**options)


def adamw(net, **options):
    return torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4, **options)


def autocast(on=True):
    return torch.autocast(CUDA, torch.bfloat16, enabled=on)


def text_loss(net, tokens):
    logits = net(tokens)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())


def train(steps, optimizer, loss_of, accumulate=1, clip=None):
    """The usual loop: `loss_of(step)` makes a batch and its loss."""
    for step in range(steps):
        for _ in range(accumulate):
            with at(f'step {step} forward'):
                loss = loss_of(step)
            with at(f'step {step} backward'):
                loss.backward()
            del loss
        if clip:
            torch.nn.utils.clip_grad_norm_(clip.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def lengths(seed, low, high, multiple=8):
    """Lengths of text as they are met: many short, few long."""
    rng = random.Random(seed)
    while True:
        length = int(rng.lognormvariate(0, 0.7) * (low * high) ** 0.5)
        yield min(high, max(low, length)) // multiple * multiple


# Language models. ------------------------------------------------------------

SMALL = {'width': 2048, 'layers': 16, 'heads': 32, 'kv_heads': 8, 'inner': 8192}     # a llama of 1 billion parameters
LARGE = {'width': 4096, 'layers': 32, 'heads': 32, 'kv_heads': 8, 'inner': 14336}    # of 8 billion
GPT = {'width': 1024, 'layers': 24, 'heads': 16, 'vocab': 50257, 'gated': False}


def language_train(net, batch, length=0, low=0, high=0, steps=4, recompute=False, accumulate=1, amp=False, seed=1, rank=0, fused=False):
    net = on_gpu(adapted, nets.Language, rank, dtype=torch.float32 if amp else torch.bfloat16, **net)
    net.body.recompute = recompute
    if rank and recompute:
        net.tokens.register_forward_hook(lambda part, given, out: out.requires_grad_())
    varying = lengths(seed, low, high) if high else None

    def loss(step):
        with autocast(amp):
            return text_loss(net, ids(batch, next(varying) if varying else length))
    train(steps, adamw(net, fused=fused), loss, accumulate, clip=net)


@torch.no_grad()
def generate(net, prompt, count, batch):
    """Prefill, then a token at a time; the cache grows by torch.cat."""
    cache = net.new_cache()
    token = net(ids(batch, prompt), cache, last=True).argmax(-1)
    for _ in range(count):
        token = net(token, cache, last=True).argmax(-1)
    return cache


def language_generate(net, requests, batch, low, high, count, seed=2):
    net = on_gpu(nets.Language, dtype=torch.bfloat16, **net)
    varying = lengths(seed, low, high)
    for request in range(requests):
        with at(f'request {request}'):
            generate(net, next(varying) if high > low else low, count, batch)


@torch.no_grad()
def language_serve(net, requests=40, together=4, low=32, high=2048, seed=3):
    """Requests of different lengths live side by side and end out of order, each with a cache of its own."""
    net = on_gpu(nets.Language, dtype=torch.bfloat16, **net)
    rng, prompts, running = random.Random(seed), lengths(seed, low, high), []
    while requests or running:
        while requests and len(running) < together:
            requests -= 1
            cache = net.new_cache()
            with at(f'prefill {requests}'):
                running.append([cache, net(ids(1, next(prompts)), cache, last=True).argmax(-1), rng.randrange(2, 12)])
        for request in running:
            request[1] = net(request[1], request[0], last=True).argmax(-1)
            request[2] -= 1
        running = [request for request in running if request[2]]


def experts(capacity=False, **net):
    """A llama whose blocks have eight experts, two for each token."""
    return {**net, 'inner': None, 'experts': lambda: nets.Experts(net['width'], net['inner'], 8, 2, capacity)}


MIXTURE = {'width': 1024, 'layers': 8, 'heads': 16, 'kv_heads': 8, 'inner': 3584}


# Encoders, pictures, diffusion. ----------------------------------------------

BERT = {'width': 768, 'layers': 12, 'heads': 12, 'vocab': 30522, 'outputs': 30522}
BERT_LARGE = {'width': 1024, 'layers': 24, 'heads': 16, 'vocab': 30522, 'outputs': 30522}


def encoder_train(net, batch, length=0, low=0, high=0, steps=5, amp=True, seed=5):
    net = on_gpu(nets.Encoder, **net)
    varying = lengths(seed, low, high) if high else None

    def loss(step):
        tokens = ids(batch, next(varying) if varying else length)
        with autocast(amp):
            return F.cross_entropy(net(tokens).flatten(0, 1).float(), tokens.flatten())
    train(steps, adamw(net), loss)


@torch.no_grad()
def encoder_embed(net, batches=60, low=16, high=512, seed=6):
    """A service that embeds texts: batches of any size, results kept for a while."""
    net = on_gpu(nets.Encoder, dtype=torch.float16, **net).eval()
    rng, varying, kept = random.Random(seed), lengths(seed, low, high), []
    for number in range(batches):
        with at(f'batch {number}'):
            kept.append(net.hidden(ids(rng.choice([1, 2, 8, 32, 64]), next(varying)))[:, 0].clone())
        if len(kept) > 12:
            kept.pop(rng.randrange(len(kept)))


VIT = {'width': 768, 'layers': 12, 'heads': 12, 'inputs': 3 * 16 * 16, 'outputs': 1000}
VIT_LARGE = {'width': 1024, 'layers': 24, 'heads': 16, 'inputs': 3 * 14 * 14, 'outputs': 1000}


def vit_train(net, batch, side, patch, steps=5, sides=(), rank=0, seed=7):
    net = on_gpu(adapted, nets.Encoder, rank, **net)
    rng = random.Random(seed)

    def loss(step):
        now = rng.choice(sides) if sides else side
        count = max(1, batch * side * side // (now * now))
        images = torch.empty(count, 3, now, now, device=CUDA)
        with autocast():
            return F.cross_entropy(net(nets.patches(images, patch)).mean(1).float(), ids(count))
    train(steps, adamw(net), loss)


def resnet_train(batch, side, steps=4, sides=(), seed=8):
    net = on_gpu(nets.ResNet)
    rng = random.Random(seed)

    def loss(step):
        now = rng.choice(sides) if sides else side
        return F.cross_entropy(net(torch.empty(batch, 3, now, now, device=CUDA)), ids(batch))
    train(steps, torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), loss)


def segment_train(batch, low, high, steps=8, seed=9):
    """Pictures cut to any size, a class for each pixel."""
    net = on_gpu(nets.UNet, 3, 21)
    rng = random.Random(seed)

    def loss(step):
        height, width = (rng.randrange(low, high + 1, 16) for _ in range(2))
        out = net(torch.empty(batch, 3, height, width, device=CUDA))
        return F.cross_entropy(out, ids(batch, height, width))
    train(steps, torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), loss)


def noise_loss(net, latent, width):
    noise = torch.randn_like(latent)
    with autocast():
        out = net(latent + 0.3 * noise, torch.empty(latent.shape[0], width, device=CUDA)) if width else net(latent + 0.3 * noise)
    return F.mse_loss(out.float().flatten(1), noise.flatten(1))


def diffusion_train(batch, side, steps=4, recompute=False, sides=(), rank=0, seed=10):
    net = on_gpu(adapted, nets.DiffusionTransformer, rank)
    net.recompute = recompute
    average = None if rank else [p.detach().clone() for p in net.parameters()]
    rng = random.Random(seed)
    optimizer = adamw(net)

    def loss(step):
        now = rng.choice(sides) if sides else side
        if average:
            torch._foreach_lerp_(average, [p.detach() for p in net.parameters()], 0.001)
        return noise_loss(net, torch.randn(batch, 4, now, now, device=CUDA), 256)
    train(steps, optimizer, loss)


@torch.no_grad()
def diffusion_sample(images=6, steps=3, sides=(64, 96, 128), seed=11):
    net = on_gpu(nets.DiffusionTransformer, dtype=torch.float16).eval()
    rng = random.Random(seed)
    for image in range(images):
        side, batch = rng.choice(sides), rng.choice([1, 2, 4])
        latent = torch.randn(batch, 4, side, side, device=CUDA, dtype=torch.float16)
        for step in range(steps):
            with at(f'image {image} step {step}'):
                both = net(torch.cat([latent, latent]), torch.empty(2 * batch, 256, device=CUDA, dtype=torch.float16))
                plain, guided = both.view(2 * batch, side // 2, side // 2, 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(2 * batch, 4, side, side).chunk(2)
                latent = latent - 0.1 * (plain + 7.5 * (guided - plain))


def unet_diffusion_train(batch=16, side=64, steps=4):
    net = on_gpu(nets.UNet, 4, 4, (128, 256, 512, 512), groups=32)
    train(steps, adamw(net), lambda step: noise_loss(net, torch.randn(batch, 4, side, side, device=CUDA), 0))


# Speech. ---------------------------------------------------------------------

def speech_train(batch_frames, low, high, steps=10, convolve=False, seed=12):
    """Batches with the same count of frames in all: few long recordings or many short ones."""
    net = on_gpu(nets.Speech, 512, 12, 8, 1024, convolve=convolve)
    varying = lengths(seed, low, high)

    def loss(step):
        frames = next(varying)
        count = max(1, batch_frames // frames)
        with autocast():
            logits = net(torch.empty(count, frames, 80, device=CUDA)).float()
        heard, said = (torch.full((count,), n, dtype=torch.long) for n in (logits.shape[1], frames // 16))
        return F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), ids(count, frames // 16), heard, said)
    train(steps, adamw(net), loss)


def dictate(batch=8, frames=3000, recordings=4, words=12, seed=13):
    """A network that hears 30 seconds and writes text: keys and values of the sound are kept, those of the text grow."""
    listener = on_gpu(nets.Speech, 768, 12, 12, 8, convolve=True, dtype=torch.float16).eval()
    writer = on_gpu(nets.Language, 768, 12, 12, vocab=51865, gated=False, cross=True, dtype=torch.float16).eval()
    rng = random.Random(seed)
    with torch.no_grad():
        for number in range(recordings):
            with at(f'recording {number}'):
                sound = listener.hidden(torch.empty(batch, frames, 80, device=CUDA, dtype=torch.float16))
                cache, fixed, token = writer.new_cache(), writer.new_cache(), ids(batch, 4)
                for _ in range(rng.randrange(words, 4 * words)):
                    token = writer(token, cache, sound, fixed, last=True).argmax(-1)


# Graphs, recommenders. -------------------------------------------------------

def graph_full(nodes=170000, edges=1200000, inside=128, width=256, steps=5, heads=0):
    """All of a graph of citations in each step."""
    layers = on_gpu(lambda: torch.nn.ModuleList([nets.GraphLayer(inside, width, heads), nets.GraphLayer(width, width, heads), nets.GraphLayer(width, 40)]))
    x, start, end = torch.empty(nodes, inside, device=CUDA), ids(edges), ids(edges)

    def loss(step):
        now = x
        for layer in layers:
            now = F.dropout(layer(now, start, end, nodes), 0.5)
        return F.cross_entropy(now, ids(nodes))
    train(steps, adamw(layers), loss)


def graph_sampled(steps=30, seeds=1024, inside=100, width=256, heads=0, seed=14):
    """Neighbours of some nodes, and theirs: each batch has another count of nodes and edges."""
    layers = on_gpu(lambda: torch.nn.ModuleList([nets.GraphLayer(inside, width, heads), nets.GraphLayer(width, width, heads), nets.GraphLayer(width, 47)]))
    rng = random.Random(seed)

    def loss(step):
        counts = [seeds]
        for fan in (5, 10, 15):
            counts.append(int(counts[-1] * (1 + fan * rng.uniform(0.35, 0.75))))
        x = torch.empty(counts[-1], inside, device=CUDA)
        for layer, inner, outer in zip(layers, counts[-2::-1], counts[::-1]):
            x = layer(x, ids(outer - inner), ids(outer - inner), inner)
        return F.cross_entropy(x, ids(seeds))
    train(steps, adamw(layers), loss)


TABLES = [1460, 583, 9980333, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10, 5652, 2173, 4,
          7046547, 18, 15, 286181, 105, 142572]     # rows of the tables of a public data set of clicks


def recommender_train(batch=8192, steps=12, longest=1, optimizer=torch.optim.Adagrad, seed=15):
    """Bags of one entry, or of as many as a user has clicked."""
    net = on_gpu(nets.Recommender, [min(rows, 2000000) for rows in TABLES])
    rng = random.Random(seed)

    def loss(step):
        bags = []
        for number in range(len(TABLES)):
            total = batch if longest == 1 or number % 3 else rng.randrange(batch, batch * longest)
            bags.append((ids(total), ids(batch)))
        return F.binary_cross_entropy_with_logits(net(torch.empty(batch, 13, device=CUDA), bags).squeeze(1), torch.empty(batch, device=CUDA))
    train(steps, optimizer(net.parameters(), 0.01), loss)


def history_train(items=500000, batch=256, steps=10, low=16, high=400, seed=16):
    """The next item that a user takes, from those before: negatives are drawn, so that not all items are scored."""
    net = on_gpu(nets.Encoder, 256, 4, 4, 256, vocab=items)
    varying = lengths(seed, low, high)

    def loss(step):
        length = next(varying)
        state = net(ids(batch, length))
        scores = torch.einsum('bld,nd->bln', state, net.enter(ids(1024)))
        return F.cross_entropy(scores.flatten(0, 1), ids(batch * length))
    train(steps, adamw(net), loss)


# Reinforcement learning with two models, or more. -----------------------------

def reinforce(net, batch, rounds=3, low=64, high=512, critic=True, seed=17):
    """Answers are generated, judged against a frozen reference (and by a critic), and learned from in four parts."""
    def new():
        return on_gpu(nets.Language, dtype=torch.bfloat16, **net)
    actor, reference = new(), new().requires_grad_(False)
    critic = new() if critic else None
    optimizers = [adamw(one) for one in (actor, critic) if one is not None]
    rng, varying = random.Random(seed), lengths(seed, low, high)
    for number in range(rounds):
        prompt, said = next(varying), rng.randrange(8, 24)
        with at(f'round {number} generate'):
            generate(actor, prompt, said, batch)
        text = ids(batch, prompt + said)
        with at(f'round {number} judge'), torch.no_grad():
            before = [one(text).log_softmax(-1).gather(-1, text[..., None]) for one in (actor, reference)]
            value = critic.hidden(text).mean(-1) if critic is not None else None
        for part in text.split(max(1, batch // 4)):
            with at(f'round {number} learn'):
                now = actor(part).log_softmax(-1).gather(-1, part[..., None])
                loss = -(now - before[0][:len(part)]).exp().mean() + 0.1 * (now - before[1][:len(part)]).mean()
                if critic is not None:
                    loss = loss + F.mse_loss(critic.hidden(part).mean(-1), value[:len(part)])
                loss.backward()
            del now, loss
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        del text, before, value, part


def actor_critic(steps=20, agents=256, width=1024, seed=18):
    """Pictures of a game: two networks over the same rollout, whose length differs."""
    actor, critic = (on_gpu(nets.Encoder, width, 4, 16, outputs, inputs=3 * 7 * 7) for outputs in (18, 1))
    optimizers, rng = [adamw(actor), adamw(critic)], random.Random(seed)
    for number in range(steps):
        seen, rollout = [], rng.randrange(4, 12)
        with at(f'rollout {number}'), torch.no_grad():
            for _ in range(rollout):
                picture = torch.empty(agents, 3, 84, 84, device=CUDA)
                seen.append((picture, actor(nets.patches(picture, 7)).mean(1), critic(nets.patches(picture, 7)).mean((1, 2))))
        rng.shuffle(seen)
        for picture, policy, value in seen[:4]:
            with at(f'learn {number}'):
                now = actor(nets.patches(picture, 7)).mean(1)
                loss = F.kl_div(now.log_softmax(-1), policy.softmax(-1)) + F.mse_loss(critic(nets.patches(picture, 7)).mean((1, 2)), value)
                loss.backward()
            del now, loss
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        del seen, picture, policy, value


class Program(NamedTuple):
    family: str
    what: str
    run: object
    options: dict
    varies: bool = False
    native: bool = False    # its convolutions run PyTorch's own kernels, because there is no cuDNN


P = Program
PROGRAMS = {
    'llama1b_train_bs4_seq2048': P('dense', 'llama of 1 billion, batch 4, length 2048, bf16, fused AdamW', language_train,
                                   {'net': SMALL, 'batch': 4, 'length': 2048, 'fused': True}),
    'llama1b_train_varlen_ckpt': P('dense', 'the same, batch 8, lengths 256 to 4096, activation checkpointing', language_train,
                                   {'net': SMALL, 'batch': 8, 'low': 256, 'high': 4096, 'steps': 8, 'recompute': True}, True),
    'gpt2_medium_train_accumulate': P('dense', 'GPT-2 medium, autocast, 4 batches a step, lengths 128 to 1024', language_train,
                                      {'net': GPT, 'batch': 4, 'low': 128, 'high': 1024, 'steps': 3, 'amp': True, 'accumulate': 4}, True),
    'llama8b_generate_bs8': P('dense', 'llama of 8 billion, batch 8, 1024 tokens and 24 more, growing cache', language_generate,
                              {'net': LARGE, 'requests': 1, 'batch': 8, 'low': 1024, 'high': 1024, 'count': 24}),
    'llama1b_serve_varlen': P('dense', 'llama of 1 billion, four requests of any length at a time, each with its cache', language_serve,
                              {'net': SMALL, 'requests': 10, 'together': 4}, True),
    'moe_train_capacity': P('moe', '8 experts, 2 for a token, the same count of tokens for each', language_train,
                            {'net': experts(True, **MIXTURE), 'batch': 4, 'length': 2048}),
    'moe_train_routed': P('moe', '8 experts, 2 for a token, as many tokens as the router sends', language_train,
                          {'net': experts(**MIXTURE), 'batch': 4, 'length': 2048, 'steps': 5}, True),
    'moe_train_routed_varlen': P('moe', 'the same, batches of lengths 256 to 4096, checkpointing', language_train,
                                 {'net': experts(**MIXTURE), 'batch': 4, 'low': 256, 'high': 4096, 'steps': 5, 'recompute': True}, True),
    'moe_generate_bs16': P('moe', '8 experts, batch 16, prompts of 64 to 1024 tokens and 12 more', language_generate,
                           {'net': experts(**MIXTURE), 'requests': 4, 'batch': 16, 'low': 64, 'high': 1024, 'count': 12}, True),
    'bert_large_train_bs32': P('encoder', 'BERT large, batch 32, length 512, autocast', encoder_train,
                               {'net': BERT_LARGE, 'batch': 32, 'length': 512, 'steps': 3}),
    'bert_base_train_varlen': P('encoder', 'BERT base, batch 32, padded to the longest of 32 to 512, autocast', encoder_train,
                                {'net': BERT, 'batch': 32, 'low': 32, 'high': 512, 'steps': 10}, True),
    'bert_base_embed_varlen': P('encoder', 'BERT base embeds 60 batches of any size, fp16', encoder_embed, {'net': BERT}, True),
    'vit_base_train_bs128': P('vit', 'ViT-B/16, batch 128, 224 pixels, autocast', vit_train, {'net': VIT, 'batch': 128, 'side': 224, 'patch': 16}),
    'vit_large_train_bs32': P('vit', 'ViT-L/14, batch 32, 224 pixels, autocast', vit_train,
                              {'net': VIT_LARGE, 'batch': 32, 'side': 224, 'patch': 14, 'steps': 3}),
    'vit_base_train_multires': P('vit', 'ViT-B/16, 128 to 448 pixels, about the same count of patches', vit_train,
                                 {'net': VIT, 'batch': 64, 'side': 224, 'patch': 16, 'sides': range(128, 449, 32), 'steps': 10}, True),
    'resnet34_train_bs64': P('convolution', 'ResNet-34, batch 64, 224 pixels, SGD', resnet_train, {'batch': 64, 'side': 224}, False, True),
    'resnet34_train_multires': P('convolution', 'ResNet-34, batch 32, 160 to 320 pixels, SGD', resnet_train,
                                 {'batch': 32, 'side': 224, 'sides': range(160, 321, 32), 'steps': 8}, True, True),
    'unet_segment_varsize': P('convolution', 'UNet that segments, batch 8, 160 to 512 pixels a side', segment_train,
                              {'batch': 8, 'low': 160, 'high': 512}, True, True),
    'dit_xl_train_bs32': P('diffusion', 'diffusion transformer XL/2, batch 32, 256 pixels, autocast, averaged weights', diffusion_train,
                           {'batch': 32, 'side': 32}),
    'dit_xl_train_multires_ckpt': P('diffusion', 'the same, 256 to 768 pixels, batch 8, checkpointing', diffusion_train,
                                    {'batch': 8, 'side': 32, 'sides': (32, 48, 64, 80, 96), 'steps': 6, 'recompute': True}, True),
    'dit_xl_sample_multires': P('diffusion', 'the same samples pictures of 512 to 1024 pixels, fp16', diffusion_sample, {}, True),
    'unet_diffusion_train_bs16': P('diffusion', 'a UNet of convolutions learns to remove noise, batch 16', unet_diffusion_train, {}, False, True),
    'asr_ctc_train_varlen': P('speech', 'encoder of stacked frames, CTC, 1 to 20 seconds, 40,000 frames a batch', speech_train,
                              {'batch_frames': 40000, 'low': 100, 'high': 2000}, True),
    'asr_conv_train_varlen': P('speech', 'the same with two convolutions in front', speech_train,
                               {'batch_frames': 20000, 'low': 100, 'high': 2000, 'convolve': True}, True, True),
    'whisper_generate_bs8': P('speech', 'encoder and decoder of Whisper small, batch 8, 30 seconds', dictate, {}, True, True),
    'gcn_full_graph': P('graph', 'graph convolutions over 170,000 nodes and 1.2 million edges', graph_full, {'steps': 8}),
    'gat_full_graph': P('graph', 'the same with attention over edges, 4 heads', graph_full, {'heads': 4, 'steps': 6}),
    'sage_sampled': P('graph', 'GraphSAGE, neighbours sampled for 1024 nodes a step', graph_sampled, {}, True),
    'gat_sampled': P('graph', 'the same with attention over edges, 4 heads', graph_sampled, {'heads': 4, 'seeds': 512}, True),
    'dlrm_train_bs8192': P('recommender', 'DLRM, 26 tables, batch 8192, Adagrad', recommender_train, {}),
    'dlrm_train_bags': P('recommender', 'the same, bags of up to 40 entries, batch 4096', recommender_train, {'batch': 4096, 'longest': 40}, True),
    'sasrec_train_varlen': P('recommender', 'SASRec, 500,000 items, histories of 16 to 400', history_train, {}, True),
    'ppo_llama1b': P('rl', 'PPO: actor, critic and reference of 1 billion each', reinforce, {'net': SMALL, 'batch': 16, 'rounds': 2}, True),
    'grpo_llama1b': P('rl', 'GRPO: actor and reference, 32 answers a round', reinforce, {'net': SMALL, 'batch': 32, 'critic': False}, True),
    'actor_critic_pictures': P('rl', 'two transformers over pictures of a game, rollouts of 4 to 11 steps', actor_critic, {'steps': 12}, True),
    'llama8b_lora_bs2_seq1024': P('lora', 'llama of 8 billion, adapters of rank 16, batch 2, length 1024', language_train,
                                  {'net': LARGE, 'batch': 2, 'length': 1024, 'rank': 16, 'steps': 3}),
    'llama8b_lora_varlen_ckpt': P('lora', 'the same, batch 4, lengths 128 to 2048, checkpointing', language_train,
                                  {'net': LARGE, 'batch': 4, 'low': 128, 'high': 2048, 'rank': 16, 'steps': 5, 'recompute': True}, True),
    'dit_xl_lora_multires': P('lora', 'diffusion transformer XL/2, adapters of rank 32, 256 to 512 pixels', diffusion_train,
                              {'batch': 8, 'side': 32, 'sides': (32, 40, 48, 64), 'steps': 6, 'rank': 32}, True),
}


def main(name: str, output: str) -> None:
    torch.cuda.init()
    random.seed(0)
    torch.manual_seed(0)
    torch.cuda.memory._record_memory_history(max_entries=1000000, stacks='python', global_record_annotations=True)
    program = PROGRAMS[name]
    program.run(**program.options)
    snapshot = torch.cuda.memory._snapshot()
    with open(output, 'wb') as file:
        pickle.dump(snapshot, file)


if __name__ == '__main__':
    if sys.argv[1:] == ['--list']:
        print('\n'.join(PROGRAMS))
    elif len(sys.argv) == 3 and sys.argv[1] in PROGRAMS:
        main(*sys.argv[1:])
    else:
        sys.exit('usage: programs.py --list | NAME SNAPSHOT')
