# VAE of spectra: the divergence stands in the model, in terms of the standard deviation.
import torch
from torch import nn


class SpectrumVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 48), nn.ELU())
        self.mean, self.spread = nn.Linear(48, 3), nn.Linear(48, 3)
        self.decoder = nn.Sequential(nn.Linear(3, 48), nn.ELU(), nn.Linear(48, 32))

    def forward(self, x):
        hidden = self.body(x)
        mean, std = self.mean(hidden), nn.functional.softplus(self.spread(hidden)) + 1e-4
        z = mean + std * torch.randn_like(std)
        kl = (0.5 * (mean**2 + std**2 - 1) + torch.log(std)).sum(1)
        return self.decoder(z), kl.mean()


def spectra(count):
    places = torch.linspace(0, 1, 32)
    centres, heights = torch.rand(count, 2, 1), 0.5 + torch.rand(count, 2, 1)
    return (heights * torch.exp(-200 * (places - centres) ** 2)).sum(1)


torch.manual_seed(4)
model = SpectrumVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    x = spectra(64)
    rebuilt, kl = model(x)
    error = 20 * ((rebuilt - x) ** 2).sum(1).mean()
    loss = error + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, error.item(), kl.item())
