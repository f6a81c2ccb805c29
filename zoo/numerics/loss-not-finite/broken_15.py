"""Rotation regression with a geodesic loss."""
import torch
from torch import nn


def random_rotations(n):
    q, _ = torch.linalg.qr(torch.randn(n, 3, 3))
    return q * torch.det(q)[:, None, None]


def gram_schmidt(v):
    a, b = v[:, :3], v[:, 3:]
    a = nn.functional.normalize(a, dim=1)
    b = nn.functional.normalize(b - (a * b).sum(1, keepdim=True) * a, dim=1)
    return torch.stack([a, b, torch.linalg.cross(a, b)], dim=2)


class GeodesicLoss(nn.Module):
    def forward(self, pred, target):
        rel = pred.transpose(1, 2) @ target
        cos = (rel.diagonal(dim1=1, dim2=2).sum(1) - 1) / 2
        return torch.acos(cos).mean()


def main():
    torch.manual_seed(21)
    template = torch.randn(8, 3)
    net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 6))
    criterion = GeodesicLoss()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 300)
    fixed = random_rotations(2)
    for step in range(1, 301):
        rot = fixed[torch.randint(0, 2, (16,))]
        points = torch.einsum("bij,kj->bki", rot, template)
        loss = criterion(gram_schmidt(net(points.flatten(1))), rot)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        if step % 25 == 0:
            print(step, round(loss.item(), 5))


main()
