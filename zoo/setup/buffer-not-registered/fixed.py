"""A network with a running standardisation of its inputs, saved and loaded for evaluation."""
import io

import torch
from torch import nn


class Standardize(nn.Module):
    def __init__(self, columns, momentum=0.05):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("scale", torch.ones(columns))

    def forward(self, x):
        if self.training:
            self.mean = (1 - self.momentum) * self.mean + self.momentum * x.mean(dim=0)
            self.scale = (1 - self.momentum) * self.scale + self.momentum * x.std(dim=0)
        return (x - self.mean) / self.scale


def build():
    return nn.Sequential(Standardize(5), nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))


def batch(n):
    x = torch.tensor([3.0, -8.0, 20.0, 0.5, 1.0]) + torch.randn(n, 5) * torch.tensor([1.0, 4.0, 9.0, 0.1, 2.0])
    return x, ((x[:, :1] - 3) * (x[:, 1:2] + 8) / 4)


torch.manual_seed(0)
model = build()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    x, y = batch(64)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("training", round(loss.item(), 4))

file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
loaded = build()
loaded.load_state_dict(torch.load(file))
loaded.eval()
with torch.no_grad():
    x, y = batch(500)
    print("loaded", round(nn.functional.mse_loss(loaded(x), y).item(), 4))
