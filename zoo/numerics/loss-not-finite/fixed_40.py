"""Cosine schedule written by hand, applied to every group."""
import numpy as np
import torch
from torch import nn


def cosine(step, warmup, total, base):
    if step < warmup:
        return base * (step + 1) / warmup
    with np.errstate(invalid="ignore"):
        frac = np.divide(step - warmup, total - warmup)
    return float(base * 0.5 * (1 + np.cos(np.pi * frac)))


def set_lr(opt, lr):
    for group in opt.param_groups:
        group["lr"] = lr


def run(epochs=4, per_epoch=5, warmup_epochs=2, decay_epochs=2):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    warmup, total = warmup_epochs * per_epoch, (warmup_epochs + decay_epochs) * per_epoch
    for step in range(epochs * per_epoch):
        set_lr(opt, cosine(step, warmup, total, 0.1))
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(net(x), x.sin().sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item())


run()
