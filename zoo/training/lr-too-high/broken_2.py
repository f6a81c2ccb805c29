"""Train a classifier on synthetic customer segments."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--hidden", type=int, default=64)
    return p.parse_args()


class Segments:
    def __init__(self, classes=6, dim=20):
        self.centers = torch.randn(classes, dim)

    def batch(self, size):
        y = torch.randint(0, len(self.centers), (size,))
        return self.centers[y] + 1.2 * torch.randn(size, self.centers.shape[1]), y


def build(hidden):
    return nn.Sequential(
        nn.Linear(20, hidden), nn.Tanh(),
        nn.Linear(hidden, hidden), nn.Tanh(),
        nn.Linear(hidden, 6),
    )


def train(args):
    data = Segments()
    model = build(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    for step in range(args.steps):
        x, y = data.batch(args.batch_size)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"step={step} loss={loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(2)
    train(parse())
