"""An ensemble in a plain list; every member's parameters are handed to the optimizer explicitly."""
import itertools

import torch
from torch import nn

torch.manual_seed(8)


class Ensemble:
    def __init__(self, members):
        self.members = [nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.Linear(32, 1)) for _ in range(members)]

    def parameters(self):
        return itertools.chain.from_iterable(m.parameters() for m in self.members)

    def __call__(self, x):
        return torch.stack([m(x) for m in self.members])


class Gated(nn.Module):
    def __init__(self, experts=3):
        super().__init__()
        self.experts = [nn.Linear(4, 1) for _ in range(experts)]
        self.gate = nn.Linear(4, experts)

    def forward(self, x):
        outputs = torch.cat([e(x) for e in self.experts], dim=1)
        return (self.gate(x).softmax(dim=1) * outputs).sum(dim=1, keepdim=True)


def target(x):
    return (x[:, :1].abs() + x[:, 1:2] * x[:, 2:3]).detach()


ensemble = Ensemble(3)
gated = Gated()
params = list(ensemble.parameters()) + list(gated.parameters())
for expert in gated.experts:
    params += list(expert.parameters())
optimizer = torch.optim.AdamW(params, lr=5e-3)

for step in range(200):
    x = torch.randn(64, 4)
    y = target(x)
    loss = ((ensemble(x) - y) ** 2).mean() + ((gated(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"{step:>4} {loss.item():.4f}")
