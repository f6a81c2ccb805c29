import torch
import torch.nn as nn
import torch.nn.functional as F

import toy_pictures


class Encoder(nn.Module):
    def __init__(self, channels, latent):
        super().__init__()
        blocks = []
        c_in = 1
        for c in channels:
            blocks.append(nn.Sequential(nn.Conv2d(c_in, c, 3, stride=2, padding=1), nn.BatchNorm2d(c), nn.SiLU()))
            c_in = c
        self.blocks = nn.ModuleList(blocks)
        self.out = nn.Linear(c_in * 2 * 2, 2 * latent)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        mu, logvar = torch.split(self.out(x.flatten(1)), self.out.out_features // 2, dim=1)
        return mu, logvar


class Decoder(nn.Module):
    def __init__(self, channels, latent):
        super().__init__()
        self.start = channels[-1]
        self.lin = nn.Linear(latent, channels[-1] * 2 * 2)
        self.up1 = nn.ConvTranspose2d(channels[2], channels[1], 3, stride=2, padding=1, output_padding=1)
        self.up2 = nn.ConvTranspose2d(channels[1], channels[0], 3, stride=2, padding=1, output_padding=1)
        self.up3 = nn.ConvTranspose2d(channels[0], 1, 3, stride=2, padding=1)

    def forward(self, z):
        h = self.lin(z).reshape(-1, self.start, 2, 2)
        h = F.silu(self.up1(h))
        h = F.silu(self.up2(h))
        return torch.sigmoid(self.up3(h))


class BlobVAE(nn.Module):
    def __init__(self, channels=(16, 32, 32), latent=4):
        super().__init__()
        self.encoder = Encoder(channels, latent)
        self.decoder = Decoder(channels, latent)

    def forward(self, x):
        mu, logvar = self.encoder(x)
        std = (0.5 * logvar).exp()
        return self.decoder(mu + std * torch.randn_like(std)), mu, logvar


def criterion(xr, x, mu, logvar):
    n = x.shape[0]
    rec = F.binary_cross_entropy(xr, x, reduction="sum") / n
    kl = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum() / n
    return rec + kl, {"rec": rec.item(), "kl": kl.item()}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    pictures = toy_pictures.gaussian_blobs(640)
    vae = BlobVAE()
    opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
    for ep in range(6):
        for x in pictures[torch.randperm(640)].split(64):
            xr, mu, logvar = vae(x)
            loss, parts = criterion(xr, x, mu, logvar)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, {k: round(v, 2) for k, v in parts.items()})


if __name__ == "__main__":
    main()
