"""VAE with torch.distributions, trained on two-dimensional clusters."""
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
        self.outer = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        mean, raw = self.inner(x).chunk(2, dim=1)
        posterior = Normal(mean, nn.functional.softplus(raw) + 1e-3)
        return self.outer(posterior.rsample()), posterior


torch.manual_seed(13)
centers = torch.randn(4, 6)
coder = Coder()
prior = Normal(torch.zeros(2), torch.ones(2))
optim = torch.optim.Adam(coder.parameters(), lr=2e-3)
for iteration in range(200):
    x = centers[torch.randint(0, 4, (64,))] + 0.1 * torch.randn(64, 6)
    rebuilt, posterior = coder(x)
    error = (rebuilt - x).pow(2).sum(1).mean()
    kl = kl_divergence(posterior, prior).sum(1).mean()
    loss = error + 0.1 * kl
    optim.zero_grad()
    loss.backward()
    optim.step()
    if iteration % 40 == 0:
        print(iteration, f"{loss.item():.4f}")
