# Metric learning: siamese encoder, triplet margin loss with in-batch hard mining; the loss becomes exactly zero in many batches.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
n_cls, dim = 8, 20
protos = torch.randn(n_cls, dim) * 1.0
mix = torch.randn(dim, dim) / dim ** 0.5


def batch(P=8, K=4):
    y = torch.arange(P).repeat_interleave(K) % n_cls
    return torch.tanh((protos[y] + 0.6 * torch.randn(len(y), dim)) @ mix), y


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def batch_hard(e, y):
    d = torch.cdist(e, e)
    same = y[:, None] == y[None]
    eye = torch.eye(len(y), dtype=torch.bool)
    pos = d.masked_fill(~same | eye, float("-inf")).max(1).indices
    neg = d.masked_fill(same, float("inf")).min(1).indices
    return pos, neg


enc = Encoder()
criterion = nn.TripletMarginLoss(margin=0.3)
opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
zeros = 0
for step in range(300):
    x, y = batch()
    with torch.no_grad():  # mining pass
        pos, neg = batch_hard(enc(x), y)
    anchor, positive, negative = enc(x), enc(x[pos]), enc(x[neg])
    loss = criterion(anchor, positive, negative)
    opt.zero_grad()
    loss.backward()
    opt.step()
    zeros += loss.item() == 0.0
    if step % 100 == 0 or step == 299:
        with torch.no_grad():
            gx, gy = batch(K=20)
            qx, qy = batch(K=20)
            acc = (gy[torch.cdist(enc(qx), enc(gx)).argmin(1)] == qy).float().mean()
        print(f"step {step} triplet {loss.item():.4f} 1-NN acc {acc:.3f} zero-loss batches so far {zeros}")
