"""A mixture of experts with hard routing: some experts see no sample for many steps."""
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, experts=6, dim=8):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.rare = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x, route):
        expert = self.rare if route >= len(self.experts) else self.experts[route]
        return self.out(torch.relu(expert(x)))


torch.manual_seed(1)
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
targets = torch.randn(7, 8, 2)
for step in range(250):
    route = step % 2 if step < 200 else step % 7
    x = torch.randn(32, 8)
    loss = (model(x, route) - x @ targets[route]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
