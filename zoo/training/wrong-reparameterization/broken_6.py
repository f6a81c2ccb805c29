"""VAE of noisy line drawings; the model returns what the loss needs."""
import torch
import torch.nn.functional as F
from torch import nn


class DrawingVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(36, 64), nn.GELU())
        self.to_mean, self.to_log_var = nn.Linear(64, 4), nn.Linear(64, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 64), nn.GELU(), nn.Linear(64, 36))

    def forward(self, x):
        hidden = self.encoder(x)
        mean = self.to_mean(hidden)
        std = torch.exp(0.5 * self.to_log_var(hidden))
        z = mean + std * torch.randn_like(std)
        return self.decoder(z), mean, std


def elbo_loss(scores, x, mean, log_var):
    error = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return (error + kl) / len(x)


torch.manual_seed(1)
i = torch.arange(6)
model = DrawingVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    slope, offset = torch.randint(-1, 2, (64, 1, 1)), torch.randint(0, 6, (64, 1, 1))
    x = (((i[:, None] * slope + offset - i) % 6) == 0).float().flatten(1)
    scores, mean, log_var = model(x)
    loss = elbo_loss(scores, x, mean, log_var)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
