"""Dropout stays on for the validation on purpose: several samples of each prediction give its spread."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
x = torch.rand(500, 1) * 6 - 3
y = torch.sin(x) + 0.1 * torch.randn_like(x)
train_loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50)
model = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    for a, b in train_loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    spreads = []
    with torch.no_grad():
        for a, b in val_loader:
            samples = torch.stack([model(a) for _ in range(10)])
            spreads.append(samples.std(0).mean())
    print(epoch, round(loss.item(), 4), round(torch.stack(spreads).mean().item(), 4))
