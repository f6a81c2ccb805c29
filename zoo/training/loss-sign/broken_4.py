# A density model: diagonal Gaussian mixture fitted by maximum likelihood.
import math

import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, k=5):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(k, 2))
        self.log_sigma = nn.Parameter(torch.zeros(k, 2))
        self.logit = nn.Parameter(torch.zeros(k))

    def log_prob(self, x):
        z = (x[:, None] - self.mu) / self.log_sigma.exp()
        comp = -0.5 * (z**2).sum(-1) - self.log_sigma.sum(-1) - math.log(2 * math.pi)
        return torch.logsumexp(comp + self.logit.log_softmax(0), dim=1)


torch.manual_seed(0)
model = Mixture()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(300):
    k = torch.randint(0, 3, (128,))
    x = torch.stack([k * 2.0 - 2.0, (k == 1).float()], 1) + 0.2 * torch.randn(128, 2)
    loss = model.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
