"""programs.py - programs of PyTorch, recorded at several batch sizes and lengths.

    torch-run VERSION programs.py FOLDER [NAME...]

Writes FOLDER/NAME-N.pickle for each program NAME and number N (all without names), with whole
histories. Each runs in a process of its own: PyTorch is imported once. Released versions before
2.15 have their number in the name. tests/oracles/predictions reads them, compressed.
"""
import contextlib
import os
import random
import sys
from pathlib import Path

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional

WIDTH, HEADS, WORDS, LONGEST = 256, 8, 4000, 2048


class Attention(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.qkv, self.out, self.fused = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.ones(n, n, device=x.device, dtype=torch.bool).tril()
            y = (q @ k.transpose(-1, -2)).masked_fill(~mask, float('-inf')).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, n, WIDTH))


class Layer(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.before, self.between, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention(fused)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


class Transformer(nn.Module):
    def __init__(self, layers: int = 4, fused: bool = False, checkpoint: bool = False) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer(fused) for _ in range(layers))
        self.norm, self.out, self.checkpoint = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS), checkpoint

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False) if self.checkpoint else layer(x)
        return self.out(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell, self.out = nn.Embedding(WORDS, 128), nn.GRUCell(128, 256), nn.Linear(256, WORDS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x, state, all_of = self.words(tokens), torch.zeros(tokens.shape[0], 256, device='cuda'), []
        for i in range(tokens.shape[1]):
            state = self.cell(x[:, i], state)
            all_of.append(self.out(state))
        return torch.stack(all_of, 1)


class Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class GroupedLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.between = Scale(width), Scale(width)
        self.q, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(width, width // 2, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 512, bias=False) for _ in range(2))
        self.down = nn.Linear(512, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, (b, n, width) = self.before(x), x.shape
        q, k, v = (f(h).view(b, n, -1, 32).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (y.repeat_interleave(2, 1) for y in (k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, width))
        h = self.between(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """No biases, grouped heads, and words whose weights are those of the output."""

    def __init__(self, width: int = 192, words: int = 8000) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(words, width), Scale(width)
        self.layers = nn.Sequential(*[GroupedLayer(width) for _ in range(3)])
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.norm(self.layers(self.words(tokens))))


class Bert(nn.Module):
    """Three embeddings, layers of PyTorch, dropout, and an odd number of words with a bias."""

    def __init__(self, width: int = 128, words: int = 5001) -> None:
        super().__init__()
        self.words, self.places, self.kinds = (nn.Embedding(n, width) for n in (words, 512, 2))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, words)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 512, batch_first=True), 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.places(places) + self.kinds(torch.zeros_like(tokens))
        return self.out(self.layers(self.norm(x)))


class TwoTower(nn.Module):
    """Two embeddings of one input, as for recommendations."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Embedding(20000, 64), nn.Embedding(3000, 64)
        self.out = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, WORDS))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(torch.cat([self.one(tokens), self.two(tokens)], -1))


class Translator(nn.Module):
    """Encoder and decoder, with the same words."""

    def __init__(self, width: int = 128, words: int = 3000) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(words, width), nn.Linear(width, words)
        self.both = nn.Transformer(width, 4, 1, 1, 256, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.both(self.words(tokens), self.words(tokens.flip(1))))


class OddWidths(nn.Module):
    """Numbers of columns that no power of two divides: sums take workspaces from more rows on."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(6001, 99)
        self.layers = nn.Sequential(*[m for a, b in ((99, 201), (201, 330), (330, 1002))
                                      for m in (nn.GELU(), nn.Linear(a, b))])

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.layers(self.words(tokens))


class Memory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell, self.out = nn.Embedding(WORDS, 96), nn.LSTMCell(96, 128), nn.Linear(128, WORDS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x, all_of = self.words(tokens), []
        state = tuple(torch.zeros(tokens.shape[0], 128, device='cuda') for _ in range(2))
        for i in range(tokens.shape[1]):
            state = self.cell(x[:, i], state)
            all_of.append(state[0])
        return self.out(torch.stack(all_of, 1))


def perceptron() -> nn.Module:
    return nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(768, 768), nn.GELU(), nn.LayerNorm(768))])


# name: the model, the numbers, and what else differs: length (of which `length` is the number),
# optimizer, autocast, bf16, batches in one step, varying lengths, a history that begins late
PROGRAMS: dict[str, tuple] = {
    'mlp': (perceptron, (2, 4, 8, 16, 32), {'rows': 256}),
    'mlpsgd': (perceptron, (4, 8, 16, 32), {'rows': 256, 'sgd': True}),
    'tfm': (Transformer, (2, 4, 8, 16), {}),
    'tfm.odd': (Transformer, (3, 7, 13), {}),
    'tfm.len': (Transformer, (128, 256, 512, 1024), {'length': True}),
    'sdp': (lambda: Transformer(fused=True), (2, 4, 8, 16), {}),
    'layers2': (lambda: Transformer(2), (4, 8, 16), {}),
    'layers8': (lambda: Transformer(8), (4, 8, 16), {}),
    'sgd': (Transformer, (4, 8, 16), {'sgd': True}),
    'auto': (Transformer, (4, 8, 16), {'autocast': True}),
    'bf16s': (lambda: Transformer().bfloat16(), (4, 8, 16), {'sgd': True}),
    'ckpt': (lambda: Transformer(checkpoint=True), (2, 4, 8, 16), {}),
    'accum': (lambda: Transformer(2), (2, 4, 8), {'batches': 3}),
    'varlen': (Transformer, (2, 4, 8), {'varying': True}),
    'gru': (Recurrent, (4, 8, 16), {'tokens': 12}),
    # the recording begins after the first step
    'late': (Transformer, (4, 8, 16), {'late': True}),
    'latemlp': (perceptron, (4, 8, 16), {'rows': 256, 'late': True}),
    # no biases; the gradient of the words is sorted from 3073 rows on
    'llama': (Llama, (4, 8, 16, 32), {}),
    'bert': (Bert, (4, 8, 16, 32), {}),
    'tower': (TwoTower, (4, 8, 16, 32), {}),
    'seq': (Translator, (4, 8, 16, 32), {}),
    'odd': (OddWidths, (4, 8, 16, 32), {}),
    'lstm': (Memory, (64, 128, 256, 512), {'tokens': 16}),
}


def begin_history() -> None:
    torch.cuda.memory._record_memory_history(max_entries=10**7, stacks='python', global_record_annotations=True)


def train(make: callable, n: int, options: dict) -> None:
    chance, steps = random.Random(7), 3 if options.get('late') else 2
    with torch.device('cuda'):
        model = make()
    dtype = next(model.parameters()).dtype
    optimizer = (torch.optim.SGD(model.parameters(), lr=.1) if options.get('sgd')
                 else torch.optim.AdamW(model.parameters()))
    for step in range(steps):
        if options.get('late') and step == 1:
            begin_history()
        for _ in range(options.get('batches', 1)):
            batch, tokens = (2, n) if options.get('length') else (n, options.get('tokens', 256))
            if options.get('varying'):
                tokens = chance.randrange(64, 257)
            with torch.autocast('cuda', torch.bfloat16) if options.get('autocast') else contextlib.nullcontext():
                if options.get('rows'):
                    x = torch.randn(n * options['rows'], 768, device='cuda', dtype=dtype)
                    loss = functional.mse_loss(model(x), x)
                else:
                    x = torch.zeros(batch, tokens, dtype=torch.long, device='cuda')
                    loss = functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
            loss.backward()
            del loss, x
        optimizer.step()
        optimizer.zero_grad()


def record(path: str, make: callable, n: int, options: dict) -> None:
    torch.cuda._is_in_bad_fork = lambda: False
    torch.backends.cudnn.enabled = False
    torch.manual_seed(0)
    if not options.get('late'):
        begin_history()
    train(make, n, options)
    torch.cuda.memory._dump_snapshot(path)


def main() -> int:
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    version = torch.__version__.split('+')[0].split('.')
    old = '' if (int(version[0]), int(version[1])) >= (2, 15) else f'v{version[0]}.{version[1]}.'
    for name, (make, numbers, options) in PROGRAMS.items():
        for n in numbers if not names or name in names else ():
            path = folder / f'{old}{name}-{n}.pickle'
            child = os.fork()
            if not child:
                record(str(path), make, n, options)
                sys.stdout.flush()
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                print(f'{path}: the program failed', file=sys.stderr)
                return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
