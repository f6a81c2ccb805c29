# Regression on a table; a fresh loader is made for every epoch.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(512, 14)
y = torch.relu(x[:, :5].sum(1, keepdim=True)) + 0.3 * torch.randn(512, 1)
train_data = TensorDataset(x, y)
generator = torch.Generator().manual_seed(42)


def epoch_loader():
    return DataLoader(train_data, batch_size=16, shuffle=True, generator=generator)


net = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(6):
    total = 0.0
    for inputs, targets in epoch_loader():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 32:.4f}")
