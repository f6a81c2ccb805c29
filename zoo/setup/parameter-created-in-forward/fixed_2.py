# Attention pooling over a set of vectors, with a trainer function.
import torch
from torch import nn


class Pooling(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.keys = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.randn(dim))

    def forward(self, items):
        scores = self.keys(items) @ self.query / self.dim**0.5
        return (scores.softmax(dim=1).unsqueeze(2) * items).sum(dim=1)


class SetModel(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, dim), nn.Tanh())
        self.pool = Pooling(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, items):
        return self.out(self.pool(self.embed(items))).squeeze(1)


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        items = torch.randn(48, 6, 4)
        wanted = items[torch.arange(48), items[:, :, 0].argmax(dim=1), 1]
        loss = nn.functional.mse_loss(model(items), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 4))


if __name__ == "__main__":
    torch.manual_seed(1)
    train(SetModel(), 300)
