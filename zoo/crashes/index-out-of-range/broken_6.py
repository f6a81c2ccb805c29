"""Sounds in five groups, with soft targets made from one-hot labels."""
import torch
import torch.nn.functional as F
from torch import nn


def soften(target, amount=0.1):
    return target * (1 - amount) + amount / target.size(1)


def main():
    torch.manual_seed(5)
    centers = torch.randn(5, 20)
    model = nn.Sequential(nn.Linear(20, 48), nn.Tanh(), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(100):
        labels = torch.randint(0, 5, (40,))
        features = centers[labels] + 0.8 * torch.randn(40, 20)
        target = F.one_hot(labels, num_classes=4).float()
        loss = F.cross_entropy(model(features), soften(target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"{step:4d} {loss.item():.4f}")


main()
