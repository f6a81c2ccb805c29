"""Classify blobs with a one-cycle learning rate."""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS = 12
centers = torch.randn(8, 16)
labels = torch.randint(0, 8, (1280,))
inputs = centers[labels] + 0.9 * torch.randn(1280, 16)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=0.1, total_steps=EPOCHS * len(loader), div_factor=1000)

for epoch in range(EPOCHS):
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
    print(f"epoch {epoch + 1}/{EPOCHS}  loss {running / len(loader):.4f}  lr {scheduler.get_last_lr()[0]:.5f}")
