"""Step-budget training: a fresh shuffled iterator per step and a one-cycle schedule that starts from a tiny rate."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(64)
g = torch.linspace(-1, 1, 10)
yy, xx = torch.meshgrid(g, g, indexing="ij")


def images(n):
    ang = torch.rand(n) * torch.pi
    y = (ang / torch.pi * 6).long().clamp(max=5)
    proj = ang.cos()[:, None, None] * xx + ang.sin()[:, None, None] * yy
    return (torch.sin(6 * proj + torch.rand(n, 1, 1)) + 0.3 * torch.randn(n, 10, 10))[:, None], y


loader = DataLoader(TensorDataset(*images(1200)), batch_size=40, shuffle=True)
xt, yt = images(500)
net = nn.Sequential(nn.Conv2d(1, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 24, 3, bias=False), nn.BatchNorm2d(24), nn.ReLU(), nn.Flatten(), nn.Linear(96, 6))
TOTAL = 180
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.15, total_steps=TOTAL, pct_start=0.3, div_factor=200, final_div_factor=1e3)
for step in range(1, TOTAL + 1):
    net.train()
    x, y = next(iter(loader))
    loss = nn.functional.cross_entropy(net(x), y, label_smoothing=0.1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    lr = opt.param_groups[0]["lr"]
    sched.step()
    if step % 30 == 0:
        net.eval()
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        print(f"{step}/{TOTAL} lr {lr:.5f} loss {loss.item():.3f} test {acc:.3f}")
