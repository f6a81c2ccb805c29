"""A user and an item are embedded; the product of both predicts the rating."""
import torch
from torch import nn


class Recommender(nn.Module):
    def __init__(self, users, items, size):
        super().__init__()
        self.users = nn.Embedding(users, size)
        self.items = nn.Embedding(items, size)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(dim=1)


torch.manual_seed(0)
model = Recommender(30, 40, 6)
truth_u, truth_i = torch.randn(30, 3), torch.randn(40, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(100):
    pairs = torch.stack([torch.randint(0, 30, (64,)), torch.randint(0, 40, (64,))], dim=1)
    rating = (truth_u[pairs[:, 0]] * truth_i[pairs[:, 1]]).sum(1)
    predicted = model(pairs)
    loss = nn.functional.mse_loss(predicted, rating)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, loss.item())
