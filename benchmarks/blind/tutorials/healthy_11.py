"""Categorical VAE with Gumbel softmax and falling temperature."""
import math

import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import stripes

GROUPS, CATS = 8, 6


class CatVAE(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, GROUPS * CATS))
        self.dec = nn.Sequential(nn.Linear(GROUPS * CATS, width), nn.ReLU(), nn.Linear(width, 256))

    def forward(self, x, tau, hard=False):
        logits = self.enc(x).view(-1, GROUPS, CATS)
        y = F.gumbel_softmax(logits, tau=tau, hard=hard, dim=-1)
        return self.dec(y.flatten(1)), logits


def kl_to_uniform(logits):
    logq = F.log_softmax(logits, dim=-1)
    return (logq.exp() * (logq + math.log(CATS))).sum(dim=(1, 2)).mean()


def temperature(step, start=1.0, floor=0.5, rate=2e-3):
    return max(floor, start * math.exp(-rate * step))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(15)
    pics = stripes(1500)[0].flatten(1)
    model = CatVAE()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    for epoch in range(10):
        model.train()
        for ids in torch.randperm(len(pics)).split(50):
            x = pics[ids]
            out, logits = model(x, temperature(step))
            loss = F.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x) + kl_to_uniform(logits)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
        model.eval()
        with torch.no_grad():
            out, logits = model(pics[:300], tau=0.5, hard=True)
            rec = F.binary_cross_entropy_with_logits(out, pics[:300], reduction="sum") / 300
        print(f"epoch {epoch} train {loss.item():.2f} hard reconstruction {rec.item():.2f} kl {kl_to_uniform(logits).item():.2f}")


if __name__ == "__main__":
    main()
