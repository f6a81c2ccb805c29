"""Rare events: the classes are weighted by how rare they are."""
import numpy as np
import torch
from torch import nn


def class_weights(labels):
    counts = np.bincount(labels.numpy(), minlength=3)
    return torch.from_numpy(len(labels) / (3 * np.maximum(counts, 1)))


def main():
    torch.manual_seed(11)
    centers = torch.randn(3, 8)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(80):
        labels = torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), 64, replacement=True)
        x = centers[labels] + 0.6 * torch.randn(64, 8)
        weight = class_weights(labels).float()
        loss = nn.functional.cross_entropy(model(x), labels, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, round(loss.item(), 4))


main()
