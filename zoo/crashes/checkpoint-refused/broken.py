"""Train with settings kept in a class, save both, and load them again."""
import dataclasses
import os
import tempfile

import torch
from torch import nn


@dataclasses.dataclass
class Settings:
    width: int = 24
    lr: float = 0.02
    steps: int = 60


def build(settings):
    return nn.Sequential(nn.Linear(3, settings.width), nn.Tanh(), nn.Linear(settings.width, 1))


torch.manual_seed(0)
settings = Settings()
model = build(settings)
optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
for step in range(settings.steps):
    x = torch.randn(64, 3)
    loss = nn.functional.mse_loss(model(x).squeeze(1), torch.sin(x).sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

folder = tempfile.mkdtemp()
path = os.path.join(folder, "final.pt")
torch.save({"settings": settings, "weights": model.state_dict()}, path)
saved = torch.load(path)
again = build(saved["settings"])
again.load_state_dict(saved["weights"])
print(again(torch.zeros(1, 3)))
