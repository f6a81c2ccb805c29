"""Knowledge distillation; the teacher sits in a list so that it stays out of state_dict()."""
import torch
import torch.nn.functional as F
from torch import nn


def mlp(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 5))


class Student(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.net = mlp(24)
        self._teacher = [teacher]

    def forward(self, x):
        return self.net(x)

    def loss(self, x, temperature=2.0):
        with torch.no_grad():
            soft = F.softmax(self._teacher[0](x) / temperature, dim=-1)
        return F.kl_div(F.log_softmax(self(x) / temperature, dim=-1), soft, reduction="batchmean")


torch.manual_seed(6)
teacher = mlp(64).eval().requires_grad_(False)
for p in teacher.parameters():
    p.mul_(3)
student = Student(teacher)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for step in range(250):
    loss = student.loss(torch.randn(96, 10))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step:3d}: KL to teacher {loss.item():.4f}")
