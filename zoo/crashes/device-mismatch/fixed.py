"""Dry run of a small language model on the meta device: shapes and sizes, no memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.triu(torch.ones(length, length), diagonal=1).bool(), persistent=False)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (dim // self.heads) ** 0.5
        scores = scores.masked_fill(self.mask, float("-inf"))
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, dim))


class Block(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = CausalAttention(dim, heads, length)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class TinyGPT(nn.Module):
    def __init__(self, vocab=512, dim=128, heads=4, length=64, depth=3):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim, heads, length) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


device = torch.device("meta")
model = TinyGPT().to(device)
tokens = torch.zeros(8, 64, dtype=torch.long, device=device)
logits = model(tokens)
loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
print("parameters:", sum(p.numel() for p in model.parameters()))
print("logits:", tuple(logits.shape), "loss:", tuple(loss.shape))
