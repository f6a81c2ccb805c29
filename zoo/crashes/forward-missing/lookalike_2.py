"""Layers in a ModuleList that forward runs through itself."""
import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
x = torch.randn(128, 5)
y = x[:, :1] - 2 * x[:, 1:2]
stack = Stack()
optimizer = torch.optim.Adam(stack.parameters(), lr=0.02)
for _ in range(80):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(stack(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
