import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(9)


def clicks(n):
    y = (torch.rand(n) < 0.04).long()
    x = torch.randn(n, 12)
    x[y == 1, :5] += 1.0
    cat = torch.randint(0, 30, (n,))
    cat[y == 1] = torch.where(torch.rand(int(y.sum())) < 0.5, cat[y == 1] % 5, cat[y == 1])
    return x, cat, y


class WideDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 6)
        self.wide = nn.Embedding(30, 1)
        nn.init.zeros_(self.wide.weight)
        self.deep = nn.Sequential(nn.Linear(18, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, cat):
        return (self.deep(torch.cat([x, self.emb(cat)], 1)) + self.wide(cat)).squeeze(1)


def focal(logit, y, gamma=1.5):
    ce = F.binary_cross_entropy_with_logits(logit, y, reduction="none")
    p_t = torch.exp(-ce)
    return ((1 - p_t) ** gamma * ce).sum() / len(y)


x, c, y = clicks(4000)
xv, cv, yv = clicks(3000)
counts = torch.bincount(y).double()
sampler = WeightedRandomSampler((1.0 / counts)[y], num_samples=2000, replacement=True)
loader = DataLoader(TensorDataset(x, c, y.float()), batch_size=50, sampler=sampler)
model = WideDeep()
opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)


def auc(score, lab):
    order = score.argsort().argsort().float() + 1
    pos = lab == 1
    n1, n0 = pos.sum(), (~pos).sum()
    return ((order[pos].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)).item()


for epoch in range(6):
    model.train()
    for xb, cb, yb in loader:
        opt.zero_grad()
        loss = focal(model(xb, cb), yb)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        s = model(xv, cv)
    rec = (s[yv == 1] > 0).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.4f} val auc {auc(s, yv):.3f} recall {rec:.3f} share of positives {yv.float().mean():.3f}")
