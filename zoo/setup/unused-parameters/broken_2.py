# Transformer block by hand, on a copying task.
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm_in = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm_out = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.norm_in(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        h2 = self.norm_out(x)
        return x + self.mlp(x)


class Copier(nn.Module):
    def __init__(self, vocab=12, dim=32, length=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(0.1 * torch.randn(length, dim))
        self.blocks = nn.ModuleList(Block(dim) for _ in range(2))
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def main():
    torch.manual_seed(11)
    model = Copier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(90):
        tokens = torch.randint(0, 12, (32, 8))
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(step, round(loss.item(), 4))


main()
