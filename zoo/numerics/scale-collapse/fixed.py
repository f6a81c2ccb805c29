"""Learn an embedding in which points of one group lie close together, with mixed precision."""
import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self, features=10, width=64, out=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        return self.body(x)


def distances(z):
    return torch.sqrt((z[:, None] - z[None]).pow(2).sum(-1) + 1e-8)


def contrastive(z, group, margin=2.0):
    d = distances(z)
    same = (group[:, None] == group[None]).float()
    return (same * d + (1 - same) * torch.relu(margin - d)).mean()


torch.manual_seed(0)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu")
centres = 2 * torch.randn(5, 10)

for step in range(1, 121):
    group = torch.randint(0, 5, (48,))
    x = centres[group] + 0.5 * torch.randn(48, 10)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = contrastive(model(x).float(), group)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
