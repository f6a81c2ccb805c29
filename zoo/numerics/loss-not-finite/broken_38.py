"""Prototype classifier with a learned variance."""
import torch
import torch.nn.functional as F
from torch import nn


class ProtoNet(nn.Module):
    def __init__(self, d=10, k=4):
        super().__init__()
        self.enc = nn.Linear(d, 6)
        self.proto = nn.Parameter(0.05 * torch.randn(k, 6))
        self.var = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        z = 0.3 * torch.tanh(self.enc(x))
        return z @ self.proto.t() / torch.sqrt(self.var)


class Fit:
    def __init__(self):
        torch.manual_seed(4)
        self.model = ProtoNet()
        slow = [self.model.proto, *self.model.enc.parameters()]
        self.opt = torch.optim.Adam([{"params": slow, "lr": 3e-3}, {"params": [self.model.var], "lr": 3.3e-3}])
        self.means = torch.randn(4, 10)

    def data(self):
        y = torch.randint(0, 4, (64,))
        return self.means[y] + 0.3 * torch.randn(64, 10), y

    def run(self, n):
        for k in range(n):
            x, y = self.data()
            loss = F.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if k % 25 == 0:
                print(k, round(loss.item(), 4), "var", round(self.model.var.item(), 4))


Fit().run(300)
