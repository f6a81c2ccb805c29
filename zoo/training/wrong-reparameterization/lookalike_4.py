"""A posterior with planar flows on top, and a bound of several samples: the divergence comes from the samples."""
import math

import torch
import torch.nn.functional as F
from torch import nn

SAMPLES = 5


class Planar(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w, self.u = nn.Parameter(0.1 * torch.randn(size)), nn.Parameter(0.1 * torch.randn(size))
        self.b = nn.Parameter(torch.zeros(()))

    def forward(self, z):
        bend = torch.tanh(z @ self.w + self.b)
        slope = (1 - bend**2).unsqueeze(-1) * self.w
        return z + self.u * bend.unsqueeze(-1), (1 + slope @ self.u).abs().clamp_min(1e-4).log()


class FlowVAE(nn.Module):
    def __init__(self, size=36, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 48), nn.ReLU(), nn.Linear(48, 2 * latent))
        self.flows = nn.ModuleList(Planar(latent) for _ in range(3))
        self.decoder = nn.Sequential(nn.Linear(latent, 48), nn.ReLU(), nn.Linear(48, size))

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, 1)
        noise = torch.randn(SAMPLES, *mean.shape)
        z = mean + torch.exp(0.5 * log_var) * noise
        log_q = -0.5 * (noise**2 + math.log(2 * math.pi) + log_var).sum(-1)
        for flow in self.flows:
            z, log_det = flow(z)
            log_q = log_q - log_det
        log_prior = -0.5 * (z**2 + math.log(2 * math.pi)).sum(-1)
        return self.decoder(z), log_prior - log_q


torch.manual_seed(0)
shapes = (torch.rand(12, 36) < 0.3).float()
model = FlowVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    x = shapes[torch.randint(12, (64,))]
    scores, log_ratio = model(x)
    target = x.expand(SAMPLES, *x.shape)
    log_data = -F.binary_cross_entropy_with_logits(scores, target, reduction="none").sum(-1)
    loss = -(torch.logsumexp(log_data + log_ratio, 0) - math.log(SAMPLES)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
