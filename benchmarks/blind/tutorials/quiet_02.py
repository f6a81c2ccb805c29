"""BYOL: online network, slowly moving target, linear probe at the end."""
import copy

import torch
from torch import nn
import torch.nn.functional as F


def head(a, h, b):
    return nn.Sequential(nn.Linear(a, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, b))


class BYOL(nn.Module):
    def __init__(self, dim=32, width=64, proj=24, tau=0.97):
        super().__init__()
        self.tau = tau
        self.online = nn.ModuleDict({"trunk": head(dim, width, width), "proj": head(width, width, proj)})
        self.predictor = head(proj, width, proj)
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False

    def project(self, nets, x):
        return nets["proj"](nets["trunk"](x))

    def one_side(self, a, b):
        p = F.normalize(self.predictor(self.project(self.online, a)), dim=1)
        with torch.no_grad():
            t = F.normalize(self.project(self.target, b), dim=1)
        return (2 - 2 * (p * t).sum(1)).mean()

    def forward(self, a, b):
        return 0.5 * (self.one_side(a, b) + self.one_side(b, a))

    @torch.no_grad()
    def move_target(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.mul_(self.tau).add_(po, alpha=1 - self.tau)


def augment(x):
    keep = (torch.rand_like(x) > 0.1).float()
    return x * keep + 0.2 * torch.randn_like(x)


def probe(byol, x, y):
    byol.eval()
    with torch.no_grad():
        feats = byol.online["trunk"](x)
    clf = nn.Linear(feats.size(1), 5)
    opt = torch.optim.Adam(clf.parameters(), lr=1e-2)
    for _ in range(100):
        loss = F.cross_entropy(clf(feats), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (clf(feats).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    centres = 1.5 * torch.randn(5, 32)
    y = torch.randint(0, 5, (1200,))
    x = centres[y] + torch.randn(1200, 32)
    net = BYOL()
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
    for epoch in range(6):
        net.train()
        total = 0.0
        for ids in torch.randperm(1200).split(80):
            loss = net(augment(x[ids]), augment(x[ids]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.move_target()
            total += loss.item() / 15
        print(f"epoch {epoch} loss {total:.4f}")
    print("probe accuracy", round(probe(net, x, y), 3))
