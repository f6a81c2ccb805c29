"""Mean teacher: a few labels, many unlabelled points, and a teacher that is an average of students."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


@torch.no_grad()
def update_teacher(teacher, student, decay):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


def moons(n):
    label = torch.randint(0, 2, (n,))
    angle = torch.rand(n) * math.pi
    x = torch.where(label == 0, angle.cos(), 1 - angle.cos())
    y = torch.where(label == 0, angle.sin(), 0.5 - angle.sin())
    return torch.stack([x, y], 1) + 0.08 * torch.randn(n, 2), label


def main():
    torch.manual_seed(6)
    student = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    labelled, label = moons(60)
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    for step in range(1, 251):
        points, _ = moons(64)
        supervised = F.cross_entropy(student(labelled), label)
        agree = F.mse_loss(
            F.softmax(student(points + 0.1 * torch.randn_like(points)), dim=1),
            F.softmax(teacher(points), dim=1),
        )
        loss = supervised + 2.0 * agree
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher(teacher, student, decay=0.98)
        if step % 50 == 0:
            test, truth = moons(500)
            accuracy = (teacher(test).argmax(1) == truth).float().mean().item()
            print(f"{step:4d}  loss {loss.item():.4f}  teacher accuracy {accuracy:.3f}")


main()
