# Will a customer leave? A classifier on a table of ten columns.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
table = torch.randn(900, 10)
risk = table[:, 1] - 0.8 * table[:, 4] + 0.6 * table[:, 7] * table[:, 2]
table[:, 9] = (risk + 0.5 * torch.randn(900) > 0).float()

features, left = table[:, :9], table[:, 9].long()
train_set, val_set = random_split(TensorDataset(features, left), [700, 200])
train_loader = DataLoader(train_set, batch_size=35, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(nn.Linear(features.shape[1], 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch}: loss {loss.item():.4f}, validation accuracy {right / 200:.3f}")
