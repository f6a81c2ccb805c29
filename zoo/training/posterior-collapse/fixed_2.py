# VAE of noisy curves with torch.distributions.
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence


class CurveVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 2 * 4))
        self.decoder = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 24))

    def forward(self, x):
        mu, raw = self.encoder(x).chunk(2, dim=1)
        q = Normal(mu, F.softplus(raw) + 1e-5)
        return self.decoder(q.rsample()), q


torch.manual_seed(0)
vae = CurveVAE()
prior = Normal(torch.zeros(4), torch.ones(4))
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
t = torch.linspace(0, 6, 24)
for step in range(500):
    x = 0.3 * torch.sin(t * (0.5 + torch.rand(64, 1)) + 6 * torch.rand(64, 1))
    out, q = vae(x)
    rec = F.mse_loss(out, x)
    kl = kl_divergence(q, prior).sum(1).mean()
    loss = rec + 0.001 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, rec.item(), kl.item())
