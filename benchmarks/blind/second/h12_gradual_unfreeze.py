"""Gradual unfreezing with one parameter group per stage."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)
D = 20
R = torch.linalg.qr(torch.randn(D, D))[0]
w = torch.randn(D, 4)


def source(n):
    x = torch.randn(n, D)
    return x, (torch.tanh(x) @ w).argmax(1)


def shifted(n):
    x, y = source(n)
    return x @ (0.55 * torch.eye(D) + 0.45 * R), y


stages = nn.ModuleList([nn.Sequential(nn.Linear(D, 64), nn.ReLU()), nn.Sequential(nn.Linear(64, 64), nn.ReLU()), nn.Linear(64, 4)])


def forward(x):
    for s in stages:
        x = s(x)
    return x


def one_epoch(x, y, opt, bs=50):
    t = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        loss = F.cross_entropy(forward(x[idx]), y[idx])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        t += loss.item()
    return t / (len(x) // bs)


xs, ys = source(2500)
opt = torch.optim.Adam(stages.parameters(), lr=3e-3)
for e in range(3):
    print("source", round(one_epoch(xs, ys, opt), 4))

for s in stages[:-1]:
    s.requires_grad_(False)
xt, yt = shifted(1500)
xv, yv = shifted(800)
opt = torch.optim.Adam(stages[2].parameters(), lr=3e-3)
for e in range(9):
    if e == 3:
        stages[1].requires_grad_(True)
        opt.add_param_group({"params": stages[1].parameters(), "lr": 2e-3})
    if e == 6:
        stages[0].requires_grad_(True)
        opt.add_param_group({"params": stages[0].parameters(), "lr": 2e-3})
    l = one_epoch(xt, yt, opt)
    with torch.no_grad():
        acc = (forward(xv).argmax(1) == yv).float().mean().item()
    print(f"target epoch {e} groups {len(opt.param_groups)} loss {l:.4f} val acc {acc:.3f}")
