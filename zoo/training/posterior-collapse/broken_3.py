"""A VAE of small pictures of crosses, trained for a short while."""
import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, pixels=64, hidden=48, latent=4):
        super().__init__()
        self.hidden = nn.Linear(pixels, hidden)
        self.mean, self.log_var = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, x):
        hidden = torch.relu(self.hidden(x))
        mean, log_var = self.mean(hidden), self.log_var(hidden)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        return torch.sigmoid(self.decoder(z)), mean, log_var


def loss_function(x, x_hat, mean, log_var):
    reproduction = F.binary_cross_entropy(x_hat, x)
    divergence = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return reproduction + divergence


def crosses(count):
    rows, columns = torch.randint(0, 6, (2, count, 1, 1))
    i = torch.arange(8)
    return (((i[None, None, :] - columns).abs() < 2) | (i[None, :, None] == rows)).float().flatten(1)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(60):
    x = crosses(64)
    optimizer.zero_grad()
    x_hat, mean, log_var = model(x)
    loss = loss_function(x, x_hat, mean, log_var)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
