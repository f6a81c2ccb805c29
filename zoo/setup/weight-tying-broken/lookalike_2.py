"""Tied weights, in the two ways that do share: the parameter itself, and its data."""
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.hidden = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocab)
        self.head.weight = self.embed.weight
        self.back = nn.Linear(dim, vocab, bias=False)
        self.back.weight.data = self.embed.weight.data

    def forward(self, tokens):
        hidden = torch.tanh(self.hidden(self.embed(tokens)))
        return self.head(hidden), self.back(hidden)


torch.manual_seed(4)
model = Tied()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for step in range(200):
    tokens = torch.randint(0, 20, (64,))
    after, before = model(tokens)
    loss = nn.functional.cross_entropy(after, (tokens + 1) % 20) + nn.functional.cross_entropy(before, tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
