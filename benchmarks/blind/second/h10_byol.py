"""BYOL on toy views; target network and stop-gradient; loss = 2 - 2 cos."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)
D = 24
mean = torch.randn(5, D) * 0.3


def sample(n):
    y = torch.randint(0, 5, (n,))
    return mean[y] + 0.5 * torch.randn(n, D), y


def view(x):
    keep = (torch.rand_like(x) > 0.3).float()
    return x * keep + 0.3 * torch.randn_like(x)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


online = nn.Sequential(mlp(D, 64, 32), mlp(32, 64, 16))
predictor = mlp(16, 32, 16)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(list(online.parameters()) + list(predictor.parameters()), lr=3e-3)
TAU = 0.98


def loss_fn(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


def knn_accuracy():
    online.eval()
    with torch.no_grad():
        a, ya = sample(500)
        b, yb = sample(500)
        fa, fb = online[0](a), online[0](b)
        nn_idx = torch.cdist(fb, fa).topk(15, largest=False).indices
        pred = ya[nn_idx].mode(1).values
    online.train()
    return (pred == yb).float().mean().item()


for step in range(1, 241):
    x, _ = sample(96)
    v1, v2 = view(x), view(x)
    with torch.no_grad():
        t1, t2 = target(v1), target(v2)
    loss = loss_fn(predictor(online(v1)), t2) + loss_fn(predictor(online(v2)), t1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for pt, po in zip(target.parameters(), online.parameters()):
            pt.mul_(TAU).add_(po, alpha=1 - TAU)
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.3f} knn acc {knn_accuracy():.3f}")
