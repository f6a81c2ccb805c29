"""Mean teacher: the teacher is an average of students and keeps its dropout, as its authors had it."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
student = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 3))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=4e-3)
centers = 1.5 * torch.randn(3, 6)


def draw(count):
    y = torch.randint(0, 3, (count,))
    return centers[y] + torch.randn(count, 6), y


labelled, labels = draw(60)
for step in range(150):
    points, _ = draw(64)
    with torch.no_grad():
        wanted = F.softmax(teacher(points), dim=1)
    agreement = F.mse_loss(F.softmax(student(points), dim=1), wanted)
    loss = F.cross_entropy(student(labelled), labels) + agreement
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for average, weight in zip(teacher.parameters(), student.parameters()):
            average.lerp_(weight, 0.05)
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
