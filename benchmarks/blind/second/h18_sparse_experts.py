"""Top-1 mixture of experts with stochastic depth: many parameters see no gradient on a given step."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Top1MoE(nn.Module):
    def __init__(self, d, n_exp=4):
        super().__init__()
        self.gate = nn.Linear(d, n_exp)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, d)) for _ in range(n_exp)])
        self.aux = 0.0

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        val, idx = p.max(-1)
        out = torch.zeros_like(x)
        for k, ex in enumerate(self.experts):
            rows = (idx == k).nonzero(as_tuple=True)[0]
            if len(rows):
                out = out.index_add(0, rows, ex(x[rows]) * val[rows, None])
        frac = F.one_hot(idx, p.size(1)).float().mean(0)
        self.aux = p.size(1) * (frac * p.mean(0)).sum()
        return x + out


class Net(nn.Module):
    def __init__(self, d_in=6, d=24, depth=3, drop=0.3):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList([Top1MoE(d) for _ in range(depth)])
        self.out = nn.Linear(d, 1)
        self.drop = drop

    def forward(self, x):
        h, aux = self.inp(x), 0.0
        for b in self.blocks:
            if self.training and torch.rand(()) < self.drop:
                continue
            h = b(h)
            aux = aux + b.aux
        return self.out(h).squeeze(-1), aux


def f(x):
    k = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    per = torch.stack([x[:, 2] * 2, x[:, 3] ** 2, torch.sin(3 * x[:, 4]), x[:, 5].abs() - x[:, 2]], 1)
    return per.gather(1, k[:, None]).squeeze(1)


torch.manual_seed(18)
xv = torch.randn(1000, 6)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(1, 401):
    net.train()
    x = torch.randn(96, 6)
    pred, aux = net(x)
    loss = F.mse_loss(pred, f(x)) + 0.01 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        net.eval()
        with torch.no_grad():
            print(f"step {step} loss {loss.item():.3f} val mse {F.mse_loss(net(xv)[0], f(xv)).item():.3f}")
print("variance of the target", f(xv).var().item())
