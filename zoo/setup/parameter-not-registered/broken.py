"""A bilinear model of user and item features, its interaction matrix written out by hand."""
import torch
from torch import nn


class Bilinear(nn.Module):
    def __init__(self, users, items):
        super().__init__()
        self.user_net = nn.Linear(users, 16)
        self.item_net = nn.Linear(items, 16)
        self.mixing = torch.randn(16, 16, requires_grad=True)

    def forward(self, user, item):
        left, right = torch.tanh(self.user_net(user)), torch.tanh(self.item_net(item))
        return ((left @ self.mixing) * right).sum(dim=1)


torch.manual_seed(0)
truth = torch.randn(6, 5)
model = Bilinear(6, 5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(250):
    user, item = torch.randn(64, 6), torch.randn(64, 5)
    wanted = ((user @ truth) * item).sum(dim=1)
    loss = nn.functional.mse_loss(model(user, item), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 3))
