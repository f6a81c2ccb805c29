"""Digits drawn on a small grid; the convolution's output size is worked out on the way."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 8, 3)
        self.out = nn.Linear(8 * 3 * 3, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        x = x.flatten(1)
        x = self.out(x)
        return x


torch.manual_seed(0)
prototypes = torch.rand(4, 1, 12, 12)
net = Net(4)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    labels = torch.randint(0, 4, (32,))
    images = prototypes[labels] + 0.3 * torch.randn(32, 1, 12, 12)
    loss = F.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
