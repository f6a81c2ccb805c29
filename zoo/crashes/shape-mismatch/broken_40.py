"""A variational autoencoder of small blobs, of an encoder and a decoder that are built apart."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
pixels = 100
width = 48
code = 6


class BlobEncoder(nn.Module):
    def __init__(self, input_dim, hidden_dim, latent_dim):
        super().__init__()
        self.body = nn.Linear(input_dim, hidden_dim)
        self.mean = nn.Linear(hidden_dim, latent_dim)
        self.log_var = nn.Linear(hidden_dim, latent_dim)

    def forward(self, x):
        h = F.relu(self.body(x))
        return self.mean(h), self.log_var(h)


class BlobDecoder(nn.Module):
    def __init__(self, latent_dim, hidden_dim, output_dim):
        super().__init__()
        self.body = nn.Linear(latent_dim, hidden_dim)
        self.out = nn.Linear(hidden_dim, output_dim)

    def forward(self, z):
        return torch.sigmoid(self.out(F.relu(self.body(z))))


class BlobVAE(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, x):
        mean, log_var = self.encoder(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        return self.decoder(z), mean, log_var


def blobs(count):
    grid = torch.arange(10.0)
    center = torch.rand(count, 2, 1, 1) * 6 + 2
    distance = (grid[None, :, None] - center[:, 0]) ** 2 + (grid[None, None, :] - center[:, 1]) ** 2
    return torch.exp(-distance / 4).reshape(count, pixels)


encoder = BlobEncoder(pixels, width, code)
decoder = BlobDecoder(latent_dim=code, hidden_dim=pixels, output_dim=width)
vae = BlobVAE(encoder, decoder)
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for step in range(300):
    x = blobs(64)
    x_hat, mean, log_var = vae(x)
    rebuilt = F.binary_cross_entropy(x_hat, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_var - mean**2 - log_var.exp())
    loss = (rebuilt + divergence) / len(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: {loss.item():.3f}")
