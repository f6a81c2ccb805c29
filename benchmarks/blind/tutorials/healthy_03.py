"""VAE with free bits: every latent may use a little information without cost."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from toy_pictures import stripes

hp = {"latent": 10, "free_bits": 0.1, "lr": 1e-3, "epochs": 9, "batch": 64}


class Coder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.inp = nn.Linear(256, 128)
        self.mid = nn.Linear(128, 128)
        self.mu = nn.Linear(128, latent)
        self.lv = nn.Linear(128, latent)

    def forward(self, x):
        h = F.silu(self.mid(F.silu(self.inp(x))))
        return self.mu(h), self.lv(h)


def decoder(latent):
    return nn.Sequential(nn.Linear(latent, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 256))


def kl_with_free_bits(mu, lv, floor):
    per_dim = 0.5 * (mu ** 2 + lv.exp() - 1 - lv)
    mean_per_dim = per_dim.mean(dim=0)
    return torch.clamp(mean_per_dim, min=floor).sum(), mean_per_dim.sum().detach()


torch.set_num_threads(1)
torch.manual_seed(31)
x_all, _ = stripes(1600)
x_all = x_all.flatten(1)
enc, dec = Coder(hp["latent"]), decoder(hp["latent"])
opt = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=hp["lr"])

for epoch in range(hp["epochs"]):
    rec_sum = kl_sum = 0.0
    parts = torch.randperm(len(x_all)).split(hp["batch"])
    for ids in parts:
        x = x_all[ids]
        mu, lv = enc(x)
        z = mu + torch.exp(lv / 2) * torch.randn_like(mu)
        rec = F.binary_cross_entropy_with_logits(dec(z), x, reduction="none").sum(1).mean()
        kl_cost, kl_true = kl_with_free_bits(mu, lv, hp["free_bits"])
        opt.zero_grad()
        (rec + kl_cost).backward()
        opt.step()
        rec_sum += rec.item()
        kl_sum += kl_true.item()
    print("epoch", epoch, "rec", round(rec_sum / len(parts), 2), "kl", round(kl_sum / len(parts), 2))
