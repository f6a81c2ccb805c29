"""Sigmoid gates of a highway network and of squeeze-and-excitation are closed at first; the output is a sigmoid too."""
import torch
from torch import nn


class Highway(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.change = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, -6.0)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.relu(self.change(x)) + (1 - gate) * x


class Scorer(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.enter = nn.Linear(10, width)
        self.blocks = nn.Sequential(*(Highway(width) for _ in range(3)))
        self.squeeze = nn.Linear(width, width)
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        hidden = self.blocks(torch.relu(self.enter(x)))
        hidden = hidden * torch.sigmoid(4.0 + self.squeeze(hidden))
        return torch.sigmoid(10 * self.leave(hidden)).squeeze(1)


torch.manual_seed(1)
truth = torch.randn(10)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    x = torch.randn(64, 10)
    y = (x @ truth > 0).float()
    loss = nn.functional.binary_cross_entropy(model(x).clamp(1e-4, 1 - 1e-4), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
