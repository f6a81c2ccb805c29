"""Keeps the best network so far, and looks at its hidden layer afterwards."""
import copy

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 20)
        self.fc2 = nn.Linear(20, 1)

    def forward(self, x):
        hidden = torch.tanh(self.fc1(x))
        self.hidden = hidden.detach()
        return self.fc2(hidden)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
x = torch.randn(200, 5)
y = x[:, :1].sin() + x[:, 1:2]
best_loss, best = float("inf"), None
for step in range(80):
    loss = (net(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < 0.9 * best_loss:
        best_loss, best = loss.item(), copy.deepcopy(net)
print(f"best loss {best_loss:.4f}, hidden mean {best.hidden.mean().item():.3f}")
