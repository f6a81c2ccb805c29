"""Mixture density network: the likelihood of an inverse problem written with logsumexp."""
import math

import torch
from torch import nn


class MDN(nn.Module):
    def __init__(self, parts=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.share, self.mean, self.spread = (nn.Linear(32, parts) for _ in range(3))

    def forward(self, x):
        h = self.body(x)
        return self.share(h).log_softmax(1), self.mean(h), self.spread(h).clamp(-4, 3)


def negative_log_likelihood(share, mean, spread, y):
    normal = -0.5 * ((y - mean) / spread.exp()) ** 2 - spread - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(share + normal, dim=1).mean()


torch.manual_seed(5)
model = MDN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    y = torch.rand(96, 1)
    x = y + 0.3 * torch.sin(6.283 * y) + 0.02 * torch.randn(96, 1)
    loss = negative_log_likelihood(*model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"{step:4d} {loss.item():.3f}")
