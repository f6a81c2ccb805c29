"""Head-only training on top of a frozen, batch-normalised backbone (kept in eval mode throughout)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
D = 30
A = torch.randn(6, D)


def world(n, w):
    z = torch.randn(n, 6)
    return z @ A + 0.8 * torch.randn(n, D), z @ w


backbone = nn.Sequential(nn.Linear(D, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU())
w_src = torch.randn(6, 10)
x, y = world(3000, w_src)
pre_head = nn.Linear(32, 10)
opt = torch.optim.Adam([*backbone.parameters(), *pre_head.parameters()], lr=5e-3)
for ep in range(3):
    for idx in torch.randperm(len(x)).split(50):
        loss = F.mse_loss(pre_head(backbone(x[idx])), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("pretrain", ep, round(loss.item(), 3))

backbone.eval()
backbone.requires_grad_(False)
w_tgt = torch.randn(6, 4)
xt, yt = world(300, w_tgt)
yt = yt.argmax(1)
xv, yv = world(1000, w_tgt)
yv = yv.argmax(1)
head = nn.Linear(32, 4)
model = nn.Sequential(backbone, head)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(1, 201):
    i = torch.randint(0, len(xt), (8,))
    loss = F.cross_entropy(model(xt[i]), yt[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"step {step} loss {loss.item():.3f} val acc {acc:.3f}")
