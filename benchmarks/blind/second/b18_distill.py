"""Distil a teacher into a small student."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
D, C, TEMP, ALPHA = 20, 8, 2.0, 0.9

proto = torch.randn(C, D) * 0.42


def sample(n):
    y = torch.randint(0, C, (n,))
    return proto[y] + torch.randn(n, D), y


def mlp(*sizes):
    mods = []
    for a, b in zip(sizes, sizes[1:]):
        mods += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*mods[:-1])


x_tr, y_tr = sample(3000)
x_te, y_te = sample(1500)

teacher = mlp(D, 96, C)
opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for step in range(150):
    i = torch.randint(0, len(x_tr), (128,))
    loss = F.cross_entropy(teacher(x_tr[i]), y_tr[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("teacher final loss", round(loss.item(), 4))
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)

student = mlp(D, 24, C)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)


def kd_loss(s_logits, t_logits, y):
    p_t = F.softmax(t_logits / TEMP, dim=1)
    p_s = F.softmax(s_logits / TEMP, dim=1)
    soft = F.kl_div(p_s, p_t, reduction="batchmean") * TEMP ** 2
    hard = F.cross_entropy(s_logits, y)
    return ALPHA * soft + (1 - ALPHA) * hard


for step in range(1, 401):
    i = torch.randint(0, len(x_tr), (64,))
    loss = kd_loss(student(x_tr[i]), teacher(x_tr[i]), y_tr[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"student step {step} loss {loss.item():.4f}")

with torch.no_grad():
    for name, m in (("teacher", teacher), ("student", student)):
        o = m(x_te)
        print(f"{name}: test nll {F.cross_entropy(o, y_te):.4f} acc {(o.argmax(1) == y_te).float().mean():.3f}")
