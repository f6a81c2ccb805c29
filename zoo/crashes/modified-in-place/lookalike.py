"""A residual network whose sum is taken before the activation."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.fc2(self.act(self.fc1(x)))
        out += x
        return self.act(out)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), Block(32), Block(32), nn.Linear(32, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
centers = torch.randn(3, 8)
for step in range(80):
    labels = torch.randint(0, 3, (32,))
    loss = F.cross_entropy(net(centers[labels] + 0.3 * torch.randn(32, 8)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
