"""Attention over the steps of a GRU: scores (batch, time, 1)."""
import torch
from torch import nn
import torch.nn.functional as F


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 24, batch_first=True)
        self.score = nn.Linear(24, 1)
        self.out = nn.Linear(24, 4)

    def forward(self, x):
        h, _ = self.rnn(x)
        w = F.softmax(self.score(h), dim=-1)
        return self.out((w * h).sum(1))


torch.manual_seed(0)
net = Attn()
opt = torch.optim.Adam(net.parameters(), 6e-3)
for step in range(110):
    y = torch.randint(0, 4, (32,))
    x = torch.randn(32, 12, 6)
    x[torch.arange(32), torch.randint(0, 12, (32,)), y] += 3
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
