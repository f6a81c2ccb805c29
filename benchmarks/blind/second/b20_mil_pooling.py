"""Multiple-instance learning: a bag is positive if it holds one 'marker' instance."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class BagSampler:
    def __init__(self, n_inst=20, dim=10, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n_inst, self.dim = n_inst, dim
        self.marker = torch.randn(dim, generator=torch.Generator().manual_seed(123))

    def __call__(self, bags):
        x = torch.randn(bags, self.n_inst, self.dim, generator=self.g)
        y = torch.randint(0, 2, (bags,), generator=self.g)
        slot = torch.randint(0, self.n_inst, (bags,), generator=self.g)
        mark = self.marker + 0.4 * torch.randn(bags, self.dim, generator=self.g)
        rows = torch.arange(bags)[y == 1]
        x[rows, slot[rows]] = mark[rows]
        return x, y.float()


class AttentionMIL(nn.Module):
    def __init__(self, dim=10, hid=32, att=16):
        super().__init__()
        self.feat = nn.Sequential(nn.Linear(dim, hid), nn.ReLU(), nn.Linear(hid, hid), nn.Tanh())
        self.att_v = nn.Linear(hid, att)
        self.att_u = nn.Linear(hid, att)
        self.att_w = nn.Linear(att, 1)
        self.clf = nn.Linear(hid, 1)

    def forward(self, bag):
        h = self.feat(bag)                                       # B, N, hid
        a = self.att_w(torch.tanh(self.att_v(h)) * torch.sigmoid(self.att_u(h)))
        a = F.softmax(a, dim=0)
        z = (a * h).sum(dim=1)
        return self.clf(z).squeeze(-1), a


def fit(steps=400, bs=32):
    torch.manual_seed(9)
    sampler = BagSampler(seed=1)
    model = AttentionMIL()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    ema = None
    for step in range(1, steps + 1):
        x, y = sampler(bs)
        logit, _ = model(x)
        loss = F.binary_cross_entropy_with_logits(logit, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema = loss.item() if ema is None else 0.98 * ema + 0.02 * loss.item()
        if step % 50 == 0:
            print(f"{step:4d} | bce {ema:.4f}")
    return model


if __name__ == "__main__":
    m = fit()
    m.eval()
    test = BagSampler(seed=2)
    hits = 0
    with torch.no_grad():
        for _ in range(600):
            x, y = test(1)
            hits += int((m(x)[0] > 0).float().item() == y.item())
    print("bag accuracy, one bag at a time:", hits / 600)
