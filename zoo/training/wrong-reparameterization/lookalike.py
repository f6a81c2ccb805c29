"""A beta-VAE with a softplus deviation, a weight of the KL term that grows, and free bits."""
import torch
import torch.nn.functional as F
from torch import nn


class BetaVAE(nn.Module):
    def __init__(self, size=64, latent=4):
        super().__init__()
        self.enter = nn.Linear(size, 64)
        self.mean, self.spread = nn.Linear(64, latent), nn.Linear(64, latent)
        self.leave = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, size))

    def forward(self, x):
        hidden = torch.relu(self.enter(x))
        mean, std = self.mean(hidden), F.softplus(self.spread(hidden)) + 1e-3
        epsilon = torch.randn_like(std)
        return self.leave(mean + std * epsilon), mean, std


def bars(count):
    rows, columns = torch.randint(0, 8, (2, count, 1, 1))
    i = torch.arange(8)
    return ((i[None, :, None] == rows) | (i[None, None, :] == columns)).float().flatten(1)


torch.manual_seed(0)
model = BetaVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    x = bars(64)
    scores, mean, std = model(x)
    error = F.binary_cross_entropy_with_logits(scores, x, reduction="none").sum(1).mean()
    kl = 0.5 * (std.pow(2) + mean.pow(2) - 1) - std.log()
    kl = kl.mean(0).clamp(min=0.05).sum()
    loss = error + 4 * min(1.0, step / 100) * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
