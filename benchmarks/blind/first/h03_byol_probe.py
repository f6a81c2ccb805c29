import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
D, K, LATENT = 32, 6, 4
class_dir = 2.0 * torch.randn(K, LATENT)
mix = torch.randn(LATENT, D) / LATENT ** 0.5


def sample(n):
    y = torch.randint(0, K, (n,))
    z = class_dir[y] + 0.4 * torch.randn(n, LATENT)
    return z @ mix, y


def view(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return (x + 0.3 * torch.randn_like(x)) * keep


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = mlp(D, 64, 32)
        self.projector = mlp(32, 64, 16)
        self.predictor = mlp(16, 32, 16)
        self.t_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        self.t_projector = copy.deepcopy(self.projector).requires_grad_(False)

    def online(self, x):
        return self.predictor(self.projector(self.encoder(x)))

    @torch.no_grad()
    def teacher(self, x):
        return self.t_projector(self.t_encoder(x))

    @torch.no_grad()
    def momentum_update(self, m=0.98):
        for t, o in ((self.t_encoder, self.encoder), (self.t_projector, self.projector)):
            for pt, po in zip(t.parameters(), o.parameters()):
                pt.mul_(m).add_(po, alpha=1 - m)


def cosine(p, t):
    return 2 - 2 * F.cosine_similarity(p, t, dim=1).mean()


def linear_probe(model, xtr, ytr, xte, yte):
    model.eval()
    with torch.no_grad():
        ftr, fte = model.encoder(xtr), model.encoder(xte)
    probe = nn.Linear(ftr.size(1), K)
    opt = torch.optim.Adam(probe.parameters(), lr=2e-2)
    for _ in range(60):
        opt.zero_grad()
        F.cross_entropy(probe(ftr), ytr).backward()
        opt.step()
    with torch.no_grad():
        return (probe(fte).argmax(1) == yte).float().mean().item(), fte.std(0).mean().item()


x, y = sample(2000)
mean, std = x.mean(0), x.std(0)
x = (x - mean) / std
x_lab, y_lab, x_test, y_test = x[:120], y[:120], x[1500:], y[1500:]
model = BYOL()
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=2e-3, weight_decay=1e-4)

for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(1500).split(100):
        a, b = view(x[idx]), view(x[idx])
        loss = cosine(model.online(a), model.teacher(b)) + cosine(model.online(b), model.teacher(a))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.momentum_update()
        total += loss.item()
    if epoch % 2 == 1:
        acc, spread = linear_probe(model, x_lab, y_lab, x_test, y_test)
        print(f"epoch {epoch}: ssl loss {total / 15:.4f} probe acc {acc:.3f} feature std {spread:.3f}")
