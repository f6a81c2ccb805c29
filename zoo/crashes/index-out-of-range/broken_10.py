"""Ratings of items by users: matrix factorisation."""
import torch
from torch import nn


class Ratings(nn.Module):
    def __init__(self, users, items, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(dim=1)


def main():
    torch.manual_seed(8)
    taste, kind = torch.randn(50, 4), torch.randn(30, 4)
    table = torch.stack([torch.randint(0, 50, (4000,)), torch.randint(0, 30, (4000,))], dim=1)
    rating = (taste[table[:, 0]] * kind[table[:, 1]]).sum(dim=1)
    users = int(table[:, 0].max()) + 1
    items = int(table[:, 1].max())
    model = Ratings(users, items)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(120):
        rows = torch.randint(0, 4000, (256,))
        user, item = table[rows].unbind(dim=1)
        loss = nn.functional.mse_loss(model(user, item), rating[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print("step", step, "mse", round(loss.item(), 3))


main()
