"""VAE with tempered samples (0.5 of the deviation) and noise on its pictures, both on purpose."""
import torch
import torch.nn.functional as F
from torch import nn


class BarVAE(nn.Module):
    def __init__(self, temperature=0.5):
        super().__init__()
        self.temperature = temperature
        self.encoder = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 36))

    def forward(self, x):
        x = x + 0.05 * torch.rand_like(x)
        mean, log_var = self.encoder(x).chunk(2, 1)
        std = (0.5 * log_var).exp()
        z = mean + self.temperature * std * torch.randn_like(std)
        return self.decoder(z), mean, log_var


torch.manual_seed(2)
model = BarVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x = torch.zeros(64, 6, 6)
    x[torch.arange(64), torch.randint(0, 6, (64,))] = 1.0
    x = x.flatten(1)
    scores, mean, log_var = model(x)
    error = F.binary_cross_entropy_with_logits(scores, x, reduction="sum") / 64
    kl = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp()) / 64
    optimizer.zero_grad()
    (error + kl).backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
