import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for g in self.param_groups:
            for p in g["params"]:
                e = p.grad * (g["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for g in self.param_groups:
            for p in g["params"]:
                p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError


torch.manual_seed(3)
x = torch.randn(1600, 20)
w = torch.randn(20, 2)
y = ((x @ w).prod(1) > 0).long()
xt = torch.randn(800, 20)
yt = ((xt @ w).prod(1) > 0).long()

net = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
opt = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
for epoch in range(10):
    tot = 0.0
    for idx in torch.randperm(1600).split(64):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        opt.first_step()
        F.cross_entropy(net(x[idx]), y[idx]).backward()
        opt.second_step()
        tot += loss.item()
    with torch.no_grad():
        acc = (net(xt).argmax(1) == yt).float().mean().item()
    print(f"epoch {epoch} loss {tot / 25:.4f} test acc {acc:.3f}")
