"""Distillation with soft targets, once with KL and once with probability targets in cross_entropy."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(31)
teacher = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 7)).requires_grad_(False)
teacher[2].weight.mul_(8)


def new_student():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 7))


def distill(loss_of, name, steps=150):
    student = new_student()
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    for step in range(steps):
        x = torch.randn(64, 8)
        loss = loss_of(student(x), teacher(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"{name} step {step}: {loss.item():.4f}")


distill(lambda s, t: F.kl_div(F.log_softmax(s, 1), F.softmax(t, 1), reduction="batchmean"), "kl")
distill(lambda s, t: F.cross_entropy(s, F.softmax(t, dim=1)), "soft ce")
