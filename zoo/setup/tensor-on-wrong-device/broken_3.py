"""Autoencoder for 2-channel sensor windows; inputs are standardised inside the model."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


class SensorAE(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean
        self.std = std
        self.down = nn.Conv1d(2, 8, 4, stride=4)
        self.up = nn.ConvTranspose1d(8, 2, 4, stride=4)

    def forward(self, x):
        z = (x - self.mean) / self.std
        return self.up(torch.tanh(self.down(z))), z


def windows(batch):
    t = torch.linspace(0, 6, 32)
    f = torch.rand(batch, 1) + 0.5
    temperature = 20 + 5 * torch.sin(f * t)
    pressure = 1000 + 30 * torch.cos(f * t)
    return torch.stack([temperature, pressure], dim=1)


torch.manual_seed(12)
sample = windows(256)
model = SensorAE(sample.mean(dim=(0, 2)).view(1, 2, 1), sample.std(dim=(0, 2)).view(1, 2, 1))
model = model.to(DEVICE)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(201):
    batch = windows(32).to(DEVICE)
    rebuilt, z = model(batch)
    loss = F.mse_loss(rebuilt, z)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"{step}\t{loss.item():.4f}")
