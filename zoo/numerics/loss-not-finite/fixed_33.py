"""A compiled feature transform in front of a classifier."""
import torch
from torch import nn


def featurise(x):
    centred = x - x.mean(dim=1, keepdim=True)
    energy = centred.abs().sum(dim=1, keepdim=True)
    return centred / energy.clamp_min(1e-8)


featurise_c = torch.compile(featurise, backend="eager")


def signals(n, step):
    freq = torch.randint(1, 4, (n,))
    t = torch.linspace(0, 6.28, 24)
    amp = torch.rand(n, 1) * 2
    if step >= 9:
        amp = amp * (torch.rand(n, 1) > 0.05)
    return torch.sin(freq[:, None] * t) * amp, freq - 1


torch.manual_seed(10)
head = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(head.parameters(), lr=5e-3)
for step in range(40):
    x, y = signals(32, step)
    logits = head(featurise_c(x))
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(f"step {step}: {loss.item():.4f}")
