"""Wasserstein autoencoder with an MMD penalty."""
import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs


def imq_mmd(a, b, scales=(0.2, 0.5, 1.0, 2.0, 5.0)):
    n, d = a.shape
    aa, bb, ab = torch.cdist(a, a) ** 2, torch.cdist(b, b) ** 2, torch.cdist(a, b) ** 2
    off = 1 - torch.eye(n)
    value = 0.0
    for s in scales:
        c = 2 * d * s
        value = value + (off * (c / (c + aa))).sum() / (n * (n - 1))
        value = value + (off * (c / (c + bb))).sum() / (n * (n - 1))
        value = value - 2 * (c / (c + ab)).mean()
    return value


class WAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.latent = latent
        self.enc = nn.Sequential(nn.Conv2d(1, 12, 4, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 4, 2, 1), nn.ReLU(),
                                 nn.Flatten(), nn.Linear(384, latent))
        self.dec = nn.Sequential(nn.Linear(latent, 384), nn.ReLU(), nn.Unflatten(1, (24, 4, 4)),
                                 nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(12, 1, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), z


class Trainer:
    def __init__(self, model, lr=2e-3, penalty=20.0):
        self.model, self.penalty = model, penalty
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def step(self, x):
        recon, z = self.model(x)
        rec = F.mse_loss(recon, x, reduction="sum") / len(x)
        mmd = imq_mmd(z, torch.randn_like(z))
        loss = rec + self.penalty * mmd
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return torch.stack([rec.detach(), mmd.detach()])


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(16)
    blobs = gaussian_blobs(960)
    trainer = Trainer(WAE())
    for epoch in range(6):
        stats = [trainer.step(x) for x in blobs[torch.randperm(len(blobs))].split(48)]
        rec, mmd = torch.stack(stats).mean(0).tolist()
        print(f"epoch {epoch}: reconstruction {rec:.3f}  mmd {mmd:.4f}")
