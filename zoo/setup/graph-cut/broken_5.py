"""Two-tower retrieval: queries and items are embedded, in-batch negatives make the loss."""
import itertools

import torch
import torch.nn.functional as F
from torch import nn


class Tower(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, dim))

    @torch.no_grad()
    def encode(self, x):
        return F.normalize(self.net(x), dim=-1)

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def pairs(n, mixing):
    hidden = torch.randn(n, 8)
    return torch.tanh(hidden @ mixing[0]), torch.tanh(hidden @ mixing[1]) + 0.05 * torch.randn(n, 30)


def info_nce(query, item, temperature=0.1):
    logits = query @ item.t() / temperature
    return F.cross_entropy(logits, torch.arange(len(query)))


def run():
    torch.manual_seed(21)
    mixing = torch.randn(2, 8, 30) / 2
    query_tower, item_tower = Tower(30, 16), Tower(30, 16)
    opt = torch.optim.Adam(itertools.chain(query_tower.parameters(), item_tower.parameters()), lr=2e-3)
    for i in range(250):
        q, d = pairs(48, mixing)
        loss = info_nce(query_tower(q), item_tower.encode(d))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 50 == 0:
            print(i, loss.item())


run()
