"""Predicts position and speed of a cart from its last sensor readings."""

import torch
from torch import nn

torch.manual_seed(4)


def readings(count):
    state = torch.randn(count, 3) * torch.tensor([1.0, 0.7, 0.4]) + torch.tensor([0.5, 0.0, -0.3])
    mixing = torch.linspace(-1, 1, 36).reshape(3, 12)
    return state @ mixing + 0.3 * (state**2) @ mixing.flip(0) + 0.05 * torch.randn(count, 12), state


class StateNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.fc1 = nn.Linear(12, width)
        self.fc2 = nn.Linear(width, width)
        self.head = nn.Linear(width, 3)
        self.norm = nn.LayerNorm(3)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.norm(self.head(x))


net = StateNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x, state = readings(64)
    loss = nn.functional.mse_loss(net(x), state)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
