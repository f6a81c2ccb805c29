"""Regress the area and the perimeter of rectangles with a small network."""
import argparse

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, 2)

    def forward(self, sides):
        return self.out(self.layers(sides))


def make_batch(size):
    sides = torch.rand(size, 2)
    return sides, torch.stack((sides.prod(dim=1), 2 * sides.sum(dim=1)), dim=1)


def train_one_epoch(model, optimizer, criterion, batches):
    total = 0.0
    for _ in range(batches):
        sides, wanted = make_batch(32)
        optimizer.zero_grad()
        loss = criterion(model(sides), wanted)
        total += loss.item()
        optimizer.step()
    return total / batches


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=32)
    options = parser.parse_args()
    torch.manual_seed(2)
    model = Regressor(options.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(options.epochs):
        print(epoch, round(train_one_epoch(model, optimizer, nn.MSELoss(), 40), 4))


if __name__ == "__main__":
    main()
