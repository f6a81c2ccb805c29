import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
USERS, ITEMS, TASTE = 80, 60, 3
user_taste = torch.randn(USERS, TASTE)
item_taste = torch.randn(ITEMS, TASTE)


def interactions(n):
    u = torch.randint(0, USERS, (n,))
    i = torch.randint(0, ITEMS, (n,))
    score = (user_taste[u] * item_taste[i]).sum(1) / TASTE ** 0.5
    return u, i, torch.bernoulli(torch.sigmoid(3 * score))


class Tower(nn.Module):
    def __init__(self, n, dim=16, out=8):
        super().__init__()
        self.table = nn.Embedding(n, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, ids):
        return self.mlp(self.table(ids))


def build_models():
    return Tower(USERS), Tower(ITEMS)


user_tower, item_tower = build_models()
optimizer = torch.optim.Adam(user_tower.parameters(), lr=8e-3)
train_loader = DataLoader(TensorDataset(*interactions(8000)), batch_size=128, shuffle=True)
val_loader = DataLoader(TensorDataset(*interactions(2000)), batch_size=500)


def score(u, i):
    return (user_tower(u) * item_tower(i)).sum(1)


for epoch in range(6):
    user_tower.train()
    item_tower.train()
    total = 0.0
    for u, i, y in train_loader:
        user_tower.zero_grad()
        item_tower.zero_grad()
        loss = F.binary_cross_entropy_with_logits(score(u, i), y)
        loss.backward()
        optimizer.step()
        total += loss.item()

    user_tower.eval()
    item_tower.eval()
    hits, val_loss = [], []
    with torch.no_grad():
        for u, i, y in val_loader:
            s = score(u, i)
            val_loss.append(F.binary_cross_entropy_with_logits(s, y))
            hits.append(((s > 0).float() == y).float())
    print(f"epoch {epoch + 1} train {total / len(train_loader):.4f} "
          f"val {torch.stack(val_loss).mean():.4f} acc {torch.cat(hits).mean():.3f}")
