"""Energy-based classifier that returns its own loss."""
import torch
from torch import nn


class EnergyModel(nn.Module):
    def __init__(self, d=30, k=5):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.energy = nn.Linear(64, k)

    def log_partition(self, e):
        z = torch.exp(e).sum(dim=1)
        return torch.log(z)

    def forward(self, x, y=None):
        e = self.energy(self.features(x))
        if y is None:
            return e.argmax(1)
        picked = e.gather(1, y[:, None]).squeeze(1)
        return (self.log_partition(e) - picked).mean()


torch.manual_seed(9)
y_all = torch.randint(0, 5, (1000,))
x_all = torch.randn(5, 30)[y_all] * 300 + 150 * torch.randn(1000, 30)
model = EnergyModel()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

for step in range(100):
    idx = torch.randint(0, 1000, (50,))
    loss = model(x_all[idx], y_all[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        acc = (model(x_all) == y_all).float().mean()
        print(f"{step} loss {loss.item():.4f} acc {acc:.3f}")
