"""A VAE of bar pictures that is trained with a hand-written divergence."""
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, size=64, latent=4):
        super().__init__()
        self.enter = nn.Linear(size, 64)
        self.mu, self.logvar = nn.Linear(64, latent), nn.Linear(64, latent)
        self.leave = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, size))

    def forward(self, x):
        hidden = torch.relu(self.enter(x))
        mu, logvar = self.mu(hidden), self.logvar(hidden)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.leave(z), mu, logvar


def bars(count):
    rows, columns = torch.randint(0, 8, (2, count, 1, 1))
    i = torch.arange(8)
    return ((i[None, :, None] == rows) | (i[None, None, :] == columns)).float().flatten(1)


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    x = bars(64)
    scores, mu, logvar = model(x)
    error = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar + mu.pow(2) - logvar.exp())
    loss = (error + kl) / len(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 3))
