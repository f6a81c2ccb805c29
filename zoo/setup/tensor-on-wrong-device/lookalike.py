"""Tiny position-aware bag-of-words classifier, run on a laptop."""
import torch
from torch import nn

torch.manual_seed(0)


class PositionalBag(nn.Module):
    def __init__(self, vocab=40, dim=24, length=10):
        super().__init__()
        self.word = nn.Embedding(vocab, dim)
        self.place = nn.Embedding(length, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 2))

    def forward(self, ids):
        places = self.place(torch.arange(ids.shape[1]))
        weights = torch.linspace(0, 1, ids.shape[1]).unsqueeze(-1)
        return self.mlp((self.word(ids) * (places + weights)).mean(dim=1))


model = PositionalBag()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(250):
    ids = torch.randint(0, 40, (64, 10))
    label = (ids[:, 0] > ids[:, -1]).long()
    loss = nn.functional.cross_entropy(model(ids), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} | loss {loss.item():.3f}")
