"""Noisy tabular classification with dropout and batch norm, validated after every epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
weights = torch.randn(24)
x = torch.randn(900, 24) * torch.linspace(0.2, 3.0, 24)
y = ((x @ weights + 4.0 * torch.randn(900)) > 0).long()
train_loader = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=30, shuffle=True)
val_loader = DataLoader(TensorDataset(x[600:], y[600:]), batch_size=100)

model = nn.Sequential(
    nn.Linear(24, 96),
    nn.BatchNorm1d(96),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(96, 96),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(96, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(12):
    model.train()
    for features, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(features), label)
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for features, label in val_loader:
            correct += (model(features).argmax(1) == label).sum().item()
    print(f"epoch {epoch}: train loss {loss.item():.3f}, validation accuracy {correct / 300:.3f}")
