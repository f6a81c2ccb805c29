import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
D, K = 16, 5
gen_net = nn.Sequential(nn.Linear(D, 24), nn.Tanh(), nn.Linear(24, K))
for p in gen_net.parameters():
    p.data.mul_(3.0)


def sample(n):
    x = torch.randn(n, D)
    with torch.no_grad():
        y = (gen_net(x) + 0.3 * torch.randn(n, K)).argmax(1)
    return x, y


train_loader = DataLoader(TensorDataset(*sample(2000)), batch_size=50, shuffle=True)
x_val, y_val = sample(600)


def mlp(width):
    return nn.Sequential(nn.Linear(D, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, K))


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(x_val).argmax(1) == y_val).float().mean().item()


def distillation_loss(student_logits, teacher_logits, y, T=3.0, alpha=0.9):
    soft_student = F.softmax(student_logits / T, dim=1)
    soft_teacher = F.softmax(teacher_logits / T, dim=1)
    kd = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * T * T
    return alpha * kd + (1 - alpha) * F.cross_entropy(student_logits, y)


teacher = mlp(128)
opt_t = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for epoch in range(5):
    teacher.train()
    for x, y in train_loader:
        opt_t.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt_t.step()
print(f"teacher acc {accuracy(teacher):.3f}")

teacher.eval().requires_grad_(False)
student = mlp(24)
opt_s = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(6):
    student.train()
    total = 0.0
    for x, y in train_loader:
        with torch.no_grad():
            t_logits = teacher(x)
        loss = distillation_loss(student(x), t_logits, y)
        opt_s.zero_grad()
        loss.backward()
        opt_s.step()
        total += loss.item()
    print(f"student epoch {epoch}: loss {total / len(train_loader):.4f} val acc {accuracy(student):.3f}")
