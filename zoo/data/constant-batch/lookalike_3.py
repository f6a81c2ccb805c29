# Full-batch training through a loader that holds everything in one batch.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 6)
y = (x[:, :1] * x[:, 1:2]).tanh()
loader = DataLoader(TensorDataset(x, y), batch_size=256)
model = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(150):
    inputs, targets = next(iter(loader))
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
print(loss.item())
