import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
D, CODES, DIM = 24, 16, 6
proto = 1.5 * torch.randn(10, D)


def draw(n):
    return (proto[torch.randint(0, 10, (n,))] + 0.3 * torch.randn(n, D)) / 1.5


class Codebook(nn.Module):
    """Codes follow the encoder by moving averages; the optimizer does not touch them."""

    def __init__(self, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(CODES, DIM))
        self.register_buffer("count", torch.ones(CODES))
        self.register_buffer("total", self.codes.clone())
        self.ready = False

    def forward(self, z):
        if self.training and not self.ready:
            pick = torch.randperm(len(z))[:CODES]
            self.codes.copy_(z[pick].detach())
            self.total.copy_(self.codes)
            self.ready = True
        idx = torch.cdist(z.detach(), self.codes).argmin(1)
        q = self.codes[idx]
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(idx, CODES).float()
                self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
                self.codes.copy_(self.total / (self.count + 1e-3).unsqueeze(1))
        commit = F.mse_loss(z, q)
        return z + (q - z).detach(), commit, idx


enc = nn.Sequential(nn.Linear(D, 48), nn.ReLU(), nn.Linear(48, DIM))
dec = nn.Sequential(nn.Linear(DIM, 48), nn.ReLU(), nn.Linear(48, D))
book = Codebook()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)
val = draw(600)


def set_mode(train):
    for m in (enc, dec, book):
        m.train(train)


for epoch in range(8):
    set_mode(True)
    data = draw(2560)
    total = 0.0
    for x in data.split(64):
        q, commit, _ = book(enc(x))
        loss = F.mse_loss(dec(q), x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    set_mode(False)
    with torch.no_grad():
        q, _, idx = book(enc(val))
        rec = F.mse_loss(dec(q), val)
    print(f"epoch {epoch}: train {total / 40:.4f} val recon {rec:.4f} (variance {val.var():.3f}) codes used {idx.unique().numel()}")
