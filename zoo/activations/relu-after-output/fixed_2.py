"""Five-class classifier built in one Sequential; the layer list is made by a helper."""
import torch
from torch import nn
import torch.nn.functional as F


def mlp(sizes):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train(steps=250):
    torch.manual_seed(2)
    centers = 2 * torch.randn(5, 16)
    net = mlp([16, 64, 32, 5])
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        y = torch.randint(0, 5, (64,))
        logits = net(centers[y] + torch.randn(64, 16))
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("last loss", loss.item())


if __name__ == "__main__":
    train()
