"""VAE of short wave forms with a latent of five numbers; the tensors' own methods do the arithmetic."""
import torch
from torch import nn


class WaveVAE(nn.Module):
    def __init__(self, length=32, hidden=48, latent=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2, padding=2), nn.SiLU(), nn.Flatten(),
                                   nn.Linear(4 * length, hidden), nn.SiLU())
        self.statistics = nn.Linear(hidden, 2 * latent)
        self.generator = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, length))

    def draw(self, mu, log_var):
        std = log_var.mul(0.5).exp()
        eps = torch.randn_like(std)
        return eps.mul(mu).add(std)

    def forward(self, wave):
        mu, log_var = self.statistics(self.trunk(wave.unsqueeze(1))).chunk(2, dim=1)
        return self.generator(self.draw(mu, log_var)), mu, log_var


torch.manual_seed(3)
time = torch.linspace(0, 6.28, 32)
model = WaveVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    wave = torch.sin(time * (1 + 2 * torch.rand(64, 1)) + 6.28 * torch.rand(64, 1))
    made, mu, log_var = model(wave)
    error = (made - wave).pow(2).sum(1).mean()
    kl = (-0.5 * (1 + log_var - mu.pow(2) - log_var.exp())).sum(1).mean()
    loss = error + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
