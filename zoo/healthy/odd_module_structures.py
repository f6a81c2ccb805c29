# Structures a naive checker dislikes but which are right: layers in a plain list whose params are passed on purpose, a frozen extractor hidden in a
# list, ParameterList/ParameterDict, an unused auxiliary head, buffers updated by hand, optimizer made before .double(), modules chained.
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)
X = torch.randn(600, 12)
Y = torch.stack([X[:, 0] * X[:, 1], X[:, 2].abs()], 1)


class ListNet:
    """Not an nn.Module at all: a plain list of layers."""

    def __init__(self):
        self.layers = [nn.Linear(12, 64), nn.Linear(64, 64), nn.Linear(64, 2)]

    def parameters(self):
        return [p for l in self.layers for p in l.parameters()]

    def __call__(self, x):
        for l in self.layers[:-1]:
            x = F.silu(l(x))
        return self.layers[-1](x)


class WithHiddenExtractor(nn.Module):
    def __init__(self, extractor):
        super().__init__()
        self._extractor = [extractor.eval()]  # in a list so that it is not registered, trained or saved
        self.head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        self.aux_head = nn.Linear(64, 10)  # only used in another experiment
        self.register_buffer("mean", torch.zeros(64))
        self.register_buffer("n_seen", torch.tensor(0))

    def forward(self, x, with_aux=False):
        with torch.no_grad():
            f = self._extractor[0](x)
            if self.training:
                self.n_seen += 1
                self.mean += (f.mean(0) - self.mean) / self.n_seen
        f = f - self.mean
        return (self.head(f), self.aux_head(f)) if with_aux else self.head(f)


class ParamNet(nn.Module):
    def __init__(self, degree=4):
        super().__init__()
        self.coef = nn.ParameterList([nn.Parameter(0.1 * torch.randn(12, 16)) for _ in range(degree)])
        self.p = nn.ParameterDict({"w": nn.Parameter(0.2 * torch.randn(16, 2)), "b": nn.Parameter(torch.zeros(2)),
                                   "scale": nn.Parameter(torch.ones(()))})

    def forward(self, x):
        h = sum((torch.tanh(x) ** (i + 1)) @ c for i, c in enumerate(self.coef))
        return self.p["scale"] * ((h ** 2) @ self.p["w"]) + self.p["b"]


def train(name, model, opt, steps=110, x=X, y=Y):
    for s in range(steps):
        i = torch.randint(0, len(x), (64,))
        loss = F.mse_loss(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 50 == 0 or s == steps - 1:
            print(f"{name:18s} {s:4d} loss {loss.item():.4f}")


a = ListNet()
train("plain list", a, torch.optim.Adam(a.parameters(), lr=5e-3), 110)

extractor = nn.Sequential(nn.Linear(12, 64), nn.ReLU())
b = WithHiddenExtractor(extractor)
before = extractor[0].weight.clone()
train("hidden extractor", b, torch.optim.Adam(filter(lambda p: p.requires_grad, b.parameters()), lr=3e-3), 110)
assert torch.equal(before, extractor[0].weight) and b.aux_head.weight.grad is None

c = ParamNet()
train("parameter dict", c, torch.optim.Adam(c.parameters(), lr=1e-2), 110)

d = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 2))
opt = torch.optim.SGD(d.parameters(), lr=0.05, momentum=0.9)
d.double()  # after the optimizer: module.double() changes .data in place, so the optimizer still holds the right tensors
train("opt before double", d, opt, 110, X.double(), Y.double())

enc, dec, temperature = nn.Linear(12, 64), nn.Linear(64, 2), nn.Parameter(torch.tensor(1.0))
opt = torch.optim.AdamW(itertools.chain(enc.parameters(), dec.parameters(), [temperature]), lr=1e-2)
train("chained modules", lambda x: dec(F.gelu(enc(x) * temperature)), opt, 110)
