"""Attention pooling over bags of cell descriptors (multiple instance learning)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)
BAG, D = 20, 12
tumour = torch.randn(D)
tumour = 2.8 * tumour / tumour.norm()


def bags(n):
    x = torch.randn(n, BAG, D)
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        if y[i]:
            k = int(torch.randint(1, 3, (1,)))
            x[i, torch.randperm(BAG)[:k]] += tumour
    return x, y.float()


class AttentionMIL(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(D, hidden), nn.ReLU())
        self.attention = nn.Sequential(nn.Linear(hidden, 16), nn.Tanh(), nn.Linear(16, 1))
        self.classifier = nn.Linear(hidden, 1)

    def forward(self, bag):
        h = self.feature(bag)                      # (batch, instances, hidden)
        a = F.softmax(self.attention(h), dim=0)
        z = (a * h).sum(dim=1)
        return self.classifier(z).squeeze(1)


train_loader = DataLoader(TensorDataset(*bags(960)), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(*bags(200)), batch_size=1)
model = AttentionMIL()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    correct, val = 0, 0.0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val += F.binary_cross_entropy_with_logits(out, y).item()
            correct += ((out > 0).float() == y).sum().item()
    print(f"epoch {epoch}: train {total / len(train_loader):.4f} val {val / 200:.4f} acc {correct / 200:.3f}")
