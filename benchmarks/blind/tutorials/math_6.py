"""Two-level hierarchical VAE: z2 over z1 over pixels."""
import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs


def mlp(sizes):
    mods = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        mods += [nn.Linear(a, b), nn.ELU()]
    return nn.Sequential(*mods, nn.Linear(sizes[-2], sizes[-1]))


def gaussian_kl(m1, lv1, m2, lv2):
    return 0.5 * (lv2 - lv1 + (lv1.exp() + (m1 - m2) ** 2) / lv2.exp() - 1).sum(-1)


def stochastic(mean, logvar):
    std = torch.exp(0.5 * logvar)
    return mean * std + torch.randn_like(std)


class Ladder(nn.Module):
    def __init__(self, d1=8, d2=3, h=96):
        super().__init__()
        self.q1 = mlp([256, h, h, 2 * d1])
        self.q2 = mlp([d1, h, 2 * d2])
        self.p1 = mlp([d2, h, 2 * d1])
        self.px = mlp([d1, h, h, 256])
        self.d2 = d2

    def elbo_terms(self, x):
        m1, v1 = self.q1(x).chunk(2, -1)
        v1 = v1.clamp(-8, 4)
        z1 = stochastic(m1, v1)
        m2, v2 = self.q2(z1).chunk(2, -1)
        v2 = v2.clamp(-8, 4)
        z2 = stochastic(m2, v2)
        pm, pv = self.p1(z2).chunk(2, -1)
        pv = pv.clamp(-8, 4)
        nll = F.binary_cross_entropy_with_logits(self.px(z1), x, reduction="none").sum(-1)
        kl1 = gaussian_kl(m1, v1, pm, pv)
        kl2 = gaussian_kl(m2, v2, torch.zeros_like(m2), torch.zeros_like(v2))
        return nll, kl1, kl2


def main():
    torch.set_num_threads(1)
    torch.manual_seed(17)
    data = gaussian_blobs(1500).flatten(1)
    net = Ladder()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10, eta_min=2e-4)
    for epoch in range(10):
        sums = [0.0, 0.0, 0.0]
        batches = data[torch.randperm(len(data))].split(60)
        for xb in batches:
            terms = net.elbo_terms(xb)
            loss = sum(terms).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sums = [s + t.mean().item() for s, t in zip(sums, terms)]
        sched.step()
        print(epoch, "nll %.2f  kl1 %.2f  kl2 %.2f" % tuple(s / len(batches) for s in sums))


main()
