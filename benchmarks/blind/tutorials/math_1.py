"""Convolutional VAE, soft spots of 16x16 pixels."""
import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs

torch.set_num_threads(1)
torch.manual_seed(21)


class SpotVAE(nn.Module):
    def __init__(self, latent_channels=12):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 12, 4, 2, 1), nn.ReLU(True),
            nn.Conv2d(12, 24, 4, 2, 1), nn.ReLU(True),
            nn.Flatten(),
            nn.Linear(24 * 16, 64), nn.ReLU(True),
        )
        self.mu_head = nn.Linear(64, latent_channels)
        self.logvar_head = nn.Linear(64, latent_channels)
        self.dec = nn.Sequential(
            nn.Linear(latent_channels, 24 * 16), nn.ReLU(True),
            nn.Unflatten(1, (24, 4, 4)),
            nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.ReLU(True),
            nn.ConvTranspose2d(12, 1, 4, 2, 1),
        )

    def reparametrize(self, mu, logvar):
        if not self.training:
            return mu
        eps = torch.randn_like(mu)
        return mu + logvar * eps

    def forward(self, x):
        feats = self.enc(x)
        mu, logvar = self.mu_head(feats), self.logvar_head(feats)
        return self.dec(self.reparametrize(mu, logvar)), mu, logvar


def step_loss(model, x):
    logits, mu, logvar = model(x)
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kld = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum() / len(x)
    return recon, kld


model = SpotVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
train_x, valid_x = gaussian_blobs(960), gaussian_blobs(128)

for epoch in range(7):
    model.train()
    for chunk in train_x[torch.randperm(len(train_x))].chunk(20):
        recon, kld = step_loss(model, chunk)
        loss = recon + kld
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        r, k = step_loss(model, valid_x)
    print(f"epoch {epoch}  valid recon {r:.2f}  valid kl {k:.2f}")
