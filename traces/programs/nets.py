"""Networks of ten families, each in a few lines: what allocates memory in them is what does so in the well-known ones.

Values do not matter, because kernels of the fake device compute nothing: a size that depends on data is drawn on the host (`sizes`).
"""
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def sizes(rng: random.Random, total: int, parts: int) -> list[int]:
    """Random sizes of so many parts with this sum, each at least 1: what a router, a sampler or a graph decides."""
    weights = [rng.expovariate(1) + 0.05 for _ in range(parts)]
    counts = [1 + int((total - parts) * weight / sum(weights)) for weight in weights]
    counts[-1] += total - sum(counts)
    return counts


class Lora(nn.Module):
    """A linear layer that is frozen, with an adapter that is trained."""

    def __init__(self, base: nn.Linear, rank: int):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(F.dropout(x, 0.05))) * 2.0


def with_adapters(net: nn.Module, rank: int) -> nn.Module:
    """The network with adapters on the projections of its attention; nothing else in it is trained."""
    net.requires_grad_(False)
    for part in list(net.modules()):
        if isinstance(part, Attention):
            for name in ('q', 'k', 'v', 'out'):
                setattr(part, name, Lora(getattr(part, name), rank))
    return net


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads=None, causal=True, rotary=False, bias=False):
        super().__init__()
        self.heads, self.kv_heads, self.causal, self.rotary = heads, kv_heads or heads, causal, rotary
        inner = width // heads * self.kv_heads
        self.q, self.out = nn.Linear(width, width, bias), nn.Linear(width, width, bias)
        self.k, self.v = nn.Linear(width, inner, bias), nn.Linear(width, inner, bias)

    @staticmethod
    def rotate(x, start):
        half = x.shape[-1] // 2
        place = torch.arange(start, start + x.shape[2], device=x.device, dtype=torch.float32)
        turn = 10000.0 ** (torch.arange(half, device=x.device, dtype=torch.float32) / -half)
        angle = torch.outer(place, turn)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

    def forward(self, x, past=None, other=None):
        """`past`: a list that holds the keys and values so far, and those of now afterwards; `other`: what is attended to."""
        def heads(y, count):
            return y.view(y.shape[0], y.shape[1], count, -1).transpose(1, 2)
        source = x if other is None else other
        q = heads(self.q(x), self.heads)
        if other is not None and past:
            k, v = past
        else:
            k, v = heads(self.k(source), self.kv_heads), heads(self.v(source), self.kv_heads)
            start = past[0].shape[2] if past else 0
            if self.rotary:
                q, k = self.rotate(q, start), self.rotate(k, start)
            if past:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            if past is not None:
                past[:] = [k, v]
        if self.kv_heads != self.heads:
            k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and other is None and x.shape[1] > 1)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Mlp(nn.Sequential):
    def __init__(self, width, inner):
        super().__init__(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))


