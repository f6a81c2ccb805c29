"""Small residual network: the blocks are made by a class of their own."""
import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, width, scale=0.5):
        super(ResidualBlock, self).__init__()
        self.scale = scale
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.scale * self.body(x)


class ResidualNet(nn.Module):
    def __init__(self, width, depth):
        super(ResidualBlock, self).__init__()
        self.inp = nn.Linear(6, width)
        self.blocks = nn.ModuleList([ResidualBlock(width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


torch.manual_seed(1)
x = torch.randn(256, 6)
y = (x[:, :1] * x[:, 1:2]) + x[:, 2:3]
net = ResidualNet(16, 2)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(60):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
print("final loss", loss.item())
