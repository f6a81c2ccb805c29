"""Recommends items to users by the product of their embeddings."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
users = torch.randint(0, 300, (4000,))
items = torch.randint(1, 201, (4000,))
ratings = torch.sin(users * 0.1) + torch.cos(items * 0.2)
loader = DataLoader(TensorDataset(users, items, ratings), batch_size=200)


class Factors(nn.Module):
    def __init__(self, n_users, n_items, size=8):
        super().__init__()
        self.users = nn.Embedding(n_users, size)
        self.items = nn.Embedding(n_items, size)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(dim=1)


model = Factors(n_users=300, n_items=200).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(2):
    for user, item, rating in loader:
        loss = nn.functional.mse_loss(model(user.to(device), item.to(device)), rating.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
