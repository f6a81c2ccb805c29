"""Models as people write them, each with an input it takes."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, width: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = nn.Conv2d(width, width, 1, stride) if stride > 1 else None

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.layer1 = nn.Sequential(Bottleneck(8), Bottleneck(8))
        self.layer2 = nn.Sequential(Bottleneck(8, 2))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(F.max_pool2d(self.conv1(x), 3, 2, 1)))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CausalAttention(nn.Module):
    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool())

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        out = (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return self.proj(out)


class GPTBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalAttention(width, 2, 16)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.wte = nn.Embedding(20, width)
        self.wpe = nn.Embedding(16, width)
        self.h = nn.ModuleList(GPTBlock(width) for _ in range(2))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, 20, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, 20), targets.view(-1))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.lstm = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1)
        self.fc = nn.Linear(32, 5)

    def forward(self, tokens):
        states, (hidden, _) = self.lstm(self.embedding(tokens))
        return self.fc(states), hidden


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(1, 4, 3, padding=1)
        self.down2 = nn.Conv2d(4, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.last = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        skip = self.down1(x).relu()
        deep = self.down2(self.pool(skip)).relu()
        return self.last(torch.cat([self.up(deep), skip], dim=1))


class TwoTowers(nn.Module):
    """Takes a dictionary, gives one."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(12, 4), nn.Linear(6, 4)

    def forward(self, batch):
        image, text = self.image(batch["image"].flatten(1)), self.text(batch["text"])
        return {"logits": image @ text.t(), "embeddings": {"image": image, "text": text}}


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.mu, self.logvar = nn.Linear(12, 8), nn.Linear(8, 2), nn.Linear(8, 2)
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 12), nn.Sigmoid())

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        h = F.relu(self.encoder(x.view(-1, 12)))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def block(a, b, normalize=True):
            layers = [nn.Linear(a, b)]
            if normalize:
                layers.append(nn.BatchNorm1d(b, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(*block(10, 16, False), *block(16, 32), nn.Linear(32, 64), nn.Tanh())

    def forward(self, z):
        return self.model(z).view(z.size(0), 1, 8, 8)


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Conv1d(1, 4, 3), nn.PReLU(), nn.Flatten(), nn.Linear(24, 3))

    def forward(self, a, b):
        return F.pairwise_distance(self.embed(a), self.embed(b))


class GraphConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x, edge_index):
        source, target = edge_index
        messages = self.lin(x)[source]
        out = torch.zeros_like(x)
        out.index_add_(0, target, messages)
        degree = torch.bincount(target, minlength=x.size(0)).clamp(min=1)
        return out / degree[:, None]


class MaskedTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 2)

    def forward(self, src, mask=None, padding=None, scale=1.0):
        out = self.encoder(src, mask=mask, src_key_padding_mask=padding)
        return self.head(out.mean(1)) * scale


class Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.encoder = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True)
        self.cell, self.out = nn.GRUCell(8, 8), nn.Linear(8, 12)

    def forward(self, src, length: int = 4):
        _, hidden = self.encoder(self.embed(src))
        state, token, answers = hidden[0], torch.zeros(src.size(0), dtype=torch.long), []
        for _ in range(length):
            state = self.cell(self.embed(token), state)
            logits = self.out(state)
            token = logits.argmax(1)
            answers.append(logits)
        return torch.stack(answers, 1)


class Gated(nn.Module):
    """Decides with numbers it takes out of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.small, self.large = nn.Linear(4, 2), nn.Linear(4, 2)
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        if x.norm().item() > 1e6 or bool((x > 1e6).any()):
            return self.large(x)
        return self.small(x) * float(x.abs().max())


class Fourier(nn.Module):
    """No parameters at all."""

    def forward(self, x):
        return torch.cat([f(x * 2**k) for k in range(3) for f in (torch.sin, torch.cos)], -1)


@dataclass
class Detections:
    boxes: torch.Tensor
    scores: torch.Tensor
    names: list[str] | None = None


class Detector(nn.Module):
    """Takes a list of pictures of different sizes, gives dataclasses."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.ModuleDict({"box": nn.Linear(4, 4)})
        self.head["score"] = nn.Linear(4, 1)

    def forward(self, images):
        features = torch.stack([self.body(image[None]).mean((2, 3))[0] for image in images])
        return Detections(self.head["box"](features), self.head["score"](features).sigmoid())


