# Recommender: users and items as large embeddings, ratings as their product.
import torch
import torch.nn.functional as F
from torch import nn


class Recommender(nn.Module):
    def __init__(self, users, items, dim=32):
        super().__init__()
        self.users = nn.Embedding(users, dim)
        self.items = nn.Embedding(items, dim)
        self.bias = nn.Embedding(items, 1)
        nn.init.normal_(self.users.weight, std=0.3)
        nn.init.normal_(self.items.weight, std=0.3)
        nn.init.zeros_(self.bias.weight)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(dim=1) + self.bias(item)[:, 0]


def main():
    torch.manual_seed(3)
    model = Recommender(40000, 20000)
    taste = torch.randn(20000)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(150):
        user = torch.randint(0, 400, (256,))
        item = torch.randint(0, 200, (256,))
        loss = F.mse_loss(model(user, item), taste[item] + 0.1 * (user % 3 - 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", round(loss.item(), 4))


main()
