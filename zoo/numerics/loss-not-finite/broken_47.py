"""Knowledge distillation into a small student."""
import torch
import torch.nn.functional as F
from torch import nn


def net(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 5))


class Distiller(nn.Module):
    def __init__(self, teacher, student, temperature=1.0):
        super().__init__()
        self.teacher, self.student, self.t = teacher.requires_grad_(False), student, temperature

    def forward(self, x, y):
        with torch.no_grad():
            soft = F.softmax(self.teacher(x) / self.t, dim=1)
        out = self.student(x)
        logp = torch.log(F.softmax(out / self.t, dim=1))
        return -(soft * logp).sum(1).mean() + F.cross_entropy(out, y)


torch.manual_seed(2)
means = torch.randn(5, 16) * 4


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return means[y] + torch.randn(n, 16), y


teacher = net(128)
opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for _ in range(60):
    x, y = batch()
    loss = F.cross_entropy(teacher(x), y)
    opt_t.zero_grad()
    loss.backward()
    opt_t.step()

distiller = Distiller(teacher, net(32))
opt = torch.optim.SGD(distiller.student.parameters(), lr=0.08, momentum=0.9)
for step in range(60):
    loss = distiller(*batch())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
