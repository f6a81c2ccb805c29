# Classify points by the ring they lie on.
import torch
from torch import nn


class RingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, x):
        return self.layers(x)


def rings(n):
    ring = torch.randint(0, 3, (n,))
    angle = 6.283 * torch.rand(n)
    radius = 0.5 + ring + 0.1 * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), ring


def objective(scores, ring):
    log_likelihood = nn.functional.cross_entropy(scores, ring)
    return log_likelihood


def main():
    torch.manual_seed(21)
    model = RingNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(120):
        x, ring = rings(96)
        loss = objective(model(x), ring)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
