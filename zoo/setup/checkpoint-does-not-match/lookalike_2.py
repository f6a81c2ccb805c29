"""Adapters: only the small added layers are kept and loaded; the base stays as it was built."""
import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(8, 8)
        self.down = nn.Linear(8, 2, bias=False)
        self.up = nn.Linear(2, 8, bias=False)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.base(x) + self.up(self.down(x))))


torch.manual_seed(2)
saved = {"down.weight": 0.3 * torch.randn(2, 8), "up.weight": torch.zeros(8, 2), "version": torch.tensor(3)}
model = Adapted()
model.load_state_dict(saved, strict=False)
weight = torch.randn(8, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(x), torch.tanh(x @ weight))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
