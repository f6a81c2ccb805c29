"""A module with a plain tensor that the script gives to the optimizer itself."""
import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 3)
        self.gate = torch.zeros(3, requires_grad=True)

    def forward(self, x):
        return self.net(x) * torch.sigmoid(self.gate)


torch.manual_seed(2)
model = Gated()
optimizer = torch.optim.Adam([*model.parameters(), model.gate], lr=1e-2)
rule = torch.randn(6, 3)
for step in range(200):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x @ rule)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
