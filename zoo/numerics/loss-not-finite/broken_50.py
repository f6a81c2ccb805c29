"""Key-value memory reader, the read is recomputed in the backward pass."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Reader(nn.Module):
    def __init__(self, slots=12, d=16):
        super().__init__()
        self.keys = nn.Parameter(torch.randn(slots, d))
        self.values = nn.Parameter(torch.randn(slots, d))

    def forward(self, q):
        q = q / q.pow(2).sum(-1, keepdim=True).sqrt()
        w = (q @ self.keys.t()).softmax(-1)
        return w @ self.values


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 16, bias=False))
        self.reader = Reader()
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        r = checkpoint(self.reader, self.query(x), use_reentrant=True)
        return self.out(r)


torch.manual_seed(70)
model = Model()
nn.init.constant_(model.query[0].bias, 0.1)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(50):
    x = torch.randn(24, 6)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
