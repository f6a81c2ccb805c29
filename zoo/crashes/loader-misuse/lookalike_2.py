# Takes batches from an iterator that it keeps, and starts again when it is spent.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
target = torch.randn(8, 1)
x = torch.randn(256, 8)
loader = DataLoader(TensorDataset(x, x @ target), batch_size=32, shuffle=True)
batches = iter(loader)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    try:
        features, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        features, y = next(batches)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(features), y)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
