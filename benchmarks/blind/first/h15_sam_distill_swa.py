import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
D, K, T = 18, 5, 2.0


class SAM:
    """Sharpness-aware minimisation: climb, second backward, come back, step."""

    def __init__(self, params, base, rho=0.05):
        self.params, self.base, self.rho = list(params), base, rho

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.offset = [p.grad * (self.rho / norm) for p in self.params]
        for p, e in zip(self.params, self.offset):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.offset):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


centers = torch.randn(K * 2, D)


def sample(n):
    c = torch.randint(0, K * 2, (n,))
    return centers[c] + 0.7 * torch.randn(n, D), c % K


loader = DataLoader(TensorDataset(*sample(1600)), batch_size=40, shuffle=True)
xv, yv = sample(600)


def acc(m):
    m.eval()
    with torch.no_grad():
        return (m(xv).argmax(1) == yv).float().mean().item()


teacher = nn.Sequential(nn.Linear(D, 128), nn.ReLU(), nn.Linear(128, K))
opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(3):
    teacher.train()
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
print(f"teacher {acc(teacher):.3f}")
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)

student = nn.Sequential(nn.Linear(D, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, K))
swa = AveragedModel(student)
base = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
sam = SAM(student.parameters(), base)


def kd(x, y):
    s = student(x)
    soft = F.kl_div(F.log_softmax(s / T, 1), F.log_softmax(teacher(x) / T, 1), log_target=True, reduction="batchmean")
    return 0.7 * T * T * soft + 0.3 * F.cross_entropy(s, y)


for epoch in range(6):
    student.train()
    for x, y in loader:
        loss = kd(x, y)
        loss.backward()
        sam.climb()
        kd(x, y).backward()
        sam.descend()
    if epoch >= 3:
        swa.update_parameters(student)
    print(f"epoch {epoch}: loss {loss.item():.4f} student {acc(student):.3f}")
update_bn(loader, swa)
print(f"averaged student {acc(swa):.3f}")