class Clamped(nn.Module):
    """Writes into its own weights while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.embedding = nn.Embedding(10, 3, max_norm=0.1)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, tokens):
        self.count += 1
        with torch.no_grad():
            self.weight.clamp_(-0.01, 0.01)
            self.weight.data = self.weight.data.abs()
        return self.embedding(tokens) @ self.weight


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, grad):
        return grad


@torch.jit.script
def scripted_gelu(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5 * (1.0 + torch.erf(x / 1.41421))


class Unusual(nn.Module):
    """A custom function, a scripted one, checkpointing, weight normalisation, views written into."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        self.second = nn.utils.spectral_norm(nn.Linear(4, 4))

    def forward(self, x, flag=None):
        x = torch.utils.checkpoint.checkpoint(self.first, x, use_reentrant=False)
        x = scripted_gelu(Straight.apply(self.second(x)))
        head = x[:, :2]
        head *= 2
        return x


def choose_quantizer() -> None:
    """torch's own choice is made for x86, and refuses some other processors."""
    if "x86" not in platform.machine():
        torch.backends.quantized.engine = "qnnpack"


Case = tuple[Callable[[], nn.Module], Any]


def quantized() -> nn.Module:
    choose_quantizer()
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), {nn.Linear})


CASES: dict[str, Case] = {
    "resnet": (ResNet, torch.randn(2, 3, 32, 32)),
    "gpt": (GPT, (torch.randint(20, (2, 7)), torch.randint(20, (2, 7)))),
    "gpt without targets": (GPT, (torch.randint(20, (2, 7)), None)),
    "lstm": (Tagger, torch.randint(30, (3, 6))),
    "u-net": (UNet, torch.randn(1, 1, 8, 8)),
    "two towers": (TwoTowers, {"image": torch.randn(5, 3, 4), "text": torch.randn(5, 6)}),
    "vae": (VAE, torch.randn(3, 3, 4)),
    "generator": (Generator, torch.randn(1, 10)),
    "siamese": (Siamese, (torch.randn(2, 1, 8), torch.randn(2, 1, 8))),
    "graph convolution": (GraphConvolution, (torch.randn(5, 4), torch.tensor([[0, 1, 2], [1, 2, 0]]))),
    "masked transformer": (
        MaskedTransformer,
        {"src": torch.randn(2, 5, 8), "padding": torch.zeros(2, 5).bool(), "scale": 0.5},
    ),
    "keywords last": (MaskedTransformer, (torch.randn(2, 5, 8), {"mask": None})),
    "transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
        (torch.randn(2, 5, 8), torch.randn(2, 4, 8)),
    ),
    "attention": (lambda: nn.MultiheadAttention(8, 2), (torch.randn(3, 2, 8),) * 3),
    "seq2seq": (Seq2Seq, torch.randint(12, (2, 5))),
    "gated": (Gated, torch.randn(3, 4)),
    "no parameters": (Fourier, torch.randn(3, 2)),
    "detector": (Detector, [torch.randn(3, 8, 8), torch.randn(3, 6, 9)]),
    "clamped": (Clamped, torch.randint(10, (4,))),
    "unusual": (Unusual, (torch.randn(3, 4), None)),
    "quantized": (quantized, torch.randn(2, 4)),
    "bfloat16": (lambda: nn.Linear(4, 4).bfloat16(), torch.randn(2, 4).bfloat16()),
}
