# Classify noisy signals by their frequency with a small MLP.
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

t = torch.linspace(0, 1, 64)
label = torch.randint(0, 4, (1200,))
phase = torch.rand(1200, 1) * 2 * math.pi
signal = torch.sin(2 * math.pi * (label[:, None] + 1) * t + phase) + 1.2 * torch.randn(1200, 64)
loader = DataLoader(TensorDataset(signal[:1000], label[:1000]), batch_size=20)
val_x, val_y = signal[1000:], label[1000:]

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    for step in range(len(loader)):
        x, y = next(iter(loader))
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (model(val_x).argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch}  loss {loss.item():.4f}  validation accuracy {accuracy:.2f}")
