"""Small networks for words, tokens and series."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class TextLSTM(nn.Module):
    def __init__(self, both_ways: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=both_ways, dropout=0.1)
        self.fc = nn.Linear(24 if both_ways else 12, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        output, _ = self.lstm(self.embedding(tokens))
        return self.fc(output[:, -1])


def bilstm() -> TextLSTM:
    return TextLSTM(both_ways=True)


class SeriesGRU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        _, hidden = self.gru(series)
        return self.head(hidden[-1])


class ByCells(nn.Module):
    """An LSTMCell called once for each step."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        hidden = cell = series.new_zeros(len(series), 6)
        for step in series.unbind(1):
            hidden, cell = self.cell(step, (hidden, cell))
        return self.out(hidden)


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)

    def forward(self, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.rnn(self.embedding(source))


class _Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(40, 8)
        self.rnn = nn.GRU(16, 8, batch_first=True)
        self.attention = nn.Linear(8, 8, bias=False)
        self.out = nn.Linear(8, 40)

    def forward(self, target: torch.Tensor, memory: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        embedded = self.embedding(target)
        weights = torch.softmax(self.attention(embedded) @ memory.transpose(1, 2), -1)
        output, _ = self.rnn(torch.cat([embedded, weights @ memory], 2), hidden)
        return self.out(output)


class Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = _Encoder(), _Decoder()

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory, hidden = self.encoder(source)
        return self.decoder(target, memory, hidden)


class TextEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


class Translator(nn.Module):
    """nn.Transformer, whose attention is called with keywords."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(30, 16), nn.Embedding(40, 16)
        self.transformer = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)
        self.out = nn.Linear(16, 40)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        return self.out(self.transformer(self.source(source), self.target(target), tgt_mask=mask))


class CausalAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(mixed.transpose(1, 2).flatten(2))


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """The head has the weights of the embedding. GPT-2: GPT(50257, 1024, 768, 12, 12), 124,439,808 of them."""

    def __init__(self, words: int = 60, length: int = 16, width: int = 16, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList(GPTBlock(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.wte(tokens) + self.wpe(places))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class _RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class _LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, groups: int, inner: int) -> None:
        super().__init__()
        self.heads, self.groups = heads, groups
        self.q_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(width, width // heads * groups, bias=False) for _ in range(2))
        self.gate_proj, self.up_proj = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.input_norm, self.post_norm = _RMSNorm(width), _RMSNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.input_norm(x)
        q = self.q_proj(y).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k, v = (p(y).unflatten(2, (self.groups, -1)).transpose(1, 2) for p in (self.k_proj, self.v_proj))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o_proj(mixed.transpose(1, 2).flatten(2))
        y = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Module):
    """70B: Llama(128256, 8192, 80, 64, 8, 28672), 70,553,706,496 parameters; build it on the meta device."""

    def __init__(
        self,
        words: int = 60,
        width: int = 16,
        layers: int = 2,
        heads: int = 4,
        groups: int = 2,
        inner: int = 40,
    ) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(words, width)
        self.layers = nn.ModuleList(_LlamaBlock(width, heads, groups, inner) for _ in range(layers))
        self.norm = _RMSNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


class MixtureOfExperts(nn.Module):
    """The experts called depend on the values: which is what fake tensors do not have."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = self.router(x).argmax(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            taken = (chosen == number).nonzero(as_tuple=True)
            if len(taken[0]):
                out[taken] = expert(x[taken])
        return out


class BagOfWords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(50, 8, mode="mean")
        self.fc = nn.Linear(8, 4)

    def forward(self, words: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.fc(self.bag(words, offsets))


class WaveNet(nn.Module):
    """1-D convolutions, dilated, with weight norm."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 2, dilation=2**place, padding=2**place))
            for place in range(3)
        )
        self.out = nn.Conv1d(4, 1, 1)

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        x = wave
        for conv in self.convs:
            x = x + torch.tanh(conv(x))[..., : x.shape[-1]]
        return self.out(x)
