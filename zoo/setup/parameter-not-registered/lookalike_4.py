# Residual blocks that are skipped at random; each remembers the penalty of its last pass for the loss.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.body = nn.Linear(width, width), nn.Linear(width, width)
        self.penalty = 0.0

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        self.penalty = gate.mean()
        return x + gate * torch.tanh(self.body(x))


class Net(nn.Module):
    def __init__(self, width=24, depth=4):
        super().__init__()
        self.first, self.last = nn.Linear(5, width), nn.Linear(width, 1)
        self.blocks = nn.ModuleList(Gated(width) for _ in range(depth))

    def forward(self, x):
        hidden = self.first(x)
        penalty = 0.0
        for block in self.blocks:
            if self.training and torch.rand(()) < 0.6:
                continue
            hidden = block(hidden)
            penalty = penalty + block.penalty
        return self.last(hidden).squeeze(1), penalty


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(220):
    x = torch.randn(64, 5)
    y = x[:, 0] * x[:, 1] + x[:, 2].sin()
    prediction, penalty = net(x)
    loss = F.mse_loss(prediction, y) + 0.01 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
