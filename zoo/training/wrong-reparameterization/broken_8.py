"""VAE whose encoder gives the logarithm of a scale; drawing is a function beside the model."""
import torch
import torch.nn.functional as F
from torch import nn


def draw_latent(location, log_variance):
    noise = torch.randn(location.shape)
    return location + log_variance * noise


class GridVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_hidden = nn.Linear(49, 64)
        self.q_location = nn.Linear(64, 6)
        self.q_log_scale = nn.Linear(64, 6)
        self.p_hidden = nn.Linear(6, 64)
        self.p_pixels = nn.Linear(64, 49)

    def forward(self, pixels):
        h = torch.tanh(self.q_hidden(pixels))
        location, log_variance = self.q_location(h), 2.0 * self.q_log_scale(h)
        z = draw_latent(location, log_variance)
        return self.p_pixels(torch.tanh(self.p_hidden(z))), location, log_variance


def negative_elbo(logits, pixels, location, log_variance):
    error = F.binary_cross_entropy_with_logits(logits, pixels, reduction="none").sum(1)
    divergence = 0.5 * (location.square() + log_variance.exp() - 1 - log_variance).sum(1)
    return (error + divergence).mean()


torch.manual_seed(8)
spots = torch.rand(512, 2) * (7 - 2) + 1
rows = torch.arange(7).float()
data = ((rows[:, None] - spots[:, :1, None]) ** 2 + (rows - spots[:, 1:, None]) ** 2 < 3).float().flatten(1)
model = GridVAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(12):
    for part in torch.randperm(512).split(64):
        logits, location, log_variance = model(data[part])
        loss = negative_elbo(logits, data[part], location, log_variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
