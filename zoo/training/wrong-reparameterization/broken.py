"""A variational autoencoder of small pictures of bars, in the layout of a first VAE exercise."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, pixels, hidden, latent):
        super().__init__()
        self.fc_in = nn.Linear(pixels, hidden)
        self.fc_mean = nn.Linear(hidden, latent)
        self.fc_var = nn.Linear(hidden, latent)

    def reparameterization(self, mean, var):
        epsilon = torch.randn_like(var)
        return mean + var * epsilon

    def forward(self, x):
        hidden = torch.relu(self.fc_in(x))
        mean, log_var = self.fc_mean(hidden), self.fc_var(hidden)
        z = self.reparameterization(mean, log_var)
        return z, mean, log_var


class Decoder(nn.Module):
    def __init__(self, latent, hidden, pixels):
        super().__init__()
        self.fc_hidden = nn.Linear(latent, hidden)
        self.fc_out = nn.Linear(hidden, pixels)

    def forward(self, z):
        return torch.sigmoid(self.fc_out(torch.relu(self.fc_hidden(z))))


class Model(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x):
        z, mean, log_var = self.encoder(x)
        return self.decoder(z), mean, log_var


def loss_function(x, x_hat, mean, log_var):
    reproduction = F.binary_cross_entropy(x_hat, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return reproduction + divergence


def bars(count):
    rows, columns = torch.randint(0, 8, (2, count, 1, 1))
    i = torch.arange(8)
    return ((i[None, :, None] == rows) | (i[None, None, :] == columns)).float().flatten(1)


torch.manual_seed(0)
loader = DataLoader(TensorDataset(bars(1024)), batch_size=64, shuffle=True)
model = Model(Encoder(64, 64, 4), Decoder(4, 64, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    total = 0.0
    for (x,) in loader:
        optimizer.zero_grad()
        x_hat, mean, log_var = model(x)
        loss = loss_function(x, x_hat, mean, log_var)
        total += loss.item()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} average loss {total / 1024:.3f}")
