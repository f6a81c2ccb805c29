"""Weather maps: calm or storm."""
import torch
from torch import nn


class StormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        x = self.features(x).flatten(1)
        x = x.mean(dim=(2, 3))
        return self.head(x)


def maps(n=24, size=12):
    labels = torch.randint(0, 2, (n,))
    wind = torch.randn(n, 2, size, size) * (1 + labels)[:, None, None, None]
    return wind, labels


torch.manual_seed(27)
model = StormNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    wind, labels = maps()
    loss = nn.functional.cross_entropy(model(wind), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step} loss {loss.item():.4f}")
