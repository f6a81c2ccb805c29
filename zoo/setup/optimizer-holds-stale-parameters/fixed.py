"""Classify noisy ring patterns; the network is rebuilt once the number of classes is known."""
import torch
from torch import nn
import torch.nn.functional as F


def build(classes):
    return nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, classes))


def batches(steps, prototypes):
    for _ in range(steps):
        labels = torch.randint(0, len(prototypes), (32,))
        yield prototypes[labels] + 0.6 * torch.randn(32, 16), labels


def main():
    torch.manual_seed(21)
    prototypes = torch.randn(6, 16)
    net = build(6)
    net = build(len(prototypes))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step, (x, labels) in enumerate(batches(250, prototypes)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 4))


main()
