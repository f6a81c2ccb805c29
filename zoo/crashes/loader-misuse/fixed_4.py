# Counts the steps of an epoch to print the loss now and then.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
target = torch.randn(8, 1)
x = torch.randn(256, 8)
loader = DataLoader(TensorDataset(x, x @ target), batch_size=32, shuffle=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    for step, (features, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features), y)
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