class Gated(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Each token goes to `top` of the experts; how many tokens an expert gets differs from call to call, unless `capacity` fixes it."""

    def __init__(self, width, inner, experts, top, capacity=False):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Gated(width, inner) for _ in range(experts))
        self.top, self.capacity = top, capacity

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weight, choice = self.gate(flat).softmax(-1).topk(self.top, -1)
        order = choice.flatten().argsort()
        rows = order // self.top
        total, count = rows.shape[0], len(self.experts)
        rng = random.Random(int(torch.randint(1 << 31, ())))     # from what a checkpoint restores, so that it is the same when recomputed
        parts = [total // count] * count if self.capacity else sizes(rng, total, count)
        outs = [expert(tokens) for expert, tokens in zip(self.experts, flat[rows[:sum(parts)]].split(parts))]
        mixed = torch.cat(outs) * weight.flatten()[order[:sum(parts)], None]
        return torch.zeros_like(flat).index_add(0, rows[:sum(parts)], mixed).view(x.shape)


class Block(nn.Module):
    def __init__(self, width, heads, mlp, norm=nn.LayerNorm, cross=False, **attention):
        super().__init__()
        self.n1, self.n2, self.mlp = norm(width), norm(width), mlp
        self.attention = Attention(width, heads, **attention)
        self.cross = Attention(width, heads) if cross else None
        self.n3 = norm(width) if cross else None

    def forward(self, x, past=None, other=None, other_past=None):
        x = x + self.attention(self.n1(x), past)
        if self.cross is not None:
            x = x + self.cross(self.n3(x), other_past, other)
        return x + self.mlp(self.n2(x))


class Transformer(nn.Module):
    """Blocks, each recomputed in the backward pass where `recompute` is set."""

    def __init__(self, blocks, width, norm=nn.LayerNorm):
        super().__init__()
        self.blocks, self.norm, self.recompute = nn.ModuleList(blocks), norm(width), False

    def forward(self, x, cache=None, other=None, other_cache=None):
        for number, block in enumerate(self.blocks):
            past = cache[number] if cache else None
            if self.recompute:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x, past, other, other_cache[number] if other_cache else None)
        return self.norm(x)


class Language(nn.Module):
    """A decoder of text: llama's parts where `gated`, GPT-2's otherwise; experts where `experts` gives them."""

    def __init__(self, width, layers, heads, vocab=32000, inner=None, kv_heads=None, gated=True, longest=4096, experts=None, cross=False):
        super().__init__()
        norm = nn.RMSNorm if gated else nn.LayerNorm

        def mlp():
            return experts() if experts else Gated(width, inner) if gated else Mlp(width, 4 * width)
        self.tokens = nn.Embedding(vocab, width)
        self.places = None if gated else nn.Embedding(longest, width)
        self.body = Transformer([Block(width, heads, mlp(), norm, cross, kv_heads=kv_heads, rotary=gated, bias=not gated)
                                 for _ in range(layers)], width, norm)
        self.head = nn.Linear(width, vocab, bias=False)

    def new_cache(self):
        return [[] for _ in self.body.blocks]

    def hidden(self, ids, cache=None, other=None, other_cache=None):
        x = self.tokens(ids)
        if self.places is not None:
            start = cache[0][0].shape[2] if cache and cache[0] else 0
            x = x + self.places(torch.arange(start, start + ids.shape[1], device=ids.device))
        return self.body(x, cache, other, other_cache)

    def forward(self, ids, cache=None, other=None, other_cache=None, last=False):
        x = self.hidden(ids, cache, other, other_cache)
        return self.head(x[:, -1:] if last else x)


class Encoder(nn.Module):
    """Blocks that see all of their input, over text (`vocab`) or vectors (`inputs` wide), and one linear layer after them."""

    def __init__(self, width, layers, heads, outputs, vocab=0, inputs=0, longest=4096, dropout=0.1):
        super().__init__()
        self.enter = nn.Embedding(vocab, width) if vocab else nn.Linear(inputs, width)
        self.places, self.drop = nn.Embedding(longest, width), nn.Dropout(dropout)
        self.body = Transformer([Block(width, heads, Mlp(width, 4 * width), causal=False, bias=True) for _ in range(layers)], width)
        self.head = nn.Linear(width, outputs)

    def hidden(self, x):
        x = self.enter(x)
        return self.body(self.drop(x + self.places(torch.arange(x.shape[1], device=x.device))))

    def forward(self, x):
        return self.head(self.hidden(x))


def patches(images, side):
    """Images as rows of the pixels of their patches: the convolution that does this elsewhere is a matrix product."""
    b, c, h, w = images.shape
    x = images.view(b, c, h // side, side, w // side, side).permute(0, 2, 4, 1, 3, 5)
    return x.reshape(b, h // side * (w // side), c * side * side)


class Conditioned(nn.Module):
    """A block of a diffusion transformer: the time shifts and scales what its parts see."""

    def __init__(self, width, heads):
        super().__init__()
        self.n1 = nn.LayerNorm(width, elementwise_affine=False)
        self.n2 = nn.LayerNorm(width, elementwise_affine=False)
        self.attention, self.mlp = Attention(width, heads, causal=False, bias=True), Mlp(width, 4 * width)
        self.modulate = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x, time):
        a, b, c, d, e, f = self.modulate(time)[:, None].chunk(6, -1)
        x = x + c * self.attention(self.n1(x) * (1 + b) + a)
        return x + f * self.mlp(self.n2(x) * (1 + e) + d)


class DiffusionTransformer(nn.Module):
    def __init__(self, width=1152, layers=28, heads=16, channels=4, side=2):
        super().__init__()
        self.enter, self.side = nn.Linear(channels * side * side, width), side
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Conditioned(width, heads) for _ in range(layers))
        self.norm, self.leave = nn.LayerNorm(width), nn.Linear(width, channels * side * side)
        self.recompute = False

    def forward(self, latent, time):
        x, time = self.enter(patches(latent, self.side)), self.time(time)
        for block in self.blocks:
            x = checkpoint(block, x, time, use_reentrant=False) if self.recompute else block(x, time)
        return self.leave(self.norm(x))


class Residual(nn.Module):
    """Two convolutions beside a shortcut, as in ResNet (`norm` of batches) or in the UNet of a diffusion (of groups)."""

    def __init__(self, inside, outside, stride=1, groups=0):
        super().__init__()
        self.c1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.c2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.n1, self.n2 = ((nn.GroupNorm(groups, inside), nn.GroupNorm(groups, outside)) if groups
                            else (nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)))
        self.short = nn.Conv2d(inside, outside, 1, stride, bias=False) if inside != outside or stride > 1 else nn.Identity()
        self.groups = groups

    def forward(self, x):
        if self.groups:
            return self.short(x) + self.c2(F.silu(self.n2(self.c1(F.silu(self.n1(x))))))
        return F.relu(self.n2(self.c2(F.relu(self.n1(self.c1(x))))) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512), depths=(3, 4, 6, 3), classes=1000):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        stages, inside = [], widths[0]
        for number, (width, depth) in enumerate(zip(widths, depths)):
            for place in range(depth):
                stages.append(Residual(inside, width, 2 if number and not place else 1))
                inside = width
        self.stages, self.head = nn.Sequential(*stages), nn.Linear(inside, classes)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class UNet(nn.Module):
    """Down and up again, with what each level kept on the way down joined on the way up."""

    def __init__(self, channels, outputs, widths=(64, 128, 256, 512), groups=0):
        super().__init__()
        self.enter = nn.Conv2d(channels, widths[0], 3, 1, 1)
        pairs = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList(Residual(a, b, 2, groups) for a, b in pairs)
        self.middle = Residual(widths[-1], widths[-1], 1, groups)
        self.up = nn.ModuleList(Residual(a + b, a, 1, groups) for a, b in reversed(pairs))
        self.leave = nn.Conv2d(widths[0], outputs, 1)

    def forward(self, x):
        x, kept = self.enter(x), []
        for down in self.down:
            kept.append(x)
            x = down(x)
        x = self.middle(x)
        for up in self.up:
            before = kept.pop()
            x = up(torch.cat([F.interpolate(x, size=before.shape[2:]), before], 1))
        return self.leave(x)


class Speech(nn.Module):
    """An encoder of mel frames: four of them are stacked, or two convolutions halve them (`convolve`), then blocks."""

    def __init__(self, width, layers, heads, outputs, mels=80, convolve=False, longest=4096):
        super().__init__()
        self.convolve = nn.Sequential(nn.Conv1d(mels, width, 3, 1, 1), nn.GELU(), nn.Conv1d(width, width, 3, 2, 1), nn.GELU()) if convolve else None
        self.encoder = Encoder(width, layers, heads, outputs, inputs=width if convolve else 4 * mels, longest=longest)

    def states(self, mel):
        if self.convolve is not None:
            return self.convolve(mel.transpose(1, 2)).transpose(1, 2)
        return mel.reshape(mel.shape[0], mel.shape[1] // 4, -1)

    def hidden(self, mel):
        return self.encoder.hidden(self.states(mel))

    def forward(self, mel):
        return self.encoder(self.states(mel))


class GraphLayer(nn.Module):
    """Messages along edges, summed where they end; with attention over the edges where `heads` is set."""

    def __init__(self, inside, outside, heads=0):
        super().__init__()
        self.own, self.message = nn.Linear(inside, outside), nn.Linear(inside, outside)
        self.score = nn.Linear(2 * outside // heads, 1) if heads else None
        self.heads = heads

    def forward(self, x, start, end, nodes):
        sent = self.message(x)
        along = sent[start]
        if self.heads:
            pair = torch.cat([along.view(len(start), self.heads, -1), sent[end].view(len(end), self.heads, -1)], -1)
            weight = F.leaky_relu(self.score(pair)).exp()
            total = torch.zeros(x.shape[0], self.heads, 1, device=x.device).index_add(0, end, weight)
            along = (along.view(len(start), self.heads, -1) * (weight / (total[end] + 1e-6))).flatten(1)
        summed = torch.zeros(x.shape[0], along.shape[1], device=x.device).index_add(0, end, along)
        return F.relu(self.own(x[:nodes]) + summed[:nodes])


class Recommender(nn.Module):
    """Tables of embeddings that are summed into bags, a small network over dense features, and products of all pairs."""

    def __init__(self, rows, width=64, dense=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(count, width, mode='sum') for count in rows)
        self.bottom = nn.Sequential(nn.Linear(dense, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        pairs = (len(rows) + 1) * len(rows) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, dense, bags):
        low = self.bottom(dense)
        every = torch.stack([low, *(table(*bag) for table, bag in zip(self.tables, bags))], 1)
        products = torch.bmm(every, every.transpose(1, 2))
        row, column = torch.tril_indices(every.shape[1], every.shape[1], -1)
        return self.top(torch.cat([low, products[:, row.to(dense.device), column.to(dense.device)]], 1))
