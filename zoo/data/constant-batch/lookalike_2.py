# A random batch per step by restarting a shuffled loader, and one fixed validation batch to watch.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(900, 12)
y = torch.tanh(x @ torch.randn(12, 1)) + 0.05 * torch.randn(900, 1)
train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=50)

model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    inputs, targets = next(iter(train_loader))
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    watched, wanted = next(iter(val_loader))
    with torch.no_grad():
        error = nn.functional.mse_loss(model(watched), wanted)
    if step % 40 == 0:
        print(f"{step}: {loss.item():.4f} {error.item():.4f}")
