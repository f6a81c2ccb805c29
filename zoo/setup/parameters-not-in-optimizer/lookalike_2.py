"""Recommender with two optimizers: Adagrad for the embeddings, Adam for the tower."""
import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, users=200, items=100, dim=16):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.tower = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        return self.tower(torch.cat([self.user(u), self.item(i)], dim=-1)).squeeze(-1)


def main():
    torch.manual_seed(9)
    taste, style = torch.randn(200, 4), torch.randn(100, 4)
    model = TwoTower()
    embeddings = list(model.user.parameters()) + list(model.item.parameters())
    slow = torch.optim.Adam(model.tower.parameters(), lr=3e-3)
    fast = torch.optim.Adagrad(embeddings, lr=0.1)
    loss_fn = nn.BCEWithLogitsLoss()
    for step in range(301):
        u, i = torch.randint(0, 200, (256,)), torch.randint(0, 100, (256,))
        clicked = ((taste[u] * style[i]).sum(-1) > 0).float()
        loss = loss_fn(model(u, i), clicked)
        slow.zero_grad()
        fast.zero_grad()
        loss.backward()
        slow.step()
        fast.step()
        if step % 60 == 0:
            print("step {:3d}: bce {:.3f}".format(step, loss.item()))


main()
