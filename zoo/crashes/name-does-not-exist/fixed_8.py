"""A regression with batches from a loader."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(320, 5)
loader = DataLoader(
    TensorDataset(x, x.sum(1, keepdim=True)),
    batch_size=32,
    shuffle=True,
    num_workers=0,
)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("loss", loss.item())
