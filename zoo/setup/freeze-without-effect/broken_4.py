"""Feature extraction: the convolutional trunk should stay fixed while a new head is trained."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(8 * 36, 3)

    def forward(self, x):
        return self.head(self.trunk(x))


def images(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 10, 10) * 0.5
    for i, k in enumerate(y):
        x[i, 0, 3 * k: 3 * k + 3] += 1
    return x, y


def train(net, parameters, steps):
    opt = torch.optim.Adam(parameters, 2e-3)
    for _ in range(steps):
        x, y = images(32)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(3)
net = Net()
print("first", train(net, net.parameters(), 60))
for child in net.children():
    for param in child.parameters():
        param.requires_grad == False
net.head = nn.Linear(8 * 36, 3)
print("second", train(net, net.parameters(), 100))
