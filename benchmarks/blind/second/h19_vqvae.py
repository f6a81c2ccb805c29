import torch
import torch.nn as nn
import torch.nn.functional as F


class EMAQuantizer(nn.Module):
    def __init__(self, k, d, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("code", torch.randn(k, d) * 0.5)
        self.register_buffer("n", torch.ones(k))
        self.register_buffer("m", self.code.clone())

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.code).argmin(1)
        q = self.code[idx]
        if self.training:
            with torch.no_grad():
                oh = F.one_hot(idx, len(self.code)).float()
                self.n.mul_(self.decay).add_(oh.sum(0), alpha=1 - self.decay)
                self.m.mul_(self.decay).add_(oh.t() @ z, alpha=1 - self.decay)
                self.code.copy_(self.m / self.n.clamp(min=1e-3)[:, None])
                dead = self.n < 0.05
                if dead.any():
                    pick = z[torch.randint(0, len(z), (int(dead.sum()),))]
                    self.code[dead] = pick
                    self.m[dead] = pick
                    self.n[dead] = 1.0
        commit = F.mse_loss(z, q.detach())
        return z + (q - z).detach(), commit, idx


torch.manual_seed(50)
protos = torch.randn(12, 30)


def batch(n):
    return protos[torch.randint(0, 12, (n,))] + 0.3 * torch.randn(n, 30)


enc = nn.Sequential(nn.Linear(30, 48), nn.ReLU(), nn.Linear(48, 8))
vq = EMAQuantizer(24, 8)
dec = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 30))
opt = torch.optim.Adam(nn.ModuleList([enc, dec]).parameters(), lr=3e-3)
for step in range(1, 401):
    x = batch(96)
    q, commit, idx = vq(enc(x))
    rec = F.mse_loss(dec(q), x)
    loss = rec + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} rec {rec.item():.3f} commit {commit.item():.3f} codes used {idx.unique().numel()}")
vq.eval()
with torch.no_grad():
    x = batch(1000)
    print("final mse", F.mse_loss(dec(vq(enc(x))[0]), x).item(), "data variance", x.var().item())
