"""A list that only repeats modules already registered under their own names."""
import torch
from torch import nn


class Blocks(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        self.stem = nn.Linear(5, width)
        self.order = []
        for i in range(depth):
            block = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU())
            setattr(self, f"block{i}", block)
            self.order.append(block)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        h = self.stem(x)
        for block in self.order:
            h = h + block(h)
        return self.head(h)


torch.manual_seed(13)
net = Blocks()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    for _ in range(40):
        x = torch.randn(64, 5)
        y = (x.pow(2).sum(1) > 4.35).long()
        opt.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss %.3f" % loss.item())
