# Knowledge distillation (teacher trained, then eval + no_grad, KL with temperature), then mean teacher with consistency on unlabelled data.
import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(12)
centers = torch.randn(6, 10) * 1.2


def data(n):
    y = torch.randint(0, 6, (n,))
    return centers[y] + torch.randn(n, 10), y


Xtr, Ytr = data(1500)
Xva, Yva = data(600)


def accuracy(m):
    was = m.training
    m.eval()
    with torch.no_grad():
        a = (m(Xva).argmax(1) == Yva).float().mean().item()
    m.train(was)
    return a


# --- teacher -------------------------------------------------------------
teacher = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 6))
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for step in range(100):
    i = torch.randint(0, len(Xtr), (64,))
    loss = F.cross_entropy(teacher(Xtr[i]), Ytr[i])
    opt.zero_grad(); loss.backward(); opt.step()
print(f"teacher loss {loss.item():.3f} acc {accuracy(teacher):.3f}")
teacher.eval()

# --- student: frozen teacher, soft + hard losses --------------------------
student = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 6))
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
Tm = 4.0
for step in range(150):
    i = torch.randint(0, len(Xtr), (64,))
    with torch.no_grad():
        tl = teacher(Xtr[i])
    sl = student(Xtr[i])
    kd = F.kl_div(F.log_softmax(sl / Tm, -1), F.softmax(tl / Tm, -1), reduction="batchmean") * Tm * Tm
    loss = 0.9 * kd + 0.1 * F.cross_entropy(sl, Ytr[i])
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 50 == 0:
        print(f"distill {step} kd {kd.item():.4f} total {loss.item():.4f} acc {accuracy(student):.3f}")

# --- mean teacher, 60 labels ----------------------------------------------
Xl, Yl = Xtr[:60], Ytr[:60]
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 6))
ema = copy.deepcopy(net)
for p in ema.parameters():
    p.detach_()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(150):
    u = Xtr[torch.randint(0, len(Xtr), (128,))]
    sup = F.cross_entropy(net(Xl + 0.2 * torch.randn_like(Xl)), Yl)
    with torch.no_grad():
        tgt = ema(u + 0.2 * torch.randn_like(u)).softmax(-1)
    cons = F.mse_loss(net(u + 0.2 * torch.randn_like(u)).softmax(-1), tgt)
    w = 10.0 * min(1.0, step / 100) ** 2  # ramp-up: weight is 0 at first
    loss = sup + w * cons
    opt.zero_grad(); loss.backward(); opt.step()
    a = min(1 - 1 / (step + 1), 0.98)
    for e, p in zip(ema.parameters(), net.parameters()):
        e.data.mul_(a).add_(p.data, alpha=1 - a)
    if step % 50 == 0 or step == 149:
        print(f"mean-teacher {step} sup {sup.item():.3f} cons {cons.item():.4f} acc net {accuracy(net):.3f} ema {accuracy(ema):.3f}")
