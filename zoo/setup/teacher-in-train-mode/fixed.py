"""Distils a wide network with dropout into a small one."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
DIM, CLASSES = 12, 4
centers = 1.2 * torch.randn(CLASSES, DIM)


def sample(count):
    y = torch.randint(0, CLASSES, (count,))
    return centers[y] + torch.randn(count, DIM), y


def train_teacher(model, steps=120):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(steps):
        x, y = sample(64)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"teacher: loss {loss.item():.4f}")
    return model


def distil(student, teacher, steps=160, temperature=2.0):
    optimizer = torch.optim.Adam(student.parameters(), lr=4e-3)
    for step in range(steps):
        x, _ = sample(64)
        with torch.no_grad():
            target = F.softmax(teacher(x) / temperature, dim=1)
        prediction = F.log_softmax(student(x) / temperature, dim=1)
        loss = F.kl_div(prediction, target, reduction="batchmean") * temperature**2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"student {step + 1}: loss {loss.item():.4f}")


teacher = nn.Sequential(
    nn.Linear(DIM, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, CLASSES)
)
student = nn.Sequential(nn.Linear(DIM, 16), nn.ReLU(), nn.Linear(16, CLASSES))
teacher = train_teacher(teacher)
teacher.eval()
distil(student, teacher)
