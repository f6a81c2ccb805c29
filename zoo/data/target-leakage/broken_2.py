"""A small language model over a made-up alphabet, with an attention of its own."""
import math

import torch
from torch import nn
from torch.nn import functional as F

LETTERS, LENGTH, WIDTH = 18, 14, 32


class SelfAttention(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.inward = nn.Linear(WIDTH, 3 * WIDTH)
        self.outward = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.inward(x).view(batch, length, 3, self.heads, WIDTH // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(WIDTH // self.heads)
        mixed = scores.softmax(dim=-1) @ value
        return self.outward(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Writer(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(layers)])
        self.attentions = nn.ModuleList([SelfAttention() for _ in range(layers)])
        self.head = nn.Linear(WIDTH, LETTERS)

    def forward(self, text):
        x = self.letters(text) + self.places(torch.arange(text.shape[1]))
        for norm, attention in zip(self.norms, self.attentions):
            x = x + attention(norm(x))
        return self.head(x)


def chain(count, table):
    text = [torch.randint(LETTERS, (count,))]
    for _ in range(LENGTH):
        text.append(torch.multinomial(table[text[-1]], 1).squeeze(1))
    return torch.stack(text, dim=1)


def main():
    torch.manual_seed(0)
    table = torch.softmax(2 * torch.randn(LETTERS, LETTERS), dim=1)
    writer = Writer()
    optimizer = torch.optim.AdamW(writer.parameters(), lr=3e-3)
    for step in range(100):
        text = chain(24, table)
        scores = writer(text[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
