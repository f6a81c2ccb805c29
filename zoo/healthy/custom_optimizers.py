# Optimizer variety, same problem each: SAM (two-step with closure), Lookahead wrapper as Optimizer subclass, LBFGS, Rprop,
# and a manual parameter update in no_grad.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer

torch.manual_seed(0)
X = torch.randn(500, 6)
Y = ((X[:, 0] * X[:, 1] + X[:, 2]) > 0).long()


def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base_optimizer = base_optimizer(self.param_groups, **kw)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]))
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * g["rho"] / (norm + 1e-12))
        self.zero_grad()
        closure()
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.data = self.state[p]["old_p"]
        self.base_optimizer.step()


class Lookahead(Optimizer):
    def __init__(self, inner, k=5, alpha=0.5):
        self.inner, self.k, self.alpha, self.n = inner, k, alpha, 0
        super().__init__([{"params": g["params"]} for g in inner.param_groups], {})
        for g in self.param_groups:
            for p in g["params"]:
                self.state[p]["slow"] = p.detach().clone()

    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.n += 1
        if self.n % self.k == 0:
            with torch.no_grad():
                for g in self.param_groups:
                    for p in g["params"]:
                        slow = self.state[p]["slow"]
                        slow.add_(p - slow, alpha=self.alpha)
                        p.copy_(slow)
        return loss


def report(name, i, loss, m):
    with torch.no_grad():
        print(f"{name:10s} {i:4d} loss {float(loss):.5f} acc {(m(X).argmax(1) == Y).float().mean():.3f}")


m = make()
opt = SAM(m.parameters(), torch.optim.SGD, rho=0.05, lr=0.3, momentum=0.9)
for i in range(120):
    idx = torch.randint(0, 500, (64,))

    def closure():
        l = F.cross_entropy(m(X[idx]), Y[idx])
        l.backward()
        return l

    loss = closure()
    opt.step(closure)
    opt.zero_grad()
    if i % 40 == 0 or i == 119:
        report("SAM", i, loss, m)

m = make()
opt = Lookahead(torch.optim.Adam(m.parameters(), lr=1e-2))
for i in range(120):
    idx = torch.randint(0, 500, (64,))
    opt.zero_grad()
    loss = F.cross_entropy(m(X[idx]), Y[idx])
    loss.backward()
    opt.step()
    if i % 40 == 0 or i == 119:
        report("Lookahead", i, loss, m)

m = make()
opt = torch.optim.LBFGS(m.parameters(), lr=1.0, max_iter=10, history_size=20, line_search_fn="strong_wolfe")
for i in range(12):
    def closure():
        opt.zero_grad()
        l = F.cross_entropy(m(X), Y) + 1e-4 * sum(p.pow(2).sum() for p in m.parameters())
        l.backward()
        return l
    loss = opt.step(closure)
    if i % 4 == 0 or i == 11:
        report("LBFGS", i, loss, m)

m = make()
opt = torch.optim.Rprop(m.parameters(), lr=1e-2)
for i in range(60):
    opt.zero_grad()
    loss = F.cross_entropy(m(X), Y)
    loss.backward()
    opt.step()
    if i % 20 == 0 or i == 59:
        report("Rprop", i, loss, m)

m, lr, vel = make(), 0.2, None
vel = [torch.zeros_like(p) for p in m.parameters()]
for i in range(120):
    loss = F.cross_entropy(m(X), Y)
    loss.backward()
    with torch.no_grad():
        for p, v in zip(m.parameters(), vel):
            v.mul_(0.9).add_(p.grad)
            p -= lr * v
            p.grad = None
    if i % 40 == 0 or i == 119:
        report("manual", i, loss, m)
