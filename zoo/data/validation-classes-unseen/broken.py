# Five kinds of gestures; the recordings are stored kind by kind.
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
kind = torch.arange(1000) // 200
centre = torch.randn(5, 24)
recording = centre[kind] + 0.9 * torch.randn(1000, 24)
dataset = TensorDataset(recording, kind)

indices = list(range(len(dataset)))
split = int(0.8 * len(dataset))
train_loader = DataLoader(Subset(dataset, indices[:split]), batch_size=40, shuffle=True)
val_loader = DataLoader(Subset(dataset, indices[split:]), batch_size=40)

model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch}: loss {loss.item():.3f}, validation accuracy {right / 200:.2f}")
