"""Twin critics that begin alike, and a target that follows: three networks, equal at the start on purpose."""
import copy

import torch
from torch import nn


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.second = nn.Linear(6, 16)
        self.second.weight.data.copy_(self.first.weight)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        noise = 0.1 * torch.randn_like(x)
        return self.out(torch.tanh(self.first(x))), self.out(torch.tanh(self.second(x + noise)))


torch.manual_seed(3)
critics = Twins()
target = copy.deepcopy(critics).requires_grad_(False)
optimizer = torch.optim.Adam(critics.parameters(), lr=5e-3)
rule = torch.randn(6, 1)
for step in range(200):
    x = torch.randn(32, 6)
    with torch.no_grad():
        goal = torch.tanh(x @ rule) + 0.1 * torch.minimum(*target(x))
    one, two = critics(x)
    loss = (one - goal).square().mean() + (two - goal).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), critics.parameters()):
            slow.lerp_(fast, 0.02)
print(loss.item())
