"""Distil a wide teacher into a small student."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TEMPERATURE = 2.0
centers = 1.5 * torch.randn(6, 10)


def batch(n=64):
    y = torch.randint(0, 6, (n,))
    return centers[y] + torch.randn(n, 10), y


teacher = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 6))
teach = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for _ in range(150):
    x, y = batch()
    lesson = F.cross_entropy(teacher(x), y)
    teach.zero_grad()
    lesson.backward()
    teach.step()
teacher.eval()

student = nn.Linear(10, 6)
optimizer = torch.optim.Adam(student.parameters(), lr=2e-2)
for step in range(250):
    x, _ = batch()
    with torch.no_grad():
        wanted = F.softmax(teacher(x) / TEMPERATURE, dim=1)
    given = F.softmax(student(x) / TEMPERATURE, dim=1)
    loss = F.kl_div(given, wanted, reduction="batchmean") * TEMPERATURE**2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: {loss.item():.4f}")
