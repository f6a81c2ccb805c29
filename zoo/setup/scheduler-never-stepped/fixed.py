"""Fit a noisy surface with an MLP; the learning rate should come down twice."""
import torch
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(1024, 3) * 4 - 2
y = torch.sin(2 * x[:, 0]) * x[:, 1] + 0.3 * x[:, 2] ** 2 + 0.3 * torch.randn(1024)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

net = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scheduler = MultiStepLR(optimizer, milestones=[8, 11], gamma=0.1)
criterion = nn.MSELoss()

for epoch in range(14):
    total = 0.0
    for features, target in loader:
        optimizer.zero_grad()
        loss = criterion(net(features).squeeze(1), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}, lr {optimizer.param_groups[0]['lr']:g}")
