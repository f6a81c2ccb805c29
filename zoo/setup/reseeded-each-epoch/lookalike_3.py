"""Each epoch has a seed of its own, so that any of them can be repeated."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(256, 6, generator=torch.Generator().manual_seed(3))
y = (x.sum(1) > 0).long()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
for epoch in range(8):
    torch.manual_seed(1000 + epoch)
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
