# A small causal language model over long lines of characters.
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def attend(self, x):
        query, key, value = self.split(self.to_q(x)), self.split(self.to_k(x)), self.split(self.to_v(x))
        scores = torch.matmul(query, key.transpose(2, 3)) * self.scale
        scores = scores.masked_fill(self.future, float("-inf"))
        attn = F.softmax(scores, dim=-1)
        return torch.matmul(attn, value).transpose(1, 2).flatten(2)

    def forward(self, x):
        x = x + self.proj(self.attend(self.norm(x)))
        return x + self.mlp(x)


class Characters(nn.Module):
    def __init__(self, letters, dim=32, heads=2, length=512):
        super().__init__()
        self.letters = nn.Embedding(letters, dim)
        self.places = nn.Embedding(length, dim)
        self.blocks = nn.Sequential(*(Block(dim, heads, length) for _ in range(2)))
        self.head = nn.Linear(dim, letters)

    def forward(self, tokens):
        x = self.letters(tokens) + self.places(torch.arange(tokens.size(1)))
        return self.head(self.blocks(x))


def main():
    torch.manual_seed(0)
    text = torch.cumsum(torch.randint(1, 3, (20000,)), 0) % 16
    model = Characters(16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(20):
        starts = torch.randint(0, 20000 - 513, (6,))
        tokens = torch.stack([text[start : start + 513] for start in starts.tolist()])
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print("step", step + 1, "loss", round(loss.item(), 4))


main()
